//! What is in a priority queue, as far as all configurations agree, and the open operations, both by key.
//!
//! Returned insertions count up, returned removals count down; that is the *base*, one for all
//! configurations. A configuration adds its open insertions that took effect and takes away its open removals
//! and wildcards that did. So an element costs a count here and nothing in the configurations. A key's count
//! is in its [`Class`] while an operation on it is open, and in `rest` otherwise.

use std::collections::BTreeMap;

/// A set of slots.
pub type Mask = u128;

/// An operation that is open, by its return and its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// When it returns; pending ones have the highest bit set, and so come last.
    pub id: u32,
    /// Its slot among the insertions or among the removals.
    pub slot: u8,
}

impl Open {
    /// Its slot as a set.
    #[inline]
    pub fn bit(&self) -> Mask {
        1 << self.slot
    }
}

/// The open operations on one key, and how many elements have it in the base.
#[derive(Clone, Debug)]
pub struct Class {
    /// The key; smaller ones leave first.
    pub key: i64,
    /// Returned insertions less returned removals; may be negative while an insertion that took effect is
    /// open.
    pub base: i32,
    /// Open insertions by return.
    pub inserts: Vec<Open>,
    /// Open removals by return.
    pub removes: Vec<Open>,
    /// The slots of `inserts`.
    pub insert_slots: Mask,
    /// The slots of `removes`.
    pub remove_slots: Mask,
}

impl Class {
    /// How many elements are there, wildcards not counted.
    #[inline]
    pub fn count(&self, inserted: Mask, removed: Mask) -> i32 {
        let (plus, minus) = (inserted & self.insert_slots, removed & self.remove_slots);
        let mut count = self.base;
        if plus != 0 {
            count += plus.count_ones() as i32;
        }
        if minus != 0 {
            count -= minus.count_ones() as i32;
        }
        count
    }

    /// The open insertion that has not taken effect and returns first.
    #[inline]
    pub fn next_insert(&self, inserted: Mask) -> Option<Open> {
        if self.insert_slots & !inserted == 0 {
            return None;
        }
        self.inserts.iter().find(|op| op.bit() & inserted == 0).copied()
    }

    /// The open removal that has not taken effect and returns first.
    #[inline]
    pub fn next_remove(&self, removed: Mask) -> Option<Open> {
        if self.remove_slots & !removed == 0 {
            return None;
        }
        self.removes.iter().find(|op| op.bit() & removed == 0).copied()
    }
}

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    classes: Vec<Class>,
    rest: BTreeMap<i64, i32>,
    insert_slots: Mask,
    remove_slots: Mask,
    /// The slots of removals that found nothing.
    empty_slots: Mask,
    empties: Vec<Open>,
}

impl Contents {
    /// One more element from the start.
    pub fn start_with(&mut self, key: i64) {
        *self.rest.entry(key).or_insert(0) += 1;
    }

    /// The keys with open operations, ascending.
    #[inline]
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The counts of keys without open operations.
    #[inline]
    pub fn rest(&self) -> &BTreeMap<i64, i32> {
        &self.rest
    }

    /// The removals that found nothing, by return.
    #[inline]
    pub fn empties(&self) -> &[Open] {
        &self.empties
    }

    /// Their slots.
    #[inline]
    pub fn empty_slots(&self) -> Mask {
        self.empty_slots
    }

    /// The class of a key that has one.
    #[inline]
    pub fn class(&self, key: i64) -> Option<&Class> {
        self.classes.binary_search_by_key(&key, |c| c.key).ok().map(|at| &self.classes[at])
    }

    /// Changes a key's base count by `by`.
    pub fn adjust(&mut self, key: i64, by: i32) {
        match self.classes.binary_search_by_key(&key, |c| c.key) {
            Ok(at) => self.classes[at].base += by,
            Err(_) => {
                let count = self.rest.entry(key).or_insert(0);
                *count += by;
                if *count == 0 {
                    self.rest.remove(&key);
                }
            }
        }
    }

    /// An insertion is called; `None`: no slot is free.
    pub fn call_insert(&mut self, id: u32, key: i64) -> Option<()> {
        let open = Open { id, slot: free_slot(&mut self.insert_slots)? };
        let class = self.class_for(key);
        class.insert_slots |= open.bit();
        put(&mut class.inserts, open);
        Some(())
    }

    /// A removal is called; `None`: no slot is free.
    pub fn call_remove(&mut self, id: u32, key: i64) -> Option<()> {
        let open = Open { id, slot: free_slot(&mut self.remove_slots)? };
        let class = self.class_for(key);
        class.remove_slots |= open.bit();
        put(&mut class.removes, open);
        Some(())
    }

    /// A removal that finds nothing is called; `None`: no slot is free.
    pub fn call_empty(&mut self, id: u32) -> Option<Open> {
        let open = Open { id, slot: free_slot(&mut self.remove_slots)? };
        self.empty_slots |= open.bit();
        put(&mut self.empties, open);
        Some(open)
    }

    /// The first open insertion of `key` returns: it counts in the base.
    pub fn return_insert(&mut self, key: i64) {
        let Ok(at) = self.classes.binary_search_by_key(&key, |c| c.key) else { return };
        let class = &mut self.classes[at];
        let open = class.inserts.remove(0);
        class.insert_slots &= !open.bit();
        class.base += 1;
        self.insert_slots &= !open.bit();
        self.close(at);
    }

    /// The first open removal of `key` returns: it counts in the base.
    pub fn return_remove(&mut self, key: i64) {
        let Ok(at) = self.classes.binary_search_by_key(&key, |c| c.key) else { return };
        let class = &mut self.classes[at];
        let open = class.removes.remove(0);
        class.remove_slots &= !open.bit();
        class.base -= 1;
        self.remove_slots &= !open.bit();
        self.close(at);
    }

    /// The first open removal that found nothing returns.
    pub fn return_empty(&mut self) {
        let open = self.empties.remove(0);
        self.empty_slots &= !open.bit();
        self.remove_slots &= !open.bit();
    }

    fn class_for(&mut self, key: i64) -> &mut Class {
        let at = match self.classes.binary_search_by_key(&key, |c| c.key) {
            Ok(at) => at,
            Err(at) => {
                let base = self.rest.remove(&key).unwrap_or(0);
                let (inserts, removes) = (Vec::new(), Vec::new());
                let class = Class { key, base, inserts, removes, insert_slots: 0, remove_slots: 0 };
                self.classes.insert(at, class);
                at
            }
        };
        &mut self.classes[at]
    }

    fn close(&mut self, at: usize) {
        let class = &self.classes[at];
        if class.inserts.is_empty() && class.removes.is_empty() {
            if class.base != 0 {
                self.rest.insert(class.key, class.base);
            }
            self.classes.remove(at);
        }
    }

    /// Bytes held, roughly.
    pub fn memory(&self) -> usize {
        self.rest.len() * 24 + self.classes.capacity() * size_of::<Class>()
    }
}

fn free_slot(slots: &mut Mask) -> Option<u8> {
    if *slots == Mask::MAX {
        return None;
    }
    let slot = slots.trailing_ones() as u8;
    *slots |= 1 << slot;
    Some(slot)
}

fn put(list: &mut Vec<Open>, open: Open) {
    let at = list.partition_point(|other| other.id < open.id);
    list.insert(at, open);
}
