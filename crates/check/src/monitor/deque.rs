//! Deques into which no value is pushed twice: an order is built towards what each return needs, and mended
//! where that fails.
//!
//! **Parts.** Where x lies nearer to the front than y, x cannot leave by the back and y by the front: each
//! would have to be gone before the other. So at every moment the elements that will leave by the front (the
//! *front part*) lie before those that never leave, and these before those that will leave by the back.
//! Whoever is pushed at one end and leaves by the other goes past both other parts, which must be empty then.
//! The whole history is at hand, so the part of each element is known when it is pushed.
//!
//! **Placing** (`windows.rs`, `through.rs`, `place.rs`). Windows are narrowed by what the parts ask of each
//! other until nothing changes. Elements that leave where they came from are stacks, which are peeled; for
//! all others a sweep over time finds gaps, depth first. This finds an order wherever there is one, nearly
//! always in about linear time.
//!
//! **Building** (`build.rs`), where something is inside at first, or the sweep took too long. Every return is
//! taken in turn. What it needs is done first, as late as possible: elements in the way are popped, if their
//! pops are open; open pushes that could not come later go first. There is no proof that this finds an order
//! wherever there is one. Where it is stuck there is usually one value to blame: it lies in the way of an
//! operation, and its pop is not called yet. Then the operation should have come before the push of that
//! value. This is noted, everything is taken back to the moment of that push, and building goes on from
//! there. Where nothing new is to be learnt this way, the last returns are taken back and tried again with
//! some open operations done early, chosen at random from a fixed seed.
//!
//! **Verdicts.** An order is only an order once the recheck has replayed it. Where none is found, a few
//! values around the place are sought that cannot be placed either, and decided by the
//! [`frontier`](crate::frontier): a legal run stays legal without all operations on some values, so if these
//! have no order the history has none (`refute.rs`). Where that fails too, the next engine takes over.
//! Nothing else is concluded, so nothing here needs to be believed.

mod build;
mod place;
mod plan;
mod refute;
mod through;
mod windows;

use linpoint_history::{Kind, Operation};

use self::build::Build;
use self::place::{Placed, place};
use self::plan::Plan;
use crate::engine::{Context, Engine, Stop, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides histories of a deque with distinct values, most of the time.
#[derive(Debug, Default)]
pub struct DequeSearch {
    rows: Vec<Operation>,
    earliest: Vec<u32>,
    explained: u32,
    steps: u64,
}

impl DequeSearch {
    /// An engine that has seen nothing.
    pub fn new() -> DequeSearch {
        DequeSearch::default()
    }

    /// How many gaps the sweep went through, or tried to.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

impl Engine for DequeSearch {
    fn name(&self) -> &'static str {
        "deque search"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        _witness: &mut Witness,
    ) -> Result<(), Stop> {
        if cx.spec.kind != Kind::Deque || cx.spec.capacity.is_some() || cx.spec.spurious {
            return Err(Stop::Unsupported("the deque is bounded, or answers may be spurious".into()));
        }
        for id in self.rows.len() as u32..upto {
            self.rows.push(*timeline.op(OpId(id)));
            self.earliest.push(timeline.earliest(OpId(id)));
        }
        cx.budget.check(self.memory())
    }

    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        let plan = Plan::new(cx, &self.rows, &self.earliest, timeline)?;
        cx.budget.check(self.memory() + plan.memory())?;
        match place(&plan, cx.budget, &mut self.steps)? {
            Placed::Order(order) => {
                witness.order.extend(order.into_iter().map(|op| plan.id(op)));
                return Ok(());
            }
            Placed::Stuck(stuck) => return Err(refute::refute(cx, &plan, &self.rows, timeline, &stuck)),
            Placed::Unknown(Some(stuck)) => match refute::refute(cx, &plan, &self.rows, timeline, &stuck) {
                Stop::Unsupported(_) => {}
                refuted => return Err(refuted),
            },
            Placed::Unknown(None) => {}
        }
        let mut build = Build::new(&plan);
        let ran = build.run(cx.budget);
        self.explained = build.explained();
        match ran? {
            None => {
                witness.order.extend(build.into_order().into_iter().map(|op| plan.id(op)));
                Ok(())
            }
            Some(stuck) => Err(refute::refute(cx, &plan, &self.rows, timeline, &stuck)),
        }
    }

    fn explained(&self) -> Option<u32> {
        Some(self.explained)
    }

    fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<Operation>() + self.earliest.capacity() * 4
    }
}
