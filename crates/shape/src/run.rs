//! From one structure to the next: a step that others can notice, and what follows it unnoticed.
//!
//! A step is *local* if it touches only locals, records that nobody else can reach, and what is never
//! written. Local steps commute with all steps of others, so they are taken together with the step before
//! them; a return is then as early as can be, which is the strictest. A call is never moved forward: a thread
//! at rest is a state of its own.

use linpoint_lang::interp::Choices;

use crate::exec::{Alarm, Exec, Points, Stop};
use crate::layout::{Class, Layout, Object, class};
use crate::structure::{IDLE, Structure};

/// More local steps than this in a row are taken for a loop.
const MOST_LOCAL: usize = 4000;

/// What ends an analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Something may be wrong.
    Alarm(Alarm),
    /// Something is not modelled.
    Unsupported(String),
}

/// Trouble, where, and in which structure.
#[derive(Clone, Debug)]
pub struct Halt {
    /// What.
    pub trouble: Trouble,
    /// The control point and the edge that was taken.
    pub at: (u16, u16),
    /// The structure before the step.
    pub before: Structure,
}

/// The program, and where its operations take effect.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'a, 'p> {
    /// The program.
    pub layout: &'a Layout<'p>,
    /// The points.
    pub points: &'a Points,
}

/// Ways of one edge.
pub(crate) enum Ways {
    /// Others could notice one of them.
    Visible,
    /// What it leads to, and whether others get to see something.
    After(Vec<(Structure, bool)>),
}

impl Steps<'_, '_> {
    /// Every way of one edge; structures are not canonical yet.
    pub(crate) fn edge(
        &self,
        s: &Structure,
        thread: usize,
        edge: usize,
        local_only: bool,
        foreign: bool,
    ) -> Result<Ways, Halt> {
        let mut choices = Choices::default();
        let mut after = Vec::new();
        let mut halt = None;
        // A way that leads nowhere leaves its room to the next one.
        let mut room: Option<Structure> = None;
        loop {
            let mut next = match room.take() {
                Some(mut next) => {
                    next.copy(s);
                    next
                }
                None => s.clone(),
            };
            let mut exec = Exec {
                layout: self.layout,
                points: self.points,
                s: &mut next,
                thread,
                choices: &mut choices,
                local_only,
                foreign,
                effect: false,
            };
            let done = exec.edge(edge);
            let effect = exec.effect;
            let trouble = match done {
                Ok(()) => {
                    after.push((next, effect));
                    None
                }
                Err(Stop::Disabled | Stop::Impossible) => {
                    room = Some(next);
                    None
                }
                Err(Stop::Visible) => return Ok(Ways::Visible),
                Err(Stop::Wrong(alarm)) => Some(Trouble::Alarm(alarm)),
                Err(Stop::Unsupported(what)) => Some(Trouble::Unsupported(what)),
            };
            if let (Some(trouble), None) = (trouble, &halt) {
                let at = (s.threads[thread].pc, edge as u16);
                halt = Some(Halt { trouble, at, before: s.clone() });
            }
            if !choices.next() {
                return halt.map_or(Ok(Ways::After(after)), Err);
            }
        }
    }

    /// Goes on while nobody can notice; what is left is canonical.
    pub(crate) fn settle(&self, s: Structure, thread: usize, out: &mut Vec<Structure>) -> Result<(), Halt> {
        let mut open = vec![s];
        let mut taken = 0;
        while let Some(mut s) = open.pop() {
            let pc = s.threads[thread].pc;
            taken += 1;
            let stays = pc == IDLE || self.layout.surely_visible[usize::from(pc)];
            let next = if stays { None } else { self.local_steps(&s, thread)? };
            match next {
                Some(next) if taken <= MOST_LOCAL => open.extend(next),
                Some(_) => {
                    let trouble = Trouble::Unsupported("a loop that touches nothing shared".into());
                    return Err(Halt { trouble, at: (pc, 0), before: s });
                }
                None => {
                    if self.loses_lock(&s, thread) {
                        let trouble =
                            Trouble::Unsupported("a lock on a record that no variable leads to".into());
                        return Err(Halt { trouble, at: (pc, 0), before: s });
                    }
                    if s.canon(self.layout).is_ok() {
                        out.push(s);
                    }
                }
            }
        }
        Ok(())
    }

    /// Does a thread hold a lock of a record that none of its variables leads to? It would be forgotten that
    /// it does.
    fn loses_lock(&self, s: &Structure, thread: usize) -> bool {
        let (held, naming) = (self.layout.held(thread), self.layout.naming(s.threads.len()));
        s.nodes.iter().any(|node| node.mask & held != 0 && node.mask & naming == 0)
    }

    /// All steps of a thread, if none can be noticed and there is one.
    fn local_steps(&self, s: &Structure, thread: usize) -> Result<Option<Vec<Structure>>, Halt> {
        let node = &self.layout.program.nodes[usize::from(s.threads[thread].pc)];
        let mut next = Vec::new();
        let mut halt = None;
        for edge in 0..node.edges.len() {
            match self.edge(s, thread, edge, true, false) {
                Ok(Ways::Visible) => return Ok(None),
                Ok(Ways::After(after)) => next.extend(after.into_iter().map(|(s, _)| s)),
                Err(found) => halt = Some(found),
            }
        }
        match halt {
            Some(halt) => Err(halt),
            None if next.is_empty() => Ok(None),
            None => Ok(Some(next)),
        }
    }

    /// Is the thread between two steps that others can notice?
    pub fn rests(&self, s: &Structure, thread: usize) -> bool {
        let pc = s.threads[thread].pc;
        pc == IDLE
            || self.layout.surely_visible[usize::from(pc)]
            || matches!(self.local_steps(s, thread), Ok(None))
    }

    /// Every call that a thread at rest may make.
    pub(crate) fn calls(
        &self,
        s: &Structure,
        thread: usize,
        ops: &[usize],
        out: &mut Vec<Structure>,
    ) -> Result<(), Halt> {
        let classes: &[Class] = match self.layout.object {
            Object::Set => &[class::LESS, class::SAME, class::MORE],
            _ => &[class::ANY],
        };
        for &op in ops {
            for &key in classes {
                let mut next = s.clone();
                let mut choices = Choices::default();
                Exec {
                    layout: self.layout,
                    points: self.points,
                    s: &mut next,
                    thread,
                    choices: &mut choices,
                    local_only: false,
                    foreign: false,
                    effect: false,
                }
                .call(op, key);
                self.settle(next, thread, out)?;
            }
        }
        Ok(())
    }
}
