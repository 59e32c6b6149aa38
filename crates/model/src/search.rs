//! The search: breadth first, one level of fused steps after another.

use std::time::Instant;

use linpoint_lang::interp::{Compiled, State};

use crate::explore::{Bounds, Limit, Progress, Stepper, Verdict, Violation, Wrong};
use crate::fast::{Fast, Names, Scratch, Unusual};
use crate::namer::Namer;
use crate::pack::Full;
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
    store.insert(&names.bytes, hash(&names.bytes), FIRST);
    let mut level = Level { depth: 0, left: 1 };
    let mut hashes = Vec::new();
    let mut ends = Ends::default();
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
            && let Some(limit) = beyond(explorer, store, &ends, bounds, start)
        {
            return (Verdict::Unknown(limit), level.depth);
        }
        if visited % 16_384 == 0 {
            let (states, elapsed) = (store.len(), start.elapsed());
            watch(Progress { states, waiting: states - visited, depth: level.depth, elapsed });
        }
        visited += 1;
        names.clear();
        let found = match &mut fast {
            Some(fast) => fast.successors(&mut explorer.monitor, store.get(id), &mut names),
            None => Err(Unusual),
        };
        if found.is_err()
            && let Err(wrong) = slowly(explorer, store.get(id), &mut names)
        {
            return (Verdict::Violated(violation(explorer, &initial, store, id, wrong)), level.depth + 1);
        }
        if names.ends.is_empty() {
            if !explorer.is_finished(store.get(id)) {
                let wrong = violation(explorer, &initial, store, id, Wrong::Deadlock);
                return (Verdict::Violated(wrong), level.depth);
            }
            ends.finished.push(id);
        }
        explorer.transitions += names.ends.len() as u64;
        hashes.clear();
        hashes.extend(names.iter().map(hash));
        for (name, hash) in names.iter().zip(&hashes) {
            let to = store.insert(name, *hash, id);
            if bounds.progress {
                ends.edges.push((to, id));
            }
        }
        next = store.after(id);
    }
    if let Some(limit) = beyond(explorer, store, &ends, bounds, start) {
        return (Verdict::Unknown(limit), level.depth);
    }
    if bounds.progress
        && let Some(stuck) = ends.first_stuck(store)
    {
        let wrong = violation(explorer, &initial, store, stuck, Wrong::Stuck);
        return (Verdict::Violated(wrong), level.depth);
    }
    (Verdict::Holds, level.depth)
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
    ends: &Ends,
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
    let used = store.memory() + ends.edges.capacity() * 8 + ends.finished.capacity() * 4 + monitor;
    (store.is_full() || used > bounds.memory).then_some(Limit::Memory)
}

/// The names of the states that steps lead to, by the interpreter.
fn slowly(explorer: &mut Explorer<'_>, packed: &[u8], names: &mut Names) -> Result<(), Wrong> {
    names.clear();
    let mut full = explorer.state_of(packed);
    let mut out = Vec::new();
    explorer.successors(&full, &mut out).map_err(|bad| bad.wrong)?;
    for walker in out {
        full = walker.full;
        explorer.name_into(&full, names);
    }
    Ok(())
}

fn violation(
    explorer: &mut Explorer<'_>,
    initial: &Full,
    store: &Store,
    last: StateId,
    wrong: Wrong,
) -> Violation {
    explorer.recording = true;
    let found = trace::find(explorer, initial, store, last, &wrong);
    explorer.recording = false;
    let steps = found.unwrap_or_default();
    let rechecked = match wrong {
        Wrong::NotLinearizable => match &mut explorer.monitor {
            Some(monitor) => trace::recheck(&mut monitor.reference, &steps),
            None => false,
        },
        _ => !steps.is_empty(),
    };
    Violation { wrong, steps, rechecked }
}

/// Steps between states, and the states in which all is done.
#[derive(Default)]
struct Ends {
    edges: Vec<(StateId, StateId)>,
    finished: Vec<StateId>,
}

impl Ends {
    /// The first state from which no finished one can be reached.
    fn first_stuck(mut self, store: &Store) -> Option<StateId> {
        self.edges.sort_unstable();
        let mut ends_well = vec![false; store.end()];
        let mut open = self.finished;
        while let Some(state) = open.pop() {
            if std::mem::replace(&mut ends_well[state as usize], true) {
                continue;
            }
            let first = self.edges.partition_point(|(to, _)| *to < state);
            open.extend(self.edges[first..].iter().take_while(|(to, _)| *to == state).map(|(_, from)| *from));
        }
        let mut next = Some(FIRST);
        while let Some(state) = next {
            if !ends_well[state as usize] {
                return Some(state);
            }
            next = store.after(state);
        }
        None
    }
}
