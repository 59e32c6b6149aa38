//! Fibers: the threads of an explored program, all on one OS thread.
//!
//! A fiber keeps its stack from one execution to the next (a new stack costs a hundred times a switch), and runs
//! one job after the other. It gives control back either because its job ended or because the scheduler chose
//! somebody else.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// What a fiber runs: it must catch the panics of the code it calls.
pub(crate) type Job = Box<dyn FnOnce()>;

/// Why a fiber gave control back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// It stands before a scheduling point.
    Suspended,
    /// It created a thread, which runs up to its first scheduling point before it goes on.
    Spawned,
    /// Its job is done.
    Finished,
}

/// A stack with a program on it.
pub(crate) struct Fiber {
    coroutine: Coroutine<(), Pause, (), DefaultStack>,
    shared: Rc<Shared>,
    bounds: Range<usize>,
}

/// What both sides of a fiber see.
struct Shared {
    job: Cell<Option<Job>>,
    yielder: Cell<*const Yielder<(), Pause>>,
}

impl Fiber {
    /// A fiber with a stack of at least `stack_size` bytes.
    pub(crate) fn new(stack_size: usize) -> std::io::Result<Fiber> {
        let stack = DefaultStack::new(stack_size)?;
        let bounds = stack.limit().get()..stack.base().get();
        let shared = Rc::new(Shared { job: Cell::new(None), yielder: Cell::new(std::ptr::null()) });
        let inside = Rc::clone(&shared);
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), Pause>, ()| {
            inside.yielder.set(yielder);
            loop {
                if let Some(job) = inside.job.take() {
                    job();
                }
                yielder.suspend(Pause::Finished);
            }
        });
        Ok(Fiber { coroutine, shared, bounds })
    }

    /// Gives the fiber its next job, to be started by [`Fiber::resume`].
    pub(crate) fn assign(&self, job: Job) {
        self.shared.job.set(Some(job));
    }

    /// Lets the fiber run until it pauses.
    pub(crate) fn resume(&mut self) -> Pause {
        match self.coroutine.resume(()) {
            CoroutineResult::Yield(pause) => pause,
            CoroutineResult::Return(()) => Pause::Finished,
        }
    }

    /// The handle by which the code on this fiber gives control back; null before it first ran.
    pub(crate) fn yielder(&self) -> *const Yielder<(), Pause> {
        self.shared.yielder.get()
    }

    /// The addresses of its stack.
    pub(crate) fn stack(&self) -> Range<usize> {
        self.bounds.clone()
    }
}
