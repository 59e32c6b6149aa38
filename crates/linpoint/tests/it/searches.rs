//! Every search that claims completeness comes to the same verdict.

use std::time::Duration;

use linpoint::sync::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint::{Object, Scenario, Search, check, tressa};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Sum(u32);

#[linpoint::spec]
impl Sum {
    fn add(&mut self, amount: u32) {
        self.0 += amount;
    }

    fn read(&mut self) -> u32 {
        self.0
    }
}

/// Adds to one of two cells and reads them one after the other: the sum of two cells is no counter (a reader may
/// see the later of two additions and miss the earlier).
#[derive(Debug, Default)]
struct TwoCells([AtomicU32; 2]);

#[linpoint::object(spec = Sum)]
impl TwoCells {
    fn add(&self, amount: u32) {
        self.0[amount as usize % 2].fetch_add(amount, SeqCst);
    }

    fn read(&self) -> u32 {
        self.0[0].load(SeqCst) + self.0[1].load(SeqCst)
    }
}

/// The same, with a claim between the reads that is always true and looks at both cells.
#[derive(Debug, Default)]
struct ClaimingCells([AtomicU32; 2]);

#[linpoint::object(spec = Sum)]
impl ClaimingCells {
    fn add(&self, amount: u32) {
        self.0[amount as usize % 2].fetch_add(amount, SeqCst);
    }

    fn read(&self) -> u32 {
        let [first, second] = &self.0;
        let seen = first.load(SeqCst);
        tressa!(second.load(SeqCst) < 100 && seen <= first.load(SeqCst));
        seen + second.load(SeqCst)
    }
}

/// One cell.
#[derive(Debug, Default)]
struct OneCell(AtomicU32);

#[linpoint::object(spec = Sum)]
impl OneCell {
    fn add(&self, amount: u32) {
        self.0.fetch_add(amount, SeqCst);
    }

    fn read(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

/// Adds by load and store.
#[derive(Debug, Default)]
struct Racy(AtomicU32);

#[linpoint::object(spec = Sum)]
impl Racy {
    fn add(&self, amount: u32) {
        let seen = self.0.load(SeqCst);
        self.0.store(seen + amount, SeqCst);
    }

    fn read(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

const SEARCHES: [Search; 4] = [Search::Auto, Search::Dfs, Search::Dpor, Search::RaceReversal];

#[track_caller]
fn verdicts<O: Object>(searches: &[Search], expect: &str) {
    for &search in searches {
        let report = check::<O>()
            .threads(3)
            .ops(1)
            .after(0)
            .search(search)
            .time_limit(Duration::from_secs(60))
            .report();
        assert_eq!(report.verdict(), expect, "{search:?}: {report}");
    }
}

#[track_caller]
fn all_verdicts<O: Object>(expect: &str) {
    verdicts::<O>(&SEARCHES, expect);
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    verdicts::<O>(&[Search::States], expect);
}

#[test]
fn one_cell_holds() {
    all_verdicts::<OneCell>("holds");
}

#[test]
fn two_cells_are_caught() {
    all_verdicts::<TwoCells>("violated");
}

#[test]
fn claims_hide_no_history() {
    verdicts::<ClaimingCells>(&SEARCHES, "violated");
}

#[test]
fn load_and_store_are_caught() {
    all_verdicts::<Racy>("violated");
}

/// One scenario, searched by one worker and by several: as many schedules, and the same verdict.
#[test]
fn a_single_scenario_is_shared() {
    use SumOp::{Add, Read};
    let scenario = || Scenario {
        before: vec![],
        threads: vec![vec![Add(1), Read()], vec![Add(2)], vec![Read()]],
        after: vec![],
    };
    for search in [Search::Dfs, Search::Preemptions(2), Search::BoundedDfs(1)] {
        let report =
            |workers| check::<OneCell>().scenario(scenario()).search(search).workers(workers).report();
        let (one, four) = (report(1), report(4));
        assert_eq!(one.coverage.executions, four.coverage.executions, "{search:?}");
        assert_eq!(one.to_string(), four.to_string());
        let broken = check::<Racy>().scenario(scenario()).search(Search::Dfs).workers(4).report();
        assert_eq!(broken.verdict(), "violated");
    }
}

#[test]
fn random_schedules_are_no_proof() {
    for search in [Search::RandomWalk, Search::UniformWalk, Search::Pct(3)] {
        let limit = Duration::from_millis(100);
        let report = check::<OneCell>().threads(2).ops(1).search(search).time_limit(limit).report();
        assert_eq!(report.verdict(), "unknown");
        assert!(report.to_string().contains("random schedules of"), "{report}");
        let report = check::<Racy>().threads(2).ops(1).search(search).report();
        assert_eq!(report.verdict(), "violated", "{search:?}: {report}");
    }
}

/// Sets a flag once; who set it is told so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Once(bool);

#[linpoint::spec]
impl Once {
    fn set(&mut self) -> bool {
        !std::mem::replace(&mut self.0, true)
    }
}

/// With an exchange that may fail without a reason, tried once, or until it fails with one.
#[derive(Debug, Default)]
struct WeakOnce<const PATIENT: bool>(AtomicU32);

#[linpoint::object(spec = Once)]
impl<const PATIENT: bool> WeakOnce<PATIENT> {
    fn set(&self) -> bool {
        loop {
            match self.0.compare_exchange_weak(0, 1, SeqCst, SeqCst) {
                Ok(_) => return true,
                Err(0) if PATIENT => {}
                Err(_) => return false,
            }
        }
    }
}

#[test]
fn failures_without_a_reason_are_explored_where_asked_for() {
    let report = check::<WeakOnce<false>>().threads(2).report();
    assert_eq!(report.verdict(), "holds", "{report}");
    assert!(!report.to_string().contains("without a reason"), "{report}");
    let report = check::<WeakOnce<true>>().threads(2).spurious(2).report();
    assert_eq!(report.verdict(), "holds", "{report}");
    assert!(report.to_string().contains("at most 2 failures without a reason in an execution"), "{report}");
    let checked = || check::<WeakOnce<false>>().threads(2).spurious(1);
    let report = checked().report();
    let found = report.counterexample.expect("it may fail, and then nobody has set it");
    let shown = found.to_string();
    assert!(shown.starts_with("not linearizable") && shown.contains("whim"), "{shown}");
    assert!(shown.contains("at most 1 failure without a reason in an execution"), "{shown}");
    let again = checked().replay_report(&found.token).unwrap();
    assert_eq!(again.counterexample.expect("it replays").headline, found.headline);
}
