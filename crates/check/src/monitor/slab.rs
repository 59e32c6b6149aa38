//! Items with numbers that are used again. Like [`Ring`](super::ring::Ring) it grows by chunks and copies
//! nothing.

const CHUNK_BITS: u32 = 10;
const CHUNK: usize = 1 << CHUNK_BITS;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { chunks: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// The number the next item will get.
    #[inline]
    pub fn upcoming(&self) -> u32 {
        let end = || self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len());
        self.free.last().copied().unwrap_or_else(|| end() as u32)
    }

    /// Adds an item and gives its number.
    #[inline]
    pub fn add(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop() {
            *self.get_mut(number) = item;
            return number;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let last = self.chunks.len() - 1;
        self.chunks[last].push(item);
        (last * CHUNK + self.chunks[last].len() - 1) as u32
    }

    /// The item numbered `number`.
    #[inline]
    pub fn get(&self, number: u32) -> &T {
        &self.chunks[(number >> CHUNK_BITS) as usize][number as usize & (CHUNK - 1)]
    }

    /// The item numbered `number`.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.chunks[(number >> CHUNK_BITS) as usize][number as usize & (CHUNK - 1)]
    }

    /// Says that an item's number may be used again.
    #[inline]
    pub fn remove(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<T>() + self.free.capacity() * 4
    }
}
