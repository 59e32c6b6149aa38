//! A bounded ring of words from one thread to one other: no allocation, no lock, no waiting inside.
//!
//! Records of any length stand in it one after another; a record is published whole, or not at all. What does not fit into a word
//! (text, lists, blocks of writes) follows its record in the same ring, so there is no second arena to keep in step.
//!
//! The words are relaxed atomics: a plain store and a plain load on the machines we know. The writer publishes with a release store of
//! `tail`, the reader takes with an acquire load; the reader frees with a release store of `head`, the writer reuses after an acquire load. So
//! each word is written after its last reader was done with it, and read after it was written.

use std::cell::Cell;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::primitive::{AtomicU64, AtomicUsize, Ordering};

/// Where both ends meet.
#[derive(Debug)]
struct Ring {
    words: Box<[AtomicU64]>,
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
    ring: Arc<Ring>,
    tail: Cell<usize>,
    /// What was last seen of `head`; the truth is no smaller.
    head: Cell<usize>,
}

/// The end that reads.
#[derive(Debug)]
pub(crate) struct Consumer {
    ring: Arc<Ring>,
    head: usize,
}

/// A record does not fit now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// It will when the reader has gone on.
    Now,
    /// It never will: it is longer than the ring.
    Ever,
    /// Nobody reads any more.
    Closed,
}

/// A ring of at least `words` words.
pub(crate) fn ring(words: usize) -> (Producer, Consumer) {
    let words = words.next_power_of_two().max(2);
    let ring = Arc::new(Ring {
        words: (0..words).map(|_| AtomicU64::new(0)).collect(),
        tail: CachePadded::new(AtomicUsize::new(0)),
        head: CachePadded::new(AtomicUsize::new(0)),
        closed: CachePadded::new(AtomicUsize::new(0)),
    });
    (Producer { ring: Arc::clone(&ring), tail: Cell::new(0), head: Cell::new(0) }, Consumer { ring, head: 0 })
}

impl Producer {
    /// Makes sure that a record of `words` words fits.
    #[inline]
    pub(crate) fn reserve(&self, words: usize) -> Result<(), Full> {
        if self.tail.get() + words - self.head.get() <= self.ring.words.len() {
            Ok(())
        } else {
            self.look(words)
        }
    }

    #[cold]
    fn look(&self, words: usize) -> Result<(), Full> {
        if words > self.ring.words.len() {
            return Err(Full::Ever);
        }
        self.head.set(self.ring.head.load(Ordering::Acquire));
        if self.tail.get() + words - self.head.get() <= self.ring.words.len() {
            Ok(())
        } else if self.ring.closed.load(Ordering::Acquire) != 0 {
            Err(Full::Closed)
        } else {
            Err(Full::Now)
        }
    }

    /// Writes word `at` of the record that was reserved.
    #[inline]
    pub(crate) fn put(&self, at: usize, word: u64) {
        let words = &self.ring.words;
        let index = (self.tail.get() + at) & (words.len() - 1);
        // SAFETY: a ring has at least two words, and `x & (n - 1) < n` for every n above zero.
        #[allow(unsafe_code)]
        let place = unsafe { words.get_unchecked(index) };
        place.store(word, Ordering::Relaxed);
    }

    /// Has the reader gone?
    pub(crate) fn is_abandoned(&self) -> bool {
        self.ring.closed.load(Ordering::Acquire) != 0
    }

    /// Publishes the reserved record.
    #[inline]
    pub(crate) fn publish(&self, words: usize) {
        let tail = self.tail.get() + words;
        self.tail.set(tail);
        self.ring.tail.store(tail, Ordering::Release);
    }
}

impl Consumer {
    /// Appends up to `most` words that were published to `into`; how many.
    pub(crate) fn take(&mut self, most: usize, into: &mut Vec<u64>) -> usize {
        let tail = self.ring.tail.load(Ordering::Acquire);
        let count = (tail - self.head).min(most);
        let (mask, start) = (self.ring.words.len() - 1, self.head & (self.ring.words.len() - 1));
        let first = count.min(mask + 1 - start);
        into.extend(self.ring.words[start..start + first].iter().map(|word| word.load(Ordering::Relaxed)));
        into.extend(self.ring.words[..count - first].iter().map(|word| word.load(Ordering::Relaxed)));
        if count > 0 {
            self.head += count;
            self.ring.head.store(self.head, Ordering::Release);
        }
        count
    }

    /// Words waiting.
    pub(crate) fn waiting(&self) -> usize {
        self.ring.tail.load(Ordering::Acquire) - self.head
    }

    /// Will nothing more come?
    pub(crate) fn is_finished(&self) -> bool {
        self.ring.closed.load(Ordering::Acquire) != 0 && self.waiting() == 0
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.ring.closed.store(1, Ordering::Release);
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.ring.closed.store(1, Ordering::Release);
    }
}
