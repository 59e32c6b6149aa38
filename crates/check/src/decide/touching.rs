//! Operations of one process that touch on different objects.
//!
//! Where an operation is called at the very stamp at which its process's last one returned, it comes after it; operations of different
//! processes that meet at a stamp are concurrent. That order need not be an interval order, and then linearizability is not local:
//! with p: a on x `1..5`, b on y `5..8` and q: d on y `1..5`, c on x `5..8`, object x may want c before a and y b before d, which no
//! order of all four allows. So where operations touch across objects, the orders found for the objects are merged into one that respects
//! real time; if they cannot be, nothing is concluded. (A violation of one object is a violation in any case.)

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use linpoint_history::{Operation, ProcessId};
use rustc_hash::FxHashMap;

use super::objects::Object;

/// Do operations of one process touch on different objects?
pub(super) fn is_across(rows: &[Operation], objects: &[Object]) -> bool {
    let touching = |rows: &[Operation]| touched(rows).iter().filter(|before| before.is_some()).count();
    objects.len() > 1 && touching(rows) > objects.iter().map(|object| touching(&object.rows)).sum()
}

/// For each row the operation of its process that returned at its call, if one did.
fn touched(rows: &[Operation]) -> Vec<Option<usize>> {
    let mut by_call: Vec<usize> = (0..rows.len()).collect();
    by_call.sort_by_key(|&i| (rows[i].call, rows[i].ret, i));
    let mut last: FxHashMap<ProcessId, usize> = FxHashMap::default();
    let mut before = vec![None; rows.len()];
    for index in by_call {
        let previous = last.insert(rows[index].process(), index);
        before[index] = previous.filter(|&previous| rows[previous].ret == rows[index].call);
    }
    before
}

/// Is there an order of all rows that contains the `orders` of the objects and respects real time? What may come next is always the
/// next of some object; taking one never keeps another from being taken later.
pub(super) fn agree(rows: &[Operation], orders: &[Object]) -> bool {
    let before = touched(rows);
    let name = |op: &Operation| (op.process(), op.call, op.ret);
    let mut named: FxHashMap<(ProcessId, i64, i64), Vec<usize>> = FxHashMap::default();
    for (index, row) in rows.iter().enumerate() {
        named.entry(name(row)).or_default().push(index);
    }
    let mut index = |op: &Operation| {
        let same = named.get_mut(&name(op))?;
        let at = same.iter().position(|&index| rows[index] == *op)?;
        Some(same.remove(at))
    };
    let orders: Option<Vec<Vec<usize>>> =
        orders.iter().map(|object| object.rows.iter().map(&mut index).collect()).collect();
    let Some(orders) = orders else { return false };
    let mut by_return: Vec<usize> = (0..rows.len()).filter(|&i| !rows[i].is_pending()).collect();
    by_return.sort_unstable_by_key(|&i| Reverse(rows[i].ret));
    let mut left: usize = orders.iter().map(Vec::len).sum();
    let mut next = vec![0; orders.len()];
    let mut done = vec![false; rows.len()];
    let mut waiting: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    let call = |object: usize, next: &[usize]| orders[object].get(next[object]).map(|&op| rows[op].call);
    let mut ready: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    ready.extend((0..orders.len()).filter_map(|object| Some(Reverse((call(object, &next)?, object)))));
    while let Some(Reverse((called, object))) = ready.pop() {
        let op = orders[object][next[object]];
        while by_return.last().is_some_and(|&first| done[first]) {
            by_return.pop();
        }
        if by_return.last().is_some_and(|&first| rows[first].ret < called) {
            return false;
        }
        if let Some(first) = before[op].filter(|&first| !done[first]) {
            waiting.entry(first).or_default().push(object);
            continue;
        }
        done[op] = true;
        left -= 1;
        next[object] += 1;
        let freed = waiting.remove(&op).unwrap_or_default();
        let heads = freed.into_iter().chain([object]);
        ready.extend(heads.filter_map(|object| Some(Reverse((call(object, &next)?, object)))));
    }
    left == 0
}
