//! A specification of the user's, as the question whether a graph is linearizable asks for it: operations and answers are
//! numbers there.

use std::cell::RefCell;
use std::collections::HashSet;

use linpoint_sched::weak::linearize::{Operation, Sequential};
use rustc_hash::FxHashMap;

use crate::spec::Specification;

/// The answers that operations gave, each with a number.
pub(crate) struct Answers<R> {
    numbers: FxHashMap<R, i64>,
    all: Vec<R>,
}

impl<R: Clone + Eq + std::hash::Hash> Answers<R> {
    pub(crate) fn new() -> Answers<R> {
        Answers { numbers: FxHashMap::default(), all: Vec::new() }
    }

    pub(crate) fn number(&mut self, answer: &R) -> i64 {
        if let Some(&number) = self.numbers.get(answer) {
            return number;
        }
        let number = self.all.len() as i64;
        self.all.push(answer.clone());
        self.numbers.insert(answer.clone(), number);
        number
    }

    pub(crate) fn of(&self, number: i64) -> Option<&R> {
        self.all.get(usize::try_from(number).ok()?)
    }
}

/// The specification, for the operations of one scenario.
pub(crate) struct Bridge<'a, S: Specification> {
    pub(crate) operations: &'a [S::Op],
    pub(crate) answers: &'a RefCell<Answers<S::Ret>>,
}

impl<S: Specification> Sequential for Bridge<'_, S> {
    type State = S;

    fn initial(&self) -> S {
        S::initial()
    }

    fn step(&self, state: &S, operation: &Operation, next: &mut Vec<S>) {
        let Some(op) = self.operations.get(operation.operation as usize) else { return };
        let answers = self.answers.borrow();
        let answer = operation.result.map(|number| answers.of(number));
        let mut outcomes = Vec::new();
        state.outcomes(op, &mut outcomes);
        for (ret, after) in outcomes {
            if answer.is_none_or(|answer| answer == Some(&ret)) && !next.contains(&after) {
                next.push(after);
            }
        }
    }
}

impl<S: Specification> Bridge<'_, S> {
    /// May an operation have to wait, in some state that some of the others lead to?
    pub(crate) fn may_wait(&self) -> bool {
        const MOST: usize = 1 << 14;
        let mut seen: HashSet<(u64, S)> = HashSet::from([(0, S::initial())]);
        let mut work = vec![(0u64, S::initial())];
        let mut outcomes = Vec::new();
        while let Some((done, state)) = work.pop() {
            for (index, op) in self.operations.iter().enumerate().take(64) {
                if done >> index & 1 == 1 {
                    continue;
                }
                outcomes.clear();
                state.outcomes(op, &mut outcomes);
                if outcomes.is_empty() || seen.len() > MOST {
                    return true;
                }
                for (_, after) in outcomes.drain(..) {
                    let next = (done | 1 << index, after);
                    if seen.insert(next.clone()) {
                        work.push(next);
                    }
                }
            }
        }
        false
    }
}
