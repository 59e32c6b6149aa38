//! Measures the generic engine on objects written as a user would write them.
//!
//! `cargo run --release -p linpoint-check --example generic_speed`
//!
//! Histories are made by `play/history.rs`. One line an object: operations, seconds, configurations kept
//! (most, mean).

#[path = "play/history.rs"]
mod play;

use std::time::Instant;

use linpoint_check::engine::{self, Context};
use linpoint_check::metastate::generic::Generic;
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Timeline};
use linpoint_history::rng::Rng;
use linpoint_history::spec::Deterministic;
use linpoint_history::{
    Builtin, Call, History, Kind, OpCode, OpDecl, Operation, Shape, Signature, Spec, Value,
};

use play::Plan;

/// A user's register: `write`, `read`, `cas`.
struct Register(Signature);

/// A user's counter: `increment`, `add`, `fetch_add`, `read`.
struct Counter(Signature);

fn signature(names: &[&'static str]) -> Signature {
    let decl = |&name| OpDecl { name, aliases: &[], arg: Shape::Any, result: Shape::Any };
    Signature { operations: names.iter().map(decl).collect() }
}

impl Deterministic for Register {
    type State = Value;

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn initial(&self) -> Value {
        Value::Null
    }

    fn apply(&self, state: &mut Value, call: Call<'_>) -> Value {
        match call.op.0 {
            0 => {
                *state = call.arg.clone();
                Value::Null
            }
            1 => state.clone(),
            _ => {
                let (from, to) = call.arg.as_pair().expect("cas takes two values");
                let fits = from == state;
                if fits {
                    *state = to.clone();
                }
                Value::Bool(fits)
            }
        }
    }

    fn is_read_only(&self, call: Call<'_>) -> bool {
        call.op.0 == 1
    }

    fn observes_process(&self) -> bool {
        false
    }
}

impl Deterministic for Counter {
    type State = i64;

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn initial(&self) -> i64 {
        0
    }

    fn apply(&self, state: &mut i64, call: Call<'_>) -> Value {
        let old = *state;
        match call.op.0 {
            0 => *state += 1,
            1 => *state += call.arg.as_int().expect("add takes a number"),
            2 => {
                *state += call.arg.as_int().expect("fetch_add takes a number");
                return Value::Int(old);
            }
            _ => return Value::Int(old),
        }
        Value::Null
    }

    fn is_read_only(&self, call: Call<'_>) -> bool {
        call.op.0 == 3
    }

    fn observes_process(&self) -> bool {
        false
    }
}

/// A linearizable history of `operations` calls chosen by `choose`, the last `pending` of which never answer.
fn generate<D: Deterministic>(
    spec: &D,
    processes: u64,
    operations: usize,
    pending: usize,
    choose: impl Fn(&mut Rng) -> (u8, Value),
) -> History {
    let plan = Plan { processes, operations, gap: 1.0, seed: 42 };
    let choose = |rng: &mut Rng| {
        let (op, arg) = choose(rng);
        (OpCode(op), arg)
    };
    let mut history = play::history(spec, &plan, choose, apply(spec));
    for row in history.operations.iter_mut().rev().take(pending) {
        row.ret = Operation::NEVER;
    }
    history
}

fn apply<D: Deterministic>(spec: &D) -> impl Fn(&D::State, Call<'_>) -> (Value, D::State) + '_ {
    |state, call| {
        let mut next = state.clone();
        let result = spec.apply(&mut next, call);
        (result, next)
    }
}

fn measure<S: Spec>(name: &str, spec: S, parts: &[History]) {
    let builtin = Builtin::new(Kind::Register);
    let budget =
        Budget { deadline: Some(Instant::now() + std::time::Duration::from_secs(30)), ..Budget::default() };
    let (mut most, mut sum, mut returns, mut nodes, mut memory) = (0, 0, 0, 0, 0);
    let timelines: Vec<_> = parts.iter().map(|part| Timeline::of(&part.operations, Ties::Strict)).collect();
    let start = Instant::now();
    let spec = &spec;
    for (part, timeline) in parts.iter().zip(&timelines) {
        let cx = Context { symbols: &part.symbols, spec: &builtin, budget: &budget };
        let mut engine = Generic::new(ByRef(spec));
        let outcome = engine::run(&mut engine, &cx, timeline);
        let verdict = match &outcome {
            Ok(order) => {
                assert!(order.len() >= timeline.end() as usize);
                "holds"
            }
            Err(linpoint_check::Stop::Violated(_)) => "violated",
            Err(_) => "limit",
        };
        assert_ne!(verdict, "violated", "{name}: {outcome:?}");
        let width = engine.width();
        (most, sum) = (width.most.max(most), sum + width.sum);
        (returns, nodes) = (returns + width.returns, nodes + width.nodes);
        memory = memory.max(linpoint_check::Engine::memory(&engine));
    }
    println!(
        "{name:34} {returns:8} returns {:7.3} s; configurations {most:5} most, {:7.2} mean; {:7.1} nodes a return; {} kB",
        start.elapsed().as_secs_f64(),
        sum as f64 / returns.max(1) as f64,
        nodes as f64 / returns.max(1) as f64,
        memory / 1024,
    );
}

/// A specification borrowed for several engines.
struct ByRef<'a, S>(&'a S);

impl<S: Spec> Spec for ByRef<'_, S> {
    type State = S::State;

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn initial(&self) -> S::State {
        self.0.initial()
    }

    fn step(&self, state: &S::State, call: Call<'_>, result: &Value) -> Option<S::State> {
        self.0.step(state, call, result)
    }

    fn step_pending(&self, state: &S::State, call: Call<'_>, next: &mut Vec<S::State>) {
        self.0.step_pending(state, call, next);
    }

    fn is_read_only(&self, call: Call<'_>, result: Option<&Value>) -> bool {
        self.0.is_read_only(call, result)
    }

    fn observes_process(&self) -> bool {
        self.0.observes_process()
    }
}

fn main() {
    let register = || Register(signature(&["write", "read", "cas"]));
    let counter = || Counter(signature(&["increment", "add", "fetch_add", "read"]));
    let value = |rng: &mut Rng| Value::Int(rng.below(16) as i64);
    let write_read = |rng: &mut Rng| match rng.below(2) {
        0 => (0, value(rng)),
        _ => (1, Value::Null),
    };
    let write_read_cas = |rng: &mut Rng| match rng.below(3) {
        0 => (0, value(rng)),
        1 => (1, Value::Null),
        _ => (2, Value::list([value(rng), value(rng)])),
    };
    for (processes, operations, pending) in [
        (4, 100_000, 0),
        (8, 100_000, 0),
        (16, 10_000, 0),
        (16, 10_000, 10),
        (16, 100_000, 0),
        (32, 10_000, 0),
    ] {
        let spec = register();
        let history = generate(&spec, processes, operations, pending, write_read);
        measure(&format!("register {processes} x {operations}, {pending} pending"), spec, &[history]);
        let spec = register();
        let history = generate(&spec, processes, operations, pending, write_read_cas);
        measure(&format!("cas-register {processes} x {operations}, {pending} pending"), spec, &[history]);
    }
    let spec = counter();
    let increments = |rng: &mut Rng| (if rng.chance(0.5) { 0 } else { 3 }, Value::Null);
    let history = generate(&spec, 16, 100_000, 0, increments);
    measure("counter, increments 16 x 100000", spec, &[history]);
    let spec = counter();
    let adds = |rng: &mut Rng| match rng.chance(0.5) {
        true => (1, Value::Int(rng.below(7) as i64 - 3)),
        false => (3, Value::Null),
    };
    let history = generate(&spec, 16, 100_000, 0, adds);
    measure("counter, add -3..3 16 x 100000", spec, &[history]);
    let spec = counter();
    let fetch = |rng: &mut Rng| match rng.below(3) {
        0 => (1, Value::Int(rng.below(7) as i64 - 3)),
        1 => (2, Value::Int(rng.below(7) as i64 - 3)),
        _ => (3, Value::Null),
    };
    let history = generate(&spec, 16, 100_000, 0, fetch);
    measure("counter, add and fetch_add 16 x 100000", spec, &[history]);

    for keys in [4usize, 16] {
        let spec = register();
        // One store: operations are dealt to keys, and each key is checked apart.
        let whole = generate(&spec, 16, 100_000, 0, write_read_cas);
        let mut rng = Rng::new(5);
        let mut parts: Vec<History> = (0..keys).map(|_| History::new()).collect();
        for row in &whole.operations {
            parts[rng.below(keys as u64) as usize].operations.push(*row);
        }
        for part in &mut parts {
            part.symbols = whole.symbols.clone();
            refill(&spec, part);
        }
        measure(&format!("key-value store, {keys} keys 16 x 100000"), spec, &parts);
    }
}

/// New results for a part of a history, from an order by moments in the intervals.
fn refill(spec: &Register, part: &mut History) {
    let mut rng = Rng::new(9);
    let point = |(at, op): (usize, &Operation)| (op.call as f64 + rng.unit() * (op.ret - op.call) as f64, at);
    let points = part.operations.iter().enumerate().map(point).collect();
    play::fill(spec, part, points, apply(spec));
}
