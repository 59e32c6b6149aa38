//! Collections with a bound or spurious answers, decided by the engines without, against brute force.

use linpoint_check::engine::{self, Context, Engine};
use linpoint_check::metastate::priority_queue::PriorityQueueMetastates;
use linpoint_check::metastate::queue::QueueMetastates;
use linpoint_check::metastate::stack::StackMetastates;
use linpoint_check::monitor::deque::DequeSearch;
use linpoint_check::monitor::stack::StackMonitor;
use linpoint_check::monitor::{PriorityQueueMonitor, QueueMonitor};
use linpoint_check::relax::Relaxed;
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Options, Stop, Timeline, brute, check_rows};
use linpoint_history::generate::{self, Plan, Values};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind, Value, Verdict};

use crate::replay::replay;
use crate::small::{self, Taste};

fn relaxed(spec: &Builtin) -> Vec<Relaxed> {
    let of = |engine: Box<dyn Engine + Send>, distinct| Relaxed::new(spec, engine, distinct);
    match spec.kind {
        Kind::Queue => {
            vec![of(Box::new(QueueMonitor::new()), true), of(Box::new(QueueMetastates::new()), false)]
        }
        Kind::Stack => {
            vec![of(Box::new(StackMonitor::new()), true), of(Box::new(StackMetastates::new()), false)]
        }
        Kind::Deque => vec![of(Box::new(DequeSearch::new()), false)],
        _ => vec![
            of(Box::new(PriorityQueueMonitor::new()), true),
            of(Box::new(PriorityQueueMetastates::new()), false),
        ],
    }
}

/// What it says, if it says something; orders are replayed, and cores are decided again.
fn holds(engine: &mut dyn Engine, spec: &Builtin, history: &History, ties: Ties) -> Option<bool> {
    let budget = Budget::unlimited();
    let timeline = Timeline::of(&history.operations, ties);
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    match engine::run(engine, &cx, &timeline) {
        Ok(order) => {
            if ties == Ties::Strict {
                replay(spec, &timeline, &history.symbols, &order);
            }
            Some(true)
        }
        Err(Stop::Violated(violation)) => {
            if !violation.core.is_empty() && !timeline.has_touching() {
                let found = brute::search(spec, &violation.core, &history.symbols, &budget);
                assert!(!found.expect("no limit").holds(), "the core can be explained: {violation:#?}");
            }
            Some(false)
        }
        Err(Stop::Unsupported(_)) => None,
        Err(other) => panic!("{other:?}"),
    }
}

fn variants(kind: Kind) -> Vec<Builtin> {
    let plain = || Builtin::new(kind);
    let full = Value::list([Value::Int(90), Value::Int(91)]);
    vec![
        plain().with_spurious(),
        plain().with_capacity(1),
        plain().with_capacity(2),
        plain().with_capacity(3),
        plain().with_capacity(2).with_spurious(),
        plain().with_capacity(3).with_initial(full.clone()),
        plain().with_spurious().with_initial(full),
    ]
}

#[test]
fn random_histories() {
    for kind in [Kind::Queue, Kind::Stack, Kind::PriorityQueue, Kind::PriorityQueueMax, Kind::Deque] {
        let mut rng = Rng::new(23);
        let (mut decided, mut refuted) = (0, 0);
        for spec in variants(kind) {
            for round in 0..1500 {
                let taste = Taste::random(&mut rng, 11, round % 2 == 0);
                // The first two operations insert and remove, but for a deque's, of which there are four.
                let codes = if kind == Kind::Deque { 4 } else { 2 };
                let mut history = small::history_of(&spec, &taste, codes, &mut rng);
                if let Value::List(items) = &spec.initial {
                    for item in items.iter() {
                        history.symbols.intern(item);
                    }
                }
                let found = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
                let truth = found.expect("no limit").holds();
                let touching = Timeline::of(&history.operations, Ties::Strict).has_touching();
                for (mut strict, mut lax) in relaxed(&spec).into_iter().zip(relaxed(&spec)) {
                    let answer = holds(&mut strict, &spec, &history, Ties::Strict);
                    let wrong = answer.is_some_and(|answer| answer != truth && (answer || !touching));
                    assert!(!wrong, "{spec:?}: it says {answer:?}: {:#?}", history.operations);
                    if touching && truth {
                        assert_ne!(holds(&mut lax, &spec, &history, Ties::Relaxed), Some(false));
                    }
                    decided += u32::from(answer.is_some());
                    refuted += u32::from(answer == Some(false));
                }
            }
        }
        assert!(decided > 5_000 && refuted > 500, "{kind:?}: {decided} decided, {refuted} of them refuted");
    }
}

/// Histories that the generic engine would not end on: many elements inside, in every order that overlapping
/// insertions may have had.
#[test]
fn long_histories() {
    let of = |kind| Builtin::new(kind);
    for spec in [
        of(Kind::Queue).with_spurious(),
        of(Kind::Queue).with_capacity(1_500),
        of(Kind::Queue).with_capacity(64).with_spurious(),
        of(Kind::Stack).with_spurious(),
        of(Kind::PriorityQueue).with_spurious(),
    ] {
        for values in [Values::Distinct, Values::Repeated(16)] {
            let add_share = if spec.capacity == Some(64) { 0.45 } else { 0.7 };
            let plan = Plan { processes: 4, operations: 3_000, values, add_share, ..Plan::new(spec.clone()) };
            let (mut history, _) = generate::history(&plan, None).expect("a plan");
            let rows = history.operations.clone();
            let options = Options { threads: 1, ..Options::default() };
            let answer = check_rows(rows, &spec, &mut history.symbols, &options).expect("an answer");
            assert!(matches!(answer.verdict, Verdict::Holds(_)), "{spec:?}: {answer:?}");
            let engine = format!("{} {}", answer.engine, answer.because);
            assert!(!engine.contains("bound"), "{spec:?}, {values:?}: {engine}");
        }
    }
}
