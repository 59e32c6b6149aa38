//! Which operations were seen to return, and which steps were taken: of an operation that never returns, a
//! proof says nothing.

use linpoint_lang::Program;
use linpoint_lang::program::{Exit, NodeId, OpId};
use rustc_hash::FxHashSet;

use crate::opinion::Budget;

/// What was noted of each operation, over all scopes that were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Could some scope be started?
    pub started: bool,
    /// States that were met and steps of random runs.
    pub states: usize,
    /// Was all looked at that was to be, and nothing left out for want of time?
    pub finished: bool,
    /// Was it seen to return?
    returned: Vec<bool>,
    /// Was it called in the scope that is being explored?
    called: Vec<bool>,
    /// Was it called in a scope of which every run was seen?
    whole: Vec<bool>,
    /// Has it a return at all?
    returns: Vec<bool>,
    /// The steps that were taken.
    taken: FxHashSet<(NodeId, usize)>,
}

impl Noted {
    /// Nothing yet.
    #[must_use]
    pub fn new(program: &Program) -> Noted {
        let count = program.operations.len();
        let mut returns = vec![false; count];
        for node in program.nodes.iter().filter(|node| node.op.index() < count) {
            returns[node.op.index()] |= node.edges.iter().any(|edge| matches!(edge.exit, Exit::Return(_)));
        }
        Noted {
            returned: vec![false; count],
            called: vec![false; count],
            whole: vec![false; count],
            returns,
            ..Noted::default()
        }
    }

    /// Operations of which no run returns, although every run was seen of somebody who calls them; and those
    /// that have no return.
    #[must_use]
    pub fn never_return(&self) -> Vec<OpId> {
        self.all(|op| !self.returned[op] && (self.whole[op] || !self.returns[op]))
    }

    /// Operations that were not seen to return, of which not every run was seen.
    #[must_use]
    pub fn unseen(&self) -> Vec<OpId> {
        self.all(|op| !self.returned[op] && !self.whole[op] && self.returns[op])
    }

    /// Was all looked at that a budget allows? Where there was a long time for it, because a program is slow,
    /// a tenth will do.
    #[must_use]
    pub fn is_enough(&self, budget: &Budget) -> bool {
        self.finished || budget.time >= Budget::LONGEST && self.states >= budget.states / 10
    }

    /// Did some operation return in some run?
    #[must_use]
    pub fn something_returned(&self) -> bool {
        self.returned.contains(&true)
    }

    /// Was a step taken in some run?
    #[must_use]
    pub fn was_taken(&self, node: NodeId, edge: usize) -> bool {
        self.taken.contains(&(node, edge))
    }

    fn all(&self, is_meant: impl Fn(usize) -> bool) -> Vec<OpId> {
        (0..self.returned.len()).filter(|op| is_meant(*op)).map(|op| OpId(op as u16)).collect()
    }

    /// A scope can be started.
    pub(super) fn begin(&mut self) {
        self.started = true;
        self.called.fill(false);
    }

    pub(super) fn call(&mut self, op: OpId) {
        self.called[op.index()] = true;
    }

    pub(super) fn step(&mut self, node: NodeId, edge: usize) {
        self.taken.insert((node, edge));
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
