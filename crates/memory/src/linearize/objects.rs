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
        let mut after = state.clone();
        let result = match (self, operation.operation) {
            (Object::Bounded(capacity), 0) => {
                let has_space = state.len() < *capacity;
                if has_space {
                    after.push(operation.argument);
                }
                Value::from(has_space)
            }
            (Object::Register, 0) => {
                after = vec![operation.argument];
                0
            }
            (Object::Register, _) => state.first().copied().unwrap_or(0),
            (Object::Counter, _) => {
                let count = state.first().copied().unwrap_or(0);
                after = vec![count + 1];
                count
            }
            (_, 0) => {
                after.push(operation.argument);
                0
            }
            (Object::Stack, _) | (Object::Deque, 1) => after.pop().unwrap_or(0),
            (Object::Deque, _) if operation.result == Some(-1) => -1,
            (Object::Queue | Object::Deque | Object::Bounded(_), _) => {
                if state.is_empty() {
                    0
                } else {
                    after.remove(0)
                }
            }
        };
        if operation.result.is_none_or(|expected| expected == result) {
            next.push(after);
        }
    }
}
