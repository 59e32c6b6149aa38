//! What your Rust code links to: the shims of std, and the harness that explores every schedule.

#![forbid(unsafe_code)]

mod argument;
mod asked_twice;
mod check;
mod claims;
mod counterexample;
mod explore;
mod explored;
#[cfg(feature = "full")]
pub mod history;
mod key;
mod linearize;
mod memory;
mod plan;
mod promise;
mod relevant;
mod report;
mod scenario;
mod show;
mod spec;
mod stateful;
mod token;
mod verdict;
#[cfg_attr(not(feature = "full"), path = "plain_view.rs")]
mod view;
mod weak;

pub use argument::{Argument, Domain};
pub use check::{Check, check};
pub use claims::Claims;
pub use counterexample::{Counterexample, FailingRun};
pub use explore::{Exploration, Explored, exploration, explore};
pub use linearize::{Criterion, Moment};
#[doc(no_inline)]
pub use linpoint_claim as claim;
#[cfg(feature = "full")]
pub use linpoint_claim::tressa;
pub use linpoint_claim::{Procedure, Var, procedure};
#[cfg(feature = "full")]
pub use linpoint_macros::{Viewed, object, procedure, spec};
#[cfg(feature = "full")]
#[doc(no_inline)]
pub use linpoint_monitor as monitor;
pub use linpoint_sched::explore::Search;
pub use linpoint_sched::{Failure, Heap, Limits, atomically, cell, hint, sync, thread, thread_local};
#[doc(no_inline)]
pub use linpoint_verdict::VerdictKind;
pub use memory::Memory;
pub use report::{Coverage, Report};
pub use scenario::Scenario;
pub use spec::{Object, Specification};
pub use token::{Token, TokenError, Turn};
pub use verdict::{EverySchedule, Undecided, Verdict};

/// The guide, whose examples are compiled.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../../../docs/explorer.md")]
mod guide {}
