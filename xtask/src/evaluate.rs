//! Dragicevic's evaluation (2011, chapter 6) on histories recorded from our own queues, and far beyond its sizes.
//!
//! Histories are recorded by `subjects/examples/evaluate.rs` into `target/evaluation` and decided by the same program, a process a run, so that memory is each run's own. What was measured goes to
//! `docs/evaluation/runs.csv`, as it goes, charts beside it; `docs/evaluation.md` tells what they say. The suites: `table` (the text's table 6.1), `length` (2 and 8 threads, up to 10,000,000 operations), `threads` (200,000
//! operations, 2 to 32 processes, most of them in an operation all the time; and 2 to 32 threads as they come), `brute` (histories so small that brute force ends), `switches` (the text's optimisations, one off at a time) and
//! `cores` (one history on one core and on all).
//!
//! An engine that does not end is said to have met its `limit`, and is not tried on what has no fewer processes and no fewer operations. Times are the processor's, of the whole process but for reading; but for `cores`, where it is wall time that
//! matters, so that other work on the machine disturbs them less. The limit is one of processor time, too.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Options, child};
use crate::plot::{self, Frame, Scale, Series};

/// Seconds of processor time that one run may take, and in a quick evaluation.
const PATIENCE_S: [u32; 2] = [15, 5];
/// The two shapes of the text: intervals short and long behind a lock, and of about equal length in transactions.
const SHAPES: [&str; 2] = ["coarse-heap", "fine-stm-heap"];
/// Metastates at most for 2 to 6 threads, as the text reports them (section 6.4.1).
const TEXT_METASTATES: [(f64, f64); 5] =
    [(2.0, 10.0), (3.0, 30.0), (4.0, 100.0), (5.0, 300.0), (6.0, 1000.0)];

/// A history to be recorded.
#[derive(Clone, Copy, Debug)]
struct Plan {
    object: &'static str,
    threads: u32,
    operations: u64,
    /// How many priorities; 0: none twice.
    values: u32,
    /// Elements at the start.
    prefix: u32,
    /// The share of operations that change a key.
    others: f64,
    /// Clients of a thread, each a process of the history.
    clients: u32,
    seed: u32,
}

impl Plan {
    /// Two threads, a thousand priorities, nothing at the start.
    fn new(object: &'static str) -> Plan {
        Plan { object, threads: 2, operations: 0, values: 1000, prefix: 0, others: 0.0, clients: 1, seed: 1 }
    }
}

/// What a run came to.
#[derive(Clone, Debug)]
struct Row {
    suite: &'static str,
    plan: Plan,
    widest: u64,
    engine: String,
    verdict: String,
    read_s: f64,
    decide_s: f64,
    /// Processor time while it was decided; of another checker, of its whole process.
    cpu_s: f64,
    most: f64,
    mean: f64,
    peak_mib: f64,
}

/// Measures everything and draws it.
pub fn run(options: &Options) -> Result<(), String> {
    let program = build()?;
    let folder = crate::root().join("docs/evaluation");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let patience_s = PATIENCE_S[usize::from(options.quick)];
    let peers = options.peers.clone();
    let csv = folder.join("runs.csv");
    let mut bench = Bench { program, peers, patience_s, rows: Vec::new(), lost: Vec::new(), csv };
    brute(&mut bench)?;
    table(&mut bench, options.quick)?;
    length(&mut bench, options.quick)?;
    threads(&mut bench, options.quick)?;
    switches(&mut bench)?;
    cores(&mut bench, options.quick)?;
    draw(&bench.rows, &folder)
}

/// Draws what `runs.csv` has.
pub fn draw_again() -> Result<(), String> {
    let folder = crate::root().join("docs/evaluation");
    let path = folder.join("runs.csv");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let rows: Option<Vec<Row>> = text.lines().skip(1).map(row).collect();
    draw(&rows.ok_or_else(|| format!("{} is not as it is written here", path.display()))?, &folder)
}

fn build() -> Result<PathBuf, String> {
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--profile", "dist", "-p", "linpoint-subjects", "--example", "evaluate"])
        .current_dir(crate::root())
        .status()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if !status.success() {
        return Err("the evaluation does not build".to_owned());
    }
    Ok(crate::bench::target().join("dist/examples/evaluate"))
}

/// Histories short enough for brute force, three of each size: growing at twelve processes, and widening at four hundred operations.
fn brute(bench: &mut Bench) -> Result<(), String> {
    let engines = ["paths", "porcupine", "text", "metastate", "count"];
    for object in SHAPES {
        let plan = Plan { threads: 1, ..Plan::new(object) };
        for operations in [25, 50, 100, 200, 400, 800, 1600] {
            for seed in 1..=3 {
                bench.history("brute-length", Plan { operations, clients: 12, seed, ..plan }, &engines)?;
            }
        }
        for clients in [2, 4, 6, 8, 10, 12, 14, 16] {
            for seed in 1..=3 {
                bench.history("brute-threads", Plan { operations: 400, clients, seed, ..plan }, &engines)?;
            }
        }
    }
    Ok(())
}

/// The text's table 6.1: threads as they come.
fn table(bench: &mut Bench, quick: bool) -> Result<(), String> {
    let cells: [(u32, &[u64]); 5] = [
        (2, &[200, 300, 400, 500, 600]),
        (3, &[200, 300, 400, 500, 600]),
        (4, &[200, 300, 400]),
        (5, &[200, 300, 500]),
        (6, &[200, 300, 600]),
    ];
    let thousand = if quick { 100 } else { 1000 };
    for object in SHAPES {
        for (threads, sizes) in cells {
            for size in sizes {
                let operations = size * thousand;
                let plan = Plan { threads, operations, ..Plan::new(object) };
                bench.history("table", plan, &["paths", "porcupine", "text", "metastate", "count"])?;
            }
        }
    }
    Ok(())
}

/// 2 threads, from 200,000 operations up; and 8, with values repeated and none twice.
fn length(bench: &mut Bench, quick: bool) -> Result<(), String> {
    let sizes: &[u64] =
        if quick { &[20_000, 40_000] } else { &[200_000, 500_000, 1_000_000, 3_000_000, 10_000_000] };
    for object in SHAPES {
        for &operations in sizes {
            let plan = Plan { operations, ..Plan::new(object) };
            bench.history("length", plan, &["paths", "porcupine", "text", "metastate", "count"])?;
            let distinct = Plan { values: 0, ..plan };
            bench.history("length-distinct", distinct, &["monitor", "fastlin"])?;
            let eight = Plan { threads: 8, ..plan };
            bench.history("length-8", eight, &["text", "metastate", "count"])?;
            bench.history("length-8-distinct", Plan { values: 0, ..eight }, &["monitor", "fastlin"])?;
        }
    }
    Ok(())
}

/// 200,000 operations, from 2 processes up, most of them in an operation all the time; equal priorities, and none twice. And threads as they come.
fn threads(bench: &mut Bench, quick: bool) -> Result<(), String> {
    let operations = if quick { 20_000 } else { 200_000 };
    for object in SHAPES {
        for processes in [2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32] {
            // Two threads have a core each on a small machine; an odd number of processes is one thread's.
            let threads = if processes % 2 == 0 { 2 } else { 1 };
            let clients = processes / threads;
            let plan = Plan { threads, operations, clients, ..Plan::new(object) };
            bench.history("threads", plan, &["paths", "porcupine", "text", "metastate", "count"])?;
            bench.history("threads-distinct", Plan { values: 0, ..plan }, &["monitor", "fastlin"])?;
            bench.history(
                "threads-as-they-come",
                Plan { threads: processes, clients: 1, ..plan },
                &["metastate", "count"],
            )?;
        }
    }
    Ok(())
}

/// What each of the text's optimisations is worth; with keys that change, so that each has something to do.
fn switches(bench: &mut Bench) -> Result<(), String> {
    let engines = [
        "text",
        "text-permutable",
        "text-implied",
        "text-redundant",
        "text-semi-redundant",
        "text-definite",
        "text-hashing",
        "text+equivalent",
        "none",
        "count",
    ];
    for object in ["coarse-heap", "naive-stm-heap"] {
        for threads in [3, 4] {
            let plan = Plan { threads, operations: 5_000, values: 20, others: 0.05, ..Plan::new(object) };
            bench.history("switches", plan, &engines)?;
        }
    }
    Ok(())
}

/// One history, one core against all: threads as they come, and then many clients.
fn cores(bench: &mut Bench, quick: bool) -> Result<(), String> {
    let engines = ["one-core", "split", "one-core", "split"];
    let operations = if quick { 100_000 } else { 1_000_000 };
    for object in
        ["coarse-heap", "hunt-heap", "sundell-tsigas", "naive-stm-heap", "fine-stm-heap", "striped-hash-set"]
    {
        let values = if object == "striped-hash-set" { 1000 } else { 16 };
        let plan = Plan { threads: 8, operations, values, prefix: 1000, ..Plan::new(object) };
        bench.history("cores", plan, &engines)?;
    }
    for clients in [4, 8, 12, 16] {
        for values in [16, 1000] {
            let plan = Plan { operations: operations / 5, values, clients, ..Plan::new("coarse-heap") };
            bench.history("cores", plan, &engines)?;
        }
    }
    Ok(())
}

struct Bench {
    program: PathBuf,
    peers: Option<PathBuf>,
    patience_s: u32,
    rows: Vec<Row>,
    /// Which engine did not end on which history of which suite.
    lost: Vec<(&'static str, Plan, String)>,
    /// Where rows go as they come.
    csv: PathBuf,
}

impl Bench {
    /// Records a history and lets engines decide it.
    fn history(&mut self, suite: &'static str, plan: Plan, engines: &[&str]) -> Result<(), String> {
        let folder = crate::bench::target().join("evaluation");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let file = folder.join("history.lph");
        let mut command = Command::new(&self.program);
        command.arg("record").arg(&file).arg(plan.object);
        command.args([plan.threads.to_string(), plan.operations.to_string(), plan.values.to_string()]);
        command.args([plan.prefix.to_string(), plan.clients.to_string(), plan.others.to_string()]);
        command.arg(plan.seed.to_string());
        let (_, said) = child::run(command, 10 * self.patience_s)?;
        let mut fields = said.trim().split(',').skip(2);
        let widest = fields.next().and_then(|field| field.parse().ok()).ok_or("nothing was recorded")?;
        for &engine in engines {
            // The suite of switches is not one of growing sizes.
            if suite != "switches" && self.is_lost(suite, &plan, engine) {
                continue;
            }
            let row = match engine {
                "fastlin" | "porcupine" => self.peer(&file, plan, engine)?,
                _ => Some(self.decide(&file, plan, engine)?),
            };
            let Some(row) = row else { continue };
            let row = Row { suite, widest, ..row };
            if row.verdict == "limit" {
                self.lost.push((suite, plan, engine.to_owned()));
            }
            eprintln!("{}", line(&row).trim_end());
            self.rows.push(row);
            fs::write(&self.csv, self.csv()).map_err(|error| format!("{}: {error}", self.csv.display()))?;
        }
        fs::remove_file(&file).map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Did the engine not end on something smaller?
    fn is_lost(&self, suite: &str, plan: &Plan, engine: &str) -> bool {
        let size = |plan: &Plan| (plan.threads * plan.clients, plan.operations);
        self.lost.iter().any(|(lost_suite, lost, name)| {
            (*lost_suite, lost.object, name.as_str()) == (suite, plan.object, engine)
                && size(lost).0 <= size(plan).0
                && size(lost).1 <= size(plan).1
                && size(lost) != size(plan)
        })
    }

    fn decide(&self, file: &Path, plan: Plan, engine: &str) -> Result<Row, String> {
        let spec = if plan.object.contains("set") { "set" } else { "priority-queue" };
        let mut command = Command::new(&self.program);
        // Its own limit is one of time on the clock.
        command.arg("decide").arg(file).args([spec, engine, &(10 * self.patience_s).to_string()]);
        let (usage, said) = child::run_busy(command, self.patience_s)?;
        let fields: Vec<&str> = said.trim().split(',').collect();
        let number =
            |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        let verdict = if usage.ended.is_some() || fields[0] == "unknown" { "limit" } else { fields[0] };
        Ok(Row {
            suite: "",
            plan,
            widest: 0,
            engine: engine.to_owned(),
            verdict: verdict.to_owned(),
            read_s: number(1),
            decide_s: if usage.ended.is_some() { usage.wall_s } else { number(2) },
            cpu_s: if usage.ended.is_some() { usage.cpu_s } else { number(3) },
            most: number(4),
            mean: number(5),
            peak_mib: usage.peak_bytes.max(number(6) as u64 * 1024) as f64 / f64::from(1 << 20),
        })
    }

    /// fastlin or porcupine on the same history, where it was built; its time is the whole process's, reading included.
    fn peer(&self, file: &Path, plan: Plan, name: &str) -> Result<Option<Row>, String> {
        let place = if name == "fastlin" { "fastlin/fastlin" } else { "porcupine-driver/porcupine-driver" };
        let program = self.peers.as_ref().map(|folder| folder.join(place));
        let Some(program) = program.filter(|program| program.exists()) else { return Ok(None) };
        let text = file.with_extension("txt");
        let mut command = Command::new(&self.program);
        command.arg("text").args([file, &text]);
        child::run(command, 10 * self.patience_s)?;
        let mut command = Command::new(program);
        if name == "fastlin" {
            command.args(["-t", "-x"]).arg(&text);
        } else {
            command.arg(&text).arg(format!("{}s", 10 * self.patience_s));
        }
        let (usage, said) = child::run_busy(command, self.patience_s)?;
        fs::remove_file(&text).map_err(|error| format!("{}: {error}", text.display()))?;
        let verdict = match said.split_whitespace().next().filter(|_| usage.ended.is_none()) {
            Some("1") => "holds",
            Some("0") => "violated",
            _ => "limit",
        };
        Ok(Some(Row {
            suite: "",
            plan,
            widest: 0,
            engine: name.to_owned(),
            verdict: verdict.to_owned(),
            read_s: 0.0,
            decide_s: usage.wall_s,
            cpu_s: usage.cpu_s,
            most: 0.0,
            mean: 0.0,
            peak_mib: usage.peak_bytes as f64 / f64::from(1 << 20),
        }))
    }

    fn csv(&self) -> String {
        let head = "suite,object,threads,operations,values,prefix,others,clients,seed,widest,engine,verdict,read_s,decide_s,cpu_s,metastates_most,metastates_mean,peak_mib\n";
        self.rows.iter().fold(head.to_owned(), |text, row| text + &line(row))
    }
}

fn line(row: &Row) -> String {
    let Plan { object, threads, operations, values, prefix, others, clients, seed } = row.plan;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{},{object},{threads},{operations},{values},{prefix},{others},{clients},{seed},{},{},{},{:.3},{:.3},{:.4},{},{:.2},{:.0}",
        row.suite,
        row.widest,
        row.engine,
        row.verdict,
        row.read_s,
        row.decide_s,
        row.cpu_s,
        row.most,
        row.mean,
        row.peak_mib
    );
    text
}

/// A line of the table as a row; the other way round than [`line()`].
fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    let number = |index: usize| fields.get(index)?.parse::<f64>().ok();
    let count = |index: usize| fields.get(index)?.parse::<u32>().ok();
    // Names are few, and the rows live as long as the program.
    let name = |index: usize| Some(&*String::leak((*fields.get(index)?).to_owned()));
    Some(Row {
        suite: name(0)?,
        plan: Plan {
            object: name(1)?,
            threads: count(2)?,
            operations: u64::from(count(3)?),
            values: count(4)?,
            prefix: count(5)?,
            others: number(6)?,
            clients: count(7)?,
            seed: count(8)?,
        },
        widest: u64::from(count(9)?),
        engine: name(10)?.to_owned(),
        verdict: name(11)?.to_owned(),
        read_s: number(12)?,
        decide_s: number(13)?,
        cpu_s: number(14)?,
        most: number(15)?,
        mean: number(16)?,
        peak_mib: number(17)?,
    })
}

/// The charts.
fn draw(rows: &[Row], folder: &Path) -> Result<(), String> {
    let series = |suite: &str, object: &str, engine: &str, point: &dyn Fn(&Row) -> (f64, f64)| {
        let wanted = |row: &&Row| {
            let distinct = ["monitor", "fastlin"].contains(&engine);
            let suite = if distinct { format!("{suite}-distinct") } else { suite.to_owned() };
            (row.suite, row.plan.object, row.engine.as_str()) == (suite.as_str(), object, engine)
                && row.verdict == "holds"
        };
        median(rows.iter().filter(wanted).map(point).collect())
    };
    let names = [
        ("paths", "brute force"),
        ("text", "the text's metastates"),
        ("metastate", "our metastates"),
        ("porcupine", "porcupine"),
        ("monitor", "monitor, distinct"),
        ("fastlin", "fastlin, distinct"),
    ];
    let suites = [
        ("length", "operations", Scale::Log),
        ("threads", "processes", Scale::Linear),
        ("brute-length", "operations", Scale::Linear),
        ("brute-threads", "processes", Scale::Linear),
    ];
    for (suite, x, scale) in suites {
        for object in SHAPES {
            let point = |row: &Row| {
                let processes = f64::from(row.plan.threads * row.plan.clients);
                let size = if x == "operations" { row.plan.operations as f64 } else { processes };
                (size, row.cpu_s.max(0.0001))
            };
            let lines: Vec<Series> = names
                .iter()
                .map(|(engine, name)| Series {
                    name: (*name).to_owned(),
                    points: series(suite, object, engine, &point),
                })
                .filter(|line| !line.points.is_empty())
                .collect();
            let title = format!("Verification time, {object}");
            let frame = Frame {
                title: &title,
                x,
                y: "seconds of processor time",
                x_scale: scale,
                y_scale: Scale::Log,
            };
            plot::lines(&folder.join(format!("{suite}-{object}.svg")), &frame, &lines)?;
        }
    }
    let point = |row: &Row| (f64::from(row.plan.threads * row.plan.clients), row.most);
    let mut lines =
        vec![Series { name: "reported in the text".to_owned(), points: TEXT_METASTATES.to_vec() }];
    for object in SHAPES {
        for (engine, name) in [("text", "the text's method"), ("count", "ours")] {
            let points = series("threads", object, engine, &point);
            lines.push(Series { name: format!("{name}, {object}"), points });
        }
    }
    lines.retain(|line| !line.points.is_empty());
    let frame = Frame {
        title: "Metastates kept at most, 200,000 operations",
        x: "processes",
        y: "metastates",
        x_scale: Scale::Linear,
        y_scale: Scale::Log,
    };
    plot::lines(&folder.join("metastates.svg"), &frame, &lines)
}

/// One point for each place: the median of those that are there.
fn median(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.chunk_by(|a, b| a.0 == b.0).map(|same| same[same.len() / 2]).collect()
}
