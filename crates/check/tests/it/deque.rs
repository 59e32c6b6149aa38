//! The deque search against brute force.

use linpoint_check::engine::run;
use linpoint_check::monitor::deque::DequeSearch;
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Context, Stop, Timeline, brute};
use linpoint_history::generate::{self, Plan};
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes::deque;
use linpoint_history::{Builtin, Kind, Operation, Value};

use crate::replay::replay;
use crate::small::{self, Taste};

#[test]
fn what_it_says_is_right_and_it_seldom_says_nothing() {
    let mut rng = Rng::new(21);
    let (mut decided, mut refused) = (0, 0);
    for round in 0..20_000 {
        let initial = Value::list([Value::Int(1_000), Value::Int(1_001)]);
        let mut spec = Builtin::new(Kind::Deque);
        if round % 4 == 0 {
            spec = spec.with_initial(initial);
        }
        let taste = Taste::random(&mut rng, 12, true);
        let mut history = small::history(&spec, &taste, &mut rng);
        history
            .operations
            .retain(|op| !op.is_pending() || op.op() == deque::PUSH_FRONT || op.op() == deque::PUSH_BACK);
        if let Value::List(items) = &spec.initial {
            items.iter().for_each(|item| {
                history.symbols.intern(item);
            });
        }
        let (rows, symbols) = (&history.operations, &history.symbols);
        let truth = brute::search(&spec, rows, symbols, &Budget::unlimited()).expect("no limit").holds();
        let timeline = Timeline::of(rows, Ties::Relaxed);
        if timeline.has_touching() {
            continue;
        }
        let cx = Context { symbols, spec: &spec, budget: &Budget::unlimited() };
        match run(&mut DequeSearch::new(), &cx, &timeline) {
            Ok(_) => assert!(truth, "{rows:#?}"),
            Err(Stop::Violated(violation)) => {
                assert!(!truth, "{rows:#?}");
                let core = brute::search(&spec, &violation.core, symbols, &Budget::unlimited());
                assert!(!core.expect("no limit").holds(), "{violation:?} of {rows:#?}");
            }
            Err(_) => {
                // Where nothing is inside at first, an order is found if there is one.
                assert!(!truth || round % 4 == 0, "{rows:#?}");
                refused += 1;
            }
        }
        decided += 1;
    }
    assert!(refused * 100 < decided, "{refused} of {decided} were left to others");
}

/// Long histories of many processes are placed, not searched.
#[test]
fn long_histories_are_decided() {
    for (processes, operations) in [(4, 20_000), (8, 20_000), (16, 20_000), (32, 5_000)] {
        let plan = Plan { processes, operations, ..Plan::new(Builtin::new(Kind::Deque)) };
        let (history, _) = generate::history(&plan, None).expect("a plan");
        let timeline = Timeline::of(&history.operations, Ties::Strict);
        let cx = Context { symbols: &history.symbols, spec: &plan.spec, budget: &Budget::unlimited() };
        let order = run(&mut DequeSearch::new(), &cx, &timeline);
        replay(&plan.spec, &timeline, &history.symbols, &order.expect("it holds"));
    }
}

/// Clocks so coarse that every operation seems to begin where the last one of its process ended, or a hundred
/// events before or after: every operation overlaps many others. The sweep goes back seldom, and through each
/// gap about once.
#[test]
fn coarse_clocks_do_not_make_it_search() {
    for (processes, seed) in [(8, 1), (8, 2), (16, 1), (32, 1), (32, 2)] {
        let plan = Plan { processes, operations: 50_000, seed, ..Plan::new(Builtin::new(Kind::Deque)) };
        let (history, _) = generate::history(&plan, None).expect("a plan");
        for divide in [100, 1000] {
            let mut rows = history.operations.clone();
            coarsen(&mut rows, divide);
            let timeline = Timeline::of(&rows, Ties::Strict);
            let cx = Context { symbols: &history.symbols, spec: &plan.spec, budget: &Budget::unlimited() };
            let mut engine = DequeSearch::new();
            let order = run(&mut engine, &cx, &timeline).expect("it holds");
            replay(&plan.spec, &timeline, &history.symbols, &order);
            let most = plan.operations + plan.operations / 10;
            assert!(engine.steps() < most, "{} steps, {processes} processes, {divide}", engine.steps());
        }
    }
}

/// Divides stamps, and makes them fine again as far as processes and the order of the rows tell.
fn coarsen(rows: &mut [Operation], divide: i64) {
    let coarse: Vec<(i64, i64)> = rows.iter().map(|row| (row.call / divide, row.ret / divide)).collect();
    let mut last = vec![usize::MAX; 1 + rows.iter().map(|row| row.process().0 as usize).max().unwrap_or(0)];
    for (index, row) in rows.iter_mut().enumerate() {
        let before = std::mem::replace(&mut last[row.process().0 as usize], index);
        let touches = coarse.get(before).is_some_and(|before| before.1 == coarse[index].0);
        let gap = if touches { before + 1 } else { coarse.partition_point(|row| row.1 < coarse[index].0) };
        (row.call, row.ret) = (2 * gap as i64, 2 * index as i64 + 1);
    }
}

/// Of long histories in which answers of pops that were close were exchanged, those that are wrong are told
/// by few operations.
#[test]
fn long_histories_with_exchanged_answers_are_decided() {
    let mut rng = Rng::new(4);
    let (mut holds, mut violated) = (0, 0);
    for seed in 0..60 {
        let processes = *rng.pick(&[4, 8, 16, 32]);
        let plan = Plan { processes, operations: 2_000, seed, ..Plan::new(Builtin::new(Kind::Deque)) };
        let (mut history, _) = generate::history(&plan, None).expect("a plan");
        let rows = &mut history.operations;
        let pops: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].arg.is_null()).collect();
        for _ in 0..1 + rng.below(2) {
            let first = rng.below(pops.len() as u64 - 5) as usize;
            let (one, other) = (pops[first], pops[first + 1 + rng.below(4) as usize]);
            let result = rows[one].result;
            rows[one].result = rows[other].result;
            rows[other].result = result;
        }
        let timeline = Timeline::of(&history.operations, Ties::Strict);
        let cx = Context { symbols: &history.symbols, spec: &plan.spec, budget: &Budget::unlimited() };
        match run(&mut DequeSearch::new(), &cx, &timeline) {
            Ok(order) => {
                replay(&plan.spec, &timeline, &history.symbols, &order);
                holds += 1;
            }
            Err(Stop::Violated(violation)) => {
                assert!(violation.core.len() <= 12, "{violation:#?}");
                let core = brute::search(&plan.spec, &violation.core, &history.symbols, &Budget::unlimited());
                assert!(!core.expect("no limit").holds(), "{violation:?}");
                violated += 1;
            }
            Err(other) => panic!("{other:?}, seed {seed}"),
        }
    }
    assert!(holds > 5 && violated > 5, "{holds} hold, {violated} are violated");
}
