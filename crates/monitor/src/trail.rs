//! The recent past: copies of the specification now and then, and what took effect since.
//!
//! When something does not fit, [`crate::blame`] looks for another order of what happened lately. Two
//! stretches are kept, each with the state it starts from; when the second is full the first is forgotten. A
//! stretch is at least as long as the state is large, so copying costs a constant an operation, and memory
//! stays a constant times the state.

use linpoint_history::{Signature, Value};

use crate::event::ThreadId;
use crate::finding::Seen;
use crate::merge::{Answer, Open};
use crate::model::Model;
use crate::order::search::Task;

/// What is remembered.
pub(crate) struct Trail {
    older: Option<Stretch>,
    newer: Stretch,
    /// Operations the newer stretch has room for.
    room: usize,
    /// Is the start of the newer stretch too long ago to be remembered?
    broken: bool,
}

/// Operations in the order in which they took effect.
pub(crate) struct Stretch {
    /// The states it may have started in.
    pub worlds: Vec<Box<dyn Model>>,
    /// The first number it covers.
    pub from: u64,
    pub past: Vec<Past>,
}

/// An operation that took effect.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub thread: ThreadId,
    pub op: u8,
    pub known: bool,
    pub arg: Value,
    pub result: Value,
    pub look: u64,
    pub commit: u64,
    pub ret: u64,
}

impl Past {
    /// Takes what matters out of an operation.
    #[inline]
    pub fn of(open: &mut Open) -> Past {
        open.in_effect = true;
        Past {
            thread: open.thread,
            op: open.op,
            known: open.state == Answer::Known,
            arg: std::mem::take(&mut open.arg),
            result: std::mem::take(&mut open.result),
            look: open.look,
            commit: open.commit,
            ret: open.ret,
        }
    }

    /// As a person sees it.
    pub fn seen(&self, signature: &Signature) -> Seen {
        self.task(u64::MAX).seen(signature)
    }

    /// As something to be placed in another order; it must be if it returned by `end`.
    pub fn task(&self, end: u64) -> Task {
        Task {
            thread: self.thread,
            op: self.op,
            arg: self.arg.clone(),
            result: self.known.then(|| self.result.clone()),
            call: self.look,
            ret: if self.known { self.ret } else { u64::MAX },
            commit: Some(self.commit),
            must: self.known && self.ret <= end,
        }
    }
}

/// The least number of operations in a stretch.
const LEAST: usize = 1024;
/// A stretch may be longer than it should by so much.
const MOST_OVERLONG: usize = 1 << 16;

impl Trail {
    pub fn new(model: &dyn Model) -> Trail {
        let newer = Stretch { worlds: vec![model.fork()], from: 0, past: Vec::new() };
        Trail { older: None, newer, room: room(model.size()), broken: false }
    }

    /// An operation took effect.
    #[inline]
    pub fn note(&mut self, past: Past) {
        self.newer.past.push(past);
        if self.newer.past.len() > MOST_OVERLONG + self.room {
            // For want of a moment at which the state was certain.
            self.newer.past.clear();
            self.older = None;
            self.broken = true;
        }
    }

    /// Is it time for another copy of the state?
    #[inline]
    pub fn is_full(&self) -> bool {
        self.newer.past.len() >= self.room
    }

    /// Begins another stretch.
    #[cold]
    pub fn turn<'a>(&mut self, worlds: impl Iterator<Item = &'a dyn Model>, from: u64) {
        let worlds: Vec<Box<dyn Model>> = worlds.map(Model::fork).collect();
        self.room = room(worlds.iter().map(|world| world.size()).sum());
        let mut past = self.older.take().map(|stretch| stretch.past).unwrap_or_default();
        past.clear();
        past.reserve(self.room);
        let newer = std::mem::replace(&mut self.newer, Stretch { worlds, from, past });
        self.older = (!std::mem::take(&mut self.broken)).then_some(newer);
    }

    /// What took effect from number `from` on, which is where a stretch starts.
    pub fn since(&self, from: u64) -> Vec<Past> {
        let stretches = self.stretches().filter(|stretch| stretch.from >= from);
        stretches.flat_map(|stretch| stretch.past.iter().cloned()).collect()
    }

    /// Forgets what took effect from number `from` on; gives it back.
    pub fn take_back(&mut self, from: u64) -> Vec<Past> {
        let mut taken = Vec::new();
        for stretch in self.older.iter_mut().chain([&mut self.newer]) {
            let keep = stretch.past.iter().position(|past| past.commit >= from).unwrap_or(stretch.past.len());
            taken.extend(stretch.past.drain(keep..));
        }
        if let Some(older) = self.older.take_if(|_| self.newer.from > from) {
            self.newer = older;
        }
        taken
    }

    /// What took effect last.
    pub fn last(&self) -> Option<&Past> {
        self.newer.past.last()
    }

    /// The last return of what is remembered.
    pub fn last_return(&self) -> Option<u64> {
        let past = self.stretches().flat_map(|stretch| &stretch.past);
        past.filter(|past| past.known).map(|past| past.ret).max()
    }

    /// The stretches, older first.
    pub fn stretches(&self) -> impl DoubleEndedIterator<Item = &Stretch> {
        self.older.iter().chain([&self.newer].into_iter().filter(|_| !self.broken))
    }
}

/// How long a stretch is, for a state of this size: four times as long, so that copies are cheap, but not
/// much longer than a processor's cache for that alone.
fn room(size: usize) -> usize {
    LEAST.max(size).max((4 * size).min(1 << 14))
}
