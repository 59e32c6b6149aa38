//! A failure, made small and drawn.
//!
//! It is shrunk by scenario (leave an operation out, and look whether the same kind of failure is still there), then by
//! preemptions (the smallest bound under which it shows), and steps that do not matter to it are left out of the
//! drawing. The schedule is run once more with every step recorded,
//! and what that run shows is what is reported: the failure is never printed from memory.

use std::fmt;
use std::time::{Duration, Instant};

use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::strategy::replay::Replay;
use linpoint_sched::{Execution, Failure, ThreadId, Trace};

use crate::check::Check;
use crate::explored::{Exploration, Fault, Finding, Results, program};
use crate::linearize::{Criterion, Moment};
use crate::memory::Memory;
use crate::plan;
use crate::relevant::relevant;
use crate::report::{Coverage, whims_note};
use crate::scenario::Scenario;
use crate::show::{self, Answer, Bar};
use crate::spec::{Object, Specification};
use crate::token::{self, Guided, Token};
use crate::view::{Material, View};

/// A failure that was found, made small, and can be run again: a scenario, and a schedule under which it fails.
#[derive(Clone, Debug)]
pub struct FailingRun {
    /// Is it a use of freed memory, or a second free?
    pub of_memory: bool,
    /// One line: what is wrong.
    pub headline: String,
    /// The scenario.
    pub scenario: String,
    /// The history that nothing explains, as bars; empty for other failures.
    pub history: String,
    /// The schedule, a column a thread.
    pub schedule: String,
    /// What memory may do. Under a weak model the schedule is an execution graph: the events of each thread.
    pub memory: Memory,
    /// How often the schedule switches away from a thread that could go on.
    pub preemptions: usize,
    /// What to pass to `replay`.
    pub token: String,
    /// Was it confirmed by running it again and, for a history, by trying every order?
    pub rechecked: bool,
    /// Is it no fault of the program's, but the reason why nothing can be said about it: an execution longer than the
    /// limit, a use of the explorer that cannot work, a program that does not do the same under the same schedule?
    pub refused: bool,
    /// What else there is to say.
    pub notes: Vec<String>,
    /// The same, for a page.
    pub view: View,
}

/// A failing run by the name that it has everywhere: what shows a violation.
pub type Counterexample = FailingRun;

/// Is it a use of freed memory, or a second free?
pub(crate) fn is_of_memory(failure: &Failure) -> bool {
    matches!(failure, Failure::UseAfterFree(_) | Failure::DoubleFree(_))
}

impl fmt::Display for FailingRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.headline)?;
        if !self.scenario.is_empty() {
            writeln!(f, "\nscenario: {}", self.scenario)?;
        }
        if !self.history.is_empty() {
            write!(f, "\n{}", self.history)?;
        }
        match self.memory {
            Memory::Sc => writeln!(f, "\nschedule ({} preemptions):\n{}", self.preemptions, self.schedule)?,
            Memory::Rc11 if self.schedule.is_empty() => {}
            Memory::Rc11 => writeln!(f, "\nexecution ({}):\n{}", self.memory, self.schedule)?,
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        if self.token.is_empty() {
            return Ok(());
        }
        write!(f, "run it again: .replay(\"{}\")", self.token)
    }
}

/// Time given to making a failure smaller.
const SHRINK: Duration = Duration::from_millis(1500);

impl FailingRun {
    /// Shrinks and draws what was found in `scenario`.
    pub(crate) fn shown<O: Object>(
        check: &Check<O>,
        scenario: &Scenario<O::Spec>,
        finding: Finding<O::Spec>,
    ) -> FailingRun {
        let mut execution = check.execution();
        let deadline = Instant::now() + SHRINK;
        let (scenario, finding) =
            fewer_operations(check, &mut execution, scenario.clone(), finding, deadline);
        let finding = fewer_preemptions(check, &mut execution, &scenario, finding, deadline);
        let mut replay = Replay::new(finding.schedule.clone());
        let again = observe(check, &mut execution, &scenario, &mut replay);
        match again {
            Some((confirmed, trace, steps)) if confirmed.fault.resembles(&finding.fault) => {
                draw(check, &scenario, &confirmed, (&trace, &steps), Vec::new())
            }
            // What does not come again under the same schedule is not told as if it did.
            other => {
                let other = other.map(|(confirmed, ..)| confirmed.fault.name().to_string());
                let failure =
                    finding.fault.name().not_again(other.as_deref(), execution.record().steps.len());
                let finding = Finding { fault: Fault::Failure(failure), ..finding };
                draw(check, &scenario, &finding, (&Trace::default(), &[]), Vec::new())
            }
        }
    }

    /// Runs the schedule of `token` again.
    pub(crate) fn replay<O: Object>(
        check: &Check<O>,
        scenario: &Scenario<O::Spec>,
        token: &Token,
        coverage: &mut Coverage,
    ) -> Option<FailingRun> {
        let mut execution = check.execution();
        let mut guided = Guided::new(token.turns.clone());
        coverage.executions = 1;
        let (finding, trace, steps) = observe(check, &mut execution, scenario, &mut guided)?;
        let notes = if guided.exact { Vec::new() } else { vec![token::CHANGED.to_owned()] };
        Some(draw(check, scenario, &finding, (&trace, &steps), notes))
    }
}

/// Runs once with every step recorded; what is wrong with that run, if anything is, and which of its steps matter.
fn observe<O: Object>(
    check: &Check<O>,
    execution: &mut Execution,
    scenario: &Scenario<O::Spec>,
    strategy: &mut dyn linpoint_sched::strategy::Strategy,
) -> Option<(Finding<O::Spec>, Trace, Vec<bool>)> {
    let results = Results::<O::Spec>::default();
    let mut exploration = Exploration::<O>::new(scenario, check.criterion_asked());
    let trace = {
        let program = program::<O>(scenario, &results);
        execution.trace(&program, strategy).1
    };
    let finding = *exploration.judge(execution.record(), &results, false).err()?;
    let failure = match &finding.fault {
        Fault::Failure(failure) => Some(failure),
        Fault::Unexplained { .. } => None,
    };
    let steps = relevant(execution.record(), failure);
    Some((finding, trace, steps))
}

/// Leaves out operations as long as the same kind of failure remains.
fn fewer_operations<O: Object>(
    check: &Check<O>,
    execution: &mut Execution,
    mut scenario: Scenario<O::Spec>,
    mut finding: Finding<O::Spec>,
    deadline: Instant,
) -> (Scenario<O::Spec>, Finding<O::Spec>) {
    let mut index = 0;
    while index < scenario.len() && Instant::now() < deadline {
        let smaller = scenario.without(index);
        let mut exploration = Exploration::<O>::new(&smaller, check.criterion_asked());
        match plan::explore(&mut exploration, execution, check.search_asked(), 0, deadline) {
            Err(found) if found.fault.resembles(&finding.fault) => {
                finding = *found;
                scenario = smaller;
                index = 0;
            }
            _ => index += 1,
        }
    }
    (scenario, finding)
}

/// Looks for the failure with fewer preemptions.
fn fewer_preemptions<O: Object>(
    check: &Check<O>,
    execution: &mut Execution,
    scenario: &Scenario<O::Spec>,
    finding: Finding<O::Spec>,
    deadline: Instant,
) -> Finding<O::Spec> {
    for bound in 0..finding.preemptions as u32 {
        let mut exploration = Exploration::<O>::new(scenario, check.criterion_asked());
        let walked = exploration.walk(execution, &mut Dfs::bounded(bound), 200_000, Some(deadline));
        match walked {
            Err(found) if found.fault.resembles(&finding.fault) => return *found,
            _ if Instant::now() >= deadline => break,
            _ => {}
        }
    }
    finding
}

fn draw<O: Object>(
    check: &Check<O>,
    scenario: &Scenario<O::Spec>,
    finding: &Finding<O::Spec>,
    (trace, steps): (&Trace, &[bool]),
    mut notes: Vec<String>,
) -> FailingRun {
    let parts = scenario.threads.len();
    let name = move |thread: ThreadId| match thread.index() {
        0 => "main".to_owned(),
        index if index <= parts => format!("thread {index}"),
        index => format!("thread {index} (its own)"),
    };
    let bars = bars(scenario, &finding.results);
    let criterion = check.criterion_asked();
    let (headline, history, rechecked) = match &finding.fault {
        Fault::Failure(Failure::Claim(claim)) => {
            notes.insert(0, show::claim(claim, trace, &name));
            (show::claim_headline(claim), String::new(), !trace.lines.is_empty())
        }
        Fault::Failure(failure) => (failure.to_string(), String::new(), !trace.lines.is_empty()),
        Fault::Unexplained { moments, should_not_wait: Some(failure), rechecked } => {
            notes.push(format!("nobody can go on: {failure}"));
            let headline = "operations wait for ever that the specification would let go on".to_owned();
            (headline, show::history(&bars, moments), *rechecked)
        }
        Fault::Unexplained { moments, should_not_wait: None, rechecked } => {
            let headline = format!("not {}: {}", criterion.adjective(), why(&bars, moments, criterion));
            (headline, show::history(&bars, moments), *rechecked)
        }
    };
    notes.extend(whims_note(check.spurious_asked()));
    let turns = turns(check, scenario, finding);
    let token = Token { program: check.fingerprint(), scenario: check.encode(scenario), turns };
    let mut found = FailingRun {
        of_memory: matches!(&finding.fault, Fault::Failure(failure) if is_of_memory(failure)),
        headline,
        scenario: scenario.to_string(),
        history,
        schedule: show::schedule(trace, steps, &name),
        preemptions: finding.preemptions,
        memory: Memory::Sc,
        token: token.to_string(),
        rechecked,
        refused: matches!(&finding.fault, Fault::Failure(failure) if failure.is_refusal()),
        notes,
        view: View::default(),
    };
    let material = Material {
        trace,
        steps,
        name: &name,
        history: match &finding.fault {
            Fault::Unexplained { moments, .. } => Some((&bars, moments)),
            Fault::Failure(_) => None,
        },
        claim: match &finding.fault {
            Fault::Failure(Failure::Claim(claim)) => Some(&**claim),
            _ => None,
        },
    };
    found.view = material.view(&found);
    found
}

/// The turns of the failing schedule.
fn turns<O: Object>(
    check: &Check<O>,
    scenario: &Scenario<O::Spec>,
    finding: &Finding<O::Spec>,
) -> Vec<token::Turn> {
    let mut execution = check.execution();
    let results = Results::<O::Spec>::default();
    let program = program::<O>(scenario, &results);
    execution.run(&program, &mut Replay::new(finding.schedule.clone()));
    token::turns(execution.record())
}

/// Each operation in words, with its lane.
fn bars<S: Specification>(scenario: &Scenario<S>, results: &[Option<S::Ret>]) -> Vec<Bar> {
    let mut bars = Vec::new();
    let mut add = |lane: String, ops: &[S::Op]| {
        for op in ops {
            let answer = match results.get(bars.len()) {
                Some(Some(ret)) => match S::show_ret(ret) {
                    unit if unit == "()" => Answer::Nothing,
                    text => Answer::Value(text),
                },
                Some(None) | None => Answer::Open,
            };
            bars.push(Bar { lane: lane.clone(), name: S::show_op(op), answer });
        }
    };
    add("main".to_owned(), &scenario.before);
    for (index, ops) in scenario.threads.iter().enumerate() {
        add(format!("thread {}", index + 1), ops);
    }
    add("main".to_owned(), &scenario.after);
    bars
}

/// One sentence.
fn why(bars: &[Bar], moments: &[Moment], criterion: Criterion) -> String {
    let list: Vec<String> = moments
        .iter()
        .filter_map(|moment| match moment {
            Moment::Return(op) => Some(bars[*op].label()),
            Moment::Call(_) => None,
        })
        .collect();
    let order = match criterion {
        Criterion::Linearizability => "that keeps the order of operations that do not overlap",
        Criterion::SequentialConsistency => "that keeps each thread's order",
        Criterion::QuiescentConsistency => "that keeps the order across quiet moments",
    };
    format!("no order of {} {order} gives these answers", list.join(", "))
}
