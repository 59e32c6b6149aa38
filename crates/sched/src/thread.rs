//! `std::thread`, name for name.
//!
//! Inside an exploration a thread is a fiber. Creating one is not a step: the new thread runs up to its first step
//! right away, and nobody can tell when it did that. Its end is a step, for `is_finished` tells. As in std, it lets go of its
//! result in that step, which is dropped by the thread or by its handle, whoever comes last; and values of `thread_local!` are
//! dropped after it: only who joins the thread waits for that, not the end of a scope. Joining is a step that waits. [`yield_now`] and [`sleep`] are
//! nothing at all: every schedule is explored anyway, and time does not pass.
//!
//! A panic in flight belongs to the OS thread, so [`panicking`] is std's own. Others may go while a thread unwinds: its panics
//! go with it (`panic_count`).

use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::num::NonZero;
use std::panic::Location;
use std::sync::Arc as StdArc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::event::{Action, Effect, Intent, ThreadId as FiberId, ThreadSet, Wait};
use crate::execution::{Handle, current as execution};
use crate::fiber::Job;
use crate::{heap, local, panics, whim};

mod identity;
mod scope;

pub use std::thread::{Result, panicking};

pub use crate::local::{AccessError, LocalKey};
pub use identity::{Thread, ThreadId, current, park, park_timeout};
pub use scope::{Scope, ScopedJoinHandle, scope};

/// The right to wait for a thread's end.
pub struct JoinHandle<T> {
    inner: Inner<T>,
    thread: Thread,
}

enum Inner<T> {
    Std(std::thread::JoinHandle<T>),
    Fiber(Held<'static, T>),
    /// A thread that was never started.
    Never,
}

/// What a thread hands to whoever joins it.
struct Packet<'scope, T> {
    result: UnsafeCell<Option<Result<T>>>,
    scope: Option<&'scope scope::Shared>,
}

// SAFETY: the result is written by the thread before it ends and taken by the one that joins it after that.
unsafe impl<T: Send> Send for Packet<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Packet<'_, T> {}

/// A thread of an execution, and its result, once it has one.
struct Held<'scope, T> {
    id: FiberId,
    /// Nothing once it is taken.
    packet: Option<StdArc<Packet<'scope, T>>>,
    /// Where the thread was started.
    site: &'static Location<'static>,
}

impl<T> Held<'_, T> {
    /// The result of the thread, which has ended.
    fn take(mut self) -> Result<T> {
        match self.packet.take() {
            Some(packet) => packet.take(),
            None => unreachable!("it is taken once"),
        }
    }
}

impl<T> Drop for Held<'_, T> {
    /// Whoever lets go last drops the result: the thread when it ends, or this handle. Where that makes a difference it is a
    /// step.
    fn drop(&mut self) {
        let Some(packet) = self.packet.take() else { return };
        if std::mem::needs_drop::<T>()
            && let Some(handle) = execution()
        {
            let address = handle.end_address(self.id);
            handle.point(Intent::at(Action::Detach, address, self.site));
            handle.access(Action::Detach, address, Effect::ReadWrite, Ordering::Relaxed, 1);
            handle.scrub_deep_alone();
            if StdArc::strong_count(&packet) == 1 {
                // Nobody can tell when it drops the result.
                handle.hold();
            }
            drop(packet);
            handle.hold();
        }
    }
}

impl<T> Packet<'_, T> {
    fn take(&self) -> Result<T> {
        // SAFETY: called by whoever consumed the only handle to the thread, after its end.
        unsafe { (*self.result.get()).take() }
            .unwrap_or_else(|| Err(Box::new("the thread was abandoned with its execution")))
    }
}

impl<T> Drop for Packet<'_, T> {
    fn drop(&mut self) {
        if let (Some(scope), Some(Err(_))) = (self.scope, self.result.get_mut()) {
            scope.note_panic();
        }
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the thread to end.
    ///
    /// # Errors
    /// With what the thread panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.inner {
            Inner::Std(handle) => handle.join(),
            Inner::Fiber(held) => {
                if let Some(handle) = execution() {
                    wait_for_end(handle, held.id);
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
            Inner::Fiber(held) => has_ended(held.id),
            Inner::Never => true,
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Starts a thread.
#[track_caller]
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(body).expect("failed to spawn thread")
}

/// How a thread is to be started.
#[derive(Debug, Default)]
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// As [`spawn`] starts it.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Gives the thread a name.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// Asks for a stack of this size. Inside an exploration no stack is smaller than its limits say.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// If the OS has no thread left to give.
    #[track_caller]
    pub fn spawn<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: nothing is borrowed.
        unsafe { self.spawn_unchecked(body) }
    }

    /// Starts the thread, which may borrow.
    ///
    /// # Errors
    /// If the OS has no thread left to give.
    ///
    /// # Safety
    /// The thread must be joined before what it borrows ends.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let Some(handle) = execution() else {
            // SAFETY: as the caller promises.
            let inner = unsafe { self.into_std().spawn_unchecked(body) }?;
            let thread = Thread::of_std(inner.thread().clone());
            return Ok(JoinHandle { inner: Inner::Std(inner), thread });
        };
        let name = self.name.map(StdArc::from);
        let (inner, thread) = match start(handle, (name.clone(), self.stack_size), body, None) {
            Some(held) => {
                let thread = Thread::of_fiber(held.id, name);
                (Inner::Fiber(held), thread)
            }
            None => (Inner::Never, Thread::of_fiber(FiberId(u8::MAX), name)),
        };
        Ok(JoinHandle { inner, thread })
    }

    /// Starts the thread in a scope.
    ///
    /// # Errors
    /// If the OS has no thread left to give.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        body: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        scope.spawn_as(self, body)
    }

    fn into_std(self) -> std::thread::Builder {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }
}

/// Starts a thread of an execution; not while that is taken down.
#[track_caller]
fn start<'scope, F, T>(
    handle: Handle,
    (name, stack_size): (Option<StdArc<str>>, Option<usize>),
    body: F,
    scope: Option<&'scope scope::Shared>,
) -> Option<Held<'scope, T>>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    if handle.doomed() && panicking() {
        return None;
    }
    if let Some(name) = name {
        handle.name_next(&name);
    }
    handle.name_end_of_next();
    let site = Location::caller();
    // What is needed to start a thread is not the program's, but part of its state.
    let own = (!handle.is_watching()).then(heap::Outside::enter);
    let packet = StdArc::new(Packet { result: UnsafeCell::new(None), scope });
    let inside = StdArc::clone(&packet);
    let job: Box<dyn FnOnce() + '_> = Box::new(move || {
        let outcome = panics::run(body);
        if let (Err(payload), Some(handle)) = (&outcome, execution()) {
            handle.panicked(payload.as_ref());
        }
        // SAFETY: nobody reads it before the thread has ended.
        unsafe { *inside.result.get() = Some(outcome) };
        leave(inside, site);
    });
    drop(own);
    // SAFETY: a thread does not outlive what it borrows: the callers ask for 'static, or wait for their threads. If
    // the run is taken down first, the youngest stacks are unwound first.
    let job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce()>>(job) };
    let id = handle.spawn_with_stack(Job::Own(job), stack_size.unwrap_or(0));
    Some(Held { id, packet: Some(packet), site })
}

/// A thread with a handle ends: a step of its own. It lets go of its result, and only then of its thread-local values.
fn leave<T>(packet: StdArc<Packet<'_, T>>, site: &'static Location<'static>) {
    let mut last = false;
    if let Some(handle) = execution().filter(|handle| !handle.doomed()) {
        // Should the run be taken down here, there is nothing to unwind but this.
        drop(panics::run(|| {
            let address = handle.end_address(handle.thread());
            handle.point(Intent::at(Action::Exit, address, site));
            last = StdArc::strong_count(&packet) == 1;
            if last {
                handle.access(Action::Exit, address, Effect::Write, Ordering::Relaxed, 1);
            } else {
                handle.exits();
            }
            handle.scrub_deep_alone();
        }));
    }
    let mut packet = Some(packet);
    let dropped = panics::run(|| {
        if !last {
            drop(packet.take());
        }
        if let Some(handle) = execution() {
            handle.hold();
        }
        drop(packet.take());
    });
    if let Some(handle) = execution() {
        if let Err(payload) = &dropped {
            handle.panicked(payload.as_ref());
        }
        // The end of a scope waits until the result is dropped.
        if last {
            handle.exits();
            // Should the run be taken down here, there is nothing to unwind but this.
            drop(panics::run(|| handle.hold_once_more()));
        }
    }
    finish(());
}

/// The last things a thread does that has no handle: it lets go of its result, and of its thread-local values.
fn finish<R>(result: R) {
    let mut dropped = if std::mem::needs_drop::<R>() { panics::run(move || drop(result)) } else { Ok(()) };
    while let Some(handle) = execution() {
        if let Err(payload) = &dropped {
            handle.panicked(payload.as_ref());
        }
        if handle.locals().is_empty() {
            return;
        }
        dropped = panics::run(|| local::drop_all(handle));
    }
}

/// The end of a thread whose result nobody is to have.
fn end(outcome: Result<()>) {
    match outcome {
        Ok(()) => finish(()),
        Err(payload) => {
            if let Some(handle) = execution() {
                handle.panicked(payload.as_ref());
            }
            finish(payload);
        }
    }
}

/// The body of the program itself, thread 0, run to its end.
pub(crate) fn run_root(program: &dyn Fn()) {
    if let Some(handle) = execution() {
        whim::start(handle);
    }
    run_beside(program);
}

/// A body of a thread whose result nobody is to have, run to its end.
pub(crate) fn run_beside(body: impl FnOnce()) {
    end(panics::run(body));
}

/// Until the threads, a set taken for a pointer, have ended.
pub(crate) static ENDED: Wait = {
    unsafe fn held_by(object: *const ()) -> ThreadSet {
        let threads = ThreadSet(object.addr() as u64);
        execution().map_or(ThreadSet::EMPTY, |handle| handle.unfinished(threads))
    }
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: it asks nothing.
        unsafe { held_by(object) }.is_empty()
    }
    Wait { ready, held_by }
};

/// A step that waits until `threads` have ended.
#[track_caller]
fn until_ended(threads: ThreadSet) -> Intent {
    let object = std::ptr::without_provenance::<()>(threads.0 as usize);
    let address = usize::MAX - threads.first().map_or(0, FiberId::index);
    // SAFETY: the pointer is taken for a set of threads.
    unsafe { Intent::waiting(Action::Join, address, &ENDED, object) }
}

/// Returns when `thread` has ended.
#[track_caller]
fn wait_for_end(handle: Handle, thread: FiberId) {
    let mut threads = ThreadSet::EMPTY;
    threads.insert(thread);
    if handle.wait(until_ended(threads)) {
        handle.joined(thread);
        handle.hold();
    }
}

/// Looks whether `thread` has ended: a step, for it tells something about another thread.
#[track_caller]
fn has_ended(thread: FiberId) -> bool {
    let Some(handle) = execution() else { return true };
    let address = handle.end_address(thread);
    handle.point(Intent::new(Action::IsFinished, address));
    let ended = handle.exited(thread);
    handle.access(Action::IsFinished, address, Effect::Read, Ordering::Relaxed, u64::from(ended));
    handle.detail(|| ended.to_string());
    handle.scrub_deep();
    ended
}

/// Runs `bodies` as threads of the running execution, as [`run_numbered`] does.
///
/// # Panics
/// Outside an exploration.
#[track_caller]
pub fn run_all<'a>(bodies: impl Iterator<Item = Box<dyn FnOnce() + Send + 'a>>) {
    let bodies: Vec<_> = bodies.map(|body| std::sync::Mutex::new(Some(body))).collect();
    run_numbered(bodies.len(), &|number| {
        let body = bodies[number].lock().ok().and_then(|mut body| body.take());
        if let Some(body) = body {
            body();
        }
    });
}

/// Runs `body(0)`, `body(1)` … as `count` threads of the running execution and returns when all have ended. Unlike
/// joining them one by one that is a single step, which can only come last: no schedule is spent on it. They are fibers
/// of one OS thread, so that they may share what is not `Sync`.
///
/// # Panics
/// Outside an exploration.
#[track_caller]
pub fn run_numbered(count: usize, body: &dyn Fn(usize)) {
    let handle = execution().expect("threads of an execution are started inside an exploration");
    let job = |number: usize| {
        end(panics::run(|| body(number)));
    };
    let job: &dyn Fn(usize) = &job;
    // SAFETY: the threads have ended when this function returns. A stack that is unwound here outlives its threads:
    // the youngest are unwound first.
    let job = unsafe { std::mem::transmute::<&dyn Fn(usize), &'static dyn Fn(usize)>(job) };
    let mut threads = ThreadSet::EMPTY;
    let mut waited = false;
    for number in 0..count {
        let next = if number + 1 == count { handle.next_to_wait_for() } else { None };
        match next {
            Some(last) => {
                threads.insert(last);
                handle.spawn_and_wait(Job::Numbered(job, number), until_ended(threads));
                waited = true;
            }
            None => threads.insert(handle.spawn(Job::Numbered(job, number))),
        }
    }
    if !waited {
        handle.wait(until_ended(threads));
    }
    for thread in threads.iter() {
        handle.joined(thread);
    }
    handle.hold();
}

/// Lets others go first, if they want to. Inside an exploration they can at any step; a loop that yields in every turn
/// lets them.
#[track_caller]
pub fn yield_now() {
    match execution() {
        None => std::thread::yield_now(),
        Some(handle) => handle.yields(),
    }
}

/// Sleeps. Inside an exploration no time passes, and it is as [`yield_now`].
#[track_caller]
pub fn sleep(duration: Duration) {
    match execution() {
        None => std::thread::sleep(duration),
        Some(handle) => handle.yields(),
    }
}

/// How many threads the machine runs at a time. Inside an exploration it is two, on every machine.
///
/// # Errors
/// If the OS does not say.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    match execution() {
        None => std::thread::available_parallelism(),
        Some(_) => Ok(NonZero::<usize>::MIN.saturating_add(1)),
    }
}
