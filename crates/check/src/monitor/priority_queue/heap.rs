//! Which value leaves first: the order of priorities, and a heap by it.

use std::cmp::Ordering;

use linpoint_history::{Symbols, ValueId};

/// Which end leaves first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    LeastFirst,
    GreatestFirst,
}

impl Order {
    /// Does `a` leave before `b`?
    #[inline]
    pub fn before(self, symbols: &Symbols, a: ValueId, b: ValueId) -> bool {
        if a.0.max(b.0) < ValueId::INLINE {
            return if self == Order::LeastFirst { a.0 < b.0 } else { a.0 > b.0 };
        }
        self.compare(symbols, a, b) == Ordering::Less
    }

    #[cold]
    #[inline(never)]
    fn compare(self, symbols: &Symbols, a: ValueId, b: ValueId) -> Ordering {
        match self {
            Order::LeastFirst => symbols.compare(a, b),
            Order::GreatestFirst => symbols.compare(b, a),
        }
    }
}

/// Values with their places, the one that leaves first on top.
///
/// A plain binary heap; the standard one cannot ask [`Symbols`]. An item is a word: the value, turned round
/// where the greatest leaves first, then the place. As long as all values are small integers, words compare
/// as items do.
#[derive(Debug, Default)]
pub(super) struct Heap {
    pub order: Order,
    items: Vec<u64>,
    /// Are there values other than small integers?
    mixed: bool,
}

impl Heap {
    /// The value that leaves first.
    #[inline]
    pub fn top(&self) -> Option<(ValueId, u32)> {
        self.items.first().map(|&item| (value(self.order, item), item as u32))
    }

    /// Adds a value.
    #[inline]
    pub fn push(&mut self, symbols: &Symbols, value: ValueId, place: u32) {
        self.mixed |= value.0 >= ValueId::INLINE;
        let turned = if self.order == Order::LeastFirst { value.0 } else { !value.0 };
        let item = u64::from(turned) << 32 | u64::from(place);
        self.items.push(item);
        let hole = self.items.len() - 1;
        let order = self.order;
        if self.mixed {
            rise(&mut self.items, hole, item, |a, b| before(order, symbols, a, b));
        } else {
            rise(&mut self.items, hole, item, |a, b| a < b);
        }
    }

    /// Forgets the top.
    #[inline]
    pub fn pop(&mut self, symbols: &Symbols) {
        let Some(last) = self.items.pop() else { return };
        let order = self.order;
        if self.mixed {
            replace_top(&mut self.items, last, |a, b| before(order, symbols, a, b));
        } else {
            replace_top(&mut self.items, last, |a, b| a < b);
        }
    }

    /// All items, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (ValueId, u32)> {
        self.items.iter().map(|&item| (value(self.order, item), item as u32))
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.items.capacity() * 8
    }
}

#[inline]
fn value(order: Order, item: u64) -> ValueId {
    let turned = (item >> 32) as u32;
    ValueId(if order == Order::LeastFirst { turned } else { !turned })
}

fn before(order: Order, symbols: &Symbols, a: u64, b: u64) -> bool {
    order.before(symbols, value(order, a), value(order, b))
}

/// Lets `item` rise from the hole.
#[inline]
fn rise(items: &mut [u64], mut hole: usize, item: u64, before: impl Fn(u64, u64) -> bool) {
    while hole > 0 {
        let parent = (hole - 1) / 2;
        if !before(item, items[parent]) {
            break;
        }
        items[hole] = items[parent];
        hole = parent;
    }
    items[hole] = item;
}

/// Puts `last` in the top's stead: the hole sinks to a leaf along the first children, then `last`, which
/// belongs near a leaf, rises.
#[inline]
fn replace_top(items: &mut [u64], last: u64, before: impl Fn(u64, u64) -> bool) {
    if items.is_empty() {
        return;
    }
    let mut hole = 0;
    let mut child = 1;
    while child + 1 < items.len() {
        child += usize::from(before(items[child + 1], items[child]));
        items[hole] = items[child];
        hole = child;
        child = 2 * hole + 1;
    }
    if child < items.len() {
        items[hole] = items[child];
        hole = child;
    }
    rise(items, hole, last, before);
}

#[cfg(test)]
mod tests {
    use linpoint_history::Value;
    use linpoint_history::rng::Rng;

    use super::*;

    #[test]
    fn values_come_out_in_order() {
        let mut rng = Rng::new(3);
        let mut symbols = Symbols::new();
        for order in [Order::LeastFirst, Order::GreatestFirst] {
            let mut heap = Heap { order, ..Heap::default() };
            let mut values: Vec<i64> = (0..500).map(|_| rng.below(2000) as i64 - 1000).collect();
            for &value in &values {
                let id = symbols.intern(&Value::Int(value));
                heap.push(&symbols, id, 0);
            }
            values.sort_unstable();
            if order == Order::GreatestFirst {
                values.reverse();
            }
            for value in values {
                let (top, _) = heap.top().expect("as many as were pushed");
                assert_eq!(symbols.int(top), Some(value));
                heap.pop(&symbols);
            }
            assert!(heap.top().is_none());
        }
    }
}
