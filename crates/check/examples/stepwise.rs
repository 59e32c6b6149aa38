//! The tests that drive one engine in small random steps and compare it with brute force, for as long as you
//! like.
//!
//! `cargo run --release -p linpoint-check --example stepwise ENGINE HISTORIES SEED`, where ENGINE is
//! `stack-monitor`, `queue-metastates`, `priority-queue-metastates` or `priority-queue-max-metastates`. The
//! first history that is judged wrongly is printed.

#[allow(dead_code, unused_imports)]
#[path = "../tests/it/metastates.rs"]
mod metastates;
#[allow(dead_code, unused_imports)]
#[path = "../tests/it/small.rs"]
mod small;
#[allow(dead_code, unused_imports)]
#[path = "../tests/it/stack_monitor.rs"]
mod stack_monitor;

use linpoint_history::Kind;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [engine, histories, seed] = &args[..] else { panic!("ENGINE HISTORIES SEED") };
    let histories: u64 = histories.parse().expect("a number of histories");
    let seed: u64 = seed.parse().expect("a seed");
    match engine.as_str() {
        "stack-monitor" => stack_monitor::differential(histories, seed, 9),
        "queue-metastates" => metastates::differential(Kind::Queue, seed, histories, 10),
        "priority-queue-metastates" => metastates::differential(Kind::PriorityQueue, seed, histories, 10),
        "priority-queue-max-metastates" => {
            metastates::differential(Kind::PriorityQueueMax, seed, histories, 10)
        }
        other => panic!("no engine `{other}` here"),
    }
    println!("{histories} histories: no disagreement");
}
