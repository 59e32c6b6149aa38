//! Sets, multisets and lists: the monitor against the oracle.

use linpoint_check::Engine;
use linpoint_check::monitor::set::SetMonitor;
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind, OpCode, Value, specs};

use crate::small::{self, Taste};
use crate::stream::{self, Tally};

fn monitor() -> Box<dyn Engine> {
    Box::new(SetMonitor::new())
}

#[test]
fn sets_drawn_by_hand() {
    let check = |text, holds| stream::check(monitor, "set", text, holds);
    check("", true);
    check(
        "add 1 -> true [1,2]; contains 1 -> true [3,4]; remove 1 -> true [5,6]; contains 1 -> true [7,8]",
        false,
    );
    check("add 1 -> true [1,9]; add 1 -> true [2,3]; remove 1 -> true [4,5]", true);
    check("add 1 -> true [1,9]; add 1 -> true [2,3]; remove 1 -> true [10,11]", false);
    check("add 1 -> true [1,2]; add 1 -> false [3,4]; add 2 -> true [3,4]; remove 1 -> false [5,6]", false);
    check("remove 1 [1,..]; add 1 -> true [2,3]; add 1 -> true [4,5]", true);
    check("remove 1 [4,..]; add 1 -> true [2,3]; contains 1 -> false [4,5]; contains 1 -> true [6,7]", false);
    check("add 1 [1,..]; contains 1 -> false [2,3]; contains 1 -> true [4,5]; add 1 -> false [6,7]", true);
    let initial = Value::list([Value::Int(1), Value::text("a")]);
    let from = |text, holds| stream::check_from(monitor, "set", initial.clone(), text, holds);
    from(
        "contains 1 -> true [1,2]; remove a -> true [3,4]; remove a -> false [5,6]; add 1 -> false [7,8]",
        true,
    );
    from("contains 1 -> false [1,2]", false);
    from("remove a -> true [1,2]; contains a -> true [3,4]", false);
}

#[test]
fn multisets_drawn_by_hand() {
    let check = |text, holds| stream::check(monitor, "multiset", text, holds);
    // Taking effect as late as possible is not enough: the second add must wait for the removal.
    check("add 1 [5,5]; add 1 [4,12]; remove 1 -> true [10,17]; contains 1 -> false [9,13]", true);
    check("add 1 [1,2]; add 1 [3,4]; remove 1 -> true [5,6]; contains 1 -> false [7,8]", false);
    check("add 1 [1,2]; add 1 [3,4]; remove 1 -> true [5,6]; contains 1 -> true [7,8]", true);
    check("add 1 [1,2]; add 1 [3,..]; remove 1 -> true [5,6]; remove 1 -> true [7,8]", true);
    let initial = Value::list([Value::Int(1), Value::Int(1)]);
    let from = |text, holds| stream::check_from(monitor, "list", initial.clone(), text, holds);
    from("remove 1 -> true [1,2]; remove 1 -> true [3,4]; remove 1 -> false [5,6]", true);
    from("remove 1 -> true [1,2]; remove 1 -> false [3,4]", false);
}

#[test]
fn agrees_with_brute_force() {
    for (seed, kind) in [Kind::Set, Kind::Multiset, Kind::List].into_iter().enumerate() {
        let mut rng = Rng::new(seed as u64);
        let mut tally = Tally::default();
        for round in 0..30_000 {
            let distinct = round % 4 == 0;
            let spec = match round % 5 {
                0 => Builtin::new(kind).with_initial(Value::list([
                    Value::Int(1),
                    Value::Int(0),
                    Value::Int(1),
                ])),
                _ => Builtin::new(kind),
            };
            let mut taste = Taste::random(&mut rng, 11, distinct);
            taste.values = if distinct { 0 } else { 1 + rng.below(2) };
            let history = on_single_values(small::history(&spec, &taste, &mut rng));
            stream::compare(monitor().as_mut(), &spec, &history, &mut rng, 12, &mut tally);
        }
        assert_eq!(tally.unsupported, 0);
        assert!(tally.violated > tally.holds / 10, "{tally:?}");
        assert!(tally.cores > tally.violated / 2, "{tally:?}");
    }
}

/// Without `insert_pair`, which joins values.
fn on_single_values(mut history: History) -> History {
    history.operations.retain(|op| op.op() != OpCode(3));
    history
}

#[test]
fn leaves_what_joins_values_to_others() {
    let spec = specs::parse("multiset").expect("a known spec");
    let text = "insert_pair [1,2] -> true [1,2]";
    let history = linpoint_history::notation::parse(linpoint_history::Spec::signature(&spec), text);
    let found = stream::run(monitor().as_mut(), &spec, &history.expect("the notation"), &mut Rng::new(1));
    assert!(matches!(found, Err(linpoint_check::Stop::Unsupported(_))));
}
