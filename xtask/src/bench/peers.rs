//! Other checkers on the same histories, where somebody built them.
//!
//! fastlin (Lee & Mathur 2025) decides queue, stack, priority queue and set with distinct values; porcupine, through a driver of a few lines
//! around the library, decides registers and key–value stores. Both read the plain text of [`Case::write_text`].

use std::path::Path;

use linpoint_history::Kind;
use linpoint_history::generate::Values;

use super::child::{self, Usage};
use super::file::Case;

/// Another checker's run.
#[derive(Clone, Debug)]
pub struct PeerRun {
    /// Its name.
    pub name: &'static str,
    /// What it cost.
    pub usage: Usage,
    /// What it printed, for the record.
    pub said: String,
}

/// Runs the checker that knows this kind of history, if there is one in `folder`.
pub fn run(folder: &Path, case: &Case, limit_s: u32) -> Result<Option<PeerRun>, String> {
    let distinct = case.plan.values == Values::Distinct;
    let (name, kind, methods): (_, _, &[&str]) = match case.plan.spec.kind {
        Kind::Queue if distinct => ("fastlin", "queue", &["enq", "deq"]),
        Kind::Stack if distinct => ("fastlin", "stack", &["push", "pop"]),
        // It lets the greatest value leave first; for the other order, the text has values turned round.
        Kind::PriorityQueue | Kind::PriorityQueueMax if distinct => {
            ("fastlin", "priorityqueue", &["insert", "poll"])
        }
        Kind::Register => ("porcupine", "register", &["write", "read"]),
        Kind::Kv => ("porcupine", "kv", &["get", "put"]),
        _ => return Ok(None),
    };
    let program = match name {
        "fastlin" => folder.join("fastlin/fastlin"),
        _ => folder.join("porcupine-driver/porcupine-driver"),
    };
    if !program.exists() {
        return Ok(None);
    }
    let mut command = child::pinned(program);
    match name {
        "fastlin" => command.args(["-t", "-x"]).arg(case.write_text(kind, methods)?),
        _ => command.arg(case.write_text(kind, methods)?).arg(format!("{limit_s}s")),
    };
    let (usage, text) = child::run(command, limit_s + 10)?;
    Ok(Some(PeerRun { name, usage, said: text.trim().to_owned() }))
}
