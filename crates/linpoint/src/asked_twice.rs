//! A specification must give the same answers whenever it is asked. This asks twice, before anything rests on it.
//!
//! It is asked along the operations of a scenario, breadth first from the initial state, each operation in each state
//! that comes up. That finds what depends on time, on randomness or on a counter somewhere; it proves nothing.

use std::collections::VecDeque;

use crate::scenario::Scenario;
use crate::spec::Specification;

/// How often it is asked.
const QUESTIONS: usize = 200;

/// What the specification answered first and second, where the two differ.
pub(crate) fn difference<S: Specification>(scenario: &Scenario<S>) -> Option<String> {
    let (first, second) = (S::initial(), S::initial());
    if first != second {
        return Some(format!("it starts as {first:?}, and then as {second:?}"));
    }
    let operations = scenario.operations();
    let mut states = VecDeque::from([first]);
    let mut asked = 0;
    while let Some(state) = states.pop_front() {
        for op in &operations {
            let (mut once, mut again) = (Vec::new(), Vec::new());
            state.outcomes(op, &mut once);
            state.clone().outcomes(op, &mut again);
            if once != again {
                let op = S::show_op(op);
                return Some(format!("{op} in {state:?} leads to {once:?}, and then to {again:?}"));
            }
            asked += 1;
            if asked >= QUESTIONS {
                return None;
            }
            states.extend(once.into_iter().map(|(_, after)| after).filter(|after| *after != state));
        }
    }
    None
}
