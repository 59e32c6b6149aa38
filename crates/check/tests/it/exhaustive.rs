//! The generic engine, the depth-first search and the seed method on every small history; `--example
//! exhaustive` goes further.

use linpoint_check::metastate::seed::{self, Switches};
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, brute};
use linpoint_history::{Builtin, Kind, Verdict};

use crate::{depth_first, every, generic};

/// Histories of one shape are skipped where there are more than this.
const MANY: u64 = 12_000;

#[test]
fn every_history_of_up_to_four_operations() {
    for kind in Kind::all() {
        let spec = Builtin::new(kind);
        let (mut seen, mut violated) = (0u64, 0u64);
        for (completed, pending) in [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0)] {
            for values in [2, 1] {
                let choices = every::choices(&spec, values, completed + pending);
                let shapes: u64 =
                    (1..=completed as u64).product::<u64>() * (completed as u64 + 1).pow(pending as u32);
                if shapes * (choices.len() as u64).pow((completed + pending) as u32) > MANY {
                    continue;
                }
                seen += every::histories(&spec, &choices, completed, pending, |history| {
                    let (rows, symbols) = (&history.operations, &history.symbols);
                    let truth = brute::search(&spec, rows, symbols, &Budget::unlimited());
                    let truth = truth.expect("no limit").holds();
                    violated += u64::from(!truth);
                    assert_eq!(generic::holds(&spec, history, Ties::Strict), truth, "{kind:?} {rows:?}");
                    assert_eq!(
                        depth_first::holds(&spec, history, Ties::Strict),
                        truth,
                        "depth first: {kind:?} {rows:?}"
                    );
                    let (verdict, _) = seed::verify(history, &spec, &Switches::all());
                    assert_eq!(matches!(verdict, Verdict::Holds(_)), truth, "seed: {kind:?} {rows:?}");
                });
                break;
            }
        }
        assert!(seen > 200 && violated > 20, "{kind:?}: {seen} histories, {violated} violated");
    }
}
