//! Claims about the future: *tressa* claims (Sezgin, Tasiran, Muslu, Qadeer, *Run-Time Verification of
//! Optimistic Concurrency*, 2011).
//!
//! An assertion relates the present to the past. Optimistic code goes on as if nobody interfered and finds
//! out later whether that was right; what it needs to say now is about later: *if* this snapshot will
//! succeed, *then* the values read form a consistent pair, now.
//!
//! ```
//! # use linpoint_claim::{Var, procedure, tressa};
//! # use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
//! # struct Cell { v: AtomicU32, d: AtomicU32 }
//! # fn snapshot(m: &[Cell], a: usize, b: usize) -> Option<(u32, u32)> {
//! let _procedure = procedure();
//! let s = Var::new(true);
//! let (va, da) = (m[a].v.load(SeqCst), m[a].d.load(SeqCst));
//! let (vb, db) = (m[b].v.load(SeqCst), m[b].d.load(SeqCst));
//!
//! tressa!(Exit(s) ==> (da == m[a].d.load(SeqCst) && db == m[b].d.load(SeqCst)));
//!
//! if va < m[a].v.load(SeqCst) { s.set(false); }
//! if vb < m[b].v.load(SeqCst) { s.set(false); }
//! s.get().then_some((da, db))
//! # }
//! ```
//!
//! The terms: `First(x, kind, threads)` is the value of `x` after the first matching access from now on;
//! `Last(x, kind, threads, condition)` after the last one before the condition becomes true; `Exit(x)`
//! immediately after the procedure returns in which the claim was made. All else is plain and is evaluated
//! now, as one atomic step. A claim is decided once all its terms are determined; a claim whose terms are not
//! all determined by the end is neither true nor false, and is counted.
//!
//! | to | read |
//! |---|---|
//! | write a claim | [`tressa!`], [`Var`], [`procedure()`] |
//! | run a program with claims | [`Host`], [`install`] |
//! | feed events by hand | [`Monitor`] |
//! | show what was found | [`Failure`], [`Undecided`], [`Counts`] |
//!
//! This crate knows nothing of who produces the events: no scheduler, no shim. It does no input or output.

mod activation;
mod condition;
#[doc(hidden)]
pub mod expansion;
mod explanation;
mod guard;
mod host;
mod kind;
mod monitor;
mod outcome;
mod procedure;
mod site;
mod term;
mod thread;
mod value;
mod var;
mod variable;
mod watch;

pub use activation::ProcedureId;
pub use condition::{Condition, ConditionDraft};
pub use explanation::Explanation;
pub use guard::is_deciding;
pub use host::{Host, Installed, PlainHost, install, is_active, me, report};
pub use kind::Kind;
pub use monitor::{ClaimId, Made, Monitor, Predicate};
pub use outcome::{Counts, Failure, TermValue, Undecided};
pub use procedure::{Procedure, procedure};
pub use site::Site;
pub use term::Bottom;
pub use thread::{ThreadId, ThreadSet, Threads};
pub use value::Value;
pub use var::Var;
pub use variable::{VarId, Variable};

#[cfg(feature = "macros")]
#[doc(hidden)]
pub use linpoint_macros::tressa as __tressa;

/// Makes a claim about the future of the execution.
///
/// ```text
/// claim     = any boolean expression of Rust over terms, with  P ==> Q  (implies; binds weakest, to the right)
/// term      = First(variable, kind, threads)
///           | Last(variable, kind, threads, condition)
///           | Exit(variable)
///           | any expression of Rust without these: evaluated now
/// kind      = Rd | Wr | RW
/// threads   = { me } | { others } | { all } | { thread, set, … } | an expression
/// condition = a boolean expression of Rust over variables: it is asked again at each write to them
/// ```
///
/// All plain parts are evaluated now, in one atomic step, whichever side of a connective they stand on; only
/// the plain left side of an implication or of `||` that stands outermost guards what comes after it. What is
/// left of the claim runs when its terms are determined, so the plain values it needs must be owned
/// (`'static`).
///
/// Outside an exploration a claim costs a flag's reading and does nothing.
#[macro_export]
macro_rules! tressa {
    ($($claim:tt)*) => {
        $crate::__tressa!($crate; $($claim)*)
    };
}
