//! What waits for one operation to answer has a bound, and its room is given back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use linpoint_monitor::{Conclusion, Limits, Monitor, Object, View};

use crate::play::{events, setup};

const RING: usize = 1 << 11;
const AHEAD: u64 = 1 << 12;

/// A counter behind a lock, incremented once; `inside` runs between the commit and the return.
fn increment(object: &Object, counter: &Mutex<u64>, inside: impl FnOnce()) {
    let op = object.call(object.op("increment"), ());
    let mut counter = counter.lock().unwrap_or_else(PoisonError::into_inner);
    *counter += 1;
    op.commit();
    drop(counter);
    inside();
    op.returns(());
}

/// A thread is away in the middle of operations, for a long while each time, and two others go on as fast as
/// they can. Without a bound they would log a few hundred thousand events meanwhile.
#[test]
fn what_waits_for_a_thread_that_is_away_has_a_bound() {
    let monitor = Monitor::builder().ring_words(RING).look_ahead(AHEAD).start().expect("a monitor");
    let object =
        monitor.object("counter", "counter").and_then(|object| object.watch()).expect("it is built in");
    let counter = Mutex::new(0);
    let over = AtomicBool::new(false);
    let (most_waiting, longest) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    increment(&object, &counter, || ());
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..5 {
                let away = Instant::now();
                increment(&object, &counter, || {
                    for _ in 0..45 {
                        std::thread::sleep(Duration::from_millis(2));
                        most_waiting.fetch_max(monitor.status().waiting, Ordering::Relaxed);
                    }
                });
                longest.fetch_max(away.elapsed().as_millis() as u64, Ordering::Relaxed);
            }
            over.store(true, Ordering::Relaxed);
        });
    });
    // A window, and one more for each time that nothing moved for 100 ms and longer; what fits into three
    // rings at a number a word; a call for every two numbers.
    let windows = 2 + longest.load(Ordering::Relaxed) / 100;
    let numbers = AHEAD * windows + 3 * RING as u64;
    let most = most_waiting.load(Ordering::Relaxed);
    assert!(most <= numbers + numbers / 2 + 3, "{most} events waited, {windows} windows");
    assert!(most > AHEAD, "{most} events waited: nothing was held back");

    // What was needed once is given back. The buffer and the list of operations have room for a thousand
    // each, at least.
    let start = Instant::now();
    while monitor.status().room > 1 << 20 {
        assert!(start.elapsed() < Duration::from_secs(60), "{} bytes are kept", monitor.status().room);
        increment(&object, &counter, || ());
        std::thread::sleep(Duration::from_micros(100));
    }
    let report = monitor.finish();
    report.assert_clean();
    assert_eq!(report.operations(), *counter.lock().unwrap_or_else(PoisonError::into_inner));
    assert_eq!(report.lost, 0);
}

/// The operation that everybody waits for waits itself: for a lock whose holder waits for room in its ring.
/// The gate gives way.
#[test]
fn a_lock_held_by_who_waits_for_room_is_no_deadlock() {
    let monitor = Monitor::builder().ring_words(RING).look_ahead(AHEAD).start().expect("a monitor");
    let object =
        monitor.object("counter", "counter").and_then(|object| object.watch()).expect("it is built in");
    let (counter, lock, committed) = (Mutex::new(0), Mutex::new(()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
        scope.spawn(|| {
            increment(&object, &counter, || {
                committed.store(true, Ordering::Release);
                drop(lock.lock());
            });
        });
        while !committed.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        // Two numbers each, and twice what the window and the ring let in.
        for _ in 0..AHEAD + RING as u64 {
            increment(&object, &counter, || ());
        }
        drop(held);
    });
    let report = monitor.finish();
    report.assert_clean();
    assert_eq!(report.operations(), AHEAD + RING as u64 + 1);
}

/// Operations placed by versions wait outside the buffer, and there are no more of them than may wait either.
#[test]
fn versions_that_wait_for_ever_are_given_up() {
    let mut log = "1 call increment\n".to_owned();
    for version in 0..50 {
        log += &format!("2 call increment\n 2 at {version}\n 2 return null\n");
    }
    let mut setup = setup("counter");
    setup.limits = Limits { waiting: 20, ..Limits::default() };
    let events = events(&log, setup.model.signature());
    let mut checker = linpoint_monitor::Checker::new(setup);
    for event in events {
        checker.push(event);
        checker.seal(u64::MAX);
        checker.advance();
    }
    let summary = checker.finish(linpoint_monitor::End::Torn);
    assert_eq!(summary.conclusion, Conclusion::Unknown, "{summary:?}");
}

/// A block in whose middle something else is logged is lost, and that is said: it is neither judged nor
/// garbled.
#[test]
fn a_block_that_is_interrupted_is_lost() {
    let monitor = Monitor::start().expect("a monitor");
    let object = monitor
        .object("map", "map")
        .and_then(|object| object.view(View::Map).watch())
        .expect("it is built in");
    let op = object.call(object.op("insert"), (1u64, 2u64));
    op.commit_block(|block| {
        block.write(1, (1u64, 2u64));
        object.write(5, (5u64, 6u64));
        block.write(2, (3u64, 4u64));
    });
    op.returns(None::<u64>);
    let report = monitor.finish();
    assert_eq!((report.conclusion(), report.lost), (Conclusion::Unknown, 1), "{report}");
}
