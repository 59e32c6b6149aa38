//! Every run of a program of the algorithm language, within bounds: explicit states, breadth first.
//!
//! # What is checked
//!
//! A client's threads call operations; every interleaving of their steps is visited. Each state carries,
//! beside the program's, a *monitor*: the set of all configurations (a state of the specification, and for
//! each open operation whether it took effect, and with which result) that explain the history so far. A
//! return that no configuration allows is a violation: the history up to it is not linearizable. If no such
//! return is reached, every history within the bounds is linearizable. With given linearization points,
//! operations take effect only where the program says so. Errors of the run, claims that are false, and
//! states in which threads wait and nobody can go on, are violations too.
//!
//! # Why nothing is lost
//!
//! - **Fusion.** Steps that touch only locals, records that no other thread can have a pointer to, or places
//!   that nobody ever changes, commute with all steps of other threads; they are taken together with the step
//!   before them. A call is taken together with the first step that others can notice, and a return with the
//!   last: of all the histories that differ only in when an operation is called before it does anything, or
//!   returns after it is done, this has the shortest intervals, so if it can be explained, all can.
//! - **Lazy effects.** In the monitor an operation takes effect only when a return needs it: its own, or one
//!   that comes after it in the order. What stays open can still take effect later.
//! - **Threads** with the same calls left are interchangeable: they are sorted by their frames. States that
//!   differ only in the heap's numbering are one.
//! - **Data** that the program only copies is given a new value at each call: if every history with distinct
//!   values is linearizable, so is every other (the object cannot tell them apart). Data that it compares is
//!   taken from a small set. Either way, what values are called makes no difference: they are renamed
//!   (`data.rs`).
//!
//! Several cores share the states of a level between them (`search/shared.rs`); what is found does not depend
//! on how many.
//!
//! States are kept whole, packed to bytes, so two different states are never taken for one. A counterexample
//! is shortest in steps; it is found again from the initial state by a run without sorting of threads before
//! it is shown.
//!
//! This crate prints nothing and reads no files.

mod claims;
mod client;
mod data;
mod explore;
mod fast;
mod fusion;
mod ghosts;
mod monitor;
mod namer;
mod opinion;
mod own;
mod pack;
mod plain;
mod progress;
mod reach;
mod reference;
mod replay;
mod schedule;
mod search;
mod second_look;
mod sequential;
mod session;
mod steps;
mod store;
mod symmetry;
mod trace;
mod ways;

pub use client::{FewValues, Rules, Workload};
pub use explore::{
    Bounds, Deciding, EveryRun, Explored, Limit, Mode, Progress, Reductions, Stepper, Verdict, Violation,
    Wrong, explore, explore_watched,
};
pub use ghosts::only_ghosts_go_wrong;
pub use opinion::{
    Agreement, Budget, Refutation, Scope, Seen, second_opinion, second_opinion_noting, second_opinion_of,
};
pub use own::{BlockSpec, Unfit};
pub use plain::{Noted, Plainly, Values, explore_noting, explore_plainly, walk_noting, walk_plainly};
pub use progress::Demand;
pub use reach::{Reach, Reached, reach};
pub use reference::{argument_value, result_value};
pub use replay::{Judged, Replayed, judge, retake};
pub use schedule::{BadSchedule, Move, Schedule};
pub use sequential::asks_who_calls;
pub use session::{Moved, Session, schedule_of};
pub use trace::{Happened, TraceStep};
