//! Any number of threads: what one thread sees, and what others may do to it.
//!
//! A **view** shows the shared memory and one thread. A **record** is a step that others can notice, with the
//! view before it, cut down to what the step reads. The analysis closes the views under the thread's own
//! steps and under *interference*: a view and a record that can be of one state are merged
//! ([`crate::merge`]), the step is taken by the second thread, and what the first sees afterwards is a view.
//!
//! # Why every state is covered
//!
//! Let a state with any number of threads be reached, and suppose that for each thread what it sees is in
//! some view. A step of one of them is covered for the thread itself by its own step; for another one because
//! the merge goes through every way in which the two views can be one heap, the step does the same there, and
//! what a third thread holds is beyond both. So the next state is covered, too. In the initial state all
//! threads are at rest and see the same.
//!
//! Cutting a record only forgets names, which makes it stand for more. But a record that was cut may fail
//! where the whole view does not; such a failure must not be passed over, for then what follows the step
//! would be lost: any trouble in a merged structure ends the analysis as trouble does anywhere.
//!
//! What others do is worked out by heap, not by view: views that show the same heap share it
//! ([`mod@crate::interference`]). Pairs of heaps and records that are due are worked out in batches, on all
//! cores; what comes of them is added in order, so the result does not depend on how many there are.
//!
//! Locks in records' fields are known only for the two threads shown. Taking one is invisible to others,
//! except that two threads that hold one lock are never merged.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::budget::Budget;
use crate::heaps::Heaps;
use crate::interference::{Shared, interference, shaken, shared_part};
use crate::parallel::in_parallel;
use crate::records::{Cut, cut, cuts, holds_nameless};
use crate::run::{Halt, Steps, Trouble, Ways};
use crate::store::{Domain, Store};
use crate::structure::{IDLE, Structure, Thread};
use crate::threads::End;

pub use crate::closed::is_inductive;

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

/// So many pairs are worked out before what comes of them is added.
const BATCH: usize = 256;

/// Closes the views of a program under steps and interference.
pub fn analyse(steps: &Steps<'_, '_>, start: Structure, domain: Domain, budget: &Budget<'_>) -> Found {
    let mut search = Search {
        steps,
        ops: (0..steps.layout.roles.len()).collect(),
        cuts: cuts(steps.layout, steps.points),
        end: End::Proved,
        views: Vec::new(),
        threads: FxHashMap::default(),
        ids: FxHashMap::default(),
        added: FxHashSet::default(),
        open_views: VecDeque::new(),
        heaps: Heaps::new(domain),
        domain,
        shared: Vec::new(),
        open_heaps: BTreeSet::new(),
        records: Store::new(Domain::Joined),
        steps_of: Vec::new(),
        groups: FxHashMap::default(),
        members: Vec::new(),
        stamp: 0,
        merges: 0,
    };
    search.start(start);
    search.run(budget);
    search.found()
}

/// A view: one thread, and all that it was found to see with its names as they are.
struct View {
    s: Structure,
    /// The number of its heap.
    heap: u32,
    /// Are its own steps due?
    due: bool,
}

/// What is known of a heap.
#[derive(Default)]
struct Seen {
    group: u32,
    /// Is it among the heaps of its group?
    listed: bool,
    /// The views that show it, and some that did.
    views: Vec<u32>,
    /// What others' steps make of it: heaps, and what a probe notes.
    after: Vec<(u32, u8)>,
    known: FxHashSet<(u32, u8)>,
    /// Records up to this stamp have met it.
    done: u64,
    due: bool,
}

/// Heaps and records that can be of one state.
#[derive(Default)]
struct Members {
    heaps: Vec<u32>,
    /// Each record and when it last grew.
    records: Vec<(u32, u64)>,
}

struct Search<'a, 'p> {
    steps: &'a Steps<'a, 'p>,
    ops: Vec<usize>,
    cuts: Vec<Vec<Cut>>,
    end: End,
    views: Vec<View>,
    /// Threads by number.
    threads: FxHashMap<Thread, u32>,
    /// The view of a thread with names that lie so.
    ids: FxHashMap<(u32, u32), u32>,
    /// What was added to views already: a thread and a heap.
    added: FxHashSet<(u32, u32)>,
    open_views: VecDeque<u32>,
    heaps: Heaps,
    domain: Domain,
    /// What is known of each heap.
    shared: Vec<Seen>,
    /// Heaps whose interference is due, by a view that shows them: views that were met early lead to later
    /// ones, and are complete before these have their turn.
    open_heaps: BTreeSet<(u32, u32)>,
    records: Store<(u16, u16)>,
    steps_of: Vec<(u16, u16)>,
    groups: FxHashMap<Shared, u32>,
    members: Vec<Members>,
    /// Counts how often a record grew.
    stamp: u64,
    merges: u64,
}

impl Search<'_, '_> {
    fn start(&mut self, s: Structure) {
        self.add_view(s);
    }

    fn run(&mut self, budget: &Budget<'_>) {
        let mut turns = 0_u64;
        while matches!(self.end, End::Proved) {
            turns += 1;
            // A turn may be one view's steps, or hundreds of pairs: the clock is looked at more often than is
            // told of how far it is.
            if turns.is_multiple_of(8) && budget.is_late() {
                self.end = End::Limit("the time limit came first".into());
                return;
            }
            let waiting = self.open_views.len() + self.open_heaps.len();
            let bytes = self.heaps.bytes() * 2 + self.records.bytes() + self.added.len() * 64;
            if turns.is_multiple_of(64)
                && let Some(limit) = budget.spent(self.views.len(), waiting, bytes)
            {
                self.end = End::Limit(limit.into());
                return;
            }
            // Own steps first: interference then meets views that are complete.
            let done = if let Some(view) = self.open_views.pop_front() {
                self.own_steps(view)
            } else {
                let pairs = self.due_pairs();
                if pairs.is_empty() && self.open_heaps.is_empty() {
                    return;
                }
                self.interfere(&pairs)
            };
            if let Err(halt) = done {
                self.end = End::Halt(Box::new(halt));
            }
        }
    }

    fn found(self) -> Found {
        let mut views = Store::new(self.domain);
        for view in self.views {
            // Each has a skeleton of its own, so nothing is joined and nothing can be too large.
            let _ = views.add(&(), view.s);
        }
        let Search { end, records, steps_of, merges, .. } = self;
        Found { end, views, records, steps_of, merges }
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
        let thread = s.threads[0];
        let heap = self.number(s);
        self.add(thread, heap);
    }

    /// The number of a heap, with all that is kept of it.
    fn number(&mut self, s: Structure) -> u32 {
        let heap = self.heaps.number(s);
        if heap as usize == self.shared.len() {
            let s = self.heaps.all[heap as usize].clone();
            let group = self.group(&s);
            self.shared.push(Seen { group, ..Seen::default() });
        }
        heap
    }

    /// A thread may see this heap.
    fn add(&mut self, thread: Thread, heap: u32) {
        let mut more = vec![(thread, heap)];
        while let Some((thread, heap)) = more.pop() {
            let fresh = self.threads.len() as u32;
            let number = *self.threads.entry(thread).or_insert(fresh);
            if !self.added.insert((number, heap)) {
                continue;
            }
            let shown = &self.heaps.all[heap as usize];
            let fresh = self.views.len() as u32;
            let id = *self.ids.entry((number, self.heaps.frame[heap as usize])).or_insert(fresh);
            let heap = if id == fresh {
                let mut s = shown.clone();
                s.threads[0] = thread;
                self.views.push(View { s, heap, due: false });
                heap
            } else {
                match self.views[id as usize].s.join(shown) {
                    None => {
                        self.end = End::Limit("more nodes than a structure holds".into());
                        return;
                    }
                    Some(false) => continue,
                    Some(true) => self.number(self.views[id as usize].s.clone()),
                }
            };
            let view = &mut self.views[id as usize];
            view.heap = heap;
            if !view.due {
                view.due = true;
                self.open_views.push_back(id);
            }
            if let Err(alarm) = self.settle_on(id, heap, &mut more) {
                let trouble = Trouble::Alarm(alarm);
                let before = self.views[id as usize].s.clone();
                self.end = End::Halt(Box::new(Halt { trouble, at: (thread.pc, 0), before }));
                return;
            }
        }
    }

    /// A view shows this heap from now on: what others are known to do to it happens to the view, too.
    fn settle_on(
        &mut self,
        view: u32,
        heap: u32,
        more: &mut Vec<(Thread, u32)>,
    ) -> Result<(), crate::exec::Alarm> {
        let thread = self.views[view as usize].s.threads[0];
        let seen = &mut self.shared[heap as usize];
        if !seen.listed {
            seen.listed = true;
            self.members[seen.group as usize].heaps.push(heap);
        }
        seen.views.push(view);
        if !seen.due {
            seen.due = true;
            self.open_heaps.insert((view, heap));
        }
        for (next, noted) in &seen.after {
            more.push((shaken(self.steps.layout, thread, *noted)?, *next));
        }
        Ok(())
    }

    fn add_record(&mut self, at: (u16, u16), s: Structure) {
        let group = self.group(&s);
        match self.records.add(&at, s) {
            Err(_) => self.end = End::Limit("more nodes than a structure holds".into()),
            Ok((_, false)) => {}
            Ok((id, true)) => {
                self.stamp += 1;
                let members = &mut self.members[group as usize];
                if id as usize == self.steps_of.len() {
                    self.steps_of.push(at);
                    members.records.push((id, self.stamp));
                } else if let Some(record) = members.records.iter_mut().find(|record| record.0 == id) {
                    record.1 = self.stamp;
                }
                let (shared, open) = (&mut self.shared, &mut self.open_heaps);
                members.heaps.retain(|heap| {
                    let seen = &mut shared[*heap as usize];
                    seen.listed = !seen.views.is_empty();
                    if seen.listed && !seen.due {
                        seen.due = true;
                        open.insert((seen.views[0], *heap));
                    }
                    seen.listed
                });
            }
        }
    }

    fn own_steps(&mut self, id: u32) -> Result<(), Halt> {
        self.views[id as usize].due = false;
        let view = self.views[id as usize].s.clone();
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

    /// Heaps and records that are due to meet, a batch of them.
    fn due_pairs(&mut self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        while pairs.len() < BATCH {
            let Some((_, heap)) = self.open_heaps.pop_first() else { break };
            let seen = &mut self.shared[heap as usize];
            seen.due = false;
            let views = &self.views;
            seen.views.retain(|view| views[*view as usize].heap == heap);
            if seen.views.is_empty() {
                // Every view that showed it shows more by now.
                continue;
            }
            let members = &self.members[seen.group as usize];
            let due = members.records.iter().filter(|(_, stamp)| *stamp > seen.done);
            pairs.extend(due.map(|(record, _)| (heap, *record)));
            seen.done = self.stamp;
        }
        pairs
    }

    /// Lets each record's step happen to its heap. Pairs are worked out side by side and taken in order.
    fn interfere(&mut self, pairs: &[(u32, u32)]) -> Result<(), Halt> {
        self.merges += pairs.len() as u64;
        let (heaps, records, steps_of, steps) = (&self.heaps, &self.records, &self.steps_of, self.steps);
        let found = in_parallel(pairs, |(heap, record)| {
            let (heap, at) = (&heaps.all[*heap as usize], steps_of[*record as usize]);
            interference(steps, heap, &records.all[*record as usize], at)
        });
        for ((heap, record), out) in pairs.iter().zip(found) {
            for next in out? {
                let noted = next.threads[0].seen;
                let next = self.number(next);
                if !self.shared[*heap as usize].known.insert((next, noted)) {
                    continue;
                }
                self.shared[*heap as usize].after.push((next, noted));
                for view in self.shared[*heap as usize].views.clone() {
                    // A view that shows more by now meets the record again with what it shows.
                    if self.views[view as usize].heap != *heap {
                        continue;
                    }
                    let s = &self.views[view as usize].s;
                    let thread = shaken(self.steps.layout, s.threads[0], noted).map_err(|alarm| Halt {
                        trouble: Trouble::Alarm(alarm),
                        at: self.steps_of[*record as usize],
                        before: s.clone(),
                    })?;
                    self.add(thread, next);
                }
            }
        }
        Ok(())
    }
}
