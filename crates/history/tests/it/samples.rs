//! Random histories with all kinds of values, and a way to write histories down that does not depend on
//! numbering.

use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Diagnostic, History, OpCode, Operation, Shape, Spec, Value, specs};

/// The specification called `name`.
pub fn spec(name: &str) -> Builtin {
    specs::parse(name).unwrap()
}

/// Reads bytes.
pub fn read(spec: &Builtin, format: Option<Format>, bytes: &[u8]) -> Result<History, Diagnostic> {
    let options = ReadOptions { format, file_name: Some("h".into()), ..ReadOptions::default() };
    formats::read_all(&Input::Bytes(bytes.to_vec()), spec, &options)
}

/// Writes to bytes.
pub fn write(format: Format, history: &History, spec: &Builtin) -> Vec<u8> {
    let mut bytes = Vec::new();
    formats::write(format, history, spec.signature(), &mut bytes).unwrap();
    bytes
}

/// One line an operation, in order of return: `3 k: enqueue(5) -> null [1,2]`.
pub fn show(history: &History, spec: &Builtin) -> String {
    let mut history = history.clone();
    history.operations.sort_by_key(|op| (op.ret, op.call));
    let line = |row: &Operation| {
        let symbols = &history.symbols;
        let ret = if row.is_pending() { "..".into() } else { row.ret.to_string() };
        format!(
            "{} {}: {}({}) -> {} [{},{ret}]\n",
            symbols.process_name(row.process()),
            symbols.key_name(row.key),
            spec.signature().decl(row.op()).name,
            symbols.value(row.arg),
            symbols.value(row.result),
            row.call,
        )
    };
    history.operations.iter().map(line).collect()
}

/// What a random history should have in it.
#[derive(Clone, Copy, Debug)]
pub struct Taste {
    /// Text, lists, large and negative numbers, rather than small integers.
    pub odd_values: bool,
    /// Processes with names.
    pub odd_processes: bool,
    pub keys: bool,
    /// Stamps from 0 without gaps, as event forms have them.
    pub event_stamps: bool,
}

/// A random history; results have the right shape and no other sense.
pub fn history(spec: &Builtin, operations: usize, taste: Taste, rng: &mut Rng) -> History {
    let mut history = History::new();
    let mut open: Vec<Operation> = Vec::new();
    let (mut clock, mut lanes) = (0, 0);
    let mut free: Vec<i64> = Vec::new();
    while history.operations.len() < operations {
        if !open.is_empty() && rng.chance(0.5) {
            let mut row = open.swap_remove(rng.below(open.len() as u64) as usize);
            if rng.chance(0.05) {
                row.ret = Operation::NEVER;
                history.operations.push(row);
                continue;
            }
            row.ret = clock;
            let shape = spec.signature().decl(row.op()).result;
            let result = value(shape, taste, rng);
            row.result = shape.normalise(history.symbols.intern(&result));
            free.push(history.symbols.process_name(row.process()).as_int().unwrap_or(-1));
            history.operations.push(row);
        } else {
            let name = match free.pop() {
                Some(n) if n >= 0 => Value::Int(n),
                _ => {
                    lanes += 1;
                    if taste.odd_processes {
                        Value::text(&format!("client {lanes}"))
                    } else {
                        Value::Int(lanes)
                    }
                }
            };
            let op = OpCode(rng.below(spec.signature().operations.len() as u64) as u8);
            let mut row = Operation::new(history.symbols.process(&name), op);
            row.call = clock;
            let shape = spec.signature().decl(op).arg;
            let arg = value(shape, taste, rng);
            row.arg = shape.normalise(history.symbols.intern(&arg));
            if taste.keys {
                row.key = history.symbols.key(&value(Shape::Item, taste, rng));
            }
            open.push(row);
        }
        clock += if taste.event_stamps { 1 } else { 1 + rng.below(1000) as i64 };
    }
    for mut row in open {
        row.ret = Operation::NEVER;
        history.operations.push(row);
    }
    history
}

fn value(shape: Shape, taste: Taste, rng: &mut Rng) -> Value {
    match shape {
        Shape::Own(_) => unreachable!("built-in specifications have shapes of their own"),
        Shape::Unit => Value::Null,
        Shape::Int => Value::Int(rng.below(100) as i64),
        Shape::Bool => Value::Bool(rng.chance(0.5)),
        Shape::Done => Value::Null,
        Shape::Text => Value::text("text"),
        Shape::Pair => Value::list([value(Shape::Any, taste, rng), value(Shape::Item, taste, rng)]),
        Shape::Entry => Value::list([value(Shape::Item, taste, rng), value(Shape::Any, taste, rng)]),
        Shape::Cell => Value::list([Value::Int(rng.below(9) as i64), value(Shape::Item, taste, rng)]),
        Shape::List => Value::list((0..rng.below(4)).map(|_| value(Shape::Any, taste, rng))),
        Shape::Item if taste.odd_values => rng.pick(&odd_values()).clone(),
        Shape::Item => Value::Int(rng.below(1000) as i64),
        Shape::Any | Shape::OptionalInt if rng.chance(0.3) => Value::Null,
        Shape::Any => value(Shape::Item, taste, rng),
        Shape::OptionalInt => value(Shape::Int, taste, rng),
    }
}

fn odd_values() -> Vec<Value> {
    vec![
        Value::Int(0),
        Value::Int(-7),
        Value::Int(i64::MIN),
        Value::Int(i64::MAX),
        Value::Int(0xC000_0000),
        Value::Int(0xBFFF_FFFF),
        Value::Int(12_345_678),
        Value::Int(1_234_567_890_123_456),
        Value::Bool(true),
        Value::Bool(false),
        Value::text(""),
        Value::text(" "),
        Value::text("plain"),
        Value::text("with, comma"),
        Value::text("with \"quotes\" and \\ and / and\nlines\r\n\tand \u{1} \u{7f}"),
        Value::text("ünïcödé 𝄞"),
        Value::text("null"),
        Value::text("12"),
        Value::text("-"),
        Value::text("[1,2]"),
        Value::text("; no comment"),
        Value::list([]),
        Value::list([Value::Int(1), Value::text("a b"), Value::list([Value::Null, Value::Bool(true)])]),
    ]
}
