//! Shape analysis: linearizability of linked structures, for every schedule, every length and any number of
//! threads.
//!
//! # The method
//!
//! The candidate and a reference, a sequential object, run side by side; an operation of the reference is run
//! where the candidate's operation takes effect, and when the candidate returns, the two answers must be the
//! same (Amit 2007; Amit, Rinetzky, Reps, Sagiv and Yahav 2007). The pair of heaps is one heap of
//! *duo-objects*: a record and its counterpart with the same value are one node, and only where their links
//! differ is there more to say. Nodes that no variable points to are told apart by their kind only, which
//! makes heaps of any length finite.
//!
//! Everything works from the lowered form of the language; nothing is said about an algorithm. What the
//! program leaves open is found: which answers need no point because they change nothing ([`mod@exec`]'s
//! `seen`), and, if no points are given, where operations take effect ([`infer`]).
//!
//! # What a proof says
//!
//! `proved`: in every run of the given threads (k, or any number), whatever the schedule and the length of
//! the structure, every history is linearizable, and no run-time error occurs. It assumes what the language
//! says: sequentially consistent memory, and records that nobody can reach are gone, unless the program frees
//! them itself. It says nothing about deadlock or progress. Operations of the references end, by
//! construction.
//!
//! # Why it can be believed
//!
//! 1. *States.* A structure stands for concrete states as [`structure`] says. The abstract steps
//!    ([`mod@exec`], `reference`, `list`) do to every structure what the interpreter does to every state it
//!    stands for, or stop: with an alarm, or because something is not modelled. They never pass over
//!    anything.
//! 2. *Order.* Local steps commute with others' ([`run`]). Calls are not moved; returns only forward, which
//!    shortens operations.
//! 3. *Answers.* The reference's steps are a sequential history, each between the call and the return of its
//!    operation, checked at the return. An answer without effect was right at some moment in between, and is
//!    put there.
//! 4. *Threads.* [`views`]: each thread's part of each state is covered, by induction over steps.
//! 5. *Closure.* Before a proof is told, a second pass finds that no step leads out of its structures
//!    ([`views::is_inductive`]).
//! 6. *Gates.* Nor is it told before concrete states were looked up in its structures ([`mod@audit`]), and
//!    small clients explored without any reduction (`gate.rs`).
//! 7. *Tests.* [`concrete`] has the same semantics on concrete states, written apart; [`cover`] looks up
//!    every state it reaches.
//!
//! The crate prints nothing and reads no files.

pub mod audit;
pub mod budget;
pub mod certificate;
mod closed;
pub mod concrete;
mod condition;
pub mod cover;
pub mod draw;
pub mod exec;
mod gate;
mod heaps;
mod index;
pub mod infer;
pub mod initial;
mod interference;
pub mod layout;
mod list;
mod memory;
mod merge;
pub mod mutants;
mod offers;
mod own;
mod parallel;
pub mod prove;
mod records;
mod reference;
pub mod refine;
pub mod refute;
pub mod run;
pub mod samples;
pub mod scope;
pub mod store;
pub mod structure;
mod symmetry;
pub mod threads;
mod value;
pub mod views;
mod write;
