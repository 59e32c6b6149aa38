//! Operations that lead from the initial state to a given one.
//!
//! Engines begin with the initial state. Where the past of an object was forgotten but for the one state it
//! ended in, they are given a few operations that lead there, one after another, before the rows that were
//! kept. Whether they do is tried before it is believed.

use linpoint_history::specs::{State, codes};
use linpoint_history::{Builtin, Call, Kind, OpCode, Operation, ProcessId, Spec, Symbols, Value};

/// Rows from the initial state to `state`, one after another, all before the stamp `before`; `None` where no
/// way is known.
pub fn lead(spec: &Builtin, state: &State, symbols: &mut Symbols, before: i64) -> Option<Vec<Operation>> {
    let steps = steps(spec, state)?;
    if steps.is_empty() {
        return Some(Vec::new());
    }
    let process = symbols.process(&Value::text("(start)"));
    let mut rows = Vec::with_capacity(steps.len());
    let mut now = spec.initial();
    let mut stamp = before.checked_sub(2 * steps.len() as i64 + 2)?;
    for (op, arg, who) in steps {
        let who = who.unwrap_or(process);
        let call = Call { op, process: who, arg: &arg };
        let (result, next) = spec.outcomes(&now, call).into_iter().find(|(_, next)| *next != now)?;
        let mut row = Operation::new(who, op);
        (row.call, row.ret) = (stamp, stamp + 1);
        row.arg = symbols.intern(&arg);
        row.result = symbols.intern(&result);
        rows.push(row);
        now = next;
        stamp += 2;
    }
    (now == *state).then_some(rows)
}

/// May the past of an object that is in `state` be forgotten? Only where [`lead`] finds back to it, and where
/// the state is small.
pub fn is_memorable(spec: &Builtin, state: &State) -> bool {
    let plain = spec.initial.is_null();
    match (spec.kind, state) {
        (Kind::Register | Kind::CasRegister | Kind::RmwRegister | Kind::Kv | Kind::Counter, _) => true,
        (Kind::Queue | Kind::Stack | Kind::Deque, State::Sequence(items)) => items.len() <= LARGEST,
        (Kind::PriorityQueue | Kind::PriorityQueueMax, State::Bag(bag)) => plain && bag.len() <= LARGEST,
        (Kind::Set | Kind::Multiset | Kind::List, State::Bag(bag)) => plain && bag.len() <= LARGEST,
        (Kind::Map, State::Map(map)) => plain && map.len() <= LARGEST,
        _ => spec.initial() == *state,
    }
}

/// Elements in a state that is remembered; with more, an engine that keeps them is cheaper than steps that
/// copy them.
pub(crate) const LARGEST: usize = 64;

type Steps = Vec<(OpCode, Value, Option<ProcessId>)>;

fn steps(spec: &Builtin, state: &State) -> Option<Steps> {
    let initial = spec.initial();
    if initial == *state {
        return Some(Vec::new());
    }
    Some(match (spec.kind, state) {
        (Kind::Register | Kind::CasRegister | Kind::RmwRegister, State::Value(v)) => {
            vec![(codes::register::WRITE, v.clone(), None)]
        }
        (Kind::Kv, State::Value(v)) => vec![(codes::kv::PUT, v.clone(), None)],
        (Kind::Counter, State::Value(v)) => {
            let State::Value(from) = &initial else { return None };
            let add = v.as_int()?.checked_sub(from.as_int()?)?;
            vec![(codes::counter::ADD, Value::Int(add), None)]
        }
        (Kind::Queue | Kind::Stack | Kind::Deque, State::Sequence(items)) => {
            let State::Sequence(first) = &initial else { return None };
            let (add, take) = match spec.kind {
                Kind::Queue => (codes::queue::ENQUEUE, codes::queue::DEQUEUE),
                Kind::Stack => (codes::stack::PUSH, codes::stack::POP),
                _ => (codes::deque::PUSH_BACK, codes::deque::POP_FRONT),
            };
            let taken = first.iter().map(|_| (take, Value::Null, None));
            taken.chain(items.iter().map(|item| (add, item.clone(), None))).collect()
        }
        (Kind::PriorityQueue | Kind::PriorityQueueMax, State::Bag(bag)) if spec.initial.is_null() => {
            bag.iter().flat_map(|(v, &n)| one_by_one(codes::priority_queue::INSERT, v, n)).collect()
        }
        (Kind::Set | Kind::Multiset | Kind::List, State::Bag(bag)) if spec.initial.is_null() => {
            bag.iter().flat_map(|(v, &n)| one_by_one(codes::set::ADD, v, n)).collect()
        }
        (Kind::Map, State::Map(map)) if spec.initial.is_null() => {
            let pair = |(k, v): (&Value, &Value)| Value::list([k.clone(), v.clone()]);
            map.iter().map(|entry| (codes::map::INSERT, pair(entry), None)).collect()
        }
        _ => return None,
    })
}

fn one_by_one(
    op: OpCode,
    value: &Value,
    times: u32,
) -> impl Iterator<Item = (OpCode, Value, Option<ProcessId>)> {
    std::iter::repeat_n((op, value.clone(), None), times as usize)
}
