//! Why a priority queue's history is wrong: a sentence, and the few operations that show it.

use linpoint_history::specs::codes::priority_queue::{INSERT, REMOVE};
use linpoint_history::{Operation, Value, ValueId};

use super::search::{is_wrong, pending_removals};
use super::sweep::{Failure, Sweep, Waiting, cover_of};
use crate::engine::{Context, Stop, Violation};
use crate::monitor::cover::{Cover, fewest};
use crate::timeline::{OpId, Timeline};

impl Sweep {
    /// The violation behind a failure.
    #[cold]
    pub fn refute(&self, cx: &Context<'_>, timeline: &Timeline, failure: Failure) -> Stop {
        let row = timeline.get(OpId(self.gap)).copied();
        let Some(row) = row else { return Stop::Unsupported("a row is missing".into()) };
        let value = cx.symbols.value(row.result);
        let name = name(cx);
        match failure {
            Failure::Stop(stop) => stop,
            Failure::NotInserted => {
                let mut core = vec![row];
                core.extend(insertion_of(timeline, row.result));
                let why = if core.len() == 1 { "not inserted by then" } else { "inserted only later" };
                self.violated(core, format!("{name} -> {value} is impossible: {value} was {why}"))
            }
            Failure::RemovedTwice => {
                let core = self.all_of(cx, timeline, row.result);
                let why = format!("{value} was removed before, and inserted once");
                self.violated(core, format!("{name} -> {value} is impossible: {why}"))
            }
            Failure::Covered(waiting) => {
                let chosen = fewest(&self.covers(cx, timeline, Some(&waiting)), waiting.start, self.gap);
                let mut core = vec![row];
                core.extend(self.insertion_row(&waiting));
                core.extend(chosen.iter().flat_map(rows_of));
                let why = format!("{}, which should leave first", inside(cx, &chosen));
                self.violated(core, format!("{name} -> {value} is impossible: {why}"))
            }
            Failure::NotEmpty => {
                let first = timeline.earliest(OpId(self.gap));
                let chosen = fewest(&self.covers(cx, timeline, None), first, self.gap);
                let mut core = vec![row];
                core.extend(chosen.iter().flat_map(rows_of));
                self.violated(core, format!("{name} -> empty is impossible: {}", inside(cx, &chosen)))
            }
        }
    }

    /// The covers that begin by now, of values that leave before the one that waits.
    fn covers(&self, cx: &Context<'_>, timeline: &Timeline, waiting: Option<&Waiting>) -> Vec<Cover> {
        let order = self.order;
        let live = self.inside.places(&self.values);
        let open = self.waiting.iter().filter(|other| other.start <= self.gap).map(|other| other.place);
        let known = live.chain(open).map(|place| cover_of(timeline, self.elements.get(place)));
        let matters = |cover: &Cover| {
            cover.from <= self.gap && waiting.is_none_or(|w| order.before(cx.symbols, cover.value, w.value))
        };
        known.chain(self.past.iter().copied()).filter(matters).collect()
    }

    fn insertion_row(&self, waiting: &Waiting) -> Option<Operation> {
        let element = self.elements.get(waiting.place);
        (element.insertion != super::sweep::NONE).then_some(element.row)
    }

    /// Every operation on a value, or nothing if some were released.
    fn all_of(&self, cx: &Context<'_>, timeline: &Timeline, value: ValueId) -> Vec<Operation> {
        let all = timeline.rows().iter().chain(timeline.pending());
        let core: Vec<Operation> = all
            .filter(|op| op.op() == INSERT && op.arg == value || op.op() == REMOVE && op.result == value)
            .copied()
            .collect();
        let insertions = core.iter().filter(|op| op.op() == INSERT).count();
        let name = cx.symbols.value(value);
        let initial = matches!(&cx.spec.initial, Value::List(items) if items.contains(&name));
        let whole = (insertions > 0 || initial) && core.len() - insertions >= 2;
        if whole { core.into_iter().take(8).collect() } else { Vec::new() }
    }

    fn violated(&self, core: Vec<Operation>, reason: String) -> Stop {
        Stop::Violated(Violation { at: OpId(self.gap), core, reason })
    }
}

/// The violation behind a failure where removals never returned: they, and enough left-overs to keep them
/// busy, belong to the core. It is decided again by a monitor of its own; if it should not stand alone, no
/// core is given.
pub(super) fn refute_with_pending(
    cx: &Context<'_>,
    timeline: &Timeline,
    sweep: &Sweep,
    failure: Failure,
    left_overs: &[(ValueId, u32)],
) -> Stop {
    let covered = match &failure {
        Failure::Covered(waiting) => Some(waiting.value),
        Failure::NotEmpty => None,
        _ => return sweep.refute(cx, timeline, failure),
    };
    let order = sweep.order;
    let stop = sweep.refute(cx, timeline, failure);
    let Stop::Violated(mut violation) = stop else { return stop };
    let removals = pending_removals(timeline);
    let removals = removals.iter().filter(|removal| removal.0 <= sweep.gap);
    let removals: Vec<Operation> = removals.map(|&(_, id)| *timeline.op(id)).collect();
    let busy = left_overs
        .iter()
        .filter(|&&(value, from)| {
            from <= sweep.gap && covered.is_none_or(|covered| order.before(cx.symbols, value, covered))
        })
        .filter_map(|&(_, from)| timeline.get(OpId(from.checked_sub(1)?)))
        .take(removals.len() + 1);
    for op in removals.iter().chain(busy) {
        if !violation.core.contains(op) {
            violation.core.push(*op);
        }
    }
    // They may also have taken what the queue began with, which is no row.
    if !cx.spec.initial.is_null() || !is_wrong(cx, &violation.core) {
        // Another choice may get past this return and fail at a later one: only the whole is known to be
        // wrong.
        violation.core.clear();
        violation.reason.clear();
        violation.at = OpId(timeline.end().saturating_sub(1));
    }
    Stop::Violated(violation)
}

fn rows_of(cover: &Cover) -> impl Iterator<Item = Operation> + use<> {
    cover.insertion.into_iter().chain(cover.removal)
}

fn name(cx: &Context<'_>) -> &'static str {
    use linpoint_history::Spec;
    cx.spec.signature().decl(REMOVE).name
}

fn inside(cx: &Context<'_>, covers: &[Cover]) -> String {
    let names: Vec<String> = covers.iter().map(|c| cx.symbols.value(c.value).to_string()).collect();
    match names.as_slice() {
        [one] => format!("{one} was inside all the time"),
        all => format!("one of {} was inside at any time", all.join(", ")),
    }
}

fn insertion_of(timeline: &Timeline, value: ValueId) -> Option<Operation> {
    let all = timeline.rows().iter().chain(timeline.pending());
    all.filter(|op| op.op() == INSERT && op.arg == value).copied().next()
}
