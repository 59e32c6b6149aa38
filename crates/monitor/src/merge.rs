//! Events of many threads put into the order of their numbers.
//!
//! Numbers are dense, so the buffer is an array indexed by `number - base`: a push is a store, and the next
//! event is there or is not. An operation lives in a slab from its call until its return comes out of the
//! buffer; the commit in the buffer points to it, so the answer is there by the time the commit may be
//! judged.
//!
//! What contradicts itself becomes a [`Slot::Stray`] at its own number. So it is reported only when
//! everything before it has been seen: a lost record shows as a gap first, not as a mistake of the
//! annotation.

use std::collections::VecDeque;

use linpoint_history::{Signature, Value};
use rustc_hash::FxHashMap;

use crate::event::{Event, ThreadId, What, Write};
use crate::finding::{Mistake, Seen};
use crate::order::search::Task;

/// The place of an operation in the slab.
pub(crate) type OpIndex = u32;

/// An operation between its call and the moment its return is taken out.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub thread: ThreadId,
    pub op: u8,
    pub state: Answer,
    /// Commits seen so far.
    pub commits: u8,
    pub arg: Value,
    pub result: Value,
    pub look: u64,
    /// Where the stretch begins in which it takes effect.
    pub from: u64,
    pub commit: u64,
    /// Meaningful once answered.
    pub ret: u64,
    /// The number of its return, or of its being dropped.
    pub end: u64,
    /// A version of the object's own, once it is taken out.
    pub version: Option<u64>,
    /// Did it only read what that version left?
    pub reads: bool,
    /// Did it commit with a window?
    pub window: bool,
    /// Did it take effect in the specification? Then its values are gone from here.
    pub in_effect: bool,
}

impl Open {
    /// As something to be placed; it must be if it returned by `end`.
    pub fn task(&self, end: u64) -> Task {
        let known = self.state == Answer::Known;
        Task {
            thread: self.thread,
            op: self.op,
            arg: self.arg.clone(),
            result: known.then(|| self.result.clone()),
            call: self.look,
            ret: if known { self.ret } else { u64::MAX },
            commit: (self.commits > 0).then_some(self.commit),
            must: known && self.ret <= end,
        }
    }
}

/// What is known of an operation's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Free place in the slab.
    Free,
    /// It may still come.
    Awaited,
    /// It came.
    Known,
    /// It will never come.
    Never,
}

/// An event that took a number.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    Empty,
    Commit(OpIndex),
    Window(OpIndex),
    At(OpIndex, u64),
    After(OpIndex, u64),
    Return(OpIndex),
    Abandon(OpIndex),
    Block(ThreadId, Vec<Write>),
    CommitBlock(OpIndex, Vec<Write>),
    Write(ThreadId, Write),
    Acquire(ThreadId, u64),
    Release(ThreadId, u64),
    Internal(ThreadId),
    Stray(Box<Mistake>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    open: Option<OpIndex>,
    /// One more than its last number.
    next: u64,
}

/// Must a commit be seen before a return?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    Needed,
    Refused,
}

/// The buffer.
pub(crate) struct Merge {
    marks: Marks,
    /// The first number not taken out.
    base: u64,
    slots: VecDeque<Slot>,
    /// Threads with small numbers, by number.
    threads: Vec<Thread>,
    /// The others.
    far: FxHashMap<u32, Thread>,
    pub ops: Vec<Open>,
    free: Vec<OpIndex>,
    /// Operations without an answer whose thread has gone on.
    orphans: Vec<OpIndex>,
    /// Operations that were settled lately, where that is asked for.
    settled: Option<Vec<OpIndex>>,
    /// Mistakes of calls, which have no number: to be told once everything below the look is out.
    of_calls: Vec<(u64, Mistake)>,
    /// Events that were pushed.
    pub pushed: u64,
    /// Those of them that took a number.
    pub numbered: u64,
    /// One more than the largest number seen.
    pub top: u64,
    /// What was needed lately.
    lately: Lately,
}

/// How much room was needed, to give back what was not.
#[derive(Debug, Default)]
struct Lately {
    slots: usize,
    ops: usize,
    /// How often this was noted since room was last given back.
    noted: u32,
}

/// Room is given back after so many looks at what is needed.
const LOOKS: u32 = 256;
/// Less than this is kept in any case.
const LITTLE: usize = 1024;

/// Threads below this are found by index.
const NEAR: u32 = 1 << 12;
/// A number this far beyond all others is not believed: the buffer would not fit into memory.
const FAR: u64 = 1 << 26;

impl Merge {
    pub fn new(marks: Marks) -> Merge {
        Merge {
            marks,
            base: 0,
            slots: VecDeque::with_capacity(1024),
            threads: Vec::new(),
            far: FxHashMap::default(),
            ops: Vec::new(),
            free: Vec::new(),
            orphans: Vec::new(),
            settled: None,
            of_calls: Vec::new(),
            pushed: 0,
            numbered: 0,
            top: 0,
            lately: Lately::default(),
        }
    }

    /// Notes how much room is needed, and now and then gives back what was not needed lately: what was held
    /// back once, while an operation took long to answer, is no measure for what follows.
    pub fn tidy(&mut self) {
        let lately = &mut self.lately;
        lately.slots = lately.slots.max(self.slots.len());
        lately.ops = lately.ops.max(self.ops.len() - self.free.len());
        lately.noted += 1;
        if lately.noted < LOOKS {
            return;
        }
        let Lately { slots, ops, .. } = std::mem::take(lately);
        if self.slots.capacity() > 4 * slots.max(LITTLE) {
            self.slots.shrink_to(2 * slots.max(LITTLE));
        }
        if self.ops.capacity() > 4 * ops.max(LITTLE) {
            // Places are handed out from the low end from now on, so that the high end falls free.
            while self.ops.pop_if(|open| open.state == Answer::Free).is_some() {}
            let count = self.ops.len() as OpIndex;
            self.free.retain(|index| *index < count);
            self.free.sort_unstable_by(|a, b| b.cmp(a));
            self.free.shrink_to_fit();
            self.ops.shrink_to(2 * ops.max(LITTLE));
        }
    }

    /// Bytes that the buffer and the slab have; what values have elsewhere is not counted.
    pub fn room(&self) -> u64 {
        let slots = self.slots.capacity() * std::mem::size_of::<Slot>();
        let ops = self.ops.capacity() * std::mem::size_of::<Open>();
        (slots + ops + self.free.capacity() * std::mem::size_of::<OpIndex>()) as u64
    }

    /// The first number that was not taken out.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Numbers between the first not taken out and the last seen.
    pub fn waiting(&self) -> usize {
        self.slots.len()
    }

    /// The next event, if it is there.
    #[inline]
    pub fn front(&self) -> Option<&Slot> {
        self.slots.front()
    }

    /// Takes it out.
    #[inline]
    pub fn pop(&mut self) -> Option<Slot> {
        let slot = self.slots.pop_front()?;
        self.base += 1;
        Some(slot)
    }

    /// A mistake of a call that may be told by now.
    #[inline]
    pub fn mistake_of_call(&mut self) -> Option<Mistake> {
        if self.of_calls.is_empty() {
            return None;
        }
        let due = self.of_calls.iter().position(|(look, _)| *look <= self.base)?;
        Some(self.of_calls.swap_remove(due).1)
    }

    /// A mistake of a call that was not told yet.
    pub fn last_mistake_of_call(&mut self) -> Option<Mistake> {
        self.of_calls.pop().map(|(_, mistake)| mistake)
    }

    /// Is the answer of this operation known, or known never to come?
    #[inline]
    pub fn is_settled(&self, op: OpIndex) -> bool {
        self.ops[op as usize].state != Answer::Awaited
    }

    /// Takes an operation out of the slab.
    #[inline]
    pub fn release(&mut self, op: OpIndex) {
        let open = &mut self.ops[op as usize];
        open.state = Answer::Free;
        open.arg = Value::Null;
        open.result = Value::Null;
        self.free.push(op);
    }

    /// Operations that are in the slab.
    pub fn live(&self) -> impl Iterator<Item = &Open> {
        self.ops.iter().filter(|open| open.state != Answer::Free)
    }

    /// From now on says which operations are settled; begins with those that are.
    pub fn track_settled(&mut self) {
        let settled = |(_, open): &(usize, &Open)| matches!(open.state, Answer::Known | Answer::Never);
        let indices = self.ops.iter().enumerate().filter(settled).map(|(index, _)| index as OpIndex);
        self.settled = Some(indices.collect());
    }

    /// The operations that were settled since the last time.
    pub fn take_settled(&mut self) -> Vec<OpIndex> {
        self.settled.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The oldest look of an operation whose answer may still come.
    pub fn oldest_awaited(&self) -> u64 {
        let open = self.threads.iter().chain(self.far.values()).filter_map(|thread| thread.open);
        let open = open.chain(self.orphans.iter().copied());
        let awaited = open.map(|index| &self.ops[index as usize]).filter(|op| op.state == Answer::Awaited);
        awaited.map(|op| op.look).min().unwrap_or(u64::MAX)
    }

    /// A number that is missing, where an operation waits for an answer that will not come.
    pub fn gap_of_orphans(&self) -> Option<u64> {
        if self.orphans.is_empty() { None } else { self.first_missing() }
    }

    /// The first number that no record has, of those below the largest.
    pub fn first_missing(&self) -> Option<u64> {
        let index = self.slots.iter().position(|slot| matches!(slot, Slot::Empty))?;
        Some(self.base + index as u64)
    }

    /// The oldest look of an operation whose return was not taken out.
    pub fn oldest_live(&self) -> u64 {
        self.live().map(|open| open.look).min().unwrap_or(u64::MAX)
    }

    /// No more events: what has no answer never will.
    pub fn end(&mut self) {
        for (index, open) in self.ops.iter_mut().enumerate() {
            if open.state == Answer::Awaited {
                open.state = Answer::Never;
                if let Some(settled) = &mut self.settled {
                    settled.push(index as OpIndex);
                }
            }
        }
    }

    /// Forgets what waits: nothing more is judged.
    pub fn clear(&mut self) {
        self.slots = VecDeque::new();
        self.ops = Vec::new();
        self.free = Vec::new();
        self.orphans = Vec::new();
        self.threads = Vec::new();
        self.far = FxHashMap::default();
        self.of_calls = Vec::new();
    }

    /// Counts an event of an object that is not judged any more.
    #[inline]
    pub fn count(&mut self, event: &Event) {
        self.pushed += 1;
        if event.what.takes_number() {
            self.numbered += 1;
            self.top = self.top.max(event.stamp.saturating_add(1));
        }
    }

    /// Takes in an event.
    #[inline]
    pub fn push(&mut self, event: Event, signature: &Signature) {
        let Event { thread, stamp, what, .. } = event;
        self.pushed += 1;
        if let What::Call { op, arg } = what {
            self.call(thread, stamp, op, arg, signature);
            return;
        }
        self.numbered += 1;
        self.top = self.top.max(stamp.saturating_add(1));
        let slot = self.slot(thread, stamp, what, signature);
        self.place(thread, stamp, slot);
    }

    #[inline]
    fn thread(&mut self, id: ThreadId) -> &mut Thread {
        if id.0 < NEAR {
            let index = id.0 as usize;
            if index >= self.threads.len() {
                self.threads.resize(index + 1, Thread::default());
            }
            return &mut self.threads[index];
        }
        self.far.entry(id.0).or_default()
    }

    #[inline]
    fn call(&mut self, id: ThreadId, look: u64, op: u8, arg: Value, signature: &Signature) {
        let Some(decl) = signature.operations.get(usize::from(op)) else {
            self.of_calls.push((look, Mistake::NoSuchOperation { thread: id, op }));
            return;
        };
        if !decl.arg.admits(&arg) {
            let expected = decl.arg.expected().into_owned();
            let shape = Mistake::Shape { thread: id, op: decl.name, what: "argument", value: arg, expected };
            self.of_calls.push((look, shape));
            return;
        }
        let open = Open {
            thread: id,
            op,
            state: Answer::Awaited,
            commits: 0,
            arg,
            result: Value::Null,
            look,
            from: look,
            commit: u64::MAX,
            ret: u64::MAX,
            end: u64::MAX,
            version: None,
            reads: false,
            window: false,
            in_effect: false,
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.ops[index as usize] = open;
                index
            }
            None => {
                self.ops.push(open);
                (self.ops.len() - 1) as OpIndex
            }
        };
        let thread = self.thread(id);
        let next = thread.next;
        if let Some(before) = thread.open.replace(index) {
            // Its return is missing: lost, or never logged.
            self.orphans.push(before);
            let open = Box::new(self.seen(before, signature));
            self.of_calls.push((look, Mistake::Nested { thread: id, open }));
        }
        if look < next {
            self.of_calls.push((look, Mistake::Backwards { thread: id, number: look, before: next - 1 }));
        }
    }

    #[inline]
    fn slot(&mut self, id: ThreadId, number: u64, what: What, signature: &Signature) -> Slot {
        let thread = self.thread(id);
        if number < thread.next {
            let before = thread.next - 1;
            return stray(Mistake::Backwards { thread: id, number, before });
        }
        thread.next = number + 1;
        let open = thread.open;
        match what {
            What::Return(_) | What::Abandon => thread.open = None,
            What::Block(writes) => return Slot::Block(id, writes),
            What::Write(write) => return Slot::Write(id, write),
            What::Acquire(lock) => return Slot::Acquire(id, lock),
            What::Release(lock) => return Slot::Release(id, lock),
            What::Internal => return Slot::Internal(id),
            _ => {}
        }
        let Some(index) = open else {
            return stray(Mistake::Outside { thread: id, what: name(&what) });
        };
        let op = &mut self.ops[index as usize];
        // A call's look is at numbers that were taken before its own.
        let is_early = number < op.look;
        let impossible = |merge: &Merge| {
            let what = "its call looked at more numbers than there were by then";
            stray(Mistake::Impossible { operation: Box::new(merge.seen(index, signature)), what })
        };
        match what {
            What::Return(result) => {
                let decl = &signature.operations[usize::from(op.op)];
                let fits = decl.result.admits(&result);
                op.result = result;
                (op.ret, op.end) = (number, number);
                op.state = Answer::Known;
                if let Some(settled) = &mut self.settled {
                    settled.push(index);
                }
                if is_early {
                    return impossible(self);
                }
                if !fits {
                    let value = self.ops[index as usize].result.clone();
                    let expected = decl.result.expected().into_owned();
                    return stray(Mistake::Shape {
                        thread: id,
                        op: decl.name,
                        what: "result",
                        value,
                        expected,
                    });
                }
                if op.commits == 0 && self.marks == Marks::Needed {
                    return stray(Mistake::NoCommit { operation: Box::new(self.seen(index, signature)) });
                }
                Slot::Return(index)
            }
            What::Abandon => {
                (op.state, op.end) = (Answer::Never, number);
                if let Some(settled) = &mut self.settled {
                    settled.push(index);
                }
                if is_early {
                    return impossible(self);
                }
                Slot::Abandon(index)
            }
            _ if self.marks == Marks::Refused => stray(Mistake::Marked { thread: id }),
            what => {
                op.commits = op.commits.saturating_add(1);
                if op.commits > 1 {
                    return stray(Mistake::SecondCommit { operation: Box::new(self.seen(index, signature)) });
                }
                op.commit = number;
                op.from = number;
                let look = op.look;
                if is_early {
                    return impossible(self);
                }
                match what {
                    What::Window { from } if from < look || from > number => {
                        let operation = Box::new(self.seen(index, signature));
                        let what = "its window does not begin between its call and its commit";
                        stray(Mistake::Impossible { operation, what })
                    }
                    What::Window { from } => {
                        let op = &mut self.ops[index as usize];
                        (op.from, op.window) = (from, true);
                        Slot::Window(index)
                    }
                    What::CommitAt { version } => Slot::At(index, version),
                    What::CommitAfter { version } => Slot::After(index, version),
                    What::CommitBlock(writes) => Slot::CommitBlock(index, writes),
                    _ => Slot::Commit(index),
                }
            }
        }
    }

    #[inline]
    fn place(&mut self, thread: ThreadId, number: u64, slot: Slot) {
        let twice = || stray(Mistake::TakenTwice { thread, number });
        let Some(index) = number.checked_sub(self.base) else {
            // What the first record did is done; the contradiction is told next.
            self.of_calls.push((0, Mistake::TakenTwice { thread, number }));
            return;
        };
        if index as usize == self.slots.len() {
            self.slots.push_back(slot);
            return;
        }
        if index > self.slots.len() as u64 + FAR {
            let before = self.base + self.slots.len() as u64;
            self.of_calls.push((0, Mistake::Backwards { thread, number: before, before: number }));
            return;
        }
        let index = index as usize;
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, || Slot::Empty);
        }
        self.slots[index] = if matches!(self.slots[index], Slot::Empty) { slot } else { twice() };
    }

    /// An operation as a person sees it.
    pub fn seen(&self, op: OpIndex, signature: &Signature) -> Seen {
        self.ops[op as usize].task(u64::MAX).seen(signature)
    }
}

fn stray(mistake: Mistake) -> Slot {
    Slot::Stray(Box::new(mistake))
}

/// What a record is called in a sentence.
fn name(what: &What) -> &'static str {
    match what {
        What::Return(_) => "a return",
        What::Abandon => "the end of an operation",
        _ => "a commit",
    }
}
