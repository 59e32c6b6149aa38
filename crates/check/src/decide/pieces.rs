//! One history of one object, checked on several cores.
//!
//! **By value.** In a set, a multiset and a list an operation looks at one value and changes one value, so
//! such an object is the product of as many objects as there are values, and linearizability is local: the
//! history holds iff that of each group of values does. This decides both ways. (`insert_pair` looks at two:
//! then nothing is split.)
//!
//! **By time.** A history is cut between two returns, with different stamps. An operation that returned
//! before the cut belongs to the piece before it, one that was called after the cut to the piece after it,
//! and one that is open at the cut to either: that is a guess ([`cuts`] says which). If each piece can be
//! explained alone, starting from what the pieces before it leave, the orders one behind the other explain
//! the whole:
//! - *Real time.* Let a stand in a later piece than b, and c be the stamp of the last return before the cut
//!   between them. Then a returns after c, or it would belong to a piece before the cut, and b was called at
//!   c or before. So a does not precede b.
//! - *Contents.* In a priority queue what is in after a set of operations does not depend on their order: the
//!   initial elements, plus those inserted, minus those removed. So the contents at the cut are counted,
//!   without an order. In a queue, a stack or a register the order matters: those are not cut. (Nor are
//!   histories that change keys, though they could be: no engine of the priority queue's own takes them, and
//!   on the general ones the cores are better used for a race.)
//!
//! So `holds` is right whatever was guessed. If a piece fails a guess may be to blame: it is tried with its
//! neighbours, as one piece; and if that fails, nothing is concluded, and the whole is decided as ever.
//!
//! **What it is worth.** Where next to nothing is open at once one core explains millions of returns a
//! second, and counting and copying cost about as much as a second core saves. Where much is open a return
//! takes microseconds, and two cores take less than half the time of one: cuts are where little is undecided,
//! so that pieces have fewer configurations, too. So a priority queue is cut where the first engine is slow
//! ([`super::race`]); a set, whose monitor is always fast, only if [`super::Split::AtOnce`] asks for it.
//! `docs/evaluation.md` has figures.
//!
//! Every piece's order is replayed by the recheck, from the contents that were counted.

mod cuts;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use linpoint_history::specs::codes::{priority_queue, set};
use linpoint_history::{Basis, Builtin, Kind, Operation, ProcessId, Symbols, Value, Verdict};
use rustc_hash::FxHashMap;

use self::cuts::{Reach, by_time};
use super::objects::Object;
use super::{Attempt, CheckError, Found, Outcome, Part};
use crate::feed::{Feed, Names};
use crate::portfolio::{self, Choice};

/// Shorter histories are not worth a thread.
pub(super) const LEAST: usize = 1 << 16;
/// Pieces a core: they do not all take the same time.
const PIECES: usize = 4;

/// A stretch of a history and what it starts from.
pub(super) struct Piece {
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
    let Some(rows) = feed.in_memory().filter(|rows| rows.len() >= least && feed.pending.is_empty()) else {
        return Ok(None);
    };
    if can_be_grouped(part, rows) {
        let found = part.decide_all(&by_value(rows, part.threads), symbols, part.threads, None)?;
        return Ok(Some(Found { object: None, ..found }));
    }
    let Some(pieces) = cut(part, rows, symbols) else { return Ok(None) };
    let Some((engine, operations)) = explain_all(part, pieces, rows.len(), symbols)? else { return Ok(None) };
    let verdict = Verdict::Holds(Basis::Witness { operations });
    Ok(Some(Found { verdict, engine, because: String::new(), object: None }))
}

/// The pieces of a priority queue's history in which nothing is pending, a few for each core; `None` where
/// there is no good place to cut.
pub(super) fn cut(part: &Part<'_>, rows: &[Operation], symbols: &Symbols) -> Option<Vec<Piece>> {
    let is_queue = matches!(part.spec.kind, Kind::PriorityQueue | Kind::PriorityQueueMax);
    let keeps_keys = || rows.iter().all(|op| op.op() != priority_queue::CHANGE_KEY);
    if !is_queue || !is_plain(part) || !keeps_keys() || has_touching(rows) {
        return None;
    }
    let reach = Reach::within(rows.len() / (PIECES * part.threads));
    by_time(rows, part.spec, symbols, PIECES * part.threads, &reach, part.budget)
}

fn can_be_grouped(part: &Part<'_>, rows: &[Operation]) -> bool {
    matches!(part.spec.kind, Kind::Set | Kind::Multiset | Kind::List)
        && is_plain(part)
        && rows.iter().all(|op| op.op() != set::INSERT_PAIR)
        && !has_touching(rows)
}

fn is_plain(part: &Part<'_>) -> bool {
    let fast = matches!(part.choice, Choice::Auto | Choice::Monitor | Choice::Metastate);
    fast && part.spec.capacity.is_none() && !part.spec.spurious && part.threads > 1
}

/// Did an operation begin at the very stamp at which its process's last one returned? Then real time is no
/// interval order, see [`super::touching`].
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

/// Explains every piece of a history of so many operations, and says by which engines and how many there
/// were; or concludes nothing. Where a piece fails, a guess at one of its ends may be to blame: it is tried
/// once more together with its neighbours.
pub(super) fn explain_all(
    part: &Part<'_>,
    pieces: Vec<Piece>,
    of: usize,
    symbols: &Symbols,
) -> Result<Option<(String, u64)>, CheckError> {
    let count = pieces.len();
    let mut done = explain_each(part, &pieces, symbols)?;
    let groups = around_failed(&done);
    if groups.iter().any(|group| group.len() == count) {
        return Ok(None);
    }
    if !groups.is_empty() {
        let joined: Vec<Piece> = groups.iter().map(|group| join(&pieces[group.clone()])).collect();
        let again = explain_each(part, &joined, symbols)?;
        groups.into_iter().flatten().for_each(|index| done[index] = Some((String::new(), 0)));
        done.extend(again);
    }
    let Some(done) = done.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    let operations = done.iter().map(|(_, operations)| operations).sum();
    // Whatever became of pieces on the way: all of the history is explained, or nothing is concluded.
    if operations != of as u64 {
        return Ok(None);
    }
    let mut engines: Vec<String> = done.into_iter().map(|(engine, _)| engine).collect();
    engines.sort();
    engines.dedup();
    engines.retain(|engine| !engine.is_empty());
    Ok(Some((format!("{}, {count} pieces side by side", engines.join(", ")), operations)))
}

/// Stretches of pieces that failed, each with its neighbours.
fn around_failed<T>(done: &[Option<T>]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (index, _) in done.iter().enumerate().filter(|(_, done)| done.is_none()) {
        let (from, until) = (index.saturating_sub(1), (index + 2).min(done.len()));
        match groups.last_mut() {
            Some(last) if last.end >= from => last.end = until,
            _ => groups.push(from..until),
        }
    }
    groups
}

/// Pieces that follow one another as one.
fn join(pieces: &[Piece]) -> Piece {
    let rows = pieces.iter().flat_map(|piece| piece.rows.iter().copied()).collect();
    Piece { rows, spec: pieces[0].spec.clone() }
}

/// What each piece came to: by which engine it was explained, and how many operations it has; `None` where it
/// failed.
fn explain_each(
    part: &Part<'_>,
    pieces: &[Piece],
    symbols: &Symbols,
) -> Result<Vec<Option<(String, u64)>>, CheckError> {
    let total: u64 = pieces.iter().map(|piece| piece.rows.len() as u64).sum();
    let (next, explained) = (AtomicUsize::new(0), AtomicU64::new(0));
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(index) else { break };
            let alone = Part { spec: &piece.spec, threads: 1, ..*part };
            let found = explain(&alone, &Feed::over(&piece.rows), symbols);
            let rows = piece.rows.len() as u64;
            part.watch.explained(explained.fetch_add(rows, Ordering::Relaxed) + rows, total);
            if let Ok(mut done) = done.lock() {
                done.push((index, found));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..part.threads.min(pieces.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, found)| found).collect()
}

/// The first engine that takes a piece, and how many operations it explained; `None` if it did not explain
/// it.
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
    use crate::decide::{Options, Split, Unwatched};
    use crate::engine::Budget;

    fn part<'a>(spec: &'a Builtin, budget: &'a Budget, threads: usize) -> Part<'a> {
        let (choice, split) = (Choice::Auto, Split::AtOnce);
        Part { spec, choice, budget, watch: &Unwatched, threads, split, search_limit_bytes: None }
    }

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
            let part = part(&plan.spec, &budget, options.threads);
            let feed = Feed::over(&history.operations);
            let whole =
                part.decide_alone(&feed, &mut Names::Shared(&history.symbols), None).expect("a verdict");
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

    /// Somebody is in a removal nearly all the time, and yet there are places to cut; and the pieces can be
    /// explained, whatever is open at the cuts.
    #[test]
    fn pieces_of_crowded_histories_are_explained() {
        let spec = Builtin::new(Kind::PriorityQueue);
        let budget = Budget::default();
        let (mut cut_at_all, mut explained) = (0, 0);
        for seed in 0..24 {
            let processes = [4, 8, 16, 24][seed as usize % 4];
            let values = Values::Repeated(if seed < 16 { 16 } else { 1000 });
            let overlap = f64::from(processes);
            let plan =
                Plan { processes, operations: 8_000, seed, values, overlap, ..Plan::new(spec.clone()) };
            let (mut history, _) = generate::history(&plan, None).expect("a history");
            history.sort_by_return();
            let part = part(&spec, &budget, 2);
            let Some(pieces) = cut(&part, &history.operations, &history.symbols) else { continue };
            assert!(pieces.len() > 1);
            cut_at_all += 1;
            if let Some((_, operations)) =
                explain_all(&part, pieces, history.operations.len(), &history.symbols)
                    .expect("no mistake of ours")
            {
                assert_eq!(operations, history.operations.len() as u64);
                explained += 1;
            }
        }
        assert!(cut_at_all >= 20 && explained >= 20, "{cut_at_all} were cut, {explained} of them explained");
    }

    /// A removal of 5 is open for long; 3 comes in while it is, and stays in until after its return: it has
    /// gone before the 3, and before every cut between.
    #[test]
    fn what_is_open_for_long_is_put_before_cuts() {
        let spec = Builtin::new(Kind::PriorityQueue);
        let mut symbols = Symbols::new();
        let mut row = |process: i64, op, arg: Option<i64>, result: Option<i64>, call, ret| {
            let mut row = Operation::new(symbols.process_number(process), op);
            let mut id = |number: Option<i64>| symbols.intern(&number.map_or(Value::Null, Value::Int));
            (row.arg, row.result) = (id(arg), id(result));
            (row.call, row.ret) = (call, ret);
            row
        };
        use priority_queue::{INSERT, REMOVE};
        let mut rows = vec![row(0, INSERT, Some(5), None, 0, 1), row(0, INSERT, Some(3), None, 4, 5)];
        for n in 0..2000 {
            let at = 10 + 4 * n;
            rows.push(row(0, INSERT, Some(2), None, at, at + 1));
            rows.push(row(0, REMOVE, None, Some(2), at + 2, at + 3));
        }
        rows.push(row(1, REMOVE, None, Some(5), 2, 9_000));
        let budget = Budget::default();
        let part = part(&spec, &budget, 2);
        let pieces = cut(&part, &rows, &symbols).expect("cuts");
        assert_eq!(pieces.len(), 2 * PIECES);
        let (_, operations) =
            explain_all(&part, pieces, rows.len(), &symbols).expect("no mistake").expect("it holds");
        assert_eq!(operations, rows.len() as u64);
    }

    #[test]
    fn pieces_that_fail_are_joined_with_their_neighbours() {
        let none_at = |failed: &[usize]| {
            let done: Vec<Option<()>> =
                (0..8).map(|index| (!failed.contains(&index)).then_some(())).collect();
            around_failed(&done)
        };
        assert!(none_at(&[]).is_empty());
        assert_eq!(none_at(&[0, 7]), [0..2, 6..8]);
        let ends = |failed: &[usize]| {
            none_at(failed).iter().map(|group| (group.start, group.end)).collect::<Vec<_>>()
        };
        assert_eq!(ends(&[3]), [(2, 5)]);
        assert_eq!(ends(&[1, 4]), [(0, 6)], "groups that touch are one");
        // A cut that puts a removal in the wrong piece is mended.
        let spec = Builtin::new(Kind::PriorityQueue);
        let (budget, mut symbols) = (Budget::default(), Symbols::new());
        let mut row = |process: i64, op, arg: Value, result: Value, call, ret| {
            let mut row = Operation::new(symbols.process_number(process), op);
            (row.arg, row.result) = (symbols.intern(&arg), symbols.intern(&result));
            (row.call, row.ret) = (call, ret);
            row
        };
        let mut rows: Vec<Operation> = Vec::new();
        for n in 0..4 {
            rows.push(row(0, priority_queue::INSERT, Value::Int(n), Value::Null, 4 * n, 4 * n + 1));
            rows.push(row(0, priority_queue::REMOVE, Value::Null, Value::Int(n), 4 * n + 2, 4 * n + 3));
        }
        let wrong = |at: [usize; 5]| {
            let piece = |range: Range<usize>| Piece { rows: rows[range].to_vec(), spec: spec.clone() };
            at.windows(2).map(|ends| piece(ends[0]..ends[1])).collect::<Vec<_>>()
        };
        let part = part(&spec, &budget, 2);
        let explained = |of| {
            let pieces = wrong([0, 2, 4, 7, 8]);
            let explained = explain_all(&part, pieces, of, &symbols).expect("no mistake of ours");
            explained.map(|(_, operations)| operations)
        };
        assert_eq!(explained(8), Some(8), "the last two pieces as one");
        assert_eq!(explained(9), None, "one operation is in no piece");
    }

    #[test]
    fn values_agree_with_the_whole() {
        for kind in [Kind::Set, Kind::Multiset, Kind::List] {
            let [holds, violated, _] = compare(kind, 0..1000);
            assert!(holds > 300 && violated > 200, "{kind:?}: {holds} {violated}");
        }
    }
}
