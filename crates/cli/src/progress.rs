//! A line on standard error while long work goes on, where that is a terminal.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use linpoint_check::Watch;

/// A line that shows itself after a moment, and only to a person.
pub struct Progress {
    bar: ProgressBar,
    reading: AtomicBool,
}

impl Progress {
    /// For the work on `file`.
    pub fn new(file: &str) -> Progress {
        let bar =
            if std::io::stderr().is_terminal() { ProgressBar::no_length() } else { ProgressBar::hidden() };
        let style =
            ProgressStyle::with_template("{prefix}: {msg} {human_pos} operations ({elapsed}) {wide_bar}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(file.to_owned());
        bar.set_message("reading");
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress { bar, reading: AtomicBool::new(true) }
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Progress {
    fn read(&self, rows: u64) {
        self.bar.set_position(rows);
    }

    fn explained(&self, returns: u64, of: u64) {
        if self.reading.swap(false, Ordering::Relaxed) {
            self.bar.set_length(of);
            self.bar.set_message("explained");
        }
        self.bar.set_position(returns);
    }
}
