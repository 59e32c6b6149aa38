//! The way from rows to a verdict, with every engine the portfolio has, against the oracle.

use std::time::Duration;

use linpoint_check::decide::{Options, Unwatched, check_rows};
use linpoint_check::portfolio::Choice;
use linpoint_check::{Budget, brute};
use linpoint_history::formats::{Format, Reader};
use linpoint_history::generate::{self, Plan};
use linpoint_history::rng::Rng;
use linpoint_history::{
    Builtin, Diagnostic, Kind, Operation, Spec, Symbols, Value, Verdict, notation, specs,
};

use crate::small::{self, Taste};

#[track_caller]
fn check(spec: &str, text: &str, holds: bool) {
    let spec = specs::parse(spec).expect("a known spec");
    let mut history = notation::parse(spec.signature(), text).expect("the notation");
    for choice in [Choice::Auto, Choice::Brute] {
        let options = Options { choice, ..Options::default() };
        let rows = history.operations.clone();
        let answer = check_rows(rows, &spec, &mut history.symbols, &options).expect("a verdict");
        match answer.verdict {
            Verdict::Holds(_) => assert!(holds, "{text}: {answer:?}"),
            Verdict::Violated(_) => assert!(!holds, "{text}: {answer:?}"),
            Verdict::Unknown(_) => panic!("{text}: {answer:?}"),
        }
    }
}

#[test]
fn touching_operations_of_one_process() {
    check("register", "p1: write 1 [1,5]; p1: write 2 [5,8]; p1: read -> 1 [9,9]", false);
    check("register", "p1: write 1 [1,5]; p2: write 2 [5,8]; p1: read -> 1 [9,9]", true);
    // The order of the four is no interval order: each process's second operation touches its first, and all
    // four meet at stamp 5.
    check(
        "queue",
        "p1: enqueue 1 [1,5]; p1: enqueue 2 [5,8]; p2: enqueue 3 [3,5]; p2: enqueue 4 [5,9]; p3: dequeue -> 1 [10,11]; p3: dequeue -> 2 [12,13]; p3: dequeue -> 3 [14,15]; p3: dequeue -> 4 [16,17]",
        true,
    );
    check(
        "queue",
        "p1: enqueue 1 [1,5]; p1: enqueue 2 [5,8]; p2: enqueue 3 [3,5]; p2: enqueue 4 [5,9]; p3: dequeue -> 3 [10,11]; p3: dequeue -> 4 [12,13]; p3: dequeue -> 1 [14,15]; p3: dequeue -> 2 [16,17]",
        true,
    );
    check(
        "queue",
        "p1: enqueue 1 [1,5]; p1: enqueue 2 [5,8]; p2: enqueue 3 [3,5]; p2: enqueue 4 [5,9]; p3: dequeue -> 2 [10,11]; p3: dequeue -> 1 [12,13]",
        false,
    );
}

/// A pair needs room for two; it may fail for other reasons too.
#[test]
fn a_pair_keeps_the_bound_of_a_multiset() {
    let pair = "insert_pair [1,2] -> true [0,1]; contains 1 -> true [2,3]; contains 2 -> true [4,5]";
    for (room, holds) in [("", true), (":capacity=0", false), (":capacity=1", false), (":capacity=2", true)] {
        check(&format!("multiset{room}"), pair, holds);
        check(
            &format!("multiset{room}"),
            "insert_pair [1,2] -> false [0,1]; contains 1 -> false [2,3]",
            true,
        );
    }
    let with_others = "add 7 -> true [0,1]; insert_pair [1,1] -> true [2,3]";
    check("multiset:capacity=2", with_others, false);
    check("multiset:capacity=3", with_others, true);
    // One that never returned took effect, or did not; it cannot have without room.
    let pending = "insert_pair [1,2] [0,..]; contains 2 -> true [2,3]";
    check("multiset:capacity=1", pending, false);
    check("multiset:capacity=2", pending, true);
}

/// What is wrong with a stack may lie far behind the operation that finds no place.
#[test]
fn what_a_stack_began_with_is_popped_from_under_a_value() {
    let initial = Value::list([Value::Int(4)]);
    let spec = Builtin::new(Kind::Stack).with_initial(initial);
    let text =
        "push 1 [0,11]; pop -> 3 [6,24]; pop -> 2 [18,21]; pop -> 4 [27,50]; push 2 [17,23]; push 3 [21,50]";
    let mut history = notation::parse(spec.signature(), text).expect("the notation");
    let rows = history.operations.clone();
    let options = Options::default();
    let answer = check_rows(rows, &spec, &mut history.symbols, &options).expect("a verdict");
    let Verdict::Violated(found) = answer.verdict else { panic!("{answer:?}") };
    assert!(found.rechecked);
    let core = [history.operations[0], history.operations[3]];
    assert_eq!(found.core, core, "push 1 and pop -> 4");
    let budget = Budget::unlimited();
    assert!(!brute::search(&spec, &core, &history.symbols, &budget).expect("no limit").holds());
}

#[test]
fn a_pending_operation_touches_the_last_of_its_process() {
    check("snapshot", "p3: scan -> [3,4] [6,6]; p2: write [0,3] [6,6]; p2: write [1,4] [6,..]", true);
}

#[test]
fn touching_operations_on_different_objects_may_contradict() {
    // p: write x, then read y; q: write y, then read x. All four meet at stamp 5, and neither read sees the
    // other's write.
    let spec = Builtin::new(Kind::Register);
    let verdict = |seen: &str, last: i64| {
        let text = format!(
            "p1: write 1 [1,5]; p2: write 1 [1,{last}]; p1: read -> null [5,8]; p2: read -> {seen} [{last},8]"
        );
        let mut history = notation::parse(spec.signature(), &text).expect("the notation");
        let keys = ["x", "y", "y", "x"].map(|key| history.symbols.key(&Value::text(key)));
        history.operations.iter_mut().zip(keys).for_each(|(row, key)| row.key = key);
        let options = Options { threads: 1, ..Options::default() };
        let answer = check_rows(history.operations, &spec, &mut history.symbols, &options);
        answer.expect("a verdict").verdict
    };
    assert!(matches!(verdict("null", 5), Verdict::Violated(_)), "no order of the four is allowed");
    assert!(matches!(verdict("1", 5), Verdict::Holds(_)));
    assert!(matches!(verdict("null", 4), Verdict::Violated(_)));
    assert!(matches!(verdict("2", 5), Verdict::Violated(_)));
}

#[test]
fn every_spec_agrees_with_the_oracle() {
    for kind in Kind::all() {
        for distinct in [true, false] {
            agree(&Builtin::new(kind), distinct, 400);
        }
    }
}

#[test]
fn variants_agree_with_the_oracle() {
    for text in [
        "queue:capacity=2",
        "queue:spurious",
        "stack:capacity=1:spurious",
        "priority-queue:capacity=2",
        "semaphore:capacity=2",
    ] {
        agree(&specs::parse(text).expect("a known spec"), false, 200);
    }
}

#[track_caller]
fn agree(spec: &Builtin, distinct: bool, rounds: u32) {
    let mut rng = Rng::new(7);
    for _ in 0..rounds {
        let taste = Taste::random(&mut rng, 9, distinct);
        let mut history = small::history(spec, &taste, &mut rng);
        let rows = history.operations.clone();
        let oracle =
            brute::search(spec, &rows, &history.symbols, &Budget::unlimited()).expect("no limit").holds();
        let answer =
            check_rows(rows.clone(), spec, &mut history.symbols, &Options::default()).expect("a verdict");
        let said = match &answer.verdict {
            Verdict::Holds(_) => true,
            Verdict::Violated(_) => false,
            Verdict::Unknown(_) if !small::has_returns(&history) => continue,
            Verdict::Unknown(why) => panic!("{}: {why:?} on {rows:?}", spec.kind.name()),
        };
        assert_eq!(said, oracle, "{} by {} on {rows:#?}", spec.kind.name(), answer.engine);
    }
}

#[test]
fn a_pending_operation_may_be_needed() {
    check("cas-register", "cas [null,1] -> false [1,6]; cas [null,1] [5,..]", true);
    check(
        "queue:capacity=2",
        "enqueue 1 -> true [1,2]; dequeue -> 1 [1,2]; enqueue 0 -> true [1,6]; enqueue 0 [2,..]; enqueue 1 -> false [5,11]",
        true,
    );
}

#[test]
fn a_removal_may_answer_false() {
    let spec = Builtin::new(Kind::PriorityQueue);
    let text = "insert false [0,1]; insert 7 [2,3]; remove_min -> false [4,5]; remove_min -> 7 [6,7]";
    let mut history = notation::parse(spec.signature(), text).expect("the notation");
    let options = Options { choice: Choice::Metastate, ..Options::default() };
    let answer = check_rows(history.operations, &spec, &mut history.symbols, &options).expect("a verdict");
    assert!(matches!(answer.verdict, Verdict::Holds(_)), "{answer:?}");
}

#[test]
fn nothing_starts_with_null_inside() {
    for name in ["queue", "stack", "deque", "priority-queue", "set"] {
        let spec = specs::parse(name).expect("a known spec");
        assert!(spec.starting_from(Value::list([Value::Int(1), Value::Null])).is_err(), "{name}");
    }
}

#[test]
fn a_limit_holds_within_one_return() {
    // Many insertions at once, then as many removals at once: the first return has more explanations than can
    // be listed.
    let collections = [
        ("queue", 100, "enqueue", "dequeue"),
        ("stack", 30, "push", "pop"),
        ("priority-queue", 60, "insert", "remove_min"),
        ("deque", 100, "push_back", "pop_front"),
        ("register", 60, "write", "read"),
        ("cas-register", 100, "write", "read"),
    ];
    for (name, many, insert, remove) in collections {
        let spec = specs::parse(name).expect("a known spec");
        let put = |k: u32| format!("p{k}: {insert} {k} [0,{}]; ", 1000 + k);
        let take =
            |k: u32| format!("p{}: {remove} -> {} [500,{}]; ", many + k, k * 37 % many, 2000 + k * 31 % many);
        let text: String = (0..many).map(put).chain((0..many).map(take)).collect();
        let mut history =
            notation::parse(spec.signature(), text.trim_end_matches("; ")).expect("the notation");
        let options = Options {
            choice: Choice::Metastate,
            time_limit: Some(Duration::from_millis(100)),
            ..Options::default()
        };
        let answer = check_rows(history.operations, &spec, &mut history.symbols, &options);
        // How long it took is for the machine to say; that it ended is what counts.
        let answer = answer.expect("a verdict");
        assert!(answer.elapsed < Duration::from_secs(10), "{name}: {answer:?}");
    }
}

#[test]
fn cores_stand_alone_where_pending_removals_may_take_initial_contents() {
    let histories = [
        (
            "priority-queue",
            "p0: remove_min -> null [0,6]; p0: insert 1 [18,19]; p0: remove_min -> 1 [45,49]; \
             p0: remove_min -> 1 [50,68]; p1: remove_min [1,..]",
        ),
        (
            "stack",
            "p0: push 2 [4,5]; p0: pop -> 2 [12,19]; p0: pop -> 1 [19,20]; p1: push 1 [1,3]; p1: push 3 [12,13]; \
             p2: pop [5,..]; p3: pop -> null [18,19]",
        ),
    ];
    for (name, text) in histories {
        let spec = specs::parse(name).expect("a known spec").with_initial(Value::list([Value::Int(4)]));
        let mut history = notation::parse(spec.signature(), text).expect("the notation");
        let answer = check_rows(history.operations, &spec, &mut history.symbols, &Options::default());
        let answer = answer.expect("a core that is wrong by itself");
        assert!(matches!(answer.verdict, Verdict::Violated(_)), "{answer:?}");
    }
}

/// Metastates take very long over this history, a depth-first search does not: side by side they decide it.
#[test]
fn engines_race() {
    let plan = Plan { processes: 16, operations: 12_000, ..Plan::new(Builtin::new(Kind::RwLock)) };
    let (history, _) = generate::history(&plan, None).expect("a plan");
    let mut symbols = history.symbols.clone();
    let mut order = 0;
    let mut sink = |_: &Symbols, _: &Operation| order += 1;
    let options = Options { threads: 2, time_limit: Some(Duration::from_secs(120)), ..Options::default() };
    let open = || Ok(Box::new(Rows(history.operations.clone())) as Box<dyn Reader>);
    let answer =
        linpoint_check::check(&open, &plan.spec, &mut symbols, &options, &Unwatched, Some(&mut sink));
    let answer = answer.expect("a verdict");
    assert!(matches!(answer.verdict, Verdict::Holds(_)), "{answer:?}");
    assert_eq!(answer.engine, "depth-first search", "{answer:?}");
    assert!(answer.because.contains("metastates: slower"), "{answer:?}");
    assert_eq!(order, 12_000, "the order of the winner, and nothing else");
}

/// Whoever is faster, the verdict is the same.
#[test]
fn a_race_changes_no_verdict() {
    let mut rng = Rng::new(4);
    let (mut held, mut violated) = (0, 0);
    for round in 0..300 {
        let spec = Builtin::new(*rng.pick(&[Kind::Deque, Kind::Stack, Kind::CasRegister, Kind::RwLock]));
        let taste = Taste::random(&mut rng, 12, round % 2 == 0);
        let mut history = small::history(&spec, &taste, &mut rng);
        let verdict = |threads, symbols: &mut Symbols| {
            let options = Options { threads, ..Options::default() };
            let answer = check_rows(history.operations.clone(), &spec, symbols, &options).expect("a verdict");
            matches!(answer.verdict, Verdict::Holds(_))
        };
        let alone = verdict(1, &mut history.symbols.clone());
        assert_eq!(verdict(2, &mut history.symbols), alone, "{:?} {:?}", spec.kind, history.operations);
        held += u32::from(alone);
        violated += u32::from(!alone);
    }
    assert!(held > 50 && violated > 50, "{held} held, {violated} violated");
}

/// Rows to be read once.
struct Rows(Vec<Operation>);

impl Reader for Rows {
    fn read(
        &mut self,
        _symbols: &mut Symbols,
        rows: &mut Vec<Operation>,
        max: usize,
    ) -> Result<bool, Diagnostic> {
        let some = self.0.len().min(max);
        rows.extend(self.0.drain(..some));
        Ok(!self.0.is_empty())
    }

    fn format(&self) -> Format {
        Format::Binary
    }

    fn bytes_read(&self) -> u64 {
        0
    }

    fn bytes_total(&self) -> Option<u64> {
        None
    }
}

/// There is an order, the empty one, and it says nothing.
#[test]
fn a_history_in_which_nothing_returned_is_unknown() {
    for kind in Kind::all() {
        let spec = Builtin::new(kind);
        for pending in 0..3 {
            for choice in [Choice::Auto, Choice::Monitor, Choice::Metastate, Choice::Search, Choice::Brute] {
                let mut history = linpoint_history::History::new();
                for process in 0..pending {
                    let process = history.symbols.process(&Value::Int(process));
                    let mut row = Operation::new(process, linpoint_history::OpCode(0));
                    row.ret = Operation::NEVER;
                    history.operations.push(row);
                }
                let options = Options { choice, ..Options::default() };
                let answer = check_rows(history.operations, &spec, &mut history.symbols, &options);
                let verdict = answer.expect("an answer").verdict;
                let nothing = linpoint_history::Unknown::Nothing { pending: pending as u64 };
                assert_eq!(verdict, Verdict::Unknown(nothing), "{}, {choice:?}", kind.name());
            }
        }
    }
}
