//! Notices an execution that stands still in a lock of somebody else's.
//!
//! The threads of a program share one OS thread. Where one of them holds a lock of std across a step and another one wants that lock,
//! the OS thread waits for itself, and no limit on time is ever looked at. So an OS thread beside those that explore looks
//! now and then whether one of them has waited for a futex for long, in the same execution and without using the processor; it says so, and
//! ends the process, for a thread that waits so cannot be called back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::execution::Execution;

/// What an OS thread that explores lets be seen.
pub(crate) struct Beat {
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    thread: i32,
    /// How many executions began and ended: odd inside one.
    turns: AtomicU64,
    /// The execution, and how many milliseconds it may stand still.
    execution: AtomicUsize,
    patience: AtomicU64,
}

impl Beat {
    /// An execution begins.
    #[inline]
    pub(crate) fn begin(&self, execution: *mut Execution, patience: Duration) {
        self.execution.store(execution.expose_provenance(), Ordering::Relaxed);
        self.patience.store(patience.as_millis() as u64, Ordering::Relaxed);
        self.turns.store(self.turns.load(Ordering::Relaxed) | 1, Ordering::Release);
    }

    /// It is over.
    #[inline]
    pub(crate) fn end(&self) {
        self.turns.store(self.turns.load(Ordering::Relaxed) + 1, Ordering::Release);
    }
}

/// That of the running OS thread, which is looked at from now on.
#[cfg(not(target_os = "linux"))]
pub(crate) fn beat() -> Arc<Beat> {
    Arc::new(Beat {
        thread: 0,
        turns: AtomicU64::new(0),
        execution: AtomicUsize::new(0),
        patience: AtomicU64::new(0),
    })
}

#[cfg(target_os = "linux")]
pub(crate) use linux::beat;

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::OnceCell;
    use std::fs::read_to_string;
    use std::io::Write;
    use std::sync::{Mutex, Once, PoisonError, Weak};
    use std::time::Instant;

    use super::{Arc, AtomicU64, AtomicUsize, Beat, Duration, Execution, Ordering};

    /// Between two looks.
    const PERIOD: Duration = Duration::from_millis(250);

    static BEATS: Mutex<Vec<Weak<Beat>>> = Mutex::new(Vec::new());

    thread_local! {
        static BEAT: OnceCell<Arc<Beat>> = const { OnceCell::new() };
    }

    /// That of the running OS thread, which is looked at from now on.
    pub(crate) fn beat() -> Arc<Beat> {
        static WATCH: Once = Once::new();
        BEAT.with(|beat| {
            let new = || {
                // SAFETY: it only asks.
                let thread = unsafe { libc::gettid() };
                let (turns, patience) = (AtomicU64::new(0), AtomicU64::new(0));
                let beat = Arc::new(Beat { thread, turns, execution: AtomicUsize::new(0), patience });
                BEATS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&beat));
                // Without an OS thread to spare nobody looks.
                WATCH.call_once(|| {
                    drop(std::thread::Builder::new().name("linpoint-watch".to_owned()).spawn(watch));
                });
                beat
            };
            Arc::clone(beat.get_or_init(new))
        })
    }

    /// What was seen of an OS thread in an execution, and since when it is so.
    struct Seen {
        thread: i32,
        turns: u64,
        ticks: String,
        since: Instant,
    }

    fn watch() {
        let mut seen: Vec<Seen> = Vec::new();
        loop {
            std::thread::sleep(PERIOD);
            let beats: Vec<Arc<Beat>> = {
                let mut beats = BEATS.lock().unwrap_or_else(PoisonError::into_inner);
                beats.retain(|beat| beat.strong_count() > 0);
                beats.iter().filter_map(Weak::upgrade).collect()
            };
            let mut now = Vec::new();
            for beat in beats {
                let (thread, turns) = (beat.thread, beat.turns.load(Ordering::Acquire));
                if turns % 2 == 0 {
                    continue;
                }
                let Some(ticks) = waits(thread) else { continue };
                let before = seen
                    .iter()
                    .find(|seen| seen.thread == thread && seen.turns == turns && seen.ticks == ticks);
                let since = before.map_or_else(Instant::now, |seen| seen.since);
                let patience = Duration::from_millis(beat.patience.load(Ordering::Relaxed));
                if since.elapsed() >= patience {
                    tell(&beat, patience);
                }
                now.push(Seen { thread, turns, ticks, since });
            }
            seen = now;
        }
    }

    /// How much of the processor an OS thread has used, if it waits for a futex.
    fn waits(thread: i32) -> Option<String> {
        let call = read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
        if call.split_whitespace().next()?.parse() != Ok(libc::SYS_futex) {
            return None;
        }
        let stat = read_to_string(format!("/proc/self/task/{thread}/stat")).ok()?;
        // After the name, which may hold anything, come the state and, as the 12th and 13th, the ticks.
        let rest: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(format!("{} {}", rest.get(11)?, rest.get(12)?))
    }

    fn tell(beat: &Beat, patience: Duration) -> ! {
        let execution =
            std::ptr::with_exposed_provenance_mut::<Execution>(beat.execution.load(Ordering::Relaxed));
        // SAFETY: the OS thread whose execution it is has stood still for long, inside it; the process ends here.
        let (thread, steps) = unsafe { (*execution).stands_at() };
        let text = format!(
            "\nlinpoint: an execution has stood still for {patience:?} in a lock that the explorer does not know: its \
             thread {} waits there, after step {steps} of the run.\n  A lock of std, \
             or of another crate, that is held across a step cannot be released while another thread waits for it: use those of \
             linpoint::sync, or of loom::sync or shuttle::sync where the test is written for these. (Limits {{ patience, .. }} \
             says how long is waited.)\n",
            thread.0
        );
        // Past what tests capture: nobody would show it. And nobody is left to whom a failed write could be reported.
        let _ = std::io::stderr().write_all(text.as_bytes());
        std::process::abort()
    }
}
