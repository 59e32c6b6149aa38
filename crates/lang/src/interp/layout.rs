//! Where everything is in the row of words of a state.

use super::{Choices, ErrorKind, Outcome, RunError, State};
use crate::ast::BinOp;
use crate::flow::live_locals;
use crate::program::{Expr, NodeId, OpId, Operation, Program, Record, Slot, Type, UNBOUNDED, UNSET, Word};
use crate::span::Span;

/// The word of a thread that runs no operation.
pub(super) const IDLE: Word = -1;

/// So many elements of a ghost array without an end are kept in a run; what is written beyond is lost, and
/// cannot be read.
const ROOM: Word = 24;

/// More steps than this in the initial code are taken for a loop.
const MAX_INIT: usize = 10_000;

/// A program made ready to run with so many threads.
#[derive(Clone, Debug)]
pub struct Machine<'p> {
    /// The program.
    pub program: &'p Program,
    /// How many threads.
    pub threads: usize,
    /// What the symbolic sizes are.
    pub sizes: Vec<Word>,
    /// Are accesses told, as [`Event::Acted`](super::Event::Acted)? Claims need them.
    pub watched: bool,
    /// Whom the threads call for, where that is not themselves: what `me` says.
    pub caller: Option<Word>,
    /// Where each shared variable starts.
    pub(super) globals: Vec<usize>,
    /// How many elements each has; 0 if it is no array.
    pub(super) lengths: Vec<Word>,
    /// Where the frames start, and how long one is.
    pub(super) frames: usize,
    pub(super) frame: usize,
    /// Where the heap starts, and how long a cell is.
    pub(super) heap: usize,
    pub(super) cell: usize,
    /// Least and greatest value of each slot.
    pub(super) bounds: Bounds,
    /// Offsets of shared words that hold pointers.
    pub(super) global_pointers: Vec<usize>,
    /// Locals that hold pointers, an operation.
    pub(super) local_pointers: Vec<Vec<usize>>,
    /// Fields that hold pointers, a kind of record.
    pub(super) field_pointers: Vec<Vec<usize>>,
    /// Locals that are forgotten on arrival, a node.
    pub(super) dead: Vec<Vec<usize>>,
}

type Limit = Option<(Word, Word)>;

#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    pub globals: Vec<Vec<Limit>>,
    pub fields: Vec<Vec<Limit>>,
    pub locals: Vec<Vec<Limit>>,
}

impl<'p> Machine<'p> {
    /// A machine with the usual sizes.
    pub fn new(program: &'p Program, threads: usize) -> Machine<'p> {
        Machine::with_sizes(program, threads, program.sizes.iter().map(|size| size.usual).collect())
    }

    /// A machine with these sizes, in the order of the program.
    pub fn with_sizes(program: &'p Program, threads: usize, sizes: Vec<Word>) -> Machine<'p> {
        let value = |e: &Expr| constant(e, &sizes);
        let limit = |slot: &Slot| slot.bounds.as_ref().map(|(lo, hi)| (value(lo), value(hi)));
        let (mut globals, mut lengths, mut global_pointers) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = 0;
        for global in &program.globals {
            globals.push(next);
            let length = global.length.as_ref().map_or(1, |e| value(e).max(0)) as usize;
            lengths.push(if global.length.is_some() { length as Word } else { 0 });
            for element in 0..length {
                for (field, slot) in global.slots.iter().enumerate() {
                    if is_pointer(&slot.ty) {
                        global_pointers.push(next + element * global.slots.len() + field);
                    }
                }
            }
            next += length * global.slots.len();
        }
        let operations = || program.operations.iter().chain(&program.init);
        let widest = operations().map(|op| op.locals.len()).max().unwrap_or(0);
        let fields = program.records.iter().map(|record| record.fields.len()).max().unwrap_or(0);
        let pointers = |slots: &[Slot]| -> Vec<usize> {
            (0..slots.len()).filter(|&i| is_pointer(&slots[i].ty)).collect()
        };
        let slots_of = |record: &'p Record| record.fields.iter().map(limit).collect();
        let locals_of = |op: &'p Operation| op.locals.iter().map(limit).collect();
        let bounds = Bounds {
            globals: program.globals.iter().map(|g| g.slots.iter().map(limit).collect()).collect(),
            fields: program.records.iter().map(slots_of).collect(),
            locals: operations().map(locals_of).collect(),
        };
        let dead = live_locals(program)
            .iter()
            .map(|live| (0..live.len()).filter(|&local| !live[local]).collect())
            .collect();
        Machine {
            program,
            threads,
            globals,
            lengths,
            frames: next,
            frame: widest + 1,
            heap: next + threads * (widest + 1),
            cell: fields + 1,
            bounds,
            global_pointers,
            local_pointers: operations().map(|op| pointers(&op.locals)).collect(),
            field_pointers: program.records.iter().map(|record| pointers(&record.fields)).collect(),
            dead,
            sizes,
            watched: false,
            caller: None,
        }
    }

    /// The word that `me` stands for.
    pub(super) fn name_of(&self, thread: usize) -> Word {
        self.caller.unwrap_or(thread as Word)
    }

    /// From here on no local is forgotten: what nobody reads any more stays in its frame. Runs are the same;
    /// there are more states.
    pub fn remember_locals(&mut self) {
        self.dead.iter_mut().for_each(Vec::clear);
    }

    /// The state before any thread does anything.
    pub fn initial(&self) -> Result<State, RunError> {
        let mut words = Vec::with_capacity(self.heap);
        for (global, length) in self.program.globals.iter().zip(&self.lengths) {
            let elements = if global.length.is_some() { *length } else { 1 };
            for _ in 0..elements {
                words.extend(global.slots.iter().map(|slot| constant(&slot.init, &self.sizes)));
            }
        }
        for _ in 0..self.threads {
            words.push(IDLE);
            words.resize(words.len() + self.frame - 1, UNSET);
        }
        let mut state = State { words };
        if let Some(init) = &self.program.init {
            self.run_initial_code(&mut state, init)?;
            self.canonical(&mut state);
        }
        Ok(state)
    }

    fn run_initial_code(&self, state: &mut State, init: &Operation) -> Result<(), RunError> {
        let bad = |span: Span| RunError { kind: ErrorKind::BadInit, thread: 0, span };
        if self.threads == 0 {
            return Err(bad(init.span));
        }
        self.set_pc(state, 0, Some(init.entry));
        for _ in 0..MAX_INIT {
            let Some(pc) = self.pc(state, 0) else { return Ok(()) };
            let node = self.program.node(pc);
            let mut next: Option<State> = None;
            for edge in 0..node.edges.len() {
                let mut choices = Choices::default();
                let mut after = state.clone();
                let outcome = self.step(&mut after, 0, edge, &mut choices, &mut Vec::new())?;
                if outcome == Outcome::Disabled {
                    continue;
                }
                if next.is_some() || choices.next() {
                    return Err(bad(node.span));
                }
                next = Some(after);
            }
            *state = next.ok_or_else(|| bad(node.span))?;
        }
        Err(bad(init.span))
    }

    /// Where a thread is; `None` if it runs no operation.
    pub fn pc(&self, state: &State, thread: usize) -> Option<NodeId> {
        match state.words[self.frames + thread * self.frame] {
            IDLE => None,
            pc => Some(NodeId(pc as u16)),
        }
    }

    pub(super) fn set_pc(&self, state: &mut State, thread: usize, pc: Option<NodeId>) {
        state.words[self.frames + thread * self.frame] = pc.map_or(IDLE, |pc| Word::from(pc.0));
    }

    /// A thread that runs no operation calls one.
    pub fn call(&self, state: &mut State, thread: usize, op: OpId, args: &[Word]) {
        let operation = self.program.operation(op);
        let base = self.frames + thread * self.frame + 1;
        state.words[base..base + args.len()].copy_from_slice(args);
        self.set_pc(state, thread, Some(operation.entry));
    }

    /// The word of a local.
    pub fn local(&self, state: &State, thread: usize, local: usize) -> Word {
        state.words[self.frames + thread * self.frame + 1 + local]
    }

    /// The frame of a thread: its place and its locals.
    pub fn frame_range(&self, thread: usize) -> std::ops::Range<usize> {
        let start = self.frames + thread * self.frame;
        start..start + self.frame
    }

    /// Where the heap starts; before it are shared variables and frames.
    pub fn heap_start(&self) -> usize {
        self.heap
    }

    /// The words of shared variables.
    pub fn shared<'s>(&self, state: &'s State) -> &'s [Word] {
        &state.words[..self.frames]
    }

    /// The value of an expression made of numbers and sizes.
    pub fn constant(&self, e: &Expr) -> Word {
        constant(e, &self.sizes)
    }

    /// Every shared slot, and where it is in the row.
    pub fn shared_slots(&self) -> Vec<(usize, &'p Slot)> {
        let mut slots = Vec::new();
        for ((global, start), length) in self.program.globals.iter().zip(&self.globals).zip(&self.lengths) {
            let elements = if global.length.is_some() { *length as usize } else { 1 };
            for element in 0..elements {
                let first = start + element * global.slots.len();
                slots.extend(global.slots.iter().enumerate().map(|(field, slot)| (first + field, slot)));
            }
        }
        slots
    }

    /// How many words a cell takes: its header and the fields of the widest kind of record.
    pub fn cell_width(&self) -> usize {
        self.cell
    }

    /// How many cells the heap has.
    pub fn cells(&self, state: &State) -> usize {
        (state.words.len() - self.heap) / self.cell
    }

    /// A cell: its kind of record, whether it was freed, and its fields.
    pub fn cell<'s>(&self, state: &'s State, cell: usize) -> (usize, bool, &'s [Word]) {
        let start = self.heap + cell * self.cell;
        let header = state.words[start];
        let record = header.unsigned_abs() as usize - 1;
        let fields = self.program.records[record].fields.len();
        (record, header < 0, &state.words[start + 1..start + 1 + fields])
    }
}

/// Does a slot of this type hold pointers?
pub(super) fn is_pointer(ty: &Type) -> bool {
    match ty {
        Type::Pointer(_) => true,
        Type::Option(inner) => is_pointer(inner),
        _ => false,
    }
}

/// A value made of numbers and sizes.
pub(super) fn constant(e: &Expr, sizes: &[Word]) -> Word {
    match e {
        Expr::Const(UNBOUNDED) => ROOM,
        Expr::Const(word) => *word,
        Expr::Size(size) => sizes.get(size.index()).copied().unwrap_or(0),
        Expr::Neg(e) => constant(e, sizes).saturating_neg(),
        Expr::Binary(op, a, b) => {
            let (a, b) = (constant(a, sizes), constant(b, sizes));
            match op {
                BinOp::Add => a.saturating_add(b),
                BinOp::Sub => a.saturating_sub(b),
                BinOp::Mul => a.saturating_mul(b),
                BinOp::Rem => a.checked_rem(b).unwrap_or(0),
                BinOp::Eq => Word::from(a == b),
                BinOp::Ne => Word::from(a != b),
                BinOp::Lt => Word::from(a < b),
                BinOp::Le => Word::from(a <= b),
                BinOp::Gt => Word::from(a > b),
                BinOp::Ge => Word::from(a >= b),
                BinOp::And => Word::from(a != 0 && b != 0),
                BinOp::Or => Word::from(a != 0 || b != 0),
                BinOp::Implies => Word::from(a == 0 || b != 0),
            }
        }
        Expr::Not(e) => Word::from(constant(e, sizes) == 0),
        _ => 0,
    }
}
