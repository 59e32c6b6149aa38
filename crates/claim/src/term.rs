//! One term of a claim, and how events determine it (Sezgin, Tasiran, Muslu, Qadeer 2011, section 3 and
//! algorithm 3).
//!
//! A term waits, until an event determines it or shows that it will stay ⊥. Within a block (several accesses
//! that are one statement) it is only *marked*: its value is that of the variable after the statement, and a
//! condition that holds only in the middle of a block never held. The monitor settles marked terms at the end
//! of the statement.

use crate::condition::Condition;
use crate::monitor::conflicting;
use crate::watch::NONE;
use crate::{Kind, ThreadId, ThreadSet, VarId};

/// A value and the event that showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub bits: u128,
    pub at: u64,
}

/// Why a term has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bottom {
    /// `First`: no matching access until the end.
    NoAccess,
    /// `Last`: the condition held already when the claim was made.
    ConditionHeldBefore,
    /// `Last`: the condition became true before any matching access.
    NoAccessBeforeCondition,
    /// `Last`: the condition stayed false until the end.
    ConditionStayedFalse,
    /// `Last`: the code of the condition panicked.
    ConditionPanicked,
    /// `Exit`: no procedure was open when the claim was made.
    NoProcedure,
    /// `Exit`: the procedure had not returned at the end.
    ProcedureOpen,
    /// `Exit`: the procedure was left by a panic.
    ProcedureUnwound,
}

impl Bottom {
    /// The reason as the end of a sentence that begins with the term.
    pub fn reason(self) -> &'static str {
        match self {
            Bottom::NoAccess => "saw no matching access",
            Bottom::ConditionHeldBefore => "had a condition that held already when the claim was made",
            Bottom::NoAccessBeforeCondition => "saw no matching access before its condition held",
            Bottom::ConditionStayedFalse => "had a condition that never held",
            Bottom::ConditionPanicked => "had a condition that panicked",
            Bottom::NoProcedure => "was claimed outside any procedure",
            Bottom::ProcedureOpen => "waited for a procedure that did not return",
            Bottom::ProcedureUnwound => "waited for a procedure that was left by a panic",
        }
    }
}

pub(crate) enum Shape {
    First { kind: Kind, threads: ThreadSet },
    Last { kind: Kind, threads: ThreadSet, condition: Condition },
    Exit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Not determined yet.
    Waiting,
    /// Determined, unless the statement goes on and changes that. Nothing: `Last` without a matching access.
    Marked(Option<Seen>),
    /// Determined: the value, when it was seen, and which event fixed it.
    Fixed { seen: Seen, at: u64 },
    /// ⊥ for good.
    Bottom(Bottom),
}

pub(crate) struct Term {
    pub shape: Shape,
    pub variable: VarId,
    pub status: Status,
    /// `Last`: the value after the latest matching statement, or after what there was of it yet. `Exit`: the
    /// latest value.
    latest: Option<Seen>,
    /// `Last`: that statement.
    matched: Option<u64>,
    /// The chain of watches of this term.
    pub first_watch: u32,
}

impl Term {
    pub fn first(variable: VarId, kind: Kind, threads: ThreadSet) -> Term {
        Term::new(variable, Shape::First { kind, threads })
    }

    pub fn last(variable: VarId, kind: Kind, threads: ThreadSet, condition: Condition) -> Term {
        let status = match condition.holds() {
            Some(false) => Status::Waiting,
            Some(true) => Status::Bottom(Bottom::ConditionHeldBefore),
            None => Status::Bottom(Bottom::ConditionPanicked),
        };
        Term { status, ..Term::new(variable, Shape::Last { kind, threads, condition }) }
    }

    pub fn exit(variable: VarId, now: Seen) -> Term {
        Term { latest: Some(now), ..Term::new(variable, Shape::Exit) }
    }

    fn new(variable: VarId, shape: Shape) -> Term {
        Term { shape, variable, status: Status::Waiting, latest: None, matched: None, first_watch: NONE }
    }

    /// An access to the variable whose value the term asks for. True if the term is newly marked.
    ///
    /// The value is that of the variable after the statement: once a statement has matched, all that it does
    /// to the variable counts.
    pub fn on_access(&mut self, thread: ThreadId, access: Kind, seen: Seen, statement: u64) -> bool {
        match &self.shape {
            Shape::First { kind, threads } => match self.status {
                Status::Waiting if kind.is_matched_by(access) && threads.contains(thread) => {
                    self.status = Status::Marked(Some(seen));
                    return true;
                }
                Status::Marked(_) => self.status = Status::Marked(Some(seen)),
                _ => {}
            },
            Shape::Last { kind, threads, .. } => {
                if kind.is_matched_by(access) && threads.contains(thread) {
                    self.matched = Some(statement);
                }
                if self.matched == Some(statement) {
                    self.latest = Some(seen);
                }
            }
            Shape::Exit => {
                if access.writes() {
                    self.latest = Some(seen);
                }
            }
        }
        false
    }

    /// A write to a variable of the condition of a `Last` term. True if the term is newly marked or ⊥.
    pub fn on_condition(&mut self, index: usize, bits: u128) -> bool {
        let Shape::Last { condition, .. } = &mut self.shape else { return false };
        condition.note(index, bits);
        match (condition.holds(), self.status) {
            (Some(true), Status::Waiting) => {
                self.status = Status::Marked(self.latest);
                true
            }
            (Some(false), Status::Marked(_)) => {
                self.status = Status::Waiting;
                false
            }
            (None, Status::Waiting | Status::Marked(_)) => {
                self.status = Status::Bottom(Bottom::ConditionPanicked);
                true
            }
            _ => false,
        }
    }

    /// What a write to `written`, a variable of the condition, amounts to: it asks for the other variables
    /// and, if the condition holds now, ends the wait for accesses. `thread` is who writes: the order of its
    /// own accesses is fixed.
    pub fn condition_footprint(&self, thread: ThreadId, written: VarId, footprint: &mut Vec<(VarId, Kind)>) {
        let Shape::Last { kind, threads, condition } = &self.shape else { return };
        footprint
            .extend(condition.variables().filter(|&other| other != written).map(|other| (other, Kind::Rd)));
        if matches!(self.status, Status::Marked(_) | Status::Bottom(_)) && threads.has_others(thread) {
            footprint.push((self.variable, conflicting(*kind)));
        }
    }

    /// The procedure in which the claim was made returned.
    pub fn on_exit(&mut self, at: u64) {
        if let (Status::Waiting, Some(seen)) = (self.status, self.latest) {
            self.status = Status::Fixed { seen, at };
        }
    }

    /// The statement is over: what is marked is determined.
    pub fn settle(&mut self, at: u64) {
        if let Status::Marked(seen) = self.status {
            self.status = match seen {
                Some(seen) => Status::Fixed { seen, at },
                None => Status::Bottom(Bottom::NoAccessBeforeCondition),
            };
        }
    }

    /// Why it is ⊥, if nothing more happens.
    pub fn bottom_at_end(&self) -> Option<Bottom> {
        match self.status {
            Status::Fixed { .. } => None,
            Status::Bottom(bottom) => Some(bottom),
            Status::Marked(_) | Status::Waiting => Some(match self.shape {
                Shape::First { .. } => Bottom::NoAccess,
                Shape::Last { .. } => Bottom::ConditionStayedFalse,
                Shape::Exit => Bottom::ProcedureOpen,
            }),
        }
    }
}
