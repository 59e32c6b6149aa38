//! `linpoint prove --engine obligations`: runs the prover, shows what came of each obligation.

mod inferred;
mod propose;
mod reached;
pub mod table;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use linpoint_lang::Program;
use linpoint_lang::span::line_column;
use linpoint_model::{Bounds, Explored, Mode, Workload, explore};
use linpoint_prove::solver::{self, SolverKind};
use linpoint_prove::{Decided, Options, Outcome, Report, Verdict};
use linpoint_report::view::{self, Source, Summary, View};
use serde_json::json;

use super::ProveArgs;
use crate::fault::{Exit, Fault};

/// What the proof by obligations takes.
#[derive(Debug, Args)]
pub struct ObligationArgs {
    /// Let cvc5 decide every obligation too; both must agree
    #[arg(long)]
    pub confirm: bool,
    /// Use only the invariants that are written; guess none
    #[arg(long)]
    pub no_inference: bool,
    /// Where a step changes the abstract state too early, try to hide what it writes until the operation takes effect
    #[arg(long)]
    pub hide: bool,
    /// Use nothing about processes other than the two of an obligation
    #[arg(long)]
    pub two_processes: bool,
    /// Take a symbolic size as this number, such as `N=3`
    #[arg(long = "size", value_name = "NAME=NUMBER", value_parser = size)]
    pub sizes: Vec<(String, i64)>,
    /// Where z3 is; found by itself if not given
    #[arg(long, value_name = "FILE")]
    pub solver: Option<PathBuf>,
    /// Give up on one answer of the solver after this long
    #[arg(long, value_name = "TIME", value_parser = crate::args::duration, default_value = "10s")]
    pub answer_limit: Duration,
    /// Show each obligation as a formula, and the invariants that were found
    #[arg(long)]
    pub explain: bool,
}

fn size(text: &str) -> Result<(String, i64), String> {
    let (name, number) = text.split_once('=').ok_or("expected NAME=NUMBER")?;
    let number: i64 = number.trim().parse().map_err(|_| "expected NAME=NUMBER")?;
    if !(0..=1_000_000).contains(&number) {
        return Err("a size is a number from 0 to 1000000".into());
    }
    Ok((name.trim().to_owned(), number))
}

/// How a missing solver is told.
fn missing(name: &str) -> Fault {
    Fault::usage(
        format!("{name} is not here: the obligations are decided by it"),
        format!("run `cargo xtask solvers`, or install {name} so that it is on the path"),
    )
}

/// Proves, or says what is missing.
pub fn run(args: &ProveArgs, program: &Program, text: &str) -> Result<Exit, Fault> {
    let own = &args.obligations;
    for (name, _) in &own.sizes {
        if !program.sizes.iter().any(|size| size.name == *name) {
            return Err(Fault::usage(
                format!("the program has no size `{name}`"),
                "name one that it declares",
            ));
        }
    }
    // A wrong invariant is told by a run, not by a puzzling countermodel.
    if let Some(broken) = reached::broken(program, text, args.time_limit) {
        let _ = std::io::stdout().write_all(wrong_annotation(args, program, text, &broken).as_bytes());
        return Ok(Exit::Unknown);
    }
    let found = solver::find(SolverKind::Z3, own.solver.as_deref());
    let solver = found.filter(|found| found.path.is_file()).ok_or_else(|| missing("z3"))?;
    let confirm = match own.confirm {
        true => Some(solver::find(SolverKind::Cvc5, None).ok_or_else(|| missing("cvc5"))?),
        false => None,
    };
    let options = Options {
        confirm,
        infer: !own.no_inference,
        all_processes: !own.two_processes,
        limit: own.answer_limit,
        time: args.time_limit,
        sizes: own.sizes.clone(),
        explain: own.explain,
        ..Options::new(solver)
    };
    let live = (own.explain || std::io::stderr().is_terminal()) && !args.json;
    let told = |graph: &linpoint_prove::graph::Graph, decided: &Decided| {
        if live {
            let _ = writeln!(std::io::stderr(), "{}", table::line(program, text, graph, decided));
        }
    };
    let (proved, hidden) = match own.hide {
        true => linpoint_prove::hide::prove_with_hiding(program, &options, &told),
        false => (linpoint_prove::points::prove_with_points(program, &options, &told), None),
    };
    let mut found = inferred::lines(&proved, hidden.as_ref(), text);
    // Points and ghosts that were found belong to the program from here on.
    let (program, mut report) = (&proved.program, proved.report);
    // What is not proved may be wrong: small runs tell.
    let explored = match report.verdict {
        Verdict::Proved => None,
        Verdict::NotProved(_) => Some(small_runs(program, args.time_limit)),
    };
    let refuted = explored.as_ref().and_then(|explored| match &explored.verdict {
        linpoint_model::Verdict::Violated(violation) if violation.rechecked => Some(violation),
        _ => None,
    });
    // What is wrong is shown as it was written: points that were tried in vain say little.
    if let (Some(plain), Some(_)) = (proved.plain, refuted) {
        report = plain;
        found.clear();
    }
    let unneeded = match report.verdict {
        Verdict::Proved => unneeded(program, text, &options),
        Verdict::NotProved(_) => Vec::new(),
    };
    let told = || {
        let mut shown = head(program, &report, explored.as_ref(), &own.sizes);
        for line in &found {
            shown.push_str(&format!("  {line}\n"));
        }
        if let Some(violation) = refuted {
            crate::explore::draw(program, &small_workload(program), &violation.steps, text, &mut shown);
        }
        shown.push_str(&table::table(program, text, &report, &options));
        if own.explain {
            shown.push_str(&table::formulas(program, text, &report));
            shown.push_str(&table::facts(program, text, &report));
        }
        for line in &unneeded {
            shown.push_str(&format!("  note: {line}\n"));
        }
        shown.push_str(&tail(&report, &options));
        shown
    };
    let told = if args.json && !args.output.wanted() { String::new() } else { told() };
    let shown = match args.json {
        true => as_json(program, text, &report, &options, explored.as_ref(), (&found, &unneeded)),
        false => told.clone(),
    };
    let _ = std::io::stdout().write_all(shown.as_bytes());
    args.output.write(|| {
        let mut view = as_view(args, program, &report, explored.as_ref());
        view.proof = crate::view::obligations::proof(program, text, &report);
        if let Some(violation) = refuted {
            let workload = small_workload(program);
            crate::explore::violation_view(program, &workload, violation, text, &args.file, &mut view);
        }
        view.source = Some(Source { name: args.file.display().to_string(), text: text.to_owned() });
        view.text = told;
        view
    })?;
    Ok(match (&report.verdict, refuted) {
        (Verdict::Proved, _) => Exit::Holds,
        (_, Some(_)) => Exit::Violated,
        _ => Exit::Unknown,
    })
}

/// Invariants and `disjoint` lines without which the proof goes through as well: each is left out in turn, for a few seconds in all.
fn unneeded(program: &Program, text: &str, options: &Options) -> Vec<String> {
    let start = Instant::now();
    let left = |start: Instant| Duration::from_secs(5).checked_sub(start.elapsed());
    let goes_through = |program: &Program| {
        let Some(time) = left(start) else { return false };
        let options = Options { time: Some(time), confirm: None, ..options.clone() };
        linpoint_prove::prove(program, &options, &|_, _| {}).verdict == Verdict::Proved
    };
    let mut found = Vec::new();
    for index in 0..program.annotations.invariants.len() {
        let mut without = program.clone();
        let invariant = without.annotations.invariants.remove(index);
        if goes_through(&without) {
            let (line, _) = line_column(text, invariant.span.start as usize);
            found.push(format!("the invariant of line {line} is not needed"));
        }
    }
    for index in 0..program.annotations.disjoint.len() {
        let mut without = program.clone();
        without.annotations.disjoint.remove(index);
        if goes_through(&without) {
            found.push(format!("`disjoint` number {} is not needed", index + 1));
        }
    }
    found
}

/// An annotation that a run breaks.
fn wrong_annotation(args: &ProveArgs, program: &Program, text: &str, broken: &reached::Broken) -> String {
    let why = format!("{} does not hold in every run", broken.what);
    if args.json {
        let object = json!({
            "verdict": "not proved",
            "basis": why,
            "engine": "obligations",
            "operations": program.operations.len(),
            "counterexample": { "annotation": broken.what, "steps": broken.run.len() },
        });
        return format!("{object}\n");
    }
    let mut shown = format!("not proved: {why}\n\n");
    crate::explore::draw(program, &small_workload(program), &broken.run, text, &mut shown);
    shown.push_str("\n  after the last step it is false; nothing was asked of the solver\n");
    shown
}

/// What a proof rests on.
fn basis(program: &Program, sizes: &[(String, i64)]) -> String {
    let size = |size: &linpoint_lang::program::Size| match sizes.iter().find(|(name, _)| *name == size.name) {
        Some((name, value)) => format!("{name} = {value}"),
        None => format!("every {}", size.name),
    };
    let mut parts: Vec<String> = program.sizes.iter().map(size).collect();
    parts.insert(0, "every run of any number of threads".into());
    parts.push("memory sequentially consistent".into());
    if let linpoint_lang::program::SpecSource::Builtin(spec) = &program.spec
        && spec.kind == linpoint_history::Kind::Lock
    {
        parts.push("callers release only what they hold, and do not ask for it again".into());
    }
    format!("{}; deadlock is not looked for", parts.join(", "))
}

/// Every run of a small client, for a few seconds.
fn small_runs(program: &Program, limit: Option<Duration>) -> Explored {
    let bounds = Bounds {
        time: Some(limit.unwrap_or(Duration::from_secs(5)).min(Duration::from_secs(5))),
        memory: 1 << 30,
        // Proofs say nothing about deadlock, so it refutes nothing.
        deadlocks: false,
        ..Bounds::default()
    };
    explore(program, &small_workload(program), Mode::Anywhere, &bounds)
}

/// The first client of the program; two threads with two operations each if it has none.
fn small_workload(program: &Program) -> Workload {
    match program.clients.first() {
        Some(client) => Workload::of(client),
        None => Workload::by_turns(program, 2, 2).unwrap_or_else(|| Workload::general(program, 2, 2)),
    }
}

/// What exploration says of a program that was not proved.
fn word(explored: &Explored) -> String {
    match &explored.verdict {
        linpoint_model::Verdict::Violated(violation) => crate::explore::wrong(violation),
        linpoint_model::Verdict::Holds => {
            format!("exploration of small runs ({} states) finds nothing wrong", explored.states)
        }
        linpoint_model::Verdict::Unknown(_) => {
            format!("exploration of small runs ({} states, not all) finds nothing wrong", explored.states)
        }
    }
}

fn head(program: &Program, report: &Report, explored: Option<&Explored>, sizes: &[(String, i64)]) -> String {
    match (&report.verdict, explored) {
        (Verdict::Proved, _) => format!("proved: {}\n", basis(program, sizes)),
        (Verdict::NotProved(why), Some(explored)) => match &explored.verdict {
            linpoint_model::Verdict::Violated(violation) if violation.rechecked => {
                format!("refuted: {}\n  not proved: {why}\n\n", word(explored))
            }
            _ => format!("not proved: {why}\n  {}\n", word(explored)),
        },
        (Verdict::NotProved(why), None) => format!("not proved: {why}\n"),
    }
}

/// The verdict for a page, without its parts.
fn as_view(args: &ProveArgs, program: &Program, report: &Report, explored: Option<&Explored>) -> View {
    let basis = basis(program, &args.obligations.sizes);
    let refuted = explored.is_some_and(
        |explored| matches!(&explored.verdict, linpoint_model::Verdict::Violated(violation) if violation.rechecked),
    );
    let (verdict, word, headline) = match (&report.verdict, explored) {
        (Verdict::Proved, _) => (view::Verdict::Holds, "proved", format!("{} is linearizable", program.name)),
        (Verdict::NotProved(_), Some(explored)) if refuted => {
            (view::Verdict::Violated, "refuted", word(explored))
        }
        (Verdict::NotProved(why), _) => (view::Verdict::Unknown, "not proved", why.clone()),
    };
    let mut view = View::new(verdict, word, &headline);
    let open = report.decided.iter().filter(|decided| !decided.outcome.is_proved()).count();
    view.summary = Summary {
        checked: format!("Object {} of {}: {basis}.", program.name, args.file.display()),
        rests_on: match verdict {
            view::Verdict::Holds => format!(
                "{} obligations, each decided by a solver, from {} facts that were shown to be kept by every step.",
                report.decided.len(),
                report.inferred.facts.count()
            ),
            view::Verdict::Violated => {
                "One run, taken again from the start and judged a second time.".to_owned()
            }
            view::Verdict::Unknown => format!(
                "Nothing yet: {open} obligations are open. {}.",
                explored.map_or_else(String::new, self::word)
            ),
        },
        not_covered: "Deadlock and progress, and memory weaker than sequentially consistent. What is open need not be wrong: the invariants may be too weak.".to_owned(),
        facts: vec![
            ("obligations".to_owned(), report.decided.len().to_string()),
            ("open".to_owned(), open.to_string()),
            ("solver time".to_owned(), crate::view::seconds(report.solver)),
            ("time".to_owned(), crate::view::seconds(report.elapsed)),
        ],
        again: format!("linpoint prove {} --engine obligations", args.file.display()),
    };
    view
}

fn tail(report: &Report, options: &Options) -> String {
    let open = report.decided.iter().filter(|decided| !decided.outcome.is_proved()).count();
    let agreed = options.confirm.as_ref().map_or("", |_| ", each confirmed by cvc5");
    let guessed = match options.infer {
        true => format!(
            "; {} of {} guessed facts kept in {:.2} s",
            report.inferred.facts.count(),
            report.inferred.guesses,
            report.inference.as_secs_f64()
        ),
        false => String::new(),
    };
    format!(
        "  {} obligations, {open} open{agreed}{guessed}\n  {:.2} s, of which {:.2} s solver time over {} solvers, {} questions\n",
        report.decided.len(),
        report.elapsed.as_secs_f64(),
        report.solver.as_secs_f64(),
        options.jobs,
        report.questions
    )
}

fn as_json(
    program: &Program,
    text: &str,
    report: &Report,
    options: &Options,
    explored: Option<&Explored>,
    (found, unneeded): (&[String], &[String]),
) -> String {
    let refuted = explored.is_some_and(
        |explored| matches!(&explored.verdict, linpoint_model::Verdict::Violated(violation) if violation.rechecked),
    );
    let (verdict, basis) = match &report.verdict {
        Verdict::Proved => ("proved", json!(basis(program, &options.sizes))),
        Verdict::NotProved(why) if refuted => ("refuted", json!(why)),
        Verdict::NotProved(why) => ("not proved", json!(why)),
    };
    let obligation = |decided: &Decided| {
        let names = report.graph.as_ref().map(|graph| table::names(program, text, graph, decided));
        let (step, other) = names.unwrap_or_default();
        json!({
            "kind": decided.obligation.kind.name(),
            "step": step,
            "other": other,
            "outcome": match &decided.outcome {
                Outcome::Proved => json!("proved"),
                Outcome::Open(_) => json!("open"),
                Outcome::Unknown(why) => json!({ "unknown": why }),
            },
            "elapsed_s": decided.took.as_secs_f64(),
            "instances": decided.instances,
        })
    };
    let first = report.decided.iter().find(|decided| !decided.outcome.is_proved());
    let counterexample = match (first, explored) {
        (None, None) => serde_json::Value::Null,
        (first, explored) => json!({
            "obligation": first.map(obligation),
            "state": first.and_then(|decided| table::picture(program, text, report, decided)),
            "reached": first.and_then(|decided| table::reached(program, report, decided, options.time)),
            "missing": first.map(|decided| propose::lines(program, text, report, options, decided)),
            "exploration": explored.map(word),
        }),
    };
    let object = json!({
        "verdict": verdict,
        "basis": basis,
        "engine": "obligations",
        "operations": program.operations.len(),
        "elapsed_s": report.elapsed.as_secs_f64(),
        "inference_s": report.inference.as_secs_f64(),
        "solver_s": report.solver.as_secs_f64(),
        "facts": report.inferred.facts.count(),
        "obligations": report.decided.iter().map(obligation).collect::<Vec<_>>(),
        "found": found,
        "notes": unneeded,
        "counterexample": counterexample,
    });
    format!("{object}\n")
}
