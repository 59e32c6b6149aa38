//! Objects whose whole state is small: registers, counters, locks, snapshots. The specification itself steps
//! from state to state. And the user's own specifications, whatever their states are.

use std::any::Any;
use std::hash::BuildHasher;
use std::sync::Arc;

use linpoint_history::specs::State;
use linpoint_history::{Builtin, Call, Kind, Signature, Spec, Undetermined, Value};
use rustc_hash::FxBuildHasher;

use super::{no, normalised, touch};
use crate::model::{Applied, Model};

/// The specifications `register`, `cas-register`, `rmw-register`, `kv`, `counter`, `lock`, `rw-lock`,
/// `semaphore` and `snapshot`.
///
/// The view: of a register and a counter the value at the key null; of a snapshot the cells by their index;
/// of locks how many shares each process holds, and `true` for one that holds it alone. Of a specification
/// that is not built in: what it says ([`linpoint_history::OwnSpec::view`]), worked out anew after each
/// operation.
#[derive(Clone)]
pub struct StateModel {
    spec: Arc<Builtin>,
    state: State,
    /// Was there a moment at which the specification left open what the object holds?
    left_open: bool,
}

impl StateModel {
    /// An object as `spec` starts it.
    pub fn new(spec: Builtin) -> StateModel {
        let state = spec.initial();
        StateModel { spec: Arc::new(spec), state, left_open: false }
    }

    /// Keys whose view an operation may change that leads from this state to `next`.
    fn touch(&self, call: Call<'_>, next: &State, touched: &mut Vec<Value>) {
        match self.spec.kind {
            Kind::Own => touch(&self.entries_of(&self.state), &self.entries_of(next), touched),
            Kind::Lock | Kind::RwLock | Kind::Semaphore => {
                touched.push(Value::Int(i64::from(call.process.0)))
            }
            Kind::Snapshot => touched.extend(call.arg.as_pair().map(|(index, _)| index.clone())),
            _ => touched.push(Value::Null),
        }
    }
}

impl StateModel {
    fn entries_of(&self, state: &State) -> Vec<(Value, Value)> {
        let number = |n: u32| Value::Int(i64::from(n));
        match state {
            State::Value(value) if value.is_null() => Vec::new(),
            State::Value(value) => vec![(Value::Null, value.clone())],
            State::Sequence(cells) => {
                let cells = cells.iter().enumerate().filter(|(_, cell)| !cell.is_null());
                cells.map(|(index, cell)| (Value::Int(index as i64), cell.clone())).collect()
            }
            State::Holders(shares, owner) => {
                let alone = owner.map(|owner| (number(owner.0), Value::Bool(true)));
                let mut all: Vec<_> =
                    shares.iter().map(|(process, n)| (number(process.0), number(*n))).chain(alone).collect();
                all.sort();
                all
            }
            // Where that is left open, nothing is decided about it: see `shortfall`.
            State::Own(_) => self.spec.own_view(state).ok().flatten().unwrap_or_default(),
            State::Bag(_) | State::Map(_) => Vec::new(),
        }
    }
}

impl Model for StateModel {
    fn signature(&self) -> &Signature {
        self.spec.signature()
    }

    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied {
        let Some(decl) = self.spec.signature().operations.get(usize::from(call.op.0)) else {
            return no("an operation of this object");
        };
        let result = normalised(decl.result, result);
        match self.spec.step(&self.state, call, result) {
            Some(next) => {
                self.touch(call, &next, touched);
                self.left_open |= self.spec.own_view(&next).is_err();
                self.state = next;
                Applied::Yes
            }
            None => {
                let answers: Vec<String> = self
                    .spec
                    .outcomes(&self.state, call)
                    .iter()
                    .map(|(answer, _)| answer.to_string())
                    .collect();
                match answers.is_empty() {
                    false => no(answers.join(" or ")),
                    true if self.spec.kind == Kind::Own => no("to wait, or another argument"),
                    true => no("another argument"),
                }
            }
        }
    }

    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>> {
        let mut states: Vec<State> = Vec::new();
        for (_, after) in self.spec.outcomes(&self.state, call) {
            if !states.contains(&after) {
                states.push(after);
            }
        }
        let at = |state| -> Box<dyn Model> {
            let left_open = self.left_open || self.spec.own_view(&state).is_err();
            Box::new(StateModel { spec: Arc::clone(&self.spec), state, left_open })
        };
        states.into_iter().map(at).collect()
    }

    fn view(&self, key: &Value) -> Value {
        match &self.state {
            State::Value(value) if key.is_null() => value.clone(),
            State::Sequence(cells) => {
                let index = key.as_int().and_then(|index| usize::try_from(index).ok());
                index.and_then(|index| cells.get(index)).cloned().unwrap_or_default()
            }
            _ => {
                self.entries().into_iter().find(|(other, _)| other == key).map(|(_, v)| v).unwrap_or_default()
            }
        }
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        self.entries_of(&self.state)
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Model) -> bool {
        other.as_any().downcast_ref::<StateModel>().is_some_and(|other| self.state == other.state)
    }

    fn digest(&self) -> u64 {
        FxBuildHasher.hash_one(&self.state)
    }

    fn size(&self) -> usize {
        match &self.state {
            State::Sequence(cells) => cells.len(),
            State::Holders(shares, _) => shares.len() + 1,
            _ => 1,
        }
    }

    fn show(&self) -> String {
        super::shortened(self.spec.show(&self.state))
    }

    fn builtin(&self) -> Option<(&Builtin, State)> {
        Some((&self.spec, self.state.clone()))
    }

    fn shortfall(&self, of_views: bool) -> Option<String> {
        let left_open = || (of_views && self.left_open).then(|| Undetermined.to_string());
        self.spec.as_own().and_then(|own| own.shortfall()).or_else(left_open)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
