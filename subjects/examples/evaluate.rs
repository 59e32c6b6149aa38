//! One step of the evaluation (`cargo xtask evaluate`), in a process of its own so that its memory can be measured.
//!
//! `evaluate record FILE OBJECT THREADS OPERATIONS VALUES PREFIX CLIENTS OTHERS SEED` records a history (`VALUES` 0: no priority twice) and prints `shape,operations,widest,seconds`.
//! `evaluate text FILE OUT` writes it for fastlin, which lets the greatest leave first: priorities are turned round.
//! `evaluate decide FILE SPEC ENGINE SECONDS` decides it and prints `verdict,read_s,decide_s,cpu_s,most,mean,peak_kib,by` (`cpu_s` is the processor's time of `decide_s`): the engine is `auto`, `monitor`, `metastate`, `search`, `brute`, `one-core` (auto, as all of these on one core), `split` (auto on all cores, one history over all of them where it takes long), `at-once` (split before anything else), `count` (metastates, counted),
//! `paths` (brute force as Dragicevic has it) or `text` and its variants (his metastates with switches).

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use linpoint_check::brute::paths;
use linpoint_check::engine::{self, Context};
use linpoint_check::metastate::changing_keys::ChangingKeys;
use linpoint_check::metastate::generic::Generic;
use linpoint_check::metastate::priority_queue::PriorityQueueMetastates;
use linpoint_check::metastate::seed::{self, Switches};
use linpoint_check::portfolio::Choice;
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Options, Split, Stop, Timeline, check_rows};
use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::{Builtin, History, Kind, Spec as _, Verdict};
use linpoint_subjects::catalogue;
use linpoint_subjects::record::{Load, record};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["record", file, object, threads, operations, values, prefix, clients, others, seed] => {
            let load = Load {
                threads: threads.parse()?,
                operations: operations.parse()?,
                values: Some(values.parse()?).filter(|values| *values > 0),
                prefix: prefix.parse()?,
                clients: clients.parse()?,
                others: others.parse()?,
                adds: 0.5 - others.parse::<f64>()? / 2.0,
                seed: seed.parse()?,
                ..Load::default()
            };
            write(file, object, &load)
        }
        ["decide", file, spec, name, seconds] => {
            let kind = if spec == "set" { Kind::Set } else { Kind::PriorityQueue };
            decide(file, &Builtin::new(kind), name, Duration::from_secs_f64(seconds.parse()?))
        }
        ["text", file, out] => text(file, out),
        _ => Err("see the file's first lines".into()),
    }
}

fn write(file: &str, object: &str, load: &Load) -> Result<(), Failure> {
    let entry = catalogue::find(object).ok_or("there is no such object")?;
    let target = (entry.make)();
    let start = Instant::now();
    let history = record(&target, load);
    let seconds = start.elapsed().as_secs_f64();
    let mut out = BufWriter::new(File::create(file)?);
    formats::write(Format::Binary, &history, target.spec().signature(), &mut out)?;
    println!("{},{},{},{seconds:.3}", object, history.operations.len(), history.widest());
    Ok(())
}

fn text(file: &str, out: &str) -> Result<(), Failure> {
    let spec = Builtin::new(Kind::PriorityQueue);
    let history = formats::read_all(&Input::File(PathBuf::from(file)), &spec, &ReadOptions::default())?;
    let mut out = BufWriter::new(File::create(out)?);
    writeln!(out, "# priorityqueue")?;
    for op in &history.operations {
        let (name, value) = if op.arg.is_null() { ("poll", op.result) } else { ("insert", op.arg) };
        let value = value.small().map_or(-1, |n| (1 << 31) - i64::from(n));
        // It wants every operation to take some time: the same order, with a return after its call.
        writeln!(out, "{name} {value} {} {} {}", 2 * op.call, 2 * op.ret + 1, op.process().0)?;
    }
    Ok(())
}

/// What an engine came to.
#[derive(Default)]
struct Outcome {
    verdict: &'static str,
    most: usize,
    mean: f64,
    /// The engine that decided, where several were tried.
    engine: String,
}

fn decide(file: &str, spec: &Builtin, name: &str, limit: Duration) -> Result<(), Failure> {
    let start = Instant::now();
    let history = formats::read_all(&Input::File(PathBuf::from(file)), spec, &ReadOptions::default())?;
    let read_s = start.elapsed().as_secs_f64();
    let (start, start_cpu_s) = (Instant::now(), cpu_s());
    let choice = match name {
        "auto" | "one-core" | "split" | "at-once" => Some(Choice::Auto),
        "monitor" => Some(Choice::Monitor),
        "metastate" => Some(Choice::Metastate),
        "search" => Some(Choice::Search),
        "brute" => Some(Choice::Brute),
        _ => None,
    };
    let outcome = match (choice, name) {
        (Some(choice), _) => {
            let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
            let options = Options {
                choice,
                time_limit: Some(limit),
                memory_limit_bytes: Some(4 << 30),
                split: if name == "at-once" { Split::AtOnce } else { Split::WhenSlow },
                threads: if ["split", "at-once"].contains(&name) { cores } else { 1 },
                ..Options::default()
            };
            let History { operations, mut symbols } = history;
            let answer = check_rows(operations, spec, &mut symbols, &options)?;
            Outcome { verdict: word(&answer.verdict), engine: answer.engine, ..Outcome::default() }
        }
        (None, "count") => counted(&history, spec, limit),
        (None, "paths") => {
            let budget = Budget { deadline: Some(Instant::now() + limit), ..Budget::default() };
            let found = paths::search(spec, &history.operations, &history.symbols, &budget);
            let verdict = match found {
                Ok(search) if search.holds() => "holds",
                Ok(_) => "violated",
                Err(_) => "unknown",
            };
            Outcome { verdict, ..Outcome::default() }
        }
        (None, name) => {
            let switches = switches(name).ok_or("there is no such engine")?;
            let (verdict, statistics) = seed::verify(&history, spec, &switches);
            Outcome {
                verdict: word(&verdict),
                most: statistics.most,
                mean: statistics.mean(),
                ..Outcome::default()
            }
        }
    };
    let decide_s = start.elapsed().as_secs_f64();
    println!(
        "{},{read_s:.3},{decide_s:.3},{:.4},{},{:.2},{},{}",
        outcome.verdict,
        cpu_s() - start_cpu_s,
        outcome.most,
        outcome.mean,
        peak_kib(),
        outcome.engine,
    );
    Ok(())
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds(_) => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// Our metastates, and how many there were.
fn counted(history: &History, spec: &Builtin, limit: Duration) -> Outcome {
    let budget = Budget { deadline: Some(Instant::now() + limit), ..Budget::default() };
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    let mut own = PriorityQueueMetastates::new();
    let done = engine::run(&mut own, &cx, &timeline);
    if !matches!(done, Err(Stop::Unsupported(_))) {
        let crowd = own.crowd();
        return Outcome { verdict: said(&done), most: crowd.max, mean: crowd.mean(), ..Outcome::default() };
    }
    let mut changing = ChangingKeys::new();
    let done = engine::run(&mut changing, &cx, &timeline);
    if !matches!(done, Err(Stop::Unsupported(_))) {
        let crowd = changing.crowd();
        return Outcome { verdict: said(&done), most: crowd.max, mean: crowd.mean(), ..Outcome::default() };
    }
    let mut generic = Generic::new(spec.clone());
    let done = engine::run(&mut generic, &cx, &timeline);
    let width = generic.width();
    Outcome {
        verdict: said(&done),
        most: width.most,
        mean: width.sum as f64 / width.returns.max(1) as f64,
        ..Outcome::default()
    }
}

fn said<T>(done: &Result<T, Stop>) -> &'static str {
    match done {
        Ok(_) => "holds",
        Err(Stop::Violated(_)) => "violated",
        Err(_) => "unknown",
    }
}

/// The method of the text: all of its optimisations, all but one, or none. Equal states are ours: the text compares sequences.
fn switches(name: &str) -> Option<Switches> {
    let text = Switches { equivalent: false, most: 100_000, ..Switches::all() };
    Some(match name {
        "text" => text,
        "text-permutable" => Switches { permutable: false, ..text },
        "text-implied" => Switches { implied: false, ..text },
        "text-redundant" => Switches { redundant: false, ..text },
        "text-semi-redundant" => Switches { semi_redundant: false, ..text },
        "text-definite" => Switches { definite: false, ..text },
        "text-hashing" => Switches { hashing: false, ..text },
        "text+equivalent" => Switches { equivalent: true, ..text },
        "none" => Switches { most: 100_000, ..Switches::none() },
        _ => return None,
    })
}

/// What all threads of this process have had of the processor, in seconds.
fn cpu_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and the place for the answer is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The most memory this process held, where the system says so.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
