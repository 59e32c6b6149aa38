//! Where a priority queue's history is cut, and which of the operations that are open there belong before the
//! cut.
//!
//! Metastates know: after each return they hold all that may have taken effect, with as little of it as can
//! be. So they are let loose on a *window* of some thousand returns before the place where a cut is wanted.
//! What is in the queue at the window's start is counted from the returns before it; what is open there is
//! taken not to have taken effect, but for what cannot come later ([`open`]). That may be wrong; but an
//! operation takes effect by its return at the latest, so a few dozen returns later nothing depends on it any
//! more, or a contradiction shows, and another window is begun behind it. The history is cut after a return
//! at which one configuration is left, or else as few as there are in the window: what took effect in it goes
//! before the cut, all else behind.
//!
//! Where a thread was off its core in the middle of an operation, that is open for tens of thousands of
//! returns, and no window is so long: this is what [`open`] is for.

mod open;

use linpoint_history::specs::codes::priority_queue;
use linpoint_history::{Builtin, Operation, Symbols, Value, ValueId};
use rustc_hash::FxHashMap;

use self::open::Open;
use super::Piece;
use crate::engine::{Budget, Context, Engine as _, Stop, Witness};
use crate::metastate::priority_queue::PriorityQueueMetastates;
use crate::timeline::{OpId, Ties, Timeline};

/// How far is looked.
pub(super) struct Reach {
    /// Returns in a window at the most.
    pub(super) window: usize,
    /// Returns in a window before its first cut.
    pub(super) settle: usize,
    /// Windows that may be tried for a cut.
    pub(super) tries: usize,
}

impl Reach {
    /// For cuts that are so many returns apart.
    pub(super) fn within(returns: usize) -> Reach {
        let window = (returns / 4).clamp(1, 1 << 11);
        Reach { window, settle: window / 8, tries: 3 }
    }
}

/// A place in a history: so many returns come before it, and these rows that return later.
struct Cut {
    at: usize,
    before: Vec<usize>,
}

/// Stretches that begin with known contents; `None` where there is no good cut.
pub(super) fn by_time(
    rows: &[Operation],
    spec: &Builtin,
    symbols: &Symbols,
    pieces: usize,
    reach: &Reach,
    budget: &Budget,
) -> Option<Vec<Piece>> {
    let mut all = Vec::new();
    let mut returned = Returned { rows, until: 0, contents: Contents::of(spec, symbols)? };
    let open = Open::new(rows, spec, symbols)?;
    let finder = Finder { rows, spec, symbols, reach, budget, open };
    let mut start = spec.clone();
    // Rows that were put before a cut and return after it.
    let mut moved: Vec<usize> = Vec::new();
    let mut from = 0;
    for n in 1..pieces {
        let wanted = (rows.len() / pieces * n).max(from + 1);
        let Some(cut) = finder.find(&mut returned, wanted, &moved) else { continue };
        let was_moved = moved.len();
        moved.extend(cut.before.iter().filter(|index| !moved.contains(index)).collect::<Vec<_>>());
        let within = (from..cut.at).filter(|index| !moved[..was_moved].contains(index));
        let piece = within.chain(moved[was_moved..].iter().copied()).map(|index| rows[index]).collect();
        all.push(Piece { rows: piece, spec: start });
        returned.go_to(cut.at);
        moved.retain(|index| *index >= cut.at);
        let contents = returned.contents.with(moved.iter().map(|&index| &rows[index]));
        if !contents.are_possible() {
            return None;
        }
        start = spec.clone().with_initial(contents.list(symbols));
        from = cut.at;
    }
    if all.is_empty() {
        return None;
    }
    let rest = (from..rows.len()).filter(|index| !moved.contains(index)).map(|index| rows[index]).collect();
    all.push(Piece { rows: rest, spec: start });
    Some(all)
}

struct Finder<'a> {
    rows: &'a [Operation],
    spec: &'a Builtin,
    symbols: &'a Symbols,
    reach: &'a Reach,
    budget: &'a Budget,
    open: Open<'a>,
}

impl Finder<'_> {
    /// A cut behind `start`, if windows show one; `moved` are known to belong before it.
    fn find(&self, returned: &mut Returned<'_>, start: usize, moved: &[usize]) -> Option<Cut> {
        let mut start = start;
        for _ in 0..self.reach.tries {
            if start + self.reach.settle + 1 >= self.rows.len() {
                return None;
            }
            returned.go_to(start);
            match self.window(&returned.contents, start, moved) {
                Ok(cut) => return cut,
                // What was wrong returned just before.
                Err(failed) => start = failed + 1,
            }
        }
        None
    }

    /// The best cut of the window at `start`; `Err`: the row that has no place.
    fn window(&self, contents: &Contents, start: usize, moved: &[usize]) -> Result<Option<Cut>, usize> {
        let end = self.rows.len().min(start + self.reach.window);
        let Some(early) = self.open.before(start, contents, moved, self.budget) else { return Ok(None) };
        let known = contents.with(early.iter().map(|&index| &self.rows[index]));
        let mut within = self.open.called_by(start, end, self.rows[end - 1].ret);
        within.retain(|index| !early.contains(index));
        if !known.are_possible() {
            return Err(start);
        }
        let spec = self.spec.clone().with_initial(known.list(self.symbols));
        let cx = Context { symbols: self.symbols, spec: &spec, budget: self.budget };
        let mut timeline = Timeline::new(Ties::Strict);
        timeline.extend(&within.iter().map(|&index| self.rows[index]).collect::<Vec<_>>());
        let mut engine = PriorityQueueMetastates::new();
        let mut witness = Witness::default();
        let mut best: Option<(usize, usize, Vec<OpId>)> = None;
        for (returns, &index) in (1..).zip(within.iter().take_while(|index| **index < end)) {
            witness.clear();
            match engine.advance(&cx, &timeline, returns, &mut witness) {
                Ok(()) => {}
                Err(Stop::Violated(_)) => return Err(index),
                Err(_) => return Ok(None),
            }
            let cut = index + 1;
            let is_between = self.rows.get(cut).is_some_and(|next| self.rows[index].ret < next.ret);
            let few = best.as_ref().is_none_or(|(configs, ..)| engine.width() < *configs);
            if index >= start + self.reach.settle && is_between && few {
                best = Some((engine.width(), cut, engine.least_taken()));
                if engine.width() == 1 {
                    break;
                }
            }
        }
        Ok(best.map(|(_, at, taken)| {
            let taken = taken.iter().map(|id| within[id.0 as usize]);
            let early = early.iter().copied();
            // All of them were called before the cut: whatever the engine says, nothing else may be moved.
            let is_open = |index: &usize| *index >= at && self.rows[*index].call <= self.rows[at - 1].ret;
            let mut before: Vec<usize> = taken.chain(early).filter(is_open).collect();
            before.sort_unstable();
            Cut { at, before }
        }))
    }
}

/// What is in once all before a row have returned, and nothing else has taken effect.
struct Returned<'a> {
    rows: &'a [Operation],
    until: usize,
    contents: Contents,
}

impl Returned<'_> {
    /// Goes on, or back, to another row.
    fn go_to(&mut self, until: usize) {
        for op in self.rows.get(self.until..until).unwrap_or_default() {
            self.contents.add(op);
        }
        for op in self.rows.get(until..self.until).unwrap_or_default() {
            self.contents.remove(op);
        }
        self.until = until;
    }
}

/// How often each value is in; less than nothing while something is still missing.
#[derive(Clone)]
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
        self.count(op, 1);
    }

    fn remove(&mut self, op: &Operation) {
        self.count(op, -1);
    }

    fn count(&mut self, op: &Operation, by: i64) {
        match op.op() {
            priority_queue::INSERT => self.change(op.arg, by),
            priority_queue::REMOVE if !op.result.is_null() => self.change(op.result, -by),
            _ => {}
        }
    }

    /// The same after more operations.
    fn with<'a>(&self, more: impl Iterator<Item = &'a Operation>) -> Contents {
        let mut contents = self.clone();
        more.for_each(|op| contents.add(op));
        contents
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
