//! A set under other names: threads in another order, and data named after the part it plays in the set.

use linpoint_lang::program::OpId;

use super::events::Work;
use super::set::{Configuration, IDLE, OPEN, Set, Status, Statuses};
use crate::data::{Classes, Renaming};
use crate::reference::{CallId, Numbered, mix};

/// The first place where a value is, so that few names change from step to step, and a number that differs for values that play different parts.
type Part = (u64, u64);

/// Of a value that does not occur.
const NO_PART: Part = (u64::MAX, 0);

/// Places in states of the specification come first, then results, then calls.
const RESULTS: u64 = 1 << 20;
const CALLS: u64 = 1 << 21;

/// Values that occur, at most fifteen.
#[derive(Default)]
struct Members {
    values: [u8; 16],
    count: usize,
}

impl Members {
    /// In the order of their parts.
    fn by(parts: &[Part; 16]) -> Members {
        let mut members = Members::default();
        for value in (1..16_u8).filter(|value| parts[usize::from(*value)] != NO_PART) {
            members.values[members.count] = value;
            members.count += 1;
        }
        members.values[..members.count]
            .sort_unstable_by_key(|value| (parts[usize::from(*value & 15)], *value));
        members
    }

    fn each(&self) -> impl Iterator<Item = u8> {
        self.values[..self.count].iter().copied()
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
    /// Leaves in `after` the set with threads in another order, and data named after the part it plays in the set, in no order; not if nothing changes. With what is left open about the names.
    pub fn settle_in(&mut self, set: &Set, order: &[u8], after: &mut Set) -> (Classes, bool) {
        let open = self.open(set, order);
        let parts = self.parts_played(set, &open);
        let members = Members::by(&parts);
        // Values that can change places without changing the set: each class by its first member.
        let mut class = [0; 16];
        for (index, value) in members.each().enumerate() {
            let found = members.each().take(index).find(|other| {
                let leads = class[usize::from(*other)] == *other;
                leads
                    && parts[usize::from(*other)] == parts[usize::from(value)]
                    && self.may_swap(set, &open, *other, value)
            });
            class[usize::from(value)] = found.unwrap_or(value);
        }
        // Members of a class get names in a row.
        let (mut map, mut classes) = ([0; 16], Classes::default());
        for leader in members.each().filter(|value| class[usize::from(*value)] == *value) {
            let first = classes.count() + 1;
            for value in members.each().filter(|value| class[usize::from(*value)] == leader) {
                classes.add(value, first);
                map[usize::from(value)] = classes.count();
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

    /// Is the set the same with two values swapped? To swap is one-to-one, so it is if each configuration is one of the set when swapped.
    fn may_swap(&mut self, set: &Set, open: &Open, a: u8, b: u8) -> bool {
        let mut map: Renaming = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        map.swap(a.into(), b.into());
        let by = Numbered::new(&map);
        open.each().all(|thread| self.reference.rename_call(thread.call, &by) == thread.call)
            && set.configurations.iter().all(|before| {
                let mut statuses = before.statuses;
                for thread in open.each() {
                    let status = self.status_of(before, thread, Some(&by));
                    statuses = self.share.set(statuses, thread.old.into(), status);
                }
                let swapped = Configuration { spec: self.reference.rename_state(before.spec, &by), statuses };
                swapped == *before || set.configurations.binary_search(&swapped).is_ok()
            })
    }

    /// What each value is in a set, said without names.
    fn parts_played(&mut self, set: &Set, open: &Open) -> [Part; 16] {
        let mut parts = [NO_PART; 16];
        let mut play = |value: u8, first: u64, part: u64| {
            let (place, sum) = &mut parts[usize::from(value & 15)];
            *place = first.min(*place);
            *sum = sum.wrapping_add(part);
        };
        for thread in open.each() {
            let new = u64::from(thread.new);
            self.reference.data_of_call(thread.call, &mut |place, value| {
                if (1..16).contains(&value) {
                    play(value as u8, CALLS + new, mix(mix(1, new), place));
                }
            });
        }
        for configuration in &set.configurations {
            let mut hash = self.reference.shape_of_state(configuration.spec).hash;
            // Is there data in results?
            let mut data = false;
            for thread in open.each() {
                let status = self.share.get(configuration.statuses, thread.old.into());
                hash = match status {
                    IDLE | OPEN => mix(hash, u64::from(status)),
                    _ => {
                        let shape = self.reference.shape_of_result(thread.op, status - 2);
                        data |= !shape.values.is_empty();
                        mix(hash, shape.hash)
                    }
                };
            }
            for (place, value) in &self.reference.shape_of_state(configuration.spec).values {
                play(*value, (*place).min(RESULTS - 1), mix(hash, *place));
            }
            if !data {
                continue;
            }
            for thread in open.each() {
                let status = self.share.get(configuration.statuses, thread.old.into());
                if status <= OPEN {
                    continue;
                }
                let place = mix(3, u64::from(thread.new));
                for (index, value) in &self.reference.shape_of_result(thread.op, status - 2).values {
                    play(*value, RESULTS, mix(hash, mix(place, *index)));
                }
            }
        }
        parts
    }

    /// Leaves in `after` the set with threads in another order and data under other names, in no order.
    pub fn rename_in(&mut self, set: &Set, order: &[u8], by: Option<&Numbered<'_>>, after: &mut Set) {
        // Where it matters who calls, threads are not sorted.
        debug_assert!(!self.reference.by_thread || order.is_sorted());
        let open = self.open(set, order);
        for before in &set.configurations {
            let mut statuses = Statuses::NONE;
            for thread in open.each() {
                statuses = self.share.set(statuses, thread.new.into(), self.status_of(before, thread, by));
            }
            let spec = match by {
                Some(by) => self.reference.rename_state(before.spec, by),
                None => before.spec,
            };
            after.configurations.push(Configuration { spec, statuses });
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
    fn status_of(
        &mut self,
        before: &Configuration,
        thread: &OpenThread,
        by: Option<&Numbered<'_>>,
    ) -> Status {
        let status = self.share.get(before.statuses, thread.old.into());
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
