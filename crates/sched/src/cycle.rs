//! The cycle of an execution that goes round for ever.
//!
//! Where an execution is cut off because it took too many steps, its last steps usually are the same few, again and again.
//! The same are steps that touch the same in the same way, and find or leave the same values there: a loop that counts goes on for
//! long, and need not go on for ever. Values are not noted of every step, so the execution is made once more to see them.
//! They may be a livelock if the cycle is fair: whoever could go at every step of it takes one in it. Then nobody can ever
//! break it who has not had the chance. What threads keep where they share nothing (a count, a deadline) may still differ from turn to turn:
//! it is a livelock if a turn leaves all memory as it was ([`crate::twin`]). What is told are the threads that turn, and one turn.

use crate::run::Run;

/// Steps that are taken again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The first step of the first turn.
    pub from: usize,
    /// How many steps a turn has.
    pub length: usize,
}

/// The longest cycle that is looked for.
const LONGEST: usize = 512;

/// As often must the same have happened.
const TURNS: usize = 4;

/// The shortest cycle in which `run` ends, if it is fair. `values` stand for what each step found or left; empty where that is not
/// known.
pub fn cycle(run: &Run, values: &[u64]) -> Option<Cycle> {
    let steps = run.steps.len();
    let same = |run: &Run, a: usize, b: usize| same(run, a, b) && values.get(a) == values.get(b);
    let length = (1..=LONGEST.min(steps / TURNS))
        .find(|&length| (steps - (TURNS - 1) * length..steps).all(|at| same(run, at, at - length)))?;
    let last = &run.steps[steps - length..];
    let able = last.iter().fold(u64::MAX, |sum, step| sum & step.enabled.0);
    let goes = last.iter().fold(0, |sum, step| sum | 1 << step.thread.0);
    if able & !goes != 0 {
        return None;
    }
    let mut from = steps - length;
    while from > 0 && same(run, from - 1, from - 1 + length) {
        from -= 1;
    }
    Some(Cycle { from, length })
}

/// Is step `a` like step `b`: of the same thread, touching the same in the same way?
fn same(run: &Run, a: usize, b: usize) -> bool {
    run.steps[a].thread == run.steps[b].thread
        && run.steps[a].action == run.steps[b].action
        && run
            .accesses_of(a)
            .iter()
            .map(|access| (access.loc, access.effect))
            .eq(run.accesses_of(b).iter().map(|access| (access.loc, access.effect)))
}
