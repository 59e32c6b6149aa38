//! `linpoint explore`: every run of a program of the algorithm language, within bounds; or one run, taken
//! again or by hand.

pub mod columns;
pub mod memory;
mod told;
mod walk;

use std::fmt::Write as _;
use std::io::{BufReader, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use linpoint_lang::Program;
use linpoint_lang::program::ClientThread;
use linpoint_model::{
    Bounds, Demand, Judged, Mode, Progress, Schedule, Session, Verdict, Violation, Workload, Wrong,
    explore_watched, judge, retake,
};
use linpoint_report::view::{self, Summary, View};

use self::told::{Told, limit, reason};
pub use self::told::{counterexample, draw, violation_view, wrong};
use crate::fault::{Exit, Fault};
use crate::program;

/// What `explore` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linpoint explore corpus/correct/michael-scott.lin --threads 3 --ops 2
  linpoint explore corpus/broken/snark.lin
  linpoint explore corpus/broken/mcs-lock-no-wait.lin --progress
  linpoint explore corpus/correct/treiber.lin --step")]
pub struct ExploreArgs {
    /// The program; `-` is standard input
    #[arg(value_name = "ALGO.lin")]
    pub file: PathBuf,
    /// Which object of the file, where it has several
    #[arg(long, value_name = "NAME")]
    pub object: Option<String>,
    /// Which client of the program calls its operations; the first if not given
    #[arg(long, value_name = "NAME", conflicts_with_all = ["threads", "ops"])]
    pub client: Option<String>,
    /// So many threads, each calling any operations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    pub threads: Option<u8>,
    /// So many operations a thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=200))]
    pub ops: Option<u8>,
    /// Arguments without a range are chosen from so many values, 0 and up; 2 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=20))]
    pub values: Option<u8>,
    /// Only runs with at most so many preemptions: switches away from a thread that could go on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=250), conflicts_with_all = ["progress", "lock_free", "obstruction_free"])]
    pub preemptions: Option<u8>,
    /// Let operations take effect only at the linearization points that the program gives
    #[arg(long)]
    pub points: bool,
    /// Operations may wait for ever, as a removal does where nothing is inserted: deadlock is not looked for
    #[arg(long, conflicts_with_all = ["progress", "lock_free", "obstruction_free"])]
    pub may_wait: bool,
    /// Look also whether every state can still come to a good end
    #[arg(long)]
    pub progress: bool,
    /// Look also whether some operation returns whenever threads take steps for ever, even if others have
    /// stopped
    #[arg(long, conflicts_with_all = ["progress", "obstruction_free"])]
    pub lock_free: bool,
    /// Look also whether a thread that runs alone returns
    #[arg(long, conflicts_with = "progress")]
    pub obstruction_free: bool,
    /// Give up after this long, such as `60s`
    #[arg(long, value_name = "TIME", value_parser = crate::args::duration)]
    pub time_limit: Option<Duration>,
    /// Give up beyond this much memory, such as `4GiB`, which it is if not given
    #[arg(long, value_name = "SIZE", value_parser = crate::args::bytes)]
    pub memory_limit: Option<usize>,
    /// Look at states on so many cores; on all of them if not given. What is found is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Take this run again, as a counterexample gives it, instead of looking for one
    #[arg(long, value_name = "TOKEN")]
    pub replay: Option<String>,
    /// Walk through the program by hand, or along `--replay`
    #[arg(long, conflicts_with = "json")]
    pub step: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// What to draw.
    #[command(flatten)]
    pub output: crate::view::OutputArgs,
}

/// Explores an object of the file.
pub fn run(args: &ExploreArgs) -> Result<Exit, Fault> {
    crate::input::not_over([&args.file], args.output.files())?;
    let Some((text, program)) = program::load(&args.file, args.object.as_deref())? else {
        return Ok(Exit::Bad);
    };
    let program = &program;
    let (workload, mut who) = workload(args, program)?;
    if let Some(most) = args.preemptions {
        let _ = write!(who, " with at most {most} preemptions");
    }
    if args.may_wait {
        who.push_str(", which may wait for ever");
    }
    let mode = if args.points { Mode::AtPoints } else { Mode::Anywhere };
    if args.points
        && !program.nodes.iter().flat_map(|node| &node.edges).any(|edge| edge.marks().next().is_some())
    {
        return Err(Fault::usage(
            "this program gives no linearization points",
            "mark them with `@lin`, or leave `--points` out",
        ));
    }
    let bounds = Bounds {
        preemptions: args.preemptions,
        deadlocks: !args.may_wait,
        time: args.time_limit,
        memory: args.memory_limit.unwrap_or(4 << 30),
        progress: match (args.progress, args.lock_free, args.obstruction_free) {
            (true, ..) => Demand::GoodEnd,
            (_, true, _) => Demand::LockFree,
            (.., true) => Demand::ObstructionFree,
            _ => Demand::Nothing,
        },
        workers: match args.workers {
            Some(workers) => workers.into(),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        },
        ..Bounds::default()
    };
    if args.step || args.replay.is_some() {
        return one_run(args, program, &workload, mode, &bounds, &text);
    }
    let mut shown = Shown::default();
    let mut explored =
        explore_watched(program, &workload, mode, &bounds, &mut |progress| shown.update(progress));
    shown.clear();
    let schedule = retake(program, &workload, mode, &bounds, &mut explored);
    let told = Told {
        args,
        program,
        text: &text,
        workload: &workload,
        who: &who,
        explored: &explored,
        schedule: schedule.as_ref(),
    };
    let plain = told.text();
    let is_rechecked = !matches!(&explored.verdict, Verdict::Violated(violation) if !violation.rechecked);
    // Who reads the verdict by a program is given none where there is none.
    if !args.json || is_rechecked && !explored.disagrees {
        let _ = std::io::stdout().write_all(if args.json { told.json() } else { plain.clone() }.as_bytes());
        args.output.write(|| told.view(plain))?;
    }
    if explored.disagrees {
        return Err(disagreement(args, &text));
    }
    match &explored.verdict {
        Verdict::Holds(_) => Ok(Exit::Holds),
        Verdict::Violated(violation) if violation.rechecked => Ok(Exit::Violated),
        Verdict::Violated(_) => {
            Err(Fault::Bug { what: "the recheck of a counterexample failed".to_owned(), saved: None })
        }
        Verdict::Unknown(_) => Ok(Exit::Unknown),
    }
}

/// A search and a sample without its reductions do not agree: the program is kept, with the options.
fn disagreement(args: &ExploreArgs, text: &str) -> Fault {
    let path = std::env::temp_dir().join(format!("linpoint-disagreement-{}.lin", std::process::id()));
    let kept = std::fs::write(&path, format!("// {args:?}\n{text}")).is_ok();
    Fault::Bug {
        what: "exploring with and without reductions do not agree".to_owned(),
        saved: kept.then_some(path),
    }
}

/// `--replay`, `--step`.
fn one_run(
    args: &ExploreArgs,
    program: &Program,
    workload: &Workload,
    mode: Mode,
    bounds: &Bounds,
    text: &str,
) -> Result<Exit, Fault> {
    let schedule: Schedule = match &args.replay {
        None => Schedule::default(),
        Some(token) => token.parse().map_err(|bad: linpoint_model::BadSchedule| {
            Fault::usage(bad.to_string(), "give the token as the counterexample printed it")
        })?,
    };
    let cannot_start = |why| Fault::usage(limit(&why), "a run needs a program that can start");
    let mut session = Session::new(program, workload, mode, bounds).map_err(cannot_start)?;
    if args.step {
        if args.file.as_os_str() == "-" {
            return Err(Fault::usage(
                "the program and your answers cannot both come from standard input",
                "name a file",
            ));
        }
        let name = |found: &Wrong| {
            reason(
                program,
                workload.threads.len(),
                &Violation { wrong: found.clone(), steps: Vec::new(), repeats: 0 },
                text,
            )
        };
        let walked = walk::walk(
            &mut session,
            &schedule,
            text,
            name,
            &mut BufReader::new(std::io::stdin().lock()),
            &mut std::io::stdout().lock(),
        );
        return Ok(match walked {
            Ok(Some(_)) => Exit::Violated,
            Ok(None) | Err(_) => Exit::Holds,
        });
    }
    let Judged { replayed, violation: wrong } =
        judge(program, workload, mode, bounds, &schedule).map_err(cannot_start)?;
    if let Some(index) = replayed.impossible {
        return Err(Fault::usage(
            format!("move {} of the run cannot be made", index + 1),
            "the token is of another program, or of another client: give the same options again",
        ));
    }
    let why =
        wrong.as_ref().map_or_else(String::new, |found| reason(program, workload.threads.len(), found, text));
    let mut out = match &wrong {
        Some(_) => format!("violated: {why}\n\n"),
        None => "unknown: this run is as it should be so far; other runs were not looked at\n\n".to_owned(),
    };
    columns::draw(session.machine(), &replayed.steps, text, &mut out);
    let _ = std::io::stdout().write_all(out.as_bytes());
    args.output.write(|| {
        let mut view = match &wrong {
            Some(_) => View::new(view::VerdictKind::Violated, "violated", &why),
            None => View::new(view::VerdictKind::Unknown, "unknown", "this run is as it should be so far"),
        };
        view.summary = Summary {
            checked: format!("One run of {}, taken again.", args.file.display()),
            rests_on: "The run itself, step by step.".to_owned(),
            not_covered: "Every other run.".to_owned(),
            ..Summary::default()
        };
        let shown = crate::view::run::Shown {
            program,
            text,
            file: &args.file,
            threads: workload.threads.len(),
            steps: &replayed.steps,
            reason: &view.headline.clone(),
            unexplained: replayed.wrong == Some(Wrong::NotLinearizable),
            wrong: wrong.is_some(),
            repeats: wrong.as_ref().map_or(0, |wrong| wrong.repeats),
        };
        shown.add_to(&mut view);
        view.text = out.clone();
        view
    })?;
    Ok(if wrong.is_some() { Exit::Violated } else { Exit::Unknown })
}

/// A line on standard error while the search goes on, where that is a terminal.
#[derive(Default)]
struct Shown {
    bar: Option<indicatif::ProgressBar>,
    last: Option<Progress>,
}

impl Shown {
    fn update(&mut self, now: Progress) {
        if now.elapsed < Duration::from_millis(500) || !std::io::stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(indicatif::ProgressBar::new_spinner);
        let seconds = now.elapsed.as_secs_f64();
        let rate = now.states as f64 / seconds;
        let left = self.last.map_or(String::new(), |last| estimate(last, now));
        bar.set_message(format!(
            "{} states, {rate:.0}/s, {} deep, {} waiting{left}",
            now.states, now.depth, now.waiting
        ));
        bar.tick();
        if self.last.is_none_or(|last| now.elapsed > last.elapsed + Duration::from_secs(1)) {
            self.last = Some(now);
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How long it may still take: as long as the waiting states need to become none, at the pace at which they
/// became fewer. While they become more, nobody knows.
fn estimate(last: Progress, now: Progress) -> String {
    let spent = now.elapsed.saturating_sub(last.elapsed).as_secs_f64();
    match last.waiting.checked_sub(now.waiting) {
        Some(fewer) if fewer > 0 && spent > 0.0 => {
            format!(", about {:.0} s left", now.waiting as f64 / fewer as f64 * spent)
        }
        _ => ", still growing".to_owned(),
    }
}

/// Who calls what, and how a sentence says it.
fn workload(args: &ExploreArgs, program: &Program) -> Result<(Workload, String), Fault> {
    let values = args.values.unwrap_or(2).into();
    if args.threads.is_some() || args.ops.is_some() || program.clients.is_empty() {
        let (threads, ops) = (args.threads.unwrap_or(2), args.ops.unwrap_or(2));
        if let Some(name) = &args.client {
            return Err(Fault::usage(
                format!("the program has no client `{name}`"),
                "it has none at all: leave `--client` out, or write `client name { thread { … } }`",
            ));
        }
        if let Some(workload) = Workload::by_turns(program, threads.into(), ops.into()) {
            let who = match (threads, ops.div_ceil(2)) {
                (1, turns) if workload.may_fail_to_take() => {
                    format!("1 thread with {} operations, that releases what it acquired", 2 * turns)
                }
                (_, turns) if workload.may_fail_to_take() => {
                    format!(
                        "{threads} threads with {} operations each, that release what they acquired",
                        2 * turns
                    )
                }
                (1, 1) => "1 thread that acquires and releases once".to_owned(),
                (1, turns) => format!("1 thread that acquires and releases {turns} times"),
                (_, 1) => format!("{threads} threads that acquire and release once each"),
                (_, turns) => format!("{threads} threads that acquire and release {turns} times each"),
            };
            return Ok((workload, who));
        }
        let workload = Workload { values, ..Workload::general(program, threads.into(), ops.into()) };
        let counted = |n: u8, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let who = format!("{} with {}", counted(threads, "thread"), counted(ops, "operation"));
        return Ok((workload, if threads == 1 { who } else { who + " each" }));
    }
    let client = match &args.client {
        None => program.clients.first(),
        Some(name) => program.clients.iter().find(|client| client.name == *name),
    };
    let Some(client) = client else {
        let known: Vec<&str> = program.clients.iter().map(|client| client.name.as_str()).collect();
        return Err(Fault::usage("the program has no such client", format!("it has {}", known.join(", "))));
    };
    let calls = |thread: &ClientThread| match thread {
        ClientThread::Any(_, count) => *count as usize,
        ClientThread::Calls(calls) => calls.len(),
    };
    let counts: Vec<String> = client.threads.iter().map(|thread| calls(thread).to_string()).collect();
    let who =
        format!("client {} ({} threads with {} operations)", client.name, counts.len(), counts.join(", "));
    Ok((Workload { values, ..Workload::of(client) }, who))
}
