//! Claims inside explorations.

use linpoint::sync::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint::{Search, Var, tressa};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Number(u32);

#[linpoint::spec]
impl Number {
    fn add(&mut self) {
        self.0 += 1;
    }

    fn get(&mut self) -> u32 {
        self.0
    }
}

/// A counter that is right. `WRONG`: it claims that nobody comes between its load and its store.
#[derive(Default)]
struct Counter<const WRONG: bool>(AtomicU32);

#[linpoint::object(spec = Number)]
impl<const WRONG: bool> Counter<WRONG> {
    fn add(&self) {
        let done = Var::new(false);
        loop {
            let seen = self.0.load(SeqCst);
            if WRONG {
                tressa!(First(self.0, Wr, { all }) == seen + 1 && Exit(done));
            } else {
                tressa!(First(self.0, Wr, { all }) > seen && Exit(done));
            }
            done.set(self.0.compare_exchange(seen, seen + 1, SeqCst, SeqCst).is_ok());
            if done.get() {
                return;
            }
        }
    }

    fn get(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

#[test]
fn a_false_claim_is_caught_and_shown() {
    let check = || linpoint::check::<Counter<true>>().threads(2).ops(1);
    let report = check().report();
    let counterexample = report.counterexample.expect("another may come between");
    println!("{counterexample}");
    let text = counterexample.to_string();
    assert!(counterexample.headline.starts_with("a claim is false"), "{text}");
    assert!(text.contains("so it is false") && text.contains("seen + 1"), "{text}");
    assert!(counterexample.rechecked);
    let again = check().replay_report(&counterexample.token).unwrap();
    assert_eq!(again.counterexample.expect("it replays").headline, counterexample.headline);
}

#[test]
fn a_true_claim_holds_by_every_search() {
    for search in [Search::Auto, Search::Dfs, Search::Dpor, Search::RaceReversal] {
        let report = linpoint::check::<Counter<false>>().threads(2).ops(1).search(search).report();
        println!("{report}");
        assert!(report.holds(), "{report}");
        assert!(report.coverage.claims.held > 0);
        assert_eq!(report.coverage.claims.made, report.coverage.claims.held);
    }
}

/// Where the plain part of a claim is true, nothing waits for the end of the procedure; where it is false, that end is a step.
#[test]
fn a_claim_that_makes_the_end_of_a_procedure_a_step() {
    let body = || {
        let cells: [AtomicU32; 3] = Default::default();
        let [a, b, c] = &cells;
        linpoint::thread::scope(|scope| {
            scope.spawn(move || {
                let _procedure = linpoint::procedure();
                a.fetch_add(1, SeqCst);
                c.load(SeqCst);
                tressa!(Exit(b) == 1 ==> a.load(SeqCst) == 1);
                c.store(2, SeqCst);
            });
            scope.spawn(move || {
                let _procedure = linpoint::procedure();
                let done = Var::new(0u32);
                b.store(2, SeqCst);
                a.store(0, SeqCst);
                tressa!(Exit(done) == 1 ==> a.load(SeqCst) == a.load(SeqCst));
                b.fetch_add(1, SeqCst);
            });
        });
    };
    for search in [Search::Auto, Search::RaceReversal, Search::Dpor, Search::Dfs] {
        let explored = linpoint::exploration().search(search).report(body);
        assert_eq!(explored.verdict(), "holds", "{search:?}: {explored}");
    }
}
