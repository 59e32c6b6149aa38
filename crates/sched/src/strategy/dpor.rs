//! Source-DPOR with sleep sets (Abdulla, Aronis, Jonsson and Sagonas 2014, algorithm 1): at least one run of every
//! trace, and seldom more.
//!
//! Depth-first, but at each scheduling point only those threads are tried that a race asks for. When a run shows that
//! steps g, then f, race (`races.rs`), the sequence v = (the steps after g that do not happen after it, then f's
//! thread) could follow the point before g; one thread that can begin v (an *initial* of v) must be tried there.
//!
//! **Exact sleep sets** (Godefroid 1996). Once the runs that begin with thread p at a point are done, p sleeps there
//! and below until a step is taken that depends on p's. What p did at that point is stored with it, not what it might
//! have done: a compare-and-swap that failed is a read. That is right because p sleeps only as long as nothing that
//! matters to its step has happened, so that it would do the same.
//!
//! **Initials with care.** What f does without g may be another thing than what it did after g: a compare-and-swap
//! that failed may succeed. So f's thread counts as an initial of v only if no other step of v touches what f touches
//! (reads beside a plain load excepted). Counting too few initials costs runs, counting too many would lose traces.
//! A block or a claim may even touch other locations without g, and then depend on steps that do not depend on it here: v says
//! nothing then, and every thread is tried before g. The sleep sets see to it that no trace is run twice for that. (One location
//! is no trouble: g writes it, and a step that touches it too is in a race with g itself.)
//!
//! **Steps that wait.** `races.rs` says which pairs count as races then, and why. The rest of the argument is that of
//! the paper: let w be a continuation of the point E that no tried thread can begin, q a tried thread with step e there,
//! w = w1 r w2 where r's step is the first that depends on e. All traces behind E.q are explored, by induction,
//! among them those that begin with q w1. If r can go after E q w1, its step is in direct race with e in one of them,
//! and r can go without e. If it cannot, e made it wait, and so depends on it. If r takes its step in some such trace,
//! look at the one with the fewest writes between e and that step: no write after e is one before which r is known to
//! be able to go, or there would be a trace with fewer. So the walk over the writes gets to e, and finds that r could
//! have gone before it. If r never takes it, the same holds for r where the run ends, also if it ends because all who
//! could go on sleep. In each case the initials of v are initials of w, and one of them is tried: a contradiction.
//!
//! A location that nobody had named at the point where a step was stored (an atomic block finds its locations on the
//! way) has no name that means the same in another run; it is taken to be any location named later.

use crate::clocks::Clocks;
use crate::event::{Access, Action, Effect, ThreadId, ThreadSet};
use crate::execution::Execution;
use crate::races::Races;
use crate::run::{Ending, Run};
use crate::strategy::Strategy;

/// Source-DPOR.
#[derive(Default)]
pub struct Dpor {
    path: Vec<Node>,
    prefix: Vec<ThreadId>,
    /// How many steps the run shares with the one before.
    shared: usize,
    /// Who sleeps, node by node.
    asleep: Vec<Sleeper>,
    /// What the sleepers did.
    accesses: Vec<Access>,
    clocks: Clocks,
    races: Races,
    /// Where the initials of v, and its threads, are worked out.
    initials: Vec<u32>,
    blocked: u64,
}

/// A scheduling point on the current path.
#[derive(Clone, Copy)]
struct Node {
    chosen: ThreadId,
    enabled: ThreadSet,
    /// Must be tried; tried ones included.
    backtrack: ThreadSet,
    done: ThreadSet,
    sleep: ThreadSet,
    /// Where its sleepers begin and end.
    sleepers: (u32, u32),
    /// Where the accesses of its own sleepers begin.
    accesses: u32,
    /// How many locations had a name.
    named: u32,
}

/// A thread whose next step was explored, and what that step did.
#[derive(Clone, Copy)]
struct Sleeper {
    thread: ThreadId,
    named: u32,
    from: u32,
    to: u32,
}

impl Dpor {
    /// Every trace.
    pub fn new() -> Dpor {
        Dpor::default()
    }

    /// How many runs were abandoned because everybody who could go on was asleep.
    pub fn blocked(&self) -> u64 {
        self.blocked
    }

    /// The scheduling points of the current path at which something is still to be tried, and how much.
    pub fn pending(&self) -> u64 {
        let left = |node: &Node| (node.backtrack.0 & !node.done.0 & !node.sleep.0).count_ones();
        self.path.iter().map(|node| u64::from(left(node))).sum()
    }

    /// Which part of what is known to be left is behind us, if all branches of a point are about as large. More may
    /// turn up.
    pub fn progress(&self) -> f64 {
        let mut share = 1.0;
        let mut done = 0.0;
        for node in &self.path {
            let count = |set: u64| f64::from((set & !node.sleep.0).count_ones());
            share /= count(node.backtrack.0).max(1.0);
            done += share * count(node.done.0);
        }
        done + share
    }

    /// The sleepers of a new point, behind the last one on the path.
    fn wake(&mut self, run: &Run) -> (ThreadSet, (u32, u32)) {
        let from = self.asleep.len() as u32;
        let mut sleep = ThreadSet::EMPTY;
        if let Some(node) = self.path.last() {
            let did = run.accesses_of(run.steps.len() - 1);
            for index in node.sleepers.0..node.sleepers.1 {
                let sleeper = self.asleep[index as usize];
                if sleeper.thread == node.chosen {
                    continue;
                }
                let would = &self.accesses[sleeper.from as usize..sleeper.to as usize];
                if !depend(would, did, sleeper.named) {
                    self.asleep.push(sleeper);
                    sleep.insert(sleeper.thread);
                }
            }
        }
        (sleep, (from, self.asleep.len() as u32))
    }

    /// Sees to it that the race of `g` with the step `f` of `thread` (or with the one it waits to take, if `f` is the
    /// end of the run) is exchanged.
    fn reverse(&mut self, run: &Run, g: usize, f: usize, thread: ThreadId) {
        // Nothing else can be tried there, or nothing else is to be ([`crate::set_focus`]).
        if self.path[g].enabled.len() == 1 {
            return;
        }
        let clocks = &self.clocks;
        let initials = &mut self.initials;
        initials.clear();
        let would = if f < run.steps.len() { run.accesses_of(f) } else { &[] };
        // Without g a block may touch something else; so may a write, by what claims wait for.
        let fixed = f < run.steps.len()
            && !would.is_empty()
            && !matches!(run.steps[f].action, Action::Block | Action::Claim)
            && (!run.claims || would.iter().all(|access| access.action == Action::Load));
        if !fixed && f < run.steps.len() && !would.is_empty() {
            let node = &mut self.path[g];
            node.backtrack = node.enabled;
            return;
        }
        let mut first = None;
        let mut alone = true;
        for x in g + 1..f {
            if clocks.before_or_equal(g, x) {
                continue;
            }
            first = first.or(Some(run.steps[x].thread));
            if !initials.iter().any(|&y| clocks.before_or_equal(y as usize, x)) {
                initials.push(x as u32);
            }
            alone &= fixed && run.steps[x].thread != thread && !touch(would, run.accesses_of(x));
        }
        let mut begin = ThreadSet::EMPTY;
        for &x in initials.iter() {
            begin.insert(run.steps[x as usize].thread);
        }
        let node = &mut self.path[g];
        // It may not be there yet, or wait for a step of v.
        alone &= first.is_none() || node.enabled.contains(thread);
        if alone {
            begin.insert(thread);
        }
        let tried = node.backtrack.0 | node.done.0 | node.sleep.0;
        if begin.0 & tried != 0 {
            return;
        }
        let add = if alone { thread } else { first.unwrap_or(thread) };
        if node.enabled.contains(add) {
            node.backtrack.insert(add);
        } else if first.is_some() {
            debug_assert!(false, "an initial can go: what a step waits for must be among what it touches");
            node.backtrack = node.enabled;
        }
    }
}

/// Could one of the two steps matter to the other? Locations from `named` on may be the same under other names.
fn depend(would: &[Access], did: &[Access], named: u32) -> bool {
    would.iter().any(|a| {
        let unnamed = a.loc.0 >= named && a.loc.is_memory();
        did.iter().any(|b| {
            let same = a.loc == b.loc || unnamed && b.loc.0 >= named && b.loc.is_memory();
            same && (a.effect.writes() || b.effect.writes())
        })
    })
}

/// Do the two steps touch the same, one of them perhaps writing?
fn touch(would: &[Access], other: &[Access]) -> bool {
    would.iter().any(|a| {
        other.iter().any(|b| {
            a.loc == b.loc && !(matches!(a.action, Action::Load | Action::Look) && b.effect == Effect::Read)
        })
    })
}

impl Strategy for Dpor {
    fn prefix(&self) -> &[ThreadId] {
        &self.prefix
    }

    fn follows(&self) -> bool {
        !self.prefix.is_empty()
    }

    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        let enabled = at.enabled();
        let (sleep, sleepers) = self.wake(at.record());
        let awake = ThreadSet(enabled.0 & !sleep.0);
        let last = at.last_thread().filter(|&thread| awake.contains(thread));
        let Some(chosen) = last.or_else(|| awake.first()) else {
            self.asleep.truncate(sleepers.0 as usize);
            self.blocked += 1;
            return None;
        };
        let mut backtrack = ThreadSet::EMPTY;
        backtrack.insert(chosen);
        self.path.push(Node {
            chosen,
            enabled,
            backtrack,
            done: ThreadSet::EMPTY,
            sleep,
            sleepers,
            accesses: self.accesses.len() as u32,
            named: at.locations() as u32,
        });
        Some(chosen)
    }

    fn restart(&mut self) {
        *self = Dpor { blocked: self.blocked, ..Dpor::new() };
    }

    fn clocks(&mut self, run: &Run) -> Option<&Clocks> {
        if self.shared < run.steps.len() || self.clocks.len() != run.steps.len() {
            self.clocks.update(run, self.shared);
        }
        Some(&self.clocks)
    }

    fn advance(&mut self, run: &Run) -> bool {
        self.clocks.update(run, self.shared);
        for f in self.shared..run.steps.len() {
            let mut races = std::mem::take(&mut self.races);
            races.of_step(run, &self.clocks, f);
            for &g in &races.with {
                self.reverse(run, g as usize, f, run.steps[f].thread);
            }
            self.races = races;
        }
        if matches!(run.ending, Ending::Stuck(_) | Ending::Abandoned) {
            for &blocked in &run.blocked {
                let mut races = std::mem::take(&mut self.races);
                races.of_blocked(run, &self.clocks, blocked);
                for &g in &races.with {
                    self.reverse(run, g as usize, run.steps.len(), blocked.thread);
                }
                self.races = races;
            }
        }
        while let Some(depth) = self.path.len().checked_sub(1) {
            let node = &mut self.path[depth];
            node.done.insert(node.chosen);
            let left = ThreadSet(node.backtrack.0 & !node.done.0 & !node.sleep.0);
            let Some(next) = left.first() else {
                self.accesses.truncate(node.accesses as usize);
                self.asleep.truncate(node.sleepers.0 as usize);
                self.path.pop();
                continue;
            };
            self.asleep.truncate(node.sleepers.1 as usize);
            let from = self.accesses.len() as u32;
            self.accesses.extend_from_slice(run.accesses_of(depth));
            let to = self.accesses.len() as u32;
            self.asleep.push(Sleeper { thread: node.chosen, named: node.named, from, to });
            node.sleepers.1 += 1;
            node.chosen = next;
            self.prefix.clear();
            self.prefix.extend(self.path.iter().map(|node| node.chosen));
            self.shared = depth;
            return true;
        }
        false
    }
}
