//! What an engine may conclude: holds, violated, unknown. Never a bare `bool`.
//!
//! One type for all engines. What differs between them are its three parts, and each engine has types of its
//! own for them:
//!
//! - the **basis** of a `holds`: an order of all operations that was replayed, every run of one client, a
//!   proof;
//! - the **evidence** of a violation: operations that no order explains, a run, a pair of states;
//! - the **reason** why there is no answer: a limit, a gap in what was recorded, an abstraction that is too
//!   coarse.
//!
//! Because the basis is a type, a search within bounds cannot be told as a proof: a `Verdict<EveryRun, …>` is
//! no `Verdict<Proof, …>`, nothing turns one basis into another, and the basis of an exploration or of a proof
//! has private parts: only the crate of its engine can make one. In the same way a program that can only prove has the evidence
//! [`Infallible`](std::convert::Infallible), and its verdict can never say `violated`.
//!
//! Evidence is believed after it was looked at a second time, by code that shares nothing with what found it.
//! [`Counterexample`] is evidence together with what came of that look.
//!
//! ```
//! use linpoint_verdict::{Counterexample, VerdictKind, Verdict};
//!
//! /// Every number up to this one was tried.
//! #[derive(Debug)]
//! struct Tried(u32);
//!
//! fn squares_are_small(limit: u32) -> Verdict<Tried, u32, String> {
//!     match (0..limit).find(|n| n * n > 100) {
//!         Some(n) => Verdict::Violated(Counterexample::new(n, n * n > 100)),
//!         None if limit == 0 => Verdict::Unknown("nothing was tried".to_owned()),
//!         None => Verdict::Holds(Tried(limit)),
//!     }
//! }
//!
//! assert_eq!(squares_are_small(5).kind(), VerdictKind::Holds);
//! assert_eq!(squares_are_small(50).confirmed().map(|found| found.evidence), Some(11));
//! assert_eq!(squares_are_small(0), "unknown");
//! ```

mod counterexample;

use std::fmt;

pub use counterexample::Counterexample;

/// The answer of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a verdict may say `violated` or `unknown`"]
pub enum Verdict<Basis, Evidence, Reason> {
    /// It is as it should be, as far as the basis goes.
    Holds(Basis),
    /// It is not, and this shows it.
    Violated(Counterexample<Evidence>),
    /// Not decided.
    Unknown(Reason),
}

/// A verdict without its parts: the three words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VerdictKind {
    /// It is as it should be.
    Holds,
    /// It is not.
    Violated,
    /// Not decided.
    #[default]
    Unknown,
}

impl VerdictKind {
    /// All of them.
    pub const ALL: [VerdictKind; 3] = [VerdictKind::Holds, VerdictKind::Violated, VerdictKind::Unknown];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            VerdictKind::Holds => "holds",
            VerdictKind::Violated => "violated",
            VerdictKind::Unknown => "unknown",
        }
    }
}

impl fmt::Display for VerdictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl<Basis, Evidence, Reason> Verdict<Basis, Evidence, Reason> {
    /// Which of the three it is.
    #[must_use]
    pub fn kind(&self) -> VerdictKind {
        match self {
            Verdict::Holds(_) => VerdictKind::Holds,
            Verdict::Violated(_) => VerdictKind::Violated,
            Verdict::Unknown(_) => VerdictKind::Unknown,
        }
    }

    /// Is it as it should be, as far as the basis goes?
    #[must_use]
    pub fn holds(&self) -> bool {
        self.basis().is_some()
    }

    /// What a `holds` rests on.
    #[must_use]
    pub fn basis(&self) -> Option<&Basis> {
        match self {
            Verdict::Holds(basis) => Some(basis),
            Verdict::Violated(_) | Verdict::Unknown(_) => None,
        }
    }

    /// What shows a violation, confirmed or not.
    #[must_use]
    pub fn counterexample(&self) -> Option<&Counterexample<Evidence>> {
        match self {
            Verdict::Violated(found) => Some(found),
            Verdict::Holds(_) | Verdict::Unknown(_) => None,
        }
    }

    /// What shows a violation, if a second look came to the same end.
    #[must_use]
    pub fn confirmed(&self) -> Option<&Counterexample<Evidence>> {
        self.counterexample().filter(|found| found.rechecked)
    }

    /// The same, taken out of the verdict.
    #[must_use]
    pub fn into_confirmed(self) -> Option<Counterexample<Evidence>> {
        match self {
            Verdict::Violated(found) => Some(found).filter(|found| found.rechecked),
            Verdict::Holds(_) | Verdict::Unknown(_) => None,
        }
    }
}

/// Compares with the word of the verdict.
impl<Basis, Evidence, Reason> PartialEq<&str> for Verdict<Basis, Evidence, Reason> {
    fn eq(&self, word: &&str) -> bool {
        self.kind().word() == *word
    }
}
