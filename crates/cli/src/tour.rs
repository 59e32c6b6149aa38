//! `linpoint tour`: the five methods on examples that come with the command, one after another, with a page
//! for each.
//!
//! The examples are in the binary, and are written into a folder together with the pages, so that every
//! command of the tour can be given again by hand. Each stop runs the command itself, as a user would.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Parser as _};
use linpoint_monitor::{Monitor, Object};
use linpoint_prove::solver::{self, SolverKind};
use linpoint_report::View;

use crate::args::{Cli, Command};
use crate::fault::{Exit, Fault};
use crate::{check, explore, prove, refine, solvers};

/// What `tour` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linpoint tour
  linpoint tour --to ./tour --open")]
pub struct TourArgs {
    /// The folder for the examples and the pages; one for temporary files if not given
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
    /// Open each page
    #[arg(long)]
    pub open: bool,
    /// Do not wait for Enter between the stops
    #[arg(long)]
    pub no_pause: bool,
}

/// An example that comes with the command.
type Example = (&'static str, &'static str);

const QUEUE: Example = ("broken-queue.jsonl", include_str!("../../../corpus/histories/broken-queue.jsonl"));
const STACK: Example =
    ("treiber-pop-no-cas.lin", include_str!("../../../corpus/broken/treiber-pop-no-cas.lin"));
const LINKED: Example = ("michael-scott.lin", include_str!("../../../corpus/correct/michael-scott.lin"));
const ARRAY: Example =
    ("multiset-lookup-no-lock.lin", include_str!("../../../corpus/broken/multiset-lookup-no-lock.lin"));
/// What the last stop comes to, for machines on which no solver can be had.
const RECORDED: &str = include_str!("../../../corpus/tour/5-proof.json");
/// The log that the third stop makes.
const LOG: &str = "counts.linlog";

/// One stop: what to say before it, and the command.
struct Stop {
    title: &'static str,
    says: &'static str,
    command: &'static [&'static str],
    /// The argument that is a file of the folder.
    file: &'static str,
    page: &'static str,
    /// What to look for on the page.
    look: &'static str,
}

const STOPS: [Stop; 5] = [
    Stop {
        title: "A recorded history",
        says: "A queue under test wrote down what was called when, and what came back. Is there one order of these\n\
               operations, within their intervals, that a queue allows? If not: which few show that there is none?",
        command: &["check", "--spec", "queue"],
        file: QUEUE.0,
        page: "1-history.html",
        look: "the hatched bar: click it. Step back through the order to see how far it can be explained.",
    },
    Stop {
        title: "An algorithm, every run of a few threads",
        says: "A stack whose pop compares and then stores, where it should do both at once. Every interleaving of\n\
               two threads is visited; the shortest wrong one is shown. (Rust code is run the same way: docs/explorer.md.)",
        command: &["explore"],
        file: STACK.0,
        page: "2-run.html",
        look: "the slider of the run: move it, and watch the pointers of the two threads.",
    },
    Stop {
        title: "A program while it runs",
        says: "A map in a real program, on two threads, logs its calls, commits and writes. The log is replayed through the\n\
               specification, and the writes must add up to the specification's state. One of them does not.",
        command: &["refine", "--view"],
        file: LOG,
        page: "3-views.html",
        look: "the two states side by side, and the last writes to the entry that differs.",
    },
    Stop {
        title: "A proof about linked structures",
        says: "A queue of linked nodes, for every length and any number of threads: a set of abstract heaps that no\n\
               step of any thread leaves. It is found, not given.",
        command: &["prove", "--engine", "shape"],
        file: LINKED.0,
        page: "4-heaps.html",
        look: "the abstract heaps: what the queue and a queue that does each operation at once have in common.",
    },
    Stop {
        title: "A proof about arrays, and where it breaks",
        says: "A multiset in an array of any size, any number of threads. For each step a few things must be shown, and a\n\
               solver decides each. This one has a look-up without locks: one cell of the table stays open.",
        command: &["prove", "--engine", "obligations"],
        file: ARRAY.0,
        page: "5-proof.html",
        look: "the cell marked ✗: it shows the state that breaks the step. Above it: a run that really goes wrong.",
    },
];

/// Runs the tour. It holds if every stop could be made, whatever the verdicts.
pub fn run(args: &TourArgs) -> Result<Exit, Fault> {
    let folder = args.to.clone().unwrap_or_else(|| std::env::temp_dir().join("linpoint-tour"));
    std::fs::create_dir_all(&folder).map_err(|error| Fault::Output(folder.clone(), error))?;
    let folder = folder.canonicalize().unwrap_or(folder);
    for (name, text) in [QUEUE, STACK, LINKED, ARRAY] {
        put(&folder.join(name), text.as_bytes())?;
    }
    let pauses = !args.no_pause && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    say(&format!(
        "Does a concurrent object behave as if each operation happened at one instant?\n\
         Five ways to find out, on examples in {}.\n",
        folder.display()
    ));
    let mut exit = Exit::Holds;
    for (number, stop) in STOPS.iter().enumerate() {
        exit = exit.and(visit(args, stop, number, &folder)?);
        if pauses && number + 1 < STOPS.len() {
            say("  Enter goes on.");
            let _ = std::io::stdin().read_line(&mut String::new());
        }
    }
    say(&format!(
        "That was all. Your own: `linpoint check run.jsonl --spec queue --report run.html`; in a test of Rust code,\n\
         `linpoint::check::<MyQueue>().page(\"queue.html\").run()`. The pages are in {}.\n",
        folder.display()
    ));
    Ok(exit)
}

fn visit(args: &TourArgs, stop: &Stop, number: usize, folder: &Path) -> Result<Exit, Fault> {
    let rule = "─".repeat(78);
    say(&format!("{rule}\n{}. {}\n\n{}\n", number + 1, stop.title, stop.says));
    let (name, more) = stop.command.split_first().unwrap_or((&"check", &[]));
    let file = folder.join(stop.file).display().to_string();
    let page = folder.join(stop.page).display().to_string();
    let shown = [&["$ linpoint", name, stop.file][..], more, &["--report", stop.page]].concat();
    say(&shown.join(" "));
    if stop.file == LOG {
        log(&folder.join(LOG))?;
    }
    let words = [&["linpoint", name, file.as_str()][..], more, &["--report", page.as_str()]].concat();
    let parsed =
        Cli::try_parse_from(words).map_err(|error| Fault::Bug { what: error.to_string(), saved: None })?;
    if stop.file == ARRAY.0 && !have_solver() {
        return recorded(stop, Path::new(&page));
    }
    let done = match parsed.command {
        Command::Check(args) => check::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Refine(args) => refine::run(&args),
        Command::Prove(args) => prove::run(&args),
        _ => Ok(Exit::Bug),
    };
    match done {
        Ok(Exit::Bug) => return Ok(Exit::Bug),
        Ok(_) => {}
        Err(fault) => return Err(fault),
    }
    say(&format!("\n  page: file://{page}\n  look at {}\n", stop.look));
    if args.open {
        open(Path::new(&page));
    }
    Ok(Exit::Holds)
}

/// Is there a solver for the last stop? One that is missing is fetched.
fn have_solver() -> bool {
    if solver::find(SolverKind::Z3, None).is_some() {
        return true;
    }
    say(
        "  (This stop asks the solver z3, which is not here: it is fetched now, once, as `linpoint solvers` does.)",
    );
    match solvers::set_up_z3() {
        Ok(path) => {
            say(&format!("  (z3: {})", path.display()));
            true
        }
        Err(why) => {
            say(&format!("  (It cannot be had: {why}. What follows was recorded before.)"));
            false
        }
    }
}

/// The page and the text of a run that was made before.
fn recorded(stop: &Stop, page: &Path) -> Result<Exit, Fault> {
    let view = View::from_json(RECORDED)
        .map_err(|bad| Fault::Bug { what: format!("the recorded stop: {bad}"), saved: None })?;
    say(&view.text);
    put(page, linpoint_report::page::page(&view).as_bytes())?;
    say(&format!("\n  page (recorded): file://{}\n  look at {}\n", page.display(), stop.look));
    Ok(Exit::Holds)
}

/// A program that is monitored: two threads count in a map, and one entry does not come to hold what it
/// should.
fn log(path: &Path) -> Result<(), Fault> {
    let bug = |what: String| Fault::Bug { what, saved: None };
    let monitor =
        Monitor::builder().log_file(path).start().map_err(|error| bug(format!("the monitor: {error}")))?;
    let map = monitor
        .object("counts", "map")
        .map_err(|error| bug(error.to_string()))?
        .view(linpoint_monitor::View::Map)
        .watch()
        .map_err(|error| bug(error.to_string()))?;
    std::thread::scope(|scope| {
        for thread in 0..2_u64 {
            let map = &map;
            scope.spawn(move || {
                for round in 0..50 {
                    let key = thread * 100 + round;
                    // One write is lost.
                    let stored = if key == 142 { 0 } else { key * 10 };
                    insert(map, key, key * 10, stored);
                }
            });
        }
    });
    drop(map);
    monitor.finish();
    Ok(())
}

/// Inserts `value` at `key`, where the place comes to hold `stored`.
fn insert(map: &Object, key: u64, value: u64, stored: u64) {
    let op = map.call(map.op("insert"), (key, value));
    op.commit_block(|block| block.write(key, (key, stored)));
    op.returns(None::<u64>);
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    std::fs::write(path, bytes).map_err(|error| Fault::Output(path.to_owned(), error))
}

/// A closed pipe is the reader's choice.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Asks the desktop to open a page; where there is none, its name was said.
fn open(page: &Path) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let null = std::process::Stdio::null;
    let _ = std::process::Command::new(program).arg(page).stdout(null()).stderr(null()).spawn();
}
