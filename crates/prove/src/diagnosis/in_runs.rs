//! What runs say about a countermodel: one that is a state of some run is no accident of weak invariants.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use linpoint_lang::Program;
use linpoint_lang::flow::live_locals;
use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{Expr, NONE, Place, Slot, Type, UNSET, Word};
use linpoint_model::{Reach, Reached, Workload, reach};

use crate::graph::Graph;
use crate::scene::{Picture, Shown};

/// Longest time for one question.
pub(super) const LONGEST: Duration = Duration::from_secs(1);
/// So many states are looked at for one question.
const MOST_STATES: usize = 200_000;
/// Larger sizes are not tried.
const LARGEST_SIZE: i64 = 4;

/// Looks for a state of small runs.
pub(super) fn ask(
    program: &Program,
    workload: &Workload,
    sizes: Option<Vec<Word>>,
    time: Option<Duration>,
    is_wanted: &mut dyn FnMut(&Machine<'_>, &State) -> bool,
) -> Option<Reached> {
    let limits = Reach { sizes, time: time.unwrap_or(LONGEST).min(LONGEST), states: MOST_STATES };
    reach(program, workload, &limits, is_wanted).ok()
}

/// Is a countermodel a state of some run?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InRuns {
    /// A run of 2 threads comes to it.
    Reached {
        /// How many steps the run has.
        steps: usize,
    },
    /// No run that was looked at comes to it.
    NotReached {
        /// States that were looked at.
        states: usize,
        /// Are these all of 2 threads with 2 operations?
        complete: bool,
    },
    /// Its sizes are larger than those that are tried.
    TooLarge,
    /// No run can be explored.
    NoRuns,
    /// There was no time to look for it.
    NoTime,
}

impl fmt::Display for InRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InRuns::Reached { steps } => write!(f, "a run of 2 threads comes to it, in {steps} steps"),
            InRuns::NotReached { states, complete: true } => write!(
                f,
                "no run of 2 threads with 2 operations comes to it ({states} states): what is known is too weak"
            ),
            InRuns::NotReached { states, complete: false } => write!(
                f,
                "none of {states} states of runs with 2 threads is this one: what is known may be too weak"
            ),
            InRuns::TooLarge => f.write_str("its sizes are too large to look for it in runs"),
            InRuns::NoRuns => f.write_str("it cannot be looked for in runs"),
            InRuns::NoTime => f.write_str("there was no time to look for it in runs"),
        }
    }
}

/// Looks for a countermodel in runs.
pub(super) fn in_runs(program: &Program, graph: &Graph, picture: &Picture, time: Duration) -> InRuns {
    if picture.sizes.iter().any(|size| *size > LARGEST_SIZE) {
        return InRuns::TooLarge;
    }
    let sizes = picture.sizes.iter().map(|size| *size as Word).collect();
    // Who releases what nobody holds comes to states that mean nothing.
    let workload = Workload::usual(program, 2, 2);
    let live = live_locals(program);
    let found = ask(program, &workload, Some(sizes), Some(time), &mut |machine, state| {
        (0..machine.threads).any(|p| is_this(machine, state, (graph, &live), picture, p))
    });
    match found {
        Some(Reached { run: Some(run), .. }) => InRuns::Reached { steps: run.len() },
        Some(Reached { states, complete, .. }) => InRuns::NotReached { states, complete },
        None => InRuns::NoRuns,
    }
}

/// Values of the model and of the run that stand for each other: data, threads and records have no names of
/// their own.
#[derive(Default)]
struct Renaming {
    there: BTreeMap<(u8, i64), Word>,
    back: BTreeMap<(u8, Word), i64>,
}

impl Renaming {
    fn agree(&mut self, ty: &Type, model: i64, run: Word) -> bool {
        if run == UNSET {
            return true;
        }
        let none = (model == i64::from(NONE), run == NONE);
        let sort = match ty {
            Type::Option(inner) if none == (false, false) => return self.agree(inner, model, run),
            Type::Option(_) => return none == (true, true),
            Type::Lock if none != (false, false) => return none == (true, true),
            Type::Bool => return (model != 0) == (run != 0),
            Type::Int | Type::Enum(_) => return model == i64::from(run),
            Type::Pointer(_) if model == 0 || run == 0 => return model == i64::from(run),
            Type::Data => 0,
            Type::Thread | Type::Lock => 1,
            Type::Pointer(_) => 2,
        };
        *self.there.entry((sort, model)).or_insert(run) == run
            && *self.back.entry((sort, run)).or_insert(model) == model
    }
}

/// Is the state the countermodel's, with thread `p` about to take the step?
fn is_this(
    machine: &Machine<'_>,
    state: &State,
    places: (&Graph, &[Vec<bool>]),
    picture: &Picture,
    p: usize,
) -> bool {
    let mut names = Renaming::default();
    let Some(this) = &picture.p else { return false };
    if !is_at(machine, state, places, this, p, &mut names) {
        return false;
    }
    let others = || (0..machine.threads).filter(move |thread| *thread != p);
    if let Some(other) = &picture.q
        && !others().any(|thread| is_at(machine, state, places, other, thread, &mut names))
    {
        return false;
    }
    let mut words = state.words.clone();
    picture.slots.iter().all(|shown| {
        let Some(number) = shown.global else { return true };
        let global = &machine.program.globals[number];
        let slot: &Slot = &global.slots[shown.slot];
        let id = linpoint_lang::program::GlobalId(number as u16);
        let place = match (shown.index, &global.length) {
            (Some(index), Some(length)) => {
                if !(0..i64::from(machine.constant(length))).contains(&index) {
                    return true;
                }
                Place::Element(id, Box::new(Expr::Const(index as Word)), shown.slot as u16)
            }
            _ => Place::Global(id, shown.slot as u16),
        };
        match machine.place(&mut words, p, &place) {
            Ok(at) => names.agree(&slot.ty, shown.value.0, words[at]),
            Err(_) => false,
        }
    })
}

/// Is the thread where the model's is, with its locals as far as they still matter?
fn is_at(
    machine: &Machine<'_>,
    state: &State,
    (graph, live): (&Graph, &[Vec<bool>]),
    shown: &Shown,
    thread: usize,
    names: &mut Renaming,
) -> bool {
    if !names.agree(&Type::Thread, shown.pid, thread as Word) {
        return false;
    }
    if shown.at == Graph::IDLE {
        return machine.pc(state, thread).is_none();
    }
    let place = graph.place(shown.at);
    if machine.pc(state, thread) != Some(place.node) {
        return false;
    }
    let locals = &machine.program.operation(place.op).locals;
    locals.iter().zip(&shown.locals).enumerate().all(|(local, (slot, (before, _)))| {
        let matters = live[place.node.index()][local];
        !matters || names.agree(&slot.ty, *before, machine.local(state, thread, local))
    })
}
