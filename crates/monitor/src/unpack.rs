//! From the short records of a ring to whole ones ([`crate::record`]), and no further than the verification
//! wants to go.
//!
//! A thread that is off the processor in the middle of an operation holds up the judging of everything that
//! came later. If the others' records were taken all the same, what waits would grow without end. So a record
//! is *held*, it stays in its ring, if it is further ahead of what was judged than a window allows and its
//! thread is in no operation; what is behind it in the ring stays there too. (Threads inside operations are
//! always read on: it may be theirs that is waited for.) The rings fill, and their threads wait: that is the
//! bound. When it is lifted: [`crate::drain`].

use crate::event::ObjectId;
use crate::record::{self, Kind};
use crate::ring::Consumer;

/// A ring's reading end, with what is needed to make its records whole.
#[derive(Debug)]
pub(crate) struct Unpack {
    consumer: Consumer,
    /// The stamp of the record before.
    before: u64,
    /// Operations open on this thread, one inside another.
    open: u32,
}

/// A record that stays in its ring, with everything behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) object: ObjectId,
    pub(crate) stamp: u64,
}

impl Unpack {
    pub(crate) fn new(consumer: Consumer) -> Unpack {
        Unpack { consumer, before: 0, open: 0 }
    }

    /// Appends whole records to `into`, up to the first that is `too_far` for a thread in no operation. How
    /// many words of the ring were taken, and the record that is held.
    pub(crate) fn take(
        &mut self,
        too_far: impl Fn(ObjectId, u64) -> bool,
        into: &mut Vec<u64>,
    ) -> (usize, Option<Held>) {
        let waiting = self.consumer.waiting();
        let mut at = 0;
        let mut held = None;
        while at < waiting {
            let header = self.consumer.word(at);
            let short = header & record::SHORT != 0;
            let (length, stamp) = if short {
                let Some(after) = record::words_after(header) else { break };
                (1 + after, self.before.wrapping_add(record::difference_of(header)))
            } else {
                (record::length(header), self.consumer.word(at + 1))
            };
            if length > waiting - at {
                break;
            }
            let (kind, object) = record::kind_and_object(header);
            if self.open == 0 && too_far(object, stamp) {
                held = Some(Held { object, stamp });
                break;
            }
            match kind {
                Some(Kind::Call) => self.open = self.open.saturating_add(1),
                Some(Kind::Return | Kind::Abandon) => self.open = self.open.saturating_sub(1),
                _ => {}
            }
            self.before = stamp;
            if short {
                let whole = (header & 0xffff_ffff & !record::SHORT) | (length as u64 + 1) << 32;
                into.extend([whole, stamp]);
                into.extend((1..length).map(|word| self.consumer.word(at + word)));
            } else {
                into.extend((0..length).map(|word| self.consumer.word(at + word)));
            }
            at += length;
        }
        if held.is_none() {
            // Words that make no sense, of a payload that is not what it says, are dropped: their numbers are
            // missing then.
            at = waiting;
        }
        self.consumer.free(at);
        (at, held)
    }

    /// Will nothing more come?
    pub(crate) fn is_finished(&self) -> bool {
        self.consumer.is_finished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, ThreadId, What};
    use crate::payload::Form;
    use crate::ring::{Producer, ring};

    /// Publishes a record of these words.
    fn put(producer: &Producer, words: &[u64]) {
        assert!(producer.fits(words.len()));
        let place = producer.place();
        words.iter().enumerate().for_each(|(at, word)| place.put(at, *word));
        producer.publish(place, words.len());
    }

    fn short(kind: Kind, form: Form, op: u8, stamp: u64, before: u64) -> u64 {
        let difference = record::difference(stamp, before).expect("it fits");
        record::tag(kind, form, op, ObjectId(7)) | record::SHORT | difference
    }

    fn events(words: &[u64]) -> Vec<Event> {
        let mut events = Vec::new();
        assert!(record::tell(ThreadId(1), words, &mut |event| events.push(event)));
        events
    }

    #[test]
    fn short_records_become_whole() {
        let (producer, consumer) = ring(64);
        put(&producer, &[short(Kind::Call, Form::Int, 3, 1000, 0), 42]);
        put(&producer, &[short(Kind::Commit, Form::Null, 0, 1003, 1000)]);
        put(&producer, &[record::tag(Kind::Return, Form::Ints, 0, ObjectId(7)) | 4 << 32, 1 << 40, 5, 6]);
        put(&producer, &[short(Kind::Acquire, Form::Null, 0, (1 << 40) - 9, 1 << 40), 77]);
        let mut words = Vec::new();
        let mut unpack = Unpack::new(consumer);
        assert_eq!(unpack.take(|_, _| false, &mut words), (9, None));
        let event = |stamp, what| Event { thread: ThreadId(1), object: ObjectId(7), stamp, what };
        let expected = [
            event(1000, What::Call { op: 3, arg: 42.into() }),
            event(1003, What::Commit),
            event(1 << 40, What::Return(linpoint_history::Value::list([5.into(), 6.into()]))),
            event((1 << 40) - 9, What::Acquire(77)),
        ];
        assert_eq!(events(&words), expected);
    }

    /// An operation that began inside the window is read to its end; the next one waits.
    #[test]
    fn what_is_too_far_ahead_stays_in_the_ring() {
        let (producer, consumer) = ring(64);
        put(&producer, &[short(Kind::Call, Form::Null, 0, 9, 0)]);
        put(&producer, &[short(Kind::Commit, Form::Null, 0, 20, 9)]);
        put(&producer, &[short(Kind::Return, Form::True, 0, 30, 20)]);
        put(&producer, &[short(Kind::Call, Form::Null, 0, 31, 30)]);
        let mut words = Vec::new();
        let mut unpack = Unpack::new(consumer);
        let held = Some(Held { object: ObjectId(7), stamp: 31 });
        assert_eq!(unpack.take(|_, stamp| stamp > 10, &mut words), (3, held));
        assert_eq!(events(&words).len(), 3);
        assert_eq!(unpack.take(|_, stamp| stamp > 30, &mut words), (0, held));
        assert_eq!(unpack.take(|_, stamp| stamp > 31, &mut words), (1, None));
        assert_eq!(events(&words).len(), 4);
    }

    /// A payload that says it is one thing and is another loses records; nothing worse.
    #[test]
    fn garbage_is_dropped() {
        for garbage in [u64::MAX, record::SHORT | 5 << 4, record::SHORT | 7, 0xf, 1 << 63] {
            let (producer, consumer) = ring(64);
            put(&producer, &[garbage, 1, 2, 3]);
            let mut words = Vec::new();
            let (taken, held) = Unpack::new(consumer).take(|_, _| false, &mut words);
            assert_eq!((taken, held), (4, None));
        }
    }

    /// Every difference of two stamps that fits comes back, at the edges too.
    #[test]
    fn differences_come_back() {
        let edges = [0u64, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, u64::MAX - (1 << 31), u64::MAX];
        for before in edges {
            for stamp in edges {
                let Some(difference) = record::difference(stamp, before) else {
                    let distance = stamp.abs_diff(before).min(stamp.wrapping_sub(before));
                    assert!(distance >= 1 << 31 || before.wrapping_sub(stamp) > 1 << 31);
                    continue;
                };
                let header = record::tag(Kind::Commit, Form::Null, 0, ObjectId(u16::MAX)) | difference;
                assert_eq!(before.wrapping_add(record::difference_of(header)), stamp);
            }
        }
    }
}
