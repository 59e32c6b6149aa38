//! A specification written as operations with parameters, a precondition and an effect over named global
//! variables, after Dragicevic 2011 (section 4.2): S = (variables, operations, prefix).
//!
//! The result of an operation is a parameter like any other: it is known from the history. An operation may
//! take effect where its precondition holds of the variables and its parameters, and its effect then changes
//! the variables and nothing else (the closed-world assumption). A prefix of operations gives the initial
//! contents.
//!
//! The priority queue of the text, with `insert`, `remove` and `change_key`:
//!
//! ```
//! use linpoint_history::formal::{Formal, Variables};
//! use linpoint_history::{Call, OpCode, ProcessId, Shape, Spec, Value};
//!
//! fn queue(vars: &Variables) -> &[Value] {
//!     vars.list("Q")
//! }
//!
//! let spec = Formal::new()
//!     .variable("Q", Value::list([]))
//!     .operation("insert", &[("p", Shape::Item)], Shape::Unit)
//!     .effect(|vars, p| vars.edit_list("Q", |q| q.push(p["p"].clone())))
//!     .operation("remove", &[], Shape::Any)
//!     .precondition(|vars, p| match queue(vars).iter().max() {
//!         Some(highest) => p["result"] == *highest,
//!         None => p["result"].is_null(),
//!     })
//!     .effect(|vars, p| vars.edit_list("Q", |q| {
//!         if let Some(at) = q.iter().position(|item| *item == p["result"]) {
//!             q.remove(at);
//!         }
//!     }))
//!     .possible(|vars, _| vec![queue(vars).iter().max().cloned().unwrap_or_default()])
//!     .operation("change_key", &[("from", Shape::Item), ("to", Shape::Item)], Shape::Bool)
//!     .precondition(|vars, p| p["result"] == Value::Bool(queue(vars).contains(&p["from"])))
//!     .effect(|vars, p| vars.edit_list("Q", |q| {
//!         if let Some(at) = q.iter().position(|item| *item == p["from"]) {
//!             q[at] = p["to"].clone();
//!         }
//!     }))
//!     .possible(|_, _| vec![Value::Bool(true), Value::Bool(false)])
//!     .prefix("insert", &[Value::Int(4)])
//!     .normal_form(|vars| vars.edit_list("Q", |q| q.sort()));
//!
//! let remove = Call { op: OpCode(1), process: ProcessId(0), arg: &Value::Null };
//! assert!(spec.step(&spec.initial(), remove, &Value::Int(4)).is_some());
//! assert!(spec.step(&spec.initial(), remove, &Value::Int(5)).is_none());
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;
use std::sync::Arc;

use crate::operation::{OpCode, ProcessId};
use crate::signature::{OpDecl, Shape, Signature};
use crate::spec::{Call, Spec};
use crate::value::Value;

/// The global variables of a specification and what they hold: a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Variables(BTreeMap<&'static str, Value>);

impl Variables {
    /// Gives a variable a value.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.0.insert(name, value);
    }

    /// The items of a variable that holds a list; none where it does not.
    pub fn list(&self, name: &str) -> &[Value] {
        match self.0.get(name) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    /// Changes the items of a variable that holds a list.
    pub fn edit_list(&mut self, name: &'static str, edit: impl FnOnce(&mut Vec<Value>)) {
        let mut items = self.list(name).to_vec();
        edit(&mut items);
        self.set(name, Value::list(items));
    }
}

/// A variable's value; null where there is no such variable.
impl Index<&str> for Variables {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }
}

/// The values of an operation's parameters, `result` among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters(Vec<(&'static str, Value)>);

impl Index<&str> for Parameters {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.0.iter().find(|(known, _)| *known == name).map_or(&Value::Null, |(_, value)| value)
    }
}

type Condition = Arc<dyn Fn(&Variables, &Parameters) -> bool + Send + Sync>;
type Effect = Arc<dyn Fn(&mut Variables, &Parameters) + Send + Sync>;
type Possible = Arc<dyn Fn(&Variables, &Parameters) -> Vec<Value> + Send + Sync>;
type NormalForm = Arc<dyn Fn(&mut Variables) + Send + Sync>;

#[derive(Clone)]
struct OperationSpec {
    parameters: Vec<(&'static str, Shape)>,
    precondition: Condition,
    effect: Option<Effect>,
    possible: Possible,
}

/// A formal specification. Made by naming variables, then operations, each followed by what belongs to it.
#[derive(Clone)]
pub struct Formal {
    variables: Variables,
    signature: Signature,
    operations: Vec<OperationSpec>,
    prefix: Vec<(&'static str, Vec<Value>)>,
    normal_form: NormalForm,
}

impl Default for Formal {
    fn default() -> Formal {
        Formal::new()
    }
}

impl Formal {
    /// No variables and no operations.
    pub fn new() -> Formal {
        Formal {
            variables: Variables::default(),
            signature: Signature { operations: Vec::new() },
            operations: Vec::new(),
            prefix: Vec::new(),
            normal_form: Arc::new(|_| {}),
        }
    }

    /// A global variable and what it holds at first.
    pub fn variable(mut self, name: &'static str, initial: Value) -> Formal {
        self.variables.set(name, initial);
        self
    }

    /// An operation with its parameters and the shape of its result. It may always take effect, and has none,
    /// until more is said. One parameter is the argument itself; two are a list of two; more are a list.
    pub fn operation(
        mut self,
        name: &'static str,
        parameters: &[(&'static str, Shape)],
        result: Shape,
    ) -> Formal {
        let arg = match parameters {
            [] => Shape::Unit,
            [(_, shape)] => *shape,
            [_, _] => Shape::Pair,
            _ => Shape::List,
        };
        self.signature.operations.push(OpDecl { name, aliases: &[], arg, result });
        self.operations.push(OperationSpec {
            parameters: parameters.to_vec(),
            precondition: Arc::new(|_, _| true),
            effect: None,
            possible: Arc::new(|_, _| vec![Value::Null]),
        });
        self
    }

    /// When the last named operation may take effect.
    pub fn precondition(
        self,
        holds: impl Fn(&Variables, &Parameters) -> bool + Send + Sync + 'static,
    ) -> Formal {
        self.amend(|operation| operation.precondition = Arc::new(holds))
    }

    /// What the last named operation does.
    pub fn effect(self, does: impl Fn(&mut Variables, &Parameters) + Send + Sync + 'static) -> Formal {
        self.amend(|operation| operation.effect = Some(Arc::new(does)))
    }

    /// The results the last named operation may have, for when it never answered; those its precondition
    /// refuses are passed over. Only null where nothing is said.
    pub fn possible(
        self,
        results: impl Fn(&Variables, &Parameters) -> Vec<Value> + Send + Sync + 'static,
    ) -> Formal {
        self.amend(|operation| operation.possible = Arc::new(results))
    }

    /// An operation that took effect before every history, with its arguments: initial contents.
    pub fn prefix(mut self, name: &'static str, arguments: &[Value]) -> Formal {
        self.prefix.push((name, arguments.to_vec()));
        self
    }

    /// Brings variables into one form for all states that mean the same (a set kept as a list is sorted,
    /// say).
    pub fn normal_form(mut self, normalise: impl Fn(&mut Variables) + Send + Sync + 'static) -> Formal {
        self.normal_form = Arc::new(normalise);
        self
    }

    fn amend(mut self, change: impl FnOnce(&mut OperationSpec)) -> Formal {
        let last = self.operations.last_mut().expect("an operation is named before what belongs to it");
        change(last);
        self
    }

    fn parameters(&self, call: Call<'_>, result: &Value) -> Option<Parameters> {
        let declared = &self.operations.get(usize::from(call.op.0))?.parameters;
        let mut values: Vec<(&'static str, Value)> = match (&declared[..], call.arg) {
            ([], _) => Vec::new(),
            ([(name, _)], value) => vec![(*name, value.clone())],
            (several, Value::List(items)) if items.len() == several.len() => {
                several.iter().zip(items.iter()).map(|((name, _), item)| (*name, item.clone())).collect()
            }
            _ => return None,
        };
        if !declared.iter().zip(&values).all(|((_, shape), (_, value))| shape.admits(value)) {
            return None;
        }
        values.push(("result", result.clone()));
        values.push(("process", Value::Int(i64::from(call.process.0))));
        Some(Parameters(values))
    }
}

impl Spec for Formal {
    type State = Variables;

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The initial values, after the prefix.
    ///
    /// # Panics
    /// If an operation of the prefix is not known or cannot take effect: the specification contradicts
    /// itself.
    fn initial(&self) -> Variables {
        let mut state = self.variables.clone();
        (self.normal_form)(&mut state);
        for (name, arguments) in &self.prefix {
            let op = self.signature.find(name).expect("the prefix names operations of the specification");
            let arg = match &arguments[..] {
                [] => Value::Null,
                [one] => one.clone(),
                several => Value::list(several.iter().cloned()),
            };
            let call = Call { op, process: ProcessId(0), arg: &arg };
            let mut next = Vec::new();
            self.step_pending(&state, call, &mut next);
            state = next.into_iter().next().unwrap_or_else(|| match self.takes_effect(&state, call) {
                true => state,
                false => panic!("`{name}` of the prefix cannot take effect"),
            });
        }
        state
    }

    fn step(&self, state: &Variables, call: Call<'_>, result: &Value) -> Option<Variables> {
        let operation = self.operations.get(usize::from(call.op.0))?;
        let parameters = self.parameters(call, result)?;
        if !(operation.precondition)(state, &parameters) {
            return None;
        }
        let mut next = state.clone();
        if let Some(effect) = &operation.effect {
            effect(&mut next, &parameters);
            (self.normal_form)(&mut next);
        }
        Some(next)
    }

    fn step_pending(&self, state: &Variables, call: Call<'_>, next: &mut Vec<Variables>) {
        for result in self.possible_results(state, call) {
            if let Some(after) = self.step(state, call, &result)
                && after != *state
                && !next.contains(&after)
            {
                next.push(after);
            }
        }
    }

    /// An operation without an effect only looks.
    fn is_read_only(&self, call: Call<'_>, _result: Option<&Value>) -> bool {
        self.operations.get(usize::from(call.op.0)).is_some_and(|operation| operation.effect.is_none())
    }

    fn show(&self, state: &Variables) -> String {
        let show = |(name, value): (&&str, &Value)| format!("{name} = {value}");
        state.0.iter().map(show).collect::<Vec<_>>().join(", ")
    }
}

impl Formal {
    fn possible_results(&self, state: &Variables, call: Call<'_>) -> Vec<Value> {
        match (self.operations.get(usize::from(call.op.0)), self.parameters(call, &Value::Null)) {
            (Some(operation), Some(parameters)) => (operation.possible)(state, &parameters),
            _ => Vec::new(),
        }
    }

    fn takes_effect(&self, state: &Variables, call: Call<'_>) -> bool {
        self.possible_results(state, call).iter().any(|result| self.step(state, call, result).is_some())
    }

    /// The code of an operation by its name.
    pub fn code(&self, name: &str) -> Option<OpCode> {
        self.signature.find(name)
    }
}

impl fmt::Debug for Formal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.signature.operations.iter().map(|op| op.name).collect();
        f.debug_struct("Formal").field("variables", &self.variables).field("operations", &names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::specs::{Builtin, Kind};

    fn highest(vars: &Variables) -> Value {
        vars.list("Q").iter().max().cloned().unwrap_or_default()
    }

    fn replace(vars: &mut Variables, from: &Value, to: Option<Value>) {
        vars.edit_list("Q", |q| {
            if let Some(at) = q.iter().position(|item| item == from) {
                q.remove(at);
                q.extend(to);
            }
        });
    }

    fn priority_queue() -> Formal {
        Formal::new()
            .variable("Q", Value::list([]))
            .operation("insert", &[("p", Shape::Item)], Shape::Unit)
            .precondition(|_, p| p["result"].is_null())
            .effect(|vars, p| vars.edit_list("Q", |q| q.push(p["p"].clone())))
            .operation("remove_max", &[], Shape::Any)
            .precondition(|vars, p| p["result"] == highest(vars))
            .effect(|vars, p| replace(vars, &p["result"], None))
            .possible(|vars, _| vec![highest(vars)])
            .operation("change_key", &[("from", Shape::Item), ("to", Shape::Item)], Shape::Bool)
            .precondition(|vars, p| p["result"] == Value::Bool(vars.list("Q").contains(&p["from"])))
            .effect(|vars, p| replace(vars, &p["from"], Some(p["to"].clone())))
            .possible(|_, _| vec![Value::Bool(true), Value::Bool(false)])
            .normal_form(|vars| vars.edit_list("Q", |q| q.sort()))
    }

    /// Random walks: both accept the same steps, and a walk that one refuses is refused by the other.
    #[test]
    fn the_priority_queue_agrees_with_the_built_in_one() {
        let (formal, builtin) = (priority_queue(), Builtin::new(Kind::PriorityQueueMax));
        let mut rng = Rng::new(1);
        let number = |rng: &mut Rng| Value::Int(rng.below(4) as i64);
        for _ in 0..500 {
            let (mut ours, mut theirs) = (formal.initial(), builtin.initial());
            for _ in 0..40 {
                let op = OpCode(rng.below(3) as u8);
                let arg = match op.0 {
                    0 => number(&mut rng),
                    1 => Value::Null,
                    _ => Value::list([number(&mut rng), number(&mut rng)]),
                };
                let result = match (op.0, rng.below(4)) {
                    (0, _) | (_, 0) => Value::Null,
                    (1, _) => number(&mut rng),
                    (_, bit) => Value::Bool(bit == 1),
                };
                let call = Call { op, process: ProcessId(0), arg: &arg };
                let (mut mine, mut yours) = (Vec::new(), Vec::new());
                formal.step_pending(&ours, call, &mut mine);
                builtin.step_pending(&theirs, call, &mut yours);
                assert_eq!(mine.len(), yours.len(), "{ours:?} {call:?}");
                match (formal.step(&ours, call, &result), builtin.step(&theirs, call, &result)) {
                    (Some(a), Some(b)) => (ours, theirs) = (a, b),
                    (None, None) => {}
                    (a, b) => panic!("{ours:?} {call:?} {result}: {a:?} but {b:?}"),
                }
            }
        }
    }

    #[test]
    fn the_prefix_gives_the_initial_contents() {
        let spec = priority_queue().prefix("insert", &[Value::Int(3)]).prefix("insert", &[Value::Int(5)]);
        assert_eq!(spec.initial().list("Q"), [Value::Int(3), Value::Int(5)]);
        assert_eq!(spec.code("change_key"), Some(OpCode(2)));
    }
}
