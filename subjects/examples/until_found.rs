//! How many operations it takes until an error shows: the usual load against loads that are chosen by coverage.
//!
//! `cargo run --release -p linpoint-subjects --example until_found -- [from=1] [runs=20] [most=3000000] [guided|plain] [OBJECT…]` prints a line of CSV a run, `from` being the first. Of a run that ends without an error, `found` is 0 and `operations` how
//! many were clean. Operations of the prefix do not count; in the run that shows it, those up to the last of the counterexample do. `core` is the size of the first core, `least_core` that of the smallest until one of eight operations at the most was found. Beside that, on standard error, a line an object: medians, how many times sooner the guided
//! runs are in the median (`>=` where the plain median is a run that was cut off), and the largest of those small cores.

use std::time::{Duration, Instant};

use linpoint_check::{Options, check_rows};
use linpoint_history::{Counterexample, Verdict};
use linpoint_subjects::catalogue::{self, Entry};
use linpoint_subjects::guide::Guide;
use linpoint_subjects::record::{Load, Target, record_with_sights};

/// Half insertions, half removals, random priorities, and a hundred elements to start with (Dragicevic 2011, section 2.8.3, has more): a run of ten thousand operations comes to an empty queue now and then.
fn usual(target: &Target) -> Load {
    match target {
        Target::Queue(_) => Load { prefix: 100, values: Some(1 << 20), ..Load::default() },
        Target::Set(_) => Load { prefix: 100, values: Some(250), adds: 0.3, others: 0.4, ..Load::default() },
    }
}

/// A run that takes longer to check counts as clean: histories of eight threads that change keys.
const PATIENCE: Duration = Duration::from_secs(2);

/// Operations of a run under the usual load.
const BATCH: usize = 10_000;

/// A core of so many operations is small. Where the first is larger, the search goes on until there is a small one: a thread that is held up for long in a removal that finds nothing needs an element for every moment of it.
const SMALL: usize = 8;

#[derive(Clone, Copy)]
struct Run {
    found: bool,
    operations: usize,
    core: usize,
    /// The smallest core until one was small.
    least: usize,
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
    let mut first: Option<Run> = None;
    while clean < most {
        batch += 1;
        let load = if guided {
            guide.choose()
        } else {
            Load { operations: BATCH, seed: seed << 20 | batch, ..usual.clone() }
        };
        if let Some(example) = violation(entry, &load, guided.then_some(&mut guide)) {
            let last = example.core.iter().map(|op| op.ret).max().unwrap_or(0) as usize;
            let operations = clean + (last + 1).saturating_sub(load.prefix).min(load.operations);
            let core = example.core.len();
            let seconds = start.elapsed().as_secs_f64();
            let found = first.get_or_insert(Run { found: true, operations, core, least: core, seconds });
            found.least = found.least.min(core);
            if found.least <= SMALL {
                break;
            }
        }
        clean += load.operations;
    }
    first.unwrap_or(Run {
        found: false,
        operations: clean,
        core: 0,
        least: 0,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Runs a load; the counterexample, if it shows one.
fn violation(entry: &Entry, load: &Load, guide: Option<&mut Guide>) -> Option<Counterexample> {
    let target = (entry.make)();
    let (mut history, sights) = record_with_sights(&target, load);
    if let Some(guide) = guide {
        guide.learn(load, &history, sights);
    }
    let rows = std::mem::take(&mut history.operations);
    let options = Options { time_limit: Some(PATIENCE), ..Options::default() };
    match check_rows(rows, &target.spec(), &mut history.symbols, &options).map(|answer| answer.verdict) {
        Ok(Verdict::Violated(example)) => Some(example),
        _ => None,
    }
}

fn main() {
    let (mut from, mut runs, mut most) = (1, 20, 3_000_000);
    let (mut modes, mut names) = (vec![true, false], Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("from", value)) => from = value.parse().unwrap_or(from),
            Some(("runs", value)) => runs = value.parse().unwrap_or(runs),
            Some(("most", value)) => most = value.parse().unwrap_or(most),
            _ if argument == "guided" => modes = vec![true],
            _ if argument == "plain" => modes = vec![false],
            _ => names.push(argument),
        }
    }
    println!("object,mode,run,found,operations,core,least_core,seconds");
    let broken = catalogue::ALL.iter().filter(|entry| !entry.is_correct());
    for entry in broken.filter(|entry| names.is_empty() || names.iter().any(|name| name == entry.name)) {
        let mut all: [Vec<Run>; 2] = Default::default();
        for seed in from..from + runs {
            for &guided in &modes {
                let run = run(entry, guided, seed, most);
                let Run { found, operations, core, least, seconds } = run;
                let mode = if guided { "guided" } else { "plain" };
                println!(
                    "{},{mode},{seed},{},{operations},{core},{least},{seconds:.2}",
                    entry.name,
                    u8::from(found)
                );
                all[usize::from(!guided)].push(run);
            }
        }
        let [guided, plain] = all.map(Summary::of);
        let at_least = if plain.cut_off { ">= " } else { "" };
        eprintln!(
            "{:<45} guided {guided}; plain {plain}; {at_least}{:.0} times sooner; largest core {}",
            entry.name,
            plain.median as f64 / guided.median.max(1) as f64,
            guided.core.max(plain.core),
        );
    }
}

/// Runs of one kind.
struct Summary {
    found: usize,
    runs: usize,
    median: usize,
    /// Is the median a run that found nothing?
    cut_off: bool,
    core: usize,
}

impl Summary {
    fn of(mut runs: Vec<Run>) -> Summary {
        // Of runs as long as each other those that found something come first.
        runs.sort_by_key(|run| (run.operations, !run.found));
        let median = runs.get(runs.len().saturating_sub(1) / 2);
        Summary {
            found: runs.iter().filter(|run| run.found).count(),
            runs: runs.len(),
            median: median.map_or(0, |run| run.operations),
            cut_off: median.is_some_and(|run| !run.found),
            core: runs.iter().map(|run| run.least).max().unwrap_or(0),
        }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}, median {}", self.found, self.runs, self.median)
    }
}
