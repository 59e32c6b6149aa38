//! What a checker is told, and what it tells: the plain data around [`crate::Checker`].

use std::time::Duration;

use crate::event::ObjectId;
use crate::finding::Finding;
use crate::model::Model;
use crate::shadow::Shadow;

/// What is to be checked.
pub struct Setup {
    /// The object, as findings name it.
    pub object: ObjectId,
    /// The specification.
    pub model: Box<dyn Model>,
    /// The shadow of the implementation, where its view is compared.
    pub view: Option<Box<dyn Shadow>>,
    /// How the object's commits are known.
    pub commits: Commits,
    /// When to give up.
    pub limits: Limits,
}

impl Setup {
    /// I/O refinement of an object with commit points, with the usual limits.
    pub fn new(object: ObjectId, model: Box<dyn Model>) -> Setup {
        Setup { object, model, view: None, commits: Commits::Marked, limits: Limits::default() }
    }

    /// With view refinement.
    pub fn with_view(mut self, shadow: Box<dyn Shadow>) -> Setup {
        self.view = Some(shadow);
        self
    }

    /// With other commits.
    pub fn with_commits(mut self, commits: Commits) -> Setup {
        self.commits = commits;
        self
    }
}

/// How the commits of an object are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// Every operation logs its commit, all of them exact or all with versions. An object whose operations
    /// log windows is recognised when the first one comes, as long as that is early; with a view, or with
    /// windows that come late, say [`Commits::Windows`].
    Marked,
    /// Every operation logs its commit, exactly or as a window.
    Windows,
    /// None does: an operation takes effect some time between its call and its return.
    Intervals,
}

/// When a checker gives up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many events may wait for one operation to answer.
    pub waiting: usize,
    /// So many configurations (a state of the specification and the operations that took effect) may be
    /// possible at once.
    pub configurations: usize,
    /// So long may a search for another order take, once something does not fit.
    pub blame: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { waiting: 1 << 24, configurations: 1 << 14, blame: Duration::from_secs(10) }
    }
}

/// How a log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every thread ended: operations still open are pending for ever, and a number that is missing is lost.
    Complete,
    /// The log breaks off: what is missing was not written. What cannot be judged is counted.
    Torn,
}

/// How far a checker is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Events judged so far, all in all.
    pub events: u64,
    /// Operations that took effect in the specification so far, all in all.
    pub operations: u64,
    /// Events pushed and not judged yet; once the object is decided, all that follow.
    pub lag: u64,
    /// Bytes that the buffer of events and the list of operations have, values not counted.
    pub room: u64,
    /// What was found since the last call.
    pub findings: Vec<Finding>,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The verdict.
    pub conclusion: Conclusion,
    /// Events judged.
    pub events: u64,
    /// Operations that took effect in the specification.
    pub operations: u64,
    /// Those of them that returned: of the others nobody saw an answer.
    pub returned: u64,
    /// Were there writes after the last comparison of the views, while something was open, that nothing was
    /// compared with?
    pub uncompared: bool,
    /// Events that were not judged.
    pub unjudged: u64,
    /// Numbers that are in no record, as far as can be told.
    pub missing: u64,
    /// After how many commits, of operations and internal ones, the views were compared.
    pub views: u64,
    /// Internal commits.
    pub internal: u64,
    /// What was found since the last [`crate::Checker::advance`].
    pub findings: Vec<Finding>,
}

/// The verdict about one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// Everything that was judged fits the specification.
    Clean,
    /// The object is wrong.
    Violated,
    /// The annotation is wrong.
    Mistaken,
    /// It does not fit, and whether the object or the annotation is to blame is open; or not everything could
    /// be judged.
    Unknown,
}
