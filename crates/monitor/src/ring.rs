//! A bounded ring of words from one thread to one other: no allocation, no lock, no waiting inside.
//!
//! Records of any length stand in it one after another; a record is published whole, or not at all. What does
//! not fit into a word (text, lists, blocks of writes) follows its record in the same ring, so there is no
//! second arena to keep in step.
//!
//! The words are relaxed atomics: a plain store and a plain load on the machines we know. The writer
//! publishes with a release store of `tail`, the reader takes with an acquire load; the reader frees with a
//! release store of `head`, the writer reuses after an acquire load. So each word is written after its last
//! reader was done with it, and read after it was written.
//!
//! The writer knows its own end, and how far it may go without a look at the reader's. Both ends hold the
//! words themselves, not a way to them: a record costs its stores and one to publish it.

use std::cell::Cell;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::primitive::{AtomicU64, AtomicUsize, Ordering};

/// Where both ends meet, beside the words.
#[derive(Debug)]
struct Ends {
    /// Words ever published.
    tail: CachePadded<AtomicUsize>,
    /// Words ever taken.
    head: CachePadded<AtomicUsize>,
    /// Has one end gone away?
    closed: CachePadded<AtomicUsize>,
}

/// The end that writes.
#[derive(Debug)]
pub(crate) struct Producer {
    words: Arc<[AtomicU64]>,
    tail: Cell<usize>,
    /// Words below this are free, by what was last seen of `head`; the truth is no smaller.
    limit: Cell<usize>,
    /// See [`Producer::hold`].
    held: Cell<bool>,
    ends: Arc<Ends>,
}

/// While it lives nothing more is let in.
#[derive(Debug)]
pub(crate) struct Hold<'a> {
    producer: &'a Producer,
    limit: usize,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.producer.held.set(false);
        self.producer.limit.set(self.limit);
    }
}

/// Room in a ring: where the next record stands. It is a copy of what the producer knows, so that writing
/// does not ask the producer again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    words: &'a [AtomicU64],
    tail: usize,
}

/// The end that reads.
#[derive(Debug)]
pub(crate) struct Consumer {
    words: Arc<[AtomicU64]>,
    head: usize,
    ends: Arc<Ends>,
}

/// A record does not fit now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// It will when the reader has gone on.
    Now,
    /// It never will: it is longer than the ring.
    Ever,
    /// Another record is being written: this would stand in the same place.
    Held,
    /// Nobody reads any more.
    Closed,
}

/// A ring of at least `words` words.
pub(crate) fn ring(words: usize) -> (Producer, Consumer) {
    let count = words.next_power_of_two().max(2);
    let words: Arc<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
    let ends = Arc::new(Ends {
        tail: CachePadded::new(AtomicUsize::new(0)),
        head: CachePadded::new(AtomicUsize::new(0)),
        closed: CachePadded::new(AtomicUsize::new(0)),
    });
    let consumer = Consumer { words: Arc::clone(&words), head: 0, ends: Arc::clone(&ends) };
    let (tail, limit, held) = (Cell::new(0), Cell::new(count), Cell::new(false));
    (Producer { words, tail, limit, held, ends }, consumer)
}

impl Producer {
    /// Is there room for a record of `words` words, by what is known here?
    #[inline]
    pub(crate) fn fits(&self, words: usize) -> bool {
        self.tail.get() + words <= self.limit.get()
    }

    /// Is there, by what the reader says?
    #[cold]
    pub(crate) fn reserve(&self, words: usize) -> Result<(), Full> {
        if self.held.get() {
            return Err(Full::Held);
        }
        if words > self.words.len() {
            return Err(Full::Ever);
        }
        self.limit.set(self.ends.head.load(Ordering::Acquire) + self.words.len());
        if self.fits(words) {
            Ok(())
        } else if self.is_abandoned() {
            Err(Full::Closed)
        } else {
            Err(Full::Now)
        }
    }

    /// A record is being written by code that may log: until that is over nothing fits, so that who logs does
    /// not pay for the question.
    pub(crate) fn hold(&self) -> Hold<'_> {
        self.held.set(true);
        Hold { producer: self, limit: self.limit.replace(0) }
    }

    /// Where the next record goes: as much of it may be written as [`Producer::fits`].
    #[inline]
    pub(crate) fn place(&self) -> Place<'_> {
        Place { words: &self.words, tail: self.tail.get() }
    }

    /// Has the reader gone?
    pub(crate) fn is_abandoned(&self) -> bool {
        self.ends.closed.load(Ordering::Acquire) != 0
    }

    /// Words ever published.
    pub(crate) fn position(&self) -> usize {
        self.tail.get()
    }

    /// Publishes the first `words` words of a place.
    #[inline]
    pub(crate) fn publish(&self, place: Place<'_>, words: usize) {
        let tail = place.tail + words;
        self.tail.set(tail);
        self.ends.tail.store(tail, Ordering::Release);
    }
}

impl Place<'_> {
    /// Writes word `at` of the record.
    #[inline]
    pub(crate) fn put(&self, at: usize, word: u64) {
        let index = (self.tail + at) & (self.words.len() - 1);
        // SAFETY: a ring has at least two words, and `x & (n - 1) < n` for every n above zero.
        #[allow(unsafe_code)]
        let place = unsafe { self.words.get_unchecked(index) };
        place.store(word, Ordering::Relaxed);
    }
}

impl Consumer {
    /// Words waiting.
    pub(crate) fn waiting(&self) -> usize {
        self.ends.tail.load(Ordering::Acquire) - self.head
    }

    /// Word `at` of those waiting.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u64 {
        self.words[(self.head + at) & (self.words.len() - 1)].load(Ordering::Relaxed)
    }

    /// The first `count` words are done with: their room is the writer's again.
    pub(crate) fn free(&mut self, count: usize) {
        if count > 0 {
            self.head += count;
            self.ends.head.store(self.head, Ordering::Release);
        }
    }

    /// Will nothing more come?
    pub(crate) fn is_finished(&self) -> bool {
        self.ends.closed.load(Ordering::Acquire) != 0 && self.waiting() == 0
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.ends.closed.store(1, Ordering::Release);
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.ends.closed.store(1, Ordering::Release);
    }
}
