//! Every execution graph of a program, each once.
//!
//! The algorithm is TruSt: Kokologiannakis, Marmanis, Gladstein, Vafeiadis, *Truly Stateless, Optimal Dynamic
//! Partial Order Reduction* (POPL 2022). A work list holds graphs, at first the empty one. One is taken, the
//! program is executed against it, and where the program goes beyond the graph, events are added:
//!
//! * a **read** may read from any write that coherence allows: the newest is taken in this execution, a copy
//!   of the graph with each other one goes to the work list;
//! * a **write** may stand at any place of modification order that coherence allows, likewise; and it
//!   *revisits* every read of its location that is not in its `porf` past: what was added after the read, and
//!   is not in the past of the write, is taken away, the read reads from the write, and that graph goes to
//!   the work list.
//!
//! A revisit is made only if the events it takes away, and the read, were all added in the default way
//! (`revisit::Revisit::is_maximal`): then the same graph does not come about in two ways. When no thread can
//! go on, the graph is full and is shown to the caller. [docs/weak-memory.md](../../../docs/weak-memory.md)
//! argues why every consistent graph is met exactly once, in whatever order the list is taken.
//!
//! A thread that is blocked, or that failed, stops; **the others go on**, or graphs would be lost: a later
//! write may revisit what the thread read.

mod limits;
mod parallel;
mod read;
mod replay;
mod revisit;
mod sample;
mod work;
mod write;

pub use limits::{Coverage, Ended, Limit, Limits};
pub use parallel::explore_together;
pub use work::WorkOrder;

use std::ops::ControlFlow;

use crate::clock::MAX_THREADS;
use crate::event::EventId;
use crate::graph::Graph;
use crate::ordering::Model;
use crate::program::Program;
use limits::Clockwork;
use work::WorkList;

/// How to explore.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which executions exist.
    pub model: Model,
    /// Which graph of the work list is taken next. Every order visits the same graphs; last in, first out
    /// needs the least memory.
    pub order: WorkOrder,
    /// Which thread goes on where several can. Every policy visits the same graphs.
    pub schedule: Schedule,
    /// When to stop.
    pub limits: Limits,
}

impl Options {
    /// Everything there is under this model.
    #[must_use]
    pub fn of(model: Model) -> Options {
        Options {
            model,
            order: WorkOrder::LastIn,
            schedule: Schedule::LeftToRight,
            limits: Limits::default(),
        }
    }
}

/// Shows so many random executions of the program to `visit`, until it breaks: for programs that are too
/// large to explore. Each step, which thread goes on, what a read reads and where a write stands are chosen
/// at random from the seed; the same graph may be met again. Nothing follows about executions that were not
/// met.
///
/// C11Tester works like this: Luo, Demsky, *C11Tester: A Race Detector for C/C++ Atomics* (ASPLOS 2021).
pub fn sample<P: Program>(
    program: &mut P,
    options: &Options,
    executions: u64,
    mut visit: impl FnMut(&Graph, End) -> ControlFlow<()>,
) -> Report {
    let mut explorer = match Explorer::new(program, options) {
        Ok(explorer) => explorer,
        Err(ended) => return Report { ended, ..Report::default() },
    };
    explorer.is_sampling = true;
    explorer.report.ended = Ended::Sampled;
    for _ in 0..executions {
        if let Some(limit) = explorer.clockwork.spent(explorer.report.graphs()) {
            explorer.report.ended = Ended::Limit(limit);
            break;
        }
        explorer.graph = Graph::new(explorer.threads.len());
        match explorer.execute() {
            Ok(end) => {
                explorer.report.count(end);
                if visit(&explorer.graph, end).is_break() {
                    explorer.report.ended = Ended::Stopped;
                    break;
                }
            }
            Err(Dead::NoGraph) => explorer.report.dead += 1,
            Err(Dead::Diverged) => {
                explorer.report.ended = Ended::Diverged;
                break;
            }
        }
    }
    explorer.report
}

/// Which thread goes on beyond the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// The first that can.
    LeftToRight,
    /// The last that can.
    RightToLeft,
    /// A random one, step by step, from this seed.
    Random(u64),
}

/// How an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum End {
    /// All threads are at their ends.
    Complete,
    /// Some thread waits for something that does not happen.
    Blocked,
    /// An assertion failed in some thread: which one.
    Failed(u32),
    /// Some thread reached the limit of its steps, so the execution is not whole.
    Cut,
}

/// What an exploration met.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Graphs in which all threads ended.
    pub complete: u64,
    /// Graphs in which a thread is blocked.
    pub blocked: u64,
    /// Graphs in which an assertion failed.
    pub failed: u64,
    /// Graphs in which a thread reached the limit of its steps.
    pub cut: u64,
    /// Executions that led to no graph. There are none, but for mistakes of ours.
    pub dead: u64,
    /// The most graphs that the work list held.
    pub most_waiting: usize,
    /// Why it ended.
    pub ended: Ended,
}

impl Report {
    /// How much of the program it covers.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        if self.ended == Ended::Exhausted && self.cut == 0 && self.dead == 0 {
            Coverage::Everything
        } else {
            Coverage::Part
        }
    }

    /// All graphs that were shown.
    #[must_use]
    pub fn graphs(&self) -> u64 {
        self.complete + self.blocked + self.failed + self.cut
    }
}

/// Shows every execution graph of the program to `visit`, each once, until it breaks.
pub fn explore<P: Program>(
    program: &mut P,
    options: &Options,
    mut visit: impl FnMut(&Graph, End) -> ControlFlow<()>,
) -> Report {
    let mut explorer = match Explorer::new(program, options) {
        Ok(explorer) => explorer,
        Err(ended) => return Report { ended, ..Report::default() },
    };
    let threads = explorer.threads.len();
    explorer.work.push(Graph::new(threads));
    while let Some(graph) = explorer.work.take(&mut explorer.random) {
        if let Some(limit) = explorer.clockwork.spent(explorer.report.graphs()) {
            explorer.report.ended = Ended::Limit(limit);
            break;
        }
        explorer.load(graph);
        match explorer.execute() {
            Ok(end) => {
                explorer.report.count(end);
                if visit(&explorer.graph, end).is_break() {
                    explorer.report.ended = Ended::Stopped;
                    break;
                }
            }
            Err(Dead::NoGraph) => explorer.report.dead += 1,
            Err(Dead::Diverged) => {
                explorer.report.ended = Ended::Diverged;
                break;
            }
        }
    }
    explorer.report.most_waiting = explorer.work.most();
    explorer.report
}

impl Report {
    fn count(&mut self, end: End) {
        match end {
            End::Complete => self.complete += 1,
            End::Blocked => self.blocked += 1,
            End::Failed(_) => self.failed += 1,
            End::Cut => self.cut += 1,
        }
    }
}

/// Why an execution shows no graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dead {
    /// No way to go on is consistent.
    NoGraph,
    /// The program did not repeat what the graph says it did.
    Diverged,
}

/// What is known of a thread in the present execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Running,
    Finished,
    Blocked,
    Failed(u32),
    Cut,
}

struct Explorer<'p, P> {
    program: &'p mut P,
    model: Model,
    schedule: Schedule,
    limits: Limits,
    clockwork: Clockwork,
    /// The graph of the present execution.
    graph: Graph,
    /// The part of a graph that a revisit keeps.
    part: Graph,
    work: WorkList,
    /// Is one option chosen at random, and no other kept?
    is_sampling: bool,
    threads: Vec<State>,
    /// How many events of the graph each thread has executed in this execution.
    executed: Vec<usize>,
    /// The threads that run from the beginning or that the graph creates: a bit for each.
    created: u32,
    random: Random,
    report: Report,
    seen: Vec<bool>,
    queue: Vec<EventId>,
}

impl<'p, P: Program> Explorer<'p, P> {
    fn new(program: &'p mut P, options: &Options) -> Result<Explorer<'p, P>, Ended> {
        let threads = program.threads();
        if threads > MAX_THREADS {
            return Err(Ended::TooManyThreads);
        }
        let seed = if let Schedule::Random(seed) = options.schedule { seed } else { 1 };
        Ok(Explorer {
            program,
            model: options.model,
            schedule: options.schedule,
            limits: options.limits,
            clockwork: Clockwork::start(options.limits),
            graph: Graph::new(threads),
            part: Graph::new(threads),
            work: WorkList::new(options.order),
            is_sampling: false,
            threads: vec![State::Running; threads],
            executed: vec![0; threads],
            created: 0,
            random: Random::new(seed),
            report: Report::default(),
            seen: Vec::new(),
            queue: Vec::new(),
        })
    }

    fn load(&mut self, graph: Graph) {
        let before = std::mem::replace(&mut self.graph, graph);
        self.work.recycle(before);
    }

    /// Is the whole graph consistent, where the clocks do not tell? `events` are those that were added or
    /// changed.
    fn is_consistent(graph: &Graph, model: Model, events: &[EventId], seen: &mut Vec<bool>) -> bool {
        match model {
            Model::Sc => events.iter().all(|&id| {
                graph.sc_past(id, seen, &mut Vec::new());
                !seen[id.number()]
            }),
            Model::Rc11 | Model::Rc11Text2017 => crate::axioms::seq_cst_is_ordered(graph, model),
        }
    }
}

/// Random numbers: xorshift.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            random.below(2);
        }
        random
    }

    /// A number below `bound`, or 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        if bound == 0 { 0 } else { ((self.0 >> 11) % bound as u64) as usize }
    }
}
