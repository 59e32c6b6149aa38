//! In place of `view.rs` where the crate is built without its feature `full`: a page is the text of what was found, and
//! nothing is drawn. What draws needs crates that those who only explore can do without.

use linpoint_sched::{ThreadId, Trace};

use crate::counterexample::FailingRun;
use crate::explore::Explored;
use crate::linearize::Moment;
use crate::report::Report;
use crate::show::Bar;

/// Nothing: there is no view without the feature `full`.
#[derive(Clone, Debug, Default)]
pub struct View(());

/// What a counterexample would be drawn from.
#[allow(dead_code)]
pub(crate) struct Material<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) steps: &'a [bool],
    pub(crate) name: &'a dyn Fn(ThreadId) -> String,
    pub(crate) history: Option<(&'a [Bar], &'a [Moment])>,
    pub(crate) claim: Option<&'a linpoint_claim::Failure>,
}

impl Material<'_> {
    pub(crate) fn view(&self, _found: &FailingRun) -> View {
        View(())
    }
}

/// A page with nothing but `text`.
fn page(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!("<!doctype html><meta charset=\"utf-8\"><title>Linpoint</title><pre>{text}</pre>\n")
}

impl FailingRun {
    /// One page with its text.
    pub fn page(&self) -> String {
        page(&self.to_string())
    }
}

impl Report {
    /// One page with its text.
    pub fn page(&self) -> String {
        page(&self.to_string())
    }
}

impl Explored {
    /// One page with its text.
    pub fn page(&self) -> String {
        page(&self.to_string())
    }
}
