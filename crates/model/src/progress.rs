//! Progress: can every operation still come to an end, and must it?
//!
//! Each thread makes a bounded number of calls, and calls and returns are never undone. So in a run that goes
//! on for ever there is a point after which nobody calls or returns any more, and since there are finitely
//! many states, such a run exists iff the graph of states has a cycle.
//!
//! - **Stuck.** From some state no way leads to an end in which all have returned.
//! - **Lock-freedom** (Herlihy and Wing 1990; Herlihy 1991): whenever threads take steps, some operation
//!   returns in the end, even if others have stopped. It is violated by a cycle: threads take steps for ever,
//!   and nobody returns; and by a thread that waits for a lock, whose holder may have stopped.
//! - **Obstruction-freedom** (Herlihy, Luchangco, Moir 2003): a thread that runs alone returns in the end. It
//!   is violated by a cycle of steps of one thread, and by a thread that waits for a lock.
//!
//! Threads that wait have no step, so waiting is told apart from going round: a thread inside an operation
//! without an enabled step, in a state in which it is not finished. Steps of a cycle must belong to real
//! threads, so threads are not sorted here; and nodes on cycles of local nodes are not fused (`fusion.rs`),
//! so that such a cycle is one of the graph, too.

use crate::store::{FIRST, StateId, Store};

/// What operations owe each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Nothing is asked.
    Nothing,
    /// Every state can still come to a good end.
    GoodEnd,
    /// Whenever threads take steps, some operation returns in the end.
    LockFree,
    /// A thread that runs alone returns in the end.
    ObstructionFree,
}

/// A step from one state to another, by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arc {
    pub from: StateId,
    pub thread: u8,
    pub to: StateId,
}

/// Steps between states, and the states in which all is done.
#[derive(Default)]
pub(crate) struct Graph {
    pub arcs: Vec<Arc>,
    pub finished: Vec<StateId>,
    /// There were too many steps to keep them all, and nobody had asked for them.
    pub given_up: bool,
}

/// Where nobody asks for progress, it is looked at as long as there are no more steps than this.
const MOST_UNASKED: usize = 500_000;

impl Graph {
    /// Notes a step.
    #[inline]
    pub fn note(&mut self, arc: Arc, demand: Demand) {
        if self.given_up {
            return;
        }
        if demand == Demand::Nothing && self.arcs.len() >= MOST_UNASKED {
            self.given_up = true;
            self.arcs = Vec::new();
            return;
        }
        self.arcs.push(arc);
    }

    pub fn memory(&self) -> usize {
        self.arcs.capacity() * size_of::<Arc>() + self.finished.capacity() * size_of::<StateId>()
    }

    /// The first state from which no finished one can be reached.
    pub fn first_stuck(mut self, store: &Store) -> Option<StateId> {
        self.arcs.sort_unstable_by_key(|arc| arc.to);
        let mut ends_well = vec![false; store.end()];
        let mut open = self.finished;
        while let Some(state) = open.pop() {
            if std::mem::replace(&mut ends_well[state as usize], true) {
                continue;
            }
            let first = self.arcs.partition_point(|arc| arc.to < state);
            open.extend(self.arcs[first..].iter().take_while(|arc| arc.to == state).map(|arc| arc.from));
        }
        let mut next = Some(FIRST);
        while let Some(state) = next {
            if !ends_well[state as usize] {
                return Some(state);
            }
            next = store.after(state);
        }
        None
    }

    /// A cycle, as the states along it, its first state again at the end; of one thread alone, if that is
    /// asked. The one with the first state of all that lie on any.
    pub fn cycle(mut self, store: &Store, alone: bool) -> Option<Vec<StateId>> {
        self.arcs.sort_unstable();
        let threads = self.arcs.iter().map(|arc| arc.thread).max().unwrap_or(0);
        let groups: Vec<Option<u8>> = if alone { (0..=threads).map(Some).collect() } else { vec![None] };
        let cycles = groups.into_iter().filter_map(|thread| self.cycle_of(store, thread));
        cycles.min_by_key(|cycle| cycle[0])
    }

    /// The cycle through the first state that lies on one, of steps of this thread, or of all.
    fn cycle_of(&self, store: &Store, thread: Option<u8>) -> Option<Vec<StateId>> {
        let counts = |arc: &&Arc| thread.is_none_or(|thread| arc.thread == thread);
        let of = |state: StateId| {
            let first = self.arcs.partition_point(|arc| arc.from < state);
            self.arcs[first..].iter().take_while(move |arc| arc.from == state).filter(counts)
        };
        // What nothing leads to lies on no cycle, and so on: what is left has a cycle before it.
        let mut before = vec![0_u32; store.end()];
        self.arcs.iter().filter(counts).for_each(|arc| before[arc.to as usize] += 1);
        let mut open = Vec::new();
        let mut next = Some(FIRST);
        while let Some(state) = next {
            if before[state as usize] == 0 {
                open.push(state);
            }
            next = store.after(state);
        }
        let mut left = store.len();
        while let Some(state) = open.pop() {
            left -= 1;
            for arc in of(state) {
                before[arc.to as usize] -= 1;
                if before[arc.to as usize] == 0 {
                    open.push(arc.to);
                }
            }
        }
        if left == 0 {
            return None;
        }
        let mut next = Some(FIRST);
        while let Some(state) = next {
            if before[state as usize] > 0
                && let Some(cycle) = shortest_way_back(state, &of, store.end())
            {
                return Some(cycle);
            }
            next = store.after(state);
        }
        None
    }
}

/// The shortest way from a state to itself, both included.
fn shortest_way_back<'g, W: Iterator<Item = &'g Arc>>(
    start: StateId,
    of: &impl Fn(StateId) -> W,
    end: usize,
) -> Option<Vec<StateId>> {
    let mut came_from = vec![StateId::MAX; end];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(state) = queue.pop_front() {
        for arc in of(state) {
            if arc.to == start {
                let mut way = vec![start, state];
                while way[way.len() - 1] != start {
                    way.push(came_from[way[way.len() - 1] as usize]);
                }
                way.reverse();
                return Some(way);
            }
            if came_from[arc.to as usize] == StateId::MAX {
                came_from[arc.to as usize] = state;
                queue.push_back(arc.to);
            }
        }
    }
    None
}
