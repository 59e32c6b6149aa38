//! Ticks made into numbers: the low-perturbation mode's way back to [`crate::event`].
//!
//! A call at tick t is taken to have happened at t − ε, everything else at t + ε, where ε bounds how wrong
//! ticks can be: every interval is widened, so an order that remains is real. Sorted by these times, events
//! get the numbers that the counter would have given them, and go on as if it had.
//!
//! An event is placed once no earlier one can come. Each thread says, before it reads the clock for a call,
//! that nothing older than its last stamp will come ([`crate::local`]); a thread in no operation will stamp
//! later than now. The word of a thread may wait in its store buffer, but not for as long as
//! [`SLACK`]: an interrupt empties it.
//!
//! Widened operations of one thread may overlap one another. They are given to the checkers as of several
//! threads, *lanes*: that forgets their order, which is sound, and is why objects that care who calls cannot
//! be checked this way.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use crate::drain::Sink;
use crate::event::{Event, ObjectId, ThreadId, What};

/// Ticks that we stay behind now: far more than a store waits in its buffer, about a millisecond.
pub(crate) const SLACK: u64 = 4_000_000;

/// Events that wait for their place.
#[derive(Debug, Default)]
pub(crate) struct Widen {
    error: u64,
    /// What is to be placed, by widened time.
    order: BinaryHeap<Reverse<Mark>>,
    threads: FxHashMap<ThreadId, Waiting>,
    objects: FxHashMap<ObjectId, Placed>,
    /// Events that went on, all in all.
    gone: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    time: u64,
    /// Looks come before numbers of the same time: equal is concurrent.
    numbered: bool,
    thread: ThreadId,
    at: u64,
}

#[derive(Debug, Default)]
struct Waiting {
    /// How many events of this thread went on.
    gone: u64,
    /// The rest, each with how many of its stamps are still missing.
    events: VecDeque<(Event, u32)>,
    /// For each lane, one more than its last number.
    lanes: Vec<u64>,
    /// The lane of the open operation.
    lane: usize,
}

impl Waiting {
    /// Puts an event on its lane. A call goes to the first lane whose operations have all returned before it
    /// looked.
    fn put(&mut self, event: &mut Event) {
        if event.what.takes_number() {
            // A log may begin in the middle.
            if self.lanes.is_empty() {
                self.lanes.push(0);
            }
            self.lanes[self.lane] = event.stamp.saturating_add(1);
        } else {
            let free = self.lanes.iter().position(|next| *next <= event.stamp);
            self.lane = free.unwrap_or(self.lanes.len());
            if free.is_none() {
                self.lanes.push(0);
            }
        }
        event.thread.0 = event.thread.0.wrapping_add(LANE.wrapping_mul(self.lane as u32));
    }
}

/// Lane l of thread t is thread t + l · [`LANE`] from here on.
const LANE: u32 = 100_000;

#[derive(Debug)]
struct Placed {
    numbers: u64,
    sealed: u64,
    /// Nothing later can be judged.
    lost_after: u64,
}

impl Default for Placed {
    fn default() -> Placed {
        Placed { numbers: 0, sealed: 0, lost_after: u64::MAX }
    }
}

impl Widen {
    pub(crate) fn new(error: u64) -> Widen {
        Widen { error, ..Widen::default() }
    }

    /// An event with ticks for stamps.
    pub(crate) fn push(&mut self, mut event: Event) {
        let (thread, tick) = (event.thread, event.stamp);
        match event.what {
            // A commit without a number lies somewhere around its tick.
            What::Commit | What::CommitBlock(_) => event.what = What::Window { from: tick },
            // Views are not compared: a state is of one moment, and there is none.
            What::Block(_) | What::Write(_) | What::Acquire(_) | What::Release(_) | What::Internal => return,
            _ => {}
        }
        let waiting = self.threads.entry(thread).or_default();
        let at = waiting.gone + waiting.events.len() as u64;
        let mut missing = 1;
        let (early, late) = (tick.saturating_sub(self.error), tick.saturating_add(self.error));
        let numbered = event.what.takes_number();
        self.order.push(Reverse(Mark { time: if numbered { late } else { early }, numbered, thread, at }));
        if let What::Window { from } = event.what {
            let time = from.saturating_sub(self.error);
            self.order.push(Reverse(Mark { time, numbered: false, thread, at }));
            missing = 2;
        }
        waiting.events.push_back((event, missing));
    }

    /// Events that wait for their place.
    pub(crate) fn waiting(&self) -> usize {
        self.threads.values().map(|waiting| waiting.events.len()).sum()
    }

    /// Events that had their place, all in all.
    pub(crate) fn placed(&self) -> u64 {
        self.gone
    }

    /// A record of `object` was lost after tick `after`.
    pub(crate) fn lost(&mut self, object: ObjectId, after: u64) {
        let placed = self.objects.entry(object).or_default();
        placed.lost_after = placed.lost_after.min(after.saturating_sub(self.error));
    }

    /// No event with a smaller tick than `until` will come: tells `sink` of what can be placed now.
    pub(crate) fn advance(&mut self, until: u64, sink: &mut impl Sink) {
        let until = until.saturating_sub(self.error);
        while let Some(Reverse(mark)) = self.order.peek().copied()
            && mark.time < until
        {
            self.order.pop();
            self.place(mark);
        }
        for waiting in self.threads.values_mut() {
            while let Some((_, 0)) = waiting.events.front() {
                if let Some((mut event, _)) = waiting.events.pop_front() {
                    waiting.gone += 1;
                    self.gone += 1;
                    if event.stamp != LOST {
                        waiting.put(&mut event);
                        sink.event(event);
                    }
                }
            }
        }
        self.seal(sink);
    }

    fn place(&mut self, mark: Mark) {
        let Some(waiting) = self.threads.get_mut(&mark.thread) else { return };
        let at = (mark.at - waiting.gone) as usize;
        let Some((event, missing)) = waiting.events.get_mut(at) else { return };
        *missing -= 1;
        let placed = self.objects.entry(event.object).or_default();
        if mark.time > placed.lost_after {
            event.stamp = LOST;
            return;
        }
        match &mut event.what {
            What::Window { from } if !mark.numbered => *from = placed.numbers,
            _ => {
                event.stamp = placed.numbers;
                placed.numbers += u64::from(mark.numbered);
            }
        }
    }

    /// Seals up to the first call that waits for its turn.
    fn seal(&mut self, sink: &mut impl Sink) {
        let mut bounds: FxHashMap<ObjectId, u64> = FxHashMap::default();
        for (event, missing) in self.threads.values().flat_map(|waiting| &waiting.events) {
            if *missing == 0 && !event.what.takes_number() {
                let bound = bounds.entry(event.object).or_insert(u64::MAX);
                *bound = event.stamp.min(*bound);
            }
        }
        for (object, placed) in &mut self.objects {
            let bound = bounds.get(object).copied().unwrap_or(u64::MAX).min(placed.numbers);
            if bound > placed.sealed {
                placed.sealed = bound;
                sink.seal(*object, bound);
            }
        }
    }
}

/// The stamp of an event that cannot be judged.
const LOST: u64 = u64::MAX;
