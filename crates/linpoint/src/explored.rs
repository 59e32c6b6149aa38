//! One scenario under one strategy: every run's trace is asked about once.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use linpoint_sched::clocks::Clocks;
use linpoint_sched::strategy::Strategy;
use linpoint_sched::{
    Ending, Execution, Failure, MarkKind, Run, ThreadId, is_tracked, mark_call, mark_return, thread,
    untracked,
};
use rustc_hash::FxHashMap;

use crate::claims::Claims;
use crate::key::{Key, Keys, covers};
use crate::linearize::{Criterion, Moment, Question, Remembered, explained_by_brute_force, unexplained};
use crate::scenario::Scenario;
use crate::spec::{Object, Specification};

/// What was found wrong in a run.
#[derive(Clone, Debug)]
pub(crate) struct Finding<S: Specification> {
    pub(crate) fault: Fault,
    pub(crate) schedule: Vec<ThreadId>,
    pub(crate) preemptions: usize,
    /// What each operation answered.
    pub(crate) results: Vec<Option<S::Ret>>,
}

/// What kind of wrong.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// A history that nothing explains.
    Unexplained { moments: Vec<Moment>, should_not_wait: Option<Failure>, rechecked: bool },
    /// Something else: a panic, a race, a claim.
    Failure(Failure),
}

impl Fault {
    /// As a failure, in words.
    pub(crate) fn name(&self) -> Failure {
        match self {
            Fault::Failure(failure) => failure.clone(),
            Fault::Unexplained { .. } => Failure::Violation("a history that nothing explains".to_owned()),
        }
    }

    /// Two faults that a user would call the same.
    pub(crate) fn resembles(&self, other: &Fault) -> bool {
        match (self, other) {
            (Fault::Unexplained { .. }, Fault::Unexplained { .. }) => true,
            (Fault::Failure(Failure::Claim(a)), Fault::Failure(Failure::Claim(b))) => a.site == b.site,
            (Fault::Failure(a), Fault::Failure(b)) => a.name() == b.name(),
            _ => false,
        }
    }
}

/// How far a walk over the schedules went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The strategy came to its end.
    Exhausted,
    /// The number of runs or the time allowed was used up.
    Budget,
}

/// A scenario being explored; it remembers the keys it has settled from one strategy to the next.
pub(crate) struct Exploration<'a, O: Object> {
    scenario: &'a Scenario<O::Spec>,
    ops: Vec<<O::Spec as Specification>::Op>,
    predecessor: Vec<Option<usize>>,
    criterion: Criterion,
    keys: Keys,
    remembered: Remembered<O::Spec>,
    key: Key,
    clocks: Clocks,
    numbers: FxHashMap<<O::Spec as Specification>::Ret, u32>,
    /// What the operations of the latest run answered, as numbers.
    answers: Vec<u32>,
    /// The answers that have these numbers.
    answered: Vec<Option<<O::Spec as Specification>::Ret>>,
    /// Did all of them answer, in a run that was not stuck?
    whole: bool,
    /// With those answers, what could not come before what in a run that was fine; empty if there was none.
    fine: Vec<u64>,
    pub(crate) runs: u64,
    pub(crate) claims: Claims,
}

/// What the operations of a run answered. The threads of a run are fibers of one OS thread, so that no lock is needed.
pub(crate) type Results<S> = Rc<RefCell<Vec<Option<<S as Specification>::Ret>>>>;

const PENDING: u32 = u32::MAX;
const IDLE: u32 = u32::MAX - 1;
const ABSENT: u32 = u32::MAX - 2;
/// No answer yet. Those that were given have smaller numbers.
const NEW: u32 = u32::MAX - 3;

impl<'a, O: Object> Exploration<'a, O> {
    pub(crate) fn new(scenario: &'a Scenario<O::Spec>, criterion: Criterion) -> Self {
        let ops = scenario.operations();
        Exploration {
            scenario,
            ops,
            predecessor: scenario.predecessors(),
            criterion,
            keys: Keys::default(),
            remembered: Remembered::new(),
            key: Key::default(),
            clocks: Clocks::without_claims(),
            numbers: FxHashMap::default(),
            answers: Vec::new(),
            answered: Vec::new(),
            whole: false,
            fine: Vec::new(),
            runs: 0,
            claims: Claims::default(),
        }
    }

    /// The operations, by number.
    pub(crate) fn operations(&self) -> &[<O::Spec as Specification>::Op] {
        &self.ops
    }

    /// How many different questions were asked.
    pub(crate) fn questions(&self) -> usize {
        self.keys.asked
    }

    /// Runs the scenario as `strategy` says, until something is wrong, or it has no more, or the budget is used up.
    pub(crate) fn walk(
        &mut self,
        execution: &mut Execution,
        strategy: &mut dyn Strategy,
        runs: u64,
        deadline: Option<Instant>,
    ) -> Result<Stop, Box<Finding<O::Spec>>> {
        let results = Results::<O::Spec>::default();
        self.walk_with(execution, strategy, runs, deadline, &results)
    }

    /// As [`Exploration::walk`], with the answers of the latest run in `results`.
    pub(crate) fn walk_with(
        &mut self,
        execution: &mut Execution,
        strategy: &mut dyn Strategy,
        runs: u64,
        deadline: Option<Instant>,
        results: &Results<O::Spec>,
    ) -> Result<Stop, Box<Finding<O::Spec>>> {
        let program = program::<O>(self.scenario, results);
        let mut made = 0;
        loop {
            execution.run(&program, strategy);
            self.runs += 1;
            made += 1;
            self.judge(execution.record(), results, strategy.makes_every_order())?;
            if execution.record().claims && !matches!(execution.record().ending, Ending::Abandoned) {
                self.claims.add(&execution.claims());
            }
            if execution.newly_fair() {
                strategy.restart();
            } else if !strategy.advance(execution.record()) {
                return Ok(Stop::Exhausted);
            }
            let late = made % 256 == 0 && deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if made >= runs || late {
                return Ok(Stop::Budget);
            }
        }
    }

    /// Is the run all right? With `own_order` only in the order it was made, otherwise in every order of its trace.
    pub(crate) fn judge(
        &mut self,
        run: &Run,
        results: &Results<O::Spec>,
        own_order: bool,
    ) -> Result<(), Box<Finding<O::Spec>>> {
        let results = results.borrow();
        let finding = |fault| {
            let (schedule, preemptions) = (run.schedule(), run.preemptions());
            Box::new(Finding { fault, schedule, preemptions, results: results.clone() })
        };
        match &run.ending {
            Ending::Abandoned => return Ok(()),
            Ending::Failed(failure) => return Err(finding(Fault::Failure(failure.clone()))),
            // Nobody can go on, and it is no operation that waits: the object's constructor does, or its destructor, or
            // a thread that it left behind. No specification asks for that.
            Ending::Stuck(failure) if !has_pending(run) => {
                return Err(finding(Fault::Failure(failure.clone())));
            }
            Ending::Complete | Ending::Stuck(_) => {}
        }
        if own_order {
            self.key.compute_in_order(run, self.ops.len());
        } else {
            self.clocks.update(run, 0);
            self.key.compute(run, &self.clocks, self.ops.len());
        }
        let same = self.number(&results);
        // One run after the other often answers the same.
        if same && !self.fine.is_empty() && covers(&self.fine, &self.key.cannot) {
            return Ok(());
        }
        self.fine.clear();
        if let Some(fine) = self.keys.covering(&self.answers, &self.key.cannot) {
            self.fine.extend_from_slice(fine);
            return Ok(());
        }
        if own_order {
            self.key.compute_after_in_order(run, self.ops.len());
        } else {
            self.key.compute_after(run, &self.clocks);
        }
        let question = Question {
            ops: &self.ops,
            results: &results,
            cannot: &self.key.cannot,
            after: &self.key.after,
            predecessor: &self.predecessor,
            idle: self.key.idle,
            absent: self.key.absent,
            stuck: self.key.stuck,
            criterion: self.criterion,
        };
        let Some(found) = unexplained::<O::Spec>(&question, &mut self.remembered) else {
            self.keys.insert(&self.answers, &self.key.cannot);
            self.fine.extend_from_slice(&self.key.cannot);
            return Ok(());
        };
        let rechecked = explained_by_brute_force(&question, &found.moments);
        assert!(
            rechecked != Some(true),
            "two deciders disagree about a history: this is a bug in linpoint, please report it"
        );
        let should_not_wait = match &run.ending {
            Ending::Stuck(failure) if found.should_not_wait => Some(failure.clone()),
            _ => None,
        };
        Err(finding(Fault::Unexplained {
            moments: found.moments,
            should_not_wait,
            rechecked: rechecked.is_some(),
        }))
    }

    /// Numbers the answers, so that keys are compared by numbers. Returns whether they are those of the run before.
    fn number(&mut self, results: &[Option<<O::Spec as Specification>::Ret>]) -> bool {
        let whole = self.key.absent | self.key.idle == 0 && !self.key.stuck;
        if whole && self.whole && *results == *self.answered {
            return true;
        }
        // Then every answer is in `answered`, if all operations gave one.
        self.whole = whole && results.iter().all(Option::is_some);
        let mut same = self.answers.len() == results.len() + 1;
        if !same {
            self.answers.clear();
            self.answers.resize(results.len() + 1, NEW);
            self.answered.clear();
            self.answered.resize(results.len(), None);
        }
        for (index, result) in results.iter().enumerate() {
            let bit = 1 << index;
            let (before, answered) = (&mut self.answers[index], &mut self.answered[index]);
            let answer = match result {
                _ if self.key.absent & bit != 0 => ABSENT,
                _ if self.key.idle & bit != 0 => IDLE,
                None => PENDING,
                Some(_) if *before < NEW && answered == result => *before,
                Some(ret) => {
                    answered.clone_from(result);
                    match self.numbers.get(ret) {
                        Some(&number) => number,
                        None => {
                            let next = self.numbers.len() as u32;
                            self.numbers.insert(ret.clone(), next);
                            next
                        }
                    }
                }
            };
            same &= answer == *before;
            *before = answer;
        }
        let stuck = u32::from(self.key.stuck);
        same && std::mem::replace(&mut self.answers[results.len()], stuck) == stuck
    }
}

/// Was an operation called that did not return?
fn has_pending(run: &Run) -> bool {
    let count = |kind| run.marks.iter().filter(|mark| mark.kind == kind).count();
    count(MarkKind::Call) > count(MarkKind::Return)
}

/// An object of more bytes is put on the heap: the stack of a run is small.
const LARGE: usize = 1 << 12;

/// The program that runs `scenario` once and leaves the answers in `results`.
pub(crate) fn program<'a, O: Object>(
    scenario: &'a Scenario<O::Spec>,
    results: &'a Results<O::Spec>,
) -> impl Fn() + 'a {
    let count = scenario.len();
    let run = move |object: &O| {
        perform_all(object, &scenario.before, 0, results);
        let first = scenario.before.len();
        thread::run_numbered(scenario.threads.len(), &|index| {
            let base = first + scenario.threads[..index].iter().map(Vec::len).sum::<usize>();
            perform_all(object, &scenario.threads[index], base, results);
        });
        perform_all(object, &scenario.after, count - scenario.after.len(), results);
    };
    move || {
        if is_tracked() {
            untracked(|| forget(&mut results.borrow_mut(), count));
            // On the heap, where its state can be compared between executions.
            run(&Box::new(O::create()));
        } else {
            // The program must allocate the same every time.
            untracked(|| forget(&mut results.borrow_mut(), count));
            if size_of::<O>() > LARGE { run(&Box::new(O::create())) } else { run(&O::create()) }
        }
    }
}

/// Makes room for the answers of `count` operations.
fn forget<R>(results: &mut Vec<Option<R>>, count: usize) {
    results.clear();
    results.resize_with(count, || None);
}

/// Performs operations one after the other, marking where each begins and ends.
fn perform_all<O: Object>(
    object: &O,
    ops: &[<O::Spec as Specification>::Op],
    first: usize,
    results: &Results<O::Spec>,
) {
    for (index, op) in ops.iter().enumerate() {
        let number = first + index;
        mark_call(number as u32);
        let answer = object.perform(op);
        mark_return(number as u32);
        if is_tracked() {
            untracked(|| {
                let answer = Some(answer.clone());
                results.borrow_mut()[number] = answer;
            });
        } else {
            results.borrow_mut()[number] = Some(answer);
        }
    }
}
