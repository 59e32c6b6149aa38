//! How fast the dataflow is: a mixed history over many objects, one worker or several processes.
//!
//! `throughput make DIR OPERATIONS KEYS PARTS [HOT] [together]` writes PARTS files for each of register, kv
//! and queue, in the native binary form, with the share HOT of all operations on one key. Each part has keys
//! of its own, as where servers log their own; `together` makes one history and gives the processes to the
//! parts in turn, so that every part has all keys, as where clients log what they did. `throughput run
//! FILE@SPEC…` checks them in this process; `--hosts FILE --host N` makes it one of several, `--progress DIR`
//! keeps progress there.
//!
//! `throughput kills DIR TIMES [SEED]` makes three million operations `together` in DIR and checks them on
//! two hosts, TIMES times: one of the two is killed (kill -9) at a random moment, and both are started again.
//! The verdict and the number of operations must be those of an undisturbed run; what was done twice is told.

#[path = "throughput/kills.rs"]
mod kills;

use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use linpoint_cluster::hosts::{Hosts, read_hosts};
use linpoint_cluster::progress::Progress;
use linpoint_cluster::run::{Job, Named};
use linpoint_cluster::source::{Feed, FileFeed};
use linpoint_cluster::wire::About;
use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes;
use linpoint_history::{History, OpCode, Operation, Spec, Value, ValueId, Verdict, specs};
use std::collections::VecDeque;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("make") => make(&args[1..]),
        Some("run") => run(&args[1..]),
        Some("kills") => kills::kills(&args[1..]),
        _ => println!(
            "throughput make DIR OPERATIONS KEYS PARTS [HOT] [together] | throughput run [--hosts FILE --host N] FILE@SPEC… | throughput kills DIR TIMES [SEED]"
        ),
    }
}

/// Sixteen processes a part, each operation of 1 to 40 ticks, a tick a call; effects at the call.
fn make(args: &[String]) {
    let number = |index: usize| args.get(index).and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
    let dir = PathBuf::from(&args[0]);
    let (operations, keys, parts) = (number(1), number(2), number(3));
    let hot: f64 = args.get(4).and_then(|text| text.parse().ok()).unwrap_or(0.0);
    std::fs::create_dir_all(&dir).expect("a directory");
    let mut rng = Rng::new(7);
    let write = |spec: &str, part: u64, history: &History| {
        let path = dir.join(format!("{spec}-{part}.bin"));
        let mut out = BufWriter::new(std::fs::File::create(&path).expect("a file"));
        let signature = specs::parse(spec).expect("a specification").signature().clone();
        formats::write(Format::Binary, history, &signature, &mut out).expect("written");
        println!("{}@{spec}", path.display());
    };
    for spec in ["register", "kv", "queue"] {
        let (share, own) = ((operations / 3 / parts).max(1), (keys / 3 / parts).max(1));
        if args.iter().any(|arg| arg == "together") {
            let History { operations, symbols } = history(spec, 0, own * parts, share * parts, hot, &mut rng);
            for part in 0..parts {
                let is_its = |row: &&Operation| u64::from(row.process().0) % parts == part;
                let operations = operations.iter().filter(is_its).copied().collect();
                write(spec, part, &History { operations, symbols: symbols.clone() });
            }
            continue;
        }
        for part in 0..parts {
            write(spec, part, &history(spec, part * own, own, share, hot, &mut rng));
        }
    }
}

fn history(spec: &str, first: u64, keys: u64, operations: u64, hot: f64, rng: &mut Rng) -> History {
    let mut history = History::new();
    let ids: Vec<_> = (first..first + keys).map(|key| history.symbols.key(&Value::Int(key as i64))).collect();
    let processes: Vec<_> =
        (0..16).map(|p| history.symbols.process(&Value::Int(first as i64 * 16 + p))).collect();
    let mut states: Vec<VecDeque<ValueId>> = vec![VecDeque::new(); keys as usize];
    let mut free = [0i64; 16];
    let mut next = 0u32;
    for tick in 0..operations as i64 {
        let at = 4 * tick;
        let turn = (tick % 16) as usize;
        let slot = if rng.chance(hot) { 0 } else { rng.below(keys) as usize };
        let call = at.max(free[turn] + 1);
        let state = &mut states[slot];
        let adds = rng.chance(if spec == "queue" && state.len() > 4 { 0.3 } else { 0.5 });
        next += 1;
        let value = ValueId(next);
        let (op, arg, result) = match (spec, adds) {
            ("register", true) => (codes::register::WRITE, value, ValueId::NULL),
            ("register", false) => {
                (codes::register::READ, ValueId::NULL, state.back().copied().unwrap_or(ValueId::NULL))
            }
            ("kv", true) => (codes::kv::PUT, value, ValueId::NULL),
            ("kv", false) => (codes::kv::GET, ValueId::NULL, state.back().copied().unwrap_or(ValueId::NULL)),
            (_, true) => (codes::queue::ENQUEUE, value, ValueId::NULL),
            (_, false) => (codes::queue::DEQUEUE, ValueId::NULL, state.pop_front().unwrap_or(ValueId::NULL)),
        };
        if adds {
            if spec != "queue" {
                state.clear();
            }
            state.push_back(value);
        }
        let mut row = Operation::new(processes[turn], OpCode(op.0));
        (row.call, row.ret, row.arg, row.result, row.key) =
            (call, call + 1 + rng.below(40) as i64, arg, result, ids[slot]);
        free[turn] = row.ret;
        history.operations.push(row);
    }
    history.sort_by_return();
    history
}

fn run(args: &[String]) {
    let option = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
    let files: Vec<String> = args.iter().filter(|arg| arg.contains('@')).cloned().collect();
    let hosts = option("--hosts").zip(option("--host")).map(|(path, own)| Hosts {
        addresses: read_hosts(path.as_ref()).expect("a hosts file"),
        own: own.parse().expect("a number"),
        token: String::new(),
        patience: Duration::from_secs(20),
    });
    let progress =
        option("--progress").map(|dir| Progress { dir: dir.into(), of: files.join(" "), every: None });
    let opened = Instant::now();
    let counted = option("--count").cloned();
    let feeds = Arc::new(move |_| {
        let count = counted.as_ref().map(|path| kills::Count::new(path));
        let open = |name: &String| {
            let (path, spec) = name.rsplit_once('@').expect("FILE@SPEC");
            let parsed = specs::parse(spec).expect("a specification");
            let feed = FileFeed::open(&Input::File(path.into()), &parsed, &ReadOptions::default())?;
            let about = About { name: path.to_owned(), spec: spec.to_owned(), initial: None, epsilon: 0 };
            let feed: Box<dyn Feed> = match &count {
                Some(count) => Box::new(kills::Counting { feed, count: count.clone() }),
                None => Box::new(feed),
            };
            Ok(Named { about, feed })
        };
        files.iter().map(open).collect()
    });
    let outcome = match (Job { hosts, progress, ..Job::new(feeds) }.run()) {
        Ok(outcome) => outcome,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3);
        }
    };
    let (answer, _) = outcome.answer();
    let seconds = opened.elapsed().as_secs_f64();
    let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = peak.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default().to_owned();
    let verdict = match answer.verdict {
        Verdict::Holds(_) => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    };
    println!(
        "{verdict} object {:?} operations {} objects {} resumed {} read {} seconds {seconds:.2} rate {:.2} M/s {peak} engines {}",
        answer.object,
        answer.operations,
        answer.objects,
        outcome.report.resumed,
        outcome.report.read,
        answer.operations as f64 / seconds / 1e6,
        outcome.report.engines.join(", "),
    );
    for found in outcome.report.unknown.iter().take(3) {
        println!("{found:?}");
    }
}
