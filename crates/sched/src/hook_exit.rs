//! How to leave the panic hook without returning to it.
//!
//! Before Rust ends the process because of a panic that cannot unwind it calls the hook, and while that runs it holds a lock
//! for reading. A thread that is stopped for good in the hook would keep the lock, and nobody could set a hook any more. So
//! the stack is unwound a little: up to the frame that called the hook, which gives the lock back, and no further, since the
//! frame after that must not be unwound. That is what a forced unwinding can do (Itanium C++ ABI, section 1.6.2): a
//! function is asked at each frame before it is unwound.

/// Unwinds the stack up to and with the frame that `within` lies in; then `stop` is called, in the middle of it all, and must
/// not return.
#[cfg(unix)]
pub(crate) fn unwind_past(within: usize, stop: fn() -> !) -> ! {
    use std::ffi::c_void;

    /// What the unwinder keeps of an exception. The room is generous: how much it needs depends on the machine.
    #[repr(C, align(16))]
    struct Exception {
        class: u64,
        cleanup: usize,
        private: [usize; 20],
    }

    /// Until where, and what then.
    struct Goal {
        within: usize,
        /// The end of the frame that it lies in, once that was found.
        frame: usize,
        stop: fn() -> !,
    }

    unsafe extern "C-unwind" {
        fn _Unwind_ForcedUnwind(
            exception: *mut Exception,
            stop: extern "C-unwind" fn(i32, i32, u64, *mut Exception, *mut c_void, *mut c_void) -> i32,
            goal: *mut c_void,
        ) -> i32;
        fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    }

    extern "C-unwind" fn ask(
        _version: i32,
        actions: i32,
        _class: u64,
        _exception: *mut Exception,
        context: *mut c_void,
        goal: *mut c_void,
    ) -> i32 {
        const END_OF_STACK: i32 = 16;
        // SAFETY: it is the goal given below, which is never freed; the context is the unwinder's.
        let (goal, end) = unsafe { (&mut *goal.cast::<Goal>(), _Unwind_GetCFA(context)) };
        let beyond = goal.frame != 0 && end > goal.frame;
        if beyond || actions & END_OF_STACK != 0 {
            (goal.stop)();
        }
        // Stacks grow downwards: the first frame that ends above it is the one.
        if goal.frame == 0 && end > goal.within {
            goal.frame = end;
        }
        0
    }

    let exception = Box::leak(Box::new(Exception { class: 0, cleanup: 0, private: [0; 20] }));
    let goal = Box::leak(Box::new(Goal { within, frame: 0, stop }));
    // SAFETY: both live for ever. Frames up to the one that called the hook may be unwound: a hook may panic, as far as
    // they know.
    unsafe { _Unwind_ForcedUnwind(exception, ask, (&raw mut *goal).cast()) };
    stop()
}

/// Where stacks are unwound in another way the lock is kept.
#[cfg(not(unix))]
pub(crate) fn unwind_past(_within: usize, stop: fn() -> !) -> ! {
    stop()
}
