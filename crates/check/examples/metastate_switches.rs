//! What each optimisation of the seed method (Dragicevic 2011) is worth, on priority queue histories of 2 to
//! 6 threads.
//!
//! `cargo run --release -p linpoint-check --example metastate_switches`
//!
//! For each setting: metastates held while an event was handled (most), kept after it (most, mean),
//! operations kept in them, and seconds. `>` marks a run that was stopped at the bound. The text reports
//! about 10, 30, 100, 300 and 1000 metastates at most for 2, 3, 4, 5 and 6 threads.

#[allow(dead_code)]
#[path = "play/history.rs"]
mod play;

use std::time::Instant;

use linpoint_check::engine::{self, Context};
use linpoint_check::metastate::generic::Generic;
use linpoint_check::metastate::seed::{self, Switches};
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Timeline};
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes::priority_queue::{CHANGE_KEY, INSERT, REMOVE};
use linpoint_history::{Builtin, History, Kind, Value};

use play::Plan;

const OPERATIONS: usize = 1_000;

fn main() {
    let spec = Builtin::new(Kind::PriorityQueueMax);
    let text = Switches { equivalent: false, most: 2_000, ..Switches::all() };
    let none = Switches { most: 2_000, ..Switches::none() };
    let settings: [(&str, Switches); 10] = [
        ("the text's, all", text),
        ("- permutable", Switches { permutable: false, ..text }),
        ("- implied", Switches { implied: false, ..text }),
        ("- redundant", Switches { redundant: false, ..text }),
        ("- semi-redundant", Switches { semi_redundant: false, ..text }),
        ("- definite", Switches { definite: false, ..text }),
        ("- hashing", Switches { hashing: false, ..text }),
        ("+ equal states", Switches { equivalent: true, ..text }),
        ("only equal states", Switches { equivalent: true, hashing: true, ..none }),
        ("none", none),
    ];
    println!(
        "{OPERATIONS} operations; metastates held at most, kept at most, kept on average; operations kept; seconds"
    );
    for threads in 2..=6 {
        let history = history(&spec, threads);
        println!("\n{threads} threads");
        for (name, switches) in settings {
            let start = Instant::now();
            let (verdict, statistics) = seed::verify(&history, &spec, &switches);
            let bound = match verdict {
                linpoint_history::Verdict::Holds(_) => ' ',
                linpoint_history::Verdict::Unknown(_) => '>',
                linpoint_history::Verdict::Violated(_) => panic!("the history is linearizable"),
            };
            println!(
                "  {name:18} {bound}{:6} {:6} {:9.2} {:8} {:8.3} s  after {:5} events",
                statistics.most_held.max(if bound == '>' { switches.most } else { 0 }),
                statistics.most,
                statistics.mean(),
                statistics.most_entries,
                start.elapsed().as_secs_f64(),
                statistics.events,
            );
        }
        let timeline = Timeline::of(&history.operations, Ties::Strict);
        let budget = Budget::unlimited();
        let cx = Context { symbols: &history.symbols, spec: &spec, budget: &budget };
        let mut lazy = Generic::new(spec.clone());
        let start = Instant::now();
        engine::run(&mut lazy, &cx, &timeline).expect("the history is linearizable");
        let width = lazy.width();
        let mean = width.sum as f64 / width.returns as f64;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "  {:18}  {:6} {:6} {mean:9.2} {:8} {seconds:8.3} s",
            "lazy (generic)", "-", width.most, "-"
        );
    }
}

/// A linearizable history: threads that call again at once, intervals short and long, as an implementation
/// with locks gives; priorities below 20, insertions and removals in balance.
fn history(spec: &Builtin, threads: u64) -> History {
    let priority = |rng: &mut Rng| Value::Int(rng.below(20) as i64);
    let choose = |rng: &mut Rng| match rng.below(40) {
        0..=18 => (INSERT, priority(rng)),
        19..=37 => (REMOVE, Value::Null),
        _ => (CHANGE_KEY, Value::list([priority(rng), priority(rng)])),
    };
    let plan = Plan { processes: threads, operations: OPERATIONS, gap: 0.5, seed: 1 };
    play::history(spec, &plan, choose, |state, call| spec.outcomes(state, call).swap_remove(0))
}
