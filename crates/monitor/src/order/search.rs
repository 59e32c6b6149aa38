//! Is there an order of these operations that the model allows? The search is [`linpoint_check::orders`].
//!
//! At each step any operation may come next that no missing operation precedes. The operations are tried in
//! the order given, so that the search follows an order that nearly works as far as it works.

use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::time::Instant;

use linpoint_check::orders::{Event, Placed, Question, Walked, walk};
use linpoint_history::{Call, OpCode, ProcessId, Signature, Value};

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
    let mut outcome = Outcome::None;
    let walked = walk(&Intervals { tasks }, [World(start)], |event| match event {
        Event::Step(spent) => {
            let expired = spent.steps.is_multiple_of(64) && Instant::now() > allowance.deadline;
            match expired || spent.remembered > allowance.elements {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
        Event::Explained(way) => {
            outcome = Outcome::Found(way.order().collect());
            ControlFlow::Break(())
        }
        Event::Refused { .. } | Event::End(_) => ControlFlow::Continue(()),
    });
    match (walked, outcome) {
        (Walked::Ended, Outcome::None) => Outcome::Cut,
        (_, outcome) => outcome,
    }
}

/// A model as a state: models are the same if they say so.
struct World(Box<dyn Model>);

impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        self.0.same(&*other.0)
    }
}

impl Eq for World {}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.digest());
    }
}

/// The tasks as a question: an interval that ended comes before one that began later.
struct Intervals<'a> {
    tasks: &'a [Task],
}

impl Question for Intervals<'_> {
    type State = World;

    fn count(&self) -> usize {
        self.tasks.len()
    }

    fn must(&self, op: usize) -> bool {
        self.tasks[op].must
    }

    fn next(&self, placed: &Placed, from: usize) -> Option<usize> {
        let missing = (0..self.tasks.len()).filter(|&i| self.tasks[i].must && !placed.contains(i));
        let limit = missing.map(|i| self.tasks[i].ret).min()?;
        (from..self.tasks.len()).find(|&i| !placed.contains(i) && self.tasks[i].call <= limit)
    }

    fn outcomes(&self, state: &World, op: usize, into: &mut Vec<World>) {
        into.extend(self.tasks[op].outcomes(&*state.0).into_iter().map(World));
    }

    fn size(&self, state: &World) -> usize {
        state.0.size() + self.tasks.len().div_ceil(64) + 16
    }
}
