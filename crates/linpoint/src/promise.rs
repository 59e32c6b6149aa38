//! What `run` promises, and whether it was kept.
//!
//! A test is green only if what it promised was covered. A check promises every schedule of every scenario within its
//! size, or every schedule with at most so many preemptions where such a search was asked for; an exploration the same of
//! its program. A random search promises nothing, so it needs the word of the user, `as_far_as_it_goes`. Where a promise
//! is broken, the largest smaller one that was kept is named.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use linpoint_sched::explore::{Covered, Search};

use crate::report::{Coverage, Report};
use crate::scenario::{Scenario, Size};
use crate::spec::Specification;

/// What a search covers when it comes to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Promise {
    /// Every schedule.
    #[default]
    EverySchedule,
    /// Every schedule with at most so many preemptions.
    Preemptions(u32),
    /// Nothing: it draws schedules at random.
    Nothing,
}

impl Promise {
    /// What `search` promises.
    pub(crate) fn of(search: Search) -> Promise {
        match search {
            Search::BoundedDfs(bound) | Search::Preemptions(bound) => Promise::Preemptions(bound),
            Search::RandomWalk | Search::UniformWalk | Search::Pct(_) => Promise::Nothing,
            Search::Auto | Search::Dfs | Search::Dpor | Search::RaceReversal | Search::States => {
                Promise::EverySchedule
            }
        }
    }

    /// Is it kept by what was covered of a program?
    pub(crate) fn is_kept(self, covered: Covered) -> bool {
        match (self, covered) {
            (Promise::Nothing, _) | (_, Covered::Some) => false,
            (_, Covered::Every) => true,
            (Promise::EverySchedule, Covered::Preemptions(_)) => false,
            (Promise::Preemptions(bound), Covered::Preemptions(done)) => done >= bound,
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Promise::EverySchedule => f.write_str("promised: every schedule"),
            Promise::Preemptions(bound) => {
                write!(f, "promised: every schedule with at most {bound} preemptions")
            }
            Promise::Nothing => f.write_str("a random search promises nothing"),
        }
    }
}

/// Why a check that found nothing wrong is not to pass; nothing if it is.
pub(crate) fn broken(report: &Report, as_far_as_it_goes: bool) -> Option<String> {
    let coverage = &report.coverage;
    if coverage.executions == 0 {
        return Some(format!(
            "{report}\nnothing was run: the object has no operations, or no time was given"
        ));
    }
    if as_far_as_it_goes || coverage.is_kept() {
        return None;
    }
    let mut text = format!("{report}\n{}", coverage.promise);
    if coverage.promise != Promise::Nothing {
        text.push_str(" of every scenario, and that was not done in the time given");
    }
    if let Some((size, count)) = coverage.kept {
        text.push_str(&format!(
            "\nkept would be: .threads({}).ops({}).before({}).after({}), {count} scenarios",
            size.threads, size.ops, size.before, size.after
        ));
    }
    if let Some(bound) = coverage.bound_of_all() {
        text.push_str(&format!("\nkept would be: .search(Search::Preemptions({bound}))"));
    }
    text.push_str(REMEDIES);
    Some(text)
}

/// What can be done where a promise is broken.
pub(crate) const REMEDIES: &str = "\nmore time: .time_limit(…), and an optimised build; to pass with what was covered: .as_far_as_it_goes()";

/// The largest size within which every scenario was done, with their number. `listed` says how many of `scenarios`, in
/// order, are done; `missing` are the sizes of what was not even listed.
pub(crate) fn largest_kept<S: Specification>(
    size: &Size,
    scenarios: &[Scenario<S>],
    coverage: &Coverage,
    missing: &[Size],
) -> Option<(Size, usize)> {
    let mut done: BTreeMap<Size, usize> = BTreeMap::new();
    let mut open: BTreeSet<Size> = missing.iter().copied().collect();
    for (index, scenario) in scenarios.iter().enumerate() {
        let size = scenario.size();
        match coverage.has_kept(index) {
            true => *done.entry(size).or_default() += 1,
            false => drop(open.insert(size)),
        }
    }
    let mut best: Option<(Size, usize)> = None;
    // What was done bounds what can have been kept, and there are few different sizes.
    let mut candidates: BTreeSet<Size> = BTreeSet::new();
    for one in done.keys() {
        for other in done.keys() {
            candidates.insert(one.meet(*other));
            candidates.insert(one.join(*other));
        }
    }
    for candidate in candidates.into_iter().filter(|one| one.threads >= size.threads.min(2)) {
        if open.iter().any(|one| one.within(candidate)) {
            continue;
        }
        let count = done.iter().filter(|(one, _)| one.within(candidate)).map(|(_, count)| count).sum();
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((candidate, count));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_search_promises() {
        let every = Promise::of(Search::Auto);
        assert!(every.is_kept(Covered::Every));
        assert!(!every.is_kept(Covered::Preemptions(7)) && !every.is_kept(Covered::Some));
        let bounded = Promise::of(Search::Preemptions(2));
        assert!(bounded.is_kept(Covered::Preemptions(2)) && bounded.is_kept(Covered::Every));
        assert!(!bounded.is_kept(Covered::Preemptions(1)) && !bounded.is_kept(Covered::Some));
        assert!(!Promise::of(Search::Pct(3)).is_kept(Covered::Some));
    }
}
