//! Logs that no program wrote: whatever stands in them, the answer is a verdict or an error, never a panic.

use std::path::{Path, PathBuf};

use linpoint_monitor::file::{Description, Frame, Writer};
use linpoint_monitor::replay::{Refine, refine, refine_from};
use linpoint_monitor::{Conclusion, Monitor, ObjectId, ThreadId, View};

/// A small generator, so that runs repeat.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// A record with a header that makes sense more often than not.
fn record(random: &mut Random, words: &mut Vec<u64>) {
    let length = 2 + random.below(4);
    let (kind, form, op) = (random.below(14), random.below(7), random.below(4));
    let object = if random.below(20) == 0 { random.below(1 << 16) } else { 0 };
    words.push(kind | form << 4 | op << 8 | object << 16 | length << 32);
    // Small stamps most of the time, so that some of it goes further than the first look.
    words.push(if random.below(30) == 0 { random.next() << 32 | random.next() } else { random.below(12) });
    for _ in 2..length {
        words.push(if random.below(8) == 0 { random.next() << 30 } else { random.below(6) });
    }
}

#[test]
fn records_made_at_random() {
    let mut random = Random(7);
    for round in 0..400 {
        let error = if round % 4 == 0 { random.below(5) } else { 0 };
        let mut writer = Writer::new(Vec::new(), error.checked_sub(1)).expect("memory");
        let spec = ["map", "multiset", "register", "queue:capacity=2", "lock", "nonsense", "custom"]
            [random.below(7) as usize];
        let (view, commits) = (
            ["none", "map", "multiset"][random.below(3) as usize],
            ["marked", "intervals"][random.below(2) as usize],
        );
        let description = Description {
            name: "x".into(),
            spec: spec.into(),
            view: view.into(),
            commits: commits.into(),
            operations: Vec::new(),
        };
        writer.frame(&Frame::Object(ObjectId(0), description)).expect("room");
        for _ in 0..random.below(6) {
            let mut words = Vec::new();
            (0..random.below(8)).for_each(|_| record(&mut random, &mut words));
            if random.below(10) == 0 {
                words.pop();
            }
            writer.records(ThreadId(random.below(3) as u32), &words).expect("room");
            if random.below(2) == 0 {
                let object = if error > 0 { ObjectId(u16::MAX) } else { ObjectId(0) };
                writer.frame(&Frame::Seal(object, random.below(20))).expect("room");
            }
        }
        if random.below(2) == 0 {
            writer.frame(&Frame::End(1)).expect("room");
        }
        let bytes = writer.into_inner();
        for view in [false, true] {
            // An error or a verdict; the test is that it comes back.
            let how = Refine { spec: None, view };
            if let Ok(refined) = refine_from(&bytes[..], bytes.len() as u64, &how, &mut |_| {}) {
                let _ = refined.report.to_string();
            }
        }
    }
}

#[test]
fn bytes_changed_at_random() {
    let path = scratch("changed.linlog");
    let monitor = Monitor::builder().log_file(&path).start().expect("a monitor");
    let object =
        monitor.object("map", "map").expect("built in").view(View::Map).watch().expect("few objects");
    for key in 0..20u64 {
        let op = object.call(object.op("insert"), (key, key));
        op.commit_block(|block| block.write(key, (key, key)));
        op.returns(None::<u64>);
    }
    monitor.finish().assert_clean();
    let bytes = std::fs::read(&path).expect("the log");
    let mut random = Random(11);
    for _ in 0..1000 {
        let mut changed = bytes.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(changed.len() as u64) as usize;
            changed[at] = random.next() as u8;
        }
        changed.truncate(changed.len() - random.below(9) as usize);
        std::fs::write(&path, &changed).expect("room");
        // The sums find every change: what is read is a prefix of the truth. Nothing is wrong with it, and it
        // is not the whole.
        if let Ok(refined) = refine(&path, &Refine { spec: None, view: true }, &mut |_| {}) {
            let at: Vec<usize> = (0..changed.len()).filter(|at| changed[*at] != bytes[*at]).collect();
            let expected = if changed == bytes { Conclusion::Clean } else { Conclusion::Unknown };
            assert!(
                refined.report.conclusion() == expected && refined.report.findings().count() == 0,
                "changed at {at:?} of {}: {refined:?}",
                bytes.len()
            );
        }
    }
    std::fs::remove_file(&path).expect("it is there");
}

/// Two threads, and the log cut at every byte: what is whole is checked, the rest is counted, and there is no
/// alarm.
#[test]
fn torn_at_every_byte() {
    let path = scratch("every.linlog");
    let monitor = Monitor::builder().log_file(&path).start().expect("a monitor");
    let object =
        monitor.object("map", "map").expect("built in").view(View::Map).watch().expect("few objects");
    let map = std::sync::Mutex::new(std::collections::BTreeMap::new());
    for _ in 0..4 {
        std::thread::scope(|scope| {
            for value in 0..2u64 {
                let (map, object) = (&map, &object);
                scope.spawn(move || {
                    for key in 0..6u64 {
                        let op = object.call(object.op("insert"), (key, value));
                        let mut map = map.lock().expect("nobody panics");
                        let old = map.insert(key, value);
                        op.commit_block(|block| block.write(key, (key, value)));
                        drop(map);
                        op.returns(old);
                    }
                });
            }
        });
        // So that the log has several rounds.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    monitor.finish().assert_clean();
    let bytes = std::fs::read(&path).expect("the log");
    let mut before = 0;
    for cut in 0..=bytes.len() {
        let refined =
            match refine_from(&bytes[..cut], cut as u64, &Refine { spec: None, view: true }, &mut |_| {}) {
                Ok(refined) => refined,
                Err(error) => {
                    assert!(cut < 8, "cut at {cut}: {error}");
                    continue;
                }
            };
        let expected = if cut == bytes.len() { Conclusion::Clean } else { Conclusion::Unknown };
        assert!(
            refined.report.conclusion() == expected && refined.report.findings().count() == 0,
            "cut at {cut} of {}: {refined:?}",
            bytes.len()
        );
        assert_eq!(refined.good_bytes + refined.torn_bytes, cut as u64, "cut at {cut}");
        assert_eq!(refined.closed, cut == bytes.len(), "cut at {cut}");
        assert!(refined.report.operations() >= before, "cut at {cut}: fewer operations than with less of it");
        before = refined.report.operations();
    }
    assert_eq!(before, 48);
    std::fs::remove_file(&path).expect("it is there");
}
