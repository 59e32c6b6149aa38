//! What a specification does, remembered: states have numbers, and each operation is asked about once in each state.
//!
//! The questions about one scenario are about the same operations, and come through the same few states again and again.
//! Going through numbers costs a tenth of making states, which mostly means to allocate and to free.

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::spec::Specification;

/// The states met so far, and what the operations of one scenario do there.
pub(crate) struct Remembered<S: Specification> {
    states: Vec<S>,
    numbers: FxHashMap<S, u32>,
    /// By state and operation: the part of `outcomes` that says what it may answer, once it is known.
    known: Vec<Option<(u32, u32)>>,
    outcomes: Vec<(S::Ret, u32)>,
    /// The latest answer of the specification, taken in; kept for its room.
    answer: Vec<(S::Ret, S)>,
}

/// More states than this are forgotten before the next question.
const MOST: usize = 1 << 12;

impl<S: Specification> Remembered<S> {
    pub(crate) fn new() -> Self {
        Remembered {
            states: Vec::with_capacity(16),
            numbers: FxHashMap::with_capacity_and_hasher(16, FxBuildHasher),
            known: Vec::with_capacity(64),
            outcomes: Vec::with_capacity(64),
            answer: Vec::with_capacity(1),
        }
    }

    /// The number of the initial state. Numbers from before mean nothing after this.
    pub(super) fn start(&mut self) -> u32 {
        if self.states.len() > MOST {
            *self = Remembered::new();
        }
        match self.states.is_empty() {
            true => self.number(S::initial()),
            false => 0,
        }
    }

    /// What operation `index` of `ops`, always the same ones, may answer in a state, with the state after it: numbers for
    /// [`Remembered::outcome`].
    pub(super) fn outcomes(&mut self, state: u32, ops: &[S::Op], index: usize) -> std::ops::Range<u32> {
        let at = state as usize * ops.len() + index;
        if let Some(Some((from, to))) = self.known.get(at) {
            return *from..*to;
        }
        let mut answer = std::mem::take(&mut self.answer);
        self.states[state as usize].outcomes(&ops[index], &mut answer);
        let from = self.outcomes.len() as u32;
        for (ret, after) in answer.drain(..) {
            let after = self.number(after);
            self.outcomes.push((ret, after));
        }
        self.answer = answer;
        let to = self.outcomes.len() as u32;
        if self.known.len() <= at {
            self.known.resize(at + ops.len(), None);
        }
        self.known[at] = Some((from, to));
        from..to
    }

    /// An answer, and the number of the state after it.
    pub(super) fn outcome(&self, number: u32) -> (&S::Ret, u32) {
        let (ret, after) = &self.outcomes[number as usize];
        (ret, *after)
    }

    fn number(&mut self, state: S) -> u32 {
        if let Some(&known) = self.numbers.get(&state) {
            return known;
        }
        let number = self.states.len() as u32;
        self.states.push(state.clone());
        self.numbers.insert(state, number);
        number
    }
}
