//! The slow and obvious judge: a search over schedules, and for each of them every order of its operations.
//!
//! It shares nothing with the harness that users call but the scheduler underneath, so the two can be compared.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use linpoint_sched::clocks::Clocks;
use linpoint_sched::strategy::Strategy;
use linpoint_sched::{Ending, Execution, Limits, MarkKind, Run, ThreadId, mark_call, mark_return, thread};

/// An object, and what was done to it.
pub struct Subject<O, S> {
    pub object: O,
    operations: Mutex<Vec<Option<Operation<S>>>>,
}

/// An operation that returned.
struct Operation<S> {
    /// Its result, in words.
    result: String,
    /// Takes a sequential object a step further, unless the result is wrong there.
    explains: Box<dyn Fn(&mut S) -> bool + Send>,
}

impl<O, S> Subject<O, S> {
    /// Runs an operation. `explains` does the same to the sequential object and says whether the result fits.
    pub fn op<R: Debug + Send + 'static>(
        &self,
        operation: impl FnOnce(&O) -> R,
        explains: impl Fn(&mut S, &R) -> bool + Send + 'static,
    ) {
        let number = {
            let mut operations = self.operations.lock().unwrap();
            operations.push(None);
            operations.len() - 1
        };
        mark_call(number as u32);
        let got = operation(&self.object);
        mark_return(number as u32);
        let result = format!("{got:?}");
        let explains = Box::new(move |spec: &mut S| explains(spec, &got));
        self.operations.lock().unwrap()[number] = Some(Operation { result, explains });
    }
}

/// What threads do to an object.
pub struct Scenario<O, S> {
    /// Before the threads begin.
    pub first: fn(&Subject<O, S>),
    /// One thread each.
    pub threads: Vec<fn(&Subject<O, S>)>,
    /// After they have ended.
    pub last: fn(&Subject<O, S>),
}

/// What a search found.
#[derive(Default)]
pub struct Found {
    /// Executions, those that the strategy gave up included.
    pub runs: u64,
    /// Did the strategy come to its end?
    pub exhausted: bool,
    /// The number of the first bad execution, and what is bad about it.
    pub bad: Option<(u64, String)>,
    /// The results of all operations, thread by thread, and how the execution ended.
    pub outcomes: BTreeSet<Vec<String>>,
    /// The traces, by their fingerprints.
    pub traces: BTreeSet<u64>,
}

/// Searches the schedules of `scenario`, at most `limit` of them.
pub fn search<O, S>(scenario: &Scenario<O, S>, strategy: &mut dyn Strategy, limit: u64) -> Found
where
    O: Default + Send + Sync + 'static,
    S: Default + Clone + 'static,
{
    let current = RefCell::new(None);
    let program = || {
        let subject = Arc::new(Subject { object: O::default(), operations: Mutex::default() });
        *current.borrow_mut() = Some(Arc::clone(&subject));
        (scenario.first)(&subject);
        thread::run_all(scenario.threads.iter().map(|&body| {
            let subject = Arc::clone(&subject);
            Box::new(move || body(&subject)) as Box<dyn FnOnce() + Send>
        }));
        (scenario.last)(&subject);
    };
    let mut execution = Execution::new(Limits::default());
    let mut clocks = Clocks::new();
    let mut found = Found::default();
    while found.runs < limit && !found.exhausted {
        found.runs += 1;
        let run = execution.run(&program, strategy);
        let subject: Arc<Subject<O, S>> = current.borrow_mut().take().unwrap();
        let operations = subject.operations.lock().unwrap();
        let bad = match &run.ending {
            Ending::Abandoned => None,
            Ending::Failed(failure) | Ending::Stuck(failure) => Some(failure.to_string()),
            Ending::Complete => (!explained(S::default(), &operations, &spans(run, operations.len()), 0))
                .then(|| format!("no order explains {:?}", numbers(&run.schedule()))),
        };
        if found.bad.is_none() {
            found.bad = bad.map(|what| (found.runs, what));
        }
        if !matches!(run.ending, Ending::Abandoned) {
            clocks.update(run, 0);
            found.traces.insert(clocks.trace_fingerprint());
            found.outcomes.insert(outcome(run, &operations));
        }
        drop(operations);
        if execution.newly_fair() {
            // Steps touch more from here on, and traces have other names.
            found = Found::default();
            strategy.restart();
        } else {
            found.exhausted = !strategy.advance(execution.record());
        }
    }
    found
}

fn numbers(schedule: &[ThreadId]) -> Vec<u8> {
    schedule.iter().map(|thread| thread.0).collect()
}

/// The results, in the order of threads and within a thread of calls.
fn outcome<S>(run: &Run, operations: &[Option<Operation<S>>]) -> Vec<String> {
    let mut calls: Vec<_> = run.marks.iter().filter(|mark| mark.kind == MarkKind::Call).collect();
    calls.sort_by_key(|call| (call.thread, call.own_steps));
    let result =
        |number: u32| operations[number as usize].as_ref().map_or("pending", |operation| &operation.result);
    let ending = match &run.ending {
        Ending::Failed(failure) | Ending::Stuck(failure) => failure.name(),
        Ending::Complete | Ending::Abandoned => "complete",
    };
    calls.iter().map(|call| result(call.operation)).chain([ending]).map(str::to_owned).collect()
}

/// The first and the last step of every operation, as numbers of steps.
fn spans(run: &Run, operations: usize) -> Vec<(usize, usize)> {
    let mut of_thread: Vec<Vec<usize>> = vec![Vec::new(); run.threads.len()];
    for (index, step) in run.steps.iter().enumerate() {
        of_thread[step.thread.index()].push(index);
    }
    let mut spans = vec![(0, usize::MAX); operations];
    for mark in &run.marks {
        let steps = &of_thread[mark.thread.index()];
        let span = &mut spans[mark.operation as usize];
        match mark.kind {
            MarkKind::Call => span.0 = steps.get(mark.own_steps as usize).copied().unwrap_or(run.steps.len()),
            MarkKind::Return => span.1 = steps[mark.own_steps as usize - 1],
        }
    }
    spans
}

/// Can the operations not in `done` be put in an order that their spans and the specification allow?
fn explained<S: Clone>(
    spec: S,
    operations: &[Option<Operation<S>>],
    spans: &[(usize, usize)],
    done: u64,
) -> bool {
    if done.count_ones() as usize == operations.len() {
        return true;
    }
    let left = |index: &usize| done >> index & 1 == 0;
    let earliest_end = (0..operations.len()).filter(left).map(|index| spans[index].1).min().unwrap();
    (0..operations.len()).filter(left).filter(|&index| spans[index].0 <= earliest_end).any(|index| {
        let mut after = spec.clone();
        operations[index].as_ref().is_none_or(|operation| (operation.explains)(&mut after))
            && explained(after, operations, spans, done | 1 << index)
    })
}
