//! One object followed: events in, findings out.
//!
//! Events come in from the threads' rings ([`Checker::push`]), are put into the order of their numbers
//! ([`crate::merge`]) and replayed: writes go to the shadow, and at each commit the operation takes effect in
//! the specification with the answer it gave ([`crate::refine`]). A commit waits until its operation has
//! answered.
//!
//! **Why a clean run means refinement.** Every operation that returned was applied exactly once, at its
//! commit, between its call and its return, and the specification gave its answer: the order of commits is a
//! witness of linearizability (Tasiran & Qadeer 2005, section 4). That holds whether or not the annotation is
//! right: a wrong annotation can only make the check fail, and then [`crate::blame`] says so. With windows,
//! versions and whole intervals the order is looked for ([`crate::order`]), and the same holds.
//!
//! This file: the stages of a run. `checker/exact.rs`, `checker/spans.rs`, `checker/versions.rs`: what
//! happens at an event, by the kind of order. `checker/writes.rs`: when a write shows.

mod clash;
mod exact;
mod pending;
mod spans;
mod versions;
mod writes;

use linpoint_history::Signature;

use crate::blame::{self, Case};
use crate::event::{Event, ObjectId, ThreadId};
use crate::finding::{Blame, Cause, Finding, Found, Mistake, Refused, Unknown};
use crate::merge::{Answer, Marks, Merge, OpIndex, Slot};
use crate::model::Model;
use crate::order::frontier::Config;
use crate::order::search::Task;
use crate::order::spans::Spans;
use crate::order::versions::Versions;
use crate::refine::Refine;
use crate::sections::Sections;
pub use crate::setup::{Commits, Conclusion, End, Limits, Progress, Setup, Summary};
use crate::trail::Trail;
use clash::Clash;

/// Follows one object.
pub struct Checker {
    object: ObjectId,
    signature: Signature,
    limits: Limits,
    commits: Commits,
    merge: Merge,
    sections: Sections,
    refine: Refine,
    trail: Trail,
    order: Order,
    /// All calls that looked at less were pushed.
    sealed: u64,
    /// A number that is missing now is lost.
    ended: bool,
    stage: Stage,
    /// Calls of operations that were taken out.
    calls: u64,
    operations: u64,
    /// Those of them that returned.
    returned: u64,
    /// Were there writes after the last comparison that nothing was compared with?
    uncompared: bool,
    /// Events judged when the object was decided.
    judged: u64,
    /// One more than the number of the last exact commit.
    committed: u64,
    /// Operations that were dropped and had not committed.
    pending: Vec<Task>,
    /// Were there too many of them to remember?
    forgotten: bool,
    /// The operation that takes effect exactly here, and what could be the case before: kept while operations
    /// that were dropped may come in.
    before: Option<(Vec<Config>, Task)>,
    /// Versions: operations that had taken effect when the views were last compared.
    viewed: u64,
    /// Internal commits.
    internal: u64,
    /// Were records left out at the end? Then locks may be held there.
    left_out: bool,
    findings: Vec<Finding>,
}

enum Order {
    Exact,
    Spans(Box<Spans>),
    Versions(Box<Versions>),
}

enum Stage {
    Following,
    /// An operation does not fit; what overlaps it is awaited, to find out why.
    Blaming(Box<Failure>),
    /// The views differ; the next moment is awaited at which nothing is open.
    Clashing(Box<Clash>),
    Decided(Conclusion),
}

/// An operation that was refused.
struct Failure {
    operation: Task,
    number: u64,
    expected: String,
    state: String,
    /// What had taken effect and was taken back.
    taken_back: Vec<Task>,
}

/// How an operation that is settled comes to the spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// With the others, while exact commits become spans.
    Initial,
    /// Before what it overlaps is judged, or so it should.
    Timely,
}

/// Why judging stops.
enum Trouble {
    Found(Box<Found>),
    Refused(Box<Failure>),
    Clash(Box<Clash>),
    /// Nothing stops yet: a second opinion is awaited.
    Suspected,
}

impl Checker {
    /// Begins with an object in its initial state.
    pub fn new(setup: Setup) -> Checker {
        let Setup { object, model, view, commits, limits } = setup;
        let marks = if commits == Commits::Intervals { Marks::Refused } else { Marks::Needed };
        let mut checker = Checker {
            object,
            signature: model.signature().clone(),
            limits,
            commits,
            merge: Merge::new(marks),
            sections: Sections::default(),
            trail: Trail::new(&*model),
            refine: Refine::new(model, view),
            order: Order::Exact,
            sealed: 0,
            ended: false,
            stage: Stage::Following,
            calls: 0,
            operations: 0,
            returned: 0,
            uncompared: false,
            judged: 0,
            committed: 0,
            pending: Vec::new(),
            before: None,
            forgotten: false,
            viewed: 0,
            internal: 0,
            left_out: false,
            findings: Vec::new(),
        };
        if commits != Commits::Marked {
            let worlds = checker.refine.copies();
            checker.begin_spans(worlds);
        }
        checker
    }

    /// Takes in an event. Events of one thread come in that thread's order; between threads in any.
    #[inline]
    pub fn push(&mut self, event: Event) {
        match self.stage {
            Stage::Following | Stage::Blaming(_) | Stage::Clashing(_) => {
                self.merge.push(event, &self.signature);
            }
            Stage::Decided(_) => self.merge.count(&event),
        }
    }

    /// Promises that no call will come whose look is below `number`. (Events with smaller numbers may still
    /// come: a thread takes a number before it publishes the record.)
    ///
    /// A look is an acquire load, and the record of the call an ordinary store before the operation's first
    /// step. On a machine that lets loads pass earlier stores, a call may have looked, and read the object,
    /// while its record is not visible yet. So whoever seals must first make those stores visible: number `n`
    /// was seen, then a barrier in every thread (such as `membarrier`), or a fence in each call, then every
    /// ring is read to its end. Exact commits do not need it, but to find out who is to blame. A call that
    /// comes too late all the same makes other objects `unknown`.
    pub fn seal(&mut self, number: u64) {
        self.sealed = self.sealed.max(number);
    }

    /// The application dropped records of this object: nothing is decided from here on.
    pub fn lose(&mut self, records: u64) {
        match &self.stage {
            Stage::Following => self.decide(Found::Unknown(Unknown::Lost { records })),
            Stage::Blaming(_) => self.settle(Some(format!("{records} records were dropped"))),
            Stage::Clashing(_) => self.settle_clash(Some(format!("{records} records were dropped"))),
            Stage::Decided(_) => {}
        }
    }

    /// Nothing can be decided from here on.
    pub(crate) fn give_up(&mut self, why: String) {
        if !matches!(self.stage, Stage::Decided(_)) {
            self.decide(Found::Unknown(Unknown::Engine { why }));
        }
    }

    /// What the object did in the end was left out on purpose: it is no mistake that a lock is held there.
    pub fn leave_out(&mut self) {
        self.left_out = true;
    }

    /// This thread has not ended: it is no mistake that it holds a lock.
    pub fn goes_on(&mut self, thread: ThreadId) {
        self.sections.goes_on(thread);
    }

    /// Events with smaller numbers take no room any more, or about so; once the object is decided none do.
    pub fn judged_up_to(&self) -> u64 {
        match (&self.stage, &self.order) {
            (Stage::Decided(_), _) => u64::MAX,
            // An operation that waits for its version's turn took two numbers at least.
            (_, Order::Versions(versions)) => self.merge.base().saturating_sub(2 * versions.len() as u64),
            _ => self.merge.base(),
        }
    }

    /// Judges what can be judged.
    pub fn advance(&mut self) -> Progress {
        self.merge.tidy();
        match self.stage {
            Stage::Following => self.follow(),
            Stage::Blaming(_) => self.settle(None),
            Stage::Clashing(_) => self.settle_clash(None),
            Stage::Decided(_) => {}
        }
        let events = self.events();
        Progress {
            events,
            operations: self.operations,
            lag: self.merge.pushed - events,
            room: self.merge.room(),
            findings: std::mem::take(&mut self.findings),
        }
    }

    /// No more events.
    pub fn finish(mut self, end: End) -> Summary {
        self.end(end)
    }

    /// The same. If a model panics on the way, and this is given up, it can be asked once more.
    pub(crate) fn end(&mut self, end: End) -> Summary {
        if end == End::Complete {
            self.ended = true;
            self.sealed = self.sealed.max(self.merge.top);
            self.merge.end();
        }
        if let Stage::Following = self.stage {
            self.follow();
        }
        match (&self.stage, end) {
            (Stage::Following, End::Complete) => self.conclude(),
            (Stage::Following, End::Torn) => self.break_off(),
            (Stage::Blaming(_), _) => self.settle(None),
            (Stage::Clashing(_), _) => self.settle_clash(None),
            (Stage::Decided(_), _) => {}
        }
        if let (Stage::Following, End::Complete) = (&self.stage, end) {
            // What did not fit does so now; the rest was judged on the way.
            self.conclude();
        }
        match (&self.stage, end) {
            (Stage::Blaming(_), End::Complete) => self.settle(Some("the log ends".to_owned())),
            (Stage::Clashing(_), End::Complete) => self.settle_clash(Some("the log ends".to_owned())),
            (Stage::Blaming(_) | Stage::Clashing(_), End::Torn) => {
                // What overlaps the refused operation is not all there; a window around it may explain it. So
                // it is not judged.
                self.judged = self.events() - 1;
                self.stage = Stage::Decided(Conclusion::Clean);
            }
            _ => {}
        }
        let events = self.events();
        let conclusion = match self.stage {
            Stage::Decided(conclusion) => conclusion,
            Stage::Following => Conclusion::Clean,
            Stage::Blaming(_) | Stage::Clashing(_) => Conclusion::Unknown,
        };
        Summary {
            conclusion,
            events,
            operations: self.operations,
            returned: self.returned,
            uncompared: self.uncompared,
            unjudged: self.merge.pushed - events,
            missing: self.merge.top.max(self.sealed).saturating_sub(self.merge.numbered),
            views: self.refine.compared(),
            internal: self.internal,
            findings: std::mem::take(&mut self.findings),
        }
    }

    fn events(&self) -> u64 {
        match self.stage {
            Stage::Following | Stage::Blaming(_) | Stage::Clashing(_) => self.merge.base() + self.calls,
            Stage::Decided(_) => self.judged,
        }
    }

    /// Takes events in the order of their numbers.
    fn follow(&mut self) {
        let ready = self.ready();
        if !matches!(self.stage, Stage::Following) {
            return;
        }
        loop {
            if let Some(mistake) = self.merge.mistake_of_call() {
                return self.decide(Found::Mistake(mistake));
            }
            let number = self.merge.base();
            match self.merge.front().unwrap_or(&Slot::Empty) {
                Slot::Empty => {
                    if self.ended && number < self.sealed {
                        self.decide(Found::Unknown(Unknown::Gap { number }));
                    }
                    break;
                }
                Slot::Commit(op) | Slot::CommitBlock(op, _)
                    if ready == u64::MAX && !self.merge.is_settled(*op) =>
                {
                    let op = *op;
                    return self.wait_for(Some(op));
                }
                Slot::Window(_) if matches!(self.order, Order::Exact) => {
                    if self.switch_to_spans() {
                        return self.follow();
                    }
                    return;
                }
                _ if number >= ready => {
                    self.wait_for(None);
                    break;
                }
                _ => {}
            }
            let taken = match self.order {
                Order::Exact => self.take_exact(number),
                Order::Spans(_) => self.take_span(number),
                Order::Versions(_) => self.take_version(number),
            };
            if let Err(trouble) = taken {
                return self.stop(number, trouble);
            }
            if !matches!(self.stage, Stage::Following) {
                return;
            }
        }
        self.place_versions();
    }

    /// Numbers below this may be judged; with exact commits all may.
    fn ready(&mut self) -> u64 {
        match self.order {
            Order::Exact => u64::MAX,
            Order::Versions(_) => u64::MAX - 1,
            Order::Spans(_) => {
                self.note_settled(Arrival::Timely);
                self.merge.oldest_awaited().min(self.sealed)
            }
        }
    }

    fn stop(&mut self, number: u64, trouble: Trouble) {
        match trouble {
            Trouble::Found(found) => self.decide_at(number, *found),
            Trouble::Refused(failure) => {
                self.stage = Stage::Blaming(failure);
                self.settle(None);
            }
            Trouble::Clash(clash) => {
                self.stage = Stage::Clashing(clash);
                self.settle_clash(None);
            }
            Trouble::Suspected => self.follow(),
        }
    }

    /// Too much may not wait for one operation.
    fn wait_for(&mut self, op: Option<OpIndex>) {
        if let Some(number) = self.merge.gap_of_orphans().filter(|_| self.ended) {
            return self.decide(Found::Unknown(Unknown::Gap { number }));
        }
        if self.merge.waiting() > self.limits.waiting {
            let events = self.merge.waiting() as u64;
            let operation = op.map(|op| Box::new(self.merge.seen(op, &self.signature)));
            self.decide(Found::Unknown(Unknown::Waiting { events, operation }));
        }
    }

    /// Finds out who is to blame, once all operations that overlap the refused one are known; or at once,
    /// with a reason why they never will be.
    fn settle(&mut self, cut: Option<String>) {
        let Stage::Blaming(failure) = &self.stage else { return };
        let refused = &failure.operation;
        let crowded = self.merge.waiting() > self.limits.waiting;
        let patient = cut.is_none() && !crowded;
        let others = || {
            let waiting = match &self.order {
                Order::Versions(versions) => Some(versions.waiting().map(|past| past.task(u64::MAX))),
                _ => None,
            };
            let live = self.merge.live().filter(|open| !open.in_effect).map(|open| open.task(u64::MAX));
            let itself = |task: &Task| task.thread == refused.thread && task.call == refused.call;
            let taken_back = failure.taken_back.iter().cloned();
            let dropped = self.pending.iter().cloned();
            let others = live.chain(waiting.into_iter().flatten()).chain(taken_back).chain(dropped);
            others.filter(move |task| !itself(task))
        };
        let is_known = |end: u64| {
            let awaited = self.merge.live().any(|open| open.state == Answer::Awaited && open.look <= end);
            self.sealed > end && !awaited
        };
        let end_of_refused = if refused.ret == u64::MAX { failure.number } else { refused.ret };
        if patient && !is_known(end_of_refused) {
            return;
        }
        // All that overlap the refused one must find a place, so what overlaps those must be known too.
        let known =
            others().filter(|task| task.call <= end_of_refused && task.ret != u64::MAX).map(|task| task.ret);
        let end = known.chain(self.trail.last_return()).fold(end_of_refused, u64::max);
        if patient && !is_known(end) {
            return;
        }
        let model = self.refine.model();
        let part = |task: &Task| model.concerns(task.call()).cloned();
        let mine = part(refused);
        let concerns = |task: &Task| mine.is_none() || part(task).is_none_or(|part| Some(part) == mine);
        if self.overlaps_a_window(failure.number) || self.may_be_pending(failure.number, &concerns) {
            let (number, thread, call) = (failure.number, refused.thread, refused.call);
            let refused_returned = refused.ret != u64::MAX;
            if self.is_too_old(&concerns) {
                return self.too_long_ago();
            }
            if !self.knows(self.merge.base()) {
                return;
            }
            self.operations += 1;
            self.returned += u64::from(refused_returned);
            self.stage = Stage::Following;
            return self.begin_again(number, thread, Some(call));
        }
        let must = |mut task: Task| {
            task.must = task.ret <= end;
            task
        };
        let whole = self.commits == Commits::Intervals;
        let missing = self.merge.first_missing().filter(|number| *number <= end);
        if patient && missing.is_some() && !self.ended {
            return;
        }
        let cut = cut.or(missing.map(|number| format!("the record with number {number} is missing")));
        let blame = match cut {
            Some(why) if missing.is_some() => Blame::Open { why },
            Some(why) if self.sealed <= end && !whole => Blame::Open { why },
            _ => blame::blame(&Case {
                signature: &self.signature,
                trail: &self.trail,
                refused: must(refused.clone()),
                expected: &failure.expected,
                others: others().filter(|task| task.call <= end).map(must).collect(),
                end,
                whole,
                viewed: self.refine.has_view() && matches!(self.order, Order::Spans(_)),
                patience: self.limits.blame,
            }),
        };
        let operation = refused.seen(&self.signature);
        let (expected, state, number) = (failure.expected.clone(), failure.state.clone(), failure.number);
        self.decide_at(number, Found::Refused(Box::new(Refused { operation, expected, state, blame })));
    }

    /// Everything was judged: the last looks.
    fn conclude(&mut self) {
        // A call that looked at more numbers than there are.
        if let Some(mistake) = self.merge.last_mistake_of_call() {
            return self.decide(Found::Mistake(mistake));
        }
        if let Some(mistake) = self.sections.held_at_the_end().filter(|_| !self.left_out) {
            return self.decide(Found::Mistake(mistake));
        }
        self.end_versions();
        self.end_spans(End::Complete);
        if let Stage::Following = self.stage {
            // Where nothing is open, a commit could follow that changes nothing, so what was written since
            // the last one must be right by now.
            let quiet = self.is_quiet();
            let differs = match &mut self.order {
                Order::Spans(spans) => match spans.frontier() {
                    Some(frontier) => {
                        let worlds: Vec<&dyn Model> =
                            frontier.configs.iter().map(|config| &*config.model).collect();
                        self.refine.compare_settled(&worlds, quiet)
                    }
                    None => Ok(true),
                },
                _ => {
                    let worlds = self.refine.copies();
                    let worlds: Vec<&dyn Model> = worlds.iter().map(|world| &**world).collect();
                    self.refine.compare_settled(&worlds, quiet)
                }
            };
            match differs {
                Ok(all) => self.uncompared = !all,
                Err(differs) => {
                    let thread = ThreadId::NONE;
                    let found = clash::difference(*differs, thread, None, Cause::Object);
                    return self.decide(Found::View(Box::new(found)));
                }
            }
            // Views that were compared may not have been those of the specification.
            if let Some(why) = self.refine.shortfall() {
                return self.decide(Found::Unknown(Unknown::Engine { why }));
            }
            // Operations that are open are pending: that, too, was judged.
            self.judged = self.merge.pushed;
            self.stage = Stage::Decided(Conclusion::Clean);
        }
    }

    /// At the end: is no operation open, no lock held, and did every thread end that wrote since the views
    /// were compared?
    fn is_quiet(&self) -> bool {
        let open = self.merge.live().any(|open| open.end == u64::MAX || open.end >= self.merge.base());
        let unplaced = matches!(&self.order, Order::Versions(versions) if versions.unplaced > 0);
        let dropped = !self.pending.is_empty() || self.forgotten || unplaced;
        !open && !dropped && !self.left_out && self.sections.are_over(self.refine.writers())
    }

    /// The log breaks off: what was found is told, what was not is not.
    fn break_off(&mut self) {
        self.end_spans(End::Torn);
    }

    /// A commit of a kind that does not go with those before.
    #[cold]
    fn mixed(&self, op: OpIndex, before: &'static str) -> Trouble {
        let operation = Box::new(self.merge.seen(op, &self.signature));
        mistake(Mistake::Mixed { operation, before })
    }

    fn decide(&mut self, found: Found) {
        self.decide_at(self.merge.base(), found);
    }

    fn decide_at(&mut self, at: u64, found: Found) {
        let found = match (found, self.refine.shortfall()) {
            (Found::Refused(_) | Found::View(_), Some(why)) => Found::Unknown(Unknown::Engine { why }),
            (found, _) => found,
        };
        let conclusion = match &found {
            Found::Refused(refused) => match refused.blame {
                Blame::Annotation { .. } => Conclusion::Mistaken,
                Blame::Object { .. } => Conclusion::Violated,
                Blame::Open { .. } => Conclusion::Unknown,
            },
            Found::View(difference) => match difference.cause {
                Cause::Annotation { .. } => Conclusion::Mistaken,
                Cause::Object => Conclusion::Violated,
                Cause::Open { .. } => Conclusion::Unknown,
            },
            Found::Mistake(_) => Conclusion::Mistaken,
            Found::Unknown(_) => Conclusion::Unknown,
        };
        self.judged = self.events();
        self.stage = Stage::Decided(conclusion);
        self.findings.push(Finding { object: self.object, at, found });
        self.merge.clear();
        self.order = Order::Exact;
    }
}

fn found(found: Found) -> Trouble {
    Trouble::Found(Box::new(found))
}

fn mistake(mistake: Mistake) -> Trouble {
    found(Found::Mistake(mistake))
}
