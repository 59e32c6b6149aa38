//! Other checkers on the same histories, where somebody built them.
//!
//! fastlin (Lee & Mathur 2025) decides queue, stack, priority queue and set with distinct values; porcupine, through a driver of a few lines
//! around the library, decides registers and key–value stores. Both read the plain text of [`Case::write_text`].

use std::path::Path;

use linpoint_history::Kind;
use linpoint_history::generate::Values;

use super::child::{self, Usage};
use super::file::{Case, Method};

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

/// The checker that knows histories of this kind, if one does.
pub fn name(kind: Kind, values: Values) -> Option<&'static str> {
    match kind {
        Kind::Register | Kind::Kv => Some("porcupine"),
        Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::PriorityQueueMax | Kind::Set => {
            (values == Values::Distinct).then_some("fastlin")
        }
        _ => None,
    }
}

/// Runs that checker, if it is in `folder`.
pub fn run(folder: &Path, case: &Case, limit_s: u32) -> Result<Option<PeerRun>, String> {
    let Some(name) = name(case.plan.spec.kind, case.plan.values) else { return Ok(None) };
    let program = match name {
        "fastlin" => folder.join("fastlin/fastlin"),
        _ => folder.join("porcupine-driver/porcupine-driver"),
    };
    if !program.exists() {
        return Ok(None);
    }
    let (kind, methods): (_, &[Method]) = match case.plan.spec.kind {
        Kind::Queue => ("queue", &[same("enq"), same("deq")]),
        Kind::Stack => ("stack", &[same("push"), same("pop")]),
        // What changes nothing is a look: an addition that answers false saw the element, a removal did not.
        Kind::Set => {
            let look = Method { yes: "contains_true", no: "contains_false" };
            let add = Method { yes: "insert", no: look.yes };
            ("set", &[add, Method { yes: "remove", no: look.no }, look])
        }
        Kind::Register => ("register", &[same("write"), same("read")]),
        Kind::Kv => ("kv", &[same("get"), same("put")]),
        // It lets the greatest value leave first; for the other order, the text has values turned round.
        _ => ("priorityqueue", &[same("insert"), same("poll")]),
    };
    let text = case.write_text(kind, methods)?;
    let mut command = child::pinned(program);
    match (name, kind) {
        // Its faster way knows no looks.
        ("fastlin", "set") => command.arg("-t").arg(text),
        ("fastlin", _) => command.args(["-t", "-x"]).arg(text),
        _ => command.arg(text).arg(format!("{limit_s}s")),
    };
    let (usage, text) = child::run(command, limit_s + 10)?;
    Ok(Some(PeerRun { name, usage, said: text.trim().to_owned() }))
}

const fn same(name: &'static str) -> Method {
    Method { yes: name, no: name }
}
