//! The operations an object has: names, other names, and what arguments and results look like.
//!
//! Readers use a signature to turn names into [`OpCode`]s and to refuse what does not fit, with a message
//! that says what would.

use std::borrow::Cow;

use crate::form::Form;
use crate::operation::OpCode;
use crate::symbols::ValueId;
use crate::value::Value;

/// What an argument or a result may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing: null (results also accept `true`, which some clients log for "done").
    Unit,
    /// Any value but null.
    Item,
    /// Any value, null included.
    Any,
    /// An integer.
    Int,
    /// Nothing, or an integer.
    OptionalInt,
    /// A truth value.
    Bool,
    /// Nothing (meaning "done"), or a truth value.
    Done,
    /// Text.
    Text,
    /// A list of two values.
    Pair,
    /// A list of two values, the first of them no null: a key and what belongs to it.
    Entry,
    /// A list of two values, the first of them the number of a cell, below [`CELLS`].
    Cell,
    /// A list.
    List,
    /// What a type of a specification that is not built in looks like; made by [`Form::shape`].
    Own(Form),
}

/// So many cells a snapshot object has at most.
pub const CELLS: i64 = 65_536;

impl Shape {
    /// Does `value` have this shape?
    pub fn admits(self, value: &Value) -> bool {
        match self {
            Shape::Unit => matches!(value, Value::Null | Value::Bool(true)),
            Shape::Item => !value.is_null(),
            Shape::Any => true,
            Shape::Int => matches!(value, Value::Int(_)),
            Shape::OptionalInt => matches!(value, Value::Int(_) | Value::Null),
            Shape::Bool => matches!(value, Value::Bool(_)),
            Shape::Done => matches!(value, Value::Null | Value::Bool(_)),
            Shape::Text => matches!(value, Value::Str(_)),
            Shape::Pair => value.as_pair().is_some(),
            Shape::Entry => matches!(value.as_pair(), Some((key, _)) if !key.is_null()),
            Shape::Cell => matches!(value.as_pair(), Some((Value::Int(0..CELLS), _))),
            Shape::List => matches!(value, Value::List(_)),
            Shape::Own(form) => form.admits(value),
        }
    }

    /// The one id for values that mean the same here: where `true` says no more than "done", it becomes null.
    #[inline]
    pub fn normalise(self, value: ValueId) -> ValueId {
        match self {
            Shape::Unit | Shape::Done if value == ValueId::TRUE => ValueId::NULL,
            _ => value,
        }
    }

    /// What a diagnostic says was expected.
    pub fn expected(self) -> Cow<'static, str> {
        let text = match self {
            Shape::Unit => "null",
            Shape::Item => "a value other than null",
            Shape::Any => "a value",
            Shape::Int => "an integer",
            Shape::OptionalInt => "an integer or null",
            Shape::Bool => "true or false",
            Shape::Done => "null, true or false",
            Shape::Text => "text",
            Shape::Pair => "a list of two values",
            Shape::Entry => "a list of a key, which is not null, and a value",
            Shape::Cell => "a list of a cell from 0 to 65535 and a value",
            Shape::List => "a list",
            Shape::Own(form) => return form.expected().into(),
        };
        text.into()
    }
}

/// One operation of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpDecl {
    /// Its name.
    pub name: &'static str,
    /// Other names it is known by.
    pub aliases: &'static [&'static str],
    /// What it takes.
    pub arg: Shape,
    /// What it gives back.
    pub result: Shape,
}

/// The operations of an object; their positions are their [`OpCode`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The operations.
    pub operations: Vec<OpDecl>,
}

impl Signature {
    /// The operation called `name`, by its own name or another; `remove-min` is as good as `remove_min`.
    pub fn find(&self, name: &str) -> Option<OpCode> {
        let known =
            |name: &str| self.operations.iter().position(|op| op.name == name || op.aliases.contains(&name));
        known(name)
            .or_else(|| name.contains('-').then(|| known(&name.replace('-', "_"))).flatten())
            .map(|index| OpCode(index as u8))
    }

    /// The declaration behind a code.
    ///
    /// # Panics
    /// If the code is not of this signature.
    pub fn decl(&self, op: OpCode) -> &OpDecl {
        &self.operations[usize::from(op.0)]
    }

    /// All names, for a message: `enqueue (enq, push), dequeue (deq)`.
    pub fn names(&self) -> String {
        let name = |op: &OpDecl| match op.aliases {
            [] => op.name.to_owned(),
            aliases => format!("{} ({})", op.name, aliases.join(", ")),
        };
        self.operations.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}
