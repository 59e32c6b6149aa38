//! Memory that is given back and used again.
//!
//! Where a program frees records of some kind, pointers to them may be stale, and garbage collection is not
//! assumed for them. Their nodes have three more kinds:
//! - *freed*: the place was given back. It keeps its node while a pointer leads there;
//! - *owned*: a place was made a record again (or for the first time), and its maker did not link it in yet.
//!   Others may have stale pointers to it. The maker's view says *mine*;
//! - *gone*: the reference gave its value away. It has no link in the reference any more.
//!
//! # Why it is sound
//!
//! `new` takes a place that a thread shown can see and that is freed, each of them, or one that none of them
//! can see: together these are all places. It is a step that others notice, so the same goes for the views of
//! others: a freed place of theirs may become somebody's record. Pointers stay where they are; whoever
//! compares, reads or writes through a stale one does so on the node as it is now. A value that was read from
//! a place is no longer the value there: names of data move to a node of their own, together, so that equal
//! ones stay equal. A record is freed only if its value is not in the reference, else the analysis stops; so
//! a place that is used again is nowhere in the reference, which may forget it.
//!
//! *Mine* is only ever a promise that the thread made the record. No record has two makers, and no record was
//! given to two operations by the reference since it was made: views that say otherwise are not merged.
//!
//! [`coerce`] takes out of rows what the reference, which is changed by its own operations only, cannot have.
//!
//! # Counters
//!
//! A shared number that only ever grows by one, from a value that is its own, is a *version* (`layout.rs`). A
//! local that was read from it is current or stale: stale from when anyone lets it grow. Current ones are
//! equal to it, stale ones are not. This assumes that the counter does not overflow; the interpreter calls
//! that an error.

use linpoint_lang::program::Expr;

use crate::exec::{Alarm, Done, Exec, Stop};
use crate::layout::{Layout, Mask, Scalar};
use crate::structure::{Contradiction, MOST_NODES, Node, PROBE, Structure, Thread};

impl Exec<'_, '_> {
    /// A place for a new record: one that nobody shown can see, or a freed one.
    pub(crate) fn take_place(&mut self, record: usize, new: Node) -> Done<usize> {
        let layout = self.layout;
        self.touch()?;
        self.effect = true;
        let free = |node: &Node| {
            node.mask & layout.freed != 0 && node.mask & layout.records == layout.record_kind[record]
        };
        let places: Vec<usize> = (1..self.s.nodes.len()).filter(|&node| free(&self.s.nodes[node])).collect();
        let mine = layout.bit(self.thread, layout.mine);
        let new = Node { mask: new.mask & !layout.private | layout.owned | mine, ..new };
        let place = match self.pick(places.len() + 1) {
            0 => return self.push(new),
            way => places[way - 1],
        };
        let place = if self.s.nodes[place].many { self.split(place)? } else { place };
        self.detach(place)?;
        let names = self.s.nodes[place].mask & layout.naming(self.s.threads.len());
        self.s.nodes[place] = Node { mask: names | new.mask, ..new };
        Ok(place)
    }

    /// A record is linked in by its maker, and with it what it leads to of the same maker.
    pub(crate) fn hand_over(&mut self, node: usize) -> Done<()> {
        let layout = self.layout;
        let mine = layout.bit(self.thread, layout.mine);
        let makers = layout.makers(self.s.threads.len());
        self.s.nodes[node].mask &= !(layout.owned | makers);
        let row = self.s.nodes[node].row;
        for next in (1..self.s.nodes.len()).filter(|next| row >> next & 1 == 1) {
            if self.is(next, mine) {
                return self.unsupported("a chain of records is made before others can reach it");
            }
        }
        Ok(())
    }

    /// A node that was not there.
    pub(crate) fn push(&mut self, node: Node) -> Done<usize> {
        if self.s.nodes.len() == MOST_NODES {
            return self.unsupported("more nodes than a structure holds");
        }
        self.s.nodes.push(node);
        Ok(self.s.nodes.len() - 1)
    }

    /// One record of a nameless node.
    pub(crate) fn split(&mut self, node: usize) -> Done<usize> {
        self.s.materialise(node).map_or_else(|| self.unsupported("more nodes than a structure holds"), Ok)
    }

    /// What was read from a place is not its value any more.
    pub(crate) fn detach(&mut self, node: usize) -> Done<()> {
        let layout = self.layout;
        let mut data = 0;
        for thread in 0..self.s.threads.len() {
            data |= layout.data_bits(thread);
        }
        let names = self.s.nodes[node].mask & data;
        if names != 0 {
            self.s.nodes[node].mask &= !names;
            self.push(Node { mask: layout.private | names, row: 1, other: 0, many: false })?;
        }
        Ok(())
    }

    /// A record is given back.
    pub(crate) fn free(&mut self, pointer: &Expr) -> Done<()> {
        let layout = self.layout;
        let pointer = self.eval(pointer)?;
        let node = self.pointer(pointer)?;
        if node == 0 {
            return Err(Stop::Wrong(Alarm::NullDereference));
        }
        self.touch()?;
        if self.is(node, layout.freed) {
            return Err(Stop::Wrong(Alarm::FreedTwice));
        }
        if !self.is(node, layout.gone | layout.uncorrelated) {
            return self.unsupported("a record is given back whose value is in the object");
        }
        if self.s.nodes[node].mask & (layout.shared | layout.private) != 0 {
            return self.unsupported("a record is given back that a shared pointer leads to");
        }
        let record = layout.record_of(self.s.nodes[node].mask);
        if !layout.program.records[record].pooled {
            self.detach(node)?;
            self.s.nodes[node].row = 1;
            for bit in layout.bool_bit[record].iter().flatten() {
                self.s.nodes[node].mask &= !bit;
            }
        }
        self.effect = true;
        let makers = layout.makers(self.s.threads.len());
        let mask = &mut self.s.nodes[node].mask;
        *mask = *mask & !(layout.owned | makers) | layout.freed;
        Ok(())
    }

    /// May a field of this record be used?
    pub(crate) fn usable(&self, node: usize, record: usize) -> Done<()> {
        if self.is(node, self.layout.freed) && !self.layout.program.records[record].pooled {
            return Err(Stop::Wrong(Alarm::UseAfterFree));
        }
        Ok(())
    }

    /// A version grows: what was read from it is stale.
    pub(crate) fn grow(&mut self, version: u8) {
        self.effect = true;
        for index in 0..self.s.threads.len() {
            let thread = self.s.threads[index];
            self.s.threads[index] = match thread.pc {
                PROBE => Thread { seen: thread.seen | grown(version), ..thread },
                _ => outdate(self.layout, thread, grown(version)),
            };
        }
    }
}

/// Takes out of rows what the reference, a list, cannot have: its links lead to `null` and to records in it,
/// to each from one at most, to the first from none. Fails if the structure stands for nothing.
pub(crate) fn coerce(layout: &Layout<'_>, s: &mut Structure) -> Result<(), Contradiction> {
    let outside = layout.uncorrelated | layout.gone | layout.freed | layout.private;
    let first: Mask = 1 << layout.first;
    let (mut inside, mut allowed): (u32, u32) = (0, 1);
    for (index, node) in s.nodes.iter().enumerate().skip(1) {
        if node.mask & outside == 0 {
            inside |= 1 << index;
            allowed |= u32::from(node.mask & first == 0) << index;
        }
    }
    let mut open = true;
    while open {
        open = false;
        for index in (1..s.nodes.len()).filter(|index| inside >> index & 1 == 1) {
            let node = &mut s.nodes[index];
            let own = if node.many { 0 } else { 1 << index };
            let row = if node.mask & layout.nonuniform != 0 { &mut node.other } else { &mut node.row };
            *row &= allowed & !own;
            let row = *row;
            if row == 0 && !node.many {
                return Err(Contradiction);
            }
            let target = row.trailing_zeros() as usize;
            if node.many || !row.is_power_of_two() || target == 0 || s.nodes[target].many {
                continue;
            }
            // A certain successor is nobody else's.
            for other in (1..s.nodes.len()).filter(|other| *other != index && inside >> other & 1 == 1) {
                let node = &mut s.nodes[other];
                let row_of = if node.mask & layout.nonuniform != 0 { &mut node.other } else { &mut node.row };
                open |= *row_of & row != 0;
                *row_of &= !row;
            }
        }
    }
    Ok(())
}

/// What a probe notes when a version grows.
pub(crate) fn grown(version: u8) -> u8 {
    crate::structure::GROWN << version
}

/// A thread after versions grew: locals that were read from them are stale.
pub(crate) fn outdate(layout: &Layout<'_>, mut thread: Thread, noted: u8) -> Thread {
    if thread.pc == crate::structure::IDLE {
        return thread;
    }
    for (shift, scalar) in layout.scalar[layout.op_at(thread.pc)].iter().flatten() {
        if let Scalar::Version(version) = scalar
            && noted & grown(*version) != 0
            && thread.scalars >> shift & 3 == 1
        {
            thread.scalars = thread.scalars & !(3 << shift) | 2 << shift;
        }
    }
    thread
}

impl Layout<'_> {
    /// Names of a thread that stand for a value, not for a place.
    pub fn data_bits(&self, thread: usize) -> Mask {
        let (from, to) = self.data_locals;
        let data: Mask = (1 << to) - (1 << from);
        self.bit(thread, self.argument)
            | self.bit(thread, self.answer)
            | data << (self.threads_from + thread as u32 * self.width)
    }

    /// The bits that say who made a record.
    pub fn makers(&self, threads: usize) -> Mask {
        if self.freed == 0 {
            return 0;
        }
        (0..threads).fold(0, |mask, thread| mask | self.bit(thread, self.mine))
    }

    /// Which kind of record a node is.
    pub fn record_of(&self, mask: Mask) -> usize {
        self.record_kind.iter().position(|kind| *kind == mask & self.records).unwrap_or(0)
    }
}
