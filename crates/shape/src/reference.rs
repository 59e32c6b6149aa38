//! The reference: a sequential object beside the candidate, run as one step where an operation takes effect
//! (Amit 2007, chapters 3 and 4).
//!
//! **Stacks and queues.** The reference is a linked list of its own, of which only the difference is kept: a
//! node is a record of the candidate and, unless it is *uncorrelated*, the record of the reference that holds
//! the same value, with the same link unless it is *nonuniform*. The queue's reference starts with a dummy,
//! like the candidate. A value is right if it is that of the very record which the reference gave back: equal
//! records have equal values, since values are written only while a record is private.
//!
//! **Sets.** One key is tracked, any one. What a set does with it is what a set of one possible element does,
//! and a history of a set is linearizable iff for each key the history of the operations on it is (locality;
//! Herlihy and Wing 1990). So the reference is one bit: is the tracked key in it?
//!
//! **Answers without effect** ("empty", `add` of what is there, …) need no linearization point: each open
//! operation remembers which such answers were right at some moment since its call. If it returns one of
//! them, and took no effect itself, that moment is its linearization point, in whosever step it lies.

use crate::exec::{Alarm, Done, Exec, Stop, Val};
use crate::layout::{Mask, Object, Role};
use crate::structure::{Effect, PROBE, SEEN_FIRST, SEEN_SECOND, TRACKED};

impl Exec<'_, '_> {
    fn first(&self) -> Mask {
        1 << self.layout.first
    }

    fn second(&self) -> Mask {
        1 << self.layout.second
    }

    /// The thread's operation takes effect now.
    pub(crate) fn take_effect(&mut self) -> Done<()> {
        if self.me().effect != Effect::Open && !self.foreign {
            return Err(Stop::Wrong(Alarm::Twice));
        }
        let effect = match self.role() {
            Role::Insert => {
                let Some(node) = self.s.local(self.layout, self.thread, self.layout.argument) else {
                    return Err(Stop::Wrong(Alarm::NoArgument));
                };
                if !self.is(node, self.layout.uncorrelated) {
                    return Err(Stop::Wrong(if self.points.help() {
                        Alarm::Twice
                    } else {
                        Alarm::NoArgument
                    }));
                }
                self.insert(node)?;
                self.withdraw();
                Effect::Done
            }
            Role::Take => self.take()?,
            role => match self.set_effect(role) {
                Some(effect) => effect,
                None => return Ok(()),
            },
        };
        if self.layout.gone != 0 {
            self.tidy()?;
        }
        let mine = self.mine();
        mine.effect = effect;
        mine.seen &= TRACKED;
        self.note_moment();
        Ok(())
    }

    /// The operation whose argument is in the node at a shared pointer takes effect, if it did not yet.
    pub(crate) fn help(&mut self, bit: u32) -> Done<()> {
        let Some(node) = self.s.named(1 << bit) else { return Ok(()) };
        if node == 0 || !self.is(node, self.layout.uncorrelated) {
            return Ok(());
        }
        self.insert(node)?;
        self.note_moment();
        Ok(())
    }

    /// The reference takes the value of an uncorrelated node: the two are one node from now on.
    pub(crate) fn insert(&mut self, node: usize) -> Done<()> {
        let (uncorrelated, nonuniform) = (self.layout.uncorrelated, self.layout.nonuniform);
        self.effect = true;
        if self.is(node, self.layout.freed | self.layout.gone) {
            return self.unsupported("a record takes effect that was given back");
        }
        // The reference's pointers are for all to see.
        self.publish(node)?;
        match self.layout.object {
            Object::Stack => {
                let Some(top) = self.s.named(self.first()) else { return Err(Stop::Impossible) };
                let found = &mut self.s.nodes[node];
                found.mask = found.mask & !uncorrelated | nonuniform;
                found.other = 1 << top;
                self.reunite(node)?;
                self.s.move_name(self.first(), node);
            }
            _ => {
                let Some(last) = self.s.named(self.second()) else { return Err(Stop::Impossible) };
                let found = &mut self.s.nodes[node];
                found.mask = found.mask & !uncorrelated | nonuniform;
                found.other = 1;
                self.reunite(node)?;
                if last != 0 {
                    let found = &mut self.s.nodes[last];
                    found.mask |= nonuniform;
                    found.other = 1 << node;
                    self.reunite(last)?;
                }
                self.s.move_name(self.second(), node);
            }
        }
        Ok(())
    }

    /// The reference gives a value back, or finds nothing.
    fn take(&mut self) -> Done<Effect> {
        let answer = self.layout.bit(self.thread, self.layout.answer);
        let Some(first) = self.s.named(self.first()) else { return Err(Stop::Impossible) };
        if self.is_empty() {
            return Ok(Effect::Empty);
        }
        self.effect = true;
        let next = self.reference_target(first)?;
        match self.layout.object {
            Object::Stack => {
                self.s.move_name(answer, first);
                self.s.move_name(self.first(), next);
                self.leave(first);
                if self.is(first, self.layout.offer_kind) {
                    // It was in the reference for this step only, and has no link there any more.
                    self.s.nodes[first].mask &= !self.layout.nonuniform;
                    self.s.nodes[first].other = 0;
                }
            }
            _ => {
                // The tail of the reference is its last node, and this is not it.
                if next == 0 {
                    return Err(Stop::Impossible);
                }
                self.s.move_name(answer, next);
                self.s.move_name(self.first(), next);
                self.leave(first);
            }
        }
        Ok(Effect::Gave)
    }

    /// A record leaves the reference: where places are used again, it has no link there any more.
    fn leave(&mut self, node: usize) {
        if self.layout.gone != 0 {
            let found = &mut self.s.nodes[node];
            found.mask = found.mask & !self.layout.nonuniform | self.layout.gone;
            found.other = 0;
        }
    }

    /// Is the reference empty? Certain, always: its pointers are names.
    fn is_empty(&self) -> bool {
        match self.layout.object {
            Object::Stack => self.s.nodes[0].mask & self.first() != 0,
            _ => self.s.named(self.first()) == self.s.named(self.second()),
        }
    }

    /// Is the tracked key in the reference's set?
    fn inside(&self) -> bool {
        self.s.globals & self.layout.member != 0
    }

    /// A set's operation on the tracked key; on other keys nothing that is followed happens.
    fn set_effect(&mut self, role: Role) -> Option<Effect> {
        if self.me().seen & TRACKED == 0 {
            return None;
        }
        let member = self.layout.member;
        let inside = self.s.globals & member != 0;
        let answer = match role {
            Role::Add => {
                self.s.globals |= member;
                !inside
            }
            Role::Remove => {
                self.s.globals &= !member;
                inside
            }
            _ => inside,
        };
        self.effect |= inside != (self.s.globals & member != 0);
        Some(if answer { Effect::True } else { Effect::False })
    }

    /// Operations that are open now remember what they could answer now without effect.
    pub(crate) fn note_moment(&mut self) {
        let layout = self.layout;
        for index in 0..self.s.threads.len() {
            let thread = self.s.threads[index];
            if thread.pc == crate::structure::IDLE || thread.effect != Effect::Open {
                continue;
            }
            if thread.pc == PROBE {
                let first = if layout.object == Object::Set { self.inside() } else { self.is_empty() };
                self.s.threads[index].seen |= if first { SEEN_FIRST } else { SEEN_SECOND };
                continue;
            }
            let role = layout.roles[layout.op_at(thread.pc)];
            let tracked = thread.seen & TRACKED != 0;
            let inside = self.inside();
            let right = match role {
                Role::Insert => 0,
                Role::Take if self.is_empty() => SEEN_FIRST,
                Role::Take => 0,
                Role::Add if tracked && inside => SEEN_FIRST,
                Role::Remove if tracked && !inside => SEEN_SECOND,
                Role::Contains if tracked => {
                    if inside {
                        SEEN_FIRST
                    } else {
                        SEEN_SECOND
                    }
                }
                _ => 0,
            };
            self.s.threads[index].seen |= right;
        }
    }

    /// Is the answer that of the reference?
    pub(crate) fn check_answer(&mut self, value: Val) -> Done<()> {
        let layout = self.layout;
        let me = self.me();
        let wrong = |alarm: Alarm| Err(Stop::Wrong(alarm));
        match self.role() {
            Role::Insert => {
                let helped = self.points.help()
                    && self
                        .s
                        .local(layout, self.thread, layout.argument)
                        .is_some_and(|node| node != 0 && !self.is(node, layout.uncorrelated));
                if me.effect == Effect::Done || helped { Ok(()) } else { wrong(Alarm::NoEffect) }
            }
            Role::Take => match (value, me.effect) {
                (Val::Word(linpoint_lang::program::NONE), Effect::Empty) => Ok(()),
                (Val::Word(linpoint_lang::program::NONE), Effect::Open) if me.seen & SEEN_FIRST != 0 => {
                    Ok(())
                }
                (Val::Data(node), Effect::Gave) if self.is(node, layout.bit(self.thread, layout.answer)) => {
                    Ok(())
                }
                (_, Effect::Open) => wrong(Alarm::NoEffect),
                _ => wrong(Alarm::WrongAnswer),
            },
            role => {
                let answer = self.truth(value);
                if me.seen & TRACKED == 0 {
                    return Ok(());
                }
                let seen = |bit: u8| me.seen & bit != 0;
                let right = match (me.effect, role, answer) {
                    (Effect::True, _, answer) => answer,
                    (Effect::False, _, answer) => !answer,
                    (_, Role::Add, false) | (_, Role::Contains, true) => seen(SEEN_FIRST),
                    (_, Role::Remove, false) | (_, Role::Contains, false) => seen(SEEN_SECOND),
                    _ => return wrong(Alarm::NoEffect),
                };
                if right { Ok(()) } else { wrong(Alarm::WrongAnswer) }
            }
        }
    }
}
