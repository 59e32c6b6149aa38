//! When: numbers from one counter an object, or the processor's own clock.
//!
//! **Numbers** (the default) agree with happens-before; see [`crate::event`]. They cost one read-modify-write
//! a numbered event, and that is a full barrier: it can hide bugs of the program that only show while stores
//! wait in a buffer.
//!
//! **Ticks** are for those: the time-stamp counter, read without a fence, nothing shared written. Ticks of
//! two cores may disagree, and a processor may read them early or late, so every interval is widened on both
//! sides by an error bound. Widening hides orders; it invents none. [`calibrate`] measures a bound on the
//! machine at hand.

use std::fmt;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::primitive::{AtomicU64, Ordering};

/// One object's counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(CachePadded<AtomicU64>);

impl Counter {
    /// How many numbers were taken, at least.
    #[inline]
    pub(crate) fn look(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// The next number.
    #[inline]
    pub(crate) fn take(&self) -> u64 {
        self.0.fetch_add(1, Ordering::AcqRel)
    }
}

/// Which stamps a monitor uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stamps {
    /// Numbers: the order is exact.
    #[default]
    Numbers,
    /// Ticks, widened by the error bound: the program is disturbed least, fewer orders are known.
    Ticks {
        /// Ticks added on both sides of every interval; [`calibrate`] suggests one.
        error: u64,
    },
}

impl fmt::Display for Stamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stamps::Numbers => f.write_str("numbers, the order is exact"),
            Stamps::Ticks { error } => write!(f, "ticks, widened by {error}"),
        }
    }
}

/// The time-stamp counter, or nanoseconds where there is none.
#[inline]
#[cfg(target_arch = "x86_64")]
pub(crate) fn ticks() -> u64 {
    // SAFETY: reading the time-stamp counter touches no memory, and every x86-64 processor has it.
    #[allow(unsafe_code)]
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
}

/// The time-stamp counter, or nanoseconds where there is none.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ticks() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Measures how wrong ticks can be here: two threads hand a token to and fro, so that each reading happens
/// before the next, and the worst inversion is taken four times. Takes about `time`.
pub fn calibrate(time: Duration) -> u64 {
    let (there, back) = (CachePadded::new(AtomicU64::new(0)), CachePadded::new(AtomicU64::new(0)));
    let stop = AtomicU64::new(0);
    let worst = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut seen = 0;
            while stop.load(Ordering::Relaxed) == 0 {
                let told = there.load(Ordering::Acquire);
                if told != seen {
                    seen = told;
                    back.store(ticks().max(1), Ordering::Release);
                } else {
                    std::hint::spin_loop();
                }
            }
        });
        let (start, mut worst, mut last) = (Instant::now(), 0u64, 0u64);
        'rounds: while start.elapsed() < time {
            let mine = ticks();
            worst = worst.max(last.saturating_sub(mine));
            let before = back.load(Ordering::Relaxed);
            there.store(mine, Ordering::Release);
            last = loop {
                let answer = back.load(Ordering::Acquire);
                if answer != before {
                    break answer;
                }
                if start.elapsed() >= time {
                    break 'rounds;
                }
            };
            worst = worst.max(mine.saturating_sub(last));
        }
        stop.store(1, Ordering::Relaxed);
        worst
    });
    4 * worst + 1000
}
