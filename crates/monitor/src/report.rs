//! What a monitored run came to.

use std::fmt;

use crate::checker::{Conclusion, Summary};
use crate::event::ObjectId;
use crate::file::{Counts, Description};
use crate::finding::Finding;
use linpoint_history::confidence;
use linpoint_verdict::Counterexample;
use std::path::PathBuf;

/// What was found about one object.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its number in the log.
    pub object: ObjectId,
    /// What it was registered as.
    pub description: Description,
    /// The verdict and the counts.
    pub summary: Summary,
    /// Everything found about it.
    pub findings: Vec<Finding>,
    /// Was it logged to the end? Sampling, a budget or a lost record may have left it out, from the beginning
    /// or from some moment on.
    pub watched: bool,
    /// What its log says was written, where it says so.
    pub written: Option<Counts>,
}

/// Why what was judged is not the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// No operation was judged that returned.
    Nothing,
    /// The program did not close the log: it was killed, or the end is missing.
    NotClosed,
    /// So many bytes at the end of the log make no sense, or do not follow from those before.
    Torn {
        /// Bytes.
        bytes: u64,
    },
    /// So many bytes follow the end of the log.
    After {
        /// Bytes.
        bytes: u64,
    },
    /// The log says that more, or less, was written about an object than was read.
    Records {
        /// The object's name.
        object: String,
        /// Records that were read.
        read: u64,
        /// Records that were written.
        written: u64,
    },
    /// The log says that more, or fewer, of the records took a number, or that they went further.
    Numbers {
        /// The object's name.
        object: String,
        /// Records with a number, and one more than the largest, that were read.
        read: (u64, u64),
        /// The same, as written.
        written: (u64, u64),
    },
    /// The log does not say how many records of an object were written.
    Uncounted {
        /// The object's name.
        object: String,
    },
    /// Writes after the last commit, where something was still open, that no view was compared with.
    Uncompared {
        /// The object's name.
        object: String,
    },
    /// Records about objects that nobody registered.
    Strays {
        /// Records.
        records: u64,
    },
    /// The log registers an object under a number that another has: nobody knows whose its records are.
    Twice {
        /// The name of the first.
        object: String,
        /// The name of the other.
        again: String,
    },
    /// The log says that there are more, or fewer, objects.
    Objects {
        /// Objects that were read.
        read: u64,
        /// Objects that were written.
        written: u64,
    },
    /// Events of an object that were not judged.
    Unjudged {
        /// The object's name.
        object: String,
        /// Events.
        events: u64,
    },
    /// Code of the program's own panicked on a verification thread: a callback, a listener.
    Panicked {
        /// What.
        what: String,
        /// What it said.
        message: String,
    },
    /// The views of an object were to be compared, and never were.
    Views {
        /// The object's name.
        object: String,
    },
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One an object, in the order in which they came.
    pub objects: Vec<Judged>,
    /// Records that found no room.
    pub lost: u64,
    /// Which stamps were used: `numbers`, or `ticks` with the error bound.
    pub stamps: String,
    /// Why the log file is not complete, if it is not.
    pub log_trouble: Option<String>,
    /// Where the file went that was in the log file's place.
    pub log_moved: Option<PathBuf>,
    /// Why this is not the whole, as far as it does not follow from the objects.
    pub short: Vec<Shortfall>,
}

/// The answer about a run: what it rests on, all that was found if an object is wrong, or why there is none.
pub type Verdict<'a> = linpoint_verdict::Verdict<CommitOrder, Vec<(&'a Judged, &'a Finding)>, Doubt>;

/// What a `holds` rests on: the operations in the order of their commits, replayed through the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitOrder {
    operations: u64,
    views: u64,
}

impl CommitOrder {
    /// How many operations were replayed.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// After how many commits the views were compared, too.
    #[must_use]
    pub fn views(&self) -> u64 {
        self.views
    }
}

/// Why there is no answer about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The annotation is wrong, so nothing is known of the object.
    Annotation,
    /// Something does not fit and nobody knows why, or not everything was judged.
    Open(Vec<Shortfall>),
}

impl Report {
    /// Holds, violated or unknown, and why. As [`Report::conclusion`], with what it rests on.
    pub fn verdict(&self) -> Verdict<'_> {
        match self.conclusion() {
            Conclusion::Clean => Verdict::Holds(CommitOrder {
                operations: self.operations(),
                views: self.objects.iter().map(|judged| judged.summary.views).sum(),
            }),
            Conclusion::Violated => {
                let found: Vec<_> = self.findings().collect();
                let rechecked = found.iter().any(|(_, finding)| finding.is_confirmed());
                Verdict::Violated(Counterexample::new(found, rechecked))
            }
            Conclusion::Mistaken => Verdict::Unknown(Doubt::Annotation),
            Conclusion::Unknown => Verdict::Unknown(Doubt::Open(self.shortfalls())),
        }
    }

    /// Violated if any object is; unknown if anything was not judged, nothing was, or an annotation is wrong;
    /// clean only if all of it is.
    pub fn conclusion(&self) -> Conclusion {
        match self.worst() {
            Conclusion::Clean if !self.shortfalls().is_empty() => Conclusion::Unknown,
            worst => worst,
        }
    }

    /// Everything that makes this less than the whole.
    pub fn shortfalls(&self) -> Vec<Shortfall> {
        let mut short = self.short.clone();
        for judged in &self.objects {
            let Summary { events, unjudged, conclusion, operations, views, .. } = judged.summary;
            let object = || judged.description.name.clone();
            let read = events + unjudged;
            if let Some(Counts { records: written, .. }) = judged.written
                && written != read
            {
                short.push(Shortfall::Records { object: object(), read, written });
            }
            if unjudged > 0 && conclusion == Conclusion::Clean {
                short.push(Shortfall::Unjudged { object: object(), events: unjudged });
            }
            if judged.summary.uncompared && conclusion == Conclusion::Clean {
                short.push(Shortfall::Uncompared { object: object() });
            }
            let viewed = judged.description.view != "none";
            if viewed && operations > 0 && views == 0 && conclusion == Conclusion::Clean {
                short.push(Shortfall::Views { object: object() });
            }
        }
        if self.returned() == 0 {
            short.push(Shortfall::Nothing);
        }
        short
    }

    fn worst(&self) -> Conclusion {
        let worst = |conclusion: Conclusion| match conclusion {
            Conclusion::Clean => 0,
            Conclusion::Unknown => 1,
            Conclusion::Mistaken => 2,
            Conclusion::Violated => 3,
        };
        self.objects
            .iter()
            .map(|judged| judged.summary.conclusion)
            .max_by_key(|conclusion| worst(*conclusion))
            .unwrap_or(Conclusion::Clean)
    }

    /// How often views were compared, in words.
    pub(crate) fn views(&self) -> String {
        let viewed: Vec<&Summary> = self
            .objects
            .iter()
            .filter(|judged| judged.description.view != "none")
            .map(|judged| &judged.summary)
            .collect();
        if viewed.is_empty() {
            return "no views compared".to_owned();
        }
        let compared: u64 = viewed.iter().map(|summary| summary.views).sum();
        let commits: u64 = viewed.iter().map(|summary| summary.operations + summary.internal).sum();
        format!("views of {} objects compared after {compared} of {commits} commits", viewed.len())
    }

    /// Events judged.
    pub fn events(&self) -> u64 {
        self.objects.iter().map(|judged| judged.summary.events).sum()
    }

    /// Operations judged.
    pub fn operations(&self) -> u64 {
        self.objects.iter().map(|judged| judged.summary.operations).sum()
    }

    /// Operations judged that returned.
    pub fn returned(&self) -> u64 {
        self.objects.iter().map(|judged| judged.summary.returned).sum()
    }

    /// Everything found.
    pub fn findings(&self) -> impl Iterator<Item = (&Judged, &Finding)> {
        self.objects.iter().flat_map(|judged| judged.findings.iter().map(move |finding| (judged, finding)))
    }

    /// Panics with the report unless everything is clean.
    ///
    /// # Panics
    /// If anything was found, or not everything could be judged.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.conclusion() == Conclusion::Clean, "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = match self.conclusion() {
            Conclusion::Clean => "refines",
            Conclusion::Violated => "does not refine",
            Conclusion::Mistaken => "unknown: the annotation is wrong",
            Conclusion::Unknown => "unknown",
        };
        let (events, operations) = (self.events(), self.operations());
        let pending = match operations - self.returned() {
            0 => String::new(),
            pending => format!(" ({pending} of them pending)"),
        };
        writeln!(
            f,
            "{head}: {operations} operations{pending}, {events} events, {} objects",
            self.objects.len()
        )?;
        writeln!(f, "  return values compared at each commit; {}; stamps: {}", self.views(), self.stamps)?;
        for shortfall in self.shortfalls() {
            writeln!(f, "  {shortfall}")?;
        }
        for (judged, finding) in self.findings() {
            writeln!(f, "  {}: {}", judged.description.name, finding.found)?;
        }
        let decided = self.objects.iter().filter(|judged| judged.summary.conclusion != Conclusion::Clean);
        let unjudged: u64 = decided.map(|judged| judged.summary.unjudged).sum();
        if unjudged > 0 {
            writeln!(f, "  {unjudged} events came after what was found, and were not judged")?;
        }
        let unwatched = self.objects.iter().filter(|judged| !judged.watched).count();
        if unwatched > 0 {
            writeln!(
                f,
                "  {unwatched} objects were not logged to the end: the verdict is about what was logged"
            )?;
        }
        if let Some(trouble) = &self.log_trouble {
            writeln!(f, "  the log file is not complete: {trouble}")?;
        }
        if let Some(moved) = &self.log_moved {
            writeln!(f, "  the file that was in the log's place is now {}", moved.display())?;
        }
        if self.conclusion() == Conclusion::Clean {
            writeln!(f, "  {}", confidence::Worth::of(self.returned()))?;
        }
        Ok(())
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shortfall::Nothing => f.write_str("no operation that returned was judged, so nothing is known"),
            Shortfall::NotClosed => f.write_str(
                "the log was not closed by its program: what was judged is what came before the end, and nothing is known of the rest",
            ),
            Shortfall::Torn { bytes } => {
                write!(f, "{bytes} bytes at the end of the log are torn or damaged and were not judged")
            }
            Shortfall::After { bytes } => write!(f, "{bytes} bytes follow the end of the log and were not judged"),
            Shortfall::Records { object, read, written } => {
                write!(f, "{object}: {read} records were judged, and the log says that {written} were written")
            }
            Shortfall::Numbers { object, read, written } => write!(
                f,
                "{object}: {} records with numbers below {} were judged, and the log says {} with numbers below {}",
                read.0, read.1, written.0, written.1
            ),
            Shortfall::Uncounted { object } => {
                write!(f, "{object}: the log does not say how many records were written, so some may be missing")
            }
            Shortfall::Uncompared { object } => write!(
                f,
                "{object}: what was written after the last commit was not compared, since something was still open at the end"
            ),
            Shortfall::Strays { records } => {
                write!(f, "{records} records are about objects that nobody registered, and were not judged")
            }
            Shortfall::Twice { object, again } => {
                write!(f, "{object} and {again} are registered under one number, so nobody knows whose records these are")
            }
            Shortfall::Objects { read, written } => {
                write!(f, "{read} objects were judged, and the log says that there are {written}")
            }
            Shortfall::Unjudged { object, events } => write!(f, "{object}: {events} events were not judged"),
            Shortfall::Panicked { what, message } => {
                write!(f, "{what} panicked, so not all was told that was to be: {message}")
            }
            Shortfall::Views { object } => write!(f, "{object}: its views were never compared"),
        }
    }
}
