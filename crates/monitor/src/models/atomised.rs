//! The implementation's own code, one operation at a time, as its specification (Tasiran & Qadeer 2005,
//! section 7).
//!
//! The code is run by one thread alone, so it is as atomic as a specification must be. Where several answers
//! are allowed it is *relaxed*: it is told the answer that was observed, and follows it if it may (an
//! insertion that failed for want of room fails here, too, and changes nothing).
//!
//! What is needed of the implementation: a copy of a state, a step, and a canonical value to compare states
//! by.

use std::any::Any;
use std::hash::BuildHasher;
use std::sync::Arc;

use linpoint_history::{Call, Signature, Value};
use rustc_hash::FxBuildHasher;

use super::{no, touch};
use crate::model::{Applied, Model};

/// What the code answers: in a state, to an operation, told what was observed (none where nobody knows).
type Perform<T> = Arc<dyn Fn(&mut T, Call<'_>, Option<&Value>) -> Value + Send + Sync>;
/// The canonical value of a state: entries in the order of keys, without nulls.
type Canonical<T> = Arc<dyn Fn(&T) -> Vec<(Value, Value)> + Send + Sync>;

/// A model that runs code.
pub struct Atomised<T> {
    signature: Signature,
    state: T,
    perform: Perform<T>,
    view: Canonical<T>,
    /// The view of the state, kept where it was asked for.
    entries: Vec<(Value, Value)>,
}

impl<T: Clone + Send + 'static> Atomised<T> {
    /// An object in the state `initial`. `perform` runs an operation; if its answer is not the observed one,
    /// what it did is undone. `view` gives the canonical value of a state, by which states are compared too:
    /// two states with equal views must have equal futures.
    pub fn new(
        signature: Signature,
        initial: T,
        perform: impl Fn(&mut T, Call<'_>, Option<&Value>) -> Value + Send + Sync + 'static,
        view: impl Fn(&T) -> Vec<(Value, Value)> + Send + Sync + 'static,
    ) -> Atomised<T> {
        let entries = view(&initial);
        Atomised { signature, state: initial, perform: Arc::new(perform), view: Arc::new(view), entries }
    }

    fn at(&self, state: T) -> Atomised<T> {
        let entries = (self.view)(&state);
        Atomised {
            signature: self.signature.clone(),
            state,
            perform: Arc::clone(&self.perform),
            view: Arc::clone(&self.view),
            entries,
        }
    }
}

impl<T: Clone + Send + 'static> Model for Atomised<T> {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied {
        let mut next = self.state.clone();
        let answer = (self.perform)(&mut next, call, Some(result));
        if answer != *result {
            return no(answer);
        }
        self.state = next;
        let before = std::mem::replace(&mut self.entries, (self.view)(&self.state));
        touch(&before, &self.entries, touched);
        Applied::Yes
    }

    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>> {
        let mut next = self.state.clone();
        (self.perform)(&mut next, call, None);
        let next = self.at(next);
        // Code that follows an answer may do another thing for each; what it does when it failed is most
        // often nothing.
        if next.same(self) { vec![Box::new(next)] } else { vec![Box::new(next), self.fork()] }
    }

    fn view(&self, key: &Value) -> Value {
        match self.entries.binary_search_by(|(other, _)| other.cmp(key)) {
            Ok(place) => self.entries[place].1.clone(),
            Err(_) => Value::Null,
        }
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        self.entries.clone()
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(self.at(self.state.clone()))
    }

    fn same(&self, other: &dyn Model) -> bool {
        other.as_any().downcast_ref::<Atomised<T>>().is_some_and(|other| self.entries == other.entries)
    }

    fn digest(&self) -> u64 {
        FxBuildHasher.hash_one(&self.entries)
    }

    fn size(&self) -> usize {
        self.entries.len()
    }

    fn show(&self) -> String {
        super::shown("{", self.entries.iter().map(|(key, value)| format!("{key}: {value}")), "}")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
