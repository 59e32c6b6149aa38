//! What is known before a step: the hypotheses of every obligation.

use linpoint_history::Spec as _;
use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{
    Action, Edge, Exit, Expr, GlobalId, NodeId, OpId, Place, RecordId, Status, Type,
};

use crate::abstraction::Abstraction;
use crate::fact::{Fact, Facts, Shared};
use crate::graph::{Graph, Phase, Point, Step};
use crate::step::Taken;
use crate::symbol::Key;
use crate::term::{Node, Term};
use crate::world::{Cell, Frame, Memory, World};

/// What everyone who proves about one program shares.
#[derive(Clone, Debug)]
pub struct Subject<'p> {
    /// The program.
    pub program: &'p Program,
    /// Its places and steps.
    pub graph: &'p Graph,
    /// What its states stand for.
    pub abstraction: Abstraction<'p>,
    /// The same in other words, if the user gave more than one.
    pub again: Vec<Abstraction<'p>>,
    /// Sizes that are not symbolic: name and what it is.
    pub fixed: Vec<(String, i64)>,
    /// Which locals still matter at each control point of the program.
    pub live: Vec<Vec<bool>>,
}

/// Where an operation stands with respect to its linearization point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Before it.
    In,
    /// It may have been passed, with this result.
    InOut(Vec<Term>),
    /// After it, with this result.
    Out(Vec<Term>),
}

impl<'p> Subject<'p> {
    /// The operation of a process at a place.
    pub fn op(&self, point: Point) -> Option<OpId> {
        (point != Graph::IDLE).then(|| self.graph.place(point).op)
    }

    /// What is known of any memory: types, ranges, what holds always.
    pub fn known_of_memory(&self, world: &mut World<'p>, memory: &Memory, facts: &Facts) -> Vec<Term> {
        let mut known = self.sizes(world);
        known.extend(self.types(world, memory));
        known.extend(self.pointers_of_memory(world, memory));
        known.push(self.abstraction.holds_always(world, memory));
        let nobody = world.none();
        let frame = Frame { pid: nobody, locals: vec![], inputs: vec![], result: vec![] };
        for fact in &facts.always {
            known.push(world.annotation_truth(&fact.body, memory, &frame));
        }
        known
    }

    /// Symbolic sizes are not negative.
    pub fn sizes(&self, world: &mut World<'p>) -> Vec<Term> {
        let mut known = Vec::new();
        for index in 0..self.program.sizes.len() {
            let (zero, size) = (world.terms.int(0), world.size(index));
            known.push(world.terms.le(zero, size));
        }
        known
    }

    /// What shared slots hold is of their types and in their ranges.
    pub fn types(&self, world: &mut World<'p>, memory: &Memory) -> Vec<Term> {
        let mut known = Vec::new();
        let nobody = world.none();
        let mut frame = Frame { pid: nobody, locals: vec![], inputs: vec![], result: vec![] };
        for (global, cells) in self.program.globals.iter().zip(&memory.globals) {
            for (slot, cell) in global.slots.iter().zip(cells) {
                match cell {
                    Cell::Scalar(value) => {
                        known.push(world.is_of_type(&slot.ty, *value));
                        if let Some((lo, hi)) = &slot.bounds {
                            known.push(within(world, *value, lo, hi, memory, &mut frame));
                        }
                    }
                    Cell::Array(store) => {
                        let depth = world.depth;
                        world.depth += 1;
                        let bound = world.terms.bound(depth);
                        let value = world.read(store, bound);
                        let mut body = world.is_of_type(&slot.ty, value);
                        if let (Some((lo, hi)), Some(length)) = (&slot.bounds, &global.length) {
                            let fits = within(world, value, lo, hi, memory, &mut frame);
                            let (zero, length) =
                                (world.terms.int(0), world.number_of(length, memory, &mut frame));
                            let (low, high) = (world.terms.le(zero, bound), world.terms.lt(bound, length));
                            let inside = world.terms.and([low, high]);
                            let fits = world.terms.implies(inside, fits);
                            body = world.terms.and([body, fits]);
                        }
                        world.depth = depth;
                        known.push(world.terms.forall(depth, body));
                    }
                }
            }
        }
        for (record, stores) in self.program.records.iter().zip(&memory.fields) {
            for (slot, store) in record.fields.iter().zip(stores) {
                let depth = world.depth;
                world.depth += 1;
                let bound = world.terms.bound(depth);
                let value = world.read(store, bound);
                let body = world.is_of_type(&slot.ty, value);
                world.depth = depth;
                known.push(world.terms.forall(depth, body));
            }
        }
        known
    }

    /// What is known of a process at a place.
    pub fn known_of(
        &self,
        world: &mut World<'p>,
        point: Point,
        frame: &Frame,
        memory: &Memory,
        facts: &Facts,
    ) -> Vec<Term> {
        let mut known = self.known_of_frame(world, point, frame, memory);
        for fact in facts.of(point) {
            known.push(world.annotation_truth(&fact.body, memory, frame));
        }
        known
    }

    /// Types of locals, ranges of parameters, and that threads are not `none`.
    pub fn known_of_frame(
        &self,
        world: &mut World<'p>,
        point: Point,
        frame: &Frame,
        memory: &Memory,
    ) -> Vec<Term> {
        let zero = world.terms.int(0);
        let mut known = vec![world.terms.le(zero, frame.pid)];
        let Some(op) = self.op(point) else { return known };
        known.extend(self.pointers_of_frame(world, point, frame, memory));
        let operation = self.program.operation(op);
        for (index, slot) in operation.locals.iter().enumerate() {
            known.push(world.is_of_type(&slot.ty, frame.locals[index]));
            if index >= operation.params {
                continue;
            }
            known.push(world.is_of_type(&slot.ty, frame.inputs[index]));
            if let Some((lo, hi)) = &slot.bounds {
                let mut frame = frame.clone();
                for value in [frame.locals[index], frame.inputs[index]] {
                    known.push(within(world, value, lo, hi, memory, &mut frame));
                }
            }
        }
        known
    }

    /// Takes a step in formulas, with the result of a silent linearization point put in.
    pub fn take(&self, world: &mut World<'p>, step: &Step, memory: &Memory, frame: &Frame) -> Taken {
        let place = self.graph.place(step.from);
        let edge = self.graph.edge(self.program, step);
        world.restart_fresh();
        let mut taken = world.take(place.op, edge, &step.marks, place.phase == Phase::Given, memory, frame);
        if taken.silent {
            let call = self.call(world, step.from, frame);
            match self.abstraction.answer(world, &call, memory) {
                Some(result) => taken.frame.result = result,
                None => {
                    let _ = world.refuse("a linearization point that should say the result: write `@lin(r)`");
                }
            }
        }
        taken
    }

    /// The call that a process is in.
    pub fn call(&self, world: &mut World<'p>, point: Point, frame: &Frame) -> crate::operation::Call {
        let op = self.op(point).unwrap_or(OpId(0));
        let _ = world;
        crate::operation::Call { op, pid: frame.pid, inputs: frame.inputs.clone() }
    }

    /// Where a process stands, case by case; the cases exclude each other and leave none out.
    ///
    /// At a place of which the user says nothing, and from where all steps touch only locals, it stands as it
    /// will after the step.
    pub fn stands(
        &self,
        world: &mut World<'p>,
        point: Point,
        frame: &Frame,
        memory: &Memory,
    ) -> Vec<(Term, Stand)> {
        let place = self.graph.place(point);
        let yes = world.terms.bool(true);
        match place.phase {
            Phase::Before => vec![(yes, Stand::In)],
            Phase::After => vec![(yes, Stand::Out(frame.result.clone()))],
            Phase::Given => self.given(world, place.node, frame, memory, 0),
        }
    }

    fn given(
        &self,
        world: &mut World<'p>,
        node: NodeId,
        frame: &Frame,
        memory: &Memory,
        steps: usize,
    ) -> Vec<(Term, Stand)> {
        let yes = world.terms.bool(true);
        let op = self.program.node(node).op;
        let result = &self.program.operation(op).result;
        let mut cases = Vec::new();
        let mut earlier: Vec<Term> = Vec::new();
        let said = self.program.annotations.statuses.iter().filter(|status| status.at.contains(&node));
        for given in said {
            let when = match &given.when {
                Some(when) => world.annotation_truth(when, memory, frame),
                None => yes,
            };
            let mut values = |list: &[Expr]| {
                let values: Vec<Term> = list.iter().map(|e| world.annotation(e, memory, frame)).collect();
                world.result(result, values)
            };
            let stand = match &given.status {
                Status::In => Stand::In,
                Status::InOut(list) => Stand::InOut(values(list)),
                Status::Out(list) => Stand::Out(values(list)),
            };
            cases.push((unless(world, &earlier, when), stand));
            earlier.push(when);
        }
        let edges = &self.program.node(node).edges;
        if cases.is_empty() && steps < 8 && edges.iter().all(is_local) {
            for edge in edges {
                let taken = world.take(op, edge, &vec![false; edge.marks().count()], true, memory, frame);
                let when = world.terms.and(taken.guards);
                let when_first = unless(world, &earlier, when);
                let after = match (&edge.exit, taken.returned) {
                    (Exit::Goto(to), _) => self.given(world, *to, &taken.frame, memory, steps + 1),
                    (Exit::Return(_), Some(result)) => vec![(yes, Stand::Out(result))],
                    (Exit::Return(_), None) => Vec::new(),
                };
                for (case, stand) in after {
                    cases.push((world.terms.and([when_first, case]), stand));
                }
                earlier.push(when);
            }
        }
        let rest = unless(world, &earlier, yes);
        if rest != world.terms.bool(false) {
            cases.push((rest, Stand::In));
        }
        cases
    }

    /// What the locals that must differ say of two processes.
    pub fn disjoint(
        &self,
        world: &mut World<'p>,
        (p, p_frame): (Point, &Frame),
        (q, q_frame): (Point, &Frame),
        memory: &Memory,
    ) -> Term {
        let mut differ = Vec::new();
        for list in &self.program.annotations.disjoint {
            for one in list {
                for other in list {
                    let here = |point: Point, at: &[NodeId]| {
                        point != Graph::IDLE && at.contains(&self.graph.place(point).node)
                    };
                    if !here(p, &one.at) || !here(q, &other.at) {
                        continue;
                    }
                    let mut when = Vec::new();
                    for (item, frame) in [(one, p_frame), (other, q_frame)] {
                        if let Some(condition) = &item.when {
                            when.push(world.annotation_truth(condition, memory, frame));
                        }
                    }
                    let when = world.terms.and(when);
                    let same =
                        world.same(p_frame.locals[one.local.index()], q_frame.locals[other.local.index()]);
                    let not = world.terms.not(same);
                    differ.push(world.terms.implies(when, not));
                }
            }
        }
        world.terms.and(differ)
    }
}

fn within(
    world: &mut World<'_>,
    value: Term,
    lo: &Expr,
    hi: &Expr,
    memory: &Memory,
    frame: &mut Frame,
) -> Term {
    let first = world.checks.len();
    let (lo, hi) = (world.number_of(lo, memory, frame), world.number_of(hi, memory, frame));
    world.checks.truncate(first);
    let value = world.number(value);
    let (low, high) = (world.terms.le(lo, value), world.terms.le(value, hi));
    world.terms.and([low, high])
}

/// The last, if none of the others.
fn unless(world: &mut World<'_>, earlier: &[Term], last: Term) -> Term {
    let mut all: Vec<Term> = earlier.iter().map(|term| world.terms.not(*term)).collect();
    all.push(last);
    world.terms.and(all)
}

/// Does a step look at locals and change locals only, without a choice?
fn is_local(edge: &Edge) -> bool {
    let mut local = true;
    edge.accesses(&mut |place, _| local &= !place.is_shared());
    let simple = |action: &Action| {
        matches!(action, Action::Assume(_) | Action::Assign(..) | Action::Mark(_) | Action::Claim(_))
    };
    local && edge.actions.iter().all(simple)
}

/// Which shared slots differ.
pub fn changed(before: &Memory, after: &Memory) -> Vec<Shared> {
    let mut changed = Vec::new();
    for (global, (old, new)) in before.globals.iter().zip(&after.globals).enumerate() {
        for slot in 0..old.len() {
            if old[slot] != new[slot] {
                changed.push(Shared::Global(global as u16, slot as u16));
            }
        }
    }
    for (record, (old, new)) in before.fields.iter().zip(&after.fields).enumerate() {
        for field in 0..old.len() {
            if old[field] != new[field] {
                changed.push(Shared::Field(record as u16, field as u16));
            }
        }
        if before.alive[record] != after.alive[record] {
            changed.push(Shared::Alive(RecordId(record as u16).0));
        }
    }
    changed
}

impl<'p> Subject<'p> {
    /// Does the abstraction or a status look at locks? Then what their holders know matters.
    pub fn looks_at_locks(&self) -> bool {
        let is_lock = |slot: &Shared| match slot {
            Shared::Global(global, slot) => {
                self.program.globals[usize::from(*global)].slots[usize::from(*slot)].ty == Type::Lock
            }
            _ => false,
        };
        let annotations = &self.program.annotations;
        let when = annotations
            .abs
            .iter()
            .chain(&annotations.abs_again)
            .filter_map(|abs| abs.over.as_ref()?.3.as_ref());
        let values = annotations.statuses.iter().flat_map(|at| match &at.status {
            Status::In => &[][..],
            Status::Out(values) | Status::InOut(values) => values,
        });
        let conditions = annotations.statuses.iter().filter_map(|at| at.when.as_ref());
        when.chain(values).chain(conditions).any(|e| crate::fact::shared_reads(e).iter().any(is_lock))
    }

    /// What every process that holds a lock knows: section 6.1 of the paper. A process that is named by no
    /// lock is not spoken of. `step` is who takes the step, if anybody does, and where.
    pub fn every_holder(
        &self,
        world: &mut World<'p>,
        facts: &Facts,
        step: Option<(Point, &Frame)>,
        memory: &Memory,
    ) -> Term {
        let mut known = Vec::new();
        for (number, (global, cells)) in self.program.globals.iter().zip(&memory.globals).enumerate() {
            for (slot, (of, cell)) in global.slots.iter().zip(cells).enumerate() {
                let (Type::Lock, Cell::Array(store), Some(length)) = (&of.ty, cell, &global.length) else {
                    continue;
                };
                // Where a process holds none of these locks, no holder is.
                let lock =
                    |index: Expr| Place::Element(GlobalId(number as u16), Box::new(index), slot as u16);
                let all = std::iter::once(Graph::IDLE).chain(self.graph.running());
                let places: Vec<Point> = all.filter(|at| !holds_none(facts.of(*at), lock, length)).collect();
                let nobody = world.none();
                let mut outside = Frame { pid: nobody, locals: vec![], inputs: vec![], result: vec![] };
                let length = world.number_of(length, memory, &mut outside);
                if let Node::Int(length @ 0..=8) = *world.terms.node(length) {
                    for index in 0..length {
                        let index = world.terms.int(index);
                        let holder = world.read(store, index);
                        known.push(self.holder(world, facts, (holder, &places), step, memory));
                    }
                    continue;
                }
                let depth = world.depth;
                world.depth += 1;
                let bound = world.terms.bound(depth);
                let holder = world.read(store, bound);
                let zero = world.terms.int(0);
                let (low, high) = (world.terms.le(zero, bound), world.terms.lt(bound, length));
                let inside = world.terms.and([low, high]);
                let held = self.holder(world, facts, (holder, &places), step, memory);
                let body = world.terms.implies(inside, held);
                world.depth = depth;
                known.push(world.terms.forall(depth, body));
            }
        }
        world.terms.and(known)
    }

    /// It is nobody, the process that takes the step, or one at one of these places that knows what is known
    /// there.
    fn holder(
        &self,
        world: &mut World<'p>,
        facts: &Facts,
        (holder, places): (Term, &[Point]),
        step: Option<(Point, &Frame)>,
        memory: &Memory,
    ) -> Term {
        let symbol = world.terms.symbol(Key::Place, "place", &[World::PROCESSES], crate::term::Sort::Int);
        let none = world.none();
        let place = world.terms.app(symbol, vec![holder]);
        let mut cases = vec![world.terms.eq(holder, none)];
        if let Some((_, frame)) = step {
            cases.push(world.terms.eq(holder, frame.pid));
        }
        for point in places {
            let number = world.terms.int(i64::from(point.0));
            let here = world.terms.eq(place, number);
            let other = world.frame(self.op(*point), holder);
            let mut known = self.known_of(world, *point, &other, memory, facts);
            if let Some((p, frame)) = step {
                known.push(self.disjoint(world, (p, frame), (*point, &other), memory));
                known.push(self.disjoint(world, (*point, &other), (p, frame), memory));
            }
            known.push(here);
            cases.push(world.terms.and(known));
        }
        world.terms.or(cases)
    }

    /// What the specification expects of who calls: a lock is released by its holder, and not asked for by
    /// it.
    pub fn may_be_called(&self, world: &mut World<'p>, point: Point, frame: &Frame, memory: &Memory) -> Term {
        use linpoint_history::specs::codes;
        let linpoint_lang::program::SpecSource::Builtin(spec) = &self.program.spec else {
            return world.terms.bool(true);
        };
        let name = self.op(point).map(|op| self.program.operation(op).name.clone()).unwrap_or_default();
        match (spec.kind, spec.signature().find(&name)) {
            (linpoint_history::Kind::Lock, Some(code)) => {
                let values = self.abstraction.values(world, memory);
                let Some(holder) = values.first() else { return world.terms.bool(true) };
                let holder = world.number(*holder);
                let mine = world.terms.eq(holder, frame.pid);
                if code == codes::lock::RELEASE { mine } else { world.terms.not(mine) }
            }
            _ => world.terms.bool(true),
        }
    }
}

/// Do the facts say that a process here holds none of the locks of an array?
fn holds_none(facts: &[Fact], lock: impl Fn(Expr) -> Place, length: &Expr) -> bool {
    facts.iter().any(|fact| match &fact.body {
        Expr::Quantified { all: true, local, lo, hi, body } => {
            let held = Expr::Read(lock(Expr::Read(Place::Local(*local))));
            let mine = Expr::Binary(BinOp::Eq, Box::new(held), Box::new(Expr::Me));
            let none = Expr::Binary(BinOp::Implies, Box::new(mine), Box::new(Expr::Const(0)));
            **lo == Expr::Const(0) && **hi == *length && **body == none
        }
        _ => false,
    })
}
