//! An exploration by several OS threads.
//!
//! A plain or bounded depth-first search is shared (`strategy/shared_dfs.rs`). Source-DPOR and the queue are not: the one
//! keeps what is to be tried along one path, the other grows from every run. The random strategies are, with a seed for
//! each worker.

use std::ops::ControlFlow;

use super::{Coverage, Covered, Explorer, Plan, Search, Seen, Stop, explore};
use crate::strategy::dfs::Dfs;
use crate::strategy::shared_dfs::{Pool, SharedDfs};

/// Explores `program` with `workers` OS threads; each makes its own visitor with `visitor`. Searches that cannot be
/// shared are made by one.
pub fn explore_in_parallel<V>(
    program: &(dyn Fn() + Sync),
    plan: &Plan,
    workers: usize,
    visitor: &(dyn Fn(usize) -> V + Sync),
) -> Coverage
where
    V: FnMut(Seen<'_>) -> ControlFlow<()>,
{
    let first = match &plan.search {
        Search::Dfs => Dfs::new(),
        Search::BoundedDfs(bound) => Dfs::bounded(*bound),
        Search::RandomWalk | Search::UniformWalk | Search::Pct(_) => {
            return explore_at_random(program, plan, workers, visitor);
        }
        _ => return explore(program, plan, &mut visitor(0)),
    };
    let pool = Pool::new(first, workers);
    let runs_each = plan.runs.map(|runs| runs.div_ceil(workers as u64));
    let plan = Plan { runs: runs_each, ..plan.clone() };
    let (pool, plan) = (&pool, &plan);
    let parts: Vec<(Coverage, bool)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    let mut visit = visitor(worker);
                    let mut explorer = Explorer::new(program, plan, &mut visit);
                    let cut = share(&mut explorer, pool);
                    (explorer.coverage, cut)
                })
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    let cut = parts.iter().any(|part| part.1);
    let mut whole = merge(parts.into_iter().map(|part| part.0));
    if whole.stop == Stop::Done && !pool.is_over() {
        whole.covered = match plan.search {
            Search::BoundedDfs(bound) if cut => Covered::Preemptions(bound),
            _ => Covered::Every,
        };
    }
    whole
}

fn explore_at_random<V>(
    program: &(dyn Fn() + Sync),
    plan: &Plan,
    workers: usize,
    visitor: &(dyn Fn(usize) -> V + Sync),
) -> Coverage
where
    V: FnMut(Seen<'_>) -> ControlFlow<()>,
{
    let runs = plan.runs.map(|runs| runs.div_ceil(workers as u64));
    let parts: Vec<Coverage> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|worker| {
                let plan = Plan { runs, seed: plan.seed.wrapping_add(worker as u64), ..plan.clone() };
                scope.spawn(move || explore(program, &plan, &mut visitor(worker)))
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    merge(parts.into_iter())
}

/// One coverage out of those of the workers: the least of them decides.
fn merge(parts: impl Iterator<Item = Coverage>) -> Coverage {
    let mut whole = Coverage::nothing();
    for part in parts {
        whole.runs += part.runs;
        whole.abandoned += part.abandoned;
        whole.unwatched += part.unwatched;
        whole.random |= part.random;
        whole.fair |= part.fair;
        whole.stop = whole.stop.max(part.stop);
        whole.found = whole.found.or(part.found);
        whole.progress = whole.progress.or(part.progress);
    }
    whole
}

/// Works on parts of a shared search. Returns whether its bound kept a schedule out.
fn share(explorer: &mut Explorer<'_>, pool: &Pool) -> bool {
    let Some(mut dfs) = SharedDfs::new(pool) else { return false };
    explorer.walk(&mut dfs, explorer.all(), |_| false);
    if explorer.coverage.stop != Stop::Done {
        explorer.coverage.progress = Some(dfs.progress());
        pool.end();
    }
    dfs.was_cut()
}
