//! One execution: first what the graph has, in `porf` order, then whatever the threads do next.

use super::{Dead, End, Explorer, Schedule, State};
use crate::event::{EventId, Kind, Value};
use crate::graph::{Draft, Graph};
use crate::ordering::Ordering;
use crate::program::{Program, Step};

impl<P: Program> Explorer<'_, P> {
    /// Executes the program against the graph until no thread can go on.
    pub(super) fn execute(&mut self) -> Result<End, Dead> {
        self.program.restart();
        self.threads.fill(State::Running);
        self.executed.fill(0);
        self.note_created();
        self.replay()?;
        self.extend()?;
        let blocked = self.threads.iter().enumerate().filter(|(_, state)| **state == State::Blocked);
        let blocked = blocked.fold(0, |set, (thread, _)| set | 1 << thread);
        self.graph.set_blocked(blocked);
        Ok(self.end())
    }

    fn end(&self) -> End {
        let failed = self.threads.iter().find_map(|state| match state {
            State::Failed(which) => Some(End::Failed(*which)),
            _ => None,
        });
        if let Some(failed) = failed {
            failed
        } else if self.threads.contains(&State::Cut) {
            End::Cut
        } else if (0..self.threads.len()).all(|t| self.threads[t] == State::Finished || !self.is_created(t)) {
            End::Complete
        } else {
            End::Blocked
        }
    }

    /// Executes what the graph has. The write of a read-modify-write that a revisit has changed is missing in
    /// the graph: it is added when all else was executed.
    fn replay(&mut self) -> Result<(), Dead> {
        let mut thread = 0;
        let mut updating = None;
        while let Some(next) = self.thread_to_replay(thread) {
            thread = next;
            if let Some(other) = self.waits_for(thread) {
                thread = other;
                continue;
            }
            let id = self.graph.thread(thread)[self.executed[thread]];
            if !self.repeat(thread, id) {
                return Err(Dead::Diverged);
            }
            self.executed[thread] += 1;
            let event = *self.graph.event(id);
            if event.exclusive && self.executed[thread] == self.graph.thread(thread).len() {
                updating = Some((thread, event));
                continue;
            }
            self.executed[thread] += usize::from(event.exclusive);
            let write = if event.exclusive { self.graph.thread(thread)[event.index + 1] } else { id };
            self.store(write);
            self.program.resume(thread, event.value);
        }
        if let Some((thread, event)) = updating {
            self.add_update(thread, event)?;
            self.program.resume(thread, event.value);
        }
        Ok(())
    }

    /// Tells the program what memory holds, if this is a write and no executed write is after it.
    pub(super) fn store(&mut self, write: EventId) {
        let event = *self.graph.event(write);
        if event.kind != Kind::Write {
            return;
        }
        let place = self.graph.place(event.place);
        let is_executed = |id: &EventId| {
            let later = self.graph.event(*id);
            later.index < self.executed[later.thread]
        };
        let is_newest = !place.writes.iter().rev().take_while(|&&other| other != write).any(is_executed);
        if is_newest {
            self.program.stored(place.location, event.value);
        }
    }

    /// A thread with something left to repeat: `thread`, if it is one.
    fn thread_to_replay(&self, thread: usize) -> Option<usize> {
        let has_more = |&thread: &usize| self.executed[thread] < self.graph.thread(thread).len();
        let all = 0..self.graph.thread_count();
        all.clone().skip(thread).take(1).find(has_more).or_else(|| all.clone().find(has_more))
    }

    /// The thread that has to go on before this one can repeat its next event.
    fn waits_for(&self, thread: usize) -> Option<usize> {
        let event = self.graph.event(self.graph.thread(thread)[self.executed[thread]]);
        if event.index == 0 && !self.program.starts(thread) {
            let created = |id: &&EventId| self.graph.event(**id).kind == Kind::Create(thread as u32);
            let creator =
                (0..self.graph.thread_count()).find(|&t| self.graph.thread(t).iter().any(|id| created(&id)));
            let creation = creator.and_then(|t| self.graph.thread(t).iter().position(|id| created(&id)));
            if let (Some(creator), Some(creation)) = (creator, creation)
                && self.executed[creator] <= creation
            {
                return Some(creator);
            }
        }
        match event.kind {
            Kind::Read => {
                let source = self.graph.event(event.source?);
                (self.executed[source.thread] <= source.index).then_some(source.thread)
            }
            Kind::Join(other) => {
                let other = other as usize;
                (self.executed[other] < self.graph.thread(other).len()).then_some(other)
            }
            _ => None,
        }
    }

    /// Takes one step that the graph has already. Is it the same step?
    fn repeat(&mut self, thread: usize, id: EventId) -> bool {
        let event = *self.graph.event(id);
        let location = self.graph.location(id);
        match self.program.next(thread) {
            Step::Read { location: here, access } => {
                if event.kind != Kind::Read || location != Some(here) {
                    return false;
                }
                self.graph.set_initial(id, self.program.initial(here));
                self.graph.repeat_read(id, access)
            }
            Step::Write { location: here, ordering, value } => {
                self.graph.set_value(id, value);
                event.kind == Kind::Write && location == Some(here) && event.ordering == ordering
            }
            Step::Fence(ordering) => event.kind == Kind::Fence && event.ordering == ordering,
            Step::Create(other) => event.kind == Kind::Create(other as u32),
            Step::Join(other) => event.kind == Kind::Join(other as u32),
            Step::Choose(of) => event.kind == Kind::Choice(of),
            Step::Call { operation, argument } => {
                self.graph.set_value(id, argument);
                event.kind == Kind::Call(operation)
            }
            Step::Return(result) => {
                self.graph.set_value(id, result);
                event.kind == Kind::Return
            }
            Step::Finished | Step::Blocked | Step::Failed(_) | Step::Endless => false,
        }
    }

    /// Goes on beyond the graph until no thread can.
    fn extend(&mut self) -> Result<(), Dead> {
        let count = self.threads.len();
        loop {
            let mut progress = false;
            let schedule = if self.is_sampling { Schedule::Random(0) } else { self.schedule };
            match schedule {
                Schedule::LeftToRight => {
                    for thread in 0..count {
                        while self.advance(thread)? {
                            progress = true;
                        }
                    }
                }
                Schedule::RightToLeft => {
                    for thread in (0..count).rev() {
                        while self.advance(thread)? {
                            progress = true;
                        }
                    }
                }
                Schedule::Random(_) => {
                    let first = self.random.below(count);
                    for thread in (0..count).map(|k| (k + first) % count) {
                        if self.advance(thread)? {
                            progress = true;
                            break;
                        }
                    }
                }
            }
            if !progress {
                return Ok(());
            }
        }
    }

    /// Notes which threads there are before the execution goes beyond the graph.
    fn note_created(&mut self) {
        let starting = (0..self.threads.len()).filter(|&thread| self.program.starts(thread));
        self.created = starting.fold(0, |set, thread| set | 1 << thread);
        for event in self.graph.events() {
            if let Kind::Create(thread) = event.kind {
                self.created |= 1u32.checked_shl(thread).unwrap_or(0);
            }
        }
    }

    fn is_created(&self, thread: usize) -> bool {
        self.created >> thread & 1 == 1
    }

    /// Takes the next step of a thread, one beyond the graph. `false`: it cannot go on now.
    fn advance(&mut self, thread: usize) -> Result<bool, Dead> {
        if self.threads[thread] != State::Running || !self.is_created(thread) {
            return Ok(false);
        }
        let step = self.program.next(thread);
        let stopped = match step {
            Step::Finished => Some(State::Finished),
            Step::Blocked => Some(State::Blocked),
            Step::Failed(which) => Some(State::Failed(which)),
            Step::Endless => Some(State::Cut),
            _ => {
                let most = self.limits.events_per_thread.min(Graph::MOST_EVENTS);
                (self.graph.thread(thread).len() >= most).then_some(State::Cut)
            }
        };
        if let Some(state) = stopped {
            self.threads[thread] = state;
            return Ok(true);
        }
        let answer = match step {
            Step::Read { location, access } => self.add_read(thread, location, access)?,
            Step::Write { location, ordering, value } => {
                let place = self.place_of(location);
                self.add_write(thread, Draft::write(place, ordering, value, false))?;
                0
            }
            Step::Fence(ordering) => {
                self.graph.append(thread, Draft::plain(Kind::Fence, ordering, 0));
                0
            }
            Step::Join(other) => {
                if self.threads.get(other) != Some(&State::Finished) {
                    return Ok(false);
                }
                self.append_plain(thread, Kind::Join(other as u32), 0)
            }
            Step::Create(other) => {
                self.created |= 1u32.checked_shl(other as u32).unwrap_or(0);
                self.append_plain(thread, Kind::Create(other as u32), 0)
            }
            Step::Choose(of) => self.add_choice(thread, of),
            Step::Call { operation, argument } => {
                self.append_plain(thread, Kind::Call(operation), argument);
                0
            }
            Step::Return(result) => {
                self.append_plain(thread, Kind::Return, result);
                0
            }
            Step::Finished | Step::Blocked | Step::Failed(_) | Step::Endless => return Ok(false),
        };
        self.program.resume(thread, answer);
        Ok(true)
    }

    fn append_plain(&mut self, thread: usize, kind: Kind, value: Value) -> Value {
        self.graph.append(thread, Draft::plain(kind, Ordering::NonAtomic, value));
        0
    }

    /// Adds a choice: the first possibility in this execution, the others later; or a random one.
    fn add_choice(&mut self, thread: usize, of: u32) -> Value {
        let first = if self.is_sampling { self.choose(of) } else { 0 };
        let id = self.graph.append(thread, Draft::plain(Kind::Choice(of), Ordering::NonAtomic, first));
        for chosen in (1..of).rev().filter(|_| !self.is_sampling) {
            let mut copy = self.work.copy(&self.graph);
            copy.set_value(id, Value::from(chosen));
            self.work.push(copy);
        }
        first
    }
}
