//! Threads that turn, in a twin of the process: do they come back to where they were ([`crate::twin`])?
//!
//! In a twin the explorer decides nothing and notes nothing. A thread that is tried alone simply goes on at every announcement; the threads of a
//! cycle go in its order. At the end of each turn memory is compared, and with it the registers and the living part of the stacks
//! of those who turn, which were noted where they called the explorer ([`local_state::enter`]).

use super::{Execution, Handle, Mode};
use crate::cycle::Cycle;
use crate::event::{Action, Intent, ThreadId, ThreadSet, Wait};
use crate::local_state::{self, Entry};
use crate::twin::{self, Answer, Half, Memory};
use std::panic::Location;

/// Who turns.
#[derive(Clone, Copy)]
pub(super) enum Turning {
    /// This thread, which stands at the head of its turn: before what is at `address`, at this place in the source.
    Alone { thread: ThreadId, address: usize, site: usize },
    /// Those of these steps, in this order.
    Cycle(Cycle),
}

/// What a twin knows. It lies outside the memory that is compared.
pub(super) struct Twin {
    memory: Memory,
    turning: Turning,
    /// The step of the cycle that is made.
    at: usize,
    /// Where each thread stands, since it went.
    entries: [Entry; ThreadSet::CAPACITY],
    /// The same, when memory was copied.
    before: [Entry; ThreadSet::CAPACITY],
    waits: [Option<(&'static Wait, *const ())>; ThreadSet::CAPACITY],
    gone: ThreadSet,
}

/// So much of the stack on which the exploration was started is the explorer's, at most.
const EXPLORERS: usize = 1 << 16;

impl Execution {
    /// Do those who turn come back to the state they are in? Nothing comes back in the twin: there they go on.
    #[cold]
    #[inline(never)]
    pub(super) fn repeats(&mut self, turning: Turning) -> Option<Answer> {
        if !local_state::AVAILABLE || !self.watching {
            return Some(Answer::Unseen);
        }
        // SAFETY: the twin needs no other thread: whatever it waits for it is not let to.
        match unsafe { twin::split() } {
            Half::Original(answer) => Some(answer),
            Half::Twin(memory) => {
                let twin: *mut Twin = twin::upper_half();
                // SAFETY: new memory of that size, where all bits 0 are nothing noted; what is not is written here.
                unsafe {
                    (&raw mut (*twin).memory).write(memory);
                    (&raw mut (*twin).turning).write(turning);
                    (*twin).memory.seal();
                }
                self.twin = twin;
                self.mode = Mode::Draining;
                self.disturb();
                for thread in &mut self.threads {
                    thread.address = 0;
                }
                None
            }
        }
    }

    /// Is this a twin?
    #[inline]
    pub(super) fn is_twin(&self) -> bool {
        !self.twin.is_null()
    }

    /// Who makes the first step in a twin.
    pub(super) fn first_of_twin(&self) -> Option<ThreadId> {
        // SAFETY: nobody writes meanwhile.
        let twin = unsafe { self.twin.as_ref()? };
        Some(match twin.turning {
            Turning::Alone { thread, .. } => thread,
            Turning::Cycle(Cycle { from, .. }) => self.run.steps[from].thread,
        })
    }

    /// In a twin: the program does what no turn does.
    #[inline]
    pub(super) fn must_turn(&self) {
        if self.is_twin() {
            twin::leave(Answer::Changes);
        }
    }

    /// Memory that does not count: what is dead on the stacks of those who have gone, and the explorer's part of the stack
    /// where it was started.
    fn dead(&self, twin: &Twin) -> ([(usize, usize); ThreadSet::CAPACITY + 1], usize) {
        let mut dead = [(0, 0); ThreadSet::CAPACITY + 1];
        dead[0] = (self.native.saturating_sub(EXPLORERS), self.native);
        let mut count = 1;
        for thread in twin.gone.iter() {
            let (lowest, living) =
                (self.fibers[thread.index()].lowest(), twin.entries[thread.index()].lowest());
            dead[count] = (lowest, living);
            count += 1;
        }
        (dead, count)
    }
}

impl Handle {
    /// Is the calling code in a twin?
    #[inline]
    pub(super) fn in_twin(self) -> bool {
        // SAFETY: as in `access`.
        unsafe { (*self.0).is_twin() }
    }

    /// A scheduling point in a twin.
    #[cold]
    #[inline(never)]
    pub(super) fn turn(
        self,
        action: Action,
        address: usize,
        site: &'static Location<'static>,
        wait: Option<(&'static Wait, *const ())>,
    ) {
        // SAFETY: as in `point`; references end before the switch.
        unsafe {
            let me = &mut *self.0;
            let twin = &mut *me.twin;
            let current = me.current;
            twin.entries[current.index()] = me.entry;
            twin.waits[current.index()] = wait;
            twin.gone.insert(current);
            let (next, is_head) = match twin.turning {
                Turning::Alone { thread, address: head, site: number } => {
                    (thread, address == head && Intent::site_number(action, site) == number)
                }
                Turning::Cycle(Cycle { from, length }) => {
                    twin.at = (twin.at + 1) % length;
                    (me.run.steps[from + twin.at].thread, twin.at == 0)
                }
            };
            if is_head {
                me.compare();
            }
            let wait = if twin.gone.contains(next) {
                twin.waits[next.index()]
            } else {
                me.threads[next.index()].intent.and_then(|intent| intent.wait)
            };
            if wait.is_some_and(|(wait, object)| !(wait.ready)(object)) || !me.alive.contains(next) {
                twin::leave(Answer::Changes);
            }
            if next != current {
                me.next = Some(next);
                self.pause(current);
            }
        }
    }
}

impl Execution {
    /// A turn is over in a twin.
    fn compare(&mut self) {
        // SAFETY: it is a twin, and nobody else has a reference to what it knows.
        let twin = unsafe { &mut *self.twin };
        let (dead, count) = self.dead(twin);
        let same = twin.gone.iter().all(|thread| twin.entries[thread.index()] == twin.before[thread.index()]);
        if twin.memory.compare(&dead[..count], same) {
            twin.before = twin.entries;
        }
    }
}
