//! Is there an order of these operations that the model allows? (Wing & Gong 1993, with the memory of dead ends of Lowe 2017.)
//!
//! Depth first, with a stack of its own. At each step any operation may come next that no missing operation precedes. The operations are
//! tried in the order given, so that the search follows an order that nearly works as far as it works. Dead ends are remembered with their states, not
//! with hashes of them: a "no" is never due to a collision.

use std::time::Instant;

use linpoint_history::{Call, OpCode, ProcessId, Signature, Value};
use rustc_hash::FxHashMap;

use crate::event::ThreadId;
use crate::finding::Seen;
use crate::model::{Applied, Model};

/// An operation to be placed.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub thread: ThreadId,
    pub op: u8,
    pub arg: Value,
    /// None if nobody knows.
    pub result: Option<Value>,
    /// What the call saw of the counter.
    pub call: u64,
    /// The number of the return; `u64::MAX` for one that never came.
    pub ret: u64,
    pub commit: Option<u64>,
    /// Must it be placed? One that returned after the moment in question may be left out.
    pub must: bool,
}

impl Task {
    pub fn call(&self) -> Call<'_> {
        Call { op: OpCode(self.op), process: ProcessId(self.thread.0), arg: &self.arg }
    }

    /// Was it dropped, without a commit and without an answer?
    pub fn is_dropped(&self) -> bool {
        self.result.is_none() && self.commit.is_none()
    }

    /// Nobody's: where none can be named.
    pub fn none() -> Task {
        let (thread, arg) = (ThreadId(u32::MAX), Value::Null);
        Task { thread, op: u8::MAX, arg, result: None, call: 0, ret: u64::MAX, commit: None, must: false }
    }

    /// As a person sees it.
    pub fn seen(&self, signature: &Signature) -> Seen {
        Seen {
            thread: self.thread,
            op: self.op,
            name: signature.operations.get(usize::from(self.op)).map_or("?", |decl| decl.name),
            arg: self.arg.clone(),
            result: self.result.clone(),
            call: self.call,
            commit: self.commit,
            ret: (self.ret != u64::MAX).then_some(self.ret),
        }
    }

    /// Every state it may lead to.
    pub fn outcomes(&self, model: &dyn Model) -> Vec<Box<dyn Model>> {
        match &self.result {
            None => model.apply_pending(self.call()),
            Some(result) => {
                let mut next = model.fork();
                match next.apply(self.call(), result, &mut Vec::new()) {
                    Applied::Yes => vec![next],
                    Applied::No { .. } => Vec::new(),
                }
            }
        }
    }
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Indices of tasks, in an order that works.
    Found(Vec<usize>),
    /// No order works.
    None,
    /// There was no time or no room to find out.
    Cut,
}

/// How much may be spent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pub deadline: Instant,
    /// Elements of remembered states.
    pub elements: usize,
}

/// Looks for an order of `tasks` from the state of `start`.
pub(crate) fn find(start: Box<dyn Model>, tasks: &[Task], allowance: &Allowance) -> Outcome {
    let mut search = Search {
        tasks,
        allowance,
        done: vec![0; tasks.len().div_ceil(64)],
        missing: tasks.iter().filter(|task| task.must).count(),
        dead: FxHashMap::default(),
        elements: 0,
    };
    search.run(start)
}

struct Frame {
    model: Box<dyn Model>,
    /// The next task to try.
    cursor: usize,
    /// The task that led here, if any.
    task: Option<usize>,
    /// Other states that the task at the cursor may lead to.
    outcomes: Vec<Box<dyn Model>>,
    trying: usize,
}

type DeadEnds = FxHashMap<(Box<[u64]>, u64), Vec<Box<dyn Model>>>;

struct Search<'a> {
    tasks: &'a [Task],
    allowance: &'a Allowance,
    done: Vec<u64>,
    missing: usize,
    dead: DeadEnds,
    elements: usize,
}

impl Search<'_> {
    fn run(&mut self, start: Box<dyn Model>) -> Outcome {
        let frame = |model, task| Frame { model, cursor: 0, task, outcomes: Vec::new(), trying: 0 };
        let mut stack = vec![frame(start, None)];
        let mut steps = 0u64;
        while let Some(top) = stack.last_mut() {
            if self.missing == 0 {
                return Outcome::Found(stack.iter().filter_map(|frame| frame.task).collect());
            }
            steps += 1;
            let expired = steps.is_multiple_of(64) && Instant::now() > self.allowance.deadline;
            if expired || self.elements > self.allowance.elements {
                return Outcome::Cut;
            }
            if let Some(model) = top.outcomes.pop() {
                let task = top.trying;
                self.set(task, true);
                if self.is_dead(&*model) {
                    self.set(task, false);
                } else {
                    stack.push(frame(model, Some(task)));
                }
            } else if let Some(task) = self.candidate(top.cursor) {
                top.cursor = task + 1;
                top.trying = task;
                top.outcomes = self.tasks[task].outcomes(&*top.model);
            } else if let Some(frame) = stack.pop() {
                self.bury(frame.model);
                if let Some(task) = frame.task {
                    self.set(task, false);
                }
            }
        }
        Outcome::None
    }

    /// The next task from `cursor` on that no missing task precedes.
    fn candidate(&self, cursor: usize) -> Option<usize> {
        let missing = (0..self.tasks.len()).filter(|&i| self.tasks[i].must && !self.is_done(i));
        let limit = missing.map(|i| self.tasks[i].ret).min()?;
        (cursor..self.tasks.len()).find(|&i| !self.is_done(i) && self.tasks[i].call <= limit)
    }

    fn is_done(&self, task: usize) -> bool {
        self.done[task / 64] >> (task % 64) & 1 != 0
    }

    fn set(&mut self, task: usize, done: bool) {
        self.done[task / 64] ^= 1 << (task % 64);
        if self.tasks[task].must {
            self.missing = if done { self.missing - 1 } else { self.missing + 1 };
        }
    }

    fn is_dead(&self, model: &dyn Model) -> bool {
        let key = (self.done.clone().into_boxed_slice(), model.digest());
        self.dead.get(&key).is_some_and(|models| models.iter().any(|other| other.same(model)))
    }

    fn bury(&mut self, model: Box<dyn Model>) {
        self.elements += model.size() + self.done.len() + 16;
        let key = (self.done.clone().into_boxed_slice(), model.digest());
        self.dead.entry(key).or_default().push(model);
    }
}
