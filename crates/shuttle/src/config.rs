//! How tests are run.

use std::path::PathBuf;
use std::time::Duration;

/// How tests are run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Bytes of stack for each thread. Here there are never less than std's threads have.
    pub stack_size: usize,
    /// What becomes of the token of a failing schedule.
    pub failure_persistence: FailurePersistence,
    /// How many steps an execution may have.
    pub max_steps: MaxSteps,
    /// After how long no further execution begins.
    pub max_time: Option<Duration>,
    /// Not needed here: there are no warnings.
    pub silence_warnings: bool,
    /// Not needed here.
    pub record_steps_in_span: bool,
}

impl Config {
    /// The usual one.
    pub fn new() -> Config {
        Config {
            stack_size: 0xf000,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::FailAfter(1_000_000),
            max_time: None,
            silence_warnings: false,
            record_steps_in_span: false,
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

/// What becomes of the token of a failing schedule, beside the message of the panic, which always has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// Nothing.
    None,
    /// Nothing: the message has it.
    Print,
    /// It is written to a new file in this folder, or where the test runs.
    File(Option<PathBuf>),
}

/// How many steps an execution may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxSteps {
    /// As many as it likes.
    None,
    /// One that has more fails.
    FailAfter(usize),
    /// As [`MaxSteps::FailAfter`]: what lies behind the limit would be left out without a word.
    ContinueAfter(usize),
}
