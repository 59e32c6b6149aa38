//! What is said when the program ends the process while the threads of a failing run are unwound.
//!
//! Some programs do: a guard that finds itself dropped in a panic calls `abort`, because a worker must not die unseen. Here
//! the stacks of threads that are still there when a run has failed are unwound, and such a guard cannot tell the
//! difference. The failure would be lost. So it is kept ready in words while that goes on, and the handler of the signal that
//! `abort` raises writes them.

/// As long as this lives the words are ready.
pub(crate) struct Ready(());

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::Cell;
    use std::sync::Once;

    use super::Ready;

    thread_local! {
        /// Without a destructor: a handler may look at it at any time.
        static WORDS: Cell<*const String> = const { Cell::new(std::ptr::null()) };
    }

    impl Ready {
        pub(crate) fn new(words: String) -> Ready {
            static INSTALLED: Once = Once::new();
            INSTALLED.call_once(|| {
                // SAFETY: the handler only reads what lives meanwhile, and writes it.
                unsafe {
                    let before = libc::signal(libc::SIGABRT, say as *const () as libc::sighandler_t);
                    if before != libc::SIG_DFL {
                        // Somebody else wants to be told: they are.
                        libc::signal(libc::SIGABRT, before);
                    }
                }
            });
            WORDS.set(Box::into_raw(Box::new(words)));
            Ready(())
        }
    }

    impl Drop for Ready {
        fn drop(&mut self) {
            let words = WORDS.replace(std::ptr::null()).cast_mut();
            // SAFETY: it came from a box, and nobody else has it any more.
            drop(unsafe { Box::from_raw(words) });
        }
    }

    /// `abort` ends the process when this returns.
    extern "C" fn say(_signal: libc::c_int) {
        let words = WORDS.get();
        if !words.is_null() {
            // SAFETY: they live until the pointer is taken away; `write` may be called by a handler.
            unsafe {
                let words = &*words;
                libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Ready {
    pub(crate) fn new(_words: String) -> Ready {
        Ready(())
    }
}
