//! The stack monitor: LIFO stacks whose pushed values are all different, O(n log n), in windows.
//!
//! Rows are paired by value as they come ([`pairs`]); at each gap that no pop straddles the values popped so
//! far are peeled from the bottom ([`peel`]), their operations are written to the witness, and they are
//! forgotten ([`windows`]). What is held is the elements inside and one window. A violation is explained from
//! the rows at hand ([`explain`]).
//!
//! A pending push is dropped unless its value was popped; then it takes effect in the same instant as the
//! pop. Pending pops may take any left-over, which is known only at the end: from the first of them on rows
//! are kept, and decided by [`pending`]. `docs/soundness.md` has the arguments.

mod explain;
mod nested;
mod pairs;
pub(super) mod peel;
mod pending;
mod windows;

use linpoint_history::specs::codes::stack::PUSH;
use linpoint_history::{Operation, ProcessId, Value, ValueId};

use self::explain::Entry;
use self::pairs::{Kind, Odd, Pairs};
use self::pending::{NoOrder, PendingPop};
use self::windows::{Rows, Windows, Wrong};
use crate::engine::{Context, Engine, Stop, Violation, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides histories of a stack. See the module's text.
#[derive(Clone, Debug, Default)]
pub struct StackMonitor {
    pairs: Pairs,
    windows: Windows,
    started: bool,
    pendings: usize,
    /// The first gap in which a pending pop may take effect.
    first_pending_pop: Option<u32>,
    /// Rows of the open window, which the timeline may release.
    kept: Vec<Operation>,
    kept_base: u32,
    /// Is the end being settled, and not all of it yet?
    more: bool,
}

impl StackMonitor {
    /// A monitor that has seen nothing.
    pub fn new() -> StackMonitor {
        StackMonitor::default()
    }

    fn start(&mut self, cx: &Context<'_>) -> Result<(), Stop> {
        let unsupported = |why: &str| Err(Stop::Unsupported(why.into()));
        if cx.spec.capacity.is_some() {
            return unsupported("the stack is bounded");
        }
        if cx.spec.spurious {
            return unsupported("answers may be spurious");
        }
        let mut initial = Vec::new();
        if let Value::List(items) = &cx.spec.initial {
            for (number, item) in (0..).zip(items.iter()) {
                if items[..number as usize].contains(item) {
                    return Err(Stop::Unsupported(format!("the stack starts with {item} twice")));
                }
                let mut row = Operation::new(ProcessId(0), PUSH);
                // An element without an id occurs in no row, and is told from the others by its place alone.
                row.arg = cx.symbols.find(item).unwrap_or(ValueId::NULL);
                initial.push(row);
                self.pairs.initial(row.arg, number);
            }
        }
        self.windows = Windows::new(initial);
        self.pairs.start(self.windows.shift());
        self.kept_base = self.windows.shift();
        self.started = true;
        Ok(())
    }

    fn note_pending(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        let shift = self.windows.shift();
        for index in self.pendings..timeline.pending().len() {
            let row = &timeline.pending()[index];
            let earliest = timeline.earliest(OpId::pending(index as u32)) + shift;
            if row.op() == PUSH {
                let noted = self.pairs.pending_push(row.arg, index as u32, earliest);
                noted.map_err(|odd| self.odd(odd, cx, timeline))?;
            } else {
                let first = self.first_pending_pop.map_or(earliest, |first| first.min(earliest));
                self.first_pending_pop = Some(first);
            }
        }
        self.pendings = timeline.pending().len();
        Ok(())
    }

    /// Pairs all rows that are loaded.
    fn pair(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        let shift = self.windows.shift();
        let from = (self.pairs.end() - shift - timeline.base()) as usize;
        for (row, earliest) in timeline.rows()[from..].iter().zip(&timeline.earliests()[from..]) {
            let paired = if row.op() == PUSH {
                self.pairs.push(row, earliest + shift)
            } else {
                self.pairs.pop(row, earliest + shift)
            };
            if let Err(odd) = paired {
                return Err(self.odd(odd, cx, timeline));
            }
        }
        Ok(())
    }

    fn rows<'a>(&'a self, timeline: &'a Timeline) -> Rows<'a> {
        Rows { timeline, kept: &self.kept, kept_base: self.kept_base, shift: self.windows.shift() }
    }

    fn decide(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        out: &mut Witness,
    ) -> Result<(), Stop> {
        let rows =
            Rows { timeline, kept: &self.kept, kept_base: self.kept_base, shift: self.windows.shift() };
        match self.windows.advance(&self.pairs, rows, upto, out) {
            Ok(()) => Ok(()),
            Err(wrong) => Err(self.violated(wrong, cx, timeline)),
        }
    }

    /// Decides the rows since the first pending pop: as if there were none, and if that fails, with them.
    fn finish_pending(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        out: &mut Witness,
    ) -> Result<(), Stop> {
        let rows =
            Rows { timeline, kept: &self.kept, kept_base: self.kept_base, shift: self.windows.shift() };
        let (mut without, mut order) = (self.windows.clone(), Witness::default());
        if without.advance(&self.pairs, rows, self.pairs.end(), &mut order).is_ok() {
            self.more = without.finish(&mut order);
            self.windows = without;
            out.extend(order);
            return Ok(());
        }
        let shift = self.windows.shift();
        let pending = (0..).zip(timeline.pending()).filter(|(_, row)| row.op() != PUSH);
        let called = |index| timeline.earliest(OpId::pending(index)) + shift;
        let pops: Vec<PendingPop> =
            pending.map(|(index, _)| PendingPop { called: called(index), index }).collect();
        let mut with = self.windows.clone();
        match with.settle_pending(&self.pairs, rows, pops.clone(), cx.budget, out) {
            Ok(()) => {
                self.windows = with;
                Ok(())
            }
            Err(NoOrder::Stop(stop)) => Err(stop),
            Err(NoOrder::Violated) => Err(self.violated_with_pending(pops, cx, timeline)),
        }
    }

    /// A core that holds even if the earliest pending pops take all that is left over, if there is one.
    fn violated_with_pending(
        &self,
        mut pops: Vec<PendingPop>,
        cx: &Context<'_>,
        timeline: &Timeline,
    ) -> Stop {
        let shift = self.windows.shift();
        pops.sort_unstable_by_key(|pop| pop.called);
        let first = pops.first().map(|pop| pop.called);
        let entries = self.entries(timeline);
        // Pending pops may also take what the stack began with, which is no row: then no core stands for
        // itself.
        let found = explain::explain(&entries, self.pairs.end(), first, cx.symbols);
        Stop::Violated(match found.filter(|_| cx.spec.initial.is_null()) {
            Some(found) => {
                let mut core = found.core;
                let helpers = pops.iter().take(found.left_over);
                core.extend(helpers.map(|pop| timeline.pending()[pop.index as usize]));
                let last = self.pairs.end() - 1;
                Violation { at: OpId(found.at.clamp(shift, last) - shift), core, reason: found.reason }
            }
            None => Violation {
                at: OpId((self.pairs.end() - shift).saturating_sub(1)),
                core: Vec::new(),
                reason: "no choice of elements for the pops that never answered explains the others".into(),
            },
        })
    }

    /// Copies the rows of the open window, and forgets what is explained.
    fn keep(&mut self, timeline: &Timeline, upto: u32) {
        let shift = self.windows.shift();
        let needed = self.windows.done().saturating_sub(1).max(shift);
        let drop = ((needed - self.kept_base) as usize).min(self.kept.len());
        self.kept.drain(..drop);
        self.kept_base = needed;
        let end = needed + self.kept.len() as u32;
        let (from, base) = (end - shift, timeline.base());
        if from < upto {
            self.kept.extend_from_slice(&timeline.rows()[(from - base) as usize..(upto - base) as usize]);
        }
        self.pairs.release(needed);
    }

    fn violated(&self, wrong: Wrong, cx: &Context<'_>, timeline: &Timeline) -> Stop {
        let shift = self.windows.shift();
        let entries = self.entries(timeline);
        let at = |number: u32| OpId(number.max(shift) - shift);
        Stop::Violated(match explain::explain(&entries, self.windows.gap(), None, cx.symbols) {
            Some(found) => {
                Violation { at: at(found.at.min(wrong.at)), core: found.core, reason: found.reason }
            }
            // The operation that finds no place may have returned long before the others that are to blame,
            // so that the history up to its return can be explained. Up to the end of the window it cannot:
            // what survives is popped only after that.
            None => Violation { at: at(self.windows.gap() - 1), core: Vec::new(), reason: String::new() },
        })
    }

    /// All operations at hand: the elements inside, the open window, and what the timeline holds.
    fn entries(&self, timeline: &Timeline) -> Vec<Entry> {
        let shift = self.windows.shift();
        let rows = self.rows(timeline);
        let base = timeline.base() + shift;
        let mut entries = Vec::new();
        let entry = |row: &Operation, earliest: u32, latest: u32| {
            let pushes = row.op() == PUSH;
            let value = if pushes { row.arg } else { row.result };
            Entry { row: (latest >= shift).then_some(*row), value, pushes, earliest, latest }
        };
        // Without all rows, only those whose mates are known tell the truth.
        let first = if base == shift { base } else { self.kept_base };
        let survivors = self.windows.survivors().iter().chain(self.windows.gone());
        for survivor in survivors.filter(|survivor| survivor.number < first) {
            entries.push(entry(&survivor.row(), survivor.earliest, survivor.number));
        }
        for number in first..timeline.end() + shift {
            let earliest = if number >= base {
                timeline.earliest(OpId(number - shift)) + shift
            } else {
                self.pairs.slot(number).earliest
            };
            let slot =
                (number >= self.kept_base && number < self.pairs.end()).then(|| self.pairs.slot(number));
            if slot.is_some_and(|slot| slot.kind == Kind::Push && slot.mate < first) {
                continue;
            }
            entries.push(entry(rows.row(number), earliest, number));
        }
        entries
    }

    /// What is wrong with a row by itself, or what this monitor cannot decide.
    fn odd(&self, odd: Odd, cx: &Context<'_>, timeline: &Timeline) -> Stop {
        let name = |value: ValueId| cx.symbols.value(value).to_string();
        let (number, why) = match odd {
            Odd::PushedTwice(value) => {
                return Stop::Unsupported(format!("value {} is inserted twice", name(value)));
            }
            Odd::NullPushed => return Stop::Unsupported("null is pushed".into()),
            Odd::PushAnswers => return Stop::Unsupported("a push answers something".into()),
            Odd::PoppedTwice(number) => (number, "was popped before, and pushed only once"),
            Odd::PoppedBeforePushed(number) => (number, "was pushed only later"),
            Odd::NeverPushed(number) => (number, "was never pushed"),
        };
        let shift = self.windows.shift();
        let value = self.rows(timeline).row(number).result;
        let mut core = Vec::new();
        for entry in self.entries(timeline).iter().filter(|entry| entry.value == value) {
            if entry.pushes || entry.latest == number || matches!(odd, Odd::PoppedTwice(_)) {
                core.extend(entry.row);
            }
        }
        core.extend(timeline.pending().iter().filter(|row| row.op() == PUSH && row.arg == value));
        let pops = core.iter().filter(|row| row.op() != PUSH).count();
        if matches!(odd, Odd::PoppedTwice(_)) && pops < 2 {
            core.clear();
        }
        let reason = format!("pop -> {} is impossible: {0} {why}", name(value));
        Stop::Violated(Violation { at: OpId(number - shift), core, reason })
    }
}

impl Engine for StackMonitor {
    fn name(&self) -> &'static str {
        "stack monitor"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        if !self.started {
            self.start(cx)?;
        }
        cx.budget.check_own(self.memory())?;
        self.note_pending(cx, timeline)?;
        self.pair(cx, timeline)?;
        let shift = self.windows.shift();
        if let Err(odd) = self.pairs.settle(upto + shift) {
            return Err(self.odd(odd, cx, timeline));
        }
        let limit = self.first_pending_pop.map_or(u32::MAX, |first| first.max(self.windows.done()));
        self.decide(cx, timeline, limit.min(upto + shift), witness)?;
        self.keep(timeline, upto);
        Ok(())
    }

    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        if std::mem::take(&mut self.more) {
            self.more = self.windows.finish(witness);
            return Ok(());
        }
        self.advance(cx, timeline, timeline.end(), witness)?;
        if self.first_pending_pop.is_some() && self.windows.done() < self.pairs.end() {
            return self.finish_pending(cx, timeline, witness);
        }
        self.pairs.finish();
        self.more = self.windows.finish(witness);
        Ok(())
    }

    fn has_more(&self) -> bool {
        self.more
    }

    fn carries_below(&self) -> u32 {
        self.windows.done().saturating_sub(1).saturating_sub(self.windows.shift())
    }

    fn memory(&self) -> usize {
        self.pairs.memory() + self.windows.memory() + self.kept.capacity() * size_of::<Operation>()
    }
}
