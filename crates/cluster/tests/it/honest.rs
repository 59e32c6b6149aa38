//! What happens to sources is told, and never becomes `holds`; clocks within their bounds raise no false alarm.

use linpoint_history::generate::{Plan, Values};
use linpoint_history::rng::Rng;
use linpoint_history::{Verdict, specs};

use crate::agree;
use crate::feeds::{self, Split};

/// Sources that break off: the run goes on, and nothing is called linearizable that may not be.
#[test]
fn a_source_that_breaks_off_makes_objects_unknown() {
    let mut rng = Rng::new(21);
    let mut unknown = 0;
    for _ in 0..60 {
        let (name, plan) = agree::plan(&mut rng);
        let Some(history) = agree::made(&plan, false) else { continue };
        let split = Split {
            sources: 1 + rng.below(3) as usize,
            workers: 1 + rng.below(2) as usize,
            seed: rng.bits(),
            fails: Some(1 + rng.below(60) as usize),
            keep_going: true,
            ..Split::default()
        };
        let outcome = feeds::run(&history, &name, None, &split);
        let (answer, _) = outcome.answer();
        assert!(
            !matches!(answer.verdict, Verdict::Violated(_)),
            "{name} {plan:?} {split:?} {:?}",
            outcome.report
        );
        let whole = outcome.report.operations == history.operations.len() as u64;
        if let Verdict::Holds(_) = answer.verdict {
            assert!(whole, "{name} {plan:?} {split:?} {:?}", outcome.report);
        } else {
            assert!(
                outcome.report.troubles.iter().any(|text| text.contains("broke off")),
                "{:?}",
                outcome.report
            );
            unknown += 1;
        }
    }
    assert!(unknown > 20);
}

/// Clocks that are off by less than their bound: what is linearizable is never called violated, and what is grossly wrong still is.
#[test]
fn clocks_within_their_bounds_raise_no_false_alarm() {
    let mut rng = Rng::new(22);
    let (mut holds, mut violated) = (0, 0);
    for round in 0..120 {
        let name = *rng.pick(&["register", "queue", "kv", "set"]);
        let mut plan = Plan::new(specs::parse(name).expect("a specification"));
        (plan.processes, plan.operations, plan.seed) = (4, 20 + rng.below(200), rng.bits());
        plan.overlap = *rng.pick(&[0.1, 1.0]);
        plan.values = if rng.chance(0.5) { Values::Distinct } else { Values::Repeated(3) };
        plan.keys = 2;
        let spoiled = round % 2 == 1;
        let Some(mut history) = agree::made(&plan, spoiled) else { continue };
        let epsilon = rng.below(30) as i64;
        let split = Split { sources: 3, workers: 1, seed: rng.bits(), epsilon, ..Split::default() };
        // The sources that `feeds::run` makes: each shifted by its own error.
        let homes = feeds::homes(&history, &split);
        let errors: Vec<i64> = (0..3).map(|_| rng.below(2 * epsilon as u64 + 1) as i64 - epsilon).collect();
        for row in &mut history.operations {
            let error = errors[homes[row.process().0 as usize]];
            row.call = 10 * row.call + error;
            if !row.is_pending() {
                row.ret = 10 * row.ret + error;
            }
        }
        let outcome = feeds::run(&history, name, None, &split);
        let (answer, _) = outcome.answer();
        match answer.verdict {
            Verdict::Violated(_) => {
                assert!(spoiled, "a false alarm: {plan:?} {split:?} {errors:?} {:?}", outcome.report);
                violated += 1;
            }
            Verdict::Holds(_) => holds += 1,
            Verdict::Unknown(_) => {}
        }
    }
    assert!(holds > 30 && violated > 10, "{holds} hold, {violated} violated");
}
