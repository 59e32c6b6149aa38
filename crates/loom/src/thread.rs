//! Threads of a model.
//!
//! As in loom, a thread may be given what is not `Send`: the threads of an execution are fibers of one OS thread. So threads
//! can be started in a model only.

use std::marker::PhantomData;
use std::{fmt, io};

use linpoint_sched::thread as sched;

pub use linpoint_sched::thread::{
    AccessError, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId, current, park, park_timeout, scope,
    sleep, yield_now,
};
#[doc(no_inline)]
pub use std::thread::panicking;

/// What is handed from thread to thread, `Send` or not.
struct Handed<T>(T);

// SAFETY: it is only handed between threads of one execution (`Builder::start` refuses others), which are fibers of one OS
// thread.
unsafe impl<T> Send for Handed<T> {}

impl<T> Handed<T> {
    fn unwrap(self) -> T {
        self.0
    }
}

/// The right to wait for a thread's end.
pub struct JoinHandle<T> {
    inner: sched::JoinHandle<Handed<T>>,
    /// It can be sent where the result can.
    _result: PhantomData<T>,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread to end.
    ///
    /// # Errors
    /// With what the thread panicked with.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        self.inner.join().map(Handed::unwrap)
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        self.inner.thread()
    }

    /// Has it ended?
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }
}

impl<T: fmt::Debug> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish()
    }
}

/// Starts a thread.
///
/// # Panics
/// Outside a model.
#[track_caller]
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    Builder::new().start(body).expect("failed to spawn thread")
}

/// How a thread is to be started.
#[derive(Debug)]
pub struct Builder {
    inner: sched::Builder,
}

impl Builder {
    /// As [`spawn`] starts it.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Builder {
        Builder { inner: sched::Builder::new() }
    }

    /// Gives the thread a name.
    pub fn name(self, name: String) -> Builder {
        Builder { inner: self.inner.name(name) }
    }

    /// Asks for a stack of this size.
    pub fn stack_size(self, size: usize) -> Builder {
        Builder { inner: self.inner.stack_size(size) }
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// Never in a model.
    ///
    /// # Panics
    /// Outside a model.
    #[track_caller]
    pub fn spawn<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.start(body)
    }

    #[track_caller]
    fn start<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        assert!(linpoint_sched::is_exploring(), "a thread of loom can be started in a model only");
        let body = Handed(body);
        let inner = self.inner.spawn(move || Handed(body.unwrap()()))?;
        Ok(JoinHandle { inner, _result: PhantomData })
    }
}
