//! Set, multiset and list, changed in place.

use std::any::Any;

use linpoint_history::specs::State;
use linpoint_history::specs::codes::set as codes;
use linpoint_history::{Builtin, Call, Kind, Signature, Spec, Value};

use super::table::Table;
use super::{no, normalised, yes_if};
use crate::model::{Applied, Model};

/// The specifications `set`, `multiset` and `list`. The view at an element: how often it is there; of a set,
/// `true`.
#[derive(Clone)]
pub struct BagModel {
    spec: Builtin,
    counts: Table<u32>,
    /// Elements, copies counted.
    total: usize,
}

impl BagModel {
    /// A collection as `spec` starts it.
    pub fn new(spec: Builtin) -> BagModel {
        let (mut counts, mut total) = (Table::new(), 0);
        if let State::Bag(bag) = spec.initial() {
            for (item, count) in bag {
                total += count as usize;
                counts.set(&item, Some(count));
            }
        }
        BagModel { spec, counts, total }
    }

    #[inline]
    fn count(&self, item: &Value) -> u32 {
        self.counts.get(item).copied().unwrap_or(0)
    }

    #[inline]
    fn change(&mut self, item: &Value, by: i32) {
        let count = self.count(item).saturating_add_signed(by);
        self.total = self.total.saturating_add_signed(by as isize);
        self.counts.set(item, (count > 0).then_some(count));
    }

    fn is_full(&self) -> bool {
        !self.has_room(1)
    }

    /// Is there room for so many more?
    fn has_room(&self, more: usize) -> bool {
        self.spec.capacity.is_none_or(|capacity| self.total.saturating_add(more) <= capacity)
    }

    /// What an insertion that succeeds answers.
    fn added(&self) -> Value {
        match self.spec.kind {
            Kind::Set => Value::Bool(true),
            _ if self.spec.answers_insertions() => Value::Bool(true),
            _ => Value::Null,
        }
    }

    /// May an insertion that could change something be refused?
    fn may_refuse(&self) -> bool {
        self.spec.capacity.is_some() && (self.is_full() || self.spec.spurious)
    }

    fn add(&mut self, item: &Value, result: &Value, touched: &mut Vec<Value>) -> Applied {
        if self.spec.kind == Kind::Set && self.count(item) > 0 {
            return yes_if(&Value::Bool(false), result);
        }
        if !self.is_full() && *result == self.added() {
            self.change(item, 1);
            touched.push(item.clone());
            return Applied::Yes;
        }
        if self.may_refuse() && *result == Value::Bool(false) {
            return Applied::Yes;
        }
        if self.is_full() { no("false") } else { no(self.added()) }
    }
}

impl Model for BagModel {
    fn signature(&self) -> &Signature {
        self.spec.signature()
    }

    #[inline]
    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied {
        let Some(decl) = self.spec.signature().operations.get(usize::from(call.op.0)) else {
            return no("an operation of this collection");
        };
        let result = normalised(decl.result, result);
        match call.op {
            codes::ADD => self.add(call.arg, result, touched),
            codes::REMOVE => {
                let present = self.count(call.arg) > 0;
                if *result != Value::Bool(present) {
                    return no(Value::Bool(present));
                }
                if present {
                    self.change(call.arg, -1);
                    touched.push(call.arg.clone());
                }
                Applied::Yes
            }
            codes::CONTAINS => yes_if(&Value::Bool(self.count(call.arg) > 0), result),
            codes::INSERT_PAIR => match (call.arg.as_pair(), result) {
                (Some(_), Value::Bool(true)) if !self.has_room(2) => no("false"),
                (Some((x, y)), Value::Bool(true)) => {
                    self.change(x, 1);
                    self.change(y, 1);
                    touched.extend([x.clone(), y.clone()]);
                    Applied::Yes
                }
                (Some(_), Value::Bool(false)) => Applied::Yes,
                _ => no("true or false"),
            },
            _ => no("an operation of this collection"),
        }
    }

    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>> {
        let with = |items: &[&Value], by: i32| -> Box<dyn Model> {
            let mut next = self.clone();
            items.iter().for_each(|item| next.change(item, by));
            Box::new(next)
        };
        let present = self.count(call.arg) > 0;
        match call.op {
            codes::ADD if self.spec.kind == Kind::Set && present => vec![self.fork()],
            codes::ADD if self.is_full() => vec![self.fork()],
            codes::ADD if self.may_refuse() => vec![with(&[call.arg], 1), self.fork()],
            codes::ADD => vec![with(&[call.arg], 1)],
            codes::REMOVE if present => vec![with(&[call.arg], -1)],
            codes::REMOVE | codes::CONTAINS => vec![self.fork()],
            codes::INSERT_PAIR => match call.arg.as_pair() {
                Some((x, y)) if self.has_room(2) => vec![with(&[x, y], 1), self.fork()],
                Some(_) => vec![self.fork()],
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    #[inline]
    fn view(&self, key: &Value) -> Value {
        match self.count(key) {
            0 => Value::Null,
            _ if self.spec.kind == Kind::Set => Value::Bool(true),
            count => Value::Int(i64::from(count)),
        }
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        let mut entries: Vec<_> = self.counts.iter().map(|(key, _)| (key.clone(), self.view(key))).collect();
        entries.sort();
        entries
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Model) -> bool {
        other.as_any().downcast_ref::<BagModel>().is_some_and(|other| self.counts.same(&other.counts))
    }

    fn digest(&self) -> u64 {
        self.counts.digest()
    }

    fn size(&self) -> usize {
        self.counts.len()
    }

    fn show(&self) -> String {
        let mut items: Vec<(&Value, &u32)> = self.counts.iter().collect();
        items.sort();
        let item = |(item, count): (&Value, &u32)| match count {
            1 => item.to_string(),
            count => format!("{item} ({count} times)"),
        };
        super::shown("{", items.into_iter().map(item), "}")
    }

    fn builtin(&self) -> Option<(&Builtin, State)> {
        let bag = self.counts.iter().map(|(item, count)| (item.clone(), *count));
        Some((&self.spec, State::Bag(bag.collect())))
    }

    fn concerns<'a>(&self, call: Call<'a>) -> Option<&'a Value> {
        // With a bound, elements take room from each other; a pair concerns two.
        let single = matches!(call.op, codes::ADD | codes::REMOVE | codes::CONTAINS);
        (single && self.spec.capacity.is_none()).then_some(call.arg)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
