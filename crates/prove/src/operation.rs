//! The abstract operation: what the specification lets a call do, as a formula over the memory before and
//! after.

use linpoint_history::specs::codes;
use linpoint_history::{Builtin, Kind, Spec as _, Value};
use linpoint_lang::Program;
use linpoint_lang::program::{Exit, OpId, SpecSource};

use crate::abstraction::{Abstraction, Form};
use crate::symbol::Owner;
use crate::term::Term;
use crate::world::{Cell, Frame, Memory, World};

/// A call: which operation, by whom, with what.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which operation.
    pub op: OpId,
    /// By whom.
    pub pid: Term,
    /// With what.
    pub inputs: Vec<Term>,
}

/// More steps than this on one way through an operation of a `spec` are taken for a loop.
const MAX_STEPS: usize = 64;

/// More ways than this through an operation of a `spec` are refused.
const MAX_WAYS: usize = 256;

impl<'p> Abstraction<'p> {
    /// May the call take the abstract state from `before` to `after`, and answer `out`?
    pub fn takes_effect(
        &self,
        world: &mut World<'_>,
        call: &Call,
        before: &Memory,
        after: &Memory,
        out: &[Term],
    ) -> Term {
        let program = world.program;
        match &program.spec {
            SpecSource::Nothing => world.refuse("it has no specification"),
            SpecSource::Builtin(spec) => self.builtin(world, spec, call, before, after, out),
            SpecSource::Block(block) => self.block(world, block, call, before, after, out),
        }
    }

    fn builtin(
        &self,
        world: &mut World<'_>,
        spec: &Builtin,
        call: &Call,
        before: &Memory,
        after: &Memory,
        out: &[Term],
    ) -> Term {
        let Some(code) = spec.signature().find(&world.program.operation(call.op).name) else {
            return world.refuse("an operation that the specification does not have");
        };
        let inputs: Vec<Term> = call.inputs.iter().map(|input| world.number(*input)).collect();
        let same = self.unchanged(world, before, after);
        match (spec.kind, code, inputs.as_slice(), out) {
            (Kind::Multiset, codes::set::INSERT_PAIR, [x, y], [done]) if spec.capacity.is_none() => {
                let done = world.truth(*done);
                let both = self.bag_changes(world, before, after, &[*x, *y], &[]);
                world.terms.ite(done, both, same)
            }
            (Kind::Multiset | Kind::Set | Kind::List, codes::set::CONTAINS, [x], [found]) => {
                let (found, member) = (world.truth(*found), self.member(world, before, *x));
                let answer = world.terms.eq(found, member);
                world.terms.and([same, answer])
            }
            (Kind::Multiset | Kind::Set | Kind::List, codes::set::REMOVE, [x], [found]) => {
                let (found, member) = (world.truth(*found), self.member(world, before, *x));
                let less = self.bag_changes(world, before, after, &[], &[*x]);
                let change = world.terms.ite(found, less, same);
                let answer = world.terms.eq(found, member);
                world.terms.and([answer, change])
            }
            (Kind::Multiset | Kind::List, codes::set::ADD, [x], out)
                if spec.capacity.is_none() && out.is_empty() =>
            {
                self.bag_changes(world, before, after, &[*x], &[])
            }
            // A set that starts empty and takes in only what is not in it is a bag without repetitions.
            (Kind::Set, codes::set::ADD, [x], [new]) if spec.capacity.is_none() => {
                let (new, member) = (world.truth(*new), self.member(world, before, *x));
                let more = self.bag_changes(world, before, after, &[*x], &[]);
                let change = world.terms.ite(new, more, same);
                let other = world.terms.not(member);
                let answer = world.terms.eq(new, other);
                world.terms.and([answer, change])
            }
            (Kind::Queue, codes::queue::ENQUEUE, [x], out) | (Kind::Stack, codes::stack::PUSH, [x], out) => {
                let longer = self.keeps(world, before, after, (0, 0, 1));
                let (_, hi) = self.range(world, after);
                let one = world.terms.int(1);
                let last = world.terms.sub(hi, one);
                let item = self.item(world, after, last);
                let put = world.terms.eq(item, *x);
                let put = world.terms.and([longer, put]);
                match (spec.capacity, out) {
                    (None, []) => put,
                    (Some(capacity), [done]) => {
                        let done = world.truth(*done);
                        let (lo, hi) = self.range(world, before);
                        let (length, capacity) = (world.terms.sub(hi, lo), world.terms.int(capacity as i64));
                        let room = world.terms.lt(length, capacity);
                        let full = if spec.spurious { world.terms.bool(true) } else { world.terms.not(room) };
                        let (yes, no) = (world.terms.and([room, put]), world.terms.and([full, same]));
                        world.terms.ite(done, yes, no)
                    }
                    _ => world.refuse("a result that the specification does not have"),
                }
            }
            (Kind::Queue, codes::queue::DEQUEUE, [], [out]) | (Kind::Stack, codes::stack::POP, [], [out]) => {
                let out = world.number(*out);
                let (lo, hi) = self.range(world, before);
                let (one, none) = (world.terms.int(1), world.none());
                let (taken, at) = match spec.kind {
                    Kind::Queue => ((1, 0, 0), lo),
                    _ => ((0, 1, 0), world.terms.sub(hi, one)),
                };
                let shorter = self.keeps(world, before, after, taken);
                let (some, item) = (world.terms.lt(lo, hi), self.item(world, before, at));
                let answer = world.terms.eq(out, item);
                let got = world.terms.and([some, answer, shorter]);
                let (is_none, empty) = (world.terms.eq(out, none), world.terms.not(some));
                let empty = if spec.spurious { world.terms.bool(true) } else { empty };
                let nothing = world.terms.and([is_none, empty, same]);
                world.terms.or([got, nothing])
            }
            _ if self.form == Form::Values => {
                self.scalar(world, spec, code, call, &inputs, (before, after), out)
            }
            _ => world.refuse("there are no obligations for this operation yet"),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn scalar(
        &self,
        world: &mut World<'_>,
        spec: &Builtin,
        code: linpoint_history::OpCode,
        call: &Call,
        inputs: &[Term],
        (before, after): (&Memory, &Memory),
        out: &[Term],
    ) -> Term {
        let (old, new) = (self.values(world, before), self.values(world, after));
        let ([old], [new]) = (old.as_slice(), new.as_slice()) else {
            return world.refuse("`abs` should be one value");
        };
        let (old, new) = (world.number(*old), world.number(*new));
        let same = world.terms.eq(old, new);
        let (one, none) = (world.terms.int(1), world.none());
        match (spec.kind, code, inputs, out) {
            (Kind::Counter, codes::counter::INCREMENT, [], []) => {
                let next = world.terms.add(old, one);
                world.terms.eq(new, next)
            }
            (Kind::Counter, codes::counter::ADD, [n], []) => {
                let next = world.terms.add(old, *n);
                world.terms.eq(new, next)
            }
            (Kind::Counter, codes::counter::READ, [], [value])
            | (Kind::Register | Kind::CasRegister | Kind::RmwRegister, codes::register::READ, [], [value]) => {
                let answer = world.same(*value, old);
                world.terms.and([same, answer])
            }
            (Kind::Register | Kind::CasRegister | Kind::RmwRegister, codes::register::WRITE, [value], []) => {
                world.terms.eq(new, *value)
            }
            (Kind::CasRegister, codes::register::CAS, [from, to], [done]) => {
                let (done, hit) = (world.truth(*done), world.terms.eq(old, *from));
                let (answer, put) = (world.terms.eq(done, hit), world.terms.eq(new, *to));
                let change = world.terms.ite(done, put, same);
                world.terms.and([answer, change])
            }
            (Kind::RmwRegister, codes::register::SWAP, [value], [got]) => {
                let (answer, put) = (world.same(*got, old), world.terms.eq(new, *value));
                world.terms.and([answer, put])
            }
            (Kind::RmwRegister, codes::register::FETCH_ADD, [n], [got]) => {
                let next = world.terms.add(old, *n);
                let (answer, put) = (world.same(*got, old), world.terms.eq(new, next));
                world.terms.and([answer, put])
            }
            (Kind::Lock, codes::lock::ACQUIRE, [], []) => {
                let (free, mine) = (world.terms.eq(old, none), world.terms.eq(new, call.pid));
                world.terms.and([free, mine])
            }
            (Kind::Lock, codes::lock::RELEASE, [], []) => {
                let (mine, free) = (world.terms.eq(old, call.pid), world.terms.eq(new, none));
                world.terms.and([mine, free])
            }
            _ => world.refuse("there are no obligations for this operation yet"),
        }
    }

    /// What the call answers where the specification leaves no choice; for linearization points that do not
    /// say it.
    pub fn answer(&self, world: &mut World<'_>, call: &Call, before: &Memory) -> Option<Vec<Term>> {
        let program = world.program;
        if program.operation(call.op).result.parts.is_empty() {
            return Some(Vec::new());
        }
        let SpecSource::Builtin(spec) = &program.spec else { return None };
        let code = spec.signature().find(&program.operation(call.op).name)?;
        let value = match (spec.kind, code) {
            (Kind::Queue, codes::queue::DEQUEUE) | (Kind::Stack, codes::stack::POP) if !spec.spurious => {
                let (lo, hi) = self.range(world, before);
                let (one, none) = (world.terms.int(1), world.none());
                let at = if spec.kind == Kind::Queue { lo } else { world.terms.sub(hi, one) };
                let (some, item) = (world.terms.lt(lo, hi), self.item(world, before, at));
                world.terms.ite(some, item, none)
            }
            (Kind::Multiset | Kind::Set | Kind::List, codes::set::CONTAINS | codes::set::REMOVE) => {
                let x = world.number(*call.inputs.first()?);
                self.member(world, before, x)
            }
            (Kind::Set, codes::set::ADD) => {
                let x = world.number(*call.inputs.first()?);
                let member = self.member(world, before, x);
                world.terms.not(member)
            }
            (Kind::Counter, codes::counter::READ)
            | (Kind::Register | Kind::CasRegister | Kind::RmwRegister, codes::register::READ) => {
                *self.values(world, before).first()?
            }
            _ => return None,
        };
        Some(world.result(&program.operation(call.op).result, vec![value]))
    }

    fn block(
        &self,
        world: &mut World<'_>,
        block: &Program,
        call: &Call,
        before: &Memory,
        after: &Memory,
        out: &[Term],
    ) -> Term {
        let mut inner = World::new(block);
        inner.fixed = world.fixed.clone();
        inner.bind_choices = true;
        inner.owner = Owner::Spec;
        let (variables, known) = self.spec_memory(world, &mut inner, before);
        inner.depth = world.depth;
        let base = world.depth;
        std::mem::swap(&mut world.terms, &mut inner.terms);
        let mut frame = inner.frame(Some(call.op), call.pid);
        for (local, input) in frame.locals.iter_mut().zip(&call.inputs) {
            *local = *input;
        }
        let start = block.operation(call.op).entry;
        let mut open = vec![(start, variables.clone(), frame, Vec::new(), 0_usize)];
        let mut ways: Vec<(Vec<Term>, Memory, Vec<Term>)> = Vec::new();
        while let Some((node, memory, frame, guards, steps)) = open.pop() {
            if steps > MAX_STEPS || ways.len() > MAX_WAYS {
                inner.refuse("an operation of `spec` with a loop, or with too many ways through it");
                break;
            }
            for edge in &block.node(node).edges {
                let taken =
                    inner.take(call.op, edge, &vec![false; edge.marks().count()], true, &memory, &frame);
                // A way on which the specification goes wrong is none.
                let guards: Vec<Term> =
                    guards.iter().chain(&taken.guards).chain(&taken.checks).copied().collect();
                match (&edge.exit, taken.returned) {
                    (Exit::Goto(to), _) => open.push((*to, taken.memory, taken.frame, guards, steps + 1)),
                    (Exit::Return(_), Some(result)) => ways.push((guards, taken.memory, result)),
                    (Exit::Return(_), None) => {}
                }
            }
        }
        let deepest = inner.depth;
        std::mem::swap(&mut world.terms, &mut inner.terms);
        if let Some(why) = inner.unsupported.take() {
            return world.refuse(why);
        }
        world.depth = deepest;
        let mut any = Vec::new();
        for (guards, changed, result) in ways {
            let matches = self.spec_matches(world, (before, &variables), (after, &changed));
            let answer = world.all_same(&result, out);
            let way = world.terms.and(guards.into_iter().chain([matches, answer]));
            any.push((base..deepest).rev().fold(way, |way, depth| world.terms.exists(depth, way)));
        }
        world.depth = base;
        let any = world.terms.or(any);
        // What is known of the variables of the specification is so by their meaning.
        let known = world.terms.and(known);
        world.terms.implies(known, any)
    }

    /// Is this the state that the specification starts with?
    pub fn is_initial(&self, world: &mut World<'_>, memory: &Memory) -> Term {
        let program = world.program;
        match &program.spec {
            SpecSource::Nothing => world.refuse("it has no specification"),
            SpecSource::Builtin(spec) if self.form != Form::Values => match &spec.initial {
                Value::Null => self.is_empty(world, memory),
                _ => world.refuse("a specification that does not start empty"),
            },
            SpecSource::Builtin(spec) => {
                let values = self.values(world, memory);
                let [value] = values.as_slice() else { return world.refuse("`abs` should be one value") };
                let initial = match &spec.initial {
                    Value::Null => world.none(),
                    Value::Int(n) => world.terms.int(*n),
                    _ => {
                        return world.refuse("a specification that starts with something else than a number");
                    }
                };
                world.same(*value, initial)
            }
            SpecSource::Block(block) => {
                if block.init.is_some() {
                    return world.refuse("a `spec` with initial code");
                }
                if self.form == Form::Counted {
                    let zero = block.globals[0].slots[0].init == linpoint_lang::program::Expr::Const(0);
                    return if zero {
                        self.is_empty(world, memory)
                    } else {
                        world.refuse("counts that do not start at 0")
                    };
                }
                if self.form == Form::Vector {
                    let initial = match &block.globals[0].slots[0].init {
                        linpoint_lang::program::Expr::Const(word) => world.terms.int(i64::from(*word)),
                        _ => return world.refuse("an array of `spec` that does not start with a number"),
                    };
                    let depth = world.depth;
                    world.depth += 1;
                    let bound = world.terms.bound(depth);
                    let (counts, item) = (self.counts(world, memory, bound), self.item(world, memory, bound));
                    let same = world.terms.eq(item, initial);
                    let body = world.terms.implies(counts, same);
                    world.depth = depth;
                    return world.terms.forall(depth, body);
                }
                let mut inner = World::new(block);
                inner.fixed = world.fixed.clone();
                let (variables, _) = self.spec_memory(world, &mut inner, memory);
                std::mem::swap(&mut world.terms, &mut inner.terms);
                let start = inner.initial_values(&variables);
                std::mem::swap(&mut world.terms, &mut inner.terms);
                self.spec_matches(world, (memory, &variables), (memory, &start))
            }
        }
    }
}

impl World<'_> {
    /// The initial values in a memory whose arrays are known element by element.
    fn initial_values(&mut self, memory: &Memory) -> Memory {
        let mut start = memory.clone();
        let nobody = self.none();
        let nothing = Memory { globals: vec![], fields: vec![], alive: vec![] };
        let mut frame = Frame { pid: nobody, locals: vec![], inputs: vec![], result: vec![] };
        let program = self.program;
        for (global, cells) in program.globals.iter().zip(&mut start.globals) {
            for (slot, cell) in global.slots.iter().zip(cells) {
                let value = self.eval(&slot.init, &nothing, &mut frame);
                let value = self.fit(value, crate::world::sort_of(&slot.ty));
                match cell {
                    Cell::Scalar(scalar) => *scalar = value,
                    Cell::Array(store) => store.writes.iter_mut().for_each(|(_, written)| *written = value),
                }
            }
        }
        start
    }
}
