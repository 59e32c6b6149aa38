//! Why there is no proof.

use std::fmt;

use linpoint_lang::interp::ErrorKind;

use crate::solver::Failure;

/// What is missing for a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gap {
    /// The program has something that no obligation can speak of.
    Unsupported(String),
    /// The initial code does not end: there is no run.
    NoRun,
    /// Time was up before so many obligations had an answer.
    Late {
        /// Obligations without an answer.
        unasked: usize,
        /// Obligations.
        of: usize,
    },
    /// No obligation was found open, and some have no answer, all for the same reason.
    Unanswered {
        /// Obligations without an answer.
        open: usize,
        /// Obligations.
        of: usize,
        /// The reason.
        why: String,
    },
    /// Obligations do not hold.
    Open {
        /// Obligations that do not hold or have no answer.
        open: usize,
        /// Obligations.
        of: usize,
    },
    /// Not every obligation was decided.
    Undecided,
    /// Every obligation holds, and too little was seen of runs to believe it.
    Unseen(String),
    /// The ghost code goes wrong, in this way.
    Ghosts(ErrorKind),
    /// Another gap, after all the time there was.
    AfterAllTime(Box<Gap>),
}

impl Gap {
    /// The same, of a proof that took all the time there was.
    #[must_use]
    pub fn after_all_time(self) -> Gap {
        match self {
            late @ (Gap::Late { .. } | Gap::AfterAllTime(_)) => late,
            other => Gap::AfterAllTime(Box::new(other)),
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gap::Unsupported(why) => f.write_str(why),
            Gap::NoRun => f.write_str("the initial code does not end"),
            Gap::Late { unasked, of } => {
                write!(f, "{}: {unasked} of {of} obligations have no answer", Failure::TimeUp)
            }
            Gap::Unanswered { open, of, why } => {
                write!(f, "{open} of {of} obligations have no answer: {why}")
            }
            Gap::Open { open, of } => write!(f, "{open} of {of} obligations are open"),
            Gap::Undecided => f.write_str("not every obligation was decided"),
            Gap::Unseen(why) => write!(f, "every obligation holds, but {why}"),
            Gap::Ghosts(why) => write!(f, "the ghost code goes wrong: {why}"),
            Gap::AfterAllTime(gap) => write!(f, "{}; {gap}", Failure::TimeUp),
        }
    }
}
