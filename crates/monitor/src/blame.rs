//! The order of commits does not fit: is the annotation wrong, or the object?
//!
//! The commits are the annotation's word; calls and returns are facts. So the search leaves the commits of
//! the last few operations aside and looks for any order of their intervals that the specification allows. If
//! there is one, the object answered as a correct one may, and the annotation is wrong. If there is none, it
//! is the object. (Tasiran & Qadeer 2005, section 4.1, leave this comparison to a person.)
//!
//! The window of operations whose commits are put aside is widened step by step, up to the oldest state that
//! is remembered ([`crate::trail`]): what committed before the window keeps its place. So "no order fits" is
//! said about what committed since a given event, and the finding names that event; zero means that the whole
//! run was searched.
//!
//! Which operations must be placed: those that overlap the refused one, and all that returned by the time the
//! last of these did. The others that were called by then may be, or may be left out. They are all known
//! before the search starts. (To place less would be too easy: of two removals that took the same element,
//! the one that returned last would simply be left out.)
//!
//! Where the specification says that operations concern different parts of the object ([`Model::concerns`]),
//! only those that concern the part of the refused one are searched: the parts are objects of their own, and
//! linearizability is local (Herlihy & Wing 1990).

use std::time::{Duration, Instant};

use linpoint_check::brute;
use linpoint_check::engine::Budget;
use linpoint_history::{OpCode, Operation, ProcessId, Signature, Spec, Symbols, Value};

use crate::finding::{Blame, Seen};
use crate::model::{Applied, Model};
use crate::order::search::{self, Allowance, Outcome, Task};
use crate::trail::{Past, Stretch, Trail};

/// What the search is about.
pub(crate) struct Case<'a> {
    pub signature: &'a Signature,
    pub trail: &'a Trail,
    /// The operation that does not fit.
    pub refused: Task,
    /// What the specification would have answered.
    pub expected: &'a str,
    /// Operations that had not committed when the refused one did, and were called by `end`.
    pub others: Vec<Task>,
    /// What returned by then must be placed.
    pub end: u64,
    /// Are the stretches that have no order whole intervals? Then it is the object, and only a core is looked
    /// for.
    pub whole: bool,
    /// Did views have a say in what took effect?
    pub viewed: bool,
    pub patience: Duration,
}

/// How many committed operations are put aside, step by step.
const WIDTHS: [usize; 6] = [0, 4, 16, 64, 256, usize::MAX];
/// Elements of states that a search may remember.
const ELEMENTS: usize = 1 << 24;
/// An operation that was dropped may not have said what it wrote; then views rule out what happened.
const VIEWS: &str = "an order fits the answers, but not together with the views";
/// How long other code may take over a core.
const RECHECK: Duration = Duration::from_secs(2);

/// Who is to blame?
pub(crate) fn blame(case: &Case<'_>) -> Blame {
    let allowance = Allowance { deadline: Instant::now() + case.patience, elements: ELEMENTS };
    let overlapping = case.trail.stretches().flat_map(|stretch| &stretch.past);
    let needed = overlapping.filter(|past| past.ret >= case.refused.call).map(|past| past.commit).min();
    let mut widest: Option<u64> = None;
    let mut narrowest: Option<Window> = None;
    for window in windows(case) {
        let mut outcome = window.search(&allowance);
        let mut refuted = None;
        if let Outcome::Found(_) = outcome
            && let Some(part) = window.other_parts().find(|part| part.search(&allowance) == Outcome::None)
        {
            // The parts are objects of their own; one of the others may be wrong, and only shows later in the
            // order of commits.
            refuted = Some(part);
            outcome = Outcome::None;
        }
        match outcome {
            Outcome::Found(_) if case.whole && case.viewed => return Blame::Open { why: VIEWS.to_owned() },
            Outcome::Found(_) if case.whole => {}
            Outcome::Found(order) if order.iter().any(|task| window.tasks[*task].is_dropped()) => {
                let why =
                    "an operation that was dropped before it committed may have taken effect".to_owned();
                return Blame::Open { why };
            }
            Outcome::Found(order)
                if case.viewed && order.iter().enumerate().all(|(at, task)| at == *task) =>
            {
                return Blame::Open { why: VIEWS.to_owned() };
            }
            Outcome::Found(order) => {
                return Blame::Annotation { order: window.moved(&order, case.signature), from: window.from };
            }
            Outcome::Cut => break,
            Outcome::None => {
                widest = Some(window.from);
                narrowest = narrowest.or(refuted).or(Some(window));
            }
        }
    }
    let (Some(widest), Some(narrowest)) = (widest, narrowest) else {
        if case.whole && case.viewed && case.others.iter().any(Task::is_dropped) {
            return Blame::Open { why: VIEWS.to_owned() };
        }
        if case.whole {
            let refused = case.refused.seen(case.signature);
            let reason = format!("{refused} finds no place in any order");
            let start = "a state too long ago".to_owned();
            return Blame::Object { core: vec![refused], start, from: 0, rechecked: false, reason };
        }
        return Blame::Open { why: "the search was cut short".to_owned() };
    };
    if !case.whole && needed.is_some_and(|needed| widest > needed) {
        let why = format!("only what committed from event {} on was searched", widest);
        return Blame::Open { why };
    }
    let from = if case.whole { 0 } else { widest };
    narrowest.into_blame(case, from, &allowance)
}

/// Operations to be placed in any order, and the states to start from.
#[derive(Clone)]
struct Window {
    starts: Vec<Start>,
    tasks: Vec<Task>,
    /// Operations that concern other parts of the object.
    others: Vec<Task>,
    /// Commits below this keep their places.
    from: u64,
}

pub(crate) struct Start(pub(crate) Box<dyn Model>);

impl Clone for Start {
    fn clone(&self) -> Start {
        Start(self.0.fork())
    }
}

/// The windows, narrow ones first.
fn windows<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Window> + 'a {
    let stretches: Vec<&Stretch> = case.trail.stretches().collect();
    let total: usize = stretches.iter().map(|stretch| stretch.past.len()).sum();
    let mut widths: Vec<usize> = WIDTHS.iter().map(|&width| width.min(total)).collect();
    if stretches.is_empty() {
        widths.clear();
    }
    widths.dedup();
    widths.into_iter().filter_map(move |width| {
        // The stretch in which the window begins, and how much of it stays in place.
        let mut skip = total - width;
        let mut index = 0;
        while index + 1 < stretches.len() && skip >= stretches[index].past.len() {
            skip -= stretches[index].past.len();
            index += 1;
        }
        let (kept, free) = stretches[index].past.split_at(skip);
        let starts = replay(&stretches[index].worlds, kept);
        let later = stretches[index + 1..].iter().flat_map(|stretch| &stretch.past);
        let free: Vec<&Past> = free.iter().chain(later).collect();
        let from = match free.first() {
            Some(_) if skip == 0 => stretches[index].from,
            Some(past) => past.commit,
            None => case.refused.commit.unwrap_or(0),
        };
        let mut tasks: Vec<Task> = free.iter().map(|past| past.task(case.end)).collect();
        tasks.push(case.refused.clone());
        tasks.extend(case.others.iter().cloned());
        // Where the order was not that of real time, an operation may be called after what stays in place
        // returned, or the other way round.
        let contradiction = kept.iter().any(|past| tasks.iter().any(|task| task.ret < past.look));
        (!contradiction && !starts.is_empty())
            .then(|| Window { starts, tasks, others: Vec::new(), from }.projected(case))
    })
}

/// The states after `past` took effect in this order.
pub(crate) fn replay(worlds: &[Box<dyn Model>], past: &[Past]) -> Vec<Start> {
    let mut now: Vec<Box<dyn Model>> = worlds.iter().map(|world| world.fork()).collect();
    let mut touched = Vec::new();
    for past in past {
        touched.clear();
        let task = past.task(u64::MAX);
        match &task.result {
            Some(result) => {
                now.retain_mut(|world| world.apply(task.call(), result, &mut touched) == Applied::Yes);
            }
            None => {
                now = crate::refine::distinct(now.iter().flat_map(|w| w.apply_pending(task.call())).collect())
            }
        }
    }
    now.into_iter().map(Start).collect()
}

impl Window {
    /// Leaves out what concerns other parts of the object than the refused operation does, if all operations
    /// concern one part.
    fn projected(mut self, case: &Case<'_>) -> Window {
        let Some(Start(model)) = self.starts.first() else { return self };
        let part = |task: &Task| model.concerns(task.call()).cloned();
        let parts: Vec<Option<Value>> = self.tasks.iter().map(part).collect();
        let mine = model.concerns(case.refused.call()).cloned();
        if mine.is_some() && parts.iter().all(Option::is_some) {
            let tasks = std::mem::take(&mut self.tasks).into_iter().zip(parts);
            let (same, others): (Vec<_>, Vec<_>) = tasks.partition(|(_, part)| *part == mine);
            self.tasks = same.into_iter().map(|(task, _)| task).collect();
            self.others = others.into_iter().map(|(task, _)| task).collect();
        }
        self
    }

    /// The same window for each of the other parts.
    fn other_parts(&self) -> impl Iterator<Item = Window> {
        let model = &*self.starts[0].0;
        let mut parts: Vec<(Option<Value>, Vec<Task>)> = Vec::new();
        for task in &self.others {
            let part = model.concerns(task.call()).cloned();
            match parts.iter_mut().find(|(other, _)| *other == part) {
                Some((_, tasks)) => tasks.push(task.clone()),
                None => parts.push((part, vec![task.clone()])),
            }
        }
        parts.into_iter().map(|(_, tasks)| Window {
            starts: self.starts.clone(),
            tasks,
            others: Vec::new(),
            from: self.from,
        })
    }

    fn search(&self, allowance: &Allowance) -> Outcome {
        let mut cut = false;
        for Start(start) in &self.starts {
            match search::find(start.fork(), &self.tasks, allowance) {
                Outcome::None => {}
                Outcome::Cut => cut = true,
                found => return found,
            }
        }
        if cut { Outcome::Cut } else { Outcome::None }
    }

    /// The order found, from the first operation that is not where its commit says.
    fn moved(&self, order: &[usize], signature: &Signature) -> Vec<Seen> {
        let same = order.iter().enumerate().take_while(|(place, task)| place == *task).count();
        // By versions, what does not fit may be the order itself: then all of it is shown.
        let same = if same == order.len() { 0 } else { same };
        order[same..].iter().map(|&task| self.tasks[task].seen(signature)).collect()
    }

    fn is_refuted(&self, tasks: Vec<Task>, allowance: &Allowance) -> bool {
        let smaller = Window { tasks, others: Vec::new(), starts: self.starts.clone(), from: self.from };
        smaller.search(allowance) == Outcome::None
    }

    /// The object is wrong: with as few operations as show it.
    fn into_blame(mut self, case: &Case<'_>, from: u64, allowance: &Allowance) -> Blame {
        let deadline = Instant::now() + RECHECK;
        let shrinking = Allowance { deadline: deadline.min(allowance.deadline), ..*allowance };
        let mut index = 0;
        while index < self.tasks.len() {
            let task = &self.tasks[index];
            let is_refused = task.thread == case.refused.thread && task.call == case.refused.call;
            if !is_refused && is_neutral(&*self.starts[0].0, task) {
                let mut fewer = self.tasks.clone();
                fewer.remove(index);
                if self.is_refuted(fewer.clone(), &shrinking) {
                    self.tasks = fewer;
                    continue;
                }
            }
            index += 1;
        }
        self.tasks.sort_by_key(|task| (task.call, task.ret));
        let rechecked = self.starts.len() == 1 && is_wrong_again(&*self.starts[0].0, &self.tasks);
        let refused = case.refused.seen(case.signature);
        let about_refused =
            |task: &Task| task.thread == case.refused.thread && task.call == case.refused.call;
        let reason = match self.tasks.len() {
            _ if !self.tasks.iter().any(about_refused) => "no order of the core is allowed".to_owned(),
            1 => format!("{refused} is impossible here: the specification allows {}", case.expected),
            count => format!("{refused} finds no place among the {count} operations of the core"),
        };
        let core = self.tasks.iter().map(|task| task.seen(case.signature)).collect();
        Blame::Object { core, start: self.starts[0].0.show(), from, rechecked, reason }
    }
}

/// Would a right run stay right without this operation? Only what changes nothing in any state is known to be
/// so.
pub(crate) fn is_neutral(model: &dyn Model, task: &Task) -> bool {
    let known = model.builtin();
    known.is_some_and(|(spec, _)| spec.is_read_only(task.call(), task.result.as_ref()))
}

/// Does brute force, which shares nothing with this search but the specification, find no order either?
fn is_wrong_again(model: &dyn Model, tasks: &[Task]) -> bool {
    let Some((spec, state)) = model.builtin() else { return false };
    let mut symbols = Symbols::new();
    let mut rows = Vec::new();
    for task in tasks {
        if task.thread.0 > Operation::MAX_PROCESS {
            return false;
        }
        let mut row = Operation::new(ProcessId(task.thread.0), OpCode(task.op));
        row.call = task.call as i64;
        row.arg = symbols.intern(&task.arg);
        // What may be left out becomes pending, which allows more.
        row.ret = Operation::NEVER;
        if let (true, Some(result)) = (task.must, &task.result) {
            row.ret = task.ret as i64;
            let shape = spec.signature().decl(row.op()).result;
            row.result = symbols.intern(crate::models::normalised(shape, result));
        }
        rows.push(row);
    }
    let budget = Budget { deadline: Some(Instant::now() + RECHECK), ..Budget::unlimited() };
    let found = brute::search_from(spec, state, &rows, &symbols, &budget);
    found.is_ok_and(|found| !found.holds())
}
