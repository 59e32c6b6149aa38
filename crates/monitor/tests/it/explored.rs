//! The log's own code under every schedule: the sources of the ring, the records, the counters and a thread's
//! log once more, with the explorer's atomics under them.
//!
//! A thread finds its log through a variable of the thread, which threads of an exploration share with one
//! another; so these tests hand each thread its log.

use std::sync::{Arc, Mutex, PoisonError};

use linpoint::thread;

use crate::event::{Event, ObjectId, ThreadId, What};
use crate::local::{IDLE, Local, Overflow};
use crate::object::Watched;
use crate::primitive::AtomicU64;
use crate::record::{self, Kind};
use crate::ring::ring;
use crate::stamp::Stamps;
use crate::unpack::Unpack;

pub(crate) fn watched() -> Arc<Watched> {
    Arc::new(Watched::new(ObjectId(0), String::new(), Stamps::Numbers, Arc::default(), false))
}

/// A thread's log and its other end.
pub(crate) fn log(words: usize, overflow: Overflow) -> (Local, Unpack) {
    let (producer, consumer) = ring(words);
    let since = Arc::new(AtomicU64::new(IDLE));
    (Local::new((0, ThreadId(0)), producer, overflow, since), Unpack::new(consumer))
}

/// Everything that a ring has, as events.
pub(crate) fn take(thread: u32, unpack: &mut Unpack) -> Vec<Event> {
    let (mut words, mut events) = (Vec::new(), Vec::new());
    unpack.take(|_, _| false, &mut words);
    assert!(
        record::tell(ThreadId(thread), &words, &mut |event| events.push(event)),
        "half a record: {words:?}"
    );
    events
}

/// The numbers in some events.
pub(crate) fn numbers(events: &[Event]) -> Vec<u64> {
    let mut numbers: Vec<u64> =
        events.iter().filter(|event| event.what.takes_number()).map(|event| event.stamp).collect();
    numbers.sort_unstable();
    numbers
}

/// One operation with all its records.
pub(crate) fn operate(local: &Local, on: &Watched) {
    if local.call(on, 0, &7u64) {
        local.plain(on, Kind::Commit);
        local.answer(on, Kind::Return, &true);
    }
}

/// The promise of a seal: whoever looked at the counter and then read the rings has the call of every
/// operation that took a number below. And numbers are dense, none is in two records, and intervals agree
/// with the order in which things happened.
#[test]
fn a_seal_has_every_call_below_it() {
    let explored = linpoint::exploration().run(|| {
        let on = watched();
        let ends = [log(16, Overflow::Block), log(16, Overflow::Block)];
        let [(first, mut a), (second, mut b)] = ends;
        let users = [first, second].map(|local| {
            let on = Arc::clone(&on);
            thread::spawn(move || operate(&local, &on))
        });
        let sealed = on.counter.look();
        let mut seen = [take(0, &mut a), take(1, &mut b)];
        for events in &seen {
            let calls = events.iter().filter(|event| !event.what.takes_number()).count();
            let below =
                events.iter().filter(|event| event.what.takes_number() && event.stamp < sealed).count();
            assert!(below == 0 || calls == 1, "a number below the seal without its call: {events:?}");
        }
        let early: usize =
            seen.iter().flatten().filter(|event| event.what.takes_number() && event.stamp < sealed).count();
        // What is numbered below the seal and not in a ring yet is on its way: its call is here.
        let called = seen.iter().flatten().filter(|event| !event.what.takes_number()).count();
        assert!(sealed as usize <= early + called, "{sealed} numbers, {early} seen, {called} calls");
        users.into_iter().for_each(|user| user.join().expect("it does not panic"));
        seen[0].extend(take(0, &mut a));
        seen[1].extend(take(1, &mut b));
        assert_eq!(numbers(&seen.concat()), [0, 1, 2, 3]);
        for events in &seen {
            let kinds: Vec<bool> = events.iter().map(|event| event.what.takes_number()).collect();
            assert_eq!(kinds, [false, true, true], "{events:?}");
            assert!(events[0].stamp <= events[1].stamp && events[1].stamp < events[2].stamp, "{events:?}");
        }
    });
    assert!(explored.verdict() == "holds", "{explored}");
}

/// Real time: an operation that was called after another returned has a look above the other's number,
/// whatever made it wait.
#[test]
fn an_order_that_happened_is_in_the_stamps() {
    let explored = linpoint::exploration().run(|| {
        let on = watched();
        let ends = [log(16, Overflow::Block), log(16, Overflow::Block)];
        let [(first, mut a), (second, mut b)] = ends;
        let flag = Arc::new(linpoint::sync::atomic::AtomicUsize::new(0));
        let before = {
            let (on, flag) = (Arc::clone(&on), Arc::clone(&flag));
            thread::spawn(move || {
                operate(&first, &on);
                flag.store(1, linpoint::sync::atomic::Ordering::Release);
            })
        };
        let saw = flag.load(linpoint::sync::atomic::Ordering::Acquire);
        operate(&second, &on);
        before.join().expect("it does not panic");
        let (a, b) = (take(0, &mut a), take(1, &mut b));
        if saw == 1 {
            assert!(a[2].stamp < b[0].stamp, "{a:?} {b:?}");
        }
        if a[2].stamp < b[0].stamp {
            // The other way round nothing may be claimed that did not happen: the first had returned.
            assert!(a[1].stamp < b[1].stamp, "{a:?} {b:?}");
        }
    });
    assert!(explored.verdict() == "holds", "{explored}");
}

/// A ring of four words, two operations, a reader that takes when it likes. Whatever finds no room is missed:
/// the counter is the numbers seen and the records lost, and nothing is logged after a loss.
#[test]
fn a_gap_is_a_number_that_is_missing() {
    let lost = Arc::new(Mutex::new([false; 2]));
    let met = Arc::clone(&lost);
    let explored = linpoint::exploration().run(move || {
        let on = watched();
        let (local, mut unpack) = log(4, Overflow::Gap);
        let user = {
            let on = Arc::clone(&on);
            thread::spawn(move || {
                for _ in 0..2 {
                    if on.is_on() {
                        operate(&local, &on);
                    }
                }
            })
        };
        let mut events = take(0, &mut unpack);
        events.extend(take(0, &mut unpack));
        user.join().expect("it does not panic");
        events.extend(take(0, &mut unpack));
        let (numbers, lost) = (numbers(&events), on.lost());
        assert_eq!(on.counter.look(), numbers.len() as u64 + lost);
        assert!(lost > 0 || numbers == [0, 1, 2, 3], "{numbers:?}");
        assert_eq!(lost == 0, on.is_on());
        let missing = (0..).zip(&numbers).find(|(at, number)| at != *number).map(|(at, _)| at);
        // An operation whose call was lost is not logged at all; one that loses a later record may go on to
        // its end.
        assert!(lost > 0 || missing.is_none());
        met.lock().unwrap_or_else(PoisonError::into_inner)[usize::from(lost > 0)] = true;
    });
    assert!(explored.verdict() == "holds", "{explored}");
    assert_eq!(*lost.lock().unwrap_or_else(PoisonError::into_inner), [true, true], "both ways were explored");
}

/// The same with a writer that waits: nothing is lost, everything is in order. (One operation is enough: room
/// is asked for as if its last record were a whole one.)
#[test]
fn who_waits_loses_nothing() {
    let explored = linpoint::exploration().run(|| {
        let on = watched();
        let (local, mut unpack) = log(4, Overflow::Block);
        let user = {
            let on = Arc::clone(&on);
            thread::spawn(move || operate(&local, &on))
        };
        let mut events = Vec::new();
        while events.len() < 3 {
            let more = take(0, &mut unpack);
            if more.is_empty() {
                linpoint::hint::spin_loop();
            }
            events.extend(more);
        }
        user.join().expect("it does not panic");
        assert_eq!((numbers(&events), on.lost()), (vec![0, 1], 0));
        assert!(matches!(events[0].what, What::Call { .. }), "{events:?}");
    });
    assert!(explored.verdict() == "holds", "{explored}");
}
