//! From a long wrong history of a queue, stack or priority queue, values repeated, to a few operations that
//! are still wrong.
//!
//! Which dequeue took which of several equal elements is not known, so pairs cannot be left out one by one.
//! But elements of one value may be matched in order: the i-th insertion of v, in the order in which they
//! took effect, with the i-th removal of v. If the first D insertions of v all returned before the others
//! were called, they are the first D in every order; the same for removals. Where both are so, D is a *cut*
//! of v, and the operations between two cuts are a *block*: whole pairs in every order. Without them a legal
//! order stays legal (a queue without an element, a bag with fewer elements, "empty" stays true), so leaving
//! out a block never makes a right history wrong. The same holds for a removal that found nothing, for
//! insertions past the last removal of their value, and for cutting the history at a moment, operations open
//! then being pending.
//!
//! In a stack the last of equal elements leaves first, so there a cut also needs a moment at which no element
//! v is left: the first D of both were over before any other operation on v was called.
//!
//! What is left out is searched for by halving (Zeller & Hildebrandt 2002), and the engine decides what is
//! still wrong; a window around the failing return is tried first, so that a long history is not decided
//! again and again.

use linpoint_history::specs::codes::queue::{DEQUEUE, ENQUEUE};
use linpoint_history::{Builtin, Kind, Operation, Symbols, ValueId};
use rustc_hash::FxHashMap;

use super::priority_queue::PriorityQueueMetastates;
use super::queue::QueueMetastates;
use super::stack::StackMetastates;
use crate::engine::{self, Budget, Context, Engine, Stop};
use crate::timeline::{Ties, Timeline};

/// Operations of `rows`, a history that is wrong at the return of `at`, that are still wrong; `None` if
/// nothing is known to be left out.
pub fn shrink(
    spec: &Builtin,
    symbols: &Symbols,
    rows: &[Operation],
    at: Option<Operation>,
    budget: Budget,
) -> Option<Vec<Operation>> {
    if !fits(spec, rows) {
        return None;
    }
    let shrinker = Shrinker { spec, symbols, budget };
    let mut kept = match at {
        Some(at) => shrinker.around(rows, at)?,
        None => rows.to_vec(),
    };
    loop {
        let before = kept.len();
        kept = shrinker.halving(kept);
        kept = shrinker.cut(kept);
        if kept.len() == before || shrinker.is_late() {
            return Some(kept);
        }
    }
}

/// The sets of rows of which each may be left out: without it, what was linearizable stays so. None if that
/// is not known for the specification.
pub fn removable(spec: &Builtin, rows: &[Operation]) -> Vec<Vec<u32>> {
    if !fits(spec, rows) {
        return Vec::new();
    }
    blocks(spec.kind, rows).into_iter().map(|block| block.rows).collect()
}

/// Are blocks what this module's text says? In priority queues insertions and removals have the codes of a
/// queue's.
fn fits(spec: &Builtin, rows: &[Operation]) -> bool {
    let kinds = [Kind::Queue, Kind::Stack, Kind::PriorityQueue, Kind::PriorityQueueMax];
    kinds.contains(&spec.kind)
        && spec.capacity.is_none()
        && !spec.spurious
        && spec.initial.is_null()
        && rows.iter().all(|op| op.op() == DEQUEUE || op.op() == ENQUEUE && op.result.is_null())
}

struct Shrinker<'a> {
    spec: &'a Builtin,
    symbols: &'a Symbols,
    budget: Budget,
}

/// Operations that may be left out together.
struct Block {
    rows: Vec<u32>,
    /// From the first call to the moment all its elements are gone.
    from: i64,
    to: i64,
}

impl Shrinker<'_> {
    fn is_late(&self) -> bool {
        self.budget.check(0).is_err()
    }

    /// Do these operations have no order? Touching operations are taken as concurrent, which only helps them.
    fn is_wrong(&self, rows: &[Operation]) -> bool {
        let timeline = Timeline::of(rows, Ties::Relaxed);
        let cx = Context { symbols: self.symbols, spec: self.spec, budget: &self.budget };
        let mut engine: Box<dyn Engine> = match self.spec.kind {
            Kind::Queue => Box::new(QueueMetastates::new()),
            Kind::Stack => Box::new(StackMetastates::new()),
            _ => Box::new(PriorityQueueMetastates::new()),
        };
        matches!(engine::run(engine.as_mut(), &cx, &timeline), Err(Stop::Violated(_)))
    }

    /// The blocks that reach into a window around the failing return, as small a window as will do.
    fn around(&self, rows: &[Operation], at: Operation) -> Option<Vec<Operation>> {
        let blocks = blocks(self.spec.kind, rows);
        let mut returns: Vec<i64> =
            rows.iter().map(|op| op.ret).filter(|ret| *ret != Operation::NEVER).collect();
        returns.sort_unstable();
        let place = returns.partition_point(|ret| *ret < at.ret);
        let mut reach = 32;
        loop {
            let from = returns.get(place.saturating_sub(reach)).copied().unwrap_or(i64::MIN);
            let to = returns.get(place + reach).copied().unwrap_or(i64::MAX);
            let near = |block: &Block| block.from <= to && block.to >= from;
            let kept = without(rows, blocks.iter().filter(|block| !near(block)));
            if kept.len() < rows.len() && self.is_wrong(&kept) {
                return Some(kept);
            }
            if reach > rows.len() || self.is_late() {
                return self.is_wrong(rows).then(|| rows.to_vec());
            }
            reach *= 8;
        }
    }

    /// Leaves out blocks, many at a time, then fewer.
    fn halving(&self, mut kept: Vec<Operation>) -> Vec<Operation> {
        let mut size = blocks(self.spec.kind, &kept).len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            loop {
                let blocks = blocks(self.spec.kind, &kept);
                if from >= blocks.len() || self.is_late() {
                    break;
                }
                let rest = without(&kept, blocks.iter().skip(from).take(size));
                if self.is_wrong(&rest) {
                    kept = rest;
                } else {
                    from += size;
                }
            }
            size /= 2;
        }
        kept
    }

    /// Cuts the history at the first return at which it is wrong, operations open then made pending.
    fn cut(&self, kept: Vec<Operation>) -> Vec<Operation> {
        let mut ends: Vec<i64> = kept.iter().map(|op| op.ret).collect();
        ends.sort_unstable();
        ends.dedup();
        if ends.len() > 256 {
            return kept;
        }
        let first = |end: i64| {
            let called = kept.iter().copied().filter(move |op| op.call <= end);
            let cut: Vec<Operation> = called
                .map(|mut op| {
                    if op.ret > end {
                        op.ret = Operation::NEVER;
                        op.result = ValueId::NULL;
                    }
                    op
                })
                .collect();
            (cut.len() < kept.len() && self.is_wrong(&cut)).then_some(cut)
        };
        ends.into_iter().find_map(first).unwrap_or(kept)
    }
}

fn without<'b>(rows: &[Operation], blocks: impl Iterator<Item = &'b Block>) -> Vec<Operation> {
    let mut keep = vec![true; rows.len()];
    blocks.flat_map(|block| &block.rows).for_each(|row| keep[*row as usize] = false);
    rows.iter().zip(keep).filter(|(_, keep)| *keep).map(|(op, _)| *op).collect()
}

/// What may be left out, in order of time.
fn blocks(kind: Kind, rows: &[Operation]) -> Vec<Block> {
    let mut by_value: FxHashMap<ValueId, (Vec<u32>, Vec<u32>)> = FxHashMap::default();
    let mut blocks = Vec::new();
    let mut is_wild = false;
    for (index, op) in rows.iter().enumerate() {
        if op.op() == ENQUEUE {
            by_value.entry(op.arg).or_default().0.push(index as u32);
        } else if op.is_pending() {
            is_wild = true;
        } else if op.result.is_null() {
            blocks.push(Block { rows: vec![index as u32], from: op.call, to: op.ret });
        } else {
            by_value.entry(op.result).or_default().1.push(index as u32);
        }
    }
    for (mut inserts, mut removes) in by_value.into_values() {
        // A removal that took no one knows what may have taken any element, so then only all of a value's
        // operations may be left out (it then took nothing).
        let all = vec![0];
        let insert_cuts = if is_wild { all.clone() } else { cuts(rows, &mut inserts) };
        let remove_cuts = if is_wild { all } else { cuts(rows, &mut removes) };
        let last = removes.len();
        // Past the last removal elements stay for good, and only insertions matter.
        let is_common = |d: &usize| if *d > last { true } else { remove_cuts.binary_search(d).is_ok() };
        let mut common: Vec<usize> = insert_cuts.into_iter().filter(is_common).collect();
        if kind == Kind::Stack {
            common.retain(|&d| d == 0 || all_gone(rows, &inserts, &removes, d));
        }
        common.push(inserts.len().max(last));
        for pair in common.windows(2).filter(|pair| pair[0] < pair[1]) {
            let part = |list: &[u32]| list[pair[0].min(list.len())..pair[1].min(list.len())].to_vec();
            let (inserted, removed) = (part(&inserts), part(&removes));
            let stays = inserted.len() > removed.len();
            let members = [inserted, removed].concat();
            let from = members.iter().map(|row| rows[*row as usize].call).min().unwrap_or(0);
            let to = members.iter().map(|row| rows[*row as usize].ret).max().unwrap_or(0);
            blocks.push(Block { rows: members, from, to: if stays { i64::MAX } else { to } });
        }
    }
    blocks.sort_by_key(|block| (block.from, block.to, block.rows[0]));
    blocks
}

/// Were the first `d` pushes and pops of a value over before any other was called? Then none was on the stack
/// at that moment, and a pop after it takes what was pushed after it.
fn all_gone(rows: &[Operation], pushes: &[u32], pops: &[u32], d: usize) -> bool {
    if d > pops.len() {
        return false;
    }
    let row = |index: &u32| &rows[*index as usize];
    let over = pushes[..d].iter().chain(&pops[..d]).map(|i| row(i).ret).max();
    let begun = pushes[d..].iter().chain(&pops[d..]).map(|i| row(i).call).min();
    over < begun || begun.is_none()
}

/// Sorts operations by return and finds each number D such that the first D returned before the others were
/// called.
fn cuts(rows: &[Operation], list: &mut [u32]) -> Vec<usize> {
    list.sort_by_key(|row| rows[*row as usize].ret);
    let mut calls: Vec<i64> = list.iter().map(|row| rows[*row as usize].call).collect();
    calls.sort_unstable();
    let returned = |d: usize| rows[list[d - 1] as usize].ret;
    let mut cuts = vec![0];
    cuts.extend((1..list.len()).filter(|&d| returned(d) < calls[d]));
    if !list.is_empty() && returned(list.len()) != Operation::NEVER {
        cuts.push(list.len());
    }
    cuts
}
