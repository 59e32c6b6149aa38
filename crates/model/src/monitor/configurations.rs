//! What calls, returns and linearization points do to a set of configurations.

use linpoint_lang::program::OpId;
use rustc_hash::FxHashSet;

use super::Refused;
use crate::data::Classes;
use crate::reference::{CallId, Numbered, Reference, ResultId, SpecId, mix};

/// No operation, an open one, or one that took effect with the result that is this number less two.
type Status = u32;
const IDLE: Status = 0;
const OPEN: Status = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Configuration {
    spec: SpecId,
    statuses: Statuses,
}

/// A status for each thread, in equal shares of the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Statuses(u128);

/// How many bits a status has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share(u32);

impl Share {
    pub fn among(threads: usize) -> Share {
        Share((128 / threads.max(1) as u32).min(32))
    }

    fn get(self, statuses: Statuses, thread: usize) -> Status {
        (statuses.0 >> (thread as u32 * self.0)) as Status & ((1_u64 << self.0) - 1) as Status
    }

    fn set(self, statuses: Statuses, thread: usize, status: Status) -> Statuses {
        let (shift, mask) = (thread as u32 * self.0, (1_u128 << self.0) - 1);
        Statuses(statuses.0 & !(mask << shift) | u128::from(status) << shift)
    }

    /// Can a status not say that this was the result?
    fn is_too_small(self, result: ResultId) -> bool {
        u64::from(result) + 2 >= 1 << self.0
    }
}

/// Configurations, and which operation each thread has open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Set {
    pub calls: Vec<Option<CallId>>,
    configurations: Vec<Configuration>,
}

impl Set {
    /// Nothing has happened.
    pub fn initial(threads: usize) -> Set {
        let configurations = vec![Configuration { spec: 0, statuses: Statuses(0) }];
        Set { calls: vec![None; threads], configurations }
    }

    /// Puts the configurations in one order.
    pub fn settle(&mut self) {
        self.configurations.sort_unstable();
        self.configurations.dedup();
        if self.configurations.capacity() > 2 * self.configurations.len() {
            self.configurations.shrink_to_fit();
        }
    }

    pub fn memory(&self) -> usize {
        150 + self.configurations.capacity() * size_of::<Configuration>() + self.calls.len() * 8
    }
}

/// Of a value that does not occur.
const NO_PART: (u64, u64) = (u64::MAX, 0);

/// What is needed to work out an event.
pub(super) struct Work<'w, 'p> {
    pub reference: &'w mut Reference<'p>,
    pub share: Share,
    pub with_points: bool,
    pub free: &'w [bool],
    pub overflowed: bool,
}

impl Refused {
    fn err<T>(self) -> Result<T, Refused> {
        Err(self)
    }
}

impl Work<'_, '_> {
    pub fn call_in(&self, set: &Set, thread: usize, call: CallId) -> Set {
        let mut calls = set.calls.clone();
        calls[thread] = Some(call);
        let opened = |c: &Configuration| Configuration {
            spec: c.spec,
            statuses: self.share.set(c.statuses, thread, OPEN),
        };
        Set { calls, configurations: set.configurations.iter().map(opened).collect() }
    }

    pub fn return_in(&mut self, set: &Set, thread: usize, result: ResultId) -> Result<Set, Refused> {
        let mut after = Vec::with_capacity(set.configurations.len() * 2);
        for configuration in &set.configurations {
            match self.share.get(configuration.statuses, thread) {
                OPEN if !self.is_free(set.calls[thread]) => {}
                OPEN => self.effects(&set.calls, *configuration, thread, result, &mut after),
                status if status == result + 2 => after.push(*configuration),
                _ => {}
            }
        }
        if after.is_empty() {
            return Refused::Impossible.err();
        }
        for configuration in &mut after {
            configuration.statuses = self.share.set(configuration.statuses, thread, IDLE);
        }
        let mut calls = set.calls.clone();
        calls[thread] = None;
        Ok(Set { calls, configurations: after })
    }

    /// The configuration after an operation took effect.
    fn took(
        &mut self,
        before: Configuration,
        thread: usize,
        (result, spec): (ResultId, SpecId),
    ) -> Configuration {
        self.overflowed |= self.share.is_too_small(result);
        Configuration { spec, statuses: self.share.set(before.statuses, thread, result + 2) }
    }

    /// Every sequence of open operations that ends with this thread's taking effect with this result.
    fn effects(
        &mut self,
        calls: &[Option<CallId>],
        start: Configuration,
        thread: usize,
        result: ResultId,
        after: &mut Vec<Configuration>,
    ) {
        // Few operations are open at once, so few configurations are met: a look at each is soon done.
        let mut met = Vec::with_capacity(8);
        met.push(start);
        let mut next = 0;
        while let Some(&configuration) = met.get(next) {
            next += 1;
            for (other, call) in calls.iter().enumerate() {
                let Some(call) = call else { continue };
                if self.share.get(configuration.statuses, other) != OPEN || !self.is_free(Some(*call)) {
                    continue;
                }
                for index in self.reference.outcome_range(configuration.spec, *call) {
                    let outcome = self.reference.outcome(index);
                    if other == thread && outcome.0 != result {
                        continue;
                    }
                    let next = self.took(configuration, other, outcome);
                    if other == thread {
                        after.push(next);
                    } else if !met.contains(&next) {
                        met.push(next);
                    }
                }
            }
        }
    }

    /// May the operation take effect anywhere?
    fn is_free(&self, call: Option<CallId>) -> bool {
        let op = call.map(|call| self.reference.calls[call as usize].op.index());
        !self.with_points || op.is_some_and(|op| self.free[op])
    }

    /// Also what is possible if operations without points took effect before now. Points take effect at once, so these must not wait.
    fn closed(&mut self, set: &Set) -> Vec<Configuration> {
        let mut all = set.configurations.clone();
        let mut seen: FxHashSet<Configuration> = all.iter().copied().collect();
        let mut next = 0;
        while next < all.len() {
            let configuration = all[next];
            next += 1;
            for (other, call) in set.calls.iter().enumerate() {
                let Some(call) = call.filter(|call| self.is_free(Some(*call))) else { continue };
                if self.share.get(configuration.statuses, other) != OPEN {
                    continue;
                }
                for index in self.reference.outcome_range(configuration.spec, call) {
                    let outcome = self.reference.outcome(index);
                    let after = self.took(configuration, other, outcome);
                    if seen.insert(after) {
                        all.push(after);
                    }
                }
            }
        }
        all
    }

    pub fn point_in(&mut self, set: &Set, thread: usize, result: Option<ResultId>) -> Result<Set, Refused> {
        let Some(Some(call)) = set.calls.get(thread).copied() else { return Refused::Misplaced.err() };
        let mut after = Vec::new();
        // What a query assumed is dropped: the operation takes effect here.
        for configuration in self.closed(set) {
            if self.share.get(configuration.statuses, thread) != OPEN {
                continue;
            }
            for index in self.reference.outcome_range(configuration.spec, call) {
                let outcome = self.reference.outcome(index);
                if result.is_none_or(|result| result == outcome.0) {
                    after.push(self.took(configuration, thread, outcome));
                }
            }
        }
        if !set.configurations.iter().any(|c| self.share.get(c.statuses, thread) == OPEN) {
            return Refused::Misplaced.err();
        }
        if after.is_empty() {
            return Refused::Impossible.err();
        }
        Ok(Set { calls: set.calls.clone(), configurations: after })
    }

    /// The operation may have taken effect here, if that changes nothing; an earlier look is forgotten.
    pub fn query_in(&mut self, set: &Set, thread: usize) -> Result<Set, Refused> {
        let Some(Some(call)) = set.calls.get(thread).copied() else { return Refused::Misplaced.err() };
        let mut after = Vec::new();
        for &configuration in &set.configurations {
            if self.share.get(configuration.statuses, thread) != OPEN {
                continue;
            }
            after.push(configuration);
            for index in self.reference.outcome_range(configuration.spec, call) {
                let outcome = self.reference.outcome(index);
                if outcome.1 == configuration.spec {
                    after.push(self.took(configuration, thread, outcome));
                }
            }
        }
        if after.is_empty() {
            return Refused::Misplaced.err();
        }
        Ok(Set { calls: set.calls.clone(), configurations: after })
    }

    /// The set with threads in another order, and data named after the part it plays in the set; with what is left open about the names.
    pub fn settle_in(&mut self, set: &Set, order: &[usize]) -> (Set, Classes) {
        let parts = self.parts_played(set, order);
        let mut members: Vec<u8> = (1..16).filter(|value| parts[usize::from(*value)] != NO_PART).collect();
        members.sort_unstable_by_key(|value| (parts[usize::from(*value)], *value));
        // Values that can change places without changing the set: each class by its first member.
        let mut class = [0; 16];
        for (index, &value) in members.iter().enumerate() {
            let same = |&other: &u8| {
                let leads = class[usize::from(other)] == other;
                leads && parts[usize::from(other)] == parts[usize::from(value)]
            };
            let leaders: Vec<u8> = members[..index].iter().copied().filter(same).collect();
            let found = leaders.into_iter().find(|other| self.may_swap(set, *other, value));
            class[usize::from(value)] = found.unwrap_or(value);
        }
        // Members of a class get names in a row.
        let (mut map, mut classes) = ([0; 16], Classes::default());
        for &leader in members.iter().filter(|value| class[usize::from(**value)] == **value) {
            let first = classes.count + 1;
            for &value in members.iter().filter(|value| class[usize::from(**value)] == leader) {
                classes.count += 1;
                map[usize::from(value)] = classes.count;
                classes.first[usize::from(value)] = first;
            }
        }
        let same_names = members.iter().all(|value| map[usize::from(*value)] == *value);
        if same_names && order.is_sorted() {
            return (set.clone(), classes);
        }
        let by = Numbered::new(&map);
        let mut named = self.rename_in(set, order, (!same_names).then_some(&by));
        named.settle();
        (named, classes)
    }

    /// The operation that each thread has open.
    fn ops(&self, set: &Set) -> Vec<Option<OpId>> {
        set.calls.iter().map(|call| call.map(|call| self.reference.calls[call as usize].op)).collect()
    }

    /// Is the set the same with two values swapped?
    fn may_swap(&mut self, set: &Set, a: u8, b: u8) -> bool {
        let mut map = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        map.swap(a.into(), b.into());
        let places: Vec<usize> = (0..set.calls.len()).collect();
        let mut swapped = self.rename_in(set, &places, Some(&Numbered::new(&map)));
        swapped.settle();
        swapped == *set
    }

    /// What each value is in a set, said without names: the first place where it is, so that few names change from step to step, and a number that differs for values that play different
    /// parts.
    fn parts_played(&mut self, set: &Set, order: &[usize]) -> [(u64, u64); 16] {
        let mut parts = [NO_PART; 16];
        let mut play = |value: i64, first: u64, part: u64| {
            if let Some(value) = usize::try_from(value).ok().filter(|value| (1..16).contains(value)) {
                let (place, sum) = &mut parts[value];
                *place = first.min(*place);
                *sum = sum.wrapping_add(part);
            }
        };
        const RESULTS: u64 = 1 << 20;
        const CALLS: u64 = 1 << 21;
        let ops = self.ops(set);
        for (thread, old) in order.iter().enumerate() {
            let Some(call) = &set.calls[*old] else { continue };
            self.reference.data_of_call(*call, &mut |place, value| {
                play(value, CALLS + thread as u64, mix(mix(1, thread as u64), place));
            });
        }
        for configuration in &set.configurations {
            let mut hash = self.reference.shape_of_state(configuration.spec).0;
            let mut took = [None; 16];
            for (thread, old) in order.iter().enumerate() {
                let status = self.share.get(configuration.statuses, *old);
                hash = match &ops[*old] {
                    Some(op) if status > OPEN => {
                        took[thread & 15] = Some((*op, status - 2));
                        mix(hash, self.reference.shape_of_result(*op, status - 2).0)
                    }
                    _ => mix(hash, u64::from(status)),
                };
            }
            for (place, value) in &self.reference.shape_of_state(configuration.spec).1 {
                play(i64::from(*value), (*place).min(RESULTS - 1), mix(hash, *place));
            }
            for (thread, (op, result)) in took.iter().enumerate().filter_map(|(i, took)| Some((i, (*took)?)))
            {
                let place = mix(3, thread as u64);
                for (index, value) in self.reference.shape_of_result(op, result).1.iter().enumerate() {
                    play(i64::from(*value), RESULTS, mix(hash, mix(place, index as u64)));
                }
            }
        }
        parts
    }

    /// The set with threads in another order and data under other names.
    pub fn rename_in(&mut self, set: &Set, order: &[usize], by: Option<&Numbered<'_>>) -> Set {
        // Where it matters who calls, threads are not sorted.
        debug_assert!(!self.reference.by_thread || order.is_sorted());
        let ops = self.ops(set);
        let mut configurations = Vec::with_capacity(set.configurations.len());
        for before in &set.configurations {
            let mut statuses = Statuses(0);
            for (new, old) in order.iter().enumerate() {
                let mut status = self.share.get(before.statuses, *old);
                if let (Some(by), Some(op), true) = (by, ops[*old], status > OPEN) {
                    let result = self.reference.rename_result(op, status - 2, by);
                    self.overflowed |= self.share.is_too_small(result);
                    status = result + 2;
                }
                statuses = self.share.set(statuses, new, status);
            }
            let spec = match by {
                Some(by) => self.reference.rename_state(before.spec, by),
                None => before.spec,
            };
            configurations.push(Configuration { spec, statuses });
        }
        let renamed = |old: &usize| match (set.calls[*old], by) {
            (Some(call), Some(by)) => Some(self.reference.rename_call(call, by)),
            (call, _) => call,
        };
        Set { calls: order.iter().map(renamed).collect(), configurations }
    }
}
