//! Every history of up to four operations on up to three processes for every built-in specification, and
//! random ones of up to twelve: the generic engine, the seed method and brute force must agree.
//!
//! Arguments are 0 and 1; where that makes more than 100,000 ways to fill a history in, only 0.
//!
//! `cargo run --release -p linpoint-check --example exhaustive [KIND…]`, minutes in all. Without an argument
//! every specification is run.

#[allow(dead_code)]
#[path = "../tests/it/every.rs"]
mod every;
#[allow(dead_code)]
#[path = "../tests/it/small.rs"]
mod small;

use std::time::Instant;

use linpoint_check::engine::{self, Context};
use linpoint_check::metastate::generic::Generic;
use linpoint_check::metastate::seed::{self, Switches};
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Stop, Timeline, brute};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind, Verdict};

const RANDOM: u64 = 60_000;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut disagreements = 0;
    for kind in Kind::all() {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == kind.name()) {
            continue;
        }
        let spec = Builtin::new(kind);
        let start = Instant::now();
        let mut seen = 0;
        for (completed, pending) in [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (4, 0)] {
            let mut choices = every::choices(&spec, 2, completed + pending);
            if choices.len().pow((completed + pending) as u32) > 100_000 {
                choices = every::choices(&spec, 1, completed + pending); // One value where two would take an hour.
            }
            seen += every::histories(&spec, &choices, completed, pending, |history| {
                disagreements += u64::from(!agree(&spec, history));
            });
        }
        let mut rng = Rng::new(1);
        for _ in 0..RANDOM {
            let taste = small::Taste::random(&mut rng, 12, false);
            let history = small::history(&spec, &taste, &mut rng);
            disagreements += u64::from(!agree(&spec, &history));
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{:20} {seen:9} of up to 4, {RANDOM} random, {seconds:6.1} s", kind.name());
    }
    println!("{disagreements} disagreements");
    assert_eq!(disagreements, 0);
}

/// Do all three give the same answer? Histories where operations of one process touch are judged where the
/// orders agree.
fn agree(spec: &Builtin, history: &History) -> bool {
    let budget = Budget::unlimited();
    let (rows, symbols) = (&history.operations, &history.symbols);
    let timeline = Timeline::of(rows, Ties::Strict);
    let truth = brute::search(spec, rows, symbols, &budget).expect("no limit").holds();
    let cx = Context { symbols, spec, budget: &budget };
    let strict = match engine::run(&mut Generic::new(spec.clone()), &cx, &timeline) {
        Ok(_) => true,
        Err(Stop::Violated(_)) => false,
        Err(other) => panic!("{other:?}"),
    };
    if timeline.has_touching() {
        return !strict || truth;
    }
    let by_seed = rows.len() > 8
        || matches!(seed::verify(history, spec, &Switches::all()).0, Verdict::Holds(_)) == truth;
    let agrees = strict == truth && by_seed;
    if !agrees {
        println!("{:?}: brute {truth}, generic {strict}, seed agrees {by_seed}: {rows:?}", spec.kind);
    }
    agrees
}
