//! A first-in-first-out list whose items keep their number while they are held.
//!
//! Items lie in chunks: growth never copies them, so the peak is what is held, and chunks of items that left
//! are used again or given back.

use std::collections::VecDeque;

const CHUNK_BITS: u32 = 10;
const CHUNK: usize = 1 << CHUNK_BITS;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    chunks: VecDeque<Vec<T>>,
    /// The number of the first item of the first chunk; a multiple of the chunk's size.
    base: u32,
    front: u32,
    end: u32,
    spare: Option<Vec<T>>,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { chunks: VecDeque::new(), base: 0, front: 0, end: 0, spare: None }
    }
}

impl<T> Ring<T> {
    /// The number of the oldest item held.
    #[inline]
    pub fn front(&self) -> u32 {
        self.front
    }

    /// The number the next item will get.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Adds an item and gives its number.
    #[inline]
    pub fn push(&mut self, item: T) -> u32 {
        let number = self.end;
        if number & (CHUNK as u32 - 1) == 0 {
            let chunk = self.spare.take().unwrap_or_else(|| Vec::with_capacity(CHUNK));
            self.chunks.push_back(chunk);
        }
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.push(item);
        }
        self.end += 1;
        number
    }

    /// The item numbered `number`, which is held.
    #[inline]
    pub fn get(&self, number: u32) -> &T {
        let at = number - self.base;
        &self.chunks[(at >> CHUNK_BITS) as usize][at as usize & (CHUNK - 1)]
    }

    /// The item numbered `number`, which is held.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> &mut T {
        let at = number - self.base;
        &mut self.chunks[(at >> CHUNK_BITS) as usize][at as usize & (CHUNK - 1)]
    }

    /// Forgets the oldest item.
    #[inline]
    pub fn pop(&mut self) {
        debug_assert!(self.front < self.end, "an empty ring has nothing to forget");
        self.front += 1;
        if self.front - self.base == CHUNK as u32 {
            self.spare = self.chunks.pop_front().map(|mut chunk| {
                chunk.clear();
                chunk
            });
            self.base = self.front;
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        (self.chunks.len() + usize::from(self.spare.is_some())) * CHUNK * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_while_items_come_and_go() {
        let mut ring = Ring::default();
        for n in 0..10_000u32 {
            assert_eq!(ring.push(n), n);
            if n % 3 != 0 {
                ring.pop();
            }
            assert_eq!(*ring.get(ring.end() - 1), n);
            if ring.front() < ring.end() {
                assert_eq!(*ring.get(ring.front()), ring.front());
            }
        }
        assert!(ring.memory() < 4 * 6 * CHUNK);
    }
}
