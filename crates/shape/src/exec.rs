//! What one step of a program does to a structure: the interpreter, abstractly.
//!
//! It follows `linpoint_lang::interp` action by action. Where a structure leaves open what happens (which record a link leads to, how two keys compare), a
//! [`Choices`] decides, and the step is run once for each way. Reading a link is the only place where nodes are split: see [`Exec::target`].
//!
//! Values that are not modelled (numbers, enums, threads) are *anything*: each use of one goes every way. What could go wrong without being seen, and what would
//! change the meaning of the structure, stops the analysis with a reason ([`Stop::Unsupported`]).

use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Action, Exit, Expr, MarkKind, NONE, Place, Type, Word};

use crate::choices::Choices;
use crate::layout::{Class, Layout, Mask, Object, Role, Scalar, class};
use crate::structure::{Contradiction, Effect, Node, Structure, TRACKED, Thread};

/// Where operations take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Points {
    /// Where the program says so.
    Given,
    /// At the end of these steps: node, edge, and whose.
    At(Vec<(u16, u16, Point)>),
}

/// Whose operation takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// The thread's own.
    Own,
    /// The one whose argument is in the node that this shared pointer leads to, if it took no effect yet.
    Help(u32),
}

impl Points {
    /// May operations take effect in steps of others?
    pub fn help(&self) -> bool {
        matches!(self, Points::At(list) if list.iter().any(|(.., point)| matches!(point, Point::Help(_))))
    }
}

/// What is wrong, if the structure stands for a state that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Alarm {
    NullDereference,
    NotHeld,
    AssertFailed,
    UnwrapNone,
    /// The answer is not the reference's.
    WrongAnswer,
    /// The operation returns without having taken effect.
    NoEffect,
    /// It takes effect a second time.
    Twice,
    /// It takes effect before its argument is in a record, or with a record that took effect already.
    NoArgument,
}

impl Alarm {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Alarm::NullDereference => "a field of null may be used",
            Alarm::NotHeld => "a lock may be given back that is not held",
            Alarm::AssertFailed => "an assertion may fail",
            Alarm::UnwrapNone => "none may be unwrapped",
            Alarm::WrongAnswer => "an operation may answer other than the reference",
            Alarm::NoEffect => "an operation may return without having taken effect",
            Alarm::Twice => "an operation may take effect twice",
            Alarm::NoArgument => "an operation may take effect without a record of its argument",
        }
    }
}

/// Why a way of a step does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Not enabled.
    Disabled,
    /// Others could notice, and only what they cannot was asked for.
    Visible,
    /// No concrete state takes this way.
    Impossible,
    /// Something may be wrong.
    Wrong(Alarm),
    /// Not modelled.
    Unsupported(String),
}

impl From<Contradiction> for Stop {
    fn from(_: Contradiction) -> Stop {
        Stop::Impossible
    }
}

pub(crate) type Done<T> = Result<T, Stop>;

/// An abstract value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Val {
    /// A pointer; 0 is null.
    Node(usize),
    Bool(bool),
    /// A constant.
    Word(Word),
    /// The value in a record.
    Data(usize),
    /// The operation's argument, in no record yet.
    Argument,
    /// A key, and the record it is of.
    Key(Class, Option<usize>),
    /// A lock that is held by a thread shown.
    Held,
    Any,
}

/// One step of one thread on one structure.
pub struct Exec<'a, 'p> {
    /// The program.
    pub layout: &'a Layout<'p>,
    /// Where operations take effect.
    pub points: &'a Points,
    /// The structure, changed in place.
    pub s: &'a mut Structure,
    /// Who steps.
    pub thread: usize,
    /// Which way.
    pub choices: &'a mut Choices,
    /// Stop at what others can notice.
    pub local_only: bool,
    /// The thread's own checks were made in its own view.
    pub foreign: bool,
    /// Did others get to see something?
    pub effect: bool,
}

impl Exec<'_, '_> {
    /// Takes an edge of the node where the thread is.
    pub fn edge(&mut self, number: usize) -> Done<()> {
        let program = self.layout.program;
        let pc = self.me().pc;
        let edge = &program.nodes[usize::from(pc)].edges[number];
        for action in &edge.actions {
            self.act(action)?;
        }
        if let Points::At(list) = self.points {
            for (at, which, point) in list {
                if (*at, usize::from(*which)) == (pc, number) {
                    self.touch()?;
                    match point {
                        Point::Own => self.take_effect()?,
                        Point::Help(bit) => self.help(*bit)?,
                    }
                }
            }
        }
        if self.foreign {
            return Ok(());
        }
        match &edge.exit {
            Exit::Goto(to) => self.arrive(to.0),
            Exit::Return(values) => self.returns(values)?,
        }
        Ok(())
    }

    /// The thread that steps.
    pub(crate) fn me(&self) -> Thread {
        self.s.threads[self.thread]
    }

    pub(crate) fn mine(&mut self) -> &mut Thread {
        &mut self.s.threads[self.thread]
    }

    /// What the thread's operation is.
    pub(crate) fn role(&self) -> Role {
        self.layout.roles[self.layout.op_at(self.me().pc)]
    }

    pub(crate) fn is(&self, node: usize, kind: Mask) -> bool {
        self.s.nodes[node].mask & kind != 0
    }

    /// Others can notice what comes now.
    pub(crate) fn touch(&self) -> Done<()> {
        if self.local_only { Err(Stop::Visible) } else { Ok(()) }
    }

    fn unsupported<T>(&self, what: &str) -> Done<T> {
        Err(Stop::Unsupported(what.into()))
    }

    /// At a control point: what does not matter there is forgotten.
    fn arrive(&mut self, to: u16) {
        let layout = self.layout;
        self.mine().pc = to;
        let op = layout.op_at(to);
        let live = &layout.live[usize::from(to)];
        let mut dead: Mask = 0;
        for (local, live) in live.iter().enumerate() {
            if *live {
                continue;
            }
            if let Some(bit) = layout.local_bit[op][local] {
                dead |= layout.bit(self.thread, bit);
            }
            if let Some((shift, scalar)) = layout.scalar[op][local] {
                self.mine().scalars &= !(width(scalar) << shift);
            }
        }
        let param_live = live.first().copied().unwrap_or(false);
        if self.me().effect != Effect::Open && !self.points.help() && !param_live {
            dead |= layout.bit(self.thread, layout.argument);
        }
        self.s.clear(dead);
    }

    fn act(&mut self, action: &Action) -> Done<()> {
        match action {
            Action::Assume(e) => {
                if self.condition(e)? { Ok(()) } else { Err(Stop::Disabled) }
            }
            Action::Assert(e, _) => {
                if self.condition(e)? { Ok(()) } else { Err(Stop::Wrong(Alarm::AssertFailed)) }
            }
            Action::Assign(place, e) => self.assign(place, e),
            Action::Choose(local, lo, hi) => {
                self.eval(lo)?;
                self.eval(hi)?;
                let op = self.layout.op_at(self.me().pc);
                if self.layout.program.operations[op].locals[local.index()].bounds.is_some() {
                    return self.unsupported("a choice for a bounded variable");
                }
                self.set_local(local.index(), Val::Any)
            }
            Action::New { local, record, fields } => self.allocate(local.index(), record.index(), fields),
            Action::Lock(place) => self.lock(place),
            Action::Unlock(place) => self.unlock(place),
            Action::Mark(mark) if mark.kind == MarkKind::Lin && *self.points == Points::Given => {
                if let Some(when) = &mark.when
                    && !self.condition(when)?
                {
                    return Ok(());
                }
                if mark.of.is_some() {
                    return self.unsupported("a linearization point of another thread, by its number");
                }
                self.touch()?;
                self.take_effect()
            }
            Action::Mark(_) => Ok(()),
            Action::Free(_) => self.unsupported("memory is given back with `free`"),
            Action::Claim(_) => self.unsupported("claims about the future"),
        }
    }

    // Values.

    pub(crate) fn pick(&mut self, count: usize) -> usize {
        self.choices.pick(count)
    }

    fn condition(&mut self, e: &Expr) -> Done<bool> {
        let value = self.eval(e)?;
        Ok(self.truth(value))
    }

    pub(crate) fn truth(&mut self, value: Val) -> bool {
        match value {
            Val::Bool(b) => b,
            Val::Word(word) => word != 0,
            _ => self.pick(2) == 1,
        }
    }

    fn pointer(&self, value: Val) -> Done<usize> {
        match value {
            Val::Node(node) => Ok(node),
            Val::Word(0) => Ok(0),
            _ => self.unsupported("a pointer that is not followed"),
        }
    }

    pub(crate) fn eval(&mut self, e: &Expr) -> Done<Val> {
        match e {
            Expr::Const(word) => Ok(Val::Word(*word)),
            Expr::Read(place) => self.read(place),
            Expr::Not(e) => {
                let value = self.eval(e)?;
                Ok(Val::Bool(!self.truth(value)))
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Size(_) | Expr::Neg(_) => Ok(self.constant_key(e)),
            Expr::Unwrap(e) => match self.eval(e)? {
                Val::Word(NONE) => Err(Stop::Wrong(Alarm::UnwrapNone)),
                Val::Data(node) => Ok(Val::Data(node)),
                _ => self.unsupported("`unwrap` of a value that is not followed"),
            },
            Expr::Me => Ok(Val::Any),
            Expr::Quantified { .. } | Expr::Term(_) => self.unsupported("quantifiers"),
        }
    }

    fn constant_key(&self, e: &Expr) -> Val {
        match self.layout.class_of_constant(e) {
            class::ANY => Val::Any,
            found => Val::Key(found, None),
        }
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr) -> Done<Val> {
        if matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Rem) {
            let whole = Expr::Binary(op, Box::new(a.clone()), Box::new(b.clone()));
            return match self.constant_key(&whole) {
                Val::Any => self.unsupported("arithmetic"),
                known => Ok(known),
            };
        }
        let left = self.eval(a)?;
        match op {
            BinOp::And | BinOp::Or | BinOp::Implies => {
                let left = self.truth(left);
                let decided = match op {
                    BinOp::And => (!left).then_some(false),
                    BinOp::Or => left.then_some(true),
                    _ => (!left).then_some(true),
                };
                if let Some(value) = decided {
                    return Ok(Val::Bool(value));
                }
                let right = self.eval(b)?;
                Ok(Val::Bool(self.truth(right)))
            }
            BinOp::Eq | BinOp::Ne => {
                let right = self.eval(b)?;
                let same = self.same(left, a, right, b);
                Ok(match same {
                    Some(same) => Val::Bool(same == (op == BinOp::Eq)),
                    None => Val::Any,
                })
            }
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                let right = self.eval(b)?;
                let (left, right) = (self.key(left, a), self.key(right, b));
                Ok(match compare(left, right) {
                    None => Val::Any,
                    Some(order) => Val::Bool(match op {
                        BinOp::Lt => order.is_lt(),
                        BinOp::Le => order.is_le(),
                        BinOp::Gt => order.is_gt(),
                        _ => order.is_ge(),
                    }),
                })
            }
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Rem => self.unsupported("arithmetic"),
        }
    }

    fn key(&self, value: Val, e: &Expr) -> (Class, Option<usize>) {
        match value {
            Val::Key(class, node) => (class, node),
            Val::Word(_) => (self.layout.class_of_constant(e), None),
            _ => (class::ANY, None),
        }
    }

    /// Are two values equal, if that is certain?
    fn same(&self, a: Val, ea: &Expr, b: Val, eb: &Expr) -> Option<bool> {
        match (a, b) {
            (Val::Node(a), Val::Node(b)) => Some(a == b),
            (Val::Node(a), Val::Word(0)) | (Val::Word(0), Val::Node(a)) => Some(a == 0),
            (Val::Bool(a), Val::Bool(b)) => Some(a == b),
            (Val::Bool(a), Val::Word(w)) | (Val::Word(w), Val::Bool(a)) => Some(a == (w != 0)),
            (Val::Word(a), Val::Word(b)) => Some(a == b),
            (Val::Data(_) | Val::Argument | Val::Held, Val::Word(NONE))
            | (Val::Word(NONE), Val::Data(_) | Val::Argument | Val::Held) => Some(false),
            (Val::Data(a), Val::Data(b)) if a == b => Some(true),
            (Val::Key(..), _) | (_, Val::Key(..)) => {
                compare(self.key(a, ea), self.key(b, eb)).map(std::cmp::Ordering::is_eq)
            }
            _ => None,
        }
    }

    // Places.

    fn read(&mut self, place: &Place) -> Done<Val> {
        let layout = self.layout;
        match place {
            Place::Local(local) => Ok(self.local(local.index())),
            Place::Global(global, _) => {
                let index = global.index();
                if layout.program.globals[index].ghost {
                    return Ok(Val::Any);
                }
                if !layout.constant_global[index] {
                    self.touch()?;
                }
                if let Some(bit) = layout.global_bit[index] {
                    let found = self.s.named(1 << bit);
                    return found.map(Val::Node).map_or_else(|| self.unsupported("a shared pointer without a value"), Ok);
                }
                Ok(match layout.global_scalar[index] {
                    Some((shift, Scalar::Bool)) => bool_value(self.s.globals >> shift),
                    Some((shift, Scalar::Lock)) if self.s.globals >> shift & 15 == 0 => Val::Word(NONE),
                    Some((_, Scalar::Lock)) => Val::Held,
                    _ => Val::Any,
                })
            }
            Place::Field(pointer, record, field) => {
                let pointer = self.eval(pointer)?;
                let node = self.pointer(pointer)?;
                self.field(node, record.index(), *field)
            }
            Place::Element(..) => self.unsupported("arrays"),
        }
    }

    fn local(&self, local: usize) -> Val {
        let layout = self.layout;
        let op = layout.op_at(self.me().pc);
        let slot = &layout.program.operations[op].locals[local];
        if let Some(bit) = layout.local_bit[op][local] {
            let Some(node) = self.s.local(layout, self.thread, bit) else { return Val::Any };
            return match slot.ty {
                Type::Pointer(_) => Val::Node(node),
                _ if node == 0 => Val::Word(NONE),
                _ => Val::Data(node),
            };
        }
        match layout.scalar[op][local] {
            Some((shift, Scalar::Bool)) => bool_value(self.me().scalars >> shift),
            Some((shift, Scalar::Key)) => Val::Key((self.me().scalars >> shift & 7) as Class, None),
            _ if local == 0 && layout.roles[op] == Role::Insert => {
                match self.s.local(layout, self.thread, layout.argument) {
                    Some(node) => Val::Data(node),
                    None => Val::Argument,
                }
            }
            _ => Val::Any,
        }
    }

    fn field(&mut self, node: usize, record: usize, field: u16) -> Done<Val> {
        if node == 0 {
            return Err(Stop::Wrong(Alarm::NullDereference));
        }
        let layout = self.layout;
        let slot = &layout.program.records[record].fields[usize::from(field)];
        if slot.ghost {
            return Ok(Val::Any);
        }
        if !layout.constant_field[record][usize::from(field)] && !self.is(node, layout.private) {
            self.touch()?;
        }
        match &slot.ty {
            Type::Pointer(_) if layout.is_link(record, field) => Ok(Val::Node(self.target(node)?)),
            Type::Data => Ok(if layout.value_field(record) == Some(field) { Val::Data(node) } else { Val::Any }),
            Type::Bool => {
                let bit = layout.bool_bit[record][usize::from(field)].unwrap_or(0);
                Ok(Val::Bool(self.is(node, bit)))
            }
            Type::Int if layout.key == Some((record, field)) => {
                Ok(Val::Key(layout.class_of(self.s.nodes[node].mask), Some(node)))
            }
            Type::Lock => {
                let held = (0..self.s.threads.len()).any(|t| self.is(node, layout.bit(t, layout.held)));
                Ok(if held { Val::Held } else { Val::Any })
            }
            _ => Ok(Val::Any),
        }
    }

    /// Where a node's link leads, made certain.
    pub(crate) fn target(&mut self, node: usize) -> Done<usize> {
        let row = self.s.nodes[node].row;
        let chosen = self.choose(row)?;
        self.s.nodes[node].row = 1 << chosen;
        self.tidy()?;
        Ok(chosen)
    }

    /// Where its link in the reference leads, made certain.
    pub(crate) fn reference_target(&mut self, node: usize) -> Done<usize> {
        if !self.is(node, self.layout.nonuniform) {
            return self.target(node);
        }
        let chosen = self.choose(self.s.nodes[node].other)?;
        self.s.nodes[node].other = 1 << chosen;
        self.reunite(node);
        Ok(chosen)
    }

    /// One node of a row; a nameless one is split.
    fn choose(&mut self, row: u32) -> Done<usize> {
        if row == 0 {
            return Err(Stop::Impossible);
        }
        let mut rest = row;
        for _ in 0..self.pick(row.count_ones() as usize) {
            rest &= rest - 1;
        }
        let chosen = rest.trailing_zeros() as usize;
        if !self.s.nodes[chosen].many {
            return Ok(chosen);
        }
        self.s.materialise(chosen).map_or_else(|| self.unsupported("more nodes than a structure holds"), Ok)
    }

    /// A node whose two links certainly lead to one record is uniform.
    pub(crate) fn reunite(&mut self, node: usize) {
        let found = &self.s.nodes[node];
        if found.mask & self.layout.nonuniform != 0
            && found.row == found.other
            && found.row.is_power_of_two()
            && !self.s.nodes[found.row.trailing_zeros() as usize].many
        {
            self.s.nodes[node].mask &= !self.layout.nonuniform;
            self.s.nodes[node].other = 0;
        }
    }

    /// What is known of lists, put to use after a change.
    pub(crate) fn tidy(&mut self) -> Done<()> {
        if self.layout.object == Object::Set {
            crate::list::coerce(self.layout, self.s)?;
        }
        Ok(())
    }

    fn assign(&mut self, place: &Place, e: &Expr) -> Done<()> {
        let layout = self.layout;
        let op = linpoint_lang::program::OpId(layout.op_at(self.me().pc) as u16);
        let Some(slot) = layout.program.slot(op, place) else { return self.unsupported("a place without a slot") };
        if slot.ghost || matches!(place, Place::Global(g, _) | Place::Element(g, ..) if layout.program.globals[g.index()].ghost) {
            return Ok(());
        }
        let value = self.eval(e)?;
        if slot.bounds.is_some() {
            return self.unsupported("an assignment to a bounded variable");
        }
        match place {
            Place::Local(local) => {
                let value = match value {
                    Val::Word(_) if layout.scalar[op.index()][local.index()].is_some_and(|(_, s)| s == Scalar::Key) => {
                        self.constant_key(e)
                    }
                    value => value,
                };
                self.set_local(local.index(), value)
            }
            Place::Global(global, _) => {
                self.touch()?;
                let index = global.index();
                if let Some(bit) = layout.global_bit[index] {
                    let node = self.pointer(value)?;
                    self.effect |= self.s.named(1 << bit) != Some(node);
                    self.s.move_name(1 << bit, node);
                    self.publish(node)?;
                } else if let Some((shift, Scalar::Bool)) = layout.global_scalar[index] {
                    let value = self.truth(value);
                    self.effect = true;
                    self.s.globals = self.s.globals & !(3 << shift) | (1 + u64::from(value)) << shift;
                }
                Ok(())
            }
            Place::Field(pointer, record, field) => {
                let pointer = self.eval(pointer)?;
                let node = self.pointer(pointer)?;
                self.set_field(node, record.index(), *field, value, e)
            }
            Place::Element(..) => self.unsupported("arrays"),
        }
    }

    fn set_local(&mut self, local: usize, value: Val) -> Done<()> {
        let layout = self.layout;
        let op = layout.op_at(self.me().pc);
        if let Some(bit) = layout.local_bit[op][local] {
            let bit = layout.bit(self.thread, bit);
            if matches!(layout.program.operations[op].locals[local].ty, Type::Pointer(_)) {
                let node = self.pointer(value)?;
                self.s.move_name(bit, node);
                return Ok(());
            }
            match value {
                Val::Data(node) => self.s.move_name(bit, node),
                Val::Word(NONE) => self.s.move_name(bit, 0),
                _ => self.s.clear(bit),
            }
        } else if let Some((shift, scalar)) = layout.scalar[op][local] {
            let code = match (scalar, value) {
                (Scalar::Bool, value) => 1 + u64::from(self.truth(value)),
                (_, Val::Key(class, _)) => u64::from(class),
                _ => 0,
            };
            let mine = self.mine();
            mine.scalars = mine.scalars & !(width(scalar) << shift) | code << shift;
        }
        Ok(())
    }

    fn set_field(&mut self, node: usize, record: usize, field: u16, value: Val, e: &Expr) -> Done<()> {
        if node == 0 {
            return Err(Stop::Wrong(Alarm::NullDereference));
        }
        let layout = self.layout;
        let private = self.is(node, layout.private);
        if !private {
            self.touch()?;
        }
        match &layout.program.records[record].fields[usize::from(field)].ty {
            Type::Pointer(_) if layout.is_link(record, field) => {
                let to = self.pointer(value)?;
                self.set_link(node, to)
            }
            Type::Bool => {
                let bit = layout.bool_bit[record][usize::from(field)].unwrap_or(0);
                let mask = &mut self.s.nodes[node].mask;
                let before = *mask;
                let value = match value {
                    Val::Bool(b) => b,
                    Val::Word(word) => word != 0,
                    _ => self.choices.pick(2) == 1,
                };
                *mask = if value { *mask | bit } else { *mask & !bit };
                self.effect |= before != *mask && !private;
                Ok(())
            }
            Type::Data => {
                if !private {
                    return self.unsupported("data is written to a record that others can reach");
                }
                if layout.value_field(record) != Some(field) {
                    return Ok(());
                }
                // What was read from the record before is not its value any more.
                let bits = layout.thread_bits(self.thread);
                let op = layout.op_at(self.me().pc);
                let mut stale = layout.bit(self.thread, layout.argument);
                for (local, bit) in layout.local_bit[op].iter().enumerate() {
                    let pointer = matches!(layout.program.operations[op].locals[local].ty, Type::Pointer(_));
                    if let (Some(bit), false) = (bit, pointer) {
                        stale |= layout.bit(self.thread, *bit);
                    }
                }
                if self.s.nodes[node].mask & layout.bit(self.thread, layout.argument) != 0 {
                    return self.unsupported("the record of an argument is given other data");
                }
                self.s.nodes[node].mask &= !(stale & bits);
                self.place_argument(node, value, e)
            }
            Type::Int if layout.key == Some((record, field)) => {
                if !private {
                    return self.unsupported("a key is changed in a record that others can reach");
                }
                let (class, _) = self.key(value, e);
                self.s.nodes[node].mask = layout.with_class(self.s.nodes[node].mask, class);
                Ok(())
            }
            Type::Lock => self.unsupported("a lock is assigned"),
            _ => Ok(()),
        }
    }

    fn set_link(&mut self, node: usize, to: usize) -> Done<()> {
        let layout = self.layout;
        let private = self.is(node, layout.private);
        if layout.object == Object::Set && !private {
            return self.set_list_link(node, to);
        }
        let found = &mut self.s.nodes[node];
        if layout.object != Object::Set && found.mask & (layout.uncorrelated | layout.nonuniform) == 0 {
            found.other = found.row;
            found.mask |= layout.nonuniform;
        }
        found.row = 1 << to;
        self.reunite(node);
        if !private {
            self.effect = true;
            self.publish(to)?;
        }
        self.tidy()
    }

    /// Others can reach a record from now on, and what it leads to.
    pub(crate) fn publish(&mut self, node: usize) -> Done<()> {
        let private = self.layout.private;
        if !self.is(node, private) {
            return Ok(());
        }
        if self.s.nodes[node].many {
            return self.unsupported("a chain of records is made before others can reach it");
        }
        self.s.nodes[node].mask &= !private;
        let mut rest = self.s.nodes[node].row;
        while rest != 0 {
            let next = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if self.is(next, private) && !self.s.nodes[node].row.is_power_of_two() {
                return self.unsupported("a chain of records is made before others can reach it");
            }
            self.publish(next)?;
        }
        Ok(())
    }

    fn allocate(&mut self, local: usize, record: usize, given: &[(u16, Expr)]) -> Done<()> {
        let layout = self.layout;
        let kind = &layout.program.records[record];
        let mut values = Vec::with_capacity(given.len());
        for (field, e) in given {
            let value = if kind.fields[usize::from(*field)].ghost { Val::Any } else { self.eval(e)? };
            values.push((*field, value, e));
        }
        let mut node = Node { mask: layout.record_kind[record] | layout.private, row: 1, other: 0, many: false };
        if layout.object != Object::Set {
            node.mask |= layout.uncorrelated;
        }
        for (field, slot) in kind.fields.iter().enumerate() {
            if slot.ghost {
                continue;
            }
            let found = values.iter().find(|(number, ..)| usize::from(*number) == field);
            let (value, e) = match found {
                Some((_, value, e)) => (*value, *e),
                None => (self.eval(&slot.init)?, &slot.init),
            };
            match &slot.ty {
                _ if slot.bounds.is_some() && found.is_some() => return self.unsupported("a bounded field"),
                Type::Bool => {
                    if self.truth(value) {
                        node.mask |= layout.bool_bit[record][field].unwrap_or(0);
                    }
                }
                Type::Pointer(_) if layout.is_link(record, field as u16) => node.row = 1 << self.pointer(value)?,
                Type::Int if layout.key == Some((record, field as u16)) => {
                    node.mask = layout.with_class(node.mask, self.key(value, e).0);
                }
                _ => {}
            }
        }
        if self.s.nodes.len() == crate::structure::MOST_NODES {
            return self.unsupported("more nodes than a structure holds");
        }
        let new = self.s.nodes.len();
        self.s.nodes.push(node);
        self.set_local(local, Val::Node(new))?;
        if let Some(field) = layout.value_field(record)
            && let Some((_, value, e)) = values.iter().find(|(number, ..)| *number == field)
        {
            self.place_argument(new, *value, e)?;
        }
        if self.points.help() && self.s.nodes[new].mask & layout.bit(self.thread, layout.argument) == 0 {
            return self.unsupported("a record without the operation's argument, where others help");
        }
        Ok(())
    }

    /// A record gets the operation's argument: from now on it is the one that takes effect.
    fn place_argument(&mut self, node: usize, value: Val, e: &Expr) -> Done<()> {
        let layout = self.layout;
        let op = layout.op_at(self.me().pc);
        let own = matches!(e, Expr::Read(Place::Local(local)) if local.index() == 0)
            && layout.roles[op] == Role::Insert;
        if !own {
            return Ok(());
        }
        let bit = layout.bit(self.thread, layout.argument);
        if self.points.help() && value != Val::Argument {
            return self.unsupported("two records with one argument, where others help");
        }
        self.s.move_name(bit, node);
        Ok(())
    }

    fn lock(&mut self, place: &Place) -> Done<()> {
        self.touch()?;
        let layout = self.layout;
        match place {
            Place::Global(global, _) => {
                let Some((shift, _)) = layout.global_scalar[global.index()] else {
                    return self.unsupported("a lock that is not followed");
                };
                if self.s.globals >> shift & 15 != 0 {
                    return Err(Stop::Disabled);
                }
                self.s.globals |= (self.thread as u64 + 1) << shift;
                self.effect = true;
                Ok(())
            }
            Place::Field(pointer, ..) => {
                let pointer = self.eval(pointer)?;
                let node = self.pointer(pointer)?;
                if node == 0 {
                    return Err(Stop::Wrong(Alarm::NullDereference));
                }
                // Locks of threads that are not shown are not known: the step may be taken.
                if (0..self.s.threads.len()).any(|thread| self.is(node, layout.bit(thread, layout.held))) {
                    return Err(Stop::Disabled);
                }
                self.s.nodes[node].mask |= layout.bit(self.thread, layout.held);
                Ok(())
            }
            _ => self.unsupported("a lock that is not followed"),
        }
    }

    fn unlock(&mut self, place: &Place) -> Done<()> {
        self.touch()?;
        let layout = self.layout;
        match place {
            Place::Global(global, _) => {
                let Some((shift, _)) = layout.global_scalar[global.index()] else {
                    return self.unsupported("a lock that is not followed");
                };
                if self.s.globals >> shift & 15 != self.thread as u64 + 1 {
                    return Err(Stop::Wrong(Alarm::NotHeld));
                }
                self.s.globals &= !(15 << shift);
                self.effect = true;
                Ok(())
            }
            Place::Field(pointer, ..) => {
                let pointer = self.eval(pointer)?;
                let node = self.pointer(pointer)?;
                if node == 0 {
                    return Err(Stop::Wrong(Alarm::NullDereference));
                }
                let bit = layout.bit(self.thread, layout.held);
                if !self.is(node, bit) {
                    return Err(Stop::Wrong(Alarm::NotHeld));
                }
                self.s.nodes[node].mask &= !bit;
                Ok(())
            }
            _ => self.unsupported("a lock that is not followed"),
        }
    }

    /// The operation returns: its answer is compared with the reference's.
    fn returns(&mut self, values: &[Expr]) -> Done<()> {
        let value = match values {
            [] => Val::Any,
            [e] => self.eval(e)?,
            _ => return self.unsupported("a result of several parts"),
        };
        self.check_answer(value)?;
        let bits = self.layout.thread_bits(self.thread);
        *self.mine() = Thread::AT_REST;
        self.s.clear(bits);
        Ok(())
    }

    /// A thread at rest calls an operation; of a set, with a key of this class.
    pub fn call(&mut self, op: usize, key: Class) {
        let layout = self.layout;
        let entry = layout.program.operations[op].entry;
        let mut thread = Thread { pc: entry.0, ..Thread::AT_REST };
        if let Some(Some((shift, Scalar::Key))) = layout.scalar[op].first() {
            thread.scalars = u64::from(key) << shift;
        }
        if key == class::SAME {
            thread.seen = TRACKED;
        }
        *self.mine() = thread;
        self.note_moment();
    }
}

fn width(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::Bool => 3,
        Scalar::Key => 7,
        Scalar::Lock => 15,
    }
}

fn bool_value(code: u64) -> Val {
    match code & 3 {
        1 => Val::Bool(false),
        2 => Val::Bool(true),
        _ => Val::Any,
    }
}

fn compare(a: (Class, Option<usize>), b: (Class, Option<usize>)) -> Option<std::cmp::Ordering> {
    if a.1.is_some() && a.1 == b.1 {
        return Some(std::cmp::Ordering::Equal);
    }
    match (a.0, b.0) {
        (class::ANY, _) | (_, class::ANY) => None,
        (class::SAME, class::SAME) => Some(std::cmp::Ordering::Equal),
        (a, b) if a != b => Some(a.cmp(&b)),
        _ => None,
    }
}
