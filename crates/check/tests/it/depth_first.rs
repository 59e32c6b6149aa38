//! The depth-first search against the oracle.

use linpoint_check::depth_first::DepthFirst;
use linpoint_check::engine::{self, Context};
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Stop, Timeline, brute};
use linpoint_history::generate::{self, Plan, Values};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind};

use crate::replay::replay;
use crate::small::{self, Taste};

/// Does it find an order? Orders are replayed; of a violation, the history up to its return must be one.
#[track_caller]
pub fn holds(spec: &Builtin, history: &History, ties: Ties) -> bool {
    let budget = Budget::unlimited();
    let timeline = Timeline::of(&history.operations, ties);
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    match engine::run(&mut DepthFirst::new(spec.clone()), &cx, &timeline) {
        Ok(order) => {
            if ties == Ties::Strict {
                replay(spec, &timeline, &history.symbols, &order);
            }
            true
        }
        Err(Stop::Violated(violation)) => {
            if ties == Ties::Strict && !timeline.has_touching() {
                let at = timeline.op(violation.at).ret;
                // It looks ahead: what is open then is used with the result it will have.
                let mut rows = history.operations.clone();
                rows.retain(|row| row.call <= at);
                let found = brute::search(spec, &rows, &history.symbols, &budget).expect("no limit");
                assert!(
                    !found.holds(),
                    "{:?} can be explained up to {:?}: {rows:#?}",
                    spec.kind,
                    violation.at
                );
            }
            false
        }
        Err(other) => panic!("{other:?}"),
    }
}

#[track_caller]
fn compare(spec: &Builtin, history: &History) {
    let found = brute::search(spec, &history.operations, &history.symbols, &Budget::unlimited());
    let truth = found.expect("no limit").holds();
    let touching = Timeline::of(&history.operations, Ties::Strict).has_touching();
    let strict = holds(spec, history, Ties::Strict);
    if strict != truth && (strict || !touching) {
        panic!("{:?}: it says {strict}, truth is {truth}: {:#?}", spec.kind, history.operations);
    }
    if touching && truth {
        assert!(holds(spec, history, Ties::Relaxed), "relaxed refuses: {:#?}", history.operations);
    }
}

#[test]
fn random_histories() {
    for kind in Kind::all() {
        let mut rng = Rng::new(17);
        for round in 0..2000 {
            let mut spec = Builtin::new(kind);
            if round % 4 == 1 {
                spec = spec.with_capacity(2);
            }
            if round % 8 == 2 {
                spec = spec.with_spurious();
            }
            let taste = Taste::random(&mut rng, 12, round % 3 == 0);
            compare(&spec, &small::history(&spec, &taste, &mut rng));
        }
    }
}

/// Longer than the choices that are kept: states are forgotten on the way.
#[test]
fn long_histories() {
    for kind in [Kind::RwLock, Kind::Counter, Kind::Register, Kind::Snapshot] {
        let plan = Plan {
            processes: 4,
            operations: 20_000,
            values: Values::Repeated(8),
            ..Plan::new(Builtin::new(kind))
        };
        let (history, _) = generate::history(&plan, None).expect("a plan");
        assert!(holds(&plan.spec, &history, Ties::Strict), "{kind:?}");
    }
}
