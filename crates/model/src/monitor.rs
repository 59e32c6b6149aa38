//! The monitor: which configurations explain the history so far; sets of them are numbered, and each event is
//! worked out once a set.
//!
//! A configuration is a state of the specification and, for each open operation, whether it took effect and
//! with which result. Effects are lazy: at a return, the returning operation takes effect if it has not yet,
//! after any sequence of other open operations.
//!
//! # Several workers
//!
//! Each worker has a monitor of its own. All share the sets that were `known` when they set out, which nobody
//! changes meanwhile, and the specification; what a worker finds besides is `new` and its own. When all are
//! back, [`Monitor::gather`] gives the new sets their numbers in the order in which a single worker would
//! have met them: by the number of the state that was looked at, and within it by the order of events. So
//! numbers do not depend on who found what.

mod events;
mod set;
mod settle;
mod tables;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use linpoint_lang::program::{OpId, Word};

use crate::data::{Classes, Nibbles};
use crate::reference::{CallId, Numbered, Reference, ResultId};

use events::Work;
use set::{Configuration, Set, Share};
use tables::Tables;

/// A set of configurations, by number.
pub(crate) type MonitorId = u32;

/// What may happen to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    /// A thread calls.
    Call(u8, CallId),
    /// A thread returns.
    Return(u8, ResultId),
    /// The operation takes effect here; with this result, if one is claimed.
    Point(u8, Option<ResultId>),
    /// The operation may have looked here.
    Query(u8),
    /// Threads change places.
    Permute(Places),
}

/// A thread as events name it. Points may be claimed of threads that there are not.
#[inline]
pub(crate) fn who(thread: usize) -> u8 {
    u8::try_from(thread).unwrap_or(u8::MAX)
}

impl Event {
    /// A number for each.
    #[inline]
    fn key(self) -> u64 {
        let of = |kind: u64, thread: u8, id: u32| kind << 60 | u64::from(thread) << 32 | u64::from(id);
        match self {
            Event::Call(thread, call) => of(0, thread, call),
            Event::Return(thread, result) => of(1, thread, result),
            Event::Point(thread, Some(result)) => of(2, thread, result),
            Event::Point(thread, None) => of(3, thread, 0),
            Event::Query(thread) => of(4, thread, 0),
            Event::Permute(places) => 5 << 60 | places.0,
        }
    }
}

/// Threads in an order: which thread comes to each place, four bits a place, the first lowest. There are
/// fewer than sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Places(u64);

impl Places {
    #[inline]
    pub fn of(threads: impl DoubleEndedIterator<Item = usize>) -> Places {
        Places(threads.rev().fold(0, |key, thread| key << 4 | thread as u64))
    }

    /// One thread a place.
    fn threads(self) -> [u8; 16] {
        std::array::from_fn(|place| (self.0 >> (4 * place) & 15) as u8)
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
    scratch: Scratch,
}

/// What is used again and again.
#[derive(Default)]
struct Scratch {
    set: Set,
    met: Vec<Configuration>,
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
            scratch: Scratch::default(),
        };
        monitor.number(&Set::initial(threads));
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

    /// The values of data in an event of an operation: fifteen at each.
    pub fn values_in(&self, event: Event, op: OpId) -> Nibbles {
        let (mut reference, mut values) = (self.reference(), 0);
        let mut see = |value: i64| {
            if (1..16).contains(&value) {
                values |= 15 << (4 * value);
            }
        };
        match event {
            Event::Call(_, call) => reference.data_of_call(call, &mut |_, value| see(value)),
            Event::Return(_, result) | Event::Point(_, Some(result)) => {
                let values = reference.shape_of_result(op, result).values.iter();
                values.for_each(|(_, value)| see(i64::from(*value)));
            }
            Event::Point(_, None) | Event::Query(_) | Event::Permute(_) => {}
        }
        Nibbles(values)
    }

    /// An event of an operation with other values.
    pub fn renamed(&self, event: Event, op: OpId, names: Nibbles) -> Event {
        let map = names.all();
        let (by, mut reference) = (Numbered::new(&map), self.reference());
        match event {
            Event::Call(thread, call) => Event::Call(thread, reference.rename_call(call, &by)),
            Event::Return(thread, result) => Event::Return(thread, reference.rename_result(op, result, &by)),
            Event::Point(thread, Some(result)) => {
                Event::Point(thread, Some(reference.rename_result(op, result, &by)))
            }
            event => event,
        }
    }

    /// About how much memory it takes; what several share is counted by one.
    pub fn memory(&self) -> usize {
        let shared = if self.leads { self.known.memory() + self.reference().memory() } else { 0 };
        shared + self.new.memory()
    }

    /// A call is never refused.
    pub fn call(&mut self, at: MonitorId, thread: usize, call: CallId) -> MonitorId {
        self.event(at, Event::Call(who(thread), call)).unwrap_or(at)
    }

    /// Thread `places[i]` becomes thread i.
    pub fn permute(&mut self, at: MonitorId, places: Places) -> MonitorId {
        self.event(at, Event::Permute(places)).unwrap_or(at)
    }

    /// The same, and data is named after the part it plays in the set.
    #[inline]
    pub fn settle(&mut self, at: MonitorId, places: Places) -> Settled {
        let key = (at, places.0);
        if (at as usize) < self.known.len()
            && let Some(found) = self.known.settled(&key)
        {
            return *found;
        }
        match self.new.settled(&key) {
            Some(found) => *found,
            None => self.work_out_settled(key, places),
        }
    }

    /// What an event makes of a set.
    #[inline]
    pub fn event(&mut self, at: MonitorId, event: Event) -> Result<MonitorId, Refused> {
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
        let after = self.with_work(key.0, |work, set, after| {
            match event {
                Event::Call(thread, call) => work.call_in(set, thread.into(), call, after),
                Event::Return(thread, result) => work.return_in(set, thread.into(), result, after)?,
                Event::Point(thread, result) => work.point_in(set, thread.into(), result, after)?,
                Event::Query(thread) => work.query_in(set, thread.into(), after)?,
                Event::Permute(places) => {
                    work.rename_in(set, &places.threads()[..set.calls.threads()], None, after);
                }
            }
            Ok(())
        });
        let found = after.map(|()| self.number_after());
        self.new.remember(key, found);
        found
    }

    #[cold]
    #[inline(never)]
    fn work_out_settled(&mut self, key: (MonitorId, u64), places: Places) -> Settled {
        let order = places.threads();
        let (classes, changed) = self
            .with_work(key.0, |work, set, after| work.settle_in(set, &order[..set.calls.threads()], after));
        let id = if changed { self.number_after() } else { key.0 };
        let found = Settled { id, classes };
        self.new.remember_settled(key, found);
        found
    }

    /// Works with a set, and an empty one to leave what comes of it in.
    fn with_work<T>(
        &mut self,
        id: MonitorId,
        work_with: impl FnOnce(&mut Work<'_, 'p>, &Set, &mut Set) -> T,
    ) -> T {
        let set = match (id as usize).checked_sub(self.known.len()) {
            None => self.known.set(id as usize),
            Some(index) => self.new.set(index),
        };
        let mut reference = self.reference.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = Work {
            reference: &mut reference,
            share: self.share,
            with_points: self.with_points,
            free: &self.free,
            overflowed: false,
            met: std::mem::take(&mut self.scratch.met),
        };
        let after = &mut self.scratch.set;
        after.configurations.clear();
        let found = work_with(&mut work, set, after);
        self.overflowed |= work.overflowed;
        self.scratch.met = work.met;
        found
    }

    /// The number of what work left behind.
    fn number_after(&mut self) -> MonitorId {
        let mut set = std::mem::take(&mut self.scratch.set);
        set.settle();
        let id = self.number(&set);
        self.scratch.set = set;
        id
    }

    /// The number of a set in order that may be new.
    fn number(&mut self, set: &Set) -> MonitorId {
        let hash = set.hash();
        if let Some(place) = self.known.find(set, hash) {
            return place as MonitorId;
        }
        let place = self.new.find(set, hash).unwrap_or_else(|| self.new.add(set, hash));
        (self.known.len() + place) as MonitorId
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
            scratch: Scratch::default(),
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
