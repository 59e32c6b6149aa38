//! One object followed: events in, findings out.
//!
//! Events come in from the threads' rings ([`Checker::push`]), are put into the order of their numbers ([`crate::merge`]) and replayed: writes go to the
//! shadow, and at each commit the operation takes effect in the specification with the answer it gave ([`crate::refine`]). A commit
//! waits until its operation has answered.
//!
//! **Why a clean run means refinement.** Every operation that returned was applied exactly once, at its commit, between its call and its return, and the
//! specification gave its answer: the order of commits is a witness of linearizability (Tasiran & Qadeer 2005, section 4). That holds whether
//! or not the annotation is right: a wrong annotation can only make the check fail, and then [`crate::blame`] says so.

use std::time::Duration;

use linpoint_history::Signature;

use crate::blame::{self, Case};
use crate::event::{Event, ObjectId, ThreadId, Write};
use crate::finding::{Blame, Difference, Finding, Found, Mistake, Refused, Seen, Unknown};
use crate::merge::{Answer, Marks, Merge, OpIndex, Open, Slot};
use crate::model::Model;
use crate::order::search::Task;
use crate::refine::{Differs, Refine};
use crate::sections::Sections;
use crate::shadow::Shadow;
use crate::trail::{Past, Trail};

/// What is to be checked.
pub struct Setup {
    /// The object, as findings name it.
    pub object: ObjectId,
    /// The specification.
    pub model: Box<dyn Model>,
    /// The shadow of the implementation, where its view is compared.
    pub view: Option<Box<dyn Shadow>>,
    /// How the object's commits are known.
    pub commits: Commits,
    /// When to give up.
    pub limits: Limits,
}

impl Setup {
    /// I/O refinement of an object with commit points, with the usual limits.
    pub fn new(object: ObjectId, model: Box<dyn Model>) -> Setup {
        Setup { object, model, view: None, commits: Commits::Marked, limits: Limits::default() }
    }

    /// With view refinement.
    pub fn with_view(mut self, shadow: Box<dyn Shadow>) -> Setup {
        self.view = Some(shadow);
        self
    }

    /// With other commits.
    pub fn with_commits(mut self, commits: Commits) -> Setup {
        self.commits = commits;
        self
    }
}

/// How the commits of an object are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// Every operation logs its commit.
    Marked,
    /// None does: an operation takes effect some time between its call and its return.
    Intervals,
}

/// When a checker gives up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many events may wait for one operation to answer.
    pub waiting: usize,
    /// So many configurations (a state of the specification and the operations that took effect) may be possible at once.
    pub configurations: usize,
    /// So long may a search for another order take, once something does not fit.
    pub blame: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { waiting: 1 << 24, configurations: 1 << 14, blame: Duration::from_secs(10) }
    }
}

/// How a log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every thread ended: operations still open are pending for ever, and a number that is missing is lost.
    Complete,
    /// The log breaks off: what is missing was not written. What cannot be judged is counted.
    Torn,
}

/// How far a checker is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Events judged so far, all in all.
    pub events: u64,
    /// Operations that took effect in the specification so far, all in all.
    pub operations: u64,
    /// Events pushed and not judged yet; once the object is decided, all that follow.
    pub lag: u64,
    /// What was found since the last call.
    pub findings: Vec<Finding>,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The verdict.
    pub conclusion: Conclusion,
    /// Events judged.
    pub events: u64,
    /// Operations that took effect in the specification.
    pub operations: u64,
    /// Events that were not judged.
    pub unjudged: u64,
    /// Numbers that are in no record, as far as can be told.
    pub missing: u64,
    /// What was found since the last [`Checker::advance`].
    pub findings: Vec<Finding>,
}

/// The verdict about one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// Everything that was judged fits the specification.
    Clean,
    /// The object is wrong.
    Violated,
    /// The annotation is wrong.
    Mistaken,
    /// It does not fit, and whether the object or the annotation is to blame is open; or not everything could be judged.
    Unknown,
}

/// Follows one object.
pub struct Checker {
    object: ObjectId,
    signature: Signature,
    limits: Limits,
    merge: Merge,
    sections: Sections,
    refine: Refine,
    trail: Trail,
    /// All events with smaller numbers were pushed, or are lost.
    sealed: u64,
    /// A number that is missing now is lost.
    ended: bool,
    stage: Stage,
    /// Calls of operations that were taken out.
    calls: u64,
    operations: u64,
    /// Events judged when the object was decided.
    judged: u64,
    findings: Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Following,
    /// An operation does not fit; what overlaps it is awaited, to find out why.
    Blaming(Box<Failure>),
    Decided(Conclusion),
}

/// An operation that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    op: OpIndex,
    number: u64,
    expected: String,
    state: String,
}

impl Checker {
    /// Begins with an object in its initial state.
    pub fn new(setup: Setup) -> Checker {
        let Setup { object, model, view, commits, limits } = setup;
        let marks = if commits == Commits::Marked { Marks::Needed } else { Marks::Refused };
        Checker {
            object,
            signature: model.signature().clone(),
            limits,
            merge: Merge::new(marks),
            sections: Sections::default(),
            trail: Trail::new(&*model),
            refine: Refine::new(model, view),
            sealed: 0,
            ended: false,
            stage: Stage::Following,
            calls: 0,
            operations: 0,
            judged: 0,
            findings: Vec::new(),
        }
    }

    /// Takes in an event. Events of one thread come in that thread's order; between threads in any.
    #[inline]
    pub fn push(&mut self, event: Event) {
        match self.stage {
            Stage::Following | Stage::Blaming(_) => self.merge.push(event, &self.signature),
            Stage::Decided(_) => self.merge.count(&event),
        }
    }

    /// Promises that no call will come whose look is below `number`. (Events with smaller numbers may still come: a thread takes a number before it
    /// publishes the record.)
    ///
    /// A look is an acquire load, and the record of the call an ordinary store before the operation's first step. On a machine that lets loads
    /// pass earlier stores, a call may have looked, and read the object, while its record is not visible yet. So whoever seals must first make
    /// those stores visible: number `n` was seen, then a barrier in every thread (such as `membarrier`), or a fence in each call, then every ring is read to its end.
    /// Exact commits do not need it.
    pub fn seal(&mut self, number: u64) {
        self.sealed = self.sealed.max(number);
    }

    /// The application dropped records of this object: nothing is decided from here on.
    pub fn lose(&mut self, records: u64) {
        match &self.stage {
            Stage::Following => self.decide(Found::Unknown(Unknown::Lost { records })),
            Stage::Blaming(_) => self.settle(Some(format!("{records} records were dropped"))),
            Stage::Decided(_) => {}
        }
    }

    /// Judges what can be judged.
    pub fn advance(&mut self) -> Progress {
        match self.stage {
            Stage::Following => self.follow(),
            Stage::Blaming(_) => self.settle(None),
            Stage::Decided(_) => {}
        }
        let events = self.events();
        Progress {
            events,
            operations: self.operations,
            lag: self.merge.pushed - events,
            findings: std::mem::take(&mut self.findings),
        }
    }

    /// No more events.
    pub fn finish(mut self, end: End) -> Summary {
        if end == End::Complete {
            self.ended = true;
            self.sealed = self.sealed.max(self.merge.top);
            self.merge.end();
        }
        if self.stage == Stage::Following {
            self.follow();
        }
        match (&self.stage, end) {
            (Stage::Following, End::Complete) => self.conclude(),
            (Stage::Blaming(_), End::Complete) => self.settle(None),
            (Stage::Blaming(_), End::Torn) => self.settle(Some("the log breaks off".to_owned())),
            _ => {}
        }
        let events = self.events();
        let conclusion = match self.stage {
            Stage::Decided(conclusion) => conclusion,
            Stage::Following => Conclusion::Clean,
            Stage::Blaming(_) => Conclusion::Unknown,
        };
        Summary {
            conclusion,
            events,
            operations: self.operations,
            unjudged: self.merge.pushed - events,
            missing: self.merge.top.max(self.sealed).saturating_sub(self.merge.numbered),
            findings: self.findings,
        }
    }

    /// Everything was judged: the last looks.
    fn conclude(&mut self) {
        if let Some(mistake) = self.sections.held_at_the_end() {
            return self.decide(Found::Mistake(mistake));
        }
        if let Err(differs) = self.refine.compare_settled() {
            let found = difference(*differs, ThreadId(u32::MAX), None);
            self.decide(Found::View(Box::new(found)));
        }
    }

    fn events(&self) -> u64 {
        match self.stage {
            Stage::Following | Stage::Blaming(_) => self.merge.base() + self.calls,
            Stage::Decided(_) => self.judged,
        }
    }

    /// Takes events in the order of their numbers.
    fn follow(&mut self) {
        loop {
            if let Some(mistake) = self.merge.mistake_of_call() {
                return self.decide(Found::Mistake(mistake));
            }
            match self.merge.front().unwrap_or(&Slot::Empty) {
                Slot::Empty => {
                    let number = self.merge.base();
                    if self.ended && number < self.sealed {
                        self.decide(Found::Unknown(Unknown::Gap { number }));
                    }
                    return;
                }
                Slot::Commit(op) | Slot::CommitBlock(op, _) if !self.merge.is_settled(*op) => {
                    let op = *op;
                    return self.wait_for(op);
                }
                _ => {}
            }
            let number = self.merge.base();
            let Some(slot) = self.merge.pop() else { return };
            match self.take(number, slot) {
                Ok(()) => {}
                Err(Trouble::Found(found)) => return self.decide_at(number, *found),
                Err(Trouble::Refused(failure)) => {
                    self.stage = Stage::Blaming(failure);
                    return self.settle(None);
                }
            }
        }
    }

    /// Finds out who is to blame, once all operations that overlap the refused one are known; or at once, with a reason why they never will be.
    fn settle(&mut self, cut: Option<String>) {
        let Stage::Blaming(failure) = &self.stage else { return };
        let refused = &self.merge.ops[failure.op as usize];
        let crowded = self.merge.waiting() > self.limits.waiting;
        let patient = cut.is_none() && !crowded;
        let overlapping = |end: u64| self.merge.live().filter(move |open| open.look <= end);
        let is_known =
            |end: u64| self.sealed > end && overlapping(end).all(|open| open.state != Answer::Awaited);
        if patient && !is_known(refused.ret) {
            return;
        }
        // All that overlap the refused one must find a place, so what overlaps those must be known too.
        let known = overlapping(refused.ret).filter(|open| open.state == Answer::Known).map(|open| open.ret);
        let end = known.chain(self.trail.last_return()).fold(refused.ret, u64::max);
        if patient && !is_known(end) {
            return;
        }
        let blame = match cut {
            // Even then another order may be found; that there is none cannot be said.
            Some(why) if self.sealed <= end => Blame::Open { why },
            _ => {
                let later = |open: &&Open| open.commits == 0 || open.commit > failure.number;
                let others = overlapping(end).filter(later);
                blame::blame(&Case {
                    signature: &self.signature,
                    trail: &self.trail,
                    refused: task(refused, end),
                    expected: &failure.expected,
                    others: others.map(|open| task(open, end)).collect(),
                    end,
                    patience: self.limits.blame,
                })
            }
        };
        let operation = self.merge.seen(failure.op, &self.signature);
        let (expected, state, number) = (failure.expected.clone(), failure.state.clone(), failure.number);
        self.decide_at(number, Found::Refused(Box::new(Refused { operation, expected, state, blame })));
    }

    /// Too much may not wait for one operation.
    fn wait_for(&mut self, op: OpIndex) {
        if self.merge.waiting() > self.limits.waiting {
            let events = self.merge.waiting() as u64;
            let operation = Some(Box::new(self.merge.seen(op, &self.signature)));
            self.decide(Found::Unknown(Unknown::Waiting { events, operation }));
        }
    }

    #[inline]
    fn take(&mut self, number: u64, slot: Slot) -> Result<(), Trouble> {
        match slot {
            Slot::Commit(op) => self.commit(number, op, Vec::new())?,
            Slot::CommitBlock(op, writes) => self.commit(number, op, writes)?,
            Slot::Return(op) | Slot::Abandon(op) => {
                self.merge.release(op);
                self.calls += 1;
            }
            Slot::Block(thread, writes) => self.writes(number, thread, writes),
            Slot::Write(thread, write) => {
                if let Some(write) = self.sections.write(number, thread, write) {
                    self.refine.write(number, thread, write);
                }
            }
            Slot::Acquire(thread, lock) => self.sections.acquire(thread, lock).map_err(mistake)?,
            Slot::Release(thread, lock) => {
                let writes = self.sections.release(thread, lock).map_err(mistake)?;
                self.late_writes(thread, writes);
            }
            Slot::Internal(thread) => {
                let writes = self.sections.commit(thread);
                self.late_writes(thread, writes);
                self.compare(thread, None)?;
            }
            Slot::Stray(stray) => return Err(mistake(*stray)),
            Slot::Empty => {}
            Slot::Window(..) | Slot::At(..) | Slot::After(..) => {
                let why = "windows and versions are not followed".to_owned();
                return Err(found(Found::Unknown(Unknown::Engine { why })));
            }
        }
        Ok(())
    }

    /// An operation takes effect.
    #[inline]
    fn commit(&mut self, number: u64, op: OpIndex, writes: Vec<Write>) -> Result<(), Trouble> {
        let open = &self.merge.ops[op as usize];
        let thread = open.thread;
        if self.refine.has_view() {
            let waiting = self.sections.commit(thread);
            self.late_writes(thread, waiting);
            self.writes(number, thread, writes);
        }
        let open = &self.merge.ops[op as usize];
        let applied = match open.state {
            Answer::Known => self.refine.apply(thread, open.op, &open.arg, &open.result),
            _ => {
                let few = self.refine.apply_pending(thread, open.op, &open.arg);
                if !few {
                    let open = self.merge.awaited();
                    let unknown = Unknown::Orders { open, configurations: 0 };
                    return Err(found(Found::Unknown(unknown)));
                }
                Ok(())
            }
        };
        if let Err(expected) = applied {
            let state = self.refine.model().show();
            return Err(Trouble::Refused(Box::new(Failure { op, number, expected, state })));
        }
        self.operations += 1;
        self.compare(thread, Some(op))?;
        self.trail.note(Past::of(&mut self.merge.ops[op as usize]));
        if self.trail.is_full() {
            self.trail.turn(self.refine.worlds(), number + 1);
        }
        Ok(())
    }

    fn writes(&mut self, number: u64, thread: ThreadId, writes: Vec<Write>) {
        writes.into_iter().for_each(|write| self.refine.write(number, thread, write));
    }

    fn late_writes(&mut self, thread: ThreadId, writes: Vec<(u64, Write)>) {
        writes.into_iter().for_each(|(number, write)| self.refine.write(number, thread, write));
    }

    #[inline]
    fn compare(&mut self, thread: ThreadId, op: Option<OpIndex>) -> Result<(), Trouble> {
        match self.refine.compare() {
            Ok(()) => Ok(()),
            Err(differs) => {
                let after = op.map(|op| self.merge.seen(op, &self.signature));
                Err(found(Found::View(Box::new(difference(*differs, thread, after)))))
            }
        }
    }

    fn decide(&mut self, found: Found) {
        self.decide_at(self.merge.base(), found);
    }

    fn decide_at(&mut self, at: u64, found: Found) {
        let conclusion = match &found {
            Found::Refused(refused) => match refused.blame {
                Blame::Annotation { .. } => Conclusion::Mistaken,
                Blame::Object { .. } => Conclusion::Violated,
                Blame::Open { .. } => Conclusion::Unknown,
            },
            Found::View(_) => Conclusion::Violated,
            Found::Mistake(_) => Conclusion::Mistaken,
            Found::Unknown(_) => Conclusion::Unknown,
        };
        self.judged = self.events();
        self.stage = Stage::Decided(conclusion);
        self.findings.push(Finding { object: self.object, at, found });
        self.merge.clear();
    }
}

/// Why judging stops.
enum Trouble {
    Found(Box<Found>),
    Refused(Box<Failure>),
}

fn found(found: Found) -> Trouble {
    Trouble::Found(Box::new(found))
}

/// An operation that may be placed anew; it must be if it returned by `end`.
fn task(open: &Open, end: u64) -> Task {
    let known = open.state == Answer::Known;
    Task {
        thread: open.thread,
        op: open.op,
        arg: open.arg.clone(),
        result: known.then(|| open.result.clone()),
        call: open.look,
        ret: if known { open.ret } else { u64::MAX },
        commit: (open.commits > 0).then_some(open.commit),
        must: known && open.ret <= end,
    }
}

fn mistake(mistake: Mistake) -> Trouble {
    found(Found::Mistake(mistake))
}

fn difference(differs: Differs, thread: ThreadId, after: Option<Seen>) -> Difference {
    let Differs { keys, count, writes, late } = differs;
    Difference { keys, count, after, thread, writes, late }
}
