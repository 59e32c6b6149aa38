//! `linpoint explore`: every run of a program of the algorithm language, within bounds.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{ClientThread, NONE, SpecSource, Type, Word};
use linpoint_lang::span::line_column;
use linpoint_lang::{Program, compile};
use linpoint_model::{
    Bounds, Explored, Happened, Limit, Mode, TraceStep, Verdict, Violation, Workload, Wrong, argument_value,
    explore, result_value,
};
use serde_json::json;

use crate::fault::{Exit, Fault};
use crate::fmt;

/// What `explore` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linpoint explore corpus/correct/michael-scott.lin --threads 3 --ops 2
  linpoint explore corpus/broken/snark.lin
  linpoint explore corpus/broken/mcs-lock-no-wait.lin --progress")]
pub struct ExploreArgs {
    /// The program; `-` is standard input
    #[arg(value_name = "ALGO.lin")]
    pub file: PathBuf,
    /// Which client of the program calls its operations; the first if not given
    #[arg(long, value_name = "NAME", conflicts_with_all = ["threads", "ops"])]
    pub client: Option<String>,
    /// So many threads, each calling any operations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    pub threads: Option<u8>,
    /// So many operations a thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=200))]
    pub ops: Option<u8>,
    /// Let operations take effect only at the linearization points that the program gives
    #[arg(long)]
    pub points: bool,
    /// Look also whether every state can still come to a good end
    #[arg(long)]
    pub progress: bool,
    /// Give up after this long, such as `60s`
    #[arg(long, value_name = "TIME", value_parser = crate::args::duration)]
    pub time_limit: Option<Duration>,
    /// Give up beyond this much memory, such as `4GiB`, which it is if not given
    #[arg(long, value_name = "SIZE", value_parser = crate::args::bytes)]
    pub memory_limit: Option<usize>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Explores the first object of the file.
pub fn run(args: &ExploreArgs) -> Result<Exit, Fault> {
    let text = fmt::read(&args.file)?;
    let (programs, wrong) = compile(&text);
    fmt::show(&args.file, &text, &wrong);
    let Some(program) = programs.first() else {
        if wrong.is_empty() {
            return Err(Fault::usage("this file has no object", "write one: `object Name : spec { … }`"));
        }
        return Ok(Exit::Bad);
    };
    let (workload, who) = workload(args, program)?;
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
        time: args.time_limit,
        memory: args.memory_limit.unwrap_or(4 << 30),
        progress: args.progress,
        ..Bounds::default()
    };
    let explored = explore(program, &workload, mode, &bounds);
    let shown = if args.json {
        as_json(program, &workload, &explored, &text, &who)
    } else {
        as_text(program, &workload, &explored, &text, &who)
    };
    let _ = std::io::stdout().write_all(shown.as_bytes());
    match &explored.verdict {
        Verdict::Holds => Ok(Exit::Holds),
        Verdict::Violated(violation) if violation.rechecked => Ok(Exit::Violated),
        Verdict::Violated(_) => {
            Err(Fault::Bug { what: "the recheck of a counterexample failed".to_owned(), saved: None })
        }
        Verdict::Unknown(_) => Ok(Exit::Unknown),
    }
}

/// Who calls what, and how a sentence says it.
fn workload(args: &ExploreArgs, program: &Program) -> Result<(Workload, String), Fault> {
    if args.threads.is_some() || args.ops.is_some() || program.clients.is_empty() {
        let (threads, ops) = (args.threads.unwrap_or(2), args.ops.unwrap_or(2));
        let workload = Workload::general(program, threads.into(), ops.into());
        return Ok((workload, format!("{threads} threads with {ops} operations each")));
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
    Ok((Workload::of(client), who))
}

/// What is wrong, in a few words.
pub fn wrong(violation: &Violation) -> String {
    match &violation.wrong {
        Wrong::NotLinearizable => "not linearizable: no order explains this run".into(),
        Wrong::Points => "the given linearization points do not explain this run".into(),
        Wrong::Error(kind) => kind.to_string(),
        Wrong::Claim(_) => "a claim is false".into(),
        Wrong::Deadlock => "deadlock: threads wait, and nobody can go on".into(),
        Wrong::Endless => "a thread goes round for ever without touching anything shared".into(),
        Wrong::Stuck => "no progress: from here on some operation can never return".into(),
    }
}

/// What a `holds` rests on.
fn basis(program: &Program, explored: &Explored, who: &str) -> String {
    let data = if explored.distinct_data { ", each piece of data distinct" } else { "" };
    let spec = match program.spec {
        SpecSource::Nothing => "; it has no specification: only errors and asserts were looked for",
        _ => "",
    };
    format!("every run of {who}{data}, memory sequentially consistent{spec}")
}

fn limit(limit: &Limit) -> String {
    match limit {
        Limit::Time => "the time limit came first".into(),
        Limit::Memory => "the memory limit came first".into(),
        Limit::Results => "there are too many different results for so many threads".into(),
        Limit::States => "the limit on states came first".into(),
        Limit::CannotStart(why) => format!("it cannot be run: {why}"),
    }
}

fn as_text(program: &Program, workload: &Workload, explored: &Explored, text: &str, who: &str) -> String {
    let mut out = match &explored.verdict {
        Verdict::Holds => format!("holds: {}\n", basis(program, explored, who)),
        Verdict::Violated(violation) => {
            let mut out = format!("violated: {}\n\n", wrong(violation));
            draw(program, workload, &violation.steps, text, &mut out);
            let _ = writeln!(out, "\n  found by {who}; shortest in steps that others can notice");
            out
        }
        Verdict::Unknown(why) => format!("unknown: {}\n", limit(why)),
    };
    let _ = writeln!(
        out,
        "  {} states, {} steps, {} deep, {} MiB, {:.2} s",
        explored.states,
        explored.transitions,
        explored.depth,
        explored.memory >> 20,
        explored.elapsed.as_secs_f64()
    );
    out
}

/// The run of a violation, step by step.
pub fn counterexample(
    program: &Program,
    workload: &Workload,
    verdict: &Verdict,
    text: &str,
) -> serde_json::Value {
    match verdict {
        Verdict::Violated(violation) => {
            let machine = Machine::new(program, workload.threads.len());
            let step = |step: &TraceStep| {
                json!({
                    "thread": step.thread,
                    "line": line_column(text, step.span.start as usize).0,
                    "what": what(program, step, text),
                    "memory": memory(&machine, &step.state),
                })
            };
            json!({ "reason": wrong(violation), "steps": violation.steps.iter().map(step).collect::<Vec<_>>() })
        }
        _ => serde_json::Value::Null,
    }
}

fn as_json(program: &Program, workload: &Workload, explored: &Explored, text: &str, who: &str) -> String {
    let counterexample = counterexample(program, workload, &explored.verdict, text);
    let (verdict, basis) = match &explored.verdict {
        Verdict::Holds => ("holds", json!(basis(program, explored, who))),
        Verdict::Violated(_) => ("violated", serde_json::Value::Null),
        Verdict::Unknown(why) => ("unknown", json!(limit(why))),
    };
    let calls = |thread: &ClientThread| match thread {
        ClientThread::Any(_, count) => *count as usize,
        ClientThread::Calls(calls) => calls.len(),
    };
    let object = json!({
        "verdict": verdict,
        "basis": basis,
        "engine": "explore",
        "operations": workload.threads.iter().map(calls).sum::<usize>(),
        "states": explored.states,
        "elapsed_s": explored.elapsed.as_secs_f64(),
        "counterexample": counterexample,
    });
    format!("{object}\n")
}

/// One step in words.
fn what(program: &Program, step: &TraceStep, text: &str) -> String {
    match &step.what {
        Happened::Call { op, args } => {
            let value = argument_value(program, *op, args).to_string();
            let inner = value.trim_start_matches('[').trim_end_matches(']');
            let inner = if args.is_empty() { "" } else { inner };
            format!("call {}({inner})", program.operation(*op).name)
        }
        Happened::Return { op, result } => {
            let operation = program.operation(*op);
            match operation.result.parts.is_empty() {
                true => format!("{} returns", operation.name),
                false => {
                    format!("{} returns {}", operation.name, result_value(program, &operation.result, result))
                }
            }
        }
        Happened::Step => {
            let (line, _) = line_column(text, step.span.start as usize);
            let source = text.lines().nth(line - 1).unwrap_or("").trim();
            format!("{line:>3} {source}")
        }
    }
}

/// A column a thread, and beside it what the shared memory is, where it changed.
pub fn draw(program: &Program, workload: &Workload, steps: &[TraceStep], text: &str, out: &mut String) {
    let machine = Machine::new(program, workload.threads.len());
    let threads = workload.threads.len();
    let lines: Vec<(usize, String, String)> = steps
        .iter()
        .map(|step| (step.thread, what(program, step, text), memory(&machine, &step.state)))
        .collect();
    let width = lines.iter().map(|(_, what, _)| what.chars().count()).max().unwrap_or(0).clamp(10, 44) + 2;
    let heads: String =
        (0..threads).map(|thread| format!("{:<width$}", format!("thread {thread}"))).collect();
    let _ = writeln!(out, "  {}", heads.trim_end());
    let mut last = machine.initial().map(|state| memory(&machine, &state)).unwrap_or_default();
    let mut before: Option<(usize, String)> = None;
    for (thread, what, memory) in lines {
        // Steps of one line, one after another, are drawn once.
        let same = before.as_ref() == Some(&(thread, what.clone())) && memory == last;
        if same {
            continue;
        }
        let cut: String = what.chars().take(width - 2).collect();
        let mut line = format!("  {:indent$}{cut:<width$}", "", indent = thread * width);
        if memory != last {
            let rest = (threads - 1 - thread) * width;
            let _ = write!(line, "{:rest$}{memory}", "");
        }
        let _ = writeln!(out, "{}", line.trim_end());
        before = Some((thread, what));
        last = memory;
    }
}

/// The shared variables, and the records that can be reached from them.
fn memory(machine: &Machine<'_>, state: &State) -> String {
    let mut shared = state.clone();
    for thread in 0..machine.threads {
        // Without threads nothing but shared variables leads anywhere.
        shared.words[machine.frame_range(thread)].fill(-1);
    }
    machine.canonical(&mut shared);
    let mut parts = Vec::new();
    for (at, slot) in machine.shared_slots() {
        if !slot.ghost {
            parts.push(format!("{} {}", slot.name, word(machine.program, &slot.ty, shared.words[at])));
        }
    }
    for cell in 0..machine.cells(&shared) {
        let (record, freed, fields) = machine.cell(&shared, cell);
        let slots = &machine.program.records[record].fields;
        let shown: Vec<String> = slots
            .iter()
            .zip(fields)
            .filter(|(slot, _)| !slot.ghost)
            .map(|(slot, value)| format!("{} {}", slot.name, word(machine.program, &slot.ty, *value)))
            .collect();
        let freed = if freed { " freed" } else { "" };
        parts.push(format!("#{}{freed}{{{}}}", cell + 1, shown.join(", ")));
    }
    parts.join("  ")
}

fn word(program: &Program, ty: &Type, word: Word) -> String {
    match ty {
        Type::Lock if word == NONE => "free".into(),
        _ if word == NONE => "none".into(),
        Type::Lock | Type::Thread => format!("thread {word}"),
        Type::Bool => (word != 0).to_string(),
        Type::Enum(id) => program.enums[id.index()].variants.get(word as usize).cloned().unwrap_or_default(),
        Type::Pointer(_) if word == 0 => "null".into(),
        Type::Pointer(_) => format!("→ #{word}"),
        Type::Option(inner) => self::word(program, inner, word),
        _ => word.to_string(),
    }
}
