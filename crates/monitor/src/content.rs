//! What a view has at one key.
//!
//! Null is a value that an object may hold, and a key that holds it is there: a map with `1: null` is not the
//! empty map. And what an implementation has may be no value at all: two places that disagree, or a place
//! that holds what is no pair. These are kinds of their own, so that none of them equals a value of a
//! specification, whatever that value is.

use std::fmt;

use linpoint_history::Value;

use crate::model::Model;

/// What is at a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// Nothing: the key is not there.
    #[default]
    Nothing,
    /// A value, null being one.
    Value(Value),
    /// Places that should agree and do not; their values, in order.
    Conflict(Vec<Value>),
    /// A place of a map that holds something other than a key and a value.
    NoPair(Value),
}

impl Content {
    /// The value, or nothing where it is null: of views that cannot hold null.
    pub fn unless_null(value: Value) -> Content {
        if value.is_null() { Content::Nothing } else { Content::Value(value) }
    }

    /// The value, if it is one.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Content::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        self.value()?.as_int()
    }

    /// As `model` sees it: one that holds no nulls takes null for nothing.
    pub(crate) fn seen_by(self, model: &dyn Model) -> Content {
        match self {
            Content::Value(Value::Null) if !model.holds_nulls() => Content::Nothing,
            content => content,
        }
    }

    /// Is it the same to `model`?
    #[inline]
    pub(crate) fn is_same(&self, own: &Content, model: &dyn Model) -> bool {
        own == self
            || *own == Content::Nothing && !model.holds_nulls() && *self == Content::Value(Value::Null)
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Nothing => f.write_str("nothing"),
            Content::Value(value) => value.fmt(f),
            Content::Conflict(values) => {
                f.write_str("several values in conflict: ")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Content::NoPair(value) => write!(f, "{value}, which is no pair of a key and a value"),
        }
    }
}
