//! The priority queues and sets under the explorer at 3 threads × 2 operations: every schedule with at most so many preemptions.
//!
//! `cargo run --release -p linpoint-subjects --example queues [PREEMPTIONS [SECONDS]]`: one preemption and 60 s a scenario unless said otherwise.

use std::time::Duration;

use linpoint::{Object, Scenario, Search, check};
use linpoint_subjects::priority::coarse_heap::CoarseHeap;
use linpoint_subjects::priority::fine_stm_heap::FineStmHeap;
use linpoint_subjects::priority::hunt_heap::HuntHeap;
use linpoint_subjects::priority::naive_stm_heap::NaiveStmHeap;
use linpoint_subjects::priority::sundell_tsigas;
use linpoint_subjects::sets::striped_hash_set::StripedHashSet;
use linpoint_subjects::sets::{harris_michael_list, lock_coupling_list};
use linpoint_subjects::spec::PriorityQueueOp::{Insert, RemoveMin};
use linpoint_subjects::spec::SetOp::{Add, Contains, Remove};
use linpoint_subjects::spec::{PriorityQueue, Set};

/// Queues that are empty, hold one element, or several.
fn queue() -> Vec<Scenario<PriorityQueue>> {
    let mixed =
        || vec![vec![Insert(1), RemoveMin()], vec![Insert(2), RemoveMin()], vec![RemoveMin(), Insert(1)]];
    let apart =
        || vec![vec![Insert(1), Insert(2)], vec![RemoveMin(), RemoveMin()], vec![Insert(1), RemoveMin()]];
    let scenario = |before, threads| Scenario { before, threads, after: vec![RemoveMin()] };
    vec![
        scenario(vec![], mixed()),
        scenario(vec![], apart()),
        scenario(vec![Insert(2)], mixed()),
        scenario(vec![Insert(1), Insert(3), Insert(2)], apart()),
    ]
}

fn set() -> Vec<Scenario<Set>> {
    let threads = vec![vec![Add(1), Remove(2)], vec![Remove(1), Add(2)], vec![Contains(1), Add(1)]];
    let scenario =
        |before| Scenario { before, threads: threads.clone(), after: vec![Contains(1), Contains(2)] };
    vec![scenario(vec![]), scenario(vec![Add(1)]), scenario(vec![Add(1), Add(2)])]
}

fn show<O: Object>(name: &str, scenarios: Vec<Scenario<O::Spec>>, preemptions: u32, limit: Duration) {
    for scenario in scenarios {
        let text = scenario.to_string();
        let report = check::<O>()
            .scenario(scenario)
            .search(Search::Preemptions(preemptions))
            .time_limit(limit)
            .report();
        let said = report.to_string();
        let first = said.lines().next().unwrap_or_default();
        println!("{name:<20} {:>7.1} s  {first}  [{text}]", report.elapsed.as_secs_f64());
    }
}

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse().ok());
    let preemptions = words.next().flatten().unwrap_or(1);
    let limit = Duration::from_secs(words.next().flatten().unwrap_or(60).into());
    show::<CoarseHeap>("coarse-heap", queue(), preemptions, limit);
    show::<HuntHeap>("hunt-heap", queue(), preemptions, limit);
    show::<sundell_tsigas::Explored>("sundell-tsigas", queue(), preemptions, limit);
    show::<NaiveStmHeap>("naive-stm-heap", queue(), preemptions, limit);
    show::<FineStmHeap>("fine-stm-heap", queue(), preemptions, limit);
    show::<lock_coupling_list::Explored>("lock-coupling-list", set(), preemptions, limit);
    show::<harris_michael_list::Explored>("harris-michael-list", set(), preemptions, limit);
    show::<StripedHashSet>("striped-hash-set", set(), preemptions, limit);
}
