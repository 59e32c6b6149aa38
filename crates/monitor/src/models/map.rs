//! A map that is changed in place.

use std::any::Any;

use linpoint_history::specs::State;
use linpoint_history::specs::codes::map as codes;
use linpoint_history::{Builtin, Call, Signature, Spec, Value};

use super::table::Table;
use super::{no, yes_if};
use crate::content::Content;
use crate::model::{Applied, Model};

/// The specification `map`. Its view: its entries.
#[derive(Clone)]
pub struct MapModel {
    spec: Builtin,
    entries: Table<Value>,
}

impl MapModel {
    /// A map as `spec` starts it.
    pub fn new(spec: Builtin) -> MapModel {
        let mut entries = Table::new();
        if let State::Map(initial) = spec.initial() {
            initial.into_iter().for_each(|(key, value)| entries.set(&key, Some(value)));
        }
        MapModel { spec, entries }
    }

    #[inline]
    fn get(&self, key: &Value) -> &Value {
        self.entries.get(key).unwrap_or(&Value::Null)
    }
}

impl Model for MapModel {
    fn signature(&self) -> &Signature {
        self.spec.signature()
    }

    #[inline]
    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied {
        match call.op {
            codes::INSERT => {
                let Some((key, value)) = call.arg.as_pair() else { return no("a key and a value") };
                let updated = self.entries.update(key, |old| match old.unwrap_or(&Value::Null) {
                    old if old == result => Ok(Some(value.clone())),
                    old => Err(no(old)),
                });
                if let Err(refused) = updated {
                    return refused;
                }
                touched.push(key.clone());
                Applied::Yes
            }
            codes::GET => yes_if(self.get(call.arg), result),
            codes::REMOVE => {
                let updated = self.entries.update(call.arg, |old| match old.unwrap_or(&Value::Null) {
                    old if old == result => Ok(None),
                    old => Err(no(old)),
                });
                if let Err(refused) = updated {
                    return refused;
                }
                touched.push(call.arg.clone());
                Applied::Yes
            }
            codes::LEN => yes_if(&Value::Int(self.entries.len() as i64), result),
            codes::IS_EMPTY => yes_if(&Value::Bool(self.entries.len() == 0), result),
            _ => no("an operation of a map"),
        }
    }

    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>> {
        let mut next = self.clone();
        match (call.op, call.arg.as_pair()) {
            (codes::INSERT, Some((key, value))) => next.entries.set(key, Some(value.clone())),
            (codes::INSERT, None) => return Vec::new(),
            (codes::REMOVE, _) => next.entries.set(call.arg, None),
            _ => {}
        }
        vec![Box::new(next)]
    }

    #[inline]
    fn view(&self, key: &Value) -> Value {
        self.get(key).clone()
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        let mut entries: Vec<_> =
            self.entries.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        entries.sort();
        entries
    }

    fn holds_nulls(&self) -> bool {
        true
    }

    #[inline]
    fn content(&self, key: &Value) -> Content {
        self.entries.get(key).map_or(Content::Nothing, |value| Content::Value(value.clone()))
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Model) -> bool {
        other.as_any().downcast_ref::<MapModel>().is_some_and(|other| self.entries.same(&other.entries))
    }

    fn digest(&self) -> u64 {
        self.entries.digest()
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
