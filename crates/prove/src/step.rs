//! What expressions and steps mean in formulas. The same cases, in the same order, as the interpreter
//! (`linpoint_lang::interp`).

use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{
    Action, Edge, Exit, Expr, LocalId, MarkKind, OpId, Place, Slot, Type, UNBOUNDED,
};

use crate::symbol::Key;
use crate::term::{Node, Term};
use crate::world::{Cell, Frame, INPUT, Memory, RESULT, World, sort_of};

/// A quantifier over at most so many known numbers is written out.
const MAX_LISTED: i64 = 8;

/// A step that was taken in formulas.
#[derive(Clone, Debug)]
pub struct Taken {
    /// What must hold for it to be taken.
    pub guards: Vec<Term>,
    /// Which of these only say that a record is a new one: there always is one.
    pub made: Vec<Term>,
    /// What must hold for it not to go wrong, each under the guards before it.
    pub checks: Vec<Term>,
    /// Memory after it.
    pub memory: Memory,
    /// The process after it.
    pub frame: Frame,
    /// What it returns.
    pub returned: Option<Vec<Term>>,
    /// A linearization point was passed that did not say the result.
    pub silent: bool,
}

impl World<'_> {
    /// The value of an expression for a process. Bound locals are put after those of the frame.
    pub fn eval(&mut self, e: &Expr, memory: &Memory, frame: &mut Frame) -> Term {
        if let Some(named) = self.as_opaque(e, memory, frame) {
            return named;
        }
        match e {
            Expr::Const(word) => self.terms.int(i64::from(*word)),
            Expr::Size(size) => self.size(size.index()),
            Expr::Me => frame.pid,
            Expr::Read(place) => self.read_place(place, memory, frame),
            Expr::Not(e) => {
                let value = self.truth_of(e, memory, frame);
                self.terms.not(value)
            }
            Expr::Neg(e) => {
                let (zero, value) = (self.terms.int(0), self.number_of(e, memory, frame));
                self.terms.sub(zero, value)
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b, memory, frame),
            Expr::Quantified { all, local, lo, hi, body } => {
                let (lo, hi) = (self.number_of(lo, memory, frame), self.number_of(hi, memory, frame));
                while frame.locals.len() <= local.index() {
                    let nothing = self.terms.int(0);
                    frame.locals.push(nothing);
                }
                if let (Node::Int(lo), Node::Int(hi)) = (self.terms.node(lo), self.terms.node(hi))
                    && hi.saturating_sub(*lo) <= MAX_LISTED
                {
                    let (lo, hi) = (*lo, *hi);
                    return self.listed(*all, *local, (lo, hi), body, memory, frame);
                }
                let depth = self.depth;
                self.depth += 1;
                let bound = self.terms.bound(depth);
                let outer = std::mem::replace(&mut frame.locals[local.index()], bound);
                let first = self.checks.len();
                let (from, to) = (self.terms.le(lo, bound), self.terms.lt(bound, hi));
                let within = self.terms.and([from, to]);
                let body = self.truth_of(body, memory, frame);
                frame.locals[local.index()] = outer;
                self.depth = depth;
                for check in self.checks.split_off(first) {
                    let check = self.terms.implies(within, check);
                    let check = self.terms.forall(depth, check);
                    self.checks.push(check);
                }
                if *all {
                    let body = self.terms.implies(within, body);
                    self.terms.forall(depth, body)
                } else {
                    let body = self.terms.and([within, body]);
                    self.terms.exists(depth, body)
                }
            }
            Expr::Unwrap(e) => {
                let (value, none) = (self.number_of(e, memory, frame), self.none());
                let is_none = self.terms.eq(value, none);
                let check = self.terms.not(is_none);
                self.check(check);
                value
            }
            Expr::Term(_) => self.refuse("a term about the future outside its claim"),
        }
    }

    /// A quantifier over a few numbers that are known: one after another, so that no quantifier is left.
    fn listed(
        &mut self,
        all: bool,
        local: LocalId,
        (lo, hi): (i64, i64),
        body: &Expr,
        memory: &Memory,
        frame: &mut Frame,
    ) -> Term {
        let outer = frame.locals[local.index()];
        let mut parts = Vec::new();
        for n in lo..hi {
            // Quantifiers in quantifiers multiply.
            if self.terms.is_late() {
                break;
            }
            frame.locals[local.index()] = self.terms.int(n);
            parts.push(self.truth_of(body, memory, frame));
        }
        frame.locals[local.index()] = outer;
        if all { self.terms.and(parts) } else { self.terms.or(parts) }
    }

    /// An expression as a truth value.
    pub fn truth_of(&mut self, e: &Expr, memory: &Memory, frame: &mut Frame) -> Term {
        let value = self.eval(e, memory, frame);
        self.truth(value)
    }

    /// An expression as a number.
    pub fn number_of(&mut self, e: &Expr, memory: &Memory, frame: &mut Frame) -> Term {
        let value = self.eval(e, memory, frame);
        self.number(value)
    }

    /// An annotation: what may go wrong in it is not looked at.
    pub fn annotation(&mut self, e: &Expr, memory: &Memory, frame: &Frame) -> Term {
        let first = self.checks.len();
        let value = self.eval(e, memory, &mut frame.clone());
        self.checks.truncate(first);
        value
    }

    fn check(&mut self, holds: Term) {
        let guard = self.terms.and(self.guards.clone());
        let check = self.terms.implies(guard, holds);
        self.checks.push(check);
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr, memory: &Memory, frame: &mut Frame) -> Term {
        if let BinOp::And | BinOp::Or | BinOp::Implies = op {
            let a = self.truth_of(a, memory, frame);
            let not = self.terms.not(a);
            // The second is looked at only if the first does not decide.
            self.guards.push(if op == BinOp::Or { not } else { a });
            let b = self.truth_of(b, memory, frame);
            self.guards.pop();
            return match op {
                BinOp::And => self.terms.and([a, b]),
                BinOp::Or => self.terms.or([a, b]),
                _ => self.terms.or([not, b]),
            };
        }
        let a = self.eval(a, memory, frame);
        let b = self.eval(b, memory, frame);
        if let BinOp::Eq | BinOp::Ne = op {
            let same = self.same(a, b);
            return if op == BinOp::Eq { same } else { self.terms.not(same) };
        }
        let (a, b) = (self.number(a), self.number(b));
        match op {
            BinOp::Lt => self.terms.lt(a, b),
            BinOp::Le => self.terms.le(a, b),
            BinOp::Gt => self.terms.lt(b, a),
            BinOp::Ge => self.terms.le(b, a),
            BinOp::Add => self.terms.add(a, b),
            BinOp::Sub => self.terms.sub(a, b),
            BinOp::Mul => self.terms.mul(a, b),
            _ => {
                // The interpreter's remainder has the sign of the first number.
                let zero = self.terms.int(0);
                let by_zero = self.terms.eq(b, zero);
                let check = self.terms.not(by_zero);
                self.check(check);
                let minus = self.terms.sub(zero, a);
                let (plain, turned) = (self.terms.modulo(a, b), self.terms.modulo(minus, b));
                let turned = self.terms.sub(zero, turned);
                let positive = self.terms.le(zero, a);
                self.terms.ite(positive, plain, turned)
            }
        }
    }

    fn read_place(&mut self, place: &Place, memory: &Memory, frame: &mut Frame) -> Term {
        match place {
            Place::Local(local) => {
                let found = match local.0 {
                    part @ RESULT.. => frame.result.get(usize::from(part - RESULT)),
                    input @ INPUT.. => frame.inputs.get(usize::from(input - INPUT)),
                    own => frame.locals.get(usize::from(own)),
                };
                match found {
                    Some(value) => *value,
                    None => self.refuse("a local variable that is not there"),
                }
            }
            Place::Global(global, slot) => match &memory.globals[global.index()][usize::from(*slot)] {
                Cell::Scalar(value) => *value,
                Cell::Array(_) => self.refuse("an array without an index"),
            },
            Place::Element(global, index, slot) => {
                let index = self.index(*global, index, memory, frame);
                match &memory.globals[global.index()][usize::from(*slot)] {
                    Cell::Array(store) => self.read(store, index),
                    Cell::Scalar(_) => self.refuse("an index into something that is no array"),
                }
            }
            Place::Field(pointer, record, field) => {
                let pointer = self.pointer(pointer, *record, memory, frame);
                self.read(&memory.fields[record.index()][usize::from(*field)], pointer)
            }
        }
    }

    fn index(
        &mut self,
        global: linpoint_lang::program::GlobalId,
        index: &Expr,
        memory: &Memory,
        frame: &mut Frame,
    ) -> Term {
        let index = self.number_of(index, memory, frame);
        let program = self.program;
        let Some(length) = &program.globals[global.index()].length else { return index };
        if *length == Expr::Const(UNBOUNDED) {
            return index;
        }
        let (zero, length) = (self.terms.int(0), self.number_of(length, memory, frame));
        let (low, high) = (self.terms.le(zero, index), self.terms.lt(index, length));
        let within = self.terms.and([low, high]);
        self.check(within);
        index
    }

    fn pointer(
        &mut self,
        pointer: &Expr,
        record: linpoint_lang::program::RecordId,
        memory: &Memory,
        frame: &mut Frame,
    ) -> Term {
        let pointer = self.number_of(pointer, memory, frame);
        let zero = self.terms.int(0);
        let some = self.terms.lt(zero, pointer);
        self.check(some);
        let kind = &self.program.records[record.index()];
        if kind.freed && !kind.pooled {
            let alive = self.read(&memory.alive[record.index()], pointer);
            self.check(alive);
        }
        pointer
    }

    /// Takes an edge. `marks` says for each linearization point whether its condition holds; `given`, that
    /// points do not count.
    pub fn take(
        &mut self,
        op: OpId,
        edge: &Edge,
        marks: &[bool],
        given: bool,
        memory: &Memory,
        frame: &Frame,
    ) -> Taken {
        assert!(self.guards.is_empty() && self.checks.is_empty(), "nothing is left over from another step");
        let (mut memory, mut frame) = (memory.clone(), frame.clone());
        let operation = self.program.operation(op);
        let (mut silent, mut mark_number, mut made) = (false, 0, Vec::new());
        for action in &edge.actions {
            match action {
                Action::Assume(e) => {
                    let holds = self.truth_of(e, &memory, &mut frame);
                    self.guards.push(holds);
                }
                Action::Assert(e, _) => {
                    let holds = self.truth_of(e, &memory, &mut frame);
                    self.check(holds);
                }
                Action::Assign(place, e) => {
                    let value = self.eval(e, &memory, &mut frame);
                    self.write(op, place, value, &mut memory, &mut frame);
                }
                Action::Choose(local, lo, hi) => {
                    let (lo, hi) =
                        (self.number_of(lo, &memory, &mut frame), self.number_of(hi, &memory, &mut frame));
                    let value = match self.bind_choices {
                        true => {
                            self.depth += 1;
                            self.terms.bound(self.depth - 1)
                        }
                        false => self.fresh(Key::Choice, "choice"),
                    };
                    let (low, high) = (self.terms.le(lo, value), self.terms.le(value, hi));
                    self.guards.extend([low, high]);
                    self.write(op, &Place::Local(*local), value, &mut memory, &mut frame);
                }
                Action::Prophecy(local, None) => {
                    let guess = self.fresh(Key::Choice, "guess");
                    self.write(op, &Place::Local(*local), guess, &mut memory, &mut frame);
                }
                // A thread whose guess was another is of a run that is not looked at.
                Action::Prophecy(local, Some(e)) => {
                    let found = self.eval(e, &memory, &mut frame);
                    let guess = self.read_place(&Place::Local(*local), &memory, &mut frame);
                    let right = self.same(guess, found);
                    self.guards.push(right);
                }
                Action::New { local, record, fields } => {
                    let kind = &self.program.records[record.index()];
                    let mut values = Vec::new();
                    for (field, e) in fields {
                        let slot = &kind.fields[usize::from(*field)];
                        let value = self.eval(e, &memory, &mut frame);
                        let value = self.fit(value, sort_of(&slot.ty));
                        self.fits(slot, value, &memory, &mut frame);
                        values.push((usize::from(*field), value));
                    }
                    let cell = self.fresh(Key::Made, "new");
                    let zero = self.terms.int(0);
                    let some = self.terms.lt(zero, cell);
                    let alive = self.read(&memory.alive[record.index()], cell);
                    let free = self.terms.not(alive);
                    self.guards.extend([some, free]);
                    made.extend([some, free]);
                    let yes = self.terms.bool(true);
                    memory.alive[record.index()].writes.push((cell, yes));
                    for (index, slot) in kind.fields.iter().enumerate() {
                        let value = match values.iter().find(|(field, _)| *field == index) {
                            Some((_, value)) => *value,
                            None => {
                                let value = self.eval(&slot.init, &memory, &mut frame);
                                self.fit(value, sort_of(&slot.ty))
                            }
                        };
                        memory.fields[record.index()][index].writes.push((cell, value));
                    }
                    frame.locals[local.index()] = cell;
                }
                Action::Free(e) => {
                    let Some(record) = self.kind_of(op, e) else {
                        self.refuse("`free` of a pointer whose kind is not plain");
                        continue;
                    };
                    let pointer = self.number_of(e, &memory, &mut frame);
                    let zero = self.terms.int(0);
                    let some = self.terms.lt(zero, pointer);
                    let alive = self.read(&memory.alive[record], pointer);
                    let sound = self.terms.and([some, alive]);
                    self.check(sound);
                    let no = self.terms.bool(false);
                    memory.alive[record].writes.push((pointer, no));
                }
                Action::Lock(place) => {
                    let (held, none) = (self.read_place(place, &memory, &mut frame), self.none());
                    let free = self.terms.eq(held, none);
                    self.guards.push(free);
                    let me = frame.pid;
                    self.write(op, place, me, &mut memory, &mut frame);
                }
                Action::Unlock(place) => {
                    let held = self.read_place(place, &memory, &mut frame);
                    let mine = self.terms.eq(held, frame.pid);
                    self.check(mine);
                    let none = self.none();
                    self.write(op, place, none, &mut memory, &mut frame);
                }
                Action::Mark(mark) => {
                    let counts = mark.kind == MarkKind::Lin && !given;
                    let taken = marks.get(mark_number).copied().unwrap_or(false);
                    mark_number += 1;
                    if !counts {
                        continue;
                    }
                    if let Some(when) = &mark.when {
                        let when = self.annotation_truth(when, &memory, &frame);
                        let when = if taken { when } else { self.terms.not(when) };
                        self.guards.push(when);
                    }
                    if taken {
                        match &mark.result {
                            Some(values) => {
                                let values: Vec<Term> =
                                    values.iter().map(|e| self.annotation(e, &memory, &frame)).collect();
                                frame.result = self.result(&operation.result, values);
                            }
                            None => silent = true,
                        }
                    }
                }
                Action::Claim(_) => {}
            }
        }
        let returned = match &edge.exit {
            Exit::Goto(_) => None,
            Exit::Return(values) => {
                let values: Vec<Term> = values.iter().map(|e| self.eval(e, &memory, &mut frame)).collect();
                Some(self.result(&operation.result, values))
            }
        };
        let (guards, checks) = (std::mem::take(&mut self.guards), std::mem::take(&mut self.checks));
        Taken { guards, made, checks, memory, frame, returned, silent }
    }

    /// An annotation as a truth value.
    pub fn annotation_truth(&mut self, e: &Expr, memory: &Memory, frame: &Frame) -> Term {
        let value = self.annotation(e, memory, frame);
        self.truth(value)
    }

    fn write(&mut self, op: OpId, place: &Place, value: Term, memory: &mut Memory, frame: &mut Frame) {
        let program = self.program;
        let Some(slot) = program.slot(op, place) else {
            self.refuse("a write to something that is not there");
            return;
        };
        let value = self.fit(value, sort_of(&slot.ty));
        match place {
            Place::Local(local) => {
                self.fits(slot, value, memory, frame);
                frame.locals[local.index()] = value;
            }
            Place::Global(global, number) => {
                self.fits(slot, value, memory, frame);
                memory.globals[global.index()][usize::from(*number)] = Cell::Scalar(value);
            }
            Place::Element(global, index, number) => {
                let index = self.index(*global, index, memory, frame);
                self.fits(slot, value, memory, frame);
                if let Cell::Array(store) = &mut memory.globals[global.index()][usize::from(*number)] {
                    store.writes.push((index, value));
                }
            }
            Place::Field(pointer, record, field) => {
                let pointer = self.pointer(pointer, *record, memory, frame);
                self.fits(slot, value, memory, frame);
                memory.fields[record.index()][usize::from(*field)].writes.push((pointer, value));
            }
        }
    }

    /// A value must be in the range of its slot.
    fn fits(&mut self, slot: &Slot, value: Term, memory: &Memory, frame: &mut Frame) {
        if let Some((lo, hi)) = &slot.bounds {
            let (lo, hi) = (self.number_of(lo, memory, frame), self.number_of(hi, memory, frame));
            let value = self.number(value);
            let (low, high) = (self.terms.le(lo, value), self.terms.le(value, hi));
            let within = self.terms.and([low, high]);
            self.check(within);
        }
    }

    /// The kind of record a pointer leads to.
    fn kind_of(&self, op: OpId, e: &Expr) -> Option<usize> {
        let Expr::Read(place) = e else { return None };
        match self.program.slot(op, place)?.ty {
            Type::Pointer(record) => Some(record.index()),
            _ => None,
        }
    }
}
