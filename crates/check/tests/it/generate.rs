//! Generated histories: explained by construction, and beyond explanation once spoiled.

use linpoint_check::{Budget, brute};
use linpoint_history::generate::{Flaw, Plan, Spoil, Spoiled, Values, generate, history};
use linpoint_history::history::is_sorted_by_return;
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind, Operation, Symbols, Value};

/// Does the oracle explain every object of the history?
fn holds(spec: &Builtin, history: &History) -> bool {
    let mut keys: Vec<_> = history.operations.iter().map(|op| op.key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().all(|key| {
        let rows: Vec<Operation> = history.operations.iter().filter(|op| op.key == key).copied().collect();
        brute::search(spec, &rows, &history.symbols, &Budget::unlimited()).expect("no limit").holds()
    })
}

fn specs() -> Vec<Builtin> {
    let mut specs: Vec<_> = Kind::all().map(Builtin::new).collect();
    specs.push(Builtin::new(Kind::Queue).with_capacity(2));
    specs.push(Builtin::new(Kind::Set).with_capacity(2).with_spurious());
    specs.push(Builtin::new(Kind::Multiset).with_capacity(2));
    specs.push(Builtin::new(Kind::Stack).with_spurious());
    specs.push(Builtin::new(Kind::Semaphore).with_capacity(2));
    specs.push(Builtin::new(Kind::Queue).with_initial(Value::list([Value::Int(7), Value::Int(3)])));
    specs.push(Builtin::new(Kind::Map).with_initial(Value::list([Value::list([7.into(), 3.into()])])));
    specs
}

fn random_plan(spec: &Builtin, seed: u64) -> Plan {
    let mut rng = Rng::new(seed);
    let mut plan = Plan::new(spec.clone());
    plan.seed = seed;
    plan.processes = 1 + rng.below(4) as u32;
    plan.operations = rng.below(13);
    plan.overlap = *rng.pick(&[0.2, 1.0, 10.0]);
    plan.values = *rng.pick(&[Values::Distinct, Values::Repeated(1), Values::Repeated(3)]);
    plan.empties = *rng.pick(&[0.0, 0.2, 0.5]);
    plan.rare = *rng.pick(&[0.0, 0.0, 0.3]);
    plan.pending = *rng.pick(&[0.0, 0.0, 0.2]);
    plan.trailing_pending = *rng.pick(&[0, 0, 2]);
    plan.bursts = rng.chance(0.2);
    plan.long_open = *rng.pick(&[0, 0, 1]);
    plan.keys = *rng.pick(&[0, 0, 2]);
    plan
}

#[test]
fn generated_histories_are_linearizable_and_spoiled_ones_are_not() {
    for spec in specs() {
        for seed in 0..400 {
            let plan = random_plan(&spec, seed);
            let (history, none) = history(&plan, None).expect("a plan");
            assert_eq!(history.operations.len() as u64, plan.operations, "{plan:?}");
            assert!(none.is_none() && is_sorted_by_return(&history.operations), "{plan:?}");
            assert!(holds(&spec, &history), "{plan:?}\n{:?}", history.operations);
            let at = (seed % 3) as f64 / 2.0;
            let (broken, spoiled) = self::history(&plan, Some(Spoil { at, flaw: None })).expect("a plan");
            assert!(is_sorted_by_return(&broken.operations), "{plan:?}");
            assert!(!holds(&spec, &broken), "{spoiled:?}\n{plan:?}\n{:?}", broken.operations);
        }
    }
}

/// The rows named as a proof are in the history and cannot be explained by themselves.
#[test]
fn every_flaw_is_proved_by_a_few_rows() {
    let cases = [
        (Flaw::Order, &[Kind::Queue, Kind::Stack, Kind::PriorityQueue, Kind::PriorityQueueMax][..]),
        (
            Flaw::Twice,
            &[Kind::Queue, Kind::Stack, Kind::Deque, Kind::PriorityQueue, Kind::Set, Kind::Multiset],
        ),
        (Flaw::Empty, &[Kind::Queue, Kind::Stack, Kind::Deque, Kind::PriorityQueue]),
        (Flaw::Stale, &[Kind::Register, Kind::CasRegister, Kind::Kv, Kind::Set, Kind::Counter]),
        (Flaw::Unknown, &[Kind::Queue, Kind::Register, Kind::Map, Kind::Lock, Kind::Snapshot, Kind::List]),
    ];
    for (flaw, kinds) in cases {
        for &kind in kinds {
            for seed in 0..10 {
                let plan = Plan { operations: 2000, seed, ..Plan::new(Builtin::new(kind)) };
                let (history, spoiled) =
                    history(&plan, Some(Spoil { at: 0.5, flaw: Some(flaw) })).expect("a plan");
                let Spoiled { flaw: made, reason, proof } = spoiled.expect("something is spoiled");
                assert_eq!(made, flaw, "{kind:?} {seed}");
                assert!(proof.iter().all(|op| history.operations.contains(op)), "{kind:?}: {reason}");
                if kind != Kind::Counter {
                    let alone = History { operations: proof, symbols: history.symbols.clone() };
                    assert!(!holds(&plan.spec, &alone), "{kind:?}: {reason}\n{:?}", alone.operations);
                }
            }
        }
    }
}

#[test]
fn a_seed_names_a_history() {
    let plan = Plan { operations: 500, values: Values::Repeated(4), ..Plan::new(Builtin::new(Kind::Deque)) };
    let rows = |plan: &Plan| history(plan, None).expect("a plan").0.operations;
    assert_eq!(rows(&plan), rows(&plan));
    assert_ne!(rows(&plan), rows(&Plan { seed: 2, ..plan.clone() }));
}

#[test]
fn shapes_are_as_planned() {
    let mut plan = Plan::new(Builtin::new(Kind::Queue));
    (plan.operations, plan.processes, plan.empties) = (20_000, 16, 0.1);
    (plan.bursts, plan.long_open, plan.trailing_pending) = (true, 4, 10);
    let (history, _) = history(&plan, None).expect("a plan");
    assert_eq!(history.operations.iter().filter(|op| op.is_pending()).count(), 10);
    assert!((20..=30).contains(&history.widest()), "{}", history.widest());
    let removals = history.operations.iter().filter(|op| op.op().0 == 1 && !op.is_pending());
    let (empty, full): (Vec<&Operation>, Vec<&Operation>) = removals.partition(|op| op.result.is_null());
    let share = empty.len() as f64 / (empty.len() + full.len()) as f64;
    assert!((0.08..0.12).contains(&share), "{share}");
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let plan = Plan::new(Builtin::new(Kind::Queue));
    for bad in [
        Plan { processes: 0, ..plan.clone() },
        Plan { overlap: f64::NAN, ..plan.clone() },
        Plan { empties: 1.5, ..plan.clone() },
        Plan { values: Values::Repeated(0), ..plan.clone() },
    ] {
        assert!(generate(&bad, None, &mut Symbols::new(), |_, _| ()).is_err());
    }
}
