//! The net under the analysis: are all concrete states covered?
//!
//! Concrete states are visited breadth first, steps taken singly and in every order. Of each state, what
//! every thread that is between two steps which others can notice sees must be covered by a view; and if all
//! threads are, the whole state by a structure of the analysis of so many threads.

use rustc_hash::FxHashSet;

use crate::concrete::{Concrete, World};
use crate::run::Steps;
use crate::store::Store;

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Concrete states.
    pub states: usize,
    /// Abstractions that were looked up.
    pub asked: usize,
    /// Those that were not covered.
    pub missed: usize,
}

/// Visits concrete states, at most so many, and looks each up: in `views`, if given, thread by thread; in
/// `whole`, if given, all threads at once.
///
/// # Errors
/// A run of the program that goes wrong.
pub fn cover(
    steps: &Steps<'_, '_>,
    world: &World<'_, '_>,
    threads: usize,
    most: usize,
    views: Option<&Store<()>>,
    whole: Option<&Store<()>>,
) -> Result<Coverage, String> {
    let start = world.initial();
    let mut seen: FxHashSet<Concrete> = FxHashSet::default();
    seen.insert(start.clone());
    let mut open = std::collections::VecDeque::from([start]);
    let mut coverage = Coverage::default();
    let all: Vec<usize> = (0..threads).collect();
    while let Some(state) = open.pop_front() {
        coverage.states += 1;
        for key in world.keys() {
            let mut rests = true;
            for thread in 0..threads {
                let view = world.seen_by(&state, &[thread], key);
                if !steps.rests(&view, 0) {
                    rests = false;
                    continue;
                }
                if let Some(views) = views {
                    coverage.asked += 1;
                    coverage.missed += usize::from(!views.covers(&(), &view));
                }
            }
            if let (Some(whole), true) = (whole, rests) {
                let order = crate::symmetry::permutations(threads).unwrap_or_default();
                let s = world.seen_by(&state, &all, key);
                let covered = order
                    .iter()
                    .any(|order| whole.covers(&(), &crate::symmetry::permuted(steps.layout, &s, order)));
                coverage.asked += 1;
                coverage.missed += usize::from(!covered);
            }
        }
        if coverage.states >= most {
            break;
        }
        for next in world.successors(&state)? {
            if !seen.contains(&next) {
                seen.insert(next.clone());
                open.push_back(next);
            }
        }
    }
    Ok(coverage)
}
