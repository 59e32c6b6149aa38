//! A stack of an explored program that overflows, told by name.
//!
//! The stacks of fibers are none that std knows, so that an overflow would only be a violation of memory. At
//! the end of each stack is a page that nobody may touch. A handler of the signal, on a stack of its own,
//! looks whether the address lies in that page of the running thread, and says so. The process cannot go on
//! after it.
//!
//! The same handler hears of blocks that are used after their free, where those are watched
//! (`execution/guard.rs`): it notes the first use, and the program goes on. Everything else it leaves to the
//! handler that was there before.

#[cfg(not(target_os = "linux"))]
pub(crate) fn prepare() {}

/// Elsewhere nobody looks.
#[cfg(not(target_os = "linux"))]
pub(crate) fn page_size() -> usize {
    0
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{page_size, prepare};

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::Cell;
    use std::fmt::Write;
    use std::sync::OnceLock;

    use libc::{c_int, c_void, siginfo_t};

    /// The handler that was there before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    thread_local! {
        static PREPARED: Cell<bool> = const { Cell::new(false) };
    }

    /// How large a page is.
    pub(crate) fn page_size() -> usize {
        // SAFETY: it only asks.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
    }

    /// Puts the handler in place, once, and sees to it that this OS thread has a stack for it.
    pub(crate) fn prepare() {
        if PREPARED.replace(true) {
            return;
        }
        BEFORE.get_or_init(|| {
            // SAFETY: a whole action, with a handler of the kind that its flags say.
            unsafe {
                let mut before: libc::sigaction = std::mem::zeroed();
                let mut action: libc::sigaction = std::mem::zeroed();
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = overflowed;
                action.sa_sigaction = handler as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut before);
                before
            }
        });
        const SIZE: usize = 64 << 10;
        // SAFETY: the stack is never given back, for the thread may need it up to its end.
        unsafe {
            let mut stack: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(std::ptr::null(), &raw mut stack);
            if stack.ss_flags & libc::SS_DISABLE != 0 {
                let memory = Box::leak(vec![0_u8; SIZE].into_boxed_slice());
                let ours = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: SIZE };
                libc::sigaltstack(&raw const ours, std::ptr::null_mut());
            }
        }
    }

    /// Words that are put together without allocating.
    struct Words {
        bytes: [u8; 320],
        length: usize,
    }

    impl Write for Words {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let room = &mut self.bytes[self.length..];
            let taken = text.len().min(room.len());
            room[..taken].copy_from_slice(&text.as_bytes()[..taken]);
            self.length += taken;
            Ok(())
        }
    }

    /// Was the access that raised the signal a write, if the machine says so?
    ///
    /// # Safety
    /// `context` must be what the kernel passed with the signal.
    unsafe fn was_write(context: *mut c_void) -> Option<bool> {
        #[cfg(target_arch = "x86_64")]
        if !context.is_null() {
            // SAFETY: as the caller promises.
            let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
            return Some(registers[libc::REG_ERR as usize] & 2 != 0);
        }
        let _ = context;
        None
    }

    extern "C" fn overflowed(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel passes what belongs to the signal.
        let address = unsafe { (*info).si_addr() }.addr();
        if let Some((thread, size)) = crate::execution::overflowed(address) {
            let mut words = Words { bytes: [0; 320], length: 0 };
            let _ = write!(
                words,
                "\nlinpoint: thread {} of the exploration overflowed its stack of {} KiB: raise it with \
                 thread::Builder::stack_size, or for all threads with Limits {{ stack_size, .. }}\n",
                thread.0,
                size >> 10
            );
            // SAFETY: both may be called by a handler.
            unsafe {
                libc::write(libc::STDERR_FILENO, words.bytes.as_ptr().cast(), words.length);
                libc::abort();
            }
        }
        // SAFETY: as above.
        if crate::execution::used_freed(address, unsafe { was_write(context) }) {
            // The page may be touched now, and the instruction is made again.
            return;
        }
        let Some(before) = BEFORE.get() else { return };
        // SAFETY: what was there before gets what it would have got; where that was nothing, the fault comes again and ends
        // the process.
        unsafe {
            match before.sa_sigaction {
                libc::SIG_DFL | libc::SIG_IGN => {
                    libc::signal(signal, libc::SIG_DFL);
                }
                handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                        std::mem::transmute(handler);
                    handler(signal, info, context);
                }
                handler => {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
    }
}
