//! The operations of a priority queue that are open, and what they have to do with each other.

use crate::timeline::OpId;

/// A set of slots.
pub(super) type Mask = u128;

/// The slots of a set, ascending.
pub(super) fn bits(mut set: Mask) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let slot = set.trailing_zeros();
        (set != 0).then(|| {
            set &= set - 1;
            slot
        })
    })
}

/// What an operation does, its answer being known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Puts a key in.
    Insert(i64),
    /// Takes the smallest out, and this is it.
    Remove(i64),
    /// Replaces one key by another.
    Change { from: i64, to: i64 },
    /// Finds that a key is there: a change into itself.
    Present(i64),
    /// Finds that a key is not there.
    Absent(i64),
    /// Finds nothing to remove.
    Empty,
}

impl Act {
    /// What it puts in.
    pub(super) fn adds(self) -> Option<i64> {
        match self {
            Act::Insert(key) | Act::Change { to: key, .. } => Some(key),
            _ => None,
        }
    }

    /// What it takes out.
    pub(super) fn takes(self) -> Option<i64> {
        match self {
            Act::Remove(key) | Act::Change { from: key, .. } => Some(key),
            _ => None,
        }
    }

    /// Does it change nothing, whatever is there?
    pub(super) fn only_looks(self) -> bool {
        matches!(self, Act::Present(_) | Act::Absent(_) | Act::Empty)
    }

    /// May `later` need what this one does, or make this one impossible? If not, and this one takes effect
    /// right before `later`, it may as well do so right after it.
    pub(super) fn is_related_to(self, later: Act) -> bool {
        self.helps(later) || later.spoils(self)
    }

    /// Can there be contents in which `other` is possible after this one and not before?
    fn helps(self, other: Act) -> bool {
        match other {
            Act::Insert(_) => false,
            Act::Remove(key) => self.adds() == Some(key) || self.takes().is_some_and(|taken| taken < key),
            Act::Change { from: key, .. } | Act::Present(key) => self.adds() == Some(key),
            Act::Absent(key) => self.takes() == Some(key),
            Act::Empty => self.takes().is_some(),
        }
    }

    /// Can there be contents in which `other` is possible before this one and not after?
    fn spoils(self, other: Act) -> bool {
        match other {
            Act::Insert(_) => false,
            Act::Remove(key) => self.takes() == Some(key) || self.adds().is_some_and(|added| added < key),
            Act::Change { from: key, .. } | Act::Present(key) => self.takes() == Some(key),
            Act::Absent(key) => self.adds() == Some(key),
            Act::Empty => self.adds().is_some(),
        }
    }
}

/// The open operations, each in a slot that is its own while it is open.
#[derive(Clone, Debug, Default)]
pub(super) struct Opens {
    /// By slot; what is in a slot that is not used means nothing.
    slots: Vec<(OpId, Act)>,
    used: Mask,
    /// Those that only look, and those that put something in.
    looking: Mask,
    adding: Mask,
}

impl Opens {
    /// An operation is called; `None`: there is no slot.
    pub(super) fn call(&mut self, id: OpId, act: Act) -> Option<u32> {
        let slot = self.used.trailing_ones();
        if slot == Mask::BITS {
            return None;
        }
        match self.slots.get_mut(slot as usize) {
            Some(place) => *place = (id, act),
            None => self.slots.push((id, act)),
        }
        self.used |= 1 << slot;
        if act.only_looks() {
            self.looking |= 1 << slot;
        }
        if act.adds().is_some() {
            self.adding |= 1 << slot;
        }
        Some(slot)
    }

    /// An operation returns.
    pub(super) fn returned(&mut self, slot: u32) -> Act {
        let rest = !(1 << slot);
        self.used &= rest;
        self.looking &= rest;
        self.adding &= rest;
        self.act(slot)
    }

    pub(super) fn slot_of(&self, id: OpId) -> Option<u32> {
        bits(self.used).find(|slot| self.id(*slot) == id)
    }

    pub(super) fn act(&self, slot: u32) -> Act {
        self.slots[slot as usize].1
    }

    pub(super) fn id(&self, slot: u32) -> OpId {
        self.slots[slot as usize].0
    }

    /// Those that only look.
    pub(super) fn looking(&self) -> Mask {
        self.looking
    }

    /// Those that put something in.
    pub(super) fn adding(&self) -> Mask {
        self.adding
    }

    /// Those that change something.
    pub(super) fn changing(&self) -> Mask {
        self.used & !self.looking
    }

    /// The insertions.
    pub(super) fn insertions(&self) -> Mask {
        bits(self.adding)
            .filter(|slot| matches!(self.act(*slot), Act::Insert(_)))
            .fold(0, |set, slot| set | 1 << slot)
    }

    /// By how much those that took effect change the count of a key.
    pub(super) fn change(&self, done: Mask, key: i64) -> i32 {
        bits(done & self.changing())
            .map(|slot| {
                let act = self.act(slot);
                i32::from(act.adds() == Some(key)) - i32::from(act.takes() == Some(key))
            })
            .sum()
    }

    /// All that may matter before the operation in `slot` takes effect: what is related to it, or to
    /// something that is.
    pub(super) fn related_to(&self, slot: u32) -> Mask {
        let mut related: Mask = 1 << slot;
        let mut fresh = related;
        while fresh != 0 {
            let later = fresh.trailing_zeros();
            fresh &= fresh - 1;
            for other in bits(self.used & !related) {
                if self.act(other).is_related_to(self.act(later)) {
                    related |= 1 << other;
                    fresh |= 1 << other;
                }
            }
        }
        related
    }

    /// Of the operations `among` that did not take effect, the first to return of each that do the same.
    pub(super) fn first_of_equals(&self, among: Mask, done: Mask) -> Mask {
        let waiting = self.changing() & !done;
        let is_first = |slot: &u32| {
            let (id, act) = self.slots[*slot as usize];
            bits(waiting).all(|other| self.id(other) >= id || self.act(other) != act)
        };
        bits(among & waiting).filter(is_first).fold(0, |set, slot| set | 1 << slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contents of two keys, each at most twice: what the table says is what happens.
    #[test]
    fn what_is_not_related_can_go_later() {
        let acts = [
            Act::Insert(0),
            Act::Insert(1),
            Act::Remove(0),
            Act::Remove(1),
            Act::Change { from: 0, to: 1 },
            Act::Change { from: 1, to: 0 },
            Act::Present(0),
            Act::Present(1),
            Act::Absent(0),
            Act::Absent(1),
            Act::Empty,
        ];
        let apply = |bag: [i32; 2], act: Act| -> Option<[i32; 2]> {
            let allowed = match act {
                Act::Insert(_) => true,
                Act::Remove(0) => bag[0] > 0,
                Act::Remove(_) => bag[0] == 0 && bag[1] > 0,
                Act::Change { from: key, .. } | Act::Present(key) => bag[key as usize] > 0,
                Act::Absent(key) => bag[key as usize] == 0,
                Act::Empty => bag == [0, 0],
            };
            let mut after = bag;
            act.takes().into_iter().for_each(|key| after[key as usize] -= 1);
            act.adds().into_iter().for_each(|key| after[key as usize] += 1);
            allowed.then_some(after)
        };
        let mut related = 0;
        for first in acts {
            for second in acts {
                related += usize::from(first.is_related_to(second));
                for bag in (0..9).map(|n| [n / 3, n % 3]) {
                    let both = apply(bag, first).and_then(|bag| apply(bag, second));
                    let turned = apply(bag, second).and_then(|bag| apply(bag, first));
                    if both.is_some() && !first.is_related_to(second) {
                        assert_eq!(both, turned, "{first:?}, {second:?} with {bag:?}");
                    }
                }
            }
        }
        assert!(related < acts.len() * acts.len() / 2, "{related} pairs are related");
    }
}
