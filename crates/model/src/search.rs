//! The search: breadth first, one level of fused steps after another.

use std::time::Instant;

use linpoint_lang::interp::{Compiled, State};

use crate::explore::{Bounds, Limit, Progress, Stepper, Verdict, Violation, Wrong};
use crate::fast::{Fast, Names, Scratch, Unusual};
use crate::namer::Namer;
use crate::pack::Full;
use crate::progress::{Arc, Demand, Graph};
use crate::steps::Explorer;
use crate::store::{FIRST, StateId, Store, hash};
use crate::trace;

/// Visits every state; the verdict, and how deep it went.
pub(crate) fn search(
    explorer: &mut Explorer<'_>,
    state: State,
    store: &mut Store,
    bounds: &Bounds,
    start: Instant,
    watch: &mut dyn FnMut(Progress),
) -> (Verdict, usize) {
    let initial = Full { state, monitor: 0, claims: 0, made: vec![0; explorer.machine.threads], fresh: 0 };
    let code = Compiled::new(&explorer.machine);
    let (workload, local, arguments) =
        (explorer.workload, explorer.local.clone(), explorer.arguments.clone());
    // Claims are for the interpreter: it tells of accesses.
    let compiled = bounds.stepper == Stepper::Compiled && explorer.claims.is_none();
    let mut fast = compiled.then(|| Fast {
        code: &code,
        workload,
        arguments: &arguments,
        local: &local,
        ops: explorer.machine.program.nodes.iter().map(|node| node.op).collect(),
        namer: Namer::new(&explorer.machine, workload, explorer.symmetry.distinct),
        memory: Scratch::default(),
    });
    let mut names = Names::default();
    explorer.name_into(&initial, &mut names);
    if bounds.preemptions.is_some() {
        names.bytes.extend_from_slice(&NOBODY.bytes());
    }
    store.insert(&names.bytes, hash(&names.bytes), FIRST);
    let mut level = Level { depth: 0, left: 1 };
    let mut hashes = Vec::new();
    let mut graph = Graph::default();
    let waiting_is_wrong = matches!(bounds.progress, Demand::LockFree | Demand::ObstructionFree);
    let (mut next, mut visited) = (Some(FIRST), 0_usize);
    while let Some(id) = next {
        if level.left == 0 {
            level = Level { depth: level.depth + 1, left: store.len() - visited };
        }
        level.left -= 1;
        if bounds.states.is_some_and(|most| store.len() > most) {
            return (Verdict::Unknown(Limit::States), level.depth);
        }
        if visited % 1024 == 0
            && let Some(limit) = beyond(explorer, store, &graph, bounds, start)
        {
            return (Verdict::Unknown(limit), level.depth);
        }
        if visited % 16_384 == 0 {
            let (states, elapsed) = (store.len(), start.elapsed());
            watch(Progress { states, waiting: states - visited, depth: level.depth, elapsed });
        }
        visited += 1;
        names.clear();
        let (packed, turn) = Turn::split(store.get(id), bounds);
        let found = match &mut fast {
            Some(fast) => fast.successors(&mut explorer.monitor, packed, &mut names),
            None => Err(Unusual),
        };
        if found.is_err()
            && let Err(wrong) = slowly(explorer, packed, &mut names)
        {
            let overflowed = explorer.monitor.as_ref().is_some_and(|monitor| monitor.overflowed);
            let verdict = match overflowed {
                true => Verdict::Unknown(Limit::Results),
                false => Verdict::Violated(violation(
                    explorer,
                    &initial,
                    (store, bounds),
                    way_to(store, id),
                    wrong,
                )),
            };
            return (verdict, level.depth + 1);
        }
        if names.ends.is_empty() {
            if !explorer.is_finished(packed) {
                let wrong =
                    violation(explorer, &initial, (store, bounds), way_to(store, id), Wrong::Deadlock);
                return (Verdict::Violated(wrong), level.depth);
            }
            graph.finished.push(id);
        }
        if waiting_is_wrong && explorer.has_waiting(packed, &names.threads).unwrap_or(false) {
            let wrong = violation(explorer, &initial, (store, bounds), way_to(store, id), Wrong::Waits);
            return (Verdict::Violated(wrong), level.depth);
        }
        if let Some(most) = bounds.preemptions {
            turn.limit(&mut names, most);
        }
        explorer.transitions += names.ends.len() as u64;
        hashes.clear();
        hashes.extend(names.iter().map(hash));
        for (index, name) in names.iter().enumerate() {
            let to = store.insert(name, hashes[index], id);
            if bounds.progress != Demand::Nothing {
                graph.arcs.push(Arc { from: id, thread: names.threads[index], to });
            }
        }
        next = store.after(id);
    }
    if explorer.monitor.as_ref().is_some_and(|monitor| monitor.overflowed) {
        return (Verdict::Unknown(Limit::Results), level.depth);
    }
    let wrong = match bounds.progress {
        Demand::Nothing => None,
        Demand::GoodEnd => graph
            .first_stuck(store)
            .map(|stuck| violation(explorer, &initial, (store, bounds), way_to(store, stuck), Wrong::Stuck)),
        Demand::LockFree | Demand::ObstructionFree => {
            let alone = bounds.progress == Demand::ObstructionFree;
            let wrong = if alone { Wrong::GoesRoundAlone } else { Wrong::GoesRound };
            graph.cycle(store, alone).map(|cycle| {
                let mut way = way_to(store, cycle[0]);
                let before =
                    violation(explorer, &initial, (store, bounds), way.clone(), Wrong::Stuck).steps.len();
                way.extend_from_slice(&cycle[1..]);
                let mut found = violation(explorer, &initial, (store, bounds), way, wrong);
                found.repeats = found.steps.len().saturating_sub(before);
                found
            })
        }
    };
    match wrong {
        Some(wrong) => (Verdict::Violated(wrong), level.depth),
        None => (Verdict::Holds, level.depth),
    }
}

/// The states by which a state was first reached, itself included.
fn way_to(store: &Store, last: StateId) -> Vec<StateId> {
    let mut way = vec![last];
    while let Some(&id) = way.last()
        && id != FIRST
    {
        way.push(store.parent(id));
    }
    way.reverse();
    way
}

/// Whose step led to a state, and how many preemptions it took: the last bytes of a name, where preemptions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub thread: u8,
    pub preemptions: u8,
}

/// Before any step.
const NOBODY: Turn = Turn { thread: u8::MAX, preemptions: 0 };

impl Turn {
    fn bytes(self) -> [u8; 2] {
        [self.thread, self.preemptions]
    }

    /// A name without its turn, and its turn.
    pub fn split<'n>(name: &'n [u8], bounds: &Bounds) -> (&'n [u8], Turn) {
        match name {
            [packed @ .., thread, preemptions] if bounds.preemptions.is_some() => {
                (packed, Turn { thread: *thread, preemptions: *preemptions })
            }
            _ => (name, NOBODY),
        }
    }

    /// Keeps the names that at most so many preemptions lead to, and adds the turn to each. Switching away from a thread that has a step is a preemption.
    fn limit(self, names: &mut Names, most: u8) {
        let could_go_on = names.threads.contains(&self.thread);
        let mut kept = Names::default();
        for (name, &thread) in names.iter().zip(&names.threads) {
            let preempted = could_go_on && thread != self.thread;
            let turn = Turn { thread, preemptions: self.preemptions + u8::from(preempted) };
            if turn.preemptions <= most {
                kept.bytes.extend_from_slice(name);
                kept.bytes.extend_from_slice(&turn.bytes());
                kept.ends.push(kept.bytes.len());
                kept.threads.push(thread);
            }
        }
        *names = kept;
    }
}

/// How deep the search is, and how many states of this depth are left.
struct Level {
    depth: usize,
    left: usize,
}

/// Which limit is passed, if any.
fn beyond(
    explorer: &Explorer<'_>,
    store: &Store,
    graph: &Graph,
    bounds: &Bounds,
    start: Instant,
) -> Option<Limit> {
    if bounds.time.is_some_and(|limit| start.elapsed() > limit) {
        return Some(Limit::Time);
    }
    if explorer.monitor.as_ref().is_some_and(|monitor| monitor.overflowed) {
        return Some(Limit::Results);
    }
    let monitor = explorer.monitor.as_ref().map_or(0, |monitor| monitor.memory());
    let used = store.memory() + graph.memory() + monitor;
    (store.is_full() || used > bounds.memory).then_some(Limit::Memory)
}

/// The names of the states that steps lead to, by the interpreter.
fn slowly(explorer: &mut Explorer<'_>, packed: &[u8], names: &mut Names) -> Result<(), Wrong> {
    names.clear();
    let full = explorer.state_of(packed);
    let mut out = Vec::new();
    names.threads = explorer.successors(&full, &mut out).map_err(|bad| bad.wrong)?;
    for walker in out {
        explorer.name_into(&walker.full, names);
    }
    Ok(())
}

fn violation(
    explorer: &mut Explorer<'_>,
    initial: &Full,
    (store, bounds): (&Store, &Bounds),
    way: Vec<StateId>,
    wrong: Wrong,
) -> Violation {
    explorer.recording = true;
    let found = trace::find(explorer, initial, store, way, &wrong, bounds);
    explorer.recording = false;
    let steps = found.unwrap_or_default();
    let rechecked = match wrong {
        Wrong::NotLinearizable => match &mut explorer.monitor {
            Some(monitor) => trace::recheck(&mut monitor.reference, &steps),
            None => false,
        },
        _ => !steps.is_empty(),
    };
    Violation { wrong, steps, repeats: 0, rechecked }
}
