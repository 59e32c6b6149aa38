//! The multiset of Tasiran & Qadeer (2005), section 3: an array of slots, each with a lock.
//!
//! A slot has a content and a flag that says whether the content is valid. An insertion reserves a slot by giving it a content (`find_slot`, their
//! Fig. 2), and makes it valid later; a pair becomes valid while both locks are held (their Fig. 3). The view is the multiset of valid contents
//! (their Fig. 4): each slot is one location.
//!
//! **Commits.** An insertion commits where its slots become valid, inside their locks. One that fails changes nothing: it commits where it is.
//! A look-up or a removal that finds its element commits inside that slot's lock. What of one that does not find it? In the paper such a look-up commits at its
//! call, and that is right as long as nothing is removed. With removals that keep no locks it is wrong, and so is the object: while a look-up and a removal of `x` have both
//! passed slot 1, `x` may come to slot 1 and go from slot 2, and is missed though it was there all the time. So here a search keeps the locks of the slots it has passed until it has decided, and one that fails commits while it holds them all.
//! Locks are taken in the order of slots.
//!
//! Specification: `multiset:capacity=N:spurious` for `N` slots. (An insertion may fail while others hold reserved slots that come free again; the paper notes that this makes
//! the object not linearizable to its own sequential version, section 6.1.)
//!
//! Mutations, and what to expect:
//! - [`LOST_SECOND_COPY`]: an insertion of an element that is already in does not store it, and says it did. Views differ at that very
//!   insertion; answers only when the element is removed once and looked for again.
//! - [`LOOK_UP_WITHOUT_LOCKS`]: a look-up reads the slots without their locks. It sees one of a pair, and then not the other.
//! - [`PUBLISH_ONE_BY_ONE`]: a pair becomes valid one slot at a time. A look-up sees half of a pair before it is inserted.
//! - [`EARLY_COMMIT`]: the object is correct, its annotation is not: insertions say they commit before they do. To be reported as that.

use std::sync::atomic::{AtomicU64, Ordering};

use linpoint_monitor::{Guard, Logged, Monitor, MonitorError, Object, Op, Payload, View, Viewed, commit};

use super::give_way;
use crate::CORRECT;

/// An insertion of an element that is already in does nothing.
pub const LOST_SECOND_COPY: u8 = 1;
/// Look-ups take no locks.
pub const LOOK_UP_WITHOUT_LOCKS: u8 = 2;
/// The first of a pair can be seen before the second.
pub const PUBLISH_ONE_BY_ONE: u8 = 3;
/// Correct, but insertions log their commit before they take effect.
pub const EARLY_COMMIT: u8 = 4;

/// One place of the array.
#[derive(Debug, Default)]
struct Slot {
    content: Option<u64>,
    valid: bool,
}

impl Slot {
    fn holds(&self, element: u64) -> bool {
        self.valid && self.content == Some(element)
    }
}

impl Viewed for Slot {
    fn view(&self) -> impl Payload + '_ {
        self.content.filter(|_| self.valid)
    }
}

/// A multiset of numbers with room for a fixed number of them.
#[derive(Debug)]
pub struct Multiset<const MUTATION: u8 = CORRECT> {
    slots: Vec<Logged<Slot>>,
    /// What can be seen of each slot without its lock: its valid content plus one, or zero. For the mutation that looks there.
    seen: Vec<AtomicU64>,
    object: Object,
    ops: Ops,
}

#[derive(Debug)]
struct Ops {
    insert: Op,
    insert_pair: Op,
    remove: Op,
    look_up: Op,
}

impl<const MUTATION: u8> Multiset<MUTATION> {
    /// An empty multiset of `slots` slots, watched by `monitor`; with its view or without.
    ///
    /// # Errors
    /// Where the monitor takes no more objects.
    pub fn watched(monitor: &Monitor, slots: usize, view: Option<View>) -> Result<Self, MonitorError> {
        let registration = monitor.object("multiset", &format!("multiset:capacity={slots}:spurious"))?;
        let object = match view {
            Some(view) => registration.view(view),
            None => registration,
        };
        Ok(Self::new(slots, object.watch()?))
    }

    /// An empty multiset of `slots` slots that logs to `object`.
    pub fn new(slots: usize, object: Object) -> Self {
        let ops = Ops {
            insert: object.op("insert"),
            insert_pair: object.op("insert_pair"),
            remove: object.op("remove"),
            look_up: object.op("lookup"),
        };
        let slot = |number| Logged::new(&object, number as u64, Slot::default());
        Multiset {
            slots: (0..slots).map(slot).collect(),
            seen: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            object,
            ops,
        }
    }

    /// Puts `element` in, unless there is no room.
    pub fn insert(&self, element: u64) -> bool {
        let op = self.object.call(self.ops.insert, element);
        if MUTATION == LOST_SECOND_COPY && self.slots.iter().any(|slot| slot.lock().holds(element)) {
            op.commit();
            return op.returns(true);
        }
        let Some(at) = self.find_slot(element) else {
            op.commit();
            return op.returns(false);
        };
        if MUTATION == EARLY_COMMIT {
            op.commit();
            give_way();
        }
        let mut slot = self.slots[at].lock();
        slot.valid = true;
        self.show(at, &slot);
        if MUTATION != EARLY_COMMIT {
            slot.commit(&op);
        }
        drop(slot);
        op.returns(true)
    }

    /// Puts both elements in, at once, unless there is no room for both.
    pub fn insert_pair(&self, x: u64, y: u64) -> bool {
        let op = self.object.call(self.ops.insert_pair, (x, y));
        let Some(first) = self.find_slot(x) else {
            op.commit();
            return op.returns(false);
        };
        let Some(second) = self.find_slot(y) else {
            self.slots[first].lock().content = None;
            op.commit();
            return op.returns(false);
        };
        if MUTATION == EARLY_COMMIT {
            op.commit();
            give_way();
        }
        let (low, high) = (first.min(second), first.max(second));
        let mut one = self.slots[low].lock();
        if MUTATION == PUBLISH_ONE_BY_ONE {
            one.valid = true;
            self.show(low, &one);
            drop(one);
            give_way();
            let mut other = self.slots[high].lock();
            other.valid = true;
            self.show(high, &other);
            other.commit(&op);
            drop(other);
            return op.returns(true);
        }
        let mut other = self.slots[high].lock();
        one.valid = true;
        other.valid = true;
        self.show(low, &one);
        if MUTATION == LOOK_UP_WITHOUT_LOCKS {
            give_way();
        }
        self.show(high, &other);
        if MUTATION != EARLY_COMMIT {
            commit(&op, &mut [&mut one, &mut other]);
        }
        drop((one, other));
        op.returns(true)
    }

    /// Takes one copy of `element` out; was there one?
    pub fn remove(&self, element: u64) -> bool {
        let op = self.object.call(self.ops.remove, element);
        let mut passed = Vec::new();
        for (at, slot) in self.slots.iter().enumerate() {
            let mut slot = slot.lock();
            if slot.holds(element) {
                *slot = Slot::default();
                self.show(at, &slot);
                slot.commit(&op);
                drop(slot);
                drop(passed);
                return op.returns(true);
            }
            passed.push(slot);
        }
        op.commit();
        drop(passed);
        op.returns(false)
    }

    /// Is there a copy of `element`?
    pub fn look_up(&self, element: u64) -> bool {
        let op = self.object.call(self.ops.look_up, element);
        if MUTATION == LOOK_UP_WITHOUT_LOCKS {
            let found = self.seen.iter().any(|seen| seen.load(Ordering::Acquire) == element + 1);
            op.commit();
            return op.returns(found);
        }
        let mut passed: Vec<Guard<'_, Slot>> = Vec::new();
        for slot in &self.slots {
            let slot = slot.lock();
            if slot.holds(element) {
                op.commit();
                drop(slot);
                drop(passed);
                return op.returns(true);
            }
            passed.push(slot);
        }
        op.commit();
        drop(passed);
        op.returns(false)
    }

    /// Reserves a slot for `element`: it has the content, and is not valid yet.
    fn find_slot(&self, element: u64) -> Option<usize> {
        self.slots.iter().position(|slot| {
            let mut slot = slot.lock();
            let free = slot.content.is_none();
            if free {
                slot.content = Some(element);
            }
            free
        })
    }

    /// Keeps what is seen without locks up to date, for the mutation that looks at it.
    fn show(&self, at: usize, slot: &Slot) {
        if MUTATION == LOOK_UP_WITHOUT_LOCKS {
            let content = slot.content.filter(|_| slot.valid);
            self.seen[at].store(content.map_or(0, |content| content + 1), Ordering::Release);
        }
    }
}
