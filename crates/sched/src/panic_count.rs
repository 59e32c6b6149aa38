//! Panics in flight, per fiber.
//!
//! Whether a panic is under way ([`std::thread::panicking`]) is a count that std keeps for each OS thread. The threads of a
//! program are fibers on one OS thread, so a fiber that pauses while it unwinds must take its panics with it, and bring
//! them back when it goes on. Std has no way to set the count; but unwinding may begin on one stack and end on another:
//!
//! - To *raise* the count, a panic is thrown on a small stack of its own, and paused while it unwinds.
//! - To *lower* it, such a stack goes on: its panic is caught.
//!
//! Each raise leaves what the next lowering needs. Only the first lowering needs a panic that was thrown elsewhere: on an OS
//! thread of its own, from where the small stack is moved here. Std's global count, which is the sum of all, stays right.
//!
//! This costs microseconds, and happens only where a thread of the program is paused in the middle of a panic.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::heap;
use crate::stack::FiberStack;

/// A panic that was thrown, and is paused while it unwinds. It is never dropped so: corosensei would unwind the stack, and
/// it is in the middle of a destructor. What an OS thread has left over when it ends is forgotten.
struct Paused(ManuallyDrop<Coroutine<(), (), (), FiberStack>>);

// SAFETY: what is on its stack is the unwinder's, and what is below: a payload that can be sent, and no pointer to
// anything of the OS thread where it began. Std's count is looked up anew when the panic is caught.
unsafe impl Send for Paused {}

thread_local! {
    /// Paused panics for this OS thread to end.
    static SUPPLY: RefCell<Vec<Paused>> = const { RefCell::new(Vec::new()) };
}

/// Bytes of stack for a panic: the unwinder needs some.
const STACK: usize = 128 << 10;

/// Takes the panics in flight away from the OS thread; returns how many there were.
#[inline]
pub(crate) fn put_aside() -> u32 {
    let mut count = 0;
    while std::thread::panicking() {
        lower();
        count += 1;
    }
    count
}

/// Brings `count` panics back.
#[cold]
#[inline(never)]
pub(crate) fn bring_back(count: u32) {
    let _outside = heap::Outside::enter();
    for _ in 0..count {
        if let Some(paused) = throw() {
            SUPPLY.with_borrow_mut(|supply| supply.push(paused));
        }
    }
}

/// Ends one panic.
#[cold]
#[inline(never)]
fn lower() {
    let _outside = heap::Outside::enter();
    let paused = SUPPLY.with_borrow_mut(Vec::pop).or_else(|| std::thread::spawn(throw).join().ok().flatten());
    match paused {
        Some(Paused(mut thrown)) => {
            thrown.resume(());
            if thrown.done() {
                drop(ManuallyDrop::into_inner(thrown));
            }
        }
        None => crate::panics::abort("no stack for a thread that is paused while it panics"),
    }
}

/// Throws a panic and pauses it; nothing if there is no room for it.
#[inline(never)]
fn throw() -> Option<Paused> {
    /// Pauses when it is dropped.
    struct Pause<'a>(&'a Yielder<(), ()>);
    impl Drop for Pause<'_> {
        fn drop(&mut self) {
            self.0.suspend(());
        }
    }
    let stack = FiberStack::new(STACK).ok()?;
    let mut thrown = Coroutine::with_stack(stack, |yielder: &Yielder<(), ()>, ()| {
        // What it was thrown with says nothing.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let _pause = Pause(yielder);
            resume_unwind(Box::new(()));
        }));
    });
    match thrown.resume(()) {
        CoroutineResult::Yield(()) => Some(Paused(ManuallyDrop::new(thrown))),
        CoroutineResult::Return(()) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_put_aside_and_brought_back() {
        struct Looks;
        impl Drop for Looks {
            fn drop(&mut self) {
                for _ in 0..3 {
                    assert!(std::thread::panicking());
                    let count = put_aside();
                    assert_eq!(count, 1);
                    assert!(!std::thread::panicking());
                    assert!(
                        catch_unwind(|| resume_unwind(Box::new(1))).is_err(),
                        "others may panic meanwhile"
                    );
                    bring_back(count);
                }
            }
        }
        for _ in 0..2 {
            let caught = catch_unwind(|| {
                let _looks = Looks;
                resume_unwind(Box::new(2));
            });
            assert!(caught.is_err() && !std::thread::panicking());
        }
        assert_eq!(put_aside(), 0);
    }
}
