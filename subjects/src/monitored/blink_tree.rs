//! A B-link tree: a map from numbers to numbers that many threads change at once, and a compressor that merges leaves meanwhile.
//!
//! Lehman & Yao (1981): every node has a high key and a link to its right neighbour, so a thread that comes to a node which was split meanwhile finds what it
//! looks for by *moving right*, and nobody needs to lock a path. Sagiv (1986): an insertion holds one lock at a time, also when it posts a
//! new node to the parent. Here nodes have a low key as well, so that every node says by itself whether a key is its business: a leaf
//! that was merged away and used again is recognised, and the search starts anew.
//!
//! - **Leaves** ([`leaf`]): a lock, a range of keys, and slots in no order. A slot is a location of the view.
//! - **Inner nodes** ([`inner`]): read without locks, by version (a sequence lock); changed under a lock. They are never given back.
//! - **The compressor** ([`BlinkTree::compress`]) walks the parents of leaves and merges two neighbours that together fill less than half a leaf,
//!   with the locks of parent, left and right leaf, in this order. All others hold one lock at a time, so nobody waits in a circle. A leaf is posted to its
//!   parent once, by the thread that split it off, and merged away only after that.
//!
//! **View.** The key–value pairs: what the slots of all leaves hold. **Commits.** All inside the lock of the leaf that has the key in its range. A split moves pairs to a new
//! leaf that nobody can see before the old one is unlocked: one block of writes, with the insertion. A merge is a block and an internal
//! commit: the view must be what it was.
//!
//! Mutations, and what to expect:
//! - [`STAY_LEFT`]: an operation that comes to a leaf too far left does not move right. Keys are stored where nobody finds them: views differ when such a
//!   key is there twice, answers when it is looked for.
//! - [`STALE_MERGE`]: the compressor copies the right leaf before it has all locks. A pair inserted in between is dropped: views differ
//!   at the internal commit.
//! - [`LOST_UPDATE`]: an insertion on a key that is present reads the old value, lets go of the lock and comes back to write. Two of
//!   them answer the same old value.

pub mod inner;
pub mod leaf;
mod nodes;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use linpoint_monitor::{Monitor, MonitorError, Object, Op, Operation, View};

use self::inner::{Full, Inner};
use self::leaf::{Leaf, Pairs};
use self::nodes::Nodes;
use super::give_way;
use crate::CORRECT;

/// Operations do not move right.
pub const STAY_LEFT: u8 = 1;
/// The compressor copies a leaf too early.
pub const STALE_MERGE: u8 = 2;
/// An insertion on a present key reads and writes under two locks.
pub const LOST_UPDATE: u8 = 3;

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// A map from numbers to numbers.
#[derive(Debug)]
pub struct BlinkTree<const MUTATION: u8 = CORRECT> {
    leaves: Nodes<Leaf>,
    inners: Nodes<Inner>,
    /// Leaves that were merged away.
    free: Mutex<Vec<u32>>,
    /// The level of the root, and its number.
    root: AtomicU64,
    /// Held while the tree grows a level.
    growth: Mutex<()>,
    object: Object,
    ops: Ops,
}

#[derive(Debug)]
struct Ops {
    insert: Op,
    get: Op,
    remove: Op,
}

impl<const MUTATION: u8> BlinkTree<MUTATION> {
    /// An empty tree, watched by `monitor`; with its view or without.
    ///
    /// # Errors
    /// Where the monitor takes no more objects.
    pub fn watched(monitor: &Monitor, view: bool) -> Result<Self, MonitorError> {
        let registration = monitor.object("b-link tree", "map")?;
        let registration = if view { registration.view(View::Map) } else { registration };
        Ok(Self::new(registration.watch()?))
    }

    /// An empty tree that logs to `object`.
    pub fn new(object: Object) -> Self {
        let ops = Ops { insert: object.op("insert"), get: object.op("get"), remove: object.op("remove") };
        let (leaves, inners) = (Nodes::<Leaf>::default(), Nodes::<Inner>::default());
        let leaf = leaves.add();
        let root = inners.add();
        lock(&leaves.get(leaf).pairs).open(0, None, NONE);
        inners.get(root).first(&[(0, leaf)]);
        let (free, growth) = (Mutex::default(), Mutex::default());
        BlinkTree { leaves, inners, free, root: AtomicU64::new(rooted(1, root)), growth, object, ops }
    }

    /// From now on `key` has `value`. What it had before.
    pub fn insert(&self, key: u64, value: u64) -> Option<u64> {
        let op = self.object.call(self.ops.insert, (key, value));
        let (id, mut pairs) = self.leaf_of(key);
        if let Some(slot) = pairs.find(key) {
            let old = pairs.values[slot];
            if MUTATION == LOST_UPDATE {
                drop(pairs);
                give_way();
                self.write_again(key, value, &op);
                return op.returns(Some(old));
            }
            pairs.values[slot] = value;
            op.commit_block(|writes| writes.write(leaf::location(id, slot), (key, value)));
            drop(pairs);
            return op.returns(Some(old));
        }
        if let Some(slot) = pairs.free_slot() {
            pairs.put(slot, key, value);
            op.commit_block(|writes| writes.write(leaf::location(id, slot), (key, value)));
            drop(pairs);
            return op.returns(None);
        }
        let (separator, right) = self.split(id, &mut pairs, key, value, &op);
        drop(pairs);
        if MUTATION == STAY_LEFT {
            // Until the parent knows, everyone has to move right.
            give_way();
        }
        self.post(1, separator, right);
        op.returns(None)
    }

    /// What `key` has.
    pub fn get(&self, key: u64) -> Option<u64> {
        let op = self.object.call(self.ops.get, key);
        let (_, pairs) = self.leaf_of(key);
        let found = pairs.find(key).map(|slot| pairs.values[slot]);
        op.commit();
        drop(pairs);
        op.returns(found)
    }

    /// Takes `key` out. What it had.
    pub fn remove(&self, key: u64) -> Option<u64> {
        let op = self.object.call(self.ops.remove, key);
        let (id, mut pairs) = self.leaf_of(key);
        let Some(slot) = pairs.find(key) else {
            op.commit();
            drop(pairs);
            return op.returns(None);
        };
        let old = pairs.take(slot);
        op.commit_block(|writes| writes.write(leaf::location(id, slot), ()));
        drop(pairs);
        op.returns(Some(old))
    }

    /// Merges leaves that are nearly empty, from left to right, once. For the compressor: one thread at a time may call this.
    pub fn compress(&self) -> usize {
        let mut merged = 0;
        let mut parent = self.leftmost_parent();
        while parent != NONE {
            let node = self.inners.get(parent);
            let guard = node.lock();
            let mut at = 1;
            while at < guard.len() {
                let (left, right) = (guard.child(at - 1), guard.child(at));
                if self.merge(left, right) {
                    guard.remove(at);
                    lock(&self.free).push(right);
                    merged += 1;
                } else {
                    at += 1;
                }
            }
            parent = guard.right();
        }
        merged
    }

    /// How many nodes there are, in use or not.
    pub fn nodes(&self) -> usize {
        self.leaves.len() + self.inners.len()
    }

    /// The leaf whose range has `key`, locked.
    fn leaf_of(&self, key: u64) -> (u32, MutexGuard<'_, Pairs>) {
        'again: loop {
            let mut id = self.descend(key, 0);
            loop {
                let pairs = lock(&self.leaves.get(id).pairs);
                if !pairs.open || key < pairs.low {
                    // Merged away, and perhaps used again.
                    drop(pairs);
                    std::hint::spin_loop();
                    continue 'again;
                }
                match pairs.high {
                    Some(high) if key >= high && MUTATION != STAY_LEFT => id = pairs.right,
                    _ => return (id, pairs),
                }
            }
        }
    }

    /// The node of `level` that seems to have `key` in its range. Inner ones have it, or it is to their right.
    fn descend(&self, key: u64, level: u32) -> u32 {
        let root = self.root.load(Ordering::Acquire);
        let (mut at, mut id) = ((root >> 32) as u32, root as u32);
        while at > level {
            match self.inners.get(id).look(key) {
                inner::Next::Right(right) => id = right,
                inner::Next::Down(child) => (at, id) = (at - 1, child),
            }
        }
        id
    }

    /// Splits a full leaf and puts the pair where it belongs; all of it commits `op`. The new leaf and the least key it may have.
    fn split(&self, id: u32, pairs: &mut Pairs, key: u64, value: u64, op: &Operation<'_>) -> (u64, u32) {
        let right = lock(&self.free).pop().unwrap_or_else(|| self.leaves.add());
        let mut new = lock(&self.leaves.get(right).pairs);
        let separator = pairs.median();
        new.open(separator, pairs.high, pairs.right);
        let moved = pairs.move_from(separator, &mut new);
        (pairs.high, pairs.right) = (Some(separator), right);
        let (place, half) = if key < separator { (id, &mut *pairs) } else { (right, &mut *new) };
        // Half of the slots are free now.
        let slot = half.free_slot().unwrap_or_default();
        half.put(slot, key, value);
        op.commit_block(|writes| {
            for slot in leaf::slots(moved) {
                writes.write(leaf::location(id, slot), ());
            }
            for slot in leaf::slots(new.used) {
                writes.write(leaf::location(right, slot), (new.keys[slot], new.values[slot]));
            }
            if place == id {
                writes.write(leaf::location(id, slot), (key, value));
            }
        });
        (separator, right)
    }

    /// Tells the parent, on `level`, of a new node whose keys begin with `separator`.
    fn post(&self, mut level: u32, mut separator: u64, mut child: u32) {
        loop {
            if !self.grow(level, separator, child) {
                return;
            }
            let mut id = self.descend(separator, level);
            let full = loop {
                let guard = self.inners.get(id).lock();
                if let Some(right) = guard.beyond(separator) {
                    id = right;
                    continue;
                }
                match guard.add(separator, child) {
                    Ok(()) => return,
                    Err(Full) => break guard,
                }
            };
            let right = self.inners.add();
            let middle = full.split(self.inners.get(right), right, separator, child);
            drop(full);
            (level, separator, child) = (level + 1, middle, right);
        }
    }

    /// Is there a parent on `level`? If not, makes one, which has the new node already.
    fn grow(&self, level: u32, separator: u64, child: u32) -> bool {
        if (self.root.load(Ordering::Acquire) >> 32) as u32 >= level {
            return true;
        }
        let _guard = lock(&self.growth);
        let root = self.root.load(Ordering::Acquire);
        if (root >> 32) as u32 >= level {
            return true;
        }
        let new = self.inners.add();
        self.inners.get(new).first(&[(0, root as u32), (separator, child)]);
        self.root.store(rooted(level, new), Ordering::Release);
        false
    }

    /// Moves everything of `right` to `left`, if they are neighbours and that is little.
    fn merge(&self, left: u32, right: u32) -> bool {
        let internal = self.object.internal();
        let copy = (MUTATION == STALE_MERGE).then(|| {
            let copy = lock(&self.leaves.get(right).pairs).clone();
            give_way();
            copy
        });
        let mut one = lock(&self.leaves.get(left).pairs);
        if one.right != right {
            return false;
        }
        let mut other = lock(&self.leaves.get(right).pairs);
        if one.len() + other.len() > leaf::SLOTS / 2 {
            return false;
        }
        let from = copy.as_ref().unwrap_or(&other);
        let mut moved = 0;
        for slot in leaf::slots(from.used) {
            // Together they fill less than half a leaf (but for the mutation, where it may be more).
            let Some(free) = one.free_slot() else { break };
            one.put(free, from.keys[slot], from.values[slot]);
            moved |= 1 << free;
        }
        self.object.block(|writes| {
            for slot in leaf::slots(other.used) {
                writes.write(leaf::location(right, slot), ());
            }
            for slot in leaf::slots(moved) {
                writes.write(leaf::location(left, slot), (one.keys[slot], one.values[slot]));
            }
        });
        internal.commit();
        (one.high, one.right) = (other.high, other.right);
        other.close();
        true
    }

    fn leftmost_parent(&self) -> u32 {
        self.descend(0, 1)
    }

    /// The second half of an insertion for [`LOST_UPDATE`]: writes `value` over whatever is there by now.
    fn write_again(&self, key: u64, value: u64, op: &Operation<'_>) {
        let (id, mut pairs) = self.leaf_of(key);
        match pairs.find(key) {
            Some(slot) => {
                pairs.values[slot] = value;
                op.commit_block(|writes| writes.write(leaf::location(id, slot), (key, value)));
            }
            // Removed meanwhile: as if that came later.
            None => op.commit(),
        }
    }
}

fn rooted(level: u32, id: u32) -> u64 {
    u64::from(level) << 32 | u64::from(id)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
