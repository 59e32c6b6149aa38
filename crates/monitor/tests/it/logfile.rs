//! The log file: who begins one under a name that is taken, and what it says about operations, threads and
//! ticks.

use std::path::{Path, PathBuf};
use std::sync::{Barrier, mpsc};
use std::time::Duration;

use linpoint_history::specs;
use linpoint_monitor::file::{Counts, Description, Frame, Writer};
use linpoint_monitor::replay::{Refine, RefineError, refine, refine_from};
use linpoint_monitor::{
    Conclusion, Mistake, Monitor, Object, ObjectId, Report, Shortfall, Stamps, ThreadId, View,
};

use crate::odd::Odd;

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn get(object: &Object, key: u64) {
    let op = object.call(object.op("get"), key);
    op.commit();
    op.returns(None::<u64>);
}

/// Whoever begins a log under a name that others use at the same moment: all of them are there afterwards,
/// each with its own operations.
#[test]
fn logs_that_begin_at_the_same_time_are_all_kept() {
    for round in 0..20 {
        let folder = scratch(&format!("race-{round}"));
        let path = folder.join("log");
        if round % 2 == 0 {
            std::fs::write(&path, "").expect("an empty file");
        }
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for number in 1..=4u64 {
                let (start, path) = (&start, &path);
                scope.spawn(move || {
                    start.wait();
                    let settings = Monitor::builder().log_file(path);
                    // One follows its file: it must be its own.
                    let settings = if number == 1 { settings.spill() } else { settings };
                    let monitor = settings.start().expect("a monitor");
                    let object = monitor.object("map", "map").and_then(|it| it.watch()).expect("built in");
                    (0..number).for_each(|key| get(&object, key));
                    let report = monitor.finish();
                    report.assert_clean();
                    assert_eq!(report.operations(), number);
                });
            }
        });
        let files: Vec<PathBuf> =
            std::fs::read_dir(&folder).expect("a folder").map(|file| file.expect("a file").path()).collect();
        let mut found: Vec<u64> = files
            .iter()
            .filter_map(|file| refine(file, &Refine::default(), &mut |_| {}).ok())
            .map(|refined| {
                assert!(refined.closed, "{}", refined.report);
                refined.report.operations()
            })
            .collect();
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3, 4], "{files:?}");
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}

/// Does this come to an end?
fn in_time<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || done.send(what()));
    is_done.recv_timeout(Duration::from_secs(20)).expect("it comes to an end")
}

#[test]
#[cfg(unix)]
fn a_link_to_nowhere_is_moved_aside() {
    let folder = scratch("dangling");
    let path = folder.join("log");
    std::os::unix::fs::symlink(folder.join("nowhere"), &path).expect("a link");
    let log = path.clone();
    let report = in_time(move || {
        let monitor = Monitor::builder().log_file(&log).start().expect("a monitor");
        let object = monitor.object("map", "map").and_then(|it| it.watch()).expect("built in");
        get(&object, 1);
        monitor.finish()
    });
    report.assert_clean();
    assert_eq!(report.log_moved, Some(folder.join("log.1")));
    assert!(std::fs::symlink_metadata(folder.join("log.1")).expect("it is there").is_symlink());
    assert!(!folder.join("nowhere").exists());
    assert!(refine(&path, &Refine::default(), &mut |_| {}).expect("a log").closed);
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
#[cfg(unix)]
fn a_pipe_that_nobody_reads_is_an_error() {
    let folder = scratch("pipe");
    let path = folder.join("log");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if made.is_ok_and(|made| made.success()) {
        assert!(in_time(move || Monitor::builder().log_file(&path).start().is_err()));
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}

/// Operations are told apart by their names: a register's are not a queue's, wherever they stand.
#[test]
fn another_specification_has_other_numbers() {
    let folder = scratch("names");
    let path = folder.join("log");
    let monitor = Monitor::builder().log_file(&path).start().expect("a monitor");
    let object = monitor.object("register", "register").and_then(|it| it.watch()).expect("built in");
    for (name, value) in [("write", Some(7)), ("read", None)] {
        let op = object.call(object.op(name), value);
        op.commit();
        op.returns(if name == "read" { Some(7) } else { None });
    }
    monitor.finish().assert_clean();
    let with = |spec: &str| {
        let how = Refine { spec: Some(specs::parse(spec).expect("a specification")), view: false };
        refine(&path, &how, &mut |_| {})
    };
    match with("queue") {
        Err(RefineError::NoOperation { object, operation, spec }) => {
            assert_eq!((&*object, &*operation, &*spec), ("register", "write", "queue"));
        }
        other => panic!("{other:?}"),
    }
    with("rmw-register").expect("it has them all").report.assert_clean();

    // A specification of the program's own says what its operations are called, too: here they stand at other
    // positions.
    let own = folder.join("own");
    let monitor = Monitor::builder().log_file(&own).start().expect("a monitor");
    let model = Odd::new(&["read", "other", "write"]);
    let object = monitor.object_with("own", Box::new(model)).watch().expect("few objects");
    for (name, value) in [("read", None), ("write", Some(7)), ("read", None)] {
        let op = object.call(object.op(name), value);
        op.commit();
        op.returns(None::<u64>);
    }
    monitor.finish().assert_clean();
    let how = Refine { spec: Some(specs::parse("register").expect("a specification")), view: false };
    let report = refine(&own, &how, &mut |_| {}).expect("it has what was used").report;
    assert_eq!(report.conclusion(), Conclusion::Violated, "the second read answers null: {report}");
    std::fs::remove_dir_all(&folder).expect("it is there");
}

/// A thread that goes on may hold a lock in the end; one that has ended may not.
#[test]
fn an_end_while_a_lock_is_held() {
    let folder = scratch("held");
    for (number, ended) in [false, true].into_iter().enumerate() {
        let path = folder.join(number.to_string());
        let monitor = Monitor::builder().log_file(&path).start().expect("a monitor");
        let map = || monitor.object("map", "map").expect("built in").view(View::Map);
        let object = map().watch().expect("few objects");
        let (tell, told) = mpsc::channel::<()>();
        let (go, goes) = mpsc::channel::<()>();
        let other = object.clone();
        get(&object, 9);
        let thread = std::thread::spawn(move || {
            let op = other.call(other.op("insert"), (1u64, 1u64));
            other.acquire(5);
            other.write(1, (1u64, 1u64));
            tell.send(()).expect("somebody waits");
            if ended {
                op.commit();
                op.returns(());
                return;
            }
            goes.recv().expect("somebody says so");
            op.commit();
            other.release(5);
            op.returns(());
        });
        told.recv().expect("it is so far");
        if ended {
            drop(go);
            thread.join().expect("it does not panic");
            let report = monitor.finish();
            let said = report.findings().next().map(|(_, finding)| finding.found.clone());
            let expected = linpoint_monitor::Found::Mistake(Mistake::NeverReleased {
                thread: linpoint_monitor::ThreadId(1),
                lock: 5,
            });
            assert_eq!(said, Some(expected), "{report}");
        } else {
            let report = monitor.finish();
            report.assert_clean();
            go.send(()).expect("it waits");
            thread.join().expect("it does not panic");
            let how = Refine { spec: None, view: true };
            refine(&path, &how, &mut |_| {}).expect("a log").report.assert_clean();
        }
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}

/// Ticks without an error bound are ticks all the same, and so says their log.
#[test]
fn ticks_without_an_error() {
    let folder = scratch("ticks");
    for error in [0, 1, 1000] {
        let path = folder.join(error.to_string());
        let monitor =
            Monitor::builder().stamps(Stamps::Ticks { error }).log_file(&path).start().expect("a monitor");
        let object = monitor.object("map", "map").and_then(|it| it.watch()).expect("built in");
        get(&object, 1);
        let report = monitor.finish();
        let refined = refine(&path, &Refine::default(), &mut |_| {}).expect("a log").report;
        assert_eq!(refined.stamps, report.stamps);
        assert_eq!(refined.conclusion(), report.conclusion(), "{refined}");
        // Nor can views be asked for afterwards.
        let how = Refine { spec: None, view: true };
        assert!(matches!(refine(&path, &how, &mut |_| {}), Err(RefineError::ViewOfTicks(_))));
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}

/// A view that cannot be compared is not passed over.
#[test]
fn ticks_have_no_view() {
    let monitor = Monitor::builder().stamps(Stamps::Ticks { error: 1000 }).start().expect("a monitor");
    let registration = monitor.object("map", "map").expect("built in").view(View::Map);
    assert!(registration.watch().is_err());
    assert!(monitor.object("map", "map").and_then(|it| it.watch()).is_ok());
    assert!(monitor.finish().shortfalls().contains(&Shortfall::Nothing));
}

/// A record has room for 256 operations.
#[test]
fn too_many_operations() {
    let names: Vec<String> = (0..257).map(|number| format!("op{number}")).collect();
    let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
    let monitor = Monitor::start().expect("a monitor");
    assert!(monitor.object_with("many", Box::new(Odd::new(&names))).watch().is_err());
    assert!(monitor.object_with("enough", Box::new(Odd::new(&names[..256]))).watch().is_ok());
}

/// A log written by hand, frame by frame.
struct ByHand {
    words: Vec<u64>,
    counts: Counts,
}

impl ByHand {
    fn new() -> ByHand {
        ByHand { words: Vec::new(), counts: Counts::default() }
    }

    /// A record of object 0 without a value: 0 a call of operation `op`, 1 a commit, 5 a return.
    fn record(mut self, kind: u64, op: u64, stamp: u64) -> ByHand {
        self.words.extend([kind | op << 8 | 2 << 32, stamp]);
        self.counts.records += 1;
        if kind != 0 {
            self.counts.numbers += 1;
            self.counts.top = self.counts.top.max(stamp + 1);
        }
        self
    }

    /// The report about it; with the counts that `told` makes of the true ones, if any.
    fn refine(self, told: impl Fn(Counts) -> Option<Counts>) -> Report {
        let description = Description {
            name: "q".to_owned(),
            spec: "queue".to_owned(),
            view: "none".to_owned(),
            commits: "marked".to_owned(),
            operations: vec!["enqueue".to_owned(), "dequeue".to_owned()],
        };
        let mut log = Vec::new();
        let mut writer = Writer::new(&mut log, None).expect("room");
        let counts = told(self.counts).map(|counts| Frame::Counts(ObjectId(0), counts));
        let frames = [
            Frame::Object(ObjectId(0), description),
            Frame::Thread(ThreadId(0), "t".to_owned()),
            Frame::Records(ThreadId(0), self.words),
        ];
        for frame in frames.into_iter().chain(counts).chain([Frame::End(1)]) {
            writer.frame(&frame).expect("room");
        }
        writer.flush().expect("room");
        drop(writer);
        let length = log.len() as u64;
        refine_from(&log[..], length, &Refine::default(), &mut |_| {}).expect("a log").report
    }
}

/// A dequeue of nothing that looked at `look` numbers.
fn dequeue(look: u64) -> ByHand {
    ByHand::new().record(0, 1, look).record(1, 0, 0).record(5, 0, 1)
}

#[test]
fn a_log_that_does_not_say_how_much_was_written_does_not_refine() {
    let report = dequeue(0).refine(Some);
    assert_eq!(report.conclusion(), Conclusion::Clean, "{report}");
    let report = dequeue(0).refine(|_| None);
    assert_eq!(report.conclusion(), Conclusion::Unknown, "{report}");
    assert!(report.to_string().contains("does not say how many records"), "{report}");
    for wrong in [Counts { numbers: 3, ..Counts::default() }, Counts { top: 9, ..Counts::default() }] {
        let told = |true_ones: Counts| {
            let Counts { numbers, top, .. } = wrong;
            Some(Counts { numbers: numbers.max(true_ones.numbers), top: top.max(true_ones.top), ..true_ones })
        };
        let report = dequeue(0).refine(told);
        assert_eq!(report.conclusion(), Conclusion::Unknown, "{report}");
        assert!(report.to_string().contains("q: 2 records with numbers below 2 were judged"), "{report}");
    }
}

/// One number, two objects: nobody knows whose records these are.
#[test]
fn an_object_that_is_registered_twice_is_unknown() {
    let object = |name: &str, spec: &str| {
        Frame::Object(
            ObjectId(0),
            Description {
                name: name.to_owned(),
                spec: spec.to_owned(),
                view: "none".to_owned(),
                commits: "marked".to_owned(),
                operations: vec!["enqueue".to_owned(), "dequeue".to_owned()],
            },
        )
    };
    for (name, spec) in [("q", "queue"), ("p", "queue"), ("q", "stack")] {
        let dequeue = dequeue(0);
        let mut log = Vec::new();
        let mut writer = Writer::new(&mut log, None).expect("room");
        let frames = [
            object("q", "queue"),
            object(name, spec),
            Frame::Thread(ThreadId(0), "t".to_owned()),
            Frame::Records(ThreadId(0), dequeue.words),
            Frame::Counts(ObjectId(0), dequeue.counts),
            Frame::End(1),
        ];
        for frame in frames {
            writer.frame(&frame).expect("room");
        }
        writer.flush().expect("room");
        drop(writer);
        let length = log.len() as u64;
        let report = refine_from(&log[..], length, &Refine::default(), &mut |_| {}).expect("a log").report;
        assert_eq!(report.conclusion(), Conclusion::Unknown, "{report}");
        assert!(report.to_string().contains("are registered under one number"), "{report}");
    }
}

/// What committed and never answered says nothing, and counts for nothing.
#[test]
fn a_log_in_which_nothing_returned_is_unknown() {
    let report = ByHand::new().record(0, 1, 0).record(1, 0, 0).refine(Some);
    assert_eq!(report.conclusion(), Conclusion::Unknown, "{report}");
    assert_eq!((report.operations(), report.returned()), (1, 0));
    assert!(report.shortfalls().contains(&Shortfall::Nothing), "{report}");
    let report = dequeue(0).record(0, 1, 2).record(1, 0, 2).refine(Some);
    assert_eq!(report.conclusion(), Conclusion::Clean, "{report}");
    assert_eq!((report.operations(), report.returned()), (2, 1));
    assert!(report.to_string().contains("2 operations (1 of them pending)"), "{report}");
    let worth = linpoint_monitor::confidence::Worth::of(1).to_string();
    assert!(report.to_string().contains(&worth), "{report}");
}

/// A call cannot have seen the number that its own commit took.
#[test]
fn a_call_that_looked_beyond_its_commit_is_no_call() {
    let report = dequeue(1).refine(Some);
    assert_eq!(report.conclusion(), Conclusion::Mistaken, "{report}");
    assert!(report.to_string().contains("looked at more numbers"), "{report}");
}
