//! The rules of what is held and given back: locks, rw-locks, semaphores.
//!
//! Anybody who releases what they do not hold, or waits for what they hold, breaks the rules, not the object.
//! So a thread that keeps the rules calls any operation that takes something while it holds nothing, and any
//! that gives it back while it does; one that may fail to take is called whenever. Operations are told by
//! what they are to the specification, whatever they are called and however many of them there are.
//!
//! Who holds what is known in the run alone: an operation without a result takes, one that answers takes if it
//! says so. It is kept beside the number of calls a thread made, in one number, the thread's *count*, so that
//! states have one word for both.

use linpoint_history::specs::codes;
use linpoint_history::{Kind, OpCode, Spec as _};
use linpoint_lang::Program;
use linpoint_lang::program::{OpId, SpecSource, Word};

/// What an operation does to what its caller holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Takes this; where it may fail, its result says whether it did.
    Takes { what: u8, may_fail: bool },
    /// Gives this back.
    Gives(u8),
    /// Neither.
    Other,
}

/// What each operation does to what its caller holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    parts: Vec<Part>,
}

/// Nothing is held; or one of two things: a lock or its right to write, its right to read.
const WIDTH: usize = 3;

impl Rules {
    /// The rules of this object, if it has any and something can be taken.
    pub(super) fn of(program: &Program) -> Option<Rules> {
        let SpecSource::Builtin(spec) = &program.spec else { return None };
        let pairs: &[(OpCode, OpCode)] = match spec.kind {
            Kind::Lock | Kind::Semaphore => &[(codes::lock::ACQUIRE, codes::lock::RELEASE)],
            Kind::RwLock => &[
                (codes::rw_lock::WRITE_LOCK, codes::rw_lock::WRITE_UNLOCK),
                (codes::rw_lock::READ_LOCK, codes::rw_lock::READ_UNLOCK),
            ],
            _ => return None,
        };
        let part = |op: &linpoint_lang::program::Operation| {
            let Some(code) = spec.signature().find(&op.name) else { return Part::Other };
            for ((takes, gives), what) in pairs.iter().zip(1..) {
                if code == *takes {
                    return Part::Takes { what, may_fail: !op.result.parts.is_empty() };
                }
                if code == *gives {
                    return Part::Gives(what);
                }
            }
            Part::Other
        };
        let parts: Vec<Part> = program.operations.iter().map(part).collect();
        let takes = parts.iter().any(|part| matches!(part, Part::Takes { .. }));
        takes.then_some(Rules { parts })
    }

    /// Does an operation that takes something say whether it did?
    pub(super) fn may_fail(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Takes { may_fail: true, .. }))
    }

    /// May a thread with this count call the operation?
    pub(super) fn allow(&self, count: usize, op: OpId) -> bool {
        let held = count % WIDTH;
        match self.parts[op.index()] {
            Part::Takes { may_fail, .. } => may_fail || held == 0,
            Part::Gives(what) => held == usize::from(what),
            Part::Other => true,
        }
    }

    /// Would it keep the rules whatever was answered before?
    pub(super) fn surely_kept(&self, ops: impl Iterator<Item = OpId>) -> bool {
        let mut count = 0;
        for op in ops {
            if !self.allow(count, op) {
                return false;
            }
            count = self.called(count, op);
            if let Part::Takes { may_fail: false, what } = self.parts[op.index()] {
                count += usize::from(what);
            }
        }
        true
    }

    /// The count of a thread after it called the operation.
    pub(super) fn called(&self, count: usize, op: OpId) -> usize {
        match self.parts[op.index()] {
            // What is given back may be taken by others from here on.
            Part::Gives(_) => (count / WIDTH + 1) * WIDTH,
            Part::Takes { .. } | Part::Other => count + WIDTH,
        }
    }

    /// The count of a thread after the operation answered.
    pub(super) fn answered(&self, count: usize, op: OpId, result: &[Word]) -> usize {
        match self.parts[op.index()] {
            Part::Takes { what, .. }
                if count.is_multiple_of(WIDTH) && result.first().is_none_or(|word| *word == 1) =>
            {
                count + usize::from(what)
            }
            Part::Takes { .. } | Part::Gives(_) | Part::Other => count,
        }
    }

    /// How many calls a count stands for.
    pub(super) fn calls(count: usize) -> usize {
        count / WIDTH
    }

    /// The largest count of a thread that makes so many calls.
    pub(super) fn largest(calls: usize) -> usize {
        calls.saturating_mul(WIDTH).saturating_add(WIDTH - 1)
    }
}
