//! Coarse clocks: operations of one process that touch, one object and several, against every order there is.

use linpoint_check::brute::several;
use linpoint_check::guided::{self, Problem};
use linpoint_check::recheck;
use linpoint_check::{Budget, Options, check_rows};
use linpoint_history::history::{return_order, sort_as_logged};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Call, History, Kind, OpCode, Operation, Spec, Value, Verdict};

use crate::small;

/// A history of a few processes on a few objects with few stamps: results come from an order that keeps to
/// stamps and processes, and some are changed then.
pub fn history(spec: &Builtin, keys: u64, distinct: bool, rng: &mut Rng) -> History {
    let mut history = History::new();
    let (lanes, stamps) = (1 + rng.below(4), 1 + rng.below(5));
    let pending = *rng.pick(&[0.0, 0.0, 0.15]);
    let mut ways: Vec<Vec<usize>> = Vec::new();
    for lane in 0..lanes {
        let share = 1 + rng.below(if lanes > 2 { 3 } else { 4 });
        let mut times: Vec<i64> = (0..2 * share).map(|_| rng.below(stamps) as i64).collect();
        times.sort_unstable();
        let process = history.symbols.process(&Value::Int(lane as i64));
        let mut way = Vec::new();
        for (index, pair) in times.chunks(2).enumerate() {
            let code = OpCode(rng.below(spec.signature().operations.len() as u64) as u8);
            let mut row = Operation::new(process, code);
            (row.call, row.ret) = (pair[0], pair[1]);
            if keys > 0 {
                row.key = history.symbols.key(&Value::Int(rng.below(keys) as i64));
            }
            if index as u64 + 1 == share && rng.chance(pending) {
                row.ret = Operation::NEVER;
            }
            way.push(history.operations.len());
            history.operations.push(row);
        }
        ways.push(way);
    }
    fill_in(spec, distinct, rng, &mut history, ways);
    if rng.chance(0.6) {
        small::spoil(spec, rng, &mut history);
    }
    match rng.below(3) {
        0 => {}
        1 => history.operations.sort_by_key(return_order),
        _ => sort_as_logged(&mut history.operations),
    }
    history
}

fn fill_in(spec: &Builtin, distinct: bool, rng: &mut Rng, history: &mut History, mut ways: Vec<Vec<usize>>) {
    let mut states = vec![spec.initial(); 4];
    let mut fresh = 0;
    ways.iter_mut().for_each(|way| way.reverse());
    loop {
        let left = ways.iter().flatten().map(|&row| history.operations[row].ret).min().unwrap_or(i64::MAX);
        let may = |way: &Vec<usize>| way.last().is_some_and(|&row| history.operations[row].call <= left);
        let open: Vec<usize> = (0..ways.len()).filter(|&lane| may(&ways[lane])).collect();
        if open.is_empty() {
            return;
        }
        let Some(index) = ways[*rng.pick(&open)].pop() else { return };
        let op = history.operations[index].op();
        let inserts = op.0 == 0 || matches!((spec.kind, op.0), (Kind::Deque | Kind::Kv, 1));
        let number = match (distinct, inserts) {
            (true, true) => {
                fresh += 1;
                fresh
            }
            (true, false) => 1 + rng.below(fresh.max(1) as u64) as i64,
            (false, _) => rng.below(3) as i64,
        };
        let arg = small::argument(spec, op, rng, number);
        let row = &mut history.operations[index];
        row.arg = history.symbols.intern(&arg);
        let state =
            &mut states[if row.key == linpoint_history::KeyId::NONE { 0 } else { row.key.0 as usize }];
        let outcomes = spec.outcomes(state, Call { op, process: row.process(), arg: &arg });
        if outcomes.is_empty() || row.is_pending() && rng.chance(0.5) {
            continue;
        }
        let (result, next) = rng.pick(&outcomes).clone();
        if !row.is_pending() {
            row.result = history.symbols.intern(&result);
        }
        *state = next;
    }
}

/// What the definition says.
fn truth(spec: &Builtin, history: &History) -> bool {
    let object: Vec<u32> = history.operations.iter().map(object).collect();
    several::search(spec, &history.operations, &object, &history.symbols, u64::MAX) == Some(true)
}

fn object(row: &Operation) -> u32 {
    if row.key == linpoint_history::KeyId::NONE { 0 } else { row.key.0 }
}

fn agree(spec: &Builtin, keys: u64, distinct: bool, rounds: u64) -> [u64; 2] {
    let mut counts = [0; 2];
    for seed in 0..rounds {
        let mut rng = Rng::new(seed ^ keys << 32 ^ u64::from(distinct) << 40);
        let mut history = history(spec, keys, distinct, &mut rng);
        // Where nothing returned there is nothing to say.
        if history.operations.iter().all(Operation::is_pending) {
            continue;
        }
        let truth = truth(spec, &history);
        let options = Options { threads: 1, ..Options::default() };
        let rows = history.operations.clone();
        let answer = check_rows(rows, spec, &mut history.symbols, &options);
        let says = match answer.as_ref().map(|answer| &answer.verdict) {
            Ok(Verdict::Holds(_)) => Some(true),
            Ok(Verdict::Violated(_)) => Some(false),
            _ => None,
        };
        assert_eq!(
            says,
            Some(truth),
            "{:?} seed {seed}, {keys} keys: {:?}\n{answer:?}",
            spec.kind,
            history.operations
        );
        counts[usize::from(truth)] += 1;
    }
    counts
}

#[test]
fn every_specification_takes_the_order_of_processes_as_it_is() {
    for kind in Kind::all() {
        for distinct in [true, false] {
            let [violated, holds] = agree(&Builtin::new(kind), 0, distinct, 400);
            assert!(violated > 30 && holds > 30, "{kind:?}: {violated} {holds}");
        }
    }
}

#[test]
fn every_specification_takes_the_order_of_processes_over_objects() {
    for kind in Kind::all() {
        for distinct in [true, false] {
            let [violated, holds] = agree(&Builtin::new(kind), 3, distinct, 400);
            assert!(violated > 30 && holds > 30, "{kind:?}: {violated} {holds}");
        }
    }
}

#[test]
fn bounds_and_spurious_answers_too() {
    for text in [
        "queue:capacity=2",
        "stack:capacity=1",
        "queue:spurious",
        "priority-queue:capacity=2",
        "deque:capacity=2",
    ] {
        let spec = linpoint_history::specs::parse(text).expect("a specification");
        agree(&spec, 0, false, 300);
        agree(&spec, 2, true, 300);
    }
}

/// The search alone, whatever the plan says: it finds an order iff there is one, and the order passes its
/// recheck.
#[test]
fn a_search_is_right_with_any_plan() {
    let mut counts = [0; 2];
    for kind in Kind::all() {
        let spec = Builtin::new(kind);
        for seed in 0..600 {
            let mut rng = Rng::new(seed);
            let keys = rng.below(2) * 3;
            let distinct = rng.chance(0.7);
            let mut history = history(&spec, keys, distinct, &mut rng);
            let truth = truth(&spec, &history);
            sort_as_logged(&mut history.operations);
            let rows = &history.operations;
            history.symbols.intern(&spec.initial);
            let completed = rows.iter().filter(|row| !row.is_pending()).count();
            let object: Vec<u32> = rows.iter().map(object).collect();
            let mut plan: Vec<u32> = (0..rows.len() as u32).collect();
            for at in (1..plan.len()).rev() {
                plan.swap(at, rng.below(at as u64 + 1) as usize);
            }
            let problem = Problem {
                rows,
                completed,
                object: &object,
                objects: 4,
                plan: &plan,
                makes_over: rng.chance(0.5),
            };
            let found = guided::search(&spec, &history.symbols, &problem, u64::MAX, &Budget::unlimited());
            let found = match found.expect("no limit") {
                guided::Found::Order(order) => {
                    recheck::whole(&spec, &history.symbols, rows, completed, &object, 4, &order)
                        .unwrap_or_else(|bad| panic!("{kind:?} seed {seed}: {bad}\n{rows:?}"));
                    true
                }
                guided::Found::None => false,
                guided::Found::GaveUp => panic!("patience has no end"),
            };
            assert_eq!(found, truth, "{kind:?} seed {seed}: {rows:?}");
            counts[usize::from(truth)] += 1;
        }
    }
    assert!(counts[0] > 2000 && counts[1] > 2000, "{counts:?}");
}

/// The order of the log is finer than a coarse clock: what was linearizable with fine stamps is found to be
/// at once.
#[test]
fn a_log_in_order_of_return_is_as_easy_as_with_fine_stamps() {
    use linpoint_history::generate::{self, Plan};
    for (kind, keys) in
        [(Kind::Queue, 0), (Kind::Stack, 0), (Kind::Register, 0), (Kind::Set, 0), (Kind::Kv, 20)]
    {
        let spec = Builtin::new(kind);
        let plan = Plan { processes: 16, operations: 20_000, keys, ..Plan::new(spec.clone()) };
        let (mut history, _) = generate::history(&plan, None).expect("a plan");
        for row in &mut history.operations {
            (row.call, row.ret) = (row.call / 1000, row.ret / 1000);
        }
        let answer = check_rows(history.operations, &spec, &mut history.symbols, &Options::default());
        let answer = answer.expect("a verdict");
        assert!(matches!(answer.verdict, Verdict::Holds(_)), "{kind:?}: {:?}", answer.verdict);
        assert!(!answer.engine.contains("search"), "{kind:?}: {}", answer.engine);
    }
}

/// Objects that are not taken apart have no name to tell, also where operations touch.
#[test]
fn keys_that_are_not_taken_apart() {
    let spec = Builtin::new(Kind::Register);
    let text = "p1: write 1 [1,5]; p1: read -> 9 [5,8]";
    let mut history = linpoint_history::notation::parse(spec.signature(), text).expect("the notation");
    let key = history.symbols.key(&Value::Int(1));
    let mut rows = history.operations.clone();
    rows.iter_mut().for_each(|row| row.key = key);
    let options = Options { partition: linpoint_check::Partition::None, ..Options::default() };
    let answer = check_rows(rows, &spec, &mut history.symbols, &options).expect("a verdict");
    assert!(matches!(answer.verdict, Verdict::Violated(_)), "{answer:?}");
}
