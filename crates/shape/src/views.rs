//! Any number of threads: what one thread sees, and what others may do to it.
//!
//! A **view** shows the shared memory and one thread. A **record** is a step that others can notice, with the view before it, cut down to what the step reads. The analysis
//! closes the views under the thread's own steps and under *interference*: a view and a record that can be of one state are merged ([`crate::merge`]), the
//! step is taken by the second thread, and what the first sees afterwards is a view.
//!
//! # Why every state is covered
//!
//! Let a state with any number of threads be reached, and suppose that for each thread what it sees is in some view. A step of one of them is
//! covered for the thread itself by its own step; for another one because the merge goes through every way in which the two views can be one heap, the step does the
//! same there, and what a third thread holds is beyond both. So the next state is covered, too. In the initial state all threads are at rest and see the same.
//!
//! Cutting a record only forgets names, which makes it stand for more. But a record that was cut may fail where the whole view does not; such a failure
//! must not be passed over, for then what follows the step would be lost: any trouble in a merged structure ends the analysis as trouble does anywhere.
//!
//! Pairs of views and records that are due are worked out in batches, on all cores; what comes of them is added in order, so the result does not depend on how many there are.
//!
//! Locks in records' fields are known only for the two threads shown. Taking one is invisible to others, except that two threads that hold one lock are never merged.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::budget::Budget;
use crate::layout::{Layout, Mask, STRANGER, Scalar};
use crate::merge::{merge, project};
use crate::parallel::in_parallel;
use crate::records::{Cut, cut, cuts, holds_nameless};
use crate::run::{Halt, Steps, Trouble, Ways};
use crate::store::{Domain, Store};
use crate::structure::{IDLE, Structure};
use crate::threads::End;

/// What was found, and how.
#[derive(Debug)]
pub struct Found {
    /// How it ended.
    pub end: End,
    /// The views.
    pub views: Store<()>,
    /// The records, by control point and edge.
    pub records: Store<(u16, u16)>,
    /// The control point and edge of each record.
    pub steps_of: Vec<(u16, u16)>,
    /// Pairs merged.
    pub merges: u64,
}

/// What a view and a record must share to be merged.
type Shared = (u64, Vec<Mask>);

/// Closes the views of a program under steps and interference.
pub fn analyse(steps: &Steps<'_, '_>, start: Structure, budget: &Budget<'_>) -> Found {
    let mut search = Search {
        steps,
        ops: (0..steps.layout.roles.len()).collect(),
        cuts: cuts(steps.layout, steps.points),
        found: Found {
            end: End::Proved,
            views: Store::new(Domain::Joined),
            records: Store::new(Domain::Joined),
            steps_of: Vec::new(),
            merges: 0,
        },
        groups: FxHashMap::default(),
        members: Vec::new(),
        view_group: Vec::new(),
        record_group: Vec::new(),
        open_views: VecDeque::new(),
        view_state: Vec::new(),
        open_records: VecDeque::new(),
        record_open: Vec::new(),
        shaken: VecDeque::new(),
    };
    search.add_view(start);
    search.run(budget);
    search.found
}

/// Does the closure of a set of views and records stay within it? The separate recheck of a certificate: every view's steps, every pair's interference, once, with nothing added.
pub fn is_inductive(steps: &Steps<'_, '_>, start: &Structure, found: &Found) -> Result<(), String> {
    let cuts = cuts(steps.layout, steps.points);
    if !found.views.covers(&(), start) {
        return Err("the initial state is not covered".into());
    }
    let ops: Vec<usize> = (0..steps.layout.roles.len()).collect();
    let fail = |halt: Halt| crate::threads::trouble(&halt);
    let own = |view: &Structure| -> Result<(), String> {
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
    in_parallel(&found.views.all, own).into_iter().collect::<Result<(), String>>()?;
    let mut groups: FxHashMap<Shared, Vec<&Structure>> = FxHashMap::default();
    for view in &found.views.all {
        groups.entry(shared_part(steps.layout, view)).or_default().push(view);
    }
    let met = |(record, at): &(&Structure, (u16, u16))| -> Result<(), String> {
        for view in groups.get(&shared_part(steps.layout, record)).into_iter().flatten() {
            for next in interference(steps, view, record, *at).map_err(fail)? {
                if !found.views.covers(&(), &next) {
                    return Err("interference leads out of the views".into());
                }
            }
        }
        Ok(())
    };
    let records: Vec<_> = found.records.all.iter().zip(found.steps_of.iter().copied()).collect();
    in_parallel(&records, met).into_iter().collect()
}

#[derive(Default)]
struct Members {
    views: Vec<u32>,
    records: Vec<u32>,
}

struct Search<'a, 'p> {
    steps: &'a Steps<'a, 'p>,
    ops: Vec<usize>,
    cuts: Vec<Vec<Cut>>,
    found: Found,
    groups: FxHashMap<Shared, u32>,
    members: Vec<Members>,
    view_group: Vec<u32>,
    record_group: Vec<u32>,
    /// Views whose own steps are due.
    open_views: VecDeque<u32>,
    /// Is its own step due, and interference?
    view_state: Vec<(bool, bool)>,
    /// Views whose interference is due.
    shaken: VecDeque<u32>,
    open_records: VecDeque<u32>,
    record_open: Vec<bool>,
}

impl Search<'_, '_> {
    fn run(&mut self, budget: &Budget<'_>) {
        let mut turns = 0_u64;
        while matches!(self.found.end, End::Proved) {
            turns += 1;
            let Found { views, records, .. } = &self.found;
            let waiting = self.open_views.len() + self.shaken.len();
            if turns.is_multiple_of(64)
                && let Some(limit) = budget.spent(views.all.len(), waiting, views.bytes() + records.bytes())
            {
                self.found.end = End::Limit(limit.into());
                return;
            }
            // Own steps first: interference then meets views that are complete.
            let done = if let Some(view) = self.open_views.pop_front() {
                self.own_steps(view)
            } else {
                let pairs = self.due_pairs();
                if pairs.is_empty() {
                    return;
                }
                self.interfere(&pairs)
            };
            if let Err(halt) = done {
                self.found.end = End::Halt(Box::new(halt));
            }
        }
    }

    fn group(&mut self, s: &Structure) -> u32 {
        let fresh = self.groups.len() as u32;
        let group = *self.groups.entry(shared_part(self.steps.layout, s)).or_insert(fresh);
        if group == fresh {
            self.members.push(Members::default());
        }
        group
    }

    fn add_view(&mut self, s: Structure) {
        let group = self.group(&s);
        let before = self.found.views.all.len();
        match self.found.views.add(&(), s) {
            Err(_) => self.found.end = End::Limit("more nodes than a structure holds".into()),
            Ok((id, news)) => {
                if self.found.views.all.len() > before {
                    self.view_group.push(group);
                    self.view_state.push((false, false));
                    self.members[group as usize].views.push(id);
                }
                if news {
                    let (own, others) = self.view_state[id as usize];
                    if !own {
                        self.open_views.push_back(id);
                    }
                    if !others {
                        self.shaken.push_back(id);
                    }
                    self.view_state[id as usize] = (true, true);
                }
            }
        }
    }

    fn add_record(&mut self, at: (u16, u16), s: Structure) {
        let group = self.group(&s);
        let before = self.found.records.all.len();
        match self.found.records.add(&at, s) {
            Err(_) => self.found.end = End::Limit("more nodes than a structure holds".into()),
            Ok((id, news)) => {
                if self.found.records.all.len() > before {
                    self.record_group.push(group);
                    self.record_open.push(false);
                    self.found.steps_of.push(at);
                    self.members[group as usize].records.push(id);
                }
                if news && !self.record_open[id as usize] {
                    self.record_open[id as usize] = true;
                    self.open_records.push_back(id);
                }
            }
        }
    }

    fn own_steps(&mut self, id: u32) -> Result<(), Halt> {
        self.view_state[id as usize].0 = false;
        let view = self.found.views.all[id as usize].clone();
        let layout = self.steps.layout;
        let pc = view.threads[0].pc;
        let mut out = Vec::new();
        if pc == IDLE {
            self.steps.calls(&view, 0, &self.ops, &mut out)?;
        } else {
            for edge in 0..layout.program.nodes[usize::from(pc)].edges.len() {
                let Ways::After(after) = self.steps.edge(&view, 0, edge, false, false)? else { continue };
                if after.iter().any(|(_, effect)| *effect) {
                    let Some((at, record)) = cut(layout, &view, edge, &self.cuts[usize::from(pc)][edge])
                    else {
                        let trouble =
                            Trouble::Unsupported("a lock on a record that no variable leads to".into());
                        return Err(Halt { trouble, at: (pc, edge as u16), before: view });
                    };
                    self.add_record(at, record);
                }
                for (next, _) in after {
                    self.steps.settle(next, 0, &mut out)?;
                }
            }
        }
        for next in out {
            if holds_nameless(layout, &next) {
                let trouble = Trouble::Unsupported("a lock on a record that no variable leads to".into());
                return Err(Halt { trouble, at: (pc, 0), before: next });
            }
            self.add_view(next);
        }
        Ok(())
    }

    /// Views and records that are due to meet, a batch of them: of new records with all views, then of new views with all records.
    fn due_pairs(&mut self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        while pairs.len() < BATCH {
            if let Some(record) = self.open_records.pop_front() {
                self.record_open[record as usize] = false;
                let views = &self.members[self.record_group[record as usize] as usize].views;
                // Views whose turn comes anyway meet the record then.
                let due = views.iter().filter(|view| !self.view_state[**view as usize].1);
                pairs.extend(due.map(|view| (*view, record)));
            } else if let Some(view) = self.shaken.pop_front() {
                self.view_state[view as usize].1 = false;
                let records = &self.members[self.view_group[view as usize] as usize].records;
                pairs.extend(records.iter().map(|record| (view, *record)));
            } else {
                break;
            }
        }
        pairs
    }

    /// Lets each record's step happen to its view. Pairs are worked out side by side and taken in order; a view that changes meanwhile is due once more.
    fn interfere(&mut self, pairs: &[(u32, u32)]) -> Result<(), Halt> {
        self.found.merges += pairs.len() as u64;
        let Found { views, records, steps_of, .. } = &self.found;
        let steps = self.steps;
        let found = in_parallel(pairs, |(view, record)| {
            let (view, at) = (&views.all[*view as usize], steps_of[*record as usize]);
            interference(steps, view, &records.all[*record as usize], at)
        });
        for out in found {
            out?.into_iter().for_each(|next| self.add_view(next));
        }
        Ok(())
    }
}

/// So many pairs are worked out before what comes of them is added.
const BATCH: usize = 64;

/// What the view may be after the record's step.
fn interference(
    steps: &Steps<'_, '_>,
    view: &Structure,
    record: &Structure,
    at: (u16, u16),
) -> Result<Vec<Structure>, Halt> {
    let layout = steps.layout;
    let mut merged = Vec::new();
    if !merge(layout, view, record, &mut |s| merged.push(s)) {
        let trouble = Trouble::Unsupported("more nodes than a structure holds".into());
        return Err(Halt { trouble, at, before: view.clone() });
    }
    let mut out = Vec::new();
    for s in merged {
        let Ways::After(after) = steps.edge(&s, 1, usize::from(at.1), false, true)? else { continue };
        for (mut next, _) in after {
            project(layout, &mut next);
            if next.canon(layout).is_ok() {
                out.push(next);
            }
        }
    }
    Ok(out)
}

/// Shared scalars and names, with which locks are free.
fn shared_part(layout: &Layout<'_>, s: &Structure) -> Shared {
    let mut globals = s.globals;
    for (shift, scalar) in layout.global_scalar.iter().flatten() {
        if *scalar == Scalar::Lock && globals >> shift & 15 != 0 {
            globals |= STRANGER << shift;
        }
    }
    let both = layout.shared | layout.kinds;
    let mut masks: Vec<Mask> = s.nodes[1..]
        .iter()
        .filter(|node| node.mask & layout.shared != 0)
        .map(|node| node.mask & both)
        .collect();
    masks.sort_unstable();
    masks.push(s.nodes[0].mask & layout.shared);
    (globals, masks)
}
