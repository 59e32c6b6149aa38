//! Explorations under a weak memory model: every execution graph of a program, each once.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use linpoint_sched::explore::{Coverage as Walked, Covered, Plan, Search, Stop};
use linpoint_sched::weak::{self, Ended, Explored as Graphs, Limit, Seen};

use crate::counterexample::FailingRun;
use crate::memory::Memory;
use crate::token::{Token, TokenError};
use crate::view::View;

mod bridge;
mod checking;
mod drawn;

pub(crate) use checking::{All, Setting, check, check_all};
use drawn::Drawn;

/// What reproduces a failure: the program (and scenario), and the number of the graph in its exploration, which goes the same
/// way every time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GraphToken {
    pub(crate) program: Token,
    pub(crate) graph: u64,
}

const PREFIX: &str = "lw1-";

impl fmt::Display for GraphToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}-{}", self.graph, self.program)
    }
}

impl GraphToken {
    /// The token, if it is one of a graph.
    pub(crate) fn read(text: &str) -> Option<Result<GraphToken, TokenError>> {
        let rest = text.strip_prefix(PREFIX)?;
        let parts = rest.split_once('-').and_then(|(graph, program)| Some((graph.parse().ok()?, program)));
        let Some((graph, program)) = parts else { return Some(Err(TokenError::Malformed)) };
        Some(program.parse().map(|program| GraphToken { program, graph }))
    }
}

/// The plan in terms of graphs, or why there is none.
pub(crate) fn plan_of(plan: &Plan, memory: Memory) -> Result<weak::Plan, String> {
    let mut graphs = weak::Plan::of(memory.model());
    graphs.time = plan.time;
    graphs.graphs = plan.runs;
    graphs.stop_at_failure = plan.stop_at_failure;
    graphs.stuck_fails = plan.stuck_fails;
    graphs.limits = plan.limits.clone();
    match plan.search {
        Search::Auto => {}
        Search::RandomWalk => graphs.samples = Some((plan.seed, plan.runs.unwrap_or(u64::MAX))),
        Search::Dfs
        | Search::BoundedDfs(_)
        | Search::Dpor
        | Search::RaceReversal
        | Search::Preemptions(_)
        | Search::UniformWalk
        | Search::Pct(_)
        | Search::States => {
            return Err(format!(
                "{:?} is a search over schedules: under a weak memory model there are Search::Auto, which comes to \
                 every execution, and Search::RandomWalk",
                plan.search
            ));
        }
    }
    Ok(graphs)
}

/// What was covered, in the words of explorations.
pub(crate) fn walked(graphs: &Graphs) -> Walked {
    let report = &graphs.report;
    let stop = match report.ended {
        Ended::Exhausted => Stop::Done,
        Ended::Limit(Limit::Graphs) | Ended::Sampled => Stop::Runs,
        Ended::Limit(Limit::Time) => Stop::Time,
        Ended::Stopped if graphs.found.is_none() => Stop::Visitor,
        Ended::Stopped | Ended::TooManyThreads | Ended::Diverged => Stop::Failure,
    };
    Walked {
        covered: if graphs.is_complete() { Covered::Every } else { Covered::Some },
        stop,
        runs: report.graphs(),
        abandoned: 0,
        progress: None,
        pending: None,
        fair: false,
        unfocused: false,
        random: report.ended == Ended::Sampled,
        unwatched: 0,
        found: None,
    }
}

/// A counterexample, or the reason why there is no answer.
pub(crate) fn counterexample(headline: String, memory: Memory, drawn: Drawn, token: String) -> FailingRun {
    FailingRun {
        of_memory: false,
        headline,
        scenario: String::new(),
        history: String::new(),
        schedule: drawn.text,
        preemptions: 0,
        memory,
        token,
        rechecked: false,
        refused: false,
        notes: drawn.notes,
        view: View::default(),
    }
}

/// Why there is no answer.
pub(crate) fn refusal(why: String, memory: Memory) -> FailingRun {
    FailingRun { refused: true, ..counterexample(why, memory, Drawn::default(), String::new()) }
}

/// What came of exploring a program: what was covered, and what was found.
pub(crate) struct Found {
    pub(crate) walked: Walked,
    pub(crate) cut: u64,
    pub(crate) counterexample: Option<FailingRun>,
}

/// Explores a program, or comes to its graph of this number.
pub(crate) fn explore(
    program: &dyn Fn(),
    plan: &Plan,
    memory: Memory,
    fingerprint: u32,
    only: Option<u64>,
) -> Found {
    let nothing = |why| Found {
        walked: Walked { covered: Covered::Some, runs: 0, ..walked(&empty()) },
        cut: 0,
        counterexample: Some(refusal(why, memory)),
    };
    let graphs = match plan_of(plan, memory) {
        Ok(plan) => plan,
        Err(why) => return nothing(why),
    };
    let name = |thread: usize| if thread == 0 { "main".to_owned() } else { format!("thread {thread}") };
    let token = |graph| GraphToken {
        program: Token { program: fingerprint, scenario: Vec::new(), turns: Vec::new() },
        graph,
    };
    let (found, explored) = first_failure(program, &graphs, only, &mut |seen, number| {
        let failure = seen.failure?;
        let drawn = drawn::draw(seen, &name, &|_| None);
        let token = token(number).to_string();
        let mut found = counterexample(failure.to_string(), memory, drawn, token);
        found.refused = failure.is_refusal();
        Some(found)
    });
    let mut walked = walked(&explored);
    walked.random = graphs.samples.is_some();
    let counterexample = found.or_else(|| explored.refused.clone().map(|why| refusal(why, memory)));
    Found { walked, cut: explored.report.cut, counterexample }
}

fn empty() -> Graphs {
    Graphs {
        report: Default::default(),
        stuck: 0,
        found: None,
        refused: Some(String::new()),
        orderings: BTreeMap::new(),
    }
}

/// The first graph of which `judge` says that something is wrong; or what it says of the graph of that number.
pub(crate) fn first_failure<T>(
    program: &dyn Fn(),
    plan: &weak::Plan,
    only: Option<u64>,
    judge: &mut dyn FnMut(&Seen<'_>, u64) -> Option<T>,
) -> (Option<T>, Graphs) {
    let mut found = None;
    let mut number = 0;
    let mut plan = plan.clone();
    if only.is_some() {
        // The time is not what decides how far that is.
        plan.time = plan.time.map(|time| time.max(Duration::from_secs(600)));
        plan.stop_at_failure = false;
    }
    let explored = weak::explore(program, &plan, &mut |seen| {
        // An exploration that is made anew begins to count anew.
        number = seen.number;
        if only.is_some_and(|only| number < only) {
            return ControlFlow::Continue(());
        }
        found = judge(&seen, number);
        if found.is_some() || only.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (found, explored)
}
