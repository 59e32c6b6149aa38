//! `run` passes only if what it promised was covered, and says which smaller promise was kept.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use linpoint::sync::Arc;
use linpoint::sync::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint::{Search, check, exploration, thread};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Number(u32);

#[linpoint::spec]
impl Number {
    fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

#[derive(Default)]
struct Counter(AtomicU32);

#[linpoint::object(spec = Number)]
impl Counter {
    fn next(&self) -> u32 {
        loop {
            let seen = self.0.load(SeqCst);
            if self.0.compare_exchange(seen, seen + 1, SeqCst, SeqCst).is_ok() {
                return seen + 1;
            }
        }
    }
}

/// What `body` panics with.
#[track_caller]
fn fails<T>(body: impl FnOnce() -> T) -> String {
    let payload = catch_unwind(AssertUnwindSafe(body)).err().expect("it promised more than it covered");
    payload.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn a_check_that_is_done_passes() {
    let coverage = check::<Counter>().threads(2).ops(2).run();
    assert!(coverage.is_whole() && coverage.is_kept());
    let coverage = check::<Counter>().threads(2).ops(2).search(Search::Preemptions(1)).run();
    assert!(coverage.is_kept() && !coverage.is_whole());
}

/// Many threads: more schedules than can be run, in large scenarios only.
#[test]
fn a_check_that_is_not_done_fails() {
    let large = || check::<Counter>().threads(6).ops(4).time_limit(Duration::from_secs(1));
    let text = fails(|| large().run());
    assert!(text.starts_with("unknown: nothing wrong in "), "{text}");
    assert!(text.contains("promised: every schedule of every scenario"), "{text}");
    assert!(text.contains("kept would be: .threads("), "{text}");
    assert!(text.contains(".as_far_as_it_goes()"), "{text}");
    let coverage = large().as_far_as_it_goes().run();
    assert!(!coverage.is_kept() && coverage.executions > 0);
}

#[test]
fn a_random_search_promises_nothing() {
    let random = || check::<Counter>().threads(2).ops(1).search(Search::RandomWalk);
    let random = || random().time_limit(Duration::from_secs(1));
    assert!(fails(|| random().run()).contains("a random search promises nothing"));
    assert!(!random().as_far_as_it_goes().run().is_kept());
}

#[test]
fn nothing_run_is_never_fine() {
    let nothing = || check::<Counter>().arguments([]);
    let text = fails(|| nothing().as_far_as_it_goes().run());
    assert!(text.contains("nothing was run"), "{text}");
}

/// Some threads that count.
fn count() {
    let counter = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                for _ in 0..4 {
                    counter.fetch_add(1, SeqCst);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn an_exploration_that_is_not_done_fails() {
    let few = exploration().executions(2_000);
    let text = fails(|| few.run(count));
    assert!(text.starts_with("unknown: nothing wrong in "), "{text}");
    assert!(text.contains("promised: every schedule, and that was not done"), "{text}");
    assert!(few.clone().as_far_as_it_goes().run(count).walked.runs >= 1_000);
    exploration().preemptions(0).run(count);
    let text = fails(|| exploration().search(Search::Pct(2)).executions(100).run(count));
    assert!(text.contains("a random search promises nothing"), "{text}");
    let text = fails(|| exploration().executions(0).as_far_as_it_goes().run(count));
    assert!(text.contains("nothing was run"), "{text}");
}
