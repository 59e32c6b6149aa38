//! Arguments, results and written values as words, without allocation.
//!
//! The usual ones (nothing, a truth value, a number, two numbers) cost no more words than they have; the
//! record's header says which it is. Everything else is *coded*: a word with a tag and a length, then the
//! content. What comes out at the other end is a [`Value`]. Unsigned numbers above `i64::MAX` come out as
//! text of twenty digits: values are ordered numbers first, then text, so both equality and order are kept. A
//! text of twenty digits comes out with a quote before it, and one with quotes before the digits with one
//! quote more: so no text equals a number.

use linpoint_history::Value;

/// How a payload stands in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// Null, no word.
    Null = 0,
    /// False, no word.
    False = 1,
    /// True, no word.
    True = 2,
    /// A number, one word.
    Int = 3,
    /// A list of two numbers, two words.
    Ints = 4,
    /// Anything, coded.
    Coded = 5,
}

impl Form {
    /// The form with that number.
    pub(crate) fn of(number: u64) -> Option<Form> {
        [Form::Null, Form::False, Form::True, Form::Int, Form::Ints, Form::Coded]
            .get(number as usize)
            .copied()
    }

    /// How many words a payload of this form has, where the form says so.
    #[inline]
    pub(crate) fn words(self) -> Option<usize> {
        match self {
            Form::Null | Form::False | Form::True => Some(0),
            Form::Int => Some(1),
            Form::Ints => Some(2),
            Form::Coded => None,
        }
    }
}

const NULL: u64 = 0;
const FALSE: u64 = 1;
const TRUE: u64 = 2;
const INT: u64 = 3;
const TEXT: u64 = 4;
const LIST: u64 = 5;
/// A number above `i64::MAX`.
const BIG: u64 = 6;

/// Something that can be logged. It may be asked for its words more than once, and says the same each time;
/// it does not log while it is asked.
pub trait Payload {
    /// How it stands in a record.
    fn form(&self) -> Form {
        Form::Coded
    }

    /// Gives its words in its own form.
    fn write(&self, put: &mut impl FnMut(u64)) {
        self.code(put);
    }

    /// Gives its words, coded.
    fn code(&self, put: &mut impl FnMut(u64));
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Payload for $type {
            #[inline]
            fn form(&self) -> Form {
                Form::Int
            }

            #[inline]
            fn write(&self, put: &mut impl FnMut(u64)) {
                put(*self as i64 as u64);
            }

            #[inline]
            fn code(&self, put: &mut impl FnMut(u64)) {
                put(INT);
                put(*self as i64 as u64);
            }
        }

        impl Payload for ($type, $type) {
            #[inline]
            fn form(&self) -> Form {
                Form::Ints
            }

            #[inline]
            fn write(&self, put: &mut impl FnMut(u64)) {
                put(self.0 as i64 as u64);
                put(self.1 as i64 as u64);
            }

            #[inline]
            fn code(&self, put: &mut impl FnMut(u64)) {
                put(LIST | 2 << 8);
                self.0.code(put);
                self.1.code(put);
            }
        }
    )*};
}

numbers!(i8 i16 i32 i64 isize u8 u16 u32);

macro_rules! large_numbers {
    ($($type:ty)*) => {$(
        impl Payload for $type {
            #[inline]
            fn form(&self) -> Form {
                if *self as u64 >> 63 == 0 { Form::Int } else { Form::Coded }
            }

            #[inline]
            fn write(&self, put: &mut impl FnMut(u64)) {
                if *self as u64 >> 63 != 0 {
                    put(BIG);
                }
                put(*self as u64);
            }

            #[inline]
            fn code(&self, put: &mut impl FnMut(u64)) {
                put(if *self as u64 >> 63 == 0 { INT } else { BIG });
                put(*self as u64);
            }
        }

        impl Payload for ($type, $type) {
            #[inline]
            fn form(&self) -> Form {
                if (self.0 | self.1) as u64 >> 63 == 0 { Form::Ints } else { Form::Coded }
            }

            #[inline]
            fn write(&self, put: &mut impl FnMut(u64)) {
                if self.form() == Form::Coded {
                    return self.code(put);
                }
                put(self.0 as u64);
                put(self.1 as u64);
            }

            #[inline]
            fn code(&self, put: &mut impl FnMut(u64)) {
                put(LIST | 2 << 8);
                self.0.code(put);
                self.1.code(put);
            }
        }
    )*};
}

large_numbers!(u64 usize);

impl Payload for () {
    #[inline]
    fn form(&self) -> Form {
        Form::Null
    }

    #[inline]
    fn write(&self, _put: &mut impl FnMut(u64)) {}

    fn code(&self, put: &mut impl FnMut(u64)) {
        put(NULL);
    }
}

impl Payload for bool {
    #[inline]
    fn form(&self) -> Form {
        if *self { Form::True } else { Form::False }
    }

    #[inline]
    fn write(&self, _put: &mut impl FnMut(u64)) {}

    fn code(&self, put: &mut impl FnMut(u64)) {
        put(if *self { TRUE } else { FALSE });
    }
}

impl<T: Payload> Payload for Option<T> {
    #[inline]
    fn form(&self) -> Form {
        self.as_ref().map_or(Form::Null, T::form)
    }

    #[inline]
    fn write(&self, put: &mut impl FnMut(u64)) {
        if let Some(inner) = self {
            inner.write(put);
        }
    }

    fn code(&self, put: &mut impl FnMut(u64)) {
        match self {
            Some(inner) => inner.code(put),
            None => put(NULL),
        }
    }
}

impl<T: Payload + ?Sized> Payload for &T {
    #[inline]
    fn form(&self) -> Form {
        (**self).form()
    }

    #[inline]
    fn write(&self, put: &mut impl FnMut(u64)) {
        (**self).write(put);
    }

    #[inline]
    fn code(&self, put: &mut impl FnMut(u64)) {
        (**self).code(put);
    }
}

impl Payload for str {
    fn code(&self, put: &mut impl FnMut(u64)) {
        put(TEXT | (self.len() as u64) << 8);
        for part in self.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            put(u64::from_le_bytes(bytes));
        }
    }
}

impl Payload for String {
    fn code(&self, put: &mut impl FnMut(u64)) {
        self.as_str().code(put);
    }
}

impl<T: Payload> Payload for [T] {
    fn code(&self, put: &mut impl FnMut(u64)) {
        put(LIST | (self.len() as u64) << 8);
        self.iter().for_each(|item| item.code(put));
    }
}

impl<T: Payload> Payload for Vec<T> {
    fn code(&self, put: &mut impl FnMut(u64)) {
        self.as_slice().code(put);
    }
}

impl<T: Payload, const N: usize> Payload for [T; N] {
    fn code(&self, put: &mut impl FnMut(u64)) {
        self.as_slice().code(put);
    }
}

/// Two values of any kind as one list; two numbers of one type are a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<A, B>(pub A, pub B);

impl<A: Payload, B: Payload> Payload for Pair<A, B> {
    fn code(&self, put: &mut impl FnMut(u64)) {
        put(LIST | 2 << 8);
        self.0.code(put);
        self.1.code(put);
    }
}

impl Payload for Value {
    fn form(&self) -> Form {
        match self {
            Value::Null => Form::Null,
            Value::Bool(false) => Form::False,
            Value::Bool(true) => Form::True,
            Value::Int(_) => Form::Int,
            Value::Str(_) | Value::List(_) => Form::Coded,
        }
    }

    fn write(&self, put: &mut impl FnMut(u64)) {
        match self {
            Value::Null | Value::Bool(_) => {}
            Value::Int(number) => put(*number as u64),
            Value::Str(_) | Value::List(_) => self.code(put),
        }
    }

    fn code(&self, put: &mut impl FnMut(u64)) {
        match self {
            Value::Null => put(NULL),
            Value::Bool(truth) => truth.code(put),
            Value::Int(number) => number.code(put),
            Value::Str(text) => text.code(put),
            Value::List(items) => items.code(put),
        }
    }
}

/// Is it nothing?
pub fn is_null(payload: &impl Payload) -> bool {
    payload.form() == Form::Null
}

/// Reads a payload of `form` at the front of `words`; the value and what is left. `None` where the words make
/// no sense.
pub(crate) fn read(form: Form, words: &[u64]) -> Option<(Value, &[u64])> {
    let number = |at: usize| words.get(at).map(|word| Value::Int(*word as i64));
    Some(match form {
        Form::Null => (Value::Null, words),
        Form::False => (Value::Bool(false), words),
        Form::True => (Value::Bool(true), words),
        Form::Int => (number(0)?, &words[1..]),
        Form::Ints => (Value::list([number(0)?, number(1)?]), &words[2..]),
        Form::Coded => decode(words, 0)?,
    })
}

/// Lists nested deeper than this are taken for garbage: their record is lost.
const DEEPEST: u32 = 64;

fn decode(words: &[u64], depth: u32) -> Option<(Value, &[u64])> {
    let (tag, rest) = words.split_first()?;
    let length = usize::try_from(tag >> 8).ok()?;
    Some(match tag & 0xff {
        NULL => (Value::Null, rest),
        FALSE => (Value::Bool(false), rest),
        TRUE => (Value::Bool(true), rest),
        INT => (Value::Int(*rest.first()? as i64), &rest[1..]),
        BIG => {
            let number = *rest.first().filter(|number| **number > i64::MAX as u64)?;
            (Value::text(&format!("{number:020}")), &rest[1..])
        }
        TEXT => {
            let count = length.div_ceil(8);
            let bytes: Vec<u8> = rest.get(..count)?.iter().flat_map(|word| word.to_le_bytes()).collect();
            (plain_text(std::str::from_utf8(&bytes[..length]).ok()?), &rest[count..])
        }
        LIST if depth < DEEPEST && length <= rest.len() => {
            let mut rest = rest;
            let mut items = Vec::with_capacity(length);
            for _ in 0..length {
                let (item, left) = decode(rest, depth + 1)?;
                items.push(item);
                rest = left;
            }
            (Value::List(items.into()), rest)
        }
        _ => return None,
    })
}

/// A text as a value: another one than any number is.
fn plain_text(text: &str) -> Value {
    let digits = text.trim_start_matches('\'');
    let is_like_a_number = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_like_a_number { Value::text(&format!("'{text}")) } else { Value::text(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(payload: impl Payload, expected: Value) {
        let (mut own, mut coded) = (Vec::new(), Vec::new());
        payload.write(&mut |word| own.push(word));
        payload.code(&mut |word| coded.push(word));
        assert_eq!(read(payload.form(), &own), Some((expected.clone(), &[][..])));
        assert_eq!(read(Form::Coded, &coded), Some((expected, &[][..])));
    }

    #[test]
    fn what_goes_in_comes_out() {
        check((), Value::Null);
        check(true, Value::Bool(true));
        check(-7i32, Value::Int(-7));
        check((3u64, 4u64), Value::list([3.into(), 4.into()]));
        check(Some(false), Value::Bool(false));
        check(None::<u8>, Value::Null);
        check("", Value::text(""));
        check("eight is", Value::text("eight is"));
        check(vec!["a", "nine bytes"], Value::list(["a".into(), "nine bytes".into()]));
        check(u64::MAX, Value::text("18446744073709551615"));
        check((1u64 << 63, 0u64), Value::list([Value::text("09223372036854775808"), 0.into()]));
        check((usize::MAX >> 1, 7usize), Value::list([i64::MAX.into(), 7.into()]));
        check("18446744073709551615", Value::text("'18446744073709551615"));
        check("'18446744073709551615", Value::text("''18446744073709551615"));
        check("1844674407370955161", Value::text("1844674407370955161"));
        check("'a", Value::text("'a"));
        check(Pair(1u8, "x"), Value::list([1.into(), "x".into()]));
        let nested = Value::list([Value::Null, Value::list([Value::text("ü"), Value::Bool(false)])]);
        check(nested.clone(), nested);
    }

    /// What comes out is ordered as what went in, at the ends of every type too.
    #[test]
    fn order_is_kept() {
        let value = |number: u64| {
            let mut words = Vec::new();
            number.write(&mut |word| words.push(word));
            read(number.form(), &words).expect("it was just written").0
        };
        let mut edges: Vec<u64> =
            (0..64).flat_map(|bit| [1u64 << bit, (1u64 << bit) - 1, (1u64 << bit) + 1]).collect();
        edges.push(u64::MAX);
        for a in &edges {
            for b in &edges {
                assert_eq!(a.cmp(b), value(*a).cmp(&value(*b)), "{a} and {b}");
            }
        }
        assert!(value(0) > Value::Int(-1));
    }

    #[test]
    fn garbage_is_refused() {
        assert_eq!(read(Form::Coded, &[BIG, 7]), None);
        assert_eq!(read(Form::Int, &[]), None);
        assert_eq!(read(Form::Coded, &[LIST | 3 << 8, NULL]), None);
        assert_eq!(read(Form::Coded, &[TEXT | 9 << 8, 0]), None);
        assert_eq!(read(Form::Coded, &[TEXT | 1 << 8, 0xff]), None);
        assert_eq!(read(Form::Coded, &[99]), None);
        assert_eq!(read(Form::Coded, &[LIST | 1 << 8; 200]), None);
    }
}
