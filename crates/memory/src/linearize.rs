//! Linearizability for every client.
//!
//! A graph says which operations an object executed and what they answered. A client of the object may have
//! code of its own between operations, and with it make the end of A synchronise with the beginning of B: a
//! join, a channel, a flag. Let S be a set of such pairs. The graph with S added to happens-before is an
//! execution of some client if it still satisfies the axioms. The object is linearizable in this graph if for
//! **every** such S some order of the operations explains the answers and extends happens-before with S.
//!
//! Whole sets are asked for: pairs do not suffice, and a consistent S need not come from any timeline, so no
//! search over orders of calls and returns is enough. [docs/weak-memory.md](../../../docs/weak-memory.md) has
//! the lemmas and their proofs. The search does not try all S, either: each legal order must be contradicted
//! by some pair of S, so S is built from pairs that contradict the order found last.
//!
//! After Herlihy, Wing, *Linearizability: A Correctness Condition for Concurrent Objects* (TOPLAS 1990); for
//! weak memory compare Golovin, Kokologiannakis, Vafeiadis, *Relinche: Automatically Checking Linearizability
//! under Relaxed Memory Consistency* (POPL 2025).

mod objects;
mod order;
mod search;
mod world;

pub use objects::Object;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::event::{EventId, Kind, Value};
use crate::graph::Graph;
use crate::ordering::Model;
use search::Search;
use world::World;

/// An operation in a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Operation {
    /// Which one: the number in [`Kind::Call`].
    pub operation: u32,
    /// Its argument.
    pub argument: Value,
    /// Its result; `None` if it did not return. It may then have taken effect or not, with any result.
    pub result: Option<Value>,
}

/// An operation, and where it stands in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// What it is.
    pub operation: Operation,
    /// The thread that called it.
    pub thread: usize,
    /// Its call.
    pub begin: EventId,
    /// Its return.
    pub end: Option<EventId>,
}

/// A sequential object: what operations may answer, one after another.
pub trait Sequential {
    /// A state. Equal states have equal futures.
    type State: Clone + Eq + Hash;

    /// The state at the beginning.
    fn initial(&self) -> Self::State;

    /// Adds to `next` every state to which `operation` may lead, if its result is possible. Without a result,
    /// every result counts.
    fn step(&self, state: &Self::State, operation: &Operation, next: &mut Vec<Self::State>);
}

/// Is a graph linearizable for every client?
///
/// If not, a client that synchronises the end of the first operation of each pair with the beginning of the second sees
/// answers that no order explains. The numbers are those of [`operations`].
pub type Verdict = linpoint_verdict::Verdict<EveryClient, Vec<(usize, usize)>, TooMuch>;

/// What a `holds` rests on: every client of one graph sees answers that some order explains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EveryClient(());

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooMuch {
    /// The graph has too many operations.
    Operations,
    /// There are more sets of synchronisations than were looked at.
    Sets,
}

/// How often what happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Graphs that were asked about.
    pub asked: u64,
    /// Of these, answered from memory.
    pub remembered: u64,
    /// Sets of synchronisations that were looked at.
    pub sets: u64,
    /// The largest set.
    pub largest: usize,
}

/// The operations of a graph, thread after thread.
#[must_use]
pub fn operations(graph: &Graph) -> Vec<Placed> {
    let mut found: Vec<Placed> = Vec::new();
    for thread in 0..graph.thread_count() {
        let mut open = false;
        for &id in graph.thread(thread) {
            let event = graph.event(id);
            match event.kind {
                Kind::Call(operation) => {
                    let operation = Operation { operation, argument: event.value, result: None };
                    found.push(Placed { operation, thread, begin: id, end: None });
                    open = true;
                }
                Kind::Return if open => {
                    if let Some(last) = found.last_mut() {
                        last.operation.result = Some(event.value);
                        last.end = Some(id);
                    }
                    open = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// Decides graphs of one program against one sequential object.
#[derive(Debug)]
pub struct Clients<S> {
    object: S,
    model: Model,
    /// The most sets of synchronisations per graph.
    pub most_sets: u64,
    /// What happened so far.
    pub counts: Counts,
    /// Graphs that are linearizable, by what decides it.
    known: HashMap<world::Question, (), BuildHasherDefault<Mix>>,
}

/// The most answers that are remembered.
const MEMORY: usize = 1 << 20;

impl<S: Sequential> Clients<S> {
    /// Decides graphs that were explored under this model.
    #[must_use]
    pub fn new(object: S, model: Model) -> Clients<S> {
        Clients { object, model, most_sets: 1 << 20, counts: Counts::default(), known: HashMap::default() }
    }

    /// Is the graph linearizable for every client?
    pub fn check(&mut self, graph: &Graph) -> Verdict {
        self.counts.asked += 1;
        let operations = operations(graph);
        if operations.len() > 64 {
            return Verdict::Unknown(TooMuch::Operations);
        }
        let world = World::of(graph, &operations, self.model);
        let question = world.question(&operations);
        if question.as_ref().is_some_and(|question| self.known.contains_key(question)) {
            self.counts.remembered += 1;
            return Verdict::Holds(EveryClient(()));
        }
        let mut search = Search::new(&self.object, &operations, self.most_sets);
        let verdict = search.verdict(&world);
        self.counts.sets += search.sets;
        self.counts.largest = self.counts.largest.max(search.largest);
        if let Some(question) = question
            && verdict.holds()
            && self.known.len() < MEMORY
        {
            self.known.insert(question, ());
        }
        verdict
    }
}

/// A quick hash of numbers; they are not chosen by anybody.
#[derive(Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|&word| self.write_u64(u64::from_le_bytes(word)));
        rest.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x51_7C_C1_B7_27_22_0A_95);
    }
}
