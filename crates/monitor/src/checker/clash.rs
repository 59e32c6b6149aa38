//! The views differ after a commit: is the object to blame, or the place of the commit?
//!
//! Writes are facts, commits are the annotation's word. So the commits are put aside, and an order of the
//! operations is looked for that leads the specification through the views which the implementation had
//! ([`crate::order::phases`]), from the last commit at which they were equal to the next moment at which
//! nothing is open that concerns the keys in question. If there is one, a correct object may have done this,
//! and the annotation is wrong. If there is none, it is the object.
//!
//! With versions, and with windows, views are compared where nothing is open, so there only the view in the
//! end is asked for, and the last few operations may be in any order.

use super::{Checker, Order, Stage, Trouble, found};
use crate::blame::{Start, is_neutral, replay};
use crate::event::ThreadId;
use crate::finding::{Cause, Difference, DifferentKey, Found, Seen};
use crate::merge::{Answer, OpIndex, Open, Slot};
use crate::model::Model;
use crate::order::phases::{self, Phase};
use crate::order::search::{Allowance, Outcome, Task};
use crate::refine::Differs;
use crate::setup::Commits;

use linpoint_history::Value;
use std::time::Instant;

/// Views that differ.
pub(super) struct Clash {
    pub number: u64,
    pub thread: ThreadId,
    /// The operation that committed.
    pub task: Option<Task>,
    differs: Differs,
    after: Option<Seen>,
    /// They were equal at the last commit below this.
    since: u64,
    /// It is of no use to look again before so many events were pushed.
    again: u64,
}

/// So many numbers may go by without a moment at which nothing is open.
const LONGEST_STRETCH: usize = 1 << 15;
/// So many operations may be put in another order.
const MOST_REORDERED: usize = 256;
/// How many that committed before are put aside, step by step, where only the view in the end is asked for.
const WIDTHS: [usize; 4] = [0, 4, 16, 64];
/// Why views that differ may be nobody's fault.
const UNSAID: &str = "an operation that never ended may have changed them, and not said so";
/// Elements of states that a search may remember.
const ELEMENTS: usize = 1 << 24;

impl Checker {
    /// The views differ at `number`, after this operation or an internal commit; they were equal at the last
    /// commit below `since`.
    #[cold]
    pub(super) fn differs(
        &self,
        differs: Differs,
        (number, since): (u64, u64),
        thread: ThreadId,
        op: Option<OpIndex>,
    ) -> Trouble {
        // What took effect has left its values to the trail.
        let noted = op.filter(|op| self.merge.ops[*op as usize].in_effect);
        let after = match noted.and_then(|_| self.trail.last()) {
            Some(past) => Some(past.seen(&self.signature)),
            None => op.map(|op| self.merge.seen(op, &self.signature)),
        };
        let op = op.filter(|_| noted.is_none());
        if self.commits == Commits::Intervals {
            // There are no commits to be wrong.
            let never = self.merge.live().filter(|open| open.state == Answer::Never).map(|open| open.task(0));
            let dropped: Vec<Task> = never.chain(self.pending.iter().cloned()).collect();
            let cause = match may_have_changed(self.refine.model(), dropped.iter(), &differs.keys) {
                true => Cause::Open { why: UNSAID.to_owned() },
                false => Cause::Object,
            };
            return found(Found::View(Box::new(difference(differs, thread, after, cause))));
        }
        let task = op.map(|op| self.merge.ops[op as usize].task(u64::MAX));
        Trouble::Clash(Box::new(Clash { number, thread, task, differs, after, since, again: 0 }))
    }

    /// Finds out who is to blame, once that can be known; or at once, with a reason why it never will be.
    pub(super) fn settle_clash(&mut self, cut: Option<String>) {
        let Stage::Clashing(clash) = &mut self.stage else { return };
        if cut.is_none() && !self.ended && self.merge.pushed < clash.again {
            return;
        }
        clash.again = self.merge.pushed + self.merge.waiting() as u64 / 8;
        let number = clash.number;
        let keys: Vec<Value> = clash.differs.keys.iter().map(|key| key.key.clone()).collect();
        let all = clash.differs.count == keys.len();
        let model = self.refine.model();
        let concerns = |task: &Task| concerns(model, task, &keys, all);
        if cut.is_none() && self.may_be_pending(number, &concerns) {
            if self.is_too_old(&concerns) {
                return self.too_long_ago();
            }
            if self.knows(self.merge.base()) {
                let Stage::Clashing(clash) = std::mem::replace(&mut self.stage, Stage::Following) else {
                    return;
                };
                self.refine.forget_comparison();
                self.begin_again(number, clash.thread, clash.task.map(|task| task.call));
            }
            return;
        }
        // What took effect and has not ended has left its values to the trail, and may still write.
        let open = self.merge.live().filter(|open| open.in_effect || concerns(&open.task(u64::MAX)));
        let quiet = quiet_from(number, open);
        let last = self.merge.top.max(number + 1) - 1;
        let end = if self.ended { quiet.or(Some(last)) } else { quiet.filter(|end| self.sealed > *end) };
        let missing = self.merge.first_missing();
        let known = end.filter(|end| missing.is_none_or(|missing| missing > *end));
        // A moment that is known to come is worth waiting for.
        let longest =
            if quiet.is_some() { self.limits.waiting } else { LONGEST_STRETCH.min(self.limits.waiting) };
        let many = self.merge.waiting() > longest;
        if known.is_none() && cut.is_none() && !many && !self.ended {
            return;
        }
        let cut = cut.or_else(|| {
            let why = "no moment came at which no operation on these keys was open";
            (known.is_none() && end.is_none()).then(|| why.to_owned())
        });
        let end = end.unwrap_or(number);
        let missing = missing.filter(|missing| *missing <= end);
        let cut = cut.or(missing.map(|number| format!("the record with number {number} is missing")));
        let others: Vec<Task> = self
            .merge
            .live()
            .filter(|open| !open.in_effect && open.look <= end)
            .map(|open| open.task(end))
            .chain(self.pending.iter().cloned())
            .filter(concerns)
            .collect();
        let Stage::Clashing(clash) = std::mem::replace(&mut self.stage, Stage::Following) else { return };
        let judged = self.events();
        let cause = match cut {
            Some(why) => Cause::Open { why },
            None => self.explain(&clash, &keys, all, others, end),
        };
        let Clash { differs, thread, after, .. } = *clash;
        self.decide_at(number, Found::View(Box::new(difference(differs, thread, after, cause))));
        self.judged = judged;
    }

    /// Is there an order of the operations in which the views agree?
    fn explain(&mut self, clash: &Clash, keys: &[Value], all: bool, others: Vec<Task>, end: u64) -> Cause {
        let strict = matches!(self.order, Order::Exact);
        let mut own: Vec<Task> = clash.task.iter().cloned().collect();
        own.iter_mut().for_each(|task| task.must = task.ret <= end);
        let itself = |task: &Task| own.iter().any(|own| (own.thread, own.call) == (task.thread, task.call));
        let others: Vec<Task> = others.into_iter().filter(|task| !itself(task)).collect();
        let phases = self.phases(clash, keys, end);
        let Some(stretch) = self.trail.stretches().next_back() else {
            return Cause::Open { why: "the state before is too long ago to be remembered".to_owned() };
        };
        let allowance = Allowance { deadline: Instant::now() + self.limits.blame, elements: ELEMENTS };
        let mut refuted: Option<Vec<Task>> = None;
        for width in &WIDTHS {
            let kept = stretch.past.len().saturating_sub(*width);
            let starts = replay(&stretch.worlds, &stretch.past[..kept]);
            let Some(Start(first)) = starts.first() else { continue };
            let free = stretch.past[kept..].iter().map(|past| past.task(end));
            let free = free.filter(|task| concerns(&**first, task, keys, all) && !itself(task));
            let tasks: Vec<Task> = free.chain(own.iter().cloned()).chain(others.iter().cloned()).collect();
            if tasks.len() > MOST_REORDERED {
                return Cause::Open { why: format!("{} operations overlap", tasks.len()) };
            }
            // Where only the view in the end is asked for, an operation may take effect at any time before.
            let in_the_end: Vec<Phase> =
                phases.last().map(|last| Phase { from: 0, ..last.clone() }).into_iter().collect();
            let phases = if strict { &phases } else { &in_the_end };
            for Start(start) in &starts {
                match phases::find(&**start, &tasks, keys, phases, &allowance) {
                    Outcome::Found(order) => return self.explained(&tasks, &order),
                    Outcome::Cut => return Cause::Open { why: "the search was cut short".to_owned() },
                    Outcome::None => {}
                }
            }
            refuted = Some(tasks);
        }
        match refuted {
            None => Cause::Open { why: "the state before is not known".to_owned() },
            Some(tasks) if may_have_changed(self.refine.model(), tasks.iter(), &clash.differs.keys) => {
                Cause::Open { why: UNSAID.to_owned() }
            }
            Some(_) => Cause::Object,
        }
    }

    fn explained(&self, tasks: &[Task], order: &[usize]) -> Cause {
        let left_out = |task: &usize| !order.contains(task) && tasks[*task].commit.is_some();
        if (0..tasks.len()).any(|task| left_out(&task) && tasks[task].result.is_none()) {
            let why = "an operation that committed never ended".to_owned();
            return Cause::Open { why };
        }
        let order: Vec<&Task> = order.iter().map(|task| &tasks[*task]).collect();
        if order.iter().any(|task| task.is_dropped()) {
            let why = "an operation that was dropped before it committed may have taken effect".to_owned();
            return Cause::Open { why };
        }
        Cause::Annotation { order: order.iter().map(|task| task.seen(&self.signature)).collect() }
    }

    /// What the implementation's view went through, from the last commit at which the views were equal. Takes
    /// out what is needed for that.
    fn phases(&mut self, clash: &Clash, keys: &[Value], end: u64) -> Vec<Phase> {
        let view = self.refine.implementation(keys);
        let mut writer =
            clash.differs.writes.iter().rfind(|write| write.number >= clash.since).map(|write| write.thread);
        let before = Phase { from: 0, view: view.clone(), seen: false };
        let seen = writer.is_none_or(|writer| writer != clash.thread && !self.sections.is_inside(writer));
        let mut phases = vec![before, Phase { from: clash.since, view, seen }];
        while self.merge.base() <= end {
            let number = self.merge.base();
            let Some(slot) = self.merge.pop() else { break };
            let (thread, commits) = self.replay_slot(number, slot);
            let view = self.refine.implementation(keys);
            let Some(phase) = phases.last_mut() else { break };
            if phase.view != view {
                phases.push(Phase { from: number, view, seen: false });
                writer = thread;
            } else if commits
                && writer.is_none_or(|writer| Some(writer) != thread && !self.sections.is_inside(writer))
            {
                phase.seen = true;
            }
        }
        phases
    }

    /// Only the writes of an event. Whose it is, and whether it is a commit.
    fn replay_slot(&mut self, number: u64, slot: Slot) -> (Option<ThreadId>, bool) {
        let owner = |op: OpIndex| self.merge.ops[op as usize].thread;
        match slot {
            Slot::Commit(op) | Slot::Window(op) | Slot::At(op, _) | Slot::After(op, _) => {
                let thread = owner(op);
                self.commit_writes(number, thread, Vec::new());
                (Some(thread), true)
            }
            Slot::CommitBlock(op, writes) => {
                let thread = owner(op);
                self.commit_writes(number, thread, writes);
                (Some(thread), true)
            }
            Slot::Block(thread, _)
            | Slot::Write(thread, _)
            | Slot::Acquire(thread, _)
            | Slot::Release(thread, _)
            | Slot::Internal(thread) => {
                let commits = matches!(slot, Slot::Internal(_));
                // A contradiction here is not told: something else was found before it.
                let _ = self.take_other(number, slot);
                (Some(thread), commits)
            }
            Slot::Return(_) | Slot::Abandon(_) | Slot::Stray(_) | Slot::Empty => (None, false),
        }
    }
}

/// May this operation read or change one of the keys? With more keys than are listed, any may.
fn concerns(model: &dyn Model, task: &Task, keys: &[Value], all: bool) -> bool {
    !all || model.concerns(task.call()).is_none_or(|part| keys.contains(part))
}

/// The first number from `number` on at which none of these is open; `None` where one never ends.
fn quiet_from<'a>(number: u64, open: impl Iterator<Item = &'a Open>) -> Option<u64> {
    let mut spans: Vec<(u64, u64)> =
        open.map(|open| (open.look, open.end)).filter(|(_, end)| *end > number).collect();
    spans.sort_unstable();
    let mut at = number;
    for (look, end) in spans {
        if look > at {
            break;
        }
        at = at.max(end);
    }
    (at != u64::MAX).then_some(at)
}

/// May operations without an answer have changed the view at all of these keys?
fn may_have_changed<'a>(
    model: &dyn Model,
    tasks: impl Iterator<Item = &'a Task>,
    keys: &[DifferentKey],
) -> bool {
    let dropped: Vec<&Task> =
        tasks.filter(|task| task.result.is_none() && !is_neutral(model, task)).collect();
    let changes =
        |key: &DifferentKey, task: &Task| model.concerns(task.call()).is_none_or(|part| *part == key.key);
    !dropped.is_empty() && keys.iter().all(|key| dropped.iter().any(|task| changes(key, task)))
}

pub(super) fn difference(
    differs: Differs,
    thread: ThreadId,
    after: Option<Seen>,
    cause: Cause,
) -> Difference {
    let Differs { keys, count, writes, late } = differs;
    Difference { keys, count, after, thread, writes, late, cause }
}
