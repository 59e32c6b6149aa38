//! What came of a proof, in words: a head, a tail, a page, an object of JSON.

use std::collections::BTreeSet;

use linpoint_lang::Program;
use linpoint_lang::program::{Exit, NodeId, OpId};
use linpoint_lang::span::line_column;
use linpoint_model::{Explored, Limit};
use linpoint_prove::diagnosis::Diagnosis;
use linpoint_prove::{Decided, Options, Outcome, Report, Verdict};
use linpoint_report::view::{self, Summary, View};
use serde_json::json;

use super::found;
use super::{Spent, table};
use crate::prove::ProveArgs;

/// What a proof rests on.
pub fn basis(program: &Program, sizes: &[(String, i64)]) -> String {
    let size = |size: &linpoint_lang::program::Size| match sizes.iter().find(|(name, _)| *name == size.name) {
        Some((name, value)) => format!("{name} = {value}"),
        None => format!("every {}", size.name),
    };
    let mut parts: Vec<String> = program.sizes.iter().map(size).collect();
    parts.insert(0, "every run of any number of threads".into());
    parts.push("memory sequentially consistent".into());
    parts.push("numbers without limits".into());
    if let linpoint_lang::program::SpecSource::Builtin(spec) = &program.spec
        && spec.kind == linpoint_history::Kind::Lock
    {
        parts.push("callers release only what they hold, and do not ask for it again".into());
    }
    // A claim that is false is no error of the object, and nothing here decides it.
    let unseen = if program.claims.is_empty() { "deadlock is" } else { "deadlock and claims are" };
    format!("{}; {unseen} not looked for", parts.join(", "))
}

/// What exploration says of a program that was not proved.
pub fn word(explored: &Explored) -> String {
    match &explored.verdict {
        linpoint_model::Verdict::Violated(violation) => crate::explore::wrong(violation),
        linpoint_model::Verdict::Holds(_) => {
            format!("exploration of small runs ({} states) finds nothing wrong", explored.states)
        }
        linpoint_model::Verdict::Unknown(Limit::CannotStart(why)) => format!("no run can be explored: {why}"),
        linpoint_model::Verdict::Unknown(_) => {
            format!("exploration of small runs ({} states, not all) finds nothing wrong", explored.states)
        }
    }
}

/// The first lines. Steps that are never taken come before everything else: what is proved of them says
/// nothing.
pub fn head(
    program: &Program,
    report: &Report,
    explored: Option<&Explored>,
    sizes: &[(String, i64)],
    vacuous: Option<&str>,
) -> String {
    match (&report.verdict, explored) {
        (Verdict::Holds(_), _) => {
            let mut shown = String::new();
            if let Some(vacuous) = vacuous {
                shown = format!("proved, but vacuous in part: {vacuous}\n  the rest is ");
            }
            shown.push_str(&format!("proved: {}\n", basis(program, sizes)));
            shown
        }
        (Verdict::Unknown(why), Some(explored)) => match &explored.verdict {
            linpoint_model::Verdict::Violated(violation) if violation.rechecked => {
                format!("refuted: {}\n  not proved: {why}\n\n", word(explored))
            }
            _ => format!("not proved: {why}\n  {}\n", word(explored)),
        },
        (Verdict::Unknown(why), None) => format!("not proved: {why}\n"),
        (Verdict::Violated(never), _) => match never.evidence {},
    }
}

/// Operations that never return, and steps that are never taken, in a sentence. `unseen` are operations that
/// no explored run returned from.
pub fn vacuous(program: &Program, text: &str, report: &Report, unseen: &[OpId]) -> Option<String> {
    let taken = |node: usize, edge: usize| {
        !report.never_taken.iter().any(|(of, number)| of.index() == node && *number == edge)
    };
    let returns = |op: OpId| {
        let own = program.nodes.iter().enumerate().filter(|(_, node)| node.op == op);
        own.flat_map(|(node, of)| of.edges.iter().enumerate().map(move |(edge, of)| (node, edge, of)))
            .any(|(node, edge, of)| matches!(of.exit, Exit::Return(_)) && taken(node, edge))
    };
    let stuck: Vec<String> = (0..program.operations.len())
        .filter_map(|op| {
            let name = &program.operations[op].name;
            match OpId(op as u16) {
                op if !returns(op) => Some(format!("`{name}` never returns")),
                op if unseen.contains(&op) => {
                    Some(format!("`{name}` never returns in the runs that were explored"))
                }
                _ => None,
            }
        })
        .collect();
    // Of a step with several outcomes some may be impossible, though every run takes the step.
    let line =
        |node: &NodeId, edge: usize| line_column(text, program.node(*node).edges[edge].span.start as usize).0;
    let is_one_outcome = |(node, edge): &(NodeId, usize)| {
        let edges = 0..program.node(*node).edges.len();
        edges.into_iter().any(|other| taken(node.index(), other) && line(node, other) == line(node, *edge))
    };
    let (outcomes, whole): (Vec<_>, Vec<_>) = report.never_taken.iter().partition(|one| is_one_outcome(one));
    let lines = |of: Vec<&(NodeId, usize)>| {
        let lines: BTreeSet<usize> = of.into_iter().map(|(node, edge)| line(node, *edge)).collect();
        lines.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let (whole, outcomes) = (lines(whole), lines(outcomes));
    let nobody = "no state that was shown possible takes";
    let never = match whole.as_slice() {
        [] => None,
        [line] => Some(format!("{nobody} the step of line {line}")),
        lines => Some(format!("{nobody} the steps of lines {}", lines.join(", "))),
    };
    let impossible = (!outcomes.is_empty()).then(|| {
        let lines = if outcomes.len() == 1 { "line" } else { "lines" };
        format!("{nobody} one of the outcomes of {lines} {}", outcomes.join(", "))
    });
    let all: Vec<String> = stuck.into_iter().chain(never).chain(impossible).collect();
    if all.is_empty() { None } else { Some(all.join("; ")) }
}

/// The verdict for a page, without its parts.
pub fn as_view(
    args: &ProveArgs,
    program: &Program,
    report: &Report,
    explored: Option<&Explored>,
    vacuous: Option<&str>,
) -> View {
    let basis = basis(program, &args.obligations.sizes);
    let refuted = explored.is_some_and(|explored| explored.verdict.confirmed().is_some());
    let (verdict, word, headline) = match (&report.verdict, explored) {
        (Verdict::Holds(_), _) => {
            let word = if vacuous.is_none() { "proved" } else { "proved, but vacuous in part" };
            (view::VerdictKind::Holds, word, format!("{} is linearizable", program.name))
        }
        (Verdict::Unknown(_), Some(explored)) if refuted => {
            (view::VerdictKind::Violated, "refuted", word(explored))
        }
        (Verdict::Unknown(why), _) => (view::VerdictKind::Unknown, "not proved", why.to_string()),
        (Verdict::Violated(never), _) => match never.evidence {},
    };
    let mut view = View::new(verdict, word, &headline);
    let open = report.decided.iter().filter(|decided| !decided.outcome.is_proved()).count();
    view.summary = Summary {
        checked: format!("Object {} of {}: {basis}.", program.name, args.file.display()),
        rests_on: match verdict {
            view::VerdictKind::Holds => format!(
                "{} obligations, each decided by a solver, from {} facts that were shown to be kept by every step.",
                report.decided.len(),
                report.inferred.facts.count()
            ),
            view::VerdictKind::Violated => {
                "One run, taken again from the start and judged a second time.".to_owned()
            }
            view::VerdictKind::Unknown => format!(
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

pub fn tail(report: &Report, options: &Options, spent: &Spent) -> String {
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
    let mut parts = vec![format!(
        "{:.2} s of solver time over {} solvers, {} questions",
        report.solver.as_secs_f64(),
        options.jobs,
        report.questions
    )];
    for (time, what) in [
        (spent.exploring, "exploring what is proved"),
        (spent.missing, "looking for what is missing"),
        (spent.unneeded, "looking for what is not needed"),
    ] {
        if time.as_millis() >= 10 {
            parts.push(format!("{:.2} s {what}", time.as_secs_f64()));
        }
    }
    format!(
        "  {} obligations, {open} open{agreed}{guessed}\n  {:.2} s in all; {}\n",
        report.decided.len(),
        spent.all().as_secs_f64(),
        parts.join("; ")
    )
}

pub fn as_json(
    program: &Program,
    text: &str,
    report: &Report,
    options: &Options,
    explored: Option<&Explored>,
    (lines, unneeded, vacuous): (&[String], &[String], Option<&str>),
    (looked, spent): (&[Diagnosis], &Spent),
) -> String {
    let refuted = explored.is_some_and(|explored| explored.verdict.confirmed().is_some());
    let (verdict, basis) = match &report.verdict {
        Verdict::Holds(_) => ("proved", json!(basis(program, &options.sizes))),
        Verdict::Unknown(why) if refuted => ("refuted", json!(why.to_string())),
        Verdict::Unknown(why) => ("not proved", json!(why.to_string())),
        Verdict::Violated(never) => match never.evidence {},
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
            "reached": looked.first().and_then(|looked| looked.in_runs).map(|said| said.to_string()),
            "missing": looked.first().map(|looked| found::missing(program, text, report.graph.as_ref(), looked)),
            "exploration": explored.map(word),
        }),
    };
    let object = json!({
        "verdict": verdict,
        "basis": basis,
        "engine": "obligations",
        "operations": program.operations.len(),
        "elapsed_s": spent.all().as_secs_f64(),
        "looking_s": (spent.missing + spent.unneeded).as_secs_f64(),
        "exploring_s": spent.exploring.as_secs_f64(),
        "vacuous": vacuous,
        "inference_s": report.inference.as_secs_f64(),
        "solver_s": report.solver.as_secs_f64(),
        "facts": report.inferred.facts.count(),
        "obligations": report.decided.iter().map(obligation).collect::<Vec<_>>(),
        "found": lines,
        "notes": unneeded,
        "counterexample": counterexample,
    });
    format!("{object}\n")
}
