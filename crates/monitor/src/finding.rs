//! What a checker has to say: an answer that does not fit, a view that differs, a mistake of the annotation,
//! or what it cannot tell.
//!
//! Plain data, with one sentence each. The first finding about an object decides it: what came before stands,
//! what comes later is counted and not judged, since the state of the specification is no longer known to be
//! the object's.

use std::fmt;

use linpoint_history::Value;

use crate::content::Content;
use crate::event::{Location, ObjectId, ThreadId};

/// One finding about one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// About which object.
    pub object: ObjectId,
    /// The number of the event at which it was found. All events with smaller numbers were judged and are in
    /// order.
    pub at: u64,
    /// What.
    pub found: Found,
}

impl Finding {
    /// Is the object wrong, and did other code come to the same end?
    pub(crate) fn is_confirmed(&self) -> bool {
        match &self.found {
            Found::Refused(refused) => matches!(refused.blame, Blame::Object { rechecked: true, .. }),
            Found::View(_) | Found::Mistake(_) | Found::Unknown(_) => false,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// An operation answered what the specification does not allow there.
    Refused(Box<Refused>),
    /// The view of the implementation is not that of the specification.
    View(Box<Difference>),
    /// The log contradicts itself: the annotation is wrong, whatever the object does.
    Mistake(Mistake),
    /// Not decided from here on.
    Unknown(Unknown),
}

/// An operation as the log shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Who called.
    pub thread: ThreadId,
    /// The operation's number in the signature.
    pub op: u8,
    /// Its name.
    pub name: &'static str,
    /// Its argument.
    pub arg: Value,
    /// Its answer, unless it is pending.
    pub result: Option<Value>,
    /// What the call saw of the counter.
    pub call: u64,
    /// The number of its commit, if it has one.
    pub commit: Option<u64>,
    /// The number of its return, unless it is pending.
    pub ret: Option<u64>,
}

/// An operation that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The operation.
    pub operation: Seen,
    /// What the specification would have allowed.
    pub expected: String,
    /// The state it was in, as a person reads it.
    pub state: String,
    /// Who is to blame.
    pub blame: Blame,
}

/// Who is to blame for an operation that does not fit the order of commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The annotation: another order of the same intervals fits.
    Annotation {
        /// The order that works, from the first operation that moved; empty where an engine found that there
        /// is one and did not write it down.
        order: Vec<Seen>,
        /// Operations with commits below this were left in the order of their commits.
        from: u64,
    },
    /// The object: no order of the intervals fits.
    Object {
        /// A few operations that cannot be explained from `start`, in order of call.
        core: Vec<Seen>,
        /// The state the core starts from, as a person reads it.
        start: String,
        /// Operations with commits below this were left in the order of their commits; zero: none was.
        from: u64,
        /// Was the core decided again by other code?
        rechecked: bool,
        /// One sentence.
        reason: String,
    },
    /// Cannot be told.
    Open {
        /// Why not.
        why: String,
    },
}

/// Two views that should be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The keys that differ, smallest first; at most sixteen of them.
    pub keys: Vec<DifferentKey>,
    /// How many differ.
    pub count: usize,
    /// The operation whose commit was the first after which they differ; none at an internal commit.
    pub after: Option<Seen>,
    /// The thread that committed.
    pub thread: ThreadId,
    /// The last writes that may have changed these keys, oldest first, as far as they are remembered.
    pub writes: Vec<PastWrite>,
    /// Was it only found by the comparison of everything? Then an earlier commit may be to blame.
    pub late: bool,
    /// Who is to blame.
    pub cause: Cause,
}

/// Who is to blame for views that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The object: no order of the operations leads the specification to the views that the implementation
    /// had.
    Object,
    /// The annotation: in this order of the same operations the specification has the implementation's views.
    Annotation {
        /// The order.
        order: Vec<Seen>,
    },
    /// Cannot be told.
    Open {
        /// Why not.
        why: String,
    },
}

/// One key whose views differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferentKey {
    /// The key.
    pub key: Value,
    /// What the specification has.
    pub specification: Content,
    /// What the implementation has.
    pub implementation: Content,
}

/// A write that was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastWrite {
    /// The number of its record.
    pub number: u64,
    /// Who wrote.
    pub thread: ThreadId,
    /// Where.
    pub location: Location,
    /// What.
    pub value: Value,
}

/// How a log contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Mistake {
    /// An operation returned and had not committed.
    NoCommit { operation: Box<Seen> },
    /// An operation committed a second time.
    SecondCommit { operation: Box<Seen> },
    /// A commit, a return or an end of an operation on a thread that has none open.
    Outside { thread: ThreadId, what: &'static str },
    /// A call on a thread whose last operation is open.
    Nested { thread: ThreadId, open: Box<Seen> },
    /// An operation the specification does not have.
    NoSuchOperation { thread: ThreadId, op: u8 },
    /// An argument or a result that does not fit the signature.
    Shape { thread: ThreadId, op: &'static str, what: &'static str, value: Value, expected: String },
    /// A number in two records.
    TakenTwice { thread: ThreadId, number: u64 },
    /// A thread whose numbers go down, or a look at more numbers than were taken.
    Backwards { thread: ThreadId, number: u64, before: u64 },
    /// A release of a lock that the thread does not hold.
    NotHeld { thread: ThreadId, lock: u64 },
    /// A lock that is held, acquired by another thread.
    HeldTwice { thread: ThreadId, lock: u64, holder: ThreadId },
    /// A lock never released.
    NeverReleased { thread: ThreadId, lock: u64 },
    /// Two operations with the same version.
    VersionTwice { version: u64, first: Box<Seen>, second: Box<Seen> },
    /// An operation that says it changed nothing, and did.
    Changed { operation: Box<Seen> },
    /// A record that makes no sense on an object registered without commit points.
    Marked { thread: ThreadId },
    /// A commit of a kind that cannot be ordered among those before.
    Mixed { operation: Box<Seen>, before: &'static str },
    /// An operation with a window or a version whose bounds cannot be.
    Impossible { operation: Box<Seen>, what: &'static str },
}

/// Why something is not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Unknown {
    /// A record is missing.
    Gap { number: u64 },
    /// The application says that it dropped records.
    Lost { records: u64 },
    /// An operation came too late: what it overlaps is decided already.
    Late { thread: ThreadId, look: u64 },
    /// Too much waits for one operation.
    Waiting { events: u64, operation: Option<Box<Seen>> },
    /// Too many orders are possible.
    Orders { open: usize, configurations: usize },
    /// An engine gave up, or cannot decide this.
    Engine { why: String },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object {}, event {}: {}", self.object.0, self.at, self.found)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Refused(refused) => refused.fmt(f),
            Found::View(difference) => difference.fmt(f),
            Found::Mistake(mistake) => write!(f, "mistake in the annotation: {mistake}"),
            Found::Unknown(unknown) => write!(f, "not decided from here on: {unknown}"),
        }
    }
}

/// `insert([1,2]) -> null by thread 3`.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        match &self.arg {
            Value::Null => f.write_str("()")?,
            arg => write!(f, "({arg})")?,
        }
        match &self.result {
            Some(result) => write!(f, " -> {result}")?,
            None => f.write_str(" -> ?")?,
        }
        write!(f, " by thread {}", self.thread.0)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { operation, expected, state, blame } = self;
        match blame {
            Blame::Annotation { order, .. } if order.is_empty() => write!(
                f,
                "wrong commit annotation: {operation} does not fit the order of commits (expected {expected}), but the whole intervals have an order"
            ),
            Blame::Annotation { order, .. } => {
                write!(
                    f,
                    "wrong commit annotation: {operation} does not fit the order of commits (expected {expected}), but "
                )?;
                f.write_str("this order of the same operations does:")?;
                order.iter().try_for_each(|seen| write!(f, " {seen};"))
            }
            Blame::Object { reason, start, from, .. } => {
                write!(f, "violation: {reason} (start: {start}; ")?;
                match from {
                    0 => f.write_str("all orders from the beginning were tried)"),
                    from => write!(f, "all orders of what committed from event {from} on were tried)"),
                }
            }
            Blame::Open { why } => write!(
                f,
                "{operation} does not fit the order of commits: expected {expected} in {state}; whether another order fits is open: {why}"
            ),
        }
    }
}

impl Difference {
    /// Where they differ, when no operation has just committed.
    pub(crate) fn moment(&self) -> String {
        match self.thread {
            ThreadId::NONE => "everything that committed, where nothing is open".to_owned(),
            ThreadId(thread) => format!("an internal commit of thread {thread}"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Cause::Annotation { .. } = self.cause {
            f.write_str("wrong commit annotation: ")?;
        }
        f.write_str("the views differ")?;
        match &self.after {
            Some(seen) => write!(f, " after {seen}")?,
            None => write!(f, " after {}", self.moment())?,
        }
        for (i, key) in self.keys.iter().enumerate() {
            let DifferentKey { key, specification, implementation } = key;
            let sep = if i == 0 { ":" } else { ";" };
            write!(
                f,
                "{sep} at {key} the specification has {specification}, the implementation {implementation}"
            )?;
        }
        if self.count > self.keys.len() {
            write!(f, "; and {} keys more", self.count - self.keys.len())?;
        }
        match &self.cause {
            Cause::Object => Ok(()),
            Cause::Annotation { order } => {
                f.write_str("; but in this order of the same operations they agree:")?;
                order.iter().try_for_each(|seen| write!(f, " {seen};"))
            }
            Cause::Open { why } => {
                write!(f, "; whether the object or the annotation is to blame is open: {why}")
            }
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::NoCommit { operation } => write!(f, "{operation} returned without a commit"),
            Mistake::SecondCommit { operation } => write!(f, "{operation} committed twice"),
            Mistake::Outside { thread, what } => {
                write!(f, "thread {} logged {what} outside an operation", thread.0)
            }
            Mistake::Nested { thread, open } => {
                write!(f, "thread {} called an operation inside another: {open}", thread.0)
            }
            Mistake::NoSuchOperation { thread, op } => {
                write!(f, "thread {} called operation {op}, which the specification does not have", thread.0)
            }
            Mistake::Shape { thread, op, what, value, expected } => {
                write!(f, "{what} {value} of `{op}` by thread {}: expected {expected}", thread.0)
            }
            Mistake::TakenTwice { thread, number } => {
                write!(f, "number {number} is in two records, one of them of thread {}", thread.0)
            }
            Mistake::Backwards { thread, number, before } => {
                write!(f, "thread {} logged number {number} after {before}", thread.0)
            }
            Mistake::NotHeld { thread, lock } => {
                write!(f, "thread {} released lock {lock}, which it did not hold", thread.0)
            }
            Mistake::HeldTwice { thread, lock, holder } => {
                write!(f, "thread {} acquired lock {lock} while thread {} held it", thread.0, holder.0)
            }
            Mistake::NeverReleased { thread, lock } => {
                write!(f, "thread {} ended and never released lock {lock}", thread.0)
            }
            Mistake::VersionTwice { version, first, second } => {
                write!(f, "version {version} was given to {first} and to {second}")
            }
            Mistake::Changed { operation } => {
                write!(f, "{operation} committed as one that changes nothing, but it changes the state")
            }
            Mistake::Marked { thread } => {
                write!(f, "thread {} logged a commit on an object registered without commit points", thread.0)
            }
            Mistake::Mixed { operation, before } => {
                write!(f, "{operation} committed in a way that has no place among the {before} before")
            }
            Mistake::Impossible { operation, what } => write!(f, "{operation}: {what}"),
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Gap { number } => write!(f, "the record with number {number} is missing"),
            Unknown::Lost { records } => write!(f, "the application dropped {records} records"),
            Unknown::Late { thread, look } => write!(
                f,
                "a call of thread {} with stamp {look} came after what it overlaps was decided",
                thread.0
            ),
            Unknown::Waiting { events, operation } => {
                write!(f, "{events} events wait")?;
                operation.as_ref().map_or(Ok(()), |seen| write!(f, " for {seen} to return"))
            }
            Unknown::Orders { open, configurations } => {
                write!(f, "{configurations} orders are possible with {open} operations open")
            }
            Unknown::Engine { why } => f.write_str(why),
        }
    }
}
