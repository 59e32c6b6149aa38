//! A small notation for histories in tests and documents, one operation after another:
//!
//! ```text
//! enqueue 1 [1,4]; dequeue -> 1 [2,3]; p7: dequeue -> null [5,..]; cas [0,1] -> true [6,8]
//! ```
//!
//! `op [arg] [-> result] [call,return]`; `..` for a return that never came; `p7:` names the process, and an
//! operation without one has a process of its own.

use crate::history::History;
use crate::operation::Operation;
use crate::signature::Signature;
use crate::value::Value;

/// Reads the notation. Errors are sentences: this is for people who write tests.
pub fn parse(signature: &Signature, text: &str) -> Result<History, String> {
    let mut history = History::new();
    let items = text.split([';', '\n']).map(str::trim).filter(|item| !item.is_empty());
    for (index, item) in items.enumerate() {
        let operation = operation(signature, item, index, &mut history);
        history.operations.push(operation.map_err(|why| format!("in `{item}`: {why}"))?);
    }
    Ok(history)
}

fn operation(sig: &Signature, item: &str, index: usize, history: &mut History) -> Result<Operation, String> {
    let (process, rest) = match item.split_once(':') {
        Some((p, rest)) if p.starts_with('p') && p[1..].parse::<i64>().is_ok() => {
            (Value::Int(p[1..].parse().unwrap_or(0)), rest.trim())
        }
        _ => (Value::Int(1_000_000 + index as i64), item),
    };
    let process = history.symbols.process(&process);
    let (rest, stamps) = rest.rsplit_once('[').ok_or("expected [call,return] at the end")?;
    let stamps = stamps.strip_suffix(']').ok_or("expected ] at the end")?;
    let (call, ret) = stamps.split_once(',').ok_or("expected call,return")?;
    let stamp = |s: &str| s.trim().parse::<i64>().map_err(|_| format!("`{s}` is not a stamp"));
    let (words, result) = match rest.split_once("->") {
        Some((words, result)) => (words.trim(), result.trim()),
        None => (rest.trim(), "null"),
    };
    let (name, arg) = words.split_once(' ').unwrap_or((words, "null"));
    let op = sig.find(name).ok_or_else(|| format!("no operation `{name}`; known: {}", sig.names()))?;
    let mut row = Operation::new(process, op);
    row.call = stamp(call)?;
    row.ret = if ret.trim() == ".." { Operation::NEVER } else { stamp(ret)? };
    row.arg = history.symbols.intern(&value(arg.trim())?);
    row.result = sig.decl(op).result.normalise(history.symbols.intern(&value(result)?));
    Ok(row)
}

fn value(text: &str) -> Result<Value, String> {
    match text {
        "null" | "empty" | "none" => return Ok(Value::Null),
        "true" => return Ok(Value::Bool(true)),
        "false" => return Ok(Value::Bool(false)),
        _ => {}
    }
    if let Some(items) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let items: Result<Vec<_>, _> =
            items.split(',').map(str::trim).filter(|t| !t.is_empty()).map(value).collect();
        return Ok(Value::list(items?));
    }
    match text.parse::<i64>() {
        Ok(n) => Ok(Value::Int(n)),
        Err(_) => Ok(Value::text(text.trim_matches('"'))),
    }
}
