//! Read-modify-writes on integers that are narrower than a [`Value`], or not signed.
//!
//! A value holds such an integer as a conversion gives it: extended by its sign if it has one, and by zeros if
//! not; the bits of a `u64` are taken as they are. So equal integers are equal values, and comparing and
//! exchanging needs no width. Adding has to wrap at the width, and which of two is greater depends on the sign.

use crate::event::Value;

/// What a read-modify-write does to an integer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operator {
    /// Adds, wrapping around.
    Add,
    /// Subtracts, wrapping around.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise not-and.
    Nand,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The greater one.
    Max,
    /// The lesser one.
    Min,
}

/// An integer type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Width {
    /// How many bits: from 1, for a `bool`, to 64.
    pub bits: u32,
    /// Has it a sign?
    pub signed: bool,
}

impl Width {
    /// The value that holds what remains of `value` in an integer of this width.
    #[must_use]
    pub fn fit(self, value: Value) -> Value {
        let lost = 64 - self.bits.clamp(1, 64);
        if self.signed { value << lost >> lost } else { ((value as u64) << lost >> lost) as Value }
    }

    /// What the operator makes of two integers of this width.
    #[must_use]
    pub fn apply(self, operator: Operator, old: Value, operand: Value) -> Value {
        let is_less = if self.signed { old < operand } else { (old as u64) < (operand as u64) };
        self.fit(match operator {
            Operator::Add => old.wrapping_add(operand),
            Operator::Sub => old.wrapping_sub(operand),
            Operator::And => old & operand,
            Operator::Nand => !(old & operand),
            Operator::Or => old | operand,
            Operator::Xor => old ^ operand,
            Operator::Max if is_less => operand,
            Operator::Min if !is_less => operand,
            Operator::Max | Operator::Min => old,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Operator; 8] = [
        Operator::Add,
        Operator::Sub,
        Operator::And,
        Operator::Nand,
        Operator::Or,
        Operator::Xor,
        Operator::Max,
        Operator::Min,
    ];

    macro_rules! agrees {
        ($($type:ident),*) => {$(
            let width = Width { bits: $type::BITS, signed: $type::MIN != 0 };
            let some = [$type::MIN, $type::MIN + 1, $type::MAX / 2, $type::MAX - 1, $type::MAX, 0, 1, 2];
            for (a, b) in some.iter().flat_map(|&a| some.iter().map(move |&b| (a, b))) {
                for operator in ALL {
                    let expected = match operator {
                        Operator::Add => a.wrapping_add(b),
                        Operator::Sub => a.wrapping_sub(b),
                        Operator::And => a & b,
                        Operator::Nand => !(a & b),
                        Operator::Or => a | b,
                        Operator::Xor => a ^ b,
                        Operator::Max => a.max(b),
                        Operator::Min => a.min(b),
                    };
                    let made = width.apply(operator, a as Value, b as Value);
                    assert_eq!(made, expected as Value, "{operator:?} of {a} and {b}");
                }
            }
        )*};
    }

    #[test]
    fn every_operator_does_what_the_type_does() {
        agrees!(i8, u8, i16, u16, i32, u32, i64, u64);
    }

    #[test]
    fn a_bool_has_one_bit() {
        let width = Width { bits: 1, signed: false };
        assert_eq!(width.apply(Operator::Nand, 1, 1), 0);
        assert_eq!(width.apply(Operator::Nand, 1, 0), 1);
        assert_eq!(width.apply(Operator::Xor, 1, 1), 0);
    }
}
