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

/// Values with their places, the one that leaves first on top. A plain binary heap; the standard one cannot ask [`Symbols`].
#[derive(Debug, Default)]
pub(super) struct Heap {
    pub order: Order,
    items: Vec<(ValueId, u32)>,
}

impl Heap {
    /// The value that leaves first.
    #[inline]
    pub fn top(&self) -> Option<(ValueId, u32)> {
        self.items.first().copied()
    }

    /// Adds a value.
    #[inline]
    pub fn push(&mut self, symbols: &Symbols, value: ValueId, place: u32) {
        let mut hole = self.items.len();
        self.items.push((value, place));
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if !self.order.before(symbols, value, self.items[parent].0) {
                break;
            }
            self.items[hole] = self.items[parent];
            hole = parent;
        }
        self.items[hole] = (value, place);
    }

    /// Forgets the top.
    #[inline]
    pub fn pop(&mut self, symbols: &Symbols) {
        let Some(last) = self.items.pop() else { return };
        if self.items.is_empty() {
            return;
        }
        // Down to a leaf along the first children, then up: the last item belongs near a leaf.
        let mut hole = 0;
        loop {
            let child = 2 * hole + 1;
            if child >= self.items.len() {
                break;
            }
            let right = child + 1 < self.items.len()
                && self.order.before(symbols, self.items[child + 1].0, self.items[child].0);
            let child = child + usize::from(right);
            self.items[hole] = self.items[child];
            hole = child;
        }
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if !self.order.before(symbols, last.0, self.items[parent].0) {
                break;
            }
            self.items[hole] = self.items[parent];
            hole = parent;
        }
        self.items[hole] = last;
    }

    /// All items, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (ValueId, u32)> {
        self.items.iter().copied()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.items.capacity() * 8
    }
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
