//! `linpoint prove --engine obligations`: runs the prover, shows what came of each obligation.

mod found;
mod inferred;
pub mod table;
mod told;
mod watch;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use linpoint_lang::Program;
use linpoint_model::Violation;
use linpoint_prove::diagnosis::{self, BrokenAnnotation};
use linpoint_prove::gate::Gate;
use linpoint_prove::solver::{self, SolverKind};
use linpoint_prove::{Decided, Options};
use linpoint_report::view::Source;
use serde_json::json;

use super::ProveArgs;
use crate::fault::{Exit, Fault};

/// What the proof by obligations takes.
#[derive(Clone, Debug, Args)]
pub struct ObligationArgs {
    /// Let cvc5 decide every obligation too; both must agree
    #[arg(long)]
    pub confirm: bool,
    /// Use only the invariants that are written; guess none
    #[arg(long)]
    pub no_inference: bool,
    /// Where a step changes the abstract state too early, try to hide what it writes until the operation
    /// takes effect
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

/// What is proved is explored before it is told: a quarter of the time is left for that, or this much.
const RESERVE: Duration = Duration::from_secs(1);

/// How a missing solver is told.
fn missing(name: &str) -> Fault {
    Fault::usage(
        format!("{name} is not here: the obligations are decided by it"),
        format!("run `linpoint solvers`, or install {name} so that it is on the path"),
    )
}

/// Proves, or says what is missing.
/// Its time counts from `start`.
pub fn run(args: &ProveArgs, program: &Program, text: &str, start: Instant) -> Result<Exit, Fault> {
    match args.time_limit {
        Some(limit) => watch::run(args, program, text, start, limit),
        None => prove(args, program, text, start),
    }
}

fn prove(args: &ProveArgs, program: &Program, text: &str, start: Instant) -> Result<Exit, Fault> {
    let own = &args.obligations;
    for (number, (name, _)) in own.sizes.iter().enumerate() {
        if own.sizes[..number].iter().any(|(other, _)| other == name) {
            return Err(Fault::usage(format!("the size `{name}` is given twice"), "say once what it is"));
        }
        if !program.sizes.iter().any(|size| size.name == *name) {
            return Err(Fault::usage(
                format!("the program has no size `{name}`"),
                "name one that it declares",
            ));
        }
    }
    let spent = Spent::since(start, args.time_limit);
    // A wrong invariant is told by a run, not by a puzzling countermodel.
    if let Some(broken) = diagnosis::broken_annotation(program, spent.left()) {
        // The object may be wrong, too, and that matters more.
        let runs = diagnosis::small_runs(program, spent.left());
        let refuted = runs.refutation();
        let told = wrong_annotation(args, program, text, &broken, refuted);
        watch::tell(&told);
        return Ok(if refuted.is_some() { Exit::Violated } else { Exit::Unknown });
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
        time: spent.left().map(|left| left.saturating_sub((left / 4).min(RESERVE))),
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
    let whole = (start, args.time_limit);
    let supervised = linpoint_prove::prove_supervised(program, &options, own.hide, whole, &told);
    // Points and ghosts that were found belong to the program from here on.
    let program = &supervised.proved.program;
    if let Some(found @ (Gate::Overflow(refutation) | Gate::Wrong(refutation))) = &supervised.against {
        return told_against(args, program, text, found, refutation);
    }
    let found = inferred::lines(&supervised.proved, supervised.hidden.as_ref(), text);
    let report = &supervised.proved.report;
    let mut spent = Spent { exploring: supervised.exploring, ..spent };
    let explored = supervised.runs.as_ref().map(|runs| &runs.explored);
    let (refuted, ghosts) = (supervised.refutation(), supervised.ghosts());
    let start = Instant::now();
    let unneeded = match report.verdict.holds() {
        true => diagnosis::unneeded(program, &options, spent.left()),
        false => Vec::new(),
    };
    spent.unneeded = start.elapsed();
    let start = Instant::now();
    let looked = diagnosis::diagnose(program, text, report, &options, spent.left());
    spent.missing = start.elapsed();
    let spent = spent;
    let unneeded: Vec<String> = unneeded.into_iter().map(|one| found::unneeded(one, text)).collect();
    let vacuous = told::vacuous(program, text, report, &supervised.never);
    let told = || {
        let mut shown = told::head(program, report, explored, &own.sizes, vacuous.as_deref());
        for line in &found {
            shown.push_str(&format!("  {line}\n"));
        }
        if ghosts.is_some() {
            shown.push('\n');
        }
        if let Some(violation) = refuted.or(ghosts) {
            crate::explore::draw(program, &diagnosis::workload(program), &violation.steps, text, &mut shown);
        }
        shown.push_str(&table::table(program, text, report, &looked));
        if own.explain {
            shown.push_str(&table::formulas(program, text, report));
            shown.push_str(&table::facts(program, text, report));
        }
        for line in &unneeded {
            shown.push_str(&format!("  note: {line}\n"));
        }
        shown.push_str(&told::tail(report, &options, &spent));
        shown
    };
    let told = if args.json && !args.output.wanted() { String::new() } else { told() };
    let shown = match args.json {
        true => {
            let also = (found.as_slice(), unneeded.as_slice(), vacuous.as_deref());
            told::as_json(program, text, report, &options, explored, also, (&looked, &spent))
        }
        false => told.clone(),
    };
    watch::tell(&shown);
    args.output.write(|| {
        let mut view = told::as_view(args, program, report, explored, vacuous.as_deref());
        view.proof = crate::view::obligations::proof(program, text, report);
        if let Some(violation) = refuted {
            let workload = diagnosis::workload(program);
            crate::explore::violation_view(program, &workload, violation, text, &args.file, &mut view);
        }
        view.source = Some(Source { name: args.file.display().to_string(), text: text.to_owned() });
        view.text = told;
        view
    })?;
    Ok(match refuted {
        Some(_) => Exit::Violated,
        None => report.verdict.kind().into(),
    })
}

/// Where the time went, and how much there is.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    start: Instant,
    limit: Option<Duration>,
    exploring: Duration,
    missing: Duration,
    unneeded: Duration,
}

impl Spent {
    fn since(start: Instant, limit: Option<Duration>) -> Spent {
        let none = Duration::ZERO;
        Spent { start, limit, exploring: none, missing: none, unneeded: none }
    }

    fn all(&self) -> Duration {
        self.start.elapsed()
    }

    /// What is left of the limit, if there is one.
    fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.start.elapsed()))
    }
}

/// A run against what was proved: the run is shown. Unless it is one that the proof took to be impossible,
/// one of the two is a mistake of ours, and the program is kept for a report.
fn told_against(
    args: &ProveArgs,
    program: &Program,
    text: &str,
    found: &Gate,
    refutation: &linpoint_model::Refutation,
) -> Result<Exit, Fault> {
    let what = crate::explore::wrong(&refutation.violation);
    let bug = matches!(found, Gate::Wrong(_));
    let why = match bug {
        true => "every obligation is proved all the same: that is a mistake of ours",
        false => "every obligation is proved, but only of numbers without limits",
    };
    let shown = match args.json {
        true => {
            let steps = refutation.violation.steps.len();
            let object = json!({
                "verdict": "refuted",
                "basis": format!("{what}; {why}"),
                "engine": "obligations",
                "operations": program.operations.len(),
                "counterexample": { "exploration": what, "steps": steps, "sizes": refutation.scope.sizes },
            });
            format!("{object}\n")
        }
        false => {
            let mut shown = format!("refuted: {what}\n  {why}\n\n");
            let workload = &refutation.scope.workload;
            crate::explore::draw(program, workload, &refutation.violation.steps, text, &mut shown);
            shown
        }
    };
    watch::tell(&shown);
    if !bug {
        return Ok(Exit::Violated);
    }
    let path = PathBuf::from("linpoint-bug.lin");
    let saved = std::fs::write(&path, text).is_ok();
    Err(Fault::Bug {
        what: "a program is proved, and a run refutes it".to_owned(),
        saved: saved.then_some(path),
    })
}

/// An annotation that a run breaks, and a run that shows the object wrong, if one was found.
fn wrong_annotation(
    args: &ProveArgs,
    program: &Program,
    text: &str,
    broken: &BrokenAnnotation,
    refuted: Option<&Violation>,
) -> String {
    let (what, how) = found::annotation(&broken.annotation, text);
    let why = match how {
        Some(how) => format!("{what} does not hold in every run: {how}"),
        None => format!("{what} does not hold in every run"),
    };
    let exploration = refuted.map(crate::explore::wrong);
    if args.json {
        let object = json!({
            "verdict": if refuted.is_some() { "refuted" } else { "not proved" },
            "basis": why,
            "engine": "obligations",
            "operations": program.operations.len(),
            "counterexample": {
                "annotation": what,
                "steps": refuted.map_or(broken.run.len(), |violation| violation.steps.len()),
                "exploration": exploration,
            },
        });
        return format!("{object}\n");
    }
    let workload = diagnosis::workload(program);
    if let (Some(violation), Some(what)) = (refuted, exploration) {
        let mut shown = format!("refuted: {what}\n  not proved: {why}\n\n");
        crate::explore::draw(program, &workload, &violation.steps, text, &mut shown);
        return shown;
    }
    let mut shown = format!("not proved: {why}\n\n");
    crate::explore::draw(program, &workload, &broken.run, text, &mut shown);
    shown.push_str("\n  after the last step it is false; nothing was asked of the solver\n");
    shown
}
