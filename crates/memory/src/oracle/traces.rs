//! What one thread can do by itself, whatever its reads return.

use std::collections::{BTreeMap, BTreeSet};

use super::axioms::Item;
use crate::event::{Kind, Location, Value};
use crate::ordering::Ordering;
use crate::program::{Program, Step};

/// How the execution of a thread ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Finish {
    /// At its end.
    Finished,
    /// Blocked or failed.
    Stopped,
    /// Waiting for a thread that does not end.
    Waits(usize),
    /// It was never created.
    NotCreated,
}

/// One execution of one thread.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pub(super) events: Vec<Item>,
    pub(super) finish: Finish,
    /// Does the thread have to be created?
    pub(super) waits: bool,
}

/// The values that each location may hold.
type Values = BTreeMap<Location, BTreeSet<Value>>;

/// All executions of each thread. `None`: too many.
///
/// Which values a location may hold is found in rounds: at first the initial one, then what threads write
/// when they read such values, and so on. In an execution without cycles of `po ∪ rf` a value depends on at
/// most as many reads as there are, so as many rounds are enough even if values never stop growing.
pub(super) fn of_threads<P: Program>(program: &mut P, most: usize) -> Option<Vec<Vec<Trace>>> {
    let mut values = Values::new();
    let mut round = 0;
    loop {
        let mut threads = Vec::new();
        for thread in 0..program.threads() {
            threads.push(of_thread(program, thread, &values, most)?);
        }
        let before = values.clone();
        for event in threads.iter().flatten().flat_map(|trace| &trace.events) {
            if let (Kind::Write, Some(location)) = (event.kind, event.location) {
                values.entry(location).or_default().insert(event.value);
            }
        }
        let longest = |traces: &Vec<Trace>| {
            let reads = |trace: &Trace| trace.events.iter().filter(|event| event.kind == Kind::Read).count();
            traces.iter().map(reads).max().unwrap_or(0)
        };
        let rounds: usize = threads.iter().map(longest).sum();
        if values == before || round > rounds {
            return Some(threads);
        }
        round += 1;
    }
}

fn of_thread<P: Program>(program: &mut P, thread: usize, values: &Values, most: usize) -> Option<Vec<Trace>> {
    let waits = !program.starts(thread);
    let mut traces = Vec::new();
    if waits {
        traces.push(Trace { events: Vec::new(), finish: Finish::NotCreated, waits });
    }
    let mut scripts: Vec<Vec<Value>> = vec![Vec::new()];
    while let Some(script) = scripts.pop() {
        match execute(program, thread, &script, values) {
            Run::Needs(answers) => scripts.extend(answers.into_iter().map(|answer| {
                let mut longer = script.clone();
                longer.push(answer);
                longer
            })),
            Run::Ends(events, finish) => traces.push(Trace { events, finish, waits }),
        }
        if traces.len() > most || scripts.len() > most {
            return None;
        }
    }
    Some(traces)
}

enum Run {
    /// The script ends before the thread does; these are possible answers.
    Needs(Vec<Value>),
    Ends(Vec<Item>, Finish),
}

/// Executes one thread with answers from a script.
fn execute<P: Program>(program: &mut P, thread: usize, script: &[Value], values: &Values) -> Run {
    let mut script = script.iter().copied();
    let mut events: Vec<Item> = Vec::new();
    program.restart();
    loop {
        let step = program.next(thread);
        let mut add = |kind, ordering, location, value, exclusive| {
            events.push(Item { kind, ordering, exclusive, location, value, thread, index: 0, source: None });
        };
        let mut answer = 0;
        match step {
            Step::Read { location, access } => {
                let Some(value) = script.next() else {
                    let mut possible = values.get(&location).cloned().unwrap_or_default();
                    possible.insert(program.initial(location));
                    return Run::Needs(possible.into_iter().collect());
                };
                let (ordering, exclusive) = access.label(value);
                add(Kind::Read, ordering, Some(location), value, exclusive);
                if let Some(written) = access.written(value) {
                    add(Kind::Write, ordering, Some(location), written, true);
                }
                answer = value;
            }
            Step::Write { location, ordering, value } => {
                add(Kind::Write, ordering, Some(location), value, false);
            }
            Step::Fence(ordering) => add(Kind::Fence, ordering, None, 0, false),
            Step::Create(other) => add(Kind::Create(other as u32), Ordering::NonAtomic, None, 0, false),
            Step::Join(other) => {
                // Either the other thread ends, or this one stops here.
                match script.next() {
                    None => return Run::Needs(vec![0, 1]),
                    Some(0) => return Run::Ends(events, Finish::Waits(other)),
                    Some(_) => add(Kind::Join(other as u32), Ordering::NonAtomic, None, 0, false),
                }
            }
            Step::Choose(of) => {
                let Some(value) = script.next() else {
                    return Run::Needs((0..Value::from(of.max(1))).collect());
                };
                add(Kind::Choice(of), Ordering::NonAtomic, None, value, false);
                answer = value;
            }
            Step::Call { operation, argument } => {
                add(Kind::Call(operation), Ordering::NonAtomic, None, argument, false);
            }
            Step::Return(result) => add(Kind::Return, Ordering::NonAtomic, None, result, false),
            Step::Finished => return Run::Ends(events, Finish::Finished),
            Step::Blocked | Step::Failed(_) | Step::Endless => return Run::Ends(events, Finish::Stopped),
        }
        program.resume(thread, answer);
    }
}
