//! Values of variables as bits.
//!
//! The monitor does not know types: it carries the bits of a value from the access that showed it to the
//! claim that asked for it, and the claim, which knows the type, takes them apart again. So no type is named
//! and nothing is allocated while events flow.

use std::fmt::Debug;

/// A small type that fits into 128 bits: the type of a variable that a claim can watch.
///
/// Implemented for `bool`, `char`, integers, floats, raw pointers, `()`, and for `Option`, `Result`, pairs
/// and triples of such as far as they fit. For a type of your own, say how it becomes bits:
///
/// ```
/// use linpoint_claim::Value;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Status { Active, Committed, Aborted }
///
/// impl Value for Status {
///     const BITS: u32 = 2;
///     fn to_bits(self) -> u128 { self as u128 }
///     fn from_bits(bits: u128) -> Status {
///         match bits & 3 { 0 => Status::Active, 1 => Status::Committed, _ => Status::Aborted }
///     }
/// }
/// # assert_eq!(Status::from_bits(Status::Aborted.to_bits()), Status::Aborted);
/// ```
#[diagnostic::on_unimplemented(
    message = "claims cannot carry values of type `{Self}`",
    label = "not a small value",
    note = "implement `linpoint_claim::Value` for it: how it becomes bits and back"
)]
pub trait Value: Copy + Debug {
    /// How many of the low bits are used.
    const BITS: u32;

    /// The value as bits; those above [`Value::BITS`] are zero.
    fn to_bits(self) -> u128;

    /// The value of these bits; those above [`Value::BITS`] do not matter.
    fn from_bits(bits: u128) -> Self;
}

macro_rules! integers {
    ($($int:ty => $unsigned:ty),*) => {$(
        impl Value for $int {
            const BITS: u32 = <$int>::BITS;
            fn to_bits(self) -> u128 {
                u128::from_le_bytes(widen(&(self as $unsigned).to_le_bytes()))
            }
            fn from_bits(bits: u128) -> $int {
                bits as $int
            }
        }
    )*};
}

integers!(u8 => u8, u16 => u16, u32 => u32, u64 => u64, u128 => u128, usize => usize);
integers!(i8 => u8, i16 => u16, i32 => u32, i64 => u64, i128 => u128, isize => usize);

fn widen(bytes: &[u8]) -> [u8; 16] {
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    wide
}

impl Value for bool {
    const BITS: u32 = 1;
    fn to_bits(self) -> u128 {
        u128::from(self)
    }
    fn from_bits(bits: u128) -> bool {
        bits & 1 == 1
    }
}

impl Value for char {
    const BITS: u32 = 32;
    fn to_bits(self) -> u128 {
        u128::from(u32::from(self))
    }
    fn from_bits(bits: u128) -> char {
        char::from_u32(bits as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

impl Value for f32 {
    const BITS: u32 = 32;
    fn to_bits(self) -> u128 {
        u128::from(f32::to_bits(self))
    }
    fn from_bits(bits: u128) -> f32 {
        f32::from_bits(bits as u32)
    }
}

impl Value for f64 {
    const BITS: u32 = 64;
    fn to_bits(self) -> u128 {
        u128::from(f64::to_bits(self))
    }
    fn from_bits(bits: u128) -> f64 {
        f64::from_bits(bits as u64)
    }
}

impl Value for () {
    const BITS: u32 = 0;
    fn to_bits(self) -> u128 {
        0
    }
    fn from_bits(_: u128) {}
}

/// Only the address is carried: a pointer that comes back from bits may be compared and printed, not
/// followed.
impl<T> Value for *const T {
    const BITS: u32 = usize::BITS;
    fn to_bits(self) -> u128 {
        self.addr() as u128
    }
    fn from_bits(bits: u128) -> *const T {
        std::ptr::without_provenance(bits as usize)
    }
}

/// Only the address is carried: a pointer that comes back from bits may be compared and printed, not
/// followed.
impl<T> Value for *mut T {
    const BITS: u32 = usize::BITS;
    fn to_bits(self) -> u128 {
        self.addr() as u128
    }
    fn from_bits(bits: u128) -> *mut T {
        std::ptr::without_provenance_mut(bits as usize)
    }
}

impl<T: Value> Value for Option<T> {
    const BITS: u32 = T::BITS + 1;
    fn to_bits(self) -> u128 {
        const { assert!(T::BITS < 128, "the value does not fit into 128 bits") }
        self.map_or(0, |value| value.to_bits() << 1 | 1)
    }
    fn from_bits(bits: u128) -> Option<T> {
        (bits & 1 == 1).then(|| T::from_bits(bits >> 1))
    }
}

impl<T: Value, E: Value> Value for Result<T, E> {
    const BITS: u32 = if T::BITS > E::BITS { T::BITS + 1 } else { E::BITS + 1 };
    fn to_bits(self) -> u128 {
        const { assert!(T::BITS < 128 && E::BITS < 128, "the value does not fit into 128 bits") }
        match self {
            Ok(value) => value.to_bits() << 1 | 1,
            Err(error) => error.to_bits() << 1,
        }
    }
    fn from_bits(bits: u128) -> Result<T, E> {
        if bits & 1 == 1 { Ok(T::from_bits(bits >> 1)) } else { Err(E::from_bits(bits >> 1)) }
    }
}

impl<A: Value, B: Value> Value for (A, B) {
    const BITS: u32 = A::BITS + B::BITS;
    fn to_bits(self) -> u128 {
        const { assert!(A::BITS + B::BITS <= 128, "the value does not fit into 128 bits") }
        self.0.to_bits() | above::<A>(self.1.to_bits())
    }
    fn from_bits(bits: u128) -> (A, B) {
        (A::from_bits(bits), B::from_bits(below::<A>(bits)))
    }
}

impl<A: Value, B: Value, C: Value> Value for (A, B, C) {
    const BITS: u32 = A::BITS + B::BITS + C::BITS;
    fn to_bits(self) -> u128 {
        (self.0, (self.1, self.2)).to_bits()
    }
    fn from_bits(bits: u128) -> (A, B, C) {
        let (a, (b, c)) = Value::from_bits(bits);
        (a, b, c)
    }
}

/// Bits moved up to make room for an `A`; a shift by all 128 leaves nothing.
fn above<A: Value>(bits: u128) -> u128 {
    bits.checked_shl(A::BITS).unwrap_or(0)
}

fn below<A: Value>(bits: u128) -> u128 {
    bits.checked_shr(A::BITS).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: Value + PartialEq>(values: &[T]) {
        for &value in values {
            let bits = value.to_bits();
            assert_eq!(T::from_bits(bits), value);
            assert!(T::BITS == 128 || bits >> T::BITS == 0, "{value:?} uses more bits than it says");
            // A scheduler may hand over bits with garbage or a sign above.
            if T::BITS < 128 {
                assert_eq!(T::from_bits(bits | u128::MAX << T::BITS), value);
            }
        }
    }

    #[test]
    fn there_and_back() {
        check(&[true, false]);
        check(&['a', '\u{10ffff}']);
        check(&[0u8, 255]);
        check(&[i8::MIN, -1, 0, i8::MAX]);
        check(&[i16::MIN, -1]);
        check(&[i32::MIN, -1, 7]);
        check(&[i64::MIN, -1, i64::MAX]);
        check(&[isize::MIN, -1]);
        check(&[u64::MAX, 1]);
        check(&[u128::MAX, 0]);
        check(&[i128::MIN, -1]);
        check(&[0.5f32, -0.0]);
        check(&[f64::MAX, -1.5]);
        check(&[()]);
        check(&[std::ptr::null::<u8>(), &raw const *"x" as *const u8]);
        check(&[None, Some(0u32), Some(u32::MAX)]);
        check(&[None, Some(None), Some(Some(-1i64))]);
        check(&[Ok(5u32), Err(false), Err(true)]);
        check(&[(1u64, u64::MAX), (u64::MAX, 0)]);
        check(&[((), u128::MAX)]);
        check(&[(u128::MAX, ())]);
        check(&[(true, -1i32, Some('x')), (false, i32::MIN, None)]);
    }
}
