//! Sequential objects for the operations of [`structures`](crate::structures): 0 puts, 1 takes or reads, 2
//! steals, 3 counts. A result of 0 means that there was nothing.

use super::{Operation, Sequential};
use crate::event::Value;

/// A sequential object that holds values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// Takes what was put last.
    Stack,
    /// Takes what was put first.
    Queue,
    /// Takes what was put last, steals what was put first; a thief that gives -1 lost, and took nothing.
    Deque,
    /// Reads what was written last.
    Register,
    /// Gives how often it counted before.
    Counter,
    /// A queue of this capacity, which says 1 if it took a value and 0 if it was full.
    Bounded(usize),
}

impl Sequential for Object {
    type State = Vec<Value>;

    fn initial(&self) -> Vec<Value> {
        Vec::new()
    }

    fn step(&self, state: &Vec<Value>, operation: &Operation, next: &mut Vec<Vec<Value>>) {
        let (oldest, newest) = (state.first().copied(), state.last().copied());
        let has_space = !matches!(self, Object::Bounded(capacity) if state.len() >= *capacity);
        // What it answers, and what it does to the state.
        let (result, effect) = match (self, operation.operation) {
            (Object::Bounded(_), 0) => {
                (Value::from(has_space), if has_space { Effect::Add } else { Effect::None })
            }
            (Object::Register, 0) => (0, Effect::Replace(operation.argument)),
            (Object::Register, _) => (oldest.unwrap_or(0), Effect::None),
            (Object::Counter, _) => (oldest.unwrap_or(0), Effect::Replace(oldest.unwrap_or(0) + 1)),
            (_, 0) => (0, Effect::Add),
            (Object::Deque, 2) if operation.result == Some(-1) => (-1, Effect::None),
            (Object::Stack, _) | (Object::Deque, 1) => (newest.unwrap_or(0), Effect::RemoveNewest),
            (Object::Queue | Object::Deque | Object::Bounded(_), _) => {
                (oldest.unwrap_or(0), Effect::RemoveOldest)
            }
        };
        if operation.result.is_some_and(|expected| expected != result) {
            return;
        }
        let mut after = state.clone();
        match effect {
            Effect::None => {}
            Effect::Add => after.push(operation.argument),
            Effect::Replace(value) => after = vec![value],
            Effect::RemoveNewest => _ = after.pop(),
            Effect::RemoveOldest => _ = (!after.is_empty()).then(|| after.remove(0)),
        }
        next.push(after);
    }
}

enum Effect {
    None,
    Add,
    Replace(Value),
    RemoveNewest,
    RemoveOldest,
}
