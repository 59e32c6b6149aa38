//! An event as words: a header, a stamp, and what belongs to it.
//!
//! | bits of the header | meaning |
//! |---|---|
//! | 0–3 | kind |
//! | 4–7 | form of the payload ([`crate::payload::Form`]) |
//! | 8–15 | operation, of calls |
//! | 16–31 | object |
//! | 32–63 | length of the record in words, header included |
//!
//! The stamp follows. Then, by kind: a call its argument, a return its result; a window the look before it; a commit by version the version;
//! acquire and release the lock; a write its location and its value; a block the number of writes, then locations and coded values in turn.
//! The log file holds the same words ([`crate::file`]).

use crate::event::{Event, Location, ObjectId, ThreadId, What, Write};
use crate::payload::{self, Form};

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Call,
    Commit,
    Window,
    CommitAt,
    CommitAfter,
    Return,
    Abandon,
    Block,
    CommitBlock,
    Write,
    Acquire,
    Release,
    Internal,
}

impl Kind {
    fn of(number: u64) -> Option<Kind> {
        use Kind::*;
        let all = [
            Call,
            Commit,
            Window,
            CommitAt,
            CommitAfter,
            Return,
            Abandon,
            Block,
            CommitBlock,
            Write,
            Acquire,
            Release,
            Internal,
        ];
        all.get(number as usize).copied()
    }
}

/// The header of a record of `words` words.
#[inline]
pub(crate) fn header(kind: Kind, form: Form, op: u8, object: ObjectId, words: usize) -> u64 {
    kind as u64 | (form as u64) << 4 | u64::from(op) << 8 | u64::from(object.0) << 16 | (words as u64) << 32
}

/// How many words the record has that begins with this header; at least two.
#[inline]
pub(crate) fn length(header: u64) -> usize {
    ((header >> 32) as usize).max(2)
}

/// The object of a call's header; `None` of other records.
#[inline]
pub(crate) fn object_of_call(header: u64) -> Option<ObjectId> {
    (header & 0xf == Kind::Call as u64).then_some(ObjectId((header >> 16) as u16))
}

/// Reads a record of `thread`. `None` where the words make no sense.
#[inline]
pub(crate) fn read(thread: ThreadId, words: &[u64]) -> Option<Event> {
    let [header, stamp, rest @ ..] = words else { return None };
    let form = Form::of(header >> 4 & 0xf)?;
    let whole = |(value, rest): (_, &[u64])| rest.is_empty().then_some(value);
    let word = || rest.first().copied();
    let what = match Kind::of(header & 0xf)? {
        Kind::Call => What::Call { op: (header >> 8) as u8, arg: whole(payload::read(form, rest)?)? },
        Kind::Commit => What::Commit,
        Kind::Window => What::Window { from: word()? },
        Kind::CommitAt => What::CommitAt { version: word()? },
        Kind::CommitAfter => What::CommitAfter { version: word()? },
        Kind::Return => What::Return(whole(payload::read(form, rest)?)?),
        Kind::Abandon => What::Abandon,
        Kind::Block => What::Block(writes(rest)?),
        Kind::CommitBlock => What::CommitBlock(writes(rest)?),
        Kind::Write => {
            let (location, rest) = rest.split_first()?;
            let value = whole(payload::read(form, rest)?)?;
            What::Write(Write { location: Location(*location), value })
        }
        Kind::Acquire => What::Acquire(word()?),
        Kind::Release => What::Release(word()?),
        Kind::Internal => What::Internal,
    };
    Some(Event { thread, object: ObjectId((header >> 16) as u16), stamp: *stamp, what })
}

fn writes(words: &[u64]) -> Option<Vec<Write>> {
    let (count, mut rest) = words.split_first()?;
    let count = usize::try_from(*count).ok().filter(|count| *count <= rest.len())?;
    let mut writes = Vec::with_capacity(count);
    for _ in 0..count {
        let (location, after) = rest.split_first()?;
        let (value, after) = payload::read(Form::Coded, after)?;
        writes.push(Write { location: Location(*location), value });
        rest = after;
    }
    rest.is_empty().then_some(writes)
}
