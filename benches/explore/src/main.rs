//! Executions per CPU second on the same two programs, under loom, shuttle and Linpoint, in one run.
//!
//! Two threads, each push; pop on a Treiber stack, or enqueue; dequeue on a Michael–Scott queue. Linpoint checks every
//! execution for linearizability; the others check nothing. Bounded search for loom and Linpoint (the same bound),
//! depth-first and random search for shuttle.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

mod programs;

use programs::{ours, under_loom, under_shuttle};

static EXECUTIONS: AtomicU64 = AtomicU64::new(0);

/// CPU time of this thread, in seconds.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this runs on Linux");
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// How many executions are made, at least, between two looks at the clock, which costs as much as some of them.
const BATCH: u64 = 5_000;

/// Runs `body` until a second of CPU time has passed, and returns executions per CPU second.
fn rate(mut body: impl FnMut() -> u64) -> f64 {
    body();
    let start = cpu_s();
    let mut executions = 0;
    loop {
        let before = executions;
        while executions - before < BATCH {
            executions += body();
        }
        let spent = cpu_s() - start;
        if spent > 1.0 {
            return executions as f64 / spent;
        }
    }
}

fn loom_rate(bound: usize, program: fn()) -> f64 {
    rate(|| {
        EXECUTIONS.store(0, Relaxed);
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(bound);
        builder.check(move || {
            EXECUTIONS.fetch_add(1, Relaxed);
            program();
        });
        EXECUTIONS.load(Relaxed)
    })
}

fn shuttle_rate(dfs: bool, program: fn()) -> f64 {
    const RUNS: usize = 5_000;
    rate(|| {
        if dfs {
            shuttle::check_dfs(program, Some(RUNS));
        } else {
            shuttle::check_random(program, RUNS);
        }
        RUNS as u64
    })
}

fn our_rate<O: linpoint::Object>(bound: u32, scenario: &linpoint::Scenario<O::Spec>) -> f64 {
    rate(|| {
        let report = linpoint::check::<O>()
            .scenario(scenario.clone())
            .search(linpoint::Search::Preemptions(bound))
            .workers(1)
            .time_limit(Duration::from_secs(600))
            .report();
        assert!(report.counterexample.is_none(), "{report}");
        report.coverage.executions
    })
}

fn main() {
    // One process a row, so that no tool inherits the heap of another: `all` starts the others.
    let argument = std::env::args().nth(1).unwrap_or_else(|| "all".to_owned());
    let bound = 3;
    let show = |what: &str, rate: f64| println!("{what:44} {rate:12.0} executions per CPU second");
    match argument.as_str() {
        "ours-treiber" => show("linpoint, Treiber stack, bound 3", our_rate::<ours::Stack>(bound, &ours::stack_scenario())),
        "ours-queue" => show("linpoint, Michael-Scott queue, bound 3", our_rate::<ours::Queue>(bound, &ours::queue_scenario())),
        "loom-treiber" => show("loom, Treiber stack, bound 3", loom_rate(3, under_loom::stack_program)),
        "loom-queue" => show("loom, Michael-Scott queue, bound 3", loom_rate(3, under_loom::queue_program)),
        "shuttle-treiber" => {
            show("shuttle DFS, Treiber stack", shuttle_rate(true, under_shuttle::stack_program));
            show("shuttle random, Treiber stack", shuttle_rate(false, under_shuttle::stack_program));
        }
        "shuttle-queue" => {
            show("shuttle DFS, Michael-Scott queue", shuttle_rate(true, under_shuttle::queue_program));
            show("shuttle random, Michael-Scott queue", shuttle_rate(false, under_shuttle::queue_program));
        }
        _ => {
            let me = std::env::current_exe().expect("the program has a path");
            for row in ["ours-treiber", "ours-queue", "loom-treiber", "loom-queue", "shuttle-treiber", "shuttle-queue"] {
                std::process::Command::new(&me).arg(row).status().expect("the program starts");
            }
        }
    }
}
