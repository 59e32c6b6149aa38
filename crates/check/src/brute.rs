//! The plain reference: try every order (Wing & Gong 1993), remember dead ends (Lowe 2017).
//!
//! A history is linearizable iff its completed operations, and some of its pending ones, can be put into an order that
//! respects real time and that the specification accepts. This module searches for that order depth first: at
//! each step any operation may come next that no operation still missing precedes. A pair (set of operations done, state) that
//! led nowhere is never tried again.
//!
//! It shares nothing with the other engines but rows and [`Spec`], reads stamps itself and honours the order of operations of one
//! process at equal stamps exactly. It is the oracle of all tests, and it re-decides every minimised core.

use linpoint_history::{Call, Operation, Spec, Symbols, Value};
use rustc_hash::FxHashSet;

use crate::engine::{Budget, Context, Engine, Stop, Violation, Witness};
use crate::timeline::{OpId, Timeline};

/// What the search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// Indices of rows in an order that explains the history.
    Linearizable(Vec<usize>),
    /// No order does; the longest beginning of one that was found.
    NotLinearizable(Vec<usize>),
}

impl Search {
    /// Was an order found?
    pub fn holds(&self) -> bool {
        matches!(self, Search::Linearizable(_))
    }
}

/// Searches for an order of `rows`, all of one object.
pub fn search<S: Spec>(
    spec: &S,
    rows: &[Operation],
    symbols: &Symbols,
    budget: &Budget,
) -> Result<Search, Stop> {
    let mut search = Searcher {
        spec,
        values: rows.iter().map(|op| (symbols.value(op.arg), symbols.value(op.result))).collect(),
        predecessors: predecessors(rows),
        rows,
        missing: rows.iter().filter(|op| !op.is_pending()).count(),
        done: vec![0; rows.len().div_ceil(64)],
        order: Vec::new(),
        best: Vec::new(),
        dead: FxHashSet::default(),
        steps: 0,
        budget,
    };
    Ok(match search.extend(&spec.initial())? {
        true => Search::Linearizable(search.order),
        false => Search::NotLinearizable(search.best),
    })
}

/// For each row, the rows that precede it: those that returned before its call, and those of its process before it.
fn predecessors(rows: &[Operation]) -> Vec<Vec<usize>> {
    let before = |a: usize, b: usize| {
        let (x, y) = (&rows[a], &rows[b]);
        x.ret < y.call || x.process() == y.process() && x.ret == y.call && (x.call, a) < (y.call, b)
    };
    let all = 0..rows.len();
    all.clone().map(|b| all.clone().filter(|&a| a != b && before(a, b)).collect()).collect()
}

struct Searcher<'a, S: Spec> {
    spec: &'a S,
    rows: &'a [Operation],
    values: Vec<(Value, Value)>,
    predecessors: Vec<Vec<usize>>,
    missing: usize,
    done: Vec<u64>,
    order: Vec<usize>,
    best: Vec<usize>,
    dead: FxHashSet<(Vec<u64>, S::State)>,
    steps: u64,
    budget: &'a Budget,
}

impl<S: Spec> Searcher<'_, S> {
    /// Extends the order found so far, which leads to `state`, to a whole one, if that can be.
    fn extend(&mut self, state: &S::State) -> Result<bool, Stop> {
        if self.missing == 0 {
            return Ok(true);
        }
        if self.order.len() > self.best.len() {
            self.best.clone_from(&self.order);
        }
        let here = (self.done.clone(), state.clone());
        if self.dead.contains(&here) {
            return Ok(false);
        }
        self.steps += 1;
        if self.steps.is_multiple_of(1024) {
            let entry = size_of::<(Vec<u64>, S::State)>() + self.done.len() * 8 + 64;
            self.budget.check(self.dead.len() * entry)?;
        }
        for index in 0..self.rows.len() {
            if self.is_done(index) || !self.predecessors[index].iter().all(|&p| self.is_done(p)) {
                continue;
            }
            for next in self.outcomes(index, state) {
                self.toggle(index);
                self.order.push(index);
                let found = self.extend(&next)?;
                if found {
                    return Ok(true);
                }
                self.order.pop();
                self.toggle(index);
            }
        }
        self.dead.insert(here);
        Ok(false)
    }

    fn outcomes(&self, index: usize, state: &S::State) -> Vec<S::State> {
        let op = &self.rows[index];
        let call = Call { op: op.op(), process: op.process(), arg: &self.values[index].0 };
        let mut next = Vec::new();
        if op.is_pending() {
            self.spec.step_pending(state, call, &mut next);
        } else {
            next.extend(self.spec.step(state, call, &self.values[index].1));
        }
        next
    }

    fn is_done(&self, index: usize) -> bool {
        self.done[index / 64] >> (index % 64) & 1 == 1
    }

    fn toggle(&mut self, index: usize) {
        self.done[index / 64] ^= 1 << (index % 64);
        if !self.rows[index].is_pending() {
            if self.is_done(index) {
                self.missing -= 1;
            } else {
                self.missing += 1;
            }
        }
    }
}

/// Brute force as an engine: it collects the rows and searches at the end.
#[derive(Clone, Debug, Default)]
pub struct Brute {
    rows: Vec<Operation>,
}

impl Engine for Brute {
    fn name(&self) -> &'static str {
        "brute force"
    }

    fn advance(
        &mut self,
        _cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        _witness: &mut Witness,
    ) -> Result<(), Stop> {
        let from = self.rows.len() as u32;
        self.rows.extend((from..upto).map(|id| *timeline.op(OpId::completed(id))));
        Ok(())
    }

    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        let completed = self.rows.len();
        self.rows.extend(timeline.pending());
        let id = |index: usize| match index.checked_sub(completed) {
            Some(pending) => OpId::pending(pending as u32),
            None => OpId::completed(index as u32),
        };
        match search(cx.spec, &self.rows, cx.symbols, cx.budget)? {
            Search::Linearizable(order) => {
                witness.order.extend(order.into_iter().map(id));
                Ok(())
            }
            Search::NotLinearizable(best) => {
                let unexplained = (0..completed).find(|index| !best.contains(index)).unwrap_or(0);
                let core = std::mem::take(&mut self.rows);
                Err(Stop::Violated(Violation { at: id(unexplained), core, reason: String::new() }))
            }
        }
    }
}
