//! The priority queues and sets under the explorer at 3 threads × 2 operations: every schedule with at most so many preemptions.
//!
//! `cargo run --release -p linpoint-subjects --example queues [PREEMPTIONS [SECONDS [all|NAME]]]`: one preemption and 60 s a scenario unless said otherwise, on a few scenarios that empty, fill and shrink
//! the object. With `all`, or the name of an object, every scenario of up to 3 threads × 2 operations (an operation before, one after), with so many seconds an object.

use std::time::Duration;

use linpoint::{Check, Object, Scenario, Search, Specification, check};
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

/// What to explore.
struct Wish {
    preemptions: u32,
    limit: Duration,
    /// Every scenario, of all objects or of one.
    all: Option<String>,
}

impl Wish {
    fn show<O: Object>(&self, name: &str, scenarios: Vec<Scenario<O::Spec>>, ops: Vec<Op<O>>) {
        if let Some(all) = &self.all {
            if all == "all" || all == name {
                self.explore(name, check::<O>().arguments(ops), "every scenario");
            }
            return;
        }
        for scenario in scenarios {
            let text = scenario.to_string();
            self.explore(name, check::<O>().scenario(scenario), &text);
        }
    }

    fn explore<O: Object>(&self, name: &str, check: Check<O>, what: &str) {
        let report = check.search(Search::Preemptions(self.preemptions)).time_limit(self.limit).report();
        let coverage = &report.coverage;
        let bound = coverage.least_bound.map_or(String::new(), |bound| format!(", bound {bound}"));
        let said = match &report.counterexample {
            Some(example) => example.to_string(),
            None if coverage.untouched > 0 => format!("NOT FINISHED, {} not begun", coverage.untouched),
            None if coverage.least_bound.is_none() && coverage.complete < coverage.scenarios => {
                "NOT FINISHED".to_owned()
            }
            None => "nothing wrong".to_owned(),
        };
        println!(
            "{name:<20} {:>7.1} s  {} of {} scenarios complete{bound}, {} executions  [{what}]: {said}",
            report.elapsed.as_secs_f64(),
            coverage.complete,
            coverage.scenarios,
            coverage.executions,
        );
    }
}

type Op<O> = <<O as Object>::Spec as Specification>::Op;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u32>().ok());
    let wish = Wish {
        preemptions: number(0).unwrap_or(1),
        limit: Duration::from_secs(number(1).unwrap_or(60).into()),
        all: words.get(2).cloned(),
    };
    let ops = || vec![Insert(1), Insert(2), RemoveMin()];
    let keys = || vec![Add(1), Add(2), Remove(1), Remove(2), Contains(1)];
    wish.show::<CoarseHeap>("coarse-heap", queue(), ops());
    wish.show::<HuntHeap>("hunt-heap", queue(), ops());
    wish.show::<sundell_tsigas::Explored>("sundell-tsigas", queue(), ops());
    wish.show::<NaiveStmHeap>("naive-stm-heap", queue(), ops());
    wish.show::<FineStmHeap>("fine-stm-heap", queue(), ops());
    wish.show::<lock_coupling_list::Explored>("lock-coupling-list", set(), keys());
    wish.show::<harris_michael_list::Explored>("harris-michael-list", set(), keys());
    wish.show::<StripedHashSet>("striped-hash-set", set(), keys());
}
