//! Offers: an insertion that takes effect in the step of the operation that takes its value (elimination;
//! Hendler, Shavit and Yerushalmi 2004).
//!
//! An *offer* is a record with a value and no link, in which an insertion puts its argument for others to
//! take. While the operation took no effect the offer is *live*: it is uncorrelated, and its owner's view has
//! a name for it. A taking operation may take a live offer: first the owner's insertion takes effect, then
//! its own operation, in one step; the reference is afterwards what it was before, and both are right, since
//! a stack gives back what was pushed last.
//!
//! # Why it is sound
//!
//! Whether an offer is live is part of its kind, and every view that shows the record agrees on it:
//! - it becomes live while it is private, in a step of its owner whose operation took no effect;
//! - it ceases to be live when its owner's operation takes effect, in whosever step, and when its owner takes
//!   the last shared pointer off it: all steps that others notice, with the record named by the owner's view;
//! - an owner that makes another offer gives up the one before if nobody else can reach it; if others can,
//!   that is not modelled.
//!
//! So a live offer that others can reach has one owner, whose operation is open, took no effect, and has a
//! name for it. Taking an offer that is not live is an alarm. Of the views that are merged with the taker's
//! step, one is the owner's: there its operation takes effect, and if it took effect before, that is an alarm
//! too. Two threads never own one record, so such views are not merged.

use linpoint_lang::program::{Action, Expr, Place, Program};

use crate::exec::{Alarm, Done, Exec, Stop};
use crate::layout::{Object, Role};
use crate::structure::{Effect, PROBE, TAKEN, TRACKED};

impl Exec<'_, '_> {
    /// The record whose owner a point names, if it is an offer.
    pub(crate) fn offer_of(&mut self, whose: &Expr) -> Done<usize> {
        let layout = self.layout;
        if let Expr::Read(Place::Field(pointer, record, field)) = whose
            && layout.is_offer(record.index())
            && names_its_maker(layout.program, record.index(), *field)
        {
            let pointer = self.eval(pointer)?;
            return self.pointer(pointer);
        }
        self.unsupported("a linearization point of another thread, by its number")
    }

    /// The insertion whose argument is in this offer takes effect.
    pub(crate) fn take_offer(&mut self, node: usize) -> Done<()> {
        let layout = self.layout;
        if node == 0 {
            return Err(Stop::Wrong(Alarm::NullDereference));
        }
        if layout.object != Object::Stack {
            return self.unsupported("an offer that is taken, of another object than a stack");
        }
        if !self.is(node, layout.offer_kind) || !self.is(node, layout.uncorrelated) {
            return Err(Stop::Wrong(Alarm::Twice));
        }
        for index in 0..self.s.threads.len() {
            let bit = layout.bit(index, layout.offer);
            if !self.is(node, bit) {
                continue;
            }
            let known = !(self.foreign && index == self.thread);
            let owner = &mut self.s.threads[index];
            if owner.pc == PROBE {
                owner.seen |= TAKEN;
            } else if owner.effect != Effect::Open && known {
                return Err(Stop::Wrong(Alarm::Twice));
            } else {
                owner.effect = Effect::Done;
                owner.seen &= TRACKED;
            }
            self.s.clear(bit);
        }
        self.insert(node)
    }

    /// A record is an offer of the thread's argument from now on.
    pub(crate) fn offer(&mut self, node: usize) -> Done<()> {
        let layout = self.layout;
        if self.points.help() {
            return self.unsupported("a record without a link, where others help");
        }
        let bit = layout.bit(self.thread, layout.offer);
        if let Some(old) = self.s.named(bit) {
            if !self.is(old, layout.private) {
                return self.unsupported("a second offer, while others may take the first");
            }
            self.s.nodes[old].mask &= !(layout.uncorrelated | bit);
        }
        if self.me().effect == Effect::Open && self.role() == Role::Insert {
            self.s.nodes[node].mask |= layout.uncorrelated | bit;
        }
        Ok(())
    }

    /// The thread's own offer is not live any more.
    pub(crate) fn withdraw(&mut self) {
        let bit = self.layout.bit(self.thread, self.layout.offer);
        if self.layout.offer_kind != 0
            && let Some(node) = self.s.named(bit)
        {
            self.s.nodes[node].mask &= !(self.layout.uncorrelated | bit);
        }
    }

    /// Nothing is left in the reference that has no link there.
    pub(crate) fn no_offer_stays(&self) -> Done<()> {
        let names = 1 << self.layout.first | 1 << self.layout.second;
        match self
            .s
            .nodes
            .iter()
            .any(|node| node.mask & self.layout.offer_kind != 0 && node.mask & names != 0)
        {
            true => self.unsupported(
                "an offer whose insertion takes effect and whose value is not taken in the same step",
            ),
            false => Ok(()),
        }
    }
}

/// Is a field given the thread that makes the record, by every `new` of an operation, and never anything
/// else?
fn names_its_maker(program: &Program, record: usize, field: u16) -> bool {
    let mut actions = program.nodes.iter().flat_map(|node| &node.edges).flat_map(|edge| &edge.actions);
    actions.all(|action| match action {
        Action::New { record: made, fields, .. } if made.index() == record => {
            fields.iter().any(|(number, e)| *number == field && matches!(e, Expr::Me))
        }
        Action::Assign(Place::Field(_, of, number), _) => (of.index(), *number) != (record, field),
        _ => true,
    })
}
