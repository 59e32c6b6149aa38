//! What an exploration covered, and why it ended.

use std::fmt;

use crate::event::ThreadId;
use crate::failure::Failure;

/// What a run that failed was.
#[derive(Clone, Debug)]
pub struct Found {
    /// What went wrong.
    pub failure: Failure,
    /// Who went, step by step.
    pub schedule: Vec<ThreadId>,
    /// The number of the run, from 1.
    pub run: u64,
}

/// What was covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covered {
    /// Every schedule.
    Every,
    /// Every schedule with at most so many preemptions.
    Preemptions(u32),
    /// Some schedules.
    Some,
}

/// Why the exploration ended; of several workers, the last of these counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// There was nothing left to do.
    Done,
    /// The queue was as large as allowed.
    Memory,
    /// As many runs as allowed were made.
    Runs,
    /// The time was up.
    Time,
    /// The visitor had seen enough.
    Visitor,
    /// A run failed.
    Failure,
}

/// What came of an exploration.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// What was covered.
    pub covered: Covered,
    /// Why it ended.
    pub stop: Stop,
    /// How many runs were made, abandoned ones included.
    pub runs: u64,
    /// How many of them were abandoned, because what would have followed was known.
    pub abandoned: u64,
    /// About which part was done of the search that was cut short, between 0 and 1. A guess: it takes branches for
    /// equally large.
    pub progress: Option<f64>,
    /// How many prefixes the queue held when it was left.
    pub pending: Option<usize>,
    /// Did a thread that went round a loop have to let others go first? Then schedules are fair ones.
    pub fair: bool,
    /// Did the program say in places that schedules are not to be explored ([`crate::set_focus`])? Then what is covered is the rest.
    pub unfocused: bool,
    /// Were the schedules drawn at random?
    pub random: bool,
    /// How many runs freed memory and could not be watched for uses of it after that (`execution/guard.rs`).
    pub unwatched: u64,
    /// The first run that failed.
    pub found: Option<Found>,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.runs;
        let every = if self.fair { "every fair schedule" } else { "every schedule" };
        match self.covered {
            Covered::Every => write!(f, "{every} ({runs} runs)")?,
            Covered::Preemptions(bound) => {
                write!(f, "{every} with at most {bound} preemptions ({runs} runs)")?;
            }
            Covered::Some if self.random => write!(f, "{runs} random schedules")?,
            Covered::Some => write!(f, "{runs} schedules")?,
        }
        if self.unfocused {
            f.write_str(", where the program does not ask to leave them out")?;
        }
        match self.progress {
            Some(part) if self.covered != Covered::Every => {
                write!(f, ", by a rough guess {:.2} % of the search that was cut short", part * 100.0)
            }
            _ => Ok(()),
        }
    }
}

impl Coverage {
    pub(super) fn nothing() -> Coverage {
        Coverage {
            covered: Covered::Some,
            stop: Stop::Done,
            runs: 0,
            abandoned: 0,
            progress: None,
            pending: None,
            fair: false,
            unfocused: false,
            random: false,
            unwatched: 0,
            found: None,
        }
    }
}
