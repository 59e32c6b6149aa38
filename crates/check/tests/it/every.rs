//! Every small history of an object, up to what makes no difference.
//!
//! Only the order of returns and, for each call, how many returns came before it matter (`timeline.rs`), so
//! the real-time structures of n completed operations are the n! lists `earliest` with `earliest[i] <= i`.
//! Results are those the object can give in some state reachable with as many steps: any other is refused
//! everywhere. Processes are told apart only where the specification does.

use linpoint_history::{Builtin, Call, History, Kind, OpCode, Operation, ProcessId, Shape, Spec, Value};

/// An operation as it may stand in a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    op: OpCode,
    arg: Value,
    result: Value,
}

/// How many processes a history may have.
const PROCESSES: usize = 3;

/// All operations with arguments from a domain of `values` numbers, and results the object may give within
/// `steps`.
pub fn choices(spec: &Builtin, values: i64, steps: usize) -> Vec<Choice> {
    let calls = calls(spec, values);
    let mut found: Vec<Choice> = Vec::new();
    let mut states = vec![spec.initial()];
    let mut next = 0;
    for _ in 0..steps {
        let end = states.len();
        while next < end {
            let state = states[next].clone();
            next += 1;
            for (op, arg) in &calls {
                for process in 0..2 {
                    let call = Call { op: *op, process: ProcessId(process), arg };
                    for (result, after) in spec.outcomes(&state, call) {
                        let choice = Choice { op: *op, arg: arg.clone(), result };
                        if !found.contains(&choice) {
                            found.push(choice);
                        }
                        if !states.contains(&after) {
                            states.push(after);
                        }
                    }
                }
            }
        }
    }
    found
}

fn calls(spec: &Builtin, values: i64) -> Vec<(OpCode, Value)> {
    let numbers = || (0..values).map(Value::Int);
    let mut calls = Vec::new();
    for (code, decl) in spec.signature().operations.iter().enumerate() {
        let args: Vec<Value> = match decl.arg {
            Shape::Unit => vec![Value::Null],
            Shape::Pair | Shape::Entry | Shape::Cell => {
                let firsts = numbers()
                    .filter(|_| spec.kind != Kind::Map || values < 2)
                    .chain((spec.kind == Kind::Map && values >= 2).then_some(Value::Int(0)));
                firsts.flat_map(|a| numbers().map(move |b| Value::list([a.clone(), b]))).collect()
            }
            Shape::Text => vec![Value::text("a")],
            Shape::Int if spec.kind == Kind::Counter => vec![Value::Int(-1), Value::Int(2)],
            _ => numbers().collect(),
        };
        calls.extend(args.into_iter().map(|arg| (OpCode(code as u8), arg)));
    }
    calls
}

/// Gives every history of `completed` and `pending` operations to `visit`; how many there were.
pub fn histories(
    spec: &Builtin,
    choices: &[Choice],
    completed: usize,
    pending: usize,
    mut visit: impl FnMut(&History),
) -> u64 {
    let all = completed + pending;
    let mut silent: Vec<Choice> = Vec::new();
    for choice in choices {
        let choice = Choice { result: Value::Null, ..choice.clone() };
        if !silent.contains(&choice) {
            silent.push(choice);
        }
    }
    let mut count = 0;
    let gaps: Vec<usize> = (0..all).map(|i| i.min(completed) + 1).collect();
    each(&gaps, |earliest| {
        if !earliest[completed..].is_sorted() {
            return; // Pending operations are alike up to their order.
        }
        for processes in assignments(spec, completed, earliest) {
            let sizes: Vec<usize> =
                (0..all).map(|i| if i < completed { choices.len() } else { silent.len() }).collect();
            each(&sizes, |picks| {
                let mut history = History::new();
                for index in 0..all {
                    let choice =
                        if index < completed { &choices[picks[index]] } else { &silent[picks[index]] };
                    let process = history.symbols.process(&Value::Int(processes[index] as i64));
                    let mut row = Operation::new(process, choice.op);
                    row.call = 2 * earliest[index] as i64;
                    row.ret = if index < completed { 2 * index as i64 + 1 } else { Operation::NEVER };
                    row.arg = history.symbols.intern(&choice.arg);
                    row.result = history.symbols.intern(&choice.result);
                    history.operations.push(row);
                }
                count += 1;
                visit(&history);
            });
        }
    });
    count
}

/// Who calls what: one way where it does not matter, all ways where it does.
fn assignments(spec: &Builtin, completed: usize, earliest: &[usize]) -> Vec<Vec<usize>> {
    let all = earliest.len();
    let latest = |i: usize| if i < completed { i } else { usize::MAX };
    let overlap = |a: usize, b: usize| earliest[a] <= latest(b) && earliest[b] <= latest(a);
    let mut found = Vec::new();
    each(&vec![PROCESSES; all], |processes| {
        let apart = (0..all).all(|b| (0..b).all(|a| processes[a] != processes[b] || !overlap(a, b)));
        let in_order =
            (0..all).all(|i| processes[i] <= processes[..i].iter().map(|p| p + 1).max().unwrap_or(0));
        if apart && in_order && (found.is_empty() || spec.observes_process()) {
            found.push(processes.to_vec());
        }
    });
    found
}

/// Every list with `list[i] < sizes[i]`.
fn each(sizes: &[usize], mut visit: impl FnMut(&[usize])) {
    if sizes.contains(&0) {
        return;
    }
    let mut list = vec![0; sizes.len()];
    loop {
        visit(&list);
        let Some(at) = (0..sizes.len()).rev().find(|&i| list[i] + 1 < sizes[i]) else { return };
        list[at] += 1;
        list[at + 1..].fill(0);
    }
}
