//! A stack in windows: everything popped before a pop-quiescent gap is decided, explained and forgotten
//! there.
//!
//! A gap T is *pop-quiescent* if no pop of a covered value may take effect on both sides of it. Let C be the
//! values popped before T. C is popped before all others, so it always lies above them: it can be peeled
//! alone, and a push that outlives T can only take effect in a gap that C leaves free. Of these only the last
//! one at or before the push's return can matter (see `docs/soundness.md`), so a survivor is its row, its
//! window and that one gap, its *hole*. When a value leaves from the middle, what survives above it was
//! pushed concurrently with it and moves to its hole, or cannot, which is a violation.
//!
//! The holes are at the same time the places in the witness where the pushes of survivors will be put.
//!
//! Invariants between windows: survivors are sorted by number, and so are their holes; `holes` are exactly
//! the gaps, other than the last one and those of the initial elements, that are some survivor's hole; gap
//! `done - 1` is free of covers of C.

use linpoint_history::specs::codes::stack::PUSH;
use linpoint_history::{KeyId, Operation, ProcessId, ValueId};

use super::pairs::{Kind, NONE, PENDING, Pairs};
use super::peel::{self, Block, Item, Peeled};
use crate::engine::{Edit, Hole, Witness};
use crate::timeline::{OpId, Timeline};

/// A push whose value is inside, or may be.
#[derive(Clone, Copy, Debug)]
pub struct Survivor {
    call: i64,
    ret: i64,
    value: ValueId,
    key: KeyId,
    process: ProcessId,
    pub number: u32,
    pub earliest: u32,
    pub hole: u32,
}

const _: () = assert!(size_of::<Survivor>() == 40);

impl Survivor {
    #[inline]
    fn new(row: &Operation, number: u32, earliest: u32, hole: u32) -> Survivor {
        let Operation { call, ret, arg: value, key, .. } = *row;
        Survivor { call, ret, value, key, process: row.process(), number, earliest, hole }
    }

    /// The row of the push, which has no result.
    #[inline]
    pub fn row(&self) -> Operation {
        let mut row = Operation::new(self.process, PUSH);
        (row.call, row.ret, row.arg, row.key) = (self.call, self.ret, self.value, self.key);
        row
    }
}

/// Where rows are found by number.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    pub timeline: &'a Timeline,
    /// Rows the timeline may have released, the first of which is number `kept_base`.
    pub kept: &'a [Operation],
    pub kept_base: u32,
    pub shift: u32,
}

impl Rows<'_> {
    pub fn row(&self, number: u32) -> &Operation {
        let id = number - self.shift;
        if id >= self.timeline.base() {
            self.timeline.op(OpId(id))
        } else {
            &self.kept[(number - self.kept_base) as usize]
        }
    }
}

/// A window cannot be explained.
#[derive(Clone, Copy, Debug)]
pub struct Wrong {
    /// An operation that finds no place, if one is to blame.
    pub at: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Windows {
    pub(super) shift: u32,
    /// Returns below are explained.
    pub(super) done: u32,
    /// The next gap to look at, and the last return of a covered pop called before it.
    pub(super) gap: u32,
    far: u32,
    pub(super) survivors: Vec<Survivor>,
    pub(super) holes: Vec<u32>,
    /// Pops that found the stack empty and have no place yet: first and last gap.
    pub(super) empties: Vec<(u32, u32)>,
    pub(super) scratch: Scratch,
}

/// Buffers of one window, kept to be used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub(super) popped: Vec<Popped>,
    /// Survivors of earlier windows that were popped in this one: what is wrong with it is explained from
    /// them, too.
    gone: Vec<Survivor>,
    pub(super) fresh: Vec<u32>,
    pub(super) items: Vec<Item>,
    order: Vec<Peeled>,
    blocks: Vec<Block>,
    pub(super) instants: Vec<(u32, u32, u32)>,
    /// Instants between two gaps: behind everything else in the first of them.
    pub(super) between: Vec<(u32, u32, u32)>,
    found_empty: Vec<(u32, u32)>,
    pub(super) entries: Vec<(u32, u32)>,
    starts: Vec<u32>,
    sorted: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Popped {
    pub(super) push: u32,
    pub(super) pop: u32,
    /// Place among the survivors, if the push is of an earlier window.
    pub(super) at: u32,
}

/// Windows are made at least this long, where that is possible: their fixed cost is spread, and what goes in
/// and out within one needs no hole.
const ROWS: u32 = 384;
/// In place of an operation: a hole.
const HOLE: u32 = u32::MAX;

impl Windows {
    /// Starts with `initial` elements, bottom first.
    pub fn new(initial: Vec<Operation>) -> Windows {
        let shift = initial.len() as u32 + 1;
        let survivor = |(number, row): (u32, Operation)| Survivor::new(&row, number, number, number);
        let survivors = (0..).zip(initial).map(survivor).collect();
        Windows { shift, done: shift, gap: shift, survivors, ..Windows::default() }
    }

    /// Rows and gaps are numbered from here.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Returns below are explained, and the slots and rows below the one before it are not needed any more.
    pub fn done(&self) -> u32 {
        self.done
    }

    /// The gap before which returns are being explained.
    pub fn gap(&self) -> u32 {
        self.gap
    }

    pub fn survivors(&self) -> &[Survivor] {
        &self.survivors
    }

    /// What survived until the last window and was popped in it.
    pub fn gone(&self) -> &[Survivor] {
        &self.scratch.gone
    }

    pub fn memory(&self) -> usize {
        self.survivors.capacity() * size_of::<Survivor>() + self.holes.capacity() * 4
    }

    /// Explains the returns below `upto`, up to the last pop-quiescent gap.
    pub fn advance(
        &mut self,
        pairs: &Pairs,
        rows: Rows<'_>,
        upto: u32,
        out: &mut Witness,
    ) -> Result<(), Wrong> {
        while self.gap < upto {
            self.far = self.far.max(pairs.slot(self.gap).reach);
            self.gap += 1;
            if self.far < self.gap && (self.gap - self.done >= ROWS || self.gap == upto) {
                self.close(pairs, rows, out)?;
            }
        }
        Ok(())
    }

    /// All is explained; what is inside stays. Settles some of it; true: there is more.
    pub fn finish(&mut self, out: &mut Witness) -> bool {
        const PIECE: usize = 1 << 14;
        let last = self.done - 1;
        for _ in 0..PIECE {
            let Some(survivor) = self.survivors.pop() else { return false };
            let hole = survivor.hole;
            if hole < self.shift {
                return false;
            }
            let op = OpId(survivor.number - self.shift);
            if hole == last {
                out.order.push(op);
                continue;
            }
            out.edits.push(Edit::Fill { hole: hole - self.shift, op, row: survivor.row() });
            if self.survivors.last().is_none_or(|below| below.hole != hole) {
                out.edits.push(Edit::Close { hole: hole - self.shift });
                self.holes.pop();
            }
        }
        // The recheck takes up the room that is left.
        self.survivors.shrink_to_fit();
        true
    }

    /// Decides the window that ends before `gap`, which is pop-quiescent.
    fn close(&mut self, pairs: &Pairs, rows: Rows<'_>, out: &mut Witness) -> Result<(), Wrong> {
        self.scratch.clear();
        self.collect(pairs);
        self.peel(pairs)?;
        self.update_survivors(pairs, rows, out)?;
        self.place_empties()?;
        self.write(out);
        self.done = self.gap;
        Ok(())
    }

    /// Sorts the window's rows into instants, values popped in it, survivors and empties.
    pub(super) fn collect(&mut self, pairs: &Pairs) {
        let scratch = &mut self.scratch;
        let before = self.done - 1;
        if before >= self.shift {
            let slot = pairs.slot(before);
            let mate = slot.mate;
            let outlived = slot.kind == Kind::Push && mate != NONE && mate > before;
            if outlived && pairs.slot(mate).earliest == self.done {
                self.survivors.pop();
                scratch.between.push((before, before, mate));
            }
        }
        for number in self.done..self.gap {
            let slot = pairs.slot(number);
            let mut empty = slot.empties;
            while empty != NONE {
                self.empties.push((number, empty));
                empty = pairs.slot(empty).mate;
            }
            let mate = slot.mate;
            match slot.kind {
                Kind::Empty => {}
                Kind::Push if mate == NONE => scratch.fresh.push(number),
                // It went in and out at the return of its pop.
                Kind::Push if mate < number => {}
                Kind::Push => {
                    let called = pairs.slot(mate).earliest;
                    if called > number + 1 {
                        if mate >= self.gap {
                            scratch.fresh.push(number);
                        }
                    } else if called <= number {
                        scratch.instants.push((number, number, mate));
                    } else if number + 1 < self.gap {
                        scratch.between.push((number, number, mate));
                    } else {
                        scratch.fresh.push(number);
                    }
                }
                Kind::Pop if mate & PENDING != 0 || mate > number => {
                    scratch.instants.push((number, mate, number));
                }
                Kind::Pop if slot.earliest > mate + 1 => {
                    scratch.popped.push(Popped { push: mate, pop: number, at: NONE });
                }
                Kind::Pop => {}
            }
        }
    }

    fn peel(&mut self, pairs: &Pairs) -> Result<(), Wrong> {
        self.find_items(pairs);
        let scratch = &mut self.scratch;
        match peel::peel(&mut scratch.items, &mut scratch.order, &mut scratch.blocks) {
            Ok(()) => Ok(()),
            Err(stuck) => Err(Wrong { at: scratch.popped[stuck.items[0].tag as usize].pop }),
        }
    }

    /// Finds the values popped in this window among the survivors, and makes items of them all.
    pub(super) fn find_items(&mut self, pairs: &Pairs) {
        let scratch = &mut self.scratch;
        scratch.popped.sort_unstable_by_key(|popped| popped.push);
        let old = scratch.popped.partition_point(|popped| popped.push < self.done);
        let mut at = self.survivors.len();
        for popped in scratch.popped[..old].iter_mut().rev() {
            while at > 0 && self.survivors[at - 1].number > popped.push {
                at -= 1;
            }
            at -= 1;
            popped.at = at as u32;
        }
        for (tag, popped) in (0..).zip(&scratch.popped) {
            let pop = pairs.slot(popped.pop);
            let (first, left) = if popped.at == NONE {
                (pairs.slot(popped.push).earliest, popped.push)
            } else {
                let survivor = &self.survivors[popped.at as usize];
                (survivor.earliest, survivor.hole)
            };
            scratch.items.push(Item { first, left, right: pop.earliest, last: popped.pop, tag });
        }
    }

    /// Takes the values popped in this window from the survivors, puts their pushes into holes, moves what
    /// survives above them, and adds this window's survivors.
    fn update_survivors(&mut self, pairs: &Pairs, rows: Rows<'_>, out: &mut Witness) -> Result<(), Wrong> {
        let scratch = &mut self.scratch;
        if let Some(deepest) = scratch.popped.first().filter(|popped| popped.at != NONE) {
            let shift = self.shift;
            let hole = scratch.blocks[0].left;
            for peeled in scratch.order.iter().rev().filter(|peeled| peeled.left + 1 < self.done) {
                if peeled.left >= shift {
                    let popped = scratch.popped[peeled.tag as usize];
                    let row = match popped.at {
                        NONE => *rows.row(popped.push),
                        at => self.survivors[at as usize].row(),
                    };
                    let op = OpId(popped.push - shift);
                    out.edits.push(Edit::Fill { hole: peeled.left - shift, op, row });
                }
            }
            let mut gone = scratch.popped.iter().map(|popped| popped.at).peekable();
            let start = deepest.at as usize;
            let mut kept = start;
            for at in start..self.survivors.len() {
                if gone.next_if_eq(&(at as u32)).is_some() {
                    scratch.gone.push(self.survivors[at]);
                    continue;
                }
                let mut survivor = self.survivors[at];
                if survivor.hole > hole {
                    if survivor.earliest > hole {
                        // Those between have moved down, or are gone.
                        self.survivors.drain(kept..at);
                        return Err(Wrong { at: scratch.popped[0].pop });
                    }
                    survivor.hole = hole;
                }
                self.survivors[kept] = survivor;
                kept += 1;
            }
            self.survivors.truncate(kept);
            while let Some(top) = self.holes.pop_if(|top| *top > hole) {
                out.edits.push(Edit::Close { hole: top - shift });
            }
        }
        for &number in &scratch.fresh {
            let earliest = pairs.slot(number).earliest;
            let hole = peel::free(&scratch.blocks, number);
            if hole < earliest {
                return Err(Wrong { at: number });
            }
            self.survivors.push(Survivor::new(rows.row(number), number, earliest, hole));
        }
        if let Some(deepest) = scratch.popped.first().filter(|popped| popped.at != NONE) {
            let hole = scratch.blocks[0].left;
            let at = deepest.at as usize;
            let used = |at: usize| self.survivors.get(at).is_some_and(|survivor| survivor.hole == hole);
            if self.holes.last() == Some(&hole) && !used(at) && !used(at.wrapping_sub(1)) {
                self.holes.pop();
                out.edits.push(Edit::Close { hole: hole - self.shift });
            }
        }
        Ok(())
    }

    /// A pop may have found the stack empty in a gap that neither this window's values nor the survivors
    /// cover.
    fn place_empties(&mut self) -> Result<(), Wrong> {
        let bottom = self.survivors.first().map_or(u32::MAX, |survivor| survivor.number);
        let (done, gap) = (self.done, self.gap);
        let scratch = &mut self.scratch;
        let mut late = None;
        self.empties.retain(|&(first, last)| {
            let latest = last.min(gap - 1).min(bottom);
            let first = first.max(done);
            if latest >= first {
                let free = peel::free(&scratch.blocks, latest);
                if free >= first {
                    scratch.found_empty.push((free, last));
                    return false;
                }
            }
            if last < gap {
                late = Some(last);
            }
            true
        });
        late.map_or(Ok(()), |at| Err(Wrong { at }))
    }

    /// Writes the window's order: gap by gap, in a gap pops innermost first, empties, instants, the hole,
    /// pushes outermost first. The first gap is the last one of the window before, of which all up to the
    /// hole is written already.
    fn write(&mut self, out: &mut Witness) {
        let scratch = &mut self.scratch;
        let start = self.done - 1;
        let entries = &mut scratch.entries;
        for peeled in scratch.order.iter().rev() {
            entries.push((peeled.right - start, scratch.popped[peeled.tag as usize].pop));
        }
        for &(gap, pop) in &scratch.found_empty {
            entries.push((gap - start, pop));
        }
        for &(gap, push, pop) in &scratch.instants {
            entries.push((gap - start, push));
            entries.push((gap - start, pop));
        }
        let old_holes = self.holes.len();
        let new = self.survivors.iter().rposition(|survivor| survivor.hole < start).map_or(0, |at| at + 1);
        for survivor in &self.survivors[new..] {
            if survivor.hole + 1 < self.gap && self.holes.last().is_none_or(|top| *top < survivor.hole) {
                self.holes.push(survivor.hole);
                entries.push((survivor.hole - start, HOLE));
            }
        }
        for peeled in scratch.order.iter().filter(|peeled| peeled.left >= start) {
            entries.push((peeled.left - start, scratch.popped[peeled.tag as usize].push));
        }
        for &(gap, push, pop) in &scratch.between {
            entries.push((gap - start, push));
            entries.push((gap - start, pop));
        }
        scratch.sort_entries((self.gap - start) as usize);
        self.emit(old_holes, out);
    }

    pub(super) fn emit(&self, old_holes: usize, out: &mut Witness) {
        let mut holes = old_holes;
        for &number in &self.scratch.sorted {
            if number == HOLE {
                let (at, name) = (out.order.len(), self.holes[holes] - self.shift);
                out.holes.push(Hole { at, name, edits: out.edits.len() });
                holes += 1;
            } else if number & PENDING != 0 {
                out.order.push(OpId::pending(number & !PENDING));
            } else {
                out.order.push(OpId(number - self.shift));
            }
        }
    }
}

impl Scratch {
    pub(super) fn clear(&mut self) {
        self.popped.clear();
        self.gone.clear();
        self.fresh.clear();
        self.items.clear();
        self.order.clear();
        self.blocks.clear();
        self.instants.clear();
        self.between.clear();
        self.found_empty.clear();
        self.entries.clear();
    }

    /// Sorts the entries by gap, leaving those of one gap as they are: by counting.
    pub(super) fn sort_entries(&mut self, gaps: usize) {
        self.starts.clear();
        self.starts.resize(gaps + 1, 0);
        for &(gap, _) in &self.entries {
            self.starts[gap as usize + 1] += 1;
        }
        for gap in 0..gaps {
            self.starts[gap + 1] += self.starts[gap];
        }
        self.sorted.clear();
        self.sorted.resize(self.entries.len(), 0);
        for &(gap, number) in &self.entries {
            let start = &mut self.starts[gap as usize];
            self.sorted[*start as usize] = number;
            *start += 1;
        }
    }
}
