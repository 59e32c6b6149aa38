//! Apache Parquet with the columns of the CSV form, through the `parquet` crate's own records.
//!
//! `process`, `arg`, `ret` and `key` are integers, booleans or text; text is read as a CSV field is, so that
//! lists and mixed columns have a place. `call` and `return` are integers. Null is null. The file's directory
//! is at its end, so a file is read where it is, and anything else (standard input, a packed file) is taken
//! into memory first.

use std::fs::File;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::Field as Cell;
use parquet::record::reader::RowIter;
use parquet::schema::parser::parse_message_type;

use super::csv;
use super::schema::{Field, Fields, Schema};
use super::source::Source;
use super::{Format, Guard, Reader, problem};
use crate::diagnostic::Diagnostic;
use crate::history::History;
use crate::operation::Operation;
use crate::signature::Signature;
use crate::symbols::Symbols;
use crate::value::Value;

/// Rows in a group.
const GROUP: usize = 1 << 16;

/// Records between two looks at the limits.
const ASKED: u64 = 1 << 12;

/// Reads Parquet.
pub(super) struct ParquetRows {
    rows: RowIter<'static>,
    schema: Schema,
    columns: Vec<Field>,
    name: String,
    count: u64,
    total: u64,
    records: u64,
    guard: Guard,
}

impl ParquetRows {
    pub fn new(mut source: Source, schema: Schema) -> Result<ParquetRows, Diagnostic> {
        let name = source.name().to_owned();
        let opened = match source.plain_file() {
            Some(path) => {
                let file = File::open(path).map_err(|error| problem::unreadable(&error).in_file(&*name))?;
                guarded(|| Ok(Box::new(SerializedFileReader::new(file)?) as Box<dyn FileReader>))
            }
            None => {
                let bytes = bytes::Bytes::from(source.rest()?);
                guarded(|| Ok(Box::new(SerializedFileReader::new(bytes)?) as Box<dyn FileReader>))
            }
        };
        let place = |problem: Diagnostic| problem.in_file(&*name);
        let reader = opened.map_err(place)?;
        let about = reader.metadata().file_metadata();
        let fields = about.schema().get_fields();
        let columns = csv::columns(fields.iter().map(|field| field.name()), &schema).map_err(place)?;
        let records = about.num_rows().max(0) as u64;
        let total = source.bytes_total().unwrap_or_else(|| source.bytes_read());
        let rows = RowIter::from_file_into(reader);
        Ok(ParquetRows { rows, schema, columns, name, count: 0, total, records, guard: Guard::default() })
    }

    fn row(&mut self, symbols: &mut Symbols) -> Result<Option<Option<Operation>>, Diagnostic> {
        let rows = &mut self.rows;
        let Some(row) = guarded(|| rows.next().transpose())? else { return Ok(None) };
        let mut fields = Fields::default();
        for (column, (_, cell)) in self.columns.iter().zip(row.get_column_iter()) {
            if *column != Field::Other {
                set(&mut fields, *column, cell, &self.schema, &self.guard)?;
            }
        }
        self.schema.row(&fields, symbols).map(Some)
    }
}

/// What the crate does with a damaged file, as a diagnostic.
fn guarded<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Diagnostic> {
    let help = "a whole Parquet file, plain or packed with snappy or gzip";
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(problem::damaged(format!("the Parquet file cannot be read: {error}"), help)),
        Err(_) => Err(problem::damaged("the Parquet file cannot be read: it is damaged", help)),
    }
}

fn set(
    fields: &mut Fields,
    column: Field,
    cell: &Cell,
    schema: &Schema,
    guard: &Guard,
) -> Result<(), Diagnostic> {
    let value = match cell {
        Cell::Null => Value::Null,
        Cell::Bool(b) => Value::Bool(*b),
        Cell::Byte(n) => Value::Int((*n).into()),
        Cell::Short(n) => Value::Int((*n).into()),
        Cell::Int(n) => Value::Int((*n).into()),
        Cell::Long(n) => Value::Int(*n),
        Cell::UByte(n) => Value::Int((*n).into()),
        Cell::UShort(n) => Value::Int((*n).into()),
        Cell::UInt(n) => Value::Int((*n).into()),
        Cell::ULong(n) => Value::Int(i64::try_from(*n).map_err(|_| problem::too_large(&n.to_string()))?),
        Cell::Str(text) => return csv::set(fields, column, text, schema, guard),
        Cell::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes.data()).map_err(|_| problem::not_utf8())?;
            return csv::set(fields, column, text, schema, guard);
        }
        _ => return Err(problem::not_a_value("what a column holds")),
    };
    schema.set(fields, column, value)
}

impl Reader for ParquetRows {
    fn read(
        &mut self,
        symbols: &mut Symbols,
        rows: &mut Vec<Operation>,
        max: usize,
    ) -> Result<bool, Diagnostic> {
        let full = rows.len() + max.max(1);
        while rows.len() < full {
            if self.count.is_multiple_of(ASKED) {
                self.guard.ask(0)?;
            }
            let row = self.row(symbols).map_err(|mut problem| {
                problem.message = format!("{} (in record {})", problem.message, self.count + 1);
                problem.at(0, 0).in_file(&*self.name)
            });
            match row? {
                None => return Ok(false),
                Some(row) => rows.extend(row),
            }
            self.count += 1;
        }
        Ok(true)
    }

    fn set_guard(&mut self, guard: Guard) {
        self.guard = guard;
    }

    fn format(&self) -> Format {
        Format::Parquet
    }

    fn bytes_read(&self) -> u64 {
        (self.total as u128 * self.count as u128 / self.records.max(1) as u128) as u64
    }

    fn bytes_total(&self) -> Option<u64> {
        Some(self.total)
    }
}

/// Writes a history as Parquet.
pub(super) fn write(history: &History, signature: &Signature, out: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    write_file(history, signature, &mut bytes).map_err(io::Error::other)?;
    out.write_all(&bytes)
}

fn write_file(history: &History, signature: &Signature, out: &mut Vec<u8>) -> Result<(), ParquetError> {
    let symbols = &history.symbols;
    type Get<'a> = Box<dyn Fn(&Operation) -> Value + 'a>;
    let columns: [(&str, Get<'_>); 5] = [
        ("process", Box::new(|row| symbols.process_name(row.process()))),
        ("op", Box::new(|row| Value::text(signature.decl(row.op()).name))),
        ("arg", Box::new(|row| symbols.value(row.arg))),
        ("ret", Box::new(|row| symbols.value(row.result))),
        ("key", Box::new(|row| symbols.key_name(row.key))),
    ];
    let rows = &history.operations;
    let is_int = |get: &dyn Fn(&Operation) -> Value| {
        rows.iter().all(|row| matches!(get(row), Value::Int(_) | Value::Null))
    };
    let ints: Vec<bool> = columns.iter().map(|(_, get)| is_int(get)).collect();
    let mut message = String::from("message history {\n");
    for ((name, _), is_int) in columns.iter().zip(&ints) {
        let kind = if *is_int { "INT64" } else { "BYTE_ARRAY" };
        let note = if *is_int { "" } else { " (UTF8)" };
        message += &format!("OPTIONAL {kind} {name}{note};\n");
    }
    message += "REQUIRED INT64 call;\nOPTIONAL INT64 return;\n}";
    let schema = Arc::new(parse_message_type(&message)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    for part in rows.chunks(GROUP) {
        let mut group = file.next_row_group()?;
        for ((_, get), is_int) in columns.iter().zip(&ints) {
            let values: Vec<Value> = part.iter().map(get).collect();
            if *is_int {
                write_ints(&mut group, values.iter().map(Value::as_int))?;
            } else {
                write_texts(&mut group, &values)?;
            }
        }
        let calls: Vec<i64> = part.iter().map(|row| row.call).collect();
        if let Some(mut column) = group.next_column()? {
            column.typed::<Int64Type>().write_batch(&calls, None, None)?;
            column.close()?;
        }
        write_ints(&mut group, part.iter().map(|row| (!row.is_pending()).then_some(row.ret)))?;
        group.close()?;
    }
    file.close().map(drop)
}

fn write_ints<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<i64>> + Clone,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.clone().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<i64> = values.flatten().collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<Int64Type>().write_batch(&present, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}

fn write_texts<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[Value],
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(!value.is_null())).collect();
    let present: Vec<ByteArray> = values
        .iter()
        .filter(|value| !value.is_null())
        .map(|value| ByteArray::from(csv::field(value).into_bytes()))
        .collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<ByteArrayType>().write_batch(&present, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}
