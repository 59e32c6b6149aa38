//! What a check found, and exactly what it covered.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::claims::Claims;
use crate::counterexample::Counterexample;
use crate::linearize::Criterion;
use crate::plan::Reached;

/// The result of a check.
#[derive(Debug)]
pub struct Report {
    /// What was covered.
    pub coverage: Coverage,
    /// How long it took.
    pub elapsed: Duration,
    /// What is wrong, if anything was found.
    pub counterexample: Option<Counterexample>,
}

impl Report {
    /// Was every schedule of every scenario within the size explored, with nothing wrong? Only then does the property
    /// hold, within those scenarios and under sequential consistency.
    pub fn holds(&self) -> bool {
        self.counterexample.is_none() && self.coverage.is_whole()
    }

    /// The first line says it all: `holds`, `violated` or `unknown`.
    pub fn verdict(&self) -> &'static str {
        match &self.counterexample {
            Some(_) => "violated",
            None if self.coverage.is_whole() => "holds",
            None => "unknown",
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.counterexample {
            Some(counterexample) => write!(f, "{counterexample}"),
            None => {
                write!(f, "{}: {}", self.verdict(), self.coverage)?;
                if self.coverage.claims.made > 0 {
                    write!(f, "\n{}", self.coverage.claims)?;
                }
                Ok(())
            }
        }
    }
}

/// What was explored and what was not.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    size: String,
    criterion: Criterion,
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
    listing_cut: bool,
    reached: BTreeMap<usize, Reached>,
}

impl Coverage {
    pub(crate) fn new(size: String, criterion: Criterion) -> Coverage {
        Coverage { size, criterion, ..Coverage::default() }
    }

    /// Every schedule of every scenario?
    pub fn is_whole(&self) -> bool {
        !self.listing_cut && self.scenarios > 0 && self.complete == self.scenarios
    }

    pub(crate) fn listing_was_cut(&mut self) {
        self.listing_cut = true;
    }

    pub(crate) fn note_runs(&mut self, reached: &[(usize, Reached)]) {
        for (_, reached) in reached {
            self.executions += reached.runs;
            self.claims.merge(&reached.claims);
        }
    }

    pub(crate) fn note(&mut self, reached: &[(usize, Reached)]) {
        self.note_runs(reached);
        for (index, now) in reached {
            let known = self.reached.entry(*index).or_default();
            known.complete |= now.complete;
            known.bound = known.bound.max(now.bound);
            known.exhausted |= now.exhausted;
            known.states = known.states.max(now.states);
            known.questions = known.questions.max(now.questions);
        }
    }

    /// Is there nothing more to do for a scenario?
    pub(crate) fn is_done(&self, index: usize) -> bool {
        self.reached.get(&index).is_some_and(|reached| reached.complete || reached.exhausted)
    }

    pub(crate) fn finish(&mut self, scenarios: usize) {
        self.scenarios = scenarios;
        self.complete = self.reached.values().filter(|reached| reached.complete).count();
        self.untouched = scenarios - self.reached.len();
        self.questions = self.reached.values().map(|reached| reached.questions).sum();
        self.states = self.reached.values().map(|reached| reached.states).sum();
        let bounds: Vec<Option<u32>> =
            self.reached.values().filter(|reached| !reached.complete).map(|reached| reached.bound).collect();
        self.least_bound = bounds.into_iter().min().flatten();
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adjective = self.criterion.adjective();
        if self.is_whole() {
            return write!(
                f,
                "{adjective} under every schedule of all {} scenarios ({}), memory sequentially consistent; {} executions",
                self.scenarios, self.size, self.executions
            );
        }
        let begun = self.scenarios - self.complete - self.untouched;
        write!(
            f,
            "nothing wrong in {} executions; of {} scenarios ({}): every schedule of {}",
            self.executions, self.scenarios, self.size, self.complete
        )?;
        if begun > 0 {
            match self.least_bound {
                Some(bound) => {
                    write!(f, ", every schedule with at most {bound} preemptions of {begun} more")?;
                }
                None => write!(f, ", some schedules of {begun} more")?,
            }
        }
        if self.untouched > 0 {
            write!(f, ", {} not begun", self.untouched)?;
        }
        if self.listing_cut {
            write!(f, "; larger scenarios were not listed")?;
        }
        Ok(())
    }
}
