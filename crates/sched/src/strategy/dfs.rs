//! Plain depth-first search over all schedules, or over those with at most a given number of preemptions.
//!
//! The reference the reductions are tested against: it takes no shortcut. A *preemption* is a switch away from a
//! thread that could go on; switches at the end of a thread, at the start, and away from a thread that waits are free
//! and always possible (Musuvathi and Qadeer 2007), so that a bound never makes a program look stuck.
//!
//! Past its prefix a run goes on without asking ([`Strategy::keeps_going`]); what could have been done otherwise is read
//! from its record.

use crate::event::{ThreadId, ThreadSet};
use crate::execution::Execution;
use crate::run::Run;
use crate::strategy::Strategy;

/// Depth-first search.
pub struct Dfs {
    path: Vec<Node>,
    prefix: Vec<ThreadId>,
    bound: Option<u32>,
    cut: bool,
    /// Is its first run still to be made, along a prefix that another worker found?
    handed_over: bool,
    /// Is there nothing left to try?
    is_over: bool,
}

/// A scheduling point on the current path: that of the prefix.
#[derive(Clone, Copy)]
struct Node {
    chosen: ThreadId,
    /// Not yet tried here.
    left: ThreadSet,
    /// How many were tried here, this one included, or given to others.
    tried: u8,
    /// Who would go on without a switch, if it can.
    runs: Option<ThreadId>,
    /// Preemptions up to and including this choice.
    spent: u32,
}

impl Dfs {
    /// Every schedule.
    pub fn new() -> Dfs {
        Dfs {
            path: Vec::with_capacity(64),
            prefix: Vec::with_capacity(64),
            bound: None,
            cut: false,
            handed_over: false,
            is_over: false,
        }
    }

    /// Every schedule with at most `bound` preemptions.
    pub fn bounded(bound: u32) -> Dfs {
        Dfs { bound: Some(bound), ..Dfs::new() }
    }

    /// Did the bound keep a schedule out?
    pub fn was_cut(&self) -> bool {
        self.cut
    }

    /// Hands over part of what is left: the first untried choice nearest to the root, for another worker to search.
    pub fn split(&mut self) -> Option<Dfs> {
        let depth = self.path.iter().position(|node| !node.left.is_empty())?;
        let thread = self.path[depth].left.first()?;
        self.path[depth].left.remove(thread);
        self.path[depth].tried += 1;
        let mut path = self.path[..=depth].to_vec();
        for node in &mut path {
            node.tried += node.left.len() as u8;
            node.left = ThreadSet::EMPTY;
        }
        let before = depth.checked_sub(1).map_or(0, |above| path[above].spent);
        let node = &mut path[depth];
        node.chosen = thread;
        node.spent = before + u32::from(node.runs.is_some_and(|runs| runs != thread));
        let prefix = path.iter().map(|node| node.chosen).collect();
        Some(Dfs { path, prefix, bound: self.bound, cut: false, handed_over: true, is_over: false })
    }

    /// Which part of the tree is behind us, if all branches of a point are about as large (Knuth 1975). What is below the prefix of
    /// the last run does not count before it is left.
    pub fn progress(&self) -> f64 {
        if self.is_over {
            return 1.0;
        }
        let mut share = 1.0;
        let mut done = 0.0;
        for node in &self.path {
            let (tried, left) = (f64::from(node.tried), node.left.len() as f64);
            share /= tried + left;
            done += share * (tried - 1.0);
        }
        done
    }

    fn spent(&self) -> u32 {
        self.path.last().map_or(0, |node| node.spent)
    }

    /// The last scheduling point of `run`, past the path, where something else can be tried. Nobody was preempted past the
    /// path, so that all of it has the same budget.
    fn deepest(&mut self, run: &Run) -> Option<usize> {
        let spent = self.spent();
        let mut index = run.steps.len();
        while index > self.path.len() {
            index -= 1;
            let step = &run.steps[index];
            let alone = step.enabled.0 & !(1 << step.thread.0) == 0;
            if !alone && !self.node(run, index, spent).left.is_empty() {
                return Some(index);
            }
        }
        None
    }

    /// Takes the points of `run` past the path into it, up to that one.
    fn take_in(&mut self, run: &Run, deepest: usize) {
        let spent = self.spent();
        for index in self.path.len()..=deepest {
            let node = self.node(run, index, spent);
            self.path.push(node);
        }
    }

    /// A scheduling point of `run`, past the path.
    #[inline]
    fn node(&mut self, run: &Run, index: usize, spent: u32) -> Node {
        let step = &run.steps[index];
        let chosen = step.thread;
        let mut left = step.enabled;
        left.remove(chosen);
        let last = index.checked_sub(1).map(|before| run.steps[before].thread);
        let runs = last.filter(|&thread| step.enabled.contains(thread));
        if runs.is_some() && self.bound.is_some_and(|bound| spent >= bound) {
            self.cut |= !left.is_empty();
            left = ThreadSet::EMPTY;
        }
        Node { chosen, left, tried: 1, runs, spent }
    }
}

impl Default for Dfs {
    fn default() -> Dfs {
        Dfs::new()
    }
}

impl Strategy for Dfs {
    fn prefix(&self) -> &[ThreadId] {
        &self.prefix
    }

    fn follows(&self) -> bool {
        !self.prefix.is_empty() && !self.handed_over
    }

    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        at.default_choice()
    }

    fn keeps_going(&self) -> bool {
        true
    }

    fn restart(&mut self) {
        *self = Dfs { bound: self.bound, ..Dfs::new() };
    }

    fn makes_every_order(&self) -> bool {
        true
    }

    fn advance(&mut self, run: &Run) -> bool {
        self.handed_over = false;
        if let Some(deepest) = self.deepest(run) {
            self.take_in(run, deepest);
        }
        let Some(depth) = self.path.iter().rposition(|node| !node.left.is_empty()) else {
            self.path.clear();
            self.is_over = true;
            return false;
        };
        self.path.truncate(depth + 1);
        let before = depth.checked_sub(1).map_or(0, |above| self.path[above].spent);
        let node = &mut self.path[depth];
        if let Some(thread) = node.left.first() {
            node.left.remove(thread);
            node.spent = before + u32::from(node.runs.is_some_and(|runs| runs != thread));
            node.chosen = thread;
            node.tried += 1;
        }
        // The prefix is that of the run before, as far as that goes.
        let kept = self.prefix.len().min(depth);
        self.prefix.truncate(kept);
        self.prefix.extend(self.path[kept..].iter().map(|node| node.chosen));
        true
    }
}
