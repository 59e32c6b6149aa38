//! The dataflow gives the verdicts that `check` gives on one machine.

use linpoint_check::{Options, check_rows};
use linpoint_history::generate::{self, Plan, Spoil, Values};
use linpoint_history::rng::Rng;
use linpoint_history::specs::{self};
use linpoint_history::{History, Kind, Verdict};

use crate::feeds::{self, Split};

pub fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds(_) => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// A random plan of a random object.
pub fn plan(rng: &mut Rng) -> (String, Plan) {
    let kinds: Vec<Kind> = Kind::all().collect();
    let mut name = rng.pick(&kinds).name().to_owned();
    if name == "queue" && rng.chance(0.2) {
        name += ":capacity=3";
    }
    let mut plan = Plan::new(specs::parse(&name).expect("a known name"));
    plan.processes = 1 + rng.below(5) as u32;
    let most = if rng.chance(0.2) { 600 } else { 60 };
    plan.operations = 5 + rng.below(most);
    plan.seed = rng.bits();
    plan.overlap = *rng.pick(&[0.05, 0.5, 2.0]);
    plan.values = if rng.chance(0.5) { Values::Distinct } else { Values::Repeated(1 + rng.below(4) as u32) };
    // Of many keys most are used by one process.
    plan.keys = *rng.pick(&[0, 1, 2, 3, 40]);
    plan.pending = *rng.pick(&[0.0, 0.0, 0.03]);
    plan.empties = *rng.pick(&[0.0, 0.2]);
    plan.rare = *rng.pick(&[0.0, 0.2]);
    (name, plan)
}

pub fn made(plan: &Plan, spoiled: bool) -> Option<History> {
    let spoil = spoiled.then_some(Spoil { at: 0.6, flaw: None });
    generate::history(plan, spoil).ok().map(|(history, _)| history)
}

/// As many random histories as asked for; how many there were of each verdict.
pub fn compare(seed: u64, count: usize) -> [usize; 3] {
    let mut rng = Rng::new(seed);
    let mut counts = [0; 3];
    while counts.iter().sum::<usize>() < count {
        let (name, plan) = plan(&mut rng);
        let spoiled = rng.chance(0.5);
        let split = Split {
            sources: 1 + rng.below(4) as usize,
            workers: 1 + rng.below(3) as usize,
            seed: rng.bits(),
            known: rng.chance(0.5),
            ..Split::default()
        };
        let Some(history) = made(&plan, spoiled) else { continue };
        let mut symbols = history.symbols.clone();
        let spec = plan.spec.clone();
        let alone = check_rows(history.operations.clone(), &spec, &mut symbols, &Options::default());
        let alone = word(&alone.expect("a generated history is readable").verdict);
        let outcome = feeds::run(&history, &name, None, &split);
        let (answer, _) = outcome.answer();
        let together = word(&answer.verdict);
        assert_eq!(together, alone, "{name} {plan:?} {split:?}: {:?}", outcome.report);
        assert_eq!(answer.operations, history.operations.len() as u64);
        if let Verdict::Violated(example) = &answer.verdict {
            assert!(!example.core.is_empty(), "{name} {plan:?} {split:?}: a violation has a core");
        }
        counts[["holds", "violated", "unknown"].iter().position(|known| *known == alone).unwrap_or(2)] += 1;
    }
    counts
}

#[test]
fn generated_histories_have_the_same_verdicts() {
    let counts = compare(1, 300);
    assert!(counts[0] > 100 && counts[1] > 100, "{counts:?}");
}

/// One object would take for ever; another one is wrong.
#[test]
fn a_hard_object_hides_no_violated_one() {
    use linpoint_history::specs::codes::kv;
    use linpoint_history::{OpCode, Operation, Value};
    for (hard, wrong) in [("a", "z"), ("z", "a")] {
        let mut history = History::new();
        let mut add =
            |key: &str, process: i64, op: OpCode, arg: Value, result: Value, call: i64, ret: i64| {
                let process = history.symbols.process(&Value::Int(process));
                let mut row = Operation::new(process, op);
                row.key = history.symbols.key(&Value::text(key));
                (row.arg, row.result) = (history.symbols.intern(&arg), history.symbols.intern(&result));
                (row.call, row.ret) = (call, ret);
                history.operations.push(row);
            };
        let letters: Vec<String> = (b'a'..b'y').map(|letter| char::from(letter).to_string()).collect();
        for (n, letter) in (0..).zip(&letters) {
            add(hard, n, kv::APPEND, Value::text(letter), Value::Null, n, 100 + n);
        }
        let backwards: String = letters.iter().rev().cloned().collect();
        add(hard, 0, kv::GET, Value::Null, Value::text(&letters.concat()), 200, 201);
        add(hard, 0, kv::GET, Value::Null, Value::text(&backwards), 300, 301);
        for (at, value) in [(400, 1), (402, 2), (404, 1), (406, 2)] {
            add(wrong, 50, kv::PUT, Value::Int(value), Value::Null, at, at + 1);
        }
        add(wrong, 50, kv::GET, Value::Null, Value::Int(1), 408, 409);
        let split = Split { sources: 2, workers: 2, seed: 1, ..Split::default() };
        let (answer, _) = feeds::run(&history, "kv", None, &split).answer();
        assert_eq!(word(&answer.verdict), "violated", "{answer:?}");
        assert_eq!(answer.object, Some(Value::text(wrong)));
    }
}

#[test]
fn nothing_to_check_is_unknown() {
    let mut history = History::new();
    let split = Split { sources: 1, workers: 1, seed: 1, ..Split::default() };
    let (answer, _) = feeds::run(&history, "kv", None, &split).answer();
    assert_eq!(word(&answer.verdict), "unknown", "{answer:?}");
    let process = history.symbols.process(&linpoint_history::Value::Int(0));
    let mut row = linpoint_history::Operation::new(process, linpoint_history::specs::codes::kv::GET);
    row.ret = linpoint_history::Operation::NEVER;
    history.operations.push(row);
    let (answer, _) = feeds::run(&history, "kv", None, &split).answer();
    assert_eq!(word(&answer.verdict), "unknown", "{answer:?}");
}
