//! The command line, as clap reads it. What is written here is the manual.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Is this concurrent object correct?
///
/// Linpoint decides whether a concurrent object behaves as if each operation happened at one instant.
#[derive(Debug, Parser)]
#[command(name = "linpoint", version, about, max_term_width = 110)]
#[command(
    after_help = "Exit codes: 0 holds, 1 violated, 2 bad use or bad input, 3 unknown, 101 a bug of ours."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Decide whether recorded histories are linearizable
    ///
    /// A history is linearizable if its operations can be put into one order that respects real time and that
    /// a sequential object allows. If there is one, it is found and replayed; if not, a few operations that
    /// cannot be explained are drawn.
    Check(CheckArgs),
    /// Check the log of a monitored program: calls, commits, returns, and the writes behind a view
    ///
    /// A program that uses the runtime monitor can write its log to a file
    /// (`Monitor::builder().log_file(…)`). Its commits are replayed through the specification, one after
    /// another: every return value must be what the specification answers there, and with --view the logged
    /// writes must add up to the specification's state. A log that breaks off (a crash, kill -9) is checked
    /// as far as it goes.
    Refine(RefineArgs),
    /// Make a history: linearizable by construction, or spoiled
    ///
    /// Each operation takes effect at one point of its interval, uniformly chosen; results are those of a
    /// sequential object that runs the operations in the order of these points. The same arguments give the
    /// same history, everywhere.
    Generate(GenerateArgs),
    /// Run an algorithm under every schedule, within bounds
    ///
    /// The program is one of the algorithm language (docs/language.md). Every interleaving of the steps of a
    /// client's threads is visited; a history that no order explains, an error, an assertion that fails or a
    /// deadlock is shown as a run with its source lines.
    Explore(crate::explore::ExploreArgs),
    /// Prove an algorithm correct: every run, every size, any number of threads
    ///
    /// The program is one of the algorithm language (docs/language.md). The shape analysis proves stacks,
    /// queues and sets that are linked lists, of every length (docs/shape.md). A program that is wrong is
    /// refuted by a run; what cannot be proved is shown as the state at which the proof failed. Programs with
    /// an abstraction are proved by local obligations, for every size (docs/proving.md).
    Prove(crate::prove::ProveArgs),
    /// What clean operations are worth, and how many it takes
    ///
    /// If an operation shows an error with probability p, independently of the others, y operations show it
    /// with probability 1 - (1 - p)^y. The same sentence ends every clean check.
    Confidence(ConfidenceArgs),
    /// Check operations while they happen: streams from those who record them
    ///
    /// Streams come in over TCP from many processes; every object is checked as far as all streams have told.
    /// See docs/cluster.md.
    Watch(crate::watch::WatchArgs),
    /// Use a real store with a few clients, record what they did, and break things on the way
    Collect(crate::collect::CollectArgs),
    /// See the five methods at work on examples, with a page for each; takes a few minutes
    Tour(crate::tour::TourArgs),
    /// Write programs of the algorithm language in the one layout
    Fmt(crate::fmt::FmtArgs),
    /// Fetch the solvers that proofs by obligations need, where they are missing: z3, and cvc5 for --confirm
    Solvers,
    /// List the built-in specifications and their operations
    Specs,
    /// List the formats of histories
    Formats,
}

/// What `check` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linpoint check run.jsonl --spec queue
  linpoint check jepsen/*.edn --spec cas-register --time-limit 60s
  zcat run.jsonl.gz | linpoint check - --spec kv --json

A line of a history:
  {\"process\":3,\"op\":\"enqueue\",\"arg\":5,\"ret\":null,\"call\":120,\"return\":170}")]
pub struct CheckArgs {
    /// Histories; `-` is standard input. `.gz` and `.zst` are read as they are
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The specification: `queue`, `queue:capacity=64` (see `linpoint specs`), or your own in a file,
    /// `my-object.lin`
    #[arg(long, value_name = "NAME")]
    pub spec: String,
    /// The value, or the list of contents, that the object starts with, as JSON
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub initial: Option<String>,
    /// The format, or the ending of its files (see `linpoint formats`); found from the content if not given
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// Which engine decides
    #[arg(long, value_enum, default_value_t = EngineArg::Auto)]
    pub engine: EngineArg,
    /// The field that names the object an operation belongs to, `key` if not given; `none`: all are of one
    /// object; `value`: values are pairs [key value], as jepsen.independent writes them
    #[arg(long, value_name = "KEY")]
    pub partition: Option<String>,
    /// Give up after this long, such as `60s`, `500ms`, `5m`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time_limit: Option<Duration>,
    /// Give up beyond this much memory, such as `2GiB`; if not given, three quarters of the machine's for
    /// all, and 1GiB for each engine that searches
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory_limit: Option<usize>,
    /// Write the order that explains the history, as JSON lines; of several objects the order of each, one after
    /// another
    #[arg(long, value_name = "FILE")]
    pub witness: Option<PathBuf>,
    /// Print one JSON object a file instead of text
    #[arg(long)]
    pub json: bool,
    /// For histories in parts.
    #[command(flatten)]
    pub cluster: crate::cluster::ClusterArgs,
    /// What to draw.
    #[command(flatten)]
    pub output: crate::view::OutputArgs,
}

/// The engines a user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// The fastest that can decide the history
    Auto,
    /// Specialised monitors: distinct values only
    Monitor,
    /// Metastates: any values
    Metastate,
    /// One order, depth first: finds it, if there are many
    Search,
    /// Every order, for small histories
    Brute,
}

/// Reads `60s`, `500ms`, `5m`, `1h`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("unknown unit `{other}`; use ms, s, m or h")),
    };
    let number: f64 = number.trim().parse().map_err(|_| "expected a time such as 60s".to_owned())?;
    Duration::try_from_secs_f64(number * scale).map_err(|_| "expected a time such as 60s".to_owned())
}

/// Reads `2GiB`, `500MB`, `64k`; a bare number is bytes.
pub fn bytes(text: &str) -> Result<usize, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = unit.trim().to_ascii_lowercase();
    let scale: f64 = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0 * 1024.0 * 1024.0,
        "t" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(format!("unknown unit `{unit}`; use KiB, MiB or GiB")),
    };
    let number: f64 = number.trim().parse().map_err(|_| "expected a size such as 2GiB".to_owned())?;
    if !(0.0..1e18).contains(&(number * scale)) {
        return Err("expected a size such as 2GiB".to_owned());
    }
    Ok((number * scale) as usize)
}

/// What `refine` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linpoint refine run.linlog
  linpoint refine run.linlog --spec map --view --json

The first line says `refines`, `does not refine` or `unknown`. Where the order of commits does not fit but another order of the
same operations does, the annotation is wrong and not the object: that is `unknown`, with the order that fits.")]
pub struct RefineArgs {
    /// The log
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// The specification of all its objects (see `linpoint specs`), or your own in a file, `my-object.lin`;
    /// what each was logged with if not given
    #[arg(long, value_name = "NAME")]
    pub spec: Option<String>,
    /// Compare views too: the state that the logged writes add up to
    #[arg(long)]
    pub view: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// What to draw.
    #[command(flatten)]
    pub output: crate::view::OutputArgs,
}

/// What `generate` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linpoint generate --spec queue --processes 4 --ops 1000 --seed 1 -o queue.jsonl
  linpoint generate --spec register --processes 16 --ops 100000 --seed 7 --values 16 | linpoint check - --spec register
  linpoint generate --spec stack --processes 4 --ops 50 --seed 3 --spoil | linpoint check - --spec stack")]
pub struct GenerateArgs {
    /// The specification (see `linpoint specs`)
    #[arg(long, value_name = "NAME")]
    pub spec: String,
    /// The value, or the list of contents, that the object starts with, as JSON
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub initial: Option<String>,
    /// Processes that call one operation after another
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub processes: u32,
    /// Operations in all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub ops: u64,
    /// Names the history among all with the same arguments
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Make one thing provably wrong, and say on standard error what
    #[arg(long)]
    pub spoil: bool,
    /// Where to spoil: a share of the history between 0 and 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.75, requires = "spoil")]
    pub spoil_at: f64,
    /// How many values there are; without it every inserted or written value is new
    #[arg(long, value_name = "N")]
    pub values: Option<u32>,
    /// Mean duration of an operation over the mean gap between two: 10 is busy, 0.1 almost sequential
    #[arg(long, value_name = "RATIO")]
    pub overlap: Option<f64>,
    /// The share of operations that insert or write
    #[arg(long, value_name = "SHARE")]
    pub add_share: Option<f64>,
    /// The share of removals that find nothing
    #[arg(long, value_name = "SHARE")]
    pub empties: Option<f64>,
    /// The share of rarer operations (change_key, insert_pair, append, delete, len, …)
    #[arg(long, value_name = "SHARE")]
    pub rare: Option<f64>,
    /// The share of operations that never return
    #[arg(long, value_name = "SHARE")]
    pub pending: Option<f64>,
    /// The last this many operations never return
    #[arg(long, value_name = "N")]
    pub trailing_pending: Option<u64>,
    /// Rounds in which all processes overlap
    #[arg(long)]
    pub bursts: bool,
    /// This many more operations are open throughout
    #[arg(long, value_name = "N")]
    pub long_open: Option<u32>,
    /// Spread the operations over this many objects
    #[arg(long, value_name = "N")]
    pub keys: Option<u32>,
    /// The format to write (see `linpoint formats`); from the file's ending if not given, else jsonl
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// The file to write; standard output if not given
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What `confidence` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linpoint confidence --operations 1000000
  linpoint confidence --operations 10M --error-rate 1/3000000")]
pub struct ConfidenceArgs {
    /// Operations that were checked, such as `1000000` or `10M`
    #[arg(long, value_name = "Y", value_parser = count)]
    pub operations: u64,
    /// How often an operation goes wrong, as `1/x` or as a share
    #[arg(long, value_name = "1/X", value_parser = rate)]
    pub error_rate: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Reads `1000000`, `1_000_000`, `200k`, `10M`, `1G`.
pub fn count(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number such as 1000000, 200k or 10M".to_owned();
    let (digits, scale) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'g' | 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let digits: String = digits.chars().filter(|&c| c != '_' && c != ',').collect();
    digits.parse::<u64>().ok().and_then(|number| number.checked_mul(scale)).ok_or_else(wrong)
}

/// Reads `1/x` or a share above 0 and not above 1.
fn rate(text: &str) -> Result<f64, String> {
    let wrong = || "expected 1/x, or a share above 0 and not above 1".to_owned();
    let rate = match text.split_once('/') {
        Some((one, x)) => {
            let one: f64 = one.trim().parse().map_err(|_| wrong())?;
            one / count(x.trim()).map_err(|_| wrong())? as f64
        }
        None => text.trim().parse().map_err(|_| wrong())?,
    };
    if rate > 0.0 && rate <= 1.0 { Ok(rate) } else { Err(wrong()) }
}
