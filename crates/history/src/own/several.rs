//! States of a specification that leaves open where an operation leads, although its answer is known.
//!
//! Engines take it that the answer of an operation settles the state after it. A specification of one's own need not keep to
//! that: `choose` may pick a number that no answer shows. So what engines see as a state is the *set* of states that the
//! answers until then allow (the subset construction of Rabin and Scott 1959): an answer leads from a set to everything it may
//! lead to from any member, and is impossible if that is nothing. An order of operations is allowed by the sets exactly if it is
//! allowed by some choice of states. A set of one is that state itself, so whoever leaves nothing open pays nothing.

use std::hash::{BuildHasher, Hash, Hasher};

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::{OwnSpec, OwnState, Shared};
use crate::spec::Call;
use crate::symbols::Symbols;
use crate::value::Value;

/// More members than this are only counted where a state is shown.
const MEMBERS_SHOWN: usize = 4;

/// So many states are compared one by one; more are hashed.
const FEW: usize = 16;

/// Two states or more, each once.
#[derive(Clone, Debug)]
struct Several(Vec<OwnState>);

/// Sets have no order.
impl PartialEq for Several {
    fn eq(&self, other: &Several) -> bool {
        if self.0.len() != other.0.len() {
            return false;
        }
        if self.0.len() <= FEW {
            return self.0.iter().all(|state| other.0.contains(state));
        }
        let members: FxHashSet<&OwnState> = other.0.iter().collect();
        self.0.iter().all(|state| members.contains(state))
    }
}

impl Eq for Several {}

impl Hash for Several {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let sum = self.0.iter().fold(0u64, |sum, state| sum.wrapping_add(FxBuildHasher.hash_one(state)));
        hasher.write_u64(sum);
    }
}

/// The states that this one stands for.
fn members(state: &OwnState) -> &[OwnState] {
    match state.inside::<Several>() {
        Some(Several(states)) => states,
        None => std::slice::from_ref(state),
    }
}

fn set_of(mut states: Vec<OwnState>) -> OwnState {
    match states.pop() {
        Some(only) if states.is_empty() => only,
        last => {
            states.extend(last);
            OwnState::new(Several(states))
        }
    }
}

/// Every answer that a call may give, each once, with the state after it.
pub(crate) fn outcomes(spec: &Shared, state: &OwnState, call: Call<'_>) -> Vec<(Value, OwnState)> {
    let mut all: Vec<(Value, OwnState)> = match members(state) {
        [only] => spec.outcomes(only, call),
        many => many.iter().flat_map(|state| spec.outcomes(state, call)).collect(),
    };
    if all.len() < 2 {
        return all;
    }
    let mut places: FxHashMap<Value, usize> = FxHashMap::default();
    let mut answers: Vec<(Value, After)> = Vec::with_capacity(all.len().min(FEW));
    for (answer, after) in all.drain(..) {
        match places.get(&answer) {
            Some(&place) => answers[place].1.add(after),
            None => {
                places.insert(answer.clone(), answers.len());
                answers.push((answer, After { states: vec![after], met: FxHashSet::default() }));
            }
        }
    }
    all.extend(answers.into_iter().map(|(answer, after)| (answer, set_of(after.states))));
    all
}

/// The state after a call that gave this answer, if it may.
pub(crate) fn step(spec: &Shared, state: &OwnState, call: Call<'_>, answer: &Value) -> Option<OwnState> {
    let states = members(state);
    let mut fitting: Option<After> = None;
    for state in states {
        let mut outcomes = spec.outcomes(state, call);
        // Nearly always.
        if let ([_], [_]) = (states, &outcomes[..]) {
            let (given, after) = outcomes.pop()?;
            return (given == *answer).then_some(after);
        }
        for (given, after) in outcomes {
            if given == *answer {
                match &mut fitting {
                    Some(fitting) => fitting.add(after),
                    None => fitting = Some(After { states: vec![after], met: FxHashSet::default() }),
                }
            }
        }
    }
    fitting.map(|fitting| set_of(fitting.states))
}

/// The states after an answer, each once.
struct After {
    states: Vec<OwnState>,
    /// The same, once they are more than a few.
    met: FxHashSet<OwnState>,
}

impl After {
    fn add(&mut self, state: OwnState) {
        if self.states.len() < FEW {
            if !self.states.contains(&state) {
                self.states.push(state);
            }
            return;
        }
        if self.met.is_empty() {
            self.met.extend(self.states.iter().cloned());
        }
        if self.met.insert(state.clone()) {
            self.states.push(state);
        }
    }
}

/// A state as a person reads it.
pub(crate) fn show(spec: &dyn OwnSpec, state: &OwnState, names: Option<&Symbols>) -> String {
    let states = members(state);
    let one = |state: &OwnState| match names {
        Some(names) => spec.show_named(state, names),
        None => spec.show(state),
    };
    let mut shown: Vec<String> = states.iter().take(MEMBERS_SHOWN).map(one).collect();
    if states.len() > shown.len() {
        shown.push(format!("one of {} others", states.len() - shown.len()));
    }
    shown.join(" or ")
}

/// About how many bytes a state takes.
pub(crate) fn bytes(spec: &dyn OwnSpec, state: &OwnState) -> usize {
    members(state).iter().map(|state| spec.state_bytes(state) + size_of::<OwnState>()).sum()
}

/// What the object holds; `Err` where the states that it may be in do not hold the same.
pub(crate) fn view(
    spec: &dyn OwnSpec,
    state: &OwnState,
) -> Result<Option<Vec<(Value, Value)>>, Undetermined> {
    let mut views = members(state).iter().map(|state| spec.view(state));
    let first = views.next().flatten();
    match views.all(|view| view == first) {
        true => Ok(first),
        false => Err(Undetermined),
    }
}

/// The specification leaves open what the object holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the specification leaves open what the object holds, so it cannot be compared")]
pub struct Undetermined;
