//! The priority queues and the sets under the explorer: no correct one fails within a few seconds, every broken one does.
//!
//! `cargo run --release -p linpoint-subjects --example queues` goes further: every schedule with so many preemptions.

use std::time::Duration;

use linpoint::{Check, Object, Scenario, Search, check};
use linpoint_subjects::priority::coarse_heap::{CoarseHeap, LATE_LENGTH};
use linpoint_subjects::priority::fine_stm_heap::{FineStmHeap, PEAK_STOPS_AT_DIRTY, PLACE_LOOKS_UP_ONLY};
use linpoint_subjects::priority::hunt_heap::{COUNTS_AS_ARRIVED, HuntHeap, PUBLISHED};
use linpoint_subjects::priority::naive_stm_heap::{FAST_LAST, NaiveStmHeap};
use linpoint_subjects::priority::sundell_tsigas::{self, LAST_UNMARKED, TAKE_LAST_BY_STORE};
use linpoint_subjects::sets::bit_set::{BitSet, LOOKS_WITHOUT_LOCK};
use linpoint_subjects::sets::striped_hash_set::{STALE_BUCKET, StripedHashSet};
use linpoint_subjects::sets::{harris_michael_list, lock_coupling_list};
use linpoint_subjects::spec::PriorityQueueOp::{self, ChangeKey, Insert, RemoveMin};
use linpoint_subjects::spec::{PriorityQueue, SetOp};

/// Priorities are compared, so they are ours to choose.
fn queue() -> Vec<PriorityQueueOp> {
    vec![Insert(1), Insert(2), RemoveMin()]
}

/// Nothing wrong in the time there is, with up to 3 threads × 2 operations.
#[track_caller]
fn passes<O: Object>(check: Check<O>) {
    let report = check.threads(3).after(1).time_limit(Duration::from_secs(2)).report();
    println!("{report}");
    assert!(report.counterexample.is_none(), "{report}");
}

/// Nothing wrong in any schedule with so many preemptions, and the search ends: 3 threads × 2 operations on an object that is empty, and on one that holds something.
#[track_caller]
fn passes_bounded<O: Object<Spec = PriorityQueue>>(preemptions: u32) {
    let threads =
        || vec![vec![Insert(1), RemoveMin()], vec![Insert(2), RemoveMin()], vec![RemoveMin(), Insert(1)]];
    for before in [vec![], vec![Insert(2)]] {
        let scenario = Scenario { before, threads: threads(), after: vec![RemoveMin()] };
        let search = Search::Preemptions(preemptions);
        let check = check::<O>().scenario(scenario).search(search);
        let report = check.time_limit(Duration::from_secs(300)).report();
        assert!(report.counterexample.is_none(), "{report}");
        let coverage = &report.coverage;
        assert!(coverage.complete == 1 || coverage.least_bound >= Some(preemptions), "{report}");
    }
}

/// `cargo run --release -p linpoint-subjects --example queues -- 2 600 all` goes through every scenario of this size.
#[test]
fn three_threads_with_two_operations() {
    passes_bounded::<CoarseHeap>(2);
    passes_bounded::<HuntHeap>(2);
    passes_bounded::<sundell_tsigas::Explored>(2);
    passes_bounded::<NaiveStmHeap>(1);
    passes_bounded::<FineStmHeap>(1);
}

/// Who frees a place and who claims one below it must not miss each other: the transaction that frees validates only if there was another version, so the claim's must
/// be taken before it looks. Two preemptions show it.
#[test]
fn a_place_is_not_claimed_below_one_that_is_freed() {
    let scenario = Scenario {
        before: vec![],
        threads: vec![vec![Insert(2)], vec![Insert(1), RemoveMin()]],
        after: vec![RemoveMin()],
    };
    let check = check::<FineStmHeap>().scenario(scenario).search(Search::Preemptions(2));
    let report = check.time_limit(Duration::from_secs(300)).report();
    assert!(report.counterexample.is_none() && report.coverage.least_bound >= Some(2), "{report}");
}

/// A check with up to three threads.
fn three<O: Object>() -> Check<O> {
    check::<O>().threads(3)
}

/// Something is wrong with it; on an idle machine it takes a second or two at most.
#[track_caller]
fn caught<O: Object>(check: Check<O>) {
    let report = check.after(1).time_limit(Duration::from_secs(120)).report();
    let counterexample = report.counterexample.expect("it is broken");
    println!("{counterexample}\nafter {} executions, {:?}", report.coverage.executions, report.elapsed);
}

#[test]
fn coarse_heap() {
    passes(check::<CoarseHeap>().arguments(queue()));
    caught(three::<CoarseHeap<u32, LATE_LENGTH>>().arguments(queue()));
}

#[test]
fn change_key() {
    let operations = || vec![Insert(1), ChangeKey(1, 2), ChangeKey(2, 1), RemoveMin()];
    passes(check::<CoarseHeap>().arguments(operations()));
    passes(check::<NaiveStmHeap>().arguments(operations()));
}

#[test]
fn hunt_heap() {
    passes(check::<HuntHeap>().arguments(queue()));
    caught(three::<HuntHeap<u32, PUBLISHED>>().arguments(queue()));
}

/// The run that the file tells of: two elements are enough, and three operations.
#[test]
fn the_published_hunt_heap_is_not_linearizable() {
    let scenario = Scenario {
        before: vec![],
        threads: vec![vec![Insert(1), Insert(2)], vec![RemoveMin()]],
        after: vec![],
    };
    let report = check::<HuntHeap<u32, PUBLISHED>>().scenario(scenario.clone()).report();
    let text = report.counterexample.expect("it is broken").to_string();
    assert!(text.contains("insert(1), insert(2), remove_min() → Some(2)"), "{text}");
    assert!(check::<HuntHeap>().scenario(scenario).report().holds());
}

/// A 2 on its way is swapped up by a removal, under the 3 that the removal put above it.
#[test]
fn elements_that_arrive_too_early() {
    fn scenario() -> Scenario<PriorityQueue> {
        Scenario {
            before: vec![Insert(1), Insert(3), Insert(4)],
            threads: vec![vec![Insert(2)], vec![Insert(5), RemoveMin()]],
            after: vec![RemoveMin(), RemoveMin()],
        }
    }
    assert!(check::<HuntHeap>().scenario(scenario()).report().holds());
    caught(three::<HuntHeap<u32, COUNTS_AS_ARRIVED>>().scenario(scenario()));
}

#[test]
fn sundell_tsigas() {
    passes(check::<sundell_tsigas::Explored>().arguments(queue()));
    caught(three::<sundell_tsigas::Explored<TAKE_LAST_BY_STORE>>().arguments(queue()));
    caught(three::<sundell_tsigas::Explored<LAST_UNMARKED>>().arguments(queue()));
}

#[test]
fn naive_stm_heap() {
    passes(check::<NaiveStmHeap>().arguments(queue()));
    let scenario = Scenario {
        before: vec![Insert(1)],
        threads: vec![vec![RemoveMin()], vec![RemoveMin(), Insert(2)]],
        after: vec![RemoveMin()],
    };
    caught(three::<NaiveStmHeap<u32, FAST_LAST>>().scenario(scenario));
}

#[test]
fn fine_stm_heap() {
    passes(check::<FineStmHeap>().arguments(queue()));
    caught(three::<FineStmHeap<u32, PEAK_STOPS_AT_DIRTY>>().arguments(queue()));
    caught(three::<FineStmHeap<u32, PLACE_LOOKS_UP_ONLY>>().arguments(queue()));
}

#[test]
fn lock_coupling_list() {
    passes(check::<lock_coupling_list::Explored>());
    caught(three::<lock_coupling_list::Explored<{ lock_coupling_list::REMOVE_BEHIND_ITS_BACK }>>());
}

#[test]
fn harris_michael_list() {
    passes(check::<harris_michael_list::Explored>());
    caught(three::<harris_michael_list::Explored<{ harris_michael_list::LAST_UNMARKED }>>());
}

/// A stripe grows at its third key, so these are of one stripe.
#[test]
fn striped_hash_set() {
    passes(check::<StripedHashSet>());
    let one = |key: &u32| (u64::from(*key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).is_multiple_of(4);
    let keys: Vec<u32> = (0..).filter(one).take(4).collect();
    let operations = keys.iter().flat_map(|&key| [SetOp::Add(key), SetOp::Contains(key)]);
    let check = check::<StripedHashSet<u32, STALE_BUCKET>>().arguments(operations.collect::<Vec<_>>());
    caught(check.before(2).threads(2));
}

#[test]
fn a_forgotten_lock_is_a_data_race() {
    passes(check::<BitSet>());
    let report = three::<BitSet<LOOKS_WITHOUT_LOCK>>().after(1).report();
    let found = report.counterexample.expect("the word is read while it is written");
    assert!(found.headline.contains("data race"), "{}", found.headline);
}
