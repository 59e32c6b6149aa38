//! Queue, stack and deque, changed in place.

use std::any::Any;
use std::collections::VecDeque;
use std::hash::BuildHasher;

use linpoint_history::specs::State;
use linpoint_history::specs::codes::{deque, queue, stack};
use linpoint_history::{Builtin, Call, Kind, OpCode, Signature, Spec, Value};
use rustc_hash::FxBuildHasher;

use super::{no, normalised};
use crate::model::{Applied, Model};

/// The specifications `queue`, `stack` and `deque`. The view: the items by their positions from the front (of
/// a stack, from the bottom).
#[derive(Clone)]
pub struct SequenceModel {
    spec: Builtin,
    items: VecDeque<Value>,
}

/// Which end, and whether something is put in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    PushFront,
    PushBack,
    PopFront,
    PopBack,
}

impl SequenceModel {
    /// A sequence as `spec` starts it.
    pub fn new(spec: Builtin) -> SequenceModel {
        let items = match spec.initial() {
            State::Sequence(items) => items,
            _ => VecDeque::new(),
        };
        SequenceModel { spec, items }
    }

    fn does(&self, op: OpCode) -> Option<Does> {
        match (self.spec.kind, op) {
            (Kind::Queue, queue::ENQUEUE) | (Kind::Stack, stack::PUSH) | (Kind::Deque, deque::PUSH_BACK) => {
                Some(Does::PushBack)
            }
            (Kind::Queue, queue::DEQUEUE) | (Kind::Deque, deque::POP_FRONT) => Some(Does::PopFront),
            (Kind::Stack, stack::POP) | (Kind::Deque, deque::POP_BACK) => Some(Does::PopBack),
            (Kind::Deque, deque::PUSH_FRONT) => Some(Does::PushFront),
            _ => None,
        }
    }

    fn is_full(&self) -> bool {
        self.spec.capacity.is_some_and(|capacity| self.items.len() >= capacity)
    }

    /// All positions shift: every key of the view is another.
    fn touch_all(&self, touched: &mut Vec<Value>) {
        touched.extend((0..=self.items.len()).map(|place| Value::Int(place as i64)));
    }

    fn push(&mut self, does: Does, item: &Value, touched: &mut Vec<Value>) {
        if does == Does::PushFront {
            self.items.push_front(item.clone());
            self.touch_all(touched);
        } else {
            touched.push(Value::Int(self.items.len() as i64));
            self.items.push_back(item.clone());
        }
    }

    fn pop(&mut self, does: Does, touched: &mut Vec<Value>) {
        if does == Does::PopFront {
            self.items.pop_front();
            self.touch_all(touched);
        } else {
            self.items.pop_back();
            touched.push(Value::Int(self.items.len() as i64));
        }
    }

    fn end(&self, does: Does) -> Option<&Value> {
        if does == Does::PopFront { self.items.front() } else { self.items.back() }
    }
}

impl Model for SequenceModel {
    fn signature(&self) -> &Signature {
        self.spec.signature()
    }

    #[inline]
    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied {
        let Some(does) = self.does(call.op) else { return no("an operation of this collection") };
        match does {
            Does::PushFront | Does::PushBack => {
                let result = normalised(self.spec.signature().decl(call.op).result, result);
                let (full, bounded) = (self.is_full(), self.spec.capacity.is_some());
                let done = if bounded { Value::Bool(true) } else { Value::Null };
                if !full && *result == done {
                    self.push(does, call.arg, touched);
                    return Applied::Yes;
                }
                let may_refuse = bounded && (full || self.spec.spurious);
                if may_refuse && *result == Value::Bool(false) {
                    return Applied::Yes;
                }
                if full { no("false: it is full") } else { no(done) }
            }
            Does::PopFront | Does::PopBack => match self.end(does) {
                Some(item) if item == result => {
                    self.pop(does, touched);
                    Applied::Yes
                }
                Some(_) if self.spec.spurious && result.is_null() => Applied::Yes,
                Some(item) => no(item),
                None if result.is_null() => Applied::Yes,
                None => no("null: it is empty"),
            },
        }
    }

    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>> {
        let Some(does) = self.does(call.op) else { return Vec::new() };
        let mut next = self.clone();
        let unchanged = match does {
            Does::PushFront | Does::PushBack => {
                let full = self.is_full();
                if full {
                    return vec![self.fork()];
                }
                next.push(does, call.arg, &mut Vec::new());
                self.spec.capacity.is_some() && self.spec.spurious
            }
            Does::PopFront | Does::PopBack => {
                next.pop(does, &mut Vec::new());
                self.spec.spurious && !self.items.is_empty()
            }
        };
        let mut models: Vec<Box<dyn Model>> = vec![Box::new(next)];
        if unchanged {
            models.push(self.fork());
        }
        models
    }

    fn view(&self, key: &Value) -> Value {
        let place = key.as_int().and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.items.get(place)).cloned().unwrap_or_default()
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        self.items.iter().enumerate().map(|(place, item)| (Value::Int(place as i64), item.clone())).collect()
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Model) -> bool {
        other.as_any().downcast_ref::<SequenceModel>().is_some_and(|other| self.items == other.items)
    }

    fn digest(&self) -> u64 {
        FxBuildHasher.hash_one(&self.items)
    }

    fn size(&self) -> usize {
        self.items.len()
    }

    fn show(&self) -> String {
        super::shown("[", self.items.iter().map(ToString::to_string), "]")
    }

    fn builtin(&self) -> Option<(&Builtin, State)> {
        Some((&self.spec, State::Sequence(self.items.clone())))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
