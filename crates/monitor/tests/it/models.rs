//! Every fast model against the specification it follows, and models made of code.

use std::collections::BTreeMap;

use linpoint_history::rng::Rng;
use linpoint_history::specs;
use linpoint_history::{Builtin, Call, Kind, OpCode, ProcessId, Shape, Spec, Value};
use linpoint_monitor::models::{self, Atomised, FromSpec};
use linpoint_monitor::{Applied, Model};

fn argument(rng: &mut Rng, shape: Shape) -> Value {
    let mut small = || Value::Int(rng.below(3) as i64);
    match shape {
        Shape::Unit => Value::Null,
        Shape::Pair | Shape::Entry | Shape::Cell => Value::list([small(), small()]),
        _ => small(),
    }
}

fn answer(rng: &mut Rng) -> Value {
    let list = Value::list([Value::Int(1), Value::Null]);
    let some = [
        Value::Null,
        Value::Bool(true),
        Value::Bool(false),
        Value::Int(0),
        Value::Int(1),
        Value::Int(2),
        list,
    ];
    rng.pick(&some).clone()
}

/// Steps a model and the specification side by side, with right and wrong answers.
fn walk(spec: &Builtin, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut model = models::model(spec.clone());
    let mut slow = FromSpec::new(spec.clone());
    let mut touched = Vec::new();
    for step in 0..60 {
        let op = rng.below(spec.signature().operations.len() as u64) as u8;
        let arg = argument(&mut rng, spec.signature().operations[usize::from(op)].arg);
        let call = Call { op: OpCode(op), process: ProcessId(rng.below(2) as u32), arg: &arg };
        let (_, state) = model.builtin().expect("a built-in specification");
        let outcomes = spec.outcomes(&state, call);
        let result = match outcomes.len() {
            n if n > 0 && rng.chance(0.8) => outcomes[rng.below(n as u64) as usize].0.clone(),
            _ => answer(&mut rng),
        };
        let context = || format!("{}, seed {seed}, step {step}: {call:?} -> {result}", spec.kind.name());
        let before = (model.fork(), model.entries(), model.digest());
        let pending = model.apply_pending(call);
        pending_agrees(spec, &state, call, &pending, &context());
        touched.clear();
        let (fast, slow_answer) =
            (model.apply(call, &result, &mut touched), slow.apply(call, &result, &mut Vec::new()));
        assert_eq!(fast == Applied::Yes, slow_answer == Applied::Yes, "{} {fast:?}", context());
        assert_eq!(
            model.builtin().map(|(_, state)| state),
            slow.builtin().map(|(_, state)| state),
            "{}",
            context()
        );
        if fast != Applied::Yes {
            assert!(model.same(&*before.0), "{}: a refusal changes nothing", context());
        }
        // The copy has a life of its own, and what was not touched looks as before.
        assert_eq!((before.0.entries(), before.0.digest()), (before.1.clone(), before.2), "{}", context());
        for (key, value) in model.entries().iter().chain(&before.1) {
            let changed = before.0.view(key) != model.view(key);
            assert!(
                !changed || touched.contains(key),
                "{}: {key} changed to {value}, and is not touched",
                context()
            );
        }
        for (key, value) in model.entries() {
            assert_eq!(model.view(&key), value, "{}", context());
        }
        assert_eq!(
            model.same(&*before.0),
            model.entries_and_state() == before.0.entries_and_state(),
            "{}",
            context()
        );
        if model.same(&*before.0) {
            assert_eq!(model.digest(), before.2, "{}: equal states, equal digests", context());
        }
    }
}

trait EntriesAndState {
    fn entries_and_state(&self) -> (Vec<(Value, Value)>, specs::State);
}

impl EntriesAndState for dyn Model + '_ {
    fn entries_and_state(&self) -> (Vec<(Value, Value)>, specs::State) {
        (self.entries(), self.builtin().expect("a built-in specification").1)
    }
}

impl EntriesAndState for Box<dyn Model> {
    fn entries_and_state(&self) -> (Vec<(Value, Value)>, specs::State) {
        (**self).entries_and_state()
    }
}

/// An operation without an answer leads where some answer would, and nowhere else.
fn pending_agrees(
    spec: &Builtin,
    state: &specs::State,
    call: Call<'_>,
    pending: &[Box<dyn Model>],
    context: &str,
) {
    let states: Vec<specs::State> =
        pending.iter().map(|model| model.builtin().expect("a built-in specification").1).collect();
    let outcomes = spec.outcomes(state, call);
    for (answer, after) in &outcomes {
        assert!(states.contains(after), "{context}: {answer} leads to {after:?}, not among {states:?}");
    }
    for state in &states {
        assert!(outcomes.iter().any(|(_, after)| after == state), "{context}: nothing leads to {state:?}");
    }
}

#[test]
fn fast_models_follow_their_specifications() {
    for kind in Kind::all() {
        let mut all = vec![Builtin::new(kind)];
        if kind.has_capacity() {
            all.push(Builtin::new(kind).with_capacity(2));
        }
        if kind.is_collection() {
            all.push(Builtin::new(kind).with_spurious());
            all.push(Builtin::new(kind).with_capacity(2).with_spurious());
            let items = Value::list([Value::Int(1), Value::Int(1), Value::Int(2)]);
            all.push(Builtin::new(kind).starting_from(items).expect("a list of items"));
        }
        for spec in &all {
            (0..60).for_each(|seed| walk(spec, seed));
        }
    }
}

#[test]
fn what_concerns_different_parts_commutes() {
    let mut rng = Rng::new(5);
    for kind in [Kind::Map, Kind::Set, Kind::Multiset, Kind::List] {
        let spec = Builtin::new(kind);
        for _ in 0..2000 {
            let mut model = models::model(spec.clone());
            let random = |rng: &mut Rng| {
                let op = rng.below(spec.signature().operations.len() as u64) as u8;
                (OpCode(op), argument(rng, spec.signature().operations[usize::from(op)].arg))
            };
            for _ in 0..rng.below(4) {
                let (op, arg) = random(&mut rng);
                let next = model.apply_pending(Call { op, process: ProcessId(0), arg: &arg });
                model = next.into_iter().next().expect("some state");
            }
            let (a, b) = (random(&mut rng), random(&mut rng));
            let call = |of: &'_ (OpCode, Value)| (of.0, of.1.clone());
            let ((op_a, arg_a), (op_b, arg_b)) = (call(&a), call(&b));
            let a = Call { op: op_a, process: ProcessId(0), arg: &arg_a };
            let b = Call { op: op_b, process: ProcessId(0), arg: &arg_b };
            let parts = (model.concerns(a), model.concerns(b));
            if !matches!(parts, (Some(x), Some(y)) if x != y) {
                continue;
            }
            let (answer_a, answer_b) = (answer(&mut rng), answer(&mut rng));
            let run = |first: (Call<'_>, &Value), second: (Call<'_>, &Value)| {
                let mut model = model.fork();
                let mut fits = |(call, answer): (Call<'_>, &Value)| {
                    model.apply(call, answer, &mut Vec::new()) == Applied::Yes
                };
                let both = fits(first) && fits(second);
                both.then(|| model.entries_and_state())
            };
            assert_eq!(
                run((a, &answer_a), (b, &answer_b)),
                run((b, &answer_b), (a, &answer_a)),
                "{a:?} {b:?}"
            );
        }
    }
}

#[test]
fn code_as_its_own_specification() {
    // A bounded map that may fail to insert when others are at work, told what was observed.
    let signature = Builtin::new(Kind::Map).signature().clone();
    let perform = |map: &mut BTreeMap<Value, Value>, call: Call<'_>, observed: Option<&Value>| match call.op.0
    {
        0 if observed == Some(&Value::Bool(false)) => Value::Bool(false),
        0 => match call.arg.as_pair() {
            Some((key, value)) => map.insert(key.clone(), value.clone()).unwrap_or_default(),
            None => Value::Null,
        },
        1 => map.get(call.arg).cloned().unwrap_or_default(),
        _ => map.remove(call.arg).unwrap_or_default(),
    };
    let view = |map: &BTreeMap<Value, Value>| map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    let mut model = Atomised::new(signature, BTreeMap::new(), perform, view);
    let mut touched = Vec::new();
    let pair = Value::list([Value::Int(1), Value::Int(10)]);
    let call = |op: u8, arg| Call { op: OpCode(op), process: ProcessId(0), arg };
    assert_eq!(model.apply(call(0, &pair), &Value::Bool(false), &mut touched), Applied::Yes);
    assert!(touched.is_empty() && model.entries().is_empty());
    assert_eq!(model.apply(call(0, &pair), &Value::Null, &mut touched), Applied::Yes);
    assert_eq!(touched, [Value::Int(1)]);
    let wrong = model.apply(call(1, &Value::Int(1)), &Value::Int(11), &mut touched);
    assert_eq!(wrong, Applied::No { expected: "10".to_owned() });
    assert_eq!(model.apply_pending(call(2, &Value::Int(1))).len(), 2);
}
