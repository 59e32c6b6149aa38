//! What a check found, and exactly what it covered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::claims::Claims;
use crate::counterexample::FailingRun;
use crate::linearize::Criterion;
use crate::memory::{Memory, PLAIN_MEMORY};
use crate::plan::Reached;
use crate::promise::Promise;
use crate::scenario::Size;
use crate::verdict::{Verdict, verdict};

/// The result of a check.
#[derive(Debug)]
#[must_use = "a report may say `violated` or `unknown`: look at it, or call `run`, which panics"]
pub struct Report {
    /// What was covered.
    pub coverage: Coverage,
    /// How long it took.
    pub elapsed: Duration,
    /// What is wrong, if anything was found.
    pub counterexample: Option<FailingRun>,
}

impl Report {
    /// Was every schedule of every scenario within the size explored, with nothing wrong? Only then does the property
    /// hold, within those scenarios and under sequential consistency.
    pub fn holds(&self) -> bool {
        self.verdict().holds()
    }

    /// Holds, violated or unknown, and why.
    pub fn verdict(&self) -> Verdict<'_, Coverage> {
        verdict(self.counterexample.as_ref(), &self.coverage, self.coverage.is_whole())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.counterexample {
            Some(counterexample) => write!(f, "{counterexample}"),
            None => {
                write!(f, "{}: {}", self.verdict().kind(), self.coverage)?;
                if self.coverage.claims.made > 0 {
                    write!(f, "\n{}", self.coverage.claims)?;
                }
                f.write_str(&unwatched_line(self.coverage.unwatched))?;
                Ok(())
            }
        }
    }
}

/// What is put into words only when it is shown: for a small scenario that takes as long as several executions.
#[derive(Clone, Default)]
struct Words(Option<Arc<dyn fmt::Display + Send + Sync>>);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |words| words.fmt(f))
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// What was explored and what was not.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    size: Words,
    criterion: Criterion,
    /// What memory may do. Under a weak model executions are execution graphs.
    pub memory: Memory,
    /// Executions made, those cut short included.
    pub executions: u64,
    /// Scenarios there are within the size.
    pub scenarios: usize,
    /// Scenarios of which every schedule was explored.
    pub complete: usize,
    /// Scenarios not even begun.
    pub untouched: usize,
    /// For those begun and not completed: the lowest bound on preemptions up to which every schedule was explored.
    pub least_bound: Option<u32>,
    /// Histories, up to what cannot be told apart, that were asked about.
    pub questions: usize,
    /// States met, where states were compared.
    pub states: usize,
    /// What became of the claims in these executions.
    pub claims: Claims,
    /// Scenarios begun and not completed, by the bound on preemptions up to which every schedule was explored.
    bounds: BTreeMap<Option<u32>, usize>,
    /// About which part of the reduced searches of those was done, on average.
    progress: Option<f64>,
    /// Schedules drawn at random.
    random: u64,
    /// How many failures without a reason there could be in an execution.
    pub spurious: u32,
    /// Did a thread that went round a loop have to let others go first? Then schedules are fair ones.
    pub fair: bool,
    /// Executions that freed memory and could not be watched for uses of it after that. Where [`crate::Heap`] is not the
    /// allocator none is watched, and none is counted here.
    pub unwatched: u64,
    listing_cut: bool,
    /// What was to be covered.
    pub(crate) promise: Promise,
    /// Where not all was: the largest size within which it was, and how many scenarios that has.
    pub(crate) kept: Option<(Size, usize)>,
    /// By scenario, how far it came; nothing if it was not begun.
    reached: Vec<Option<Reached>>,
}

impl Coverage {
    pub(crate) fn new(size: Arc<dyn fmt::Display + Send + Sync>, criterion: Criterion) -> Coverage {
        Coverage { size: Words(Some(size)), criterion, ..Coverage::default() }
    }

    /// Every schedule of every scenario?
    pub fn is_whole(&self) -> bool {
        !self.listing_cut && self.scenarios > 0 && self.complete == self.scenarios
    }

    /// Was everything covered that was asked for: every schedule of every scenario, or, where the search has a bound on
    /// preemptions, every schedule within it? A random search never covers anything for sure.
    pub fn is_kept(&self) -> bool {
        let all = !self.listing_cut && self.scenarios > 0 && self.untouched == 0;
        all && self.promise != Promise::Nothing && (0..self.scenarios).all(|index| self.has_kept(index))
    }

    /// Was everything covered of a scenario?
    pub(crate) fn has_kept(&self, index: usize) -> bool {
        self.reached_of(index).is_some_and(|reached| match self.promise {
            Promise::EverySchedule | Promise::Nothing => reached.complete,
            Promise::Preemptions(bound) => reached.complete || reached.bound >= Some(bound),
        })
    }

    /// The bound on preemptions up to which every schedule of every scenario was explored.
    pub(crate) fn bound_of_all(&self) -> Option<u32> {
        let all = !self.listing_cut && self.untouched == 0 && !self.bounds.contains_key(&None);
        self.least_bound.filter(|_| all && self.promise == Promise::EverySchedule)
    }

    pub(crate) fn listing_was_cut(&mut self) {
        self.listing_cut = true;
    }

    pub(crate) fn note_runs(&mut self, reached: &[(usize, Reached)]) {
        for (_, reached) in reached {
            self.executions += reached.runs;
            self.fair |= reached.fair;
            self.unwatched += reached.unwatched;
            self.claims.merge(&reached.claims);
        }
    }

    pub(crate) fn note(&mut self, reached: &[(usize, Reached)]) {
        self.note_runs(reached);
        for (index, now) in reached {
            if self.reached.len() <= *index {
                self.reached.resize(*index + 1, None);
            }
            let known = self.reached[*index].get_or_insert_default();
            known.complete |= now.complete;
            known.bound = known.bound.max(now.bound);
            known.exhausted |= now.exhausted;
            known.progress = now.progress.or(known.progress);
            self.random += now.random;
            known.states = known.states.max(now.states);
            known.questions = known.questions.max(now.questions);
        }
    }

    /// Is there nothing more to do for a scenario?
    pub(crate) fn is_done(&self, index: usize) -> bool {
        self.reached_of(index).is_some_and(|reached| reached.complete || reached.exhausted)
    }

    fn reached_of(&self, index: usize) -> Option<&Reached> {
        self.reached.get(index)?.as_ref()
    }

    pub(crate) fn finish(&mut self, scenarios: usize) {
        self.scenarios = scenarios;
        let begun = || self.reached.iter().flatten();
        self.complete = begun().filter(|reached| reached.complete).count();
        self.untouched = scenarios - begun().count();
        self.questions = begun().map(|reached| reached.questions).sum();
        self.states = begun().map(|reached| reached.states).sum();
        let mut guesses = Vec::new();
        for reached in self.reached.iter().flatten().filter(|reached| !reached.complete) {
            *self.bounds.entry(reached.bound).or_default() += 1;
            guesses.extend(reached.progress);
        }
        self.least_bound = self.bounds.keys().next().copied().flatten();
        let count = guesses.len() as f64;
        self.progress = (!guesses.is_empty()).then(|| guesses.into_iter().sum::<f64>() / count);
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adjective = self.criterion.adjective();
        let every = match self.memory {
            Memory::Rc11 => "every execution",
            Memory::Sc if self.fair => "every fair schedule",
            Memory::Sc => "every schedule",
        };
        if self.is_whole() && self.memory != Memory::Sc {
            return write!(
                f,
                "{adjective} for every client in every execution of all {} scenarios ({}), {}{}; {} executions{PLAIN_MEMORY}",
                self.scenarios,
                self.size,
                self.memory,
                whims(self.spurious),
                self.executions
            );
        }
        if self.is_whole() {
            return write!(
                f,
                "{adjective} under {every} of all {} scenarios ({}), memory sequentially consistent{}; {} executions",
                self.scenarios,
                self.size,
                whims(self.spurious),
                self.executions
            );
        }
        write!(
            f,
            "nothing wrong in {} executions; of {} scenarios ({}): {every} of {}",
            self.executions, self.scenarios, self.size, self.complete
        )?;
        for (bound, count) in self.bounds.iter().rev() {
            match bound {
                Some(bound) => {
                    write!(f, ", {every} with at most {bound} preemptions of {count} more")?;
                }
                None if self.random > 0 => {
                    write!(f, ", {} random schedules of {count} more", self.random)?;
                }
                None => write!(f, ", some schedules of {count} more")?,
            }
        }
        if let Some(part) = self.progress {
            write!(f, " (by a rough guess {:.2} % of the traces of those not done)", part * 100.0)?;
        }
        if self.untouched > 0 {
            write!(f, ", {} not begun", self.untouched)?;
        }
        if self.listing_cut {
            write!(f, "; larger scenarios were not listed")?;
        }
        if self.memory != Memory::Sc {
            write!(f, "; {}", self.memory)?;
        }
        write!(f, "{}", whims(self.spurious))
    }
}

/// What is to be said where freed memory was not watched, as a line of its own; nothing where it was.
pub(crate) fn unwatched_line(executions: u64) -> String {
    if !linpoint_sched::Heap::is_installed() {
        return String::from(
            "\nfreed memory was not watched; it is with \
             #[global_allocator] static HEAP: linpoint::Heap = linpoint::Heap::new();",
        );
    }
    match executions {
        0 => String::new(),
        1 => String::from("\nfreed memory was not watched in 1 execution"),
        many => format!("\nfreed memory was not watched in {many} executions"),
    }
}

/// How many failures without a reason there could be, in words; nothing where there could be none.
pub(crate) fn whims(spurious: u32) -> String {
    match spurious {
        0 => String::new(),
        1 => String::from(", at most 1 failure without a reason in an execution"),
        most => format!(", at most {most} failures without a reason in an execution"),
    }
}

/// The same as a note beside a counterexample.
pub(crate) fn whims_note(spurious: u32) -> Option<String> {
    (spurious > 0).then(|| format!("allowed{}", whims(spurious).replacen(',', ":", 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_finished_is_said() {
        let mut coverage = Coverage::new(Arc::new("3 threads"), Criterion::Linearizability);
        let done = Reached { runs: 10, complete: true, ..Reached::default() };
        let bounded = |bound| Reached { runs: 100, bound, progress: Some(0.5), ..Reached::default() };
        coverage.note(&[(0, done), (1, bounded(Some(2))), (2, bounded(Some(2))), (3, bounded(None))]);
        coverage.finish(6);
        assert_eq!(
            coverage.to_string(),
            "nothing wrong in 310 executions; of 6 scenarios (3 threads): every schedule of 1, every schedule with at \
             most 2 preemptions of 2 more, some schedules of 1 more (by a rough guess 50.00 % of the traces of those not \
             done), 2 not begun"
        );
        coverage.spurious = 2;
        let shown = coverage.to_string();
        assert!(
            shown.ends_with("2 not begun, at most 2 failures without a reason in an execution"),
            "{shown}"
        );
        assert_eq!(coverage.least_bound, None);
        assert!(!coverage.is_whole());
    }
}
