//! How far a core can be explained: its longest orders, with the states between, and why each goes no further.
//!
//! The engines say that no order explains the core. What a person asks is where each attempt ends. Cores are small, so every order is tried here, plainly: an operation can be next if no
//! other that is left returned before its call. Two attempts that placed the same operations and came to the same state have the same future, and are tried once.

use std::collections::HashSet;

use linpoint_history::specs::State;
use linpoint_history::{Builtin, Call, Operation, Spec, Symbols, Value};
use linpoint_report::view::{Next, Order};

/// Attempts that are shown.
const MOST_SHOWN: usize = 12;
/// Steps of the search.
const MOST_STEPS: usize = 20_000;
/// Operations of a core that is tried.
const MOST_OPERATIONS: usize = 60;

/// What came of trying.
#[derive(Debug, Default)]
pub struct Attempts {
    /// The longest orders, longest first.
    pub orders: Vec<Order>,
    /// What each operation that was placed nowhere would have answered where it could have been, in any order; empty for those that were placed.
    pub answers: Vec<Vec<String>>,
}

/// Tries every order of `core` from `start`. Nothing where there are too many.
pub fn longest(spec: &Builtin, symbols: &Symbols, core: &[Operation], start: State) -> Attempts {
    if core.len() > MOST_OPERATIONS {
        return Attempts::default();
    }
    let answers = vec![Vec::new(); core.len()];
    let mut search =
        Search { spec, symbols, core, seen: HashSet::new(), steps: 0, ends: Vec::new(), answers, placed: 0 };
    search.go(0, &start, &mut Vec::new());
    if search.steps >= MOST_STEPS {
        return Attempts::default();
    }
    let mut ends = std::mem::take(&mut search.ends);
    ends.sort_by_key(|order| std::cmp::Reverse(order.len()));
    ends.truncate(MOST_SHOWN);
    for (index, answers) in search.answers.iter_mut().enumerate() {
        if search.placed >> index & 1 == 1 {
            answers.clear();
        }
        answers.sort();
        answers.dedup();
    }
    let orders = ends.iter().map(|order| search.tell(order, start.clone())).collect();
    Attempts { orders, answers: search.answers }
}

/// The states that `order` passes through, or none where it cannot be replayed.
pub fn states<'o>(
    spec: &Builtin,
    symbols: &Symbols,
    order: impl Iterator<Item = &'o Operation>,
    start: State,
) -> Option<Vec<String>> {
    let mut state = start;
    let mut shown = vec![spec.show_named(&state, symbols)];
    for op in order {
        let arg = symbols.value(op.arg);
        state = step(spec, symbols, &state, op, &arg).into_iter().next()?;
        shown.push(spec.show_named(&state, symbols));
    }
    Some(shown)
}

struct Search<'a> {
    spec: &'a Builtin,
    symbols: &'a Symbols,
    core: &'a [Operation],
    seen: HashSet<(u64, State)>,
    steps: usize,
    /// Orders that go no further: operations and the state after each.
    ends: Vec<Vec<(usize, State)>>,
    /// What each operation would have answered where it could be next and did not fit.
    answers: Vec<Vec<String>>,
    /// Operations that were placed in some order.
    placed: u64,
}

impl Search<'_> {
    fn go(&mut self, placed: u64, state: &State, order: &mut Vec<(usize, State)>) {
        self.steps += 1;
        if self.steps >= MOST_STEPS || !self.seen.insert((placed, state.clone())) {
            return;
        }
        let mut further = false;
        for index in self.candidates(placed) {
            let arg = self.symbols.value(self.core[index].arg);
            let ways = step(self.spec, self.symbols, state, &self.core[index], &arg);
            if ways.is_empty() {
                let answers = self.possible(state, index);
                self.answers[index].extend(answers);
            }
            for next in ways {
                further = true;
                self.placed |= 1 << index;
                order.push((index, next.clone()));
                self.go(placed | 1 << index, &next, order);
                order.pop();
            }
        }
        if !further {
            self.ends.push(order.clone());
        }
    }

    /// Operations that may be next in real time.
    fn candidates(&self, placed: u64) -> Vec<usize> {
        let left = |i: &usize| placed >> i & 1 == 0;
        let first_return = (0..self.core.len()).filter(left).map(|i| self.core[i].ret).min();
        let next = |i: &usize| {
            let op = &self.core[*i];
            let own = |other: usize| left(&other) && other < *i && self.core[other].process() == op.process();
            Some(op.call) <= first_return && !(0..self.core.len()).any(own)
        };
        (0..self.core.len()).filter(left).filter(next).collect()
    }

    fn tell(&self, order: &[(usize, State)], start: State) -> Order {
        let mut states = vec![self.spec.show_named(&start, self.symbols)];
        states.extend(order.iter().map(|(_, state)| self.spec.show_named(state, self.symbols)));
        let placed = order.iter().fold(0_u64, |placed, (index, _)| placed | 1 << index);
        let end = order.last().map_or(&start, |(_, state)| state);
        let next = self.candidates(placed).into_iter().filter(|&i| !self.core[i].is_pending());
        Order {
            title: format!("{} of {} operations", order.len(), self.core.len()),
            bars: order.iter().map(|(index, _)| *index).collect(),
            states,
            next: next.map(|bar| Next { bar, why: self.why(end, bar) }).collect(),
        }
    }

    /// Why an operation cannot be next in a state.
    fn why(&self, state: &State, index: usize) -> String {
        let got = shown(&self.symbols.value(self.core[index].result));
        match self.possible(state, index).as_slice() {
            [] => "it is not possible here".to_owned(),
            answers => format!("here it would answer {}, and it answered {got}", answers.join(" or ")),
        }
    }

    /// What an operation may answer in a state.
    fn possible(&self, state: &State, index: usize) -> Vec<String> {
        let op = &self.core[index];
        let arg = self.symbols.value(op.arg);
        let call = Call { op: op.op(), process: op.process(), arg: &arg };
        let mut answers: Vec<String> =
            self.spec.outcomes(state, call).iter().map(|(result, _)| shown(result)).collect();
        answers.dedup();
        answers
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() { "nothing".to_owned() } else { value.to_string() }
}

/// Where an operation may lead.
fn step(spec: &Builtin, symbols: &Symbols, state: &State, op: &Operation, arg: &Value) -> Vec<State> {
    let call = Call { op: op.op(), process: op.process(), arg };
    if op.is_pending() {
        let mut next = Vec::new();
        spec.step_pending(state, call, &mut next);
        return next;
    }
    spec.step(state, call, &symbols.value(op.result)).into_iter().collect()
}
