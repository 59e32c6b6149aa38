//! Monitors beside running threads: every setting, once.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use linpoint_monitor::replay::{Refine, refine};
use linpoint_monitor::stamp::calibrate;
use linpoint_monitor::{
    Builder, Conclusion, Monitor, Object, Overflow, Reaction, Report, Shortfall, Stamps, View,
};

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// A counter behind a lock: `increment` and `read`. From `wrong_from` on, reads answer far too many: one too
/// many is right in another order, where an increment overlaps the read.
fn count(object: &Object, threads: usize, operations: u64, wrong_from: u64) {
    let (increment, read) = (object.op("increment"), object.op("read"));
    let counter = Mutex::new(0u64);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for number in 0..operations {
                    if number % 2 == 0 {
                        let op = object.call(increment, ());
                        let mut counter = counter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        *counter += 1;
                        op.commit();
                        drop(counter);
                        op.returns(());
                    } else {
                        let op = object.call(read, ());
                        let counter = counter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        let value = *counter + 1_000_000 * u64::from(*counter >= wrong_from);
                        op.commit();
                        drop(counter);
                        op.returns(value);
                    }
                }
            });
        }
    });
}

fn run(settings: Builder, threads: usize, operations: u64, wrong_from: u64) -> Report {
    let monitor = settings.start().expect("a monitor");
    let object =
        monitor.object("counter", "counter").and_then(|object| object.watch()).expect("it is built in");
    count(&object, threads, operations, wrong_from);
    monitor.finish()
}

const NEVER: u64 = u64::MAX;

#[test]
fn every_operation_of_a_correct_counter_is_judged() {
    let report = run(Monitor::builder(), 3, 20_000, NEVER);
    report.assert_clean();
    assert_eq!((report.operations(), report.events()), (60_000, 180_000));
}

#[test]
fn a_small_ring_only_slows_the_program_down() {
    let report = run(Monitor::builder().ring_words(64), 2, 5_000, NEVER);
    report.assert_clean();
    assert_eq!((report.operations(), report.lost), (10_000, 0));
}

#[test]
fn a_wrong_answer_is_found_and_told_at_once() {
    static TOLD: AtomicU64 = AtomicU64::new(0);
    let settings = Monitor::builder().on_finding(|name, _| {
        assert_eq!(name, "counter");
        TOLD.fetch_add(1, Ordering::Relaxed);
    });
    let report = run(settings, 2, 5_000, 700);
    assert_eq!(report.conclusion(), Conclusion::Violated, "{report}");
    assert_eq!(TOLD.load(Ordering::Relaxed), 1);
}

/// A verifier that is kept busy while a ring overflows: what is lost makes the verdict unknown, never a pass
/// and never an alarm.
#[test]
fn a_gap_is_unknown() {
    let settings = Monitor::builder().ring_words(64).overflow(Overflow::Gap);
    let report = run(settings, 2, 200_000, NEVER);
    if report.lost > 0 {
        assert_eq!(report.conclusion(), Conclusion::Unknown, "{report}");
    } else {
        report.assert_clean();
    }
    // However fast the verifier is, a record longer than the ring is lost.
    let monitor = Monitor::builder().ring_words(64).overflow(Overflow::Gap).start().expect("a monitor");
    let object = monitor.object("register", "register").and_then(|object| object.watch()).expect("built in");
    object.call(object.op("write"), "x".repeat(10_000)).returns(());
    assert!(!object.is_watched());
    let report = monitor.finish();
    assert_eq!((report.conclusion(), report.lost), (Conclusion::Unknown, 1), "{report}");
}

#[test]
fn several_verifiers_share_the_objects() {
    let monitor = Monitor::builder().verifiers(3).start().expect("a monitor");
    let objects: Vec<Object> = (0..7)
        .map(|number| {
            monitor
                .object(&format!("counter {number}"), "counter")
                .and_then(|object| object.watch())
                .expect("built in")
        })
        .collect();
    std::thread::scope(|scope| {
        for (number, object) in objects.iter().enumerate() {
            scope.spawn(move || count(object, 2, 1_000, if number == 4 { 100 } else { NEVER }));
        }
    });
    let report = monitor.finish();
    for judged in &report.objects {
        let expected =
            if judged.description.name == "counter 4" { Conclusion::Violated } else { Conclusion::Clean };
        assert_eq!(judged.summary.conclusion, expected, "{report}");
    }
    assert_eq!(report.objects.len(), 7);
}

#[test]
fn spilling_goes_through_the_file() {
    let log = scratch("spilled.linlog");
    let report = run(Monitor::builder().log_file(&log).spill(), 2, 20_000, NEVER);
    report.assert_clean();
    assert_eq!(report.operations(), 40_000);
    let report = run(Monitor::builder().log_file(&log).spill(), 2, 2_000, 300);
    assert_eq!(report.conclusion(), Conclusion::Violated, "{report}");
    // The first log was kept.
    let kept = report.log_moved.as_deref().expect("there was one");
    assert_eq!(
        kept.file_name().and_then(|name| name.to_str()).map(|name| name.ends_with(".linlog.1")),
        Some(true)
    );
    let first = refine(kept, &Refine::default(), &mut |_| {}).expect("it can be read").report;
    first.assert_clean();
    assert_eq!(first.operations(), 40_000);
    std::fs::remove_file(kept).expect("it is there");
    std::fs::remove_file(&log).expect("it is there");
    assert!(Monitor::builder().spill().start().is_err());
}

#[test]
fn a_full_disk_is_said_and_nothing_else_is_lost() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let report = run(Monitor::builder().log_file("/dev/full"), 2, 50_000, NEVER);
    assert!(report.log_trouble.is_some(), "{report}");
    assert_eq!((report.conclusion(), report.operations()), (Conclusion::Clean, 100_000));
}

/// Where the verification follows the file, nothing is judged that the disk did not take, and that is no
/// pass.
#[test]
fn a_full_disk_makes_spilling_unknown() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let report = run(Monitor::builder().log_file("/dev/full").spill(), 2, 50_000, NEVER);
    assert!(report.log_trouble.is_some(), "{report}");
    assert_eq!((report.conclusion(), report.objects.len()), (Conclusion::Unknown, 1), "{report}");
}

#[test]
fn the_next_call_panics_if_asked_to() {
    let monitor = Monitor::builder().reaction(Reaction::Panic).start().expect("a monitor");
    let object = monitor.object("counter", "counter").and_then(|object| object.watch()).expect("built in");
    count(&object, 1, 10, 0);
    let start = Instant::now();
    while monitor.findings().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(10), "nothing was found");
        std::thread::sleep(Duration::from_millis(1));
    }
    let caught = std::panic::catch_unwind(|| drop(object.call(object.op("read"), ())));
    let said = caught.expect_err("the call panics").downcast::<String>().expect("with a text");
    assert!(said.contains("counter"), "{said}");
    assert_eq!(monitor.finish().conclusion(), Conclusion::Violated);
}

#[test]
fn the_world_stops_and_goes_on() {
    let dump = scratch("dump.txt");
    let monitor =
        Monitor::builder().reaction(Reaction::Stop { dump: dump.clone() }).start().expect("a monitor");
    let object = monitor.object("counter", "counter").and_then(|object| object.watch()).expect("built in");
    std::thread::scope(|scope| {
        let counting = scope.spawn(|| count(&object, 2, 3_000_000, 10));
        let start = Instant::now();
        while monitor.findings().is_empty() {
            assert!(start.elapsed() < Duration::from_secs(10), "nothing was found");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(20));
        assert!(!counting.is_finished(), "the threads wait");
        monitor.resume();
    });
    assert!(std::fs::read_to_string(&dump).expect("a dump").contains("counter"));
    std::fs::remove_file(&dump).expect("it is there");
    assert_eq!(monitor.finish().conclusion(), Conclusion::Violated);
}

fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("someone listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn the_status_page_tells() {
    let monitor = Monitor::builder().status_page("127.0.0.1:0").and_then(Builder::start).expect("a monitor");
    let object = monitor.object("counter", "counter").and_then(|object| object.watch()).expect("built in");
    count(&object, 2, 1_000, NEVER);
    while monitor.status().operations < 2_000 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let address = monitor.page().expect("it is served");
    let metrics = get(address, "/metrics");
    assert!(metrics.contains("\nlinpoint_operations_total 2000\n"), "{metrics}");
    assert!(metrics.contains("\nlinpoint_events_waiting 0\n"), "{metrics}");
    assert!(get(address, "/").contains("2000 operations checked"));
    assert!(get(address, "/other").starts_with("HTTP/1.1 404"));
    monitor.finish().assert_clean();
}

/// A client that never finishes its request does not keep the program from ending.
#[test]
fn a_slow_client_of_the_page_is_left() {
    let monitor = Monitor::builder().status_page("127.0.0.1:0").and_then(Builder::start).expect("a monitor");
    let mut stream = TcpStream::connect(monitor.page().expect("it is served")).expect("someone listens");
    let over = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A byte now and then: no single read takes long.
            while over.load(Ordering::Relaxed) == 0 && stream.write_all(b"G").is_ok() {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        let start = Instant::now();
        // Nothing was judged, and that is no pass.
        let report = monitor.finish();
        assert_eq!(report.conclusion(), Conclusion::Unknown, "{report}");
        assert_eq!(report.shortfalls(), [Shortfall::Nothing]);
        assert!(start.elapsed() < Duration::from_secs(30), "it took {:?}", start.elapsed());
        over.store(1, Ordering::Relaxed);
    });
}

#[test]
fn sampling_leaves_objects_out_and_says_so() {
    let monitor = Monitor::builder().sample(3).start().expect("a monitor");
    for number in 0..6 {
        let object = monitor
            .object(&number.to_string(), "counter")
            .and_then(|object| object.watch())
            .expect("built in");
        assert_eq!(object.is_watched(), number % 3 == 0);
        count(&object, 1, 100, NEVER);
    }
    let report = monitor.finish();
    report.assert_clean();
    assert_eq!(report.operations(), 200);
    assert!(report.to_string().contains("4 objects were not logged to the end"), "{report}");
}

#[test]
fn a_budget_ends_the_watching() {
    let monitor = Monitor::builder().budget(0.0).start().expect("a monitor");
    let object = monitor.object("counter", "counter").and_then(|object| object.watch()).expect("built in");
    let (increment, start) = (object.op("increment"), Instant::now());
    let mut made = 0;
    while object.is_watched() {
        let op = object.call(increment, ());
        op.commit();
        op.returns(());
        made += 1;
        assert!(start.elapsed() < Duration::from_secs(10), "it is watched for ever");
    }
    let report = monitor.finish();
    report.assert_clean();
    // What was logged while it was turned off is left out.
    assert!((1..=made).contains(&report.operations()), "{made}: {report}");
    assert!(!report.objects[0].watched);
}

/// An operation that is dropped, by a panic say, is pending.
#[test]
fn a_dropped_operation_is_pending() {
    let monitor = Monitor::start().expect("a monitor");
    let object = monitor.object("register", "register").and_then(|object| object.watch()).expect("built in");
    let op = object.call(object.op("write"), 5);
    op.commit();
    drop(op);
    drop(object.call(object.op("write"), 6));
    let op = object.call(object.op("read"), ());
    op.commit();
    op.returns(5);
    monitor.finish().assert_clean();
}
/// Ticks widen every interval and need no shared counter: the same verdicts, of calls and returns.
#[test]
fn ticks_find_what_is_far_apart() {
    let error = calibrate(Duration::from_millis(20));
    let settings = || Monitor::builder().stamps(Stamps::Ticks { error });
    // Operations closer together than the error bound may have happened in any order, so there is time
    // between them.
    let monitor = settings().start().expect("a monitor");
    let object = monitor.object("counter", "counter").and_then(|object| object.watch()).expect("built in");
    for _ in 0..100 {
        let op = object.call(object.op("increment"), ());
        op.commit();
        op.returns(());
        std::thread::sleep(Duration::from_micros(20));
    }
    let op = object.call(object.op("read"), ());
    op.commit();
    op.returns(100);
    let report = monitor.finish();
    report.assert_clean();
    assert_eq!(report.operations(), 101);
    // An operation long after another.
    let monitor = settings().start().expect("a monitor");
    let object = monitor
        .object("register", "register")
        .and_then(|object| object.without_commits().watch())
        .expect("built in");
    let (write, read) = (object.op("write"), object.op("read"));
    object.call(write, 1).returns(());
    std::thread::sleep(Duration::from_millis(50));
    object.call(write, 2).returns(());
    std::thread::sleep(Duration::from_millis(50));
    object.call(read, ()).returns(1);
    let report = monitor.finish();
    assert_eq!(report.conclusion(), Conclusion::Violated, "{report}");
    // Who holds a lock is a matter of threads, and operations of one thread may overlap once they are
    // widened.
    let monitor = settings().start().expect("a monitor");
    assert!(monitor.object("lock", "lock").is_err());
}

/// A set whose view is logged, one element lost: the view shows it at once, the answers not at all.
#[test]
fn a_view_sees_what_no_answer_shows() {
    let verdict = |view: bool| {
        let monitor = Monitor::start().expect("a monitor");
        let registration = monitor.object("set", "set").expect("built in");
        let registration = if view { registration.view(View::Set) } else { registration };
        let object = registration.watch().expect("few objects");
        let add = object.op("add");
        for element in 0..10u64 {
            let op = object.call(add, element);
            // The seventh is forgotten.
            op.commit_block(|block| {
                if element != 7 {
                    block.write(element, element);
                }
            });
            op.returns(true);
        }
        monitor.finish()
    };
    verdict(false).assert_clean();
    let report = verdict(true);
    assert_eq!(report.conclusion(), Conclusion::Violated, "{report}");
    assert!(report.to_string().contains("after add(7)"), "{report}");
}
