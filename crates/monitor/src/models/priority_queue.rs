//! Priority queues, changed in place.

use std::any::Any;
use std::collections::BTreeMap;
use std::hash::BuildHasher;

use linpoint_history::specs::State;
use linpoint_history::specs::codes::priority_queue as codes;
use linpoint_history::{Builtin, Call, Kind, Signature, Spec, Value};
use rustc_hash::FxBuildHasher;

use super::{no, normalised, yes_if};
use crate::model::{Applied, Model};

/// The specifications `priority-queue` and `priority-queue-max`. The view at an element: how often it is
/// there.
#[derive(Clone)]
pub struct PriorityQueueModel {
    spec: Builtin,
    counts: BTreeMap<Value, u32>,
    total: usize,
    digest: u64,
}

impl PriorityQueueModel {
    /// A queue as `spec` starts it.
    pub fn new(spec: Builtin) -> PriorityQueueModel {
        let initial = spec.initial();
        let mut model = PriorityQueueModel { spec, counts: BTreeMap::new(), total: 0, digest: 0 };
        if let State::Bag(bag) = initial {
            for (item, count) in bag {
                (0..count).for_each(|_| model.change(&item, 1));
            }
        }
        model
    }

    fn count(&self, item: &Value) -> u32 {
        self.counts.get(item).copied().unwrap_or(0)
    }

    fn change(&mut self, item: &Value, by: i32) {
        let hash = FxBuildHasher.hash_one(item) | 1;
        let count = self.counts.entry(item.clone()).or_insert(0);
        *count = count.saturating_add_signed(by);
        if *count == 0 {
            self.counts.remove(item);
        }
        self.total = self.total.saturating_add_signed(by as isize);
        // A sum over copies, so the order of insertion does not matter.
        self.digest = self.digest.wrapping_add(hash.wrapping_mul(hash).wrapping_mul(i64::from(by) as u64));
    }

    fn first(&self) -> Option<&Value> {
        match self.spec.kind {
            Kind::PriorityQueueMax => self.counts.keys().next_back(),
            _ => self.counts.keys().next(),
        }
    }

    fn is_full(&self) -> bool {
        self.spec.capacity.is_some_and(|capacity| self.total >= capacity)
    }
}

impl Model for PriorityQueueModel {
    fn signature(&self) -> &Signature {
        self.spec.signature()
    }

    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied {
        match call.op {
            codes::INSERT => {
                let result = normalised(self.spec.signature().decl(call.op).result, result);
                let (full, bounded) = (self.is_full(), self.spec.capacity.is_some());
                let done = if bounded { Value::Bool(true) } else { Value::Null };
                if !full && *result == done {
                    self.change(call.arg, 1);
                    touched.push(call.arg.clone());
                    return Applied::Yes;
                }
                if bounded && (full || self.spec.spurious) && *result == Value::Bool(false) {
                    return Applied::Yes;
                }
                if full { no("false: it is full") } else { no(done) }
            }
            codes::REMOVE => match self.first() {
                Some(first) if first == result => {
                    let first = first.clone();
                    self.change(&first, -1);
                    touched.push(first);
                    Applied::Yes
                }
                Some(_) if self.spec.spurious && result.is_null() => Applied::Yes,
                Some(first) => no(first),
                None if result.is_null() => Applied::Yes,
                None => no("null: it is empty"),
            },
            codes::CHANGE_KEY => {
                let Some((from, to)) = call.arg.as_pair() else { return no("two elements") };
                let present = self.count(from) > 0;
                if present && *result == Value::Bool(true) {
                    self.change(from, -1);
                    self.change(to, 1);
                    touched.extend([from.clone(), to.clone()]);
                }
                yes_if(&Value::Bool(present), result)
            }
            _ => no("an operation of a priority queue"),
        }
    }

    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>> {
        let with = |changes: &[(&Value, i32)]| -> Box<dyn Model> {
            let mut next = self.clone();
            changes.iter().for_each(|(item, by)| next.change(item, *by));
            Box::new(next)
        };
        match call.op {
            codes::INSERT if self.is_full() => vec![self.fork()],
            codes::INSERT if self.spec.capacity.is_some() && self.spec.spurious => {
                vec![with(&[(call.arg, 1)]), self.fork()]
            }
            codes::INSERT => vec![with(&[(call.arg, 1)])],
            codes::REMOVE => match self.first() {
                None => vec![self.fork()],
                Some(first) if self.spec.spurious => vec![with(&[(first, -1)]), self.fork()],
                Some(first) => vec![with(&[(first, -1)])],
            },
            codes::CHANGE_KEY => match call.arg.as_pair() {
                Some((from, to)) if self.count(from) > 0 => vec![with(&[(from, -1), (to, 1)])],
                Some(_) => vec![self.fork()],
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn view(&self, key: &Value) -> Value {
        match self.count(key) {
            0 => Value::Null,
            count => Value::Int(i64::from(count)),
        }
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        self.counts.iter().map(|(item, count)| (item.clone(), Value::Int(i64::from(*count)))).collect()
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Model) -> bool {
        other.as_any().downcast_ref::<PriorityQueueModel>().is_some_and(|other| self.counts == other.counts)
    }

    fn digest(&self) -> u64 {
        self.digest
    }

    fn size(&self) -> usize {
        self.counts.len()
    }

    fn show(&self) -> String {
        let item = |(item, count): (&Value, &u32)| match count {
            1 => item.to_string(),
            count => format!("{item} ({count} times)"),
        };
        super::shown("{", self.counts.iter().map(item), "}")
    }

    fn builtin(&self) -> Option<(&Builtin, State)> {
        Some((&self.spec, State::Bag(self.counts.clone())))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
