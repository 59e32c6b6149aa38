//! Pending pops: which of the values left inside did they take, if that is needed?
//!
//! A pop that never answered may have taken any value that nobody else popped. That only helps: the value is
//! then surely inside only until the pop was called. No fixed rule for who takes what is right, so this is a
//! search, but a narrow one. Decide with nothing taken. If that fails at a pop that found the stack empty,
//! then of the left-overs pushed before its end the one whose push returned first must be taken; if it fails
//! in a stuck block, the one of that block. If it fails even with all left-overs taken by the earliest
//! pending pop, there is no solution below here. Else try the pending pops for that value: all those called
//! before its push returned serve alike, so the latest of them first, then the others as they were called.
//!
//! Whether this can take long is not known to us; after [`NODES`] attempts it gives up.

use super::explain::END;
use super::pairs::{NONE, PENDING, Pairs};
use super::peel::{self, Item, Peeled};
use super::windows::{Rows, Windows};
use crate::engine::{Budget, Edit, Stop, Witness};
use crate::timeline::OpId;

/// Attempts before the search gives up.
pub const NODES: u32 = 20_000;

/// A pending pop: the first gap it may take effect in, and its place among the pending operations.
#[derive(Clone, Copy, Debug)]
pub struct PendingPop {
    pub called: u32,
    pub index: u32,
}

/// How a search ended without an order.
pub enum NoOrder {
    Violated,
    Stop(Stop),
}

/// A value nobody popped.
#[derive(Clone, Copy, Debug)]
struct LeftOver {
    number: u32,
    first: u32,
    left: u32,
    /// Place among the survivors, if it was pushed in an earlier window.
    at: u32,
    /// The pending pop that takes it.
    taken: Option<PendingPop>,
}

impl LeftOver {
    /// Taken by a pop called before its push returned: it goes in and out in one instant.
    fn is_instant(&self) -> bool {
        self.taken.is_some_and(|pop| pop.called <= self.number + 1)
    }
}

/// Why an attempt failed.
enum Fail {
    /// At a pop that found the stack empty and returned as this number.
    Empty(u32),
    Stuck(Vec<Item>),
}

struct Search<'a> {
    items: Vec<Item>,
    left_overs: Vec<LeftOver>,
    /// Free pending pops, by call.
    pops: Vec<PendingPop>,
    empties: Vec<(u32, u32)>,
    start: u32,
    nodes: u32,
    budget: &'a Budget,
}

/// An attempt that succeeded.
struct Found {
    order: Vec<Peeled>,
    /// Gaps in which the empties take effect.
    empties: Vec<u32>,
}

impl Windows {
    /// Explains all the rest at once, letting the pending pops take what they must.
    pub fn settle_pending(
        &mut self,
        pairs: &Pairs,
        rows: Rows<'_>,
        mut pops: Vec<PendingPop>,
        budget: &Budget,
        out: &mut Witness,
    ) -> Result<(), NoOrder> {
        self.gap = pairs.end();
        self.scratch.clear();
        self.collect(pairs);
        self.find_items(pairs);
        pops.sort_unstable_by_key(|pop| pop.called);
        let mut search = Search {
            items: std::mem::take(&mut self.scratch.items),
            left_overs: self.left_overs(pairs),
            pops,
            empties: self.empties.clone(),
            start: self.done,
            nodes: 0,
            budget,
        };
        match search.solve() {
            Ok(Some(found)) => {
                self.write_all(&search, &found, rows, out);
                Ok(())
            }
            Ok(None) => Err(NoOrder::Violated),
            Err(stop) => Err(NoOrder::Stop(stop)),
        }
    }

    fn left_overs(&self, pairs: &Pairs) -> Vec<LeftOver> {
        let mut popped = self.scratch.popped.iter().map(|popped| popped.at).peekable();
        let mut left_overs = Vec::new();
        for (at, survivor) in (0..).zip(&self.survivors) {
            if popped.next_if_eq(&at).is_none() {
                let (number, first, left) = (survivor.number, survivor.earliest, survivor.hole);
                left_overs.push(LeftOver { number, first, left, at, taken: None });
            }
        }
        for &number in &self.scratch.fresh {
            let first = pairs.slot(number).earliest;
            left_overs.push(LeftOver { number, first, left: number, at: NONE, taken: None });
        }
        left_overs
    }

    /// Writes the whole rest: nothing survives, and all holes close.
    fn write_all(&mut self, search: &Search<'_>, found: &Found, rows: Rows<'_>, out: &mut Witness) {
        let (start, shift) = (self.done - 1, self.shift);
        let scratch = &mut self.scratch;
        let values = scratch.popped.len();
        // The push of a value, its place among the survivors, and its pop.
        let value = |tag: u32| match scratch.popped.get(tag as usize) {
            Some(popped) => (popped.push, popped.at, popped.pop),
            None => {
                let left_over = &search.left_overs[tag as usize - values];
                let pop = left_over.taken.map_or(NONE, |pop| PENDING | pop.index);
                (left_over.number, left_over.at, pop)
            }
        };
        for peeled in found.order.iter().rev() {
            let (push, at, pop) = value(peeled.tag);
            if peeled.right != END {
                scratch.entries.push((peeled.right - start, pop));
            }
            if (shift..start).contains(&peeled.left) {
                let row = if at == NONE { *rows.row(push) } else { self.survivors[at as usize].row() };
                out.edits.push(Edit::Fill { hole: peeled.left - shift, op: OpId(push - shift), row });
            }
        }
        for (&(_, pop), &gap) in search.empties.iter().zip(&found.empties) {
            scratch.entries.push((gap - start, pop));
        }
        for &(gap, push, pop) in &scratch.instants {
            scratch.entries.extend([(gap - start, push), (gap - start, pop)]);
        }
        for peeled in found.order.iter().filter(|peeled| peeled.left >= start) {
            scratch.entries.push((peeled.left - start, value(peeled.tag).0));
        }
        // Instants of left-overs go behind all else in the gap of their push's return.
        for left_over in search.left_overs.iter().filter(|left_over| left_over.is_instant()) {
            let pop = left_over.taken.map_or(NONE, |pop| PENDING | pop.index);
            let gap = left_over.number - start;
            scratch.entries.extend([(gap, left_over.number), (gap, pop)]);
        }
        for &(gap, push, pop) in &scratch.between {
            scratch.entries.extend([(gap - start, push), (gap - start, pop)]);
        }
        let last = found.order.iter().map(|peeled| peeled.right).filter(|right| *right != END).max();
        scratch.sort_entries((self.gap.max(last.unwrap_or(0)) + 1 - start) as usize);
        self.emit(self.holes.len(), out);
        while let Some(hole) = self.holes.pop() {
            out.edits.push(Edit::Close { hole: hole - shift });
        }
        self.survivors.clear();
        self.done = self.gap;
    }
}

impl Search<'_> {
    fn solve(&mut self) -> Result<Option<Found>, Stop> {
        self.nodes += 1;
        if self.nodes > NODES {
            return Err(Stop::Unsupported(format!(
                "{NODES} choices for the pending pops were tried in vain"
            )));
        }
        self.budget.check(self.items.len() * 64)?;
        let fail = match self.attempt(None) {
            Ok(found) => return Ok(Some(found)),
            Err(fail) => fail,
        };
        let Some(earliest) = self.pops.first().copied() else { return Ok(None) };
        let Some(which) = self.must_go(&fail) else { return Ok(None) };
        if self.attempt(Some(earliest)).is_err() {
            return Ok(None);
        }
        let number = self.left_overs[which].number;
        let alike = self.pops.partition_point(|pop| pop.called <= number + 1);
        let mut last = None;
        for at in alike.saturating_sub(1)..self.pops.len() {
            if last == Some(self.pops[at].called) {
                continue;
            }
            let pop = self.pops.remove(at);
            last = Some(pop.called);
            self.left_overs[which].taken = Some(pop);
            if let Some(found) = self.solve()? {
                return Ok(Some(found));
            }
            self.left_overs[which].taken = None;
            self.pops.insert(at, pop);
        }
        Ok(None)
    }

    /// The left-over that is taken in every solution, if there is one.
    fn must_go(&self, fail: &Fail) -> Option<usize> {
        let mut candidates: Vec<usize> = match fail {
            Fail::Empty(last) => {
                (0..self.left_overs.len()).filter(|&i| self.left_overs[i].number < *last).collect()
            }
            Fail::Stuck(items) => {
                let base = self.items.len() as u32;
                items.iter().filter_map(|item| item.tag.checked_sub(base).map(|tag| tag as usize)).collect()
            }
        };
        candidates.retain(|&i| self.left_overs[i].taken.is_none());
        candidates.into_iter().min_by_key(|&i| self.left_overs[i].number)
    }

    /// Decides with what is taken now; with `all`, as if that pop took every left-over that is not.
    fn attempt(&self, all: Option<PendingPop>) -> Result<Found, Fail> {
        let mut items = self.items.clone();
        for (tag, left_over) in (self.items.len() as u32..).zip(&self.left_overs) {
            let mut left_over = *left_over;
            left_over.taken = left_over.taken.or(all);
            if !left_over.is_instant() {
                let (first, left) = (left_over.first, left_over.left);
                let right = left_over.taken.map_or(END, |pop| pop.called);
                items.push(Item { first, left, right, last: END, tag });
            }
        }
        items.sort_by_key(|item| item.left);
        let (mut order, mut blocks) = (Vec::new(), Vec::new());
        peel::peel(&mut items, &mut order, &mut blocks).map_err(|stuck| Fail::Stuck(stuck.items))?;
        let mut empties = Vec::with_capacity(self.empties.len());
        for &(first, last) in &self.empties {
            let gap = peel::free(&blocks, last);
            if gap < first.max(self.start) {
                return Err(Fail::Empty(last));
            }
            empties.push(gap);
        }
        Ok(Found { order, empties })
    }
}
