//! Iterative preemption bounding (Musuvathi and Qadeer 2007): every schedule with no preemption, then with at most
//! one, two, and so on. Free switches are never charged (see `dfs.rs`), so a bound cannot hide what needs none.
//!
//! Within a bound the search is depth-first with a memory. Two beginnings of schedules with the same trace lead to the
//! same state, and whatever can follow one can follow the other. What it may still cost differs in one thing only: who
//! runs, if that thread could go on. So a point is pruned if the same trace with the same running thread, or none, was
//! reached before with at most as many preemptions: everything within the bound that follows here followed there. Equal
//! traces have equal length, so the point before is not one above this one, and all of it has been searched.
//!
//! Sleep sets must not be added to a bound: a sleeping thread may be the only way to stay within it.

use rustc_hash::FxHashMap;

use crate::clocks::Clocks;
use crate::event::{ThreadId, ThreadSet};
use crate::execution::Execution;
use crate::run::Run;
use crate::strategy::Strategy;

/// Depth-first search within growing bounds.
pub struct PreemptionBound {
    bound: u32,
    last: u32,
    completed: Option<u32>,
    /// Did the bound keep a schedule out?
    cut: bool,
    path: Vec<Node>,
    prefix: Vec<ThreadId>,
    clocks: Clocks,
    /// The fewest preemptions each point was reached with.
    seen: FxHashMap<u64, u32>,
    room: usize,
}

/// A scheduling point on the current path.
#[derive(Clone, Copy)]
struct Node {
    chosen: ThreadId,
    /// Not yet tried here.
    left: ThreadSet,
    /// Who would go on without a switch, if it can.
    runs: Option<ThreadId>,
    /// Preemptions up to and including this choice.
    spent: u32,
}

impl PreemptionBound {
    /// Bounds from `first` to `last`.
    pub fn new(first: u32, last: u32) -> PreemptionBound {
        PreemptionBound {
            bound: first,
            last,
            completed: None,
            cut: false,
            path: Vec::new(),
            prefix: Vec::new(),
            clocks: Clocks::new(),
            seen: FxHashMap::default(),
            room: 4_000_000,
        }
    }

    /// Remembers at most so many points. What is not remembered is searched again.
    pub fn remember(self, points: usize) -> PreemptionBound {
        PreemptionBound { room: points, ..self }
    }

    /// The greatest bound within which every schedule was covered.
    pub fn completed(&self) -> Option<u32> {
        self.completed
    }

    /// The bound that is searched, or was last.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// Was every schedule covered, because the last bound kept none out?
    pub fn is_complete(&self) -> bool {
        self.completed == Some(self.bound) && !self.cut
    }

    fn spent(&self) -> u32 {
        self.path.last().map_or(0, |node| node.spent)
    }

    /// Was this point reached before with at most `spent` preemptions?
    fn known(&mut self, runs: Option<ThreadId>, spent: u32) -> bool {
        let Some(last) = self.clocks.len().checked_sub(1) else { return false };
        let mut key = self.clocks.trace_fingerprint();
        if runs.is_some() {
            key ^= self.clocks.fingerprint(last).rotate_left(31);
        }
        let room = self.seen.len() < self.room;
        match self.seen.get_mut(&key) {
            Some(best) if *best <= spent => true,
            Some(best) => {
                *best = spent;
                false
            }
            None => {
                if room {
                    self.seen.insert(key, spent);
                }
                false
            }
        }
    }
}

impl Strategy for PreemptionBound {
    fn prefix(&self) -> &[ThreadId] {
        &self.prefix
    }

    fn follows(&self) -> bool {
        !self.prefix.is_empty()
    }

    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        self.clocks.extend(at.record());
        let enabled = at.enabled();
        let runs = at.last_thread().filter(|&thread| enabled.contains(thread));
        let spent = self.spent();
        if self.known(runs, spent) {
            return None;
        }
        let chosen = runs.or_else(|| enabled.first())?;
        let mut left = enabled;
        left.remove(chosen);
        if runs.is_some() && spent >= self.bound {
            self.cut |= !left.is_empty();
            left = ThreadSet::EMPTY;
        }
        self.path.push(Node { chosen, left, runs, spent });
        Some(chosen)
    }

    fn restart(&mut self) {
        self.cut = false;
        self.path.clear();
        self.prefix.clear();
        self.seen.clear();
        self.clocks = Clocks::new();
    }

    fn clocks(&mut self, run: &Run) -> Option<&Clocks> {
        self.clocks.extend(run);
        Some(&self.clocks)
    }

    fn advance(&mut self, _run: &Run) -> bool {
        while let Some(mut node) = self.path.pop() {
            let Some(thread) = node.left.first() else { continue };
            node.left.remove(thread);
            node.spent = self.spent() + u32::from(node.runs.is_some_and(|runs| runs != thread));
            node.chosen = thread;
            self.clocks.truncate(self.path.len());
            self.path.push(node);
            self.prefix.clear();
            self.prefix.extend(self.path.iter().map(|node| node.chosen));
            return true;
        }
        self.completed = Some(self.bound);
        if !self.cut || self.bound >= self.last {
            return false;
        }
        self.bound += 1;
        self.cut = false;
        self.seen.clear();
        self.prefix.clear();
        self.clocks.truncate(0);
        true
    }
}
