//! An exploration on several cores.
//!
//! Graphs of the work list share nothing, so each worker has a list of its own, and its own copy of the
//! program. A worker without work waits for another one to give away its oldest graph, behind which most is
//! left to do. The graphs that are met are the same for any number of workers.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::{Dead, End, Ended, Explorer, Limit, Options, Report};
use crate::graph::Graph;
use crate::program::Program;

/// Shows every execution graph to `visit`, each once, as [`explore`](super::explore) does; each of the
/// programs, which must be the same, is executed by a thread of its own.
pub fn explore_together<P: Program + Send>(
    programs: &mut [P],
    options: &Options,
    visit: impl Fn(&Graph, End) -> ControlFlow<()> + Sync,
) -> Report {
    let Some(first) = programs.first() else { return Report { ended: Ended::Stopped, ..Report::default() } };
    let shared = Shared {
        workers: programs.len(),
        queue: Mutex::new(Queue { waiting: vec![Graph::new(first.threads())], idle: 0, ended: None }),
        ready: Condvar::new(),
        hungry: AtomicUsize::new(programs.len()),
        graphs: AtomicU64::new(0),
    };
    let reports: Vec<Report> = std::thread::scope(|scope| {
        let start = |program| {
            let (shared, visit) = (&shared, &visit);
            scope.spawn(move || shared.work(program, options, visit))
        };
        let workers: Vec<_> = programs.iter_mut().map(start).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| stopped())).collect()
    });
    let mut report = Report::default();
    for part in &reports {
        report.complete += part.complete;
        report.blocked += part.blocked;
        report.failed += part.failed;
        report.cut += part.cut;
        report.dead += part.dead;
        report.most_waiting += part.most_waiting;
    }
    let of_part = reports.iter().map(|part| part.ended).find(|&ended| ended != Ended::Exhausted);
    report.ended = shared.queue().ended.or(of_part).unwrap_or(Ended::Exhausted);
    report
}

/// What is said of a worker that panicked in the caller's code: its work is not done.
fn stopped() -> Report {
    Report { ended: Ended::Stopped, ..Report::default() }
}

struct Shared {
    workers: usize,
    queue: Mutex<Queue>,
    ready: Condvar,
    /// How many workers have nothing to do.
    hungry: AtomicUsize,
    /// Graphs that were shown.
    graphs: AtomicU64,
}

struct Queue {
    waiting: Vec<Graph>,
    idle: usize,
    /// Set when all have to stop.
    ended: Option<Ended>,
}

/// Stops the others if a worker panics, so that they do not wait for it.
struct Guard<'a>(&'a Shared);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(Ended::Stopped);
        }
    }
}

impl Shared {
    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self, ended: Ended) {
        self.queue().ended.get_or_insert(ended);
        self.ready.notify_all();
    }

    /// The next graph for a worker without work; `None` when all is done.
    fn next(&self) -> Option<Graph> {
        let mut queue = self.queue();
        queue.idle += 1;
        loop {
            self.hungry.store(queue.idle.saturating_sub(queue.waiting.len()), Ordering::Relaxed);
            if queue.ended.is_some() {
                return None;
            }
            if let Some(graph) = queue.waiting.pop() {
                queue.idle -= 1;
                self.hungry.store(queue.idle.saturating_sub(queue.waiting.len()), Ordering::Relaxed);
                return Some(graph);
            }
            if queue.idle == self.workers {
                queue.ended = Some(Ended::Exhausted);
                self.ready.notify_all();
                return None;
            }
            queue = self.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give(&self, graph: Graph) {
        let mut queue = self.queue();
        queue.waiting.push(graph);
        self.hungry.store(queue.idle.saturating_sub(queue.waiting.len()), Ordering::Relaxed);
        self.ready.notify_one();
    }

    /// One worker.
    fn work<P: Program>(
        &self,
        program: &mut P,
        options: &Options,
        visit: &impl Fn(&Graph, End) -> ControlFlow<()>,
    ) -> Report {
        let _guard = Guard(self);
        let mut explorer = match Explorer::new(program, options) {
            Ok(explorer) => explorer,
            Err(ended) => {
                self.stop(ended);
                return Report { ended, ..Report::default() };
            }
        };
        loop {
            let own = explorer.work.take(&mut explorer.random);
            let Some(graph) = own.or_else(|| self.next()) else { break };
            if let Some(limit) = self.limit(&explorer) {
                self.stop(Ended::Limit(limit));
                break;
            }
            explorer.load(graph);
            match explorer.execute() {
                Ok(end) => {
                    explorer.report.count(end);
                    if visit(&explorer.graph, end).is_break() {
                        self.stop(Ended::Stopped);
                        break;
                    }
                }
                Err(Dead::NoGraph) => explorer.report.dead += 1,
                Err(Dead::Diverged) => {
                    self.stop(Ended::Diverged);
                    break;
                }
            }
            if self.hungry.load(Ordering::Relaxed) > 0
                && let Some(graph) = explorer.work.oldest()
            {
                self.give(graph);
            }
        }
        explorer.report.most_waiting = explorer.work.most();
        explorer.report
    }

    /// Counts a graph that is about to be executed. Which limit is reached?
    fn limit<P: Program>(&self, explorer: &Explorer<'_, P>) -> Option<Limit> {
        let before = self.graphs.fetch_add(1, Ordering::Relaxed);
        explorer.clockwork.spent(before)
    }
}
