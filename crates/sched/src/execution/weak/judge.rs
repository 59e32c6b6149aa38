//! What is wrong in a full graph: data races, memory used after its free, threads that wait for ever.
//!
//! A plain access lies between two events of its thread. It happens before an event if the event after it, or the
//! end of its thread, does; and what happens before the event ahead of it, or before the creation of its thread, happens
//! before it. Accesses to one cell are looked at in the order of the execution, which extends happens-before: a write
//! that comes after the last one and after all reads comes after everything before (Flanagan and Freund 2009).
//!
//! To allocate a block is a write to all of it, and so is to free it. An access to a location of the block must come after the first. It must come
//! before the second, too; but who frees a block may be std's own counted reference, whose counts nobody sees here. So
//! only an access that was made after the free, in this very execution, is called a use after free; where nothing orders the two, nothing can be said of the program.

use linpoint_memory::{End, EventId, Graph, Kind};
use rustc_hash::FxHashMap;

use super::blocks::{Block, Moment};
use super::{State, Stop};
use crate::event::{Action, Loc, ThreadId, ThreadSet};
use crate::execution::Execution;
use crate::failure::{Failure, Freed, Place, Waiting};
use crate::run::AsideKind;
use crate::stranger;

/// Happens-before of a graph, for what lies between its events.
struct Order<'g> {
    graph: &'g Graph,
}

impl Order<'_> {
    /// The event that a moment comes after: the one ahead of it, or the creation of its thread.
    fn ahead(&self, moment: Moment) -> Option<EventId> {
        match moment.events.checked_sub(1) {
            Some(index) => self.graph.thread(moment.thread).get(index).copied(),
            None => (0..self.graph.thread_count())
                .flat_map(|thread| self.graph.thread(thread))
                .copied()
                .find(|&id| self.graph.event(id).kind == Kind::Create(moment.thread as u32)),
        }
    }

    fn is_before(&self, moment: Moment, event: EventId) -> bool {
        let thread = self.graph.thread(moment.thread);
        if self.graph.event(event).thread == moment.thread {
            return self.graph.event(event).index >= moment.events;
        }
        let past = &self.graph.clocks(event).hb;
        if past.of(moment.thread) > moment.events {
            return true;
        }
        // After its last event it comes before those who have joined it.
        moment.events >= thread.len()
            && (0..self.graph.thread_count()).any(|other| {
                self.graph.thread(other).iter().any(|&id| {
                    self.graph.event(id).kind == Kind::Join(moment.thread as u32)
                        && self.graph.is_in(id, past)
                })
            })
    }

    fn is_after(&self, moment: Moment, event: EventId) -> bool {
        if self.graph.event(event).thread == moment.thread {
            return self.graph.event(event).index < moment.events;
        }
        self.ahead(moment).is_some_and(|ahead| self.graph.is_in(event, &self.graph.clocks(ahead).hb))
    }

    fn is_ordered(&self, first: Moment, second: Moment) -> bool {
        first.thread == second.thread || self.ahead(second).is_some_and(|ahead| self.is_before(first, ahead))
    }
}

/// A plain access.
#[derive(Clone, Copy)]
struct Plain {
    moment: Moment,
    writes: bool,
    site: &'static std::panic::Location<'static>,
}

impl Plain {
    fn seen(&self) -> (ThreadId, &'static std::panic::Location<'static>, bool) {
        (ThreadId(self.moment.thread as u8), self.site, self.writes)
    }
}

impl Execution {
    /// What is wrong in the graph, and whether threads wait for ever in it.
    pub(super) fn judge_weakly(&mut self, graph: &Graph, end: End) -> (Option<Failure>, bool) {
        // Pointers into cells that were handed out are looked at for the last time.
        for thread in 0..graph.thread_count() {
            self.take_back_lent(ThreadId(thread as u8));
        }
        let Some(state) = self.weak.take() else { return (None, false) };
        let stuck = self.waits_for_ever(&state, graph, end);
        let is_stuck = !stuck.is_empty();
        let order = Order { graph };
        let refused = |failure: &&(Option<ThreadId>, Failure)| failure.1.is_refusal();
        let mut failure = self
            .race(&state, &order)
            .or_else(|| misused_block(&state, &order))
            .or_else(|| state.failures.iter().find(|one| !refused(one)).map(|one| one.1.clone()))
            .or_else(|| state.failures.first().map(|one| one.1.clone()))
            .or_else(|| overwritten(&state, &order));
        self.weak = Some(state);
        if failure.is_none() {
            failure = self.shims.could_not_wait();
        }
        if failure.is_none() && is_stuck {
            let main_ended = !self.alive.contains(ThreadId(0));
            failure = Some(if main_ended {
                Failure::LeakedThreads { waiting: stuck }
            } else {
                Failure::Deadlock { waiting: stuck }
            });
        }
        if failure.is_none() && end == End::Complete {
            failure = self.shims.left();
        }
        if stranger::noted() != self.strangers {
            let places = self.weak.as_ref().map(|state| &state.places);
            let is_ours = |address| places.is_some_and(|places| places.at(address).is_some());
            failure = stranger::found(self.strangers, is_ours).or(failure);
        }
        (failure, is_stuck)
    }

    /// The first data race on a cell or on an atomic that is accessed without atomicity.
    fn race(&self, state: &State, order: &Order<'_>) -> Option<Failure> {
        let mut cells: FxHashMap<u32, Vec<Plain>> = FxHashMap::default();
        for (index, aside) in self.run.asides.iter().enumerate() {
            let mut moment = Moment { thread: aside.thread.index(), events: aside.at as usize };
            match aside.kind {
                AsideKind::Cell { cell, effect, site } | AsideKind::CellEnd { cell, effect, site } => {
                    // What is used through the pointer is noted at the use, so an access that ends right after a release
                    // ends with it. If the event before the end is none, nobody synchronises with it, and it makes no
                    // difference for who comes after; who came before is asked at the beginning of the access.
                    if let AsideKind::CellEnd { .. } = aside.kind {
                        moment.events = moment.events.saturating_sub(1);
                    }
                    let plain = Plain { moment, writes: effect.writes(), site };
                    if let Some(block) = state.cells.get(index).copied().flatten()
                        && let Some(failure) = use_of_block(state.blocks.get(block), &plain, order)
                    {
                        return Some(failure);
                    }
                    let accesses = cells.entry(cell).or_default();
                    let races = |other: &&Plain| {
                        (other.writes || plain.writes) && !order.is_ordered(other.moment, moment)
                    };
                    if let Some(other) = accesses.iter().find(races) {
                        return Some(Failure::DataRace { accesses: [other.seen(), plain.seen()] });
                    }
                    if plain.writes {
                        accesses.clear();
                    }
                    accesses.push(plain);
                }
                AsideKind::Plain { loc, effect, site } => {
                    let plain = Plain { moment, writes: effect.writes(), site };
                    if let Some(failure) = self.races_with_atomic(state, loc, &plain, order) {
                        return Some(failure);
                    }
                }
                AsideKind::Gone(_)
                | AsideKind::Fence(_)
                | AsideKind::Spawn(_)
                | AsideKind::Post(_)
                | AsideKind::Take(_) => {}
            }
        }
        None
    }

    /// Does an atomic access race with a plain one to the same location?
    fn races_with_atomic(
        &self,
        state: &State,
        loc: Loc,
        plain: &Plain,
        order: &Order<'_>,
    ) -> Option<Failure> {
        let address = self.locations.address(loc);
        let names = || state.places.all().iter().filter(|known| known.address == address);
        for (id, action) in state.accesses(order.graph) {
            let location = order.graph.location(id);
            let writes = order.graph.event(id).kind == Kind::Write;
            let conflicts = (writes || plain.writes) && names().any(|known| Some(known.location) == location);
            if conflicts && !order.is_before(plain.moment, id) && !order.is_after(plain.moment, id) {
                let thread = ThreadId(order.graph.event(id).thread as u8);
                return Some(Failure::PlainRace { plain: plain.seen(), atomic: (thread, action) });
            }
        }
        None
    }

    /// The threads that wait for ever, if the graph shows that they do: each of them waits for what is as it is in the
    /// end, too.
    fn waits_for_ever(&self, state: &State, graph: &Graph, end: End) -> Vec<Waiting> {
        if end != End::Blocked {
            return Vec::new();
        }
        let mut waiting = Vec::new();
        for (number, thread) in state.threads.iter().enumerate() {
            let id = ThreadId(number as u8);
            if !self.alive.contains(id) {
                continue;
            }
            let in_vain = match thread.stops {
                Some(Stop::Turn(from)) => graph.thread(number)[from..]
                    .iter()
                    .filter(|&&id| graph.event(id).kind == Kind::Read)
                    .all(|&id| state.reads_last(graph, id)),
                // SAFETY: the thread stands where it waits, and what it waits for is in its frames or outlives them.
                Some(Stop::Wait(wait, object)) => unsafe { !(wait.ready)(object) },
                Some(Stop::Failed) => false,
                // It waits for the end of another thread.
                None if matches!(thread.posted, Some(linpoint_memory::Step::Join(_))) => true,
                // Another execution has it otherwise.
                None => false,
            };
            if !in_vain {
                return Vec::new();
            }
            let line = thread.line;
            waiting.extend(line.map(|line| Waiting {
                thread: id,
                action: if matches!(thread.posted, Some(linpoint_memory::Step::Join(_))) {
                    Action::Join
                } else {
                    line.action
                },
                site: line.site,
                on: ThreadSet::EMPTY,
            }));
        }
        waiting
    }
}

impl State {
    /// Does a read read the last write of its location, but for those of turns without effect?
    fn reads_last(&self, graph: &Graph, read: EventId) -> bool {
        let event = graph.event(read);
        let Some(location) = graph.location(read) else { return true };
        let writes = graph.modification_order(location);
        let after = event.source.map_or(0, |source| {
            writes.iter().position(|&write| write == source).map_or(writes.len(), |at| at + 1)
        });
        writes[after..].iter().all(|&write| {
            let later = graph.event(write);
            match self.threads.get(later.thread).and_then(|thread| thread.stops) {
                Some(Stop::Turn(from)) => later.index >= from,
                Some(Stop::Wait(..)) => later.index + 1 == graph.thread(later.thread).len(),
                Some(Stop::Failed) | None => false,
            }
        })
    }

    /// The accesses of a graph to locations, with what each does.
    fn accesses<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = (EventId, Action)> + 'a {
        let threads = 0..graph.thread_count().min(self.threads.len());
        threads.flat_map(move |thread| {
            let mut lines = self.threads[thread].lines.iter();
            let mut action = Action::Nothing;
            graph.thread(thread).iter().filter_map(move |&id| {
                let event = graph.event(id);
                let is_second_half = event.kind == Kind::Write && event.exclusive;
                if !is_second_half {
                    action = lines.next().map_or(Action::Nothing, |line| line.action);
                }
                matches!(event.kind, Kind::Read | Kind::Write).then_some((id, action))
            })
        })
    }
}

/// A block of which a location is accessed and that is not there, as far as the thread can know; or that is freed by who
/// does not know it.
fn misused_block(state: &State, order: &Order<'_>) -> Option<Failure> {
    for (id, _) in state.accesses(order.graph) {
        let known = order.graph.location(id).and_then(|location| state.places.of(location));
        let Some(block) = known.and_then(|known| known.block) else { continue };
        let block = state.blocks.get(block);
        let event = order.graph.event(id);
        if !order.is_before(block.made, id) {
            return Some(Failure::Violation(format!(
                "data race: thread {} accesses an atomic in a block of {} bytes that thread {} allocated, and nothing \
                 orders the two",
                event.thread,
                block.size(),
                block.thread
            )));
        }
        if let Some(freed) = block.freed
            && !order.is_after(freed, id)
        {
            return Some(unordered_free(block, freed, event.thread));
        }
    }
    state.blocks.all().iter().find_map(|block| {
        let freed = block.freed.filter(|&freed| !order.is_ordered(block.made, freed))?;
        Some(Failure::Violation(format!(
            "data race: thread {} frees a block of {} bytes that thread {} allocated, and nothing orders the two",
            freed.thread,
            block.size(),
            block.thread
        )))
    })
}

/// A plain access to a cell in a block.
fn use_of_block(block: &Block, plain: &Plain, order: &Order<'_>) -> Option<Failure> {
    let freed = block.freed.filter(|&freed| !order.is_ordered(plain.moment, freed))?;
    Some(unordered_free(block, freed, plain.moment.thread))
}

fn unordered_free(block: &Block, freed: Moment, user: usize) -> Failure {
    Failure::Misuse(format!(
        "thread {} frees a block of {} bytes that thread {user} uses, and nothing orders the two that is seen here. \
         If std's own counted reference does, use linpoint's; otherwise it is a data race",
        freed.thread,
        block.size(),
    ))
}

/// An atomic that was overwritten while others might still access it.
fn overwritten(state: &State, order: &Order<'_>) -> Option<Failure> {
    let late = state.overwritten.iter().any(|&(location, moment)| {
        let accesses = state.accesses(order.graph);
        accesses
            .map(|(id, _)| id)
            .any(|id| order.graph.location(id) == Some(location) && !order.is_after(moment, id))
    });
    late.then(|| {
        Failure::Misuse(
            "an atomic was overwritten other than by an atomic access, and nothing orders that with all other accesses to \
             it"
            .to_owned(),
        )
    })
}

/// The failure of an access to memory that was freed before, in this very execution.
pub(super) fn used(block: &Block, user: Moment, freed: Moment) -> Failure {
    let place = |moment: Moment| Place {
        thread: ThreadId(moment.thread as u8),
        steps: moment.events as u32,
        within: false,
        site: None,
    };
    Failure::UseAfterFree(Box::new(Freed {
        size: block.size(),
        allocated: place(block.made),
        freed: place(freed),
        used: place(user),
        writes: None,
    }))
}

/// The failure of a block that is freed once more.
pub(super) fn freed_again(block: &Block, again: Moment, freed: Moment) -> Failure {
    match used(block, again, freed) {
        Failure::UseAfterFree(freed) => Failure::DoubleFree(freed),
        other => other,
    }
}
