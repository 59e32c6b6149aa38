//! Priority queues whose keys change: the engine against the oracle, against the priority queue's own where
//! no key changes, and the text's method with semi-redundancy on and off.

use linpoint_check::metastate::changing_keys::ChangingKeys;
use linpoint_check::metastate::seed::Switches;
use linpoint_check::portfolio::Choice;
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Options, Stop, Timeline, brute, check_rows};
use linpoint_history::generate::{self, Plan, Spoil, Values};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind, OpCode, Spec, Value, Verdict, notation};

use crate::seed;
use crate::small::{self, Taste};
use crate::stepwise;

fn oracle(spec: &Builtin, history: &History) -> bool {
    let found = brute::search(spec, &history.operations, &history.symbols, &Budget::unlimited());
    found.expect("no limit").holds()
}

/// In random steps, with rows released in between; an order that is found is replayed.
#[track_caller]
fn holds(spec: &Builtin, history: &History, rng: &mut Rng) -> bool {
    match stepwise::drive(&mut ChangingKeys::new(), spec, history, rng) {
        Ok(order) => {
            stepwise::replay(spec, history, &order);
            true
        }
        Err(Stop::Violated(_)) => false,
        Err(stop) => panic!("{stop:?}"),
    }
}

#[track_caller]
fn check(text: &str, expected: bool) {
    let spec = Builtin::new(Kind::PriorityQueue);
    let history = notation::parse(spec.signature(), text).expect("the notation");
    assert_eq!(oracle(&spec, &history), expected, "the oracle");
    assert_eq!(holds(&spec, &history, &mut Rng::new(1)), expected);
}

#[test]
fn small_histories() {
    check("insert 5 [0,1]; change_key [5,2] -> true [2,3]; remove_min -> 2 [4,5]", true);
    check("insert 5 [0,1]; change_key [5,2] -> true [2,3]; remove_min -> 5 [4,5]", false);
    check("insert 5 [0,1]; change_key [4,2] -> true [2,3]", false);
    check("insert 5 [0,1]; change_key [5,2] -> false [2,3]", false);
    check("insert 5 [0,1]; change_key [5,5] -> true [2,3]; change_key [5,5] -> true [2,3]", true);
    // One that never returned may have taken effect, and need not.
    check("insert 5 [0,1]; change_key [5,2] [2,..]; remove_min -> 2 [4,5]", true);
    check("insert 5 [0,1]; change_key [5,2] [2,..]; remove_min -> 5 [4,5]", true);
    check("insert 5 [0,1]; change_key [5,2] [6,..]; remove_min -> 2 [4,5]", false);
    // The key is away for a moment between two changes.
    check(
        "insert 1 [0,1]; change_key [1,2] -> true [2,9]; change_key [2,1] -> true [3,8]; change_key [1,7] -> false [4,7]",
        true,
    );
    // A larger one leaves while the smaller one is changed away and back.
    check(
        "insert 1 [0,1]; insert 5 [0,1]; change_key [1,9] -> true [2,9]; remove_min -> 5 [3,8]; change_key [9,1] -> true [2,9]; remove_min -> 1 [10,11]",
        true,
    );
    check("insert 1 [0,1]; insert 5 [0,1]; remove_min -> 5 [3,8]; change_key [9,1] -> true [2,9]", false);
}

/// `codes`: 2 for histories without changes.
fn compare(seed: u64, rounds: u64, operations: u64, codes: usize) {
    let mut rng = Rng::new(seed);
    let mut found = [0; 2];
    for round in 0..rounds {
        let mut spec = Builtin::new(*rng.pick(&[Kind::PriorityQueue, Kind::PriorityQueueMax]));
        if rng.chance(0.2) {
            let contents: Vec<_> = (0..1 + rng.below(3)).map(|_| (rng.below(3) as i64).into()).collect();
            spec = spec.with_initial(Value::list(contents));
        }
        let taste = Taste::random(&mut rng, operations, false);
        let mut history = small::history_of(&spec, &taste, codes, &mut rng);
        stepwise::exchange_answers(&mut history, &mut rng);
        if Timeline::of(&history.operations, Ties::Strict).has_touching() {
            continue;
        }
        let expected = oracle(&spec, &history);
        let said = holds(&spec, &history, &mut rng);
        assert_eq!(said, expected, "round {round}: {}", stepwise::show(&spec, &history, &history.operations));
        found[usize::from(said)] += 1;
    }
    assert!(found[0] * 10 > rounds && found[1] * 4 > rounds, "{found:?} of {rounds}");
}

#[test]
fn agrees_with_the_oracle() {
    compare(31, 20_000, 9, 3);
    compare(32, 3_000, 13, 3);
}

#[test]
fn agrees_with_the_oracle_where_no_key_changes() {
    compare(33, 6_000, 10, 2);
}

fn generated(seed: u64, processes: u32, operations: u64, spoil: bool) -> (Builtin, History) {
    let spec = Builtin::new(Kind::PriorityQueue);
    let plan = Plan {
        processes,
        operations,
        seed,
        values: Values::Repeated(3 + seed as u32 % 20),
        rare: 0.2,
        ..Plan::new(spec.clone())
    };
    let (mut history, _) = generate::history(&plan, spoil.then(Spoil::default)).expect("a history");
    history.sort_by_return();
    (spec, history)
}

/// The switch that merges an insertion and a change of its key changes how many metastates there are, and no
/// verdict; ours are the same.
#[test]
fn semi_redundancy_changes_no_verdict() {
    let all = Switches::all();
    let (mut verdicts, mut changes) = ([0; 2], 0);
    for seed in 0..120 {
        let (spec, history) = generated(seed, 2 + seed as u32 % 3, 60, seed % 2 == 1);
        changes += history.operations.iter().filter(|op| op.op() == OpCode(2)).count();
        let on = seed::holds(&spec, &history, &all);
        for switches in [
            Switches { semi_redundant: false, ..all },
            Switches { semi_redundant: false, redundant: false, ..all },
            Switches { semi_redundant: true, equivalent: false, ..all },
            Switches { semi_redundant: false, equivalent: false, ..all },
        ] {
            assert_eq!(seed::holds(&spec, &history, &switches), on, "seed {seed}, {switches:?}");
        }
        assert_eq!(holds(&spec, &history, &mut Rng::new(seed)), on, "seed {seed}");
        verdicts[usize::from(on)] += 1;
    }
    assert!(verdicts[0] > 40 && verdicts[1] > 40 && changes > 200, "{verdicts:?}, {changes} changes");
}

/// Ten thousand operations of eight processes, and the portfolio picks this engine.
#[test]
fn longer_histories() {
    for seed in 0..3 {
        let (spec, mut history) = generated(seed, 8, 10_000, false);
        let rows = std::mem::take(&mut history.operations);
        let options = Options { choice: Choice::Metastate, threads: 1, ..Options::default() };
        let answer = check_rows(rows, &spec, &mut history.symbols, &options).expect("a history");
        assert!(matches!(answer.verdict, Verdict::Holds(_)), "{:?}", answer.verdict);
        assert_eq!(answer.engine, "changing-key metastates");
    }
}
