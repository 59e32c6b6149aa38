//! The state of an object between operations, in few bytes, and the step that most operations are.
//!
//! Most operations happen while nobody else uses the object. For registers, key–value stores and plain queues
//! such a step is done on numbers, in place: equal numbers are equal values. Everything else is a step of the
//! specification. Both are compared in the tests of this file.

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
    Few(u8, [ValueId; ELEMENTS_IN_PLACE]),
    /// Of a queue with a few more.
    Line(Box<Line>),
    /// Of a queue, front first.
    Queue(Box<VecDeque<ValueId>>),
    /// Of anything.
    Other(Box<State>),
}

/// Elements of a queue that are kept in place.
const ELEMENTS_IN_PLACE: usize = 3;
/// With so many they are kept in place again: not at once, lest it goes to and fro.
const BACK: u8 = 1;

const _: () = assert!(size_of::<Quiet>() == 16);

/// A queue of as many elements as the room of a line of the processor's cache holds, all in one place: a step
/// is one touch of memory, or two.
#[derive(Clone, Debug)]
pub struct Line {
    /// Where the front is.
    from: u8,
    count: u8,
    items: [ValueId; LINE],
}

/// Elements of a [`Line`].
const LINE: usize = 15;

impl Line {
    fn new(items: impl Iterator<Item = ValueId>) -> Line {
        let mut line = Line { from: 0, count: 0, items: [ValueId::NULL; LINE] };
        items.for_each(|item| {
            line.push(item);
        });
        line
    }

    /// The place of an element, counted from the front.
    #[inline]
    fn place(&self, nth: u8) -> usize {
        usize::from(self.from + nth) % LINE
    }

    /// Adds one at the end, if there is room.
    #[inline]
    fn push(&mut self, item: ValueId) -> bool {
        let has_room = usize::from(self.count) < LINE;
        if has_room {
            self.items[self.place(self.count)] = item;
            self.count += 1;
        }
        has_room
    }

    /// Takes the front away, if it is this one.
    #[inline]
    fn take(&mut self, item: ValueId) -> bool {
        let is_front = self.count > 0 && self.items[self.place(0)] == item;
        if is_front {
            (self.from, self.count) = (self.place(1) as u8, self.count - 1);
        }
        is_front
    }

    fn iter(&self) -> impl Iterator<Item = ValueId> {
        (0..self.count).map(|nth| self.items[self.place(nth)])
    }
}

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
                let ids = items.iter().map(|item| symbols.intern(item));
                if items.len() > LINE {
                    return Quiet::Queue(Box::new(ids.collect()));
                }
                if items.len() > ELEMENTS_IN_PLACE {
                    return Quiet::Line(Box::new(Line::new(ids)));
                }
                let mut few = [ValueId::NULL; ELEMENTS_IN_PLACE];
                few.iter_mut().zip(ids).for_each(|(place, id)| *place = id);
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
            Quiet::Line(line) => State::Sequence(line.iter().map(|id| symbols.value(id)).collect()),
            Quiet::Queue(items) => State::Sequence(items.iter().map(|id| symbols.value(*id)).collect()),
            Quiet::Other(state) => State::clone(state),
        }
    }

    /// Something that stands in the memory of the state: to ask for it is to fetch it.
    #[inline]
    pub(crate) fn touch(&self) -> u32 {
        match self {
            Quiet::Line(line) => line.count.into(),
            _ => 0,
        }
    }

    /// Lets a completed operation happen, alone. If it cannot happen, or cannot be remembered, nothing
    /// changes.
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
                                let all = items.iter().copied().chain([row.arg]);
                                *self = Quiet::Line(Box::new(Line::new(all)));
                            }
                        }
                        true
                    }
                    (codes::queue::DEQUEUE, result) if *count > 0 => {
                        let first = items[0] == result;
                        if first {
                            items.rotate_left(1);
                            (items[ELEMENTS_IN_PLACE - 1], *count) = (ValueId::NULL, *count - 1);
                        }
                        first
                    }
                    (codes::queue::DEQUEUE, result) => result.is_null(),
                    _ => false,
                };
            }
            Quiet::Line(line) => {
                return match (row.op(), row.result) {
                    (codes::queue::ENQUEUE, ValueId::NULL) => {
                        if !line.push(row.arg) {
                            *self = Quiet::Queue(Box::new(line.iter().chain([row.arg]).collect()));
                        }
                        true
                    }
                    (codes::queue::DEQUEUE, result) => {
                        let is_front = line.take(result);
                        if line.count <= BACK {
                            let mut few = [ValueId::NULL; ELEMENTS_IN_PLACE];
                            few.iter_mut().zip(line.iter()).for_each(|(place, id)| *place = id);
                            *self = Quiet::Few(line.count, few);
                        }
                        is_front
                    }
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
                                *self = Quiet::Few(0, [ValueId::NULL; ELEMENTS_IN_PLACE]);
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
                for _ in 0..60 {
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

    /// A queue grows and shrinks through all its forms.
    #[test]
    fn queues_of_all_lengths_are_those_of_the_specification() {
        let mut rng = Rng::new(6);
        let spec = specs::parse("queue").expect("a specification");
        let (mut symbols, mut longest, mut forms) = (Symbols::new(), 0, [0; 3]);
        let mut quiet = Quiet::initial(&spec, &mut symbols);
        let mut state = spec.initial();
        for round in 0..40_000 {
            let State::Sequence(items) = &state else { panic!("a queue") };
            let front = items.front().cloned().unwrap_or(Value::Null);
            longest = longest.max(items.len());
            let grows = if round / 500 % 2 == 0 { 0.6 } else { 0.4 };
            let adds = rng.chance(grows) && items.len() < lead::LARGEST;
            // Now and then what is not at the front.
            let taken = if rng.chance(0.1) { Value::Int(rng.below(3) as i64) } else { front };
            let (op, arg, result) = match adds {
                true => (codes::queue::ENQUEUE, Value::Int(rng.below(3) as i64), Value::Null),
                false => (codes::queue::DEQUEUE, Value::Null, taken),
            };
            let mut row = Operation::new(ProcessId(0), op);
            (row.arg, row.result) = (symbols.intern(&arg), symbols.intern(&result));
            let next = segment::step(&spec, &state, &row, &symbols);
            assert_eq!(quiet.step(&spec, &row, &mut symbols), next.is_some(), "{state:?} {row:?}");
            state = next.unwrap_or(state);
            assert_eq!(quiet.state(&symbols), state);
            assert_eq!(Quiet::of(&spec, state.clone(), &mut symbols).state(&symbols), state);
            match quiet {
                Quiet::Few(..) => forms[0] += 1,
                Quiet::Line(_) => forms[1] += 1,
                _ => forms[2] += 1,
            }
        }
        assert!(longest > 30 && forms.iter().all(|&count| count > 1_000), "{longest} {forms:?}");
    }
}
