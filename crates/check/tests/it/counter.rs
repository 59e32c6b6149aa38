//! Counters with increments only against the oracle.

use linpoint_check::Engine;
use linpoint_check::metastate::counter::CounterMetastate;
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes::counter;
use linpoint_history::{Builtin, Kind};

use crate::small::{self, Taste};
use crate::stream::{self, Tally};

fn engine() -> Box<dyn Engine> {
    Box::new(CounterMetastate::new())
}

#[test]
fn drawn_by_hand() {
    let check = |text, holds| stream::check(engine, "counter", text, holds);
    check("increment [1,9]; read -> 1 [2,3]; read -> 0 [4,5]", false);
    check("increment [1,9]; read -> 0 [2,3]; read -> 1 [4,5]; read -> 1 [10,11]", true);
    check("increment [1,..]; increment [2,3]; read -> 2 [4,5]; read -> 2 [6,7]", true);
    check("increment [1,2]; increment [3,4]; read -> 1 [5,6]", false);
    check("read -> 3 [1,2]", false);
}

#[test]
fn agrees_with_brute_force() {
    let spec = Builtin::new(Kind::Counter);
    let mut rng = Rng::new(11);
    let mut tally = Tally::default();
    for _ in 0..20_000 {
        let taste = Taste::random(&mut rng, 14, false);
        let mut history = small::history(&spec, &taste, &mut rng);
        history.operations.retain(|op| op.op() != counter::ADD);
        stream::compare(engine().as_mut(), &spec, &history, &mut rng, 0, &mut tally);
    }
    assert_eq!(tally.unsupported, 0);
    assert!(tally.violated > 1000 && tally.holds > 1000, "{tally:?}");
}
