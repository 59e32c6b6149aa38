//! What engines share that explain one return after the other and keep every configuration in one list: the
//! loop, its limits, and the end.

use linpoint_history::Operation;

use super::Crowd;
use crate::engine::{Context, Engine, Stop, Witness};
use crate::timeline::{OpId, Timeline};

/// How far such an engine is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    started: bool,
    /// Returns explained.
    pub now: u32,
    pub crowd: Crowd,
}

/// What they differ in.
pub(super) trait OneByOne {
    const NAME: &'static str;

    fn progress(&mut self) -> &mut Progress;

    /// See [`Progress::now`].
    fn now(&self) -> u32;

    /// Makes the configuration before everything.
    fn start(&mut self, cx: &Context<'_>) -> Result<(), Stop>;

    /// Looks at what is pending in a timeline, and from now on at this budget.
    fn load(&mut self, cx: &Context<'_>, timeline: &Timeline);

    /// Hears of the calls before return `id`, and explains that in every way; there are no configurations
    /// where there is none.
    fn explain(&mut self, cx: &Context<'_>, timeline: &Timeline, id: u32) -> Result<(), Stop>;

    /// How many configurations there are.
    fn width(&self) -> usize;

    /// Writes down what all configurations have in common.
    fn settle(&mut self, witness: &mut Witness);

    /// Settles for the first of them, at the end.
    fn choose(&mut self, witness: &mut Witness);

    fn bytes(&self) -> usize;

    /// Says that return `id` cannot be explained.
    fn no_place(&self, cx: &Context<'_>, op: &Operation, id: u32) -> Stop {
        super::no_place(cx, op, id)
    }

    fn start_once(&mut self, cx: &Context<'_>) -> Result<(), Stop> {
        if !self.progress().started {
            self.start(cx)?;
            self.progress().started = true;
        }
        Ok(())
    }
}

impl<E: OneByOne> Engine for E {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        self.start_once(cx)?;
        self.load(cx, timeline);
        while self.now() < upto {
            let id = self.now();
            if id.is_multiple_of(256) || self.width() > 1000 {
                cx.budget.check(self.bytes())?;
            }
            self.explain(cx, timeline, id)?;
            if self.width() == 0 {
                return Err(self.no_place(cx, timeline.op(OpId::completed(id)), id));
            }
            self.progress().now += 1;
            self.settle(witness);
            let width = self.width();
            self.progress().crowd.note(width);
        }
        Ok(())
    }

    fn finish(&mut self, cx: &Context<'_>, _timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        self.start_once(cx)?;
        self.choose(witness);
        Ok(())
    }

    fn explained(&self) -> Option<u32> {
        Some(self.now())
    }

    fn memory(&self) -> usize {
        self.bytes()
    }
}
