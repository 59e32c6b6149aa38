//! Windows and whole intervals: an operation takes effect somewhere in a stretch of numbers.

use super::{Arrival, Checker, Failure, Order, Stage, Trouble, found};
use crate::event::ThreadId;
use crate::finding::{Blame, Found, Refused, Unknown};
use crate::merge::{Answer, OpIndex, Open, Slot};
use crate::model::Model;
use crate::order::engine::Verdicts;
use crate::order::search::Task;
use crate::order::spans::{Halt, Spans};
use crate::setup::{Commits, End};
use crate::trail::Past;

impl Checker {
    /// From now on operations take effect in stretches, from one of these states.
    pub(super) fn begin_spans(&mut self, worlds: Vec<Box<dyn Model>>) {
        let whole = self.commits == Commits::Intervals;
        // Engines start from the initial state and know no view.
        let own = self.refine.has_view() || self.committed > 0 || !self.pending.is_empty();
        self.order = Order::Spans(Box::new(Spans::new(worlds, whole, own, self.limits.configurations)));
        self.merge.track_settled();
        self.note_settled(Arrival::Initial);
    }

    /// The first window comes after exact commits. Those that it overlaps may have to be permuted with it, so
    /// they are taken back. False if that is to be waited for, or cannot be.
    pub(super) fn switch_to_spans(&mut self) -> bool {
        let number = self.merge.base();
        if !self.knows(number) {
            self.wait_for(None);
            return false;
        }
        let windows = self.merge.live().filter(|open| open.commits > 0).map(|open| open.from);
        let Some(from) = windows.chain(self.oldest_pending()).min() else {
            return false;
        };
        if from >= self.committed {
            let worlds = self.refine.copies();
            self.begin_spans(worlds);
            return match self.open_pending(from, u64::MAX, &mut 0) {
                Ok(()) => true,
                Err(trouble) => {
                    self.stop(number, trouble);
                    false
                }
            };
        }
        let Some(stretch) = self.trail.stretches().rfind(|stretch| stretch.from <= from) else {
            let why = "a window came late on an object whose commits were exact; register it with windows"
                .to_owned();
            self.decide(Found::Unknown(Unknown::Engine { why }));
            return false;
        };
        let worlds: Vec<_> = stretch.worlds.iter().map(|world| world.fork()).collect();
        let start = stretch.from;
        let again = self.trail.since(start);
        self.begin_spans(worlds);
        match self.repeat(&again, start) {
            Ok(()) => true,
            Err(trouble) => {
                self.stop(number, trouble);
                false
            }
        }
    }

    /// Is there a window around the exact commit `number`, on an object taken for one with exact commits
    /// only?
    pub(super) fn overlaps_a_window(&self, number: u64) -> bool {
        let around = |open: &Open| open.window && open.from <= number && open.commit > number;
        matches!(self.order, Order::Exact) && self.merge.live().any(around)
    }

    /// An exact commit did not fit, of the operation of `thread` that was called at `call` or an internal
    /// one, but there is a window around it, or an operation that was dropped: takes it back.
    pub(super) fn begin_again(&mut self, number: u64, thread: ThreadId, call: Option<u64>) {
        self.committed = number + 1;
        let is_it = |open: &Open| {
            open.state != Answer::Free && !open.in_effect && open.thread == thread && Some(open.look) == call
        };
        let index = self.merge.ops.iter().position(is_it);
        if let Some(open) = index.and_then(|index| self.merge.ops.get_mut(index)) {
            self.trail.note(Past::of(open));
        }
        if !self.switch_to_spans() {
            return;
        }
        let op = index.map(|index| index as OpIndex);
        self.before.take_if(|_| call.is_none());
        match self.compare_configurations(number, thread, op) {
            Ok(()) => self.follow(),
            Err(trouble) => self.stop(number, trouble),
        }
    }

    /// Lets exact commits take effect once more, now among the windows they overlap.
    fn repeat(&mut self, again: &[Past], from: u64) -> Result<(), Trouble> {
        let mut opened = 0;
        self.pending.sort_by_key(|task| task.call);
        let viewed = self.refine.has_view();
        for (at, past) in again.iter().enumerate() {
            let number = past.commit;
            self.open_pending(from, number, &mut opened)?;
            let Order::Spans(spans) = &mut self.order else { return Ok(()) };
            if viewed && at + 1 == again.len() {
                let before = spans.frontier().and_then(|frontier| frontier.before());
                self.before = before.map(|configs| (configs, past.task(u64::MAX)));
            }
            let done = (|| {
                spans.open(number, &self.merge.ops)?;
                let Some(frontier) = spans.frontier() else { return Ok(()) };
                let place = frontier.open(past.task(u64::MAX), false)?;
                frontier.close(place, self.refine.touched()).map_err(Halt::from)
            })();
            if let Err(halt) = done {
                let operation = past.task(u64::MAX);
                return Err(self.halted(halt, number, operation));
            }
        }
        self.open_pending(from, u64::MAX, &mut opened)
    }

    /// Takes note of the stretches that became known.
    pub(super) fn note_settled(&mut self, arrival: Arrival) {
        let base = self.merge.base();
        let settled = self.merge.take_settled();
        let Order::Spans(spans) = &mut self.order else { return };
        let mut late = None;
        for index in settled {
            let open = &self.merge.ops[index as usize];
            if open.in_effect {
                continue;
            }
            if open.from < base && arrival == Arrival::Timely {
                late = Some((open.thread, open.from));
            }
            spans.settled(index, open);
        }
        if let Some((thread, look)) = late {
            self.decide(Found::Unknown(Unknown::Late { thread, look }));
        }
    }

    /// Takes the next event out.
    #[inline]
    pub(super) fn take_span(&mut self, number: u64) -> Result<(), Trouble> {
        let Some(slot) = self.merge.pop() else { return Ok(()) };
        self.open_spans(number, &slot)?;
        match slot {
            Slot::Commit(op) | Slot::Window(op) => self.close(number, op)?,
            Slot::CommitBlock(op, writes) => {
                let thread = self.merge.ops[op as usize].thread;
                self.writes(number, thread, writes);
                self.close(number, op)?;
            }
            Slot::Return(op) | Slot::Abandon(op) => {
                let returned = matches!(slot, Slot::Return(_));
                if !returned {
                    self.abandon(op);
                }
                let Order::Spans(spans) = &mut self.order else { return Ok(()) };
                if spans.whole && returned {
                    self.close(number, op)?;
                } else if returned {
                    let open = &self.merge.ops[op as usize];
                    let told = spans.returned(number, open);
                    let operation = open.task(u64::MAX);
                    told.map_err(|halt| self.halted(halt, number, operation))?;
                }
                self.merge.release(op);
                self.calls += 1;
            }
            Slot::At(op, _) | Slot::After(op, _) => return Err(self.mixed(op, "windows")),
            other => {
                if let Some(thread) = self.take_other(number, other)? {
                    self.compare_configurations(number, thread, None)?;
                }
            }
        }
        self.second_opinion()
    }

    /// Opens what begins by `number`. A suspicion does not stop that.
    #[inline]
    fn open_spans(&mut self, number: u64, slot: &Slot) -> Result<(), Trouble> {
        loop {
            let Order::Spans(spans) = &mut self.order else { return Ok(()) };
            let Err(halt) = spans.open(number, &self.merge.ops) else { return Ok(()) };
            let operation = self.first_live(slot);
            match self.halted(halt, number, operation) {
                Trouble::Suspected => {}
                trouble => return Err(trouble),
            }
        }
    }

    /// The stretch of an operation ends.
    fn close(&mut self, number: u64, op: OpIndex) -> Result<(), Trouble> {
        let thread = self.merge.ops[op as usize].thread;
        self.commit_writes(number, thread, Vec::new());
        let viewed = self.refine.has_view();
        let Order::Spans(spans) = &mut self.order else { return Ok(()) };
        let open = &self.merge.ops[op as usize];
        if viewed && !open.window && !spans.whole {
            let before = spans.frontier().and_then(|frontier| frontier.before());
            self.before = before.map(|configs| (configs, open.task(u64::MAX)));
        }
        if let Err(halt) = spans.close(number, op, open, self.refine.touched()) {
            let operation = open.task(u64::MAX);
            return Err(self.halted(halt, number, operation));
        }
        self.operations += 1;
        self.returned += u64::from(open.state == Answer::Known);
        self.compare_configurations(number, thread, Some(op))?;
        let Order::Spans(spans) = &mut self.order else { return Ok(()) };
        if let Some(frontier) = spans.frontier() {
            let settled = frontier.is_settled();
            let mut past = Past::of(&mut self.merge.ops[op as usize]);
            past.commit = number;
            self.trail.note(past);
            if self.trail.is_full() && settled {
                self.trail.turn(frontier.configs.iter().map(|config| &*config.model), number + 1);
            }
        }
        Ok(())
    }

    /// Compares the views where no stretch is open: elsewhere it is not known what has taken effect.
    fn compare_configurations(
        &mut self,
        number: u64,
        thread: ThreadId,
        op: Option<OpIndex>,
    ) -> Result<(), Trouble> {
        let before = self.before.take();
        if !self.refine.has_view() {
            return Ok(());
        }
        let Order::Spans(spans) = &mut self.order else { return Ok(()) };
        let Some(frontier) = spans.frontier().filter(|frontier| frontier.is_quiet()) else { return Ok(()) };
        let worlds: Vec<&dyn Model> = frontier.configs.iter().map(|config| &*config.model).collect();
        self.refine.note_comparison();
        match self.refine.agreeing(&worlds) {
            Ok(agreeing) => {
                if agreeing.len() < worlds.len() {
                    frontier.keep(&agreeing);
                }
                Ok(())
            }
            Err(differs) => {
                // An operation that was dropped may have taken effect by now, though no answer shows it:
                // before an operation that took effect at this very number, but not after it.
                let touched = self.refine.touched();
                let more = match before {
                    Some((configs, last)) => frontier.further_before(configs, &last, touched),
                    None => frontier.further(touched),
                };
                let Some(more) = more else {
                    let configurations = self.limits.configurations;
                    return Err(found(Found::Unknown(Unknown::Orders { open: 0, configurations })));
                };
                let worlds: Vec<&dyn Model> = more.iter().map(|config| &*config.model).collect();
                if let (false, Ok(agreeing)) = (worlds.is_empty(), self.refine.agreeing(&worlds)) {
                    frontier.configs = more;
                    frontier.keep(&agreeing);
                    return Ok(());
                }
                Err(self.differs(*differs, (number, 0), thread, op))
            }
        }
    }

    /// Where windows had no order and the whole intervals had one long enough, the annotation is wrong.
    fn second_opinion(&mut self) -> Result<(), Trouble> {
        let Order::Spans(spans) = &mut self.order else { return Ok(()) };
        let Some(suspicion) = spans.suspicion() else { return Ok(()) };
        if self.merge.base() <= suspicion.end {
            return Ok(());
        }
        if !std::mem::replace(&mut suspicion.widened, true) {
            let end = suspicion.end;
            let rets = self
                .merge
                .live()
                .filter(|open| open.look <= end && open.ret != u64::MAX)
                .map(|open| open.ret);
            suspicion.end = rets.fold(end, u64::max);
            if self.merge.base() <= suspicion.end {
                return Ok(());
            }
        }
        let refused = self.annotation_is_wrong();
        Err(found(Found::Refused(Box::new(refused))))
    }

    fn annotation_is_wrong(&mut self) -> Refused {
        let Order::Spans(spans) = &mut self.order else { unreachable!("only spans have a second opinion") };
        let Some(suspicion) = spans.suspicion() else { unreachable!("only after a first one") };
        Refused {
            operation: suspicion.operation.seen(&self.signature),
            expected: "an answer that some order of the windows allows".to_owned(),
            state: "the initial state".to_owned(),
            blame: Blame::Annotation { order: Vec::new(), from: 0 },
        }
    }

    /// From what stopped an order to what stops the checker.
    #[cold]
    pub(super) fn halted(&mut self, halt: Halt, number: u64, operation: Task) -> Trouble {
        match halt {
            Halt::Refused { expected, state } => {
                // Only where exact commits are repeated is there anything to take back.
                let taken_back = self.trail.take_back(number);
                let taken_back = taken_back.iter().map(|past| past.task(u64::MAX)).collect();
                Trouble::Refused(Box::new(Failure { operation, number, expected, state, taken_back }))
            }
            Halt::Many { open, configurations } => {
                found(Found::Unknown(Unknown::Orders { open, configurations }))
            }
            Halt::Violated(Verdicts::Unknown(why)) => found(Found::Unknown(Unknown::Engine { why })),
            Halt::Violated(Verdicts::Violated { core, reason, rechecked }) => {
                let start = "the initial state".to_owned();
                let state = start.clone();
                let blame = Blame::Object { core, start, from: 0, rechecked, reason };
                let expected = "another answer".to_owned();
                let operation = operation.seen(&self.signature);
                found(Found::Refused(Box::new(Refused { operation, expected, state, blame })))
            }
            Halt::Suspected => {
                let rets = self.merge.live().filter(|open| open.ret != u64::MAX).map(|open| open.ret);
                let end = rets.chain([number]).max().unwrap_or(number);
                if let Order::Spans(spans) = &mut self.order {
                    spans.suspect(number, operation, end);
                }
                Trouble::Suspected
            }
        }
    }

    /// No more events: what the engines still say.
    pub(super) fn end_spans(&mut self, end: End) {
        if !matches!(self.order, Order::Spans(_)) || !matches!(self.stage, Stage::Following) {
            return;
        }
        let Order::Spans(mut spans) = std::mem::replace(&mut self.order, Order::Exact) else { return };
        let number = self.merge.base();
        let suspected = spans.suspicion().map(|suspicion| (suspicion.number, suspicion.operation.clone()));
        let open = |why: &str| Blame::Open { why: why.to_owned() };
        let refused = |operation: &Task, signature, blame| {
            let expected = "an answer that some order of the windows allows".to_owned();
            let state = "the initial state".to_owned();
            Refused { operation: operation.seen(signature), expected, state, blame }
        };
        match (end, suspected) {
            (End::Torn, None) => self.order = Order::Spans(spans),
            (End::Torn, Some((at, operation))) => {
                let refused = refused(&operation, &self.signature, open("the log breaks off"));
                self.decide_at(at, Found::Refused(Box::new(refused)));
            }
            (End::Complete, suspected) => {
                if spans.frontier().is_some() {
                    self.order = Order::Spans(spans);
                    return;
                }
                // What never answered is opened, too.
                let opened = spans.open(u64::MAX, &self.merge.ops);
                let halt = opened.and_then(|()| spans.finish()).err();
                let blank = self.merge.live().next().map(|open| open.task(u64::MAX));
                let operation = suspected.as_ref().map(|(_, operation)| (**operation).clone()).or(blank);
                match (halt, suspected) {
                    (None, None) => {}
                    (None, Some((at, operation))) => {
                        let blame = Blame::Annotation { order: Vec::new(), from: 0 };
                        let refused = refused(&operation, &self.signature, blame);
                        self.decide_at(at, Found::Refused(Box::new(refused)));
                    }
                    (Some(Halt::Suspected), _) => {
                        let why = "the windows have no order, the whole intervals have one".to_owned();
                        self.decide_at(number, Found::Unknown(Unknown::Engine { why }));
                    }
                    (Some(halt), _) => {
                        let operation = operation.unwrap_or_else(Task::none);
                        match self.halted(halt, number, operation) {
                            Trouble::Found(found) => self.decide_at(number, *found),
                            _ => unreachable!("engines say it themselves"),
                        }
                    }
                }
            }
        }
    }

    /// The operation an event belongs to, or any that is open.
    fn first_live(&self, slot: &Slot) -> Task {
        let own = match slot {
            Slot::Commit(op)
            | Slot::Window(op)
            | Slot::CommitBlock(op, _)
            | Slot::Return(op)
            | Slot::Abandon(op) => Some(&self.merge.ops[*op as usize]),
            _ => self.merge.live().next(),
        };
        own.map_or_else(Task::none, |open| open.task(u64::MAX))
    }
}
