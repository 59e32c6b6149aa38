//! The seed method, with each switch on and off, against the oracle.

use linpoint_check::metastate::seed::{self, Switches};
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Timeline, brute};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind, Spec, Verdict, notation};

use crate::small::{self, Taste};

/// Every switch alone off, all on, all off.
pub fn settings() -> Vec<Switches> {
    let all = Switches::all();
    vec![
        all,
        Switches { permutable: false, ..all },
        Switches { equivalent: false, ..all },
        Switches { implied: false, ..all },
        Switches { redundant: false, ..all },
        Switches { semi_redundant: false, ..all },
        Switches { definite: false, ..all },
        Switches { hashing: false, ..all },
        Switches { equivalent: false, permutable: false, ..all },
        Switches::none(),
    ]
}

/// Does the seed method find the history linearizable?
pub fn holds(spec: &Builtin, history: &History, switches: &Switches) -> bool {
    matches!(seed::verify(history, spec, switches).0, Verdict::Holds(_))
}

#[test]
fn random_histories() {
    let settings = settings();
    for kind in Kind::all() {
        let mut rng = Rng::new(11);
        for round in 0..600 {
            let spec = match round % 5 {
                1 => Builtin::new(kind).with_capacity(2),
                _ => Builtin::new(kind),
            };
            let taste = Taste::random(&mut rng, 8, round % 3 == 0);
            let history = small::history(&spec, &taste, &mut rng);
            if Timeline::of(&history.operations, Ties::Strict).has_touching() {
                continue;
            }
            let budget = Budget::unlimited();
            let truth = brute::search(&spec, &history.operations, &history.symbols, &budget);
            let truth = truth.expect("no limit").holds();
            let switches = settings[round % settings.len()];
            assert_eq!(
                holds(&spec, &history, &switches),
                truth,
                "{kind:?} {switches:?} {:?}",
                history.operations
            );
        }
    }
}

#[test]
fn two_insertions_and_two_removals_take_few_metastates() {
    let spec = Builtin::new(Kind::PriorityQueueMax);
    let text = "insert 1 [0,2]; insert 2 [1,3]; remove_max -> 2 [4,6]; remove_max -> 1 [5,7]";
    let history = notation::parse(spec.signature(), text).expect("the notation");
    let (verdict, plain) = seed::verify(&history, &spec, &Switches::none());
    assert!(matches!(verdict, Verdict::Holds(_)));
    let (_, all) = seed::verify(&history, &spec, &Switches::all());
    // Two orders of the insertions, each with no removal, one, or both; three where order is not kept
    // (Dragicevic 2011, table 4.13).
    assert_eq!((plain.most, all.most), (6, 3));
}
