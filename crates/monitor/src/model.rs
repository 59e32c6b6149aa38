//! The specification as the monitor runs it: one operation after another, in place.
//!
//! [`linpoint_history::Spec`] gives back new states and is made for searching; a model changes its own state
//! and is made for ten million events a second. Where a specification leaves a choice, the observed result
//! resolves it.

use std::any::Any;

use linpoint_history::specs::State;
use linpoint_history::{Builtin, Call, Signature, Value};

use crate::content::Content;

/// Did an operation take effect?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It did, with the observed result.
    Yes,
    /// The specification does not allow that result here; the state is as before.
    No {
        /// What it would have allowed, as a person reads it.
        expected: String,
    },
}

/// A sequential object that follows a running one.
pub trait Model: Send {
    /// The operations it has.
    fn signature(&self) -> &Signature;

    /// Lets `call` take effect and answer `result`. Adds to `touched` every key of the view that it may have
    /// changed.
    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied;

    /// The models that `call` may lead to when its answer is not known, this one unchanged among them only if
    /// the call may take effect without changing anything. Used for operations that never answered.
    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>>;

    /// The view at `key`; null where there is nothing.
    fn view(&self, key: &Value) -> Value;

    /// The whole view, in the order of keys, without nulls but where [`Model::holds_nulls`].
    fn entries(&self) -> Vec<(Value, Value)>;

    /// Is a key that holds null another view than no such key?
    fn holds_nulls(&self) -> bool {
        false
    }

    /// What the view has at `key`. To be given by models that hold nulls.
    #[inline]
    fn content(&self, key: &Value) -> Content {
        Content::unless_null(self.view(key))
    }

    /// A copy, to search from.
    fn fork(&self) -> Box<dyn Model>;

    /// Is the other model, of the same kind, in the same state?
    fn same(&self, other: &dyn Model) -> bool;

    /// A hash of the state; equal states have equal hashes.
    fn digest(&self) -> u64;

    /// About how many elements a copy would have to copy.
    fn size(&self) -> usize;

    /// The state as a person reads it, shortened where it is long.
    fn show(&self) -> String;

    /// The built-in specification that this model follows, and its state, if it does: then engines of
    /// `linpoint_check` can help.
    fn builtin(&self) -> Option<(&Builtin, State)> {
        None
    }

    /// Why the model may have refused what the specification allows, or may show another view than the
    /// specification has, if that may be: code of the user's own panicked, or (where views are compared) the
    /// specification leaves open what the object holds. Then nothing is violated.
    fn shortfall(&self, of_views: bool) -> Option<String> {
        let _ = of_views;
        None
    }

    /// The one part of the object (a key, an element) that `call` reads and changes, if it is one. Calls that
    /// concern different parts commute in every state, with every answer: the parts are objects of their own.
    /// It changes the view at no other key than that one. `None` is always right.
    fn concerns<'a>(&self, call: Call<'a>) -> Option<&'a Value> {
        let _ = call;
        None
    }

    /// For [`Model::same`].
    fn as_any(&self) -> &dyn Any;
}
