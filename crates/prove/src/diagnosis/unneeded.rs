//! Annotations without which a proof goes through as well.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::span::Span;

use crate::{Options, prove};

/// Longest time for all of them.
const UNNEEDED_TIME: Duration = Duration::from_secs(5);

/// An annotation that a proof does not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unneeded {
    /// The `inv` that stands here.
    Invariant(Span),
    /// The `disjoint` with this number, from one.
    Disjoint(usize),
}

/// Leaves out invariants and `disjoint` lines, each in turn, for a few seconds in all, and tries whether the
/// proof still goes through.
pub fn unneeded(program: &Program, options: &Options, left: Option<Duration>) -> Vec<Unneeded> {
    let start = Instant::now();
    let most = left.unwrap_or(Duration::MAX).min(UNNEEDED_TIME);
    let left = || most.checked_sub(start.elapsed()).filter(|left| !left.is_zero());
    let goes_through = |program: &Program| {
        let Some(time) = left() else { return false };
        let options = Options { time: Some(time), confirm: None, ..options.clone() };
        prove(program, &options, &|_, _| {}).verdict.holds()
    };
    let mut found = Vec::new();
    for index in 0..program.annotations.invariants.len() {
        let mut without = program.clone();
        let invariant = without.annotations.invariants.remove(index);
        if goes_through(&without) {
            found.push(Unneeded::Invariant(invariant.span));
        }
    }
    for index in 0..program.annotations.disjoint.len() {
        let mut without = program.clone();
        without.annotations.disjoint.remove(index);
        if goes_through(&without) {
            found.push(Unneeded::Disjoint(index + 1));
        }
    }
    found
}
