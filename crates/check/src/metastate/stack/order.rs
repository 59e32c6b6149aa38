//! The witness: choices of the path, run forward.
//!
//! A push that returns may have taken effect just before an element above it did, so the order is a linked
//! list while it grows. It covers the returns since the last *settled* moment, at which one configuration
//! with one word was left and no open push could go below anything in it: what came before can be given away.

use crate::timeline::OpId;

use super::open::{Kind, Open, Row, bits};
use super::path::{Choice, Last, WILD};

/// A growing order.
#[derive(Debug)]
pub struct Order<'a> {
    items: Vec<Item>,
    last: u32,
    /// The place of each element's push, or [`SETTLED`].
    stack: Vec<u32>,
    open: Open,
    served: u64,
    wild: u32,
    wild_ids: &'a [OpId],
}

#[derive(Clone, Copy, Debug)]
struct Item {
    id: OpId,
    before: u32,
    after: u32,
}

/// The element was pushed before this order begins.
const SETTLED: u32 = 0;

impl<'a> Order<'a> {
    /// Begins with `height` elements, `open` operations, of which `served` empty pops are done, and `wild`
    /// pending pops done.
    pub fn new(height: usize, open: Open, served: u64, wild: u32, wild_ids: &'a [OpId]) -> Order<'a> {
        let head = Item { id: OpId(0), before: 0, after: 0 };
        Order { items: vec![head], last: 0, stack: vec![SETTLED; height], open, served, wild, wild_ids }
    }

    /// An operation is called.
    pub fn call(&mut self, row: Row) {
        if row.kind != Kind::Wild {
            self.served &= !(1 << row.slot);
        }
        self.open.call(row);
        self.serve();
    }

    /// An operation returns.
    pub fn ret(&mut self, row: Row, choice: &Choice) {
        for &slot in &choice.pops {
            let id = match slot {
                WILD => {
                    self.wild += 1;
                    self.wild_ids.get(self.wild as usize - 1).copied()
                }
                slot => Some(self.open.row(u32::from(slot)).id),
            };
            if let Some(id) = id {
                self.take(id);
            }
        }
        match (choice.last, row.kind) {
            (Last::Earlier, _) => {}
            (Last::Now, Kind::Push) => {
                self.add(row.id);
                self.stack.push(self.last);
            }
            (Last::Now, Kind::Pop) => self.take(row.id),
            (Last::Now, _) => {}
            (Last::Below(height), _) => {
                let item = self.add_before(self.stack[height], row.id);
                self.stack.insert(height, item);
            }
            (Last::With(slot), _) => {
                self.add(self.open.row(u32::from(slot)).id);
                self.add(row.id);
            }
        }
        self.open.close(row);
    }

    /// Writes the order down.
    pub fn write(&self, order: &mut Vec<OpId>) {
        let mut at = self.items[0].after;
        while at != 0 {
            order.push(self.items[at as usize].id);
            at = self.items[at as usize].after;
        }
    }

    fn take(&mut self, id: OpId) {
        self.stack.pop();
        self.add(id);
        self.serve();
    }

    /// Empty pops take effect as soon as the stack is empty.
    fn serve(&mut self) {
        if self.stack.is_empty() {
            for slot in bits(self.open.empties & !self.served) {
                self.add(self.open.row(slot).id);
            }
            self.served |= self.open.empties;
        }
    }

    fn add(&mut self, id: OpId) {
        let item = self.items.len() as u32;
        self.items.push(Item { id, before: self.last, after: 0 });
        self.items[self.last as usize].after = item;
        self.last = item;
    }

    fn add_before(&mut self, place: u32, id: OpId) -> u32 {
        let item = self.items.len() as u32;
        let before = self.items[place as usize].before;
        self.items.push(Item { id, before, after: place });
        self.items[before as usize].after = item;
        self.items[place as usize].before = item;
        item
    }
}
