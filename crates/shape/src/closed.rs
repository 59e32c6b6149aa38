//! The separate recheck of a proof for any number of threads: that no step leads out of its views.
//!
//! Every view's own steps, and every record's step to every heap that some view shows, once, with nothing
//! added.

use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::interference::{ANYONE, Shared, interference, shaken, shared_part};
use crate::parallel::in_parallel;
use crate::records::{cut, cuts, holds_nameless};
use crate::run::{Halt, Steps, Ways};
use crate::structure::{IDLE, Structure, Thread};
use crate::views::Found;

const LATE: &str = "the time limit came first";

/// Does the closure of a set of views and records stay within it?
///
/// # Errors
/// What leads out of it, or goes wrong; or that the time is up.
pub fn is_inductive(
    steps: &Steps<'_, '_>,
    start: &Structure,
    found: &Found,
    until: Option<Instant>,
) -> Result<(), String> {
    if !found.views.covers(&(), start) {
        return Err("the initial state is not covered".into());
    }
    if found.views.all.iter().any(|view| holds_nameless(steps.layout, view)) {
        return Err("a lock on a record that no variable leads to".into());
    }
    let late = || until.is_some_and(|until| Instant::now() > until);
    own_steps(steps, found, &late)?;
    // Threads by the heap that they see, heaps by what they share with records.
    let mut threads: FxHashMap<Structure, Vec<Thread>> = FxHashMap::default();
    for view in &found.views.all {
        let mut heap = view.clone();
        heap.threads[0] = ANYONE;
        threads.entry(heap).or_default().push(view.threads[0]);
    }
    let mut records: FxHashMap<Shared, Vec<usize>> = FxHashMap::default();
    for (index, record) in found.records.all.iter().enumerate() {
        records.entry(shared_part(steps.layout, record)).or_default().push(index);
    }
    let heaps: Vec<(&Structure, &Vec<Thread>)> = threads.iter().collect();
    let met = |(heap, threads): &(&Structure, &Vec<Thread>)| -> Result<(), String> {
        let mut after: Vec<Structure> = Vec::new();
        for &record in records.get(&shared_part(steps.layout, heap)).into_iter().flatten() {
            if late() {
                return Err(LATE.into());
            }
            let next = interference(steps, heap, &found.records.all[record], found.steps_of[record]);
            after.extend(next.map_err(|halt| crate::threads::trouble(&halt))?);
        }
        after.sort_unstable();
        after.dedup();
        for mut next in after {
            let noted = next.threads[0].seen;
            for thread in threads.iter() {
                let thread = shaken(steps.layout, *thread, noted).map_err(|alarm| alarm.text().to_owned())?;
                next.threads[0] = thread;
                if !found.views.covers(&(), &next) {
                    return Err("interference leads out of the views".into());
                }
            }
        }
        Ok(())
    };
    in_parallel(&heaps, met).into_iter().collect()
}

fn own_steps(steps: &Steps<'_, '_>, found: &Found, late: &(impl Fn() -> bool + Sync)) -> Result<(), String> {
    let cuts = cuts(steps.layout, steps.points);
    let ops: Vec<usize> = (0..steps.layout.roles.len()).collect();
    let fail = |halt: Halt| crate::threads::trouble(&halt);
    let own = |view: &Structure| -> Result<(), String> {
        if late() {
            return Err(LATE.into());
        }
        let pc = view.threads[0].pc;
        let mut out = Vec::new();
        if pc == IDLE {
            steps.calls(view, 0, &ops, &mut out).map_err(fail)?;
        } else {
            for (edge, needs) in cuts[usize::from(pc)].iter().enumerate() {
                let Ways::After(after) = steps.edge(view, 0, edge, false, false).map_err(fail)? else {
                    continue;
                };
                if after.iter().any(|(_, effect)| *effect) {
                    let record = cut(steps.layout, view, edge, needs);
                    if record.is_none_or(|(at, record)| !found.records.covers(&at, &record)) {
                        return Err("a step that others notice has no record".into());
                    }
                }
                for (next, _) in after {
                    steps.settle(next, 0, &mut out).map_err(fail)?;
                }
            }
        }
        match out.iter().any(|next| !found.views.covers(&(), next)) {
            true => Err("a step leads out of the views".into()),
            false => Ok(()),
        }
    };
    in_parallel(&found.views.all, own).into_iter().collect()
}
