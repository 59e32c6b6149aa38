//! Other provers on the same structures, where somebody built them: a part of `cargo xtask bench shape --peers DIR`.
//!
//! Each has the algorithms in a form of its own, written by its authors; only the structure is the same. In DIR:
//! - `sas16/run.opt`, the prototype of Abdulla, Jonsson and Trinh (2016): one observer a specification, linearization points given;
//! - `poling/poling` with its `EXAMPLES`, of Zhu, Petri and Jagannathan (2015), which holds Cave (Vafeiadis 2010): run with `-linear` it goes by Cave's method.
//!
//! How they were built is said in `docs/benchmarks.md`.

use std::path::Path;

use serde_json::Value as Json;

use super::child::{self, Usage};

/// A structure: our program, the name of the example of either.
const ROWS: &[(&str, &str, Option<&str>, Option<&str>)] = &[
    ("Treiber", "treiber", Some("treiber"), Some("Treiber_stack")),
    ("two-lock", "two-lock", Some("TwolockMS"), Some("2lock_queue")),
    ("DGLM", "dglm", Some("DGLM"), Some("DGLMqueue")),
    ("Michael–Scott", "michael-scott", Some("MS"), Some("MSqueue")),
    ("pessimistic set", "pessimistic-set", Some("Pessimistic"), Some("Lockcouping_set")),
    ("optimistic set", "optimistic-set", Some("Optimistic"), Some("Optimistic_set")),
    ("lazy set", "lazy-set", Some("Lazyset"), Some("Lazy_set")),
    ("Vechev–Yahav set", "vechev-yahav-set", Some("Vechev_CAS"), Some("Vechev_CAS_set")),
    ("Michael set", "michael-set", Some("MMichael"), None),
    ("Harris set", "harris-set", Some("THarris"), None),
    ("elimination stack", "elimination-stack", Some("HSYstack"), Some("HSY_stack")),
    ("Herlihy–Wing queue", "herlihy-wing", Some("HWqueue"), Some("HW_queue")),
];

/// Seconds that each run gets.
const LIMIT_S: u32 = 120;

/// Runs all that is there and prints a table.
pub fn run(folder: &Path, binary: &Path) -> Result<(), String> {
    println!(
        "\n{} · `cargo xtask bench shape --peers DIR` · one core, CPU time of the whole command, at most {LIMIT_S} s each\n\n| structure | Linpoint | Abdulla, Jonsson, Trinh 2016 | Cave's method (in Poling) |\n|---|---|---|---|",
        super::today()
    );
    for (name, ours, observer, cave) in ROWS {
        let file = crate::root().join("corpus/correct").join(format!("{ours}.lin"));
        let mut command = child::pinned(binary);
        command.arg("prove").arg(&file).args(["--engine", "shape", "--json", "--time-limit", "60s"]);
        let (usage, text) = child::run(command, LIMIT_S)?;
        let answer: Json = serde_json::from_str(&text).unwrap_or(Json::Null);
        let verdict = answer["verdict"].as_str().unwrap_or("no answer");
        let mine = cell(&usage, verdict, answer["structures"].as_u64());
        let observer = observer.map(|example| observers(folder, example)).transpose()?.flatten();
        let cave = cave.map(|example| cave_in_poling(folder, example)).transpose()?.flatten();
        println!("| {name} | {mine} | {} | {} |", observer.unwrap_or_default(), cave.unwrap_or_default());
    }
    Ok(())
}

fn cell(usage: &Usage, verdict: &str, states: Option<u64>) -> String {
    let verdict = usage.ended.unwrap_or(verdict);
    let states = states.map_or_else(String::new, |states| format!(", {states} states"));
    format!("{verdict}, {:.3} s{states}", usage.cpu_s)
}

fn observers(folder: &Path, example: &str) -> Result<Option<String>, String> {
    let program = folder.join("sas16/run.opt");
    if !program.exists() {
        return Ok(None);
    }
    let mut command = child::pinned(program);
    command.args(["-p", "linearizability", "-e", example, "-n", "-d"]);
    let (usage, text) = child::run(command, LIMIT_S)?;
    let verdict = if text.lines().any(|line| line.trim() == "VALID") { "proved" } else { "not proved" };
    let states = text.rsplit_once("System: ").map(|(_, rest)| rest);
    let states = states.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    Ok(Some(cell(&usage, verdict, states)))
}

fn cave_in_poling(folder: &Path, example: &str) -> Result<Option<String>, String> {
    let folder = folder.join("poling");
    let program = folder.join("poling");
    if !program.exists() {
        return Ok(None);
    }
    // Its programs include their specifications, by the preprocessor of C.
    let whole = std::env::temp_dir().join(format!("linpoint-{}-{example}.cav", std::process::id()));
    let source = folder.join("EXAMPLES").join(format!("{example}.cav"));
    let made = std::process::Command::new("cpp").arg(&source).arg("-o").arg(&whole).status();
    if !made.is_ok_and(|status| status.success()) {
        return Err(format!("cannot preprocess {}", source.display()));
    }
    let mut command = child::pinned(program);
    command.args(["-v", "0", "-linear"]);
    if example == "Lockcouping_set" {
        command.arg("-no_leaks");
    }
    let invariant = folder.join("EXAMPLES").join(format!("{example}.inv"));
    if invariant.exists() {
        command.arg("-ifile").arg(invariant);
    }
    command.arg(&whole);
    let done = child::run(command, LIMIT_S);
    // Nobody needs it any more; if it stays, it does no harm.
    let _ = std::fs::remove_file(&whole);
    let (usage, text) = done?;
    let verdict = if text.lines().any(|line| line.trim() == "Valid") { "proved" } else { "not proved" };
    Ok(Some(cell(&usage, verdict, None)))
}
