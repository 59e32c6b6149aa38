//! What was found beside a proof, in words.

use linpoint_lang::Program;
use linpoint_lang::span::line_column;
use linpoint_prove::diagnosis::{Annotation, Diagnosis, Proposal, Unneeded};
use linpoint_prove::graph::Graph;

use super::table;

/// An annotation that a run breaks: which, and in which way.
pub fn annotation(broken: &Annotation, text: &str) -> (String, Option<String>) {
    match broken {
        Annotation::Invariant(span) => {
            let (line, _) = line_column(text, span.start as usize);
            (format!("the invariant of line {line}"), None)
        }
        Annotation::Disjoint { written, value } => {
            (format!("`{written}`"), Some(format!("two threads have {value}")))
        }
    }
}

/// An annotation that the proof does without.
pub fn unneeded(what: Unneeded, text: &str) -> String {
    match what {
        Unneeded::Invariant(span) => {
            let (line, _) = line_column(text, span.start as usize);
            format!("the invariant of line {line} is not needed")
        }
        Unneeded::Disjoint(number) => format!("`disjoint` number {number} is not needed"),
    }
}

/// What may be missing from the proof of an obligation, line by line.
pub fn missing(program: &Program, text: &str, graph: Option<&Graph>, found: &Diagnosis) -> Vec<String> {
    let Some(graph) = graph else { return Vec::new() };
    let mut lines = Vec::new();
    for proposal in &found.proposals {
        lines.push(proposed(proposal));
        let Some(by) = proposal.dropped_for else { continue };
        let step = table::step_name(program, text, graph, by);
        let other = if by.other.is_some() { ", a step of another process" } else { "" };
        lines.push(format!("         a guess, dropped because of {step}{other}"));
    }
    if found.cut_short {
        lines.push("what may be missing was looked for until the time was over".to_owned());
    }
    lines
}

fn proposed(proposal: &Proposal) -> String {
    let labels: String = proposal
        .new_labels
        .iter()
        .map(|(label, line)| format!("label the statement of line {line}, say `{label}: …`, and add "))
        .collect();
    let kept = match proposal.states {
        Some(states) => format!("{states} states of runs at its place keep it"),
        None => "runs keep it".to_owned(),
    };
    format!("missing: {labels}`{}` would close it; {kept}", proposal.annotation)
}
