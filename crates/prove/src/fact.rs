//! Facts about a process at a place, written in the language of the program.

use std::collections::BTreeSet;
use std::time::Instant;

use linpoint_lang::Program;
use linpoint_lang::flow::live_locals;
use linpoint_lang::program::{Expr, LocalId, OpId, Place, Slot, Type};
use linpoint_lang::span::Span;

use crate::graph::{Graph, Phase, Point};
use crate::guess::{Guesser, as_called, conditions, definitions, index_locals, tests};
use crate::values::result_types;
use crate::world::RESULT;

/// A shared slot: a variable's, or a field's of a kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Shared {
    Global(u16, u16),
    Field(u16, u16),
    Alive(u16),
}

/// Something that may hold of a process at a place, or always.
#[derive(Clone, Debug)]
pub struct Fact {
    /// What.
    pub body: Expr,
    /// Where the user wrote it; a guess if not given.
    pub written: Option<Span>,
    /// The shared slots it looks at.
    pub reads: BTreeSet<Shared>,
}

/// All facts.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What holds always.
    pub always: Vec<Fact>,
    /// What holds of a process at a place.
    pub at: Vec<Vec<Fact>>,
}

impl Fact {
    /// A fact that was guessed.
    pub fn guess(body: Expr) -> Fact {
        let reads = shared_reads(&body);
        Fact { body, written: None, reads }
    }
}

/// The shared slots that an expression looks at.
pub fn shared_reads(e: &Expr) -> BTreeSet<Shared> {
    let mut reads = BTreeSet::new();
    e.places(&mut |place| match place {
        Place::Global(global, slot) | Place::Element(global, _, slot) => {
            reads.insert(Shared::Global(global.0, *slot));
        }
        Place::Field(_, record, field) => {
            reads.insert(Shared::Field(record.0, *field));
        }
        Place::Local(_) => {}
    });
    reads
}

impl Facts {
    /// What the user wrote.
    pub fn written(program: &Program, graph: &Graph) -> Facts {
        let mut facts = Facts { always: Vec::new(), at: vec![Vec::new(); graph.places.len()] };
        for invariant in &program.annotations.invariants {
            let fact = Fact {
                body: invariant.body.clone(),
                written: Some(invariant.span),
                reads: shared_reads(&invariant.body),
            };
            if invariant.at.is_empty() {
                facts.always.push(fact);
                continue;
            }
            for point in graph.running() {
                if invariant.at.contains(&graph.place(point).node) {
                    facts.at[usize::from(point.0)].push(fact.clone());
                }
            }
        }
        facts
    }

    /// What the user wrote, and every guess.
    /// When time is up the rest is left out.
    pub fn with_guesses(program: &Program, graph: &Graph, deadline: Option<Instant>) -> Facts {
        let mut facts = Facts::written(program, graph);
        let guesser = Guesser::new(program);
        facts.always.extend(guesser.always().into_iter().map(Fact::guess));
        facts.at[0].extend(guesser.at(&[], &[], &[]).into_iter().map(Fact::guess));
        let indices: Vec<BTreeSet<LocalId>> =
            (0..program.operations.len()).map(|op| index_locals(program, OpId(op as u16))).collect();
        let live = live_locals(program);
        for point in graph.running() {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break;
            }
            let place = graph.place(point);
            let operation = program.operation(place.op);
            let mut locals: Vec<(LocalId, &Slot)> = Vec::new();
            for (index, slot) in operation.locals.iter().enumerate() {
                if live[place.node.index()][index] || index < operation.params {
                    locals.push((LocalId(index as u16), slot));
                }
            }
            let types = result_types(&operation.result);
            let result: Vec<(LocalId, &Type)> = match place.phase {
                Phase::After => (RESULT..).map(LocalId).zip(&types).collect(),
                Phase::Before | Phase::Given => Vec::new(),
            };
            let guesses =
                guesser.at(&locals, &result, &indices[place.op.index()].iter().copied().collect::<Vec<_>>());
            let conditions = conditions(program, place.op);
            let either = conditions.into_iter().flat_map(|c| [c.clone(), Expr::Not(Box::new(c))]);
            let is_known = |id: LocalId| locals.iter().any(|(local, _)| *local == id);
            let read = definitions(program, place.op, is_known);
            let tested = tests(program, place.op, is_known).into_iter().chain(as_called(program, place.op));
            let here = &mut facts.at[usize::from(point.0)];
            for guess in guesses.into_iter().chain(either).chain(read).chain(tested) {
                if here.iter().all(|fact| fact.body != guess) {
                    here.push(Fact::guess(guess));
                }
            }
        }
        facts
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.always.len() + self.at.iter().map(Vec::len).sum::<usize>()
    }

    /// The facts of a place.
    pub fn of(&self, point: Point) -> &[Fact] {
        &self.at[usize::from(point.0)]
    }
}
