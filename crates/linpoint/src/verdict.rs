//! The verdict of an exploration: what was covered, a run that fails, or why neither is so.

use linpoint_verdict::Counterexample;

use crate::counterexample::FailingRun;

/// The answer about Rust code, with what is known of what was covered.
pub type Verdict<'a, Coverage> =
    linpoint_verdict::Verdict<EverySchedule<'a, Coverage>, &'a FailingRun, Undecided<'a, Coverage>>;

/// What a `holds` rests on: every schedule within the stated bounds was run. Only an exploration that came to its end can
/// say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EverySchedule<'a, Coverage>(&'a Coverage);

impl<'a, Coverage> EverySchedule<'a, Coverage> {
    /// The bounds, and how much is within them.
    #[must_use]
    pub fn coverage(&self) -> &'a Coverage {
        self.0
    }
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug)]
pub enum Undecided<'a, Coverage> {
    /// The program cannot be explored, and this run shows why.
    Refused(&'a FailingRun),
    /// Not every schedule was run, and nothing wrong was found in those that were.
    Incomplete(&'a Coverage),
}

/// From what was found, what was covered, and whether that is all.
pub(crate) fn verdict<'a, Coverage>(
    found: Option<&'a FailingRun>,
    coverage: &'a Coverage,
    is_whole: bool,
) -> Verdict<'a, Coverage> {
    match found {
        Some(found) if found.refused => Verdict::Unknown(Undecided::Refused(found)),
        Some(found) => Verdict::Violated(Counterexample::new(found, found.rechecked)),
        None if is_whole => Verdict::Holds(EverySchedule(coverage)),
        None => Verdict::Unknown(Undecided::Incomplete(coverage)),
    }
}
