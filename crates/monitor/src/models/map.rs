//! A map that is changed in place.

use std::any::Any;
use std::hash::BuildHasher;

use linpoint_history::specs::State;
use linpoint_history::specs::codes::map as codes;
use linpoint_history::{Builtin, Call, Signature, Spec, Value};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::model::{Applied, Model};

/// The specification `map`. Its view: its entries.
#[derive(Clone)]
pub struct MapModel {
    spec: Builtin,
    entries: FxHashMap<Value, Value>,
}

impl MapModel {
    /// A map as `spec` starts it.
    pub fn new(spec: Builtin) -> MapModel {
        let entries = match spec.initial() {
            State::Map(entries) => entries.into_iter().collect(),
            _ => FxHashMap::default(),
        };
        MapModel { spec, entries }
    }

    fn get(&self, key: &Value) -> &Value {
        self.entries.get(key).unwrap_or(&Value::Null)
    }
}

const NO: fn(&Value) -> Applied = |expected| Applied::No { expected: expected.to_string() };

impl Model for MapModel {
    fn signature(&self) -> &Signature {
        self.spec.signature()
    }

    #[inline]
    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied {
        match call.op {
            codes::INSERT => {
                let Some((key, value)) = call.arg.as_pair() else {
                    return Applied::No { expected: "a key and a value".to_owned() };
                };
                match self.entries.get_mut(key) {
                    Some(old) if *old == *result => *old = value.clone(),
                    Some(old) => return NO(old),
                    None if result.is_null() => {
                        self.entries.insert(key.clone(), value.clone());
                    }
                    None => return NO(&Value::Null),
                }
                touched.push(key.clone());
                Applied::Yes
            }
            codes::GET => {
                let found = self.get(call.arg);
                if found == result { Applied::Yes } else { NO(found) }
            }
            codes::REMOVE => {
                let found = self.get(call.arg);
                if found != result {
                    return NO(found);
                }
                if self.entries.remove(call.arg).is_some() {
                    touched.push(call.arg.clone());
                }
                Applied::Yes
            }
            codes::LEN => {
                let len = Value::Int(self.entries.len() as i64);
                if len == *result { Applied::Yes } else { NO(&len) }
            }
            codes::IS_EMPTY => {
                let empty = Value::Bool(self.entries.is_empty());
                if empty == *result { Applied::Yes } else { NO(&empty) }
            }
            _ => Applied::No { expected: "an operation of a map".to_owned() },
        }
    }

    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>> {
        let mut next = self.clone();
        match (call.op, call.arg.as_pair()) {
            (codes::INSERT, Some((key, value))) => {
                next.entries.insert(key.clone(), value.clone());
            }
            (codes::INSERT, None) => return Vec::new(),
            (codes::REMOVE, _) => {
                next.entries.remove(call.arg);
            }
            _ => {}
        }
        vec![Box::new(next)]
    }

    #[inline]
    fn view(&self, key: &Value) -> Value {
        self.get(key).clone()
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        let shown = self.entries.iter().filter(|(_, value)| !value.is_null());
        let mut entries: Vec<_> = shown.map(|(key, value)| (key.clone(), value.clone())).collect();
        entries.sort();
        entries
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Model) -> bool {
        other.as_any().downcast_ref::<MapModel>().is_some_and(|other| self.entries == other.entries)
    }

    fn digest(&self) -> u64 {
        let hash = |entry: (&Value, &Value)| FxBuildHasher.hash_one(entry);
        self.entries.iter().map(hash).fold(0, u64::wrapping_add)
    }

    fn size(&self) -> usize {
        self.entries.len()
    }

    fn show(&self) -> String {
        super::shown("{", self.entries().iter().map(|(key, value)| format!("{key}: {value}")), "}")
    }

    fn builtin(&self) -> Option<(&Builtin, State)> {
        let entries = self.entries.iter().map(|(key, value)| (key.clone(), value.clone()));
        Some((&self.spec, State::Map(entries.collect())))
    }

    fn concerns<'a>(&self, call: Call<'a>) -> Option<&'a Value> {
        match call.op {
            codes::INSERT => call.arg.as_pair().map(|(key, _)| key),
            codes::GET | codes::REMOVE => Some(call.arg),
            _ => None,
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
