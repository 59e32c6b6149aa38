//! What became of the claims of a run.

use std::fmt::{self, Display, Formatter};

use crate::{Bottom, Site, ThreadId};

/// How many claims were made, and how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All.
    pub made: u64,
    /// Decided true, or true whatever their terms turn out to be.
    pub held: u64,
    /// Decided false.
    pub violated: u64,
    /// Never ready: some term is ⊥.
    pub undecided: u64,
}

/// A claim that was ready and false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where the claim stands.
    pub site: &'static Site,
    /// Who made it.
    pub thread: ThreadId,
    /// The event at which it was made.
    pub made_at: u64,
    /// The event that determined its last term.
    pub decided_at: u64,
    /// Its terms and their values, as far as they can be shown; plain ones in the order in which they were
    /// read.
    pub terms: Vec<TermValue>,
    /// The message, if deciding the claim panicked instead of giving an answer.
    pub panic: Option<String>,
}

/// A term of a failed claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermValue {
    /// Its text.
    pub text: &'static str,
    /// Its value, as `Debug` shows it.
    pub value: String,
    /// The event that showed this value: an access, or the claim itself.
    pub seen_at: u64,
    /// The event after which the value could not change any more.
    pub fixed_at: u64,
}

/// A claim that never became ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// Where the claim stands.
    pub site: &'static Site,
    /// Who made it.
    pub thread: ThreadId,
    /// The event at which it was made.
    pub made_at: u64,
    /// A term that is ⊥, by number.
    pub term: u32,
    /// Why it is.
    pub bottom: Bottom,
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "claim failed: {}, made by thread {} at step {}",
            self.site, self.thread.0, self.made_at
        )?;
        writeln!(f, "    {}", self.site.source)?;
        let width = |of: fn(&TermValue) -> &str| self.terms.iter().map(|term| of(term).chars().count()).max();
        let text = width(|term| term.text).unwrap_or(0);
        let value = width(|term| &term.value).unwrap_or(0);
        for term in &self.terms {
            write!(f, "  {:text$} = {:value$}", term.text, term.value)?;
            if term.fixed_at == self.made_at {
                writeln!(f, "   now, step {}", term.seen_at)?;
            } else if term.seen_at == term.fixed_at {
                writeln!(f, "   step {}", term.fixed_at)?;
            } else {
                writeln!(f, "   of step {}, final at step {}", term.seen_at, term.fixed_at)?;
            }
        }
        match &self.panic {
            Some(message) => write!(f, "  deciding it panicked: {message}"),
            None => write!(f, "  so it is false"),
        }
    }
}

impl Display for Undecided {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let term = self.site.terms.get(self.term as usize).copied().unwrap_or("a term");
        write!(
            f,
            "claim undecided: {}, made by thread {} at step {}: {} {}",
            self.site,
            self.thread.0,
            self.made_at,
            term,
            self.bottom.reason()
        )
    }
}
