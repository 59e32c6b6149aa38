//! What one step of a program does to a structure: the interpreter, abstractly.
//!
//! It follows `linpoint_lang::interp` action by action. Where a structure leaves open what happens (which
//! record a link leads to, how two keys compare), a [`Choices`] decides, and the step is run once for each
//! way. Reading a link is the only place where nodes are split: see [`Exec::target`].
//!
//! Values that are not modelled (numbers, enums, threads) are *anything*: each use of one goes every way.
//! What could go wrong without being seen, and what would change the meaning of the structure, stops the
//! analysis with a reason ([`Stop::Unsupported`]).

use linpoint_lang::interp::Choices;
use linpoint_lang::program::{Action, Exit, Expr, MarkKind, Word};

use crate::layout::{Class, Layout, Mask, Role, Scalar, class};
use crate::structure::{Contradiction, Effect, Structure, TRACKED, Thread};

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
    /// The one whose argument is in the offer that this local points to, and then the thread's own.
    Meet(u16),
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
    UseAfterFree,
    FreedTwice,
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
            Alarm::UseAfterFree => "a field of a freed record may be used",
            Alarm::FreedTwice => "a record may be freed twice",
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
    /// A version as it is now, or as it was.
    Version(u8, bool),
    /// One more than a version is now.
    Grown(u8),
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
                        Point::Meet(local) => {
                            let offer = self.local(usize::from(*local))?;
                            let offer = self.pointer(offer)?;
                            self.take_offer(offer)?;
                            self.take_effect()?;
                        }
                    }
                }
            }
        }
        if self.layout.offer_kind != 0 {
            self.no_offer_stays()?;
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

    pub(crate) fn unsupported<T>(&self, what: &str) -> Done<T> {
        Err(Stop::Unsupported(what.into()))
    }

    /// At a control point: what does not matter there is forgotten.
    pub(crate) fn arrive(&mut self, to: u16) {
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

    pub(crate) fn act(&mut self, action: &Action) -> Done<()> {
        match action {
            Action::Assume(e) => self.assume(e, true),
            Action::Assert(e, _) => {
                if self.condition(e)? {
                    Ok(())
                } else {
                    Err(Stop::Wrong(Alarm::AssertFailed))
                }
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
                self.touch()?;
                match &mark.of {
                    None => self.take_effect(),
                    Some(whose) => {
                        let offer = self.offer_of(whose)?;
                        self.take_offer(offer)
                    }
                }
            }
            Action::Mark(_) => Ok(()),
            Action::Free(e) => self.free(e),
            Action::Prophecy(..) => self.unsupported("a prophecy"),
            Action::Claim(_) => self.unsupported("claims about the future"),
        }
    }

    /// The operation returns: its answer is compared with the reference's.
    pub(crate) fn returns(&mut self, values: &[Expr]) -> Done<()> {
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

pub(crate) fn width(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::Bool | Scalar::Version(_) => 3,
        Scalar::Key => 7,
        Scalar::Lock => 15,
    }
}
