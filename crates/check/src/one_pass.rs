//! One pass over a log in order of return, for the case that most logs are: linearizable, one object, nothing
//! pending.
//!
//! An engine may go up to the oldest call that is still to be seen ([`crate::engine`]), and a log in order of
//! return shows a call only when its operation returns. But the operations of one process follow one another,
//! so nothing that a known process still has to show was called before its last return; the least of these
//! last returns is a good *guess* at the oldest call to come. The guess fails when a process shows up late,
//! when one stops early for long, or when an operation never returned. Then, and whenever the outcome is
//! anything but an order that passed its recheck, this pass is forgotten, and [`crate::decide`] begins again
//! with what is certain ([`crate::feed`]).
//!
//! Nothing rests on the guess: the recheck looks at every stamp, whatever the engine was told.

use linpoint_history::formats::Reader;
use linpoint_history::{Builtin, KeyId, Operation, Symbols};

use crate::drive::{Course, Ended};
use crate::engine::{Budget, Context, Engine};
use crate::timeline::Ties;

/// Rows read at a time: few enough that they, and what is noted of them, stay in the second-level cache.
const STEP: usize = 1 << 12;

/// What a pass that went well found.
pub(crate) struct Explained {
    /// Operations in the order that was found.
    pub(crate) operations: u64,
}

/// Tries to explain the rows of `reader` with `engine`; `None` if there is any doubt about anything. No more
/// than `hold` rows wait for their turn.
pub(crate) fn explain(
    reader: &mut dyn Reader,
    engine: &mut dyn Engine,
    spec: &Builtin,
    symbols: &mut Symbols,
    budget: &Budget,
    hold: usize,
    progress: &mut dyn FnMut(u64),
) -> Option<Explained> {
    let mut course = Course::new(spec, symbols, Ties::Strict);
    let mut order = Order::default();
    let mut more = true;
    while more {
        more = course.timeline.fill(|rows| {
            let held = rows.len();
            let more = reader.read(symbols, rows, STEP).ok()?;
            order.admits(&rows[held..]).then_some(more)
        })?;
        order.floor = if more { order.oldest_to_come() } else { i64::MAX };
        let cx = Context { symbols, spec, budget };
        course.advance(engine, &cx, order.floor, &mut None).ok()?;
        if course.timeline.rows().len() > hold {
            return None;
        }
        progress(u64::from(course.timeline.end()));
    }
    let cx = Context { symbols, spec, budget };
    let finished = course.finish(engine, &cx, &mut None);
    match course.ended(finished, None) {
        Ok(Ended::Explained { operations, .. }) => Some(Explained { operations }),
        _ => None,
    }
}

/// The order rows are guessed to have.
struct Order {
    /// For each process, its last return; `i64::MAX` while it has shown nothing.
    last_return: Vec<i64>,
    last: i64,
    /// What the engine was told: nothing to come was called before this.
    floor: i64,
}

impl Default for Order {
    fn default() -> Order {
        Order { last_return: Vec::new(), last: i64::MIN, floor: i64::MIN }
    }
}

impl Order {
    /// Are the rows of a log in order of return, of one object, that does not contradict the guess?
    fn admits(&mut self, rows: &[Operation]) -> bool {
        let processes = rows.iter().fold(0, |most, row| row.process().0.max(most)) as usize + 1;
        if processes > self.last_return.len() {
            self.last_return.resize(processes, i64::MAX);
        }
        let last_return = self.last_return.as_mut_slice();
        let floor = self.floor;
        let mut last = self.last;
        let mut fits = true;
        for row in rows {
            let before = std::mem::replace(&mut last_return[row.process().0 as usize], row.ret);
            fits &= (before <= row.call) | (before == i64::MAX);
            fits &= (last <= row.ret) & (row.call >= floor) & (row.key == KeyId::NONE) & !row.is_pending();
            last = row.ret;
        }
        self.last = last;
        fits
    }

    fn oldest_to_come(&self) -> i64 {
        self.last_return.iter().copied().min().unwrap_or(i64::MIN)
    }
}
