//! Which values of a history stand for a value of a Rust type.

use std::marker::PhantomData;

use linpoint_history::{Form, Value};

/// A type whose values a history can hold.
///
/// No value of a history stands for two values of the type, and [`InHistory::FORM`] says which ones stand for any.
/// `None` and `()` are null; `Some(x)` is what `x` is, or a list of it where that might be null itself; a tuple and a
/// `Vec` are lists; a `Result` is `["ok", x]` or `["err", e]`.
pub trait InHistory: Sized {
    /// The values that stand for the type's.
    const FORM: Form;
    /// What stands for this.
    fn to_value(&self) -> Value;
    /// What it stands for; `None` if it is not of this type.
    fn from_value(value: &Value) -> Option<Self>;
}

impl InHistory for () {
    const FORM: Form = Form::Null;
    fn to_value(&self) -> Value {
        Value::Null
    }
    fn from_value(value: &Value) -> Option<()> {
        value.is_null().then_some(())
    }
}

impl InHistory for bool {
    const FORM: Form = Form::Bool;
    fn to_value(&self) -> Value {
        Value::Bool(*self)
    }
    fn from_value(value: &Value) -> Option<bool> {
        value.as_bool()
    }
}

macro_rules! small_integers {
    ($($ty:ty),*) => {$(
        impl InHistory for $ty {
            const FORM: Form = Form::Int { least: <$ty>::MIN as i64, greatest: <$ty>::MAX as i64 };
            fn to_value(&self) -> Value {
                Value::Int(*self as i64)
            }
            fn from_value(value: &Value) -> Option<$ty> {
                <$ty>::try_from(value.as_int()?).ok()
            }
        }
    )*};
}

small_integers!(i8, i16, i32, i64, isize, u8, u16, u32);

macro_rules! wide_integers {
    ($($ty:ty),*) => {$(
        impl InHistory for $ty {
            const FORM: Form = Form::Wide;
            fn to_value(&self) -> Value {
                i64::try_from(*self).map_or_else(|_| Value::text(&self.to_string()), Value::Int)
            }
            fn from_value(value: &Value) -> Option<$ty> {
                match value {
                    Value::Int(n) => <$ty>::try_from(*n).ok(),
                    Value::Str(text) if Form::Wide.admits(value) => text.parse().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

wide_integers!(u64, usize, i128, u128);

impl InHistory for String {
    const FORM: Form = Form::Text;
    fn to_value(&self) -> Value {
        Value::text(self)
    }
    fn from_value(value: &Value) -> Option<String> {
        if let Value::Str(text) = value { Some(text.to_string()) } else { None }
    }
}

impl InHistory for char {
    const FORM: Form = Form::Char;
    fn to_value(&self) -> Value {
        Value::text(&self.to_string())
    }
    fn from_value(value: &Value) -> Option<char> {
        let Value::Str(text) = value else { return None };
        let mut letters = text.chars();
        letters.next().filter(|_| letters.next().is_none())
    }
}

impl<T: InHistory + 'static> InHistory for Option<T> {
    const FORM: Form = Form::Option(&T::FORM);
    fn to_value(&self) -> Value {
        match self {
            None => Value::Null,
            Some(inner) if T::FORM.admits_null() => Value::list([inner.to_value()]),
            Some(inner) => inner.to_value(),
        }
    }
    fn from_value(value: &Value) -> Option<Option<T>> {
        match value {
            Value::Null => Some(None),
            Value::List(items) if T::FORM.admits_null() => match &items[..] {
                [item] => T::from_value(item).map(Some),
                _ => None,
            },
            _ if T::FORM.admits_null() => None,
            value => T::from_value(value).map(Some),
        }
    }
}

impl<T: InHistory + 'static> InHistory for Vec<T> {
    const FORM: Form = Form::List(&T::FORM);
    fn to_value(&self) -> Value {
        Value::list(self.iter().map(InHistory::to_value))
    }
    fn from_value(value: &Value) -> Option<Vec<T>> {
        let Value::List(items) = value else { return None };
        items.iter().map(T::from_value).collect()
    }
}

impl<T: InHistory + 'static, E: InHistory + 'static> InHistory for Result<T, E> {
    const FORM: Form = Form::Tagged(&[("ok", T::FORM), ("err", E::FORM)]);
    fn to_value(&self) -> Value {
        match self {
            Ok(value) => Value::list([Value::text("ok"), value.to_value()]),
            Err(error) => Value::list([Value::text("err"), error.to_value()]),
        }
    }
    fn from_value(value: &Value) -> Option<Result<T, E>> {
        let (Value::Str(tag), inner) = value.as_pair()? else { return None };
        match &**tag {
            "ok" => T::from_value(inner).map(Ok),
            "err" => E::from_value(inner).map(Err),
            _ => None,
        }
    }
}

macro_rules! tuples {
    ($($($name:ident $at:tt),+;)*) => {$(
        impl<$($name: InHistory + 'static),+> InHistory for ($($name,)+) {
            const FORM: Form = Form::Tuple(&[$($name::FORM),+]);
            fn to_value(&self) -> Value {
                Value::list([$(self.$at.to_value()),+])
            }
            fn from_value(value: &Value) -> Option<Self> {
                let Value::List(items) = value else { return None };
                let count = [$($at),+].len();
                (items.len() == count).then_some(())?;
                Some(($($name::from_value(&items[$at])?,)+))
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}

/// Asks whether a type is [`InHistory`] where the type is known: in what `#[linpoint::spec]` writes.
///
/// Both traits below have the same methods. On a reference to a probe the first is found where its bound holds; where
/// it does not, the reference is borrowed once more, and the second is found. So a specification may have types that no
/// history can hold, as long as nobody asks for histories of it.
#[doc(hidden)]
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// A probe.
    #[must_use]
    pub const fn new() -> Probe<T> {
        Probe(PhantomData)
    }
}

impl<T> Default for Probe<T> {
    fn default() -> Self {
        Probe::new()
    }
}

#[doc(hidden)]
#[allow(missing_docs)]
pub trait Known<T> {
    fn form(&self) -> Option<Form>;
    fn read(&self, value: &Value) -> Option<T>;
    fn write(&self, value: &T) -> Option<Value>;
}

impl<T: InHistory> Known<T> for Probe<T> {
    fn form(&self) -> Option<Form> {
        Some(T::FORM)
    }
    fn read(&self, value: &Value) -> Option<T> {
        T::from_value(value)
    }
    fn write(&self, value: &T) -> Option<Value> {
        Some(value.to_value())
    }
}

#[doc(hidden)]
#[allow(missing_docs)]
pub trait Unknown<T> {
    fn form(&self) -> Option<Form>;
    fn read(&self, value: &Value) -> Option<T>;
    fn write(&self, value: &T) -> Option<Value>;
}

impl<T> Unknown<T> for &Probe<T> {
    fn form(&self) -> Option<Form> {
        None
    }
    fn read(&self, _: &Value) -> Option<T> {
        None
    }
    fn write(&self, _: &T) -> Option<Value> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: InHistory + PartialEq + std::fmt::Debug>(value: T, stands_for: &str) {
        let written = value.to_value();
        assert_eq!(written.to_string(), stands_for);
        assert!(T::FORM.admits(&written), "{:?} does not admit {written}", T::FORM);
        assert_eq!(T::from_value(&written), Some(value));
    }

    #[test]
    fn values_come_back() {
        check((), "null");
        check(Some(3u8), "3");
        check(None::<u8>, "null");
        check(Some(()), "[null]");
        check(Some(None::<bool>), "[null]");
        check(Some(Some(true)), "[true]");
        check(u64::MAX, "\"18446744073709551615\"");
        check(i128::MIN, "\"-170141183460469231731687303715884105728\"");
        check(Ok::<_, String>(4i64), "[\"ok\",4]");
        check(Err::<(), _>('x'), "[\"err\",\"x\"]");
        check(vec![(1u8, "a".to_owned())], "[[1,\"a\"]]");
    }

    #[test]
    fn values_of_other_types_do_not() {
        assert_eq!(u8::from_value(&Value::Int(256)), None);
        assert_eq!(u64::from_value(&Value::Int(-1)), None);
        assert_eq!(u64::from_value(&Value::text("7")), None);
        assert_eq!(<(u8, u8)>::from_value(&Value::list([1.into()])), None);
        assert_eq!(<Option<Option<u8>>>::from_value(&Value::Int(1)), None);
        assert_eq!(char::from_value(&Value::text("ab")), None);
    }
}
