//! How each kind of object is used until something is found: by a few threads, in the way that shows what is known of these crates.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_deque::Worker;
use crossbeam_skiplist::SkipMap;
use linpoint_monitor::{Monitor, MonitorError};

use crate::crossbeam_deque::Bag;
use crate::crossbeam_skiplist::Key;
use crate::{Queue, dashmap, papaya};

/// So many events may wait to be judged: what is found is then found soon after it happened.
const LAG: u64 = 20_000;

/// Lets every user run again and again, each on its own thread, until the monitor has found something or the time is over. Each is told how often it ran.
pub fn run(monitor: &Monitor, time: Duration, users: &[&(dyn Fn(u64) + Sync)]) {
    let (started, stop) = (Instant::now(), AtomicBool::new(false));
    let is_over = |round: u64| {
        while round.is_multiple_of(64) && monitor.status().waiting > LAG && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_micros(200));
        }
        stop.load(Ordering::Relaxed)
    };
    std::thread::scope(|scope| {
        for user in users {
            let is_over = &is_over;
            scope.spawn(move || (0..).take_while(|round| !is_over(*round)).for_each(user));
        }
        while started.elapsed() < time && monitor.status().findings == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Half full, and four threads that pop one and push another: neither full nor empty at any time.
pub fn queue(queue: &impl Queue, monitor: &Monitor, time: Duration) {
    queue_of(32, queue, monitor, time);
}

/// So many in the queue, and four threads that pop one and push another. Where pushes may fail, the order of those that overlap is not known before
/// their values come out again, and all orders are kept until then: with a few inside, these are few.
pub fn queue_of(inside: u64, queue: &impl Queue, monitor: &Monitor, time: Duration) {
    let next = AtomicU64::new(0);
    let fresh = || next.fetch_add(1, Ordering::Relaxed);
    for _ in 0..inside {
        queue.push(fresh());
    }
    let user = |_| {
        // As many go in as come out, so there is always room.
        if queue.pop().is_some() {
            queue.push(fresh());
        }
    };
    run(monitor, time, &[&user as &(dyn Fn(u64) + Sync); 4]);
}

/// One thread inserts a key again and again, another looks for it.
pub fn skip_map(monitor: &Monitor, time: Duration) -> Result<(), MonitorError> {
    let map = SkipMap::new();
    let key = Key::watched(monitor, &map, 1)?;
    key.insert(u64::MAX >> 1);
    let look = |_| {
        key.get();
    };
    run(monitor, time, &[&|round| key.insert(round), &look]);
    Ok(())
}

/// One thread inserts the next key and removes the one before, another asks whether the map is empty.
pub fn dash_map(map: &dashmap::Map, monitor: &Monitor, time: Duration) {
    map.insert(0, 0);
    let walk = |round| {
        map.insert(round + 1, round);
        map.remove(round);
    };
    let look = |_| {
        map.is_empty();
    };
    run(monitor, time, &[&walk, &look]);
}

/// Three threads on a few keys.
pub fn papaya_map(map: &papaya::Map, monitor: &Monitor, time: Duration) {
    let user = |round: u64| {
        let key = round / 7 % 5;
        map.insert(key, round);
        map.get((key + 1) % 5);
        map.remove((key + 2) % 5);
    };
    run(monitor, time, &[&user as &(dyn Fn(u64) + Sync); 3]);
}

/// Rounds of one owner and one thief that takes batches; in the end everything must be gone. (A second thief would move the front, and so hide it when the
/// first one is wrong about it.)
pub fn deque(monitor: &Monitor, time: Duration) -> Result<(), MonitorError> {
    const TASKS: u64 = 5_000;
    let bag = Bag::watched(monitor)?;
    let started = Instant::now();
    let mut first = 0;
    while started.elapsed() < time && monitor.status().findings == 0 {
        let owner = Worker::new_lifo();
        let over = AtomicBool::new(false);
        let (bag, over) = (&bag, &over);
        std::thread::scope(|scope| {
            let stealer = owner.stealer();
            scope.spawn(move || {
                let own = Worker::new_lifo();
                while bag.steal(&stealer, &own) || !over.load(Ordering::Acquire) {
                    while bag.took(own.pop()) {}
                }
                while bag.took(own.pop()) {}
            });
            // The deque's buffer has room for 64 at first; it grows when that is full and shrinks when a quarter is left, again and again.
            for task in first..first + TASKS {
                bag.push(&owner, task);
                while owner.len() > 70 {
                    while owner.len() > 6 && bag.took(owner.pop()) {}
                }
            }
            while bag.took(owner.pop()) {}
            over.store(true, Ordering::Release);
        });
        while bag.took(owner.pop()) {}
        (first..first + TASKS).for_each(|task| bag.is_gone(task));
        first += TASKS;
    }
    Ok(())
}
