//! A specification must give the same answers whenever it is asked. This asks twice, before anything rests on it.
//!
//! It is asked along the operations of a scenario, breadth first from the initial state, each operation in each state
//! that comes up. That finds what depends on time, on randomness or on a counter somewhere; it proves nothing. A few
//! questions an operation are enough for that, and a small scenario has so few executions that more would show.

use crate::scenario::Scenario;
use crate::spec::Specification;

/// How often it is asked, for each operation and in all.
const QUESTIONS: (usize, usize) = (8, 200);

/// What the specification answered first and second, where the two differ.
pub(crate) fn difference<S: Specification>(scenario: &Scenario<S>) -> Option<String> {
    let (first, second) = (S::initial(), S::initial());
    if first != second {
        return Some(format!("it starts as {first:?}, and then as {second:?}"));
    }
    let mut operations: Vec<S::Op> = Vec::new();
    for op in scenario.operations() {
        if !operations.contains(&op) {
            operations.push(op);
        }
    }
    let most = QUESTIONS.1.min(operations.len() * QUESTIONS.0);
    let mut states = Vec::with_capacity(QUESTIONS.0);
    states.push(first);
    let mut asked = 0;
    let (mut once, mut again) = (Vec::with_capacity(1), Vec::with_capacity(1));
    for at in 0.. {
        let Some(state) = states.get(at).cloned() else { break };
        for op in &operations {
            state.outcomes(op, &mut once);
            // What it is a copy of.
            states[at].outcomes(op, &mut again);
            if once != again {
                let op = S::show_op(op);
                return Some(format!("{op} in {state:?} leads to {once:?}, and then to {again:?}"));
            }
            asked += 1;
            if asked >= most {
                return None;
            }
            again.clear();
            for (_, after) in once.drain(..) {
                // More than are asked about are of no use.
                if states.len() * operations.len() < most && !states.contains(&after) {
                    states.push(after);
                }
            }
        }
    }
    None
}
