//! States per CPU second on one core: Linpoint's explorer of models and stateright's breadth-first checker, on the Treiber stack with three threads of two operations.
//!
//! # The same model
//!
//! Both take the same steps: those that touch what others can get at, a call together with the first, a return with the last. Both choose each operation freely and
//! push a new value each time. Both look for histories that are not linearizable. For this, two reductions of ours are off that the other has not got: data keeps its names, and a read of what nobody ever
//! changes is a step of its own. A row of its own shows the search as it is used, with these on: it has a tenth of the states, so a larger share of its time goes into what is worked out once.
//!
//! # What each counts
//!
//! A *state* is one that was not met before. Ours is what is left after threads and heap cells are put in one order, with the set of explanations of the history so far; so there
//! are few of them, and each costs sorting, renumbering and a look into the monitor. Stateright's breadth-first search has no symmetry. Its state is a Rust struct; with
//! `history`, as its documentation does it, a `LinearizabilityTester` is part of the state, and every new state is asked whether its history is linearizable. Without, nothing is
//! checked, and the figure shows what its search costs alone. Neither figure of stateright includes renaming. A search that is too large is stopped after a number of steps.
//!
//! Rates are per second of CPU time of the process; rounds alternate, and the best of each is shown.

mod treiber;

use linpoint_lang::compile;
use linpoint_model::{Bounds, Mode, Verdict, Workload, explore};
use stateright::{Checker as _, Model as _};

const THREADS: usize = 3;
const OPS: u8 = 2;
const ROUNDS: usize = 5;
/// After so many steps stateright is stopped.
const MOST: usize = 1_000_000;

/// CPU time of this process, in seconds.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("this runs on Linux");
    let after = text.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks: f64 = after.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// What a search did.
#[derive(Clone, Copy)]
struct Run {
    states: usize,
    steps: usize,
    cpu_s: f64,
    complete: bool,
}

impl Run {
    fn of(search: impl Fn() -> (usize, usize, bool)) -> Run {
        // Ticks are coarse: searches that are soon done are repeated.
        let start = cpu_s();
        let mut times = 0;
        loop {
            let (states, steps, complete) = search();
            times += 1;
            let spent = cpu_s() - start;
            if spent > 1.0 {
                return Run { states, steps, cpu_s: spent / f64::from(times), complete };
            }
        }
    }

    fn rate(&self) -> f64 {
        self.states as f64 / self.cpu_s
    }
}

/// The search as it is used, or on the same model as the peer.
fn ours(data: bool, fixed: bool) -> (usize, usize, bool) {
    let text = include_str!("../../../corpus/correct/treiber.lin");
    let (programs, _) = compile(text);
    let workload = Workload::general(&programs[0], THREADS, OPS.into());
    let mut bounds = Bounds::default();
    (bounds.reductions.data, bounds.reductions.fixed) = (data, fixed);
    let explored = explore(&programs[0], &workload, Mode::Anywhere, &bounds);
    assert!(matches!(explored.verdict, Verdict::Holds(_)), "{:?}", explored.verdict);
    (explored.states, explored.transitions as usize, true)
}

fn peer(history: bool) -> (usize, usize, bool) {
    let model = treiber::Treiber { threads: THREADS, ops: OPS, history };
    let checker = model.checker().threads(1).target_state_count(MOST).spawn_bfs().join();
    checker.assert_properties();
    (checker.unique_state_count(), checker.state_count(), checker.state_count() < MOST)
}

fn main() {
    println!(
        "Treiber stack, {THREADS} threads with {OPS} operations each, one core; best of {ROUNDS} rounds\n"
    );
    let searches: [(&str, fn() -> (usize, usize, bool)); 4] = [
        ("linpoint: every history linearizable", || ours(false, false)),
        ("stateright: every history linearizable", || peer(true)),
        ("stateright: nothing checked", || peer(false)),
        ("linpoint as it is used", || ours(true, true)),
    ];
    let mut best: [Option<Run>; 4] = [None; 4];
    for _ in 0..ROUNDS {
        for (best, (_, search)) in best.iter_mut().zip(&searches) {
            let run = Run::of(search);
            if best.is_none_or(|best| run.rate() > best.rate()) {
                *best = Some(run);
            }
        }
    }
    for ((name, _), run) in searches.iter().zip(best.iter().flatten()) {
        let whole = if run.complete { "complete" } else { "stopped" };
        println!(
            "{name:40} {:>9} states {:>9} steps {whole:9} {:>7.3} s {:>10.0} states/s {:>10.0} steps/s",
            run.states,
            run.steps,
            run.cpu_s,
            run.rate(),
            run.steps as f64 / run.cpu_s,
        );
    }
    if let [Some(ours), Some(checked), Some(bare), Some(used)] = best {
        println!(
            "\nstates per second: {:.1} times stateright that checks the same, {:.1} times stateright that checks nothing",
            ours.rate() / checked.rate(),
            ours.rate() / bare.rate()
        );
        println!("time to the verdict: {:.1} times less with all reductions", ours.cpu_s / used.cpu_s);
    }
}
