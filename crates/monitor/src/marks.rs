//! Where judging ends although the program goes on.
//!
//! An object that is no longer logged (a budget, a reaction to a finding) has operations open that go on
//! logging, and these may see what unlogged operations did. A monitor that is asked to finish has threads
//! that log as fast as it reads. In both cases there is a *mark*: a look at the object's counter, made before
//! the first call that is not logged, or at the end. Events that took a smaller number are judged, all of
//! them; the others are left out, and an operation that is open at the mark is pending.
//!
//! **Why the rest is whole.** Numbers are dense, so there is nothing to guess: everything below the mark was
//! taken when as many numbered records were taken as the mark says. A thread takes a number when it has found
//! room for the record, so it publishes it at once, whatever else waits. A call that looked at the mark or
//! beyond began after everything below, and is left out with the numbers it took. What is below the mark took
//! its number before the mark was set, so before anything that was not logged.
//!
//! **A mark that is seen late.** A mark is set by any thread, and read after each ring was taken. A record
//! that saw what an unlogged operation did was published after the mark was set, so the mark is known when
//! the record was taken. Records beyond the mark that were told before it was known saw nothing of the kind,
//! and neither did those with smaller numbers (a number is taken with acquire and release, so who takes a
//! later one knows what the earlier one knew): the mark is moved up behind them.
//!
//! With ticks there are no numbers to count. The mark is a time, moved by the error bound to the safe side:
//! to the earlier for what ends or commits, which makes operations pending, to the later for calls.

use std::time::{Duration, Instant};

use crate::drain::Followed;
use crate::object::{Common, Watched};
use crate::primitive::Ordering;
use crate::record::{self, Kind};
use crate::stamp::ticks;
use crate::ticks::SLACK;

/// An object's mark: numbers from here on are left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(pub(crate) u64);

/// How long a record may be on its way from its number to its ring: a thread may be interrupted there.
const ON_ITS_WAY: Duration = Duration::from_secs(5);

/// The marks of all objects.
#[derive(Debug)]
pub(crate) struct Marks {
    /// The error bound, with ticks.
    error: Option<u64>,
    /// How many of them were set when they were last looked at.
    seen: u64,
    /// Is there an object that has one?
    any: bool,
    end: Option<End>,
}

/// The end was marked.
#[derive(Debug)]
struct End {
    at: Instant,
    tick: u64,
    /// Rounds that began after it; with ticks, after all that was on its way came in.
    rounds: u32,
}

impl Marks {
    pub(crate) fn new(error: Option<u64>) -> Marks {
        Marks { error, seen: 0, any: false, end: None }
    }

    /// The mark that an object comes with.
    pub(crate) fn of(&mut self, watched: &Watched) -> Mark {
        let mark = watched.mark();
        self.any |= mark != u64::MAX;
        Mark(mark)
    }

    /// Nothing that is logged from now on counts.
    pub(crate) fn end(&mut self, objects: &mut [Followed]) {
        for object in objects {
            let now = object.watched.now();
            self.lower(object, now);
        }
        self.any = true;
        self.end = Some(End { at: Instant::now(), tick: ticks(), rounds: 0 });
    }

    /// Was the end marked?
    pub(crate) fn has_end(&self) -> bool {
        self.end.is_some()
    }

    /// A round begins.
    pub(crate) fn begin_round(&mut self) {
        if let Some(end) = &mut self.end
            && (self.error.is_none() || ticks() > end.tick.saturating_add(SLACK))
        {
            end.rounds += 1;
        }
    }

    /// Was everything taken below the end? After a while what did not come is taken for lost.
    pub(crate) fn is_over(&self, objects: &[Followed]) -> bool {
        let Some(end) = &self.end else { return false };
        let whole = |object: &Followed| {
            let Mark(mark) = object.mark;
            self.error.is_some() || object.counts.numbers.saturating_add(object.watched.lost()) >= mark
        };
        end.rounds > 0 && (objects.iter().all(whole) || end.at.elapsed() > ON_ITS_WAY)
    }

    /// Removes what is beyond the marks from records that were just taken.
    pub(crate) fn cut(&mut self, words: &mut Vec<u64>, objects: &mut [Followed], common: &Common) {
        let set = common.marks.load(Ordering::Acquire);
        if set != self.seen {
            self.seen = set;
            for object in objects.iter_mut() {
                let mark = object.watched.mark();
                if mark != u64::MAX {
                    self.any = true;
                    self.lower(object, mark);
                }
            }
        }
        if !self.any {
            return;
        }
        let (mut from, mut to) = (0, 0);
        while let (Some(&header), Some(&stamp)) = (words.get(from), words.get(from + 1)) {
            let length = record::length(header).min(words.len() - from);
            let (kind, id) = record::kind_and_object(header);
            // An object that is not known came after the end was marked.
            let keep = objects.get_mut(usize::from(id.0)).is_some_and(|object| {
                let keep = self.keeps(kind, stamp, object.mark);
                object.counts.left_out += u64::from(!keep);
                keep
            });
            if keep {
                words.copy_within(from..from + length, to);
                to += length;
            }
            from += length;
        }
        words.truncate(to);
    }

    fn keeps(&self, kind: Option<Kind>, stamp: u64, Mark(mark): Mark) -> bool {
        match (self.error, kind) {
            (None, _) => stamp < mark,
            (Some(error), Some(Kind::Call)) => stamp < mark.saturating_add(error),
            (Some(error), _) => stamp < mark.saturating_sub(error),
        }
    }

    fn lower(&self, object: &mut Followed, mark: u64) {
        let told = if self.error.is_some() { 0 } else { object.counts.top };
        object.mark = Mark(object.mark.0.min(mark.max(told)));
    }
}
