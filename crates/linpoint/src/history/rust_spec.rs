//! A Rust type as a specification of histories.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use linpoint_history::{Builtin, Call, Form, OpDecl, OwnSpec, OwnState, Shape, Signature, Value};
use linpoint_monitor::{Model, models};

use crate::spec::Specification;

/// A specification whose operations a history can hold; `#[linpoint::spec]` writes it.
pub trait Recorded: Specification {
    /// What the operation of that number takes; `None` where a history cannot hold it.
    fn takes(index: usize) -> Option<Form>;
    /// What it answers; `None` where a history cannot hold it.
    fn answers(index: usize) -> Option<Form>;
    /// The operation of that number with this argument; `None` if the argument is not of its types.
    fn read_op(index: usize, arg: &Value) -> Option<Self::Op>;
    /// The argument of an operation.
    fn write_op(op: &Self::Op) -> Option<Value>;
    /// An answer.
    fn write_answer(answer: &Self::Ret) -> Option<Value>;
    /// What the object holds, as pairs of a key and a value; `None` where no method is marked `#[view]`.
    fn entries(&self) -> Option<Vec<(Value, Value)>> {
        None
    }
}

/// A specification cannot judge histories: an operation has a type that no history can hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{operation}` of `{spec}` {does} a value of a type that histories cannot hold; implement `linpoint::history::InHistory` for it"
)]
pub struct Unrecorded {
    /// The specification.
    pub spec: String,
    /// The operation.
    pub operation: String,
    does: &'static str,
}

/// The specification as every engine of histories takes it: `linpoint_check`, streams, the dataflow.
///
/// # Errors
/// Where an operation has a type that no history can hold ([`InHistory`](super::InHistory)).
pub fn specification<S: Recorded>() -> Result<Builtin, Unrecorded> {
    own::<S>().map(Builtin::own)
}

/// The specification as a [`Catalog`](super::Catalog) takes it, under the name of its type.
///
/// # Errors
/// As [`specification`].
pub fn own<S: Recorded>() -> Result<Arc<dyn OwnSpec>, Unrecorded> {
    Ok(Arc::new(RustSpec::<S>::new()?))
}

/// The specification as the monitor takes it: `monitor.object_with(name, model::<S>()?)`.
///
/// # Errors
/// As [`specification`].
pub fn model<S: Recorded>() -> Result<Box<dyn Model>, Unrecorded> {
    specification::<S>().map(models::model)
}

struct RustSpec<S> {
    name: String,
    signature: Signature,
    shortfall: Mutex<Option<String>>,
    of: PhantomData<fn() -> S>,
}

impl<S: Recorded> RustSpec<S> {
    fn new() -> Result<RustSpec<S>, Unrecorded> {
        let path = std::any::type_name::<S>();
        let name = path.rsplit("::").next().unwrap_or(path).to_owned();
        let unrecorded =
            |operation: &str, does| Unrecorded { spec: name.clone(), operation: operation.to_owned(), does };
        let mut operations = Vec::new();
        for (index, operation) in S::names().iter().copied().enumerate() {
            let arg = S::takes(index).ok_or_else(|| unrecorded(operation, "takes"))?;
            let result = S::answers(index).ok_or_else(|| unrecorded(operation, "answers"))?;
            operations.push(OpDecl { name: operation, aliases: &[], arg: shape(arg), result: shape(result) });
        }
        assert!(operations.len() <= 256, "a specification has at most 256 operations");
        let signature = Signature { operations };
        Ok(RustSpec { name, signature, shortfall: Mutex::new(None), of: PhantomData })
    }

    fn note(&self, what: String) {
        self.shortfall.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
    }
}

fn shape(form: Form) -> Shape {
    form.shape()
}

impl<S: Recorded> fmt::Debug for RustSpec<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RustSpec").field(&self.name).finish()
    }
}

impl<S: Recorded> OwnSpec for RustSpec<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn initial(&self) -> OwnState {
        OwnState::new(S::initial())
    }

    fn outcomes(&self, state: &OwnState, call: Call<'_>) -> Vec<(Value, OwnState)> {
        let Some(before) = state.inside::<S>() else { return Vec::new() };
        let index = usize::from(call.op.0);
        let operation = self.signature.operations[index].name;
        let Some(op) = S::read_op(index, call.arg) else {
            self.note(format!("`{operation}` does not take {}", call.arg));
            return Vec::new();
        };
        let mut found = Vec::new();
        let done = catch_unwind(AssertUnwindSafe(|| before.outcomes(&op, &mut found)));
        if done.is_err() {
            self.note(format!("`{operation}` of the specification panics"));
        }
        let written = found.into_iter().map(|(answer, after)| {
            let answer = S::write_answer(&answer).expect("it was asked whether answers can be held");
            (answer, OwnState::new(after))
        });
        written.collect()
    }

    fn view(&self, state: &OwnState) -> Option<Vec<(Value, Value)>> {
        let state = state.inside::<S>()?;
        let Ok(entries) = catch_unwind(AssertUnwindSafe(|| state.entries())) else {
            self.note("the view of the specification panics".to_owned());
            return None;
        };
        let mut entries = entries?;
        entries.retain(|(_, value)| !value.is_null());
        entries.sort();
        Some(entries)
    }

    fn shortfall(&self) -> Option<String> {
        self.shortfall.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
