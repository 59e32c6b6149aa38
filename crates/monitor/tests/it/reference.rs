//! The slow and obvious checker, random logs, and the comparison of both checkers.
//!
//! A log is made by a small simulation: threads call, take effect, log a commit and return, in a random
//! order; some answers are spoiled, some commits are logged at the wrong moment. The reference sorts all
//! events, and tries every order by permutation. It knows nothing of seals, batches and arrival.

use linpoint_history::rng::Rng;
use linpoint_history::specs::State;
use linpoint_history::{Builtin, Call, Kind, OpCode, ProcessId, Spec, Value};
use linpoint_monitor::{
    Blame, Checker, Commits, Conclusion, End, Event, Finding, Found, Mistake, ObjectId, Setup, Summary,
    ThreadId, What, models,
};

/// How the commits of a log are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Exact,
    Windows,
    Mixed,
    Versions,
    Intervals,
}

pub const STYLES: [Style; 5] =
    [Style::Exact, Style::Windows, Style::Mixed, Style::Versions, Style::Intervals];

/// An operation of a log.
#[derive(Clone, Debug)]
struct Op {
    thread: u32,
    op: u8,
    arg: Value,
    result: Option<Value>,
    look: u64,
    /// The stretch of numbers in which it takes effect.
    from: u64,
    to: Option<u64>,
    version: Option<u64>,
    /// Does it say that it changes nothing? Then it may not.
    reads: bool,
    ret: Option<u64>,
}

/// A log, in the order in which things happened.
pub struct Log {
    spec: Builtin,
    style: Style,
    pub events: Vec<Event>,
    ops: Vec<Op>,
}

const KINDS: [Kind; 8] = [
    Kind::Map,
    Kind::Queue,
    Kind::Stack,
    Kind::Register,
    Kind::Set,
    Kind::Counter,
    Kind::Multiset,
    Kind::PriorityQueue,
];

/// A random log of a few operations.
pub fn log(rng: &mut Rng, style: Style) -> Log {
    let spec = Builtin::new(*rng.pick(&KINDS));
    let spoil = if rng.chance(0.5) { 0.15 } else { 0.0 };
    let misplace = if rng.chance(0.5) { 0.3 } else { 0.0 };
    let threads = 2 + rng.below(2) as u32;
    let total = 2 + rng.below(5) as usize;
    let mut state = spec.initial();
    let mut log = Log { style, events: Vec::new(), ops: Vec::new(), spec: spec.clone() };
    let (mut next, mut version) = (0u64, 0u64);
    let mut at: Vec<Thread> = (0..threads).map(|_| Thread::default()).collect();
    let mut steps = 0;
    loop {
        steps += 1;
        let open = at.iter().any(|thread| thread.step != Step::Idle);
        if log.ops.len() >= total && (!open || steps > 60) {
            return log;
        }
        let id = rng.below(u64::from(threads)) as u32;
        let thread = &mut at[id as usize];
        let now = next;
        let mut event = |what: What| {
            let stamp = next;
            next += u64::from(what.takes_number());
            log.events.push(Event { thread: ThreadId(id), object: ObjectId(0), stamp, what });
            stamp
        };
        match thread.step {
            Step::Idle if log.ops.len() < total => {
                let (op, arg) = random_call(rng, &spec);
                let look = event(What::Call { op, arg: arg.clone() });
                thread.early = rng.chance(misplace);
                thread.late = !thread.early && rng.chance(misplace);
                thread.op = log.ops.len();
                thread.step =
                    if thread.early && style == Style::Exact { Step::EarlyCommit } else { Step::Look };
                let (from, to, version, reads, ret) = (look, None, None, false, None);
                log.ops.push(Op { thread: id, op, arg, result: None, look, from, to, version, reads, ret });
            }
            Step::Idle => {}
            Step::EarlyCommit => {
                let number = event(What::Commit);
                (log.ops[thread.op].from, log.ops[thread.op].to) = (number, Some(number));
                thread.step = Step::Look;
            }
            Step::Look => {
                thread.look = now;
                thread.step = Step::Effect;
            }
            Step::Effect => {
                let op = &mut log.ops[thread.op];
                let call = Call { op: OpCode(op.op), process: ProcessId(id), arg: &op.arg };
                let (answer, after) = rng.pick(&spec.outcomes(&state, call)).clone();
                let reads = after == state;
                state = after;
                thread.answer = if rng.chance(spoil) { random_answer(rng, &spec, op.op) } else { answer };
                if !reads {
                    version += 1;
                }
                (thread.version, thread.reads) = (version, reads);
                let exact = style == Style::Exact || style == Style::Mixed && rng.chance(0.5);
                thread.step = Step::Commit;
                if exact && !thread.late && op.to.is_none() {
                    let number = event(What::Commit);
                    (op.from, op.to) = (number, Some(number));
                    thread.step = Step::Return;
                }
            }
            Step::Commit => {
                let op = &mut log.ops[thread.op];
                let misplaced = thread.late || thread.early;
                match style {
                    Style::Intervals => {}
                    Style::Exact if op.to.is_some() => {}
                    Style::Exact => {
                        let number = event(What::Commit);
                        (op.from, op.to) = (number, Some(number));
                    }
                    Style::Windows | Style::Mixed => {
                        // A wrong window begins after the effect.
                        op.from = if misplaced { now } else { thread.look };
                        op.to = Some(event(What::Window { from: op.from }));
                    }
                    Style::Versions => {
                        let shift = if misplaced && thread.version > 0 && !thread.reads { 100 } else { 0 };
                        op.version = Some(thread.version + shift);
                        op.reads = thread.reads;
                        let version = thread.version + shift;
                        let what = if thread.reads {
                            What::CommitAfter { version }
                        } else {
                            What::CommitAt { version }
                        };
                        op.to = Some(event(what));
                    }
                }
                thread.step = Step::Return;
            }
            Step::Return => {
                let op = &mut log.ops[thread.op];
                op.result = Some(thread.answer.clone());
                op.ret = Some(event(What::Return(thread.answer.clone())));
                thread.step = Step::Idle;
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Idle,
    EarlyCommit,
    Look,
    Effect,
    Commit,
    Return,
}

#[derive(Default)]
struct Thread {
    step: Step,
    op: usize,
    look: u64,
    answer: Value,
    version: u64,
    reads: bool,
    early: bool,
    late: bool,
}

fn random_call(rng: &mut Rng, spec: &Builtin) -> (u8, Value) {
    let op = rng.below(spec.signature().operations.len() as u64) as u8;
    let mut small = || Value::Int(rng.below(2) as i64);
    let arg = match spec.signature().operations[usize::from(op)].arg {
        linpoint_history::Shape::Unit => Value::Null,
        linpoint_history::Shape::Pair | linpoint_history::Shape::Entry | linpoint_history::Shape::Cell => {
            Value::list([small(), small()])
        }
        _ => small(),
    };
    (op, arg)
}

fn random_answer(rng: &mut Rng, spec: &Builtin, op: u8) -> Value {
    let shape = spec.signature().operations[usize::from(op)].result;
    let candidates = [Value::Null, Value::Int(0), Value::Int(1), Value::Bool(true), Value::Bool(false)];
    loop {
        let answer = rng.pick(&candidates).clone();
        if shape.admits(&answer) {
            // Where `true` means done it is null to the specification.
            let done = matches!(shape, linpoint_history::Shape::Unit | linpoint_history::Shape::Done);
            return if done && answer == Value::Bool(true) { Value::Null } else { answer };
        }
    }
}

/// Is there an order that respects `before`? An operation without an answer may be left out, unless
/// `committed` says that it took effect.
fn explains(
    spec: &Builtin,
    ops: &[&Op],
    before: &dyn Fn(&Op, &Op) -> bool,
    must: &dyn Fn(&Op) -> bool,
) -> bool {
    fn go(
        spec: &Builtin,
        state: &State,
        left: &[&Op],
        before: &dyn Fn(&Op, &Op) -> bool,
        must: &dyn Fn(&Op) -> bool,
    ) -> bool {
        if !left.iter().any(|op| must(op)) {
            return true;
        }
        (0..left.len()).any(|i| {
            // Of those that may be left out, one that never comes holds nobody up.
            let held =
                left.iter().enumerate().any(|(j, other)| j != i && must(other) && before(other, left[i]));
            if held {
                return false;
            }
            let mut rest = left.to_vec();
            let op = rest.remove(i);
            let call = Call { op: OpCode(op.op), process: ProcessId(op.thread), arg: &op.arg };
            let outcomes = spec.outcomes(state, call);
            let fits = |(answer, after): &&(Value, State)| {
                op.result.as_ref().is_none_or(|result| result == answer) && (!op.reads || after == state)
            };
            outcomes.iter().filter(fits).any(|(_, after)| go(spec, after, &rest, before, must))
        })
    }
    go(spec, &spec.initial(), ops, before, must)
}

impl Log {
    fn real_time(a: &Op, b: &Op) -> bool {
        a.ret.is_some_and(|ret| ret < b.look)
    }

    /// Do the commits as marked explain the operations?
    fn marked_fits(&self) -> bool {
        let all: Vec<&Op> = self.ops.iter().collect();
        match self.style {
            Style::Exact | Style::Windows | Style::Mixed => {
                let before = |a: &Op, b: &Op| a.to.is_some_and(|to| to < b.from);
                explains(&self.spec, &all, &before, &|op| op.to.is_some())
            }
            Style::Intervals => explains(&self.spec, &all, &Log::real_time, &|op| op.ret.is_some()),
            Style::Versions => {
                let key = |op: &Op| op.version.map(|version| (version, op.reads));
                let before = |a: &Op, b: &Op| {
                    Log::real_time(a, b)
                        || match (key(a), key(b)) {
                            (Some(a), Some(b)) => a < b,
                            _ => false,
                        }
                };
                explains(&self.spec, &all, &before, &|op| op.version.is_some())
            }
        }
    }

    /// Is there any order in real time of what returned by `end`?
    fn intervals_fit(&self, end: u64) -> bool {
        // That an operation only reads is the annotation's word.
        let called = self.ops.iter().filter(|op| op.look <= end).cloned();
        let called: Vec<Op> = called.map(|op| Op { reads: false, ..op }).collect();
        let called: Vec<&Op> = called.iter().collect();
        explains(&self.spec, &called, &Log::real_time, &|op| op.ret.is_some_and(|ret| ret <= end))
    }

    /// The first exact commit that does not fit, if all are exact and answered.
    fn first_misfit(&self) -> Option<u64> {
        let mut ops: Vec<&Op> = self.ops.iter().filter(|op| op.to.is_some()).collect();
        ops.sort_by_key(|op| op.to);
        let mut states = vec![self.spec.initial()];
        for op in ops {
            let call = Call { op: OpCode(op.op), process: ProcessId(op.thread), arg: &op.arg };
            let next = states.iter().flat_map(|state| self.spec.outcomes(state, call));
            let fits = |answer: &Value| op.result.as_ref().is_none_or(|result| result == answer);
            let next: Vec<State> = next.filter(|(answer, _)| fits(answer)).map(|(_, after)| after).collect();
            if next.is_empty() {
                return op.to;
            }
            states = next;
        }
        None
    }

    fn versions_are_distinct(&self) -> bool {
        let mut versions: Vec<u64> =
            self.ops.iter().filter(|op| !op.reads).filter_map(|op| op.version).collect();
        versions.sort_unstable();
        versions.windows(2).all(|pair| pair[0] != pair[1])
    }

    fn checker(&self, rng: &mut Rng) -> Checker {
        let commits = match self.style {
            Style::Intervals => Commits::Intervals,
            Style::Windows | Style::Mixed if rng.chance(0.5) => Commits::Windows,
            _ => Commits::Marked,
        };
        let setup = Setup::new(ObjectId(0), models::model(self.spec.clone()));
        Checker::new(setup.with_commits(commits))
    }

    /// Pushes `events` in a random arrival, with random seals, and ends.
    fn run(&self, rng: &mut Rng, events: &[Event], end: End) -> Summary {
        let mut checker = self.checker(rng);
        let mut findings = Vec::new();
        let mut left: Vec<Vec<Event>> = Vec::new();
        for event in events {
            let thread = event.thread.0 as usize;
            left.resize_with(left.len().max(thread + 1), Vec::new);
            left[thread].push(event.clone());
        }
        left.iter_mut().for_each(|events| events.reverse());
        let everything = end == End::Complete;
        while left.iter().any(|events| !events.is_empty()) {
            let thread = rng.below(left.len() as u64) as usize;
            if let Some(event) = left[thread].pop() {
                checker.push(event);
            }
            if rng.chance(0.3) {
                // Every event below is pushed, and every call that looked at less; what was cut off may come
                // at any time.
                let next = left.iter().filter_map(|events| events.last()).map(|event| event.stamp).min();
                let lost = if everything { u64::MAX } else { self.first_missing(events) };
                checker.seal(next.unwrap_or(0).min(lost));
            }
            if rng.chance(0.3) {
                findings.extend(checker.advance().findings);
            }
        }
        let mut summary = checker.finish(end);
        findings.append(&mut summary.findings);
        summary.findings = findings;
        summary
    }

    /// No event of the whole log that is not among `events` has a smaller stamp.
    fn first_missing(&self, events: &[Event]) -> u64 {
        let missing = self.events.iter().filter(|event| !events.contains(event));
        missing.map(|event| event.stamp).min().unwrap_or(u64::MAX)
    }
}

fn is_change(finding: &Finding) -> bool {
    matches!(finding.found, Found::Mistake(Mistake::Changed { .. }))
}

/// Compares the checkers on one random log; the message says how they differ.
pub fn compare(seed: u64, style: Style) -> Result<Conclusion, String> {
    let mut rng = Rng::new(seed);
    let log = log(&mut rng, style);
    let fail = |what: &str, summary: &Summary| {
        let events: Vec<String> = log.events.iter().map(|e| format!("  {e:?}")).collect();
        Err(format!(
            "seed {seed}, {style:?}, {:?}: {what}: {summary:#?}\n{}",
            log.spec.kind,
            events.join("\n")
        ))
    };
    let fits = log.marked_fits();
    let whole = log.run(&mut rng, &log.events, End::Complete);
    let conclusion = whole.conclusion;
    // A version given to nobody may have been taken by an operation that never said so.
    let unsaid =
        style == Style::Versions && log.ops.iter().any(|op| op.ret.is_none() && op.version.is_none());
    if !log.versions_are_distinct() {
        return if conclusion == Conclusion::Clean { fail("versions twice", &whole) } else { Ok(conclusion) };
    }
    match conclusion {
        Conclusion::Clean if !fits && !unsaid => return fail("a wrong pass", &whole),
        Conclusion::Clean => {
            let committed = log.ops.iter().filter(|op| op.to.is_some()).count() as u64;
            let returned = log.ops.iter().filter(|op| op.ret.is_some()).count() as u64;
            let expected = if style == Style::Intervals { returned } else { committed };
            if whole.operations != expected || whole.events != log.events.len() as u64 && expected == returned
            {
                let open = log.ops.iter().any(|op| op.ret.is_none());
                if !open || whole.operations != expected {
                    return fail("not everything was judged", &whole);
                }
            }
        }
        Conclusion::Unknown if !unsaid => return fail("nothing is unknown here", &whole),
        Conclusion::Unknown => {}
        // What says that it only reads may not change anything, whatever order there is.
        Conclusion::Mistaken if whole.findings.iter().any(is_change) => {}
        _ if fits => return fail("a false alarm", &whole),
        Conclusion::Violated | Conclusion::Mistaken => {
            let [finding] = &whole.findings[..] else { return fail("one finding expected", &whole) };
            let Found::Refused(refused) = &finding.found else { return fail("a refusal expected", &whole) };
            if style == Style::Exact && Some(finding.at) != log.first_misfit() {
                return fail("another commit is the first that does not fit", &whole);
            }
            let fits_in_time = log.intervals_fit(u64::MAX - 1);
            match &refused.blame {
                Blame::Object { .. } if fits_in_time => return fail("an order in real time exists", &whole),
                Blame::Annotation { .. }
                    if !log.intervals_fit(refused.operation.ret.unwrap_or(finding.at)) =>
                {
                    return fail("no order in real time exists", &whole);
                }
                Blame::Annotation { .. } if style == Style::Intervals => {
                    return fail("nothing is annotated", &whole);
                }
                _ => {}
            }
        }
    }
    if let Err((what, summary)) = torn(&mut rng, &log, fits) {
        return fail(&what, &summary);
    }
    if let Err((what, summary)) = gap(&mut rng, &log, fits) {
        return fail(&what, &summary);
    }
    Ok(conclusion)
}

/// Each thread's records end somewhere: what is judged is judged right.
fn torn(rng: &mut Rng, log: &Log, fits: bool) -> Result<(), (String, Summary)> {
    let mut kept: Vec<u64> = (0..4).map(|_| rng.below(12)).collect();
    let torn: Vec<Event> = log
        .events
        .iter()
        .filter(|event| {
            let left = &mut kept[event.thread.0 as usize];
            *left = left.saturating_sub(1);
            *left > 0
        })
        .cloned()
        .collect();
    let summary = log.run(rng, &torn, End::Torn);
    if fits && summary.conclusion != Conclusion::Clean {
        return Err((format!("a false alarm on a torn log\n{torn:#?}"), summary));
    }
    if summary.events + summary.unjudged != torn.len() as u64 {
        return Err(("a torn log: events are not accounted for".into(), summary));
    }
    let misfit = (log.style == Style::Exact).then(|| log.first_misfit()).flatten();
    if let (Some(finding), Some(misfit)) = (summary.findings.first(), misfit)
        && finding.at != misfit
    {
        return Err(("a torn log: another commit is the first that does not fit".into(), summary));
    }
    Ok(())
}

/// A record is lost: that is never a pass, and no false alarm.
fn gap(rng: &mut Rng, log: &Log, fits: bool) -> Result<(), (String, Summary)> {
    let numbered: Vec<usize> = (0..log.events.len()).filter(|&i| log.events[i].what.takes_number()).collect();
    // The last record is missed by nobody.
    let [lost, .., _] = numbered[..] else { return Ok(()) };
    let _ = lost;
    let lost = numbered[rng.below(numbered.len() as u64 - 1) as usize];
    let mut events = log.events.clone();
    events.remove(lost);
    let summary = log.run(rng, &events, End::Complete);
    match summary.conclusion {
        Conclusion::Clean => Err(("a gap is no pass".into(), summary)),
        Conclusion::Violated | Conclusion::Mistaken if fits => {
            Err((format!("a false alarm with a gap at {lost}"), summary))
        }
        _ => Ok(()),
    }
}
