//! The whole way from rows to a verdict against brute force: every history of up to four operations for every
//! built-in specification, and random ones of up to twelve.
//!
//! Each history goes through `check_rows` as a user's would: engines chosen automatically, ties settled,
//! witnesses rechecked, cores built. Random histories have distinct or repeated values, equal stamps,
//! touching operations of one process, pending operations, and in part initial contents, two objects told
//! apart by key, or lines in shuffled order. The verdict must be brute force's, and the core of a violation
//! must be wrong by itself. The depth-first engine, which `auto` seldom asks, decides each history as well.
//!
//! Of small histories that differ only in the names of two values one is enough, where the specification does
//! not compare values but for equality and starts with neither: renaming turns orders of the one into orders
//! of the other, and every engine and brute force see values by number. So the first value to appear is 0.
//!
//! `cargo run --release -p linpoint-check --example agreement random HISTORIES SEED [SPEC…]`: so many random
//! histories in all; with `small [SPEC…]` instead every small one. SPEC is a name with settings, such as
//! `queue:capacity=2`; without one all are run. Every history that is judged wrongly is printed.

#[allow(dead_code)]
#[path = "../tests/it/every.rs"]
mod every;
#[allow(dead_code)]
#[path = "../tests/it/small.rs"]
mod small;
#[allow(dead_code)]
#[path = "../tests/it/stream.rs"]
mod stream;

use std::time::Instant;

use linpoint_check::depth_first::DepthFirst;
use linpoint_check::engine::{self, Context};
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Options, Stop, Timeline, brute, check_rows};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, KeyId, Kind, Operation, Value, Verdict, specs};

/// Settings beyond the plain specifications.
const VARIANTS: [&str; 11] = [
    "queue:capacity=2",
    "queue:spurious",
    "stack:capacity=2",
    "stack:spurious",
    "queue:capacity=2:spurious",
    "deque:capacity=2",
    "deque:spurious",
    "set:capacity=2",
    "priority-queue:capacity=2",
    "priority-queue:spurious",
    "semaphore:capacity=2",
];

/// How histories of one specification were judged.
#[derive(Default)]
struct Tally {
    holds: u64,
    violated: u64,
    wrong: u64,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let small = match args.first().map(String::as_str) {
        Some("small") => true,
        Some("random") => false,
        _ => panic!("`small [SPEC…]` or `random HISTORIES SEED [SPEC…]`"),
    };
    let number = |index: usize| -> u64 {
        let text = args.get(index).expect("how many histories, and a seed");
        text.parse().expect("a number of histories, and a seed")
    };
    let mut names: Vec<&str> = args.iter().skip(if small { 1 } else { 3 }).map(String::as_str).collect();
    if names.is_empty() {
        names = Kind::all().map(|kind| kind.name()).chain(VARIANTS).collect();
    }
    let mut wrong = 0;
    println!("{:26} {:>10} {:>10} {:>6}", "", "hold", "violated", "wrong");
    for &name in &names {
        let spec = specs::parse(name).expect("a known specification");
        let started = Instant::now();
        let mut tally = Tally::default();
        if small {
            every_small(&spec, &mut tally);
        } else {
            let mut rng = Rng::new(number(2));
            for _ in 0..number(1).div_ceil(names.len() as u64) {
                let (spec, mut history) = random(&spec, &mut rng);
                judge(&spec, &mut history, &mut tally);
            }
        }
        let Tally { holds, violated, wrong: here } = tally;
        let seconds = started.elapsed().as_secs_f64();
        println!("{name:26} {holds:10} {violated:10} {here:6} {seconds:6.1} s");
        wrong += here;
    }
    println!("{wrong} judged wrongly");
    assert_eq!(wrong, 0);
}

/// Every history of up to four operations.
fn every_small(spec: &Builtin, tally: &mut Tally) {
    for (completed, pending) in [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (4, 0)] {
        let mut choices = every::choices(spec, 2, completed + pending);
        if choices.len().pow((completed + pending) as u32) > 100_000 {
            choices = every::choices(spec, 1, completed + pending); // One value where two would take an hour.
        }
        every::histories(spec, &choices, completed, pending, |history| {
            if !is_renaming(spec, history) {
                judge(spec, &mut history.clone(), tally);
            }
        });
    }
}

/// Is the history another one with the values 0 and 1 exchanged, which comes, too?
fn is_renaming(spec: &Builtin, history: &History) -> bool {
    use Kind::{CasRegister, Deque, List, Multiset, Queue, Register, Set, Stack};
    let by_name = [CasRegister, Deque, List, Multiset, Queue, Register, Set, Stack];
    let values = history.operations.iter().flat_map(|op| [op.arg, op.result]);
    let mut numbers = values.flat_map(|id| match history.symbols.value(id) {
        Value::List(items) => items.to_vec(),
        value => vec![value],
    });
    by_name.contains(&spec.kind) && numbers.find(|v| matches!(v, Value::Int(_))) == Some(Value::Int(1))
}

/// A random history of up to twelve operations, and the specification with the contents it begins with.
fn random(spec: &Builtin, rng: &mut Rng) -> (Builtin, History) {
    let distinct = rng.chance(0.5);
    let mut spec = spec.clone();
    if rng.chance(0.2)
        && let Some(initial) = contents(spec.kind, distinct, rng)
    {
        spec = spec.with_initial(initial);
    }
    let mut history = if rng.chance(0.1) {
        let parts = [0; 2].map(|_| small::history(&spec, &small::Taste::random(rng, 6, distinct), rng));
        keyed(&parts)
    } else {
        small::history(&spec, &small::Taste::random(rng, 12, distinct), rng)
    };
    if rng.chance(0.2) {
        shuffle(&mut history.operations, rng);
    }
    (spec, history)
}

/// What an object may begin with; distinct values are none that histories insert early.
fn contents(kind: Kind, distinct: bool, rng: &mut Rng) -> Option<Value> {
    let least = if distinct { 4 } else { 0 };
    let number = |index: u64| Value::Int(least + index as i64);
    match kind {
        Kind::Register | Kind::CasRegister | Kind::RmwRegister | Kind::Counter => Some(number(rng.below(3))),
        Kind::Map => Some(Value::list([Value::list([Value::Int(0), number(rng.below(3))])])),
        kind if kind.is_collection() => {
            let some: Vec<Value> = (0..1 + rng.below(2)).map(number).collect();
            Some(Value::list(some))
        }
        _ => None,
    }
}

/// Histories of different objects in one.
fn keyed(parts: &[History]) -> History {
    let mut whole = History::new();
    for (index, part) in parts.iter().enumerate() {
        let key = whole.symbols.key(&Value::Int(index as i64));
        for op in &part.operations {
            let name = Value::Int(1000 * index as i64 + i64::from(op.process().0));
            let mut row = Operation::new(whole.symbols.process(&name), op.op());
            (row.call, row.ret, row.key) = (op.call, op.ret, key);
            row.arg = whole.symbols.intern(&part.symbols.value(op.arg));
            row.result = whole.symbols.intern(&part.symbols.value(op.result));
            whole.operations.push(row);
        }
    }
    whole
}

/// Puts rows into a random order. Operations of one process stay in theirs: it decides where their stamps are
/// equal.
fn shuffle(rows: &mut [Operation], rng: &mut Rng) {
    for last in (1..rows.len()).rev() {
        let other = rng.below(last as u64 + 1) as usize;
        let between = &rows[other..=last];
        let alone = |row: &Operation| between.iter().filter(|r| r.process() == row.process()).count() == 1;
        if alone(&rows[other]) && alone(&rows[last]) {
            rows.swap(other, last);
        }
    }
}

/// Asks both, counts, and prints what they do not agree on.
fn judge(spec: &Builtin, history: &mut History, tally: &mut Tally) {
    let truth = objects(history).iter().all(|rows| holds(spec, rows, history));
    let options = Options { threads: 1, ..Options::default() };
    let answer = check_rows(history.operations.clone(), spec, &mut history.symbols, &options);
    let searched = depth_first(spec, history);
    let right = searched.is_none_or(|searched| searched == truth)
        && match answer.as_ref().map(|answer| &answer.verdict) {
            Ok(Verdict::Holds(_)) => truth,
            // A core with a start stands behind its prefix, and is tested with it.
            Ok(Verdict::Violated(found)) => {
                !truth && found.rechecked && (found.start.is_some() || !holds(spec, &found.core, history))
            }
            Ok(Verdict::Unknown(_)) | Err(_) => false,
        };
    if truth {
        tally.holds += 1;
    } else {
        tally.violated += 1;
    }
    if !right {
        tally.wrong += 1;
        let initial = &spec.initial;
        println!(
            "brute force says {truth}, depth first {searched:?}, from {initial}: {answer:?}\n{}\n",
            stream::draw(spec, history)
        );
    }
}

/// What the depth-first engine says of a history of one object; nothing where operations of one process
/// touch, which it reads more strictly.
fn depth_first(spec: &Builtin, history: &History) -> Option<bool> {
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    if timeline.has_touching() || history.symbols.key_count() > 0 {
        return None;
    }
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    match engine::run(&mut DepthFirst::new(spec.clone()), &cx, &timeline) {
        Ok(_) => Some(true),
        Err(Stop::Violated(_)) => Some(false),
        Err(Stop::Limit(_) | Stop::Unsupported(_)) => None,
    }
}

fn objects(history: &History) -> Vec<Vec<Operation>> {
    let mut keys: Vec<KeyId> = history.operations.iter().map(|op| op.key).collect();
    keys.sort_unstable();
    keys.dedup();
    let of = |key: &KeyId| history.operations.iter().copied().filter(|op| op.key == *key).collect();
    keys.iter().map(of).collect()
}

fn holds(spec: &Builtin, rows: &[Operation], history: &History) -> bool {
    brute::search(spec, rows, &history.symbols, &Budget::unlimited()).expect("no limit").holds()
}
