//! One atomic step of one thread.

use super::layout::constant;
use super::{Choices, ErrorKind, Machine, Point, RunError, State};
use crate::program::{Action, ClaimId, Exit, Expr, Mark, NONE, OpId, Place, RecordId, UNSET, Word};
use crate::span::Span;

/// More records than this in one state are refused.
pub(super) const MAX_CELLS: usize = 4096;

/// What became of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It cannot be taken now; the state is not to be used.
    Disabled,
    /// The thread is at another node.
    Moved,
    /// The operation returned: a word a part, or [`NONE`] alone.
    Returned(Vec<Word>),
}

/// What happened in a step besides the change of state, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A linearization point was passed.
    Point(Point),
    /// A claim was made.
    Claim(ClaimId),
    /// `new` took this cell again, though somebody still points to it.
    Reuse(usize),
    /// An action was done, or the result was worked out; told only by a machine that is [`Machine::watched`].
    Acted {
        /// The places in the row that it accessed, and whether it wrote them.
        accesses: Vec<(usize, bool)>,
        /// The row after it.
        words: Vec<Word>,
    },
}

impl Machine<'_> {
    /// Takes the edge with this number at the node where the thread is. After an error or
    /// [`Outcome::Disabled`] the state is spoiled.
    pub fn step(
        &self,
        state: &mut State,
        thread: usize,
        edge: usize,
        choices: &mut Choices,
        events: &mut Vec<Event>,
    ) -> Result<Outcome, RunError> {
        let Some(pc) = self.pc(state, thread) else { return Ok(Outcome::Disabled) };
        let node = self.program.node(pc);
        let Some(edge) = node.edges.get(edge) else { return Ok(Outcome::Disabled) };
        let op = node.op.index();
        let at = |span: Span| move |kind: ErrorKind| RunError { kind, thread, span };
        for action in &edge.actions {
            let accesses = if self.watched { self.accesses(state, thread, action) } else { Vec::new() };
            if !self.act(state, thread, op, action, choices, events).map_err(at(edge.span))? {
                return Ok(Outcome::Disabled);
            }
            if self.watched {
                events.push(Event::Acted { accesses, words: state.words.clone() });
            }
        }
        match &edge.exit {
            Exit::Goto(to) => {
                let frame = self.frames + thread * self.frame;
                state.words[frame] = Word::from(to.0);
                for local in &self.dead[to.index()] {
                    state.words[frame + 1 + local] = UNSET;
                }
                Ok(Outcome::Moved)
            }
            Exit::Return(values) => {
                let result = self.values(state, thread, values).map_err(at(edge.span))?;
                if self.watched {
                    let mut accesses = Vec::new();
                    values.iter().for_each(|e| self.reads(&mut state.words, thread, e, &mut accesses));
                    events.push(Event::Acted { accesses, words: state.words.clone() });
                }
                let frame = self.frame_range(thread);
                state.words[frame].fill(UNSET);
                self.set_pc(state, thread, None);
                Ok(Outcome::Returned(result))
            }
        }
    }

    fn is_ghost(&self, op: usize, place: &Place) -> bool {
        let of_variable = match place {
            Place::Global(global, _) | Place::Element(global, ..) => {
                self.program.globals[global.index()].ghost
            }
            _ => false,
        };
        of_variable || self.program.slot(OpId(op as u16), place).is_some_and(|slot| slot.ghost)
    }

    fn values(&self, state: &mut State, thread: usize, values: &[Expr]) -> Result<Vec<Word>, ErrorKind> {
        values.iter().map(|e| self.eval(&mut state.words, thread, e)).collect()
    }

    /// Does one action; false if it is not enabled.
    fn act(
        &self,
        state: &mut State,
        thread: usize,
        op: usize,
        action: &Action,
        choices: &mut Choices,
        events: &mut Vec<Event>,
    ) -> Result<bool, ErrorKind> {
        match action {
            Action::Assume(e) => return Ok(self.eval(&mut state.words, thread, e)? != 0),
            Action::Assign(place, e) => {
                // Only ghosts can be beyond what the run has room for; they are then without a value.
                let value = match self.eval(&mut state.words, thread, e) {
                    Err(ErrorKind::Beyond) => UNSET,
                    Err(ErrorKind::Unset) if self.is_ghost(op, place) => UNSET,
                    value => value?,
                };
                let at = match self.find(&mut state.words, thread, place) {
                    Err(ErrorKind::Beyond) => return Ok(true),
                    at => at?,
                };
                if value != UNSET {
                    self.fits(op, place, value)?;
                }
                state.words[at] = value;
            }
            Action::Assert(e, _) => {
                if self.eval(&mut state.words, thread, e)? == 0 {
                    return Err(ErrorKind::AssertFailed);
                }
            }
            Action::Choose(local, lo, hi) => {
                let lo = self.eval(&mut state.words, thread, lo)?;
                let hi = self.eval(&mut state.words, thread, hi)?;
                if hi < lo {
                    return Ok(false);
                }
                let value = choices.between(lo, hi).ok_or(ErrorKind::TooManyWays)?;
                self.fits(op, &Place::Local(*local), value)?;
                let at = self.local_at(thread, local.index());
                state.words[at] = value;
            }
            Action::Prophecy(local, resolved) => {
                // A wrong guess, and then the right one: nothing but ghosts sees either.
                let value = resolved.as_ref().map_or(Ok(0), |e| self.eval(&mut state.words, thread, e))?;
                let at = self.local_at(thread, local.index());
                state.words[at] = value;
            }
            Action::New { local, record, fields } => {
                self.allocate(state, thread, local.index(), *record, fields, choices, events)?;
            }
            Action::Free(pointer) => {
                let pointer = self.eval(&mut state.words, thread, pointer)?;
                if pointer <= 0 {
                    return Err(ErrorKind::NullDereference);
                }
                let start = self.heap + (pointer as usize - 1) * self.cell;
                let header = state.words[start];
                if header < 0 {
                    return Err(ErrorKind::DoubleFree);
                }
                state.words[start] = -header;
                if !self.program.records[header as usize - 1].pooled {
                    // Nobody will read it again: what it held makes no difference.
                    state.words[start + 1..start + self.cell].fill(0);
                }
            }
            Action::Lock(place) => {
                let at = self.find(&mut state.words, thread, place)?;
                if state.words[at] != NONE {
                    return Ok(false);
                }
                state.words[at] = self.name_of(thread);
            }
            Action::Unlock(place) => {
                let at = self.find(&mut state.words, thread, place)?;
                if state.words[at] != self.name_of(thread) {
                    return Err(ErrorKind::NotHeld);
                }
                state.words[at] = NONE;
            }
            Action::Mark(mark) => self.mark(state, thread, mark, events)?,
            Action::Claim(claim) => events.push(Event::Claim(*claim)),
        }
        Ok(true)
    }

    /// May the place hold the value?
    fn fits(&self, op: usize, place: &Place, value: Word) -> Result<(), ErrorKind> {
        let bounds = match place {
            Place::Local(local) => self.bounds.locals[op][local.index()],
            Place::Global(global, slot) | Place::Element(global, _, slot) => {
                self.bounds.globals[global.index()][usize::from(*slot)]
            }
            Place::Field(_, record, field) => self.bounds.fields[record.index()][usize::from(*field)],
        };
        match bounds {
            Some((least, greatest)) if value < least || value > greatest => {
                Err(ErrorKind::OutOfRange { value, least, greatest })
            }
            _ => Ok(()),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn allocate(
        &self,
        state: &mut State,
        thread: usize,
        local: usize,
        record: RecordId,
        given: &[(u16, Expr)],
        choices: &mut Choices,
        events: &mut Vec<Event>,
    ) -> Result<(), ErrorKind> {
        let kind = &self.program.records[record.index()];
        let header = Word::from(record.0) + 1;
        let mut values = Vec::with_capacity(given.len());
        for (field, e) in given {
            let value = self.eval(&mut state.words, thread, e)?;
            let place = Place::Field(Box::new(Expr::Const(0)), record, *field);
            self.fits(0, &place, value)?;
            values.push((usize::from(*field), value));
        }
        let cells = self.cells(state);
        let mut cell = cells;
        if kind.freed {
            let freed: Vec<usize> =
                (0..cells).filter(|cell| state.words[self.heap + cell * self.cell] == -header).collect();
            if !freed.is_empty() {
                // Fresh memory first: shortest counterexamples then reuse only what they must.
                let pick = choices.pick(freed.len() as u32 + 1) as usize;
                if pick > 0 {
                    cell = freed[pick - 1];
                    events.push(Event::Reuse(cell));
                }
            }
        }
        if cell == cells {
            if cells >= MAX_CELLS {
                return Err(ErrorKind::HeapFull);
            }
            state.words.resize(state.words.len() + self.cell, 0);
        }
        let start = self.heap + cell * self.cell;
        state.words[start] = header;
        for (field, slot) in kind.fields.iter().enumerate() {
            state.words[start + 1 + field] = constant(&slot.init, &self.sizes);
        }
        for (field, value) in values {
            state.words[start + 1 + field] = value;
        }
        let at = self.local_at(thread, local);
        state.words[at] = cell as Word + 1;
        Ok(())
    }

    fn mark(
        &self,
        state: &mut State,
        thread: usize,
        mark: &Mark,
        events: &mut Vec<Event>,
    ) -> Result<(), ErrorKind> {
        if let Some(when) = &mark.when
            && self.eval(&mut state.words, thread, when)? == 0
        {
            return Ok(());
        }
        let of = match &mark.of {
            None => thread,
            Some(of) => match self.eval(&mut state.words, thread, of)? {
                NONE => return Ok(()),
                other => other as usize,
            },
        };
        let result = match &mark.result {
            Some(values) => Some(self.values(state, thread, values)?),
            None => None,
        };
        events.push(Event::Point(Point { kind: mark.kind, thread: of, result }));
        Ok(())
    }
}
