//! The peel of deeply nested values, O(n log n): for when [`super::peel`] would need too many rounds.
//!
//! Free gaps only ever grow in number, and a value can go once a free gap lies in its push window and another
//! in its pop window. Only gaps that end a push window or begin a pop window can be next to a block, so these
//! are the positions. Three trees: how many covers lie on each position (add over a range, find a zero); for
//! each push window the least position it begins at, in order of where it ends, to find the windows a new
//! free gap lies in; and the mirror image for pop windows. Each window and each gap is found once.

use std::collections::BTreeSet;

use super::peel::{Item, Peeled, Stuck};

/// Peels `items`, sorted by `left`, and empties the list unless they are stuck.
pub fn peel(items: &mut Vec<Item>, order: &mut Vec<Peeled>) -> Result<(), Stuck> {
    let mut positions: Vec<u32> = items.iter().flat_map(|item| [item.left, item.right]).collect();
    positions.sort_unstable();
    positions.dedup();
    let place = |gap: u32| positions.partition_point(|&p| p < gap);
    // A cover is the positions strictly inside; as a half-open range of places.
    let covers: Vec<(usize, usize)> =
        items.iter().map(|item| (place(item.left) + 1, place(item.right))).collect();
    let mut counts = Counts::new(positions.len(), &covers);
    let mut pushes = Least::new(items.iter().map(|item| item.first));
    let mut by_right: Vec<u32> = (0..items.len() as u32).collect();
    by_right.sort_unstable_by_key(|&i| items[i as usize].right);
    // The mirror image: the greatest `last`, among those that begin at or before a gap.
    let mut pops = Least::new(by_right.iter().map(|&i| !items[i as usize].last));
    let mut state = State { marks: vec![0; items.len()], free: BTreeSet::new(), ready: Vec::new() };
    let mut left = items.len();
    loop {
        while let Some(zero) = counts.take_zero() {
            let gap = positions[zero];
            state.free.insert(gap);
            let from = items.partition_point(|item| item.left < gap);
            while let Some(i) = pushes.take(from, items.len(), gap) {
                state.mark(i);
            }
            let to = by_right.partition_point(|&i| items[i as usize].right <= gap);
            while let Some(i) = pops.take(0, to, !gap) {
                state.mark(by_right[i] as usize);
            }
        }
        let Some(i) = state.ready.pop() else { break };
        let item = items[i];
        let nearest_left = state.free.range(..=item.left).next_back();
        let nearest_right = state.free.range(item.right..).next();
        let (Some(&at), Some(&until)) = (nearest_left, nearest_right) else { break };
        order.push(Peeled { tag: item.tag, left: at, right: until });
        counts.add(covers[i].0, covers[i].1, -1);
        left -= 1;
    }
    if left == 0 {
        items.clear();
        return Ok(());
    }
    Err(Stuck { items: first_block(items, &state.marks) })
}

struct State {
    marks: Vec<u8>,
    free: BTreeSet<u32>,
    ready: Vec<usize>,
}

impl State {
    fn mark(&mut self, i: usize) {
        self.marks[i] += 1;
        if self.marks[i] == 2 {
            self.ready.push(i);
        }
    }
}

/// The first block of those that were not taken.
fn first_block(items: &[Item], marks: &[u8]) -> Vec<Item> {
    let mut block: Vec<Item> = Vec::new();
    let mut right = 0;
    for (item, _) in items.iter().zip(marks).filter(|(_, marks)| **marks < 2) {
        if !block.is_empty() && item.left >= right {
            break;
        }
        right = right.max(item.right);
        block.push(*item);
    }
    block
}

/// How many covers lie on each place: a tree of minima in which an addition stays where it was made.
struct Counts {
    size: usize,
    least: Vec<i32>,
    added: Vec<i32>,
}

const TAKEN: i32 = i32::MAX / 2;

impl Counts {
    fn new(places: usize, covers: &[(usize, usize)]) -> Counts {
        let size = places.next_power_of_two();
        let mut steps = vec![0i32; places + 1];
        for &(from, to) in covers {
            steps[from] += 1;
            steps[to] -= 1;
        }
        let mut least = vec![TAKEN; 2 * size];
        let mut sum = 0;
        for place in 0..places {
            sum += steps[place];
            least[size + place] = sum;
        }
        for node in (1..size).rev() {
            least[node] = least[2 * node].min(least[2 * node + 1]);
        }
        Counts { size, least, added: vec![0; 2 * size] }
    }

    fn add(&mut self, from: usize, to: usize, by: i32) {
        let (mut low, mut high) = (from + self.size, to + self.size);
        if low >= high {
            return;
        }
        let (first, last) = (low, high - 1);
        while low < high {
            if low & 1 == 1 {
                self.least[low] += by;
                self.added[low] += by;
                low += 1;
            }
            if high & 1 == 1 {
                high -= 1;
                self.least[high] += by;
                self.added[high] += by;
            }
            low >>= 1;
            high >>= 1;
        }
        self.lift(first);
        self.lift(last);
    }

    fn lift(&mut self, leaf: usize) {
        let mut node = leaf >> 1;
        while node > 0 {
            self.least[node] = self.least[2 * node].min(self.least[2 * node + 1]) + self.added[node];
            node >>= 1;
        }
    }

    /// A place on which no cover lies, which is then never given again.
    fn take_zero(&mut self) -> Option<usize> {
        if self.least[1] != 0 {
            return None;
        }
        let mut node = 1;
        let mut above = 0;
        while node < self.size {
            above += self.added[node];
            node *= 2;
            if self.least[node] + above != 0 {
                node += 1;
            }
        }
        self.least[node] = TAKEN;
        self.lift(node);
        Some(node - self.size)
    }
}

/// A tree of minima from which what is small enough is taken out.
struct Least {
    size: usize,
    least: Vec<u32>,
}

impl Least {
    fn new(values: impl ExactSizeIterator<Item = u32>) -> Least {
        let size = values.len().next_power_of_two();
        let mut least = vec![u32::MAX; 2 * size];
        for (i, value) in values.enumerate() {
            least[size + i] = value;
        }
        for node in (1..size).rev() {
            least[node] = least[2 * node].min(least[2 * node + 1]);
        }
        Least { size, least }
    }

    /// Takes out some index in `from..to` whose value is at most `bound`.
    fn take(&mut self, from: usize, to: usize, bound: u32) -> Option<usize> {
        let (mut low, mut high) = (from + self.size, to + self.size);
        let mut found = 0;
        while low < high {
            if low & 1 == 1 {
                if self.least[low] <= bound {
                    found = low;
                    break;
                }
                low += 1;
            }
            if high & 1 == 1 {
                high -= 1;
                if self.least[high] <= bound {
                    found = high;
                    break;
                }
            }
            low >>= 1;
            high >>= 1;
        }
        if found == 0 {
            return None;
        }
        while found < self.size {
            found *= 2;
            if self.least[found] > bound {
                found += 1;
            }
        }
        self.least[found] = u32::MAX;
        let mut node = found >> 1;
        while node > 0 {
            self.least[node] = self.least[2 * node].min(self.least[2 * node + 1]);
            node >>= 1;
        }
        Some(found - self.size)
    }
}
