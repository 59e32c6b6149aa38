//! Every schedule of a program by plain depth-first search, and what came out of it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use linpoint_sched::strategy::dpor::Dpor;
use linpoint_sched::strategy::preemption_bound::PreemptionBound;
use linpoint_sched::strategy::race_reversal::RaceReversal;
use linpoint_sched::strategy::{Strategy, dfs::Dfs};
use linpoint_sched::{Ending, Execution, Failure, Limits};

/// What all schedules of a program came to.
#[derive(Debug)]
pub struct Outcomes<T> {
    /// How many schedules gave each result.
    pub results: BTreeMap<T, usize>,
    /// How many ended in each failure, by its text.
    pub failures: BTreeMap<String, usize>,
    /// How many there are.
    pub schedules: usize,
}

impl<T: Ord + Clone> Outcomes<T> {
    /// The results alone, in order.
    pub fn set(&self) -> Vec<T> {
        self.results.keys().cloned().collect()
    }

    /// The names of the failures, in order.
    pub fn failure_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.failures.keys().filter_map(|text| text.split(':').next()).collect();
        names.dedup();
        names
    }

    /// The results, if nothing ever fails.
    #[track_caller]
    pub fn fine(&self) -> Vec<T> {
        assert!(self.failures.is_empty(), "{:?}", self.failures);
        self.set()
    }
}

/// Runs every schedule of `program`.
pub fn outcomes<T: Ord + Clone + Debug>(program: impl Fn() -> T) -> Outcomes<T> {
    outcomes_within(Limits::default(), program)
}

/// As [`outcomes`], where a panic is handed to whoever joins the thread.
pub fn outcomes_with_panics<T: Ord + Clone + Debug>(program: impl Fn() -> T) -> Outcomes<T> {
    outcomes_within(Limits { panics_fail: false, ..Limits::default() }, program)
}

/// As [`outcomes`], within other limits.
pub fn outcomes_within<T: Ord + Clone + Debug>(limits: Limits, program: impl Fn() -> T) -> Outcomes<T> {
    let slot = RefCell::new(None);
    let body = || {
        let value = program();
        *slot.borrow_mut() = Some(value);
    };
    let mut outcomes = Outcomes { results: BTreeMap::new(), failures: BTreeMap::new(), schedules: 0 };
    let mut execution = Execution::new(limits);
    let mut dfs = Dfs::new();
    loop {
        *slot.borrow_mut() = None;
        let run = execution.run(&body, &mut dfs);
        outcomes.schedules += 1;
        assert!(outcomes.schedules < 2_000_000, "too many schedules for a test");
        match &run.ending {
            Ending::Failed(failure) | Ending::Stuck(failure) => {
                *outcomes.failures.entry(failure.to_string()).or_insert(0) += 1;
            }
            Ending::Complete => {
                let value = slot.borrow_mut().take().expect("a complete run has a result");
                *outcomes.results.entry(value).or_insert(0) += 1;
            }
            Ending::Abandoned => panic!("plain search abandons nothing"),
        }
        if !dfs.advance(execution.record()) {
            return outcomes;
        }
    }
}

/// Every search that claims completeness finds what plain search finds: the same results, and the same kinds of failure.
/// Returns them.
#[track_caller]
pub fn same_by_all<T: Debug>(limits: &Limits, program: impl Fn() -> T) -> BTreeSet<String> {
    let all = found_by(limits, &mut Dfs::new(), &program);
    assert_eq!(found_by(limits, &mut Dpor::new(), &program), all, "source-DPOR");
    assert_eq!(found_by(limits, &mut RaceReversal::new(), &program), all, "race reversal");
    assert_eq!(found_by(limits, &mut PreemptionBound::new(0, u32::MAX), &program), all, "every preemption");
    all
}

/// What the runs of a strategy come to.
fn found_by<T: Debug>(
    limits: &Limits,
    strategy: &mut dyn Strategy,
    program: &dyn Fn() -> T,
) -> BTreeSet<String> {
    let slot = RefCell::new(String::new());
    let body = || {
        let value = format!("{:?}", program());
        *slot.borrow_mut() = value;
    };
    let mut execution = Execution::new(limits.clone());
    let mut found = BTreeSet::new();
    loop {
        let run = execution.run(&body, strategy);
        match &run.ending {
            Ending::Failed(failure) | Ending::Stuck(failure) => drop(found.insert(failure.name().to_owned())),
            Ending::Complete => drop(found.insert(slot.borrow().clone())),
            Ending::Abandoned => {}
        }
        if !strategy.advance(execution.record()) {
            return found;
        }
    }
}

/// The first failure that plain search finds.
pub fn first_failure(program: impl Fn()) -> Option<Failure> {
    let mut execution = Execution::new(Limits::default());
    let mut dfs = Dfs::new();
    loop {
        let run = execution.run(&program, &mut dfs);
        if let Ending::Failed(failure) | Ending::Stuck(failure) = &run.ending {
            return Some(failure.clone());
        }
        if !dfs.advance(execution.record()) {
            return None;
        }
    }
}
