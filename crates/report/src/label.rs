//! How an operation is written in a drawing or a sentence: `enqueue 7`, `dequeue → 7`, `cas [0,1] → true`.

use linpoint_history::{Operation, Shape, Signature, Symbols};

use crate::view::Bar;

/// The operation without its stamps. A pending one shows `→ ?` where a result was awaited.
pub fn label(signature: &Signature, symbols: &Symbols, op: &Operation) -> String {
    bar(signature, symbols, op).label()
}

/// The operation as view data, in lane 0.
pub fn bar(signature: &Signature, symbols: &Symbols, op: &Operation) -> Bar {
    let decl = signature.decl(op.op());
    let arg = if op.arg.is_null() { String::new() } else { symbols.value(op.arg).to_string() };
    let result = match decl.result {
        Shape::Unit => String::new(),
        Shape::Done if op.result.is_null() => String::new(),
        _ if op.is_pending() => "?".to_owned(),
        _ if op.result.is_null() && removes(decl.name) => "empty".to_owned(),
        _ => symbols.value(op.result).to_string(),
    };
    let key = symbols.key_name(op.key);
    Bar {
        name: decl.name.to_owned(),
        arg,
        result,
        key: if key.is_null() { String::new() } else { key.to_string() },
        call: op.call,
        ret: (!op.is_pending()).then_some(op.ret),
        ..Bar::default()
    }
}

/// Does this operation answer null because there is nothing to take?
fn removes(name: &str) -> bool {
    name.starts_with("dequeue") || name.starts_with("pop") || name.starts_with("remove_m")
}
