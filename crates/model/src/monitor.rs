//! The monitor: which configurations explain the history so far; sets of them are numbered, and each event is worked out once a set.
//!
//! A configuration is a state of the specification and, for each open operation, whether it took effect and with which result. Effects are lazy: at a return,
//! the returning operation takes effect if it has not yet, after any sequence of other open operations.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::reference::{CallId, Reference, ResultId, SpecId};

/// A set of configurations, by number.
pub(crate) type MonitorId = u32;

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
struct Share(u32);

impl Share {
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

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Set {
    calls: Vec<Option<CallId>>,
    configurations: Vec<Configuration>,
}

/// What may happen to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Event {
    Call(usize, CallId),
    Return(usize, ResultId),
    /// The operation takes effect here; with this result, if one is claimed.
    Point(usize, Option<ResultId>),
    /// The operation may have looked here.
    Query(usize),
    /// Threads change places: the one that was at the number given comes to each place.
    Permute(u64),
}

impl Event {
    /// A number for each; threads are fewer than sixteen.
    fn key(self) -> u64 {
        let of = |kind: u64, thread: usize, id: u32| kind << 60 | (thread as u64) << 32 | u64::from(id);
        match self {
            Event::Call(thread, call) => of(0, thread, call),
            Event::Return(thread, result) => of(1, thread, result),
            Event::Point(thread, Some(result)) => of(2, thread, result),
            Event::Point(thread, None) => of(3, thread, 0),
            Event::Query(thread) => of(4, thread, 0),
            Event::Permute(order) => 5 << 60 | order,
        }
    }
}

/// Why a history cannot be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// No configuration allows it.
    Impossible,
    /// A second linearization point, or one of a thread that runs no operation.
    Misplaced,
}

pub(crate) struct Monitor<'p> {
    pub reference: Reference<'p>,
    sets: Vec<Rc<Set>>,
    ids: FxHashMap<Rc<Set>, MonitorId>,
    table: FxHashMap<(MonitorId, u64), Result<MonitorId, Refused>>,
    share: Share,
    /// There are more results than a status can tell apart: nothing it says from here on is to be trusted.
    pub overflowed: bool,
    /// Do operations take effect only at points?
    pub with_points: bool,
    /// About how many bytes the sets take.
    held: usize,
    /// Operations that have no points: they may take effect anywhere all the same.
    free: Vec<bool>,
}

impl Refused {
    fn err<T>(self) -> Result<T, Refused> {
        Err(self)
    }
}

impl<'p> Monitor<'p> {
    pub fn new(reference: Reference<'p>, threads: usize, with_points: bool, free: Vec<bool>) -> Monitor<'p> {
        let configurations = vec![Configuration { spec: 0, statuses: Statuses(0) }];
        let mut monitor = Monitor {
            reference,
            sets: Vec::new(),
            ids: FxHashMap::default(),
            table: FxHashMap::default(),
            share: Share((128 / threads.max(1) as u32).min(32)),
            overflowed: false,
            with_points,
            held: 0,
            free,
        };
        monitor.number(Set { calls: vec![None; threads], configurations });
        monitor
    }

    fn number(&mut self, mut set: Set) -> MonitorId {
        set.configurations.sort_unstable();
        set.configurations.dedup();
        if let Some(id) = self.ids.get(&set) {
            return *id;
        }
        let id = self.sets.len() as MonitorId;
        self.held += 150 + set.configurations.capacity() * size_of::<Configuration>() + set.calls.len() * 8;
        let set = Rc::new(set);
        self.sets.push(Rc::clone(&set));
        self.ids.insert(set, id);
        id
    }

    /// About how much memory it takes.
    pub fn memory(&self) -> usize {
        self.held + self.table.capacity() * 40
    }

    pub fn call(&mut self, at: MonitorId, thread: usize, call: CallId) -> MonitorId {
        self.event(at, Event::Call(thread, call)).unwrap_or(at)
    }

    pub fn returns(&mut self, at: MonitorId, thread: usize, result: ResultId) -> Result<MonitorId, Refused> {
        self.event(at, Event::Return(thread, result))
    }

    pub fn point(
        &mut self,
        at: MonitorId,
        thread: usize,
        result: Option<ResultId>,
    ) -> Result<MonitorId, Refused> {
        self.event(at, Event::Point(thread, result))
    }

    pub fn query(&mut self, at: MonitorId, thread: usize) -> Result<MonitorId, Refused> {
        self.event(at, Event::Query(thread))
    }

    /// Thread `order[i]` becomes thread i.
    pub fn permute(&mut self, at: MonitorId, order: &[u8]) -> MonitorId {
        let key = order.iter().fold(0_u64, |key, thread| key << 4 | u64::from(*thread));
        self.event(at, Event::Permute(key)).unwrap_or(at)
    }

    fn event(&mut self, at: MonitorId, event: Event) -> Result<MonitorId, Refused> {
        let key = (at, event.key());
        if let Some(found) = self.table.get(&key) {
            return *found;
        }
        let set = Rc::clone(&self.sets[at as usize]);
        let after = match event {
            Event::Call(thread, call) => Ok(self.call_in(&set, thread, call)),
            Event::Return(thread, result) => self.return_in(&set, thread, result),
            Event::Point(thread, result) => self.point_in(&set, thread, result),
            Event::Query(thread) => self.query_in(&set, thread),
            Event::Permute(key) => Ok(self.permute_in(&set, key)),
        };
        let found = after.map(|set| self.number(set));
        self.table.insert(key, found);
        found
    }

    fn call_in(&self, set: &Set, thread: usize, call: CallId) -> Set {
        let mut calls = set.calls.clone();
        calls[thread] = Some(call);
        let opened = |c: &Configuration| Configuration {
            spec: c.spec,
            statuses: self.share.set(c.statuses, thread, OPEN),
        };
        Set { calls, configurations: set.configurations.iter().map(opened).collect() }
    }

    fn return_in(&mut self, set: &Set, thread: usize, result: ResultId) -> Result<Set, Refused> {
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

    fn point_in(&mut self, set: &Set, thread: usize, result: Option<ResultId>) -> Result<Set, Refused> {
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
    fn query_in(&mut self, set: &Set, thread: usize) -> Result<Set, Refused> {
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

    fn permute_in(&self, set: &Set, key: u64) -> Set {
        let threads = set.calls.len();
        let order: Vec<usize> =
            (0..threads).map(|i| (key >> (4 * (threads - 1 - i)) & 15) as usize).collect();
        // Where it matters who calls, threads are not sorted, and this is never asked.
        debug_assert!(!self.reference.by_thread);
        let permuted = |c: &Configuration| {
            let each = order.iter().enumerate();
            let place = |statuses, (new, old): (usize, &usize)| {
                self.share.set(statuses, new, self.share.get(c.statuses, *old))
            };
            Configuration { spec: c.spec, statuses: each.fold(Statuses(0), place) }
        };
        Set {
            calls: order.iter().map(|old| set.calls[*old]).collect(),
            configurations: set.configurations.iter().map(permuted).collect(),
        }
    }
}
