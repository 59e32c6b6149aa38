//! What is looked for after a proof that is not complete: whether runs come to the states that break obligations, and what may be missing.
//!
//! It takes a few seconds in all, and no longer than is left of the time limit; what is not looked at for lack of time is said.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_prove::{Decided, Options, Report};

use super::{propose, table};

/// So many open obligations are looked at.
pub const MOST: usize = 4;

/// Longest time for all of them.
const TIME: Duration = Duration::from_secs(5);

/// What was found about an open obligation.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    /// What runs say about the state that breaks it.
    pub reached: Option<String>,
    /// What would close it.
    pub missing: Vec<String>,
}

/// The obligations that are not proved.
pub fn open(report: &Report) -> impl Iterator<Item = &Decided> {
    report.decided.iter().filter(|decided| !decided.outcome.is_proved())
}

/// Looks at the first open obligations.
pub fn look(
    program: &Program,
    text: &str,
    report: &Report,
    options: &Options,
    left: Option<Duration>,
) -> Vec<Looked> {
    let deadline = Instant::now() + left.unwrap_or(TIME).min(TIME);
    let over = || Instant::now() >= deadline;
    let (mut looked, mut told) = (Vec::new(), Vec::new());
    for decided in open(report).take(MOST) {
        if over() {
            let reached = Some("there was no time to look for it in runs".to_owned());
            looked.push(Looked { reached, missing: Vec::new() });
            continue;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let reached = table::reached(program, report, decided, Some(left));
        let mut missing = propose::lines(program, text, report, options, decided, deadline, &mut told);
        if over() && missing.is_empty() {
            missing.push("what may be missing was looked for until the time was over".to_owned());
        }
        looked.push(Looked { reached, missing });
    }
    looked
}
