//! How many events a second one checker takes, on streams made beforehand: `cargo run --release -p
//! linpoint-monitor --example checker_speed`.
//!
//! Prints events a second of CPU time of this thread, the best of several rounds: I/O refinement and view
//! refinement of a map of integers.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Instant;

use linpoint_history::Value;
use linpoint_history::rng::Rng;
use linpoint_monitor::shadows::Entries;
use linpoint_monitor::{
    Checker, Conclusion, End, Event, Location, ObjectId, Setup, ThreadId, What, Write, models,
};

const OPERATIONS: u64 = 1_000_000;
const KEYS: u64 = 10_000;
const THREADS: u32 = 4;
const BATCH: usize = 8192;

fn main() {
    for (name, with_view, writes) in [
        ("I/O refinement, half reads", false, 0.5),
        ("I/O refinement, writes only", false, 1.0),
        ("view refinement, half reads", true, 0.5),
        ("view refinement, writes only", true, 1.0),
    ] {
        let events = stream(with_view, writes);
        let best = (0..5).map(|_| round(&events, with_view)).fold(0.0, f64::max);
        println!("{name}: {:.1} M events/s", best / 1e6);
    }
}

fn round(events: &[Event], with_view: bool) -> f64 {
    let mut setup = Setup::new(ObjectId(0), models::by_name("map").expect("a specification"));
    if with_view {
        setup = setup.with_view(Box::new(Entries::map()));
    }
    let mut checker = Checker::new(setup);
    let mut seconds = 0.0;
    for batch in events.chunks(BATCH) {
        // Events come out of a ring, just decoded: so are these.
        let batch = batch.to_vec();
        let start = cpu_seconds();
        batch.into_iter().for_each(|event| checker.push(event));
        checker.advance();
        seconds += cpu_seconds() - start;
    }
    let summary = checker.finish(End::Complete);
    assert_eq!(summary.conclusion, Conclusion::Clean, "{:?}", summary.findings);
    assert_eq!(summary.operations, OPERATIONS);
    events.len() as f64 / seconds
}

/// Time this thread was running, where the system tells; else time that went by.
fn cpu_seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = ran.and_then(|text| text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()));
    nanos.map_or_else(|| START.get_or_init(Instant::now).elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}

/// A correct run of a map by several threads that take turns at every step.
fn stream(with_view: bool, writes: f64) -> Vec<Event> {
    let mut rng = Rng::new(7);
    let mut map: HashMap<u64, i64> = HashMap::new();
    let mut events = Vec::new();
    let mut open: Vec<Option<(What, Option<Value>)>> = vec![None; THREADS as usize];
    let (mut next, mut done, mut called) = (0u64, 0u64, 0u64);
    while done < OPERATIONS {
        let thread = rng.below(u64::from(THREADS)) as usize;
        let mut log = |what: What| {
            let stamp = next;
            next += u64::from(what.takes_number());
            events.push(Event { thread: ThreadId(thread as u32), object: ObjectId(0), stamp, what });
        };
        match open[thread].take() {
            None if called < OPERATIONS => {
                let key = rng.below(KEYS) as i64;
                let call = if rng.chance(writes) {
                    match rng.below(2) {
                        0 => What::Call {
                            op: 0,
                            arg: Value::list([Value::Int(key), Value::Int(called as i64)]),
                        },
                        _ => What::Call { op: 2, arg: Value::Int(key) },
                    }
                } else {
                    What::Call { op: 1, arg: Value::Int(key) }
                };
                log(call.clone());
                called += 1;
                open[thread] = Some((call, None));
            }
            None => {}
            Some((What::Call { op, arg }, None)) => {
                let key = arg.as_pair().map_or(&arg, |(key, _)| key).as_int().expect("a key") as u64;
                let (answer, held) = match op {
                    0 => {
                        let value = arg.as_pair().and_then(|(_, value)| value.as_int()).expect("a value");
                        (map.insert(key, value), Some(arg.clone()))
                    }
                    1 => (map.get(&key).copied(), None),
                    _ => (map.remove(&key), Some(Value::Null)),
                };
                match held {
                    Some(value) if with_view => {
                        log(What::CommitBlock(vec![Write { location: Location(key), value }]));
                    }
                    _ => log(What::Commit),
                }
                open[thread] = Some((What::Call { op, arg }, Some(answer.map_or(Value::Null, Value::Int))));
            }
            Some((_, Some(answer))) => {
                log(What::Return(answer));
                done += 1;
            }
            Some(_) => unreachable!("only calls are open"),
        }
    }
    events
}
