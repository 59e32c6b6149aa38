//! The slow and obvious judge: depth-first search over schedules, and for each of them every order of its operations.
//!
//! It shares nothing with the harness that users call but the scheduler underneath, so the two can be compared.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use linpoint_sched::strategy::Strategy;
use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::{Ending, Execution, Limits, MarkKind, Run, ThreadId, mark_call, mark_return};

/// An object, and what was done to it.
pub struct Subject<O, S> {
    pub object: O,
    operations: Mutex<Vec<Option<Explanation<S>>>>,
}

/// Takes a sequential object a step further, unless the result that was seen is wrong there.
type Explanation<S> = Box<dyn Fn(&mut S) -> bool + Send>;

impl<O, S> Subject<O, S> {
    /// Runs an operation. `explains` does the same to the sequential object and says whether the result fits.
    pub fn op<R: Send + 'static>(
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
        let result = operation(&self.object);
        mark_return(number as u32);
        self.operations.lock().unwrap()[number] = Some(Box::new(move |spec| explains(spec, &result)));
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
#[derive(Debug)]
pub enum Found {
    /// Nothing wrong in so many executions; were they all?
    Nothing { runs: u64, complete: bool },
    /// No order explains the execution with this number.
    Unexplained { runs: u64, schedule: Vec<ThreadId> },
    /// The execution with this number failed by itself.
    Failed { runs: u64, failure: String },
}

/// Searches schedules with at most `bound` preemptions, at most `limit` of them.
pub fn search<O, S>(scenario: &Scenario<O, S>, bound: Option<u32>, limit: u64) -> Found
where
    O: Default + Send + Sync + 'static,
    S: Default + Clone + 'static,
{
    let current = RefCell::new(None);
    let program = || {
        let subject = Arc::new(Subject { object: O::default(), operations: Mutex::default() });
        *current.borrow_mut() = Some(Arc::clone(&subject));
        (scenario.first)(&subject);
        let threads: Vec<_> = scenario
            .threads
            .iter()
            .map(|&thread| {
                let subject = Arc::clone(&subject);
                linpoint::thread::spawn(move || thread(&subject))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        (scenario.last)(&subject);
    };
    let mut execution = Execution::new(Limits::default());
    let mut dfs = bound.map_or_else(Dfs::new, Dfs::bounded);
    for runs in 1..=limit {
        let run = execution.run(&program, &mut dfs);
        let subject: Arc<Subject<O, S>> = current.borrow_mut().take().unwrap();
        match &run.ending {
            Ending::Complete => {}
            Ending::Failed(failure) => return Found::Failed { runs, failure: failure.to_string() },
            other => return Found::Failed { runs, failure: format!("{other:?}") },
        }
        let operations = subject.operations.lock().unwrap();
        if !explained(S::default(), &operations, &spans(run, operations.len()), 0) {
            return Found::Unexplained { runs, schedule: run.schedule() };
        }
        drop(operations);
        if !dfs.advance(execution.record()) {
            return Found::Nothing { runs, complete: !dfs.was_cut() };
        }
    }
    Found::Nothing { runs: limit, complete: false }
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
    operations: &[Option<Explanation<S>>],
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
        operations[index].as_ref().is_none_or(|explains| explains(&mut after))
            && explained(after, operations, spans, done | 1 << index)
    })
}
