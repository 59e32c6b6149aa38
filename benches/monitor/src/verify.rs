//! The verification thread's side: events of two threads on a map, from memory.

use linpoint_history::Value;
use linpoint_monitor::shadows::Entries;
use linpoint_monitor::{Checker, End, Event, Location, ObjectId, Setup, ThreadId, What, Write, models};

use crate::cpu_time;

const OPERATIONS: u64 = 1_000_000;
const KEYS: u64 = 1 << 12;

/// The events of two threads, in stretches of as many operations as a round takes from a ring. With `view`, updates carry their writes.
fn events(view: bool) -> Vec<Vec<Event>> {
    let mut random = 1u64;
    let mut map = std::collections::HashMap::new();
    let mut number = 0;
    let mut stretches = Vec::new();
    let mut both = [Vec::new(), Vec::new()];
    for at in 0..OPERATIONS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (key, value, choice) = (random >> 33 & (KEYS - 1), (random >> 20 & 0xffff) as i64, random >> 60);
        let thread = (at & 1) as usize;
        let mut push = |stamp, what| {
            let event = Event { thread: ThreadId(thread as u32), object: ObjectId(0), stamp, what };
            both[thread].push(event);
        };
        let int = |number: u64| Value::Int(number as i64);
        let option = |value: Option<i64>| value.map_or(Value::Null, Value::Int);
        let pair = || Value::list([int(key), Value::Int(value)]);
        let (op, arg, result, written) = match choice {
            0..4 => (0, pair(), option(map.insert(key, value)), Some(pair())),
            4..8 => (2, int(key), option(map.remove(&key)), Some(Value::Null)),
            _ => (1, int(key), option(map.get(&key).copied()), None),
        };
        push(number, What::Call { op, arg });
        let commit = match written {
            Some(value) if view => What::CommitBlock(vec![Write { location: Location(key), value }]),
            _ => What::Commit,
        };
        push(number, commit);
        push(number + 1, What::Return(result));
        number += 2;
        if at % 4096 == 4095 {
            stretches.extend(both.iter_mut().map(std::mem::take));
        }
    }
    stretches.extend(both);
    stretches
}

fn rate(view: bool) -> f64 {
    let mut best: f64 = 0.0;
    for _ in 0..5 {
        let stretches = events(view);
        let count: usize = stretches.iter().map(Vec::len).sum();
        let mut setup = Setup::new(ObjectId(0), models::by_name("map").expect("it is built in"));
        if view {
            setup = setup.with_view(Box::new(Entries::map()));
        }
        let start = cpu_time();
        let mut checker = Checker::new(setup);
        for (at, stretch) in stretches.into_iter().enumerate() {
            stretch.into_iter().for_each(|event| checker.push(event));
            if at % 2 == 1 {
                checker.advance();
            }
        }
        let summary = checker.finish(End::Complete);
        let spent = cpu_time() - start;
        assert!(summary.findings.is_empty(), "{:?}", summary.findings);
        assert_eq!(summary.operations, OPERATIONS);
        best = best.max(count as f64 / spent * 1e9);
    }
    best
}

/// Prints all rows.
pub fn all() {
    println!("| I/O refinement, a map of {KEYS} keys, half of the operations updates | {:.1}M |", rate(false) / 1e6);
    println!("| view refinement, the same | {:.1}M |", rate(true) / 1e6);
}
