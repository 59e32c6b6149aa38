//! `linpoint prove --engine obligations`: runs the prover, shows what came of each obligation.

mod inferred;
mod label;
mod looked;
mod propose;
mod reached;
mod runs;
pub mod table;
mod told;
mod watch;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use linpoint_lang::Program;
use linpoint_lang::span::line_column;
use linpoint_model::Violation;
use linpoint_prove::gate::{self, Gate};
use linpoint_prove::solver::{self, SolverKind};
use linpoint_prove::{Decided, Gap, Options, Verdict};
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
    if let Some(broken) = reached::broken(program, text, spent.left()) {
        // The object may be wrong, too, and that matters more.
        let runs = runs::small(program, spent.left());
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
    let (proved, hidden) = match own.hide {
        true => linpoint_prove::hide::prove_with_hiding(program, &options, &told),
        false => (linpoint_prove::points::prove_with_points(program, &options, &told), None),
    };
    let mut found = inferred::lines(&proved, hidden.as_ref(), text);
    // Points and ghosts that were found belong to the program from here on.
    let (program, mut report) = (&proved.program, proved.report);
    let mut spent = spent;
    // What is proved is explored before it is told; what is not proved may be wrong.
    let mut never = Vec::new();
    if report.verdict.holds() {
        let start = Instant::now();
        let found = gate::gate(program, &own.sizes, gate::share(spent.all(), spent.left()));
        spent.exploring = start.elapsed();
        match &found {
            Gate::Overflow(refutation) | Gate::Wrong(refutation) => {
                return told_against(args, program, text, &found, refutation);
            }
            Gate::Unseen(why) => {
                report.verdict = Verdict::Unknown(Gap::Unseen(why.clone()));
            }
            Gate::Open { never: found, .. } => never.clone_from(found),
        }
    }
    let late = spent.left().is_some_and(|left| left.is_zero());
    let runs = (!report.verdict.holds()).then(|| runs::small(program, spent.left()));
    let explored = runs.as_ref().map(|runs| &runs.explored);
    let refuted = runs.as_ref().and_then(|runs| runs.refutation());
    let ghosts = runs.as_ref().and_then(|runs| runs.ghosts.as_ref()).filter(|_| refuted.is_none());
    // What is wrong is shown as it was written: points that were tried in vain say little.
    if let (Some(plain), Some(_)) = (proved.plain, refuted) {
        report = plain;
        found.clear();
    }
    if let Verdict::Unknown(gap) = report.verdict {
        let gap = match ghosts {
            Some(violation) => Gap::Ghosts(crate::explore::wrong(violation)),
            None => gap,
        };
        report.verdict = Verdict::Unknown(if late { gap.after_all_time() } else { gap });
    }
    let start = Instant::now();
    let unneeded = match report.verdict.holds() {
        true => unneeded(program, text, &options, spent.left()),
        false => Vec::new(),
    };
    spent.unneeded = start.elapsed();
    let start = Instant::now();
    let looked = looked::look(program, text, &report, &options, spent.left());
    spent.missing = start.elapsed();
    let spent = spent;
    let vacuous = told::vacuous(program, text, &report, &never);
    let told = || {
        let mut shown = told::head(program, &report, explored, &own.sizes, vacuous.as_deref());
        for line in &found {
            shown.push_str(&format!("  {line}\n"));
        }
        if ghosts.is_some() {
            shown.push('\n');
        }
        if let Some(violation) = refuted.or(ghosts) {
            crate::explore::draw(program, &runs::workload(program), &violation.steps, text, &mut shown);
        }
        shown.push_str(&table::table(program, text, &report, &looked));
        if own.explain {
            shown.push_str(&table::formulas(program, text, &report));
            shown.push_str(&table::facts(program, text, &report));
        }
        for line in &unneeded {
            shown.push_str(&format!("  note: {line}\n"));
        }
        shown.push_str(&told::tail(&report, &options, &spent));
        shown
    };
    let told = if args.json && !args.output.wanted() { String::new() } else { told() };
    let shown = match args.json {
        true => {
            let also = (found.as_slice(), unneeded.as_slice(), vacuous.as_deref());
            told::as_json(program, text, &report, &options, explored, also, (&looked, &spent))
        }
        false => told.clone(),
    };
    watch::tell(&shown);
    args.output.write(|| {
        let mut view = told::as_view(args, program, &report, explored, vacuous.as_deref());
        view.proof = crate::view::obligations::proof(program, text, &report);
        if let Some(violation) = refuted {
            let workload = runs::workload(program);
            crate::explore::violation_view(program, &workload, violation, text, &args.file, &mut view);
        }
        view.source = Some(Source { name: args.file.display().to_string(), text: text.to_owned() });
        view.text = told;
        view
    })?;
    Ok(match (&report.verdict, refuted) {
        (Verdict::Holds(_), _) => Exit::Holds,
        (_, Some(_)) => Exit::Violated,
        _ => Exit::Unknown,
    })
}

/// Invariants and `disjoint` lines without which the proof goes through as well: each is left out in turn, for a few seconds in all.
fn unneeded(program: &Program, text: &str, options: &Options, left: Option<Duration>) -> Vec<String> {
    let start = Instant::now();
    let most = left.unwrap_or(Duration::MAX).min(Duration::from_secs(5));
    let left = |start: Instant| most.checked_sub(start.elapsed()).filter(|left| !left.is_zero());
    let goes_through = |program: &Program| {
        let Some(time) = left(start) else { return false };
        let options = Options { time: Some(time), confirm: None, ..options.clone() };
        linpoint_prove::prove(program, &options, &|_, _| {}).verdict.holds()
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

/// A run against what was proved: the run is shown. Unless it is one that the proof took to be impossible, one of the two is a mistake of ours, and the program is kept for a report.
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
    broken: &reached::Broken,
    refuted: Option<&Violation>,
) -> String {
    let why = match &broken.how {
        Some(how) => format!("{} does not hold in every run: {how}", broken.what),
        None => format!("{} does not hold in every run", broken.what),
    };
    let exploration = refuted.map(crate::explore::wrong);
    if args.json {
        let object = json!({
            "verdict": if refuted.is_some() { "refuted" } else { "not proved" },
            "basis": why,
            "engine": "obligations",
            "operations": program.operations.len(),
            "counterexample": {
                "annotation": broken.what,
                "steps": refuted.map_or(broken.run.len(), |violation| violation.steps.len()),
                "exploration": exploration,
            },
        });
        return format!("{object}\n");
    }
    let workload = runs::workload(program);
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
