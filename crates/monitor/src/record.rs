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
//! The stamp follows. Then, by kind: a call its argument, a return its result; a window the look before it; a
//! commit by version the version; acquire and release the lock; a write its location and its value; a block
//! the number of writes, then locations and coded values in turn. The log file holds the same words
//! ([`crate::file`]).
//!
//! In a ring most records are *short*: bit 7 of the header is set, and instead of the length stands how much
//! the stamp differs from that of the record before (of the same ring, of whatever object), as a signed
//! number. Kind and form say how long it is. An operation with a number as its argument is four words then,
//! half a line of the processor's cache, and lines that go to and fro between two processors are what logging
//! costs most. A record is written whole where the difference is too large or its length is not known from
//! its form. [`crate::unpack`] makes all of them whole.

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

/// The header is that of a short record.
pub(crate) const SHORT: u64 = 1 << 7;

/// The part of a header that does not depend on the stamp or the length.
#[inline]
pub(crate) fn tag(kind: Kind, form: Form, op: u8, object: ObjectId) -> u64 {
    kind as u64 | (form as u64) << 4 | u64::from(op) << 8 | u64::from(object.0) << 16
}

/// The difference of two stamps, as it stands in a short header; `None` where it does not fit.
#[inline]
pub(crate) fn difference(stamp: u64, before: u64) -> Option<u64> {
    let difference = stamp.wrapping_sub(before);
    (difference as i32 as i64 as u64 == difference).then_some(difference << 32)
}

/// What a short header says the difference is.
#[inline]
pub(crate) fn difference_of(header: u64) -> u64 {
    (header as i64 >> 32) as u64
}

/// How many words follow a short header; `None` where no short record has this kind and form.
#[inline]
pub(crate) fn words_after(header: u64) -> Option<usize> {
    let own = match Kind::of(header & 0xf)? {
        Kind::Call | Kind::Commit | Kind::Return | Kind::Abandon | Kind::Internal => 0,
        Kind::Window | Kind::CommitAt | Kind::CommitAfter | Kind::Write | Kind::Acquire | Kind::Release => 1,
        Kind::Block | Kind::CommitBlock => return None,
    };
    Some(own + Form::of(header >> 4 & 0x7)?.words()?)
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

/// The kind and the object of a record.
#[inline]
pub(crate) fn kind_and_object(header: u64) -> (Option<Kind>, ObjectId) {
    (Kind::of(header & 0xf), ObjectId((header >> 16) as u16))
}

/// Tells `each` of the records of one thread. `false` where the words make no sense.
pub(crate) fn tell(thread: ThreadId, mut words: &[u64], each: &mut impl FnMut(Event)) -> bool {
    while let Some(header) = words.first() {
        let length = length(*header);
        let Some(event) = words.get(..length).and_then(|words| read(thread, words)) else {
            return false;
        };
        each(event);
        words = &words[length..];
    }
    true
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
