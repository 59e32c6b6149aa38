//! What was found in Rust code, as view data: the history as bars, the schedule as steps with what each location held, the claim with its terms.

pub use linpoint_report::View;
use linpoint_report::view::{
    Bar as Drawn, Claim, History, Memory, Run, Step, Summary, Term, Variable, VerdictKind,
};
use linpoint_sched::{Action, ThreadId, Trace};

use crate::counterexample::FailingRun;
use crate::explore::Explored;
use crate::linearize::Moment;
use crate::report::Report;
use crate::show::{Answer, Bar, Names, source};

/// What a counterexample is drawn from.
pub(crate) struct Material<'a> {
    pub(crate) trace: &'a Trace,
    /// For each step whether it matters.
    pub(crate) steps: &'a [bool],
    pub(crate) name: &'a dyn Fn(ThreadId) -> String,
    /// The history that nothing explains.
    pub(crate) history: Option<(&'a [Bar], &'a [Moment])>,
    pub(crate) claim: Option<&'a linpoint_claim::Failure>,
}

impl Material<'_> {
    /// The view of a counterexample.
    pub(crate) fn view(&self, found: &FailingRun) -> View {
        let verdict = if found.refused { VerdictKind::Unknown } else { VerdictKind::Violated };
        let (word, headline) = match self.history {
            Some(_) => found.headline.split_once(": ").unwrap_or(("violated", &found.headline)),
            None => (verdict.word(), found.headline.as_str()),
        };
        let mut view = View::new(verdict, word, headline);
        let scenario = match found.scenario.as_str() {
            "" => "A program of several threads under a controlled scheduler.".to_owned(),
            scenario => format!("The scenario {scenario}, under a controlled scheduler."),
        };
        view.summary = Summary {
            checked: scenario,
            rests_on: match found.rechecked {
                true => "One schedule, made small and run again with every step recorded; what that run shows is drawn.",
                false => "One schedule that failed once and could not be made to fail again.",
            }
            .to_owned(),
            not_covered: "Other mistakes, and memory weaker than sequentially consistent.".to_owned(),
            facts: vec![("preemptions".to_owned(), found.preemptions.to_string())],
            again: format!(".replay(\"{}\")", found.token),
        };
        if let Some((bars, moments)) = self.history {
            view.history = Some(history(bars, moments, headline));
        }
        let mut names = Names::default();
        let run = self.run(headline, &mut names);
        view.claims = self.claim.iter().map(|claim| self.claim(claim, run.steps.len(), &mut names)).collect();
        view.run = (!run.steps.is_empty()).then_some(run);
        view.text = found.to_string();
        view
    }

    fn run(&self, reason: &str, names: &mut Names) -> Run {
        let mut threads: Vec<ThreadId> = self.trace.lines.iter().map(|line| line.thread).collect();
        threads.sort();
        threads.dedup();
        let mut memory = Memory::default();
        let mut steps = Vec::new();
        for (index, line) in self.trace.lines.iter().enumerate() {
            let place = match line.address {
                0 => String::new(),
                address => names.place(address),
            };
            let details: Vec<String> = line.details.iter().map(|detail| names.rename(detail)).collect();
            let before = memory.clone();
            if !place.is_empty() && !place.starts_with("of thread") {
                let value = holds(line.action, details.last().map(String::as_str), &(self.name)(line.thread));
                match (memory.variables.iter_mut().find(|known| known.name == place), value) {
                    (_, None) => {}
                    (Some(known), Some(value)) => known.value = value,
                    (None, Some(value)) => {
                        memory.variables.push(Variable { name: place.clone(), value, to: None });
                    }
                }
            }
            let text = format!("{} {place} {}", line.action.name(), details.join(", "));
            steps.push(Step {
                thread: threads.iter().position(|thread| *thread == line.thread).unwrap_or(0),
                text: text.split_whitespace().collect::<Vec<_>>().join(" "),
                place: source(line.site),
                memory: (memory != before).then(|| memory.clone()),
                aside: !self.steps.get(index).copied().unwrap_or(true),
                ..Step::default()
            });
        }
        Run {
            threads: threads.into_iter().map(|thread| (self.name)(thread)).collect(),
            wrong: steps.len().checked_sub(1),
            steps,
            reason: reason.to_owned(),
            ..Run::default()
        }
    }

    /// Steps of claims count from one; those of a view from zero.
    fn claim(&self, failure: &linpoint_claim::Failure, steps: usize, names: &mut Names) -> Claim {
        let step = |at: u64| (at as usize).clamp(1, steps.max(1)) - 1;
        Claim {
            text: failure.site.source.to_owned(),
            place: failure.site.to_string(),
            thread: (self.name)(ThreadId(failure.thread.0 as u8)),
            made: step(failure.made_at),
            decided: step(failure.decided_at),
            terms: failure
                .terms
                .iter()
                .map(|term| Term {
                    text: term.text.to_owned(),
                    value: names.rename(&term.value),
                    seen: step(term.seen_at),
                    fixed: step(term.fixed_at),
                })
                .collect(),
            outcome: match &failure.panic {
                Some(message) => format!("deciding it panicked: {message}"),
                None => "false".to_owned(),
            },
        }
    }
}

/// What a location holds after a step, as far as the step shows it.
fn holds(action: Action, detail: Option<&str>, thread: &str) -> Option<String> {
    match action {
        Action::Lock | Action::TryLock | Action::WriteLock if detail != Some("held") => {
            Some(format!("held by {thread}"))
        }
        Action::Unlock => Some("free".to_owned()),
        Action::Lock | Action::TryLock | Action::WriteLock | Action::AwaitReaders => None,
        _ => {
            let detail = detail?;
            if let Some(value) = detail.strip_prefix("← ") {
                return Some(value.to_owned());
            }
            if let Some((_, after)) = detail.split_once(" → ") {
                return Some(after.to_owned());
            }
            match (action, detail.strip_suffix(", failed")) {
                (_, Some(value)) => Some(value.to_owned()),
                (Action::Load, None) => Some(detail.to_owned()),
                _ => None,
            }
        }
    }
}

/// Stamps are places in the order of calls and returns.
fn history(bars: &[Bar], moments: &[Moment], reason: &str) -> History {
    let place = |wanted: Moment| moments.iter().position(|&moment| moment == wanted).map(|at| at as i64 + 1);
    let mut lanes: Vec<String> = Vec::new();
    let mut drawn: Vec<Drawn> = Vec::new();
    for (index, bar) in bars.iter().enumerate() {
        let Some(call) = place(Moment::Call(index)) else { continue };
        let lane = lanes.iter().position(|lane| *lane == bar.lane).unwrap_or_else(|| {
            lanes.push(bar.lane.clone());
            lanes.len() - 1
        });
        let ret = place(Moment::Return(index));
        let result = match &bar.answer {
            Answer::Value(value) => value.clone(),
            Answer::Open if ret.is_none() => "?".to_owned(),
            Answer::Open | Answer::Nothing => String::new(),
        };
        drawn.push(Drawn { lane, name: bar.name.clone(), result, call, ret, core: true, ..Drawn::default() });
    }
    drawn.sort_by_key(|bar| bar.call);
    // The last return is the first that nothing explains.
    let last = drawn.iter().filter_map(|bar| bar.ret).max();
    History {
        impossible: drawn.iter().position(|bar| bar.ret.is_some() && bar.ret == last),
        lanes,
        bars: drawn,
        reason: reason.to_owned(),
        ..History::default()
    }
}

impl FailingRun {
    /// One page that shows it; it needs nothing but a browser.
    pub fn page(&self) -> String {
        linpoint_report::page::page(&self.view)
    }
}

impl Report {
    /// Everything a page shows: the counterexample, or what was covered.
    pub fn view(&self) -> View {
        let mut view = match &self.counterexample {
            Some(found) => found.view.clone(),
            None => covered(self.verdict().kind(), &self.coverage.to_string(), &self.to_string()),
        };
        let figures = [
            ("executions", self.coverage.executions.to_string()),
            ("time", format!("{:.2} s", self.elapsed.as_secs_f64())),
        ];
        view.summary.facts.extend(figures.map(|(name, figure)| (name.to_owned(), figure)));
        view
    }

    /// One page that shows it: `std::fs::write("queue.html", report.page())`.
    pub fn page(&self) -> String {
        linpoint_report::page::page(&self.view())
    }
}

impl Explored {
    /// Everything a page shows: the counterexample, or what was covered.
    pub fn view(&self) -> View {
        match &self.counterexample {
            Some(found) => found.view.clone(),
            None => covered(self.verdict().kind(), &self.walked.to_string(), &self.to_string()),
        }
    }

    /// One page that shows it.
    pub fn page(&self) -> String {
        linpoint_report::page::page(&self.view())
    }
}

/// Nothing wrong was found.
fn covered(verdict: VerdictKind, coverage: &str, text: &str) -> View {
    let mut view = View::new(verdict, verdict.word(), coverage);
    view.summary = Summary {
        checked: "Rust code under a controlled scheduler, schedule after schedule.".to_owned(),
        rests_on: match verdict {
            VerdictKind::Holds => "Every schedule of every scenario within the size was run.",
            VerdictKind::Violated | VerdictKind::Unknown => {
                "The schedules that were run: nothing wrong was found in them."
            }
        }
        .to_owned(),
        not_covered: "Larger scenarios, and memory weaker than sequentially consistent.".to_owned(),
        ..Summary::default()
    };
    view.text = text.to_owned();
    view
}
