//! Where each value is, and exactly which values were there: a table keyed by value that gives memory back.
//!
//! A monitor asks three things of a value: was it never seen, is it held now (and in which place), is it
//! gone? "Gone" must be exact for ever, since a second insertion of a value takes the decision out of the
//! monitor's hands. Values are numbers, usually rising ones, so they are kept by groups of 65536: a group
//! with few of them is two sorted lists (2 bytes a value gone), a fuller one is 1024 pages with one bit a
//! value gone and room for places only where one is held (2 to 6 bits a value of the range), and a group of
//! which every value came and went is one word. The directory is at most 1 MB.

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Never met.
    New,
    /// Held in a place.
    At(u32),
    /// Was held, and is no more.
    Gone,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(crate) struct ValueTable {
    groups: Vec<Group>,
    /// Room for the places of 64 neighbouring values, each plus one; zero: not held.
    blocks: Vec<[u32; 64]>,
    free: Vec<u32>,
    bytes: usize,
}

#[derive(Debug, Default)]
enum Group {
    #[default]
    Untouched,
    Few(Box<Few>),
    Paged(Box<Pages>),
    /// Every value of it is gone.
    Full,
}

#[derive(Debug, Default)]
struct Few {
    gone: Vec<u16>,
    held: Vec<(u16, u32)>,
}

#[derive(Debug)]
struct Pages {
    pages: [Page; 1024],
    gone: u32,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    gone: u64,
    block: u32,
    held: u32,
}

const NO_BLOCK: u32 = u32::MAX;
const FEW_VALUES: usize = 1024;

impl ValueTable {
    /// What is known of `value`.
    #[inline]
    pub fn get(&self, value: u32) -> Seen {
        match self.groups.get((value >> 16) as usize) {
            Some(Group::Paged(pages)) => {
                seen(&self.blocks, &pages.pages[(value >> 6 & 1023) as usize], value)
            }
            None | Some(Group::Untouched) => Seen::New,
            Some(Group::Full) => Seen::Gone,
            Some(Group::Few(few)) => few.get(value as u16),
        }
    }

    /// Says that `value` is held in `place`.
    #[inline]
    pub fn put(&mut self, value: u32, place: u32) {
        if let Some(Group::Paged(pages)) = self.groups.get_mut((value >> 16) as usize) {
            let page = &mut pages.pages[(value >> 6 & 1023) as usize];
            hold(&mut self.blocks, &mut self.free, page, value, place);
        } else {
            self.put_few(value, place);
        }
    }

    /// What is known of `value`; if nothing is, it is held in `place` from now on.
    #[inline]
    pub fn claim(&mut self, value: u32, place: u32) -> Seen {
        if let Some(Group::Paged(pages)) = self.groups.get_mut((value >> 16) as usize) {
            let page = &mut pages.pages[(value >> 6 & 1023) as usize];
            let known = seen(&self.blocks, page, value);
            if known == Seen::New {
                hold(&mut self.blocks, &mut self.free, page, value, place);
            }
            return known;
        }
        let known = self.get(value);
        if known == Seen::New {
            self.put_few(value, place);
        }
        known
    }

    /// What is known of `value`; if it is held in a place that `wanted` accepts, it is held no more.
    #[inline]
    pub fn take(&mut self, value: u32, wanted: impl Fn(u32) -> bool) -> Seen {
        let index = (value >> 16) as usize;
        if let Some(Group::Paged(pages)) = self.groups.get_mut(index) {
            let page = &mut pages.pages[(value >> 6 & 1023) as usize];
            let known = seen(&self.blocks, page, value);
            if let Seen::At(place) = known
                && wanted(place)
            {
                release(&mut self.blocks, &mut self.free, page, value);
                pages.gone += 1;
                if pages.gone == 1 << 16 {
                    self.groups[index] = Group::Full;
                    self.bytes -= PAGES_BYTES;
                }
            }
            return known;
        }
        self.take_few(value, wanted)
    }

    /// Says that `value`, if it is held, is held no more.
    #[inline]
    pub fn retire(&mut self, value: u32) {
        self.take(value, |_| true);
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.bytes
            + self.groups.capacity() * size_of::<Group>()
            + self.blocks.capacity() * 256
            + self.free.capacity() * 4
    }

    #[cold]
    #[inline(never)]
    fn put_few(&mut self, value: u32, place: u32) {
        let (index, low) = ((value >> 16) as usize, value as u16);
        if index >= self.groups.len() {
            self.groups.resize_with(index + 1, Group::default);
        }
        if matches!(self.groups[index], Group::Untouched) {
            self.groups[index] = Group::Few(Box::default());
        }
        let Group::Few(few) = &mut self.groups[index] else { return };
        match few.held.binary_search_by_key(&low, |h| h.0) {
            Ok(at) => few.held[at].1 = place,
            Err(at) => {
                few.held.insert(at, (low, place));
                self.bytes += 8; // It stays counted as gone: six bytes too many, which nobody minds.
            }
        }
        if few.held.len() + few.gone.len() > FEW_VALUES {
            self.page(index);
        }
    }

    #[cold]
    #[inline(never)]
    fn take_few(&mut self, value: u32, wanted: impl Fn(u32) -> bool) -> Seen {
        let known = self.get(value);
        if let Seen::At(place) = known
            && wanted(place)
            && let Some(Group::Few(few)) = self.groups.get_mut((value >> 16) as usize)
        {
            few.held.retain(|held| held.0 != value as u16);
            let at = few.gone.partition_point(|&gone| gone < value as u16);
            few.gone.insert(at, value as u16);
        }
        known
    }

    /// Turns a group of few into pages.
    fn page(&mut self, index: usize) {
        let Group::Few(few) = std::mem::take(&mut self.groups[index]) else { return };
        self.bytes = self.bytes.saturating_sub((few.held.len() + few.gone.len()) * 8) + PAGES_BYTES;
        let empty = Page { gone: 0, block: NO_BLOCK, held: 0 };
        let mut pages = Box::new(Pages { pages: [empty; 1024], gone: few.gone.len() as u32 });
        for low in few.gone {
            pages.pages[usize::from(low >> 6)].gone |= 1 << (low & 63);
        }
        self.groups[index] = Group::Paged(pages);
        for (low, place) in few.held {
            self.put((index as u32) << 16 | u32::from(low), place);
        }
    }
}

#[inline]
fn seen(blocks: &[[u32; 64]], page: &Page, value: u32) -> Seen {
    if page.block != NO_BLOCK {
        let place = blocks[page.block as usize][(value & 63) as usize];
        if place != 0 {
            return Seen::At(place - 1);
        }
    }
    if page.gone >> (value & 63) & 1 == 1 { Seen::Gone } else { Seen::New }
}

#[inline]
fn hold(blocks: &mut Vec<[u32; 64]>, free: &mut Vec<u32>, page: &mut Page, value: u32, place: u32) {
    if page.block == NO_BLOCK {
        page.block = free.pop().unwrap_or_else(|| {
            blocks.push([0; 64]);
            blocks.len() as u32 - 1
        });
    }
    let slot = &mut blocks[page.block as usize][(value & 63) as usize];
    page.held += u32::from(*slot == 0);
    *slot = place + 1;
}

/// Forgets where a value is that is held on `page`.
#[inline]
fn release(blocks: &mut [[u32; 64]], free: &mut Vec<u32>, page: &mut Page, value: u32) {
    blocks[page.block as usize][(value & 63) as usize] = 0;
    page.gone |= 1 << (value & 63);
    page.held -= 1;
    if page.held == 0 {
        free.push(page.block);
        page.block = NO_BLOCK;
    }
}

const PAGES_BYTES: usize = 1024 * size_of::<Page>();

impl Few {
    #[cold]
    #[inline(never)]
    fn get(&self, low: u16) -> Seen {
        if let Ok(at) = self.held.binary_search_by_key(&low, |h| h.0) {
            return Seen::At(self.held[at].1);
        }
        if self.gone.binary_search(&low).is_ok() { Seen::Gone } else { Seen::New }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use linpoint_history::rng::Rng;

    use super::*;

    /// Does what a plain map does, with rising, repeated and scattered values.
    #[test]
    fn agrees_with_a_map() {
        let mut rng = Rng::new(5);
        for spread in [100, 3_000, 70_000, 1 << 20, 1 << 32] {
            let mut table = ValueTable::default();
            let mut map: HashMap<u32, Option<u32>> = HashMap::new();
            for step in 0..200_000u32 {
                let value = if rng.chance(0.5) { step / 2 } else { rng.below(spread) as u32 };
                let expected = match map.get(&value) {
                    None => Seen::New,
                    Some(None) => Seen::Gone,
                    Some(&Some(place)) => Seen::At(place),
                };
                assert_eq!(table.get(value), expected, "value {value} of {spread}");
                match expected {
                    Seen::New => {
                        table.put(value, step);
                        map.insert(value, Some(step));
                    }
                    Seen::At(_) => {
                        table.retire(value);
                        map.insert(value, None);
                    }
                    Seen::Gone => {}
                }
            }
        }
    }

    #[test]
    fn values_that_came_and_went_cost_next_to_nothing() {
        let mut table = ValueTable::default();
        for value in 0..10_000_000 {
            table.put(value, value);
            if value >= 100 {
                table.retire(value - 100);
            }
        }
        assert!(table.memory() < 64 << 10, "{} bytes", table.memory());
        assert_eq!(table.get(5), Seen::Gone);
        assert_eq!(table.get(9_999_999), Seen::At(9_999_999));
        assert_eq!(table.get(10_000_000), Seen::New);
    }
}
