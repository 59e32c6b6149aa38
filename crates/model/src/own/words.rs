//! Between the values of a history and the words of a program.

use std::sync::{PoisonError, RwLock};

use linpoint_history::{Form, ProcessId, Value};
use linpoint_lang::Program;
use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{NONE, ResultType, Slot, Type, UNSET, Word};
use rustc_hash::FxHashMap;

/// Integers below this are their own words as `data`; other values are numbered from here on.
const FIRST: Word = 1 << 28;

/// Numbers of a program lie between this and its opposite; the interpreter refuses larger ones.
const LARGEST: i64 = (Word::MAX / 2) as i64;

/// The values that `data` stands for, besides small integers.
#[derive(Debug, Default)]
pub(super) struct Words {
    values: Vec<Value>,
    numbers: FxHashMap<Value, Word>,
}

/// The word of a value; `None` where the value is not of this type.
pub(super) fn word(words: &RwLock<Words>, program: &Program, ty: &Type, value: &Value) -> Option<Word> {
    Some(match (ty, value) {
        (Type::Option(_), Value::Null) => NONE,
        (Type::Option(inner), value) => word(words, program, inner, value)?,
        (Type::Bool, Value::Bool(truth)) => Word::from(*truth),
        (Type::Int, Value::Int(n)) => Word::try_from(*n).ok().filter(|_| n.abs() <= LARGEST)?,
        (Type::Enum(id), Value::Str(name)) => {
            program.enums[id.index()].variants.iter().position(|variant| **variant == **name)? as Word
        }
        (Type::Data, Value::Null) => return None,
        (Type::Data, Value::Int(n)) if (0..i64::from(FIRST)).contains(n) => *n as Word,
        (Type::Data, value) => numbered(words, value),
        (Type::Bool | Type::Int | Type::Enum(_) | Type::Thread | Type::Lock | Type::Pointer(_), _) => {
            return None;
        }
    })
}

/// The word of a value of `data` that is no small integer.
fn numbered(words: &RwLock<Words>, value: &Value) -> Word {
    let read = words.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(word) = read.numbers.get(value) {
        return *word;
    }
    drop(read);
    let mut write = words.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(word) = write.numbers.get(value) {
        return *word;
    }
    let word = FIRST + Word::try_from(write.values.len()).expect("a history has fewer values");
    write.values.push(value.clone());
    write.numbers.insert(value.clone(), word);
    word
}

/// The value of a word.
fn value(words: &RwLock<Words>, program: &Program, ty: &Type, word: Word) -> Value {
    match ty {
        _ if word == NONE => Value::Null,
        Type::Option(inner) => value(words, program, inner, word),
        Type::Bool => Value::Bool(word != 0),
        Type::Enum(id) => {
            let variants = &program.enums[id.index()].variants;
            variants.get(word as usize).map_or(Value::Null, |name| Value::text(name))
        }
        Type::Data if word >= FIRST => {
            let read = words.read().unwrap_or_else(PoisonError::into_inner);
            read.values.get((word - FIRST) as usize).cloned().unwrap_or(Value::Null)
        }
        Type::Data | Type::Int | Type::Thread | Type::Lock | Type::Pointer(_) => Value::Int(i64::from(word)),
    }
}

/// What an operation answers.
pub(super) fn answer(
    words: &RwLock<Words>,
    program: &Program,
    result: &ResultType,
    answer: &[Word],
) -> Value {
    if result.optional && answer == [NONE] {
        return Value::Null;
    }
    let mut parts = result.parts.iter().zip(answer).map(|(ty, word)| value(words, program, ty, *word));
    if result.tuple { Value::list(parts) } else { parts.next().unwrap_or(Value::Null) }
}

/// The form of an operation's argument; `None` without parameters. Or the name of a type that has no values.
pub(super) fn parameters(machine: &Machine<'_>, slots: &[Slot]) -> Result<Option<Form>, String> {
    let form = |slot: &Slot| match (&slot.ty, &slot.bounds) {
        (Type::Int, Some((least, greatest))) => {
            let bound = |e| i64::from(machine.constant(e));
            Ok(Form::Int { least: bound(least), greatest: bound(greatest) })
        }
        (ty, _) => form(machine.program, ty),
    };
    let forms = slots.iter().map(form).collect::<Result<Vec<Form>, String>>()?;
    Ok(match forms.len() {
        0 => None,
        1 => Some(forms[0]),
        _ => Some(Form::Tuple(Vec::leak(forms))),
    })
}

/// The form of a result; `None` where there is none. Or the name of a type that has no values.
pub(super) fn result(program: &Program, result: &ResultType) -> Result<Option<Form>, String> {
    let forms = result.parts.iter().map(|ty| form(program, ty)).collect::<Result<Vec<Form>, String>>()?;
    let plain = match (result.tuple, forms.first()) {
        (true, _) => Form::Tuple(Vec::leak(forms)),
        (false, Some(form)) => *form,
        (false, None) => return Ok(None),
    };
    Ok(Some(if result.optional && !plain.admits_null() { optional(plain) } else { plain }))
}

fn optional(form: Form) -> Form {
    Form::Option(Box::leak(Box::new(form)))
}

fn form(program: &Program, ty: &Type) -> Result<Form, String> {
    Ok(match ty {
        Type::Data => Form::Item,
        Type::Int => Form::Int { least: -LARGEST, greatest: LARGEST },
        Type::Bool => Form::Bool,
        Type::Enum(id) => {
            let variants = program.enums[id.index()].variants.iter();
            let names: Vec<&'static str> = variants.map(|name| &*String::leak(name.clone())).collect();
            Form::OneOf(Vec::leak(names))
        }
        Type::Option(inner) => optional(form(program, inner)?),
        Type::Thread => return Err("thread".to_owned()),
        Type::Lock => return Err("lock".to_owned()),
        Type::Pointer(record) => return Err(format!("*{}", program.records[record.index()].name)),
    })
}

/// A state as a person reads it: `{head: #1, count: 2}, #1 {id: 7, next: null}`.
pub(super) fn show(
    words: &RwLock<Words>,
    machine: &Machine<'_>,
    state: &State,
    name: &dyn Fn(ProcessId) -> String,
) -> String {
    let program = machine.program;
    let shown = |ty: &Type, word: Word| match (plain(ty), word) {
        (_, UNSET) => "unset".to_owned(),
        (_, NONE) => "none".to_owned(),
        (Type::Pointer(_), 0) => "null".to_owned(),
        (Type::Pointer(_), cell) => format!("#{cell}"),
        (Type::Thread | Type::Lock, word) => format!("process {}", name(ProcessId(word.unsigned_abs()))),
        (_, word) => value(words, program, ty, word).to_string(),
    };
    let record = |slots: &[Slot], row: &[Word]| {
        let fields: Vec<String> = slots
            .iter()
            .zip(row)
            .map(|(slot, word)| format!("{}: {}", slot.name, shown(&slot.ty, *word)))
            .collect();
        format!("{{{}}}", fields.join(", "))
    };
    let (mut at, mut variables) = (0, Vec::new());
    for global in &program.globals {
        let width = global.slots.len();
        let element = |row: &[Word]| match (global.record, &global.slots[..]) {
            (None, [slot]) => shown(&slot.ty, row[0]),
            _ => record(&global.slots, row),
        };
        let elements = global.length.as_ref().map(|length| machine.constant(length).max(0) as usize);
        let rows: Vec<String> = machine.shared(state)[at..at + width * elements.unwrap_or(1)]
            .chunks(width)
            .map(element)
            .collect();
        at += width * elements.unwrap_or(1);
        let value = if elements.is_some() { format!("[{}]", rows.join(", ")) } else { rows.concat() };
        variables.push(format!("{}: {value}", global.name));
    }
    let mut text = format!("{{{}}}", variables.join(", "));
    for cell in 0..machine.cells(state) {
        let (kind, is_freed, fields) = machine.cell(state, cell);
        let freed = if is_freed { " freed" } else { "" };
        text.push_str(&format!(", #{}{freed} {}", cell + 1, record(&program.records[kind].fields, fields)));
    }
    text
}

/// The type without `?`.
fn plain(ty: &Type) -> &Type {
    if let Type::Option(inner) = ty { plain(inner) } else { ty }
}
