//! An execution against a graph: the program on its fibers, one step at a time, as an exploration of execution graphs
//! asks for it ([`linpoint_memory::Program`]).
//!
//! A thread runs up to the first thing that others may see, *posts* it as a step, and is paused. The exploration takes
//! the step, says what a read reads, and the thread goes on with that. Memory is written when a write is the newest of
//! its location, so that whatever looks at memory itself (`get_mut`, a destructor) finds the last write.
//!
//! # What is what
//! Operations on atomics and fences are steps of their own, with the orderings that the program asks for. To
//! start a thread and to join it are the graph's `Create` and `Join`. Everything else that threads share (locks,
//! condition variables, channels, counted references) is an object of the shims that has its state in
//! memory. An operation on it is one read-modify-write of a location that stands for the object. Their order is the
//! order in which they take effect: each reads the one before, and an execution goes along what is read, so that the
//! object's own state is right whenever one of them is executed. How they order what is around them
//! is `ordering_of`. An operation that cannot go on blocks its thread, for good: other graphs have it later in
//! the order.
//!
//! # Plain memory
//! Plain accesses are no events. In a graph without data races, conflicting ones are ordered by happens-before;
//! the execution follows it, and finds the right value in memory. Whether there are races is judged when the graph is
//! full, from its clocks (`judge.rs`). A graph in which a plain access races is reported at once, and nothing is
//! explored from what is read after it.
//!
//! # Loops
//! A thread that comes back to a place in the same state, with nothing written on the way, has made a turn without
//! effect, and blocks: whatever it reads the next time it reads in another graph the first time. The state
//! is looked at only once a thread has come back to a place at all; then everything is explored anew
//! ([`Suspicion`]), as the stack has to be kept free of what the explorer leaves there.

use std::collections::BTreeMap;
use std::panic::Location as Site;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use linpoint_memory::{End, Graph, Location, MAX_THREADS, Program, Step, Value};
use rustc_hash::FxHashMap;

use super::{CURRENT, Execution, Mode, run_fiber_weakly};
use crate::event::{Action, ThreadId, Wait};
use crate::failure::Failure;
use crate::fiber::{Fiber, Job};
use crate::heap;
use crate::panic_count;
use crate::run::ThreadRecord;
use crate::stranger;

mod beliefs;
mod blocks;
mod judge;
mod orderings;
mod places;
mod steps;

pub use orderings::{Instead, Part, Spot};
pub(crate) use places::Word;
pub(crate) use steps::Change;

use beliefs::{Beliefs, Next, Trial};
use blocks::{Blocks, Moment};
use orderings::Spots;
use places::{Places, Region};

/// An access to a place in the source, by a thread: where, and what it did.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Where in the source.
    pub site: &'static Site<'static>,
    /// What it did.
    pub action: Action,
}

/// What an execution knows of the graph that it is made against.
#[derive(Default)]
pub(super) struct State {
    threads: Vec<Weak>,
    places: Places,
    blocks: Blocks,
    /// The block that each aside of the run touches, if it is one of a cell in the heap.
    cells: Vec<Option<usize>>,
    /// Locations that were overwritten, and where a thread was that found it out.
    overwritten: Vec<(Location, Moment)>,
    /// What went wrong, and in which thread.
    failures: Vec<(Option<ThreadId>, Failure)>,
    /// What the last counted reference is dropped of, in a step that has not been completed.
    dying: Vec<usize>,
    /// Orderings that are not as in the source, where that is asked for.
    spots: Option<Spots>,
    /// What statics held in the first execution that came to them.
    statics: Arc<Mutex<FxHashMap<Location, Value>>>,
    numbers: Arc<Numbers>,
    beliefs: Arc<Beliefs>,
    suspicion: Suspicion,
}

/// Did some thread come back to a place?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Suspicion {
    /// No thread did.
    #[default]
    None,
    /// One did, and its state could not be looked at: everything is to be explored anew.
    Raised,
    /// States are looked at.
    Watched,
    /// They were, and a loop was taken for one that waits that does not: everything is to be explored anew.
    Mistaken,
}

/// The numbers of threads: who the how-manieth child of a thread is. They are the same in every execution.
#[derive(Debug, Default)]
struct Numbers(Mutex<FxHashMap<(usize, usize), usize>>);

impl Numbers {
    /// The number of that child, if there are not too many threads.
    fn of(&self, parent: usize, child: usize) -> Option<usize> {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = numbers.len() + 1;
        let number = *numbers.entry((parent, child)).or_insert(next);
        (number < MAX_THREADS).then_some(number)
    }
}

/// A thread of an execution.
#[derive(Debug, Default)]
struct Weak {
    /// The step that it stands before; nothing before it has run at all.
    posted: Option<Step>,
    /// What the last step gave.
    answer: Value,
    /// How many events it has executed.
    events: usize,
    children: usize,
    allocations: usize,
    /// How often it failed without a reason.
    spurious: u32,
    /// A loop may have gone round so often without an event.
    yields: u32,
    stops: Option<Stop>,
    /// Where the step that it stands before is in the source.
    line: Option<Line>,
    /// The steps taken.
    lines: Vec<Line>,
    /// Where it was since it last had an effect, and what it asked and was told since.
    visits: Vec<Visit>,
    turn: Vec<(Step, Value)>,
    /// The loop that is being tried: what the thread does is apart from the graph.
    trial: Option<Trial>,
}

/// Why a thread does not go on.
#[derive(Clone, Copy, Debug)]
enum Stop {
    /// It failed.
    Failed,
    /// It made a turn without effect, with the events from this number on.
    Turn(usize),
    /// It waits for an object.
    Wait(&'static Wait, *const ()),
}

/// A thread was at this place, in this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Visit {
    address: usize,
    site: usize,
    state: u128,
    events: usize,
    /// How much it had asked.
    asked: usize,
}

impl State {
    fn new(shared: &Shared, suspicion: Suspicion) -> State {
        let Shared(numbers, beliefs, statics) = shared.clone();
        State { numbers, beliefs, statics, suspicion, ..State::default() }
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Weak {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Weak::default);
        }
        &mut self.threads[thread.index()]
    }

    /// Does a location hold at first what it held in the first execution? Asked of statics only: others are new.
    fn begins_the_same(&mut self, location: Location) -> bool {
        let Some(known) = self.places.of(location).filter(|known| known.is_static) else { return true };
        let mut statics = self.statics.lock().unwrap_or_else(PoisonError::into_inner);
        *statics.entry(location).or_insert(known.initial) == known.initial
    }

    /// How many events of the graph a thread has executed.
    pub(super) fn events(&self, thread: ThreadId) -> u32 {
        self.threads.get(thread.index()).map_or(0, |thread| thread.events as u32)
    }

    fn moment(&mut self, thread: ThreadId) -> Moment {
        Moment { thread: thread.index(), events: self.thread(thread).events }
    }

    fn reset(&mut self) {
        for thread in &mut self.threads {
            thread.begin();
        }
        self.places.clear();
        self.cells.clear();
        self.overwritten.clear();
        self.dying.clear();
        self.failures.clear();
    }
}

impl Weak {
    fn begin(&mut self) {
        let (mut lines, mut visits) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.visits));
        let mut turn = std::mem::take(&mut self.turn);
        lines.clear();
        visits.clear();
        turn.clear();
        *self = Weak { lines, visits, turn, ..Weak::default() };
    }
}

/// A program on fibers, to be executed against graphs.
pub(crate) struct Machine<'p> {
    execution: Box<Execution>,
    program: &'p dyn Fn(),
}

/// What machines that explore one program together have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<Numbers>, Arc<Beliefs>, Arc<Mutex<FxHashMap<Location, Value>>>);

/// What is to be said of a full graph.
pub(crate) struct Full<'a> {
    pub(crate) failure: Option<Failure>,
    /// For each thread its steps.
    pub(crate) lines: Vec<&'a [Line]>,
    pub(crate) is_stuck: bool,
    pub(crate) pointers: Pointers<'a>,
}

/// What values of a graph point to.
pub(crate) struct Pointers<'a>(&'a Blocks);

/// A place in a block of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Who allocated the block.
    pub thread: ThreadId,
    /// As its how-manieth.
    pub number: usize,
    /// How many bytes from its beginning.
    pub offset: usize,
}

impl Pointers<'_> {
    pub(crate) fn of(&self, value: Value) -> Option<Pointer> {
        let address = usize::try_from(value).ok()?;
        let (_, block) = self.0.containing(address)?;
        let thread = ThreadId(block.thread as u8);
        Some(Pointer { thread, number: block.number, offset: address - block.start })
    }
}

impl<'p> Machine<'p> {
    pub(crate) fn new(
        mut execution: Box<Execution>,
        program: &'p dyn Fn(),
        shared: &Shared,
        suspicion: Suspicion,
    ) -> Machine<'p> {
        execution.weak = Some(Box::new(State::new(shared, suspicion)));
        execution.watching = suspicion == Suspicion::Watched;
        execution.quiet = false;
        Machine { execution, program }
    }

    /// Notes the orderings in the source, and takes others instead.
    pub(crate) fn take_orderings(&mut self, instead: &Arc<Instead>) {
        let instead = Arc::clone(instead);
        self.state().spots = Some(Spots { instead, seen: BTreeMap::new() });
    }

    /// The orderings in the source that were noted.
    pub(crate) fn orderings(&mut self) -> BTreeMap<Spot, Ordering> {
        self.state().spots.take().map(|spots| spots.seen).unwrap_or_default()
    }

    fn state(&mut self) -> &mut State {
        self.execution.weak.get_or_insert_with(Box::default)
    }

    /// Was there a loop, so that everything is to be explored anew?
    pub(crate) fn suspicion(&mut self) -> Suspicion {
        self.state().suspicion
    }

    /// What is to be said of the graph, which is full, and which the present execution was made against.
    pub(crate) fn judge(&mut self, graph: &Graph, end: End) -> Full<'_> {
        let this: *mut Execution = &raw mut *self.execution;
        CURRENT.set(this);
        let judged = self.execution.judge_weakly(graph, end);
        CURRENT.set(std::ptr::null_mut());
        let (failure, is_stuck) = judged;
        let state = &*self.state();
        let lines = state.threads.iter().map(|thread| thread.lines.as_slice()).collect();
        Full { failure, lines, is_stuck, pointers: Pointers(&state.blocks) }
    }

    /// Takes down what is left of the execution.
    fn take_down(&mut self) {
        // A panic of the visitor's is none of the program's.
        let panics = panic_count::put_aside();
        let this: *mut Execution = &raw mut *self.execution;
        CURRENT.set(this);
        // SAFETY: `this` is the execution that is current, and nothing else refers to it until this is done.
        unsafe {
            (*this).mode = Mode::Unwinding;
            for index in (0..MAX_THREADS).rev() {
                let thread = ThreadId(index as u8);
                while (*this).alive.contains(thread) {
                    run_fiber_weakly(this, thread);
                }
            }
            (*this).mode = Mode::Exploring;
        }
        CURRENT.set(std::ptr::null_mut());
        if panics > 0 {
            panic_count::bring_back(panics);
        }
        self.execution.beat.end();
        self.state().blocks.release();
    }

    /// Lets a thread run up to its next step, and tries the loop that it is in, if there is a question.
    fn run(&mut self, thread: usize) {
        self.run_once(thread);
        loop {
            let state = self.state();
            let beliefs = Arc::clone(&state.beliefs);
            let own = state.thread(ThreadId(thread as u8));
            let Some(trial) = &mut own.trial else { return };
            match trial.next(own.posted, &beliefs) {
                Next::Answer(answer) => {
                    own.answer = answer;
                    own.posted = None;
                    self.run_once(thread);
                }
                Next::Waits => {
                    own.stops = Some(Stop::Turn(trial.from));
                    own.posted = Some(Step::Blocked);
                    own.trial = None;
                    return;
                }
                Next::Differs => {
                    own.posted = Some(Step::Endless);
                    own.trial = None;
                    state.suspicion = Suspicion::Mistaken;
                    return;
                }
            }
        }
    }

    fn run_once(&mut self, thread: usize) {
        let id = ThreadId(thread as u8);
        let this: *mut Execution = &raw mut *self.execution;
        CURRENT.set(this);
        // SAFETY: as above.
        let ended = unsafe { run_fiber_weakly(this, id) };
        CURRENT.set(std::ptr::null_mut());
        let state = self.state().thread(id);
        if ended {
            let failed = matches!(state.stops, Some(Stop::Failed));
            state.posted = Some(if failed { Step::Failed(0) } else { Step::Finished });
        }
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        self.take_down();
    }
}

impl Program for Machine<'_> {
    fn threads(&self) -> usize {
        MAX_THREADS
    }

    fn starts(&self, thread: usize) -> bool {
        thread == 0
    }

    fn initial(&self, location: Location) -> Value {
        let known = self.execution.weak.as_ref().and_then(|state| state.places.of(location));
        known.map_or(0, |known| known.initial)
    }

    fn restart(&mut self) {
        self.take_down();
        let program = self.program;
        let root = move |_: usize| crate::thread::run_root(program);
        let root: Box<dyn Fn(usize) + '_> = Box::new(root);
        let job: Box<dyn FnOnce() + '_> = Box::new(move || root(0));
        // SAFETY: the job is run to its end, or unwound, before the program goes (`Machine::drop`).
        let job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce()>>(job) };
        self.execution.begin_weakly(Job::Own(job));
    }

    fn next(&mut self, thread: usize) -> Step {
        let id = ThreadId(thread as u8);
        if self.state().thread(id).posted.is_none() {
            self.run(thread);
        }
        self.state().thread(id).posted.unwrap_or(Step::Blocked)
    }

    fn resume(&mut self, thread: usize, answer: Value) {
        let state = self.state().thread(ThreadId(thread as u8));
        let events = match state.posted {
            Some(Step::Read { access, .. }) => 1 + usize::from(access.written(answer).is_some()),
            Some(_) => 1,
            None => return,
        };
        state.events += events;
        state.answer = answer;
        state.turn.extend(state.posted.map(|step| (step, answer)));
        state.posted = None;
        if let Some(line) = state.line {
            state.lines.push(line);
        }
        self.execution.threads[thread].steps += 1;
        self.run(thread);
    }

    fn stored(&mut self, location: Location, value: Value) {
        if let Some((address, size)) = self.state().places.store(location, value) {
            steps::write(address, size, value);
        }
    }
}

impl Execution {
    /// An execution begins, with this as its first thread.
    fn begin_weakly(&mut self, root: Job) {
        self.shims.reset(MAX_THREADS, false);
        self.run.clear();
        self.reset_threads();
        self.hidden_state = false;
        self.short_until = 0;
        self.strangers = stranger::noted();
        let this: *mut Execution = self;
        self.beat.begin(this, self.limits.patience);
        if let Some(state) = &mut self.weak {
            state.reset();
        }
        if let Err(failure) = self.place_thread(0, root, 0) {
            self.fail_weakly(None, failure);
        }
    }

    /// Puts a thread on the fiber with this number.
    fn place_thread(&mut self, number: usize, job: Job, stack_size: usize) -> Result<(), Failure> {
        while self.fibers.len() <= number {
            let fiber = Fiber::take(self.limits.stack_size).map_err(super::no_stack)?;
            self.fibers.push(Box::new(fiber));
            self.threads.push(super::state::Thread::default());
        }
        if stack_size > self.fibers[number].stack_size() {
            let fiber = Fiber::take(stack_size).map_err(super::no_stack)?;
            std::mem::replace(&mut *self.fibers[number], fiber).give_back();
        }
        while self.run.threads.len() <= number {
            let record = ThreadRecord { parent: None, born_at: 0, steps: 0, finished: false };
            self.run.threads.push(record);
        }
        self.threads[number].begin();
        self.fibers[number].assign(job);
        self.alive.insert(ThreadId(number as u8));
        Ok(())
    }

    /// Something went wrong, in this thread if it is known.
    pub(super) fn fail_weakly(&mut self, thread: Option<ThreadId>, failure: Failure) {
        let Some(state) = &mut self.weak else { return };
        heap::outside(|| state.failures.push((thread, failure)));
        if let Some(thread) = thread {
            state.thread(thread).stops = Some(Stop::Failed);
        }
    }

    /// Where an address is that is in no block.
    fn region(&self, address: usize) -> Region {
        if let Some(number) = self.shims.own_number(address) {
            return Region::Explorer(number);
        }
        let on_stack = |fiber: &Fiber| fiber.offset(address);
        let found =
            self.fibers.iter().enumerate().find_map(|(thread, fiber)| Some((thread, on_stack(fiber)?)));
        found.map_or(Region::Static, |(thread, offset)| Region::Stack(thread, offset))
    }
}
