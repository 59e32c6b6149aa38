//! An object at a checkpoint.

use linpoint_history::{Operation, Value};

use super::busy::{Busy, unknown};
use super::{Object, World};
use crate::progress::{Kept, KeptRow, KeptState};
use crate::quiet::Quiet;
use crate::wire::Wire;

impl Object {
    /// What must be kept of it at a checkpoint: everything below `mark` is decided as far as it can be, and
    /// nothing above it.
    pub(crate) fn keep(&mut self, mark: i64, world: &mut World) -> Kept {
        let busy = self.busy(mark, world);
        busy.settle(mark, world);
        let kept = busy.keep(mark, world);
        self.rest(world);
        kept
    }

    /// As it was at a checkpoint.
    pub(crate) fn restored(spec: u16, kept: &Kept, world: &mut World) -> Object {
        let mut object = Object::new(spec, world);
        let start = kept.start.rebuilt(&world.specs[usize::from(spec)], &mut world.symbols);
        let start = Quiet::of(&world.specs[usize::from(spec)], start, &mut world.symbols);
        let mut busy = Box::new(Busy::new(spec, kept.operations, start, kept.since));
        for row in &kept.rows {
            let row = row.rebuilt(&mut world.symbols);
            busy.insert(row, world);
        }
        if kept.unanswered > 0 {
            busy.more.get_or_insert_default().unanswered = kept.unanswered;
        }
        if kept.found.is_some() {
            busy.decide(unknown("it was decided before the run was interrupted"), "segments");
        }
        object.busy = Some(busy);
        object.rest(world);
        object
    }
}

impl Busy {
    fn keep(&mut self, mark: i64, world: &World) -> Kept {
        let clocks = &world.clocks;
        let pending = self.more.as_ref().map_or(&[][..], |more| &more.pending);
        let later = self.rows.iter().chain(pending).filter(|row| clocks.earliest(row) >= mark).count() as u64;
        let symbols = &world.symbols;
        let looks =
            self.more.as_ref().map_or(0, |more| more.looks.iter().filter(|&&call| call >= mark).count());
        let later_pending = pending.iter().filter(|row| clocks.earliest(row) >= mark).count() + looks;
        let after =
            self.more.as_ref().map_or(0, |more| more.late.iter().filter(|&&call| call >= mark).count());
        let before = |row: &&Operation| clocks.earliest(row) < mark;
        let rows = self.rows.iter().chain(pending).filter(before).map(|row| KeptRow::new(row, symbols));
        let kept = Kept {
            spec: (String::new(), None),
            name: Wire(Value::Null),
            operations: self.operations - later - looks as u64 - after as u64,
            unanswered: self.pending() - later_pending as u64,
            since: self.since,
            start: KeptState::new(&self.start.state(symbols), symbols),
            rows: rows.collect(),
            found: None,
        };
        if let Some(more) = self.more.as_deref_mut() {
            more.looks.retain(|&call| call >= mark);
            more.late.retain(|&call| call >= mark);
        }
        kept
    }
}
