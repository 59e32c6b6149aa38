//! The lemmas about sums hold, and their hypotheses can be met.

use std::time::Duration;

use linpoint_prove::lemma::lemmas;
use linpoint_prove::solver::{Answer, Solver};
use linpoint_prove::term::Terms;

use crate::solvers::options;

#[test]
fn lemmas_hold() {
    let options = options();
    let mut terms = Terms::new();
    let list = lemmas(&mut terms, 4);
    assert_eq!(list.len(), 12);
    let mut solver = Solver::start(&options.solver, Duration::from_secs(10), true).expect("it starts");
    for lemma in list {
        let not = terms.not(lemma.goal);
        let mut claims = lemma.hypotheses.clone();
        assert_eq!(solver.check(&terms, &claims, &[]), Ok(Answer::Sat), "{}", lemma.name);
        solver.close();
        claims.push(not);
        assert_eq!(solver.check(&terms, &claims, &[]), Ok(Answer::Unsat), "{}", lemma.name);
        solver.close();
    }
}
