//! The axioms as the papers have them: Lahav et al., *Repairing Sequential Consistency in C/C++11* (PLDI
//! 2017), with the release sequences of C++20.

use super::matrix::Matrix;
use super::traces::Trace;
use crate::event::{Kind, Location, Value};
use crate::ordering::{Model, Ordering};

/// An event of a candidate.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) ordering: Ordering,
    pub(super) exclusive: bool,
    pub(super) location: Option<Location>,
    pub(super) value: Value,
    pub(super) thread: usize,
    pub(super) index: usize,
    pub(super) source: Option<usize>,
}

/// A graph that may be consistent or not.
pub(super) struct Candidate {
    pub(super) events: Vec<Item>,
    pub(super) threads: usize,
    /// Synchronisations of a client.
    pub(super) clients: Vec<(usize, usize)>,
}

/// What does not depend on modification order.
pub(super) struct Fixed {
    po: Matrix,
    rf: Matrix,
    porf: Matrix,
    hb: Matrix,
}

impl Candidate {
    pub(super) fn of(combination: &[&Trace]) -> Candidate {
        let mut events = Vec::new();
        for (thread, trace) in combination.iter().enumerate() {
            for (index, event) in trace.events.iter().enumerate() {
                events.push(Item { thread, index, ..event.clone() });
            }
        }
        Candidate { events, threads: combination.len(), clients: Vec::new() }
    }

    /// The numbers of all events of a kind.
    pub(super) fn numbers(&self, kind: Kind) -> impl Iterator<Item = usize> {
        (0..self.events.len()).filter(move |&number| self.events[number].kind == kind)
    }

    /// Program order, reads-from, happens-before; `None` if they have cycles.
    pub(super) fn before_orders(&self) -> Option<Fixed> {
        let size = self.events.len();
        let e = |number: usize| &self.events[number];
        let po = Matrix::of(size, |a, b| e(a).thread == e(b).thread && e(a).index < e(b).index);
        let rf = Matrix::of(size, |a, b| e(b).kind == Kind::Read && e(b).source == Some(a));
        let threads = Matrix::of(size, |a, b| match (e(a).kind, e(b).kind) {
            (_, Kind::Join(of)) if of as usize == e(a).thread => true,
            (Kind::Create(of), _) => of as usize == e(b).thread,
            _ => self.clients.contains(&(a, b)),
        });
        let porf = po.or(&rf).or(&threads).plus();
        if !porf.is_irreflexive() {
            return None;
        }
        let sw = self.synchronises(&po, &rf);
        let hb = po.or(&sw).or(&threads).plus();
        hb.is_irreflexive().then_some(Fixed { po, rf, porf, hb })
    }

    /// `sw = [⊒rel] ; ([F];po)? ; rs ; rf ; [R ⊒ rlx] ; (po;[F])? ; [⊒acq]`, with `rs = [W ⊒ rlx] ;
    /// (rf;rmw)*`.
    fn synchronises(&self, po: &Matrix, rf: &Matrix) -> Matrix {
        let size = self.events.len();
        let e = |number: usize| &self.events[number];
        let is_fence = |a: usize| e(a).kind == Kind::Fence;
        let rmw = Matrix::of(size, |a, b| {
            let halves = e(a).kind == Kind::Read && e(a).exclusive && e(b).index == e(a).index + 1;
            halves && e(a).thread == e(b).thread
        });
        let writes = |a: usize| e(a).kind == Kind::Write && e(a).ordering.is_atomic();
        let rs = rf.then(&rmw).plus().maybe().starting_with(writes);
        let read = rf.ending_with(|b| e(b).ordering.is_atomic());
        let before = po.starting_with(is_fence).maybe();
        let after = po.ending_with(is_fence).maybe();
        let releases =
            |a: usize| e(a).ordering.is_release() && matches!(e(a).kind, Kind::Write | Kind::Fence);
        let acquires = |b: usize| e(b).ordering.is_acquire() && matches!(e(b).kind, Kind::Read | Kind::Fence);
        before.then(&rs).then(&read).then(&after).starting_with(releases).ending_with(acquires)
    }

    /// Are all axioms true with these modification orders?
    pub(super) fn is_consistent(&self, fixed: &Fixed, orders: &[Vec<usize>], model: Model) -> bool {
        let size = self.events.len();
        let e = |number: usize| &self.events[number];
        let is_read = |a: usize| e(a).kind == Kind::Read;
        let (mo, fr) = self.orders_of_writes(orders);
        let splits = fr.then(&mo);
        let is_atomic = (0..size).all(|a| !(is_read(a) && e(a).exclusive && splits.has(a, a + 1)));
        if !is_atomic {
            return false;
        }
        if model == Model::Sc {
            return fixed.porf.or(&mo).or(&fr).plus().is_irreflexive();
        }
        let then_read = fixed.rf.maybe();
        let eco = fixed.rf.or(&mo.then(&then_read)).or(&fr.then(&then_read));
        fixed.hb.then(&eco).is_irreflexive() && self.orders_seq_cst(fixed, &mo, &fr, &eco, model)
    }

    /// `mo` and `fr`.
    fn orders_of_writes(&self, orders: &[Vec<usize>]) -> (Matrix, Matrix) {
        let size = self.events.len();
        let e = |number: usize| &self.events[number];
        let mut rank = vec![None; size];
        for order in orders {
            order.iter().enumerate().for_each(|(k, &write)| rank[write] = Some(k));
        }
        let mo = Matrix::of(size, |a, b| {
            rank[a].is_some() && rank[b].is_some() && e(a).location == e(b).location && rank[a] < rank[b]
        });
        let fr = Matrix::of(size, |a, b| {
            e(a).kind == Kind::Read
                && rank[b].is_some()
                && e(a).location == e(b).location
                && e(a).source.is_none_or(|source| mo.has(source, b))
        });
        (mo, fr)
    }

    /// What a client sees ordered: happens-before; under sequential consistency all that is ordered.
    pub(super) fn orders_for_clients(&self, fixed: &Fixed, orders: &[Vec<usize>], model: Model) -> Matrix {
        if model == Model::Sc {
            let (mo, fr) = self.orders_of_writes(orders);
            fixed.porf.or(&mo).or(&fr).plus()
        } else {
            fixed.hb.clone()
        }
    }

    /// `psc` is acyclic.
    fn orders_seq_cst(&self, fixed: &Fixed, mo: &Matrix, fr: &Matrix, eco: &Matrix, model: Model) -> bool {
        let size = self.events.len();
        let e = |number: usize| &self.events[number];
        let is_sc = |a: usize| e(a).ordering == Ordering::SeqCst;
        let is_sc_fence = |a: usize| is_sc(a) && e(a).kind == Kind::Fence;
        if !(0..size).any(is_sc) {
            // psc lies between such events.
            return true;
        }
        let Fixed { po, hb, .. } = fixed;
        let same_location = |a: usize, b: usize| e(a).location.is_some() && e(a).location == e(b).location;
        let step = if model == Model::Rc11 { po.clone() } else { po.where_both(|a, b| !same_location(a, b)) };
        let scb = po.or(&step.then(hb).then(&step)).or(&hb.where_both(same_location)).or(mo).or(fr);
        let identity = Matrix::of(size, |a, b| a == b);
        let enter = identity.starting_with(is_sc).or(&hb.maybe().starting_with(is_sc_fence));
        let leave = identity.starting_with(is_sc).or(&hb.maybe().ending_with(is_sc_fence));
        let base = enter.then(&scb).then(&leave);
        let fences = hb.or(&hb.then(eco).then(hb)).starting_with(is_sc_fence).ending_with(is_sc_fence);
        base.or(&fences).plus().is_irreflexive()
    }
}
