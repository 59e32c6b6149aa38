//! The same steps, faster: places are resolved to offsets once, conditions are looked at before anything is
//! copied.
//!
//! [`Compiled`] does what [`Machine::step`] does, for searches that take millions of steps. It differs in
//! three ways, none of which can be seen in a state that is kept. A step that goes wrong is only said to be
//! [`Taken::Wrong`]: take it again with [`Machine::step`] to learn what is wrong. Locals that are dead are
//! left as they are; whoever writes a state down leaves them out. The words of a frame that runs nothing are
//! left as they are; a call clears them.
//!
//! [`Machine::step`] stays the definition. That both lead to the same states by the same steps is tested on
//! the whole corpus.

mod compiler;

use super::layout::IDLE;
use super::rounds::Rounds;
use super::{Choices, Event, Machine, Point};
use crate::ast::BinOp;
use crate::program::{ClaimId, MarkKind, NONE, OpId, UNSET, Word};

use compiler::Compiler;

/// More records than this in one state are refused, as in a step.
const MAX_CELLS: usize = super::step::MAX_CELLS;

/// A program with every place resolved, for one machine.
#[derive(Clone, Debug)]
pub struct Compiled {
    nodes: Vec<Vec<Edge>>,
    entries: Vec<Word>,
    row: Row,
}

/// Where things are in the row of words.
#[derive(Clone, Copy, Debug)]
struct Row {
    frames: usize,
    frame: usize,
    heap: usize,
    cell: usize,
}

/// One atomic step.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Conditions that come before anything else.
    guards: Vec<Value>,
    acts: Vec<Act>,
    exit: Target,
    /// Is it taken for certain, in one way, once its guards hold?
    certain: bool,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It cannot be taken now; the state is not to be used.
    Disabled,
    /// The thread is at another node.
    Moved,
    /// The operation returned.
    Returned,
    /// An error: [`Machine::step`] says which.
    Wrong,
}

/// What a step leaves behind besides the change of state.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Are events asked for?
    pub wanted: bool,
    /// What happened, if it is asked for.
    pub events: Vec<Event>,
    /// What the operation returned.
    pub result: Vec<Word>,
}

#[derive(Clone, Debug)]
enum Target {
    Goto(Word),
    Return(Vec<Value>),
}

type Limit = Option<(Word, Word)>;

#[derive(Clone, Debug)]
enum Act {
    Assume(Value),
    Assert(Value),
    SetLocal(usize, Value, Limit),
    Set(Spot, Value, Limit),
    Choose(usize, Value, Value, Limit),
    New { local: usize, header: Word, reused: bool, fields: Vec<Word>, given: Vec<(usize, Value, Limit)> },
    Free(Value, Vec<bool>),
    Lock(Spot),
    Unlock(Spot),
    Mark(Box<Marked>),
    Claim(ClaimId),
}

#[derive(Clone, Debug)]
struct Marked {
    kind: MarkKind,
    when: Option<Value>,
    result: Option<Vec<Value>>,
    of: Option<Value>,
}

/// Where a value is: an offset into the row, or how to find it.
#[derive(Clone, Debug)]
enum Spot {
    Local(usize),
    Shared(usize),
    Element { index: Box<Value>, start: usize, length: Word, stride: usize },
    Field { pointer: Box<Value>, field: usize, pooled: bool },
}

/// What a value is made of.
#[derive(Clone, Debug)]
enum Value {
    Const(Word),
    Me,
    Local(usize),
    Shared(usize),
    /// A field of what a local points to.
    LocalField {
        local: usize,
        field: usize,
        pooled: bool,
    },
    Read(Spot),
    Not(Box<Value>),
    Neg(Box<Value>),
    Unwrap(Box<Value>),
    Equal(Box<(Value, Value)>),
    Unequal(Box<(Value, Value)>),
    Binary(BinOp, Box<(Value, Value)>),
    Quantified {
        all: bool,
        local: usize,
        range: Box<(Value, Value)>,
        body: Box<Value>,
    },
    /// A term of a claim: never evaluated here.
    Term,
}

impl Compiled {
    /// Resolves every place of the machine's program.
    pub fn new(machine: &Machine<'_>) -> Compiled {
        let compiler = Compiler { machine };
        let nodes = machine
            .program
            .nodes
            .iter()
            .map(|node| node.edges.iter().map(|edge| compiler.edge(node.op, edge)).collect())
            .collect();
        let entries = machine.program.operations.iter().map(|op| Word::from(op.entry.0)).collect();
        let Machine { frames, frame, heap, cell, .. } = *machine;
        Compiled { nodes, entries, row: Row { frames, frame, heap, cell } }
    }

    /// The steps at a node.
    pub fn edges(&self, node: usize) -> &[Edge] {
        &self.nodes[node]
    }

    /// Where a thread is; `None` if it runs no operation.
    pub fn pc(&self, words: &[Word], thread: usize) -> Option<usize> {
        usize::try_from(words[self.row.frames + thread * self.row.frame]).ok()
    }

    /// A thread that runs no operation calls one.
    pub fn call(&self, words: &mut [Word], thread: usize, op: OpId, args: &[Word]) {
        let base = self.row.frames + thread * self.row.frame;
        words[base] = self.entries[op.index()];
        words[base + 1..base + 1 + args.len()].copy_from_slice(args);
        words[base + 1 + args.len()..base + self.row.frame].fill(UNSET);
    }

    /// Do the conditions hold that come before anything else? `None` if looking goes wrong.
    pub fn is_open(&self, words: &mut [Word], thread: usize, edge: &Edge) -> Option<bool> {
        let mut run = Run { words, base: self.row.frames + thread * self.row.frame, row: self.row };
        for guard in &edge.guards {
            if run.eval(guard)? == 0 {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Takes a step whose first conditions hold.
    pub fn take(
        &self,
        words: &mut Vec<Word>,
        thread: usize,
        edge: &Edge,
        choices: &mut Choices,
        effects: &mut Effects,
    ) -> Taken {
        let base = self.row.frames + thread * self.row.frame;
        for act in &edge.acts {
            match self.act(words, base, thread, act, choices, effects) {
                Some(true) => {}
                Some(false) => return Taken::Disabled,
                None => return Taken::Wrong,
            }
        }
        match &edge.exit {
            Target::Goto(to) => {
                words[base] = *to;
                Taken::Moved
            }
            Target::Return(values) => {
                effects.result.clear();
                let mut run = Run { words, base, row: self.row };
                for value in values {
                    match run.eval(value) {
                        Some(word) => effects.result.push(word),
                        None => return Taken::Wrong,
                    }
                }
                words[base] = IDLE;
                Taken::Returned
            }
        }
    }

    /// Does one act; false if it is not enabled.
    fn act(
        &self,
        words: &mut Vec<Word>,
        base: usize,
        thread: usize,
        act: &Act,
        choices: &mut Choices,
        effects: &mut Effects,
    ) -> Option<bool> {
        let mut run = Run { words, base, row: self.row };
        match act {
            Act::Assume(value) => return Some(run.eval(value)? != 0),
            Act::SetLocal(local, value, limit) => {
                let value = fits(run.quick(value)?, *limit)?;
                run.words[base + local] = value;
            }
            Act::Set(spot, value, limit) => {
                let value = run.quick(value)?;
                let at = run.find(spot)?;
                run.words[at] = fits(value, *limit)?;
            }
            Act::Assert(value) => {
                if run.eval(value)? == 0 {
                    return None;
                }
            }
            Act::Choose(local, lo, hi, limit) => {
                let (lo, hi) = (run.eval(lo)?, run.eval(hi)?);
                if hi < lo {
                    return Some(false);
                }
                let value = choices.between(lo, hi)?;
                run.words[base + local] = fits(value, *limit)?;
            }
            Act::New { local, header, reused, fields, given } => {
                return self.allocate(
                    words,
                    base,
                    (*local, *header, *reused),
                    fields,
                    given,
                    choices,
                    effects,
                );
            }
            Act::Free(pointer, pooled) => {
                let pointer = run.eval(pointer)?;
                if pointer <= 0 {
                    return None;
                }
                let start = self.row.heap + (pointer as usize - 1) * self.row.cell;
                let header = run.words[start];
                if header < 0 {
                    return None;
                }
                run.words[start] = -header;
                if !pooled[header as usize - 1] {
                    run.words[start + 1..start + self.row.cell].fill(0);
                }
            }
            Act::Lock(spot) => {
                let at = run.find(spot)?;
                if run.words[at] != NONE {
                    return Some(false);
                }
                run.words[at] = thread as Word;
            }
            Act::Unlock(spot) => {
                let at = run.find(spot)?;
                if run.words[at] != thread as Word {
                    return None;
                }
                run.words[at] = NONE;
            }
            Act::Mark(mark) => {
                if let Some(when) = &mark.when
                    && run.eval(when)? == 0
                {
                    return Some(true);
                }
                let of = match &mark.of {
                    None => thread,
                    Some(of) => match run.eval(of)? {
                        NONE => return Some(true),
                        other => other as usize,
                    },
                };
                let result = match &mark.result {
                    Some(values) => {
                        Some(values.iter().map(|value| run.eval(value)).collect::<Option<Vec<Word>>>()?)
                    }
                    None => None,
                };
                if effects.wanted {
                    effects.events.push(Event::Point(Point { kind: mark.kind, thread: of, result }));
                }
            }
            Act::Claim(claim) => {
                if effects.wanted {
                    effects.events.push(Event::Claim(*claim));
                }
            }
        }
        Some(true)
    }

    #[allow(clippy::too_many_arguments)]
    fn allocate(
        &self,
        words: &mut Vec<Word>,
        base: usize,
        (local, header, reused): (usize, Word, bool),
        fields: &[Word],
        given: &[(usize, Value, Limit)],
        choices: &mut Choices,
        effects: &mut Effects,
    ) -> Option<bool> {
        let Row { heap, cell: width, .. } = self.row;
        // Values are worked out before there is a record; they are kept at the end of the row until then.
        let end = words.len();
        for (_, value, limit) in given {
            let value = Run { words, base, row: self.row }.eval(value)?;
            words.push(fits(value, *limit)?);
        }
        let cells = (end - heap) / width;
        let mut cell = cells;
        if reused {
            let freed = (0..cells).filter(|cell| words[heap + cell * width] == -header);
            let count = freed.clone().count();
            if count > 0 {
                let pick = choices.pick(count as u32 + 1) as usize;
                if pick > 0 {
                    cell = freed.clone().nth(pick - 1).unwrap_or(cells);
                    if effects.wanted {
                        effects.events.push(Event::Reuse(cell));
                    }
                }
            }
        }
        let start = heap + cell * width;
        if cell == cells {
            if cells >= MAX_CELLS {
                return None;
            }
            // The values given go behind the new record first.
            let count = given.len();
            words.resize(end + width + count, 0);
            words.copy_within(end..end + count, end + width);
            words[end..end + width].fill(0);
        }
        let values = words.len() - given.len();
        words[start] = header;
        words[start + 1..start + 1 + fields.len()].copy_from_slice(fields);
        for (index, (field, ..)) in given.iter().enumerate() {
            words[start + 1 + field] = words[values + index];
        }
        words.truncate(values);
        words[base + local] = cell as Word + 1;
        Some(true)
    }
}

impl Edge {
    /// Is it taken for certain, in one way, once its first conditions hold?
    pub fn is_certain(&self) -> bool {
        self.certain
    }
}

/// The value, if it is within the limits.
#[inline]
fn fits(value: Word, limit: Limit) -> Option<Word> {
    match limit {
        Some((least, greatest)) if value < least || value > greatest => None,
        _ => Some(value),
    }
}

/// A thread that looks at a row.
struct Run<'w> {
    words: &'w mut [Word],
    base: usize,
    row: Row,
}

impl Run<'_> {
    #[inline]
    fn set(&self, at: usize) -> Option<Word> {
        Some(self.words[at]).filter(|word| *word != UNSET)
    }

    #[inline]
    fn field(&self, pointer: Word, field: usize, pooled: bool) -> Option<usize> {
        if pointer <= 0 {
            return None;
        }
        let start = self.row.heap + (pointer as usize - 1) * self.row.cell;
        (pooled || self.words[start] >= 0).then_some(start + field)
    }

    fn find(&mut self, spot: &Spot) -> Option<usize> {
        match spot {
            Spot::Local(local) => Some(self.base + local),
            Spot::Shared(at) => Some(*at),
            Spot::Element { index, start, length, stride } => {
                let index = self.eval(index)?;
                (0..*length).contains(&index).then(|| start + index as usize * stride)
            }
            Spot::Field { pointer, field, pooled } => {
                let pointer = self.quick(pointer)?;
                self.field(pointer, *field, *pooled)
            }
        }
    }

    /// The same as [`Run::eval`], with the simplest values looked at on the spot.
    #[inline(always)]
    fn quick(&mut self, value: &Value) -> Option<Word> {
        match value {
            Value::Const(word) => Some(*word),
            Value::Local(local) => self.set(self.base + local),
            Value::Shared(at) => self.set(*at),
            _ => self.eval(value),
        }
    }

    fn eval(&mut self, value: &Value) -> Option<Word> {
        match value {
            Value::Const(word) => Some(*word),
            Value::Local(local) => self.set(self.base + local),
            Value::Shared(at) => self.set(*at),
            Value::LocalField { local, field, pooled } => {
                let pointer = self.set(self.base + local)?;
                let at = self.field(pointer, *field, *pooled)?;
                self.set(at)
            }
            Value::Equal(both) => Some(Word::from(self.quick(&both.0)? == self.quick(&both.1)?)),
            Value::Unequal(both) => Some(Word::from(self.quick(&both.0)? != self.quick(&both.1)?)),
            Value::Not(value) => Some(Word::from(self.eval(value)? == 0)),
            Value::Read(spot) => {
                let at = self.find(spot)?;
                self.set(at)
            }
            Value::Me => Some(((self.base - self.row.frames) / self.row.frame) as Word),
            Value::Neg(value) => Some(-self.eval(value)?),
            Value::Unwrap(value) => self.eval(value).filter(|word| *word != NONE),
            Value::Binary(op, both) => self.binary(*op, &both.0, &both.1),
            Value::Quantified { all, local, range, body } => {
                let (lo, hi) = (self.eval(&range.0)?, self.eval(&range.1)?);
                let at = self.base + local;
                let outer = self.words[at];
                let mut value = *all;
                let rounds = Rounds::begin();
                for n in lo..hi {
                    if !rounds.next() {
                        return None;
                    }
                    self.words[at] = n;
                    if (self.eval(body)? != 0) != *all {
                        value = !*all;
                        break;
                    }
                }
                self.words[at] = outer;
                Some(Word::from(value))
            }
            Value::Term => None,
        }
    }

    fn binary(&mut self, op: BinOp, a: &Value, b: &Value) -> Option<Word> {
        let a = self.eval(a)?;
        match op {
            BinOp::And if a == 0 => return Some(0),
            BinOp::Or if a != 0 => return Some(1),
            BinOp::Implies if a == 0 => return Some(1),
            _ => {}
        }
        let b = self.eval(b)?;
        super::eval::operate(op, a, b)
    }
}
