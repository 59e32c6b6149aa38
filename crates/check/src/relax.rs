//! Collections with a bound, or with answers that may be spurious, decided by the engines for those without.
//!
//! **Idle** is an answer that says nothing was done: "full", and, where it may be spurious, "empty". Leave
//! the idle operations out of a history and forget the bound; what is left is a history of the plain
//! collection.
//!
//! - If that is not linearizable, neither is the history: idle operations change nothing, and every step of a
//!   bounded collection is one of the plain collection. The engine's core is a core.
//! - Where everything idle is spurious and there is no bound, the two are equivalent: an order of the rest
//!   takes idle operations anywhere ([`Order::place`]).
//! - Otherwise the order found may have too many inside at some moment, or never be full while "full" is
//!   answered. Sizes depend on when operations take effect, and an engine without a bound does not care. The
//!   order is tried as it is; if it does not fit, its *matching* (which removal takes what which insertion
//!   put in) guides a depth-first search among the orders of the bounded collection
//!   ([`crate::depth_first::Foresight`]). A search that ends without an order proves nothing.

use std::collections::VecDeque;

use linpoint_history::specs::codes;
use linpoint_history::{Builtin, Kind, OpCode, Operation, Value, ValueId};
use rustc_hash::FxHashSet;

use crate::depth_first::{self, Foresight, Found, Role};
use crate::engine::{self, Context, Engine, Stop, Violation, Witness};
use crate::timeline::{OpId, Timeline};

/// An engine for a plain collection, at work on one that is not. It collects the rows, and decides at the
/// end.
pub struct Relaxed {
    inner: Box<dyn Engine + Send>,
    plain: Builtin,
    /// Does the engine need distinct values?
    distinct: bool,
    rows: Vec<Operation>,
    earliest: Vec<u32>,
    /// How far the search came.
    furthest: u32,
}

/// Is a specification one of these, for which [`Relaxed`] is made?
pub fn applies(spec: &Builtin) -> bool {
    use Kind::{Deque, PriorityQueue, PriorityQueueMax, Queue, Stack};
    let kinds = [Queue, Stack, Deque, PriorityQueue, PriorityQueueMax];
    kinds.contains(&spec.kind) && (spec.capacity.is_some() || spec.spurious)
}

impl Relaxed {
    /// `inner` on histories of `spec`; `distinct` if it takes no value twice.
    pub fn new(spec: &Builtin, inner: Box<dyn Engine + Send>, distinct: bool) -> Relaxed {
        let plain = Builtin::new(spec.kind).with_initial(spec.initial.clone());
        Relaxed { inner, plain, distinct, rows: Vec::new(), earliest: Vec::new(), furthest: 0 }
    }

    /// The rows that are not idle, as the plain collection has them, and their numbers.
    fn busy(&self, spec: &Builtin) -> Result<(Vec<Operation>, Vec<u32>), Stop> {
        let mut rows = Vec::with_capacity(self.rows.len());
        let mut numbers = Vec::with_capacity(self.rows.len());
        for (id, row) in (0..).zip(&self.rows) {
            if is_idle(spec, row) {
                continue;
            }
            let mut row = *row;
            if is_insertion(spec.kind, row.op()) && spec.answers_insertions() {
                if row.result != ValueId::TRUE {
                    return Err(Stop::Unsupported("an insertion answers neither true nor false".into()));
                }
                row.result = ValueId::NULL;
            }
            rows.push(row);
            numbers.push(id);
        }
        Ok((rows, numbers))
    }

    /// Is no value inserted twice, of those that are there at first or may have been inserted?
    fn is_distinct(&self, cx: &Context<'_>, rows: &[Operation], pending: &[Operation]) -> bool {
        let mut seen = FxHashSet::default();
        if let Value::List(items) = &cx.spec.initial
            && !items.iter().all(|item| seen.insert(cx.symbols.find(item).unwrap_or(ValueId::NULL)))
        {
            return false;
        }
        let mut inserted = rows.iter().chain(pending).filter(|row| is_insertion(cx.spec.kind, row.op()));
        inserted.all(|row| seen.insert(row.arg))
    }
}

impl Engine for Relaxed {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        _witness: &mut Witness,
    ) -> Result<(), Stop> {
        for id in self.rows.len() as u32..upto {
            self.rows.push(*timeline.op(OpId(id)));
            self.earliest.push(timeline.earliest(OpId(id)));
        }
        cx.budget.check(self.memory())
    }

    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        let (rows, numbers) = self.busy(cx.spec)?;
        let is_distinct = self.is_distinct(cx, &rows, timeline.pending());
        if self.distinct && !is_distinct {
            return Err(Stop::Unsupported("a value is inserted twice".into()));
        }
        let mut plain = Timeline::new(timeline.ties());
        plain.extend(&rows);
        for (index, row) in (0..).zip(timeline.pending()) {
            let gap = timeline.earliest(OpId::pending(index));
            plain.push_pending_at(*row, numbers.partition_point(|&id| id < gap) as u32);
        }
        cx.budget.check(self.memory() + rows.len() * 64)?;
        let plain_cx = Context { spec: &self.plain, ..*cx };
        let found = engine::run(self.inner.as_mut(), &plain_cx, &plain);
        let outer = |id: OpId| if id.as_pending().is_some() { id } else { OpId(numbers[id.0 as usize]) };
        let found = found.map_err(|stop| match stop {
            Stop::Violated(violation) => Stop::Violated(as_answered(cx.spec, violation, outer)),
            other => other,
        })?;
        let order: Vec<OpId> = found.into_iter().map(outer).collect();
        let pending: Vec<u32> =
            (0..timeline.pending().len() as u32).map(|i| timeline.earliest(OpId::pending(i))).collect();
        let order = Order {
            spec: cx.spec,
            rows: &self.rows,
            earliest: &self.earliest,
            pending: &pending,
            timeline,
            order,
        };
        if let Some(placed) = order.place() {
            witness.order.extend(placed);
            return Ok(());
        }
        let why = "what can be explained without the bound is not within it, in the orders that were tried";
        let unfit = Err(Stop::Unsupported(why.into()));
        if !matches!(cx.spec.kind, Kind::Queue | Kind::Stack) {
            return unfit;
        }
        let foresight = Some(order.foresight());
        let all: Vec<Operation> = self.rows.iter().chain(timeline.pending()).copied().collect();
        let earliest: Vec<u32> = self.earliest.iter().chain(&pending).copied().collect();
        let problem =
            depth_first::Problem { rows: &all, earliest: &earliest, completed: self.rows.len() as u32 };
        let patience = 100_000 + 20 * all.len() as u64;
        let spec = cx.spec.clone();
        let searched = depth_first::search(spec, &problem, cx, foresight, patience, &mut self.furthest)?;
        match searched.found {
            Found::Order => {
                witness.order.extend(searched.order);
                Ok(())
            }
            _ => unfit,
        }
    }

    fn explained(&self) -> Option<u32> {
        Some(self.furthest)
    }

    fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<Operation>() + self.earliest.capacity() * 4 + self.inner.memory()
    }
}

/// Does an operation with this answer leave a collection as it is, wherever it takes effect?
fn is_idle(spec: &Builtin, row: &Operation) -> bool {
    if is_insertion(spec.kind, row.op()) {
        spec.capacity.is_some() && row.result == ValueId::FALSE
    } else {
        spec.spurious && is_removal(spec.kind, row.op()) && row.result == ValueId::NULL
    }
}

fn is_insertion(kind: Kind, op: OpCode) -> bool {
    op == codes::queue::ENQUEUE || kind == Kind::Deque && op == codes::deque::PUSH_BACK
}

fn is_removal(kind: Kind, op: OpCode) -> bool {
    match kind {
        Kind::Deque => op == codes::deque::POP_FRONT || op == codes::deque::POP_BACK,
        _ => op == codes::queue::DEQUEUE,
    }
}

/// A violation of the plain collection, with the numbers and answers of the other.
fn as_answered(spec: &Builtin, violation: Violation, outer: impl Fn(OpId) -> OpId) -> Violation {
    let mut core = violation.core;
    if spec.answers_insertions() {
        let answered = |row: &&mut Operation| !row.is_pending() && is_insertion(spec.kind, row.op());
        core.iter_mut().filter(answered).for_each(|row| row.result = ValueId::TRUE);
    }
    Violation { at: outer(violation.at), core, ..violation }
}

/// An order of the operations that are not idle.
struct Order<'a> {
    spec: &'a Builtin,
    rows: &'a [Operation],
    earliest: &'a [u32],
    /// The first gaps of the pending operations.
    pending: &'a [u32],
    timeline: &'a Timeline,
    order: Vec<OpId>,
}

impl Order<'_> {
    fn row(&self, id: OpId) -> &Operation {
        match id.as_pending() {
            Some(index) => &self.timeline.pending()[index],
            None => &self.rows[id.0 as usize],
        }
    }

    fn earliest(&self, id: OpId) -> u32 {
        id.as_pending().map_or_else(|| self.earliest[id.0 as usize], |index| self.pending[index])
    }

    /// The order with the idle operations in it, if it keeps the bound. Each waits until all that precedes it
    /// has its place, and then, if it must see a full collection, for the first moment at which it does; it
    /// may wait until something comes that it precedes. So a place is found if this order has one: the places
    /// an idle operation may take lie in one stretch, between the last operation that precedes it and the
    /// first it precedes.
    fn place(&self) -> Option<Vec<OpId>> {
        let waits_for_full = self.spec.capacity.is_some() && !self.spec.spurious;
        let capacity = self.spec.capacity.unwrap_or(usize::MAX);
        let mut size = contents(self.spec);
        let is_idle = |id: u32| is_idle(self.spec, &self.rows[id as usize]);
        let mut by_call: Vec<u32> = (0..self.rows.len() as u32).filter(|&id| is_idle(id)).collect();
        let by_return = by_call.clone();
        by_call.sort_by_key(|&id| self.earliest[id as usize]);
        let (mut called, mut returned) = (0, 0);
        let mut open: Vec<u32> = Vec::new();
        let mut placed = vec![false; self.rows.len()];
        let mut missing = 0;
        let mut out = Vec::with_capacity(self.order.len() + by_call.len());
        for next in self.order.iter().map(Some).chain([None]) {
            // What is open now and may see what it must takes effect.
            loop {
                while missing < placed.len() && placed[missing] {
                    missing += 1;
                }
                while called < by_call.len() && self.earliest[by_call[called] as usize] as usize <= missing {
                    open.push(by_call[called]);
                    called += 1;
                }
                if open.is_empty() || waits_for_full && size != capacity {
                    break;
                }
                for id in open.drain(..) {
                    placed[id as usize] = true;
                    out.push(OpId(id));
                }
            }
            while returned < by_return.len() && placed[by_return[returned] as usize] {
                returned += 1;
            }
            let Some(&next) = next else { break };
            if by_return.get(returned).is_some_and(|&id| id < self.earliest(next)) {
                return None;
            }
            let row = self.row(next);
            if is_insertion(self.spec.kind, row.op()) {
                size += 1;
            } else if is_removal(self.spec.kind, row.op()) && (row.is_pending() || !row.result.is_null()) {
                size = size.saturating_sub(1);
            }
            if size > capacity {
                return None;
            }
            if next.as_pending().is_none() {
                placed[next.0 as usize] = true;
            }
            out.push(next);
        }
        (returned == by_return.len()).then_some(out)
    }

    /// Which removal takes what an insertion puts in, by this order of a queue or a stack.
    fn foresight(&self) -> Foresight {
        let completed = self.rows.len();
        let number = |id: OpId| id.as_pending().map_or(id.0 as usize, |index| completed + index);
        let role = |row: &Operation| match () {
            () if is_insertion(self.spec.kind, row.op()) && !is_idle(self.spec, row) => {
                Role::Inserts { from: u32::MAX, to: u32::MAX }
            }
            () if is_removal(self.spec.kind, row.op()) && (row.is_pending() || !row.result.is_null()) => {
                Role::Removes
            }
            () => Role::Looks,
        };
        let mut roles: Vec<Role> = self.rows.iter().chain(self.timeline.pending()).map(role).collect();
        let mut inside: VecDeque<Option<usize>> = vec![None; contents(self.spec)].into();
        for &id in &self.order {
            match roles[number(id)] {
                Role::Looks => {}
                Role::Inserts { .. } => inside.push_back(Some(number(id))),
                Role::Removes => {
                    let taken =
                        if self.spec.kind == Kind::Queue { inside.pop_front() } else { inside.pop_back() };
                    if let Some(Some(insertion)) = taken {
                        roles[insertion] = Role::Inserts { from: self.earliest(id), to: id.latest() };
                    }
                }
            }
        }
        Foresight::new(self.spec.kind, roles)
    }
}

/// How many elements a collection starts with.
fn contents(spec: &Builtin) -> usize {
    match &spec.initial {
        Value::List(items) => items.len(),
        _ => 0,
    }
}
