//! Which removal that never returned takes which left-over value: a narrow search.
//!
//! No fixed rule is right (matching by insertion fails on one history, by priority on another), but what
//! fails says where to look. Run without giving anything to anybody; if that passes, fine. Else some removal
//! or "empty" w is covered. Among the left-overs that may cover w, the one inserted first *must* be given
//! away in every solution: w's gap lies after its insertion, since before it nothing has changed. It goes to
//! one of the removals called by then, latest first; those called before it was inserted are alike, and only
//! the latest of them is tried. A branch is given up when it fails even with all other left-overs gone as
//! early as can be. Whether the problem is polynomial in the number of such removals is not known to us, so
//! the search counts its steps and gives up honestly.

use linpoint_history::specs::codes::priority_queue::{INSERT, REMOVE};
use linpoint_history::{Operation, Value, ValueId};
use rustc_hash::FxHashSet;

use super::refute::refute_with_pending;
use super::sweep::{Failure, Given, NONE, Sweep};
use crate::engine::{Context, Stop, Witness};
use crate::monitor::{initial_contents, inserted_twice};
use crate::timeline::{OpId, Ties, Timeline};

/// Passes after which the search gives up.
const PASSES: usize = 4096;

/// Decides a whole history with removals that never returned.
pub(super) fn search(cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
    refuse(cx, timeline)?;
    let mut search = Search::new(cx, timeline);
    match search.extend()? {
        None => {
            witness.order.append(&mut search.order);
            Ok(())
        }
        Some((sweep, failure)) => Err(refute_with_pending(cx, timeline, &sweep, failure, &search.left_overs)),
    }
}

/// What is left over can be told only where every row is an insertion of a new value or a removal.
fn refuse(cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
    let mut inserted: FxHashSet<ValueId> =
        initial_contents(cx.spec, cx.symbols)?.into_iter().flatten().collect();
    for op in timeline.rows().iter().chain(timeline.pending()) {
        match op.op() {
            INSERT if !inserted.insert(op.arg) => return Err(inserted_twice(cx.symbols, op.arg)),
            INSERT | REMOVE => {}
            _ => return Err(Stop::Unsupported("change_key is called".into())),
        }
    }
    Ok(())
}

/// Can these rows alone not be explained? `false` also if that cannot be told.
pub(super) fn is_wrong(cx: &Context<'_>, rows: &[Operation]) -> bool {
    // What is wrong under the laxer reading of touching operations is wrong.
    let timeline = Timeline::of(rows, Ties::Relaxed);
    matches!(Search::new(cx, &timeline).extend(), Ok(Some(_)))
}

struct Search<'a> {
    cx: &'a Context<'a>,
    timeline: &'a Timeline,
    /// Values nobody removed, and the first gap each is surely inside, in that order.
    left_overs: Vec<(ValueId, u32)>,
    /// Free removals that never returned, by call.
    removals: Vec<(u32, OpId)>,
    given: Given,
    passes: usize,
    order: Vec<OpId>,
}

impl<'a> Search<'a> {
    fn new(cx: &'a Context<'a>, timeline: &'a Timeline) -> Search<'a> {
        Search {
            cx,
            timeline,
            left_overs: left_overs(cx, timeline),
            removals: pending_removals(timeline),
            given: Given::default(),
            passes: 0,
            order: Vec::new(),
        }
    }

    /// Gives away what must be, if that helps. The first failure, if nothing does.
    fn extend(&mut self) -> Result<Option<(Sweep, Failure)>, Stop> {
        let (sweep, failure) = match self.pass(self.given.clone())? {
            Ok(order) => {
                self.order = order;
                return Ok(None);
            }
            Err(failed) => failed,
        };
        let order = sweep.order;
        let leaves_before = |value: ValueId| match &failure {
            Failure::Covered(waiting) => order.before(self.cx.symbols, value, waiting.value),
            Failure::NotEmpty => true,
            _ => false,
        };
        let gap = sweep.gap;
        let must = self.left_overs.iter().copied().find(|&(value, inside)| {
            inside <= gap && leaves_before(value) && !self.given.contains_key(&value)
        });
        let Some((value, inside)) = must else { return Ok(Some((sweep, failure))) };
        if self.is_hopeless()? {
            return Ok(Some((sweep, failure)));
        }
        let mut tried_early = false;
        for index in (0..self.removals.len()).rev() {
            let (call, id) = self.removals[index];
            if call > gap || call <= inside && tried_early {
                continue;
            }
            tried_early |= call <= inside;
            self.removals.remove(index);
            self.given.insert(value, (call, id.0));
            let found = self.extend()?.is_none();
            self.given.remove(&value);
            self.removals.insert(index, (call, id));
            if found {
                return Ok(None);
            }
        }
        Ok(Some((sweep, failure)))
    }

    /// Does it fail even with all other left-overs gone from the first free removal's call on?
    fn is_hopeless(&mut self) -> Result<bool, Stop> {
        let Some(&(call, _)) = self.removals.first() else { return Ok(true) };
        let mut given = self.given.clone();
        for &(value, _) in &self.left_overs {
            given.entry(value).or_insert((call, NONE));
        }
        Ok(self.pass(given)?.is_err())
    }

    #[allow(clippy::type_complexity)]
    fn pass(&mut self, given: Given) -> Result<Result<Vec<OpId>, (Sweep, Failure)>, Stop> {
        self.passes += 1;
        if self.passes > PASSES {
            let why =
                format!("{} removals never returned, too many to tell what they took", self.removals.len());
            return Err(Stop::Unsupported(why));
        }
        let mut sweep = Sweep::new(given);
        let mut witness = Witness::default();
        match sweep.advance(self.cx, self.timeline, self.timeline.end(), &mut witness) {
            Ok(()) => Ok(Ok(witness.order)),
            Err(Failure::Stop(stop)) => Err(stop),
            Err(failure) => Ok(Err((sweep, failure))),
        }
    }
}

/// The removals that never returned, by call.
pub(super) fn pending_removals(timeline: &Timeline) -> Vec<(u32, OpId)> {
    let mut removals: Vec<(u32, OpId)> = (0..timeline.pending().len() as u32)
        .map(OpId::pending)
        .filter(|&id| timeline.op(id).op() == REMOVE)
        .map(|id| (timeline.earliest(id), id))
        .collect();
    removals.sort_unstable();
    removals
}

/// Values whose insertion returned and that no completed removal took, first inserted first.
fn left_overs(cx: &Context<'_>, timeline: &Timeline) -> Vec<(ValueId, u32)> {
    let rows = timeline.rows();
    let taken: FxHashSet<ValueId> = rows.iter().filter(|op| op.op() == REMOVE).map(|op| op.result).collect();
    let initial: &[Value] = match &cx.spec.initial {
        Value::List(items) => items,
        _ => &[],
    };
    let initial = initial.iter().filter_map(|item| cx.symbols.find(item)).map(|value| (value, 0));
    let inserted = rows.iter().enumerate().filter(|(_, op)| op.op() == INSERT);
    let inserted = inserted.map(|(index, op)| (op.arg, timeline.base() + index as u32 + 1));
    initial.chain(inserted).filter(|(value, _)| !taken.contains(value)).collect()
}
