//! Operations as they happen, for someone else to check: the calls and returns of objects without commit
//! points, as rows of a history.
//!
//! The numbers of an object count its own events, and say nothing about those of another object or process. A
//! stream needs one scale, so numbers become times, in nanoseconds since the epoch: those that a seal covers
//! get times from that moment on, in their order and two apart; a call that saw n numbers taken gets the time
//! just after the last of them. So a return precedes a call in time iff its number is below what the call
//! saw, which is what the log says ([`crate::event`]): nothing is lost and nothing invented, whatever the
//! clock does.
//!
//! The *floor* says that nothing still to be told was called before it. A call that was not told by a seal
//! saw at least the sealed numbers ([`crate::drain`]), so its time comes after theirs; where an object rests,
//! that moment may be moved up to now, as long as numbers taken later come later still.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linpoint_history::{KeyId, OpCode, Operation, ProcessId, Symbols, Value};
use rustc_hash::FxHashMap;

use crate::drain::Sink;
use crate::event::{Event, ObjectId, ThreadId, What};
use crate::file::Counts;
use crate::guard::guarded;
use crate::registry::Entrant;

/// How often a floor is told when nothing else is.
const BEAT: Duration = Duration::from_millis(100);

/// Operations of a moment.
#[derive(Debug)]
pub struct Streamed<'a> {
    /// Those that returned, in order of return, and those that were dropped before, which are pending. The
    /// key is the object: its name, and a number where there are several of that name. A process is a thread
    /// at one object; after an operation that was dropped it goes on as another process.
    pub rows: Vec<Operation>,
    /// What the numbers in rows stand for.
    pub symbols: &'a Symbols,
    /// Nothing that comes later was called before this.
    pub floor: i64,
    /// Records that found no room until now: what comes after the first of them is not the whole.
    pub lost: u64,
    /// Is this the end?
    pub last: bool,
}

/// Who is told.
pub(crate) type Listener = Box<dyn FnMut(Streamed<'_>) + Send>;

/// Tells a listener what goes by.
pub(crate) struct Stream {
    listener: Listener,
    symbols: Symbols,
    objects: Vec<Option<Timed>>,
    rows: Vec<Operation>,
    lost: u64,
    told: Instant,
    clock: Clock,
    /// What the listener said when it panicked; it is not told any more.
    trouble: Option<String>,
}

/// Nanoseconds since the epoch, of a clock that does not go back.
#[derive(Clone, Copy)]
struct Clock {
    started: Instant,
    epoch: i64,
}

impl Clock {
    fn new() -> Clock {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
        Clock { started: Instant::now(), epoch }
    }

    fn now(&self) -> i64 {
        self.epoch.saturating_add(self.started.elapsed().as_nanos() as i64)
    }
}

/// An operation whose row is not complete.
struct Open {
    row: Operation,
    /// How many numbers were taken when it was called.
    saw: u64,
    /// Its time, once all of them have times.
    call: Option<i64>,
}

/// An object whose numbers become times.
struct Timed {
    key: KeyId,
    name: String,
    /// Every number below has a time.
    sealed: u64,
    /// The first number of each stretch, and its time; a number further on is two later.
    stretches: Vec<(u64, i64)>,
    /// A call that saw `sealed` numbers and is told from now on has this time.
    next: i64,
    open: FxHashMap<ThreadId, Open>,
    /// What has ended with a number that may have no time yet; `false`: it was dropped.
    ended: Vec<(u64, bool, Open)>,
    processes: FxHashMap<ThreadId, ProcessId>,
    /// How many operations were dropped.
    dropped: u64,
}

impl Timed {
    fn new(key: KeyId, name: String, next: i64) -> Timed {
        Timed {
            key,
            name,
            sealed: 0,
            stretches: Vec::new(),
            next,
            open: FxHashMap::default(),
            ended: Vec::new(),
            processes: FxHashMap::default(),
            dropped: 0,
        }
    }

    fn time(&self, number: u64) -> i64 {
        let at = self.stretches.partition_point(|(first, _)| *first <= number);
        let (first, time) = self.stretches[at.saturating_sub(1)];
        time.saturating_add(2 * number.saturating_sub(first) as i64)
    }

    /// The time of a call that saw so many numbers; none if they have no times yet.
    fn call_time(&self, saw: u64) -> Option<i64> {
        if saw > self.sealed {
            return None;
        }
        if saw == self.sealed {
            return Some(self.next);
        }
        // Told late, against what seals say: its time is below the floor, and whoever checks will say so.
        let known = self.stretches.first().filter(|(first, _)| saw <= *first);
        Some(known.map_or_else(|| self.time(saw - 1) + 1, |(_, time)| *time - 1))
    }

    /// Numbers below `number` get their times.
    fn seal(&mut self, number: u64, now: i64) {
        if number <= self.sealed {
            return;
        }
        // Calls that saw all numbers until now have their times before the new ones.
        self.stretches.push((self.sealed, now.max(self.next + 1)));
        self.sealed = number;
        self.next = self.time(number - 1) + 1;
        let times = |open: &Open| open.call.or_else(|| self.call_time(open.saw));
        let found: Vec<(ThreadId, Option<i64>)> =
            self.open.iter().map(|(thread, open)| (*thread, times(open))).collect();
        let ended: Vec<Option<i64>> = self.ended.iter().map(|(_, _, open)| times(open)).collect();
        for (thread, call) in found {
            self.open.entry(thread).and_modify(|open| open.call = call);
        }
        for ((_, _, open), call) in self.ended.iter_mut().zip(ended) {
            open.call = call;
        }
        // Stretches are needed for the ends of operations, whose numbers are not below what their calls saw.
        let here = self.open.values().chain(self.ended.iter().map(|(_, _, open)| open));
        let oldest = here.map(|open| open.saw).fold(number, u64::min);
        let keep = self.stretches.partition_point(|(first, _)| *first <= oldest).saturating_sub(1);
        self.stretches.drain(..keep);
    }

    /// No operation that is told from now on was called before this.
    fn floor(&self) -> i64 {
        let here = self.open.values().chain(self.ended.iter().map(|(_, _, open)| open));
        here.filter_map(|open| open.call).fold(self.next, i64::min)
    }

    /// Adds the rows that are complete.
    fn complete(&mut self, rows: &mut Vec<Operation>) {
        let sealed = self.sealed;
        let ready: Vec<(u64, bool, Open)> =
            self.ended.extract_if(.., |(number, ..)| *number < sealed).collect();
        for (number, returned, open) in ready {
            // A call saw fewer numbers than were taken at its end, so it has a time.
            let (mut row, Some(call)) = (open.row, open.call) else { continue };
            row.call = call;
            row.ret = if returned { self.time(number) } else { Operation::NEVER };
            rows.push(row);
        }
    }
}

impl Stream {
    pub(crate) fn new(listener: Listener) -> Stream {
        Stream {
            listener,
            symbols: Symbols::new(),
            objects: Vec::new(),
            rows: Vec::new(),
            lost: 0,
            told: Instant::now(),
            clock: Clock::new(),
            trouble: None,
        }
    }

    fn object(&mut self, entrant: &Entrant) {
        let at = usize::from(entrant.watched.id.0);
        if self.objects.len() <= at {
            self.objects.resize_with(at + 1, || None);
        }
        if entrant.description.commits != "intervals" {
            return;
        }
        // Objects of one name are several objects all the same.
        let (mut name, mut count) = (entrant.description.name.clone(), 1);
        while self.objects.iter().flatten().any(|timed| timed.name == name) {
            count += 1;
            name = format!("{} ({count})", entrant.description.name);
        }
        let key = self.symbols.key(&Value::text(&name));
        self.objects[at] = Some(Timed::new(key, name, self.clock.now()));
    }

    fn event(&mut self, event: &Event) {
        let Event { thread, object, stamp, what } = event;
        let Some(timed) = self.objects.get_mut(usize::from(object.0)).and_then(Option::as_mut) else {
            return;
        };
        let value = match what {
            What::Call { op, arg } => {
                let process = *timed.processes.entry(*thread).or_insert_with(|| {
                    let again = if timed.dropped > 0 { format!(".{}", timed.dropped) } else { String::new() };
                    self.symbols.process(&Value::text(&format!("{}/{}{again}", timed.name, thread.0)))
                });
                let mut row = Operation::new(process, OpCode(*op));
                (row.arg, row.key) = (self.symbols.intern(arg), timed.key);
                let call = timed.call_time(*stamp);
                timed.open.insert(*thread, Open { row, saw: *stamp, call });
                return;
            }
            What::Return(value) => Some(value),
            What::Abandon => None,
            _ => return,
        };
        if matches!(what, What::Abandon) {
            // A process ends with an operation that is pending: what the thread does next is done by another
            // one.
            timed.processes.remove(thread);
            timed.dropped += 1;
        }
        if let Some(mut open) = timed.open.remove(thread) {
            if let Some(value) = value {
                open.row.result = self.symbols.intern(value);
            }
            timed.ended.push((*stamp, value.is_some(), open));
        }
    }

    fn seal(&mut self, object: ObjectId, number: u64) {
        let now = self.clock.now();
        if let Some(timed) = self.objects.get_mut(usize::from(object.0)).and_then(Option::as_mut) {
            timed.seal(number, now);
        }
    }

    fn tell(&mut self, last: bool) {
        let now = self.clock.now();
        let mut floor = now;
        for timed in self.objects.iter_mut().flatten() {
            timed.complete(&mut self.rows);
            if last {
                // What is here now never returned, as far as the log knows.
                let left = timed.open.drain().map(|(_, open)| open);
                for mut open in left.chain(timed.ended.drain(..).map(|(_, _, open)| open)) {
                    (open.row.call, open.row.ret) = (open.call.unwrap_or(timed.next), Operation::NEVER);
                    self.rows.push(open.row);
                }
            }
            if timed.open.is_empty() && timed.ended.is_empty() {
                timed.next = timed.next.max(now);
            }
            floor = floor.min(timed.floor());
        }
        if self.rows.is_empty() && self.told.elapsed() < BEAT && !last {
            return;
        }
        self.told = Instant::now();
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_by_key(|row| (row.ret, row.call));
        if self.trouble.is_some() {
            return;
        }
        let streamed = Streamed { rows, symbols: &self.symbols, floor, lost: self.lost, last };
        self.trouble = guarded(|| (self.listener)(streamed)).err();
    }
}

/// Tells a stream, if there is one, and somebody else.
pub(crate) struct Tee<'a, S> {
    pub(crate) stream: Option<Stream>,
    pub(crate) sink: &'a mut S,
}

impl<S> Tee<'_, S> {
    /// What the listener said when it panicked.
    pub(crate) fn trouble(&mut self) -> Option<String> {
        self.stream.as_mut().and_then(|stream| stream.trouble.take())
    }

    /// There is no more.
    pub(crate) fn close(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.tell(true);
        }
    }
}

impl<S: Sink> Sink for Tee<'_, S> {
    fn object(&mut self, entrant: Entrant) {
        if let Some(stream) = &mut self.stream {
            stream.object(&entrant);
        }
        self.sink.object(entrant);
    }

    #[inline]
    fn event(&mut self, event: Event) {
        if let Some(stream) = &mut self.stream {
            stream.event(&event);
        }
        self.sink.event(event);
    }

    fn seal(&mut self, object: ObjectId, number: u64) {
        if let Some(stream) = &mut self.stream {
            stream.seal(object, number);
        }
        self.sink.seal(object, number);
    }

    fn lost(&mut self, object: ObjectId, count: u64) {
        if let Some(stream) = &mut self.stream {
            stream.lost += count;
        }
        self.sink.lost(object, count);
    }

    fn counted(&mut self, object: ObjectId, counts: Counts) {
        self.sink.counted(object, counts);
    }

    fn running(&mut self, thread: ThreadId) {
        self.sink.running(thread);
    }

    fn pause(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.tell(false);
        }
        self.sink.pause();
    }
}
