//! Which operations were seen to return: of one that never does, a proof says nothing.

use linpoint_lang::Program;
use linpoint_lang::program::OpId;

/// An operation that took so many steps in random runs, and never returned, is one that was not seen to return.
const MANY: u64 = 10_000;

/// What was noted of each operation, over all scopes that were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Could some scope be started?
    pub started: bool,
    /// Was it seen to return?
    returned: Vec<bool>,
    /// Was it called in the scope that is being explored?
    called: Vec<bool>,
    /// Was it called in a scope of which every run was seen?
    whole: Vec<bool>,
    /// Its steps in random runs.
    walked: Vec<u64>,
}

impl Noted {
    /// Nothing yet.
    #[must_use]
    pub fn new(program: &Program) -> Noted {
        let count = program.operations.len();
        Noted {
            started: false,
            returned: vec![false; count],
            called: vec![false; count],
            whole: vec![false; count],
            walked: vec![0; count],
        }
    }

    /// Operations of which no run returns, although every run was seen of somebody who calls them, or many long runs.
    #[must_use]
    pub fn never_return(&self) -> Vec<OpId> {
        let never = |op: &usize| !self.returned[*op] && (self.whole[*op] || self.walked[*op] >= MANY);
        (0..self.returned.len()).filter(never).map(|op| OpId(op as u16)).collect()
    }

    /// A scope can be started.
    pub(super) fn begin(&mut self) {
        self.started = true;
        self.called.fill(false);
    }

    pub(super) fn call(&mut self, op: OpId) {
        self.called[op.index()] = true;
    }

    pub(super) fn step(&mut self, op: OpId) {
        self.walked[op.index()] += 1;
    }

    pub(super) fn answer(&mut self, op: OpId) {
        self.returned[op.index()] = true;
    }

    /// Every run of the scope was seen.
    pub(super) fn end(&mut self) {
        for (whole, called) in self.whole.iter_mut().zip(&self.called) {
            *whole |= called;
        }
    }
}
