//! A set under other names: threads in another order, and data named after the part it plays in the set.

use linpoint_lang::program::OpId;

use super::events::Work;
use super::set::{Configuration, IDLE, OPEN, Set, Status};
use crate::data::{Classes, Renaming};
use crate::reference::{CallId, Numbered, mix};

/// Places in states of the specification come first, then results, then calls.
const RESULTS: u64 = 1 << 20;
const CALLS: u64 = 1 << 21;

/// Values that occur, at most fifteen, and the parts they play.
struct Members {
    /// The first place where each value is, so that few names change from step to step.
    first: [u64; 16],
    /// A number for each that differs for values that play different parts.
    part: [u64; 16],
    /// A bit for each value that occurs.
    seen: u32,
    /// In the order of their parts, once they are sorted.
    values: [u8; 16],
    count: usize,
}

impl Members {
    fn new() -> Members {
        Members { first: [u64::MAX; 16], part: [0; 16], seen: 0, values: [0; 16], count: 0 }
    }

    /// A value plays a part at a place.
    #[inline]
    fn play(&mut self, value: u8, first: u64, part: u64) {
        let at = usize::from(value & 15);
        self.first[at] = self.first[at].min(first);
        self.part[at] = self.part[at].wrapping_add(part);
        self.seen |= 1 << at;
    }

    #[inline]
    fn part(&self, value: u8) -> (u64, u64) {
        let at = usize::from(value & 15);
        (self.first[at], self.part[at])
    }

    fn sort(&mut self) {
        for value in (1..16_u8).filter(|value| self.seen >> value & 1 == 1) {
            self.values[self.count & 15] = value;
            self.count += 1;
        }
        for end in 1..self.count {
            let mut at = end;
            while at > 0 {
                let (before, this) = (self.values[at - 1], self.values[at]);
                if (self.part(before), before) < (self.part(this), this) {
                    break;
                }
                self.values.swap(at - 1, at);
                at -= 1;
            }
        }
    }

    fn each(&self) -> impl Iterator<Item = u8> {
        self.values[..self.count].iter().copied()
    }

    /// Is there a value for each part?
    fn are_different(&self) -> bool {
        self.values[..self.count].windows(2).all(|pair| self.part(pair[0]) != self.part(pair[1]))
    }
}

/// Threads that have an operation open.
#[derive(Default)]
struct Open {
    threads: [OpenThread; 16],
    count: usize,
}

#[derive(Clone, Copy, Default)]
struct OpenThread {
    new: u8,
    old: u8,
    op: OpId,
    call: CallId,
}

impl Open {
    fn each(&self) -> impl Iterator<Item = &OpenThread> {
        self.threads[..self.count].iter()
    }
}

impl Work<'_, '_> {
    /// Leaves in `after` the set with threads in another order, and data named after the part it plays in the
    /// set, in no order; not if nothing changes. With what is left open about the names.
    pub fn settle_in(&mut self, set: &Set, order: &[u8], after: &mut Set) -> (Classes, bool) {
        let open = self.open(set, order);
        let members = self.parts_played(set, &open);
        let (mut map, mut classes) = ([0; 16], Classes::default());
        if members.are_different() {
            for (value, name) in members.each().zip(1..) {
                classes.add(value, name);
                map[usize::from(value)] = name;
            }
        } else {
            // Values that can change places without changing the set: each class by its first member.
            let mut class = [0; 16];
            for (index, value) in members.each().enumerate() {
                let found = members.each().take(index).find(|other| {
                    let leads = class[usize::from(*other)] == *other;
                    leads
                        && members.part(*other) == members.part(value)
                        && self.may_swap(set, &open, *other, value)
                });
                class[usize::from(value)] = found.unwrap_or(value);
            }
            // Members of a class get names in a row.
            for leader in members.each().filter(|value| class[usize::from(*value)] == *value) {
                let first = classes.count() + 1;
                for value in members.each().filter(|value| class[usize::from(*value)] == leader) {
                    classes.add(value, first);
                    map[usize::from(value)] = classes.count();
                }
            }
        }
        let same_names = members.each().all(|value| map[usize::from(value)] == value);
        let changed = !same_names || !order.is_sorted();
        if changed {
            let by = Numbered::new(&map);
            self.rename_in(set, order, (!same_names).then_some(&by), after);
        }
        (classes, changed)
    }

    /// The threads that have an operation open, by their new places and by their old ones.
    fn open(&self, set: &Set, order: &[u8]) -> Open {
        let mut open = Open::default();
        for (new, old) in order.iter().enumerate() {
            if let Some(call) = set.calls.get(usize::from(*old)) {
                let op = self.reference.op_of(call);
                open.threads[open.count] = OpenThread { new: new as u8, old: *old, op, call };
                open.count += 1;
            }
        }
        open
    }

    /// Is the set the same with two values swapped? To swap is one-to-one, so it is if each configuration is
    /// one of the set when swapped.
    fn may_swap(&mut self, set: &Set, open: &Open, a: u8, b: u8) -> bool {
        let mut map: Renaming = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        map.swap(a.into(), b.into());
        let by = Numbered::new(&map);
        open.each().all(|thread| self.reference.rename_call(thread.call, &by) == thread.call)
            && set.configurations.iter().all(|before| {
                let mut swapped = before.with_spec(self.reference.rename_state(before.spec(), &by));
                for thread in open.each() {
                    let status = self.status_of(*before, thread, Some(&by));
                    swapped = self.share.set(swapped, thread.old.into(), status);
                }
                swapped == *before || set.configurations.binary_search(&swapped).is_ok()
            })
    }

    /// What each value is in a set, said without names.
    fn parts_played(&mut self, set: &Set, open: &Open) -> Members {
        let mut members = Members::new();
        for thread in open.each() {
            let new = u64::from(thread.new);
            self.reference.data_of_call(thread.call, &mut |place, value| {
                if (1..16).contains(&value) {
                    members.play(value as u8, CALLS + new, mix(mix(1, new), place));
                }
            });
        }
        for &configuration in &set.configurations {
            let mut hash = self.reference.shape_of_state(configuration.spec()).hash;
            // Is there data in results?
            let mut data = false;
            for thread in open.each() {
                let status = self.share.get(configuration, thread.old.into());
                hash = match status {
                    IDLE | OPEN => mix(hash, u64::from(status)),
                    _ => {
                        let shape = self.reference.shape_of_result(thread.op, status - 2);
                        data |= !shape.values.is_empty();
                        mix(hash, shape.hash)
                    }
                };
            }
            for (place, value) in &self.reference.shape_of_state(configuration.spec()).values {
                members.play(*value, (*place).min(RESULTS - 1), mix(hash, *place));
            }
            if !data {
                continue;
            }
            for thread in open.each() {
                let status = self.share.get(configuration, thread.old.into());
                if status <= OPEN {
                    continue;
                }
                let place = mix(3, u64::from(thread.new));
                for (index, value) in &self.reference.shape_of_result(thread.op, status - 2).values {
                    members.play(*value, RESULTS, mix(hash, mix(place, *index)));
                }
            }
        }
        members.sort();
        members
    }

    /// Leaves in `after` the set with threads in another order and data under other names, in no order.
    pub fn rename_in(&mut self, set: &Set, order: &[u8], by: Option<&Numbered<'_>>, after: &mut Set) {
        // Where it matters who calls, threads are not sorted.
        debug_assert!(!self.reference.by_thread || order.is_sorted());
        let open = self.open(set, order);
        for &before in &set.configurations {
            let mut renamed = Configuration::new(match by {
                Some(by) => self.reference.rename_state(before.spec(), by),
                None => before.spec(),
            });
            for thread in open.each() {
                renamed = self.share.set(renamed, thread.new.into(), self.status_of(before, thread, by));
            }
            after.configurations.push(renamed);
        }
        after.calls = set.calls;
        (0..order.len()).for_each(|place| after.calls.set(place, None));
        for thread in open.each() {
            let call = match by {
                Some(by) => self.reference.rename_call(thread.call, by),
                None => thread.call,
            };
            after.calls.set(thread.new.into(), Some(call));
        }
    }

    /// The status of a thread in a configuration, its result under another name.
    #[inline]
    fn status_of(&mut self, before: Configuration, thread: &OpenThread, by: Option<&Numbered<'_>>) -> Status {
        let status = self.share.get(before, thread.old.into());
        match by {
            Some(by) if status > OPEN => {
                let result = self.reference.rename_result(thread.op, status - 2, by);
                self.overflowed |= self.share.is_too_small(result);
                result + 2
            }
            _ => status,
        }
    }
}
