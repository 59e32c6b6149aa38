//! Executions of a program under the memory model of C++20 and Rust.
//!
//! Under sequential consistency an execution is an order of steps. Under RC11 it is a graph: the events of
//! each thread, which write each read reads (*rf*), and the order of the writes of each location (*mo*). This
//! crate explores all graphs of a program, each exactly once, and decides whether a concurrent object is
//! linearizable in a graph for **every** client that could use it.
//!
//! ```
//! use linpoint_memory::{End, Model, Options, explore, litmus};
//! use std::ops::ControlFlow;
//!
//! // Store buffering: each thread writes one location and reads the other one.
//! let mut program = litmus::read_program("W x rlx 1; R y rlx || W y rlx 1; R x rlx").expect("a program");
//! let mut both_read_0 = 0;
//! let report = explore(&mut program, &Options::of(Model::Rc11), |graph, end| {
//!     let mut values = (0..2).flat_map(|thread| graph.values_read(thread));
//!     both_read_0 += u32::from(end == End::Complete && values.all(|value| value == 0));
//!     ControlFlow::Continue(())
//! });
//! assert_eq!((report.complete, both_read_0), (4, 1));
//! ```
//!
//! | to | read |
//! |---|---|
//! | explore a program | [`explore()`], [`explore_together`], [`sample`], [`Options`], [`Report`] |
//! | make something explorable | [`Program`], [`Step`] |
//! | know the model | [`Model`], [`Graph`], `docs/weak-memory.md` |
//! | write litmus tests | [`litmus`], `docs/litmus.md` |
//! | write programs with loops and pointers | [`machine`], [`structures`] |
//! | decide linearizability for every client | [`linearize`] |
//! | believe it | [`oracle`], [`random`] |
//!
//! Load buffering is excluded: `po ∪ rf` has no cycle. There are no accesses of mixed sizes and no `consume`.
//! The crate does no input or output, depends on nothing, and panics on no input.

mod axioms;
mod clock;
mod event;
pub mod explore;
mod graph;
mod integer;
pub mod linearize;
pub mod litmus;
pub mod machine;
pub mod oracle;
mod ordering;
mod program;
pub mod random;
mod relation;
pub mod structures;

pub use clock::{Clock, Clocks, MAX_THREADS};
pub use event::{Access, Event, EventId, Kind, Location, Update, Value};
pub use explore::{
    Coverage, End, Ended, Limit, Limits, Options, Report, Schedule, WorkOrder, explore, explore_together,
    sample,
};
pub use graph::{Graph, Key, Label, Race};
pub use integer::{Operator, Width};
pub use ordering::{Model, Ordering};
pub use program::{Program, Step};
