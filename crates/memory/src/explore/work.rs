//! The work list: graphs that wait to be executed.
//!
//! Nothing is shared between them, so any order is right. Last in, first out keeps the list short: as long as
//! a graph is deep, times the choices at each event. Graphs that are done with are kept, to reuse their
//! memory.

use std::collections::VecDeque;

use super::Random;
use crate::graph::Graph;

/// Which graph is taken next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkOrder {
    /// The newest.
    LastIn,
    /// The oldest.
    FirstIn,
    /// A random one: finds mistakes early, and holds more graphs. See [`Schedule::Random`](super::Schedule)
    /// for the seed.
    Random,
}

pub(super) struct WorkList {
    order: WorkOrder,
    waiting: VecDeque<Graph>,
    spare: Vec<Graph>,
    most: usize,
}

impl WorkList {
    pub(super) fn new(order: WorkOrder) -> WorkList {
        WorkList { order, waiting: VecDeque::new(), spare: Vec::new(), most: 0 }
    }

    pub(super) fn push(&mut self, graph: Graph) {
        self.waiting.push_back(graph);
        self.most = self.most.max(self.waiting.len());
    }

    pub(super) fn take(&mut self, random: &mut Random) -> Option<Graph> {
        match self.order {
            WorkOrder::LastIn => self.waiting.pop_back(),
            WorkOrder::FirstIn => self.waiting.pop_front(),
            WorkOrder::Random => {
                let index = random.below(self.waiting.len());
                self.waiting.swap_remove_back(index)
            }
        }
    }

    /// Takes the oldest graph out, if it is not the only one.
    pub(super) fn oldest(&mut self) -> Option<Graph> {
        if self.waiting.len() > 1 { self.waiting.pop_front() } else { None }
    }

    /// A copy of `graph`, in memory that was used before.
    pub(super) fn copy(&mut self, graph: &Graph) -> Graph {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clone_from(graph);
        copy
    }

    /// Keeps the memory of a graph that is done with.
    pub(super) fn recycle(&mut self, graph: Graph) {
        if self.spare.len() < 64 {
            self.spare.push(graph);
        }
    }

    /// The most graphs that ever waited.
    pub(super) fn most(&self) -> usize {
        self.most
    }
}
