//! Coarse clocks: generated histories with all stamps divided, against the same histories with fine stamps.
//!
//! `cargo run --release -p linpoint-check --example coarse -- [ops=N] [processes=8,16,32] [keys=0,100]
//! [divide=100,1000] [order=log|return] [seconds=N] [SPEC]...`, or `file=HISTORY SPEC`
//!
//! Divided stamps make most operations touch the last one of their process. Rows stay as they came from the
//! generator (`log`: the order in which they returned), or are sorted by their coarse stamps (`return`), so
//! that only the processes tell what the clock does not. A line for each history: both verdicts, both times,
//! and which engine.

use std::time::{Duration, Instant};

use linpoint_check::{Answer, Options, check_rows};
use linpoint_history::generate::{self, Plan, Spoil};
use linpoint_history::history::return_order;
use linpoint_history::{Builtin, Operation, Symbols, Verdict, formats, specs};

const SPECS: &str = "queue,stack,deque,priority-queue,priority-queue-max,set,multiset,list,map,register,cas-register,kv,counter";

fn main() {
    let mut settings = Settings::default();
    for argument in std::env::args().skip(1) {
        settings.take(&argument);
    }
    if settings.specs.is_empty() {
        settings.specs = SPECS.split(',').map(str::to_owned).collect();
    }
    if let (Some(name), false) = (settings.specs.first(), settings.files.is_empty()) {
        settings.files.iter().for_each(|file| settings.read(name, file));
        return;
    }
    println!("spec                processes keys divided  fine                       coarse");
    for name in &settings.specs {
        for (&processes, &keys) in
            settings.processes.iter().flat_map(|p| settings.keys.iter().map(move |k| (p, k)))
        {
            settings.compare(name, processes as u32, keys as u32);
        }
    }
}

struct Settings {
    ops: u64,
    processes: Vec<u64>,
    keys: Vec<u64>,
    divide: Vec<u64>,
    sorted: bool,
    spoiled: bool,
    seed: u64,
    seconds: u64,
    files: Vec<String>,
    specs: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            ops: 100_000,
            processes: vec![8, 16, 32],
            keys: vec![0, 100],
            divide: vec![100, 1000],
            sorted: false,
            spoiled: false,
            seed: 1,
            seconds: 20,
            files: Vec::new(),
            specs: Vec::new(),
        }
    }
}

impl Settings {
    fn take(&mut self, argument: &str) {
        let (name, value) = argument.split_once('=').unwrap_or(("", argument));
        let numbers = || value.split(',').filter_map(|number| number.parse().ok()).collect::<Vec<u64>>();
        let number = || numbers().first().copied().unwrap_or(0);
        match name {
            "ops" => self.ops = number(),
            "processes" => self.processes = numbers(),
            "keys" => self.keys = numbers(),
            "divide" => self.divide = numbers(),
            "order" => self.sorted = value == "return",
            "spoiled" => self.spoiled = value == "yes",
            "seed" => self.seed = number(),
            "seconds" => self.seconds = number(),
            "file" => self.files.push(value.to_owned()),
            _ => self.specs.push(value.to_owned()),
        }
    }

    /// A file instead of a generated history.
    fn read(&self, name: &str, file: &str) {
        let history = specs::parse(name).ok().and_then(|spec| {
            let input = formats::Input::File(file.into());
            Some((spec.clone(), formats::read_all(&input, &spec, &formats::ReadOptions::default()).ok()?))
        });
        let Some((spec, history)) = history else {
            println!("{file} is not readable");
            return;
        };
        let (answer, took) = self.check(history.operations, &spec, history.symbols);
        println!("{:<26} {} {file}", show(&answer, took), answer.engine);
    }

    fn compare(&self, name: &str, processes: u32, keys: u32) {
        let Ok(spec) = specs::parse(name) else {
            println!("{name}: no such specification");
            return;
        };
        let plan = Plan { processes, keys, operations: self.ops, seed: self.seed, ..Plan::new(spec.clone()) };
        let Ok((history, _)) = generate::history(&plan, self.spoiled.then(Spoil::default)) else {
            println!("{name}: cannot be generated");
            return;
        };
        let (fine, took) = self.check(history.operations.clone(), &spec, history.symbols.clone());
        for &divide in &self.divide {
            let mut rows = history.operations.clone();
            for row in &mut rows {
                row.call /= divide as i64;
                row.ret = if row.is_pending() { row.ret } else { row.ret / divide as i64 };
            }
            if self.sorted {
                rows.sort_by_key(return_order);
            }
            let (coarse, took_coarse) = self.check(rows, &spec, history.symbols.clone());
            println!(
                "{name:<20}{processes:>8} {keys:>4} {divide:>7}  {:<26} {:<26} {:>6.2}×  {}",
                show(&fine, took),
                show(&coarse, took_coarse),
                took_coarse.as_secs_f64() / took.as_secs_f64(),
                coarse.engine,
            );
        }
    }

    fn check(&self, rows: Vec<Operation>, spec: &Builtin, mut symbols: Symbols) -> (Answer, Duration) {
        let options = Options { time_limit: Some(Duration::from_secs(self.seconds)), ..Options::default() };
        let started = Instant::now();
        match check_rows(rows, spec, &mut symbols, &options) {
            Ok(answer) => (answer, started.elapsed()),
            Err(error) => {
                println!("{error}");
                std::process::exit(101);
            }
        }
    }
}

fn show(answer: &Answer, took: Duration) -> String {
    let verdict = match answer.verdict {
        Verdict::Holds(_) => "linearizable",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    };
    format!("{verdict} {:.3} s", took.as_secs_f64())
}
