//! How many operations it takes until an error shows: the usual load against loads that are chosen by coverage.
//!
//! `cargo run --release -p linpoint-subjects --example until_found -- [runs=20] [most=3000000] [OBJECT…]` prints a line of CSV a run. Of a run that ends without an error, `found` is 0 and `operations` how
//! many were clean. Operations of the prefix do not count; in the run that shows it, those up to the last of the counterexample do.

use std::time::{Duration, Instant};

use linpoint_check::{Options, check_rows};
use linpoint_history::Verdict;
use linpoint_subjects::catalogue::{self, Entry};
use linpoint_subjects::guide::{BATCH, Guide};
use linpoint_subjects::record::{Load, Target, record};

/// Half insertions, half removals, random priorities, and a queue that is well filled (Dragicevic 2011, section 2.8.3).
fn usual(target: &Target) -> Load {
    match target {
        Target::Queue(_) => Load { prefix: 1000, values: Some(1 << 20), ..Load::default() },
        Target::Set(_) => Load { prefix: 1000, values: Some(250), adds: 0.3, others: 0.4, ..Load::default() },
    }
}

/// A run that takes longer to check counts as clean: histories of eight threads that change keys.
const PATIENCE: Duration = Duration::from_secs(2);

struct Run {
    found: bool,
    operations: usize,
    core: usize,
    seconds: f64,
}

fn run(entry: &Entry, guided: bool, seed: u64, most: usize) -> Run {
    let start = Instant::now();
    let usual = usual(&(entry.make)());
    let is_set = matches!((entry.make)(), Target::Set(_));
    // Changing keys makes histories slow to check, and none of these errors needs it.
    let mut guide = Guide::new(&usual, is_set, seed);
    let mut clean = 0;
    let mut batch = 0;
    while clean < most {
        batch += 1;
        let load = if guided {
            guide.choose()
        } else {
            Load { operations: BATCH, seed: seed << 20 | batch, ..usual.clone() }
        };
        let target = (entry.make)();
        let mut history = record(&target, &load);
        if guided {
            guide.learn(&load, &history);
        }
        let rows = std::mem::take(&mut history.operations);
        let options = Options { time_limit: Some(PATIENCE), ..Options::default() };
        let answer = check_rows(rows, &target.spec(), &mut history.symbols, &options);
        if let Ok(Verdict::Violated(example)) = answer.map(|answer| answer.verdict) {
            let last = example.core.iter().map(|op| op.ret).max().unwrap_or(0) as usize;
            let operations = clean + (last + 1).saturating_sub(load.prefix).min(load.operations);
            return Run {
                found: true,
                operations,
                core: example.core.len(),
                seconds: start.elapsed().as_secs_f64(),
            };
        }
        clean += load.operations;
    }
    Run { found: false, operations: clean, core: 0, seconds: start.elapsed().as_secs_f64() }
}

fn main() {
    let (mut runs, mut most, mut names) = (20, 3_000_000, Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("runs", value)) => runs = value.parse().unwrap_or(runs),
            Some(("most", value)) => most = value.parse().unwrap_or(most),
            _ => names.push(argument),
        }
    }
    println!("object,mode,run,found,operations,core,seconds");
    let broken = catalogue::ALL.iter().filter(|entry| !entry.is_correct());
    for entry in broken.filter(|entry| names.is_empty() || names.iter().any(|name| name == entry.name)) {
        for seed in 1..=runs {
            for guided in [true, false] {
                let Run { found, operations, core, seconds } = run(entry, guided, seed, most);
                let mode = if guided { "guided" } else { "plain" };
                println!("{},{mode},{seed},{},{operations},{core},{seconds:.2}", entry.name, u8::from(found));
            }
        }
    }
}
