//! The search: breadth first, one level of fused steps after another.

use std::rc::Rc;
use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::interp::{Choices, ErrorKind, Event, Machine, Outcome, RunError, State};
use linpoint_lang::program::{ClientThread, MarkKind, OpId, Word};
use linpoint_lang::span::Span;

use crate::client::{FRESH, Workload, arguments, is_data_independent};
use crate::fusion::local_nodes;
use crate::monitor::{Monitor, Refused};
use crate::pack::{Full, Packer};
use crate::reference::Reference;
use crate::store::{StateId, Store};
use crate::symmetry::{Order, Symmetry};
use crate::trace::{self, Happened, TraceStep};

/// Where operations may take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Anywhere between call and return.
    Anywhere,
    /// Where the program says so: `@lin`, `@query`.
    AtPoints,
}

/// How far to go.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Give up after this long.
    pub time: Option<Duration>,
    /// Give up beyond this many bytes of states.
    pub memory: usize,
    /// What symbolic sizes are; the usual ones if not given.
    pub sizes: Option<Vec<Word>>,
    /// Look also whether every state can still come to a good end: all calls made, all returned.
    pub progress: bool,
    /// Which reductions to use; all of them, unless one is to be tested.
    pub reductions: Reductions,
}

/// What makes the search smaller without losing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// Steps that others cannot notice are taken with the step before.
    pub fusion: bool,
    /// Threads with the same to do are interchangeable.
    pub symmetry: bool,
}

impl Default for Bounds {
    fn default() -> Bounds {
        let reductions = Reductions { fusion: true, symmetry: true };
        Bounds { time: None, memory: 4 << 30, sizes: None, progress: false, reductions }
    }
}

/// Why a search stopped early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Time is up.
    Time,
    /// Memory is full.
    Memory,
    /// The program cannot be run.
    CannotStart(String),
}

/// What came out.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every run of the client is as it should be.
    Holds,
    /// One is not.
    Violated(Violation),
    /// Not every run was seen.
    Unknown(Limit),
}

/// What is wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The history is not linearizable.
    NotLinearizable,
    /// The given points do not explain the run; another order may.
    Points,
    /// The program went wrong.
    Error(ErrorKind),
    /// Threads wait and nobody can go on.
    Deadlock,
    /// A thread goes round without touching anything shared.
    Endless,
    /// From here on some thread can never finish, whatever happens.
    Stuck,
}

/// A run that is not as it should be.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What is wrong with it.
    pub wrong: Wrong,
    /// The run, from the start.
    pub steps: Vec<TraceStep>,
    /// Did a second, separate look come to the same end?
    pub rechecked: bool,
}

/// A verdict and how it was come by.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The verdict.
    pub verdict: Verdict,
    /// States met.
    pub states: usize,
    /// Steps taken between them.
    pub transitions: u64,
    /// The longest run, in fused steps.
    pub depth: usize,
    /// Bytes that states take.
    pub memory: usize,
    /// Is each piece of data new?
    pub distinct_data: bool,
    /// How long it took.
    pub elapsed: Duration,
}

/// A thread of a search: the program, the monitor and everything worked out beforehand.
pub(crate) struct Explorer<'p> {
    pub machine: Machine<'p>,
    pub monitor: Option<Monitor<'p>>,
    workload: &'p Workload,
    arguments: Vec<Vec<Vec<Word>>>,
    local: Vec<bool>,
    packer: Packer,
    pub symmetry: Symmetry,
    /// Are steps written down?
    recording: bool,
    transitions: u64,
    /// Where a step is tried.
    scratch: State,
}

/// A state on the way, and how it was reached from the last one.
#[derive(Clone, Debug)]
pub(crate) struct Walker {
    pub full: Full,
    pub steps: Vec<TraceStep>,
}

/// A step that must not be.
pub(crate) struct Bad {
    pub wrong: Wrong,
    pub steps: Vec<TraceStep>,
}

/// More steps than this that touch nothing shared are taken for a loop.
const MAX_LOCAL: usize = 10_000;

/// Explores every run of a workload.
pub fn explore(program: &Program, workload: &Workload, mode: Mode, bounds: &Bounds) -> Explored {
    let start = Instant::now();
    let sizes = bounds.sizes.clone().unwrap_or_else(|| program.sizes.iter().map(|size| size.usual).collect());
    let machine = Machine::with_sizes(program, workload.threads.len(), sizes.clone());
    let distinct_data = is_data_independent(program);
    let reference = Reference::new(program, &sizes);
    let by_thread = reference.as_ref().is_some_and(|reference| reference.by_thread);
    let threads = workload.threads.len();
    let mut explorer = Explorer {
        arguments: arguments(&machine, workload, distinct_data),
        local: match bounds.reductions.fusion {
            true => local_nodes(program, mode == Mode::AtPoints),
            false => vec![false; program.nodes.len()],
        },
        packer: Packer::new(&machine),
        symmetry: Symmetry::new(&machine, workload, by_thread || !bounds.reductions.symmetry),
        monitor: reference.map(|reference| {
            Monitor::new(reference, threads, mode == Mode::AtPoints, without_points(program))
        }),
        machine,
        workload,
        recording: false,
        transitions: 0,
        scratch: State::default(),
    };
    let mut store = Store::default();
    let (verdict, depth) = match explorer.machine.initial() {
        _ if threads > 15 => (Verdict::Unknown(Limit::CannotStart("more than 15 threads".into())), 0),
        Err(error) => (Verdict::Unknown(Limit::CannotStart(error.to_string())), 0),
        Ok(state) => explorer.search(state, &mut store, bounds, start),
    };
    Explored {
        verdict,
        states: store.len(),
        transitions: explorer.transitions,
        depth,
        memory: store.memory(),
        distinct_data,
        elapsed: start.elapsed(),
    }
}

/// Which operations have no linearization points, and are not helped by others.
fn without_points(program: &Program) -> Vec<bool> {
    let marks = |op: Option<usize>| {
        let nodes = program.nodes.iter().filter(move |node| op.is_none_or(|op| node.op.index() == op));
        nodes.flat_map(|node| &node.edges).flat_map(|edge| edge.marks())
    };
    let helped = marks(None).any(|mark| mark.of.is_some());
    (0..program.operations.len()).map(|op| !helped && marks(Some(op)).next().is_none()).collect()
}

impl Explorer<'_> {
    fn search(
        &mut self,
        state: State,
        store: &mut Store,
        bounds: &Bounds,
        start: Instant,
    ) -> (Verdict, usize) {
        let mut full = Full { state, monitor: 0, made: vec![0; self.machine.threads], fresh: 0 };
        let initial = full.clone();
        let mut packed = Vec::new();
        self.packer.pack(&self.machine, &full, &mut packed);
        store.insert(&packed, 0);
        let (mut next, mut level_end, mut depth): (usize, usize, usize) = (0, 1, 0);
        let mut out = Vec::new();
        let (mut edges, mut finished): (Vec<(StateId, StateId)>, Vec<StateId>) = (Vec::new(), Vec::new());
        while next < store.len() {
            if next == level_end {
                (level_end, depth) = (store.len(), depth + 1);
            }
            if next % 1024 == 0 {
                if bounds.time.is_some_and(|limit| start.elapsed() > limit) {
                    return (Verdict::Unknown(Limit::Time), depth);
                }
                if store.memory() + edges.capacity() * 8 > bounds.memory {
                    return (Verdict::Unknown(Limit::Memory), depth);
                }
            }
            let id = next as StateId;
            self.packer.unpack(&self.machine, store.get(id), &mut full);
            out.clear();
            if let Err(bad) = self.successors(&full, &mut out) {
                return (Verdict::Violated(self.violation(&initial, store, id, bad.wrong)), depth + 1);
            }
            if out.is_empty() {
                if !self.is_finished(&full) {
                    return (Verdict::Violated(self.violation(&initial, store, id, Wrong::Deadlock)), depth);
                }
                finished.push(id);
            }
            self.transitions += out.len() as u64;
            for walker in &mut out {
                self.normalise(&mut walker.full);
                self.packer.pack(&self.machine, &walker.full, &mut packed);
                let to = store.insert(&packed, id);
                if bounds.progress {
                    edges.push((to, id));
                }
            }
            next += 1;
        }
        if bounds.progress
            && let Some(stuck) = first_stuck(store.len(), edges, finished)
        {
            return (Verdict::Violated(self.violation(&initial, store, stuck, Wrong::Stuck)), depth);
        }
        (Verdict::Holds, depth)
    }

    /// Did every thread make all its calls, and do they all return?
    fn is_finished(&self, full: &Full) -> bool {
        (0..self.machine.threads).all(|thread| {
            self.machine.pc(&full.state, thread).is_none()
                && usize::from(full.made[thread]) >= self.workload.calls(thread)
        })
    }

    /// One name for states that are the same but for the names of threads and records.
    fn normalise(&mut self, full: &mut Full) -> Option<Order> {
        let order = self.symmetry.sort(&self.machine, self.monitor.as_mut(), full);
        self.machine.canonical(&mut full.state);
        order
    }

    /// The bytes of a state by its one name, and how threads were renamed.
    pub(crate) fn name_of(&mut self, full: &Full) -> (Vec<u8>, Option<Order>) {
        let (mut full, mut packed) = (full.clone(), Vec::new());
        let order = self.normalise(&mut full);
        self.packer.pack(&self.machine, &full, &mut packed);
        (packed, order)
    }

    /// The state behind packed bytes.
    pub(crate) fn state_of(&self, packed: &[u8], full: &mut Full) {
        self.packer.unpack(&self.machine, packed, full);
    }

    fn violation(&mut self, initial: &Full, store: &Store, last: StateId, wrong: Wrong) -> Violation {
        self.recording = true;
        let found = trace::find(self, initial, store, last, &wrong);
        self.recording = false;
        let steps = found.unwrap_or_default();
        let rechecked = match wrong {
            Wrong::NotLinearizable => match &mut self.monitor {
                Some(monitor) => trace::recheck(&mut monitor.reference, &steps),
                None => false,
            },
            _ => !steps.is_empty(),
        };
        Violation { wrong, steps, rechecked }
    }

    /// Every state that one step of one thread leads to.
    pub(crate) fn successors(&mut self, full: &Full, out: &mut Vec<Walker>) -> Result<(), Bad> {
        for thread in 0..self.machine.threads {
            match self.machine.pc(&full.state, thread) {
                Some(_) => {
                    let walker = Walker { full: full.clone(), steps: Vec::new() };
                    self.visible_step(walker, thread, out)?;
                }
                None => self.call(full, thread, out)?,
            }
        }
        Ok(())
    }

    fn call(&mut self, full: &Full, thread: usize, out: &mut Vec<Walker>) -> Result<(), Bad> {
        let made = usize::from(full.made[thread]);
        if made >= self.workload.calls(thread) {
            return Ok(());
        }
        let workload = self.workload;
        match &workload.threads[thread] {
            ClientThread::Calls(calls) => {
                let (op, args) = &calls[made];
                self.make_call(full, thread, *op, args, out)
            }
            ClientThread::Any(ops, _) => {
                for op in ops {
                    for index in 0..self.arguments[op.index()].len() {
                        let args = self.arguments[op.index()][index].clone();
                        self.make_call(full, thread, *op, &args, out)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn make_call(
        &mut self,
        full: &Full,
        thread: usize,
        op: OpId,
        args: &[Word],
        out: &mut Vec<Walker>,
    ) -> Result<(), Bad> {
        let mut walker = Walker { full: full.clone(), steps: Vec::new() };
        let full = &mut walker.full;
        let mut given = args.to_vec();
        for word in given.iter_mut().filter(|word| **word == FRESH) {
            full.fresh += 1;
            *word = Word::from(full.fresh);
        }
        full.made[thread] += 1;
        self.machine.call(&mut full.state, thread, op, &given);
        if let Some(monitor) = &mut self.monitor {
            let who = if monitor.reference.by_thread { thread } else { 0 };
            let call = monitor.reference.call(who, op, &given);
            full.monitor = monitor.call(full.monitor, thread, call);
        }
        if self.recording {
            let span = self.machine.program.operation(op).span;
            walker.note(thread, span, Happened::Call { op, args: given });
        }
        let mut ready = Vec::new();
        self.run_locally(walker, thread, &mut ready)?;
        for walker in ready {
            match self.machine.pc(&walker.full.state, thread) {
                None => out.push(walker),
                Some(_) => self.visible_step(walker, thread, out)?,
            }
        }
        Ok(())
    }

    /// A step that others can notice, and what follows it unnoticed.
    fn visible_step(&mut self, walker: Walker, thread: usize, out: &mut Vec<Walker>) -> Result<(), Bad> {
        let Some(pc) = self.machine.pc(&walker.full.state, thread) else { return Ok(()) };
        for edge in 0..self.machine.program.node(pc).edges.len() {
            let mut choices = Choices::default();
            loop {
                if let Some(after) = self.take(&walker, thread, edge, &mut choices)? {
                    self.run_locally(after, thread, out)?;
                }
                if !choices.next() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Goes on while nobody can notice.
    fn run_locally(&mut self, walker: Walker, thread: usize, out: &mut Vec<Walker>) -> Result<(), Bad> {
        // The state some steps ago: to meet it again is to go round for ever.
        let mut open = vec![(walker, 0_usize, Rc::new(State::default()))];
        while let Some((walker, steps, earlier)) = open.pop() {
            let Some(pc) = self.machine.pc(&walker.full.state, thread) else {
                out.push(walker);
                continue;
            };
            if !self.local[pc.index()] {
                out.push(walker);
                continue;
            }
            if steps > MAX_LOCAL || walker.full.state == *earlier {
                return Err(Bad { wrong: Wrong::Endless, steps: walker.steps });
            }
            let earlier = match steps > 3 && steps.is_power_of_two() {
                true => Rc::new(walker.full.state.clone()),
                false => earlier,
            };
            for edge in 0..self.machine.program.node(pc).edges.len() {
                let mut choices = Choices::default();
                loop {
                    if let Some(after) = self.take(&walker, thread, edge, &mut choices)? {
                        open.push((after, steps + 1, Rc::clone(&earlier)));
                    }
                    if !choices.next() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes one edge, if it is enabled.
    fn take(
        &mut self,
        walker: &Walker,
        thread: usize,
        edge: usize,
        choices: &mut Choices,
    ) -> Result<Option<Walker>, Bad> {
        let Some(pc) = self.machine.pc(&walker.full.state, thread) else { return Ok(None) };
        let node = self.machine.program.node(pc);
        let span = node.edges[edge].span;
        // Many steps are not enabled: they are tried where nothing has to be made anew.
        self.scratch.words.clone_from(&walker.full.state.words);
        let mut events = Vec::new();
        let tried = self.machine.step(&mut self.scratch, thread, edge, choices, &mut events);
        if tried == Ok(Outcome::Disabled) {
            return Ok(None);
        }
        let mut after = walker.moved_to(&self.scratch);
        let outcome = match tried {
            Ok(outcome) => outcome,
            Err(RunError { kind, .. }) => {
                if self.recording {
                    after.note(thread, span, Happened::Step);
                }
                return Err(Bad { wrong: Wrong::Error(kind), steps: after.steps });
            }
        };
        if self.recording {
            after.note(thread, span, Happened::Step);
        }
        for event in events {
            self.observe(&mut after, event, node.op)?;
        }
        if let Outcome::Returned(words) = outcome {
            self.returned(&mut after, thread, node.op, &words, span)?;
        }
        Ok(Some(after))
    }

    fn observe(&mut self, after: &mut Walker, event: Event, op: OpId) -> Result<(), Bad> {
        let (Event::Point(point), Some(monitor)) = (event, &mut self.monitor) else { return Ok(()) };
        if !monitor.with_points {
            return Ok(());
        }
        let found = match point.kind {
            MarkKind::Lin => {
                let result = point.result.map(|words| monitor.reference.result(op, &words));
                monitor.point(after.full.monitor, point.thread, result)
            }
            MarkKind::Query => monitor.query(after.full.monitor, point.thread),
        };
        match found {
            Ok(id) => after.full.monitor = id,
            Err(Refused::Impossible | Refused::Misplaced) => {
                return Err(Bad { wrong: Wrong::Points, steps: after.steps.clone() });
            }
        }
        Ok(())
    }

    fn returned(
        &mut self,
        after: &mut Walker,
        thread: usize,
        op: OpId,
        words: &[Word],
        span: Span,
    ) -> Result<(), Bad> {
        if self.recording {
            after.note(thread, span, Happened::Return { op, result: words.to_vec() });
        }
        let Some(monitor) = &mut self.monitor else { return Ok(()) };
        let result = monitor.reference.result(op, words);
        match monitor.returns(after.full.monitor, thread, result) {
            Ok(id) => after.full.monitor = id,
            Err(_) => {
                let wrong = if monitor.with_points { Wrong::Points } else { Wrong::NotLinearizable };
                return Err(Bad { wrong, steps: after.steps.clone() });
            }
        }
        Ok(())
    }
}

/// The first state from which no finished one can be reached.
fn first_stuck(states: usize, mut edges: Vec<(StateId, StateId)>, finished: Vec<StateId>) -> Option<StateId> {
    edges.sort_unstable();
    let mut ends_well = vec![false; states];
    let mut open = finished;
    while let Some(state) = open.pop() {
        if std::mem::replace(&mut ends_well[state as usize], true) {
            continue;
        }
        let first = edges.partition_point(|(to, _)| *to < state);
        open.extend(edges[first..].iter().take_while(|(to, _)| *to == state).map(|(_, from)| *from));
    }
    ends_well.iter().position(|well| !well).map(|state| state as StateId)
}

impl Walker {
    /// The same but for the program's state.
    fn moved_to(&self, state: &State) -> Walker {
        let Full { monitor, made, fresh, .. } = &self.full;
        let full = Full { state: state.clone(), monitor: *monitor, made: made.clone(), fresh: *fresh };
        Walker { full, steps: self.steps.clone() }
    }

    fn note(&mut self, thread: usize, span: Span, what: Happened) {
        self.steps.push(TraceStep { thread, span, what, state: self.full.state.clone() });
    }
}
