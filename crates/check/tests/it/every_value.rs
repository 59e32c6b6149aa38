//! Every specification with every type of value, from odd initial states: each engine, the stream and the
//! frontier against the oracle.
//!
//! The histories are small random ones over numbers, renamed: a renaming that keeps the order (which priority
//! queues see) must not change what is said, whether a value is its own number, has one in a table, or only
//! ever stands in a pair.

use linpoint_check::brute;
use linpoint_check::frontier::{self, Decision};
use linpoint_check::online::{Online, Promise};
use linpoint_check::portfolio::Choice;
use linpoint_check::{Budget, Options, check_rows};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind, Operation, Shape, Spec, Symbols, Value, Verdict, specs};

use crate::small::{self, Taste};

/// Values of every type, in their order.
fn values() -> Vec<Value> {
    let text = |text: &str| Value::text(text);
    let mut values = vec![Value::Bool(false), Value::Bool(true)];
    values.extend([i64::MIN, -2, -1, 0, 1, 0xBFFF_FFFF, 0xC000_0000, i64::MAX].map(Value::Int));
    values.extend(["", "a", "b", "ab"].map(text));
    values.extend([Value::list([]), Value::list([Value::Null]), Value::list([text("a"), Value::Int(-1)])]);
    values
}

/// The specifications, with their variants.
fn names() -> Vec<String> {
    let mut names: Vec<String> = Kind::all().map(|kind| kind.name().to_owned()).collect();
    for kind in Kind::all().filter(|kind| kind.is_collection()) {
        names.extend(
            [":spurious", ":capacity=2", ":capacity=2:spurious"].map(|s| format!("{}{s}", kind.name())),
        );
    }
    // Without a bound there is nothing that could be reported too soon.
    names.retain(|name| !["set:spurious", "multiset:spurious", "list:spurious"].contains(&name.as_str()));
    names.push("semaphore:capacity=2".to_owned());
    names
}

/// Does an operation of this object take and give any value?
fn is_renamed(kind: Kind) -> bool {
    use Kind::{Counter, Lock, RmwRegister, RwLock, Semaphore};
    !matches!(kind, Counter | RmwRegister | Lock | RwLock | Semaphore)
}

/// The same history with other values.
fn renamed(spec: &Builtin, history: &History, table: &[Value]) -> History {
    let mut symbols = Symbols::new();
    let rename = |value: &Value| match value {
        Value::Int(n) => table.get(*n as usize).cloned().unwrap_or(Value::Int(*n)),
        other => other.clone(),
    };
    let value = |value: &Value, shape: Shape| match (value, shape) {
        // A cell of a snapshot stays a number.
        (Value::List(items), Shape::Cell) => Value::list([items[0].clone(), rename(&items[1])]),
        (Value::List(items), _) => Value::list(items.iter().map(rename)),
        (other, Shape::Bool | Shape::Done | Shape::Unit | Shape::Int | Shape::OptionalInt) => other.clone(),
        (_, Shape::Text) => Value::text("x"),
        (other, _) => rename(other),
    };
    let rows = history.operations.iter().map(|row| {
        let decl = spec.signature().decl(row.op());
        let mut row = *row;
        symbols.process(&history.symbols.process_name(row.process()));
        row.arg = symbols.intern(&value(&history.symbols.value(row.arg), decl.arg));
        row.result = symbols.intern(&value(&history.symbols.value(row.result), decl.result));
        row
    });
    let operations = rows.collect();
    History { operations, symbols }
}

/// A value or contents to start with, in any of their forms.
fn initial(spec: &Builtin, table: &[Value], rng: &mut Rng) -> Option<Value> {
    let one = |rng: &mut Rng| rng.pick(table).clone();
    let several = |rng: &mut Rng, null: bool| {
        let count = rng.below(4);
        let item = |rng: &mut Rng| if null && rng.chance(0.4) { Value::Null } else { one(rng) };
        Value::list((0..count).map(|_| item(rng)).collect::<Vec<_>>())
    };
    match spec.kind {
        Kind::Register | Kind::CasRegister | Kind::Kv => Some(one(rng)),
        Kind::Counter | Kind::RmwRegister => Some(Value::Int(*rng.pick(&[-1, 0, 1, i64::MAX, i64::MIN]))),
        Kind::Snapshot => Some(several(rng, true)),
        Kind::Map => {
            let pair = |rng: &mut Rng| Value::list([one(rng), one(rng)]);
            Some(Value::list((0..rng.below(3)).map(|_| pair(rng)).collect::<Vec<_>>()))
        }
        // Not more than there is room for.
        kind if kind.is_collection() => match several(rng, false) {
            Value::List(items) => {
                Some(Value::list(items.iter().take(spec.capacity.unwrap_or(usize::MAX)).cloned()))
            }
            other => Some(other),
        },
        _ => None,
    }
}

/// What the stream says, where no operation of a process begins at the stamp at which the last one ended.
fn online(spec: &Builtin, history: &History) -> Option<Verdict> {
    let mut events: Vec<(i64, bool, usize)> = Vec::new();
    for (index, row) in history.operations.iter().enumerate() {
        let touches = |other: &Operation| other.process() == row.process() && other.ret == row.call;
        if history.operations.iter().any(|other| touches(other) && !std::ptr::eq(other, row)) {
            return None;
        }
        events.push((row.call, false, index));
        if !row.is_pending() {
            events.push((row.ret, true, index));
        }
    }
    events.sort_unstable();
    let mut online = Online::new(spec.clone(), Promise::None, Budget::unlimited());
    for (_, returns, index) in events {
        let row = &history.operations[index];
        let process = history.symbols.process_name(row.process());
        let step = if returns {
            online.ret(&process, &history.symbols.value(row.result))
        } else {
            online.call(&process, spec.signature().decl(row.op()).name, &history.symbols.value(row.arg))
        };
        step.expect("the events fit");
    }
    Some(online.finish())
}

#[track_caller]
fn agree(spec: &Builtin, history: &History, about: &str) {
    let rows = &history.operations;
    let budget = Budget::unlimited();
    let holds = brute::search(spec, rows, &history.symbols, &budget).expect("no limits").holds();
    let said = |verdict: &Verdict| match verdict {
        Verdict::Holds(_) => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    };
    for choice in [Choice::Auto, Choice::Monitor, Choice::Metastate, Choice::Search, Choice::Brute] {
        let options = Options { choice, ..Options::default() };
        let answer = check_rows(rows.clone(), spec, &mut history.symbols.clone(), &options)
            .unwrap_or_else(|error| panic!("{about}, {choice:?}: {error}"));
        let verdict = said(&answer.verdict);
        let may_refuse = matches!(choice, Choice::Monitor | Choice::Metastate);
        assert!(verdict == Some(holds) || verdict.is_none() && may_refuse, "{about}, {choice:?}: {answer:?}");
    }
    let second = frontier::decide(spec, &spec.initial(), rows, &history.symbols, &budget).expect("no limits");
    assert_eq!(matches!(second, Decision::Linearizable), holds, "{about}, frontier");
    if let Some(verdict) = online(spec, history) {
        assert_eq!(said(&verdict), Some(holds), "{about}, online: {verdict:?}");
    }
}

#[test]
fn every_specification_with_every_type_of_value() {
    let all = values();
    for name in names() {
        let plain = specs::parse(&name).expect("a specification");
        for seed in 0..60 {
            let mut rng = Rng::new(seed);
            let taste = Taste::random(&mut rng, 7, seed % 3 == 0);
            let history = small::history(&plain, &taste, &mut rng);
            // A window of values in their order: those of a history are below eight.
            let mut table: Vec<Value> = all.clone();
            while table.len() > 8 {
                let out = rng.below(table.len() as u64) as usize;
                table.remove(out);
            }
            if !small::has_returns(&history) {
                continue;
            }
            let history = if is_renamed(plain.kind) { renamed(&plain, &history, &table) } else { history };
            let start = initial(&plain, &table, &mut rng).filter(|_| seed % 2 == 0);
            let about = format!("{name}, seed {seed}, from {start:?}");
            let spec = match start {
                Some(start) => plain.clone().starting_from(start).expect("it fits"),
                None => plain.clone(),
            };
            agree(&spec, &history, &about);
        }
    }
}

/// A snapshot has no cells after the last that is not null, however its start was written.
#[test]
fn a_snapshot_may_start_with_nulls_at_its_end() {
    let spec = specs::parse("snapshot").expect("a specification");
    for (start, shown, holds) in [
        ("[1,null]", "[1]", true),
        ("[1,null]", "[1,null,null]", true),
        ("[null,null]", "[]", true),
        ("[null,1]", "[null,1]", true),
        ("[null,1]", "[1]", false),
    ] {
        let list = |text: &str| {
            let items = text.trim_matches(['[', ']']).split(',').filter(|item| !item.is_empty());
            Value::list(items.map(|item| item.parse().map_or(Value::Null, Value::Int)))
        };
        let spec = spec.clone().starting_from(list(start)).expect("it fits");
        let mut history = History::new();
        let process = history.symbols.process(&Value::Int(0));
        let mut row = Operation::new(process, linpoint_history::specs::codes::snapshot::SCAN);
        (row.call, row.ret, row.result) = (1, 2, history.symbols.intern(&list(shown)));
        history.operations.push(row);
        let found = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
        assert_eq!(found.expect("no limits").holds(), holds, "{start}, {shown}");
        agree(&spec, &history, start);
    }
}
