//! Small random histories for differential tests: a few lanes, ties in most, empties, left-overs, pending
//! operations, repeated values if wanted. Results come from a random order that explains them, and about half
//! of the histories then have something changed, so that roughly a quarter cannot be explained.

use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Call, History, Kind, OpCode, Operation, Spec, Value};

/// What histories should look like.
#[derive(Clone, Copy, Debug)]
pub struct Taste {
    pub lanes: u64,
    pub operations: u64,
    /// Values are below this; `0`: every inserted value is new.
    pub values: u64,
    pub pending: f64,
    /// How likely a result is changed.
    pub spoil: f64,
    /// Stamps are below this; small: many ties.
    pub stamps: u64,
}

impl Taste {
    /// A random taste, small enough for the oracle.
    pub fn random(rng: &mut Rng, max_operations: u64, distinct: bool) -> Taste {
        let operations = 2 + rng.below(max_operations - 1);
        Taste {
            lanes: 1 + rng.below(5),
            operations,
            values: if distinct { 0 } else { 1 + rng.below(4) },
            pending: *rng.pick(&[0.0, 0.0, 0.1, 0.25]),
            spoil: *rng.pick(&[0.0, 0.5, 1.0]),
            stamps: *rng.pick(&[operations, 3 * operations, 10 * operations]),
        }
    }
}

/// Is there anything to check? A history in which nothing returned is unknown.
pub fn has_returns(history: &History) -> bool {
    history.operations.iter().any(|op| !op.is_pending())
}

/// A random history of one object.
pub fn history(spec: &Builtin, taste: &Taste, rng: &mut Rng) -> History {
    history_of(spec, taste, spec.signature().operations.len(), rng)
}

/// A random history of one object that uses the first `codes` of its operations only.
pub fn history_of(spec: &Builtin, taste: &Taste, codes: usize, rng: &mut Rng) -> History {
    let mut history = History::new();
    let mut points = Vec::new();
    for lane in 0..taste.lanes {
        let share = taste.operations / taste.lanes + u64::from(lane < taste.operations % taste.lanes);
        let mut stamps: Vec<i64> = (0..2 * share).map(|_| rng.below(taste.stamps) as i64).collect();
        stamps.sort_unstable();
        let mut process = lane;
        for pair in stamps.chunks(2) {
            let op = OpCode(rng.below(codes as u64) as u8);
            let process_id = history.symbols.process(&Value::Int(process as i64));
            let mut row = Operation::new(process_id, op);
            (row.call, row.ret) = (pair[0], pair[1]);
            if rng.chance(taste.pending) {
                row.ret = Operation::NEVER;
                process += 100; // The process is gone; another takes its lane.
            }
            points.push((pair[0] as f64 + rng.unit() * (pair[1] - pair[0]) as f64, history.operations.len()));
            history.operations.push(row);
        }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    fill_in(spec, taste, rng, &mut history, points.iter().map(|p| p.1));
    if rng.chance(taste.spoil) {
        spoil(spec, rng, &mut history);
    }
    history
}

/// Arguments at random, results from running the operations in the given order.
fn fill_in(
    spec: &Builtin,
    taste: &Taste,
    rng: &mut Rng,
    history: &mut History,
    order: impl Iterator<Item = usize>,
) {
    let mut state = spec.initial();
    let mut fresh = 0;
    for index in order {
        let op = history.operations[index].op();
        let inserts = op.0 == 0 || matches!((spec.kind, op.0), (Kind::Deque, 1));
        let number = match (taste.values, inserts) {
            (0, true) => {
                fresh += 1;
                fresh
            }
            (0, false) => 1 + rng.below(fresh.max(1) as u64) as i64,
            (values, _) => rng.below(values) as i64,
        };
        let arg = argument(spec, op, rng, number);
        let row = &mut history.operations[index];
        row.arg = history.symbols.intern(&arg);
        let outcomes = spec.outcomes(&state, Call { op, process: row.process(), arg: &arg });
        if outcomes.is_empty() {
            continue;
        }
        let (result, next) = rng.pick(&outcomes).clone();
        if row.is_pending() && rng.chance(0.5) {
            continue; // It never took effect.
        }
        if !row.is_pending() {
            row.result = history.symbols.intern(&result);
        }
        state = next;
    }
}

/// An argument for an operation.
pub fn argument(spec: &Builtin, op: OpCode, rng: &mut Rng, number: i64) -> Value {
    use linpoint_history::Shape;
    match spec.signature().decl(op).arg {
        Shape::Unit => Value::Null,
        Shape::Cell => Value::list([Value::Int(rng.below(2) as i64), Value::Int(number)]),
        Shape::Pair | Shape::Entry => {
            let first = rng.below(3) as i64;
            let first = if matches!(spec.kind, Kind::CasRegister | Kind::RmwRegister) && first == 2 {
                Value::Null
            } else {
                Value::Int(first)
            };
            Value::list([first, Value::Int(number)])
        }
        _ if spec.kind == Kind::Map => Value::Int(rng.below(3) as i64),
        _ => Value::Int(number),
    }
}

/// Changes one result.
pub fn spoil(spec: &Builtin, rng: &mut Rng, history: &mut History) {
    use linpoint_history::Shape;
    let index = rng.below(history.operations.len() as u64) as usize;
    let donor = rng.below(history.operations.len() as u64) as usize;
    let shape = spec.signature().decl(history.operations[index].op()).result;
    let result = match shape {
        Shape::Unit => return,
        Shape::Bool => Value::Bool(rng.chance(0.5)),
        Shape::Done => rng.pick(&[Value::Null, Value::Bool(false)]).clone(),
        Shape::Int => Value::Int(rng.below(3) as i64),
        Shape::List => Value::list([Value::Int(rng.below(3) as i64), Value::Null]),
        _ if rng.chance(0.2) => Value::Null,
        _ => match history.symbols.value(history.operations[donor].arg) {
            v @ Value::Int(_) if spec.kind != Kind::Map => v,
            Value::List(items) if spec.kind == Kind::Map => items[1].clone(),
            _ => Value::Int(rng.below(3) as i64),
        },
    };
    history.operations[index].result = history.symbols.intern(&result);
}
