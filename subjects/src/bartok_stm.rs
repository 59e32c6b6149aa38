//! Software transactional memory in the manner of Bartok (Harris, Plesko, Shinnar and Tarditi 2006): updates in place,
//! an undo log, and reads that are validated at commit.
//!
//! Every object has a header: a version number, or the transaction that owns it. *Open for read* logs the header.
//! *Open for update* takes ownership by compare-and-swap and logs the version that was there; the first store to the
//! object then logs the value for undo. *Commit* validates: the header of everything read must still be the version
//! that was logged, or the transaction must own the object and have found that version when it took it. If so, owned
//! objects get a new version. If not, values are put back, the latest first, and owned objects get a new version as
//! well: somebody may have read a value that is now gone.
//!
//! A transaction that meets an object owned by another fails at once; one that reads such an object goes on and fails
//! at validation. Until then it may compute with values that do not belong together.
//!
//! Linearization point of a transaction that commits: the begin of its validation. One that fails has no effect.
//!
//! Mutation [`OWNED_IS_MINE`]: validation takes every owned object for its own. Expected: not linearizable; two
//! transactions, `second = first + 1` and `first = second + 1`, both read 0 and both commit. The claim that a
//! transaction which read what another owned does not commit fails too.
//!
//! Mutation [`ABORT_KEEPS_VERSION`]: a failing transaction puts the old version back. Expected: not linearizable; a value
//! that was undone is read by a transaction that commits.
//!
//! Mutation [`UNDO_FORWARD`]: values are put back in the order they were written. Expected: a transaction that wrote
//! an object twice and fails leaves the first of the two values there.
//!
//! With `CLAIMS` the transactions claim (Sezgin, Tasiran, Muslu and Qadeer 2010, Fig. 4 and section 5):
//! - after reading an object: if another owns it now, this transaction will not commit;
//! - after `to = from + 1`, twice: if this transaction commits, `to` is one more than `from` now, and so is the sum;
//! - before undoing: the last value written to an object before all is undone is the one that was there at first.
//!
//! The first of these fails with `OWNED_IS_MINE` and with `ABORT_KEEPS_VERSION`, the last with `UNDO_FORWARD`.

use linpoint::sync::atomic::AtomicU32;
use linpoint::sync::atomic::Ordering::SeqCst;
use linpoint::{Var, procedure, tressa};

use crate::CORRECT;

/// Validation does not ask who owns an owned object.
pub const OWNED_IS_MINE: u8 = 1;

/// A failing transaction restores the version together with the value.
pub const ABORT_KEEPS_VERSION: u8 = 2;

/// A failing transaction undoes its oldest store first.
pub const UNDO_FORWARD: u8 = 3;

/// Two transactional objects.
#[derive(Default)]
pub struct Stm<const MUTATION: u8 = CORRECT, const CLAIMS: bool = false> {
    objects: [Object; 2],
    /// Numbers for transactions. Not a shim: that two numbers differ is all that matters about them.
    started: std::sync::atomic::AtomicU32,
}

/// A number with a header.
#[derive(Default)]
struct Object {
    /// Twice the version; or twice the number of the transaction that owns it, plus one.
    header: AtomicU32,
    data: AtomicU32,
}

/// Names one of the two objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// The first.
    First,
    /// The second.
    Second,
}

/// The transaction met another and cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict;

/// A transaction that runs.
pub struct Transaction<'a, const MUTATION: u8, const CLAIMS: bool> {
    stm: &'a Stm<MUTATION, CLAIMS>,
    /// The header of an object that it owns.
    ownership: u32,
    /// What was opened for reading, and its header then.
    reads: Vec<(Name, u32)>,
    /// What was opened for update, and its header before.
    updates: Vec<(Name, u32)>,
    /// What was overwritten, in the order it was.
    undo: Vec<(Name, u32)>,
    /// Has it committed?
    success: Var<bool>,
}

impl<const MUTATION: u8, const CLAIMS: bool> Stm<MUTATION, CLAIMS> {
    /// Two zeros.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a transaction. It has to end with a [`Transaction::commit`] that succeeds, or with [`Transaction::undo`].
    pub fn start(&self) -> Transaction<'_, MUTATION, CLAIMS> {
        let number = self.started.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (reads, updates, undo) = Default::default();
        let success = Var::new(false);
        Transaction { stm: self, ownership: number << 1 | 1, reads, updates, undo, success }
    }
}

#[linpoint::object(spec = crate::spec::Memory)]
impl<const MUTATION: u8, const CLAIMS: bool> Stm<MUTATION, CLAIMS> {
    /// The transaction `second = first + 1`: what it wrote, or `None` if it failed.
    pub fn first_to_second(&self) -> Option<u32> {
        self.add_one(Name::First, Name::Second)
    }

    /// The transaction `first = second + 1`: what it wrote, or `None` if it failed.
    pub fn second_to_first(&self) -> Option<u32> {
        self.add_one(Name::Second, Name::First)
    }

    /// The transaction that reads both, or `None` if it failed.
    pub fn both(&self) -> Option<(u32, u32)> {
        let _procedure = procedure();
        let mut transaction = self.start();
        let pair = (transaction.read(Name::First), transaction.read(Name::Second));
        transaction.commit().then_some(pair)
    }

    /// The transaction that writes 10 and then 11 to the first object and 12 to the second: did it commit?
    pub fn overwrite(&self) -> bool {
        let _procedure = procedure();
        let mut transaction = self.start();
        let mut at_first = None;
        for (name, value) in [(Name::First, 10), (Name::First, 11), (Name::Second, 12)] {
            let Ok(before) = transaction.write(name, value) else {
                self.roll_back(transaction, Name::First, at_first);
                return false;
            };
            at_first = at_first.or(Some(before));
        }
        let success = transaction.commit();
        if !success {
            self.roll_back(transaction, Name::First, at_first);
        }
        success
    }
}

impl<const MUTATION: u8, const CLAIMS: bool> Stm<MUTATION, CLAIMS> {
    fn add_one(&self, from: Name, to: Name) -> Option<u32> {
        let _procedure = procedure();
        let mut transaction = self.start();
        let sum = transaction.read(from) + 1;
        let Ok(at_first) = transaction.write(to, sum) else {
            self.roll_back(transaction, to, None);
            return None;
        };
        if CLAIMS {
            let (source, target) = (&self.object(from).data, &self.object(to).data);
            tressa!(Exit(transaction.success) ==> target.load(SeqCst) == source.load(SeqCst) + 1);
            tressa!(Exit(transaction.success) ==> sum == source.load(SeqCst) + 1);
        }
        if transaction.commit() {
            return Some(sum);
        }
        self.roll_back(transaction, to, Some(at_first));
        None
    }

    /// Undoes a transaction, which may have overwritten `at_first` in the object called `name`.
    fn roll_back(&self, transaction: Transaction<'_, MUTATION, CLAIMS>, name: Name, at_first: Option<u32>) {
        let done = Var::new(false);
        if CLAIMS && let Some(at_first) = at_first {
            tressa!(Last(self.object(name).data, Wr, { me }, done) == at_first);
        }
        transaction.undo();
        done.set(true);
    }

    fn object(&self, name: Name) -> &Object {
        match name {
            Name::First => &self.objects[0],
            Name::Second => &self.objects[1],
        }
    }
}

impl<const MUTATION: u8, const CLAIMS: bool> Transaction<'_, MUTATION, CLAIMS> {
    /// Opens an object for reading, and reads it.
    pub fn read(&mut self, name: Name) -> u32 {
        self.open_for_read(name);
        let value = self.stm.object(name).data.load(SeqCst);
        if CLAIMS {
            tressa!(self.is_owned_by_another(name) ==> !Exit(self.success));
        }
        value
    }

    /// Opens an object for update, writes it, and returns what was there before.
    pub fn write(&mut self, name: Name, value: u32) -> Result<u32, Conflict> {
        self.open_for_update(name)?;
        let object = self.stm.object(name);
        let before = object.data.load(SeqCst);
        self.undo.push((name, before));
        object.data.store(value, SeqCst);
        Ok(before)
    }

    /// Makes the updates last, unless something read has changed. Did it commit?
    #[must_use]
    pub fn commit(&mut self) -> bool {
        if !self.validate() {
            return false;
        }
        for &(name, version) in &self.updates {
            self.stm.object(name).header.store(after(version), SeqCst);
        }
        self.success.set(true);
        true
    }

    /// Undoes the updates.
    pub fn undo(mut self) {
        if MUTATION == UNDO_FORWARD {
            self.undo.reverse();
        }
        while let Some((name, value)) = self.undo.pop() {
            self.stm.object(name).data.store(value, SeqCst);
        }
        for &(name, version) in &self.updates {
            let version = if MUTATION == ABORT_KEEPS_VERSION { version } else { after(version) };
            self.stm.object(name).header.store(version, SeqCst);
        }
    }

    fn is_owned_by_another(&self, name: Name) -> bool {
        let header = self.stm.object(name).header.load(SeqCst);
        is_owned(header) && header != self.ownership
    }

    fn open_for_read(&mut self, name: Name) {
        let header = self.stm.object(name).header.load(SeqCst);
        self.reads.push((name, header));
    }

    fn open_for_update(&mut self, name: Name) -> Result<(), Conflict> {
        let header = &self.stm.object(name).header;
        let seen = header.load(SeqCst);
        if seen == self.ownership {
            return Ok(());
        }
        if is_owned(seen) || header.compare_exchange(seen, self.ownership, SeqCst, SeqCst).is_err() {
            return Err(Conflict);
        }
        self.updates.push((name, seen));
        Ok(())
    }

    /// Is everything that was read as it was when it was opened?
    fn validate(&self) -> bool {
        self.reads.iter().all(|&(name, seen)| {
            let now = self.stm.object(name).header.load(SeqCst);
            if MUTATION == OWNED_IS_MINE && is_owned(now) {
                return true;
            }
            if now == self.ownership {
                return seen == now || self.updates.contains(&(name, seen));
            }
            !is_owned(now) && now == seen
        })
    }
}

fn is_owned(header: u32) -> bool {
    header & 1 == 1
}

/// The header with the version after this one.
fn after(version: u32) -> u32 {
    version.wrapping_add(2)
}
