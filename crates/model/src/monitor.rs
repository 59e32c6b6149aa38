//! The monitor: which configurations explain the history so far; sets of them are numbered, and each event is worked out once a set.
//!
//! A configuration is a state of the specification and, for each open operation, whether it took effect and with which result. Effects are lazy: at a return,
//! the returning operation takes effect if it has not yet, after any sequence of other open operations.
//!
//! # Several workers
//!
//! Each worker has a monitor of its own. All share the sets that were `known` when they set out, which nobody changes meanwhile, and the specification; what a worker finds besides is `new` and
//! its own. When all are back, [`Monitor::gather`] gives the new sets their numbers in the order in which a single worker would have met them: by the number of the state that was looked
//! at, and within it by the order of events. So numbers do not depend on who found what.

mod configurations;
mod tables;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use linpoint_lang::program::{OpId, Word};

use crate::data::Classes;
use crate::reference::{CallId, Reference, ResultId};

use configurations::{Set, Share, Work};
use tables::Tables;

/// A set of configurations, by number.
pub(crate) type MonitorId = u32;

/// What may happen to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Event {
    Call(usize, CallId),
    Return(usize, ResultId),
    /// The operation takes effect here; with this result, if one is claimed.
    Point(usize, Option<ResultId>),
    /// The operation may have looked here.
    Query(usize),
    /// Threads change places: the one with the number given comes to each place, four bits a place, the first lowest.
    Permute(u64),
}

impl Event {
    /// A number for each; threads are fewer than sixteen.
    #[inline]
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

/// A set whose threads are in order and whose data has names, and what is left open about the names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    pub id: MonitorId,
    pub classes: Classes,
}

/// Threads in an order as a number.
#[inline]
fn pack(order: &[u8]) -> u64 {
    order.iter().rev().fold(0, |key, thread| key << 4 | u64::from(*thread))
}

pub(crate) struct Monitor<'p> {
    reference: Arc<Mutex<Reference<'p>>>,
    /// Does it matter who calls?
    pub by_thread: bool,
    known: Arc<Tables>,
    new: Tables,
    share: Share,
    /// There are more results than a status can tell apart: nothing it says from here on is to be trusted.
    pub overflowed: bool,
    /// Do operations take effect only at points?
    pub with_points: bool,
    /// Operations that have no points: they may take effect anywhere all the same.
    free: Arc<[bool]>,
    /// Is it the first of those that share what is known?
    leads: bool,
}

impl<'p> Monitor<'p> {
    pub fn new(reference: Reference<'p>, threads: usize, with_points: bool, free: Vec<bool>) -> Monitor<'p> {
        let mut monitor = Monitor {
            by_thread: reference.by_thread,
            reference: Arc::new(Mutex::new(reference)),
            known: Arc::default(),
            new: Tables::default(),
            share: Share::among(threads),
            overflowed: false,
            with_points,
            free: free.into(),
            leads: true,
        };
        monitor.new.number(Set::initial(threads), 0);
        monitor
    }

    /// The specification.
    pub fn reference(&self) -> MutexGuard<'_, Reference<'p>> {
        self.reference.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a call.
    pub fn call_id(&self, thread: usize, op: OpId, args: &[Word]) -> CallId {
        self.reference().call(if self.by_thread { thread } else { 0 }, op, args)
    }

    /// The number of a result.
    pub fn result_id(&self, op: OpId, words: &[Word]) -> ResultId {
        self.reference().result(op, words)
    }

    /// About how much memory it takes; what several share is counted by one.
    pub fn memory(&self) -> usize {
        let shared = if self.leads { self.known.memory() + self.reference().memory() } else { 0 };
        shared + self.new.memory()
    }

    #[inline]
    pub fn call(&mut self, at: MonitorId, thread: usize, call: CallId) -> MonitorId {
        self.event(at, Event::Call(thread, call)).unwrap_or(at)
    }

    #[inline]
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
    #[inline]
    pub fn permute(&mut self, at: MonitorId, order: &[u8]) -> MonitorId {
        self.event(at, Event::Permute(pack(order))).unwrap_or(at)
    }

    /// The same, and data is named after the part it plays in the set.
    #[inline]
    pub fn settle(&mut self, at: MonitorId, order: &[u8]) -> Settled {
        let key = (at, pack(order));
        if (at as usize) < self.known.len()
            && let Some(found) = self.known.settled(&key)
        {
            return *found;
        }
        match self.new.settled(&key) {
            Some(found) => *found,
            None => self.work_out_settled(key, order),
        }
    }

    #[inline]
    fn event(&mut self, at: MonitorId, event: Event) -> Result<MonitorId, Refused> {
        let key = (at, event.key());
        if (at as usize) < self.known.len()
            && let Some(found) = self.known.after(&key)
        {
            return found;
        }
        match self.new.after(&key) {
            Some(found) => found,
            None => self.work_out(key, event),
        }
    }

    #[cold]
    #[inline(never)]
    fn work_out(&mut self, key: (MonitorId, u64), event: Event) -> Result<MonitorId, Refused> {
        let set = self.set(key.0);
        let mut reference = self.reference.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = Work {
            reference: &mut reference,
            share: self.share,
            with_points: self.with_points,
            free: &self.free,
            overflowed: false,
        };
        let after = match event {
            Event::Call(thread, call) => Ok(work.call_in(&set, thread, call)),
            Event::Return(thread, result) => work.return_in(&set, thread, result),
            Event::Point(thread, result) => work.point_in(&set, thread, result),
            Event::Query(thread) => work.query_in(&set, thread),
            Event::Permute(key) => {
                let order: Vec<usize> =
                    (0..set.calls.len()).map(|i| (key >> (4 * i) & 15) as usize).collect();
                Ok(work.rename_in(&set, &order, None))
            }
        };
        self.overflowed |= work.overflowed;
        drop(reference);
        let found = after.map(|mut set| {
            set.settle();
            self.number(set)
        });
        self.new.remember(key, found);
        found
    }

    #[cold]
    #[inline(never)]
    fn work_out_settled(&mut self, key: (MonitorId, u64), order: &[u8]) -> Settled {
        let set = self.set(key.0);
        let mut reference = self.reference.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = Work {
            reference: &mut reference,
            share: self.share,
            with_points: self.with_points,
            free: &self.free,
            overflowed: false,
        };
        let order: Vec<usize> = order.iter().map(|thread| usize::from(*thread)).collect();
        let (set, classes) = work.settle_in(&set, &order);
        self.overflowed |= work.overflowed;
        drop(reference);
        let found = Settled { id: self.number(set), classes };
        self.new.remember_settled(key, found);
        found
    }

    fn set(&self, id: MonitorId) -> Arc<Set> {
        match (id as usize).checked_sub(self.known.len()) {
            None => self.known.set(id as usize),
            Some(index) => self.new.set(index),
        }
    }

    /// The number of a set in order that may be new.
    fn number(&mut self, set: Set) -> MonitorId {
        match self.known.id(&set) {
            Some(id) => id,
            None => self.new.number(set, self.known.len()),
        }
    }
}

/// Several workers.
impl<'p> Monitor<'p> {
    /// A monitor for one more worker: it knows what is known, and nothing else.
    pub fn another(&self) -> Monitor<'p> {
        Monitor {
            reference: Arc::clone(&self.reference),
            known: Arc::clone(&self.known),
            new: Tables::default(),
            free: Arc::clone(&self.free),
            leads: false,
            ..*self
        }
    }

    /// How many sets all know.
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// The number of the state that is looked at: sets that are new are found there.
    pub fn look_at(&mut self, state: u32) {
        self.new.looking_at = state;
    }

    /// Makes known to all what each found; for each and each of its new sets, the number that all know it by.
    pub fn gather(monitors: &mut [&mut Monitor<'p>]) -> Vec<Vec<MonitorId>> {
        let overflowed = monitors.iter().any(|monitor| monitor.overflowed);
        let found = monitors.iter_mut().map(|monitor| std::mem::take(&mut monitor.new)).collect();
        let [first, others @ ..] = monitors else { return Vec::new() };
        // Nobody else holds on to what is known, so that it is changed without a copy.
        others.iter_mut().for_each(|other| other.known = Arc::default());
        let numbers = Arc::make_mut(&mut first.known).merge(found);
        first.overflowed = overflowed;
        for other in others {
            (other.known, other.overflowed) = (Arc::clone(&first.known), overflowed);
        }
        numbers
    }
}
