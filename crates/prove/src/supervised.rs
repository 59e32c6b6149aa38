//! A proof that is believed: proved, and then looked at by running the program.
//!
//! This is the one door through which a verdict of this crate leaves it. What is proved is explored before it
//! is told (`gate.rs`), and where too little could be seen of its runs the verdict is `unknown`; what is not
//! proved may be wrong, and small runs say so.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::program::OpId;
use linpoint_model::{Violation, Wrong};

use crate::diagnosis::{SmallRuns, small_runs};
use crate::gate::{self, Gate};
use crate::graph::Graph;
use crate::hide::{Hidden, prove_with_hiding};
use crate::points::{WithPoints, prove_with_points};
use crate::{Decided, Gap, Options, Verdict};

/// What came of a proof and of runs.
#[derive(Debug)]
pub struct Supervised {
    /// The proof, with the points that were found for it.
    pub proved: WithPoints,
    /// What was hidden for it.
    pub hidden: Option<Hidden>,
    /// What runs say against what was proved; then there is no verdict but the run.
    pub against: Option<Gate>,
    /// Operations of a proved program that no run was seen to return from.
    pub never: Vec<OpId>,
    /// Small runs of a program that was not proved.
    pub runs: Option<SmallRuns>,
    /// How long exploring what was proved took.
    pub exploring: Duration,
}

impl Supervised {
    /// The run that shows the program wrong, if it was not proved.
    pub fn refutation(&self) -> Option<&Violation> {
        self.runs.as_ref().and_then(SmallRuns::refutation)
    }

    /// A run that only ghost code makes wrong, if none shows the program wrong.
    pub fn ghosts(&self) -> Option<&Violation> {
        let ghosts = self.runs.as_ref().and_then(|runs| runs.ghosts.as_ref());
        ghosts.filter(|_| self.refutation().is_none())
    }
}

/// Proves a program and looks at its runs. `start` and `limit` are those of the whole; `hide` asks for hidden
/// writes, too; `told` hears of each obligation as it is decided.
pub fn prove_supervised(
    program: &Program,
    options: &Options,
    hide: bool,
    (start, limit): (Instant, Option<Duration>),
    told: &(dyn Fn(&Graph, &Decided) + Sync),
) -> Supervised {
    let left = || limit.map(|limit| limit.saturating_sub(start.elapsed()));
    let (proved, hidden) = match hide {
        true => prove_with_hiding(program, options, told),
        false => (prove_with_points(program, options, told), None),
    };
    let mut all = Supervised {
        proved,
        hidden,
        against: None,
        never: Vec::new(),
        runs: None,
        exploring: Duration::ZERO,
    };
    if all.proved.report.verdict.holds() {
        let from = Instant::now();
        let found = gate::gate(&all.proved.program, &options.sizes, gate::share(start.elapsed(), left()));
        all.exploring = from.elapsed();
        match found {
            Gate::Overflow(_) | Gate::Wrong(_) => all.against = Some(found),
            Gate::Unseen(why) => all.proved.report.verdict = Verdict::Unknown(Gap::Unseen(why)),
            Gate::Open { never, .. } => all.never = never,
        }
    }
    let is_late = left().is_some_and(|left| left.is_zero());
    if all.against.is_some() || all.proved.report.verdict.holds() {
        return all;
    }
    all.runs = Some(small_runs(&all.proved.program, left()));
    // What is wrong is shown as it was written: points that were tried in vain say little.
    if all.refutation().is_some()
        && let Some(plain) = all.proved.plain.take()
    {
        all.proved.report = plain;
        all.proved.found.clear();
        all.hidden = None;
    }
    let ghosts = all.ghosts().and_then(|violation| match violation.wrong {
        Wrong::Error(kind) => Some(kind),
        _ => None,
    });
    let verdict = &mut all.proved.report.verdict;
    if let Verdict::Unknown(gap) = verdict {
        let gap = match ghosts {
            Some(kind) => Gap::Ghosts(kind),
            None => gap.clone(),
        };
        *verdict = Verdict::Unknown(if is_late { gap.after_all_time() } else { gap });
    }
    all
}
