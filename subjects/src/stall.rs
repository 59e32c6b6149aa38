//! Holding threads up inside an operation, at one of its accesses to what is shared, until others have gone on.
//!
//! Errors of concurrent objects live between two accesses that hardly ever are torn apart: a thread would have to lose its core there. Here it is made to wait there, by the pacer of the
//! shims ([`linpoint_sched::pace`]), for a number of *returns* of others and not for a time, so that a busy machine and an idle one see about the same. Nothing of the object is changed, and every run is one that
//! the machine could have had by itself: what is found is an error of the object.
//!
//! Where a thread waits with a lock in its hands, others cannot return: the wait ends when nothing moves. One thread at least always goes on.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use linpoint_history::rng::Rng;
use linpoint_sched::pace::{self, Point};

/// A place in the object's code that accesses what is shared, by number: the same in all runs of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site(usize);

/// Where and for how long operations are held up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// Before which access; `None`: before any.
    pub site: Option<Site>,
    /// The chance at each of them.
    pub chance: f64,
    /// Until so many operations of others have returned.
    pub returns: u64,
}

/// What was seen of the object's inside.
#[derive(Clone, Debug, Default)]
pub struct Sights {
    /// How often each place was come to.
    pub visits: HashMap<Site, u64>,
    /// The first was about to access what another thread accessed at the second meanwhile.
    pub pairs: HashSet<(Site, Site)>,
}

impl Sights {
    /// Adds what another thread, or another run, saw.
    pub fn add(&mut self, other: Sights) {
        for (site, visits) in other.visits {
            *self.visits.entry(site).or_default() += visits;
        }
        self.pairs.extend(other.pairs);
    }
}

/// What the threads of a run share.
pub(crate) struct Floor {
    /// Counts returns.
    pub(crate) clock: AtomicU64,
    /// Has nothing returned for so long that the run is to end?
    given_up: AtomicBool,
    /// Threads that wait in an operation.
    waiting: AtomicUsize,
    places: Box<[Place]>,
}

/// What a thread waits before: nothing is at address zero.
#[derive(Default)]
#[repr(align(64))]
struct Place {
    address: AtomicUsize,
    site: AtomicUsize,
}

/// A wait ends when nothing has returned while the thread gave way so often, or, where giving way takes long because others want the cores, after this time.
const PATIENCE: u32 = 100;
const PATIENCE_TIME: Duration = Duration::from_millis(1);

impl Floor {
    pub(crate) fn new(threads: usize) -> Arc<Floor> {
        let places = (0..threads).map(|_| Place::default()).collect();
        Arc::new(Floor {
            clock: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            places,
        })
    }

    /// Ends the run: no operation returns any more.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Is the run at its end?
    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Leaves the operation that the thread is in, if the run was given up. Called at an access to what is shared, in the middle of the operation: the object is left as it is, and guards are dropped on the way.
    pub(crate) fn leave_if_given_up(&self) {
        if self.is_given_up() {
            std::panic::resume_unwind(Box::new("the run was given up"));
        }
    }

    /// Does an operation; `None` if the run was given up meanwhile. Whatever panics then, such as on a lock that another thread left behind, is part of that.
    pub(crate) fn attempt<T>(&self, operation: impl FnOnce() -> T) -> Option<T> {
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(operation)) {
            Ok(result) => Some(result),
            Err(_) if self.is_given_up() => None,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Gives way until `returns` more operations have returned, unless everybody else waits as well.
    fn wait(&self, returns: u64) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) + 1 < self.places.len() {
            let mut last = self.clock.load(Ordering::Relaxed);
            let until = last + returns;
            let (mut idle, mut moved) = (0, Instant::now());
            while last < until && idle < PATIENCE && (idle < 2 || moved.elapsed() < PATIENCE_TIME) {
                std::thread::yield_now();
                let now = self.clock.load(Ordering::Relaxed);
                idle += 1;
                if now != last {
                    (last, idle, moved) = (now, 0, Instant::now());
                }
            }
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs a thread of a run with stalls, and says what it saw.
pub(crate) fn stalled<T>(
    floor: &Arc<Floor>,
    thread: usize,
    stall: Stall,
    seed: u64,
    body: impl FnOnce() -> T,
) -> (T, Sights) {
    let sights = Rc::new(RefCell::new(Sights::default()));
    let (floor, seen) = (Arc::clone(floor), Rc::clone(&sights));
    let mut rng = Rng::new(seed);
    let pacer = move |Point { address, site }: Point| {
        floor.leave_if_given_up();
        let site = Site(std::ptr::from_ref(site).addr());
        let mut seen = seen.borrow_mut();
        *seen.visits.entry(site).or_default() += 1;
        for place in floor.places.iter() {
            if place.address.load(Ordering::Relaxed) == address {
                seen.pairs.insert((Site(place.site.load(Ordering::Relaxed)), site));
            }
        }
        if stall.site.is_none_or(|one| one == site) && rng.chance(stall.chance) {
            let place = &floor.places[thread];
            place.site.store(site.0, Ordering::Relaxed);
            place.address.store(address, Ordering::Relaxed);
            floor.wait(1 + rng.below(stall.returns.max(1)));
            place.address.store(0, Ordering::Relaxed);
        }
    };
    let result = pace::paced(pacer, body);
    (result, sights.take())
}
