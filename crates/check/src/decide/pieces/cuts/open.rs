//! Which operations that are open at a cut must have taken effect before it, as far as counting says.
//!
//! Each is looked at from its call to its return, alone:
//! - *A removal of v cannot come later* if all the time from the cut to its return something smaller is in:
//!   more was inserted, by returns, than removals that have been called can have taken. (A removal that found
//!   nothing: if anything is in all the time.)
//! - *It cannot come later* either if before the cut, and after its call, something larger was removed, or
//!   nothing was found, while a v was in all the time that nobody else can have taken.
//! - *An insertion of v cannot come later* if before the cut more elements v had left, by a return, than
//!   others can have brought. Of several it is those that return first: whatever order there is, insertions
//!   of the same value can change places as far as their returns allow.
//!
//! What these say is so in every order that explains the history. They do not say all: two operations may
//! exclude each other's later places only together.

use std::collections::BinaryHeap;

use linpoint_history::specs::codes::priority_queue;
use linpoint_history::{Builtin, Kind, Operation, Symbols, ValueId};

use super::Contents;
use crate::engine::Budget;

/// Rows a step of the look for what is open.
const STRIDE: usize = 1 << 10;

/// A history's rows, prepared to be asked what is open.
pub(super) struct Open<'a> {
    rows: &'a [Operation],
    /// For each stride of rows, the first call in it or behind it.
    floors: Vec<i64>,
    /// What leaves first; of removals that found nothing, the last of all.
    keys: Vec<i64>,
    symbols: &'a Symbols,
    greatest_first: bool,
}

impl<'a> Open<'a> {
    /// `None` where something is no integer.
    pub(super) fn new(rows: &'a [Operation], spec: &Builtin, symbols: &'a Symbols) -> Option<Open<'a>> {
        let mut floors: Vec<i64> =
            rows.chunks(STRIDE).map(|rows| rows.iter().map(|op| op.call).min().unwrap_or(i64::MAX)).collect();
        for index in (1..floors.len()).rev() {
            floors[index - 1] = floors[index - 1].min(floors[index]);
        }
        let mut open = Open {
            rows,
            floors,
            keys: Vec::new(),
            symbols,
            greatest_first: spec.kind == Kind::PriorityQueueMax,
        };
        open.keys = rows.iter().map(|op| open.key_of(op)).collect::<Option<_>>()?;
        Some(open)
    }

    fn key_of(&self, op: &Operation) -> Option<i64> {
        match op.op() {
            priority_queue::INSERT => self.key(op.arg),
            _ if op.result.is_null() => Some(i64::MAX),
            _ => self.key(op.result),
        }
    }

    fn key(&self, value: ValueId) -> Option<i64> {
        self.symbols.int(value).map(|number| if self.greatest_first { !number } else { number })
    }

    fn is_insertion(&self, index: usize) -> bool {
        self.rows[index].op() == priority_queue::INSERT
    }

    /// The rows from `start` to `end`, and those behind that were called at `by` or before.
    pub(super) fn called_by(&self, start: usize, end: usize, by: i64) -> Vec<usize> {
        let mut found: Vec<usize> = (start..end).collect();
        let mut at = end;
        while at < self.rows.len() && self.floors[at / STRIDE] <= by {
            let next = (at / STRIDE + 1) * STRIDE;
            let behind = at..next.min(self.rows.len());
            found.extend(behind.filter(|&index| self.rows[index].call <= by));
            at = next;
        }
        found
    }

    /// What is open after `cut` returns and must have taken effect; `contents` are those of the returns, and
    /// `moved` are known to have. `None` if the budget is used up.
    pub(super) fn before(
        &self,
        cut: usize,
        contents: &Contents,
        moved: &[usize],
        budget: &Budget,
    ) -> Option<Vec<usize>> {
        let Some(last) = cut.checked_sub(1) else { return Some(Vec::new()) };
        let c = self.rows[last].ret;
        let open = self.called_by(cut, cut, c);
        let mut sorted: Vec<(i64, i64)> =
            contents.0.iter().filter_map(|(value, count)| Some((self.key(*value)?, *count))).collect();
        sorted.sort_unstable();
        let mut before: Vec<usize> = open.iter().copied().filter(|index| moved.contains(index)).collect();
        for &index in &open {
            if before.contains(&index) {
                continue;
            }
            // Each is a walk along the rows that it is open for, which may be all.
            budget.check(0).ok()?;
            let must = if self.is_insertion(index) {
                self.was_needed(index, cut, &sorted, &before)
            } else {
                let view = View { open: &open, sorted: &sorted, c };
                self.is_too_late(index, cut, &view) || self.was_in_the_way(index, cut, &view)
            };
            if must {
                before.push(index);
            }
        }
        Some(before)
    }

    /// Is something smaller than what it took in all the time from the cut to its return?
    fn is_too_late(&self, index: usize, cut: usize, view: &View<'_>) -> bool {
        let (key, ret) = (self.keys[index], self.rows[index].ret);
        let removes_smaller = |other: &usize| !self.is_insertion(*other) && self.keys[*other] < key;
        let inside: i64 = view.sorted.iter().take_while(|(k, _)| *k < key).map(|(_, count)| count).sum();
        let level = inside - view.open.iter().filter(|other| removes_smaller(other)).count() as i64;
        if level <= 0 {
            return false;
        }
        let mut changes = Vec::new();
        for other in self.called_by(cut, index, ret) {
            let op = &self.rows[other];
            if self.is_insertion(other) && self.keys[other] < key && op.ret < ret {
                changes.push((op.ret + 1, 1));
            } else if removes_smaller(&other) && op.call > view.c {
                changes.push((op.call, -1));
            }
        }
        none_in(level, changes).is_empty()
    }

    /// Was something larger removed before the cut, or nothing found, while what it took was in all the time
    /// and nobody else can have taken it?
    fn was_in_the_way(&self, index: usize, cut: usize, view: &View<'_>) -> bool {
        let (key, call) = (self.keys[index], self.rows[index].call);
        if key == i64::MAX {
            return false;
        }
        let takes = |other: usize| other != index && !self.is_insertion(other) && self.keys[other] == key;
        let at = view.sorted.partition_point(|(k, _)| *k < key);
        let inside = view.sorted.get(at).filter(|(k, _)| *k == key).map_or(0, |(_, count)| *count);
        let mut level = inside - view.open.iter().filter(|other| takes(**other)).count() as i64;
        // From the cut back to its call, and forward again.
        let first = self.rows[..cut].partition_point(|op| op.ret < call);
        let mut changes = Vec::new();
        for other in (first..cut).chain(view.open.iter().copied()) {
            let op = &self.rows[other];
            if takes(other) && op.call > call {
                changes.push((op.call, -1));
                level += 1;
            } else if other < cut && self.is_insertion(other) && self.keys[other] == key {
                changes.push((op.ret + 1, 1));
                level -= 1;
            }
        }
        let none = none_in(level, changes);
        (first..cut).any(|other| {
            let op = &self.rows[other];
            let is_larger = !self.is_insertion(other) && self.keys[other] > key && op.call >= call;
            // The first stretch without it that ends after the larger one's call begins after its return.
            let next = none.partition_point(|(_, until)| *until <= op.call);
            is_larger && none.get(next).is_none_or(|(from, _)| *from > op.ret)
        })
    }

    /// Had more elements of its value left by a return before the cut than other insertions can have brought?
    fn was_needed(&self, index: usize, cut: usize, sorted: &[(i64, i64)], before: &[usize]) -> bool {
        let (key, call) = (self.keys[index], self.rows[index].call);
        let at = sorted.partition_point(|(k, _)| *k < key);
        let inside = sorted.get(at).filter(|(k, _)| *k == key).map_or(0, |(_, count)| *count);
        let same = |other: &usize| self.keys[*other] == key;
        let brought = before.iter().copied().filter(|other| self.is_insertion(*other)).filter(same);
        // Calls of insertions that are known to be before the cut, the last on top.
        let mut calls: BinaryHeap<i64> = brought.map(|other| self.rows[other].call).collect();
        let mut count = inside + calls.len() as i64;
        let first = self.rows[..cut].partition_point(|op| op.ret < call);
        // Backwards: what was removed later was still in, and what was called later had not been brought; nor
        // had it been by an earlier return.
        for other in (first..cut).rev().filter(same) {
            if self.is_insertion(other) {
                calls.push(self.rows[other].call);
                continue;
            }
            while calls.peek().is_some_and(|call| *call > self.rows[other].ret) {
                calls.pop();
                count -= 1;
            }
            if count < 0 {
                return true;
            }
            count += 1;
        }
        false
    }
}

/// What is seen at a cut.
struct View<'a> {
    /// The open operations.
    open: &'a [usize],
    /// The contents by key.
    sorted: &'a [(i64, i64)],
    /// The stamp of the last return.
    c: i64,
}

/// When there is none: stretches of stamps, the last of each left out, in which a level that changes so is
/// not above zero. Removals count from the stamp of their call on and insertions from the stamp after their
/// return, so that where moments may fall together it is the lower level that counts.
fn none_in(level: i64, mut changes: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    changes.sort_unstable();
    let mut level = level;
    let mut none: Vec<(i64, i64)> = Vec::new();
    if level <= 0 {
        none.push((i64::MIN, i64::MAX));
    }
    for same in changes.chunk_by(|a, b| a.0 == b.0) {
        let (was, stamp) = (level, same[0].0);
        level += same.iter().map(|(_, change)| change).sum::<i64>();
        match (was > 0, level > 0) {
            (true, false) => none.push((stamp, i64::MAX)),
            (false, true) => {
                if let Some(last) = none.last_mut() {
                    last.1 = stamp;
                }
            }
            _ => {}
        }
    }
    none
}

#[cfg(test)]
mod tests {
    use linpoint_history::generate::{self, Plan, Values};

    use super::*;
    use crate::brute;

    /// What is said to belong before a cut loses no order: with its return moved to the cut, what can be
    /// explained still can.
    #[test]
    fn nothing_is_lost_by_what_is_put_before() {
        let mut put = [0; 2];
        for seed in 0..3000 {
            let kind = if seed % 4 == 0 { Kind::PriorityQueueMax } else { Kind::PriorityQueue };
            let spec = Builtin::new(kind);
            let plan = Plan {
                processes: 2 + seed as u32 % 4,
                operations: 6 + seed % 6,
                seed,
                values: Values::Repeated(1 + seed as u32 % 4),
                overlap: 4.0,
                rare: 0.0,
                ..Plan::new(spec.clone())
            };
            let Ok((mut history, _)) = generate::history(&plan, None) else { continue };
            history.sort_by_return();
            let (rows, symbols) = (history.operations, history.symbols);
            if rows.iter().any(|op| op.is_pending() || op.op() == priority_queue::CHANGE_KEY) {
                continue;
            }
            let open = Open::new(&rows, &spec, &symbols).expect("integers");
            for cut in 1..rows.len() {
                let mut contents = Contents::of(&spec, &symbols).expect("known values");
                rows[..cut].iter().for_each(|op| contents.add(op));
                let c = rows[cut - 1].ret;
                if rows[cut].ret == c {
                    continue;
                }
                let before = open.before(cut, &contents, &[], &Budget::unlimited()).expect("no limit");
                if before.is_empty() {
                    continue;
                }
                let mut moved = rows.clone();
                for &index in &before {
                    assert!(index >= cut && rows[index].call <= c);
                    moved[index].ret = c;
                    put[usize::from(open.is_insertion(index))] += 1;
                }
                let found = brute::search(&spec, &moved, &symbols, &Budget::unlimited()).expect("no limit");
                let holds = matches!(found, brute::Search::Linearizable(_));
                assert!(holds, "seed {seed}, cut {cut}: {before:?} of {rows:?}");
            }
        }
        assert!(put[0] > 300 && put[1] > 300, "{put:?}");
    }

    impl Open<'_> {
        /// [`Open::was_needed`] in the obvious way: before each return of a removal, what was in is counted
        /// from the cut backwards.
        fn was_needed_slowly(&self, index: usize, cut: usize) -> bool {
            let (key, call) = (self.keys[index], self.rows[index].call);
            let rows = || (0..cut).filter(|other| self.keys[*other] == key);
            rows().filter(|other| !self.is_insertion(*other) && self.rows[*other].ret >= call).any(
                |removal| {
                    let ret = self.rows[removal].ret;
                    let brought =
                        rows().filter(|other| self.is_insertion(*other) && self.rows[*other].call <= ret);
                    let left = rows().filter(|other| !self.is_insertion(*other) && *other <= removal);
                    brought.count() < left.count()
                },
            )
        }
    }

    #[test]
    fn insertions_are_needed_where_counting_says_so() {
        let mut needed = 0;
        for seed in 0..2000 {
            let spec = Builtin::new(Kind::PriorityQueue);
            let plan = Plan {
                processes: 4,
                operations: 40,
                seed,
                values: Values::Repeated(1 + seed as u32 % 4),
                overlap: 4.0,
                rare: 0.0,
                ..Plan::new(spec.clone())
            };
            let Ok((mut history, _)) = generate::history(&plan, None) else { continue };
            history.operations.retain(|op| !op.is_pending() && op.op() != priority_queue::CHANGE_KEY);
            history.sort_by_return();
            let (rows, symbols) = (history.operations, history.symbols);
            let open = Open::new(&rows, &spec, &symbols).expect("integers");
            for cut in 1..rows.len() {
                let mut contents = Contents::of(&spec, &symbols).expect("known values");
                rows[..cut].iter().for_each(|op| contents.add(op));
                let mut sorted: Vec<(i64, i64)> = contents
                    .0
                    .iter()
                    .map(|(value, count)| (open.key(*value).expect("an integer"), *count))
                    .collect();
                sorted.sort_unstable();
                for index in open.called_by(cut, cut, rows[cut - 1].ret) {
                    if open.is_insertion(index) {
                        let said = open.was_needed(index, cut, &sorted, &[]);
                        assert_eq!(said, open.was_needed_slowly(index, cut), "seed {seed}, {index} at {cut}");
                        needed += u32::from(said);
                    }
                }
            }
        }
        assert!(needed > 500, "{needed}");
    }

    /// One client hangs in an insertion from the beginning to the end, and of its value there are many: it is
    /// looked at for as long as the whole history, once, and not at all when time is up.
    #[test]
    fn an_insertion_that_is_open_all_the_time() {
        let (spec, mut symbols) = (Builtin::new(Kind::PriorityQueue), Symbols::new());
        let (seven, nothing) = (symbols.intern(&linpoint_history::Value::Int(7)), ValueId::NULL);
        let mut rows = Vec::new();
        let count = 1_000_000;
        let mut row = |process, op, (arg, result), (call, ret)| {
            let mut row = Operation::new(symbols.process_number(process), op);
            (row.arg, row.result, row.call, row.ret) = (arg, result, call, ret);
            rows.push(row);
        };
        for n in 0..count {
            let at = 10 + 4 * n;
            row(0, priority_queue::INSERT, (seven, nothing), (at, at + 1));
            row(0, priority_queue::REMOVE, (nothing, seven), (at + 2, at + 3));
        }
        row(1, priority_queue::INSERT, (seven, nothing), (1, 10 + 4 * count));
        let open = Open::new(&rows, &spec, &symbols).expect("integers");
        let contents = Contents::of(&spec, &symbols).expect("known values");
        let cut = rows.len() - 1;
        let started = std::time::Instant::now();
        assert_eq!(open.before(cut, &contents, &[], &Budget::unlimited()), Some(Vec::new()));
        // Counting anew for each removal would take most of an hour.
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
        let late = Budget { deadline: Some(started), ..Budget::unlimited() };
        assert_eq!(open.before(cut, &contents, &[], &late), None);
    }
}
