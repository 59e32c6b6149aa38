//! `cargo xtask bench history`: the whole picture, as a Markdown table.

use std::fmt::Write as _;
use std::fs;

use linpoint_history::Kind;
use linpoint_history::formats::Format;
use linpoint_history::generate::Values;

use super::file::Case;
use super::{Options, Run, peers, rate, short};

/// Seconds after which a run is given up.
const LIMIT_S: u32 = 60;

/// Runs the suite; prints the table, and puts it into `docs/benchmarks.md` unless it is a quick one.
pub fn run(options: &Options) -> Result<(), String> {
    let binary = super::binary()?;
    let mut table = format!(
        "{} · `cargo xtask bench history{}` · one core\n\n\
         | spec | values | processes | operations | form | op/s | CPU s | wall s | peak MB | decided by | peer | peer CPU s | ratio |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        super::today(),
        options.show()
    );
    eprint!("{table}");
    for case in cases(options.quick) {
        let times = if case.plan.operations <= 1_000_000 { 3 } else { 1 };
        let row = match super::check(&binary, &case, times, LIMIT_S) {
            Ok(run) => row(options, &case, &run)?,
            Err(why) => format!("| {} | {why} |", case.spec_name()),
        };
        eprintln!("{row}");
        table.push_str(&row);
        table.push('\n');
    }
    println!("{table}");
    if options.quick { Ok(()) } else { put("history", &table) }
}

fn row(options: &Options, case: &Case, run: &Run) -> Result<String, String> {
    let (plan, usage) = (&case.plan, run.usage);
    let form = if case.format == Format::Binary { "binary" } else { "JSON" };
    let decided = match run.verdict() {
        "holds" => run.engine().to_owned(),
        other => format!("**{other}** ({})", run.engine()),
    };
    let mut text = format!(
        "| {} | {} | {} | {} | {form} | {} | {:.2} | {:.2} | {} | {decided} |",
        case.spec_name(),
        case.values(),
        plan.processes,
        short(plan.operations),
        rate(plan.operations, usage.cpu_s),
        usage.cpu_s,
        usage.wall_s,
        usage.peak_bytes >> 20,
    );
    let peer = match (&options.peers, case.format) {
        (Some(folder), Format::JsonLines) if plan.operations <= 1_000_000 => {
            peers::run(folder, case, LIMIT_S)?
        }
        _ => None,
    };
    let _ = match peer {
        Some(peer) if peer.usage.ended || !is_yes(&peer.said) => {
            let said = if peer.said.is_empty() { "no answer" } else { &peer.said };
            write!(text, " {} | {:.2}: {said} | |", peer.name, peer.usage.cpu_s)
        }
        Some(peer) => {
            let ratio = peer.usage.cpu_s / usage.cpu_s.max(1e-4);
            write!(text, " {} | {:.2} | {ratio:.1}× |", peer.name, peer.usage.cpu_s)
        }
        None => write!(text, " | | |"),
    };
    Ok(text)
}

fn is_yes(said: &str) -> bool {
    said.starts_with('1') || said.starts_with("Ok")
}

fn cases(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let top = if quick { 100_000 } else { 1_000_000 };
    let monitored =
        [Kind::Queue, Kind::Stack, Kind::PriorityQueue, Kind::Set, Kind::Multiset, Kind::Register, Kind::Map];
    for kind in monitored {
        for operations in [1000, 100_000].into_iter().filter(|n| *n < top) {
            cases.push(Case::new(kind, 4, operations, Values::Distinct));
        }
        for processes in [2, 4, 8, 16, 32] {
            cases.push(Case::new(kind, processes, top, Values::Distinct));
        }
        for operations in [1_000_000, 10_000_000].into_iter().filter(|_| !quick) {
            let json = Case::new(kind, 16, operations, Values::Distinct);
            if operations > 1_000_000 {
                cases.push(json.clone());
            }
            cases.push(Case { format: Format::Binary, ..json });
        }
    }
    let repeated = [
        Kind::Queue,
        Kind::PriorityQueue,
        Kind::Set,
        Kind::Multiset,
        Kind::List,
        Kind::Register,
        Kind::CasRegister,
        Kind::RmwRegister,
        Kind::Map,
        Kind::Deque,
        Kind::Stack,
        Kind::Counter,
        Kind::Lock,
        Kind::RwLock,
        Kind::Semaphore,
        Kind::Snapshot,
    ];
    for kind in repeated {
        for values in [16, 2] {
            let hard = matches!(kind, Kind::Stack | Kind::Deque);
            let large = if hard { top.min(100_000) } else { top };
            for (processes, operations) in [(4, 10_000), (8, large), (16, 10_000), (32, 1000)] {
                cases.push(Case::new(kind, processes, operations, Values::Repeated(values)));
            }
        }
    }
    for keys in [16, 1000] {
        let mut case = Case::new(Kind::Kv, 16, top, Values::Repeated(16));
        case.plan.keys = keys;
        cases.push(case);
    }
    cases
}

/// Replaces what stands between `<!-- NAME -->` and `<!-- /NAME -->` in `docs/benchmarks.md`.
pub fn put(name: &str, table: &str) -> Result<(), String> {
    let path = crate::root().join("docs/benchmarks.md");
    let said = |error: std::io::Error| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(said)?;
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let missing = || format!("{} has no part {begin}", path.display());
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    fs::write(&path, format!("{before}{begin}\n{table}\n{end}{after}")).map_err(said)
}
