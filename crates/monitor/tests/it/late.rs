//! Objects that come while other threads log, threads that end while they log, and an end while nobody stops.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use linpoint_monitor::replay::{Refine, refine};
use linpoint_monitor::{Builder, Monitor, Object, Report, Stamps};

fn scratch(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

fn register(monitor: &Monitor, number: u64) -> Object {
    let registration = monitor.object(&format!("register {number}"), "register").expect("built in");
    registration.without_commits().watch().expect("few objects")
}

/// Two threads log on an object of their own all the while; two others make `each` objects, use each at once,
/// and drop it.
fn late(settings: Builder, each: u64) -> Report {
    let monitor = settings.start().expect("a monitor");
    let busy = register(&monitor, 1 << 40);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    busy.call(busy.op("write"), 1u64).returns(());
                }
            });
        }
        let makers = [0, each].map(|from| {
            let monitor = &monitor;
            scope.spawn(move || {
                for number in from..from + each {
                    let object = register(monitor, number);
                    object.call(object.op("write"), number).returns(());
                    object.call(object.op("read"), ()).returns(number);
                }
            })
        });
        for maker in makers {
            maker.join().expect("it does not panic");
        }
        over.store(true, Ordering::Relaxed);
    });
    monitor.finish()
}

#[track_caller]
fn whole(report: &Report, each: u64) {
    report.assert_clean();
    assert_eq!((report.objects.len() as u64, report.lost), (1 + 2 * each, 0), "{report}");
    for judged in report.objects.iter().skip(1) {
        assert_eq!((judged.summary.operations, judged.summary.events), (2, 4), "{judged:?}");
    }
}

const EACH: u64 = 150;

#[test]
fn late_objects_streamed_and_filed() {
    let log = scratch("late.linlog");
    let rows = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&rows);
    let settings = Monitor::builder().log_file(&log).stream(move |streamed| {
        assert_eq!(streamed.lost, 0);
        into.lock().expect("nobody panics").extend(streamed.rows);
    });
    let report = late(settings, EACH);
    whole(&report, EACH);
    assert_eq!(rows.lock().expect("nobody panics").len() as u64, report.operations());
    let refined = refine(&log, &Refine::default(), &mut |_| {}).expect("it can be read");
    whole(&refined.report, EACH);
    assert_eq!(refined.report.operations(), report.operations());
    std::fs::remove_file(&log).expect("it is there");
}

#[test]
fn late_objects_spilled_and_shared_out() {
    let log = scratch("late-spilled.linlog");
    whole(&late(Monitor::builder().log_file(&log).spill(), EACH), EACH);
    std::fs::remove_file(&log).expect("it is there");
    whole(&late(Monitor::builder().verifiers(2).ring_words(64), EACH), EACH);
}

/// The threads go on until the monitor has finished: it does not wait for them.
#[test]
fn an_end_while_everybody_logs() {
    for settings in [Monitor::builder(), Monitor::builder().ring_words(64), Monitor::builder().verifiers(2)] {
        let monitor = settings.start().expect("a monitor");
        let object = monitor.object("counter", "counter").and_then(|it| it.watch()).expect("built in");
        let (over, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let count = Mutex::new(0u64);
        let report = std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let op = object.call(object.op("read"), ());
                        let mut count = count.lock().expect("nobody panics");
                        op.commit();
                        let read = *count;
                        op.returns(read);
                        // Not every thread is in the middle of the same.
                        let op = object.call(object.op("increment"), ());
                        *count += 1;
                        op.commit();
                        drop(count);
                        op.returns(());
                        done.fetch_add(2, Ordering::Release);
                    }
                });
            }
            while done.load(Ordering::Acquire) < 2000 {
                std::thread::yield_now();
            }
            let before = done.load(Ordering::Acquire);
            let report = monitor.finish();
            over.store(true, Ordering::Relaxed);
            assert!(report.operations() >= before, "{report}");
            report
        });
        report.assert_clean();
    }
}

/// Nobody reads the ring of a thread that comes after the end, or while the end is worked out: it must not
/// wait for room.
#[test]
fn a_thread_that_comes_after_the_end_does_not_wait() {
    for settings in [
        Monitor::builder(),
        Monitor::builder().verifiers(2),
        Monitor::builder().stamps(Stamps::Ticks { error: 1000 }),
    ] {
        let monitor = settings.ring_words(64).start().expect("a monitor");
        let object = register(&monitor, 0);
        let before = object.clone();
        before.call(before.op("write"), 1u64).returns(());
        let report = monitor.finish();
        assert_eq!(report.operations(), 1, "{report}");
        let (done, is_done) = mpsc::channel();
        let late = std::thread::spawn(move || {
            for _ in 0..1000 {
                object.call(object.op("write"), 1u64).returns(());
            }
            done.send(()).expect("somebody waits");
        });
        is_done.recv_timeout(Duration::from_secs(60)).expect("it does not wait for a reader that is gone");
        late.join().expect("it does not panic");
    }
}

/// What a thread does while its variables are destroyed is logged, under the thread's own number: a lock may
/// be released there.
#[test]
fn destructors_of_thread_locals_log() {
    struct Holder(Option<Object>);
    impl Drop for Holder {
        fn drop(&mut self) {
            if let Some(object) = &self.0 {
                for name in ["release", "acquire", "release"] {
                    let op = object.call(object.op(name), ());
                    op.commit();
                    if name == "acquire" {
                        op.returns(true);
                    } else {
                        op.returns(());
                    }
                }
            }
        }
    }
    thread_local! { static HOLDER: RefCell<Holder> = const { RefCell::new(Holder(None)) }; }
    let monitor = Monitor::start().expect("a monitor");
    let object = monitor.object("lock", "lock").and_then(|it| it.watch()).expect("built in");
    for _ in 0..20 {
        let mine = object.clone();
        let thread = std::thread::spawn(move || {
            // Made before the thread's log, so it is destroyed after it.
            HOLDER.with(|holder| holder.borrow_mut().0 = Some(mine.clone()));
            let op = mine.call(mine.op("acquire"), ());
            op.commit();
            op.returns(true);
        });
        thread.join().expect("it does not panic");
    }
    let report = monitor.finish();
    report.assert_clean();
    assert_eq!(report.operations(), 80);
}
