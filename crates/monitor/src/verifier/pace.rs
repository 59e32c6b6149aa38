//! How often the rings are looked at, and what is done now and then beside that.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crate::drain::{Drain, Round};
use crate::monitor::Shared;

/// How often to look, and what is done now and then.
pub(super) struct Pace {
    /// Words a thread that are worth a round at once.
    enough: usize,
    /// Rounds in a row that found nothing.
    idle: u32,
    line: bool,
    shown: Instant,
    budget: Option<f64>,
    checked: Instant,
    /// Words at the last look at the budget.
    words: u64,
    all_words: u64,
}

/// What logging a word costs the program, about.
const NANOSECONDS_A_WORD: f64 = 3.0;

impl Pace {
    pub fn new(ring_words: usize, line: bool, budget: Option<f64>) -> Pace {
        let line = line && std::io::stderr().is_terminal();
        let now = Instant::now();
        Pace {
            enough: ring_words / 8,
            idle: 0,
            line,
            shown: now,
            budget,
            checked: now,
            words: 0,
            all_words: 0,
        }
    }

    pub fn round(&mut self, round: Round, shared: &Shared, drain: &Drain) {
        self.all_words += round.words as u64;
        // Looking often is what costs the application most: each look takes the counters and the rings' ends
        // away from its processors.
        let more = round.held && round.words > 0;
        if !more && round.words < self.enough * round.threads.max(1) {
            self.idle = if round.words > 0 { 0 } else { self.idle + 1 };
            std::thread::sleep(Duration::from_micros(if self.idle < 1000 { 200 } else { 2000 }));
        }
        if self.line && self.shown.elapsed() >= Duration::from_secs(1) {
            self.shown = Instant::now();
            use std::io::Write;
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", shared.gauges.read().line());
        }
        if let Some(budget) = self.budget
            && self.checked.elapsed() >= Duration::from_millis(100)
        {
            self.spare(budget, round.threads, drain);
        }
    }

    /// Turns off the busiest object if logging took more than its share.
    fn spare(&mut self, budget: f64, threads: usize, drain: &Drain) {
        let spent = (self.all_words - self.words) as f64 * NANOSECONDS_A_WORD;
        let had = self.checked.elapsed().as_nanos() as f64 * threads.max(1) as f64;
        self.words = self.all_words;
        self.checked = Instant::now();
        if spent > budget * had
            && let Some(busiest) =
                drain.watched().filter(|watched| watched.is_on()).max_by_key(|watched| watched.recent())
        {
            busiest.turn_off();
        }
        drain.watched().for_each(|watched| watched.forget_recent());
    }
}
