//! Records an object under real threads, and checks it: from a history, or online.
//!
//! `cargo run --release -p linpoint-subjects --example record -- OBJECT [threads=8] [operations=1000000] [adds=0.5] [others=0] [values=1000|distinct] [prefix=0] [work=0] [pauses=0] [clients=1]
//! [pinning=free|spread|together] [seed=1] [out=FILE] [check|watch|stress]`
//!
//! `out=` writes the history in the binary form; `check` (the default without `out=`) decides it here; `watch` lets the runtime monitor check while the threads run; `stress` repeats
//! runs with other seeds until one is wrong, `operations` at a time and `rounds=` times at the most.

use std::fs::File;
use std::io::BufWriter;
use std::time::Instant;

use linpoint_check::{Answer, Options, check_rows};
use linpoint_history::confidence::Worth;
use linpoint_history::formats::{self, Format};
use linpoint_history::{Spec as _, Verdict};
use linpoint_monitor::{Conclusion, Monitor};
use linpoint_subjects::catalogue::{self, Entry};
use linpoint_subjects::record::{Load, Pinning, record, stuck, watch};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        let names: Vec<&str> = catalogue::ALL.iter().map(|entry| entry.name).collect();
        return Err(format!("name an object: {}", names.join(", ")).into());
    };
    let entry = catalogue::find(name).ok_or_else(|| format!("there is no {name}"))?;
    let mut load = Load { threads: 8, operations: 1_000_000, ..Load::default() };
    let (mut out, mut what, mut rounds) = (None, None, 1000);
    for argument in rest {
        match argument.split_once('=') {
            Some(("threads", value)) => load.threads = value.parse()?,
            Some(("operations", value)) => load.operations = value.parse()?,
            Some(("adds", value)) => load.adds = value.parse()?,
            Some(("others", value)) => load.others = value.parse()?,
            Some(("values", "distinct")) => load.values = None,
            Some(("values", value)) => load.values = Some(value.parse()?),
            Some(("prefix", value)) => load.prefix = value.parse()?,
            Some(("work", value)) => load.work = value.parse()?,
            Some(("pauses", value)) => load.pauses = value.parse()?,
            Some(("clients", value)) => load.clients = value.parse()?,
            Some(("seed", value)) => load.seed = value.parse()?,
            Some(("rounds", value)) => rounds = value.parse()?,
            Some(("pinning", "free")) => load.pinning = Pinning::Free,
            Some(("pinning", "spread")) => load.pinning = Pinning::Spread,
            Some(("pinning", "together")) => load.pinning = Pinning::Together,
            Some(("out", value)) => out = Some(value.to_owned()),
            None if ["check", "watch", "stress"].contains(&argument.as_str()) => {
                what = Some(argument.as_str())
            }
            _ => return Err(format!("what is {argument}?").into()),
        }
    }
    match (what, out) {
        (Some("watch"), _) => online(entry, &load),
        (Some("stress"), _) => stress(entry, load, rounds),
        (_, Some(file)) => write(entry, &load, &file),
        _ => decide(entry, &load).map(|_| ()),
    }
}

fn write(entry: &Entry, load: &Load, file: &str) -> Result<(), Failure> {
    let target = (entry.make)();
    let history = record(&target, load);
    let mut out = BufWriter::new(File::create(file)?);
    formats::write(Format::Binary, &history, target.spec().signature(), &mut out)?;
    println!("linpoint check {file} --spec {}", target.spec_name());
    Ok(())
}

fn decide(entry: &Entry, load: &Load) -> Result<Answer, Failure> {
    let target = (entry.make)();
    let start = Instant::now();
    let mut history = record(&target, load);
    let recorded = start.elapsed();
    let never = match stuck(&history) {
        0 => String::new(),
        stuck => format!(", {stuck} never returned and nothing did for {:?}", load.patience),
    };
    let widest = history.widest();
    let rows = std::mem::take(&mut history.operations);
    let answer = check_rows(rows, &target.spec(), &mut history.symbols, &Options::default())?;
    let clean = match &answer.verdict {
        Verdict::Holds(_) => format!("linearizable; {}", Worth::of(answer.operations)),
        Verdict::Violated(example) => format!(
            "NOT linearizable: {}\n  a core of {} operations{}",
            example.reason,
            example.core.len(),
            if example.rechecked { ", rechecked" } else { "" }
        ),
        Verdict::Unknown(unknown) => format!("unknown: {unknown:?}"),
    };
    println!(
        "{}: {} operations{never}, {widest} open at the widest, recorded in {:.2} s, decided by {} in {:.2} s: {clean}",
        entry.name,
        answer.operations,
        recorded.as_secs_f64(),
        answer.engine,
        answer.elapsed.as_secs_f64(),
    );
    Ok(answer)
}

fn stress(entry: &Entry, load: Load, rounds: u64) -> Result<(), Failure> {
    let mut clean = 0;
    for round in 0..rounds {
        let load = Load { seed: load.seed + round, ..load.clone() };
        let answer = decide(entry, &load)?;
        match answer.verdict {
            Verdict::Holds(_) => clean += answer.operations,
            _ => {
                println!("after {clean} clean operations");
                return Ok(());
            }
        }
    }
    println!("{clean} clean operations: {}", Worth::of(clean));
    Ok(())
}

fn online(entry: &Entry, load: &Load) -> Result<(), Failure> {
    let monitor = Monitor::start()?;
    watch(&(entry.make)(), load, &monitor)?;
    let report = monitor.finish();
    print!("{report}");
    if report.conclusion() == Conclusion::Violated {
        println!("{} findings", report.findings().count());
    }
    Ok(())
}
