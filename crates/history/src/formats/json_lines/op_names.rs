//! The names of operations as a file writes them, found without a search.
//!
//! A name of up to 15 bytes is one number; a multiplication that sends the known names to different places is
//! looked for whenever a name is learned. Which operation a line has is as good as random, so that a chain of
//! comparisons would be mispredicted about once a line.

use crate::form::Form;
use crate::operation::OpCode;
use crate::signature::{OpDecl, Shape};
use crate::symbols::ValueId;

const PLACES: usize = 32;

/// A kind of value, as far as shapes tell them apart: one bit.
pub(super) type Class = u8;

pub(super) const INT: Class = 1;
pub(super) const NULL: Class = 2;
pub(super) const BOOL: Class = 4;
pub(super) const TRUE: Class = 8;
pub(super) const TEXT: Class = 16;
pub(super) const PAIR: Class = 32;
pub(super) const LIST: Class = 64;
/// A pair that begins with the number of a cell.
pub(super) const CELL: Class = 128;

/// An operation that lines may name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    name: u128,
    pub op: OpCode,
    pub arg: Expected,
    pub result: Expected,
}

/// What an argument or a result may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    classes: Class,
    /// What `true` means here.
    truth: ValueId,
}

/// The operations met so far.
#[derive(Clone, Debug)]
pub(super) struct OpNames {
    places: [Option<Known>; PLACES],
    known: Vec<Known>,
    factor: u64,
}

impl Expected {
    fn new(shape: Shape) -> Expected {
        let classes = match shape {
            Shape::Unit => NULL | TRUE,
            Shape::Item => !NULL,
            Shape::Any => Class::MAX,
            Shape::Int => INT,
            Shape::OptionalInt => INT | NULL,
            Shape::Bool => BOOL | TRUE,
            Shape::Done => NULL | BOOL | TRUE,
            Shape::Text => TEXT,
            // Of other pairs the slow path knows what they are.
            Shape::Pair | Shape::Entry => PAIR,
            Shape::Cell => CELL,
            Shape::List => PAIR | LIST,
            Shape::Own(form) => surely(form),
        };
        Expected { classes, truth: shape.normalise(ValueId::TRUE) }
    }

    /// Is a value of this class expected?
    #[inline(always)]
    pub fn admits(&self, class: Class) -> bool {
        self.classes & class != 0
    }

    #[inline(always)]
    pub fn normalise(&self, value: ValueId) -> ValueId {
        if value == ValueId::TRUE { self.truth } else { value }
    }
}

/// The classes of which a form admits every value; the others are looked at value by value, on the slow path.
fn surely(form: Form) -> Class {
    match form {
        Form::Null => NULL,
        Form::Any => Class::MAX,
        Form::Item => !NULL,
        Form::Bool => BOOL | TRUE,
        Form::Int { least: i64::MIN, greatest: i64::MAX } | Form::Wide => INT,
        Form::Text => TEXT,
        Form::Option(inner) if inner.admits_null() => NULL,
        Form::Option(inner) => surely(*inner) | NULL,
        Form::Int { .. } | Form::Char | Form::OneOf(_) => 0,
        Form::Tuple(_) | Form::List(_) | Form::Tagged(_) => 0,
    }
}

impl OpNames {
    pub fn new() -> OpNames {
        OpNames { places: [None; PLACES], known: Vec::new(), factor: 0 }
    }

    /// The operation whose name and closing quote begin `text`, and the length of the name.
    #[inline(always)]
    pub fn find(&self, text: &[u8; 16]) -> Option<(&Known, usize)> {
        let word = u128::from_le_bytes(*text);
        let (low, high) = (word as u64, (word >> 64) as u64);
        let length = match quote(low) {
            8 => 8 + quote(high),
            length => length,
        };
        if length == 0 || length == 16 {
            return None;
        }
        // Shifts by a whole word are not shifts, hence in two steps.
        let name = if length < 8 {
            u128::from(low & ((1 << (8 * length)) - 1))
        } else {
            u128::from(high & ((1 << (8 * length - 64)) - 1)) << 64 | u128::from(low)
        };
        let known = self.places[place(name, self.factor)].as_ref()?;
        (known.name == name).then_some((known, length))
    }

    /// Remembers that lines call this operation `name`.
    pub fn learn(&mut self, name: &[u8], op: OpCode, decl: &OpDecl) {
        if name.is_empty() || name.len() > 15 || self.known.len() == PLACES / 2 {
            return;
        }
        let mut bytes = [0; 16];
        bytes[..name.len()].copy_from_slice(name);
        let name = u128::from_le_bytes(bytes);
        if self.known.iter().any(|known| known.name == name) {
            return;
        }
        let (arg, result) = (Expected::new(decl.arg), Expected::new(decl.result));
        self.known.push(Known { name, op, arg, result });
        let factors = (0..1000u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for factor in factors {
            let mut places = [None; PLACES];
            let fits = self.known.iter().all(|known| {
                let at = place(known.name, factor);
                places[at].replace(*known).is_none()
            });
            if fits {
                (self.places, self.factor) = (places, factor);
                return;
            }
        }
        // No multiplication found: this name stays with the slow path.
        self.known.pop();
    }
}

/// The place of the first quote among eight bytes; 8 if there is none.
#[inline(always)]
fn quote(word: u64) -> usize {
    let quotes = word ^ 0x2222_2222_2222_2222;
    let found = quotes.wrapping_sub(0x0101_0101_0101_0101) & !quotes & 0x8080_8080_8080_8080;
    (found.trailing_zeros() / 8) as usize
}

#[inline(always)]
fn place(name: u128, factor: u64) -> usize {
    let folded = name as u64 ^ ((name >> 64) as u64).rotate_left(17);
    (folded.wrapping_mul(factor) >> 59) as usize
}
