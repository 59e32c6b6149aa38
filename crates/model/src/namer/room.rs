//! Where a name is written before its length is known: a page that never grows for small states, memory that does for large ones.

use linpoint_lang::program::{NONE, UNSET, Word};

use crate::pack::rare;

/// A small state takes no more than this.
pub(super) const SMALL_BYTES: usize = 512;
pub(super) const SMALL_CELLS: usize = 32;

/// Takes the bytes of a name, and numbers records in the order in which they are met.
pub(super) trait Room {
    fn push(&mut self, byte: u8);

    /// The new number of a record, one more than its place.
    fn meet(&mut self, old: usize) -> Word;

    /// The record that was met at this place.
    fn met(&self, at: usize) -> Option<usize>;

    /// Writes a word as [`put`](crate::pack::put) does.
    #[inline(always)]
    fn put(&mut self, word: Word) {
        match word {
            -8..=240 => self.push((word + 10) as u8),
            NONE => self.push(0),
            UNSET => self.push(1),
            _ => {
                let (bytes, count) = rare(word);
                for byte in &bytes[..count] {
                    self.push(*byte);
                }
            }
        }
    }
}

/// Room for a small state. Places are cut to what there is, which leaves no question of bounds; whoever writes has asked before.
pub(super) struct Small {
    bytes: [u8; SMALL_BYTES],
    length: usize,
    renumber: [u8; SMALL_CELLS],
    met: [u8; SMALL_CELLS],
    count: usize,
}

impl Default for Small {
    fn default() -> Small {
        let (renumber, met) = ([0; SMALL_CELLS], [0; SMALL_CELLS]);
        Small { bytes: [0; SMALL_BYTES], length: 0, renumber, met, count: 0 }
    }
}

impl Small {
    #[inline]
    pub fn clear(&mut self) {
        (self.length, self.count, self.renumber) = (0, 0, [0; SMALL_CELLS]);
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Room for Small {
    #[inline(always)]
    fn push(&mut self, byte: u8) {
        self.bytes[self.length % SMALL_BYTES] = byte;
        self.length += 1;
    }

    #[inline(always)]
    fn meet(&mut self, old: usize) -> Word {
        let number = &mut self.renumber[old % SMALL_CELLS];
        if *number == 0 {
            self.met[self.count % SMALL_CELLS] = old as u8;
            self.count += 1;
            *number = self.count as u8;
        }
        Word::from(*number)
    }

    #[inline(always)]
    fn met(&self, at: usize) -> Option<usize> {
        (at < self.count).then(|| usize::from(self.met[at % SMALL_CELLS]))
    }
}

/// Room for any state.
#[derive(Default)]
pub(super) struct Large {
    bytes: Vec<u8>,
    renumber: Vec<Word>,
    met: Vec<usize>,
}

impl Large {
    pub fn clear(&mut self, cells: usize) {
        self.bytes.clear();
        self.met.clear();
        self.renumber.clear();
        self.renumber.resize(cells, 0);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Room for Large {
    fn push(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn meet(&mut self, old: usize) -> Word {
        let number = &mut self.renumber[old];
        if *number == 0 {
            self.met.push(old);
            *number = self.met.len() as Word;
        }
        *number
    }

    fn met(&self, at: usize) -> Option<usize> {
        self.met.get(at).copied()
    }
}
