//! How a monitor is doing: one line for a terminal, text for Prometheus, a page for a browser.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use linpoint_history::confidence;

/// Counts that the verification threads keep, and anyone may read.
#[derive(Debug)]
pub(crate) struct Gauges {
    pub(crate) started: Instant,
    pub(crate) events: AtomicU64,
    pub(crate) operations: AtomicU64,
    pub(crate) waiting: AtomicU64,
    pub(crate) room: AtomicU64,
    pub(crate) findings: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) objects: AtomicU64,
    pub(crate) unwatched: AtomicU64,
    pub(crate) threads: AtomicU64,
    pub(crate) log_bytes: AtomicU64,
}

impl Default for Gauges {
    fn default() -> Gauges {
        let zero = || AtomicU64::new(0);
        Gauges {
            started: Instant::now(),
            events: zero(),
            operations: zero(),
            waiting: zero(),
            room: zero(),
            findings: zero(),
            lost: zero(),
            objects: zero(),
            unwatched: zero(),
            threads: zero(),
            log_bytes: zero(),
        }
    }
}

impl Gauges {
    pub(crate) fn read(&self) -> Status {
        let of = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        Status {
            elapsed: self.started.elapsed(),
            events: of(&self.events),
            operations: of(&self.operations),
            waiting: of(&self.waiting),
            room: of(&self.room),
            findings: of(&self.findings),
            lost: of(&self.lost),
            objects: of(&self.objects),
            unwatched: of(&self.unwatched),
            threads: of(&self.threads),
            log_bytes: of(&self.log_bytes),
        }
    }
}

/// How a monitor is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Since it was started.
    pub elapsed: Duration,
    /// Events judged.
    pub events: u64,
    /// Operations judged.
    pub operations: u64,
    /// Events taken from the rings and not judged yet.
    pub waiting: u64,
    /// Bytes of the buffers that hold them; what values have elsewhere is not counted.
    pub room: u64,
    /// What was found, mistakes of the annotation and gaps included.
    pub findings: u64,
    /// Records that found no room.
    pub lost: u64,
    /// Objects that take part.
    pub objects: u64,
    /// Of these, how many are not logged (any more).
    pub unwatched: u64,
    /// Threads that log.
    pub threads: u64,
    /// Bytes in the log file.
    pub log_bytes: u64,
}

impl Status {
    /// Events judged a second, on average.
    pub fn rate(&self) -> f64 {
        self.events as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// One line.
    pub fn line(&self) -> String {
        let mut line = format!(
            "{:.0}s  {}/s events  {} operations checked  {} events behind",
            self.elapsed.as_secs_f64(),
            short(self.rate() as u64),
            short(self.operations),
            short(self.waiting)
        );
        if self.lost > 0 {
            let _ = write!(line, "  {} records lost", self.lost);
        }
        match self.findings {
            0 => {
                let bound = confidence::error_rate(self.operations, 0.99);
                let _ = write!(line, "  fewer than 1 error in {} (99 %)", short((1.0 / bound) as u64));
            }
            findings => {
                let _ = write!(line, "  {findings} FINDINGS");
            }
        }
        line
    }

    /// Prometheus' text form.
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        let rows: [(&str, &str, &str, u64); 10] = [
            ("events_total", "counter", "events judged", self.events),
            ("operations_total", "counter", "operations judged", self.operations),
            ("events_waiting", "gauge", "events taken from the rings and not judged yet", self.waiting),
            ("buffer_bytes", "gauge", "bytes of the buffers that hold them", self.room),
            ("findings_total", "counter", "violations, mistakes of the annotation, gaps", self.findings),
            ("records_lost_total", "counter", "records that found no room", self.lost),
            ("objects", "gauge", "objects that take part", self.objects),
            ("objects_unwatched", "gauge", "objects that are not logged", self.unwatched),
            ("threads", "gauge", "threads that log", self.threads),
            ("log_bytes_total", "counter", "bytes in the log file", self.log_bytes),
        ];
        for (name, kind, help, value) in rows {
            let _ = writeln!(
                text,
                "# HELP linpoint_{name} {help}\n# TYPE linpoint_{name} {kind}\nlinpoint_{name} {value}"
            );
        }
        let bound = confidence::error_rate(self.operations, 0.99);
        let help = "with 99 percent confidence, fewer errors than this an operation";
        let _ = writeln!(
            text,
            "# HELP linpoint_error_rate_bound {help}\n# TYPE linpoint_error_rate_bound gauge\nlinpoint_error_rate_bound {bound:e}"
        );
        text
    }
}

/// 12,345,678 as `12.3M`.
fn short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{:.1}k", number as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1}M", number as f64 / 1e6),
        _ => format!("{:.1}G", number as f64 / 1e9),
    }
}
