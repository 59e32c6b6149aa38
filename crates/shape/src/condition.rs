//! Conditions: what is known once one holds, found without going through everything that a link may lead to.
//!
//! A comparison of a link with a pointer asks one thing only: does the link lead to that record? A pointer is
//! a name, so its node is one record, and there are two ways: the link leads there, and the row is that node;
//! or it does not, and the row is the rest. Nothing has to be split for that. A condition that is assumed
//! keeps the way in which it holds; the others are not tried.

use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Expr, Place, Type};

use crate::exec::{Alarm, Done, Exec, Stop};

impl Exec<'_, '_> {
    /// Goes on where a condition has this value.
    pub(crate) fn assume(&mut self, e: &Expr, wanted: bool) -> Done<()> {
        match e {
            Expr::Not(e) => return self.assume(e, !wanted),
            Expr::Binary(BinOp::And, a, b) if wanted => {
                self.assume(a, true)?;
                return self.assume(b, true);
            }
            Expr::Binary(BinOp::Or, a, b) if !wanted => {
                self.assume(a, false)?;
                return self.assume(b, false);
            }
            Expr::Binary(op @ (BinOp::Eq | BinOp::Ne), a, b) => {
                if let Some((node, to)) = self.link_and_pointer(a, b)? {
                    return self.narrow(node, to, wanted == (*op == BinOp::Eq));
                }
            }
            _ => {}
        }
        if self.condition(e)? == wanted { Ok(()) } else { Err(Stop::Disabled) }
    }

    /// Does a link lead to what a pointer leads to, if that is what two expressions ask?
    pub(crate) fn same_link(&mut self, a: &Expr, b: &Expr) -> Done<Option<bool>> {
        let Some((node, to)) = self.link_and_pointer(a, b)? else { return Ok(None) };
        let (row, bit) = (self.s.nodes[node].row, 1 << to);
        let same = match row & bit {
            0 => false,
            _ if row == bit => true,
            _ => self.pick(2) == 1,
        };
        self.narrow(node, to, same)?;
        Ok(Some(same))
    }

    /// The node whose link is read, and the node of the local or `null` that it is compared with.
    fn link_and_pointer(&mut self, a: &Expr, b: &Expr) -> Done<Option<(usize, usize)>> {
        let (link, other) = if self.is_plain_pointer(b) { (a, b) } else { (b, a) };
        let Expr::Read(Place::Field(pointer, record, field)) = link else { return Ok(None) };
        if !self.layout.is_link(record.index(), *field) || !self.is_plain_pointer(other) {
            return Ok(None);
        }
        let pointer = self.eval(pointer)?;
        let node = self.pointer(pointer)?;
        self.reach(node, record.index(), *field)?;
        let other = self.eval(other)?;
        let to = self.pointer(other)?;
        Ok(Some((node, to)))
    }

    /// A local that points, or `null`: reading it changes nothing, and nobody notices.
    fn is_plain_pointer(&self, e: &Expr) -> bool {
        match e {
            Expr::Const(word) => *word == 0,
            Expr::Read(Place::Local(local)) => {
                let op = self.layout.op_at(self.me().pc);
                let slot = &self.layout.program.operations[op].locals[local.index()];
                matches!(slot.ty, Type::Pointer(_)) && !slot.ghost
            }
            _ => false,
        }
    }

    /// A field of this record is used: it is there, and others may notice.
    pub(crate) fn reach(&self, node: usize, record: usize, field: u16) -> Done<()> {
        if node == 0 {
            return Err(Stop::Wrong(Alarm::NullDereference));
        }
        self.usable(node, record)?;
        let layout = self.layout;
        let ghost = layout.program.records[record].fields[usize::from(field)].ghost;
        if !ghost && !layout.constant_field[record][usize::from(field)] && !self.is(node, layout.private) {
            self.touch()?;
        }
        Ok(())
    }

    /// A node's link leads to a record, or does not.
    fn narrow(&mut self, node: usize, to: usize, same: bool) -> Done<()> {
        let row = self.s.nodes[node].row;
        let left = if same { row & 1 << to } else { row & !(1 << to) };
        if left == 0 {
            return Err(Stop::Disabled);
        }
        if left == row {
            return Ok(());
        }
        self.s.nodes[node].row = left;
        self.differ(node)?;
        self.tidy()
    }
}
