//! Writing the binary form.

use std::io::{self, Write};

use super::block::{self, Kind};
use super::column::Columns;
use super::tables::{self, Tables};
use super::{BIAS, ROWS};
use crate::history::History;
use crate::operation::{KeyId, Operation, ProcessId};
use crate::signature::Signature;
use crate::symbols::ValueId;
use crate::value::Value;

/// Symbols in a block: not more than this many,
const SYMBOLS: usize = 4096;
/// and no further one once this many bytes are reached.
const SYMBOL_BYTES: usize = 1 << 20;

/// Writes a history.
pub(in super::super) fn write(
    history: &History,
    signature: &Signature,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(&block::MAGIC)?;
    let names = signature.operations.iter().map(|decl| decl.name);
    block::write(out, Kind::Operations, &tables::write_names(names))?;
    write_symbols(history, out)?;
    let (mut columns, mut payload) = (Columns::default(), Vec::new());
    for rows in history.operations.chunks(ROWS) {
        columns.fill(rows);
        payload.clear();
        columns.write(&mut payload);
        block::write(out, Kind::Rows, &payload)?;
    }
    block::write(out, Kind::End, &(history.operations.len() as u64).to_le_bytes())
}

fn write_symbols(history: &History, out: &mut dyn Write) -> io::Result<()> {
    let symbols = &history.symbols;
    let values = (0..symbols.table_len() as u32).map(|n| symbols.value(ValueId(ValueId::INLINE + n)));
    let processes = (0..symbols.process_count() as u32).map(|n| symbols.process_name(ProcessId(n)));
    let keys = (0..symbols.key_count() as u32).map(|n| symbols.key_name(KeyId(n)));
    write_table(values, out, |values| Tables { values, ..Tables::default() })?;
    write_table(processes, out, |processes| Tables { processes, ..Tables::default() })?;
    write_table(keys, out, |keys| Tables { keys, ..Tables::default() })
}

/// Writes one table in blocks of a reasonable size.
fn write_table(
    names: impl Iterator<Item = Value>,
    out: &mut dyn Write,
    tables: impl Fn(Vec<Value>) -> Tables,
) -> io::Result<()> {
    let mut names = names.peekable();
    while names.peek().is_some() {
        let (mut part, mut size) = (Vec::new(), 0);
        while let Some(value) = names.next_if(|_| part.len() < SYMBOLS && size < SYMBOL_BYTES) {
            size += size_of(&value);
            part.push(value);
        }
        let mut payload = Vec::with_capacity(size);
        tables(part).write(&mut payload);
        block::write(out, Kind::Symbols, &payload)?;
    }
    Ok(())
}

/// About how many bytes a value takes.
fn size_of(value: &Value) -> usize {
    match value {
        Value::Str(text) => 5 + text.len(),
        Value::List(items) => 5 + items.iter().map(size_of).sum::<usize>(),
        _ => 9,
    }
}

impl Columns {
    /// Takes rows apart.
    fn fill(&mut self, rows: &[Operation]) {
        *self = Columns::default();
        self.start = rows.first().map_or(0, |row| row.ret);
        let mut before = self.start;
        for row in rows {
            self.ops.push(u32::from(row.op().0));
            self.processes.push(row.process().0);
            self.keys.push(row.key.0.wrapping_add(1));
            self.args.push(row.arg.0.wrapping_add(BIAS));
            self.results.push(row.result.0.wrapping_add(BIAS));
            self.returns.push(row.ret.wrapping_sub(before) as u64);
            self.durations.push(row.ret.wrapping_sub(row.call) as u64);
            before = row.ret;
        }
    }
}
