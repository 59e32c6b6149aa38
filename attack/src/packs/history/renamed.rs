//! What must not matter: who the processes are, how objects are called, when the clock began, in which order the lines stand.

use std::collections::{BTreeMap, VecDeque};

use linpoint_check::portfolio::Choice;
use linpoint_history::rng::Rng;

use super::case::{self, Case, line};
use super::{decide, spec_of};
use crate::pack::Round;

/// A history of a few objects of one specification, and the same one in other words.
pub fn round(rng: &mut Rng) -> Round {
    let first = case::random(rng, 8);
    let spec = spec_of(&first);
    let objects = objects(first, rng);
    let names = ["a", "b", "c", "d"];
    let plain = joined(lines(&objects, &names, &mut |op| op).into_iter().map(|(_, line)| line));
    // Processes in another order, other stamps in the same order, other names of objects.
    let (shift, scale) = (rng.below(1000) as i64 - 500, 1 + rng.below(1000) as i64);
    let mut stranger = |mut op: case::Op| {
        op.process = 7_000_000 - op.process;
        op.call = op.call * scale + shift;
        op.end = if op.is_pending() { op.end } else { op.end * scale + shift };
        op
    };
    let renamed = joined(mixed(lines(&objects, &["", "\\u0000x", "key", "0"], &mut stranger), rng));
    let (before, after) = (decide(&plain, &spec, Choice::Auto), decide(&renamed, &spec, Choice::Auto));
    if before != after {
        let said = format!("{after:?}");
        return Round::disagreed(said, format!("{before:?} of\n{plain}"), renamed, objects[0].command());
    }
    Round::Agreed(1)
}

/// The first history, and others of the same specification.
fn objects(first: Case, rng: &mut Rng) -> Vec<Case> {
    let mut objects = vec![first];
    let mut tries = 0;
    while objects.len() < 3 && tries < 400 {
        tries += 1;
        let another = case::random(rng, 6);
        if another.kind() == objects[0].kind() && another.capacity() == objects[0].capacity() {
            objects.push(Case {
                spec: objects[0].spec.clone(),
                initial: objects[0].initial.clone(),
                ..another
            });
        }
    }
    // A process is busy with one object at a time.
    for (index, object) in objects.iter_mut().enumerate() {
        object.ops.iter_mut().for_each(|op| op.process += 1000 * index as i64);
    }
    objects
}

/// A line for each operation, with its process.
fn lines(
    objects: &[Case],
    names: &[&str],
    rename: &mut dyn FnMut(case::Op) -> case::Op,
) -> Vec<(i64, String)> {
    let mut lines = Vec::new();
    for (object, name) in objects.iter().zip(names) {
        for op in &object.ops {
            let op = rename(op.clone());
            lines.push((op.process, line(&op, Some(name))));
        }
    }
    lines
}

/// Lines in another order, but for those of one process: where its operations have one and the same stamp, it is the order of the
/// lines that says which came first.
fn mixed(lines: Vec<(i64, String)>, rng: &mut Rng) -> Vec<String> {
    let mut turns: Vec<i64> = lines.iter().map(|(process, _)| *process).collect();
    for index in (1..turns.len()).rev() {
        turns.swap(index, rng.below(index as u64 + 1) as usize);
    }
    let mut of_process: BTreeMap<i64, VecDeque<String>> = BTreeMap::new();
    for (process, line) in lines {
        of_process.entry(process).or_default().push_back(line);
    }
    turns.iter().filter_map(|process| of_process.get_mut(process)?.pop_front()).collect()
}

fn joined(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}
