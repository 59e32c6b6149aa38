//! Linearizable histories of any specification, a user's own too; `linpoint_history::generate` knows the
//! built-in ones.
//!
//! Processes alternate short gaps and operations of exponential duration; each operation takes effect at a
//! moment uniform in its interval, and the results are those of the specification in the order of these
//! moments.

use linpoint_history::rng::Rng;
use linpoint_history::{Call, History, OpCode, Operation, Spec, Value};

/// What a history should look like.
pub struct Plan {
    pub processes: u64,
    pub operations: usize,
    /// The longest gap between two operations of a process; their mean duration is 10.
    pub gap: f64,
    pub seed: u64,
}

/// Plays calls chosen by `choose`; `answer` gives a result and the state after it.
pub fn history<S: Spec>(
    spec: &S,
    plan: &Plan,
    choose: impl Fn(&mut Rng) -> (OpCode, Value),
    answer: impl Fn(&S::State, Call<'_>) -> (Value, S::State),
) -> History {
    let mut rng = Rng::new(plan.seed);
    let mut history = History::new();
    let mut clocks: Vec<f64> = (0..plan.processes).map(|_| rng.unit() * 10.0).collect();
    let mut points = Vec::new();
    while history.operations.len() < plan.operations {
        let lane = (0..clocks.len()).min_by(|&a, &b| clocks[a].total_cmp(&clocks[b])).expect("a process");
        let call = clocks[lane] + plan.gap * rng.unit();
        let ret = call - 10.0 * (1.0 - rng.unit()).ln() + 0.01;
        let (op, arg) = choose(&mut rng);
        let process = history.symbols.process(&Value::Int(lane as i64));
        let mut row = Operation::new(process, op);
        (row.call, row.ret) = ((call * 1e6) as i64, (ret * 1e6) as i64);
        row.arg = history.symbols.intern(&arg);
        points.push((call + rng.unit() * (ret - call), history.operations.len()));
        history.operations.push(row);
        clocks[lane] = ret;
    }
    fill(spec, &mut history, points, answer);
    history
}

/// Gives the operations their results; each takes effect at its point.
pub fn fill<S: Spec>(
    spec: &S,
    history: &mut History,
    mut points: Vec<(f64, usize)>,
    answer: impl Fn(&S::State, Call<'_>) -> (Value, S::State),
) {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut state = spec.initial();
    for (_, index) in points {
        let row = &mut history.operations[index];
        let arg = history.symbols.value(row.arg);
        let (result, next) = answer(&state, Call { op: row.op(), process: row.process(), arg: &arg });
        row.result = history.symbols.intern(&result);
        state = next;
    }
}
