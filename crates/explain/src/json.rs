//! A verdict as one JSON object, for scripts. The fields are a contract.

use linpoint_history::confidence::{USUAL, error_rate};
use linpoint_history::{Basis, Operation, Spec, Unknown, Verdict};
use serde_json::{Value as Json, json};

use crate::{Shown, text};

/// One line.
pub fn render(shown: &Shown<'_>) -> String {
    let answer = shown.answer;
    let (verdict, basis, counterexample) = match &answer.verdict {
        Verdict::Holds(Basis::Witness { operations }) => {
            ("holds", json!({"kind": "witness", "operations": operations}), Json::Null)
        }
        Verdict::Violated(example) => {
            let rows = |rows: &[Operation]| Json::Array(rows.iter().map(|op| operation(shown, op)).collect());
            let found = json!({
                "reason": example.reason,
                "operations": rows(&example.core),
                "start": example.start.as_ref().map(|start| json!({"state": start.shown, "operations": start.operations})),
                "prefix": rows(&example.prefix),
                "impossible": example.impossible,
                "explained": example.explained,
            });
            ("violated", json!({"kind": "counterexample", "rechecked": example.rechecked}), found)
        }
        Verdict::Unknown(unknown) => ("unknown", reason(unknown), Json::Null),
    };
    let completed = answer.operations - answer.pending;
    let excluded = matches!(answer.verdict, Verdict::Holds(_)).then(|| error_rate(completed, USUAL));
    let object = answer.object.as_ref().map_or(Json::Null, |key| parse(&key.to_string()));
    json!({
        "file": shown.file,
        "verdict": verdict,
        "summary": text::first_line(shown),
        "basis": basis,
        "spec": shown.spec_name,
        "engine": answer.engine,
        "because": answer.because,
        "operations": answer.operations,
        "pending": answer.pending,
        "objects": answer.objects,
        "object": object,
        "elapsed_s": answer.elapsed.as_secs_f64(),
        "excluded_error_rate_95": excluded,
        "counterexample": counterexample,
    })
    .to_string()
}

fn reason(unknown: &Unknown) -> Json {
    match unknown {
        Unknown::Time { decided, widest } => json!({"kind": "time", "decided": decided, "widest": widest}),
        Unknown::Memory { decided, widest } => {
            json!({"kind": "memory", "decided": decided, "widest": widest})
        }
        Unknown::Nothing { pending } => {
            json!({"kind": "nothing", "pending": pending, "why": Unknown::nothing_to_check(*pending)})
        }
        Unknown::Unsupported { why } => json!({"kind": "unsupported", "why": why}),
    }
}

/// A row as the history format writes it.
fn operation(shown: &Shown<'_>, op: &Operation) -> Json {
    let symbols = shown.symbols;
    let value = |id| parse(&symbols.value(id).to_string());
    let mut row = json!({
        "process": parse(&symbols.process_name(op.process()).to_string()),
        "op": shown.spec.signature().decl(op.op()).name,
        "arg": value(op.arg),
        "ret": if op.is_pending() { Json::Null } else { value(op.result) },
        "call": op.call,
        "return": if op.is_pending() { Json::Null } else { json!(op.ret) },
    });
    let key = symbols.key_name(op.key);
    if !key.is_null() {
        row["key"] = parse(&key.to_string());
    }
    row
}

/// Our values print as JSON; this reads them back.
fn parse(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or(Json::Null)
}
