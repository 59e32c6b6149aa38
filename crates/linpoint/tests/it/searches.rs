//! Every search that claims completeness comes to the same verdict.

use std::time::Duration;

use linpoint::sync::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint::{Object, Search, check};

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

#[track_caller]
fn verdicts<O: Object>(expect: &str) {
    let searches = [
        Search::Auto,
        Search::Dfs,
        Search::Dpor,
        Search::RaceReversal,
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        Search::States,
    ];
    for search in searches {
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

#[test]
fn one_cell_holds() {
    verdicts::<OneCell>("holds");
}

#[test]
fn two_cells_are_caught() {
    verdicts::<TwoCells>("violated");
}

#[test]
fn load_and_store_are_caught() {
    verdicts::<Racy>("violated");
}
