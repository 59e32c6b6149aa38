//! Every one-place mutant of every case study: what is proved is explored, and must not be refuted. `cargo
//! run --release -p linpoint-prove --example mutants [FILE.lin …]`

#[path = "../tests/it/with_solver/mutants/text.rs"]
#[allow(dead_code)]
mod text;

use std::time::Duration;

use linpoint_lang::compile;
use linpoint_model::{Bounds, Mode, Workload, Wrong, explore};
use linpoint_prove::solver::{SolverKind, find};
use linpoint_prove::{Options, prove};

const STUDIES: [&str; 7] = [
    "multiset-insert",
    "array-set",
    "array-queue",
    "snapshot",
    "treiber-ghosts",
    "multiset",
    "multiset-delete-weak",
];

fn main() {
    let Some(solver) = find(SolverKind::Z3, None) else { return eprintln!("z3 is missing") };
    let options = Options { time: Some(Duration::from_secs(20)), ..Options::new(solver) };
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        files = STUDIES.map(|name| format!("corpus/correct/{name}.lin")).to_vec();
    }
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { return eprintln!("cannot read {file}") };
        let (mut proved, mut open, mut wrong) = (0, 0, 0);
        for (what, mutant) in text::mutants(&text) {
            let (programs, mistakes) = compile(&mutant);
            let (Some(program), false) = (programs.first(), mistakes.iter().any(|d| d.is_error())) else {
                continue;
            };
            if !prove(program, &options, &|_, _| {}).verdict.holds() {
                open += 1;
                continue;
            }
            proved += 1;
            let bounds = Bounds { time: Some(Duration::from_secs(5)), ..Bounds::default() };
            for (threads, ops) in [(2, 1), (2, 2), (3, 1), (3, 2)] {
                let explored =
                    explore(program, &Workload::general(program, threads, ops), Mode::Anywhere, &bounds);
                if let linpoint_model::Verdict::Violated(violation) = &explored.verdict
                    && matches!(violation.wrong, Wrong::NotLinearizable | Wrong::Error(_))
                {
                    wrong += 1;
                    println!("PROVED, AND WRONG: {file}: {what}: {:?}", violation.wrong);
                    break;
                }
            }
        }
        println!("{file}: {proved} proved, {open} not proved, {wrong} proved and wrong");
    }
}
