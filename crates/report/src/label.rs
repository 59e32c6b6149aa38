//! How an operation is written in a drawing or a sentence: `enqueue 7`, `dequeue → 7`, `cas [0,1] → true`.

use linpoint_history::{Operation, Shape, Signature, Symbols};

/// The operation without its stamps. A pending one shows `→ ?` where a result was awaited.
pub fn label(signature: &Signature, symbols: &Symbols, op: &Operation) -> String {
    let decl = signature.decl(op.op());
    let mut text = decl.name.to_owned();
    if !op.arg.is_null() {
        text += &format!(" {}", symbols.value(op.arg));
    }
    match decl.result {
        Shape::Unit => {}
        Shape::Done if op.result.is_null() => {}
        _ if op.is_pending() => text += " → ?",
        _ if op.result.is_null() && removes(decl.name) => text += " → empty",
        _ => text += &format!(" → {}", symbols.value(op.result)),
    }
    text
}

/// Does this operation answer null because there is nothing to take?
fn removes(name: &str) -> bool {
    name.starts_with("dequeue") || name.starts_with("pop") || name.starts_with("remove_m")
}
