//! The monitor: which configurations explain the history so far; sets of them are numbered, and each event is worked out once a set.
//!
//! A configuration is a state of the specification and, for each open operation, whether it took effect and with which result. Effects are lazy: at a return,
//! the returning operation takes effect if it has not yet, after any sequence of other open operations.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::reference::{CallId, Reference, ResultId, SpecId};

/// A set of configurations, by number.
pub(crate) type MonitorId = u32;

/// No operation, an open one, or one that took effect with the result that is this number less two.
type Status = u32;
const IDLE: Status = 0;
const OPEN: Status = 1;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Configuration {
    spec: SpecId,
    statuses: Vec<Status>,
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
    sets: Vec<Set>,
    ids: FxHashMap<Set, MonitorId>,
    table: FxHashMap<(MonitorId, Event), Result<MonitorId, Refused>>,
    /// Do operations take effect only at points?
    pub with_points: bool,
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
        let configurations = vec![Configuration { spec: 0, statuses: vec![IDLE; threads] }];
        let mut monitor = Monitor {
            reference,
            sets: Vec::new(),
            ids: FxHashMap::default(),
            table: FxHashMap::default(),
            with_points,
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
        self.sets.push(set.clone());
        self.ids.insert(set, id);
        id
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
    pub fn permute(&mut self, at: MonitorId, order: &[usize]) -> MonitorId {
        let key = order.iter().fold(0_u64, |key, thread| key << 4 | *thread as u64);
        self.event(at, Event::Permute(key)).unwrap_or(at)
    }

    fn event(&mut self, at: MonitorId, event: Event) -> Result<MonitorId, Refused> {
        if let Some(found) = self.table.get(&(at, event)) {
            return *found;
        }
        let set = self.sets[at as usize].clone();
        let after = match event {
            Event::Call(thread, call) => Ok(call_in(set, thread, call)),
            Event::Return(thread, result) => self.return_in(set, thread, result),
            Event::Point(thread, result) => self.point_in(set, thread, result),
            Event::Query(thread) => self.query_in(set, thread),
            Event::Permute(key) => Ok(self.permute_in(set, key)),
        };
        let found = after.map(|set| self.number(set));
        self.table.insert((at, event), found);
        found
    }

    fn return_in(&mut self, set: Set, thread: usize, result: ResultId) -> Result<Set, Refused> {
        let mut after = Vec::new();
        for configuration in set.configurations {
            match configuration.statuses[thread] {
                OPEN if !self.is_free(set.calls[thread]) => {}
                OPEN => self.effects(&set.calls, configuration, thread, result, &mut after),
                status if status == result + 2 => after.push(configuration),
                _ => {}
            }
        }
        if after.is_empty() {
            return Refused::Impossible.err();
        }
        for configuration in &mut after {
            configuration.statuses[thread] = IDLE;
        }
        let mut calls = set.calls;
        calls[thread] = None;
        Ok(Set { calls, configurations: after })
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
        let mut seen = FxHashSet::default();
        let mut open = vec![start];
        while let Some(configuration) = open.pop() {
            for (other, call) in calls.iter().enumerate() {
                let Some(call) = call else { continue };
                if configuration.statuses[other] != OPEN || !self.is_free(Some(*call)) {
                    continue;
                }
                for &(answer, spec) in self.reference.outcomes(configuration.spec, *call) {
                    if other == thread && answer != result {
                        continue;
                    }
                    let mut next = Configuration { spec, statuses: configuration.statuses.clone() };
                    next.statuses[other] = answer + 2;
                    if other == thread {
                        after.push(next);
                    } else if seen.insert(next.clone()) {
                        open.push(next);
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
        let mut seen: FxHashSet<Configuration> = all.iter().cloned().collect();
        let mut next = 0;
        while next < all.len() {
            let configuration = all[next].clone();
            next += 1;
            for (other, call) in set.calls.iter().enumerate() {
                let Some(call) = call.filter(|call| self.is_free(Some(*call))) else { continue };
                if configuration.statuses[other] != OPEN {
                    continue;
                }
                for &(answer, spec) in self.reference.outcomes(configuration.spec, call) {
                    let mut after = Configuration { spec, statuses: configuration.statuses.clone() };
                    after.statuses[other] = answer + 2;
                    if seen.insert(after.clone()) {
                        all.push(after);
                    }
                }
            }
        }
        all
    }

    fn point_in(&mut self, set: Set, thread: usize, result: Option<ResultId>) -> Result<Set, Refused> {
        let Some(Some(call)) = set.calls.get(thread).copied() else { return Refused::Misplaced.err() };
        let mut after = Vec::new();
        // What a query assumed is dropped: the operation takes effect here.
        for configuration in self.closed(&set).iter().filter(|c| c.statuses[thread] == OPEN) {
            for &(answer, spec) in self.reference.outcomes(configuration.spec, call) {
                if result.is_none_or(|result| result == answer) {
                    let mut next = Configuration { spec, statuses: configuration.statuses.clone() };
                    next.statuses[thread] = answer + 2;
                    after.push(next);
                }
            }
        }
        if !set.configurations.iter().any(|c| c.statuses[thread] == OPEN) {
            return Refused::Misplaced.err();
        }
        if after.is_empty() {
            return Refused::Impossible.err();
        }
        Ok(Set { calls: set.calls, configurations: after })
    }

    /// The operation may have taken effect here, if that changes nothing; an earlier look is forgotten.
    fn query_in(&mut self, set: Set, thread: usize) -> Result<Set, Refused> {
        let Some(Some(call)) = set.calls.get(thread).copied() else { return Refused::Misplaced.err() };
        let mut after = Vec::new();
        for configuration in set.configurations.iter().filter(|c| c.statuses[thread] == OPEN) {
            after.push(configuration.clone());
            for &(answer, spec) in self.reference.outcomes(configuration.spec, call) {
                if spec == configuration.spec {
                    let mut next = configuration.clone();
                    next.statuses[thread] = answer + 2;
                    after.push(next);
                }
            }
        }
        if after.is_empty() {
            return Refused::Misplaced.err();
        }
        Ok(Set { calls: set.calls, configurations: after })
    }

    fn permute_in(&mut self, set: Set, key: u64) -> Set {
        let threads = set.calls.len();
        let order: Vec<usize> =
            (0..threads).map(|i| (key >> (4 * (threads - 1 - i)) & 15) as usize).collect();
        let by_thread = self.reference.by_thread;
        let mut calls = Vec::with_capacity(threads);
        for (new, old) in order.iter().enumerate() {
            // Where it matters who calls, threads are not sorted, and this is never asked.
            debug_assert!(!by_thread || new == *old);
            calls.push(set.calls[*old]);
        }
        let permuted = |c: &Configuration| Configuration {
            spec: c.spec,
            statuses: order.iter().map(|old| c.statuses[*old]).collect(),
        };
        Set { calls, configurations: set.configurations.iter().map(permuted).collect() }
    }
}

fn call_in(mut set: Set, thread: usize, call: CallId) -> Set {
    set.calls[thread] = Some(call);
    for configuration in &mut set.configurations {
        configuration.statuses[thread] = OPEN;
    }
    set
}
