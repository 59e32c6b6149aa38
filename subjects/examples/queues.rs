//! The priority queues and sets under the explorer at 3 threads × 2 operations: every schedule with at most so many preemptions, or every schedule.
//!
//! `cargo run --release -p linpoint-subjects --example queues [PREEMPTIONS|states|dpor|auto [SECONDS [all|few|NAME|few:NAME [bare]]]]`: one preemption and 60 s a scenario unless said otherwise, on a few scenarios that empty, fill and shrink
//! the object, or of one object only. With `all`, or the name of an object, every scenario of up to 3 threads × 2 operations (an operation before, one after; neither if `bare`), with so many seconds an object.

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

/// So that states can be compared.
#[global_allocator]
static HEAP: linpoint::Heap = linpoint::Heap::new();

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
    search: Search,
    limit: Duration,
    /// Which scenarios.
    scenarios: Scenarios,
    /// Of which object; `None`: of all.
    name: Option<String>,
}

enum Scenarios {
    /// Those above.
    Few,
    /// Every one, with so many operations before and after at the most.
    Every(usize),
}

impl Wish {
    fn show<O: Object>(&self, name: &str, scenarios: Vec<Scenario<O::Spec>>, ops: Vec<Op<O>>) {
        if self.name.as_deref().is_some_and(|wanted| wanted != name) {
            return;
        }
        if let Scenarios::Every(around) = self.scenarios {
            let check = check::<O>().arguments(ops).before(around).after(around);
            self.explore(name, check, "every scenario");
            return;
        }
        for scenario in scenarios {
            let text = scenario.to_string();
            self.explore(name, check::<O>().scenario(scenario), &text);
        }
    }

    fn explore<O: Object>(&self, name: &str, check: Check<O>, what: &str) {
        let report = check.search(self.search).time_limit(self.limit).report();
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
    let word = |index: usize| words.get(index).map(String::as_str);
    let around = if word(3) == Some("bare") { 0 } else { 1 };
    let (scenarios, name) = match word(2).unwrap_or("few") {
        "few" => (Scenarios::Few, None),
        "all" => (Scenarios::Every(around), None),
        name => match name.strip_prefix("few:") {
            Some(name) => (Scenarios::Few, Some(name.to_owned())),
            None => (Scenarios::Every(around), Some(name.to_owned())),
        },
    };
    let search = match word(0).unwrap_or("1") {
        "states" => Search::States,
        "dpor" => Search::Dpor,
        "auto" => Search::Auto,
        bound => Search::Preemptions(bound.parse().unwrap_or(1)),
    };
    let seconds = word(1).and_then(|word| word.parse().ok()).unwrap_or(60);
    let wish = Wish { search, limit: Duration::from_secs(seconds), scenarios, name };
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
