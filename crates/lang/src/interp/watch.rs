//! What an action accesses: places in the row, found before the action is done.

use super::rounds::Rounds;
use super::{Machine, State};
use crate::ast::BinOp;
use crate::program::{Action, Expr, Place, Word};

impl Machine<'_> {
    /// The places that an action of the program accesses, in order, and whether it writes them. Annotations
    /// access nothing.
    pub(super) fn accesses(&self, state: &mut State, thread: usize, action: &Action) -> Vec<(usize, bool)> {
        let mut seen = Vec::new();
        let words = &mut state.words;
        match action {
            Action::Assume(e) | Action::Assert(e, _) | Action::Free(e) => {
                self.reads(words, thread, e, &mut seen)
            }
            Action::Assign(place, e) => {
                self.reads(words, thread, e, &mut seen);
                self.inner(words, thread, place, &mut seen);
                seen.extend(self.find(words, thread, place).ok().map(|at| (at, true)));
            }
            Action::Choose(local, lo, hi) => {
                self.reads(words, thread, lo, &mut seen);
                self.reads(words, thread, hi, &mut seen);
                seen.push((self.local_at(thread, local.index()), true));
            }
            Action::Prophecy(local, resolved) => {
                resolved.iter().for_each(|e| self.reads(words, thread, e, &mut seen));
                seen.push((self.local_at(thread, local.index()), true));
            }
            Action::New { local, fields, .. } => {
                fields.iter().for_each(|(_, e)| self.reads(words, thread, e, &mut seen));
                seen.push((self.local_at(thread, local.index()), true));
            }
            Action::Lock(place) | Action::Unlock(place) => {
                self.inner(words, thread, place, &mut seen);
                if let Ok(at) = self.find(words, thread, place) {
                    seen.extend([(at, false), (at, true)]);
                }
            }
            Action::Mark(_) | Action::Claim(_) => {}
        }
        seen
    }

    /// The places that an expression reads. What is not looked at is not read.
    pub(super) fn reads(&self, words: &mut [Word], thread: usize, e: &Expr, seen: &mut Vec<(usize, bool)>) {
        match e {
            Expr::Const(_) | Expr::Size(_) | Expr::Me | Expr::Term(_) => {}
            Expr::Read(place) => {
                self.inner(words, thread, place, seen);
                seen.extend(self.find(words, thread, place).ok().map(|at| (at, false)));
            }
            Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => self.reads(words, thread, e, seen),
            Expr::Binary(op, a, b) => {
                self.reads(words, thread, a, seen);
                let first = self.eval(words, thread, a).unwrap_or(0);
                let decided = match op {
                    BinOp::And | BinOp::Implies => first == 0,
                    BinOp::Or => first != 0,
                    _ => false,
                };
                if !decided {
                    self.reads(words, thread, b, seen);
                }
            }
            Expr::Quantified { local, lo, hi, body, .. } => {
                self.reads(words, thread, lo, seen);
                self.reads(words, thread, hi, seen);
                let (lo, hi) = (self.eval(words, thread, lo), self.eval(words, thread, hi));
                let (Ok(lo), Ok(hi)) = (lo, hi) else { return };
                let at = self.local_at(thread, local.index());
                let outer = words[at];
                let rounds = Rounds::begin();
                for n in (lo..hi).take_while(|_| rounds.next()) {
                    words[at] = n;
                    self.reads(words, thread, body, seen);
                }
                words[at] = outer;
            }
        }
    }

    fn inner(&self, words: &mut [Word], thread: usize, place: &Place, seen: &mut Vec<(usize, bool)>) {
        match place {
            Place::Local(_) | Place::Global(..) => {}
            Place::Element(_, e, _) | Place::Field(e, ..) => self.reads(words, thread, e, seen),
        }
    }
}
