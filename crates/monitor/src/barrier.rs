//! A barrier in every thread of the process, asked for by one.
//!
//! A call's record is an ordinary store, and on most machines the operation's own loads may overtake it: the
//! operation may have read the object while its record is not to be seen yet. A fence in every call would
//! cure that, and cost each of them ten times what logging costs. So the one thread that wants to know makes
//! all others pass a barrier, once a round: `membarrier(2)`. What a call had stored by then is visible
//! afterwards; a call that had not stored its record had, for all the program can tell, not begun.

/// Can all threads be made to pass a barrier?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// Yes.
    Kernel,
    /// No: calls that are placed by their intervals need fences of their own.
    None,
}

impl Barrier {
    /// Every thread passes a barrier, if that is wanted. Is what was published before visible now? Where
    /// calls have fences of their own it is.
    pub(crate) fn pass_if(self, wanted: bool) -> bool {
        self == Barrier::None || wanted && self.pass()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::Barrier;

    const PRIVATE_EXPEDITED: libc::c_long = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_long = 1 << 4;

    fn membarrier(command: libc::c_long) -> bool {
        // SAFETY: membarrier takes numbers only and touches no memory of ours.
        #[allow(unsafe_code)]
        let answer = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
        answer == 0
    }

    impl Barrier {
        /// Asks the kernel for the right to use it.
        pub(crate) fn find() -> Barrier {
            if membarrier(REGISTER_PRIVATE_EXPEDITED) { Barrier::Kernel } else { Barrier::None }
        }

        /// Every thread passes a barrier before this returns. `false` where that failed.
        pub(super) fn pass(self) -> bool {
            self == Barrier::Kernel && membarrier(PRIVATE_EXPEDITED)
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Barrier {
    /// There is none here.
    pub(crate) fn find() -> Barrier {
        Barrier::None
    }

    /// Never passes.
    fn pass(self) -> bool {
        false
    }
}
