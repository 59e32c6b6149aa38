//! The greedy peel: which values can be taken away from the bottom, one after another, until none is left?
//!
//! Each value is surely inside in the gaps between its push window and its pop window: its *cover*. In a
//! maximal block of covered gaps the stack is never empty, so one and the same element lies at the bottom
//! throughout: it is pushed at or before the free gap left of the block and popped at or after the free gap
//! right of it. Conversely any value whose windows reach both of these gaps can be wrapped around everything
//! else in the block. So: take away all values that reach both sides of their block; what remains falls into
//! smaller blocks; repeat. A block in which nobody reaches both sides is a violation.
//!
//! All values taken from one block in one round are wrapped around it at the same two gaps, in any order.
//! Items are kept sorted by the end of their push window, so a round is one sweep. The number of rounds is
//! the depth of nesting, which is small in small windows; when it is not, the rest goes to [`super::nested`].
//!
//! Taking values away until none is left is the decrease-and-conquer of Lee & Mathur (2025).

use super::nested;

/// A value: its push may take effect in the gaps `first..=left`, its pop in `right..=last`, and `left <
/// right`.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub first: u32,
    pub left: u32,
    pub right: u32,
    pub last: u32,
    /// The caller's name for it.
    pub tag: u32,
}

/// A value that was taken away, and the gaps in which its push and its pop take effect.
#[derive(Clone, Copy, Debug)]
pub struct Peeled {
    pub tag: u32,
    pub left: u32,
    pub right: u32,
}

/// A block: the gaps strictly between `left` and `right` are covered, these two are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub left: u32,
    pub right: u32,
}

/// The block in which nobody reaches both sides: `items[..]` of the caller's list, sorted by `left`.
#[derive(Clone, Debug)]
pub struct Stuck {
    pub items: Vec<Item>,
}

/// Peels `items`, which are sorted by `left` and used up. `order` gets them outermost first, `blocks` the
/// blocks of all of them.
pub fn peel(items: &mut Vec<Item>, order: &mut Vec<Peeled>, blocks: &mut Vec<Block>) -> Result<(), Stuck> {
    let mut patience = 4096 + 12 * items.len();
    round(items, order, |block| blocks.push(block))?;
    while !items.is_empty() {
        patience = patience.saturating_sub(items.len());
        if patience == 0 {
            return nested::peel(items, order);
        }
        round(items, order, |_| ())?;
    }
    Ok(())
}

/// Takes away what reaches both sides of its block, in all blocks, and keeps the rest.
#[inline]
fn round(items: &mut Vec<Item>, order: &mut Vec<Peeled>, mut note: impl FnMut(Block)) -> Result<(), Stuck> {
    let mut kept = 0;
    let mut start = 0;
    while start < items.len() {
        let left = items[start].left;
        let mut right = items[start].right;
        let mut end = start + 1;
        while end < items.len() && items[end].left < right {
            right = right.max(items[end].right);
            end += 1;
        }
        note(Block { left, right });
        let before = order.len();
        for at in start..end {
            let item = items[at];
            if item.first <= left && item.last >= right {
                order.push(Peeled { tag: item.tag, left, right });
            } else {
                items[kept] = item;
                kept += 1;
            }
        }
        if order.len() == before {
            return Err(Stuck { items: items[kept - (end - start)..kept].to_vec() });
        }
        start = end;
    }
    items.truncate(kept);
    Ok(())
}

/// The last gap up to `gap` that lies in no block.
pub fn free(blocks: &[Block], gap: u32) -> u32 {
    let at = blocks.partition_point(|block| block.left < gap);
    match at.checked_sub(1).map(|at| blocks[at]) {
        Some(block) if gap < block.right => block.left,
        _ => gap,
    }
}

/// The fewest items whose covers span the whole of a stuck block. None of them reaches both sides of it, and
/// their covers make the same block, so they alone are stuck.
pub fn fewest(items: &[Item]) -> Vec<Item> {
    let Some(end) = items.iter().map(|item| item.right).max() else { return Vec::new() };
    span(items, items[0].left + 1, end - 1)
}

/// The fewest of `items` (sorted by `left`) whose covers contain all gaps `from..=to`; empty if they do not.
pub fn span(items: &[Item], from: u32, to: u32) -> Vec<Item> {
    let mut chain = Vec::new();
    let mut next = from;
    let mut at = 0;
    while next <= to {
        let mut best: Option<Item> = None;
        while at < items.len() && items[at].left < next {
            if best.is_none_or(|b| b.right < items[at].right) {
                best = Some(items[at]);
            }
            at += 1;
        }
        match best {
            Some(item) if item.right > next => {
                next = item.right;
                chain.push(item);
            }
            _ => return Vec::new(),
        }
    }
    chain
}
