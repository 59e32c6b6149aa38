//! Metastates (Dragicevic 2011): all ways to explain the past, kept as few small configurations.
//!
//! A *configuration* is what remains of one way to explain the returns seen so far: the state of the object
//! and which of the operations open *now* already took effect. Everything that returned took effect in every
//! configuration, so the bits are over open operations only, never over the whole history. Engines differ in
//! how they write the state: what a type leaves open (the order of concurrent enqueues, the moment of an
//! insertion) is not written at all.
//!
//! What they share: operations take effect only when some return forces them (lazy); what only reads is
//! marked as soon as the state allows it (eager); of equal open operations the one that returns first goes
//! first; a configuration that another one reaches by a step it may still take is dropped (implied); one
//! whose every future is also a future of another is dropped (dominated). `docs/soundness.md` has the
//! arguments.

pub mod ahead;
pub mod changing_keys;
pub mod counter;
pub mod generic;
mod meter;
mod one_by_one;
pub mod paths;
pub mod priority_queue;
pub mod queue;
pub mod register;
pub mod seed;
pub mod shrink;
pub mod stack;

use linpoint_history::{Operation, Spec};

use crate::engine::{Context, Stop, Violation};
use crate::timeline::OpId;

/// How many configurations a run kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    /// At the busiest return.
    pub max: usize,
    /// Summed over all returns.
    pub sum: u64,
    /// Returns explained.
    pub returns: u64,
}

impl Crowd {
    /// One more return was explained, and `count` configurations are left.
    #[inline]
    pub fn note(&mut self, count: usize) {
        self.max = self.max.max(count);
        self.sum += count as u64;
        self.returns += 1;
    }

    /// The mean number of configurations after a return.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.returns.max(1) as f64
    }
}

/// Return `id` of a collection whose insertions have an argument and whose removals have none cannot be
/// explained. Which operations are to blame is left to [`shrink`].
fn no_place(cx: &Context<'_>, op: &Operation, id: u32) -> Stop {
    let name = cx.spec.signature().decl(op.op()).name;
    let answer = cx.symbols.value(op.result);
    let why = if !op.arg.is_null() {
        "it never answers that".to_owned()
    } else if op.result.is_null() {
        "at no moment between its call and its return can everything have been taken out".to_owned()
    } else {
        format!("at no moment between its call and its return can {answer} have been the next to leave")
    };
    let reason = format!("{name} -> {answer} is impossible: {why}");
    Stop::Violated(Violation { at: OpId::completed(id), core: Vec::new(), reason })
}
