//! A verdict as text for a terminal. The first line is a contract.

use std::fmt::Write as _;

use linpoint_check::Answer;
use linpoint_history::confidence::Worth;
use linpoint_history::{Counterexample, Operation, Spec, Start, Unknown, Verdict};
use linpoint_report::{Style, draw, label};

use crate::Shown;

/// Operations drawn at the most.
const MOST_DRAWN: usize = 24;

/// The whole text.
pub fn render(shown: &Shown<'_>, style: Style) -> String {
    let mut text = first_line(shown) + "\n";
    if let Verdict::Violated(example) = &shown.answer.verdict {
        text.push('\n');
        text += &drawing(shown, example, style);
        text.push('\n');
    }
    // Where no engine knows the specification, none was at work.
    let has_engine = !shown.answer.engine.is_empty();
    if has_engine && !matches!(shown.answer.verdict, Verdict::Unknown(Unknown::Nothing { .. })) {
        let _ = writeln!(text, "  {}", how(shown.answer));
    }
    let completed = shown.answer.operations - shown.answer.pending;
    if matches!(shown.answer.verdict, Verdict::Holds(_)) && completed > 0 {
        let _ = writeln!(text, "  {}", Worth::of(completed));
    }
    text
}

/// `linearizable: …`, `not linearizable: …`, `unknown: …`.
pub fn first_line(shown: &Shown<'_>) -> String {
    let answer = shown.answer;
    let file = shown.file.as_ref().map(|file| format!("{file}: ")).unwrap_or_default();
    match &answer.verdict {
        Verdict::Holds(_) => format!("linearizable: {file}{}", counted(answer, shown.spec_name)),
        Verdict::Violated(example) => format!("not linearizable: {file}{}", example.reason),
        Verdict::Unknown(unknown) => format!("unknown: {file}{}", why(unknown)),
    }
}

/// `12 operations of a queue can be explained`.
fn counted(answer: &Answer, spec: &str) -> String {
    let plural = if answer.operations == 1 { "operation" } else { "operations" };
    let mut text = format!("{} {plural} of `{spec}`", answer.operations);
    if answer.pending > 0 {
        let _ = write!(text, ", {} of them pending", answer.pending);
    }
    if answer.objects > 1 {
        let _ = write!(text, ", {} objects", answer.objects);
    }
    text
}

fn why(unknown: &Unknown) -> String {
    let how_far = |decided: &u64, widest: &usize| {
        let wide = if *widest > 0 {
            format!("; up to {widest} operations were open at once")
        } else {
            String::new()
        };
        match decided {
            0 => format!("no return is explained{wide}"),
            1 => format!("the first return is explained{wide}"),
            _ => format!("the first {decided} returns are explained{wide}"),
        }
    };
    match unknown {
        Unknown::Time { decided, widest } => format!("time limit reached; {}", how_far(decided, widest)),
        Unknown::Memory { decided, widest } => format!("memory limit reached; {}", how_far(decided, widest)),
        Unknown::Nothing { pending } => Unknown::nothing_to_check(*pending),
        Unknown::Unsupported { why } => why.clone(),
    }
}

fn drawing(shown: &Shown<'_>, example: &Counterexample, style: Style) -> String {
    let signature = shown.spec.signature();
    let mut text = String::new();
    if let Some(object) = &shown.answer.object {
        let _ = writeln!(text, "object {object}:");
    }
    let (drawn, marked) = to_draw(example);
    text += &draw(signature, shown.symbols, &drawn, marked, style);
    text.push('\n');
    let (many, of) = (example.core.len(), shown.answer.operations);
    if let Some(Start { shown: state, operations, .. }) = &example.start {
        let before = if *operations == 1 { "operation" } else { "operations" };
        let _ = writeln!(
            text,
            "  At the start: {state}. Every explanation of the {operations} {before} before ends there."
        );
    }
    if drawn.len() < many {
        let _ = writeln!(
            text,
            "  {many} of {of} operations, taken together, cannot be explained; {} around the impossible one are drawn.",
            drawn.len()
        );
        return text;
    }
    let what = if many == 1 { "This operation".to_owned() } else { format!("These {many} operations") };
    let _ = writeln!(text, "  {what} of {of} cannot be explained.");
    let name = |&i: &usize| label(signature, shown.symbols, &example.core[i]);
    let order: Vec<String> = example.explained.iter().map(name).collect();
    if !order.is_empty() {
        let _ = writeln!(text, "  As far as it goes: {}.", order.join(", "));
    }
    text
}

/// A core that a page can hold is drawn whole; of a larger one the operations nearest to the impossible one.
fn to_draw(example: &Counterexample) -> (Vec<Operation>, Option<usize>) {
    let core = &example.core;
    let Some(marked) = example.impossible.filter(|_| core.len() > MOST_DRAWN) else {
        return (core.iter().take(MOST_DRAWN).copied().collect(), example.impossible);
    };
    let at = core[marked];
    // How far an operation's interval is from the impossible one's: overlapping ones first, then the latest
    // before it.
    let distance = |op: &Operation| at.call.saturating_sub(op.ret).max(op.call.saturating_sub(at.ret)).max(0);
    let mut near: Vec<usize> = (0..core.len()).collect();
    near.sort_by_key(|&i| (i != marked, core[i].call > at.ret, distance(&core[i])));
    near.truncate(MOST_DRAWN / 2);
    near.sort_unstable();
    let place = near.iter().position(|&i| i == marked);
    (near.into_iter().map(|i| core[i]).collect(), place)
}

/// `decided by queue monitor in 0.20 s`; and why that engine.
fn how(answer: &Answer) -> String {
    let because = if answer.because.is_empty() {
        String::new()
    } else {
        format!(" (not by {})", answer.because.replace("; ", "; not by "))
    };
    let rechecked = match &answer.verdict {
        Verdict::Holds(_) => "; the order found was replayed",
        Verdict::Violated(example) if example.rechecked && example.start.is_some() => {
            "; a second search of all operations agrees"
        }
        Verdict::Violated(example) if example.rechecked => "; brute force agrees about these operations",
        Verdict::Violated(_) => "; not rechecked: too many operations for brute force",
        _ => "",
    };
    let did = if matches!(answer.verdict, Verdict::Unknown(_)) { "tried" } else { "decided by" };
    format!("{did} {}{because}{}{rechecked}", answer.engine, time(answer.elapsed))
}

/// How long it took, where anybody had to wait for it.
fn time(elapsed: std::time::Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds < 0.1 { String::new() } else { format!(" in {seconds:.2} s") }
}
