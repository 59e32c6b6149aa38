//! From a violation to a run that shows it, found again from the start without renaming threads, and looked
//! at a second time.

use linpoint_lang::interp::State;
use linpoint_lang::program::{OpId, Word};
use linpoint_lang::span::Span;

use crate::data::Real;
use crate::explore::{Bounds, Wrong};
use crate::pack::Full;
use crate::reference::{CallId, Reference, ResultId, SpecId};
use crate::search::Turn;
use crate::steps::{Explorer, Walker};
use crate::store::{StateId, Store};

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// Called an operation.
    Call {
        /// Which.
        op: OpId,
        /// With what.
        args: Vec<Word>,
    },
    /// Took a step.
    Step,
    /// Returned from an operation.
    Return {
        /// Which.
        op: OpId,
        /// With what: a word a part.
        result: Vec<Word>,
    },
}

/// One step of a run that is shown.
#[derive(Clone, Debug)]
pub struct TraceStep {
    /// Who.
    pub thread: usize,
    /// Where in the source.
    pub span: Span,
    /// What.
    pub what: Happened,
    /// The state after it.
    pub state: State,
}

/// The run that leads to the violation: along the states of the way to it, each reached by a step from the
/// one before. States are kept with their threads renamed; the names are followed, so that each thread keeps
/// its own.
pub(crate) fn find(
    explorer: &mut Explorer<'_>,
    initial: &Full,
    store: &Store,
    way: Vec<StateId>,
    wrong: &Wrong,
    bounds: &Bounds,
) -> Option<Vec<TraceStep>> {
    let threads = explorer.machine.threads;
    let mut full = initial.clone();
    // The thread at each place is really this one.
    let mut real: Vec<usize> = (0..threads).collect();
    let mut data = Real::new(explorer.data.as_ref().is_none_or(|data| data.distinct));
    let mut steps = Vec::new();
    for id in way.into_iter().skip(1) {
        let mut out = Vec::new();
        let (packed, turn) = Turn::split(store.get(id), bounds);
        // A state on the way has no bad step, or it would have been the last.
        match usize::from(turn.thread) {
            thread if thread < threads => explorer.successors_of(&full, thread, &mut out).ok()?,
            _ => drop(explorer.successors(&full, &mut out).ok()?),
        }
        let mut found = None;
        for next in out {
            let named = explorer.name_of(&next.full);
            if named.bytes == packed {
                found = Some((next, named));
                break;
            }
        }
        let (taken, named) = found?;
        data.hand_out(taken.full.fresh);
        keep(explorer, taken.steps, (&real, &data), &mut steps);
        if let Some(order) = named.order {
            real = order[..threads].iter().map(|place| real[*place]).collect();
        }
        if let Some(map) = named.data {
            data.renamed(&map);
        }
        full = explorer.state_of(packed);
    }
    let mut out = Vec::new();
    match (explorer.successors(&full, &mut out), wrong) {
        (Err(bad), wrong) if bad.wrong == *wrong => {
            data.hand_out(u8::MAX);
            keep(explorer, bad.steps, (&real, &data), &mut steps);
        }
        (Ok(_), Wrong::Deadlock) if out.is_empty() => {}
        (Ok(_), Wrong::Stuck | Wrong::GoesRound | Wrong::GoesRoundAlone) => {}
        (Ok(moving), Wrong::Waits) => {
            let call = waiting_thread(explorer, &full, &moving)?;
            keep(explorer, call.steps, (&real, &data), &mut steps);
        }
        _ => return None,
    }
    Some(steps)
}

/// The thread that waits for others in this state: nothing, if it is inside an operation; else its call.
fn waiting_thread(explorer: &mut Explorer<'_>, full: &Full, moving: &[u8]) -> Option<Walker> {
    for thread in 0..explorer.machine.threads {
        match explorer.machine.pc(&full.state, thread) {
            Some(_) if !moving.contains(&(thread as u8)) => {
                return Some(Walker { full: full.clone(), steps: Vec::new() });
            }
            Some(_) => {}
            None => {
                if let Some(call) = explorer.waiting_call(full, thread).ok()? {
                    return Some(call);
                }
            }
        }
    }
    None
}

/// Adds steps with the real names of threads and data.
fn keep(
    explorer: &Explorer<'_>,
    taken: Vec<TraceStep>,
    (real, values): (&[usize], &Real),
    steps: &mut Vec<TraceStep>,
) {
    // `apply` wants to know which thread comes to each place: the inverse.
    let mut places = vec![0; real.len()];
    for (place, thread) in real.iter().enumerate() {
        places[*thread] = place;
    }
    for mut step in taken {
        step.thread = real[step.thread];
        let mut full = Full { state: step.state, monitor: 0, claims: 0, made: vec![0; real.len()], fresh: 0 };
        explorer.symmetry.apply(&explorer.machine, &mut full, &places);
        step.state = full.state;
        if let Some(data) = &explorer.data {
            data.each(&explorer.machine, &mut step.state, &mut |word| *word = values.value(*word));
            data.each_in(&explorer.machine, &mut step.what, &mut |word| *word = values.value(*word));
        }
        steps.push(step);
    }
}

/// An operation of a history.
struct Operation {
    call: CallId,
    called: usize,
    /// When it returned, and with what.
    returned: Option<(usize, ResultId)>,
}

/// Is the history of a run really not linearizable? Every order is tried. ([`Reference::leaves_open`] says
/// whether outcomes were missing.)
pub(crate) fn recheck(reference: &mut Reference<'_>, steps: &[TraceStep]) -> bool {
    reference.begin();
    let mut operations: Vec<Operation> = Vec::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (time, step) in steps.iter().enumerate() {
        match &step.what {
            Happened::Call { op, args } => {
                let who = if reference.by_thread { step.thread } else { 0 };
                let call = reference.call(who, *op, args);
                open.push((step.thread, operations.len()));
                operations.push(Operation { call, called: time, returned: None });
            }
            Happened::Step => {}
            Happened::Return { op, result } => {
                let result = reference.result(*op, result);
                if let Some(at) = open.iter().position(|(thread, _)| *thread == step.thread) {
                    let (_, index) = open.swap_remove(at);
                    operations[index].returned = Some((time, result));
                }
            }
        }
    }
    !operations.is_empty() && !explained(reference, &operations, &mut vec![false; operations.len()], 0)
}

/// Can the operations not placed yet be put after those that are?
fn explained(
    reference: &mut Reference<'_>,
    operations: &[Operation],
    placed: &mut Vec<bool>,
    spec: SpecId,
) -> bool {
    let left = |i: usize, placed: &[bool]| !placed[i] && operations[i].returned.is_some();
    if !(0..operations.len()).any(|i| left(i, placed)) {
        return true;
    }
    // The next one was called before every one that is left returned.
    let first_return = (0..operations.len())
        .filter(|&i| !placed[i])
        .filter_map(|i| operations[i].returned.map(|(time, _)| time))
        .min()
        .unwrap_or(usize::MAX);
    for index in 0..operations.len() {
        if placed[index] || operations[index].called > first_return {
            continue;
        }
        let outcomes = reference.outcomes(spec, operations[index].call).to_vec();
        for (result, next) in outcomes {
            if operations[index].returned.is_some_and(|(_, wanted)| wanted != result) {
                continue;
            }
            placed[index] = true;
            if explained(reference, operations, placed, next) {
                return true;
            }
            placed[index] = false;
        }
    }
    false
}
