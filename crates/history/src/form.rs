//! What values of a user's own types look like in a history.
//!
//! The arguments and answers of a specification that somebody wrote in Rust or in the algorithm language have
//! types; a history has JSON. A [`Form`] says which values stand for a value of such a type, so that a reader
//! can refuse what does not fit and say what would.
//!
//! Invariant: no value stands for two values of one type. `None` is null; `Some(x)` is what `x` is, but where
//! that may be null itself: then it is the list `[x]`.

use crate::signature::Shape;
use crate::value::Value;

/// The values that stand for a type's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Null.
    Null,
    /// Any value.
    Any,
    /// Any value but null.
    Item,
    /// A truth value.
    Bool,
    /// An integer from `least` to `greatest`.
    Int {
        /// The least.
        least: i64,
        /// The greatest.
        greatest: i64,
    },
    /// An integer of a type with more than 64 bits, or without a sign: as a number where it fits into 64 bits
    /// with a sign, else as text.
    Wide,
    /// Text.
    Text,
    /// One character, as text.
    Char,
    /// One of these names, as text.
    OneOf(&'static [&'static str]),
    /// Null, or a value.
    Option(&'static Form),
    /// A list of values of these forms, in this order.
    Tuple(&'static [Form]),
    /// A list of any length.
    List(&'static Form),
    /// A list of a name and a value: `["ok", x]`.
    Tagged(&'static [(&'static str, Form)]),
}

impl Form {
    /// The shape of arguments or results of this form.
    #[must_use]
    pub const fn shape(self) -> Shape {
        match self {
            Form::Null => Shape::Unit,
            Form::Any => Shape::Any,
            // Not the built-in ones: what readers guess of a log that repeats the argument as the answer is
            // right for built-in objects.
            form => Shape::Own(form),
        }
    }

    /// Does it admit null?
    #[must_use]
    pub const fn admits_null(self) -> bool {
        match self {
            Form::Null | Form::Any | Form::Option(_) => true,
            Form::Item | Form::Bool | Form::Int { .. } | Form::Wide | Form::Text | Form::Char => false,
            Form::OneOf(_) | Form::Tuple(_) | Form::List(_) | Form::Tagged(_) => false,
        }
    }

    /// Does a value have this form?
    #[must_use]
    pub fn admits(self, value: &Value) -> bool {
        match (self, value) {
            (Form::Any, _) => true,
            (Form::Null, value) => value.is_null(),
            (Form::Item, value) => !value.is_null(),
            (Form::Bool, value) => value.as_bool().is_some(),
            (Form::Int { least, greatest }, Value::Int(n)) => (least..=greatest).contains(n),
            (Form::Wide, Value::Int(_)) => true,
            (Form::Wide, Value::Str(text)) => is_wide(text),
            (Form::Text, value) => matches!(value, Value::Str(_)),
            (Form::Char, Value::Str(text)) => text.chars().count() == 1,
            (Form::OneOf(names), Value::Str(text)) => names.contains(&&**text),
            (Form::Option(_), Value::Null) => true,
            (Form::Option(inner), Value::List(items)) if inner.admits_null() => {
                matches!(&items[..], [item] if inner.admits(item))
            }
            (Form::Option(inner), value) => !inner.admits_null() && inner.admits(value),
            (Form::Tuple(forms), Value::List(items)) => {
                forms.len() == items.len() && forms.iter().zip(&**items).all(|(form, item)| form.admits(item))
            }
            (Form::List(form), Value::List(items)) => items.iter().all(|item| form.admits(item)),
            (Form::Tagged(forms), Value::List(items)) => match &items[..] {
                [Value::Str(tag), item] => {
                    forms.iter().any(|(name, form)| **name == **tag && form.admits(item))
                }
                _ => false,
            },
            (Form::Int { .. } | Form::Wide | Form::Char | Form::OneOf(_), _) => false,
            (Form::Tuple(_) | Form::List(_) | Form::Tagged(_), _) => false,
        }
    }

    /// What a message says was expected.
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Form::Null => "null".into(),
            Form::Any => "a value".into(),
            Form::Item => "a value other than null".into(),
            Form::Bool => "true or false".into(),
            Form::Int { least: i64::MIN, greatest: i64::MAX } | Form::Wide => "an integer".into(),
            Form::Int { least, greatest } => format!("an integer from {least} to {greatest}"),
            Form::Text => "text".into(),
            Form::Char => "text of one character".into(),
            Form::OneOf(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                names.join(" or ")
            }
            Form::Option(inner) if inner.admits_null() => {
                format!("null, or a list of one: {}", inner.expected())
            }
            Form::Option(inner) => format!("null, or {}", inner.expected()),
            Form::Tuple(forms) => {
                let forms: Vec<String> = forms.iter().map(|form| form.expected()).collect();
                format!("a list of {}: {}", forms.len(), forms.join("; "))
            }
            Form::List(form) => format!("a list; of each: {}", form.expected()),
            Form::Tagged(forms) => {
                let forms: Vec<String> =
                    forms.iter().map(|(name, form)| format!("[\"{name}\", {}]", form.expected())).collect();
                forms.join(" or ")
            }
        }
    }
}

/// Is it an integer that 64 bits with a sign do not hold, in its one way of being written?
fn is_wide(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain =
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    is_plain && text.parse::<i64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Form = Form::Int { least: 0, greatest: 9 };
    const MAYBE: Form = Form::Option(&SMALL);

    #[track_caller]
    fn check(form: Form, admitted: &[Value], refused: &[Value]) {
        admitted.iter().for_each(|value| assert!(form.admits(value), "{form:?} does not admit {value}"));
        refused.iter().for_each(|value| assert!(!form.admits(value), "{form:?} admits {value}"));
    }

    #[test]
    fn numbers_have_bounds() {
        check(SMALL, &[0.into(), 9.into()], &[10.into(), (-1).into(), Value::Null, "1".into()]);
        let wide = Value::text("18446744073709551615");
        check(
            Form::Wide,
            &[1.into(), wide],
            &["1".into(), "".into(), "-".into(), "099999999999999999999".into()],
        );
    }

    #[test]
    fn an_option_of_an_option_tells_them_apart() {
        check(MAYBE, &[Value::Null, 3.into()], &[Value::list([3.into()])]);
        let outer = Form::Option(&MAYBE);
        check(outer, &[Value::Null, Value::list([Value::Null]), Value::list([3.into()])], &[3.into()]);
        let unit = Form::Option(&Form::Null);
        check(unit, &[Value::Null, Value::list([Value::Null])], &[true.into()]);
    }

    #[test]
    fn lists_fit_item_by_item() {
        let pair = Form::Tuple(&[SMALL, Form::Text]);
        check(pair, &[Value::list([1.into(), "a".into()])], &[Value::list([1.into()]), 1.into()]);
        let tagged = Form::Tagged(&[("ok", SMALL), ("err", Form::Text)]);
        check(
            tagged,
            &[Value::list(["ok".into(), 1.into()]), Value::list(["err".into(), "full".into()])],
            &[Value::list(["ok".into(), "full".into()]), "ok".into()],
        );
    }
}
