//! The sources of one worker: which is read next, how far ahead, and what is told of one that ends before its
//! time.
//!
//! **Back-pressure.** A source does not read on while what it sent a while ago is not behind the frontier:
//! then a worker, or another source, lags.
//!
//! **A source never goes silently.** The frontier means that everything before it has arrived, so a source
//! that gives its time back without having sent all it had would make it lie, on every worker. One that
//! breaks off, fails or is stopped therefore says so first, to all, at the time that it holds: nothing is
//! judged beyond.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use linpoint_history::Operation;
use timely::dataflow::operators::{Capability, probe};

use crate::source::{self, Feed, Outlet, Pulled};
use crate::wire::{Batch, Notice};

/// Chunks a source may be ahead of the frontier.
const AHEAD: usize = 4;
/// The same for a long one, of which that is little: whoever is killed reads it again.
const FAR_AHEAD: usize = 8;
/// Rows of a long source.
const LONG: u64 = 1 << 20;
/// Chunks read before others have their turn, where rows travel to other hosts: each turn ends with messages,
/// and a thread that wakes up for them.
const AT_ONCE: usize = 8;

/// Chunks that a source of these rows may be ahead of the frontier.
pub(crate) fn ahead(feed: &dyn Feed) -> usize {
    if feed.total().is_some_and(|rows| rows >= LONG) { FAR_AHEAD } else { AHEAD }
}

/// What the sources of a worker did.
#[derive(Default)]
pub(crate) struct Read {
    /// Rows given to the workers.
    pub rows: u64,
    /// The checkpoint that the run goes on from, and the operations that this worker had by then.
    pub from: Option<i64>,
    pub resumed: u64,
    /// Rows between two checkpoints; none: no checkpoints.
    pub every: u64,
    /// Rows since the last.
    pub since: u64,
    pub troubles: Vec<String>,
}

/// What is to be sent, and when.
pub(crate) type Sent = Vec<(Capability<i64>, Batch)>;

/// The sources of one worker.
pub(crate) struct Intake {
    sources: Vec<Live>,
    handle: probe::Handle<i64>,
    stop: Rc<Cell<bool>>,
    keep_going: bool,
    read: Rc<RefCell<Read>>,
    /// Chunks read in one turn.
    at_once: usize,
}

/// A source that is read.
pub(crate) struct Live {
    outlet: Outlet,
    feed: Box<dyn Feed>,
    /// The time it may still send at; none at its end.
    capability: Option<Capability<i64>>,
    /// The times of what it sent last.
    sent: VecDeque<i64>,
    /// Chunks it may be ahead of the frontier.
    ahead: usize,
}

/// When to look again.
pub(crate) enum More {
    Now,
    /// When the frontier has moved.
    Held,
    /// When something may have come in.
    Later,
    Never,
}

impl Intake {
    /// No sources yet; do rows travel to other hosts?
    pub fn new(
        handle: probe::Handle<i64>,
        stop: Rc<Cell<bool>>,
        keep_going: bool,
        read: Rc<RefCell<Read>>,
        travels: bool,
    ) -> Intake {
        let at_once = if travels { AT_ONCE } else { 1 };
        Intake { sources: Vec::new(), handle, stop, keep_going, read, at_once }
    }

    /// One more source.
    pub fn add(&mut self, live: Live) {
        self.sources.push(live);
    }

    /// A few chunks, each of the source that is furthest behind by then.
    pub fn turn(&mut self, out: &mut Sent) -> More {
        let mut more = More::Now;
        for _ in 0..self.at_once {
            more = self.chunk(out);
            if !matches!(more, More::Now) {
                break;
            }
        }
        if out.is_empty() { more } else { More::Now }
    }

    /// One chunk of the source that is furthest behind.
    fn chunk(&mut self, out: &mut Sent) -> More {
        if self.stop.get() {
            self.sources.iter_mut().for_each(|live| live.leave(&Notice::Stopped, out));
        }
        self.sources.retain(|live| live.capability.is_some());
        if self.sources.is_empty() {
            return More::Never;
        }
        let time = |live: &Live| live.capability.as_ref().map_or(i64::MAX, |capability| *capability.time());
        self.sources.sort_by_key(time);
        let mut more = More::Held;
        for live in &mut self.sources {
            if live
                .sent
                .front()
                .is_some_and(|sent| live.sent.len() >= live.ahead && self.handle.less_than(sent))
            {
                continue;
            }
            match live.turn(out, self.keep_going, &mut self.read.borrow_mut()) {
                Turn::Sent => return More::Now,
                Turn::Idle => more = More::Later,
                Turn::Failed => {
                    self.stop.set(true);
                    return More::Now;
                }
            }
        }
        more
    }
}

enum Turn {
    Sent,
    Idle,
    Failed,
}

impl Live {
    /// A source that may send from `capability` on.
    pub fn new(outlet: Outlet, feed: Box<dyn Feed>, capability: Capability<i64>) -> Live {
        let ahead = ahead(feed.as_ref());
        Live { outlet, feed, capability: Some(capability), sent: VecDeque::new(), ahead }
    }

    /// Ends before its time: everyone hears of it.
    fn leave(&mut self, notice: &Notice, out: &mut Sent) {
        if let Some(capability) = self.capability.take() {
            out.extend(self.outlet.notices(notice).into_iter().map(|batch| (capability.clone(), batch)));
        }
    }

    fn turn(&mut self, out: &mut Sent, keep_going: bool, read: &mut Read) -> Turn {
        let Some(capability) = self.capability.clone() else { return Turn::Idle };
        let epsilon = self.outlet.about().epsilon;
        let mut rows: Vec<Operation> = Vec::new();
        let pulled = self.feed.pull(&mut rows).and_then(|pulled| {
            self.outlet.expects(self.feed.symbols()).then_some(pulled).ok_or_else(source::changed)
        });
        let pulled = match pulled {
            Ok(pulled) => pulled,
            Err(diagnostic) => {
                read.troubles.push(format!("{}: {}", self.outlet.about().name, diagnostic.message));
                self.leave(&Notice::Lost { why: diagnostic.message }, out);
                return if keep_going { Turn::Sent } else { Turn::Failed };
            }
        };
        if let Some(name) = self.feed.name() {
            self.outlet.rename(name);
        }
        if let Some(from) = read.from {
            // The checkpoint has these.
            rows.retain(|row| row.call.saturating_sub(epsilon) >= from);
        }
        read.rows += rows.len() as u64;
        read.since += rows.len() as u64;
        let now = *capability.time();
        let floor = match pulled {
            Pulled::Idle => return Turn::Idle,
            Pulled::End => {
                self.capability = None;
                return Turn::Sent;
            }
            Pulled::Lost(why) => {
                self.leave(&Notice::Lost { why }, out);
                return Turn::Sent;
            }
            Pulled::Rows { floor } => floor,
        };
        if rows.iter().any(|row| row.call.saturating_sub(epsilon) < now) {
            let late;
            (late, rows) = rows.into_iter().partition(|row| row.call.saturating_sub(epsilon) < now);
            // Their keys are explained first.
            let batches = self.outlet.batches(Vec::new(), self.feed.symbols());
            let told = batches.into_iter().chain(self.outlet.late(&late));
            out.extend(told.map(|batch| (capability.clone(), batch)));
        }
        let batches = self.outlet.batches(rows, self.feed.symbols());
        out.extend(batches.into_iter().map(|batch| (capability.clone(), batch)));
        self.sent.push_back(now);
        if self.sent.len() > self.ahead {
            self.sent.pop_front();
        }
        let next = floor.saturating_sub(epsilon).max(now);
        if floor == i64::MAX {
            // More may come of a feed that gives its last rows first; but nothing that matters to the
            // watermark.
            self.capability = None;
        } else if let Some(held) = &mut self.capability {
            if next > now && read.every > 0 && read.since >= read.every {
                // Sent at a time before the mark, so that everyone hears of it before the frontier gets
                // there.
                read.since = 0;
                let notices = self.outlet.notices(&Notice::Checkpoint(next));
                out.extend(notices.into_iter().map(|batch| (capability.clone(), batch)));
            }
            held.downgrade(&next);
        }
        Turn::Sent
    }
}
