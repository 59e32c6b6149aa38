//! Models, payloads and callbacks that do what they should not: what comes of it, and what is left.

use std::any::Any;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use linpoint_history::{Call, OpDecl, Operation, Shape, Signature, Value};
use linpoint_monitor::payload::Form;
use linpoint_monitor::replay::{Refine, refine};
use linpoint_monitor::{
    Applied, Conclusion, Model, Monitor, Object, Pair, Payload, Reaction, Report, Shortfall, Streamed,
};

/// A model with these operations that allows everything, until it is told to panic.
pub struct Odd {
    signature: Signature,
    panics: Arc<AtomicBool>,
}

impl Odd {
    pub fn new(names: &[&'static str]) -> Odd {
        Odd::that_panics(names, Arc::default())
    }

    pub fn that_panics(names: &[&'static str], panics: Arc<AtomicBool>) -> Odd {
        let decl = |name: &&'static str| OpDecl { name, aliases: &[], arg: Shape::Any, result: Shape::Any };
        Odd { signature: Signature { operations: names.iter().map(decl).collect() }, panics }
    }
}

impl Model for Odd {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn apply(&mut self, _call: Call<'_>, _result: &Value, _touched: &mut Vec<Value>) -> Applied {
        assert!(!self.panics.load(Ordering::Relaxed), "an odd model");
        Applied::Yes
    }

    fn apply_pending(&self, _call: Call<'_>) -> Vec<Box<dyn Model>> {
        vec![self.fork()]
    }

    fn view(&self, _key: &Value) -> Value {
        Value::Null
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        Vec::new()
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(Odd { signature: self.signature.clone(), panics: Arc::clone(&self.panics) })
    }

    fn same(&self, _other: &dyn Model) -> bool {
        true
    }

    fn digest(&self) -> u64 {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn show(&self) -> String {
        "anything".to_owned()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn get(object: &Object, key: u64, value: Option<u64>) {
    let op = object.call(object.op("get"), key);
    op.commit();
    op.returns(value);
}

fn map(monitor: &Monitor, name: &str) -> Object {
    monitor.object(name, "map").and_then(|object| object.watch()).expect("built in")
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

#[track_caller]
fn panics(what: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(what)).is_err(), "it panics");
}

/// Conversions that panic, at the first word or in the middle.
struct Panics(u32);

impl Payload for Panics {
    fn code(&self, put: &mut impl FnMut(u64)) {
        for _ in 0..self.0 {
            put(3);
        }
        panic!("an odd value");
    }
}

/// An operation whose answer cannot be logged is pending, and one whose argument cannot be logged never
/// began.
#[test]
fn values_that_panic() {
    for words in 0..3 {
        let monitor = Monitor::start().expect("a monitor");
        let object = map(&monitor, "map");
        get(&object, 1, None);
        panics(|| drop(object.call(object.op("get"), Panics(words))));
        get(&object, 1, None);
        panics(|| {
            let op = object.call(object.op("get"), 2u64);
            op.commit();
            op.returns(Panics(words));
        });
        panics(|| {
            let op = object.call(object.op("get"), 2u64);
            op.commit_block(|block| block.write(1, Panics(words)));
        });
        panics(|| object.write(1, Panics(words)));
        get(&object, 1, None);
        let report = monitor.finish();
        report.assert_clean();
        assert_eq!(report.operations(), 4, "{report}");
    }
}

fn nested(depth: u32) -> Value {
    (0..depth).fold(Value::Int(1), |value, _| Value::list([value]))
}

/// A record that cannot be read is lost, and said to be; everything else is judged.
#[test]
fn values_that_are_nested_too_deep() {
    for place in ["argument", "result", "write", "block", "none"] {
        let log = scratch(&format!("deep-{place}.linlog"));
        let monitor = Monitor::builder().log_file(&log).start().expect("a monitor");
        let register =
            |name: &str| monitor.object(name, "register").and_then(|it| it.watch()).expect("built in");
        let (deep, other) = (register("deep"), register("other"));
        let value = |here: &str| nested(if here == place { 100 } else { 60 });
        for _ in 0..2 {
            let op = deep.call(deep.op("write"), value("argument"));
            deep.write(1, value("write"));
            deep.block(|block| block.write(1, value("block")));
            op.commit();
            op.returns(());
            let op = deep.call(deep.op("read"), ());
            op.commit();
            op.returns(value("result"));
        }
        let op = other.call(other.op("read"), ());
        op.commit();
        op.returns(1u64);
        let report = monitor.finish();
        let refined = refine(&log, &Refine::default(), &mut |_| {}).expect("a log");
        assert!(refined.closed, "{}", refined.report);
        for report in [&report, &refined.report] {
            assert_eq!(report.conclusion(), Conclusion::Violated, "{place}: {report}");
            let conclusions = report.objects.iter().map(|judged| judged.summary.conclusion);
            let expected = if place == "none" { Conclusion::Clean } else { Conclusion::Unknown };
            assert_eq!(
                conclusions.collect::<Vec<_>>(),
                [expected, Conclusion::Violated],
                "{place}: {report}"
            );
        }
        assert_eq!(report.lost > 0, place != "none", "{place}: {report}");
        std::fs::remove_file(&log).expect("it is there");
    }
}

/// A value that logs to another object while it is logged.
struct Logs<'a>(&'a Object, Form);

impl Payload for Logs<'_> {
    fn form(&self) -> Form {
        self.1
    }

    fn write(&self, put: &mut impl FnMut(u64)) {
        if self.1 == Form::Coded {
            return self.code(put);
        }
        get(self.0, 5, None);
        put(7);
    }

    fn code(&self, put: &mut impl FnMut(u64)) {
        put(3);
        get(self.0, 5, None);
        put(7);
    }
}

/// What it logs is whole, or told to be lost; the record that it is in is whole.
#[test]
fn values_that_log() {
    for form in [Form::Int, Form::Coded] {
        let monitor = Monitor::start().expect("a monitor");
        let (outer, inner) = (map(&monitor, "outer"), map(&monitor, "inner"));
        let op = outer.call(outer.op("insert"), Pair(1u64, 7u64));
        op.commit();
        op.returns(());
        for _ in 0..10 {
            let op = outer.call(outer.op("get"), 1u64);
            op.commit();
            op.returns(Logs(&inner, form));
        }
        let report = monitor.finish();
        let [outer, inner] = &report.objects[..] else { panic!("{report}") };
        assert_eq!((outer.summary.conclusion, outer.summary.operations), (Conclusion::Clean, 11), "{report}");
        if form == Form::Int {
            report.assert_clean();
            assert_eq!(inner.summary.operations, 10);
        } else {
            assert!(report.lost > 0, "{report}");
            assert_eq!(inner.summary.conclusion, Conclusion::Unknown, "{report}");
        }
    }
    // In the middle of a block.
    let monitor = Monitor::start().expect("a monitor");
    let (outer, inner) = (map(&monitor, "outer"), map(&monitor, "inner"));
    let op = outer.call(outer.op("get"), 1u64);
    op.commit_block(|block| block.write(1, Logs(&inner, Form::Coded)));
    op.returns(());
    let report = monitor.finish();
    assert!(report.lost > 0, "{report}");
    assert_eq!(report.conclusion(), Conclusion::Unknown, "{report}");
}

/// After the end nobody is told of what was found but by the report; nor is a thread that panics already.
#[test]
fn a_panic_at_the_next_call_has_its_limits() {
    struct InDrop(Object);
    impl Drop for InDrop {
        fn drop(&mut self) {
            get(&self.0, 1, None);
        }
    }
    let monitor = Monitor::builder().reaction(Reaction::Panic).start().expect("a monitor");
    let object = map(&monitor, "map");
    get(&object, 1, Some(1));
    while monitor.findings().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let said = catch_unwind(AssertUnwindSafe(|| {
        let _in_drop = InDrop(object.clone());
        get(&object, 1, None);
    }));
    assert!(said.expect_err("it panics once").downcast::<String>().expect("a text").contains("map"));
    assert_eq!(monitor.finish().conclusion(), Conclusion::Violated);
    get(&object, 1, None);
}

#[track_caller]
fn told(report: &Report, what: &str) {
    let short = report.shortfalls();
    let said = |short: &Shortfall| matches!(short, Shortfall::Panicked { what: it, .. } if it.contains(what));
    assert!(short.iter().any(said), "{report}");
    assert!(report.to_string().contains("an odd "), "{report}");
}

/// A callback, a listener or a model that panics: the rest is judged and reported, and the verdict says what
/// is missing.
#[test]
fn callbacks_and_models_that_panic() {
    for verifiers in [1, 2] {
        let settings = || Monitor::builder().verifiers(verifiers);
        let monitor = settings().on_finding(|_, _| panic!("an odd callback")).start().expect("a monitor");
        let (wrong, right) = (map(&monitor, "wrong"), map(&monitor, "right"));
        get(&wrong, 1, Some(1));
        (0..1000).for_each(|key| get(&right, key, None));
        let report = monitor.finish();
        assert_eq!(report.conclusion(), Conclusion::Violated, "{report}");
        assert_eq!(report.objects[1].summary.operations, 1000, "{report}");
        told(&report, "on_finding");

        let monitor = settings().stream(|_| panic!("an odd listener")).start().expect("a monitor");
        let object = map(&monitor, "map");
        (0..1000).for_each(|key| get(&object, key, None));
        let report = monitor.finish();
        assert_eq!((report.conclusion(), report.operations()), (Conclusion::Unknown, 1000), "{report}");
        told(&report, "listener");

        for early in [true, false] {
            let monitor = settings().start().expect("a monitor");
            let odd = Arc::new(AtomicBool::new(early));
            let model = Odd::that_panics(&["get"], Arc::clone(&odd));
            let object = monitor.object_with("odd", Box::new(model)).watch().expect("few objects");
            let right = map(&monitor, "right");
            get(&object, 1, None);
            odd.store(true, Ordering::Relaxed);
            (0..1000).for_each(|key| get(&right, key, None));
            get(&object, 1, None);
            let report = monitor.finish();
            assert_eq!(report.conclusion(), Conclusion::Unknown, "{report}");
            assert_eq!(report.objects[0].summary.conclusion, Conclusion::Unknown, "{report}");
            assert_eq!(report.objects[1].summary.conclusion, Conclusion::Clean, "{report}");
            assert!(report.to_string().contains("an odd model"), "{report}");
        }
    }
}

/// Rows of objects with one name have several keys; a process does nothing after an operation that is
/// pending.
#[test]
fn streams_tell_objects_and_processes_apart() {
    let rows = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&rows);
    let listener = move |streamed: Streamed<'_>| into.lock().expect("nobody panics").extend(streamed.rows);
    let monitor = Monitor::builder().stream(listener).start().expect("a monitor");
    let object =
        || monitor.object("same", "map").and_then(|it| it.without_commits().watch()).expect("built in");
    let (first, second) = (object(), object());
    for _ in 0..3 {
        for object in [&first, &second] {
            object.call(object.op("get"), 1u64).returns(());
            drop(object.call(object.op("get"), 2u64));
        }
    }
    monitor.finish().assert_clean();
    let mut rows = std::mem::take(&mut *rows.lock().expect("nobody panics"));
    assert_eq!(rows.len(), 12);
    let mut keys: Vec<_> = rows.iter().map(|row| row.key).collect();
    keys.dedup();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 2, "{rows:?}");
    rows.sort_by_key(|row| row.call);
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.ret == Operation::NEVER) {
        assert!(rows[at + 1..].iter().all(|later| later.process() != row.process()), "{rows:?}");
    }
}

/// Connections that say nothing hold up neither the page nor the end.
#[test]
fn a_page_with_silent_visitors() {
    let monitor =
        Monitor::builder().status_page("127.0.0.1:0").expect("an address").start().expect("a monitor");
    let address = monitor.page().expect("there is one");
    let connect = || TcpStream::connect(address).expect("someone listens");
    let silent: Vec<TcpStream> = (0..20).map(|_| connect()).collect();
    let start = Instant::now();
    let mut asks = connect();
    asks.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it is read");
    let mut answer = String::new();
    asks.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains("linpoint_events_total"), "{answer}");
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    let start = Instant::now();
    drop(monitor.finish());
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    drop(silent);
}
