//! What a history is compared with: a sequential object.
//!
//! A specification says which states an object has, where it starts, and which operation with which result
//! may happen in which state. It is *nondeterministic* where several results are possible (a bounded queue
//! that may report "full" at any time): the result in the history resolves the choice. Where an operation
//! never answered, its result is not known, and every outcome counts.
//!
//! The same trait serves the history checker, the explorer and the monitor.

use std::fmt::Debug;
use std::hash::Hash;

use crate::operation::{OpCode, ProcessId};
use crate::signature::Signature;
use crate::symbols::Symbols;
use crate::value::Value;

/// An operation about to take effect: all but its result.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Which operation.
    pub op: OpCode,
    /// Who calls it; locks care.
    pub process: ProcessId,
    /// Its argument.
    pub arg: &'a Value,
}

/// A sequential object.
pub trait Spec {
    /// A state of the object. Equal states must have equal futures.
    type State: Clone + Eq + Hash + Debug;

    /// The operations it has.
    fn signature(&self) -> &Signature;

    /// Where it starts.
    fn initial(&self) -> Self::State;

    /// The state after `call` took effect in `state` and answered `result`; `None` where that cannot be.
    fn step(&self, state: &Self::State, call: Call<'_>, result: &Value) -> Option<Self::State>;

    /// Adds to `next` every state that `call` may lead to in `state`, whatever it answers. Used for
    /// operations that never answered; a state the call leaves unchanged may be left out.
    fn step_pending(&self, state: &Self::State, call: Call<'_>, next: &mut Vec<Self::State>);

    /// Can this operation with this result (`None`: any) never change the state, in *any* state? Saying
    /// `false` is always right; saying `true` lets engines place it the moment it fits.
    fn is_read_only(&self, call: Call<'_>, result: Option<&Value>) -> bool {
        let _ = (call, result);
        false
    }

    /// Do these two operations commute: from every state, both orders possible or both impossible, with the
    /// same outcome? Saying `false` is always right.
    fn commutes(&self, a: (Call<'_>, &Value), b: (Call<'_>, &Value)) -> bool {
        let _ = (a, b);
        false
    }

    /// Does it matter who calls? Saying `true` is always right; saying `false` lets engines treat operations
    /// of different processes with the same name, argument and result as interchangeable. Locks say `true`.
    fn observes_process(&self) -> bool {
        true
    }

    /// Bytes that a state takes, what it holds behind pointers included: how a search measures what it holds.
    /// Roughly is enough.
    fn state_bytes(&self, state: &Self::State) -> usize {
        let _ = state;
        size_of::<Self::State>()
    }

    /// A state as a person reads it.
    fn show(&self, state: &Self::State) -> String {
        format!("{state:?}")
    }

    /// The same, with processes by their names.
    fn show_named(&self, state: &Self::State, names: &Symbols) -> String {
        let _ = names;
        self.show(state)
    }
}

/// The easy way to write a deterministic [`Spec`]: change the state, give the answer.
pub trait Deterministic {
    /// A state of the object.
    type State: Clone + Eq + Hash + Debug;

    /// The operations it has.
    fn signature(&self) -> &Signature;

    /// Where it starts.
    fn initial(&self) -> Self::State;

    /// Applies `call` and answers.
    fn apply(&self, state: &mut Self::State, call: Call<'_>) -> Value;

    /// As [`Spec::is_read_only`].
    fn is_read_only(&self, call: Call<'_>) -> bool {
        let _ = call;
        false
    }

    /// As [`Spec::observes_process`].
    fn observes_process(&self) -> bool {
        true
    }
}

impl<D: Deterministic> Spec for D {
    type State = D::State;

    fn signature(&self) -> &Signature {
        Deterministic::signature(self)
    }

    fn initial(&self) -> Self::State {
        Deterministic::initial(self)
    }

    fn step(&self, state: &Self::State, call: Call<'_>, result: &Value) -> Option<Self::State> {
        let mut next = state.clone();
        (self.apply(&mut next, call) == *result).then_some(next)
    }

    fn step_pending(&self, state: &Self::State, call: Call<'_>, next: &mut Vec<Self::State>) {
        let mut after = state.clone();
        self.apply(&mut after, call);
        next.push(after);
    }

    fn is_read_only(&self, call: Call<'_>, _result: Option<&Value>) -> bool {
        Deterministic::is_read_only(self, call)
    }

    fn observes_process(&self) -> bool {
        Deterministic::observes_process(self)
    }
}
