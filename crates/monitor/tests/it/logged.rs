//! Data behind locks, logged when the locks are released.

use linpoint::Viewed;
use linpoint::monitor::{Conclusion, Logged, Monitor, Object, Report, View, commit};

/// A slot of a multiset.
#[derive(Default, Viewed)]
struct Slot {
    #[view(key)]
    content: Option<u64>,
    #[view(when)]
    valid: bool,
}

/// A bucket of a map.
#[derive(Default, Viewed)]
struct Bucket {
    #[view(entries)]
    pairs: Vec<(u64, u64)>,
    /// Not part of the view.
    #[allow(dead_code)]
    touched: u64,
}

fn monitored(spec: &str, view: View, run: impl FnOnce(&Object)) -> Report {
    let monitor = Monitor::start().expect("a monitor");
    let object = monitor.object(spec, spec).expect("it is built in").view(view).watch().expect("few objects");
    run(&object);
    monitor.finish()
}

/// Two slots made valid at one commit; nothing shows before.
fn insert_pair(object: &Object, slots: &[Logged<Slot>; 2], forget: bool) {
    let op = object.call(object.op("insert_pair"), (3u64, 4u64));
    slots[0].lock().content = Some(3);
    slots[1].lock().content = Some(4);
    let (mut first, mut second) = (slots[0].lock(), slots[1].lock());
    first.valid = true;
    second.valid = !forget;
    commit(&op, &mut [&mut first, &mut second]);
    drop((first, second));
    op.returns(true);
}

#[test]
fn two_slots_are_one_block() {
    for forget in [false, true] {
        let report = monitored("multiset", View::Multiset, |object| {
            let slots = [Logged::new(object, 0, Slot::default()), Logged::new(object, 1, Slot::default())];
            insert_pair(object, &slots, forget);
        });
        let expected = if forget { Conclusion::Violated } else { Conclusion::Clean };
        assert_eq!(report.conclusion(), expected, "{report}");
    }
}

#[test]
fn a_guard_that_changes_nothing_logs_nothing() {
    let report = monitored("map", View::Map, |object| {
        let bucket = Logged::new(object, 0, Bucket::default());
        let op = object.call(object.op("insert"), (1u64, 2u64));
        let mut guard = bucket.lock();
        guard.pairs.push((1, 2));
        guard.commit(&op);
        drop(guard);
        op.returns(None::<u64>);
        let op = object.call(object.op("get"), 1u64);
        let mut guard = bucket.lock();
        let value = guard.pairs.first().map(|pair| pair.1);
        guard.commit(&op);
        drop(guard);
        op.returns(value);
    });
    report.assert_clean();
    // One block when the bucket was made, and three events an operation.
    assert_eq!(report.events(), 7);
}
