//! The plain reference: try every order (Wing & Gong 1993), remember dead ends (Lowe 2017).
//!
//! A history is linearizable iff its completed operations, and some of its pending ones, can be put into an
//! order that respects real time and that the specification accepts. This module searches for that order
//! depth first: at each step any operation may come next that no operation still missing precedes. A pair
//! (set of operations done, state) that led nowhere is never tried again.
//!
//! The search has its own stack and looks only at rows around the present, so that a long history runs into
//! its budget, not into the end of the thread's stack.
//!
//! It shares nothing with the other engines but rows and [`Spec`], reads stamps itself and honours the order
//! of operations of one process at equal stamps exactly. It is the oracle of all tests, and it re-decides
//! every minimised core.

use linpoint_history::{Call, Operation, ProcessId, Spec, Symbols, Value};
use rustc_hash::{FxHashMap, FxHashSet};

pub mod paths;
pub mod several;

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
    search_from(spec, spec.initial(), rows, symbols, budget)
}

/// Searches for an order of `rows`, all of one object that is in the state `from` at first.
pub fn search_from<S: Spec>(
    spec: &S,
    from: S::State,
    rows: &[Operation],
    symbols: &Symbols,
    budget: &Budget,
) -> Result<Search, Stop> {
    let mut search = Searcher {
        spec,
        values: rows.iter().map(|op| (symbols.value(op.arg), symbols.value(op.result))).collect(),
        order_in_time: InTime::of(rows),
        rows,
        missing: rows.iter().filter(|op| !op.is_pending()).count(),
        done: vec![false; rows.len()],
        order: Vec::new(),
        best: Vec::new(),
        best_shared: 0,
        dead: FxHashSet::default(),
        dead_bytes: 0,
        budget,
    };
    Ok(match search.run(from)? {
        true => Search::Linearizable(search.order),
        false => Search::NotLinearizable(search.best),
    })
}

/// Which rows may come next, given those that are done. A row waits for all that returned before its call,
/// and for those of its process that returned at its call.
struct InTime {
    by_call: Vec<usize>,
    /// Completed rows only.
    by_return: Vec<usize>,
    touching: Vec<Vec<usize>>,
}

impl InTime {
    fn of(rows: &[Operation]) -> InTime {
        let mut by_call: Vec<usize> = (0..rows.len()).collect();
        by_call.sort_by_key(|&i| (rows[i].call, rows[i].ret, i));
        let mut by_return: Vec<usize> = (0..rows.len()).filter(|&i| !rows[i].is_pending()).collect();
        by_return.sort_by_key(|&i| (rows[i].ret, i));
        let mut returns: FxHashMap<(ProcessId, i64), Vec<usize>> = FxHashMap::default();
        for &i in &by_return {
            returns.entry((rows[i].process(), rows[i].ret)).or_default().push(i);
        }
        let touching = |b: usize| {
            let row = &rows[b];
            let same = returns.get(&(row.process(), row.call)).map_or(&[][..], Vec::as_slice);
            same.iter().copied().filter(|&a| a != b && (rows[a].call, a) < (row.call, b)).collect()
        };
        InTime { touching: (0..rows.len()).map(touching).collect(), by_call, by_return }
    }
}

/// One step of the depth-first search: where the order stood, and what is left to try there.
struct Frame<S: Spec> {
    state: S::State,
    /// In `by_call`, everything before this is done.
    first_call: usize,
    /// In `by_return`, everything before this is done.
    first_return: usize,
    /// The next place in `by_call` to try.
    cursor: usize,
    /// The row being tried, and the states it may still lead to.
    trying: usize,
    outcomes: Vec<S::State>,
}

/// A set of done rows and a state: `first_call`, the rows done beyond it, the state.
type Dead<S> = (usize, Box<[usize]>, <S as Spec>::State);

struct Searcher<'a, S: Spec> {
    spec: &'a S,
    rows: &'a [Operation],
    values: Vec<(Value, Value)>,
    order_in_time: InTime,
    missing: usize,
    done: Vec<bool>,
    order: Vec<usize>,
    best: Vec<usize>,
    /// `best` and `order` agree this far.
    best_shared: usize,
    dead: FxHashSet<Dead<S>>,
    dead_bytes: usize,
    budget: &'a Budget,
}

impl<S: Spec> Searcher<'_, S> {
    /// Depth first, with a stack of its own: a history may be longer than the thread's stack is deep.
    fn run(&mut self, from: S::State) -> Result<bool, Stop> {
        let mut stack = vec![self.frame(from, 0, 0)];
        let mut steps = 0u64;
        while let Some(frame) = stack.last_mut() {
            if self.missing == 0 {
                return Ok(true);
            }
            // Also before the first step: whoever comes when the time is up gets no answer, however small the
            // question.
            if steps.is_multiple_of(256) {
                self.budget.check(self.dead_bytes)?;
            }
            steps += 1;
            if let Some(next) = frame.outcomes.pop() {
                let (row, first_call, first_return) = (frame.trying, frame.first_call, frame.first_return);
                self.set_done(row, true);
                self.order.push(row);
                let child = self.frame(next, first_call, first_return);
                if !self.dead.contains(&self.key(&child)) {
                    stack.push(child);
                } else {
                    self.undo();
                }
            } else if let Some(row) = self.candidate(frame) {
                frame.trying = row;
                frame.outcomes = self.outcomes(row, &frame.state);
            } else {
                let key = self.key(frame);
                let state = self.spec.state_bytes(&key.2);
                self.dead_bytes += size_of::<Dead<S>>() + key.1.len() * 8 + 64 + state;
                self.dead.insert(key);
                stack.pop();
                if !stack.is_empty() {
                    self.undo();
                }
            }
        }
        Ok(self.missing == 0)
    }

    fn frame(&self, state: S::State, mut first_call: usize, mut first_return: usize) -> Frame<S> {
        let InTime { by_call, by_return, .. } = &self.order_in_time;
        while by_call.get(first_call).is_some_and(|&row| self.done[row]) {
            first_call += 1;
        }
        while by_return.get(first_return).is_some_and(|&row| self.done[row]) {
            first_return += 1;
        }
        Frame { state, first_call, first_return, cursor: first_call, trying: 0, outcomes: Vec::new() }
    }

    /// The next row that no missing row precedes.
    fn candidate(&self, frame: &mut Frame<S>) -> Option<usize> {
        let InTime { by_call, by_return, touching } = &self.order_in_time;
        let limit = by_return.get(frame.first_return).map_or(i64::MAX, |&row| self.rows[row].ret);
        while let Some(&row) = by_call.get(frame.cursor)
            && self.rows[row].call <= limit
        {
            frame.cursor += 1;
            if !self.done[row] && touching[row].iter().all(|&before| self.done[before]) {
                return Some(row);
            }
        }
        None
    }

    fn key(&self, frame: &Frame<S>) -> Dead<S> {
        let InTime { by_call, by_return, .. } = &self.order_in_time;
        let limit = by_return.get(frame.first_return).map_or(i64::MAX, |&row| self.rows[row].ret);
        let beyond = by_call[frame.first_call..].iter().copied();
        let beyond = beyond.take_while(|&row| self.rows[row].call <= limit).filter(|&row| self.done[row]);
        (frame.first_call, beyond.collect(), frame.state.clone())
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
        next.reverse();
        next
    }

    /// Takes the last row back, after noting how far the order went.
    fn undo(&mut self) {
        if self.order.len() > self.best.len() {
            self.best.truncate(self.best_shared);
            self.best.extend_from_slice(&self.order[self.best_shared..]);
            self.best_shared = self.order.len();
        }
        if let Some(row) = self.order.pop() {
            self.set_done(row, false);
        }
        self.best_shared = self.best_shared.min(self.order.len());
    }

    fn set_done(&mut self, row: usize, done: bool) {
        self.done[row] = done;
        if !self.rows[row].is_pending() {
            self.missing = if done { self.missing - 1 } else { self.missing + 1 };
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
                let mut explained = vec![false; self.rows.len()];
                best.iter().for_each(|&row| explained[row] = true);
                let unexplained = (0..completed).find(|&row| !explained[row]).unwrap_or(0);
                let core = std::mem::take(&mut self.rows);
                Err(Stop::Violated(Violation { at: id(unexplained), core, reason: String::new() }))
            }
        }
    }
}
