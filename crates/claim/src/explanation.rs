//! The values behind a failed claim.

use std::fmt::Debug;

use crate::term::{Status, Term};
use crate::{Site, TermValue};

/// Collects the terms of a failed claim with their values; the claim itself tells them, since it alone knows
/// their types.
pub struct Explanation<'a> {
    site: &'static Site,
    made_at: u64,
    known: &'a [Term],
    pub(crate) terms: Vec<TermValue>,
}

impl Explanation<'_> {
    pub(crate) fn new<'a>(site: &'static Site, made_at: u64, known: &'a [Term]) -> Explanation<'a> {
        Explanation { site, made_at, known, terms: Vec::new() }
    }

    /// A `First`, `Last` or `Exit` term, by number, with its value.
    pub fn term(&mut self, index: u32, value: &dyn Debug) {
        let (seen_at, fixed_at) = match self.known.get(index as usize).map(|term| term.status) {
            Some(Status::Fixed { seen, at }) => (seen.at, at),
            _ => (self.made_at, self.made_at),
        };
        let text = self.site.terms.get(index as usize).copied().unwrap_or("a term");
        self.push(text, format!("{value:?}"), seen_at, fixed_at);
    }

    /// A plain term, read when the claim was made.
    pub fn plain(&mut self, text: &'static str, value: String) {
        self.push(text, value, self.made_at, self.made_at);
    }

    fn push(&mut self, text: &'static str, value: String, seen_at: u64, fixed_at: u64) {
        if !self.terms.iter().any(|term| term.text == text && term.value == value) {
            self.terms.push(TermValue { text, value, seen_at, fixed_at });
        }
    }
}
