//! Search over states: a schedule is not followed past a state that was met before.
//!
//! The state is everything the future depends on: the program's memory and the stacks of its threads
//! ([`Execution::state`]), and, for linearizability, what can still explain the past: the set of all (state of the
//! specification, operations that took effect but have not returned, with the answers they are bound to give). Two
//! executions that agree in both go on in the same ways, and what is wrong in one future is wrong in the other.
//!
//! Here a history is that of the execution itself: an operation is called at its first step and returns with its last.
//! Every order of steps is walked, up to equal states, so every history of every trace comes up, or one with the same
//! past. Runs that come to their end are judged as all others are (`Exploration::judge`); the set kept here
//! only tells states apart.
//!
//! States are told apart by 128-bit fingerprints: with a million states, two that differ are taken for the same with a
//! probability of about 10⁻²⁷.

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use linpoint_sched::strategy::Strategy;
use linpoint_sched::{Execution, MarkKind, Run, ThreadId, ThreadSet};
use rustc_hash::{FxHashSet, FxHasher};

use crate::explored::Results;
use crate::linearize::bits;
use crate::spec::Specification;

/// The search.
pub(crate) struct Stateful<'a, S: Specification> {
    ops: &'a [S::Op],
    results: &'a Results<S>,
    path: Vec<Node<S>>,
    prefix: Vec<ThreadId>,
    seen: FxHashSet<u128>,
    /// Did the program turn out to have state that cannot be compared?
    pub(crate) unsupported: bool,
}

struct Node<S: Specification> {
    chosen: ThreadId,
    left: ThreadSet,
    past: Rc<Past<S>>,
}

/// What can still explain the past.
struct Past<S: Specification> {
    /// Called, not returned.
    open: u64,
    configurations: Vec<Configuration<S>>,
    /// For each thread the operation it is in, and whether that was called.
    within: Vec<Option<(u32, bool)>>,
    marks: usize,
    fingerprint: u128,
}

impl<S: Specification> Clone for Past<S> {
    fn clone(&self) -> Past<S> {
        Past {
            open: self.open,
            configurations: self.configurations.clone(),
            within: self.within.clone(),
            marks: self.marks,
            fingerprint: self.fingerprint,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Configuration<S: Specification> {
    state: S,
    /// Operations that took effect and have not returned, with the answer they will give; by number.
    early: Vec<(usize, S::Ret)>,
}

impl<'a, S: Specification> Stateful<'a, S> {
    pub(crate) fn new(ops: &'a [S::Op], results: &'a Results<S>) -> Stateful<'a, S> {
        Stateful {
            ops,
            results,
            path: Vec::new(),
            prefix: Vec::new(),
            seen: FxHashSet::default(),
            unsupported: false,
        }
    }

    /// How many states were met.
    pub(crate) fn states(&self) -> usize {
        self.seen.len()
    }

    /// What can explain the past, after the latest step of `run`.
    fn past(&self, run: &Run) -> Rc<Past<S>> {
        let before = match self.path.last() {
            Some(node) => Rc::clone(&node.past),
            None => Rc::new(Past {
                open: 0,
                configurations: vec![Configuration { state: S::initial(), early: Vec::new() }],
                within: Vec::new(),
                marks: 0,
                fingerprint: 0,
            }),
        };
        let stepped =
            if self.path.is_empty() { None } else { run.steps.last().map(|step| step.thread.index()) };
        let calls = stepped
            .and_then(|thread| before.within.get(thread).copied().flatten())
            .filter(|within| !within.1)
            .map(|within| within.0);
        if calls.is_none() && run.marks.len() == before.marks {
            return before;
        }
        let mut past = (*before).clone();
        if let (Some(op), Some(thread)) = (calls, stepped) {
            past.open |= 1 << op;
            past.within[thread] = Some((op, true));
        }
        for mark in &run.marks[past.marks..] {
            let thread = mark.thread.index();
            if past.within.len() <= thread {
                past.within.resize(thread + 1, None);
            }
            match mark.kind {
                MarkKind::Call => past.within[thread] = Some((mark.operation, false)),
                MarkKind::Return => {
                    past.within[thread] = None;
                    self.returned(&mut past, mark.operation as usize);
                }
            }
        }
        past.marks = run.marks.len();
        past.fingerprint = past.compute_fingerprint();
        Rc::new(past)
    }

    /// `op` returned: whatever explains the past has it.
    fn returned(&self, past: &mut Past<S>, op: usize) {
        let results = self.results.borrow();
        let Some(answer) = &results[op] else { return };
        let mut all: FxHashSet<Configuration<S>> = past.configurations.drain(..).collect();
        let mut work: Vec<Configuration<S>> = all.iter().cloned().collect();
        let mut outcomes = Vec::new();
        while let Some(configuration) = work.pop() {
            for other in bits(past.open) {
                if configuration.early.iter().any(|early| early.0 == other) {
                    continue;
                }
                outcomes.clear();
                configuration.state.outcomes(&self.ops[other], &mut outcomes);
                for (ret, state) in outcomes.drain(..) {
                    if other == op && ret != *answer {
                        continue;
                    }
                    let mut early = configuration.early.clone();
                    early.push((other, ret));
                    early.sort_by_key(|early| early.0);
                    let next = Configuration { state, early };
                    if all.insert(next.clone()) {
                        work.push(next);
                    }
                }
            }
        }
        past.open &= !(1 << op);
        past.configurations = all
            .into_iter()
            .filter_map(|mut configuration| {
                let at = configuration.early.iter().position(|early| early.0 == op && early.1 == *answer)?;
                configuration.early.remove(at);
                Some(configuration)
            })
            .collect();
    }
}

impl<S: Specification> Past<S> {
    fn compute_fingerprint(&self) -> u128 {
        let mut sum = 0u128;
        for configuration in &self.configurations {
            let half = |seed: u64| {
                let mut hasher = FxHasher::default();
                seed.hash(&mut hasher);
                configuration.hash(&mut hasher);
                let value = hasher.finish();
                (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
            };
            sum = sum.wrapping_add(u128::from(half(1)) << 64 | u128::from(half(2)));
        }
        // Which operations are open follows from where the threads stand, but not whether they were called.
        sum.wrapping_add(u128::from(self.open).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    }
}

impl<S: Specification> Strategy for Stateful<'_, S> {
    fn prefix(&self) -> &[ThreadId] {
        &self.prefix
    }

    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        let past = self.past(at.record());
        let enabled = at.enabled();
        let chosen = at.default_choice()?;
        let mut left = enabled;
        left.remove(chosen);
        if !left.is_empty() && !past.configurations.is_empty() {
            match at.state() {
                Some(state) => {
                    if !self.seen.insert(state.wrapping_add(past.fingerprint)) {
                        return None;
                    }
                }
                None => self.unsupported = true,
            }
        }
        self.path.push(Node { chosen, left, past });
        Some(chosen)
    }

    fn makes_every_order(&self) -> bool {
        true
    }

    fn restart(&mut self) {
        self.path.clear();
        self.prefix.clear();
        self.seen.clear();
        self.unsupported = false;
    }

    fn advance(&mut self, _run: &Run) -> bool {
        while let Some(mut node) = self.path.pop() {
            let Some(thread) = node.left.first() else { continue };
            node.left.remove(thread);
            node.chosen = thread;
            self.path.push(node);
            self.prefix.clear();
            self.prefix.extend(self.path.iter().map(|node| node.chosen));
            return !self.unsupported;
        }
        false
    }
}
