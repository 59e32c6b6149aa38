//! What a search is asked, and what it answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::interp::{ErrorKind, Machine, State};
use linpoint_lang::program::{ClaimId, ClientThread, OpId, Word};

use crate::claims::Claims;
use crate::client::{FRESH, MOST_LISTS, Workload, arguments, has_too_many_arguments, is_data_independent};
use crate::data::Data;
use crate::fusion::{Noticed, keep_cycles, local_nodes};
use crate::monitor::Monitor;
use crate::pack::Packer;
use crate::progress::Demand;
use crate::reference::Reference;
use crate::search::{Turn, search};
use crate::second_look;
use crate::steps::Explorer;
use crate::store::{FIRST, Store};
use crate::symmetry::{Symmetry, names_threads};
use crate::trace::TraceStep;

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
    /// Give up beyond this many states.
    pub states: Option<usize>,
    /// What symbolic sizes are; the usual ones if not given.
    pub sizes: Option<Vec<Word>>,
    /// Only runs with at most so many switches away from a thread that could go on.
    pub preemptions: Option<u8>,
    /// Is it a violation that threads wait and nobody can go on?
    pub deadlocks: bool,
    /// What operations owe each other.
    pub progress: Demand,
    /// Which reductions to use; all of them, unless one is to be tested.
    pub reductions: Reductions,
    /// How steps are taken; compiled, unless that is to be tested.
    pub stepper: Stepper,
    /// Are the program's claims decided?
    pub claims: Deciding,
    /// So many cores look at states, where there are enough of them. That changes nothing but the time it
    /// takes.
    pub workers: usize,
    /// Levels with at least so many states are shared among workers.
    pub shared_from: usize,
    /// Is a sample of what holds looked at again without reductions?
    pub second_look: bool,
}

/// What is done about claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deciding {
    /// A claim that is false is a violation.
    Decided,
    /// Claims are passed over.
    Ignored,
}

/// How steps are taken. Both meet the same states in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepper {
    /// By code with every place resolved.
    Compiled,
    /// By the interpreter, which is the definition.
    Interpreted,
}

/// What makes the search smaller without losing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// Steps that others cannot notice are taken with the step before.
    pub fusion: bool,
    /// Among these are reads of what nobody ever changes.
    pub fixed: bool,
    /// Threads with the same to do are interchangeable.
    pub symmetry: bool,
    /// Values of data are interchangeable.
    pub data: bool,
}

impl Default for Bounds {
    fn default() -> Bounds {
        let reductions = Reductions { fusion: true, fixed: true, symmetry: true, data: true };
        Bounds {
            time: None,
            memory: 4 << 30,
            states: None,
            sizes: None,
            preemptions: None,
            deadlocks: true,
            progress: Demand::Nothing,
            reductions,
            stepper: Stepper::Compiled,
            claims: Deciding::Decided,
            workers: 1,
            shared_from: 1 << 11,
            second_look: true,
        }
    }
}

/// Why a search stopped early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Time is up.
    Time,
    /// Memory is full.
    Memory,
    /// As many states were met as were asked for.
    States,
    /// Operations have more different results than can be told apart with so many threads.
    Results,
    /// A thread takes more steps on its own, between two that others can notice, than are followed.
    Alone,
    /// A `choose` has more ways to go on than are tried.
    Ways,
    /// A quantifier goes over more values than are looked at in one step.
    Rounds,
    /// An operation of the `spec` takes more steps than are followed, and what was found could not be
    /// explained without it.
    Specification,
    /// Nothing was called, or nothing returned in any run: there is nothing to judge.
    Nothing,
    /// A run without reductions came to a state that the search did not meet. That is a mistake of ours.
    Reductions,
    /// The program cannot be run.
    CannotStart(String),
}

/// What came out: every run of the client is as it should be, one is not, or not every run was seen.
pub type Verdict = linpoint_verdict::Verdict<EveryRun, Violation, Limit>;

/// What a `holds` rests on: every run of one client was seen. It says nothing of other clients, so it is no
/// proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EveryRun {
    preemptions: Option<u8>,
}

impl EveryRun {
    /// Of all runs, or of all with at most so many preemptions. Only a search that came to its end may say
    /// so.
    pub(crate) fn with(preemptions: Option<u8>) -> EveryRun {
        EveryRun { preemptions }
    }

    /// If not all runs are meant: those with at most so many preemptions.
    #[must_use]
    pub fn most_preemptions(&self) -> Option<u8> {
        self.preemptions
    }
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
    /// A claim is false.
    Claim(ClaimId),
    /// Threads wait and nobody can go on.
    Deadlock,
    /// A thread goes round, and nothing that others do can end it.
    Endless,
    /// From here on some thread can never finish, whatever happens.
    Stuck,
    /// Threads take steps for ever, and no operation returns.
    GoesRound,
    /// A thread alone takes steps for ever, and its operation does not return.
    GoesRoundAlone,
    /// A thread waits for others, and lock-freedom or obstruction-freedom was asked for.
    Waits,
}

/// A run that is not as it should be.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What is wrong with it.
    pub wrong: Wrong,
    /// The run, from the start.
    pub steps: Vec<TraceStep>,
    /// How many steps at its end can be repeated for ever.
    pub repeats: usize,
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
    /// A number made of all states in the order in which they were met.
    pub digest: u64,
    /// Is each piece of data new?
    pub distinct_data: bool,
    /// How long it took.
    pub elapsed: Duration,
    /// Where everything holds and nobody asked for progress: can every operation still come to an end, in
    /// every state? `None` if that was not looked at, as it would have cost too much.
    pub can_end: Option<bool>,
    /// The search said that everything holds, and a sample without reductions does not agree. That is a
    /// mistake of ours; the verdict is that of the sample.
    pub disagrees: bool,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// States met.
    pub states: usize,
    /// Of these, states whose steps were not taken yet.
    pub waiting: usize,
    /// How deep it is, in fused steps.
    pub depth: usize,
    /// How long it has taken.
    pub elapsed: Duration,
}

/// Explores every run of a workload.
pub fn explore(program: &Program, workload: &Workload, mode: Mode, bounds: &Bounds) -> Explored {
    explore_watched(program, workload, mode, bounds, &mut |_| {})
}

/// The same, and tells now and then how far it is.
pub fn explore_watched(
    program: &Program,
    workload: &Workload,
    mode: Mode,
    bounds: &Bounds,
    watch: &mut dyn FnMut(Progress),
) -> Explored {
    let start = Instant::now();
    let distinct_data = is_data_independent(program, bounds.claims);
    let mut store = Store::default();
    let (mut transitions, mut can_end) = (0, None);
    let (verdict, depth) = match explorer(program, workload, mode, bounds) {
        Err(limit) => (Verdict::Unknown(limit), 0),
        Ok(mut explorer) => match explorer.machine.initial() {
            Err(error) => (Verdict::Unknown(Limit::CannotStart(error.to_string())), 0),
            Ok(state) => {
                let found = search(&mut explorer, state.clone(), &mut store, bounds, start, watch);
                (transitions, can_end) = (explorer.transitions, explorer.can_end);
                match found {
                    (Verdict::Holds(_), depth) if says_nothing(&explorer, &store, bounds) => {
                        (Verdict::Unknown(Limit::Nothing), depth)
                    }
                    (Verdict::Holds(basis), depth) => {
                        let looked_up = second_look::states(&mut explorer, state, &store, bounds);
                        (looked_up.map_or_else(Verdict::Unknown, |()| Verdict::Holds(basis)), depth)
                    }
                    found => found,
                }
            }
        },
    };
    let mut explored = Explored {
        disagrees: matches!(verdict, Verdict::Unknown(Limit::Reductions)),
        verdict,
        states: store.len(),
        transitions,
        depth,
        memory: store.memory(),
        digest: store.digest(),
        distinct_data,
        elapsed: start.elapsed(),
        can_end,
    };
    second_look::runs(program, workload, bounds, &mut explored);
    explored.elapsed = start.elapsed();
    explored
}

/// Did no operation return in any run, or was none called? Where a program without a specification has
/// asserts or claims, these are what is judged, and that something returns is not needed.
fn says_nothing(explorer: &Explorer<'_>, store: &Store, bounds: &Bounds) -> bool {
    let threads = explorer.machine.threads;
    let first = explorer.state_of(Turn::split(store.get(FIRST), bounds).0);
    if (0..threads).all(|thread| explorer.calls(&first, thread).is_empty()) {
        return true;
    }
    if explorer.monitor.is_none() && explorer.may_say_something() {
        return false;
    }
    let mut next = Some(FIRST);
    while let Some(id) = next {
        let full = explorer.state_of(Turn::split(store.get(id), bounds).0);
        let returned =
            |thread: usize| full.made[thread] > 0 && explorer.machine.pc(&full.state, thread).is_none();
        if (0..threads).any(returned) {
            return false;
        }
        next = store.after(id);
    }
    true
}

/// Calls of a thread, and pieces of data that were given out, are counted in a byte of a state.
const MOST_CALLS: usize = u8::MAX as usize;

/// How many pieces of data, each different from all others, a run may give out at the most.
fn pieces_of_data(workload: &Workload, arguments: &[Vec<Vec<Word>>]) -> usize {
    let of_op = |op: &OpId| {
        let fresh = |args: &Vec<Word>| args.iter().filter(|word| **word == FRESH).count();
        arguments[op.index()].iter().map(fresh).max().unwrap_or(0)
    };
    let of_thread = |thread: &ClientThread| match thread {
        ClientThread::Any(ops, times) => {
            (*times as usize).saturating_mul(ops.iter().map(of_op).max().unwrap_or(0))
        }
        ClientThread::Calls(_) => 0,
    };
    workload.threads.iter().map(of_thread).fold(0, usize::saturating_add)
}

/// Everything that can be worked out before a search.
pub(crate) fn explorer<'p>(
    program: &'p Program,
    workload: &'p Workload,
    mode: Mode,
    bounds: &Bounds,
) -> Result<Explorer<'p>, Limit> {
    let threads = workload.threads.len();
    let sizes = bounds.sizes.clone().unwrap_or_else(|| program.sizes.iter().map(|size| size.usual).collect());
    let mut machine = Machine::with_sizes(program, threads, sizes.clone());
    let claims = if bounds.claims == Deciding::Decided { Claims::new(program) } else { None };
    if threads > 15 {
        return Err(Limit::CannotStart("more than 15 threads".into()));
    }
    if claims.is_some() && !Claims::are_decidable(program) {
        return Err(Limit::CannotStart("a claim quantifies over a term".into()));
    }
    if mode == Mode::AtPoints && linpoint_lang::prophecy::is_in(program) {
        return Err(Limit::CannotStart(
            "its points may depend on a prophecy, which only a proof follows".into(),
        ));
    }
    if bounds.preemptions.is_some() && bounds.progress != Demand::Nothing {
        return Err(Limit::CannotStart("progress cannot be told from some of the runs".into()));
    }
    if has_too_many_arguments(&machine) {
        return Err(Limit::CannotStart(format!(
            "an operation with more than {MOST_LISTS} lists of arguments: give its parameters smaller ranges"
        )));
    }
    if let Some(why) = workload.out_of_range(&machine) {
        return Err(Limit::CannotStart(why));
    }
    let distinct = is_data_independent(program, bounds.claims);
    let arguments = arguments(&machine, workload, distinct);
    if (0..threads).any(|thread| workload.largest_count(thread) > MOST_CALLS) {
        // What a thread holds is counted with its calls.
        let most = if workload.rules.is_some() { MOST_CALLS / 3 - 1 } else { MOST_CALLS };
        return Err(Limit::CannotStart(format!("a thread with more than {most} operations")));
    }
    if pieces_of_data(workload, &arguments) > MOST_CALLS {
        return Err(Limit::CannotStart(format!(
            "operations with more than {MOST_CALLS} pieces of data, all of them different"
        )));
    }
    machine.watched = claims.is_some();
    let of_threads =
        bounds.preemptions.is_some() || matches!(bounds.progress, Demand::LockFree | Demand::ObstructionFree);
    let reference = Reference::new(program, &sizes, threads);
    let by_thread = reference.as_ref().is_some_and(|reference| reference.by_thread) || names_threads(program);
    let renamed = bounds.reductions.data && claims.is_none();
    let data = if renamed { Data::new(&machine, workload, distinct) } else { None };
    Ok(Explorer {
        arguments,
        local: match bounds.reductions.fusion {
            true => {
                let (points, claims) = (mode == Mode::AtPoints, claims.is_some());
                let noticed = Noticed { points, claims, fixed_reads: !bounds.reductions.fixed };
                let mut local = local_nodes(program, noticed);
                // Who goes round and could do otherwise goes round all the same, if that is asked.
                if matches!(bounds.progress, Demand::LockFree | Demand::ObstructionFree) {
                    keep_cycles(program, &mut local);
                }
                local
            }
            false => vec![false; program.nodes.len()],
        },
        packer: Packer::new(&machine),
        // Claims look at places of the row: those of a thread must stay its own. So must the steps of a
        // cycle, and of the thread that another is preferred to.
        symmetry: Symmetry::new(
            &machine,
            workload,
            by_thread || claims.is_some() || of_threads || !bounds.reductions.symmetry,
            data.as_ref(),
        ),
        monitor: reference.map(|reference| {
            let at_points = mode == Mode::AtPoints;
            Monitor::new(reference, threads, at_points, without_points(program))
        }),
        data: data.map(Arc::new),
        mode,
        machine,
        claims,
        workload,
        recording: false,
        transitions: 0,
        scratch: State::default(),
        left_alone: false,
        can_end: None,
    })
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
