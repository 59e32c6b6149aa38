//! Expressions and places.

use super::rounds::Rounds;
use super::{ErrorKind, Machine};
use crate::ast::BinOp;
use crate::program::{Expr, NONE, Place, UNBOUNDED, UNSET, Word};

/// Numbers of a program stay this far from the words with a meaning of their own.
const LARGEST: Word = Word::MAX / 2;

impl Machine<'_> {
    /// The value of an expression for a thread. The words are the same afterwards.
    pub fn value(&self, words: &mut [Word], thread: usize, e: &Expr) -> Result<Word, ErrorKind> {
        self.eval(words, thread, e)
    }

    /// Where a place is in the row, for a thread.
    pub fn place(&self, words: &mut [Word], thread: usize, place: &Place) -> Result<usize, ErrorKind> {
        self.find(words, thread, place)
    }

    /// The value of an expression for a thread.
    pub(super) fn eval(&self, words: &mut [Word], thread: usize, e: &Expr) -> Result<Word, ErrorKind> {
        Ok(match e {
            Expr::Const(word) => *word,
            Expr::Read(place) => {
                let at = self.find(words, thread, place)?;
                match words[at] {
                    UNSET => return Err(ErrorKind::Unset),
                    word => word,
                }
            }
            Expr::Not(e) => Word::from(self.eval(words, thread, e)? == 0),
            Expr::Binary(op, a, b) => return self.binary(words, thread, *op, a, b),
            Expr::Size(size) => self.sizes[size.index()],
            Expr::Me => self.name_of(thread),
            Expr::Neg(e) => -self.eval(words, thread, e)?,
            Expr::Quantified { all, local, lo, hi, body } => {
                let (lo, hi) = (self.eval(words, thread, lo)?, self.eval(words, thread, hi)?);
                let at = self.local_at(thread, local.index());
                let outer = words[at];
                let mut value = *all;
                let rounds = Rounds::begin();
                for n in lo..hi {
                    if !rounds.next() {
                        return Err(ErrorKind::TooManyRounds);
                    }
                    words[at] = n;
                    if (self.eval(words, thread, body)? != 0) != *all {
                        value = !*all;
                        break;
                    }
                }
                words[at] = outer;
                Word::from(value)
            }
            Expr::Unwrap(e) => match self.eval(words, thread, e)? {
                NONE => return Err(ErrorKind::UnwrapNone),
                word => word,
            },
            // Claims are decided elsewhere, with their terms put in.
            Expr::Term(_) => return Err(ErrorKind::Unset),
        })
    }

    fn binary(
        &self,
        words: &mut [Word],
        thread: usize,
        op: BinOp,
        a: &Expr,
        b: &Expr,
    ) -> Result<Word, ErrorKind> {
        let a = self.eval(words, thread, a)?;
        match op {
            BinOp::And if a == 0 => return Ok(0),
            BinOp::Or if a != 0 => return Ok(1),
            BinOp::Implies if a == 0 => return Ok(1),
            _ => {}
        }
        let b = self.eval(words, thread, b)?;
        operate(op, a, b).ok_or(ErrorKind::Arithmetic)
    }

    pub(super) fn local_at(&self, thread: usize, local: usize) -> usize {
        self.frames + thread * self.frame + 1 + local
    }

    /// Where a place is in the row.
    pub(super) fn find(&self, words: &mut [Word], thread: usize, place: &Place) -> Result<usize, ErrorKind> {
        match place {
            Place::Local(local) => Ok(self.local_at(thread, local.index())),
            Place::Global(global, slot) => Ok(self.globals[global.index()] + usize::from(*slot)),
            Place::Element(global, index, slot) => {
                let index = self.eval(words, thread, index)?;
                let length = self.lengths[global.index()];
                if !(0..length).contains(&index) {
                    if self.program.globals[global.index()].length == Some(Expr::Const(UNBOUNDED)) {
                        return Err(ErrorKind::Beyond);
                    }
                    return Err(ErrorKind::OutOfBounds { index, length });
                }
                let stride = self.program.globals[global.index()].slots.len();
                Ok(self.globals[global.index()] + index as usize * stride + usize::from(*slot))
            }
            Place::Field(pointer, record, field) => {
                let pointer = self.eval(words, thread, pointer)?;
                if pointer <= 0 {
                    return Err(ErrorKind::NullDereference);
                }
                let start = self.heap + (pointer as usize - 1) * self.cell;
                if words[start] < 0 && !self.program.records[record.index()].pooled {
                    return Err(ErrorKind::UseAfterFree);
                }
                Ok(start + 1 + usize::from(*field))
            }
        }
    }
}

/// Two values put together; `None` for a number too large, or a remainder by zero.
pub fn operate(op: BinOp, a: Word, b: Word) -> Option<Word> {
    let number = |n: Option<Word>| n.filter(|n| n.abs() <= LARGEST);
    Some(match op {
        BinOp::Eq => Word::from(a == b),
        BinOp::Ne => Word::from(a != b),
        BinOp::Lt => Word::from(a < b),
        BinOp::Le => Word::from(a <= b),
        BinOp::Gt => Word::from(a > b),
        BinOp::Ge => Word::from(a >= b),
        BinOp::Add => number(a.checked_add(b))?,
        BinOp::Sub => number(a.checked_sub(b))?,
        BinOp::Mul => number(a.checked_mul(b))?,
        BinOp::Rem => number(a.checked_rem(b))?,
        BinOp::And | BinOp::Or | BinOp::Implies => Word::from(b != 0),
    })
}
