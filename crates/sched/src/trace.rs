//! A run in words: every step with its thread, its place in the source, and what it read or wrote.
//!
//! Nothing of this is gathered while exploring; the failing schedule is run once more with a recorder.

use std::panic::Location;

use crate::cycle::Cycle;
use crate::event::{Action, Intent, ThreadId};

/// A run in words.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Step by step.
    pub lines: Vec<Line>,
    /// The steps that were taken again and again, if that is why the run ended.
    pub cycle: Option<Cycle>,
}

/// One step in words.
#[derive(Clone, Debug)]
pub struct Line {
    /// Who.
    pub thread: ThreadId,
    /// What kind of step.
    pub action: Action,
    /// Where in the source.
    pub site: &'static Location<'static>,
    /// On what: its address in that run.
    pub address: usize,
    /// What it did: values read and written, one entry an access.
    pub details: Vec<String>,
}

/// Gathers a [`Trace`].
#[derive(Default)]
pub(crate) struct Recorder {
    lines: Vec<Line>,
}

impl Recorder {
    pub(crate) fn step(&mut self, thread: ThreadId, intent: &Intent) {
        self.lines.push(Line {
            thread,
            action: intent.action,
            site: intent.site,
            address: intent.address,
            details: Vec::new(),
        });
    }

    pub(crate) fn detail(&mut self, thread: ThreadId, text: String) {
        if let Some(line) = self.lines.last_mut().filter(|line| line.thread == thread) {
            line.details.push(text);
        }
    }

    pub(crate) fn finish(self) -> Trace {
        Trace { lines: self.lines, cycle: None }
    }
}
