//! One history of one object, checked on several cores.
//!
//! **By value.** In a set, a multiset and a list an operation looks at one value and changes one value, so such an object is the product of as many objects as there
//! are values, and linearizability is local: the history holds iff that of each group of values does. This decides both ways. (`insert_pair` looks at two: then nothing is split.)
//!
//! **By time.** A history is cut between two returns, with different stamps. An operation that returned before the cut belongs to the piece before it, one that was called after the
//! cut to the piece after it, and one that is open at the cut to either: that is a guess. If each piece can be explained alone, starting from what the pieces before it leave, the orders one behind the
//! other explain the whole:
//! - *Real time.* Let a stand in a later piece than b, and c be the stamp of the last return before the cut between them. Then a returns after c, or it would belong to a piece before the cut,
//!   and b was called at c or before. So a does not precede b.
//! - *Contents.* In a priority queue what is in after a set of operations does not depend on their order: the initial elements, plus those inserted, minus those removed. So the contents
//!   at the cut are counted, without an order. In a queue, a stack or a register the order matters: those are not cut. (Nor are histories that change keys, though they could be: no engine of the priority
//!   queue's own takes them, and on the general ones the cores are better used for a race.)
//!
//! So `holds` is right whatever was guessed. If a piece fails the guess may be to blame: nothing is concluded, and the whole is decided as ever. What is open at a cut is put behind it, but for
//! insertions that something removed before the cut needs. Cuts are *nearly quiescent* in this sense: a removal may be open there if nothing larger was removed, and nothing was found empty, between its
//! call and the cut. Then the guess should lose nothing: let an order explain the history, and move what is open at the cut, and was before it in that order, behind it, in the same order. An element that now leaves later is in
//! the way only of removals of larger ones, or of none, that stay before the cut; they took effect after its removal was called, and there are none. An insertion that now comes later is missed only by the removal that took
//! its element; if that stays before the cut, so does an insertion of the same value ([`is_needed`]). A removal that found nothing must not be open at a cut at all.
//! (Recordings with 16 priorities and 16 clients show that it still goes wrong at times; why is not known.)
//!
//! **What it is worth.** Cores that are idle, and not always: where next to nothing is open at once one core explains millions of returns a second, and counting and copying cost about as much as they save; where many are open the guess
//! may be wrong, and its time is lost. So it is off unless [`super::Options::split`] asks for it.
//!
//! Every piece's order is replayed by the recheck, from the contents that were counted.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use linpoint_history::specs::codes::{priority_queue, set};
use linpoint_history::{Basis, Builtin, Kind, Operation, ProcessId, Symbols, Value, ValueId, Verdict};
use rustc_hash::FxHashMap;

use super::objects::Object;
use super::{Attempt, CheckError, Found, Outcome, Part};
use crate::feed::{Feed, Names};
use crate::portfolio::{self, Choice};

/// Shorter histories are not worth a thread.
pub(super) const LEAST: usize = 1 << 16;
/// Places that are looked at for each cut, on either side of the middle.
const NEAR: usize = 1 << 12;
/// Returns after a cut among which those that are open there are looked for.
const AHEAD: usize = 1 << 15;
/// Insertions that may be open at a cut.
const MOST_OPEN: u32 = 64;
/// A stretch of a history and what it starts from.
struct Piece {
    rows: Vec<Operation>,
    spec: Builtin,
}

/// Decides a history on `part.threads` cores; `None` if it is not to be split, or nothing was concluded.
pub(super) fn decide(
    part: &Part<'_>,
    feed: &Feed<'_>,
    symbols: &Symbols,
    least: usize,
) -> Result<Option<Found>, CheckError> {
    let plain = part.spec.capacity.is_none() && !part.spec.spurious;
    let fast = matches!(part.choice, Choice::Auto | Choice::Monitor | Choice::Metastate);
    let Some(rows) = feed.in_memory().filter(|rows| plain && fast && rows.len() >= least && part.threads > 1)
    else {
        return Ok(None);
    };
    if !feed.pending.is_empty() || has_touching(rows) {
        return Ok(None);
    }
    match part.spec.kind {
        Kind::Set | Kind::Multiset | Kind::List if rows.iter().all(|op| op.op() != set::INSERT_PAIR) => {
            let found = part.decide_all(&by_value(rows, part.threads), symbols, part.threads, None)?;
            Ok(Some(Found { object: None, ..found }))
        }
        Kind::PriorityQueue | Kind::PriorityQueueMax
            if rows.iter().all(|op| op.op() != priority_queue::CHANGE_KEY) =>
        {
            match by_time(rows, part.spec, symbols, 2 * part.threads) {
                Some(pieces) => explain_all(part, &pieces, symbols),
                None => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// Did an operation begin at the very stamp at which its process's last one returned? Then real time is no interval order, see [`super::touching`].
fn has_touching(rows: &[Operation]) -> bool {
    let mut last: FxHashMap<ProcessId, i64> = FxHashMap::default();
    rows.iter().any(|op| last.insert(op.process(), op.ret) == Some(op.call))
}

/// Values in as many groups as there are cores.
fn by_value(rows: &[Operation], groups: usize) -> Vec<Object> {
    let mut objects: Vec<Object> =
        (0..groups).map(|_| Object { name: Value::Null, rows: Vec::new() }).collect();
    for op in rows {
        // Neighbouring values go to different groups.
        let group = (u64::from(op.arg.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % groups;
        objects[group].rows.push(*op);
    }
    objects
}

/// Stretches that begin with known contents; `None` where there is no good cut or a removal finds nothing to remove.
fn by_time(rows: &[Operation], spec: &Builtin, symbols: &Symbols, pieces: usize) -> Option<Vec<Piece>> {
    let mut contents = Contents::of(spec, symbols)?;
    let mut cuts: Vec<usize> =
        (1..pieces).filter_map(|n| cut_near(rows, spec, symbols, rows.len() / pieces * n)).collect();
    cuts.dedup();
    if cuts.is_empty() {
        return None;
    }
    let mut all = Vec::new();
    let mut taken = vec![false; rows.len()];
    let mut from = 0;
    for cut in cuts.into_iter().chain([rows.len()]) {
        let start = spec.clone().with_initial(contents.list(symbols));
        let mut piece: Vec<Operation> = Vec::with_capacity(cut - from);
        for (op, taken) in rows[from..cut].iter().zip(&taken[from..cut]) {
            if !taken {
                piece.push(*op);
                contents.add(op);
            }
        }
        // Insertions that are open at the cut, and that something removed before it needs.
        let c = rows[cut - 1].ret;
        for index in cut..rows.len().min(cut + AHEAD) {
            let op = &rows[index];
            if op.call <= c
                && !taken[index]
                && op.op() == priority_queue::INSERT
                && (contents.lacks(op.arg) || is_needed(op, &rows[..cut], &piece, contents.count(op.arg)))
            {
                taken[index] = true;
                piece.push(*op);
                contents.add(op);
            }
        }
        if !contents.are_possible() {
            return None;
        }
        all.push(Piece { rows: piece, spec: start });
        from = cut;
    }
    Some(all)
}

/// Was there a return before the cut by which more elements of this insertion's value had been removed than other insertions can have brought? `count` are there at the cut, `piece` has those that were
/// taken from behind it.
fn is_needed(insertion: &Operation, before: &[Operation], piece: &[Operation], count: i64) -> bool {
    let value = insertion.arg;
    let since = before.partition_point(|row| row.ret < insertion.call);
    let window = &before[since.max(before.len().saturating_sub(NEAR))..];
    let Some(last) = before.last() else { return false };
    let extra = piece.iter().rev().take_while(|op| op.ret > last.ret);
    // Backwards: what was inserted later was not there yet, and what was removed later still was.
    let mut later: Vec<i64> = extra.filter(|op| op.arg == value).map(|op| op.call).collect();
    let mut removed = 0;
    for row in window.iter().rev() {
        match row.op() {
            priority_queue::INSERT if row.arg == value => later.push(row.call),
            priority_queue::REMOVE if row.result == value => {
                let missing = later.iter().filter(|call| **call > row.ret).count() as i64;
                if count + removed - missing < 0 {
                    return true;
                }
                removed += 1;
            }
            _ => {}
        }
    }
    false
}

/// The best place for a cut near `middle`: no removal is open that might have to go before it, and as few insertions as can be. A cut at n has n returns before it.
fn cut_near(rows: &[Operation], spec: &Builtin, symbols: &Symbols, middle: usize) -> Option<usize> {
    let (low, high) = (middle.saturating_sub(NEAR).max(1), (middle + NEAR).min(rows.len() - 1));
    if low >= high {
        return None;
    }
    // Larger ones leave later; what finds nothing does so when all have left.
    let key = |op: &Operation| match symbols.int(op.result) {
        _ if op.result.is_null() => Some(i64::MAX),
        Some(number) if spec.kind == Kind::PriorityQueueMax => Some(!number),
        number => number,
    };
    // For each place, what is open there, as differences.
    let mut removals = vec![0i32; high - low + 2];
    let mut insertions = vec![0i32; high - low + 2];
    let last = rows[high - 1].ret;
    for (index, op) in rows.iter().enumerate().skip(low).take(high - low + AHEAD) {
        if op.call > last {
            continue;
        }
        // It is open at the cuts after the first return that does not precede it, up to its own.
        let first = low + rows[low - 1..high].partition_point(|row| row.ret < op.call);
        let until = index.min(high);
        if first > until {
            continue;
        }
        let (open, from) = if op.op() == priority_queue::INSERT {
            (&mut insertions, Some(first))
        } else {
            // It is in the way from the return of a larger one on.
            let own = key(op).filter(|key| *key < i64::MAX);
            let larger = |row: &Operation| row.op() != priority_queue::INSERT && key(row) > own;
            let start = rows.partition_point(|row| row.ret < op.call);
            let blocked = match own {
                Some(_) => rows[start..until].iter().position(larger).map(|at| (start + at + 1).max(first)),
                None => Some(first),
            };
            (&mut removals, blocked)
        };
        if let Some(from) = from.filter(|from| *from <= until) {
            open[from - low] += 1;
            open[until - low + 1] -= 1;
        }
    }
    let (mut in_the_way, mut open_insertions) = (0, 0);
    let mut best: Option<(u32, usize, usize)> = None;
    for cut in low..=high {
        in_the_way += removals[cut - low];
        open_insertions += insertions[cut - low];
        if in_the_way == 0 && rows[cut - 1].ret < rows[cut].ret {
            let candidate = (open_insertions as u32, cut.abs_diff(middle), cut);
            best = Some(best.map_or(candidate, |best| best.min(candidate)));
        }
    }
    best.filter(|(open, ..)| *open <= MOST_OPEN).map(|(.., cut)| cut)
}

/// How often each value is in; less than nothing while something is still missing.
struct Contents(FxHashMap<ValueId, i64>);

impl Contents {
    fn of(spec: &Builtin, symbols: &Symbols) -> Option<Contents> {
        let mut contents = Contents(FxHashMap::default());
        if let Value::List(items) = &spec.initial {
            for item in items.iter() {
                contents.change(symbols.find(item)?, 1);
            }
        }
        Some(contents)
    }

    fn change(&mut self, value: ValueId, by: i64) {
        let count = self.0.entry(value).or_default();
        *count += by;
        if *count == 0 {
            self.0.remove(&value);
        }
    }

    fn add(&mut self, op: &Operation) {
        match op.op() {
            priority_queue::INSERT => self.change(op.arg, 1),
            priority_queue::REMOVE if !op.result.is_null() => self.change(op.result, -1),
            _ => {}
        }
    }

    fn count(&self, value: ValueId) -> i64 {
        self.0.get(&value).copied().unwrap_or(0)
    }

    fn lacks(&self, value: ValueId) -> bool {
        self.count(value) < 0
    }

    fn are_possible(&self) -> bool {
        self.0.values().all(|count| *count >= 0)
    }

    fn list(&self, symbols: &Symbols) -> Value {
        if self.0.is_empty() {
            return Value::Null;
        }
        let all = self.0.iter().flat_map(|(value, count)| (0..*count).map(|_| symbols.value(*value)));
        Value::List(all.collect::<Vec<_>>().into())
    }
}

/// Explains every piece, or concludes nothing.
fn explain_all(part: &Part<'_>, pieces: &[Piece], symbols: &Symbols) -> Result<Option<Found>, CheckError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let done: Mutex<Vec<Result<(String, u64), CheckError>>> = Mutex::new(Vec::new());
    let work = || {
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failed.load(Ordering::Relaxed) {
                break;
            }
            let alone = Part { spec: &piece.spec, threads: 1, ..*part };
            let explained = explain(&alone, &Feed::of(piece.rows.clone()), symbols).transpose();
            if !matches!(explained, Some(Ok(_))) {
                failed.store(true, Ordering::Relaxed);
            }
            if let (Ok(mut done), Some(explained)) = (done.lock(), explained) {
                done.push(explained);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..part.threads.min(pieces.len()) {
            scope.spawn(work);
        }
        work();
    });
    let done: Vec<(String, u64)> =
        done.into_inner().unwrap_or_default().into_iter().collect::<Result<_, _>>()?;
    if done.len() < pieces.len() {
        return Ok(None);
    }
    let operations = done.iter().map(|(_, operations)| operations).sum();
    let mut engines: Vec<String> = done.into_iter().map(|(engine, _)| engine).collect();
    engines.sort();
    engines.dedup();
    Ok(Some(Found {
        verdict: Verdict::Holds(Basis::Witness { operations }),
        engine: format!("{}, {} pieces side by side", engines.join(", "), pieces.len()),
        because: String::new(),
        object: None,
    }))
}

/// The first engine that takes a piece, and how many operations it explained; `None` if it did not explain it.
fn explain(part: &Part<'_>, feed: &Feed<'_>, symbols: &Symbols) -> Result<Option<(String, u64)>, CheckError> {
    for candidate in portfolio::candidates(part.spec, part.choice) {
        let names = &mut Names::Shared(symbols);
        let Attempt { engine, outcome } = part.attempt(&candidate, feed, names, None, &|_| {})?;
        match outcome {
            Outcome::Holds(operations) => return Ok(Some((engine, operations))),
            Outcome::Unfit(_) => {}
            // It may have looked at a value that comes twice, and not have known yet.
            Outcome::Violated(..) if candidate.distinct => {}
            Outcome::Violated(..) | Outcome::Limit(..) => break,
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use linpoint_history::generate::{self, Plan, Spoil, Values};

    use super::*;
    use crate::decide::{Options, Unwatched};

    /// How often each way to split came to a verdict, against deciding the whole.
    fn compare(kind: Kind, seeds: std::ops::Range<u64>) -> [usize; 3] {
        let mut counts = [0; 3];
        for seed in seeds {
            let values =
                if seed.is_multiple_of(3) { Values::Distinct } else { Values::Repeated(1 + seed as u32 % 7) };
            let plan = Plan {
                processes: 1 + seed as u32 % 5,
                operations: 20 + seed % 60,
                seed,
                values,
                overlap: [0.2, 1.0, 4.0][seed as usize % 3],
                rare: 0.0,
                ..Plan::new(Builtin::new(kind))
            };
            let spoil = seed.is_multiple_of(2).then(Spoil::default);
            let Ok((mut history, _)) = generate::history(&plan, spoil) else { continue };
            history.sort_by_return();
            let options = Options { threads: 1 + seed as usize % 3 + 1, ..Options::default() };
            let budget = options.budget(Instant::now());
            let part = Part {
                spec: &plan.spec,
                choice: Choice::Auto,
                budget: &budget,
                watch: &Unwatched,
                threads: options.threads,
            };
            let feed = Feed::of(history.operations.clone());
            let whole = part.decide(&feed, &mut Names::Shared(&history.symbols), None).expect("a verdict");
            let split = decide(&part, &feed, &history.symbols, 1).expect("no mistake of ours");
            match split.map(|found| found.verdict) {
                Some(Verdict::Holds(basis)) => {
                    assert_eq!(Verdict::Holds(basis), whole.verdict, "{kind:?}, seed {seed}");
                    counts[0] += 1;
                }
                Some(Verdict::Violated(_)) => {
                    assert!(matches!(whole.verdict, Verdict::Violated(_)), "{kind:?}, seed {seed}");
                    counts[1] += 1;
                }
                Some(Verdict::Unknown(unknown)) => panic!("{kind:?}, seed {seed}: {unknown:?}"),
                None => counts[2] += 1,
            }
        }
        counts
    }

    #[test]
    fn pieces_agree_with_the_whole() {
        for kind in [Kind::PriorityQueue, Kind::PriorityQueueMax] {
            let [holds, violated, open] = compare(kind, 0..1500);
            assert!(holds > 300 && violated == 0 && open > 0, "{kind:?}: {holds} {violated} {open}");
        }
    }

    fn crowded(processes: u32, overlap: f64, values: Values) -> (Builtin, Vec<Operation>, Symbols) {
        let spec = Builtin::new(Kind::PriorityQueue);
        let plan =
            Plan { processes, operations: LEAST as u64, seed: 5, values, overlap, ..Plan::new(spec.clone()) };
        let (mut history, _) = generate::history(&plan, None).expect("a history");
        history.sort_by_return();
        (spec, history.operations, history.symbols)
    }

    /// Somebody is in a removal nearly all the time, and yet there is a place to cut; and pieces explain it.
    #[test]
    fn cuts_where_removals_are_open() {
        let (spec, rows, symbols) = crowded(8, 8.0, Values::Repeated(16));
        let pieces = by_time(&rows, &spec, &symbols, 4).expect("cuts");
        assert!(pieces.len() > 1);
        let options = Options { threads: 2, ..Options::default() };
        let budget = options.budget(Instant::now());
        let (choice, threads) = (Choice::Auto, options.threads);
        let part = Part { spec: &spec, choice, budget: &budget, watch: &Unwatched, threads };
        let found = explain_all(&part, &pieces, &symbols).expect("no mistake of ours").expect("it holds");
        let operations = rows.len() as u64;
        assert_eq!(found.verdict, Verdict::Holds(Basis::Witness { operations }));
    }

    #[test]
    fn values_agree_with_the_whole() {
        for kind in [Kind::Set, Kind::Multiset, Kind::List] {
            let [holds, violated, _] = compare(kind, 0..1000);
            assert!(holds > 300 && violated > 200, "{kind:?}: {holds} {violated}");
        }
    }
}
