//! Any specification of `linpoint_history` as a model.
//!
//! A specification steps from state to state by the observed answer, so it is in one state as long as all
//! answers are known. (A specification whose answer leaves the state open is not expressible: [`Spec::step`]
//! gives one state.) It has no view, unless one is given.

use std::any::Any;
use std::hash::BuildHasher;
use std::sync::Arc;

use linpoint_history::specs::State;
use linpoint_history::{Builtin, Call, Signature, Spec, Value};
use rustc_hash::FxBuildHasher;

use crate::model::{Applied, Model};

/// The view of a state: entries in the order of keys, without nulls.
pub type ViewOf<S> = fn(&<S as Spec>::State) -> Vec<(Value, Value)>;

/// A model that steps through the states of a specification.
pub struct FromSpec<S: Spec> {
    spec: Arc<S>,
    state: S::State,
    view: Option<ViewOf<S>>,
}

impl<S> FromSpec<S>
where
    S: Spec + Send + Sync + 'static,
    S::State: Send + 'static,
{
    /// The specification in its initial state.
    pub fn new(spec: S) -> FromSpec<S> {
        let state = spec.initial();
        FromSpec { spec: Arc::new(spec), state, view: None }
    }

    /// With a view. It is computed anew where it is asked for: a model of one's own is faster.
    pub fn with_view(mut self, view: ViewOf<S>) -> FromSpec<S> {
        self.view = Some(view);
        self
    }

    fn at(&self, state: S::State) -> FromSpec<S> {
        FromSpec { spec: Arc::clone(&self.spec), state, view: self.view }
    }
}

impl<S> Model for FromSpec<S>
where
    S: Spec + Send + Sync + 'static,
    S::State: Send + 'static,
{
    fn signature(&self) -> &Signature {
        self.spec.signature()
    }

    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied {
        let shape = self.spec.signature().operations.get(usize::from(call.op.0)).map(|decl| decl.result);
        let result = shape.map_or(result, |shape| super::normalised(shape, result));
        let Some(next) = self.spec.step(&self.state, call, result) else {
            return Applied::No { expected: format!("another answer in {}", self.show()) };
        };
        let before = self.view.map(|view| view(&self.state));
        self.state = next;
        if let Some(before) = before {
            super::touch(&before, &self.entries(), touched);
        }
        Applied::Yes
    }

    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>> {
        let mut next = Vec::new();
        self.spec.step_pending(&self.state, call, &mut next);
        // `step_pending` may leave out the unchanged state, which is always possible for an operation that
        // was not seen to answer.
        next.push(self.state.clone());
        let mut models: Vec<Box<dyn Model>> = Vec::new();
        for state in next {
            let model = self.at(state);
            if !models.iter().any(|other| model.same(&**other)) {
                models.push(Box::new(model));
            }
        }
        models
    }

    fn view(&self, key: &Value) -> Value {
        let found = self.entries().into_iter().find(|(other, _)| other == key);
        found.map(|(_, value)| value).unwrap_or_default()
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        self.view.map(|view| view(&self.state)).unwrap_or_default()
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(self.at(self.state.clone()))
    }

    fn same(&self, other: &dyn Model) -> bool {
        other.as_any().downcast_ref::<FromSpec<S>>().is_some_and(|other| self.state == other.state)
    }

    fn digest(&self) -> u64 {
        FxBuildHasher.hash_one(&self.state)
    }

    fn size(&self) -> usize {
        // Not known: taken to be large, so that copies are rare.
        1024
    }

    fn show(&self) -> String {
        super::shortened(self.spec.show(&self.state))
    }

    fn builtin(&self) -> Option<(&Builtin, State)> {
        let spec = (&*self.spec as &dyn Any).downcast_ref::<Builtin>()?;
        let state = (&self.state as &dyn Any).downcast_ref::<State>()?;
        Some((spec, state.clone()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
