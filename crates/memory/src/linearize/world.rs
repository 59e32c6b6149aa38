//! A graph with synchronisations of a client: is it consistent, and what does it order?
//!
//! Where no two threads have `SeqCst` events, three relations on the calls and returns of operations decide (lemma 1 in
//! `docs/weak-memory.md`). A cycle that S makes alternates pairs of S with paths from the beginning of an operation to
//! the end of one; it is forbidden if all paths are in `porf`, or if all are in `hb` but for one that is `hb? ; eco ; hb?`.
//! Under sequential consistency every path forbids a cycle, so one relation is enough (lemma 4). Otherwise the axioms are
//! asked on all events.

use super::{Operation, Placed};
use crate::axioms::Relations;
use crate::event::{EventId, Kind};
use crate::graph::Graph;
use crate::ordering::Model;

/// Rows of bits: how calls (2k) and returns (2k + 1) are related.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Rows(Vec<u64>);

impl Rows {
    fn has(&self, from: usize, to: usize) -> bool {
        self.0[from] >> to & 1 == 1
    }

    /// Adds a pair to a transitive relation, and what follows.
    fn add_closed(&mut self, from: usize, to: usize) {
        let add = self.0[to] | 1 << to;
        for before in 0..self.0.len() {
            if before == from || self.has(before, from) {
                self.0[before] |= add;
            }
        }
    }

    /// `outer? ; self ; outer?`.
    fn surrounded(&self, outer: &Rows) -> Rows {
        let then = |row: u64, next: &Rows| ones(row).fold(0, |set, k| set | next.0[k]);
        let inner: Vec<u64> = self.0.iter().map(|&row| row | then(row, outer)).collect();
        let inner = Rows(inner);
        Rows((0..self.0.len()).map(|k| inner.0[k] | then(outer.0[k], &inner)).collect())
    }
}

fn ones(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

/// What decides the question, where it is small.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Question(Marks, Vec<Operation>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Marks {
    hb: Rows,
    porf: Rows,
    /// `hb? ; eco ; hb?`.
    across: Rows,
}

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
                let operations = operations.iter().map(|placed| placed.operation).collect();
                Some(Question(marks.0.clone(), operations))
            }
            World::Events(_) => None,
        }
    }

    /// With the end of operation `a` synchronised with the beginning of `b`: `None` if that is not consistent.
    pub(super) fn with(&self, operations: &[Placed], a: usize, b: usize) -> Option<World> {
        match self {
            World::Marks(MarksWorld(marks)) => {
                let mut marks = marks.clone();
                marks.hb.add_closed(2 * a + 1, 2 * b);
                marks.porf.add_closed(2 * a + 1, 2 * b);
                marks.across = marks.across.surrounded(&marks.hb);
                let is_cyclic =
                    |k: usize| marks.hb.has(k, k) || marks.porf.has(k, k) || marks.across.has(k, k);
                let is_consistent = !(0..marks.hb.0.len()).any(is_cyclic);
                is_consistent.then_some(World::Marks(MarksWorld(marks)))
            }
            World::Events(relations) => {
                let mut relations = relations.clone();
                relations.synchronise(operations[a].end?.number(), operations[b].begin.number());
                relations.is_consistent().then_some(World::Events(relations))
            }
        }
    }

    /// Does the end of `a` happen before the beginning of `b`?
    pub(super) fn orders(&self, operations: &[Placed], a: usize, b: usize) -> bool {
        match self {
            World::Marks(MarksWorld(marks)) => marks.hb.has(2 * a + 1, 2 * b),
            World::Events(relations) => {
                operations[a].end.is_some_and(|end| relations.hb.has(end.number(), operations[b].begin.number()))
            }
        }
    }
}

/// The calls and returns; a return that is missing relates to nothing.
fn mark_events(operations: &[Placed]) -> Vec<Option<EventId>> {
    operations.iter().flat_map(|placed| [Some(placed.begin), placed.end]).collect()
}

/// Rows of a relation between the calls and returns.
fn rows(events: &[Option<EventId>], holds: impl Fn(EventId, EventId) -> bool) -> Rows {
    let row = |from: &Option<EventId>| {
        let from = (*from)?;
        let to = events.iter().enumerate().filter(|(_, to)| to.is_some_and(|to| from != to && holds(from, to)));
        Some(to.fold(0, |row, (k, _)| row | 1 << k))
    };
    Rows(events.iter().map(|from| row(from).unwrap_or(0)).collect())
}

fn marks(graph: &Graph, operations: &[Placed]) -> Marks {
    let events = mark_events(operations);
    let hb = rows(&events, |from, to| graph.is_in(from, &graph.clocks(to).hb));
    let porf = rows(&events, |from, to| graph.is_in(from, &graph.clocks(to).porf));
    Marks { hb, porf, across: across(graph, &events) }
}

/// `hb? ; eco ; hb?` between calls and returns.
///
/// The accesses of one location have ranks: the k-th write has 2k, a read of it 2k + 1. One is `eco`-before another exactly
/// if its rank is less. So there is a path from one mark to another iff at some location the least rank that
/// happens after the first is less than the greatest that happens before the second.
fn across(graph: &Graph, events: &[Option<EventId>]) -> Rows {
    let mut related = vec![0; events.len()];
    let mut least = vec![usize::MAX; events.len()];
    let mut greatest = vec![None; events.len()];
    for (number, place) in graph.places().iter().enumerate() {
        least.fill(usize::MAX);
        greatest.fill(None);
        let writes = place.writes.iter().enumerate().map(|(k, &write)| (write, 2 * (k + 1)));
        let rank = |read: EventId| 2 * graph.position(number, graph.event(read).source) + 1;
        let reads = place.reads.iter().map(|&read| (read, rank(read)));
        for (access, rank) in writes.chain(reads) {
            let past = &graph.clocks(access).hb;
            for (k, mark) in events.iter().enumerate() {
                let Some(mark) = *mark else { continue };
                if graph.is_in(mark, past) {
                    least[k] = least[k].min(rank);
                } else if graph.is_in(access, &graph.clocks(mark).hb) {
                    greatest[k] = greatest[k].max(Some(rank));
                }
            }
        }
        for (from, least) in least.iter().enumerate() {
            for (to, greatest) in greatest.iter().enumerate() {
                if greatest.is_some_and(|greatest| *least < greatest) {
                    related[from] |= 1 << to;
                }
            }
        }
    }
    Rows(related)
}

/// Under sequential consistency: what `po ∪ rf ∪ mo ∪ fr` orders.
fn sc_marks(graph: &Graph, operations: &[Placed]) -> Marks {
    let events = mark_events(operations);
    let (mut seen, mut work) = (Vec::new(), Vec::new());
    let mut order = vec![0; events.len()];
    for (to, mark) in events.iter().enumerate() {
        let Some(mark) = *mark else { continue };
        debug_assert!(matches!(graph.event(mark).kind, Kind::Call(_) | Kind::Return));
        graph.sc_past(mark, &mut seen, &mut work);
        for (from, other) in events.iter().enumerate() {
            if other.is_some_and(|other| other != mark && seen[other.number()]) {
                order[from] |= 1 << to;
            }
        }
    }
    let order = Rows(order);
    Marks { hb: order.clone(), porf: order.clone(), across: Rows(vec![0; order.0.len()]) }
}
