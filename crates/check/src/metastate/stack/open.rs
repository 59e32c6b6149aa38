//! Which operations are open, and the log of calls from which any earlier moment can be restored.
//!
//! Each open operation has a slot below 64, its bit in the sets of configurations, from its call to its
//! return. A pending pop, whose result is unknown, has none: such pops are alike, so configurations count how
//! many took effect.

use crate::timeline::OpId;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Pushes a value.
    Push,
    /// Takes a known value.
    Pop,
    /// Finds the stack empty.
    Empty,
    /// Takes any value, if it took effect at all: a pop that never answered.
    Wild,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The gap of the call.
    pub earliest: u32,
    /// The operation.
    pub id: OpId,
    /// What it pushes or takes.
    pub value: u32,
    /// What it does.
    pub kind: Kind,
    /// Its bit, while it is open.
    pub slot: u8,
}

impl Row {
    /// The stamp of its call: an element pushed with at least this stamp was pushed after it. Zero is before
    /// all calls.
    #[inline]
    pub fn stamp(&self) -> u32 {
        self.earliest + 1
    }

    #[inline]
    fn bit(&self) -> u64 {
        1 << self.slot
    }
}

/// The operations open at one moment.
#[derive(Clone, Debug)]
pub struct Open {
    rows: Vec<Row>,
    /// Open pushes.
    pub pushes: u64,
    /// Of these, the ones that never return.
    pub pending: u64,
    /// Open pops of a known value.
    pub pops: u64,
    /// Open pops that found nothing.
    pub empties: u64,
    /// The pending pops called so far.
    pub wild: u32,
}

impl Open {
    /// None.
    pub fn new() -> Open {
        let none = Row { earliest: 0, id: OpId(0), value: 0, kind: Kind::Push, slot: 0 };
        Open { rows: vec![none; 64], pushes: 0, pending: 0, pops: 0, empties: 0, wild: 0 }
    }

    /// The operation in a slot.
    #[inline]
    pub fn row(&self, slot: u32) -> &Row {
        &self.rows[slot as usize]
    }

    /// Is this operation open, in this slot?
    pub fn holds(&self, slot: u32, id: OpId) -> bool {
        (self.pushes | self.pops | self.empties) >> slot & 1 == 1 && self.row(slot).id == id
    }

    /// A slot for the next call, if there is one.
    pub fn free_slot(&self) -> Option<u8> {
        let slot = (!(self.pushes | self.pops | self.empties)).trailing_zeros();
        (slot < 64).then_some(slot as u8)
    }

    /// An operation is called.
    pub fn call(&mut self, row: Row) {
        match row.kind {
            Kind::Push => {
                self.pushes |= row.bit();
                if row.id.as_pending().is_some() {
                    self.pending |= row.bit();
                }
            }
            Kind::Pop => self.pops |= row.bit(),
            Kind::Empty => self.empties |= row.bit(),
            Kind::Wild => {
                self.wild += 1;
                return;
            }
        }
        self.rows[row.slot as usize] = row;
    }

    /// Takes back [`Open::call`], and does what a return does.
    pub fn close(&mut self, row: Row) {
        if row.kind == Kind::Wild {
            self.wild -= 1;
            return;
        }
        for set in [&mut self.pushes, &mut self.pending, &mut self.pops, &mut self.empties] {
            *set &= !row.bit();
        }
    }

    /// The pops a configuration may run next, when `value` is not to be popped: of equal ones the first to
    /// return.
    pub fn next_pops(&self, done: u64, value: Option<u32>) -> impl Iterator<Item = &Row> {
        bits(self.pops & !done).map(|slot| self.row(slot)).filter(move |row| {
            Some(row.value) != value
                && !bits(self.pops & !done)
                    .any(|other| self.row(other).value == row.value && self.row(other).id < row.id)
        })
    }

    /// The stamps of the open pushes that may still go below something, in a configuration that has done
    /// `done`.
    pub fn floating(&self, done: u64) -> impl Iterator<Item = u32> {
        bits(self.pushes & !self.pending & !done).map(|slot| self.row(slot).stamp())
    }
}

/// The numbers of the bits in a set.
#[inline]
pub fn bits(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}
