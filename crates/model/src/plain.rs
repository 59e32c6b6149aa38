//! Exploration without any reduction: the judge of everything that has some.
//!
//! One step of the interpreter is one move; calls and returns are moves of their own, at any time. States are
//! kept whole in a plain set, with threads, values and results under their own names. Only the numbers of
//! records are not part of a state, which is so in the language itself ([`Machine::canonical`]).
//! Linearizability is decided by [`judge`](self), which shares nothing with the search's monitor but the
//! table of the specification. Linearization points and claims are not looked at.
//!
//! It is slow, and that is what it is for: nothing in it has to be argued for.

mod calls;
mod hints;
mod judge;
mod noted;
mod walk;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::interp::{Choices, ErrorKind, Machine, Outcome, State};
use linpoint_lang::program::{ClientThread, OpId, Word};
use linpoint_lang::span::Span;
use linpoint_verdict::Counterexample;
use rustc_hash::FxHashMap;

use crate::client::Workload;
use crate::explore::{EveryRun, Explored, Limit, Verdict, Violation, Wrong};
use crate::reference::Reference;
use crate::trace::{Happened, TraceStep};

use calls::{Lists, NEW};
use judge::{Judge, SetId};

pub use calls::Values;
pub use noted::Noted;
pub use walk::{walk_noting, walk_plainly};

/// How far to go without reductions, and what counts as wrong.
#[derive(Clone, Debug)]
pub struct Plainly {
    /// Give up after this long.
    pub time: Option<Duration>,
    /// Give up beyond this many states, or steps of random runs.
    pub states: usize,
    /// What symbolic sizes are; the usual ones if not given.
    pub sizes: Option<Vec<Word>>,
    /// Where arguments come from.
    pub values: Values,
    /// Is it a violation that threads wait and nobody can go on?
    pub deadlocks: bool,
    /// Errors that are nobody's fault: a run is cut there, and is not wrong.
    pub forgiven: fn(ErrorKind) -> bool,
    /// Are locals forgotten when nobody reads them any more? Without it there are more states.
    pub forgetting: bool,
    /// Are the sizes those that everything is about, and not some among others?
    pub given: bool,
    /// Of a `choose` with many values, is a sample enough? What was passed over is not said to hold.
    pub sampling: bool,
}

impl Default for Plainly {
    fn default() -> Plainly {
        Plainly {
            time: None,
            states: 1_000_000,
            sizes: None,
            values: Values::distinct(),
            deadlocks: true,
            forgiven: |_| false,
            forgetting: true,
            given: false,
            sampling: false,
        }
    }
}

/// Explores every run of a workload without any reduction, shortest runs first.
///
/// `Holds` says that every run was seen. The workload's own number of values is not looked at;
/// [`Plainly::values`] says where arguments come from.
pub fn explore_plainly(program: &Program, workload: &Workload, plainly: &Plainly) -> Explored {
    explore_noting(program, workload, plainly, &mut Noted::new(program))
}

/// The same, and notes which operations return.
pub fn explore_noting(
    program: &Program,
    workload: &Workload,
    plainly: &Plainly,
    noted: &mut Noted,
) -> Explored {
    let start = Instant::now();
    match Plain::new(program, workload, plainly) {
        Ok((mut plain, initial)) => {
            plain.noted = std::mem::take(noted);
            plain.noted.begin();
            let found = plain.search(initial, start);
            // What a scope with other sizes than the usual ones waits for may be there with these.
            let usual = program.sizes.iter().map(|size| size.usual);
            let is_usual = plainly.sizes.as_ref().is_none_or(|sizes| sizes.iter().copied().eq(usual));
            if matches!(found, Ok(None)) && (is_usual || plainly.given) {
                plain.noted.end();
            }
            *noted = std::mem::take(&mut plain.noted);
            plain.explored(found, start)
        }
        Err(limit) => nothing(Verdict::Unknown(limit), start),
    }
}

fn nothing(verdict: Verdict, start: Instant) -> Explored {
    let elapsed = start.elapsed();
    Explored {
        verdict,
        states: 0,
        transitions: 0,
        depth: 0,
        memory: 0,
        digest: 0,
        distinct_data: false,
        elapsed,
        can_end: None,
        disagrees: false,
    }
}

/// A state of a plain search, whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Whole {
    state: State,
    /// How many calls each thread made.
    made: Vec<u32>,
    /// How many new pieces of data were handed out.
    handed_out: Word,
    /// Which explanations there are.
    set: SetId,
}

/// One move: a thread, where, and what it did.
#[derive(Clone, Debug)]
struct Moved {
    thread: usize,
    span: Span,
    what: Vec<Happened>,
}

/// A state on the way, and by which move it was first met.
struct Met {
    whole: Rc<Whole>,
    parent: usize,
    by: Option<Moved>,
    depth: usize,
}

/// A move that must not be.
struct Bad {
    wrong: Wrong,
    by: Moved,
    state: State,
}

/// What a move leads to.
enum Next {
    Good(Whole, Moved),
    Bad(Bad),
    /// Beyond what is looked at: more records than there is room for.
    Cut,
}

struct Plain<'p> {
    machine: Machine<'p>,
    workload: &'p Workload,
    judge: Option<Judge<'p>>,
    lists: Vec<Lists>,
    plainly: &'p Plainly,
    met: Vec<Met>,
    transitions: u64,
    /// Was every move looked at so far?
    complete: bool,
    noted: Noted,
    /// Which values to try, where a sample is enough.
    hints: Option<Arc<[Word]>>,
}

impl<'p> Plain<'p> {
    fn new(
        program: &'p Program,
        workload: &'p Workload,
        plainly: &'p Plainly,
    ) -> Result<(Plain<'p>, Whole), Limit> {
        let threads = workload.threads.len();
        let usual = || program.sizes.iter().map(|size| size.usual).collect();
        let sizes: Vec<Word> = plainly.sizes.clone().unwrap_or_else(usual);
        let mut machine = Machine::with_sizes(program, threads, sizes.clone());
        if !plainly.forgetting {
            machine.remember_locals();
        }
        if let Some(why) = workload.out_of_range(&machine) {
            return Err(Limit::CannotStart(why));
        }
        let state = machine.initial().map_err(|error| Limit::CannotStart(error.to_string()))?;
        let reference = Reference::of_callers(program, &sizes, threads);
        let judge = reference.map(|reference| Judge::new(reference, threads));
        let lists = calls::lists(&machine, &plainly.values);
        let complete = lists.iter().all(|lists| lists.complete);
        let initial = Whole { state, made: vec![0; threads], handed_out: 0, set: 0 };
        let (met, transitions, noted) = (Vec::new(), 0, Noted::new(program));
        let hints = plainly.sampling.then(|| hints::hints(program));
        let plain =
            Plain { machine, workload, judge, lists, plainly, met, transitions, complete, noted, hints };
        Ok((plain, initial))
    }

    fn is_over(&self, start: Instant) -> bool {
        self.plainly.time.is_some_and(|limit| start.elapsed() > limit)
    }

    /// Every state, breadth first; the last of the run to what is wrong, if something is.
    fn search(&mut self, initial: Whole, start: Instant) -> Result<Option<(usize, Bad)>, Limit> {
        let mut numbers: FxHashMap<Rc<Whole>, usize> = FxHashMap::default();
        let mut open = VecDeque::from([0]);
        let initial = Rc::new(initial);
        numbers.insert(Rc::clone(&initial), 0);
        self.met.push(Met { whole: initial, parent: 0, by: None, depth: 0 });
        while let Some(at) = open.pop_front() {
            // States with large arrays take long.
            if (at % 64 == 0 || self.met[at].whole.state.words.len() > 1000) && self.is_over(start) {
                return Err(Limit::Time);
            }
            let whole = Rc::clone(&self.met[at].whole);
            let mut next = Vec::new();
            (0..self.machine.threads).for_each(|thread| self.moves(&whole, thread, &mut next));
            if self.plainly.deadlocks && next.is_empty() && !self.is_finished(&whole) {
                let by = Moved { thread: 0, span: Span::default(), what: Vec::new() };
                return Ok(Some((at, Bad { wrong: Wrong::Deadlock, by, state: whole.state.clone() })));
            }
            self.transitions += next.len() as u64;
            for next in next {
                match next {
                    Next::Good(whole, by) => {
                        if numbers.contains_key(&whole) {
                            continue;
                        }
                        if self.met.len() >= self.plainly.states {
                            return Err(Limit::States);
                        }
                        let whole = Rc::new(whole);
                        numbers.insert(Rc::clone(&whole), self.met.len());
                        open.push_back(self.met.len());
                        let depth = self.met[at].depth + 1;
                        self.met.push(Met { whole, parent: at, by: Some(by), depth });
                    }
                    Next::Bad(bad) => return Ok(Some((at, bad))),
                    Next::Cut => self.complete = false,
                }
            }
        }
        if self.complete { Ok(None) } else { Err(Limit::States) }
    }

    fn is_finished(&self, whole: &Whole) -> bool {
        (0..self.machine.threads).all(|thread| {
            let made = whole.made[thread] as usize;
            let may_call = self.workload.has_calls_left(thread, made) && self.has_calls(thread, made);
            self.machine.pc(&whole.state, thread).is_none() && !may_call
        })
    }

    /// Is there anything that a thread can call? An operation whose parameter has no value has no calls.
    fn has_calls(&self, thread: usize, made: usize) -> bool {
        match &self.workload.threads[thread] {
            ClientThread::Calls(calls) => !calls.is_empty(),
            ClientThread::Any(ops, _) => {
                let mut allowed = ops.iter().filter(|op| self.workload.allows(made, **op));
                allowed.any(|op| !self.lists[op.index()].lists.is_empty())
            }
        }
    }

    /// Every move of a thread.
    fn moves(&mut self, whole: &Whole, thread: usize, next: &mut Vec<Next>) {
        match self.machine.pc(&whole.state, thread) {
            None => self.calls(whole, thread, next),
            Some(pc) => {
                for edge in 0..self.machine.program.node(pc).edges.len() {
                    let mut choices = self.hints.as_ref().map_or_else(Choices::default, Choices::sampling);
                    loop {
                        next.extend(self.step(whole, thread, edge, &mut choices));
                        if !choices.next() {
                            break;
                        }
                    }
                    self.complete &= !choices.is_sampled();
                }
            }
        }
    }

    /// Every call that an idle thread may make.
    fn calls(&mut self, whole: &Whole, thread: usize, next: &mut Vec<Next>) {
        let made = whole.made[thread] as usize;
        if !self.workload.has_calls_left(thread, made) {
            return;
        }
        match &self.workload.threads[thread] {
            ClientThread::Calls(calls) => {
                let (op, args) = &calls[made];
                next.push(self.call(whole, thread, *op, args.clone()));
            }
            ClientThread::Any(ops, _) => {
                for op in ops.iter().filter(|op| self.workload.allows(made, **op)) {
                    for list in 0..self.lists[op.index()].lists.len() {
                        let args = self.lists[op.index()].lists[list].clone();
                        next.push(self.call(whole, thread, *op, args));
                    }
                }
            }
        }
    }

    fn call(&mut self, whole: &Whole, thread: usize, op: OpId, mut args: Vec<Word>) -> Next {
        let mut after = whole.clone();
        for word in args.iter_mut().filter(|word| **word == NEW) {
            after.handed_out += 1;
            *word = after.handed_out;
        }
        after.made[thread] = self.workload.called(after.made[thread] as usize, op) as u32;
        self.machine.call(&mut after.state, thread, op, &args);
        self.noted.call(op);
        if let Some(judge) = &mut self.judge {
            after.set = judge.call(after.set, thread, op, &args);
        }
        let span = self.machine.program.operation(op).span;
        Next::Good(after, Moved { thread, span, what: vec![Happened::Call { op, args }] })
    }

    fn step(&mut self, whole: &Whole, thread: usize, edge: usize, choices: &mut Choices) -> Option<Next> {
        let pc = self.machine.pc(&whole.state, thread)?;
        let node = self.machine.program.node(pc);
        let mut by = Moved { thread, span: node.edges[edge].span, what: vec![Happened::Step] };
        let mut after = whole.clone();
        match self.machine.step(&mut after.state, thread, edge, choices, &mut Vec::new()) {
            Ok(Outcome::Disabled) => return None,
            Ok(Outcome::Moved) => self.noted.step(pc, edge),
            Ok(Outcome::Returned(words)) => {
                self.noted.step(pc, edge);
                self.noted.answer(node.op);
                by.what.push(Happened::Return { op: node.op, result: words.clone() });
                let made = after.made[thread] as usize;
                after.made[thread] = self.workload.answered(made, node.op, &words) as u32;
                if let Some(judge) = &mut self.judge {
                    match judge.answer(after.set, thread, node.op, &words) {
                        Some(set) => after.set = set,
                        None => {
                            let wrong = Wrong::NotLinearizable;
                            return Some(Next::Bad(Bad { wrong, by, state: after.state }));
                        }
                    }
                }
            }
            Err(error) if error.kind.is_limit() || (self.plainly.forgiven)(error.kind) => {
                return Some(Next::Cut);
            }
            Err(error) => {
                let wrong = Wrong::Error(error.kind);
                return Some(Next::Bad(Bad { wrong, by, state: after.state }));
            }
        }
        self.machine.canonical(&mut after.state);
        Some(Next::Good(after, by))
    }

    fn explored(mut self, found: Result<Option<(usize, Bad)>, Limit>, start: Instant) -> Explored {
        let depth = self.met.last().map_or(0, |last| last.depth);
        let verdict = match found {
            Err(limit) => Verdict::Unknown(limit),
            Ok(None) => Verdict::Holds(EveryRun::with(None)),
            Ok(Some((at, bad))) => {
                let mut way = vec![at];
                while let Some(&last) = way.last()
                    && last != 0
                {
                    way.push(self.met[last].parent);
                }
                let moves = way.into_iter().rev().filter_map(|at| {
                    let met = &self.met[at];
                    met.by.clone().map(|by| (by, met.whole.state.clone()))
                });
                let moves: Vec<(Moved, State)> = moves.collect();
                self.wrong(moves, bad)
            }
        };
        let (states, transitions) = (self.met.len(), self.transitions);
        Explored { states, transitions, depth, ..nothing(verdict, start) }
    }

    /// What a bad move says; nothing, if it may be explained by what the `spec` was not followed to.
    fn wrong(&mut self, moves: Vec<(Moved, State)>, bad: Bad) -> Verdict {
        let violation = self.violation(moves, bad);
        match &self.judge {
            Some(judge) if judge.leaves_open(&violation.wrong) => Verdict::Unknown(Limit::Specification),
            _ => Verdict::Violated(violation),
        }
    }

    fn violation(&mut self, mut moves: Vec<(Moved, State)>, bad: Bad) -> Counterexample<Violation> {
        moves.push((bad.by, bad.state));
        let steps: Vec<TraceStep> = moves
            .into_iter()
            .flat_map(|(by, state)| {
                let Moved { thread, span, what } = by;
                what.into_iter().map(move |what| TraceStep { thread, span, what, state: state.clone() })
            })
            .collect();
        let rechecked = match (&bad.wrong, &mut self.judge) {
            (Wrong::NotLinearizable, Some(judge)) => judge.recheck(&steps),
            _ => true,
        };
        Counterexample::new(Violation { wrong: bad.wrong, steps, repeats: 0 }, rechecked)
    }
}
