//! Expressions over the registers of a thread. Arithmetic wraps around; dividing by 0 gives 0.

use super::{REGISTERS, Register};
use crate::event::Value;

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A number.
    Number(Value),
    /// What a register holds.
    Register(Register),
    /// Two expressions combined.
    Binary(Operator, Box<(Expression, Expression)>),
}

/// How two values are combined. Comparisons give 1 or 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Remainder,
    And,
    Or,
    ShiftLeft,
    ShiftRight,
    Equal,
    Different,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Expression {
    /// `self operator right`.
    #[must_use]
    pub fn with(self, operator: Operator, right: impl Into<Expression>) -> Expression {
        Expression::Binary(operator, Box::new((self, right.into())))
    }

    /// Its value.
    #[must_use]
    pub fn value(&self, registers: &[Value; REGISTERS]) -> Value {
        match self {
            Expression::Number(number) => *number,
            Expression::Register(register) => registers[register.index()],
            Expression::Binary(operator, both) => {
                operator.apply(both.0.value(registers), both.1.value(registers))
            }
        }
    }
}

impl Register {
    /// `self operator right`.
    #[must_use]
    pub fn with(self, operator: Operator, right: impl Into<Expression>) -> Expression {
        Expression::from(self).with(operator, right)
    }

    /// The address of the cell so many after the one whose address this is.
    #[must_use]
    pub fn cell(self, number: Value) -> Expression {
        self.with(Operator::Add, number)
    }
}

impl From<Value> for Expression {
    fn from(number: Value) -> Expression {
        Expression::Number(number)
    }
}

impl From<Register> for Expression {
    fn from(register: Register) -> Expression {
        Expression::Register(register)
    }
}

impl Operator {
    fn apply(self, left: Value, right: Value) -> Value {
        let shift = right.rem_euclid(64) as u32;
        match self {
            Operator::Add => left.wrapping_add(right),
            Operator::Subtract => left.wrapping_sub(right),
            Operator::Multiply => left.wrapping_mul(right),
            Operator::Remainder => left.checked_rem(right).unwrap_or(0),
            Operator::And => left & right,
            Operator::Or => left | right,
            Operator::ShiftLeft => left.wrapping_shl(shift),
            Operator::ShiftRight => left.wrapping_shr(shift),
            Operator::Equal => Value::from(left == right),
            Operator::Different => Value::from(left != right),
            Operator::Less => Value::from(left < right),
            Operator::AtMost => Value::from(left <= right),
            Operator::Greater => Value::from(left > right),
            Operator::AtLeast => Value::from(left >= right),
        }
    }
}
