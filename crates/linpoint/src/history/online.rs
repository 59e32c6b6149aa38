//! Events as they happen.

use std::marker::PhantomData;

use linpoint_check::Budget;
use linpoint_check::online::{EventError, Online as Engine, Promise, Status};
use linpoint_history::{Value, Verdict};

use super::{Recorded, Unrecorded, specification};
use crate::spec::Specification;

/// Checks a history while it happens, one event after another.
///
/// ```
/// # use linpoint::history::{Online, Status};
/// # #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
/// # struct Tickets(u32);
/// # #[linpoint::spec]
/// # impl Tickets { fn take(&mut self) -> u32 { self.0 += 1; self.0 } }
/// let mut online = Online::<Tickets>::new()?;
/// online.call(1, &TicketsOp::Take())?;
/// online.call(2, &TicketsOp::Take())?;
/// online.returns(1, &TicketsRet::Take(2))?;
/// assert!(matches!(online.returns(2, &TicketsRet::Take(2))?, Status::Decided(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Online<S> {
    engine: Engine,
    of: PhantomData<fn() -> S>,
}

impl<S: Recorded> Online<S> {
    /// Nothing has happened.
    ///
    /// # Errors
    /// Where the specification has a type that no history can hold.
    pub fn new() -> Result<Online<S>, Unrecorded> {
        let engine = Engine::new(specification::<S>()?, Promise::None, Budget::unlimited());
        Ok(Online { engine, of: PhantomData })
    }

    /// `process` calls an operation.
    ///
    /// # Errors
    /// Where it has one open.
    pub fn call(&mut self, process: u64, op: &S::Op) -> Result<Status, EventError> {
        let name = S::names()[<S as Specification>::index(op)];
        let arg = S::write_op(op).unwrap_or(Value::Null);
        self.engine.call(&named(process), name, &arg)
    }

    /// The open operation of `process` answers.
    ///
    /// # Errors
    /// Where it has none open.
    pub fn returns(&mut self, process: u64, answer: &S::Ret) -> Result<Status, EventError> {
        self.engine.ret(&named(process), &S::write_answer(answer).unwrap_or(Value::Null))
    }

    /// The open operation of `process` will never answer: it may or may not have taken effect.
    ///
    /// # Errors
    /// Where it has none open.
    pub fn lost(&mut self, process: u64) -> Result<Status, EventError> {
        self.engine.lost(&named(process))
    }

    /// Nothing more will happen.
    pub fn finish(self) -> Verdict {
        self.engine.finish()
    }
}

fn named(process: u64) -> Value {
    i64::try_from(process).map_or_else(|_| Value::text(&process.to_string()), Value::Int)
}
