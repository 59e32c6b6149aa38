//! Why a queue's history is wrong: a sentence, and the few operations that show it.

use linpoint_history::specs::codes::queue::{DEQUEUE, ENQUEUE};
use linpoint_history::{Operation, Value, ValueId};

use super::{Lost, NONE, QueueMonitor, TAKEN, cover_of};
use crate::engine::{Context, Stop, Violation};
use crate::monitor::cover::{Cover, fewest};
use crate::timeline::{OpId, Timeline};

impl QueueMonitor {
    /// The value at `slot` was enqueued before that of the dequeue that returns in this gap, and is still
    /// inside.
    #[cold]
    pub(super) fn wrong_order(&self, cx: &Context<'_>, timeline: &Timeline, slot: u32) -> Stop {
        let row = timeline.op(OpId(self.gap));
        let older = self.ring.get(slot);
        let mut core = Vec::from_iter(older.row(timeline));
        core.extend(insertion_of(timeline, row.result, self));
        core.push(*row);
        if older.removal == NONE || OpId(older.removal).as_pending().is_some() {
            self.add_lost(timeline, &mut core);
        } else if !self.removals.is_empty() {
            core.push(*timeline.op(OpId(older.removal)));
        }
        let (first, second) = (cx.symbols.value(older.value), cx.symbols.value(row.result));
        let reason = format!(
            "dequeue -> {second} is impossible: {first} was enqueued before {second} and had not left"
        );
        self.violated(core, reason)
    }

    /// The dequeue that returns in this gap gives a value that nobody enqueued by then.
    #[cold]
    pub(super) fn not_yet_enqueued(&self, cx: &Context<'_>, timeline: &Timeline) -> Stop {
        let row = timeline.op(OpId(self.gap));
        let mut core = vec![*row];
        let insertion = insertion_of(timeline, row.result, self);
        let value = cx.symbols.value(row.result);
        let why = if insertion.is_some() { "enqueued only later" } else { "not enqueued by then" };
        core.extend(insertion);
        self.violated(core, format!("dequeue -> {value} is impossible: {value} was {why}"))
    }

    /// The dequeue that returns in this gap gives a value that another gave.
    #[cold]
    pub(super) fn dequeued_twice(&self, cx: &Context<'_>, timeline: &Timeline) -> Stop {
        let row = timeline.op(OpId(self.gap));
        if let Some(lost) = self.lost.iter().find(|lost| lost.value == row.result) {
            return self.lost_and_found(cx, row, lost);
        }
        // The first two may have been released; then the value is all that is known.
        let same = |op: &&Operation| {
            op.op() == ENQUEUE && op.arg == row.result || op.op() == DEQUEUE && op.result == row.result
        };
        let mut core: Vec<Operation> = timeline.rows().iter().filter(same).copied().collect();
        core.extend(timeline.pending().iter().filter(|op| op.op() == ENQUEUE && op.arg == row.result));
        let value = cx.symbols.value(row.result);
        let insertions = core.iter().filter(|op| op.op() == ENQUEUE).count();
        let initial = matches!(&cx.spec.initial, Value::List(items) if items.contains(&value));
        if insertions == 0 && !initial || core.len() - insertions < 2 {
            core.clear();
        }
        core.truncate(8);
        self.violated(
            core,
            format!("dequeue -> {value} is impossible: {value} was dequeued before, and enqueued once"),
        )
    }

    /// The dequeue `row` returns a value that had to be taken by one that never returned.
    fn lost_and_found(&self, cx: &Context<'_>, row: &Operation, lost: &Lost) -> Stop {
        let mut core = Vec::from_iter(lost.row);
        core.extend(lost.insertion);
        core.extend(lost.younger);
        core.push(*row);
        let first = cx.symbols.value(row.result);
        let second = cx.symbols.value(lost.younger.map_or(ValueId::NULL, |op| op.result));
        let reason = format!(
            "dequeue -> {first} is impossible: {first} was enqueued before {second} and {second} left first"
        );
        self.violated(core, reason)
    }

    /// The answer "empty" that returns in this gap found none in which nothing is surely inside.
    #[cold]
    pub(super) fn covered_empty(&self, cx: &Context<'_>, timeline: &Timeline, gap: u32) -> Stop {
        let row = *timeline.op(OpId(gap));
        let first = timeline.earliest(OpId(gap));
        let covers = self.covers(timeline, gap);
        let chosen = fewest(&covers, first, gap);
        let mut core = vec![row];
        for cover in &chosen {
            core.extend(cover.insertion);
            // A dequeue that is called later shows only that no pending one took the value.
            core.extend(cover.removal.filter(|_| cover.to <= gap || !self.removals.is_empty()));
        }
        let left_over = |cover: &Cover| cover.removal.is_none_or(|op| op.is_pending());
        if let Some(last) = chosen.iter().filter(|cover| left_over(cover)).map(|cover| cover.from).max() {
            self.add_lost(timeline, &mut core);
            // The older ones keep the pending dequeues busy.
            if self.removals_used < self.removals.len() {
                let older = covers.iter().filter(|cover| left_over(cover) && cover.from < last);
                let older: Vec<_> = older.filter_map(|cover| cover.insertion).collect();
                core.extend(older.into_iter().filter(|op| !core.contains(op)).collect::<Vec<_>>());
            }
        }
        let names: Vec<String> = chosen.iter().map(|c| cx.symbols.value(c.value).to_string()).collect();
        let inside = match names.as_slice() {
            [one] => format!("{one} was inside all the time"),
            all => format!("one of {} was inside at any time", all.join(", ")),
        };
        self.violated(core, format!("dequeue -> empty is impossible: {inside}"))
    }

    /// All covers that begin by `gap` and can matter. What nobody dequeued goes to the pending dequeues, the
    /// oldest to the first; of what is left after that, the oldest covers most.
    fn covers(&self, timeline: &Timeline, gap: u32) -> Vec<Cover> {
        let mut covers: Vec<Cover> = self.past.iter().copied().collect();
        let mut removals = self.removals[self.removals_used..].iter();
        let mut all_left = false;
        for slot in self.ring.front()..self.ring.end() {
            let element = self.ring.get(slot);
            if element.inside > gap {
                break;
            }
            if element.removal == TAKEN || element.removal == NONE && all_left {
                continue;
            }
            let mut cover = cover_of(timeline, element);
            if element.removal == NONE {
                match removals.next() {
                    Some(&(call, _)) => cover.to = call,
                    None => all_left = true,
                }
            }
            covers.push(cover);
        }
        covers
    }

    /// Adds the dequeues that never returned and might help, and what they took instead.
    fn add_lost(&self, timeline: &Timeline, core: &mut Vec<Operation>) {
        for &(_, id) in self.removals.iter().filter(|&&(call, _)| call <= self.gap) {
            if !core.contains(timeline.op(id)) {
                core.push(*timeline.op(id));
            }
        }
        for row in self.lost.iter().filter_map(|lost| lost.row) {
            if !core.contains(&row) {
                core.push(row);
            }
        }
    }

    fn violated(&self, core: Vec<Operation>, reason: String) -> Stop {
        Stop::Violated(Violation { at: OpId(self.gap), core, reason })
    }
}

/// The enqueue of `value`, wherever it still is.
pub(super) fn insertion_of(timeline: &Timeline, value: ValueId, monitor: &QueueMonitor) -> Option<Operation> {
    let in_ring = (monitor.ring.front()..monitor.ring.end())
        .map(|slot| monitor.ring.get(slot))
        .find(|element| element.value == value && element.inside > 0)
        .and_then(|element| element.row(timeline));
    let enqueues = |op: &&Operation| op.op() == ENQUEUE && op.arg == value;
    in_ring
        .or_else(|| timeline.rows().iter().find(enqueues).copied())
        .or_else(|| timeline.pending().iter().find(enqueues).copied())
}
