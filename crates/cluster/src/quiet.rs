//! The state of an object between operations, in few bytes, and the step that most operations are.
//!
//! Most operations happen while nobody else uses the object. For registers, key–value stores and plain queues such a step is done on numbers, in place: equal numbers are equal values. Everything else is a
//! step of the specification. Both are compared in the tests of this file.

use std::collections::VecDeque;

use linpoint_history::specs::{State, codes};
use linpoint_history::{Builtin, Kind, OpCode, Operation, Spec, Symbols, ValueId};

use crate::lead;
use crate::segment;

/// A state.
#[derive(Clone, Debug)]
pub enum Quiet {
    /// Of a register.
    Value(ValueId),
    /// Of a queue with few elements, front first; the rest is null.
    Few(u8, [ValueId; FEW]),
    /// Of a queue, front first.
    Queue(Box<VecDeque<ValueId>>),
    /// Of anything.
    Other(Box<State>),
}

/// Elements of a queue that are kept in place.
const FEW: usize = 3;

const _: () = assert!(size_of::<Quiet>() == 16);

impl Quiet {
    /// Takes up the room of a state.
    pub(crate) const NOTHING: Quiet = Quiet::Value(ValueId::NULL);

    /// The state an object begins in.
    pub fn initial(spec: &Builtin, symbols: &mut Symbols) -> Quiet {
        Quiet::of(spec, spec.initial(), symbols)
    }

    /// A state in its short form.
    pub fn of(spec: &Builtin, state: State, symbols: &mut Symbols) -> Quiet {
        match (spec.kind, state) {
            (Kind::Register | Kind::CasRegister | Kind::RmwRegister | Kind::Kv, State::Value(value)) => {
                Quiet::Value(symbols.intern(&value))
            }
            (Kind::Queue, State::Sequence(items)) if spec.capacity.is_none() && !spec.spurious => {
                let mut few = [ValueId::NULL; FEW];
                if items.len() > FEW {
                    return Quiet::Queue(Box::new(items.iter().map(|item| symbols.intern(item)).collect()));
                }
                for (place, item) in few.iter_mut().zip(items.iter()) {
                    *place = symbols.intern(item);
                }
                Quiet::Few(items.len() as u8, few)
            }
            (_, state) => Quiet::Other(Box::new(state)),
        }
    }

    /// The state in its long form.
    pub fn state(&self, symbols: &Symbols) -> State {
        match self {
            Quiet::Value(id) => State::Value(symbols.value(*id)),
            Quiet::Few(count, items) => {
                State::Sequence(items[..usize::from(*count)].iter().map(|id| symbols.value(*id)).collect())
            }
            Quiet::Queue(items) => State::Sequence(items.iter().map(|id| symbols.value(*id)).collect()),
            Quiet::Other(state) => State::clone(state),
        }
    }

    /// Lets a completed operation happen, alone. If it cannot happen, or cannot be remembered, nothing changes.
    #[inline]
    pub fn step(&mut self, spec: &Builtin, row: &Operation, symbols: &mut Symbols) -> bool {
        const GET: OpCode = codes::kv::GET;
        const PUT: OpCode = codes::kv::PUT;
        const READ: OpCode = codes::register::READ;
        const WRITE: OpCode = codes::register::WRITE;
        match self {
            Quiet::Value(held) => {
                let (reads, writes) = match spec.kind {
                    Kind::Kv => (row.op() == GET, row.op() == PUT),
                    _ => (row.op() == READ, row.op() == WRITE),
                };
                if reads {
                    return row.result == *held;
                }
                if writes {
                    if row.result.is_null() {
                        *held = row.arg;
                    }
                    return row.result.is_null();
                }
            }
            Quiet::Few(count, items) => {
                return match (row.op(), row.result) {
                    (codes::queue::ENQUEUE, ValueId::NULL) => {
                        match items.get_mut(usize::from(*count)) {
                            Some(place) => (*place, *count) = (row.arg, *count + 1),
                            None => {
                                let all = items.iter().copied().chain([row.arg]).collect();
                                *self = Quiet::Queue(Box::new(all));
                            }
                        }
                        true
                    }
                    (codes::queue::DEQUEUE, result) if *count > 0 => {
                        let first = items[0] == result;
                        if first {
                            items.rotate_left(1);
                            (items[FEW - 1], *count) = (ValueId::NULL, *count - 1);
                        }
                        first
                    }
                    (codes::queue::DEQUEUE, result) => result.is_null(),
                    _ => false,
                };
            }
            Quiet::Queue(items) => {
                return match (row.op(), row.result) {
                    (codes::queue::ENQUEUE, ValueId::NULL) if items.len() < lead::LARGEST => {
                        items.push_back(row.arg);
                        true
                    }
                    (codes::queue::DEQUEUE, result) => match items.front() {
                        Some(first) if *first == result => {
                            items.pop_front();
                            if items.is_empty() {
                                *self = Quiet::Few(0, [ValueId::NULL; FEW]);
                            }
                            true
                        }
                        Some(_) => false,
                        None => result.is_null(),
                    },
                    _ => false,
                };
            }
            Quiet::Other(_) => {}
        }
        let Some(next) = segment::step(spec, &self.state(symbols), row, symbols) else { return false };
        if !lead::is_memorable(spec, &next) {
            return false;
        }
        *self = Quiet::of(spec, next, symbols);
        true
    }
}

#[cfg(test)]
mod tests {
    use linpoint_history::rng::Rng;
    use linpoint_history::{ProcessId, Value, specs};

    use super::*;

    /// Short steps are the specification's steps.
    #[test]
    fn steps_are_those_of_the_specification() {
        let mut rng = Rng::new(5);
        for name in
            ["register", "cas-register", "rmw-register", "kv", "queue", "queue:capacity=2", "set", "counter"]
        {
            let spec = specs::parse(name).expect("a specification");
            for _ in 0..300 {
                let mut symbols = Symbols::new();
                let mut quiet = Quiet::initial(&spec, &mut symbols);
                let mut state = spec.initial();
                for _ in 0..24 {
                    let op = OpCode(rng.below(spec.signature().operations.len() as u64) as u8);
                    let mut any = || match rng.below(6) {
                        0 => Value::Null,
                        1 => Value::Bool(rng.chance(0.5)),
                        2 => Value::list([Value::Int(1), Value::Int(rng.below(3) as i64)]),
                        _ => Value::Int(rng.below(3) as i64),
                    };
                    let (arg, result) = (any(), any());
                    let mut row = Operation::new(ProcessId(0), op);
                    (row.arg, row.result) = (symbols.intern(&arg), symbols.intern(&result));
                    let next = segment::step(&spec, &state, &row, &symbols);
                    assert_eq!(
                        quiet.step(&spec, &row, &mut symbols),
                        next.is_some(),
                        "{name} {state:?} {row:?}"
                    );
                    state = next.unwrap_or(state);
                    assert_eq!(quiet.state(&symbols), state);
                }
            }
        }
    }
}
