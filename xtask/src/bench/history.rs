//! `cargo xtask bench history`: the whole picture, as two Markdown tables.
//!
//! Every specification, from a thousand to ten million operations, from 2 to 32 processes, distinct and repeated values; then
//! what other checkers do on the same histories. A run is given up after [`LIMIT_S`]. What would take longer, going by a shorter
//! history or one with fewer processes, is not tried. Either is written in its cell: none is left out.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use linpoint_history::Kind;
use linpoint_history::formats::Format;
use linpoint_history::generate::Values;

use super::child::Usage;
use super::file::Case;
use super::{Options, Run, peers, rate, short};

/// Seconds after which a run is given up.
const LIMIT_S: u32 = 10;
/// A run of fewer seconds says nothing about longer ones: most of it is starting.
const TELLING_S: f64 = 0.1;

/// Processes and operations.
type Size = (u32, u64);

/// The columns, easier ones first.
const SIZES: &[Size] = &[
    (4, 1000),
    (2, 100_000),
    (8, 100_000),
    (16, 100_000),
    (32, 100_000),
    (4, 1_000_000),
    (16, 1_000_000),
    (8, 10_000_000),
];

/// Those on which other checkers are run too.
const PEER_SIZES: &[Size] = &[(4, 1000), (2, 100_000), (16, 100_000), (16, 1_000_000)];

/// Runs the suite; prints the tables, and puts them into `docs/benchmarks.md` unless they are quick ones.
pub fn run(options: &Options) -> Result<(), String> {
    let binary = super::binary()?;
    let longest = if options.quick { 100_000 } else { u64::MAX };
    let sizes: Vec<Size> = SIZES.iter().copied().filter(|size| size.1 <= longest).collect();
    let columns: Vec<String> = sizes.iter().map(|size| show(*size)).collect();
    let mut table = format!(
        "{} · `cargo xtask bench history{}` · one core\n\n| spec | values | form | {} | decided by |\n|{}\n",
        super::today(),
        options.show(),
        columns.join(" | "),
        "---|".repeat(sizes.len() + 4)
    );
    eprint!("{table}");
    let mut beside =
        String::from("| history | linpoint | peer | its time | ratio |\n|---|---|---|---|---|\n");
    for series in all_series() {
        let (row, peers) = series.measure(&binary, &sizes, options.peers.as_deref())?;
        eprint!("{row}{peers}");
        table.push_str(&row);
        beside.push_str(&peers);
    }
    if options.peers.is_some() {
        let _ = write!(table, "\n{beside}");
    }
    println!("{table}");
    if options.quick { Ok(()) } else { put("history", &table) }
}

/// Histories that differ in their size only: a row.
#[derive(Clone, Copy, Debug)]
struct Series {
    kind: Kind,
    values: Values,
    keys: u32,
    format: Format,
}

/// Each specification with distinct and with repeated values, and in the binary form where reading is most of the work.
fn all_series() -> Vec<Series> {
    let mut all = Vec::new();
    for kind in Kind::all() {
        let plain = Series { kind, values: Values::Distinct, keys: 0, format: Format::JsonLines };
        let keys: &[u32] = if kind == Kind::Kv { &[16, 1000] } else { &[0] };
        for &keys in keys {
            all.push(Series { keys, ..plain });
            for values in [16, 2].into_iter().filter(|_| has_values(kind)) {
                all.push(Series { keys, values: Values::Repeated(values), ..plain });
            }
        }
        if matches!(
            kind,
            Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::Set | Kind::Register | Kind::Map
        ) {
            all.push(Series { format: Format::Binary, ..plain });
        }
    }
    all
}

/// Are values inserted or written, so that they can come again?
fn has_values(kind: Kind) -> bool {
    !matches!(kind, Kind::Counter | Kind::Lock | Kind::RwLock | Kind::Semaphore)
}

impl Series {
    fn case(&self, (processes, operations): Size) -> Case {
        let mut case = Case::new(self.kind, processes, operations, self.values);
        (case.plan.keys, case.format) = (self.keys, self.format);
        case
    }

    fn show_values(&self) -> String {
        match self.values {
            _ if !has_values(self.kind) => "–".into(),
            Values::Distinct => "distinct".into(),
            Values::Repeated(n) => n.to_string(),
        }
    }

    fn show_spec(&self) -> String {
        let keys = if self.keys > 0 { format!(", {} keys", self.keys) } else { String::new() };
        format!("{}{keys}", self.kind.name())
    }

    /// Its row of the first table, and its rows of the second.
    fn measure(
        &self,
        binary: &PathBuf,
        sizes: &[Size],
        peers: Option<&Path>,
    ) -> Result<(String, String), String> {
        let form = if self.format == Format::Binary { "binary" } else { "JSON" };
        let mut row = format!("| {} | {} | {form} |", self.show_spec(), self.show_values());
        let mut beside = String::new();
        let (mut ours, mut theirs) = (Tried::default(), Tried::default());
        let mut engines: Vec<String> = Vec::new();
        for &size in sizes {
            if ours.expects_too_much(size) {
                let _ = write!(row, " (> {LIMIT_S} s) |");
                continue;
            }
            let run = super::check(binary, &self.case(size), 3, LIMIT_S)?;
            let is_decided = run.verdict() == "holds";
            ours.add(size, is_decided, run.usage);
            let _ = write!(row, " {} |", cell(&run, size));
            if is_decided && !engines.iter().any(|engine| engine == run.engine()) {
                engines.push(run.engine().to_owned());
            }
            if let Some(folder) = peers.filter(|_| PEER_SIZES.contains(&size) && form == "JSON")
                && let Some(text) = self.beside(folder, size, &run, &mut theirs)?
            {
                beside.push_str(&text);
            }
        }
        Ok((format!("{row} {} |\n", engines.join("; ")), beside))
    }

    /// What the peer that knows this kind of history does on it.
    fn beside(
        &self,
        folder: &Path,
        size: Size,
        ours: &Run,
        tried: &mut Tried,
    ) -> Result<Option<String>, String> {
        let history = format!("{}, {}, {}", self.show_spec(), self.show_values(), show(size));
        let linpoint = if ours.verdict() == "holds" { cost(ours.usage) } else { format!("> {LIMIT_S} s") };
        if tried.expects_too_much(size) {
            let name = peers::name(self.kind, self.values).unwrap_or_default();
            return Ok(Some(format!("| {history} | {linpoint} | {name} | (> {LIMIT_S} s) | |\n")));
        }
        let Some(peer) = peers::run(folder, &self.case(size), LIMIT_S)? else { return Ok(None) };
        let said = peer.said.as_str();
        let is_decided = peer.usage.ended.is_none() && (said.starts_with('1') || said.starts_with("Ok"));
        tried.add(size, is_decided, peer.usage);
        let (took, ratio) = match peer.usage.ended {
            _ if is_decided => {
                (cost(peer.usage), format!("{:.1}×", peer.usage.cpu_s / ours.usage.cpu_s.max(1e-4)))
            }
            Some(why) => (format!("{why}: {}", cost(peer.usage)), String::new()),
            None if said.starts_with("Unknown") => {
                (format!("> {LIMIT_S} s: {}", cost(peer.usage)), String::new())
            }
            None => (format!("said {said:?}: {}", cost(peer.usage)), String::new()),
        };
        Ok(Some(format!("| {history} | {linpoint} | {} | {took} | {ratio} |\n", peer.name)))
    }
}

/// What was run of a series, and how many seconds it took; at least [`LIMIT_S`] where it was given up.
#[derive(Debug, Default)]
struct Tried(Vec<(Size, f64)>);

impl Tried {
    fn add(&mut self, size: Size, is_decided: bool, usage: Usage) {
        let seconds = if is_decided { usage.cpu_s } else { usage.cpu_s.max(LIMIT_S.into()) };
        self.0.push((size, seconds));
    }

    /// Would this size, in proportion to what was run with fewer operations and no more processes, take too long?
    fn expects_too_much(&self, (processes, operations): Size) -> bool {
        self.0.iter().any(|((fewer, shorter), seconds)| {
            let is_easier = *fewer <= processes && *shorter <= operations && *seconds >= TELLING_S;
            is_easier && seconds * (operations as f64 / *shorter as f64) >= LIMIT_S.into()
        })
    }
}

fn show((processes, operations): Size) -> String {
    format!("{processes} × {}", short(operations))
}

fn cell(run: &Run, (_, operations): Size) -> String {
    match run.verdict() {
        "holds" => format!("{}/s, {} MB", rate(operations, run.usage.cpu_s), run.usage.peak_bytes >> 20),
        "unknown" if run.answer["basis"]["kind"] == "time" => format!("> {LIMIT_S} s"),
        other => format!("**{other}**"),
    }
}

fn cost(usage: Usage) -> String {
    format!("{:.3} s, {} MB", usage.cpu_s, usage.peak_bytes >> 20)
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
