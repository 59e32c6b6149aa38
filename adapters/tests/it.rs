//! Crates that fail are caught; those that do not, run clean.

use std::time::Duration;

use linpoint_adapters::{concurrent_queue, crossbeam_queue, dashmap, heapless, load, papaya, thingbuf};
use linpoint_monitor::{Conclusion, Monitor, MonitorError, Report};

/// At most this long until something is found; a fraction of a second is usual.
const PATIENCE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(1500);
/// So few that every order of overlapping pushes can be kept.
const FEW: u64 = 3;
const STRICT: &str = "queue:capacity=64";
/// Strict too, but insertions wait for room.
const PATIENT: &str = "queue";
const SPURIOUS: &str = "queue:capacity=64:spurious";

fn judge(play: impl FnOnce(&Monitor) -> Result<(), MonitorError>) -> Report {
    let monitor = Monitor::start().expect("it starts");
    play(&monitor).expect("it is the first object");
    monitor.finish()
}

#[track_caller]
fn caught(play: impl FnOnce(&Monitor) -> Result<(), MonitorError>) {
    let report = judge(play);
    assert_eq!(report.conclusion(), Conclusion::Violated, "{report}");
}

#[track_caller]
fn clean(play: impl FnOnce(&Monitor) -> Result<(), MonitorError>) {
    let report = judge(play);
    report.assert_clean();
    assert!(report.operations() > 100, "{report}");
}

#[test]
fn crossbeam_skiplist_loses_a_key_for_a_moment() {
    caught(|monitor| load::skip_map(monitor, PATIENCE));
}

#[test]
fn dashmap_is_empty_though_it_never_is() {
    caught(|monitor| {
        load::dash_map(&dashmap::Map::watched(monitor)?, monitor, PATIENCE);
        Ok(())
    });
}

#[test]
fn heapless_says_empty_and_is_not() {
    caught(|monitor| {
        load::queue(&heapless::Mpmc::watched(monitor, PATIENT)?, monitor, PATIENCE);
        Ok(())
    });
}

#[test]
fn heapless_is_a_queue_that_may_fail() {
    clean(|monitor| {
        load::queue_of(FEW, &heapless::Mpmc::watched(monitor, SPURIOUS)?, monitor, SHORT);
        Ok(())
    });
}

#[test]
fn thingbuf_says_empty_and_is_not() {
    caught(|monitor| {
        load::queue(&thingbuf::Ring::watched(monitor, 64, PATIENT)?, monitor, PATIENCE);
        Ok(())
    });
}

#[test]
fn thingbuf_is_a_queue_that_may_say_empty() {
    clean(|monitor| {
        load::queue_of(FEW, &thingbuf::Ring::watched(monitor, 64, "queue:spurious")?, monitor, SHORT);
        Ok(())
    });
}

#[test]
fn crossbeam_queues_are_clean() {
    clean(|monitor| {
        load::queue_of(FEW, &crossbeam_queue::Bounded::watched(monitor, 64, STRICT)?, monitor, SHORT);
        Ok(())
    });
    clean(|monitor| {
        load::queue(&crossbeam_queue::Unbounded::watched(monitor)?, monitor, SHORT);
        Ok(())
    });
}

#[test]
fn concurrent_queue_is_clean() {
    clean(|monitor| {
        load::queue_of(FEW, &concurrent_queue::Bounded::watched(monitor, 64, STRICT)?, monitor, SHORT);
        Ok(())
    });
}

#[test]
fn papaya_is_clean() {
    clean(|monitor| {
        load::papaya_map(&papaya::Map::watched(monitor)?, monitor, SHORT);
        Ok(())
    });
}

#[test]
fn crossbeam_deque_is_clean() {
    clean(|monitor| load::deque(monitor, SHORT));
}
