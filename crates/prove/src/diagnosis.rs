//! What is looked for beside a proof: by running the program, and by asking the solver again.
//!
//! - Before a proof: does some run break an annotation ([`broken_annotation`])? Are small runs wrong
//!   ([`small_runs()`])?
//! - After a proof that is not complete: do runs come to the states that break obligations, and what may be
//!   missing ([`diagnose`])?
//! - After a proof: which annotations are not needed ([`unneeded()`])?
//!
//! Nothing here is believed: what is proposed has to be proved like everything else. Each question takes a
//! few seconds, and no longer than is left of the time limit; what is not looked at for lack of time is said.

mod annotations;
mod in_runs;
mod label;
mod proposals;
mod small_runs;
mod truth;
mod unneeded;

use std::time::{Duration, Instant};

use linpoint_lang::Program;

use crate::{Decided, Options, Outcome, Report};

pub use annotations::{Annotation, BrokenAnnotation, broken_annotation};
pub use in_runs::InRuns;
pub use proposals::Proposal;
pub use small_runs::{SmallRuns, small_runs, workload};
pub use unneeded::{Unneeded, unneeded};

/// So many open obligations are looked at.
const MOST_OBLIGATIONS: usize = 4;

/// Longest time for all of them.
const DIAGNOSIS_TIME: Duration = Duration::from_secs(5);

/// What was found about an open obligation.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Is the state that breaks it one of some run? Only where there is such a state.
    pub in_runs: Option<InRuns>,
    /// What would close it.
    pub proposals: Vec<Proposal>,
    /// Was the time over before all was looked at that might close it?
    pub cut_short: bool,
}

/// The obligations that are not proved.
pub fn open(report: &Report) -> impl Iterator<Item = &Decided> {
    report.decided.iter().filter(|decided| !decided.outcome.is_proved())
}

/// Looks at the first open obligations. `text` is what the program was compiled from: places of it get
/// labels.
pub fn diagnose(
    program: &Program,
    text: &str,
    report: &Report,
    options: &Options,
    left: Option<Duration>,
) -> Vec<Diagnosis> {
    let Some(graph) = &report.graph else { return Vec::new() };
    let deadline = Instant::now() + left.unwrap_or(DIAGNOSIS_TIME).min(DIAGNOSIS_TIME);
    let over = || Instant::now() >= deadline;
    let (mut found, mut told) = (Vec::new(), Vec::new());
    for decided in open(report).take(MOST_OBLIGATIONS) {
        if over() {
            found.push(Diagnosis { in_runs: Some(InRuns::NoTime), ..Diagnosis::default() });
            continue;
        }
        let proof = proposals::Unfinished { program, text, report, graph, options, deadline };
        let in_runs = match &decided.outcome {
            Outcome::Open(picture) => Some(in_runs::in_runs(program, graph, picture, proof.left())),
            Outcome::Proved | Outcome::Unknown(_) => None,
        };
        let proposals = proposals::proposals(proof, decided, &mut told);
        let cut_short = over() && proposals.is_empty();
        found.push(Diagnosis { in_runs, proposals, cut_short });
    }
    found
}
