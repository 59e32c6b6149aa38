//! Which values are surely inside, and which of them leaves first.
//!
//! Small integers, which is what priorities nearly always are, stand as [`Bits`] and go when their removal is
//! called. Others stand in a [`Heap`] with the place of their element, which says whether they are still
//! inside: there, what left is dropped when it comes to the top.

use linpoint_history::{Symbols, ValueId};

use super::bits::Bits;
use super::heap::{Heap, Order};
use super::sweep::Element;
use crate::monitor::slab::Slab;
use crate::monitor::values::{Seen, ValueTable};

/// See the module's text.
#[derive(Debug)]
pub(super) enum Inside {
    Small(Bits),
    Any(Heap),
}

impl Default for Inside {
    fn default() -> Inside {
        Inside::Small(Bits::default())
    }
}

impl Inside {
    /// Adds a value; `values` knows the places of all.
    #[inline]
    pub fn push(
        &mut self,
        symbols: &Symbols,
        order: Order,
        (value, place): (ValueId, u32),
        values: &ValueTable,
    ) {
        match self {
            Inside::Small(bits) if value.0 < Bits::LIMIT => bits.insert(value.0),
            Inside::Small(_) => {
                self.use_heap(symbols, order, values);
                self.push(symbols, order, (value, place), values);
            }
            Inside::Any(heap) => heap.push(symbols, value, place),
        }
    }

    /// The removal of a value was called: the value is not surely inside any more.
    #[inline]
    pub fn leave(&mut self, value: ValueId) {
        if let Inside::Small(bits) = self {
            bits.remove(value.0);
        }
    }

    /// The value that leaves first, of those inside in this gap.
    #[inline]
    pub fn first(
        &mut self,
        symbols: &Symbols,
        order: Order,
        elements: &Slab<Element>,
        gap: u32,
    ) -> Option<ValueId> {
        match self {
            Inside::Small(bits) => {
                let first = if order == Order::LeastFirst { bits.first() } else { bits.last() };
                first.map(ValueId)
            }
            Inside::Any(heap) => loop {
                let (value, place) = heap.top()?;
                if elements.get(place).until > gap {
                    return Some(value);
                }
                heap.pop(symbols);
            },
        }
    }

    /// The places of all, and of some that left.
    pub fn places<'a>(&'a self, values: &'a ValueTable) -> Box<dyn Iterator<Item = u32> + 'a> {
        match self {
            Inside::Small(bits) => Box::new(bits.iter().filter_map(|value| place(values, value))),
            Inside::Any(heap) => Box::new(heap.iter().map(|(_, place)| place)),
        }
    }

    /// Turns to the heap, once and for all.
    #[cold]
    pub fn use_heap(&mut self, symbols: &Symbols, order: Order, values: &ValueTable) {
        let mut heap = Heap::default();
        heap.order = order;
        if let Inside::Small(bits) = self {
            for value in bits.iter() {
                if let Some(place) = place(values, value) {
                    heap.push(symbols, ValueId(value), place);
                }
            }
            *self = Inside::Any(heap);
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        match self {
            Inside::Small(bits) => bits.memory(),
            Inside::Any(heap) => heap.memory(),
        }
    }
}

/// The place of a value that is inside: it is held there until its removal is called.
fn place(values: &ValueTable, value: u32) -> Option<u32> {
    match values.get(value) {
        Seen::At(place) => Some(place),
        _ => None,
    }
}
