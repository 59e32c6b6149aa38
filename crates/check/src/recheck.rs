//! The independent recheck of a witness: no `holds` is shown that this routine has not replayed.
//!
//! It reads rows and stamps, not gaps, and shares no code with the engines. For every operation, in the order
//! claimed:
//!
//! 1. it stands in the order once (and at the end every completed operation does);
//! 2. it did not return before something that stands earlier was called, and operations of one process stand
//!    in the order in which the process ran them;
//! 3. the specification allows its result in the state the earlier ones left.
//!
//! The three together are the definition of linearizability (Herlihy & Wing 1990). The order may be given in
//! pieces; what is remembered is the object's state, a few numbers, and which of the recent operations were
//! seen.

pub mod segments;

use linpoint_history::{Builtin, Operation, Symbols};
use thiserror::Error;

use crate::replay::{self, Replay};
use crate::timeline::{OpId, Timeline};

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
    order: Order,
}

impl Recheck {
    /// Begins with an object in its initial state.
    pub fn new(spec: &Builtin, symbols: &Symbols) -> Recheck {
        Recheck { replay: Replay::new(spec, symbols), order: Order::default() }
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
        self.order.take(id, op)?;
        self.allowed(|replay| replay.step(spec, symbols, op))
    }

    /// The next operations of the order, in one go: what kind of object it is is asked once for all of them.
    pub fn take_all(
        &mut self,
        spec: &Builtin,
        symbols: &Symbols,
        timeline: &Timeline,
        ids: &[OpId],
    ) -> Result<(), BadWitness> {
        let order = &mut self.order;
        let taken = match &mut self.replay {
            Replay::Queue(items) => order.walk(timeline, ids, |op| replay::queue(items, op)),
            Replay::PriorityQueue(heap) => order.walk(timeline, ids, |op| replay::least_first(heap, op)),
            Replay::Set(members) => order.walk(timeline, ids, |op| replay::set(members, op)),
            Replay::Register(value) => order.walk(timeline, ids, |op| replay::register(value, op)),
            _ => Ok(0),
        }?;
        // What is left of them is looked at one by one.
        ids[taken..]
            .iter()
            .try_for_each(|&id| with_row(timeline, id, |row| self.take(spec, symbols, id, row)))
    }

    /// The order is complete: did all `completed` operations stand in it?
    pub fn finish(&self, completed: u32) -> Result<u64, BadWitness> {
        let seen = &self.order.seen;
        if seen.first_missing() != completed || seen.count != u64::from(completed) {
            return Err(self.order.bad("an operation is missing from it"));
        }
        Ok(self.order.position)
    }

    /// How many operations the order has so far.
    pub fn operations(&self) -> u64 {
        self.order.position
    }

    /// The first completed operation that was not seen yet.
    pub fn first_missing(&self) -> u32 {
        self.order.seen.first_missing()
    }

    /// Was this completed operation seen?
    pub fn has(&self, id: u32) -> bool {
        self.order.seen.contains(id)
    }

    #[inline]
    fn allowed(&mut self, step: impl FnOnce(&mut Replay) -> bool) -> Result<(), BadWitness> {
        if !step(&mut self.replay) {
            return Err(self.order.bad(RESULT));
        }
        self.order.position += 1;
        Ok(())
    }
}

/// The recheck of an order of all operations of several objects: one order in time for all of them, a replay
/// for each. `rows` are the completed operations in order of return, those of one process in its order, then
/// those that never returned; how many operations are in the order.
pub fn whole(
    spec: &Builtin,
    symbols: &Symbols,
    rows: &[Operation],
    completed: usize,
    object: &[u32],
    objects: usize,
    order: &[u32],
) -> Result<u64, BadWitness> {
    let mut replays = vec![Replay::new(spec, symbols); objects];
    let mut in_time = Order::default();
    for &row in order {
        let index = row as usize;
        let (Some(op), Some(&object)) = (rows.get(index), object.get(index)) else {
            return Err(in_time.bad("an operation stands in it that there is not"));
        };
        let id = match index.checked_sub(completed) {
            Some(pending) => OpId::pending(pending as u32),
            None => OpId::completed(row),
        };
        in_time.take(id, op)?;
        if !replays[object as usize].step(spec, symbols, op) {
            return Err(in_time.bad(RESULT));
        }
        in_time.position += 1;
    }
    let seen = &in_time.seen;
    if seen.first_missing() != completed as u32 || seen.count != completed as u64 {
        return Err(in_time.bad("an operation is missing from it"));
    }
    Ok(in_time.position)
}

const STANDS: &str = "an operation stands in it twice, or before an earlier one of its process";
const RESULT: &str = "the specification does not allow this result here";

/// Gives the row of an operation to `take`.
#[inline(always)]
fn with_row<T>(
    timeline: &Timeline,
    id: OpId,
    take: impl FnOnce(&Operation) -> Result<T, BadWitness>,
) -> Result<T, BadWitness> {
    match timeline.get(id) {
        Some(row) => take(row),
        None => take(&timeline.row(id).ok_or(BadWitness::TWICE)?),
    }
}

/// What is remembered of the order besides the object's state.
#[derive(Clone, Debug)]
struct Order {
    seen: Seen,
    pending_seen: Vec<bool>,
    /// The latest call so far: nothing that returned before it may follow.
    latest_call: i64,
    /// For each process, one past the last of its operations so far.
    last_of_process: Vec<u32>,
    position: u64,
}

impl Default for Order {
    fn default() -> Order {
        Order {
            seen: Seen::default(),
            pending_seen: Vec::new(),
            latest_call: i64::MIN,
            last_of_process: Vec::new(),
            position: 0,
        }
    }
}

impl Order {
    /// May this operation stand here, as far as the order alone tells?
    #[inline]
    fn take(&mut self, id: OpId, op: &Operation) -> Result<(), BadWitness> {
        let new = match id.as_pending() {
            Some(index) => self.take_pending(index, op),
            None => self.seen.insert(id.0) && self.follows_its_process(id, op),
        };
        if !new {
            return Err(self.bad(STANDS));
        }
        if op.ret < self.latest_call {
            return Err(self.bad("an operation comes after one that was called when it had already returned"));
        }
        self.latest_call = self.latest_call.max(op.call);
        Ok(())
    }

    /// Takes operations and lets each make its `step`, up to one that is not usual (it is pending or
    /// released, it is the first of its process, it stands wrong, or has no step this way: `None`); how many
    /// were taken.
    #[inline(always)]
    fn walk(
        &mut self,
        timeline: &Timeline,
        ids: &[OpId],
        mut step: impl FnMut(&Operation) -> Option<bool>,
    ) -> Result<usize, BadWitness> {
        let rows = timeline.known_rows();
        let start = timeline.known_from();
        let mut latest_call = self.latest_call;
        let mut taken = 0;
        // The object does not know of the order, nor the order of the object.
        for &id in ids {
            let Some(row) = rows.get(id.0.wrapping_sub(start) as usize) else { break };
            let Some(last) = self.last_of_process.get_mut(row.process().0 as usize) else { break };
            let fits = (row.ret >= latest_call) & (*last <= id.0);
            if !fits {
                break;
            }
            match step(row) {
                Some(true) if self.seen.insert(id.0) => {}
                Some(true) => return Err(self.bad(STANDS)),
                Some(false) => return Err(self.bad(RESULT)),
                None => break,
            }
            *last = id.0 + 1;
            latest_call = latest_call.max(row.call);
            taken += 1;
        }
        self.latest_call = latest_call;
        self.position += taken as u64;
        Ok(taken)
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

    #[cold]
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
