//! A graph with synchronisations of a client: is it consistent, and what does it order?
//!
//! Where no two threads have `SeqCst` events, three relations on the calls and returns of operations decide
//! (lemma 1 in `docs/weak-memory.md`). A cycle that S makes alternates pairs of S with paths from the
//! beginning of an operation to the end of one; it is forbidden if all paths are in `porf`, or if all are in
//! `hb` but for one that is `hb? ; eco ; hb?`. Under sequential consistency every path forbids a cycle, so
//! one relation is enough (lemma 4). Otherwise the axioms are asked on all events.

use super::Placed;
use crate::axioms::Relations;
use crate::clock::Clock;
use crate::event::EventId;
use crate::graph::Graph;
use crate::ordering::Model;

/// Three relations between calls (2k) and returns (2k + 1), as rows of bits, one relation after another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Marks {
    /// How many calls and returns there are.
    size: usize,
    rows: Vec<u64>,
}

/// Which of the three relations.
const HB: usize = 0;
const PORF: usize = 1;
/// `hb? ; eco ; hb?`.
const ACROSS: usize = 2;

impl Marks {
    fn empty(size: usize) -> Marks {
        Marks { size, rows: vec![0; 3 * size] }
    }

    fn row(&self, relation: usize, from: usize) -> u64 {
        self.rows[relation * self.size + from]
    }

    fn row_mut(&mut self, relation: usize, from: usize) -> &mut u64 {
        &mut self.rows[relation * self.size + from]
    }

    fn has(&self, relation: usize, from: usize, to: usize) -> bool {
        self.row(relation, from) >> to & 1 == 1
    }

    /// Adds a pair to a transitive relation, and what follows.
    fn add_closed(&mut self, relation: usize, from: usize, to: usize) {
        let add = self.row(relation, to) | 1 << to;
        for before in 0..self.size {
            if before == from || self.has(relation, before, from) {
                *self.row_mut(relation, before) |= add;
            }
        }
    }

    /// Synchronises the end of operation `a` with the beginning of `b`.
    fn synchronise(&mut self, a: usize, b: usize) {
        self.add_closed(HB, 2 * a + 1, 2 * b);
        self.add_closed(PORF, 2 * a + 1, 2 * b);
        // across becomes hb? ; across ; hb?
        for relation_is_after in [true, false] {
            let before: Vec<u64> = (0..self.size).map(|k| self.row(ACROSS, k)).collect();
            for (from, &row) in before.iter().enumerate() {
                let more = if relation_is_after {
                    ones(row).fold(0, |set, k| set | self.row(HB, k))
                } else {
                    ones(self.row(HB, from)).fold(0, |set, k| set | before[k])
                };
                *self.row_mut(ACROSS, from) |= more;
            }
        }
    }

    /// Is it consistent that the end of `a` synchronises with the beginning of `b`? A cycle that the pair
    /// makes is the pair and a path back, under `porf` or `hb? ; eco ; hb?`; one that has the pair several
    /// times has `hb` paths back, too.
    fn allows(&self, a: usize, b: usize) -> bool {
        let (from, to) = (2 * b, 2 * a + 1);
        !self.has(PORF, from, to) && !self.has(ACROSS, from, to)
    }
}

fn ones(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

/// What decides the question, where it is small: the relations and the operations, as numbers.
pub(super) type Question = Vec<u64>;

/// A graph with synchronisations added.
#[derive(Clone, Debug)]
pub(super) enum World {
    /// By calls and returns.
    Marks(MarksWorld),
    /// By all events.
    Events(Box<Relations>),
}

/// See [`World::Marks`].
#[derive(Clone, Debug)]
pub(super) struct MarksWorld(Marks);

impl World {
    pub(super) fn of(graph: &Graph, operations: &[Placed], model: Model) -> World {
        let is_small = operations.len() <= 32;
        match model {
            Model::Sc if is_small => World::Marks(MarksWorld(sc_marks(graph, operations))),
            Model::Rc11 | Model::Rc11Text2017 if is_small && !graph.has_contended_seq_cst() => {
                World::Marks(MarksWorld(marks(graph, operations)))
            }
            Model::Sc => {
                let mut relations = Relations::of(graph, model);
                relations.hb = relations.sc_order();
                relations.porf = relations.hb.clone();
                World::Events(Box::new(relations))
            }
            Model::Rc11 | Model::Rc11Text2017 => World::Events(Box::new(Relations::of(graph, model))),
        }
    }

    pub(super) fn question(&self, operations: &[Placed]) -> Option<Question> {
        match self {
            World::Marks(marks) => {
                let mut question = Vec::with_capacity(marks.0.rows.len() + 4 * operations.len());
                question.extend(&marks.0.rows);
                for Placed { operation, .. } in operations {
                    let result = operation.result;
                    question.extend([u64::from(operation.operation), operation.argument as u64]);
                    question.extend([u64::from(result.is_some()), result.unwrap_or(0) as u64]);
                }
                Some(question)
            }
            World::Events(_) => None,
        }
    }

    /// With the end of operation `a` synchronised with the beginning of `b`: `None` if that is not
    /// consistent.
    pub(super) fn with(&self, operations: &[Placed], a: usize, b: usize) -> Option<World> {
        match self {
            World::Marks(MarksWorld(marks)) => marks.allows(a, b).then(|| {
                let mut marks = marks.clone();
                marks.synchronise(a, b);
                World::Marks(MarksWorld(marks))
            }),
            World::Events(relations) => {
                let mut relations = relations.clone();
                relations.synchronise(operations[a].end?.number(), operations[b].begin.number());
                relations.is_consistent().then_some(World::Events(relations))
            }
        }
    }

    /// Would [`with`](World::with) give a world?
    pub(super) fn allows(&self, operations: &[Placed], a: usize, b: usize) -> bool {
        match self {
            World::Marks(MarksWorld(marks)) => marks.allows(a, b),
            World::Events(_) => self.with(operations, a, b).is_some(),
        }
    }

    /// Does the end of `a` happen before the beginning of `b`?
    pub(super) fn orders(&self, operations: &[Placed], a: usize, b: usize) -> bool {
        match self {
            World::Marks(MarksWorld(marks)) => marks.has(HB, 2 * a + 1, 2 * b),
            World::Events(relations) => operations[a]
                .end
                .is_some_and(|end| relations.hb.has(end.number(), operations[b].begin.number())),
        }
    }
}

/// The calls and returns; a return that is missing relates to nothing.
fn mark_events(operations: &[Placed]) -> Vec<Option<EventId>> {
    operations.iter().flat_map(|placed| [Some(placed.begin), placed.end]).collect()
}

/// A call or return that the graph has.
struct Mark<'g> {
    number: usize,
    thread: usize,
    index: usize,
    hb: &'g Clock,
    porf: &'g Clock,
}

fn marks(graph: &Graph, operations: &[Placed]) -> Marks {
    let events = mark_events(operations);
    let present: Vec<Mark<'_>> = events
        .iter()
        .enumerate()
        .filter_map(|(number, &mark)| {
            let (event, clocks) = (graph.event(mark?), graph.clocks(mark?));
            let (thread, index) = (event.thread, event.index);
            Some(Mark { number, thread, index, hb: &clocks.hb, porf: &clocks.porf })
        })
        .collect();
    let mut marks = Marks::empty(events.len());
    for from in &present {
        let (mut hb, mut porf) = (0, 0);
        for to in &present {
            if to.number != from.number {
                hb |= u64::from(to.hb.contains(from.thread, from.index)) << to.number;
                porf |= u64::from(to.porf.contains(from.thread, from.index)) << to.number;
            }
        }
        *marks.row_mut(HB, from.number) = hb;
        *marks.row_mut(PORF, from.number) = porf;
    }
    add_across(graph, &present, &mut marks);
    marks
}

/// `hb? ; eco ; hb?` between calls and returns.
///
/// The accesses of one location have ranks: the k-th write has 2k, a read of it 2k + 1. One is `eco`-before
/// another exactly if its rank is less. So there is a path from one mark to another iff at some location the
/// least rank that happens after the first is less than the greatest that happens before the second.
fn add_across(graph: &Graph, present: &[Mark<'_>], marks: &mut Marks) {
    let mut least = vec![0; present.len()];
    let mut greatest = vec![0; present.len()];
    for (number, place) in graph.places().iter().enumerate() {
        if place.writes.len() + place.reads.len() < 2 || place.writes.is_empty() {
            continue;
        }
        least.fill(usize::MAX);
        greatest.fill(0);
        let writes = place.writes.iter().enumerate().map(|(k, &write)| (write, 2 * (k + 1)));
        let rank = |read: EventId| 2 * graph.position(number, graph.event(read).source) + 1;
        let reads = place.reads.iter().map(|&read| (read, rank(read)));
        for (access, rank) in writes.chain(reads) {
            let past = &graph.clocks(access).hb;
            let (thread, index) = (graph.event(access).thread, graph.event(access).index);
            for (k, mark) in present.iter().enumerate() {
                if past.contains(mark.thread, mark.index) {
                    least[k] = least[k].min(rank);
                } else if mark.hb.contains(thread, index) {
                    greatest[k] = greatest[k].max(rank);
                }
            }
        }
        for (from, least) in present.iter().zip(&least) {
            let reached = present.iter().zip(&greatest).filter(|(_, greatest)| *least < **greatest);
            *marks.row_mut(ACROSS, from.number) |= reached.fold(0, |row, (to, _)| row | 1 << to.number);
        }
    }
}

/// Under sequential consistency: what `po ∪ rf ∪ mo ∪ fr` orders.
fn sc_marks(graph: &Graph, operations: &[Placed]) -> Marks {
    let events = mark_events(operations);
    let (mut seen, mut work) = (Vec::new(), Vec::new());
    let mut marks = Marks::empty(events.len());
    for (to, mark) in events.iter().enumerate() {
        let Some(mark) = *mark else { continue };
        graph.sc_past(mark, &mut seen, &mut work);
        for (from, other) in events.iter().enumerate() {
            if other.is_some_and(|other| other != mark && seen[other.number()]) {
                *marks.row_mut(HB, from) |= 1 << to;
                *marks.row_mut(PORF, from) |= 1 << to;
            }
        }
    }
    marks
}
