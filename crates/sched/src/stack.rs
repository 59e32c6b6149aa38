//! The stack of a fiber: memory with a page below it that nobody may touch.
//!
//! `corosensei` has such a type itself, but only together with a recent `libc`. On Linux the stack is made here, so that this
//! crate can be built beside the older `libc` that a lock file may name.

#[cfg(not(target_os = "linux"))]
pub(crate) use corosensei::stack::DefaultStack as FiberStack;
#[cfg(target_os = "linux")]
pub(crate) use linux::FiberStack;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::num::NonZero;
    use std::ptr::null_mut;

    use corosensei::stack::{MIN_STACK_SIZE, Stack, StackPointer};

    use crate::overflow::page_size;

    /// A stack with a guard page.
    pub(crate) struct FiberStack {
        limit: NonZero<usize>,
        base: NonZero<usize>,
    }

    impl FiberStack {
        /// A stack of at least so many bytes.
        pub(crate) fn new(size: usize) -> io::Result<FiberStack> {
            let page = page_size();
            let size = size.max(MIN_STACK_SIZE).checked_next_multiple_of(page);
            let size = size.and_then(|size| size.checked_add(page)).ok_or(io::ErrorKind::OutOfMemory)?;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
            // SAFETY: new memory is asked for, which overlaps nothing.
            let memory =
                unsafe { libc::mmap(null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
            let limit = NonZero::new(memory.expose_provenance()).filter(|_| memory != libc::MAP_FAILED);
            let Some(limit) = limit else { return Err(io::Error::last_os_error()) };
            let Some(base) = limit.checked_add(size) else { return Err(io::ErrorKind::OutOfMemory.into()) };
            // From here on it is given back when it is dropped.
            let stack = FiberStack { limit, base };
            // SAFETY: the page is the lowest of this stack, and nobody uses it yet.
            if unsafe { libc::mprotect(memory, page, libc::PROT_NONE) } != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(stack)
        }
    }

    impl Drop for FiberStack {
        fn drop(&mut self) {
            let size = self.base.get() - self.limit.get();
            let memory = std::ptr::with_exposed_provenance_mut(self.limit.get());
            // SAFETY: this is the memory that was mapped, and whoever ran on it is done with it.
            let done = unsafe { libc::munmap(memory, size) };
            debug_assert_eq!(done, 0, "what was mapped can be unmapped");
        }
    }

    // SAFETY: the lowest page cannot be touched, the rest is at least as large as asked for, and both ends lie between pages.
    unsafe impl Stack for FiberStack {
        fn base(&self) -> StackPointer {
            self.base
        }

        fn limit(&self) -> StackPointer {
            self.limit
        }
    }
}
