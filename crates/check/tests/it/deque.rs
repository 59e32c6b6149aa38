//! The deque search against brute force.

use linpoint_check::engine::run;
use linpoint_check::monitor::deque::DequeSearch;
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Context, Stop, Timeline, brute};
use linpoint_history::generate::{self, Plan};
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes::deque;
use linpoint_history::{Builtin, Kind, Value};

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
