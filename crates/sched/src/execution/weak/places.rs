//! Names for what a program accesses, the same in every execution against one graph.
//!
//! An address may differ from one execution to the next, and what is first in one may be second in the other. So a
//! location is called after what it is part of:
//!
//! * a block of the heap: who allocated it, and as that thread's how-manieth; and the offset in it;
//! * the stack of a thread: which thread, and where on it;
//! * a static: its address, which stays;
//! * what the explorer keeps for a thread, such as its token: which thread.
//!
//! The parts of a name are packed into one number, so that no two names are the same by chance; what does not fit is
//! refused.
//!
//! # Memory that comes to be anew
//! A location may be overwritten without an atomic access: by `get_mut`, or because the memory is used again, as a
//! frame of a stack is. Then memory does not hold what the writes of the graph left there. From that point on it
//! is another location, with the next number of a *generation*, and what memory holds now is its initial value. If
//! the value is the same as before, nothing needs to be done: whoever comes after all accesses so far reads the last
//! write, which is that value, and it synchronises with nothing that does not happen before it already.

use linpoint_memory::{Location, Value};
use rustc_hash::FxHashMap;

use super::blocks::Blocks;

/// A word of memory that the program accesses atomically, or an object of the explorer's (of size 0).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) address: usize,
    pub(crate) size: usize,
    /// What memory holds now.
    pub(crate) bits: u64,
}

impl Word {
    /// An object of the shims, whose state is not in its location: one that is not written.
    pub(super) fn object(address: usize) -> Word {
        Word { address, size: 0, bits: 0 }
    }
}

/// What is known of a location in the present execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) address: usize,
    pub(super) size: usize,
    pub(super) location: Location,
    /// What it held when it was first accessed.
    pub(super) initial: Value,
    /// What memory holds, as far as atomic accesses say.
    expected: Value,
    /// The block of the heap that it is in.
    pub(super) block: Option<usize>,
    /// Is it a static, at its first generation?
    pub(super) is_static: bool,
}

/// Where an address is that is in no block of the heap.
#[derive(Clone, Copy, Debug)]
pub(super) enum Region {
    /// On the stack of this thread, so far below its beginning.
    Stack(usize, usize),
    /// Something that the explorer keeps.
    Explorer(usize),
    /// Anywhere else: it stays where it is.
    Static,
}

/// Why a location cannot be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It overlaps another one.
    Mixed,
    /// The block, the stack or the address is too large, or there are too many blocks.
    TooLarge,
    /// It was overwritten too often without an atomic access.
    TooOften,
}

/// All locations of an execution.
#[derive(Debug, Default)]
pub(super) struct Places {
    known: Vec<Known>,
    by_address: FxHashMap<usize, usize>,
    by_location: FxHashMap<Location, usize>,
}

/// Bits of a name that count generations.
const GENERATION: u32 = 12;

/// These bits.
const GENERATIONS: u64 = (1 << GENERATION) - 1;

/// The largest object accessed.
const WIDEST: usize = 8;

impl Places {
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.by_address.clear();
        self.by_location.clear();
    }

    pub(super) fn all(&self) -> &[Known] {
        &self.known
    }

    /// What is known of a location of this execution.
    pub(super) fn of(&self, location: Location) -> Option<&Known> {
        self.by_location.get(&location).map(|&index| &self.known[index])
    }

    /// The location that is at this address now.
    pub(super) fn at(&self, address: usize) -> Option<&Known> {
        self.by_address.get(&address).map(|&index| &self.known[index])
    }

    /// A write of the newest value: memory holds this from now on. Where to write it, if anywhere.
    pub(super) fn store(&mut self, location: Location, value: Value) -> Option<(usize, usize)> {
        let known = &mut self.known[*self.by_location.get(&location)?];
        known.expected = value;
        (known.size > 0).then_some((known.address, known.size))
    }

    /// The name of a word that is about to be accessed. The second answer: was it overwritten since it was last
    /// accessed?
    pub(super) fn name(
        &mut self,
        word: Word,
        blocks: &Blocks,
        region: impl FnOnce(usize) -> Region,
    ) -> Result<(Location, Option<Location>), Refused> {
        let value = word.bits as Value;
        let Some(&index) = self.by_address.get(&word.address) else {
            if self.overlaps(word) {
                return Err(Refused::Mixed);
            }
            let (block, base) = base(word.address, blocks, region)?;
            return Ok((self.add(word, Location(base), block), None));
        };
        let known = self.known[index];
        if known.size != word.size {
            return Err(Refused::Mixed);
        }
        if word.size == 0 || known.expected == value {
            return Ok((known.location, None));
        }
        let Location(before) = known.location;
        if before & GENERATIONS == GENERATIONS {
            return Err(Refused::TooOften);
        }
        Ok((self.add(word, Location(before + 1), known.block), Some(known.location)))
    }

    fn add(&mut self, word: Word, location: Location, block: Option<usize>) -> Location {
        let Word { address, size, bits } = word;
        let (initial, expected) = (bits as Value, bits as Value);
        let index = self.known.len();
        let is_static = size > 0 && location.0 >> (50 + GENERATION) == 0 && location.0 & GENERATIONS == 0;
        self.known.push(Known { address, size, location, initial, expected, block, is_static });
        self.by_address.insert(address, index);
        self.by_location.insert(location, index);
        location
    }

    /// Does a new word share a byte with a known one?
    fn overlaps(&self, word: Word) -> bool {
        let from = word.address.saturating_sub(WIDEST - 1);
        (from..word.address + word.size).any(|address| {
            self.at(address).is_some_and(|known| known.size > 0 && address + known.size > word.address)
        })
    }
}

/// The name of an address, without its generation, and the block that it is in.
fn base(
    address: usize,
    blocks: &Blocks,
    region: impl FnOnce(usize) -> Region,
) -> Result<(Option<usize>, u64), Refused> {
    let pack = |kind: u64, parts: &[(usize, u32)]| {
        let mut name = kind;
        let mut left = 62;
        for &(part, bits) in parts {
            if part as u64 >> bits != 0 {
                return Err(Refused::TooLarge);
            }
            left -= bits;
            name = name << bits | part as u64;
        }
        Ok(name << left)
    };
    if let Some((index, block)) = blocks.containing(address) {
        let parts = [(block.thread, 4), (block.number, 20), (address - block.start, 26)];
        return Ok((Some(index), pack(1, &parts)?));
    }
    let name = match region(address) {
        Region::Stack(thread, offset) => pack(2, &[(thread, 4), (offset, 46)]),
        Region::Explorer(number) => pack(3, &[(number, 50)]),
        Region::Static => pack(0, &[(address, 50)]),
    };
    Ok((None, name?))
}
