//! From places by name to places by offset.

use super::{Act, Edge, Marked, Spot, Target, Value};
use crate::ast::BinOp;
use crate::interp::Machine;
use crate::interp::layout::constant;
use crate::program::{Action, Exit, Expr, Mark, OpId, Place, Word};

/// Resolves places for one machine.
pub(super) struct Compiler<'m, 'p> {
    pub machine: &'m Machine<'p>,
}

impl Compiler<'_, '_> {
    /// A step.
    pub fn edge(&self, op: OpId, edge: &crate::program::Edge) -> Edge {
        let first = edge.actions.iter().take_while(|action| matches!(action, Action::Assume(_))).count();
        let (guards, rest) = edge.actions.split_at(first);
        let guards = guards
            .iter()
            .filter_map(|action| match action {
                Action::Assume(e) => Some(self.value(e)),
                _ => None,
            })
            .collect();
        let acts: Vec<Act> = rest.iter().map(|action| self.act(op, action)).collect();
        let certain = !acts.iter().any(|act| {
            matches!(act, Act::Assume(_) | Act::Choose(..) | Act::Lock(_) | Act::New { reused: true, .. })
        });
        let exit = match &edge.exit {
            Exit::Goto(to) => Target::Goto(Word::from(to.0)),
            Exit::Return(values) => Target::Return(self.values(values)),
        };
        Edge { guards, acts, exit, certain }
    }

    fn values(&self, values: &[Expr]) -> Vec<Value> {
        values.iter().map(|e| self.value(e)).collect()
    }

    fn act(&self, op: OpId, action: &Action) -> Act {
        let bounds = &self.machine.bounds;
        match action {
            Action::Assume(e) => Act::Assume(self.value(e)),
            Action::Assert(e, _) => Act::Assert(self.value(e)),
            Action::Assign(Place::Local(local), e) => {
                let limit = bounds.locals[op.index()][local.index()];
                Act::SetLocal(1 + local.index(), self.value(e), limit)
            }
            Action::Assign(place, e) => {
                let limit = match place {
                    Place::Local(local) => bounds.locals[op.index()][local.index()],
                    Place::Global(global, slot) | Place::Element(global, _, slot) => {
                        bounds.globals[global.index()][usize::from(*slot)]
                    }
                    Place::Field(_, record, field) => bounds.fields[record.index()][usize::from(*field)],
                };
                Act::Set(self.spot(place), self.value(e), limit)
            }
            Action::Choose(local, lo, hi) => {
                let limit = bounds.locals[op.index()][local.index()];
                Act::Choose(1 + local.index(), self.value(lo), self.value(hi), limit)
            }
            Action::Prophecy(local, resolved) => {
                let limit = bounds.locals[op.index()][local.index()];
                let value = resolved.as_ref().map_or_else(|| self.value(&Expr::Const(0)), |e| self.value(e));
                Act::SetLocal(1 + local.index(), value, limit)
            }
            Action::New { local, record, fields } => {
                let kind = &self.machine.program.records[record.index()];
                let given = fields.iter().map(|(field, e)| {
                    let field = usize::from(*field);
                    (field, self.value(e), bounds.fields[record.index()][field])
                });
                Act::New {
                    local: 1 + local.index(),
                    header: Word::from(record.0) + 1,
                    reused: kind.freed,
                    fields: kind
                        .fields
                        .iter()
                        .map(|slot| constant(&slot.init, &self.machine.sizes))
                        .collect(),
                    given: given.collect(),
                }
            }
            Action::Free(e) => {
                let pooled = self.machine.program.records.iter().map(|record| record.pooled).collect();
                Act::Free(self.value(e), pooled)
            }
            Action::Lock(place) => Act::Lock(self.spot(place)),
            Action::Unlock(place) => Act::Unlock(self.spot(place)),
            Action::Mark(mark) => Act::Mark(Box::new(self.mark(mark))),
            Action::Claim(claim) => Act::Claim(*claim),
        }
    }

    fn mark(&self, mark: &Mark) -> Marked {
        Marked {
            kind: mark.kind,
            when: mark.when.as_ref().map(|e| self.value(e)),
            result: mark.result.as_ref().map(|values| self.values(values)),
            of: mark.of.as_ref().map(|e| self.value(e)),
        }
    }

    fn spot(&self, place: &Place) -> Spot {
        let machine = self.machine;
        match place {
            Place::Local(local) => Spot::Local(1 + local.index()),
            Place::Global(global, slot) => Spot::Shared(machine.globals[global.index()] + usize::from(*slot)),
            Place::Element(global, index, slot) => Spot::Element {
                index: Box::new(self.value(index)),
                start: machine.globals[global.index()] + usize::from(*slot),
                length: machine.lengths[global.index()],
                stride: machine.program.globals[global.index()].slots.len(),
            },
            Place::Field(pointer, record, field) => Spot::Field {
                pointer: Box::new(self.value(pointer)),
                field: 1 + usize::from(*field),
                pooled: machine.program.records[record.index()].pooled,
            },
        }
    }

    fn value(&self, e: &Expr) -> Value {
        let boxed = |e: &Expr| Box::new(self.value(e));
        let both = |a: &Expr, b: &Expr| Box::new((self.value(a), self.value(b)));
        match e {
            Expr::Const(word) => Value::Const(*word),
            Expr::Size(size) => Value::Const(self.machine.sizes[size.index()]),
            Expr::Me => Value::Me,
            Expr::Read(place) => match self.spot(place) {
                Spot::Local(local) => Value::Local(local),
                Spot::Shared(at) => Value::Shared(at),
                Spot::Field { pointer, field, pooled } => match *pointer {
                    Value::Local(local) => Value::LocalField { local, field, pooled },
                    pointer => Value::Read(Spot::Field { pointer: Box::new(pointer), field, pooled }),
                },
                spot => Value::Read(spot),
            },
            Expr::Not(e) => Value::Not(boxed(e)),
            Expr::Neg(e) => Value::Neg(boxed(e)),
            Expr::Unwrap(e) => Value::Unwrap(boxed(e)),
            Expr::Binary(BinOp::Eq, a, b) => Value::Equal(both(a, b)),
            Expr::Binary(BinOp::Ne, a, b) => Value::Unequal(both(a, b)),
            Expr::Binary(op, a, b) => Value::Binary(*op, both(a, b)),
            Expr::Quantified { all, local, lo, hi, body } => Value::Quantified {
                all: *all,
                local: 1 + local.index(),
                range: both(lo, hi),
                body: boxed(body),
            },
            Expr::Term(_) => Value::Term,
        }
    }
}
