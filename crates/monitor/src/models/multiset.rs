//! A multiset that is changed in place.

use std::any::Any;
use std::hash::BuildHasher;

use linpoint_history::specs::State;
use linpoint_history::specs::codes::set as codes;
use linpoint_history::{Builtin, Call, Signature, Spec, Value};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::model::{Applied, Model};

/// The specification `multiset`, with its settings. Its view: each element with how often it is there.
#[derive(Clone)]
pub struct MultisetModel {
    spec: Builtin,
    counts: FxHashMap<Value, u32>,
    len: usize,
}

impl MultisetModel {
    /// A multiset as `spec` starts it.
    pub fn new(spec: Builtin) -> MultisetModel {
        let counts: FxHashMap<Value, u32> = match spec.initial() {
            State::Bag(bag) => bag.into_iter().collect(),
            _ => FxHashMap::default(),
        };
        let len = counts.values().map(|count| *count as usize).sum();
        MultisetModel { spec, counts, len }
    }

    fn add(&mut self, item: &Value, touched: &mut Vec<Value>) {
        *self.counts.entry(item.clone()).or_insert(0) += 1;
        self.len += 1;
        touched.push(item.clone());
    }

    /// Takes one copy out; was there one?
    fn remove(&mut self, item: &Value) -> bool {
        let Some(count) = self.counts.get_mut(item) else { return false };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(item);
        }
        self.len -= 1;
        true
    }

    /// May `add` answer this?
    fn may_answer(&self, result: &Value) -> Applied {
        let full = self.spec.capacity.is_some_and(|capacity| self.len >= capacity);
        let fits = match (self.spec.capacity, result) {
            (None, Value::Null | Value::Bool(true)) => true,
            (Some(_), Value::Bool(true)) => !full,
            (Some(_), Value::Bool(false)) => full || self.spec.spurious,
            _ => false,
        };
        match fits {
            true => Applied::Yes,
            false if self.spec.capacity.is_some() => no(&Value::Bool(!full)),
            false => no(&Value::Null),
        }
    }
}

fn no(expected: &Value) -> Applied {
    Applied::No { expected: expected.to_string() }
}

impl Model for MultisetModel {
    fn signature(&self) -> &Signature {
        self.spec.signature()
    }

    #[inline]
    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied {
        let present = self.counts.contains_key(call.arg);
        match call.op {
            codes::ADD => {
                let answer = self.may_answer(result);
                if answer == Applied::Yes && *result != Value::Bool(false) {
                    self.add(call.arg, touched);
                }
                answer
            }
            codes::REMOVE | codes::CONTAINS if *result != Value::Bool(present) => no(&Value::Bool(present)),
            codes::REMOVE => {
                if self.remove(call.arg) {
                    touched.push(call.arg.clone());
                }
                Applied::Yes
            }
            codes::CONTAINS => Applied::Yes,
            codes::INSERT_PAIR => match (call.arg.as_pair(), result) {
                (Some((x, y)), Value::Bool(true)) => {
                    self.add(x, touched);
                    self.add(y, touched);
                    Applied::Yes
                }
                (Some(_), Value::Bool(false)) => Applied::Yes,
                (Some(_), _) => Applied::No { expected: "true or false".to_owned() },
                (None, _) => Applied::No { expected: "a pair of elements".to_owned() },
            },
            _ => Applied::No { expected: "an operation of a multiset".to_owned() },
        }
    }

    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>> {
        let mut next = self.clone();
        let mut keys = Vec::new();
        match (call.op, call.arg.as_pair()) {
            (codes::ADD, _) if self.may_answer(&Value::Bool(true)) == Applied::Yes => {
                next.add(call.arg, &mut keys)
            }
            (codes::REMOVE, _) => {
                next.remove(call.arg);
            }
            (codes::INSERT_PAIR, Some((x, y))) => {
                next.add(x, &mut keys);
                next.add(y, &mut keys);
            }
            (codes::INSERT_PAIR, None) => return Vec::new(),
            _ => {}
        }
        // An insertion may also have failed, or will.
        let may_fail = match call.op {
            codes::ADD => self.may_answer(&Value::Bool(false)) == Applied::Yes,
            op => op == codes::INSERT_PAIR,
        };
        let mut models: Vec<Box<dyn Model>> = vec![Box::new(next)];
        if may_fail && !models[0].same(self) {
            models.push(self.fork());
        }
        models
    }

    #[inline]
    fn view(&self, key: &Value) -> Value {
        self.counts.get(key).map_or(Value::Null, |count| Value::Int(i64::from(*count)))
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        let shown = self.counts.iter().map(|(key, count)| (key.clone(), Value::Int(i64::from(*count))));
        let mut entries: Vec<_> = shown.collect();
        entries.sort();
        entries
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Model) -> bool {
        other.as_any().downcast_ref::<MultisetModel>().is_some_and(|other| self.counts == other.counts)
    }

    fn digest(&self) -> u64 {
        let hash = |entry: (&Value, &u32)| FxBuildHasher.hash_one(entry);
        self.counts.iter().map(hash).fold(0, u64::wrapping_add)
    }

    fn size(&self) -> usize {
        self.counts.len()
    }

    fn show(&self) -> String {
        super::shown("{", self.entries().iter().map(|(key, count)| format!("{key}: {count}")), "}")
    }

    fn builtin(&self) -> Option<(&Builtin, State)> {
        let counts = self.counts.iter().map(|(key, count)| (key.clone(), *count));
        Some((&self.spec, State::Bag(counts.collect())))
    }

    fn concerns<'a>(&self, call: Call<'a>) -> Option<&'a Value> {
        // With a capacity an insertion depends on all the others.
        let one = call.op == codes::ADD || call.op == codes::REMOVE || call.op == codes::CONTAINS;
        (one && self.spec.capacity.is_none()).then_some(call.arg)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::FromSpec;
    use linpoint_history::{OpCode, ProcessId, specs};

    /// A small generator of our own: the same seed, the same steps.
    fn next(seed: &mut u64, below: u64) -> u64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    }

    #[test]
    fn agrees_with_the_specification_it_is_a_copy_of() {
        for (seed, name) in
            ["multiset", "multiset:capacity=3", "multiset:capacity=3:spurious"].iter().enumerate()
        {
            let spec = specs::parse(name).expect("built in");
            let start = || -> (Box<dyn Model>, Box<dyn Model>) {
                (Box::new(MultisetModel::new(spec.clone())), Box::new(FromSpec::new(spec.clone())))
            };
            let (mut fast, mut slow) = start();
            let (mut seed, mut allowed) = (seed as u64, 0);
            for step in 0..20_000 {
                let op = OpCode(next(&mut seed, 4) as u8);
                let mut item = || Value::Int(next(&mut seed, 3) as i64);
                let arg = if op == codes::INSERT_PAIR { Value::list([item(), item()]) } else { item() };
                let result =
                    [Value::Null, Value::Bool(false), Value::Bool(true)][next(&mut seed, 3) as usize].clone();
                let call = Call { op, process: ProcessId(0), arg: &arg };
                let pending = |model: &dyn Model| {
                    let mut states: Vec<_> = model
                        .apply_pending(call)
                        .iter()
                        .filter_map(|model| model.builtin().map(|(_, state)| state))
                        .collect();
                    states.sort_by_key(|state| format!("{state:?}"));
                    states
                };
                assert!(pending(&*slow).iter().all(|state| {
                    pending(&*fast).contains(state) || slow.builtin().is_some_and(|(_, same)| same == *state)
                }));
                // Without an end it would only grow.
                if fast.entries().iter().any(|(_, count)| *count > Value::Int(4)) {
                    (fast, slow) = start();
                }
                let touched = &mut Vec::new();
                let (one, other) =
                    (fast.apply(call, &result, touched), slow.apply(call, &result, &mut Vec::new()));
                let is = |applied: &Applied| *applied == Applied::Yes;
                assert_eq!(is(&one), is(&other), "step {step}: {name} {op:?}({arg}) -> {result}");
                allowed += u32::from(is(&one));
                assert_eq!(fast.builtin().map(|(_, state)| state), slow.builtin().map(|(_, state)| state));
            }
            assert!(allowed > 1000, "{allowed}");
        }
    }
}
