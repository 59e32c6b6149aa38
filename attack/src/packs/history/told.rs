//! Histories of the corpus, recorded from real servers, and generated ones of every specification, told differently: other values, processes, stamps and orders of lines; a process
//! that ends early; an object that nobody complains about beside it. The verdict must stay, or change in the one direction that is possible.

use std::path::Path;

use linpoint_check::{Options, check_rows};
use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::generate::{self, Plan, Spoil, Values};
use linpoint_history::history::return_order;
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, KeyId, Kind, Operation, ProcessId, Spec, Value, Verdict, specs};

use crate::pack::{Pack, Round};

/// The pack of this file.
pub(super) const PACK: Pack = Pack {
    engine: "history",
    name: "history-told-differently",
    about: "recorded and generated histories with other values, processes, stamps, orders of lines, ends and neighbours: the verdict must stay",
    round,
};

/// A history whose verdict is known.
struct Known {
    spec: Builtin,
    history: History,
    linearizable: bool,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Values, one for one, in the same order; some of them near the ends of their type.
    Values,
    /// Processes get each other's numbers.
    Processes,
    /// All stamps are multiplied and moved.
    Stamps,
    /// The rows stand in another order.
    Rows,
    /// Nothing after a moment is known: what is open then never returns. What was linearizable stays so.
    End,
    /// Another object of which one operation is known.
    Neighbour,
}

const CHANGES: [Change; 6] =
    [Change::Values, Change::Processes, Change::Stamps, Change::Rows, Change::End, Change::Neighbour];

fn round(rng: &mut Rng) -> Round {
    let known = if rng.chance(0.2) { recorded(rng) } else { made(rng) };
    let Some(mut known) = known else { return Round::Agreed(0) };
    let mut done = Vec::new();
    for _ in 0..1 + rng.below(3) {
        let change = *rng.pick(&CHANGES);
        if !done.contains(&change) && apply(change, &mut known, rng) {
            done.push(change);
        }
    }
    let text = text(&known);
    let options = Options { threads: 1 + rng.below(2) as usize, ..Options::default() };
    let History { operations, mut symbols } = known.history;
    let said = match check_rows(operations, &known.spec, &mut symbols, &options) {
        Ok(answer) => answer.verdict,
        Err(error) => {
            let judge = "every verdict is rechecked";
            return Round::disagreed(error.to_string(), judge, text, format!("{done:?}"));
        }
    };
    // Without its end, a history that was wrong may be right.
    let may_be_right = done.contains(&Change::End);
    let agree = match said {
        Verdict::Holds(_) => known.linearizable || may_be_right,
        Verdict::Violated(_) => !known.linearizable,
        // A prefix in which nothing returned says nothing.
        Verdict::Unknown(_) => may_be_right,
    };
    if agree {
        return Round::Agreed(1);
    }
    let judge = if known.linearizable { "linearizable as it was" } else { "not linearizable as it was" };
    let command = format!("linpoint check FILE --spec {}, after {done:?}", known.spec.kind.name());
    Round::disagreed(format!("{said:?}"), judge, text, command)
}

/// As lines, to be looked at.
fn text(known: &Known) -> String {
    let mut out = Vec::new();
    match formats::write(Format::JsonLines, &known.history, known.spec.signature(), &mut out) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(error) => error.to_string(),
    }
}

/// A history of the corpus.
fn recorded(rng: &mut Rng) -> Option<Known> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/histories");
    let expected = std::fs::read_to_string(folder.join("expected.csv")).ok()?;
    let rows: Vec<&str> = expected.lines().skip(1).collect();
    let mut fields = rng.pick(&rows).split(',');
    let (file, spec, verdict) = (fields.next()?, fields.next()?, fields.next()?);
    let spec = specs::parse(spec).ok()?;
    let history = formats::read_all(&Input::File(folder.join(file)), &spec, &ReadOptions::default()).ok()?;
    Some(Known { spec, history, linearizable: verdict == "linearizable" })
}

/// A history that was made, right or wrong.
fn made(rng: &mut Rng) -> Option<Known> {
    let names = "register,cas-register,rmw-register,kv,queue,queue:capacity=3,queue:spurious,stack,stack:capacity=2,deque,priority-queue,priority-queue-max,set,multiset,multiset:capacity=3,list,map,counter,lock,rw-lock,semaphore,snapshot";
    let names: Vec<&str> = names.split(',').collect();
    let spec = specs::parse(names[rng.below(names.len() as u64) as usize]).ok()?;
    let plan = Plan {
        processes: 2 + rng.below(4) as u32,
        operations: 10 + rng.below(80),
        seed: rng.bits(),
        values: if rng.chance(0.5) { Values::Distinct } else { Values::Repeated(1 + rng.below(6) as u32) },
        pending: if rng.chance(0.3) { 0.05 } else { 0.0 },
        keys: if rng.chance(0.3) { 3 } else { 0 },
        ..Plan::new(spec.clone())
    };
    let (history, spoiled) = generate::history(&plan, rng.chance(0.5).then(Spoil::default)).ok()?;
    Some(Known { spec, history, linearizable: spoiled.is_none() })
}

/// Changes a history; `false` if there is nothing to change.
fn apply(change: Change, known: &mut Known, rng: &mut Rng) -> bool {
    let rows = &mut known.history.operations;
    if rows.is_empty() {
        return false;
    }
    match change {
        Change::Values => return other_values(known, rng),
        Change::Processes => {
            let most = rows.iter().map(|row| row.process().0).max().unwrap_or(0);
            let turn = rng.below(u64::from(most) + 1) as u32;
            for row in rows {
                let process = (row.process().0 + turn) % (most + 1);
                *row = of_process(row, process);
            }
        }
        Change::Stamps => {
            let ends = rows.iter().filter(|row| !row.is_pending()).map(|row| row.ret);
            let most = ends.chain(rows.iter().map(|row| row.call)).map(i64::saturating_abs).max();
            // As far apart as they go.
            let scale = 1 + rng.below(((1 << 61) / most.unwrap_or(1).max(1)).max(1) as u64) as i64;
            let shift = rng.below(1 << 61) as i64 - (1 << 60);
            for row in rows {
                row.call = row.call * scale + shift;
                row.ret = if row.is_pending() { row.ret } else { row.ret * scale + shift };
            }
        }
        Change::Rows => {
            // Where an operation of a process begins as another ends, the order of rows says which was first.
            if touch(rows) {
                return false;
            }
            for at in (1..rows.len()).rev() {
                rows.swap(at, rng.below(at as u64 + 1) as usize);
            }
        }
        Change::End => {
            let end = rows[rng.below(rows.len() as u64) as usize].call;
            rows.retain(|row| row.call <= end);
            for row in rows.iter_mut().filter(|row| row.ret > end) {
                row.ret = Operation::NEVER;
            }
            rows.sort_by_key(return_order);
        }
        Change::Neighbour => {
            // One object without a name has no neighbours.
            if rows.iter().any(|row| row.key == KeyId::NONE) {
                return false;
            }
            // A copy of an operation that comes to its end alone, before everything else, and never returns, of a process and an object of its own: it may be left out.
            let first = rows.iter().map(|row| row.call).min().unwrap_or(0);
            let key = known.history.symbols.key(&Value::text("neighbour"));
            let process = known.history.symbols.process(&Value::text("stranger"));
            let mut stranger = of_process(&rows[0], process.0);
            (stranger.key, stranger.call, stranger.ret) = (key, first, Operation::NEVER);
            rows.push(stranger);
        }
    }
    true
}

fn of_process(row: &Operation, process: u32) -> Operation {
    let mut other = Operation::new(ProcessId(process), row.op());
    (other.call, other.ret, other.arg, other.result, other.key) =
        (row.call, row.ret, row.arg, row.result, row.key);
    other
}

/// Does an operation begin at the stamp at which another one of its process ends?
fn touch(rows: &[Operation]) -> bool {
    let mut ends: Vec<(u32, i64)> = rows.iter().map(|row| (row.process().0, row.ret)).collect();
    ends.sort_unstable();
    rows.iter().any(|row| ends.binary_search(&(row.process().0, row.call)).is_ok())
}

/// Other values in the same order, where values mean nothing but themselves.
fn other_values(known: &mut Known, rng: &mut Rng) -> bool {
    match known.spec.kind {
        Kind::Register | Kind::CasRegister | Kind::Queue | Kind::Stack | Kind::Deque => {}
        Kind::PriorityQueue | Kind::PriorityQueueMax | Kind::Set | Kind::Multiset | Kind::List => {}
        // Values are added up, put together, counted, lengths, or indices.
        Kind::RmwRegister | Kind::Counter | Kind::Kv | Kind::Snapshot | Kind::Map => return false,
        Kind::Lock | Kind::RwLock | Kind::Semaphore | Kind::Own => return false,
    }
    const MOST: i64 = 1_000_000_000;
    let ends = rng.below(3);
    let other = move |number: i64| match ends {
        0 => Value::Int(i64::MAX - MOST + number),
        1 => Value::Int(i64::MIN + MOST + number),
        // The order of the letters is that of the numbers.
        _ => Value::text(&format!("v{:010}", number + MOST)),
    };
    let History { operations, symbols } = &mut known.history;
    let large = |value| largest(&symbols.value(value)) > MOST;
    if operations.iter().any(|row| large(row.arg) || large(row.result)) {
        return false;
    }
    for row in operations {
        for value in [&mut row.arg, &mut row.result] {
            let changed = mapped(&symbols.value(*value), &other);
            *value = symbols.intern(&changed);
        }
    }
    true
}

/// A value with all its numbers changed.
fn mapped(value: &Value, other: &dyn Fn(i64) -> Value) -> Value {
    match value {
        Value::Int(number) => other(*number),
        Value::List(items) => Value::list(items.iter().map(|item| mapped(item, other))),
        Value::Null | Value::Bool(_) | Value::Str(_) => value.clone(),
    }
}

/// The size of its largest number.
fn largest(value: &Value) -> i64 {
    match value {
        Value::Int(number) => number.saturating_abs(),
        Value::List(items) => items.iter().map(largest).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Str(_) => 0,
    }
}
