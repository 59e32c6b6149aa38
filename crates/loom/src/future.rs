//! Futures: [`block_on`], and a place for a waker.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use crate::sync::{Arc, Mutex, Notify};
use crate::thread;

/// Drives a future to its end; the thread waits until it is woken.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let notify = Arc::new(Notify::new());
    // SAFETY: the waker borrows the reference `notify`, which outlives it, and so is not dropped itself.
    let waker = unsafe { ManuallyDrop::new(Waker::new(Arc::as_ptr(&notify).cast(), &WAKER)) };
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        notify.wait();
    }
}

/// A waker is a counted reference to a [`Notify`].
static WAKER: RawWakerVTable = {
    unsafe fn clone(data: *const ()) -> RawWaker {
        // SAFETY: the waker holds or borrows a reference.
        unsafe { Arc::<Notify>::increment_strong_count(data.cast()) };
        RawWaker::new(data, &WAKER)
    }
    unsafe fn wake(data: *const ()) {
        // SAFETY: the waker holds a reference, and gives it up.
        let notify = unsafe { Arc::<Notify>::from_raw(data.cast()) };
        notify.notify();
    }
    unsafe fn wake_by_ref(data: *const ()) {
        // SAFETY: the waker holds or borrows a reference.
        unsafe { (*data.cast::<Notify>()).notify() };
    }
    unsafe fn drop(data: *const ()) {
        // SAFETY: the waker holds a reference, and gives it up.
        unsafe { Arc::<Notify>::decrement_strong_count(data.cast()) };
    }
    RawWakerVTable::new(clone, wake, wake_by_ref, drop)
};

/// A place for the waker of one task.
#[derive(Debug, Default)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// Empty.
    pub fn new() -> AtomicWaker {
        AtomicWaker::default()
    }

    /// Puts a waker in, for the next [`AtomicWaker::wake`]. If another thread is at the place right now, the waker is woken at
    /// once.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        match self.waker.try_lock() {
            Ok(mut place) => {
                let before = place.replace(waker);
                drop(place);
                drop(before);
            }
            Err(_) => {
                waker.wake();
                thread::yield_now();
            }
        }
    }

    /// Puts a copy of a waker in.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes the waker that is in, if one is.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker out, to be woken later.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}
