//! Is a state of some kind ever reached? A plain search, step by step, that asks nothing of histories.
//!
//! Every atomic step is a move of its own and threads keep their names, so what is asked may speak of any
//! place of the program and of two threads. States that differ only in names of records, or in locals that
//! nobody reads any more, are looked at once.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::interp::{Choices, Machine, State};
use linpoint_lang::program::Word;
use rustc_hash::FxHashSet;

use crate::client::Workload;
use crate::explore::{Bounds, Deciding, Limit, Mode, Reductions, explorer};
use crate::pack::Full;
use crate::schedule::Move;
use crate::session::{Moved, Session};
use crate::steps::{Explorer, Walker};
use crate::trace::TraceStep;

/// How far to look.
#[derive(Clone, Debug)]
pub struct Reach {
    /// What symbolic sizes are; the usual ones if not given.
    pub sizes: Option<Vec<Word>>,
    /// Give up after this long.
    pub time: Duration,
    /// Give up beyond this many states.
    pub states: usize,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The run to the first such state, if one was found: one with fewest steps.
    pub run: Option<Vec<TraceStep>>,
    /// How many states were looked at.
    pub states: usize,
    /// Were these all?
    pub complete: bool,
}

/// Looks for a state that is wanted.
pub fn reach(
    program: &Program,
    workload: &Workload,
    limits: &Reach,
    is_wanted: &mut dyn FnMut(&Machine<'_>, &State) -> bool,
) -> Result<Reached, Limit> {
    let start = Instant::now();
    let bounds = Bounds {
        sizes: limits.sizes.clone(),
        reductions: Reductions { fusion: false, fixed: false, symmetry: false, data: false },
        claims: Deciding::Ignored,
        ..Bounds::default()
    };
    let mut explorer = explorer(program, workload, Mode::Anywhere, &bounds)?;
    explorer.monitor = None;
    let state = explorer.machine.initial().map_err(|error| Limit::CannotStart(error.to_string()))?;
    let made = vec![0; explorer.machine.threads];
    let first = Full { state, monitor: 0, claims: 0, made, fresh: 0 };
    let mut known = FxHashSet::default();
    known.insert(explorer.name_of(&first).bytes);
    // Each with the state before and the move from there.
    let mut met: Vec<(Full, usize, Option<Move>)> = vec![(first, 0, None)];
    let mut next = 0;
    let mut complete = true;
    while next < met.len() {
        if is_wanted(&explorer.machine, &met[next].0.state) {
            let run = run_to(program, workload, &bounds, &met, next)?;
            return Ok(Reached { run: Some(run), states: next + 1, complete: false });
        }
        if met.len() >= limits.states || start.elapsed() > limits.time {
            complete = false;
            break;
        }
        let full = met[next].0.clone();
        for (what, after) in moves(&mut explorer, &full) {
            if known.insert(explorer.name_of(&after).bytes) {
                met.push((after, next, Some(what)));
            }
        }
        next += 1;
    }
    Ok(Reached { run: None, states: next, complete })
}

/// Every move, and where it leads. Moves that go wrong lead nowhere.
fn moves(explorer: &mut Explorer<'_>, full: &Full) -> Vec<(Move, Full)> {
    let mut found = Vec::new();
    for thread in 0..explorer.machine.threads {
        let Some(pc) = explorer.machine.pc(&full.state, thread) else {
            for call in explorer.calls(full, thread) {
                let after = explorer.called(full, thread, &call).full;
                found.push((Move::Call { thread, op: call.op, args: call.args }, after));
            }
            continue;
        };
        let walker = Walker { full: full.clone(), steps: Vec::new() };
        for edge in 0..explorer.machine.program.node(pc).edges.len() {
            let mut choices = Choices::default();
            loop {
                if let Ok(Some(after)) = explorer.take(&walker, thread, edge, &mut choices) {
                    found.push((Move::Step { thread, edge, choices: choices.path() }, after.full));
                }
                if !choices.next() {
                    break;
                }
            }
        }
    }
    found
}

/// The run to a state, taken again.
fn run_to(
    program: &Program,
    workload: &Workload,
    bounds: &Bounds,
    met: &[(Full, usize, Option<Move>)],
    end: usize,
) -> Result<Vec<TraceStep>, Limit> {
    let (mut way, mut at) = (Vec::new(), end);
    while let Some(what) = &met[at].2 {
        way.push(what);
        at = met[at].1;
    }
    let mut session = Session::new(program, workload, Mode::Anywhere, bounds)?;
    let mut steps = Vec::new();
    for what in way.into_iter().rev() {
        match session.take(what) {
            Moved::Fine(more) | Moved::Wrong(more, _) => steps.extend(more),
            Moved::Impossible => break,
        }
    }
    Ok(steps)
}
