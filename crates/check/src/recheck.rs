//! The independent recheck of a witness: no `holds` is shown that this routine has not replayed.
//!
//! It reads rows and stamps, not gaps, and shares no code with the engines. For every operation, in the order claimed:
//!
//! 1. it stands in the order once (and at the end every completed operation does);
//! 2. it did not return before something that stands earlier was called, and operations of one process stand in the order in
//!    which the process ran them;
//! 3. the specification allows its result in the state the earlier ones left.
//!
//! The three together are the definition of linearizability (Herlihy & Wing 1990). The order may be given in pieces; what is
//! remembered is the object's state, a few numbers, and which of the recent operations were seen.

pub mod segments;

use linpoint_history::{Builtin, Operation, Symbols};
use thiserror::Error;

use crate::replay::Replay;
use crate::timeline::OpId;

/// Why a witness is not one. This is always a mistake of ours.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the witness fails its recheck at position {position}: {why}")]
pub struct BadWitness {
    /// Where in the order, from 0.
    pub position: u64,
    /// What is wrong.
    pub why: &'static str,
}

impl BadWitness {
    /// An operation that is neither open nor waiting for its place.
    pub const TWICE: BadWitness = BadWitness { position: u64::MAX, why: "an operation stands in it twice" };
    /// Only stack orders may have holes.
    pub const HOLES: BadWitness = BadWitness { position: u64::MAX, why: "it has holes" };
}

/// The recheck of one witness.
#[derive(Clone, Debug)]
pub struct Recheck {
    replay: Replay,
    seen: Seen,
    pending_seen: Vec<bool>,
    /// The latest call so far: nothing that returned before it may follow.
    latest_call: i64,
    /// For each process, one past the last of its operations so far.
    last_of_process: Vec<u32>,
    position: u64,
}

impl Recheck {
    /// Begins with an object in its initial state.
    pub fn new(spec: &Builtin, symbols: &Symbols) -> Recheck {
        Recheck {
            replay: Replay::new(spec, symbols),
            seen: Seen::default(),
            pending_seen: Vec::new(),
            latest_call: i64::MIN,
            last_of_process: Vec::new(),
            position: 0,
        }
    }

    /// The next operation of the order.
    #[inline]
    pub fn take(
        &mut self,
        spec: &Builtin,
        symbols: &Symbols,
        id: OpId,
        op: &Operation,
    ) -> Result<(), BadWitness> {
        let new = match id.as_pending() {
            Some(index) => self.take_pending(index, op),
            None => self.seen.insert(id.0) && self.follows_its_process(id, op),
        };
        if !new {
            return Err(self.bad("an operation stands in it twice, or before an earlier one of its process"));
        }
        if op.ret < self.latest_call {
            return Err(self.bad("an operation comes after one that was called when it had already returned"));
        }
        self.latest_call = self.latest_call.max(op.call);
        if !self.replay.step(spec, symbols, op) {
            return Err(self.bad("the specification does not allow this result here"));
        }
        self.position += 1;
        Ok(())
    }

    /// The order is complete: did all `completed` operations stand in it?
    pub fn finish(&self, completed: u32) -> Result<u64, BadWitness> {
        if self.seen.first_missing() != completed || self.seen.count != u64::from(completed) {
            return Err(self.bad("an operation is missing from it"));
        }
        Ok(self.position)
    }

    /// How many operations the order has so far.
    pub fn operations(&self) -> u64 {
        self.position
    }

    /// The first completed operation that was not seen yet.
    pub fn first_missing(&self) -> u32 {
        self.seen.first_missing()
    }

    /// Was this completed operation seen?
    pub fn has(&self, id: u32) -> bool {
        self.seen.contains(id)
    }

    fn take_pending(&mut self, index: usize, op: &Operation) -> bool {
        // Its process ran nothing after it.
        self.follows_its_process(OpId(u32::MAX - 1), op);
        if index >= self.pending_seen.len() {
            self.pending_seen.resize(index + 1, false);
        }
        !std::mem::replace(&mut self.pending_seen[index], true)
    }

    #[inline]
    fn follows_its_process(&mut self, id: OpId, op: &Operation) -> bool {
        let process = op.process().0 as usize;
        if process >= self.last_of_process.len() {
            self.last_of_process.resize(process + 1, 0);
        }
        let last = std::mem::replace(&mut self.last_of_process[process], id.0 + 1);
        last <= id.0
    }

    fn bad(&self, why: &'static str) -> BadWitness {
        BadWitness { position: self.position, why }
    }
}

/// A set of numbers that fills up from below: whole words of ones at the start are dropped now and then.
#[derive(Clone, Debug, Default)]
struct Seen {
    dropped: u32,
    words: Vec<u64>,
    count: u64,
}

impl Seen {
    #[inline]
    fn insert(&mut self, id: u32) -> bool {
        let Some(word) = (id / 64).checked_sub(self.dropped) else { return false };
        let bit = 1 << (id % 64);
        let Some(word) = self.words.get_mut(word as usize) else { return self.insert_beyond(id) };
        let new = *word & bit == 0;
        *word |= bit;
        self.count += u64::from(new);
        new
    }

    #[cold]
    fn insert_beyond(&mut self, id: u32) -> bool {
        let full = self.words.iter().take_while(|word| **word == u64::MAX).count();
        if full > self.words.len() / 2 {
            self.words.drain(..full);
            self.dropped += full as u32;
        }
        let word = (id / 64 - self.dropped) as usize;
        self.words.resize((word + 1).next_multiple_of(512), 0);
        self.insert(id)
    }

    fn contains(&self, id: u32) -> bool {
        match (id / 64).checked_sub(self.dropped) {
            Some(word) => self.words.get(word as usize).is_some_and(|w| w >> (id % 64) & 1 == 1),
            None => true,
        }
    }

    fn first_missing(&self) -> u32 {
        let full = self.words.iter().take_while(|word| **word == u64::MAX).count();
        let ones = self.words.get(full).map_or(0, |word| word.trailing_ones());
        (self.dropped + full as u32) * 64 + ones
    }
}
