//! What can go wrong in an execution, by name.

use std::fmt;
use std::panic::Location;

use crate::event::{Action, ThreadId, ThreadSet};

/// What went wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Failure {
    /// A thread panicked, and nothing in it caught the panic.
    Panic {
        /// Who.
        thread: ThreadId,
        /// What it said.
        message: String,
        /// Where, if the panic said.
        site: Option<String>,
    },
    /// Nobody can go on.
    Deadlock {
        /// Who waits for what.
        waiting: Vec<Waiting>,
    },
    /// Threads go round in loops that nobody will end.
    Livelock {
        /// Who turns, and where.
        waiting: Vec<Waiting>,
    },
    /// The program ended while threads of it wait for ever.
    LeakedThreads {
        /// Who waits for what.
        waiting: Vec<Waiting>,
    },
    /// An execution went on for longer than the limit on steps.
    TooLong {
        /// The limit.
        steps: usize,
    },
    /// Threads go round in loops of which it is not known whether they come to an end.
    Unclear {
        /// Who turns, and where.
        waiting: Vec<Waiting>,
        /// Why it is not known.
        doubt: Doubt,
    },
    /// Two accesses to a cell, one of them a write, that nothing orders.
    DataRace {
        /// The two: who, where, and whether it wrote.
        accesses: [(ThreadId, &'static Location<'static>, bool); 2],
    },
    /// A plain access to an atomic, and an atomic one, one of them a write, that nothing orders.
    PlainRace {
        /// The plain one: who, where, and whether it wrote.
        plain: (ThreadId, &'static Location<'static>, bool),
        /// The atomic one: who, and what it did.
        atomic: (ThreadId, Action),
    },
    /// Something was not given back at the end of the execution.
    Leak {
        /// What kind of thing.
        what: &'static str,
        /// Where it was given out, the first of them.
        site: &'static Location<'static>,
        /// How many there are.
        count: usize,
    },
    /// A block of the heap is read or written though it may be freed by then. Seen with [`crate::Heap`] only.
    UseAfterFree(Box<Freed>),
    /// A block of the heap is freed twice. Seen with [`crate::Heap`] only.
    DoubleFree(Box<Freed>),
    /// The same schedule did something else this time.
    Nondeterminism {
        /// At which step.
        step: usize,
        /// What happened.
        explanation: String,
    },
    /// The program used the explorer in a way it cannot work.
    Misuse(String),
    /// A claim about the future turned out false.
    Claim(Box<linpoint_claim::Failure>),
    /// A property of the user's was found wrong.
    Violation(String),
}

/// Why it is not known whether a loop comes to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// It looks at the clock.
    Clock,
    /// Not all that it could look at can be seen.
    Unseen,
}

/// A block that was freed, and what became of it.
#[derive(Clone, Debug)]
pub struct Freed {
    /// Its size in bytes.
    pub size: usize,
    /// Who allocated it.
    pub allocated: Place,
    /// Who freed it.
    pub freed: Place,
    /// Who used it, or freed it again.
    pub used: Place,
    /// Was that a write? Not every machine says.
    pub writes: Option<bool>,
}

/// Where a thread was.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Who.
    pub thread: ThreadId,
    /// How many steps it had taken.
    pub steps: u32,
    /// Was it in the middle of the last of them? If not, it was after it.
    pub within: bool,
    /// Where in the source that is, if it is known.
    pub site: Option<&'static Location<'static>>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.within { "in" } else { "after" };
        write!(f, "thread {}", self.thread.0)?;
        match self.site {
            _ if self.steps == 0 => f.write_str(", before its first step,"),
            Some(site) => write!(f, ", {when} its step at {site},"),
            None => write!(f, ", {when} its step number {},", self.steps),
        }
    }
}

impl Freed {
    fn describe(&self, f: &mut fmt::Formatter<'_>, verb: &str, again: &str) -> fmt::Result {
        let Freed { size, allocated, freed, used, .. } = self;
        let bytes = if *size == 1 { "byte" } else { "bytes" };
        write!(f, "{used} {verb} a block of {size} {bytes}; {freed} {again}; {allocated} allocated it")
    }
}

/// A thread that cannot go on.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Who.
    pub thread: ThreadId,
    /// What it would do.
    pub action: Action,
    /// Where in the source.
    pub site: &'static Location<'static>,
    /// Who could let it go on, as far as that is known (the holders of a lock, the threads to be joined).
    pub on: ThreadSet,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} waits to {} at {}", self.thread.0, self.action.name(), self.site)?;
        for (index, other) in self.on.iter().enumerate() {
            let before = match (index, self.on.len()) {
                (0, 1) => ", held up by thread",
                (0, _) => ", held up by threads",
                (index, count) if index + 1 == count => " and",
                _ => ",",
            };
            write!(f, "{before} {}", other.0)?;
        }
        Ok(())
    }
}

impl Failure {
    /// Is it no fault of the program's, but the reason why nothing can be said about it? An execution was longer than the
    /// limit, the program uses the explorer in a way it cannot work, or does not do the same under the same schedule.
    pub fn is_refusal(&self) -> bool {
        match self {
            Failure::TooLong { .. }
            | Failure::Unclear { .. }
            | Failure::Misuse(_)
            | Failure::Nondeterminism { .. } => true,
            Failure::Panic { .. }
            | Failure::Deadlock { .. }
            | Failure::Livelock { .. }
            | Failure::LeakedThreads { .. }
            | Failure::DataRace { .. }
            | Failure::PlainRace { .. }
            | Failure::Leak { .. }
            | Failure::UseAfterFree(_)
            | Failure::DoubleFree(_)
            | Failure::Claim(_)
            | Failure::Violation(_) => false,
        }
    }

    /// A run failed in this way, and the same schedule, made again, came to `again` after so many steps.
    #[must_use]
    pub fn not_again(&self, again: Option<&str>, steps: usize) -> Failure {
        let now =
            again.map_or_else(|| "it did not fail".to_owned(), |again| format!("it ended with “{again}”"));
        let explanation = format!(
            "{now}, and the first time with “{self}”. The program depends on more than the schedule (time, randomness, \
             addresses, a static that is not reset), so nothing can be said about it"
        );
        Failure::Nondeterminism { step: steps, explanation }
    }

    /// Its name: one or two words.
    pub fn name(&self) -> &'static str {
        match self {
            Failure::Panic { .. } => "panic",
            Failure::Deadlock { .. } => "deadlock",
            Failure::Livelock { .. } => "livelock",
            Failure::LeakedThreads { .. } => "leaked threads",
            Failure::TooLong { .. } => "too many steps",
            Failure::Unclear { .. } => "a loop of unknown end",
            Failure::DataRace { .. } | Failure::PlainRace { .. } => "data race",
            Failure::Leak { .. } => "leak",
            Failure::UseAfterFree(_) => "use after free",
            Failure::DoubleFree(_) => "double free",
            Failure::Nondeterminism { .. } => "nondeterminism",
            Failure::Misuse(_) => "misuse",
            Failure::Claim(_) => "claim",
            Failure::Violation(_) => "violation",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, waiting: &[Waiting]| {
            for (index, one) in waiting.iter().enumerate() {
                write!(f, "{}{one}", if index == 0 { "" } else { "; " })?;
            }
            Ok(())
        };
        match self {
            Failure::Panic { thread, message, site } => {
                write!(f, "panic: thread {} panicked: {message}", thread.0)?;
                site.as_ref().map_or(Ok(()), |site| write!(f, " ({site})"))
            }
            Failure::Deadlock { waiting } => f.write_str("deadlock: ").and_then(|()| list(f, waiting)),
            Failure::Livelock { waiting } => f.write_str("livelock: ").and_then(|()| list(f, waiting)),
            Failure::LeakedThreads { waiting } => {
                f.write_str("leaked threads: the program ended, but ").and_then(|()| list(f, waiting))
            }
            Failure::TooLong { steps } => write!(f, "too many steps: an execution took more than {steps}"),
            Failure::Unclear { waiting, doubt } => {
                f.write_str("a loop of unknown end: ")?;
                list(f, waiting)?;
                f.write_str(match doubt {
                    Doubt::Clock => {
                        ": it looks at the clock, and so may end by itself, which depends on more than the schedule"
                    }
                    Doubt::Unseen => {
                        ": what threads share is the same after every turn, but whether all else is cannot be seen here \
                         (the loop asks the operating system for something, or that does not let its memory be compared)"
                    }
                })
            }
            Failure::DataRace { accesses: [a, b] } => {
                let word = |write| if write { "writes" } else { "reads" };
                write!(
                    f,
                    "data race: thread {} {} at {}, thread {} {} the same cell at {}, and nothing orders the two",
                    a.0.0,
                    word(a.2),
                    a.1,
                    b.0.0,
                    word(b.2),
                    b.1
                )
            }
            Failure::PlainRace { plain: (thread, site, wrote), atomic: (other, action) } => {
                let word = if *wrote { "writes" } else { "reads" };
                write!(
                    f,
                    "data race: thread {} {word} an atomic without atomicity at {site}, thread {} accesses the same ({}), \
                     and nothing orders the two",
                    thread.0,
                    other.0,
                    action.name()
                )
            }
            Failure::Leak { what, site, count } => {
                write!(f, "leak: {what}, given out at {site}, was left at the end")?;
                if *count > 1 { write!(f, ", and {} more", count - 1) } else { Ok(()) }
            }
            Failure::UseAfterFree(freed) => {
                let verb = match freed.writes {
                    Some(true) => "writes",
                    Some(false) => "reads",
                    None => "uses",
                };
                f.write_str("use after free: ")?;
                freed.describe(f, verb, "may have freed it by then")
            }
            Failure::DoubleFree(freed) => {
                f.write_str("double free: ")?;
                freed.describe(f, "frees", "has freed it already")
            }
            Failure::Nondeterminism { step, explanation } => {
                write!(f, "nondeterminism: the same schedule went another way at step {step}: {explanation}")
            }
            Failure::Claim(failure) => failure.fmt(f),
            Failure::Misuse(text) | Failure::Violation(text) => f.write_str(text),
        }
    }
}
