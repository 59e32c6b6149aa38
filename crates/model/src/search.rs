//! The search: breadth first, one level of fused steps after another.
//!
//! A level with few states is looked at by one worker, one state after the other. A large one is shared among
//! all ([`shared`]); states are met in the same order then, so the verdict, the counts and the counterexample
//! are the same for any number of workers.

mod shared;
mod turn;

use std::time::Instant;

use linpoint_lang::interp::{Compiled, ErrorKind, State};
use linpoint_verdict::Counterexample;

use crate::explore::{Bounds, EveryRun, Limit, Progress, Stepper, Verdict, Violation, Wrong, explorer};
use crate::fast::{Fast, Names, Scratch, Unusual};
use crate::namer::Namer;
use crate::pack::Full;
use crate::progress::{Arc, Demand, Graph};
use crate::steps::Explorer;
use crate::store::{FIRST, StateId, Store, hash};
use crate::trace;
use crate::ways::Programs;

pub(crate) use turn::Turn;

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
    let (local, arguments, data) =
        (explorer.local.clone(), explorer.arguments.clone(), explorer.data.clone());
    // Claims are for the interpreter: it tells of accesses.
    let compiled = bounds.stepper == Stepper::Compiled && explorer.claims.is_none();
    let workload = explorer.workload;
    let fast = |explorer: &Explorer<'_>| Fast {
        code: &code,
        workload,
        arguments: &arguments,
        local: &local,
        ops: explorer.machine.program.nodes.iter().map(|node| node.op).collect(),
        data: data.as_deref(),
        namer: Namer::new(
            &explorer.machine,
            explorer.workload,
            explorer.symmetry.distinct,
            explorer.data.clone(),
        ),
        // What is remembered is not to take the room of states.
        programs: Programs::within(bounds.memory / 8 / bounds.workers.max(1)),
        memory: Scratch::default(),
    };
    let mut names = Names::default();
    explorer.name_into(&initial, &mut names);
    if bounds.preemptions.is_some() {
        names.bytes.extend_from_slice(&Turn::NOBODY.bytes());
    }
    store.insert(&names.bytes, hash(&names.bytes), FIRST);
    // Claims are numbered as they are met, by one worker.
    let count = if explorer.claims.is_some() { 1 } else { bounds.workers.max(1) };
    let mut others = Vec::new();
    for _ in 1..count {
        let (program, workload) = (explorer.machine.program, explorer.workload);
        let Ok(mut other) = self::explorer(program, workload, explorer.mode, bounds) else { break };
        other.monitor = explorer.monitor.as_ref().map(|monitor| monitor.another());
        others.push(other);
    }
    let mut workers = vec![Worker::new(explorer, compiled.then_some(&fast), bounds)];
    workers.extend(others.iter_mut().map(|other| Worker::new(other, compiled.then_some(&fast), bounds)));
    let mut search = Search { workers, store, graph: Graph::default(), bounds, start, watch, visited: 0 };
    let (ended, depth) = search.every_level();
    let ended = match ended {
        Ok(()) if search.overflowed() => Err(Stop::Limit(Limit::Results)),
        Ok(()) => search.judge_progress(),
        Err(stop) => Err(stop),
    };
    let can_end = if ended.is_ok() { search.can_end() } else { None };
    let Search { workers, store, .. } = search;
    drop(workers);
    explorer.can_end = can_end;
    match ended {
        Ok(()) => (Verdict::Holds(EveryRun::with(bounds.preemptions)), depth),
        Err(Stop::Limit(limit)) => (Verdict::Unknown(limit), depth),
        Err(Stop::Wrong(found)) => {
            let overflowed = explorer.monitor.as_ref().is_some_and(|monitor| monitor.overflowed);
            if overflowed && found.in_step {
                return (Verdict::Unknown(Limit::Results), depth + 1);
            }
            let mut way = way_to(store, found.at);
            let steps = |explorer: &mut Explorer<'_>, way: Vec<StateId>, wrong| {
                violation(explorer, &initial, (store, bounds), way, wrong)
            };
            let before = match found.cycle.as_slice() {
                [] => 0,
                [_, rest @ ..] => {
                    let before = steps(explorer, way.clone(), Wrong::Stuck).steps.len();
                    way.extend_from_slice(rest);
                    before
                }
            };
            let mut violation = steps(explorer, way, found.wrong);
            if !found.cycle.is_empty() {
                violation.repeats = violation.steps.len().saturating_sub(before);
            }
            let depth = depth + usize::from(found.in_step);
            let monitor = explorer.monitor.as_ref();
            if monitor.is_some_and(|monitor| monitor.reference().leaves_open(&violation.wrong)) {
                return (Verdict::Unknown(Limit::Specification), depth);
            }
            (Verdict::Violated(violation), depth)
        }
    }
}

/// Something is wrong at a state.
struct Found {
    at: StateId,
    wrong: Wrong,
    /// Is it a step from there that is wrong?
    in_step: bool,
    /// The states of a cycle that starts there.
    cycle: Vec<StateId>,
}

/// Why a search ends before everything was seen.
enum Stop {
    Limit(Limit),
    Wrong(Found),
}

/// What keeps a state from being like the others.
enum Trouble {
    /// Something is wrong with it, or with a step from it.
    Wrong { wrong: Wrong, in_step: bool },
    /// Its steps lead beyond what is followed.
    Limit(Limit),
}

impl Trouble {
    fn at(self, at: StateId) -> Stop {
        match self {
            Trouble::Wrong { wrong, in_step } => Stop::Wrong(Found { at, wrong, in_step, cycle: Vec::new() }),
            Trouble::Limit(limit) => Stop::Limit(limit),
        }
    }
}

/// What one core needs to look at states.
struct Worker<'w, 'p> {
    explorer: &'w mut Explorer<'p>,
    fast: Option<Fast<'w>>,
    bounds: &'w Bounds,
    /// The names of the states that steps lead to from the state looked at last.
    names: Names,
    hashes: Vec<u32>,
}

impl<'w, 'p> Worker<'w, 'p> {
    fn new(
        explorer: &'w mut Explorer<'p>,
        fast: Option<&impl Fn(&Explorer<'_>) -> Fast<'w>>,
        bounds: &'w Bounds,
    ) -> Worker<'w, 'p> {
        let fast = fast.map(|fast| fast(explorer));
        Worker { explorer, fast, bounds, names: Names::default(), hashes: Vec::new() }
    }

    /// Where steps lead from a state; or what is wrong with it, and whether that is a step from it.
    fn look(&mut self, name: &[u8]) -> Result<(), Trouble> {
        let Worker { explorer, fast, bounds, names, .. } = self;
        names.clear();
        let (packed, turn) = Turn::split(name, bounds);
        let found = match fast {
            Some(fast) => fast.successors(&mut explorer.monitor, packed, names),
            None => Err(Unusual),
        };
        if found.is_err() {
            slowly(explorer, packed, names)?;
        }
        if bounds.deadlocks && names.ends.is_empty() && !explorer.is_finished(packed) {
            return Err(Trouble::Wrong { wrong: Wrong::Deadlock, in_step: false });
        }
        let waiting_is_wrong = matches!(bounds.progress, Demand::LockFree | Demand::ObstructionFree);
        if waiting_is_wrong && explorer.has_waiting(packed, &names.threads).unwrap_or(false) {
            return Err(Trouble::Wrong { wrong: Wrong::Waits, in_step: false });
        }
        if let Some(most) = bounds.preemptions {
            turn.limit(names, most);
        }
        Ok(())
    }
}

struct Search<'s, 'w, 'p> {
    workers: Vec<Worker<'w, 'p>>,
    store: &'s mut Store,
    graph: Graph,
    bounds: &'s Bounds,
    start: Instant,
    watch: &'s mut dyn FnMut(Progress),
    /// States looked at.
    visited: usize,
}

impl Search<'_, '_, '_> {
    fn every_level(&mut self) -> (Result<(), Stop>, usize) {
        let (mut first, mut depth) = (FIRST, 0);
        loop {
            let count = self.store.len() - self.visited;
            let next = match self.workers.len() > 1 && count >= self.bounds.shared_from {
                true => self.level_by_all(first, count, depth),
                false => self.level_by_one(first, count, depth),
            };
            match next {
                Err(stop) => return (Err(stop), depth),
                Ok(None) => return (Ok(()), depth),
                Ok(Some(next)) => (first, depth) = (next, depth + 1),
            }
        }
    }

    /// Looks at the states of a level, one after the other; the first of the next level.
    fn level_by_one(&mut self, first: StateId, count: usize, depth: usize) -> Result<Option<StateId>, Stop> {
        let mut next = Some(first);
        for _ in 0..count {
            let Some(id) = next else { break };
            if self.bounds.states.is_some_and(|most| self.store.len() > most) {
                return Err(Stop::Limit(Limit::States));
            }
            // States may take long each.
            if self.visited.is_multiple_of(32) && self.is_over() {
                return Err(Stop::Limit(Limit::Time));
            }
            if self.visited.is_multiple_of(1024) {
                self.beyond()?;
            }
            if self.visited.is_multiple_of(16_384) {
                self.tell(depth);
            }
            self.visited += 1;
            let worker = &mut self.workers[0];
            worker.look(self.store.get(id)).map_err(|trouble| trouble.at(id))?;
            let Worker { explorer, names, hashes, .. } = worker;
            if names.ends.is_empty() {
                self.graph.finished.push(id);
            }
            explorer.transitions += names.ends.len() as u64;
            hashes.clear();
            hashes.extend(names.iter().map(hash));
            for (index, name) in names.iter().enumerate() {
                let to = self.store.insert(name, hashes[index], id);
                self.graph.note(Arc { from: id, thread: names.threads[index], to }, self.bounds.progress);
            }
            next = self.store.after(id);
        }
        Ok(next)
    }

    fn tell(&mut self, depth: usize) {
        let (states, elapsed) = (self.store.len(), self.start.elapsed());
        (self.watch)(Progress { states, waiting: states - self.visited, depth, elapsed });
    }

    fn overflowed(&self) -> bool {
        let mut monitors = self.workers.iter().filter_map(|worker| worker.explorer.monitor.as_ref());
        monitors.any(|monitor| monitor.overflowed)
    }

    fn is_over(&self) -> bool {
        self.bounds.time.is_some_and(|limit| self.start.elapsed() > limit)
    }

    /// Stops if a limit is passed.
    fn beyond(&self) -> Result<(), Stop> {
        let stop = |limit| Err(Stop::Limit(limit));
        if self.is_over() {
            return stop(Limit::Time);
        }
        if self.overflowed() {
            return stop(Limit::Results);
        }
        let monitors = self.workers.iter().filter_map(|worker| worker.explorer.monitor.as_ref());
        let monitors: usize = monitors.map(|monitor| monitor.memory()).sum();
        let fast = self.workers.iter().filter_map(|worker| worker.fast.as_ref());
        let fast: usize = fast.map(|fast| fast.programs.memory()).sum();
        let graph = if self.bounds.progress == Demand::Nothing { 0 } else { self.graph.memory() };
        let used = self.store.memory_with(4096) + graph + monitors + fast;
        if self.store.is_full() || used > self.bounds.memory {
            return stop(Limit::Memory);
        }
        Ok(())
    }

    /// Everything was seen, and nobody asked: can every operation come to an end from every state? `None` if
    /// that cannot be told.
    fn can_end(&mut self) -> Option<bool> {
        let graph = std::mem::take(&mut self.graph);
        let asked = self.bounds.progress != Demand::Nothing;
        if asked || graph.given_up || self.bounds.preemptions.is_some() {
            return None;
        }
        Some(graph.first_stuck(self.store).is_none())
    }

    /// Everything was seen: can every operation come to an end, and must it?
    fn judge_progress(&mut self) -> Result<(), Stop> {
        if self.bounds.progress == Demand::Nothing {
            return Ok(());
        }
        let graph = std::mem::take(&mut self.graph);
        let (at, wrong, cycle) = match self.bounds.progress {
            Demand::Nothing => return Ok(()),
            Demand::GoodEnd => match graph.first_stuck(self.store) {
                Some(stuck) => (stuck, Wrong::Stuck, Vec::new()),
                None => return Ok(()),
            },
            demand @ (Demand::LockFree | Demand::ObstructionFree) => {
                let alone = demand == Demand::ObstructionFree;
                match graph.cycle(self.store, alone) {
                    Some(cycle) => {
                        (cycle[0], if alone { Wrong::GoesRoundAlone } else { Wrong::GoesRound }, cycle)
                    }
                    None => return Ok(()),
                }
            }
        };
        Err(Stop::Wrong(Found { at, wrong, in_step: false, cycle }))
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

/// The names of the states that steps lead to, by the interpreter.
fn slowly(explorer: &mut Explorer<'_>, packed: &[u8], names: &mut Names) -> Result<(), Trouble> {
    names.clear();
    let full = explorer.state_of(packed);
    let mut out = Vec::new();
    names.threads = match explorer.successors(&full, &mut out) {
        Ok(threads) => threads,
        Err(_) if explorer.left_alone => return Err(Trouble::Limit(Limit::Alone)),
        Err(bad) => {
            return Err(match bad.wrong {
                Wrong::Error(ErrorKind::HeapFull) => Trouble::Limit(Limit::Memory),
                Wrong::Error(ErrorKind::TooManyWays) => Trouble::Limit(Limit::Ways),
                Wrong::Error(ErrorKind::TooManyRounds) => Trouble::Limit(Limit::Rounds),
                wrong => Trouble::Wrong { wrong, in_step: true },
            });
        }
    };
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
) -> Counterexample<Violation> {
    explorer.recording = true;
    let found = trace::find(explorer, initial, store, way, &wrong, bounds);
    explorer.recording = false;
    // Where not even the start can come to a good end, the run that shows it has no step.
    let at_the_start = found.is_some() && wrong == Wrong::Stuck;
    let steps = found.unwrap_or_default();
    let rechecked = match wrong {
        Wrong::NotLinearizable => match &mut explorer.monitor {
            Some(monitor) => trace::recheck(&mut monitor.reference(), &steps),
            None => false,
        },
        _ => !steps.is_empty() || at_the_start,
    };
    Counterexample::new(Violation { wrong, steps, repeats: 0 }, rechecked)
}
