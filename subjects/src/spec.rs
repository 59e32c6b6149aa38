//! The sequential objects that say what is right.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stack(Vec<u32>);

#[linpoint::spec]
impl Stack {
    /// Puts `value` on top.
    pub fn push(&mut self, value: u32) {
        self.0.push(value);
    }

    /// Takes the topmost value off.
    pub fn pop(&mut self) -> Option<u32> {
        self.0.pop()
    }
}

/// A queue without a bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Queue(VecDeque<u32>);

#[linpoint::spec]
impl Queue {
    /// Puts `value` at the end.
    pub fn enqueue(&mut self, value: u32) {
        self.0.push_back(value);
    }

    /// Takes the value at the front.
    pub fn dequeue(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

/// A queue of at most two values, which may say "full" and "empty" at any time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BoundedQueue(VecDeque<u32>);

#[linpoint::spec]
impl BoundedQueue {
    /// Puts `value` at the end; `false` if there is no room.
    #[may(false)]
    pub fn enqueue(&mut self, value: u32) -> bool {
        let room = self.0.len() < crate::vyukov_ring::CAPACITY;
        if room {
            self.0.push_back(value);
        }
        room
    }

    /// Takes the value at the front.
    #[may(None)]
    pub fn dequeue(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

/// A deque with an owner at the bottom and thieves at the top.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Deque(VecDeque<u32>);

#[linpoint::spec]
impl Deque {
    /// Puts `value` at the bottom.
    pub fn push(&mut self, value: u32) {
        self.0.push_back(value);
    }

    /// Takes the value at the bottom.
    pub fn take(&mut self) -> Option<u32> {
        self.0.pop_back()
    }

    /// Takes the value at the top.
    pub fn steal(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

/// A priority queue: how often each priority is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PriorityQueue(BTreeMap<u32, u32>);

#[linpoint::spec]
impl PriorityQueue {
    /// Puts `priority` in.
    pub fn insert(&mut self, priority: u32) {
        *self.0.entry(priority).or_default() += 1;
    }

    /// Takes the smallest out.
    pub fn remove_min(&mut self) -> Option<u32> {
        let mut first = self.0.first_entry()?;
        *first.get_mut() -= 1;
        let priority = *first.key();
        if *first.get() == 0 {
            first.remove();
        }
        Some(priority)
    }

    /// Replaces one `from` by `to`: was there one?
    pub fn change_key(&mut self, from: u32, to: u32) -> bool {
        let Some(count) = self.0.get_mut(&from) else { return false };
        *count -= 1;
        if *count == 0 {
            self.0.remove(&from);
        }
        self.insert(to);
        true
    }
}

/// A set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Set(BTreeSet<u32>);

#[linpoint::spec]
impl Set {
    /// Puts `key` in; `false` if it was there.
    pub fn add(&mut self, key: u32) -> bool {
        self.0.insert(key)
    }

    /// Takes `key` out; `false` if it was not there.
    pub fn remove(&mut self, key: u32) -> bool {
        self.0.remove(&key)
    }

    /// Is `key` in?
    pub fn contains(&mut self, key: u32) -> bool {
        self.0.contains(&key)
    }
}

/// Two numbers written as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pair(u32, u32);

#[linpoint::spec]
impl Pair {
    /// Writes both.
    pub fn write(&mut self, first: u32, second: u32) {
        *self = Pair(first, second);
    }

    /// Reads both.
    pub fn read(&mut self) -> (u32, u32) {
        (self.0, self.1)
    }
}

/// Two numbers written one at a time and read together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cells(u32, u32);

#[linpoint::spec]
impl Cells {
    /// Both numbers; it may also fail.
    #[may(None)]
    pub fn snapshot(&mut self) -> Option<(u32, u32)> {
        Some((self.0, self.1))
    }

    /// Writes the first.
    pub fn write_first(&mut self, value: u32) {
        self.0 = value;
    }

    /// Writes the second.
    pub fn write_second(&mut self, value: u32) {
        self.1 = value;
    }
}

/// The transactions of [`crate::bartok_stm::Stm`], one after the other. Each may also fail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory(u32, u32);

#[linpoint::spec]
impl Memory {
    /// `second = first + 1`.
    #[may(None)]
    pub fn first_to_second(&mut self) -> Option<u32> {
        self.1 = self.0 + 1;
        Some(self.1)
    }

    /// `first = second + 1`.
    #[may(None)]
    pub fn second_to_first(&mut self) -> Option<u32> {
        self.0 = self.1 + 1;
        Some(self.0)
    }

    /// Both numbers.
    #[may(None)]
    pub fn both(&mut self) -> Option<(u32, u32)> {
        Some((self.0, self.1))
    }

    /// 11 to the first, 12 to the second.
    #[may(false)]
    pub fn overwrite(&mut self) -> bool {
        *self = Memory(11, 12);
        true
    }
}

/// A counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counter(u32);

#[linpoint::spec]
impl Counter {
    /// Adds one, and returns what was there before.
    pub fn increment(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
}
