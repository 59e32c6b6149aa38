//! Threads that borrow: `scope`.
//!
//! At its end a scope waits for its threads, in one step, unless its owner has joined them all by hand. As in std, it does not wait
//! until they have dropped their thread-local values.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Builder, Held, Result, Thread, has_ended, start, wait_for_end};
use crate::event::{Action, Intent, ThreadId as FiberId, ThreadSet, Wait};
use crate::execution::{Handle, current as execution};

/// A scope to start threads in.
pub struct Scope<'scope, 'env: 'scope> {
    kind: Kind<'scope, 'env>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

enum Kind<'scope, 'env: 'scope> {
    Std(&'scope std::thread::Scope<'scope, 'env>),
    Fibers(Shared),
}

/// What the threads of a scope share.
pub(super) struct Shared {
    owner: FiberId,
    /// The threads that the owner has not joined, as a [`ThreadSet`].
    threads: AtomicU64,
    panicked: AtomicBool,
}

impl Shared {
    /// The panic of a thread was taken by nobody.
    pub(super) fn note_panic(&self) {
        self.panicked.store(true, Ordering::Relaxed);
    }

    fn left(&self) -> ThreadSet {
        ThreadSet(self.threads.load(Ordering::Relaxed))
    }
}

/// The right to wait for the end of a thread of a scope.
pub struct ScopedJoinHandle<'scope, T> {
    inner: Inner<'scope, T>,
    thread: Thread,
}

enum Inner<'scope, T> {
    Std(std::thread::ScopedJoinHandle<'scope, T>),
    Fiber(Held<'scope, T>, &'scope Shared),
    Never,
}

/// Runs `body`, which may start threads that borrow, and returns when all of them have ended.
///
/// # Panics
/// If one of the threads panicked and nobody joined it.
#[track_caller]
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let Some(handle) = execution() else { return scope_outside(body) };
    if handle.in_block() {
        handle.misuse("a scope was opened inside an atomic block, where it cannot wait for its threads");
    }
    let shared =
        Shared { owner: handle.thread(), threads: AtomicU64::new(0), panicked: AtomicBool::new(false) };
    let scope = Scope { kind: Kind::Fibers(shared), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    let Kind::Fibers(shared) = &scope.kind else { unreachable!("it was made so") };
    wait_for_all(handle, shared);
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if shared.panicked.load(Ordering::Relaxed) => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

fn scope_outside<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    /// Frees the scope when std's is over.
    struct Free(Cell<*mut Scope<'static, 'static>>);
    impl Drop for Free {
        fn drop(&mut self) {
            if !self.0.get().is_null() {
                // SAFETY: it came from a box, and nobody can use it any more: the threads have ended.
                drop(unsafe { Box::from_raw(self.0.get()) });
            }
        }
    }
    let free = Free(Cell::new(std::ptr::null_mut()));
    std::thread::scope(|inner| {
        let scope = Scope { kind: Kind::Std(inner), scope: PhantomData, env: PhantomData };
        let scope = Box::into_raw(Box::new(scope));
        free.0.set(scope.cast());
        // SAFETY: the threads may use the scope until the last of them has ended, and it is freed after that.
        body(unsafe { &*scope })
    })
}

/// Until the threads of the scope, which the pointer is to, have ended.
static ALL_ENDED: Wait = {
    unsafe fn left(object: *const ()) -> ThreadSet {
        // SAFETY: the scope stands at this point, in its owner's frame.
        let shared = unsafe { &*object.cast::<Shared>() };
        let mut left = ThreadSet::EMPTY;
        for thread in shared.left().iter() {
            if execution().is_some_and(|handle| !handle.exited(thread)) {
                left.insert(thread);
            }
        }
        left
    }
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: as the caller promises.
        unsafe { left(object) }.is_empty()
    }
    Wait { ready, held_by: left }
};

#[track_caller]
fn wait_for_all(handle: Handle, shared: &Shared) {
    let Some(first) = shared.left().first() else { return };
    let address = usize::MAX - first.index();
    // SAFETY: `shared` outlives the point. Should the run be taken down here, the threads, which are younger, are
    // unwound before this stack.
    let intent =
        unsafe { Intent::waiting(Action::Join, address, &ALL_ENDED, std::ptr::from_ref(shared).cast()) };
    handle.wait(intent);
    for thread in shared.left().iter() {
        handle.saw_exit(thread);
    }
    handle.hold();
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a thread in the scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, body: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_as(Builder::new(), body).expect("failed to spawn thread")
    }

    #[track_caller]
    pub(super) fn spawn_as<F, T>(
        &'scope self,
        builder: Builder,
        body: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let shared = match &self.kind {
            Kind::Std(inner) => {
                let inner = builder.into_std().spawn_scoped(inner, body)?;
                let thread = Thread::of_std(inner.thread().clone());
                return Ok(ScopedJoinHandle { inner: Inner::Std(inner), thread });
            }
            Kind::Fibers(shared) => shared,
        };
        let Some(handle) = execution() else {
            return Err(io::Error::other("the scope belongs to an exploration, and the caller does not"));
        };
        let name = builder.name.map(StdArc::from);
        Ok(match start(handle, (name.clone(), builder.stack_size), body, Some(shared)) {
            Some(held) => {
                shared.threads.fetch_or(1 << held.id.0, Ordering::Relaxed);
                let thread = Thread::of_fiber(held.id, name);
                ScopedJoinHandle { inner: Inner::Fiber(held, shared), thread }
            }
            None => {
                let thread = Thread::of_fiber(FiberId(u8::MAX), name);
                ScopedJoinHandle { inner: Inner::Never, thread }
            }
        })
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the thread to end.
    ///
    /// # Errors
    /// With what the thread panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.inner {
            Inner::Std(handle) => handle.join(),
            Inner::Fiber(held, shared) => {
                let id = held.id;
                if let Some(handle) = execution() {
                    wait_for_end(handle, id);
                    if handle.thread() == shared.owner && handle.finished(id) {
                        shared.threads.fetch_and(!(1 << id.0), Ordering::Relaxed);
                    }
                }
                held.take()
            }
            Inner::Never => Err(Box::new("the thread was not started: the execution was being taken down")),
        }
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Has it ended?
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.inner {
            Inner::Std(handle) => handle.is_finished(),
            Inner::Fiber(held, _) => has_ended(held.id),
            Inner::Never => true,
        }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
