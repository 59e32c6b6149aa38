//! The axioms that need the whole graph: the order of `SeqCst` accesses, and all of RC11 where the clients of
//! an object add synchronisation.
//!
//! Lahav, Vafeiadis, Kang, Hur, Dreyer, *Repairing Sequential Consistency in C/C++11* (PLDI 2017), section 4:
//!
//! ```text
//! scb      = po ∪ (po ; hb ; po) ∪ hb|loc ∪ mo ∪ fr
//! psc_base = ([E_sc] ∪ [F_sc] ; hb?) ; scb ; ([E_sc] ∪ hb? ; [F_sc])
//! psc_F    = [F_sc] ; (hb ∪ hb ; eco ; hb) ; [F_sc]
//! psc_base ∪ psc_F is acyclic
//! ```
//!
//! `po ; hb ; po` is the "strongly happens before" of C++20. The text of 2017 has `po|≠loc ; hb ; po|≠loc`,
//! which makes the axiom weaker; [`Model::Rc11Text2017`] says so. Coherence (`hb ; eco?` irreflexive),
//! atomicity and the acyclicity of `po ∪ rf` follow from how events are added ([`Graph::floor`] and its
//! neighbours).

use crate::event::{EventId, Kind};
use crate::graph::Graph;
use crate::ordering::{Model, Ordering};
use crate::relation::Relation;

/// A graph as relations between its events.
#[derive(Clone, Debug)]
pub(crate) struct Relations {
    pub(crate) hb: Relation,
    pub(crate) porf: Relation,
    pub(crate) eco: Relation,
    po: Relation,
    mo: Relation,
    fr: Relation,
    /// The place that each event accesses.
    places: Vec<Option<usize>>,
    is_sc: Vec<bool>,
    is_sc_fence: Vec<bool>,
    model: Model,
}

impl Relations {
    pub(crate) fn of(graph: &Graph, model: Model) -> Relations {
        let events = graph.events();
        let size = events.len();
        let id = EventId::at;
        let before = |from: usize, to: usize| {
            let (from, to) = (&events[from], &events[to]);
            from.thread == to.thread && from.index < to.index
        };
        let hb = Relation::of(size, |a, b| a != b && graph.is_in(id(a), &graph.clocks(id(b)).hb));
        let porf = Relation::of(size, |a, b| a != b && graph.is_in(id(a), &graph.clocks(id(b)).porf));
        let mut rf = Relation::empty(size);
        let mut mo = Relation::empty(size);
        let mut fr = Relation::empty(size);
        for (number, place) in graph.places().iter().enumerate() {
            for (k, write) in place.writes.iter().enumerate() {
                place.writes[k + 1..].iter().for_each(|later| mo.add(write.number(), later.number()));
            }
            for &read in &place.reads {
                let source = graph.event(read).source;
                if let Some(write) = source {
                    rf.add(write.number(), read.number());
                }
                let position = graph.position(number, source);
                for later in &place.writes[position.min(place.writes.len())..] {
                    fr.add(read.number(), later.number());
                }
            }
        }
        let then_read = rf.clone().reflexive();
        let mut eco = rf;
        eco.unite(&mo.then(&then_read));
        eco.unite(&fr.then(&then_read));
        let is_sc: Vec<bool> = events.iter().map(|event| event.ordering == Ordering::SeqCst).collect();
        let is_sc_fence =
            events.iter().zip(&is_sc).map(|(event, &sc)| sc && event.kind == Kind::Fence).collect();
        let places = events
            .iter()
            .map(|event| matches!(event.kind, Kind::Read | Kind::Write).then_some(event.place))
            .collect();
        let po = Relation::of(size, before);
        Relations { hb, porf, eco, po, mo, fr, places, is_sc, is_sc_fence, model }
    }

    /// Adds a synchronisation of `from` with `to`.
    pub(crate) fn synchronise(&mut self, from: usize, to: usize) {
        self.hb.add_closed(from, to);
        self.porf.add_closed(from, to);
    }

    /// `hb ; eco?` and `porf` are irreflexive.
    pub(crate) fn is_coherent(&self) -> bool {
        let contradicts = |from: usize| self.hb.from(from).any(|to| self.eco.has(to, from));
        self.hb.is_irreflexive()
            && self.porf.is_irreflexive()
            && (0..self.hb.size()).all(|from| !contradicts(from))
    }

    /// All axioms but atomicity, which no synchronisation touches.
    pub(crate) fn is_consistent(&self) -> bool {
        self.is_coherent() && self.orders_seq_cst()
    }

    /// `psc` is acyclic.
    pub(crate) fn orders_seq_cst(&self) -> bool {
        let size = self.hb.size();
        if self.is_sc.iter().filter(|&&sc| sc).count() < 2 {
            return true;
        }
        let same_place = |a: usize, b: usize| self.places[a].is_some() && self.places[a] == self.places[b];
        let step = match self.model {
            Model::Rc11Text2017 => self.po.only(|a, b| !same_place(a, b)),
            Model::Rc11 | Model::Sc => self.po.clone(),
        };
        let mut scb = self.po.clone();
        scb.unite(&step.then(&self.hb).then(&step));
        scb.unite(&self.hb.only(same_place));
        scb.unite(&self.mo);
        scb.unite(&self.fr);
        let mut enter = Relation::empty(size);
        let mut leave = Relation::empty(size);
        for event in 0..size {
            if self.is_sc[event] {
                enter.add(event, event);
                leave.add(event, event);
            }
            for to in self.hb.from(event) {
                if self.is_sc_fence[event] {
                    enter.add(event, to);
                }
                if self.is_sc_fence[to] {
                    leave.add(event, to);
                }
            }
        }
        let mut psc = enter.then(&scb).then(&leave);
        let from_fence = self.hb.only(|from, _| self.is_sc_fence[from]);
        let to_fence = self.hb.only(|_, to| self.is_sc_fence[to]);
        psc.unite(&from_fence.only(|_, to| self.is_sc_fence[to]));
        psc.unite(&from_fence.then(&self.eco).then(&to_fence));
        psc.is_acyclic()
    }

    /// `(po ∪ rf ∪ mo ∪ fr)+`, with creating and joining: what sequential consistency orders.
    pub(crate) fn sc_order(&self) -> Relation {
        let mut order = self.porf.clone();
        order.unite(&self.eco);
        order.closed()
    }
}

/// Is the order of `SeqCst` events as the model demands?
///
/// Only looked at where two threads have such events: a cycle between events of one thread leads from a later
/// one back to an earlier one, and contradicts coherence already.
pub(crate) fn seq_cst_is_ordered(graph: &Graph, model: Model) -> bool {
    !graph.has_contended_seq_cst() || Relations::of(graph, model).orders_seq_cst()
}
