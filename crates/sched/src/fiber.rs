//! Fibers: the threads of an explored program, all on one OS thread.
//!
//! A fiber keeps its stack from one execution to the next (a new stack costs a hundred times a switch), and runs
//! one job after the other. It gives control back either because its job ended or because the scheduler chose
//! somebody else.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use corosensei::stack::Stack as _;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::overflow;
use crate::stack::FiberStack;

/// What a fiber runs: it must catch the panics of the code it calls.
pub(crate) enum Job {
    /// Something of its own.
    Own(Box<dyn FnOnce()>),
    /// One of several that are run by the same function: which is told by a number.
    Numbered(&'static dyn Fn(usize), usize),
}

impl Job {
    fn run(self) {
        match self {
            Job::Own(body) => body(),
            Job::Numbered(body, number) => body(number),
        }
    }
}

/// Why a fiber gave control back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// It stands before a scheduling point.
    Suspended,
    /// Its job is done.
    Finished,
    /// It can neither go on nor be unwound: its stack is of no more use.
    Lost,
}

/// A stack with a program on it.
pub(crate) struct Fiber {
    coroutine: Coroutine<(), Pause, (), FiberStack>,
    shared: Rc<Shared>,
    /// What was asked for.
    stack_size: usize,
    /// Where nobody may write, at the end of the stack.
    guard: Range<usize>,
    /// The addresses of the whole stack.
    stack: Range<usize>,
}

/// What both sides of a fiber see.
struct Shared {
    job: Cell<Option<Job>>,
    yielder: Cell<*const Yielder<(), Pause>>,
}

thread_local! {
    /// Fibers of executions that are gone, with their stacks.
    static POOL: RefCell<Vec<Fiber>> = const { RefCell::new(Vec::new()) };
}

impl Fiber {
    /// A fiber with a stack of at least `stack_size` bytes: one that was used before on this OS thread, or a new one.
    pub(crate) fn take(stack_size: usize) -> std::io::Result<Fiber> {
        let used = POOL.with_borrow_mut(|pool| {
            let at = pool.iter().position(|fiber| fiber.stack_size == stack_size)?;
            Some(pool.swap_remove(at))
        });
        used.map_or_else(|| Fiber::new(stack_size), Ok)
    }

    /// Keeps the fiber for the next execution on this OS thread.
    pub(crate) fn give_back(self) {
        // While the thread ends there is no pool any more, and nobody to use it.
        let _ = POOL.try_with(|pool| pool.borrow_mut().push(self));
    }

    /// How large its stack is.
    pub(crate) fn stack_size(&self) -> usize {
        self.stack_size
    }

    /// Is this address one that is touched where the stack overflows?
    pub(crate) fn guards(&self, address: usize) -> bool {
        self.guard.contains(&address)
    }

    /// How far below the beginning of the stack this address is, if it is on it.
    pub(crate) fn offset(&self, address: usize) -> Option<usize> {
        self.stack.contains(&address).then(|| self.stack.end - address)
    }

    /// The lowest address of its stack, where nobody may write.
    pub(crate) fn lowest(&self) -> usize {
        self.stack.start
    }

    /// A fiber with a stack of at least `stack_size` bytes.
    fn new(stack_size: usize) -> std::io::Result<Fiber> {
        overflow::prepare();
        let stack = FiberStack::new(stack_size)?;
        let limit = stack.limit().get();
        let range = limit..stack.base().get();
        let guard = limit..limit + overflow::page_size();
        let shared = Rc::new(Shared { job: Cell::new(None), yielder: Cell::new(std::ptr::null()) });
        let inside = Rc::clone(&shared);
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), Pause>, ()| {
            inside.yielder.set(yielder);
            loop {
                if let Some(job) = inside.job.take() {
                    job.run();
                }
                yielder.suspend(Pause::Finished);
            }
        });
        Ok(Fiber { coroutine, shared, stack_size, guard, stack: range })
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

    /// Forgets the fiber with everything that is on its stack, as nothing can be unwound there any more.
    pub(crate) fn forget(self) {
        std::mem::forget(self);
    }

    /// The handle by which the code on this fiber gives control back; null before it first ran.
    pub(crate) fn yielder(&self) -> *const Yielder<(), Pause> {
        self.shared.yielder.get()
    }
}
