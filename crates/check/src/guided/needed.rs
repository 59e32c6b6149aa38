//! A better plan for collections: what must come first, as far as pairs of operations at one stamp tell, goes
//! first.
//!
//! The plan of an engine that takes touching operations as concurrent knows nothing of the order inside a
//! process. Here each pair of operations of an object that meet at a stamp is asked whether one must come
//! before the other, whatever the rest of the order is:
//!
//! - an insertion comes before the removal of its value; what found nothing comes before a value goes in that
//!   was removed later, and after the removal of one that was there before;
//! - *queue*: values leave in the order in which they came;
//! - *stack*: of two that came in one order and left in the same order, the first was gone when the second
//!   came; of what lies below, the push comes before, the pop after;
//! - *priority queue*: what is removed first although it ranks behind was gone before the other came; what
//!   was there before and ranks before leaves before.
//!
//! The operations are then put into an order that keeps to stamps, processes and these, with the engine's
//! plan where they leave a choice. It is a plan: nothing rests on it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use linpoint_history::{Kind, Operation};

use super::ahead::Ahead;
use crate::depth_first::links::Returns;

const NONE: u32 = u32::MAX;
/// Where more operations of an object meet at a stamp, each is compared with so many that follow it.
const MOST_COMPARED: usize = 64;

/// The better plan.
pub(super) fn plan(
    ahead: &Ahead,
    kind: Kind,
    rows: &[Operation],
    completed: usize,
    object: &[u32],
    place: &[u32],
) -> Vec<u32> {
    let mut edges = edges(ahead, kind, rows, object);
    let first = sorted(rows, completed, place, &edges);
    if kind != Kind::Queue {
        return first;
    }
    // Values that come together and leave together: they came as they leave in this order.
    let mut at = vec![0; rows.len()];
    first.iter().enumerate().for_each(|(place, &row)| at[row as usize] = place);
    pairs(rows, object, |a, b| {
        let (x, y) = (ahead.partner(a), ahead.partner(b));
        let both =
            x != NONE && y != NONE && ahead.inserts(&rows[a as usize]) && ahead.inserts(&rows[b as usize]);
        if both {
            edges.push(if at[x as usize] < at[y as usize] { (a, b) } else { (b, a) });
        }
    });
    sorted(rows, completed, place, &edges)
}

/// Gives every pair of operations of one object that begin or end at one stamp.
fn pairs(rows: &[Operation], object: &[u32], mut visit: impl FnMut(u32, u32)) {
    let mut events: Vec<(u32, i64, u32)> = Vec::with_capacity(2 * rows.len());
    for (index, (row, &object)) in rows.iter().zip(object).enumerate() {
        events.push((object, row.call, index as u32));
        if row.ret != row.call && !row.is_pending() {
            events.push((object, row.ret, index as u32));
        }
    }
    events.sort_unstable();
    for same in events.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        for (index, a) in same.iter().enumerate() {
            same[index + 1..].iter().take(MOST_COMPARED).for_each(|b| visit(a.2, b.2));
        }
    }
}

fn edges(ahead: &Ahead, kind: Kind, rows: &[Operation], object: &[u32]) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for row in 0..rows.len() as u32 {
        if ahead.inserts(&rows[row as usize]) && ahead.partner(row) != NONE {
            edges.push((row, ahead.partner(row)));
        }
    }
    let before = |a: u32, b: u32| {
        let (first, second) = (&rows[a as usize], &rows[b as usize]);
        first.ret < second.call || first.process() == second.process() && a < b
    };
    let mut one_way = |a: u32, b: u32| {
        let (x, y) = (&rows[a as usize], &rows[b as usize]);
        let (pa, pb) = (ahead.partner(a), ahead.partner(b));
        let must = match (ahead.role(x), ahead.role(y)) {
            // It found nothing before the value came.
            (Role::Empty, Role::Insertion) => pb == NONE || before(a, pb),
            (Role::Removal, Role::Empty) => pa != NONE && before(pa, b) && x.call >= y.ret,
            (Role::Insertion, Role::Insertion) => match kind {
                Kind::Queue => pa != NONE && (pb == NONE || before(pa, pb)),
                Kind::Stack => pb != NONE && before(a, pb) && (pa == NONE || before(pb, pa)),
                _ => false,
            },
            (Role::Removal, Role::Removal) if pa != NONE && pb != NONE => match kind {
                Kind::Queue => before(pa, pb),
                Kind::Stack => before(pb, pa) && before(pa, b),
                _ => before(pa, b) && ahead.leaves_later(y.result, x.result),
            },
            (Role::Removal, Role::Insertion) if pa != NONE && pb != NONE && pa != b => match kind {
                Kind::Stack => before(pa, b) && before(a, pb),
                Kind::PriorityQueue | Kind::PriorityQueueMax => {
                    before(a, pb) && ahead.leaves_later(x.result, y.arg)
                }
                _ => false,
            },
            _ => false,
        };
        if must {
            edges.push((a, b));
        }
    };
    pairs(rows, object, |a, b| {
        one_way(a, b);
        one_way(b, a);
    });
    edges
}

/// What an operation does to a collection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Insertion,
    Removal,
    Empty,
    Other,
}

/// An order that keeps to stamps and processes, to the edges unless they go in a circle, and otherwise to the
/// places.
fn sorted(rows: &[Operation], completed: usize, place: &[u32], edges: &[(u32, u32)]) -> Vec<u32> {
    let mut waits = vec![0u32; rows.len()];
    let mut by_first = edges.to_vec();
    by_first.sort_unstable();
    by_first.dedup();
    by_first.iter().for_each(|&(_, b)| waits[b as usize] += 1);
    let processes = rows.iter().map(|row| row.process().0 as usize + 1).max().unwrap_or(0);
    let (mut heads, mut after) = (vec![NONE; processes], vec![NONE; rows.len()]);
    for (index, row) in rows.iter().enumerate().rev() {
        after[index] = std::mem::replace(&mut heads[row.process().0 as usize], index as u32);
    }
    let mut returns = Returns::new(completed as u32);
    let mut order = Vec::with_capacity(rows.len());
    let mut done = vec![false; rows.len()];
    let mut is_head = vec![false; rows.len()];
    // Heads that wait for nothing but their turn, and those that are not called yet.
    let mut ready: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    let mut later: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
    for &head in heads.iter().filter(|head| **head != NONE) {
        later.push(Reverse((rows[head as usize].call, head)));
    }
    while order.len() < rows.len() {
        let first = returns.first() as usize;
        let limit = if first < completed { rows[first].ret } else { i64::MAX };
        while let Some(&Reverse((call, head))) = later.peek()
            && call <= limit
        {
            later.pop();
            is_head[head as usize] = true;
            if waits[head as usize] == 0 {
                ready.push(Reverse((place[head as usize], head)));
            }
        }
        let next = ready.pop().map(|Reverse((_, row))| row).or_else(|| {
            // A circle: whatever is wanted first.
            heads
                .iter()
                .copied()
                .filter(|&head| head != NONE && is_head[head as usize])
                .min_by_key(|&head| place[head as usize])
        });
        let Some(row) = next else { break };
        if std::mem::replace(&mut done[row as usize], true) {
            continue;
        }
        order.push(row);
        if (row as usize) < completed {
            returns.remove(row);
        }
        let process = rows[row as usize].process().0 as usize;
        heads[process] = after[row as usize];
        if heads[process] != NONE {
            later.push(Reverse((rows[heads[process] as usize].call, heads[process])));
        }
        let from = by_first.partition_point(|edge| edge.0 < row);
        for &(_, b) in by_first[from..].iter().take_while(|edge| edge.0 == row) {
            waits[b as usize] -= 1;
            if waits[b as usize] == 0 && is_head[b as usize] && !done[b as usize] {
                ready.push(Reverse((place[b as usize], b)));
            }
        }
    }
    order.extend((0..rows.len() as u32).filter(|&row| !done[row as usize]));
    order
}
