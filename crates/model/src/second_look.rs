//! Before `holds` is told, a sample of what it is about is looked at once more, without reductions.
//!
//! - **Runs.** Random runs from the first state to the end, every step of the interpreter a move of its own,
//!   judged by the plain monitor ([`walk_plainly`]). One that is wrong makes the verdict `violated`.
//! - **States.** Another run with the search's own steps taken one by one, in any order. Whenever every
//!   thread is between two steps that others notice, the program's state must be one that the search met:
//!   fused steps are only put into another order, and renaming is what names are for. One that was not met
//!   makes the verdict `unknown`.
//!
//! Either is a mistake of ours, and [`Explored::disagrees`] says so. What is sampled depends on nothing but
//! the program, so the same search is looked at in the same way. It costs about a tenth of the search's
//! steps, at least a few thousand, and a second at the most.

use std::hash::{Hash, Hasher};
use std::time::{Duration, Instant};

use linpoint_history::rng::Rng;
use linpoint_lang::Program;
use linpoint_lang::interp::{Choices, State};
use rustc_hash::{FxHashSet, FxHasher};

use crate::client::Workload;
use crate::explore::{Bounds, Explored, Limit, Verdict, Violation, Wrong};
use crate::pack::{Full, get_monitor, get_names};
use crate::plain::{Plainly, Values, walk_plainly};
use crate::steps::{Explorer, Walker};
use crate::store::{FIRST, Store};

/// The seed of all samples.
const SEED: u64 = 18;

/// How long both looks may take together.
const LONGEST: Duration = Duration::from_secs(1);

/// Where more states were met than this, they are not looked up: to list them would take too long.
const MOST_STATES: usize = 300_000;

/// A run that has come so far goes round.
const LONG_RUN: usize = 500;

/// How many steps each look takes.
fn share(transitions: u64) -> usize {
    (transitions / 20).clamp(1_000, 60_000) as usize
}

/// Random runs without reductions, if the search said `Holds`.
pub(crate) fn runs(program: &Program, workload: &Workload, bounds: &Bounds, explored: &mut Explored) {
    if !bounds.second_look || bounds.preemptions.is_some() || !matches!(explored.verdict, Verdict::Holds(_)) {
        return;
    }
    let values = if explored.distinct_data { Values::distinct() } else { Values::few(workload.values) };
    let plainly = Plainly {
        time: Some(LONGEST / 2),
        states: share(explored.transitions),
        sizes: bounds.sizes.clone(),
        values,
        deadlocks: bounds.deadlocks,
        ..Plainly::default()
    };
    if let Verdict::Violated(violation) = walk_plainly(program, workload, &plainly, SEED).verdict
        && is_about_histories(&violation)
    {
        explored.verdict = Verdict::Violated(violation);
        explored.disagrees = true;
    }
}

fn is_about_histories(violation: &Violation) -> bool {
    match violation.wrong {
        Wrong::NotLinearizable | Wrong::Error(_) | Wrong::Deadlock => true,
        Wrong::Points
        | Wrong::Claim(_)
        | Wrong::Endless
        | Wrong::Stuck
        | Wrong::GoesRound
        | Wrong::GoesRoundAlone
        | Wrong::Waits => false,
    }
}

/// Looks states of random runs up among those that a search met, which said `Holds`; `Err` if one is not
/// there.
pub(crate) fn states(
    explorer: &mut Explorer<'_>,
    initial: State,
    store: &Store,
    bounds: &Bounds,
) -> Result<(), Limit> {
    // Where data has names that depend on what explains a history, the program's part of a state is not one
    // of its own.
    let apart = explorer.data.as_ref().map_or(!explorer.hands_out_data(), |data| data.distinct);
    // All orders of more threads are too many.
    let many = explorer.machine.threads > 4 && !explorer.symmetry.distinct;
    let off =
        !bounds.second_look || bounds.preemptions.is_some() || explorer.claims.is_some() || !apart || many;
    if off || store.len() > MOST_STATES {
        return Ok(());
    }
    let start = Instant::now();
    let mut met = FxHashSet::default();
    let mut next = Some(FIRST);
    while let Some(id) = next {
        met.insert(of_program(explorer, store.get(id)));
        next = store.after(id);
    }
    let monitor = explorer.monitor.take();
    let made = vec![0; explorer.machine.threads];
    let first = Full { state: initial, monitor: 0, claims: 0, made, fresh: 0 };
    let mut sample = Sample { rng: Rng::new(SEED), left: share(explorer.transitions), start };
    let mut missing = false;
    while sample.left > 0 && !missing && start.elapsed() < LONGEST / 2 {
        missing = sample.run(explorer, first.clone(), &met);
    }
    explorer.monitor = monitor;
    if missing { Err(Limit::Reductions) } else { Ok(()) }
}

/// The program's part of a name of a state, as a number; `None` where it has none of its own.
fn of_program(explorer: &Explorer<'_>, mut name: &[u8]) -> Option<u64> {
    get_monitor(&mut name);
    if explorer.data.is_some() {
        name = name.get(1..)?;
        get_names(&mut name)?;
    }
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    Some(hasher.finish())
}

/// Was no state met that differs from this one in names only? Threads that have the same to do may be sorted
/// in several ways: each is tried.
fn is_missing(explorer: &mut Explorer<'_>, full: &Full, met: &FxHashSet<Option<u64>>) -> bool {
    let threads = explorer.machine.threads;
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for place in 0..threads {
        let may_come = |thread: usize| {
            let same = explorer.workload.threads[thread] == explorer.workload.threads[place];
            thread == place || same && !explorer.symmetry.distinct
        };
        let with = |order: &Vec<usize>| -> Vec<Vec<usize>> {
            let left = (0..threads).filter(|thread| !order.contains(thread) && may_come(*thread));
            left.map(|thread| [order.as_slice(), &[thread]].concat()).collect()
        };
        orders = orders.iter().flat_map(with).collect();
    }
    orders.iter().all(|order| {
        let mut renamed = full.clone();
        explorer.symmetry.apply(&explorer.machine, &mut renamed, order);
        let named = explorer.name_of(&renamed);
        let name = of_program(explorer, &named.bytes);
        name.is_some() && !met.contains(&name)
    })
}

struct Sample {
    rng: Rng,
    left: usize,
    start: Instant,
}

impl Sample {
    /// One run to its end, or until it is long enough; is a state missing?
    fn run(&mut self, explorer: &mut Explorer<'_>, mut full: Full, met: &FxHashSet<Option<u64>>) -> bool {
        let threads = explorer.machine.threads;
        // Which threads took a step that others notice since they called.
        let mut noticed = vec![false; threads];
        self.left = self.left.saturating_sub(1);
        for _ in 0..LONG_RUN {
            if self.left == 0 || self.start.elapsed() > LONGEST {
                return false;
            }
            self.left -= 1;
            let first = self.rng.below(threads.max(1) as u64) as usize;
            let mut moved = None;
            for thread in (0..threads).map(|more| (first + more) % threads) {
                moved = self.step(explorer, &full, thread);
                if moved.is_some() {
                    let pc = explorer.machine.pc(&full.state, thread);
                    noticed[thread] = pc.is_some_and(|pc| noticed[thread] || !explorer.local[pc.index()]);
                    break;
                }
            }
            let Some(after) = moved else { return false };
            full = after;
            let between = (0..threads).all(|thread| match explorer.machine.pc(&full.state, thread) {
                None => true,
                Some(pc) => noticed[thread] && !explorer.local[pc.index()],
            });
            if between && is_missing(explorer, &full, met) {
                return true;
            }
        }
        false
    }

    /// A random move of a thread, if it has one. Where a step goes wrong there is no state to look up.
    fn step(&mut self, explorer: &mut Explorer<'_>, full: &Full, thread: usize) -> Option<Full> {
        let Some(pc) = explorer.machine.pc(&full.state, thread) else {
            let calls = explorer.calls(full, thread);
            if calls.is_empty() {
                return None;
            }
            let call = self.rng.pick(&calls).clone();
            return Some(explorer.called(full, thread, &call).full);
        };
        let walker = Walker { full: full.clone(), steps: Vec::new() };
        let mut ends = Vec::new();
        for edge in 0..explorer.machine.program.node(pc).edges.len() {
            let mut choices = Choices::default();
            loop {
                if let Ok(Some(after)) = explorer.take(&walker, thread, edge, &mut choices) {
                    ends.push(after.full);
                }
                if !choices.next() {
                    break;
                }
            }
        }
        if ends.is_empty() {
            return None;
        }
        let at = self.rng.below(ends.len() as u64) as usize;
        Some(ends.swap_remove(at))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use linpoint_lang::compile;
    use linpoint_lang::program::{ClientThread, OpId};

    use super::{runs, states};
    use crate::client::Workload;
    use crate::explore::{Bounds, Explored, Mode, Verdict, explore, explorer};
    use crate::search::search;
    use crate::store::Store;

    const LOST: &str = "object C : counter {
      shared n: int
      op increment() { x = n
        n = x + 1 }
      op read() -> int { return n }
    }";

    /// A reduction that takes whole operations for one step: the search says that everything holds, and the
    /// sample that it does not.
    #[test]
    fn a_wrong_reduction_is_noticed() {
        let program = compile(LOST).0.remove(0);
        let increments = vec![ClientThread::Any(vec![OpId(0)], 1); 2];
        let (workload, bounds) =
            (Workload { threads: increments, values: 2, rules: None }, Bounds::default());
        let Ok(mut wrong) = explorer(&program, &workload, Mode::Anywhere, &bounds) else {
            panic!("it starts")
        };
        wrong.local.fill(true);
        let initial = wrong.machine.initial().expect("it starts");
        let mut store = Store::default();
        let (verdict, _) =
            search(&mut wrong, initial.clone(), &mut store, &bounds, Instant::now(), &mut |_| {});
        assert!(matches!(verdict, Verdict::Holds(_)), "{verdict:?}");
        assert!(states(&mut wrong, initial.clone(), &store, &bounds).is_err());
        let off = Bounds { second_look: false, ..bounds.clone() };
        assert!(states(&mut wrong, initial, &store, &off).is_ok());
        // The same for runs: what a search said of a program that is right, asked of one that is not.
        let right = compile(&LOST.replace("x = n\n        n = x + 1", "fetch_add(n, 1)")).0.remove(0);
        let mut explored: Explored = explore(&right, &workload, Mode::Anywhere, &bounds);
        assert!(matches!(explored.verdict, Verdict::Holds(_)) && !explored.disagrees);
        runs(&program, &Workload::general(&program, 2, 2), &bounds, &mut explored);
        assert!(matches!(&explored.verdict, Verdict::Violated(found) if found.rechecked));
        assert!(explored.disagrees);
    }
}
