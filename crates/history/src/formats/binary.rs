//! Linpoint's own binary form: small, and read in a few nanoseconds an operation.
//!
//! A file is a magic number with a version and then blocks, each with its kind, its length and a checksum:
//! the names of the operations, symbols (values, processes, keys) before the rows that use them, rows by the
//! thousand, and an end that says how many there were. Rows are kept by column; a column holds, for each row,
//! the difference to the column's least number in as few bytes (0, 1, 2, 4 or 8) as the largest needs.
//! `docs/formats.md` has every byte.
//!
//! A file cut short misses its end block, and damage does not pass the checksums: both are diagnostics.

mod block;
mod column;
mod tables;
mod write;

use super::schema::{Schema, process_id};
use super::source::Source;
use super::{Format, Guard, Reader, guard, problem};
use crate::diagnostic::Diagnostic;
use crate::operation::{KeyId, OpCode, Operation, ProcessId};
use crate::signature::Shape;
use crate::symbols::{Symbols, ValueId};
use crate::value::Value;

use block::Kind;
use column::Columns;

pub use block::is_binary;
pub(super) use write::write;

/// Rows in a block: few enough that its columns stay in the first-level cache.
const ROWS: usize = 1024;
/// Numbers of values are stored with this added, so that true, false and null become 0, 1 and 2.
const BIAS: u32 = 3;
/// Operations of the file with numbers below this are read the usual way.
const USUAL: usize = 16;

/// Reads the binary form.
pub(super) struct Binary {
    source: Source,
    schema: Schema,
    /// The operations by their number in the file.
    operations: Vec<Known>,
    /// The first of them once more, for the usual rows.
    usual: [Known; USUAL],
    /// What the numbers of the file stand for.
    values: Vec<(ValueId, Value)>,
    processes: Vec<ProcessId>,
    /// Begins with none: keys are stored with one added.
    keys: Vec<KeyId>,
    /// Are all of them [`as_stored`]?
    keys_as_stored: bool,
    columns: Columns,
    count: u64,
    done: bool,
}

/// An operation of the file.
#[derive(Clone, Copy, Debug)]
struct Known {
    op: OpCode,
    arg: Expected,
    result: Expected,
}

impl Known {
    /// Admits nothing.
    const NONE: Known = Known { op: OpCode(0), arg: Expected::NONE, result: Expected::NONE };
}

/// What an argument or a result may be.
#[derive(Clone, Copy, Debug)]
struct Expected {
    shape: Shape,
    /// Which of the stored numbers 0, 1, 2 and 3-or-more (a small integer) need no closer look, one bit each.
    plain: u8,
    /// What `true` means here.
    truth: ValueId,
}

impl Expected {
    /// Admits nothing.
    const NONE: Expected = Expected { shape: Shape::Unit, plain: 0, truth: ValueId::NULL };

    fn new(shape: Shape) -> Expected {
        let samples = [Value::Bool(true), Value::Bool(false), Value::Null, Value::Int(0)];
        let admitted = samples.iter().enumerate().filter(|(_, value)| shape.admits(value));
        let plain = admitted.map(|(bit, _)| 1 << bit).sum();
        Expected { shape, plain, truth: shape.normalise(ValueId::TRUE) }
    }

    /// Is the stored number, which needs no table, admitted as it is?
    #[inline(always)]
    fn is_plain(&self, stored: u32) -> bool {
        self.plain >> stored.min(3) & 1 != 0
    }

    /// The value of a stored number that is plain.
    #[inline(always)]
    fn plain(&self, stored: u32) -> ValueId {
        if stored == 0 { self.truth } else { ValueId(stored.wrapping_sub(BIAS)) }
    }
}

impl Binary {
    pub fn new(mut source: Source, schema: Schema) -> Result<Binary, Diagnostic> {
        source.want(block::MAGIC.len())?;
        if !source.bytes().is_empty() {
            block::read_magic(&mut source).map_err(|problem| problem.in_file(source.name().to_owned()))?;
        }
        let done = source.bytes().is_empty() && source.is_finished() && source.bytes_read() == 0;
        Ok(Binary {
            source,
            schema,
            operations: Vec::new(),
            usual: [Known::NONE; USUAL],
            values: Vec::new(),
            processes: Vec::new(),
            keys: vec![KeyId::NONE],
            keys_as_stored: true,
            columns: Columns::default(),
            count: 0,
            done,
        })
    }

    /// Reads one block; `false` after the last.
    fn block(&mut self, symbols: &mut Symbols, rows: &mut Vec<Operation>) -> Result<bool, Diagnostic> {
        if self.done {
            return Ok(false);
        }
        let (kind, length) = block::next(&mut self.source, self.count)?;
        let payload = &self.source.bytes()[block::HEADER..length];
        match kind {
            Kind::Operations => {
                self.operations.clear();
                for name in tables::read_names(payload)? {
                    let op = self.schema.operation(name)?;
                    let decl = self.schema.signature.decl(op);
                    let (arg, result) = (Expected::new(decl.arg), Expected::new(decl.result));
                    self.operations.push(Known { op, arg, result });
                }
                self.usual = [Known::NONE; USUAL];
                let few = self.operations.len().min(USUAL);
                self.usual[..few].copy_from_slice(&self.operations[..few]);
            }
            Kind::Symbols => {
                let found = tables::read_symbols(payload, &self.source.guard)?;
                self.values.extend(found.values.into_iter().map(|value| (symbols.intern(&value), value)));
                for name in &found.processes {
                    self.processes.push(process_id(symbols, name)?);
                }
                for name in &found.keys {
                    let key = symbols.key(name);
                    self.keys_as_stored &= key == as_stored(self.keys.len() as u32);
                    self.keys.push(key);
                }
            }
            Kind::Rows => {
                self.columns.read(payload)?;
                self.assemble(rows)?;
                self.count += self.columns.len() as u64;
            }
            Kind::End => {
                if payload != self.count.to_le_bytes() {
                    return Err(block::damaged("its end does not say as many operations as it has"));
                }
                self.done = true;
            }
        }
        self.source.consume(length);
        if self.done {
            self.source.want(1)?;
            if !self.source.bytes().is_empty() {
                return Err(block::damaged("something follows after its end"));
            }
        }
        Ok(!self.done)
    }

    /// Makes rows of the columns. The usual rows are made without a branch that could be mispredicted; if one
    /// of them needs a closer look, the block is made again with care.
    fn assemble(&self, rows: &mut Vec<Operation>) -> Result<(), Diagnostic> {
        let columns = &self.columns;
        let count = columns.len();
        let most = |column: &[u32]| column.iter().fold(0, |most, &n| n.max(most));
        let plain = (most(&columns.ops) as usize) < self.operations.len().min(USUAL)
            && (most(&columns.processes) as usize) < self.processes.len()
            && (most(&columns.keys) as usize) < self.keys.len()
            && most(&columns.args).max(most(&columns.results)) < ValueId::INLINE + BIAS;
        if !plain {
            return self.assemble_carefully(rows);
        }
        let (ops, processes) = (&columns.ops[..count], &columns.processes[..count]);
        let (args, results) = (&columns.args[..count], &columns.results[..count]);
        let (returns, durations) = (&columns.returns[..count], &columns.durations[..count]);
        let (usual, names) = (&self.usual, self.processes.as_slice());
        let (keys, objects) = (&columns.keys[..count], self.keys.as_slice());
        let as_they_are = self.keys_as_stored;
        let before = rows.len();
        let mut is_usual = true;
        let mut ret = columns.start;
        rows.extend((0..count).map(|i| {
            let known = &usual[ops[i] as usize % USUAL];
            ret = ret.wrapping_add(returns[i] as i64);
            let mut row = Operation::of(names[processes[i] as usize], known.op);
            row.ret = ret;
            row.call = ret.wrapping_sub(durations[i] as i64);
            row.arg = known.arg.plain(args[i]);
            row.result = known.result.plain(results[i]);
            // The table may be large, and is used all over.
            row.key = if as_they_are { as_stored(keys[i]) } else { objects[keys[i] as usize] };
            is_usual &= known.arg.is_plain(args[i])
                & known.result.is_plain(results[i])
                & (row.call <= ret)
                & (ret != Operation::NEVER);
            row
        }));
        if is_usual {
            return Ok(());
        }
        rows.truncate(before);
        self.assemble_carefully(rows)
    }

    /// As [`Binary::assemble`], for rows with values from the table, pending, or wrong.
    fn assemble_carefully(&self, rows: &mut Vec<Operation>) -> Result<(), Diagnostic> {
        let columns = &self.columns;
        let mut ret = columns.start;
        for (i, &op) in columns.ops.iter().enumerate() {
            let known = self.operations.get(op as usize).ok_or_else(unexplained)?;
            let process = *self.processes.get(columns.processes[i] as usize).ok_or_else(unexplained)?;
            let mut row = Operation::of(process, known.op);
            ret = ret.wrapping_add(columns.returns[i] as i64);
            row.ret = ret;
            row.call = ret.wrapping_sub(columns.durations[i] as i64);
            if row.call > row.ret {
                return Err(problem::return_before_call(&row));
            }
            if row.call == Operation::NEVER {
                return Err(problem::stamp_too_large());
            }
            row.key = *self.keys.get(columns.keys[i] as usize).ok_or_else(unexplained)?;
            let (arg, result) = (columns.args[i], columns.results[i]);
            let plain =
                |expected: &Expected, stored| stored < ValueId::INLINE + BIAS && expected.is_plain(stored);
            row.arg = match plain(&known.arg, arg) {
                true => known.arg.plain(arg),
                false => self.looked_up(arg, known, problem::ARGUMENT)?,
            };
            if !row.is_pending() {
                row.result = match plain(&known.result, result) {
                    true => known.result.plain(result),
                    false => self.looked_up(result, known, problem::RESULT)?,
                };
            }
            rows.push(row);
        }
        Ok(())
    }

    /// The value behind any stored number, if the operation admits it there.
    fn looked_up(&self, stored: u32, known: &Known, what: &'static str) -> Result<ValueId, Diagnostic> {
        let small;
        let (id, value) = match stored.wrapping_sub(BIAS) {
            inline if inline < ValueId::INLINE || stored < BIAS => {
                small = Symbols::new().value(ValueId(inline));
                (ValueId(inline), &small)
            }
            id => {
                let (id, value) = self.values.get((id - ValueId::INLINE) as usize).ok_or_else(unexplained)?;
                (*id, value)
            }
        };
        let shape = if what == problem::ARGUMENT { known.arg.shape } else { known.result.shape };
        self.schema.check(known.op, value, what)?;
        Ok(shape.normalise(id))
    }
}

/// The key of a stored number where the keys of a file are the first that its symbols have, as they are where
/// it is the only one.
#[inline]
fn as_stored(number: u32) -> KeyId {
    const { assert!(KeyId::NONE.0 == u32::MAX) };
    KeyId(number.wrapping_sub(1))
}

#[cold]
fn unexplained() -> Diagnostic {
    block::damaged("a row uses a number that was not explained before")
}

impl Reader for Binary {
    fn read(
        &mut self,
        symbols: &mut Symbols,
        rows: &mut Vec<Operation>,
        max: usize,
    ) -> Result<bool, Diagnostic> {
        let full = rows.len() + max.saturating_sub(ROWS - 1).max(1);
        while rows.len() < full {
            let more = self.block(symbols, rows).map_err(|mut problem| {
                if guard::reached(&problem).is_some() {
                    return problem;
                }
                let count = self.count;
                problem.message = format!("{} (after {count} operations)", problem.message);
                problem.at(0, 0).in_file(self.source.name().to_owned())
            })?;
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn set_guard(&mut self, guard: Guard) {
        self.source.guard = guard;
    }

    fn format(&self) -> Format {
        Format::Binary
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    fn bytes_total(&self) -> Option<u64> {
        self.source.bytes_total()
    }
}
