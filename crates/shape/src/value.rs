//! What expressions and places mean in a structure.
//!
//! Reading a link is the only place where nodes are split: [`Exec::target`].

use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Expr, NONE, Place, Type};

use crate::exec::{Alarm, Done, Exec, Stop, Val};
use crate::layout::{Class, Object, Role, Scalar, class};
use crate::structure::Node;

impl Exec<'_, '_> {
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        self.choices.pick(count as u32) as usize
    }

    pub(crate) fn condition(&mut self, e: &Expr) -> Done<bool> {
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

    pub(crate) fn pointer(&self, value: Val) -> Done<usize> {
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

    pub(crate) fn constant_key(&self, e: &Expr) -> Val {
        match self.layout.class_of_constant(e) {
            class::ANY => Val::Any,
            found => Val::Key(found, None),
        }
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr) -> Done<Val> {
        if matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Rem) {
            if let (BinOp::Add, Expr::Read(place), Expr::Const(1)) = (op, a, b)
                && let Val::Version(version, true) = self.read(place)?
            {
                return Ok(Val::Grown(version));
            }
            let whole = Expr::Binary(op, Box::new(a.clone()), Box::new(b.clone()));
            return match self.constant_key(&whole) {
                Val::Any => self.unsupported("arithmetic"),
                known => Ok(known),
            };
        }
        if matches!(op, BinOp::Eq | BinOp::Ne)
            && let Some(same) = self.same_link(a, b)?
        {
            return Ok(Val::Bool(same == (op == BinOp::Eq)));
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

    pub(crate) fn key(&self, value: Val, e: &Expr) -> (Class, Option<usize>) {
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
            (Val::Version(a, true), Val::Version(b, now)) if a == b => Some(now),
            (Val::Version(a, false), Val::Version(b, true)) if a == b => Some(false),
            (Val::Key(..), _) | (_, Val::Key(..)) => {
                compare(self.key(a, ea), self.key(b, eb)).map(std::cmp::Ordering::is_eq)
            }
            _ => None,
        }
    }

    pub(crate) fn read(&mut self, place: &Place) -> Done<Val> {
        let layout = self.layout;
        match place {
            Place::Local(local) => self.local(local.index()),
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
                    return found
                        .map(Val::Node)
                        .map_or_else(|| self.unsupported("a shared pointer without a value"), Ok);
                }
                Ok(match layout.global_scalar[index] {
                    Some((shift, Scalar::Bool)) => bool_value(self.s.globals >> shift),
                    Some((shift, Scalar::Lock)) if self.s.globals >> shift & 15 == 0 => Val::Word(NONE),
                    Some((_, Scalar::Lock)) => Val::Held,
                    _ => layout.version[index].map_or(Val::Any, |version| Val::Version(version, true)),
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

    pub(crate) fn local(&self, local: usize) -> Done<Val> {
        let layout = self.layout;
        let op = layout.op_at(self.me().pc);
        let slot = &layout.program.operations[op].locals[local];
        if let Some(bit) = layout.local_bit[op][local] {
            return match (self.s.local(layout, self.thread, bit), &slot.ty) {
                (Some(node), Type::Pointer(_)) => Ok(Val::Node(node)),
                (None, Type::Pointer(_)) => self.unsupported("a variable that may have no value"),
                (Some(0), _) => Ok(Val::Word(NONE)),
                (Some(node), _) => Ok(Val::Data(node)),
                (None, _) => Ok(Val::Any),
            };
        }
        match layout.scalar[op][local] {
            Some((shift, Scalar::Bool)) => match bool_value(self.me().scalars >> shift) {
                Val::Any => self.unsupported("a variable that may have no value"),
                value => Ok(value),
            },
            Some((shift, Scalar::Version(version))) => Ok(match self.me().scalars >> shift & 3 {
                0 => Val::Any,
                code => Val::Version(version, code == 1),
            }),
            Some((shift, Scalar::Key)) => Ok(Val::Key((self.me().scalars >> shift & 7) as Class, None)),
            _ if local == 0 && layout.roles[op] == Role::Insert => {
                Ok(match self.s.local(layout, self.thread, layout.argument) {
                    Some(node) => Val::Data(node),
                    None => Val::Argument,
                })
            }
            _ => Ok(Val::Any),
        }
    }

    pub(crate) fn field(&mut self, node: usize, record: usize, field: u16) -> Done<Val> {
        self.reach(node, record, field)?;
        let layout = self.layout;
        let slot = &layout.program.records[record].fields[usize::from(field)];
        if slot.ghost {
            return Ok(Val::Any);
        }
        match &slot.ty {
            Type::Pointer(_) if layout.is_link(record, field) => Ok(Val::Node(self.target(node)?)),
            Type::Data => {
                Ok(if layout.value_field(record) == Some(field) { Val::Data(node) } else { Val::Any })
            }
            Type::Bool => {
                let bit = layout.bool_bit[record][usize::from(field)].unwrap_or(0);
                Ok(Val::Bool(self.is(node, bit)))
            }
            Type::Int if layout.key == Some((record, field)) => {
                Ok(Val::Key(layout.class_of(self.s.nodes[node].mask), Some(node)))
            }
            Type::Lock => {
                let held = self.is_locked(node, record, field);
                Ok(if held { Val::Held } else { Val::Any })
            }
            _ => Ok(Val::Any),
        }
    }

    /// Where a node's link leads, made certain.
    pub(crate) fn target(&mut self, node: usize) -> Done<usize> {
        let row = self.s.nodes[node].row;
        if row.is_power_of_two() && !self.s.nodes[row.trailing_zeros() as usize].many {
            return Ok(row.trailing_zeros() as usize);
        }
        let chosen = self.choose(row)?;
        self.s.nodes[node].row = 1 << chosen;
        self.differ(node)?;
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
        self.differ(node)?;
        self.tidy()?;
        Ok(chosen)
    }

    /// One node of a row; a nameless one is split.
    pub(crate) fn choose(&mut self, row: u32) -> Done<usize> {
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

    /// One of a node's two links was changed. If they lead to one record now, the node is uniform, and else
    /// it is not: where both may be, the structure is split. So being uniform is a kind as others are: views
    /// of one state agree on it, whatever each knows about where links lead.
    pub(crate) fn reunite(&mut self, node: usize) -> Done<()> {
        let found = self.s.nodes[node];
        if found.mask & self.layout.nonuniform == 0 {
            return Ok(());
        }
        let common = found.row & found.other;
        let certain = found.row == found.other && self.is_one(common);
        if common != 0 && (certain || self.pick(2) == 0) {
            let found = &mut self.s.nodes[node];
            found.mask &= !self.layout.nonuniform;
            found.row = common;
            found.other = 0;
            return Ok(());
        }
        self.differ(node)
    }

    /// The two links of a node that is nonuniform lead to different records.
    pub(crate) fn differ(&mut self, node: usize) -> Done<()> {
        let found = self.s.nodes[node];
        if found.mask & self.layout.nonuniform == 0 {
            return Ok(());
        }
        if self.is_one(found.row) {
            self.s.nodes[node].other &= !found.row;
        }
        if self.is_one(found.other) {
            self.s.nodes[node].row &= !found.other;
        }
        match self.s.nodes[node] {
            Node { row: 0, .. } | Node { other: 0, .. } => Err(Stop::Impossible),
            _ => Ok(()),
        }
    }

    /// Does a row lead to one record, or `null`, for certain?
    fn is_one(&self, row: u32) -> bool {
        row.is_power_of_two() && !self.s.nodes[row.trailing_zeros() as usize].many
    }

    /// What is known of lists, put to use after a change.
    pub(crate) fn tidy(&mut self) -> Done<()> {
        if self.layout.object == Object::Set {
            crate::list::coerce(self.layout, self.s)?;
        }
        if self.layout.gone != 0 {
            crate::memory::coerce(self.layout, self.s)?;
        }
        Ok(())
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
