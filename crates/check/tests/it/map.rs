//! Maps: the monitor of one key against the oracle, and whole maps by way of their keys.

use linpoint_check::decide::{Answer, Options, Partition, check_rows};
use linpoint_check::monitor::map::MapMonitor;
use linpoint_check::{Budget, Engine, brute};
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes::map;
use linpoint_history::{Builtin, History, Kind, Operation, Spec, Value, Verdict, notation};

use crate::small::{self, Taste};
use crate::stream::{self, Tally};

fn monitor() -> Box<dyn Engine> {
    Box::new(MapMonitor::new())
}

#[test]
fn one_key_drawn_by_hand() {
    let check = |text, holds| stream::check(monitor, "map", text, holds);
    check("", true);
    check("get 1 -> null [1,2]; remove 1 -> null [3,4]", true);
    check("get 1 -> 5 [1,2]", false);
    check("insert [1,5] -> null [1,2]; get 1 -> 5 [3,4]; insert [1,6] -> 5 [5,6]; remove 1 -> 6 [7,8]", true);
    check("insert [1,5] -> null [1,9]; insert [1,6] -> 5 [1,9]; get 1 -> 6 [2,3]; get 1 -> 5 [4,5]", false);
    check("insert [1,5] -> null [1,2]; get 1 -> null [3,4]", false);
    check("insert [1,5] -> null [1,4]; get 1 -> null [3,4]; remove 1 -> null [2,3]", true);
    check("insert [1,5] -> null [1,2]; remove 1 -> 5 [5,6]; get 1 -> null [3,4]", false);
    check("insert [1,5] -> null [1,2]; remove 1 -> 5 [3,6]; get 1 -> null [4,5]; get 1 -> 5 [6,7]", false);
    // Two stretches that overlap, though each alone is right.
    check(
        "insert [1,5] -> null [1,3]; insert [1,6] -> null [2,4]; remove 1 -> 5 [5,8]; remove 1 -> 6 [6,7]",
        false,
    );
    // Neither is ever removed.
    check("insert [1,5] -> null [1,9]; insert [1,6] -> null [1,9]", false);
    // Each found the other's value, or its own.
    check("insert [1,5] -> 6 [1,9]; insert [1,6] -> 5 [1,9]", false);
    check("insert [1,5] -> 5 [1,9]", false);
    // Taken twice.
    check("insert [1,5] -> null [1,9]; remove 1 -> 5 [1,9]; insert [1,6] -> 5 [1,9]", false);
    // Nobody found what never returned.
    check("insert [1,5] [1,..]; get 1 -> null [2,3]; get 1 [1,..]; len [1,..]", true);
    check("remove 1 [1,..]; insert [1,5] -> null [2,3]; get 1 -> 5 [4,5]", true);
    let initial = Value::list([Value::list([Value::Int(1), Value::Int(7)])]);
    let from = |text, holds| stream::check_from(monitor, "map", initial.clone(), text, holds);
    from("get 1 -> 7 [1,2]; remove 1 -> 7 [3,4]; insert [1,8] -> null [3,6]; get 1 -> 8 [7,8]", true);
    from("get 2 -> null [1,2]; insert [2,7] -> null [3,4]", true);
    from("insert [1,8] -> null [1,2]", false);
    from("remove 1 -> 7 [3,4]; get 1 -> null [1,2]", false);
}

#[test]
fn null_is_a_value_that_counts() {
    let spec = Builtin::new(Kind::Map);
    let text = "insert [1,null] -> null [1,2]; remove 1 -> null [3,4]; len -> 0 [5,6]";
    let mut history = notation::parse(spec.signature(), text).expect("the notation");
    assert!(matches!(decide(&mut history, &spec, &Options::default()).verdict, Verdict::Holds(_)));
}

/// What makes a history of few keys worse than changing one result.
fn swap_results(rng: &mut Rng, history: &mut History) {
    let rows = &mut history.operations;
    if rows.len() > 1 && rng.chance(0.3) {
        let (a, b) = (rng.below(rows.len() as u64) as usize, rng.below(rows.len() as u64) as usize);
        if !rows[a].is_pending() && !rows[b].is_pending() && rows[a].op().0 < 3 && rows[b].op().0 < 3 {
            (rows[a].result, rows[b].result) = (rows[b].result, rows[a].result);
        }
    }
}

fn starting_from(round: u32, rng: &mut Rng) -> Builtin {
    let entry = |key, value| Value::list([Value::Int(key), value]);
    let contents = match round % 6 {
        0 => vec![entry(0, Value::Int(1000)), entry(1, Value::text("a"))],
        1 if rng.chance(0.1) => vec![entry(0, Value::Int(1)), entry(0, Value::Null)],
        _ => Vec::new(),
    };
    Builtin::new(Kind::Map).with_initial(Value::list(contents))
}

fn is_of_key_0(history: &History, op: &Operation) -> bool {
    let arg = history.symbols.value(op.arg);
    arg.as_pair().map_or(&arg, |(key, _)| key) == &Value::Int(0)
}

fn one_key(rounds: u32, seed: u64) {
    let mut rng = Rng::new(seed);
    for distinct in [true, false] {
        let mut tally = Tally::default();
        for round in 0..rounds {
            let spec = starting_from(round, &mut rng);
            let mut taste = Taste::random(&mut rng, 32, distinct);
            if !distinct {
                taste.values = 8 + rng.below(16);
            }
            taste.pending /= 2.0;
            let mut history = small::history_of(&spec, &taste, 3, &mut rng);
            let keep: Vec<bool> = history.operations.iter().map(|op| is_of_key_0(&history, op)).collect();
            let mut keep = keep.iter();
            history.operations.retain(|_| *keep.next().expect("one a row"));
            swap_results(&mut rng, &mut history);
            stream::compare(monitor().as_mut(), &spec, &history, &mut rng, 16, &mut tally);
        }
        assert_eq!(tally.cores, tally.violated, "{tally:?}");
        assert!(tally.violated > rounds / 20 && tally.holds > rounds / 4, "{tally:?}");
        assert!(tally.unsupported < rounds / if distinct { 8 } else { 2 }, "{tally:?}");
    }
}

#[test]
fn one_key_agrees_with_brute_force() {
    one_key(20_000, 31);
}

fn decide(history: &mut History, spec: &Builtin, options: &Options) -> Answer {
    check_rows(history.operations.clone(), spec, &mut history.symbols, options).expect("a verdict")
}

fn whole_maps(rounds: u32, seed: u64) {
    let mut rng = Rng::new(seed);
    let (mut violated, mut by_monitor, mut whole) = (0, 0, 0);
    for round in 0..rounds {
        let spec = starting_from(round, &mut rng);
        let distinct = rng.chance(0.6);
        let taste = Taste::random(&mut rng, 14, distinct);
        let codes = if rng.chance(0.2) { 5 } else { 3 };
        let mut history = small::history_of(&spec, &taste, codes, &mut rng);
        swap_results(&mut rng, &mut history);
        if rng.chance(0.2) {
            let mut row = Operation::new(history.symbols.process(&Value::Int(999)), map::LEN);
            row.ret = Operation::NEVER;
            history.operations.push(row);
        }
        let rows = &history.operations;
        let oracle = brute::search(&spec, rows, &history.symbols, &Budget::unlimited()).expect("no limit");
        let answer = decide(&mut history, &spec, &Options::default());
        let holds = match &answer.verdict {
            Verdict::Holds(_) => true,
            Verdict::Violated(example) => {
                violated += 1;
                let again = brute::search(&spec, &example.core, &history.symbols, &Budget::unlimited());
                assert!(!again.expect("no limit").holds(), "{example:?}");
                // What several entries make impossible together is no entry's fault.
                let is_across = answer.engine == "guided search";
                assert_eq!(answer.object.is_some(), answer.objects > 1 && !is_across);
                false
            }
            Verdict::Unknown(_) if !small::has_returns(&history) => continue,
            Verdict::Unknown(why) => panic!("{why:?}: {}", stream::draw(&spec, &history)),
        };
        assert_eq!(holds, oracle.holds(), "{}: {}", answer.engine, stream::draw(&spec, &history));
        by_monitor += u32::from(answer.engine == "map monitor");
        whole += u32::from(answer.objects == 1);
    }
    assert!(violated > rounds / 10, "{violated}");
    assert!(by_monitor > rounds / 4 && whole > rounds / 20, "{by_monitor}, {whole}");
}

#[test]
fn whole_maps_agree_with_brute_force() {
    whole_maps(10_000, 32);
}

#[test]
fn the_violated_entry_is_named() {
    let spec = Builtin::new(Kind::Map);
    let say = |text: &str, options: &Options| {
        let mut history = notation::parse(spec.signature(), text).expect("the notation");
        let answer = decide(&mut history, &spec, options);
        (answer.objects, answer.object)
    };
    let text = "insert [a,5] -> null [1,2]; insert [b,6] -> null [3,4]; get b -> null [5,6]";
    assert_eq!(say(text, &Options::default()), (2, Some(Value::text("b"))));
    let whole = Options { partition: Partition::None, ..Options::default() };
    assert_eq!(say(text, &whole), (1, None));
    assert_eq!(say(&format!("{text}; len -> 2 [7,8]"), &Options::default()), (1, None));
    assert_eq!(say(&format!("{text}; len [7,..]"), &Options::default()), (2, Some(Value::text("b"))));
    assert_eq!(say("get b -> 1 [5,6]", &Options::default()), (1, None));
    assert_eq!(say("len [5,..]", &Options::default()), (1, None));
}
