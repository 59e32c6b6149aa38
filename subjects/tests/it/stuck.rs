//! Runs that get stuck: operations that never return are ended and written as pending, and the history so far is judged.

use std::time::Duration;

use linpoint::sync::Mutex;
use linpoint::sync::atomic::{AtomicU32, Ordering};
use linpoint_check::{Options, check_rows};
use linpoint_history::Verdict;
use linpoint_monitor::{Conclusion, Monitor};
use linpoint_subjects::priority::PriorityQueue;
use linpoint_subjects::priority::coarse_heap::CoarseHeap;
use linpoint_subjects::record::{Load, Target, record, stuck, watch};
use linpoint_subjects::stall::Stall;

/// A queue whose removals wait for something that never happens once `patient` of them were made.
struct Sticky {
    queue: CoarseHeap,
    removals: AtomicU32,
    patient: u32,
    lock: Mutex<()>,
    /// Does a removal answer wrongly before?
    lies: bool,
}

impl PriorityQueue for Sticky {
    fn insert(&self, priority: u32) {
        let _locked = self.lock.lock();
        self.queue.insert(priority);
    }

    fn remove_min(&self) -> Option<u32> {
        let removal = self.removals.fetch_add(1, Ordering::SeqCst);
        if self.lies && removal + 1 == self.patient {
            return Some(u32::MAX >> 1);
        }
        if removal >= self.patient {
            while self.removals.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
        }
        let _locked = self.lock.lock();
        self.queue.remove_min()
    }
}

fn sticky(patient: u32, lies: bool) -> Target {
    let (removals, lock) = (AtomicU32::new(0), Mutex::new(()));
    Target::Queue(Box::new(Sticky { queue: CoarseHeap::new(), removals, patient, lock, lies }))
}

fn load() -> Load {
    Load { threads: 3, operations: 600, patience: Duration::from_millis(300), ..Load::default() }
}

#[track_caller]
fn check(target: &Target, load: &Load) -> (usize, Verdict) {
    let mut history = record(target, load);
    let stuck = stuck(&history);
    let rows = std::mem::take(&mut history.operations);
    let answer = check_rows(rows, &target.spec(), &mut history.symbols, &Options::default());
    (stuck, answer.expect("a history").verdict)
}

#[test]
fn what_never_returns_is_pending() {
    let stall = Stall { site: None, chance: 0.05, returns: 4 };
    for load in [load(), Load { stall: Some(stall), ..load() }] {
        let (stuck, verdict) = check(&sticky(20, false), &load);
        assert_eq!(stuck, 3, "every thread comes to a removal in the end");
        assert!(matches!(verdict, Verdict::Holds(_)), "{verdict:?}");
    }
    // Each of a thread's clients has a call that was taken, and the thread is stuck in one of them.
    let (stuck, verdict) = check(&sticky(20, false), &Load { clients: 4, ..load() });
    assert!((3..=12).contains(&stuck), "{stuck}");
    assert!(matches!(verdict, Verdict::Holds(_)), "{verdict:?}");
}

#[test]
fn what_came_before_is_judged() {
    let (stuck, verdict) = check(&sticky(20, true), &load());
    assert_eq!(stuck, 3);
    let Verdict::Violated(example) = verdict else { panic!("{verdict:?}") };
    assert!(example.rechecked && example.core.len() == 1, "{example:?}");
}

#[test]
fn a_run_that_moves_is_not_given_up() {
    let (stuck, verdict) = check(&sticky(u32::MAX, false), &load());
    assert_eq!(stuck, 0);
    assert!(matches!(verdict, Verdict::Holds(_)), "{verdict:?}");
}

#[test]
fn online() {
    let monitor = Monitor::start().expect("a monitor");
    watch(&sticky(20, false), &load(), &monitor).expect("room for an object");
    let report = monitor.finish();
    assert_ne!(report.conclusion(), Conclusion::Violated, "{report}");
    assert!(report.operations() >= 20, "{report}");
}
