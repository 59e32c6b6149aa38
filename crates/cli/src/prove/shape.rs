//! The shape analysis: arguments, and the verdict as text, JSON and pictures.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use linpoint_lang::Program;
use linpoint_lang::program::{MarkKind, NodeId, OpId, SpecSource};
use linpoint_lang::span::line_column;
use linpoint_report::view::{self, Summary, View};
use linpoint_shape::budget::Progress;
use linpoint_shape::certificate;
use linpoint_shape::draw;
use linpoint_shape::exec::{Point, Points};
use linpoint_shape::layout::Layout;
use linpoint_shape::prove::{
    CALLS, Choice, Ends, Invariant, Proof, Report, Scope, Settings, Verdict, prove_watched,
};
use linpoint_shape::refute::Refutation;
use linpoint_shape::store::Domain;
use linpoint_shape::structure::Structure;
use serde_json::json;

use super::ProveArgs;
use crate::explore;
use crate::fault::{Exit, Fault};

/// What the shape analysis takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Shape analysis")]
pub struct ShapeArgs {
    /// How many threads: `any`, a number, or `2/2` for so many that only insert and so many that only take
    #[arg(long, value_name = "N", default_value = "any", value_parser = scope)]
    pub threads: Scope,
    /// Which linearization points to use
    #[arg(long, value_enum, default_value_t = PointsArg::Auto)]
    pub points: PointsArg,
    /// How structures are kept, where threads are counted
    #[arg(long, value_enum, default_value_t = DomainArg::Joined)]
    pub domain: DomainArg,
    /// Give up beyond this much memory, such as `4GiB`, which it is if not given
    #[arg(long, value_name = "SIZE", value_parser = crate::args::bytes)]
    pub memory_limit: Option<usize>,
    /// Write the structures in the dot language of Graphviz: those of the proof, or the one at which it
    /// failed
    #[arg(long, value_name = "FILE")]
    pub dump: Option<PathBuf>,
    /// Write the proof, for any number of threads, to be rechecked
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// Recheck a proof that was written: that no step leads out of its structures
    #[arg(long, value_name = "FILE", conflicts_with_all = ["certificate", "dump"])]
    pub recheck: Option<PathBuf>,
}

/// Which points a user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PointsArg {
    /// Those given, else inferred ones
    Auto,
    /// Only those given: are they right?
    Given,
    /// Only inferred ones
    Inferred,
}

/// How structures can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DomainArg {
    /// One for each way in which names lie; fast
    Joined,
    /// Each apart
    Disjunctive,
}

/// A proof may be looked at a second time for this long and a tenth of the limit beyond it: where there is a
/// proof, little is missing.
const BEYOND: Duration = Duration::from_millis(500);

fn scope(text: &str) -> Result<Scope, String> {
    let number = |text: &str| {
        text.parse::<usize>()
            .ok()
            .filter(|n| (1..=8).contains(n))
            .ok_or_else(|| "expected `any`, a number from 1 to 8, or two such as `2/2`".to_owned())
    };
    match text.split_once('/') {
        _ if text == "any" => Ok(Scope::Any),
        Some((producers, consumers)) => Ok(Scope::Roles(number(producers)?, number(consumers)?)),
        None => Ok(Scope::Threads(number(text)?)),
    }
}

/// Proves, refutes, or says why not.
pub fn run(args: &ProveArgs, program: &Program, text: &str) -> Result<Exit, Fault> {
    let shape = &args.shape;
    if let Some(path) = &shape.recheck {
        return recheck(path, program, args.time_limit);
    }
    let settings = Settings {
        scope: shape.threads,
        domain: match shape.domain {
            DomainArg::Joined => Domain::Joined,
            DomainArg::Disjunctive => Domain::Disjunctive,
        },
        points: match shape.points {
            PointsArg::Auto => Choice::Auto,
            PointsArg::Given => Choice::Given,
            PointsArg::Inferred => Choice::Inferred,
        },
        time: args.time_limit,
        memory: shape.memory_limit.unwrap_or(4 << 30),
        refute: true,
        reserve: args.time_limit.map_or(Duration::ZERO, |limit| limit / 10 + BEYOND),
        ..Settings::default()
    };
    let bar = std::cell::OnceCell::new();
    let report = prove_watched(program, &settings, &|now| show_progress(&bar, now));
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    if let Some(path) = &shape.dump {
        write(path, &pictures(program, &report))?;
    }
    if let (Some(path), Verdict::Holds(proof)) = (&shape.certificate, &report.verdict)
        && let (Ok(layout), Invariant::Views(found)) = (Layout::new(program), &proof.invariant)
    {
        write(path, &certificate::write(&layout, &proof.points, &proof.precision, found))?;
    }
    let only_given = shape.points == PointsArg::Given;
    let told = Told { program, text, report: &report, scope: shape.threads, only_given };
    let shown = if args.json { told.as_json() } else { told.as_text() };
    let _ = std::io::stdout().write_all(shown.as_bytes());
    args.output.write(|| told.as_view(&args.file))?;
    Ok(report.verdict.kind().into())
}

fn write(path: &Path, text: &str) -> Result<(), Fault> {
    std::fs::write(path, text).map_err(|error| {
        Fault::usage(format!("cannot write {}: {error}", path.display()), "name a file that can be written")
    })
}

/// A written proof, checked once more.
fn recheck(path: &Path, program: &Program, limit: Option<Duration>) -> Result<Exit, Fault> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Fault::usage(
            format!("cannot read {}: {error}", path.display()),
            "name a file written by `--certificate`",
        )
    })?;
    let checked = certificate::recheck(program, &text, limit.map(|limit| Instant::now() + limit));
    let (line, exit) = match checked {
        Ok((views, records)) => (
            format!("proved: the certificate is closed under every step: {views} views, {records} records\n"),
            Exit::Holds,
        ),
        Err(why) => (format!("not proved: {why}\n"), Exit::Unknown),
    };
    let _ = std::io::stdout().write_all(line.as_bytes());
    Ok(exit)
}

/// Those of the proof, or the one at which it failed.
fn structures(report: &Report) -> &[Structure] {
    match &report.verdict {
        Verdict::Holds(proof) => match &proof.invariant {
            Invariant::Views(found) => &found.views.all,
            Invariant::Whole(found) => &found.store.all,
        },
        Verdict::Unknown(gap) => gap.halt.as_ref().map_or(&[], |halt| std::slice::from_ref(&halt.before)),
        Verdict::Violated(_) => &[],
    }
}

fn pictures(program: &Program, report: &Report) -> String {
    let Ok(layout) = Layout::new(program) else { return String::new() };
    let mut out = String::new();
    for (index, s) in structures(report).iter().enumerate() {
        out.push_str(&draw::dot(&layout, s, &format!("{} {index}", program.name)));
    }
    out
}

/// A report and what is needed to put it into words.
struct Told<'a> {
    program: &'a Program,
    text: &'a str,
    report: &'a Report,
    scope: Scope,
    /// Is the question whether the points given are right?
    only_given: bool,
}

/// What is said of answers that change nothing, where points are given.
const BY_ITSELF: &str = "answers that change nothing were placed by the analysis; that the points given explain these, too, was looked at in runs of 2 threads with 2 calls each";

impl Told<'_> {
    fn as_text(&self) -> String {
        let mut out = String::new();
        match &self.report.verdict {
            Verdict::Holds(proof) => {
                if let Some(vacuous) = self.vacuous(proof) {
                    let _ = writeln!(out, "proved, but vacuous in part: {vacuous}");
                    out.push_str("  the rest is ");
                }
                let _ = writeln!(out, "proved: linearizable in {}", self.basis());
                for line in self.points(proof) {
                    let _ = writeln!(out, "  {line}");
                }
                if self.only_given {
                    let _ = writeln!(out, "  {BY_ITSELF}");
                }
                if proof.given_failed {
                    out.push_str("  with the points that the program gives there is no proof; these were found instead\n");
                }
                for line in self.told_apart(proof) {
                    let _ = writeln!(out, "  added because the proof failed without: {line}");
                }
                let _ = writeln!(
                    out,
                    "  {}, closed under every step; {} met in all, {:.2} s",
                    size(&proof.invariant),
                    self.report.structures,
                    self.report.elapsed.as_secs_f64()
                );
            }
            Verdict::Violated(refutation) => self.refuted(refutation, &mut out),
            Verdict::Unknown(gap) => {
                let _ = writeln!(out, "not proved: {}", gap.reason);
                if let Some(halt) = &gap.halt {
                    let _ = writeln!(out, "  at line {}: {}\n", self.line(halt.at).0, self.line(halt.at).1);
                    if let Ok(layout) = Layout::new(self.program) {
                        for line in draw::text(&layout, &halt.before).lines() {
                            let _ = writeln!(out, "  {line}");
                        }
                    }
                    out.push('\n');
                }
                let _ = writeln!(
                    out,
                    "  no small run is wrong; {} structures met, {} combinations of points tried, {:.2} s",
                    self.report.structures,
                    self.report.tried,
                    self.report.elapsed.as_secs_f64()
                );
            }
        }
        out
    }

    fn refuted(&self, refutation: &Refutation, out: &mut String) {
        let violation = &refutation.violation;
        let _ = writeln!(out, "refuted: {}\n", explore::wrong(violation));
        explore::draw(self.program, &refutation.workload, &violation.steps, self.text, out);
        let _ = writeln!(
            out,
            "\n  found by exploring {} threads; {} states, {:.2} s in all",
            refutation.workload.threads.len(),
            refutation.states,
            self.report.elapsed.as_secs_f64()
        );
    }

    fn as_view(&self, file: &Path) -> View {
        let (verdict, word, headline) = match &self.report.verdict {
            Verdict::Holds(proof) => {
                let word =
                    if self.vacuous(proof).is_none() { "proved" } else { "proved, but vacuous in part" };
                (view::VerdictKind::Holds, word, format!("{} is linearizable", self.program.name))
            }
            Verdict::Violated(refutation) => {
                let why = explore::wrong(&refutation.violation);
                (view::VerdictKind::Violated, "refuted", why)
            }
            Verdict::Unknown(gap) => (view::VerdictKind::Unknown, "not proved", gap.reason.clone()),
        };
        let mut view = View::new(verdict, word, &headline);
        view.summary = Summary {
            checked: format!("Object {} of {}: {}.", self.program.name, file.display(), self.basis()),
            rests_on: match &self.report.verdict {
                Verdict::Holds(proof) => format!(
                    "{}, which no step of any thread leaves; a second pass found them closed, concrete states were looked up in them, and small clients explored without any reduction.",
                    size(&proof.invariant)
                ),
                Verdict::Violated(_) => "One run, taken again from the start and judged a second time.".to_owned(),
                Verdict::Unknown(_) => {
                    "Nothing: the abstraction is too coarse, or the object is wrong in a way that small runs do not show."
                        .to_owned()
                }
            },
            not_covered: "Deadlock and progress, memory weaker than sequentially consistent, and memory that is given back by hand.".to_owned(),
            facts: vec![
                ("structures met".to_owned(), self.report.structures.to_string()),
                ("time".to_owned(), crate::view::seconds(self.report.elapsed)),
            ],
            again: format!("linpoint prove {} --engine shape", file.display()),
        };
        match &self.report.verdict {
            Verdict::Violated(refutation) => {
                let (workload, violation) = (&refutation.workload, &refutation.violation);
                explore::violation_view(self.program, workload, violation, self.text, file, &mut view);
            }
            Verdict::Holds(proof) => {
                view.shapes = crate::view::shape::shapes(
                    self.program,
                    self.text,
                    structures(self.report),
                    self.points(proof),
                );
            }
            Verdict::Unknown(_) => {
                view.shapes =
                    crate::view::shape::shapes(self.program, self.text, structures(self.report), Vec::new());
            }
        }
        if view.source.is_none() {
            view.source = Some(view::Source { name: file.display().to_string(), text: self.text.to_owned() });
        }
        view.text = self.as_text();
        view
    }

    fn as_json(&self) -> String {
        let report = self.report;
        let (verdict, basis) = match &report.verdict {
            Verdict::Holds(_) => ("proved", json!(self.basis())),
            Verdict::Violated(_) => ("refuted", serde_json::Value::Null),
            Verdict::Unknown(gap) => ("not proved", json!(gap.reason)),
        };
        let counterexample = match &report.verdict {
            Verdict::Violated(refutation) => {
                explore::counterexample(self.program, &refutation.workload, &refutation.violation, self.text)
            }
            Verdict::Unknown(gap) => gap.halt.as_ref().map_or(serde_json::Value::Null, |halt| {
                let state = Layout::new(self.program).map(|layout| draw::text(&layout, &halt.before));
                json!({ "line": self.line(halt.at).0, "state": state.unwrap_or_default() })
            }),
            Verdict::Holds(_) => serde_json::Value::Null,
        };
        let points = match &report.verdict {
            Verdict::Holds(proof) => json!(self.points(proof)),
            _ => serde_json::Value::Null,
        };
        let vacuous = match &report.verdict {
            Verdict::Holds(proof) => self.vacuous(proof),
            _ => None,
        };
        let added = match &report.verdict {
            Verdict::Holds(proof) => json!(self.told_apart(proof)),
            _ => serde_json::Value::Null,
        };
        let object = json!({
            "verdict": verdict,
            "basis": basis,
            "engine": "shape",
            "operations": self.program.operations.len(),
            "structures": report.structures,
            "points": points,
            "vacuous": vacuous,
            "predicates_added": added,
            "points_tried": report.tried,
            "elapsed_s": report.elapsed.as_secs_f64(),
            "counterexample": counterexample,
        });
        format!("{object}\n")
    }

    /// The predicates that were added to names and kinds.
    fn told_apart(&self, proof: &Proof) -> Vec<String> {
        Layout::new(self.program).map_or_else(|_| Vec::new(), |layout| proof.precision.words(&layout))
    }

    /// What a proof covers and assumes.
    fn basis(&self) -> String {
        let who = match self.scope {
            Scope::Any => "any number of threads".to_owned(),
            Scope::Threads(1) => "one thread".to_owned(),
            Scope::Threads(count) => format!("{count} threads"),
            Scope::Roles(put, get) => format!("{put} threads that only insert and {get} that only take"),
        };
        let frees = self.program.records.iter().any(|record| record.freed);
        let memory = if frees {
            "memory sequentially consistent, places that are freed used again at any time; counters do not overflow"
        } else {
            "memory sequentially consistent and garbage collected"
        };
        let ends = match &self.report.verdict {
            Verdict::Holds(proof) if proof.ends == Ends::Always => "which always ends".to_owned(),
            _ => format!("which ends in every sequence of {CALLS} calls, and is taken to end in longer ones"),
        };
        let reference = match &self.program.spec {
            SpecSource::Builtin(_) => String::new(),
            SpecSource::Block(_) => format!("; compared with its `spec` block, {ends}"),
            SpecSource::Nothing => format!("; compared with its own code run alone, {ends}"),
        };
        format!(
            "every run of {who}, of every length{reference}; {memory}; no run-time error, deadlock not looked at"
        )
    }

    /// Operations that never return, in a sentence: what is proved of their answers says nothing.
    fn vacuous(&self, proof: &Proof) -> Option<String> {
        let never = proof.noted.never_return();
        let name = |op: &OpId| {
            let name = &self.program.operation(*op).name;
            format!("`{name}` never returns in the runs that were explored")
        };
        if never.is_empty() { None } else { Some(never.iter().map(name).collect::<Vec<_>>().join("; ")) }
    }

    /// Is it a step that no run takes, of an operation that never returns?
    fn is_idle(&self, proof: &Proof, (node, edge): (u16, u16)) -> bool {
        let op = self.program.nodes[usize::from(node)].op;
        proof.noted.never_return().contains(&op) && !proof.noted.was_taken(NodeId(node), usize::from(edge))
    }

    /// Where operations take effect, a line each.
    fn points(&self, proof: &Proof) -> Vec<String> {
        let mut places: Vec<(usize, String, &str)> = Vec::new();
        match &proof.points {
            Points::Given => {
                for (node, edge) in self.edges().into_iter().filter(|at| !self.is_idle(proof, *at)) {
                    let marks = &self.program.nodes[usize::from(node)].edges[usize::from(edge)];
                    if marks.marks().any(|mark| mark.kind == MarkKind::Lin) {
                        let (line, source) = self.line((node, edge));
                        places.push((line, source, self.op(node)));
                    }
                }
            }
            Points::At(list) => {
                for (node, edge, point) in
                    list.iter().filter(|(node, edge, _)| !self.is_idle(proof, (*node, *edge)))
                {
                    let (line, source) = self.line((*node, *edge));
                    let who = match point {
                        Point::Own => self.op(*node),
                        Point::Help(_) => "whoever's record it is",
                        Point::Meet(_) => "both that whose offer it is and its own",
                    };
                    places.push((line, source, who));
                }
            }
        }
        places.sort();
        places.dedup();
        let show = |(line, source, who): &(usize, String, &str)| {
            format!("takes effect: {who} at line {line}: {source}")
        };
        places.iter().map(show).collect()
    }

    fn edges(&self) -> Vec<(u16, u16)> {
        let nodes = self.program.nodes.iter().enumerate();
        nodes
            .flat_map(|(node, found)| (0..found.edges.len()).map(move |edge| (node as u16, edge as u16)))
            .collect()
    }

    fn op(&self, node: u16) -> &str {
        &self.program.operation(self.program.nodes[usize::from(node)].op).name
    }

    /// The line of a step and its text.
    fn line(&self, at: (u16, u16)) -> (usize, String) {
        let edge = &self.program.nodes[usize::from(at.0)].edges[usize::from(at.1)];
        let (line, _) = line_column(self.text, edge.span.start as usize);
        (line, self.text.lines().nth(line - 1).unwrap_or("").trim().to_owned())
    }
}

fn size(invariant: &Invariant) -> String {
    match invariant {
        Invariant::Views(found) => {
            format!("{} views, {} records", found.views.all.len(), found.records.all.len())
        }
        Invariant::Whole(found) => format!("{} structures", found.store.all.len()),
    }
}

/// A line on standard error while the analysis goes on, where that is a terminal.
fn show_progress(bar: &std::cell::OnceCell<indicatif::ProgressBar>, now: Progress) {
    if now.elapsed < Duration::from_millis(500) || !std::io::stderr().is_terminal() {
        return;
    }
    let bar = bar.get_or_init(indicatif::ProgressBar::new_spinner);
    let rate = now.structures as f64 / now.elapsed.as_secs_f64();
    bar.set_message(format!("{} structures, {rate:.0}/s, {} due", now.structures, now.waiting));
    bar.tick();
}
