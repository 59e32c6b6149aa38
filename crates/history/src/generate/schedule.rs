//! When processes call, take effect and return.
//!
//! Each process has one next event, so the heap of events is as small as the number of processes. Times are
//! integers of a fine grain; ties go by process number, which keeps the order total and the same everywhere.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Plan;
use crate::rng::Rng;

/// What happens next in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    Call,
    Point,
    Return,
}

/// The mean gap; a grain fine enough for points to be uniform.
const GAP: f64 = 65_536.0;
/// The length of a round of a burst.
const ROUND: u64 = 1 << 20;

pub(super) struct Schedule {
    events: BinaryHeap<Reverse<(u64, usize, Event)>>,
    /// For each process, the time of the return of the operation it is in.
    returns: Vec<u64>,
    mean_duration: f64,
    bursts: bool,
    /// The call just handed out, until the next event is asked for: the process may be retired instead.
    called: Option<(u64, usize)>,
}

impl Schedule {
    pub(super) fn new(plan: &Plan, rng: &mut Rng) -> Schedule {
        let mut schedule = Schedule {
            events: BinaryHeap::with_capacity(plan.processes as usize),
            returns: vec![0; plan.processes as usize],
            mean_duration: GAP * plan.overlap,
            bursts: plan.bursts,
            called: None,
        };
        for lane in 0..plan.processes as usize {
            let first = schedule.next_call(0, rng);
            schedule.events.push(Reverse((first, lane, Event::Call)));
        }
        schedule
    }

    /// The next event, in order of time.
    pub(super) fn next(&mut self, rng: &mut Rng) -> Option<(usize, Event)> {
        if let Some((now, lane)) = self.called.take() {
            let ret = self.next_return(now, rng);
            self.returns[lane] = ret;
            let point = now + rng.below(ret - now + 1);
            self.events.push(Reverse((point, lane, Event::Point)));
        }
        let Reverse((now, lane, event)) = self.events.pop()?;
        match event {
            Event::Call => self.called = Some((now, lane)),
            Event::Point => self.events.push(Reverse((self.returns[lane], lane, Event::Return))),
            Event::Return => {
                let call = self.next_call(now, rng);
                self.events.push(Reverse((call, lane, Event::Call)));
            }
        }
        Some((lane, event))
    }

    /// The process that was just to call does not, and never will again.
    pub(super) fn retire(&mut self) {
        self.called = None;
    }

    fn next_call(&self, now: u64, rng: &mut Rng) -> u64 {
        if self.bursts {
            now.next_multiple_of(ROUND) + rng.below(ROUND / 4)
        } else {
            now + 1 + exponential(GAP, rng)
        }
    }

    fn next_return(&self, now: u64, rng: &mut Rng) -> u64 {
        if self.bursts {
            now - now % ROUND + ROUND / 2 + rng.below(ROUND / 4)
        } else {
            now + 1 + exponential(self.mean_duration, rng)
        }
    }
}

/// Exponential with this mean, by comparisons only (von Neumann 1951): logarithms differ between machines in
/// the last bit.
fn exponential(mean: f64, rng: &mut Rng) -> u64 {
    let mut whole = 0.0;
    loop {
        let first = rng.unit();
        let (mut last, mut falling) = (first, 1u32);
        loop {
            let next = rng.unit();
            if next >= last {
                break;
            }
            (last, falling) = (next, falling + 1);
        }
        if falling % 2 == 1 {
            return (mean * (whole + first)) as u64;
        }
        whole += 1.0;
    }
}
