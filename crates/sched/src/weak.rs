//! Every execution of a program under a weak memory model: each execution graph once.
//!
//! The same programs and the same shims as elsewhere, but what a read reads is not always the latest write. The
//! graphs are explored by `linpoint-memory`; this executes the program against each of them, on its fibers.
//!
//! # What it needs
//! [`crate::Heap`] as the global allocator: locations are called after the blocks they lie in, and memory that is freed
//! must not be used again in one execution. Without it nothing is explored.
//!
//! # What it refuses
//! Atomics of different sizes at one place; blocks of code as one step ([`crate::atomically`]), and so claims; more than
//! [`linpoint_memory::MAX_THREADS`] threads. A program that does this gets a failure that is a refusal
//! ([`Failure::is_refusal`]), and never an answer.
//!
//! # What it does not see
//! Data races on memory that is in no cell of this crate; and executions with load buffering, which the model excludes.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::panic::Location as Site;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub use linpoint_memory::{
    Coverage, End, Ended, EventId, Graph, Kind, Limit, Location, Model, linearize, oracle,
};
use linpoint_memory::{Options, Program, Report, Schedule, Step, Value, WorkOrder};

pub use crate::execution::weak::{Line, Pointer};
use crate::execution::weak::{Machine, Pointers, Shared, Suspicion};
use crate::execution::{Execution, Limits, current};
use crate::failure::Failure;
use crate::heap::Heap;

/// What to explore, and how much of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which executions exist.
    pub model: Model,
    /// At most so long.
    pub time: Option<Duration>,
    /// At most so many graphs.
    pub graphs: Option<u64>,
    /// The most events of a thread: one that has more is taken to go on for ever, and is cut short.
    pub events: usize,
    /// So many random executions instead of every graph, from this seed.
    pub samples: Option<(u64, u64)>,
    /// Does the first failure end the exploration?
    pub stop_at_failure: bool,
    /// Is it a failure if threads wait for ever?
    pub stuck_fails: bool,
    /// What bounds a single execution.
    pub limits: Limits,
}

impl Plan {
    /// Everything there is under this model.
    pub fn of(model: Model) -> Plan {
        Plan {
            model,
            time: None,
            graphs: None,
            events: 1_000,
            samples: None,
            stop_at_failure: true,
            stuck_fails: true,
            limits: Limits::default(),
        }
    }
}

/// A full graph, as a visitor sees it.
pub struct Seen<'a> {
    /// Its number in the exploration, from 1. The exploration goes the same way every time.
    pub number: u64,
    /// The graph.
    pub graph: &'a Graph,
    /// How it ended.
    pub end: End,
    /// What is wrong in it.
    pub failure: Option<&'a Failure>,
    /// For each thread, where each of its steps is in the source. A read-modify-write is one step and two events.
    pub lines: &'a [&'a [Line]],
    /// Do threads wait for ever?
    pub is_stuck: bool,
    pointers: &'a Pointers<'a>,
}

impl Seen<'_> {
    /// The block of the heap that a value points into, if it is a pointer into one.
    pub fn pointer(&self, value: Value) -> Option<Pointer> {
        self.pointers.of(value)
    }
}

/// What an exploration found.
#[derive(Debug)]
pub struct Explored {
    /// What was met, and why it ended.
    pub report: Report,
    /// Graphs in which threads wait for ever.
    pub stuck: u64,
    /// The first failure, and the number of its graph.
    pub found: Option<(Failure, u64)>,
    /// Why nothing can be said, if that is so.
    pub refused: Option<String>,
}

impl Explored {
    /// Was every execution shown, whole?
    pub fn is_complete(&self) -> bool {
        self.refused.is_none() && self.report.coverage() == linpoint_memory::Coverage::Everything
    }

    fn refused(why: &str) -> Explored {
        Explored { report: Report::default(), stuck: 0, found: None, refused: Some(why.to_owned()) }
    }
}

/// What a program without [`Heap`] is told.
pub const NEEDS_HEAP: &str = "a weak memory model needs linpoint's heap as the global allocator, so that locations have \
                              names: #[global_allocator] static HEAP: linpoint::Heap = linpoint::Heap::new();";

/// Explores `program`, and shows every full graph to `visit`, which may end the exploration. A graph in which a thread was stopped that goes
/// on in another graph is shown, too: its end is [`End::Blocked`], and nobody waits for ever in it.
pub fn explore(
    program: &dyn Fn(),
    plan: &Plan,
    visit: &mut dyn FnMut(Seen<'_>) -> ControlFlow<()>,
) -> Explored {
    assert!(current().is_none(), "an exploration cannot be started inside an exploration");
    // Whoever allocated before this call has shown which allocator there is.
    drop(std::hint::black_box(Box::new(0u64)));
    if !Heap::is_installed() {
        return Explored::refused(NEEDS_HEAP);
    }
    let _host = linpoint_claim::install(Rc::new(NoClaims(RefCell::new(linpoint_claim::Monitor::new()))));
    let deadline = plan.time.and_then(|time| Instant::now().checked_add(time));
    let shared = Shared::default();
    let mut suspicion = Suspicion::None;
    // What the program or std allocates only once in the process is there before blocks are counted.
    let first = Plan { graphs: Some(1), samples: None, ..plan.clone() };
    let machine = Machine::new(Execution::new(plan.limits.clone()), program, &Shared::default(), suspicion);
    pass(machine, &first, deadline, &mut |_| ControlFlow::Continue(()));
    loop {
        let execution = Execution::new(plan.limits.clone());
        let machine = Machine::new(execution, program, &shared, suspicion);
        let (explored, raised) = pass(machine, plan, deadline, visit);
        if !raised {
            return explored;
        }
        suspicion = Suspicion::Watched;
    }
}

/// Claims are decided along schedules, and nothing is said of them here: whoever makes one is refused.
struct NoClaims(RefCell<linpoint_claim::Monitor>);

impl linpoint_claim::Host for NoClaims {
    fn thread(&self) -> linpoint_claim::ThreadId {
        linpoint_claim::ThreadId::default()
    }

    fn monitor(&self) -> &RefCell<linpoint_claim::Monitor> {
        &self.0
    }

    fn is_listening(&self) -> bool {
        current().is_some()
    }

    /// Procedures begin and end; without claims that means nothing.
    fn tell(&self, _event: &mut dyn FnMut(&mut linpoint_claim::Monitor, linpoint_claim::ThreadId)) {}

    fn atomically(&self, _site: &'static Site<'static>, _step: &mut dyn FnMut()) {
        if let Some(handle) = current() {
            handle.misuse("claims are not decided under a weak memory model");
        }
    }
}

/// The machine, for the exploration and for the visitor of its graphs, who take turns.
struct Turns<'m, 'p>(&'m RefCell<Machine<'p>>);

impl Program for Turns<'_, '_> {
    fn threads(&self) -> usize {
        self.0.borrow().threads()
    }

    fn starts(&self, thread: usize) -> bool {
        self.0.borrow().starts(thread)
    }

    fn initial(&self, location: Location) -> Value {
        self.0.borrow().initial(location)
    }

    fn restart(&mut self) {
        self.0.borrow_mut().restart();
    }

    fn next(&mut self, thread: usize) -> Step {
        self.0.borrow_mut().next(thread)
    }

    fn resume(&mut self, thread: usize, answer: Value) {
        self.0.borrow_mut().resume(thread, answer);
    }

    fn stored(&mut self, location: Location, value: Value) {
        self.0.borrow_mut().stored(location, value);
    }
}

/// Explores once. The second answer: is it to be done anew, because there was a loop?
fn pass(
    machine: Machine<'_>,
    plan: &Plan,
    deadline: Option<Instant>,
    visit: &mut dyn FnMut(Seen<'_>) -> ControlFlow<()>,
) -> (Explored, bool) {
    let mut options = Options::of(plan.model);
    options.limits.events_per_thread = plan.events;
    options.limits.graphs = plan.graphs.unwrap_or(u64::MAX);
    if let Some(deadline) = deadline {
        options.limits.time = deadline.saturating_duration_since(Instant::now());
    }
    options.order = WorkOrder::LastIn;
    let machine = RefCell::new(machine);
    let mut explored = Explored { report: Report::default(), stuck: 0, found: None, refused: None };
    let mut raised = false;
    let mut graphs = 0;
    let looked = |graph: &Graph, end: End| {
        let mut machine = machine.borrow_mut();
        if matches!(machine.suspicion(), Suspicion::Raised | Suspicion::Mistaken) {
            raised = true;
            return ControlFlow::Break(());
        }
        graphs += 1;
        let full = machine.judge(graph, end);
        let is_wait = matches!(
            full.failure,
            Some(Failure::Deadlock { .. } | Failure::LeakedThreads { .. } | Failure::Livelock { .. })
        );
        let failure = full.failure.filter(|_| plan.stuck_fails || !is_wait);
        explored.stuck += u64::from(full.is_stuck);
        let seen = Seen {
            pointers: &full.pointers,
            number: graphs,
            graph,
            end,
            failure: failure.as_ref(),
            lines: &full.lines,
            is_stuck: full.is_stuck,
        };
        let flow = visit(seen);
        let Some(failure) = failure else { return flow };
        let ends = plan.stop_at_failure || failure.is_refusal();
        if failure.is_refusal() && explored.refused.is_none() {
            explored.refused = Some(failure.to_string());
        }
        if explored.found.is_none() {
            explored.found = Some((failure, graphs));
        }
        if ends { ControlFlow::Break(()) } else { flow }
    };
    let mut program = Turns(&machine);
    let report = match plan.samples {
        None => linpoint_memory::explore(&mut program, &options, looked),
        Some((seed, executions)) => {
            options.schedule = Schedule::Random(seed);
            linpoint_memory::sample(&mut program, &options, executions, looked)
        }
    };
    explored.report = report;
    if explored.report.ended == Ended::Diverged && explored.refused.is_none() {
        explored.refused = Some(
            "the program did not do the same against the same graph: it depends on more than what it reads (time, \
             randomness, addresses, a static that is not reset)"
                .to_owned(),
        );
    }
    (explored, raised)
}

/// Marks the begin of an operation of the running thread, if it is explored under a weak memory model.
#[track_caller]
pub fn mark_call(operation: u32, argument: Value) {
    if let Some(handle) = current().filter(|handle| handle.is_weak()) {
        handle.mark_weakly(Step::Call { operation, argument }, Site::caller());
    }
}

/// Marks the end of an operation of the running thread, with its result as a number.
#[track_caller]
pub fn mark_return(result: Value) {
    if let Some(handle) = current().filter(|handle| handle.is_weak()) {
        handle.mark_weakly(Step::Return(result), Site::caller());
    }
}

/// A number below `of`, and all of them are explored; 0 outside an exploration under a weak memory model.
pub fn choose(of: u32) -> u32 {
    let handle = current().filter(|handle| handle.is_weak());
    handle.and_then(|handle| handle.choose_weakly(of)).unwrap_or(0)
}

/// Goes on only if the condition holds: what comes next is explored where it does. Nothing outside an exploration under a weak
/// memory model.
pub fn assume(condition: bool) {
    if !condition && let Some(handle) = current().filter(|handle| handle.is_weak()) {
        handle.stop_weakly();
    }
}
