//! `std::thread`, name for name: spawn, join, scope, park.

use std::cell::UnsafeCell;
use std::panic::resume_unwind;
use std::sync::Arc as StdArc;

use crate::event::{Action, Intent, ThreadId, ThreadSet};
use crate::execution::{Handle, current};
use crate::panics;

pub use std::thread::{AccessError, Result};

/// What a thread hands to whoever joins it.
struct Packet<T>(UnsafeCell<Option<Result<T>>>);

// SAFETY: it is written by the thread before it ends and taken by the one that joins it after that.
unsafe impl<T: Send> Send for Packet<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Packet<T> {}

/// The right to wait for a thread's end.
pub struct JoinHandle<T>(Inner<T>);

enum Inner<T> {
    Std(std::thread::JoinHandle<T>),
    Fiber { id: ThreadId, packet: StdArc<Packet<T>> },
}

impl<T> JoinHandle<T> {
    /// Waits for the thread to end.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.0 {
            Inner::Std(handle) => handle.join(),
            Inner::Fiber { id, packet } => {
                if let Some(handle) = current() {
                    wait_for_end(handle, id);
                }
                // SAFETY: the thread has ended, and only one handle to it exists.
                unsafe { (*packet.0.get()).take() }
                    .unwrap_or_else(|| Err(Box::new("the thread was abandoned with its execution")))
            }
        }
    }

    /// Has it ended?
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Inner::Std(handle) => handle.is_finished(),
            Inner::Fiber { id, .. } => current().is_none_or(|handle| handle.finished(*id)),
        }
    }
}

/// Starts a thread.
#[track_caller]
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match current() {
        None => JoinHandle(Inner::Std(std::thread::spawn(body))),
        Some(handle) => {
            let (id, packet) = start(handle, body);
            JoinHandle(Inner::Fiber { id, packet })
        }
    }
}

/// Starts a thread of an execution.
fn start<'a, F, T>(handle: Handle, body: F) -> (ThreadId, StdArc<Packet<T>>)
where
    F: FnOnce() -> T + Send + 'a,
    T: Send + 'a,
{
    let packet = StdArc::new(Packet(UnsafeCell::new(None)));
    let inside = StdArc::clone(&packet);
    let job: Box<dyn FnOnce() + 'a> = Box::new(move || {
        let outcome = panics::run(body);
        if let (Err(payload), Some(handle)) = (&outcome, current()) {
            handle.panicked(payload.as_ref());
        }
        // SAFETY: nobody reads it before the thread has ended.
        unsafe { *inside.0.get() = Some(outcome) };
    });
    // SAFETY: a thread does not outlive what it borrows: `spawn` asks for 'static, and `scope` waits for its threads.
    let job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'a>, Box<dyn FnOnce()>>(job) };
    (handle.spawn(job), packet)
}

/// Returns when `thread` has ended.
#[track_caller]
fn wait_for_end(handle: Handle, thread: ThreadId) {
    unsafe fn ended(object: *const ()) -> bool {
        current().is_none_or(|handle| handle.finished(ThreadId(object.addr() as u8)))
    }
    let object = std::ptr::without_provenance::<()>(usize::from(thread.0));
    // SAFETY: `ended` takes the pointer for a number.
    let intent = unsafe { Intent::waiting(Action::Join, usize::MAX - usize::from(thread.0), ended, object) };
    handle.point(intent);
    handle.joined(thread);
}

/// Runs `bodies` as threads of the running execution and returns when all have ended. Unlike joining them one by one
/// that is a single step, which can only come last: no schedule is spent on it.
///
/// # Panics
/// Outside an exploration.
#[track_caller]
pub fn run_all<'a>(bodies: impl Iterator<Item = Box<dyn FnOnce() + Send + 'a>>) {
    unsafe fn all_ended(object: *const ()) -> bool {
        let threads = ThreadSet(object.addr() as u64);
        current().is_none_or(|handle| threads.iter().all(|thread| handle.finished(thread)))
    }
    let handle = current().expect("threads of an execution are started inside an exploration");
    let mut threads = ThreadSet::EMPTY;
    for body in bodies {
        threads.insert(start(handle, body).0);
    }
    let object = std::ptr::without_provenance::<()>(threads.0 as usize);
    let address = usize::MAX - threads.first().map_or(0, ThreadId::index);
    // SAFETY: `all_ended` takes the pointer for a set of threads. A stack that is unwound here outlives its
    // threads: the youngest are unwound first.
    handle.point(unsafe { Intent::waiting(Action::Join, address, all_ended, object) });
    for thread in threads.iter() {
        handle.joined(thread);
    }
}

/// Lets others go first, if they want to.
#[track_caller]
pub fn yield_now() {
    if current().is_none() {
        std::thread::yield_now();
    }
}

/// Unwinds with the panic of a thread that was joined.
pub(crate) fn rethrow<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|payload| resume_unwind(payload))
}
