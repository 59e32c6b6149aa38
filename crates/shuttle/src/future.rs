//! Tasks. Each is polled by a thread of its own, so that a task may go on at any moment at which it was woken.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use linpoint_sched::semaphore::Semaphore;

use crate::sync::Mutex;
use crate::thread;

/// What wakes a thread that waits in [`block_on`].
struct Bell(Semaphore);

impl Wake for Bell {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.0.release_up_to_one();
    }
}

/// Drives a future to its end; the thread waits until it is woken.
///
/// # Panics
/// Outside a test that is run by a scheduler.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let bell = Arc::new(Bell(Semaphore::new(0)));
    let waker = Waker::from(Arc::clone(&bell));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        bell.0.acquire();
    }
}

/// Lets other tasks go first.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        thread::yield_now();
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Starts a task.
///
/// # Panics
/// Outside a test that is run by a scheduler.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    assert!(linpoint_sched::is_exploring(), "a task can be started in a test that a scheduler runs");
    let shared = Arc::new(Mutex::new(Shared { end: None, waiter: None, task: None, aborted: false }));
    let task = Task { future: Some(Box::pin(future)), shared: Arc::clone(&shared) };
    // Nobody joins the thread: the task's end is in `shared`.
    drop(thread::spawn(move || block_on(task)));
    JoinHandle { shared }
}

/// Why a task has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// It was aborted.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Cancelled => f.write_str("task was cancelled"),
        }
    }
}

impl Error for JoinError {}

/// What a task and those who wait for it share.
struct Shared<T> {
    end: Option<Result<T, JoinError>>,
    /// Who waits for the end.
    waiter: Option<Waker>,
    /// Who wakes the task.
    task: Option<Waker>,
    aborted: bool,
}

type Place<T> = Arc<Mutex<Shared<T>>>;

/// A future that leaves its result to who waits for it, or drops what it is when it is aborted.
struct Task<F: Future> {
    future: Option<Pin<Box<F>>>,
    shared: Place<F::Output>,
}

impl<F: Future> Task<F> {
    #[track_caller]
    fn end(&mut self, end: Result<F::Output, JoinError>) {
        // What the future keeps goes before its end is known.
        self.future = None;
        let waiter = {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.end = Some(end);
            shared.task = None;
            shared.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

impl<F: Future> Future for Task<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let aborted = {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.task = Some(context.waker().clone());
            shared.aborted
        };
        if aborted {
            self.end(Err(JoinError::Cancelled));
            return Poll::Ready(());
        }
        let Some(future) = &mut self.future else { return Poll::Ready(()) };
        match future.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(value) => {
                self.end(Ok(value));
                Poll::Ready(())
            }
        }
    }
}

impl<T> Shared<T> {
    /// Marks the task as aborted; who is to be woken then.
    fn abort(place: &Mutex<Shared<T>>) -> Option<Waker> {
        let mut shared = place.lock().unwrap_or_else(PoisonError::into_inner);
        shared.aborted = true;
        shared.task.take()
    }

    fn has_ended(place: &Mutex<Shared<T>>) -> bool {
        place.lock().unwrap_or_else(PoisonError::into_inner).end.is_some()
    }
}

/// The right to wait for a task's end. The task goes on if it is dropped.
pub struct JoinHandle<T> {
    shared: Place<T>,
}

impl<T> JoinHandle<T> {
    /// Asks the task to end where it waits next.
    #[track_caller]
    pub fn abort(&self) {
        if let Some(task) = Shared::abort(&self.shared) {
            task.wake();
        }
    }

    /// Has it ended, and was its result not taken?
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        Shared::has_ended(&self.shared)
    }

    /// A handle that only aborts.
    pub fn abort_handle(&self) -> AbortHandle
    where
        T: Send + 'static,
    {
        AbortHandle { task: Arc::clone(&self.shared) as Arc<dyn Abort> }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        match shared.end.take() {
            Some(end) => Poll::Ready(end),
            None => {
                shared.waiter = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

trait Abort: Send + Sync {
    fn abort(&self) -> Option<Waker>;
    fn has_ended(&self) -> bool;
}

impl<T: Send> Abort for Mutex<Shared<T>> {
    fn abort(&self) -> Option<Waker> {
        Shared::abort(self)
    }

    fn has_ended(&self) -> bool {
        Shared::has_ended(self)
    }
}

/// The right to abort a task.
#[derive(Clone)]
pub struct AbortHandle {
    task: Arc<dyn Abort>,
}

impl AbortHandle {
    /// Asks the task to end where it waits next.
    #[track_caller]
    pub fn abort(&self) {
        if let Some(task) = self.task.abort() {
            task.wake();
        }
    }

    /// Has it ended, and was its result not taken?
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.task.has_ended()
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").finish_non_exhaustive()
    }
}
