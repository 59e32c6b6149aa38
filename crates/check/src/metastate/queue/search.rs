//! What open dequeues may have done before a return.
//!
//! Depth first over sequences of open dequeues, one a value (of equal ones the one that returns first), each
//! with its one target, until the goal is reached. A dequeue that can go at once need not be the end of it:
//! others may first uncover an enqueue of the same value that returns earlier and is the better choice.

use rustc_hash::FxHashSet;

use super::frontier::{Element, Frontier, Mask};
use super::order::Step;
use super::{Config, Key, Removal, Removals};
use crate::engine::{Budget, Limit, Stop};
use crate::metastate::paths::{Paths, ROOT};
use crate::timeline::OpId;

/// What a return asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    /// This dequeue takes effect.
    Take(Removal),
    /// The queue is empty once.
    Empty,
}

/// The search, with its buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    gap: u32,
    stack: Vec<Config>,
    seen: FxHashSet<Key>,
    found: Vec<Config>,
    found_keys: FxHashSet<Key>,
    moves: Vec<(Removal, Element)>,
    /// Steps so far, and the limit that was reached.
    steps: u64,
    limit: Option<Limit>,
}

/// Stands for a pending dequeue in a move.
const WILD: u8 = u8::MAX;

impl Search {
    /// Steps from now on happen before the return `gap`.
    pub(super) fn begin(&mut self, gap: u32) {
        self.gap = gap;
        self.seen.clear();
        self.found.clear();
        self.found_keys.clear();
    }

    /// The configurations found since [`Search::begin`].
    pub(super) fn take_found(&mut self) -> std::vec::Drain<'_, Config> {
        self.found.drain(..)
    }

    /// Was a limit reached? Then what was found is not all.
    pub(super) fn stopped(&self) -> Result<(), Stop> {
        self.limit.map_or(Ok(()), |limit| Err(Stop::Limit(limit)))
    }

    /// Finds all ways in which open dequeues lead from `start` to the goal, unless the budget is used up
    /// before.
    pub(super) fn run(
        &mut self,
        start: Config,
        goal: Goal,
        frontier: &mut Frontier,
        removals: &Removals,
        paths: &mut Paths<Step>,
        budget: &Budget,
    ) {
        self.stack.push(start);
        while let Some(config) = self.stack.pop() {
            self.steps += 1;
            if self.steps.is_multiple_of(1024) {
                self.limit = self.limit.or_else(|| budget.limit(self.memory() + paths.memory()));
            }
            if self.limit.is_some() {
                return self.stack.clear();
            }
            frontier.reach(config.position);
            if self.reaches(&config, goal, frontier, removals, paths)
                || is_hopeless(&config, goal, frontier, removals)
            {
                continue;
            }
            let mut moves = std::mem::take(&mut self.moves);
            let except = if let Goal::Take(removal) = goal { Some(removal.value) } else { None };
            list_moves(&config, except, frontier, removals, &mut moves);
            for (removal, element) in moves.drain(..) {
                let next = step(&config, removal, &element, frontier, removals);
                if self.seen.insert(next.key()) {
                    let path = self.record(config.path, removal, &element, &config, &next, removals, paths);
                    self.stack.push(Config { path, ..next });
                }
            }
            self.moves = moves;
        }
    }

    /// Notes the goal if it is reached here; says whether to go no further.
    fn reaches(
        &mut self,
        config: &Config,
        goal: Goal,
        frontier: &Frontier,
        removals: &Removals,
        paths: &mut Paths<Step>,
    ) -> bool {
        let removal = match goal {
            Goal::Empty if config.position == frontier.end() => {
                if self.found_keys.insert(config.key()) {
                    self.found.push(*config);
                }
                return true;
            }
            Goal::Empty => return false,
            Goal::Take(removal) => removal,
        };
        let Some(target) = target(config, removal.value, frontier) else { return false };
        let next = step(config, removal, &target, frontier, removals);
        if self.found_keys.insert(next.key()) {
            let path = self.record(config.path, removal, &target, config, &next, removals, paths);
            self.found.push(Config { path, ..next });
        }
        !frontier.hides_earlier(config.position, removal.value, target.id)
    }

    /// Writes down a step, and the empty dequeues it served.
    #[allow(clippy::too_many_arguments)]
    fn record(
        &self,
        path: u32,
        removal: Removal,
        element: &Element,
        before: &Config,
        after: &Config,
        removals: &Removals,
        paths: &mut Paths<Step>,
    ) -> u32 {
        let op = if removal.slot == WILD { removals.wild[before.wild as usize] } else { OpId(removal.id) };
        let mut path = paths.push(path, Step { gap: self.gap, op, element: element.id });
        let served = after.done & !before.done & removals.empty_slots;
        if served != 0 {
            for empty in removals.empties.iter().filter(|r| r.bit() & served != 0) {
                let step = Step { gap: self.gap, op: OpId(empty.id), element: Step::NOTHING };
                path = paths.push(path, step);
            }
        }
        path
    }

    /// Drops the configurations that another one reaches by a single step it may still take.
    pub(super) fn drop_implied(
        &mut self,
        configs: &mut Vec<Config>,
        frontier: &mut Frontier,
        removals: &Removals,
    ) {
        self.found_keys.extend(configs.iter().map(Config::key));
        let mut moves = std::mem::take(&mut self.moves);
        for config in configs.iter() {
            frontier.reach(config.position);
            list_moves(config, None, frontier, removals, &mut moves);
            for (removal, element) in moves.drain(..) {
                let key = step(config, removal, &element, frontier, removals).key();
                if self.found_keys.contains(&key) {
                    self.seen.insert(key);
                }
            }
        }
        self.moves = moves;
        if !self.seen.is_empty() {
            configs.retain(|c| !self.seen.contains(&c.key()));
        }
    }

    /// Bytes held, roughly.
    pub(super) fn memory(&self) -> usize {
        (self.stack.capacity() + self.found.capacity()) * size_of::<Config>()
            + (self.seen.capacity() + self.found_keys.capacity()) * (size_of::<Key>() + 1)
    }
}

/// The enqueue a dequeue of `value` consumes: of those that may be next, the one that returns first.
#[inline]
fn target(config: &Config, value: u32, frontier: &Frontier) -> Option<Element> {
    let may_be = |e: &&Element| e.value == value && config.taken >> e.slot & 1 == 0;
    frontier.candidates(config.position).iter().find(may_be).copied()
}

/// Can the goal not be reached, because the first element can never leave?
fn is_hopeless(config: &Config, goal: Goal, frontier: &Frontier, removals: &Removals) -> bool {
    let end = frontier.end();
    if config.position == end {
        return true;
    }
    let wild = removals.wild.len() - config.wild as usize;
    if let Goal::Empty = goal {
        let free = removals.takes.iter().filter(|r| config.done & r.bit() == 0).count();
        let returned = (end - config.position) as usize;
        if returned > free + wild + config.taken.count_ones() as usize {
            return true;
        }
    }
    // Before anything is uncovered, and before the queue is empty, the first element has to go.
    let first = frontier.at(config.position).value;
    wild == 0 && !removals.takes.iter().any(|r| r.value == first && config.done & r.bit() == 0)
}

/// The steps open dequeues may take: of each value the first to return, with its one target; and wildcards
/// for values that nobody else takes.
fn list_moves(
    config: &Config,
    except: Option<u32>,
    frontier: &Frontier,
    removals: &Removals,
    moves: &mut Vec<(Removal, Element)>,
) {
    let free = |r: &&Removal| config.done & r.bit() == 0;
    let is_wild = config.wild < removals.wild.len() as u32;
    let candidates = frontier.candidates(config.position);
    for (at, element) in candidates.iter().enumerate() {
        let is_taken = |e: &Element| config.taken >> e.slot & 1 == 1;
        let is_repeated = |e: &Element| e.value == element.value && !is_taken(e);
        if is_taken(element) || Some(element.value) == except || candidates[..at].iter().any(is_repeated) {
            continue;
        }
        match removals.takes.iter().filter(free).find(|r| r.value == element.value) {
            Some(removal) => moves.push((*removal, *element)),
            None if is_wild => moves.push((Removal { id: 0, value: element.value, slot: WILD }, *element)),
            None => {}
        }
    }
}

/// The configuration after `removal` consumed `element`. Its path is not set.
fn step(
    config: &Config,
    removal: Removal,
    element: &Element,
    frontier: &Frontier,
    removals: &Removals,
) -> Config {
    let mut next = Config { path: ROOT, ..*config };
    if removal.slot == WILD {
        next.wild += 1;
    } else {
        next.done |= removal.bit();
    }
    next.taken |= 1 << element.slot;
    let end = frontier.end();
    while next.position < end {
        let bit: Mask = 1 << frontier.at(next.position).slot;
        if next.taken & bit == 0 {
            break;
        }
        next.taken &= !bit;
        next.position += 1;
    }
    if next.position == end {
        next.done |= removals.empty_slots;
    }
    next
}
