//! `cargo xtask bench bars`: the figures the history checker is held to, each with what was measured.
//!
//! Time bars are on CPU time, on one core, reading and rechecks included.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use linpoint_history::Kind;
use linpoint_history::formats::Format;
use linpoint_history::generate::{Spoil, Values};

use super::file::Case;
use super::{Options, Run, child, peers, rate, short};

/// What is asked of a run.
#[derive(Clone, Copy, Debug)]
enum Bar {
    /// Operations per second, at least.
    Rate(f64),
    /// Seconds, at most.
    Seconds(f64),
    /// Seconds and bytes, at most.
    SecondsAndBytes(f64, u64),
    /// Bytes, at most.
    Bytes(u64),
    /// The flaw is found, with a core of at most this many operations.
    Core(usize),
    /// The history is too much for the memory allowed: it is given up, with at most a tenth more bytes than that.
    GivenUp,
}

const MIB: u64 = 1 << 20;
/// The bar that other checkers are measured beside.
const JSON_DISTINCT: &str = "JSON lines, distinct";

/// How often what is held to a rate is measured. The speed of a machine that others use too varies by a factor of two within
/// minutes: rounds go over all such rows in turn, so that every row is measured at several moments, and its best counts.
const ROUNDS: usize = 7;

/// Runs all; an error if one is missed.
pub fn run(options: &Options) -> Result<(), String> {
    let binary = super::binary()?;
    let mut table = format!(
        "{} · `cargo xtask bench bars{}` · one core · rates, and times beside fastlin: best of {ROUNDS} runs each, in turn, in the same minutes · everything else: one run\n\n| bar | history | asked | measured | |\n|---|---|---|---|---|\n",
        super::today(),
        options.show()
    );
    eprint!("{table}");
    let mut missed = 0;
    let mut add = |line: String, passed: bool| {
        missed += u32::from(!passed);
        let line = format!("{line} {} |\n", if passed { "pass" } else { "**miss**" });
        eprint!("{line}");
        table.push_str(&line);
    };
    let (rated, others): (Vec<_>, Vec<_>) =
        bars().into_iter().partition(|(_, _, bar)| matches!(bar, Bar::Rate(_)));
    let folder = options.peers.as_deref();
    let mut rated: Vec<Rated> =
        rated.into_iter().map(|(name, case, bar)| Rated::new(name, case, bar)).collect();
    for round in 1..=ROUNDS {
        eprintln!("(round {round} of {ROUNDS} of the rates)");
        rated.iter_mut().try_for_each(|rated| rated.round(&binary, folder))?;
    }
    for rated in &rated {
        rated.show(&mut add);
    }
    for (name, case, bar) in others {
        let limit_s = match bar {
            Bar::Seconds(s) | Bar::SecondsAndBytes(s, _) => (2.0 * s) as u32 + 10,
            _ => 60,
        };
        let (measured, passed) = match super::check(&binary, &case, 1, limit_s) {
            Ok(run) => measure(&run, &case, bar),
            Err(why) => (why, false),
        };
        add(format!("| {name} | {} | {} | {measured} |", describe(&case), asked(bar)), passed);
    }
    let (measured, passed) = corpus(&binary)?;
    add(format!("| corpus | `corpus/histories` | all as expected, 2 s | {measured} |"), passed);
    println!("{table}");
    super::history::put("bars", &table)?;
    if missed == 0 { Ok(()) } else { Err(format!("{missed} bars missed")) }
}

/// A row that is held to a rate, and the best of what was measured for it so far.
#[derive(Debug)]
struct Rated {
    name: &'static str,
    case: Case,
    bar: Bar,
    best: Option<Run>,
    /// What is wrong, if a run failed or said the wrong thing.
    trouble: Option<String>,
    /// The least CPU time of fastlin on the same history.
    peer_s: Option<f64>,
}

impl Rated {
    fn new(name: &'static str, case: Case, bar: Bar) -> Rated {
        Rated { name, case, bar, best: None, trouble: None, peer_s: None }
    }

    /// One run of ours and one of the peer's.
    fn round(&mut self, binary: &PathBuf, peers: Option<&Path>) -> Result<(), String> {
        match super::check(binary, &self.case, 1, 60) {
            Ok(run) if run.verdict() != "holds" => self.trouble = Some(run.verdict().to_owned()),
            Ok(run) => {
                if self.best.as_ref().is_none_or(|best| run.usage.cpu_s < best.usage.cpu_s) {
                    self.best = Some(run);
                }
            }
            Err(why) => self.trouble = Some(why),
        }
        if let (Some(folder), JSON_DISTINCT) = (peers, self.name)
            && let Some(peer) = peers::run(folder, &self.case, 60)?.filter(|peer| peer.name == "fastlin")
        {
            let least = self.peer_s.map_or(peer.usage.cpu_s, |least| least.min(peer.usage.cpu_s));
            self.peer_s = Some(least);
        }
        Ok(())
    }

    fn show(&self, add: &mut impl FnMut(String, bool)) {
        let (name, history) = (self.name, describe(&self.case));
        let (measured, passed) = match (&self.best, &self.trouble) {
            (Some(run), None) => measure(run, &self.case, self.bar),
            (_, trouble) => (trouble.clone().unwrap_or_default(), false),
        };
        add(format!("| {name} | {history} | {} | {measured} |", asked(self.bar)), passed);
        if let (Some(peer_s), Some(run)) = (self.peer_s, &self.best) {
            let ratio = peer_s / run.usage.cpu_s;
            let measured = format!("{ratio:.1}× (fastlin {peer_s:.2} s, we {:.2} s)", run.usage.cpu_s);
            add(format!("| beside fastlin | {history} | 4× | {measured} |"), ratio >= 4.0);
        }
    }
}

fn bars() -> Vec<(&'static str, Case, Bar)> {
    use Kind::*;
    let mut bars = Vec::new();
    let distinct = [Queue, Stack, PriorityQueue, Set, Register];
    let million = |kind, processes| Case::new(kind, processes, 1_000_000, Values::Distinct);
    for (kind, processes) in distinct.into_iter().flat_map(|kind| [(kind, 4), (kind, 16)]) {
        let rate = if kind == Stack { 3e6 } else { 4e6 };
        bars.push((JSON_DISTINCT, million(kind, processes), Bar::Rate(rate)));
        let binary = Case { format: Format::Binary, ..million(kind, processes) };
        bars.push(("binary, distinct", binary, Bar::Rate(10e6)));
    }
    for kind in distinct {
        let case = Case::new(kind, 16, 10_000_000, Values::Distinct);
        bars.push(("peak memory", case, Bar::Bytes(64 * MIB)));
    }
    for kind in [Queue, Stack, PriorityQueue] {
        let mut case = Case::new(kind, 16, 10_000_000, Values::Distinct);
        (case.plan.add_share, case.plan.empties) = (0.6, 0.0);
        // Six million go in, four million come out.
        bars.push(("peak memory, 2M inside", case, Bar::Bytes(2_000_000 * 64 + 64 * MIB)));
    }
    for (kind, values) in
        [Queue, PriorityQueue, Multiset, Register].into_iter().flat_map(|k| [(k, 16), (k, 2)])
    {
        for (processes, operations, seconds) in
            [(8, 1_000_000, 5.0), (16, 1_000_000, 30.0), (32, 10_000, 20.0)]
        {
            let case = Case::new(kind, processes, operations, Values::Repeated(values));
            bars.push(("repeated values", case, Bar::Seconds(seconds)));
        }
    }
    for values in [16, 2] {
        let stack = |processes, operations| Case::new(Stack, processes, operations, Values::Repeated(values));
        bars.push(("repeated values, stack", stack(8, 100_000), Bar::SecondsAndBytes(10.0, 1024 * MIB)));
        bars.push(("repeated values, stack", stack(12, 10_000), Bar::Seconds(15.0)));
        bars.push(("repeated values, stack (moonshot)", stack(16, 20_000), Bar::Seconds(60.0)));
    }
    for (kind, values) in [Queue, PriorityQueue, Register].into_iter().flat_map(|kind| {
        [(kind, Values::Distinct), (kind, Values::Repeated(16)), (kind, Values::Repeated(2))]
    }) {
        let mut bursts = Case::new(kind, 16, 10_000, values);
        (bursts.plan.bursts, bursts.plan.long_open) = (true, 4);
        bars.push(("bursts", bursts, Bar::Seconds(1.0)));
        let mut timeouts = Case::new(kind, 16, 10_000, values);
        timeouts.plan.trailing_pending = 10;
        bars.push(("trailing timeouts", timeouts, Bar::Seconds(0.2)));
    }
    for (kind, processes) in [(Register, 8), (CasRegister, 8), (Counter, 16), (Kv, 16)] {
        let mut case = Case::new(kind, processes, 100_000, Values::Repeated(16));
        case.plan.keys = if kind == Kv { 16 } else { 0 };
        case.engine = Some("metastate");
        bars.push(("any specification", case, Bar::Seconds(1.0)));
    }
    for kind in [Deque, Stack] {
        let case = Case::new(kind, 16, 20_000, Values::Repeated(16));
        let case = Case { memory_mib: Some(100), ..case };
        bars.push(("memory limit honoured", case, Bar::GivenUp));
    }
    for kind in [Queue, Stack, PriorityQueue, Set, Multiset] {
        let case = Case { spoil: Some(Spoil::default()), ..million(kind, 8) };
        bars.push(("spoiled", case, Bar::Core(8)));
    }
    bars
}

fn measure(run: &Run, case: &Case, bar: Bar) -> (String, bool) {
    let (cpu_s, peak) = (run.usage.cpu_s, run.usage.peak_bytes);
    let right = match bar {
        Bar::GivenUp => run.verdict() == "unknown" && run.answer["basis"]["kind"] == "memory",
        _ => run.verdict() == if case.spoil.is_some() { "violated" } else { "holds" },
    };
    let (figure, reached) = match bar {
        Bar::Rate(least) => {
            let operations = case.plan.operations;
            (format!("{}/s", rate(operations, cpu_s)), operations as f64 / cpu_s >= least)
        }
        Bar::Seconds(most) => (format!("{cpu_s:.2} s"), cpu_s <= most),
        Bar::SecondsAndBytes(most, bytes) => {
            (format!("{cpu_s:.2} s, {} MiB", peak / MIB), cpu_s <= most && peak <= bytes)
        }
        Bar::Bytes(most) => (format!("{} MiB, {cpu_s:.2} s", peak / MIB), peak <= most),
        Bar::GivenUp => {
            let allowed = u64::from(case.memory_mib.unwrap_or(0)) * MIB;
            (format!("unknown, {} MiB, {cpu_s:.2} s", peak / MIB), peak <= allowed + allowed / 10)
        }
        Bar::Core(most) => {
            let core = run.answer["counterexample"]["operations"].as_array().map_or(usize::MAX, Vec::len);
            (format!("core of {core}, {cpu_s:.2} s"), core <= most)
        }
    };
    if right {
        (figure, reached)
    } else {
        (format!("{}, {cpu_s:.2} s, {} MiB", run.verdict(), peak / MIB), false)
    }
}

fn asked(bar: Bar) -> String {
    match bar {
        Bar::Rate(least) => format!("{:.0}M/s", least / 1e6),
        Bar::Seconds(most) => format!("{most} s"),
        Bar::SecondsAndBytes(most, bytes) => format!("{most} s, {} MiB", bytes / MIB),
        Bar::Bytes(most) => format!("{} MiB", most / MIB),
        Bar::Core(most) => format!("found, core of {most}"),
        Bar::GivenUp => "given up, a tenth over at most".to_owned(),
    }
}

fn describe(case: &Case) -> String {
    let limit = case.memory_mib.map_or(String::new(), |mib| format!(", limit {mib} MiB"));
    format!(
        "{} {} × {}, {}{limit}",
        case.spec_name(),
        case.plan.processes,
        short(case.plan.operations),
        case.values()
    )
}

/// Every history of the corpus, one after another.
fn corpus(binary: &std::path::Path) -> Result<(String, bool), String> {
    let folder = crate::root().join("corpus/histories");
    let table = fs::read_to_string(folder.join("expected.csv")).map_err(|error| error.to_string())?;
    let (mut wrong, mut count, started) = (Vec::new(), 0, Instant::now());
    for line in table.lines().skip(1).filter(|line| !line.is_empty()) {
        let [file, spec, expected] = line.splitn(3, ',').collect::<Vec<_>>()[..] else {
            return Err(format!("expected.csv: `{line}`"));
        };
        let mut command = child::pinned(binary);
        command.arg("check").arg(folder.join(file)).args(["--spec", spec, "--time-limit", "10s"]);
        let (_, text) = child::run(command, 30)?;
        count += 1;
        if !text.starts_with(expected) {
            wrong.push(file.to_owned());
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let measured = format!("{} of {count}, {seconds:.2} s {}", count - wrong.len(), wrong.join(" "));
    Ok((measured, wrong.is_empty() && seconds <= 2.0))
}
