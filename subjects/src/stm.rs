//! Software transactional memory on words, with updates in place: the memory of [`crate::bartok_stm`] made fit for data structures.
//!
//! Every word has a header: a version, or the transaction that owns it. A transaction reads a word if nobody else owns it, and notes the
//! version; it takes ownership before its first store, notes what was there (the undo log), and stores in place. Versions come from one clock, and a
//! transaction only sees words not younger than its own moment; where one is, it moves its moment to now, if all it has read is still as it was (Riegel, Felber and
//! Fetzer 2006; Dice, Shalev and Shavit 2006). So even a transaction that will fail never computes with values that do not belong together, and a
//! loop over what it reads ends. At commit it takes a new version from the clock, validates what it read unless nobody has committed since its moment, and releases its words
//! with the new version.
//!
//! A transaction that fails puts the old values back and releases its words with *new* versions: somebody may have read a value that is now gone
//! between two looks at the header. Contention: who fails gives everything back, waits until the word it failed at is free, and begins again. One that
//! cannot go on with what it sees asks to *retry* (Harris, Marlow, Peyton Jones and Herlihy 2005), and waits until something it read changes.
//!
//! Linearization point: of a transaction that writes, where it takes its version; of one that only reads, the last time it moved its moment, or its begin.
//!
//! [`Stm::peek`] and [`Stm::change`] are the fast access of Dragicevic 2011 (section 2.8.5): one word without logs.

use linpoint::sync::atomic::AtomicU64;
use linpoint::sync::atomic::Ordering::SeqCst;

/// A word that transactions share.
#[derive(Default)]
pub struct Word {
    /// Twice the version; or twice the number of the transaction that owns it, plus one.
    header: AtomicU64,
    data: AtomicU64,
}

impl Word {
    /// A word with a value.
    pub fn new(value: u64) -> Word {
        Word { header: AtomicU64::new(0), data: AtomicU64::new(value) }
    }
}

/// The clock that a structure's words share.
#[derive(Default)]
pub struct Stm {
    clock: AtomicU64,
    /// Numbers for transactions. Not a shim: that two numbers differ is all that matters about them.
    started: std::sync::atomic::AtomicU64,
}

/// Why a transaction cannot go on.
#[derive(Clone, Copy)]
pub enum Abort<'a> {
    /// Something it read has changed.
    Changed,
    /// Another transaction owns the word, and this is the header it has.
    Owned(&'a Word, u64),
    /// It wants to begin again when something it read has changed.
    Retry,
}

/// A transaction that runs.
pub struct Transaction<'a> {
    stm: &'a Stm,
    /// The header of a word that it owns.
    own: u64,
    /// It sees no version after this.
    moment: u64,
    /// What it read, and the header then.
    reads: Vec<(&'a Word, u64)>,
    /// What it owns: the word, the header and the value before.
    updates: Vec<(&'a Word, u64, u64)>,
}

impl Stm {
    /// A clock at zero.
    pub fn new() -> Stm {
        Stm::default()
    }

    /// Runs a transaction until it commits.
    pub fn run<'a, R>(&'a self, mut body: impl FnMut(&mut Transaction<'a>) -> Result<R, Abort<'a>>) -> R {
        let mut transaction =
            Transaction { stm: self, own: self.owner(), moment: 0, reads: Vec::new(), updates: Vec::new() };
        loop {
            transaction.moment = self.clock.load(SeqCst);
            let done = body(&mut transaction).and_then(|result| transaction.commit().map(|()| result));
            match done {
                Ok(result) => return result,
                Err(abort) => {
                    transaction.undo();
                    transaction.wait(abort);
                    transaction.reads.clear();
                }
            }
        }
    }

    /// The value of a word, and the header it had; `None` while a transaction owns it.
    #[track_caller]
    pub fn peek(&self, word: &Word) -> Option<(u64, u64)> {
        let header = word.header.load(SeqCst);
        let value = word.data.load(SeqCst);
        (header & 1 == 0 && word.header.load(SeqCst) == header).then_some((value, header))
    }

    /// Changes a word from one value to another if `condition` holds while nobody else can change it. What the condition looks at must be peeked at then,
    /// and whoever changes that in a transaction must read the word: then one of the two sees the other. Let the transaction read the word before this one owns it. If this one's
    /// version comes before the transaction's, the transaction validates, and sees an owner or a new version. If it comes after, the transaction owned what it changes before the condition
    /// is asked. So the version is taken *before* the condition: taken after it, there would be a transaction that sees no version but its own, does not validate, and is not seen either.
    #[track_caller]
    pub fn change(&self, word: &Word, from: u64, to: u64, condition: impl FnOnce() -> bool) -> bool {
        let mut header = word.header.load(SeqCst);
        if header & 1 == 1 || word.header.compare_exchange(header, self.owner(), SeqCst, SeqCst).is_err() {
            return false;
        }
        let fits = word.data.load(SeqCst) == from;
        let version = fits.then(|| self.clock.fetch_add(1, SeqCst) + 1);
        let changes = version.filter(|_| condition());
        if let Some(version) = changes {
            word.data.store(to, SeqCst);
            header = version << 1;
        }
        word.header.store(header, SeqCst);
        changes.is_some()
    }

    /// As [`Stm::change`] without a condition, and without a new version: what a fast access must not do. A transaction that read the word before does not notice.
    #[track_caller]
    pub fn change_unseen(&self, word: &Word, from: u64, to: u64) -> bool {
        let header = word.header.load(SeqCst);
        if header & 1 == 1 || word.header.compare_exchange(header, self.owner(), SeqCst, SeqCst).is_err() {
            return false;
        }
        let changes = word.data.load(SeqCst) == from;
        if changes {
            word.data.store(to, SeqCst);
        }
        word.header.store(header, SeqCst);
        changes
    }

    fn owner(&self) -> u64 {
        self.started.fetch_add(1, std::sync::atomic::Ordering::Relaxed) << 1 | 1
    }
}

impl<'a> Transaction<'a> {
    /// The value of a word.
    #[track_caller]
    pub fn read(&mut self, word: &'a Word) -> Result<u64, Abort<'a>> {
        loop {
            let header = word.header.load(SeqCst);
            if header == self.own {
                return Ok(word.data.load(SeqCst));
            }
            if header & 1 == 1 {
                return Err(Abort::Owned(word, header));
            }
            let value = word.data.load(SeqCst);
            if word.header.load(SeqCst) != header {
                continue;
            }
            if header >> 1 <= self.moment {
                self.reads.push((word, header));
                return Ok(value);
            }
            self.extend()?;
        }
    }

    /// Stores a value.
    #[track_caller]
    pub fn write(&mut self, word: &'a Word, value: u64) -> Result<(), Abort<'a>> {
        loop {
            let header = word.header.load(SeqCst);
            if header == self.own {
                break;
            }
            if header & 1 == 1 {
                return Err(Abort::Owned(word, header));
            }
            if header >> 1 > self.moment {
                self.extend()?;
            } else if word.header.compare_exchange(header, self.own, SeqCst, SeqCst).is_ok() {
                self.updates.push((word, header, word.data.load(SeqCst)));
                break;
            }
        }
        word.data.store(value, SeqCst);
        Ok(())
    }

    /// Moves the moment to now.
    fn extend(&mut self) -> Result<(), Abort<'a>> {
        let now = self.stm.clock.load(SeqCst);
        self.validate()?;
        self.moment = now;
        Ok(())
    }

    /// Is everything that was read as it was?
    fn validate(&self) -> Result<(), Abort<'a>> {
        for &(word, before) in &self.reads {
            let now = word.header.load(SeqCst);
            let mine = || self.updates.iter().any(|&(own, header, _)| ptr_eq(own, word) && header == before);
            if now != before && !(now == self.own && mine()) {
                return Err(Abort::Changed);
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Abort<'a>> {
        if !self.updates.is_empty() {
            let version = self.stm.clock.fetch_add(1, SeqCst) + 1;
            if version > self.moment + 1 {
                self.validate()?;
            }
            for (word, ..) in self.updates.drain(..) {
                word.header.store(version << 1, SeqCst);
            }
        }
        Ok(())
    }

    fn undo(&mut self) {
        if self.updates.is_empty() {
            return;
        }
        let version = self.stm.clock.fetch_add(1, SeqCst) + 1;
        for (word, _, value) in self.updates.drain(..).rev() {
            word.data.store(value, SeqCst);
            word.header.store(version << 1, SeqCst);
        }
    }

    /// Waits until there is a point in beginning again.
    fn wait(&self, abort: Abort<'_>) {
        match abort {
            Abort::Changed => {}
            Abort::Owned(word, header) => {
                while word.header.load(SeqCst) == header {
                    linpoint::thread::yield_now();
                }
            }
            Abort::Retry => {
                while self.reads.iter().all(|(word, header)| word.header.load(SeqCst) == *header) {
                    linpoint::thread::yield_now();
                }
            }
        }
    }
}

fn ptr_eq(a: &Word, b: &Word) -> bool {
    std::ptr::eq(a, b)
}

/// A value that fits into a word, in its order, and leaves the upper two bits to others.
pub trait Packed: Copy + Ord + Send + Sync {
    /// As a number below 2⁶².
    fn pack(self) -> u64;
    /// From that number.
    fn unpack(word: u64) -> Self;
}

macro_rules! packed {
    ($($type:ty)*) => {$(
        impl Packed for $type {
            fn pack(self) -> u64 {
                u64::from(self)
            }

            fn unpack(word: u64) -> Self {
                word as $type
            }
        }
    )*};
}

packed!(u8 u16 u32);
