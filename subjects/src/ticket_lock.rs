//! The ticket lock (Reed and Kanodia 1979; Mellor-Crummey and Scott 1991): take a number, wait until it is served.
//!
//! The object is a counter behind the lock, so that the lock has something to protect: the number is a plain cell, which
//! two threads must never touch at once.
//!
//! Linearization point of `increment`: anywhere while the lock is held, the write of the cell for instance.
//!
//! Mutation [`SPLIT_TICKET`]: the ticket is taken by a load and a store instead of one atomic addition. Expected: two
//! threads draw the same ticket and are both served: a data race on the cell. A third may draw a ticket that is passed
//! over, and wait for ever.

use linpoint::cell::UnsafeCell;
use linpoint::sync::atomic::AtomicU32;
use linpoint::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use linpoint::thread::yield_now;

use crate::CORRECT;

/// A ticket is drawn in two steps.
pub const SPLIT_TICKET: u8 = 1;

/// A lock that is granted in the order of asking.
#[derive(Default)]
pub struct TicketLock<const MUTATION: u8 = CORRECT> {
    next: AtomicU32,
    serving: AtomicU32,
}

/// The number under which a lock is held.
pub struct Ticket(u32);

impl<const MUTATION: u8> TicketLock<MUTATION> {
    /// Waits until the lock is ours.
    pub fn lock(&self) -> Ticket {
        let ticket = if MUTATION == SPLIT_TICKET {
            let ticket = self.next.load(Relaxed);
            self.next.store(ticket.wrapping_add(1), Relaxed);
            ticket
        } else {
            self.next.fetch_add(1, Relaxed)
        };
        while self.serving.load(Acquire) != ticket {
            yield_now();
        }
        Ticket(ticket)
    }

    /// Serves the next.
    pub fn unlock(&self, Ticket(ticket): Ticket) {
        self.serving.store(ticket.wrapping_add(1), Release);
    }
}

/// A counter behind a ticket lock.
#[derive(Default)]
pub struct TicketCounter<const MUTATION: u8 = CORRECT> {
    lock: TicketLock<MUTATION>,
    /// Touched by whoever holds the lock.
    count: UnsafeCell<u32>,
}

// SAFETY: the lock hands the count from one thread to the next, with release and acquire. (In the broken variant two may
// hold it; that one is explored on one OS thread, where one goes after the other.)
unsafe impl<const MUTATION: u8> Sync for TicketCounter<MUTATION> {}

#[linpoint::object(spec = crate::spec::Counter)]
impl<const MUTATION: u8> TicketCounter<MUTATION> {
    /// A counter at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one, and returns what was there before.
    pub fn increment(&self) -> u32 {
        let ticket = self.lock.lock();
        // SAFETY: the lock is held.
        let before = self.count.with(|count| unsafe { count.read() });
        // SAFETY: as above.
        self.count.with_mut(|count| unsafe { count.write(before + 1) });
        self.lock.unlock(ticket);
        before
    }
}
