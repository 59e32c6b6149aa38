//! Guesses that inference starts from.
//!
//! A candidate is a guess: it is dropped when a step breaks it (`houdini.rs`), and what is left is proved
//! again, fact by fact, with the obligations. So templates can be chosen freely; they are those of arrays of
//! records that are reserved, filled and locked. For index variables v, w of a length L, where `in(v)` is 0
//! <= v < L:
//!
//! - v against 0 and L; `in(v) && in(w) ==> v != w`; v against other integers;
//! - `in(v) ==>` field of v is a constant, is not, is a value of a local, is `me`, is `none`;
//! - `all n: lock[n] == me ==> n is v or w`: which locks a process holds at most;
//! - `all n: owner[n] == me && !visible[n] && state[n] != c ==> n is v or w`, for ghosts of these kinds, and
//!   `all n: owner[n] == me && hidden[n] ==> n is v or w`;
//! - the conditions of linearization points, and their opposites; what tests say about locals and shared
//!   variables;
//! - a local is still what it was read or copied from: `v == e` for an assignment `v = e` of the operation; a
//!   parameter that is assigned to is still what it was at the call; the result is a local, or its opposite;
//! - always: `all n: visible[n] ==> state[n] == c`; `all n: hidden[n] ==> lock[n] == owner[n] && owner[n] !=
//!   none`; `all n: state[n] == c && !visible[n] ==> lock[n] == owner[n] && owner[n] != none`.

mod records;

use std::collections::BTreeSet;

use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Action, Expr, GlobalId, LocalId, NONE, OpId, Place, Slot, Type, UNBOUNDED};

use crate::world::{INPUT, is_assigned};

/// An array slot.
struct Column<'p> {
    global: GlobalId,
    slot: u16,
    of: &'p Slot,
    length: &'p Expr,
}

/// Makes guesses about one program.
pub struct Guesser<'p> {
    program: &'p Program,
    columns: Vec<Column<'p>>,
    lengths: Vec<&'p Expr>,
    /// The bound variable of guesses: no operation has so many locals.
    bound: LocalId,
}

fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

fn local(id: LocalId) -> Expr {
    Expr::Read(Place::Local(id))
}

fn constant(value: i32) -> Expr {
    Expr::Const(value)
}

fn inside(v: &Expr, length: &Expr) -> Expr {
    let low = binary(BinOp::Le, constant(0), v.clone());
    binary(BinOp::And, low, binary(BinOp::Lt, v.clone(), length.clone()))
}

fn all(conditions: Vec<Expr>) -> Expr {
    conditions.into_iter().reduce(|a, b| binary(BinOp::And, a, b)).unwrap_or(constant(1))
}

fn implies(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Implies, a, b)
}

fn eq(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Eq, a, b)
}

fn ne(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Ne, a, b)
}

impl Column<'_> {
    fn at(&self, index: &Expr) -> Expr {
        Expr::Read(Place::Element(self.global, Box::new(index.clone()), self.slot))
    }
}

impl<'p> Guesser<'p> {
    /// Guesses about this program.
    pub fn new(program: &'p Program) -> Guesser<'p> {
        let (mut columns, mut lengths): (Vec<Column<'p>>, Vec<&Expr>) = (Vec::new(), Vec::new());
        for (number, global) in program.globals.iter().enumerate() {
            let Some(length) = global.length.as_ref().filter(|length| **length != Expr::Const(UNBOUNDED))
            else {
                continue;
            };
            if !lengths.contains(&length) {
                lengths.push(length);
            }
            for (slot, of) in global.slots.iter().enumerate() {
                columns.push(Column { global: GlobalId(number as u16), slot: slot as u16, of, length });
            }
        }
        let widest = program.operations.iter().map(|op| op.locals.len()).max().unwrap_or(0);
        Guesser { program, columns, lengths, bound: LocalId(widest as u16) }
    }

    fn of_length(&self, length: &'p Expr) -> impl Iterator<Item = &Column<'p>> {
        self.columns.iter().filter(move |column| column.length == length)
    }

    /// `all n in 0..length: body`
    fn every(&self, length: &Expr, body: Expr) -> Expr {
        Expr::Quantified {
            all: true,
            local: self.bound,
            lo: Box::new(constant(0)),
            hi: Box::new(length.clone()),
            body: Box::new(body),
        }
    }

    fn variants(&self, ty: &Type) -> i32 {
        match ty {
            Type::Enum(id) => self.program.enums[id.index()].variants.len() as i32,
            _ => 0,
        }
    }

    /// What may hold always.
    pub fn always(&self) -> Vec<Expr> {
        let n = local(self.bound);
        let mut guesses = Vec::new();
        for length in &self.lengths {
            let flags: Vec<&Column> = self.of_length(length).filter(|c| c.of.ty == Type::Bool).collect();
            let states: Vec<&Column> =
                self.of_length(length).filter(|c| self.variants(&c.of.ty) > 0).collect();
            let locks: Vec<&Column> = self.of_length(length).filter(|c| c.of.ty == Type::Lock).collect();
            let owners: Vec<&Column> = self.of_length(length).filter(|c| is_owner(&c.of.ty)).collect();
            for flag in &flags {
                for (lock, owner) in locks.iter().flat_map(|l| owners.iter().map(move |o| (l, o))) {
                    let held = eq(lock.at(&n), owner.at(&n));
                    let some = ne(owner.at(&n), constant(NONE));
                    guesses.push(self.every(length, implies(flag.at(&n), binary(BinOp::And, held, some))));
                }
                for state in &states {
                    for c in 0..self.variants(&state.of.ty) {
                        guesses.push(self.every(length, implies(flag.at(&n), eq(state.at(&n), constant(c)))));
                        for (lock, owner) in locks.iter().flat_map(|l| owners.iter().map(move |o| (l, o))) {
                            let hidden = binary(
                                BinOp::And,
                                eq(state.at(&n), constant(c)),
                                Expr::Not(Box::new(flag.at(&n))),
                            );
                            let held = eq(lock.at(&n), owner.at(&n));
                            let some = ne(owner.at(&n), constant(NONE));
                            guesses.push(self.every(length, implies(hidden, binary(BinOp::And, held, some))));
                        }
                    }
                }
                for other in
                    flags.iter().filter(|other| (other.global, other.slot) != (flag.global, flag.slot))
                {
                    guesses.push(self.every(length, implies(flag.at(&n), other.at(&n))));
                }
            }
        }
        let scalars = self.integers();
        for (i, a) in scalars.iter().enumerate() {
            guesses.push(binary(BinOp::Ge, a.clone(), constant(0)));
            for b in &scalars[i + 1..] {
                for op in [BinOp::Le, BinOp::Ge, BinOp::Eq] {
                    guesses.push(binary(op, a.clone(), b.clone()));
                }
            }
            for length in &self.lengths {
                for op in [BinOp::Le, BinOp::Lt] {
                    guesses.push(binary(op, a.clone(), (*length).clone()));
                }
            }
        }
        guesses.extend(self.linked());
        guesses
    }

    /// Shared integers that are no arrays.
    fn integers(&self) -> Vec<Expr> {
        self.scalars(|ty| *ty == Type::Int)
    }

    fn scalars(&self, is: impl Fn(&Type) -> bool) -> Vec<Expr> {
        let mut found = Vec::new();
        for (number, global) in self.program.globals.iter().enumerate().filter(|(_, g)| g.length.is_none()) {
            for (slot, of) in global.slots.iter().enumerate().filter(|(_, slot)| is(&slot.ty)) {
                let _ = of;
                found.push(Expr::Read(Place::Global(GlobalId(number as u16), slot as u16)));
            }
        }
        found
    }

    /// Guesses for a place with these locals and, after the effect, this result.
    pub fn at(
        &self,
        locals: &[(LocalId, &Slot)],
        result: &[(LocalId, &Type)],
        indices: &[LocalId],
    ) -> Vec<Expr> {
        let mut guesses = Vec::new();
        let numbers: Vec<LocalId> =
            locals.iter().filter(|(_, slot)| slot.ty == Type::Int).map(|(id, _)| *id).collect();
        let integers: Vec<Expr> =
            numbers.iter().filter(|id| indices.contains(id)).map(|id| local(*id)).collect();
        for (i, v) in integers.iter().enumerate() {
            for length in &self.lengths {
                for op in [BinOp::Le, BinOp::Lt, BinOp::Eq, BinOp::Ge] {
                    guesses.push(binary(op, v.clone(), (*length).clone()));
                }
                for w in &integers[i + 1..] {
                    let both = binary(BinOp::And, inside(v, length), inside(w, length));
                    guesses.push(implies(both, ne(v.clone(), w.clone())));
                }
                self.columns_at(length, v, locals, &mut guesses);
            }
        }
        let shared = self.integers();
        let numbers: Vec<Expr> = numbers.into_iter().map(local).collect();
        for (i, v) in numbers.iter().enumerate() {
            guesses.push(binary(BinOp::Le, constant(0), v.clone()));
            // Integers that are shared are tickets or positions: then how locals compare matters.
            let others = if shared.is_empty() { &[][..] } else { &numbers[i + 1..] };
            for other in others.iter().chain(&shared) {
                for op in [BinOp::Le, BinOp::Lt, BinOp::Eq, BinOp::Ge, BinOp::Gt] {
                    guesses.push(binary(op, v.clone(), other.clone()));
                }
            }
        }
        for length in &self.lengths {
            self.sets_at(length, &integers, &mut guesses);
        }
        for (id, slot) in locals.iter().filter(|(_, slot)| slot.ty == Type::Bool) {
            let _ = slot;
            guesses.extend([local(*id), Expr::Not(Box::new(local(*id)))]);
            // What a test found and wrote down.
            for (length, v) in
                self.lengths.iter().flat_map(|length| integers.iter().map(move |v| (length, v)))
            {
                for column in self.of_length(length) {
                    let found = |body: Expr| implies(binary(BinOp::And, local(*id), inside(v, length)), body);
                    for c in 0..self.variants(&column.of.ty) {
                        guesses.push(found(eq(column.at(v), constant(c))));
                    }
                    if let Type::Data | Type::Int = column.of.ty {
                        let same =
                            locals.iter().filter(|(_, other)| plain(&other.ty) == plain(&column.of.ty));
                        guesses.extend(same.map(|(other, _)| found(eq(column.at(v), local(*other)))));
                    }
                }
            }
        }
        guesses.extend(self.records_at(locals, result));
        for holder in self.scalars(|ty| *ty == Type::Lock || is_owner(ty)) {
            guesses.push(eq(holder.clone(), Expr::Me));
            guesses.push(ne(holder, Expr::Me));
        }
        for (id, ty) in result {
            let value = local(*id);
            match ty {
                Type::Bool => {
                    guesses.extend([value.clone(), Expr::Not(Box::new(value.clone()))]);
                    for (other, _) in locals.iter().filter(|(_, slot)| slot.ty == Type::Bool) {
                        guesses.push(eq(value.clone(), local(*other)));
                        guesses.push(ne(value.clone(), local(*other)));
                    }
                }
                _ => {
                    guesses.push(eq(value.clone(), constant(NONE)));
                    guesses.push(ne(value.clone(), constant(NONE)));
                    for (other, slot) in locals.iter().filter(|(_, slot)| plain(&slot.ty) == plain(ty)) {
                        let _ = slot;
                        guesses.push(eq(value.clone(), local(*other)));
                    }
                    guesses.extend(
                        self.scalars(|other| plain(other) == plain(ty))
                            .into_iter()
                            .map(|s| eq(value.clone(), s)),
                    );
                }
            }
        }
        guesses
    }

    /// What the fields at an index may be.
    fn columns_at(&self, length: &'p Expr, v: &Expr, locals: &[(LocalId, &Slot)], guesses: &mut Vec<Expr>) {
        for column in self.of_length(length) {
            let (at, within) = (column.at(v), inside(v, length));
            let mut guess = |body: Expr| guesses.push(implies(within.clone(), body));
            match &column.of.ty {
                Type::Bool => {
                    guess(at.clone());
                    guess(Expr::Not(Box::new(at)));
                }
                Type::Enum(_) => {
                    for c in 0..self.variants(&column.of.ty) {
                        guess(eq(at.clone(), constant(c)));
                        guess(ne(at.clone(), constant(c)));
                    }
                }
                Type::Lock => guess(eq(at, Expr::Me)),
                ty if is_owner(ty) => guess(eq(at, Expr::Me)),
                ty => {
                    for (id, slot) in locals.iter().filter(|(_, slot)| plain(&slot.ty) == plain(ty)) {
                        let _ = slot;
                        guess(eq(at.clone(), local(*id)));
                        for state in self.of_length(length).filter(|c| self.variants(&c.of.ty) > 0) {
                            for c in 1..self.variants(&state.of.ty) {
                                guess(implies(eq(state.at(v), constant(c)), eq(at.clone(), local(*id))));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Which elements may be this process's.
    fn sets_at(&self, length: &'p Expr, integers: &[Expr], guesses: &mut Vec<Expr>) {
        let n = local(self.bound);
        let mut sets: Vec<Vec<&Expr>> = vec![vec![]];
        for (i, v) in integers.iter().enumerate() {
            sets.push(vec![v]);
            sets.extend(integers[i + 1..].iter().map(|w| vec![v, w]));
        }
        let mut mine: Vec<Expr> = Vec::new();
        for lock in self.of_length(length).filter(|c| c.of.ty == Type::Lock) {
            mine.push(eq(lock.at(&n), Expr::Me));
        }
        for owner in self.of_length(length).filter(|c| is_owner(&c.of.ty)) {
            for flag in self.of_length(length).filter(|c| c.of.ty == Type::Bool) {
                mine.push(all(vec![eq(owner.at(&n), Expr::Me), flag.at(&n)]));
                for state in self.of_length(length).filter(|c| self.variants(&c.of.ty) > 0) {
                    let conditions = vec![
                        eq(owner.at(&n), Expr::Me),
                        Expr::Not(Box::new(flag.at(&n))),
                        ne(state.at(&n), constant(0)),
                    ];
                    mine.push(all(conditions));
                }
            }
        }
        for condition in mine {
            for set in &sets {
                let one_of = set.iter().map(|v| eq(n.clone(), (*v).clone()));
                let one_of = one_of.reduce(|a, b| binary(BinOp::Or, a, b)).unwrap_or(constant(0));
                guesses.push(self.every(length, implies(condition.clone(), one_of)));
            }
        }
    }
}

/// Locals that are used as an index, or copied from or to one that is.
pub fn index_locals(program: &Program, op: OpId) -> BTreeSet<LocalId> {
    let mut found = BTreeSet::new();
    let edges: Vec<_> =
        program.nodes.iter().filter(|node| node.op == op).flat_map(|node| &node.edges).collect();
    let mut see = |place: &Place| {
        if let Place::Element(_, index, _) = place {
            index.places(&mut |inner| {
                if let Place::Local(id) = inner {
                    found.insert(*id);
                }
            });
        }
    };
    for edge in &edges {
        edge.accesses(&mut |place, _| see(place));
    }
    loop {
        let before = found.len();
        for action in edges.iter().flat_map(|edge| &edge.actions) {
            if let Action::Assign(Place::Local(to), Expr::Read(Place::Local(from))) = action
                && (found.contains(to) || found.contains(from))
            {
                found.extend([*to, *from]);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn is_owner(ty: &Type) -> bool {
    matches!(ty, Type::Option(inner) if **inner == Type::Thread)
}

/// A type without `?`.
fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Option(inner) => inner,
        ty => ty,
    }
}

/// The conditions of an operation's linearization points: after one that was passed its condition holds, as
/// far as it lasts.
pub fn conditions(program: &Program, op: OpId) -> Vec<Expr> {
    let edges = program.nodes.iter().filter(|node| node.op == op).flat_map(|node| &node.edges);
    let mut found: Vec<Expr> = Vec::new();
    for when in edges.flat_map(|edge| edge.marks()).filter_map(|mark| mark.when.as_ref()) {
        if !found.contains(when) {
            found.push(when.clone());
        }
    }
    found
}

/// What tests of an operation say, and the opposite: of locals it lasts while they do, of shared variables
/// while a lock is held. Only those whose locals are all known.
pub fn tests(program: &Program, op: OpId, is_known: impl Fn(LocalId) -> bool) -> Vec<Expr> {
    let edges = program.nodes.iter().filter(|node| node.op == op).flat_map(|node| &node.edges);
    let mut found: Vec<Expr> = Vec::new();
    for action in edges.flat_map(|edge| &edge.actions) {
        let Action::Assume(test) = action else { continue };
        let mut known = is_plain(test);
        test.places(&mut |place| match place {
            Place::Local(id) => known &= is_known(*id),
            Place::Global(..) => {}
            Place::Element(..) | Place::Field(..) => known = false,
        });
        if known && !found.contains(test) {
            found.push(test.clone());
        }
    }
    found
}

/// `local == value` for every assignment of an operation that reads something shared into a local, or copies
/// another local; only those whose locals are all known. An index is said to be inside.
pub fn definitions(program: &Program, op: OpId, is_known: impl Fn(LocalId) -> bool) -> Vec<Expr> {
    let edges = program.nodes.iter().filter(|node| node.op == op).flat_map(|node| &node.edges);
    let mut found: Vec<Expr> = Vec::new();
    for action in edges.flat_map(|edge| &edge.actions) {
        let Action::Assign(Place::Local(to), value) = action else { continue };
        let copied = matches!(value, Expr::Read(Place::Local(_)));
        let (mut known, mut shared, mut within) = (is_known(*to), copied, Vec::new());
        value.places(&mut |place| match place {
            Place::Local(id) => known &= *id != *to && is_known(*id),
            Place::Element(global, index, _) => {
                shared = true;
                let length = program.globals[usize::from(global.0)].length.as_ref();
                within.extend(length.map(|length| inside(index, length)));
            }
            Place::Global(..) => shared = true,
            // Nobody knows whether the record is still there.
            Place::Field(..) => known = false,
        });
        if !known || !shared || !is_plain(value) {
            continue;
        }
        let same = eq(local(*to), value.clone());
        let guess = if within.is_empty() { same } else { implies(all(within), same) };
        if !found.contains(&guess) {
            found.push(guess);
        }
    }
    found
}

/// A parameter that is assigned to is still what the operation was called with.
pub fn as_called(program: &Program, op: OpId) -> Vec<Expr> {
    let params = (0..program.operation(op).params).filter(|param| is_assigned(program, op, *param));
    let same = |param: usize| eq(local(LocalId(param as u16)), local(LocalId(INPUT + param as u16)));
    params.map(same).collect()
}

/// Made of reads, words and operators that never fail?
fn is_plain(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Size(_) | Expr::Me | Expr::Read(_) => true,
        Expr::Not(e) | Expr::Neg(e) => is_plain(e),
        Expr::Binary(op, a, b) => *op != BinOp::Rem && is_plain(a) && is_plain(b),
        Expr::Quantified { .. } | Expr::Unwrap(_) | Expr::Term(_) => false,
    }
}
