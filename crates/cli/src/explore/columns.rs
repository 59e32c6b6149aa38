//! A run as text: a column a thread, and beside it what the shared memory is, where it changed.

use std::fmt::Write as _;

use linpoint_lang::Program;
use linpoint_lang::interp::Machine;
use linpoint_lang::span::line_column;
use linpoint_model::{Happened, TraceStep, argument_value, result_value};

use super::memory::memory;

/// One step in words.
pub fn what(program: &Program, step: &TraceStep, text: &str) -> String {
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

/// The whole run.
pub fn draw(machine: &Machine<'_>, steps: &[TraceStep], text: &str, out: &mut String) {
    let threads = machine.threads;
    let whats: Vec<String> = steps.iter().map(|step| what(machine.program, step, text)).collect();
    let width = whats.iter().map(|what| what.chars().count()).max().unwrap_or(0).clamp(10, 44) + 2;
    let heads: String =
        (0..threads).map(|thread| format!("{:<width$}", format!("thread {thread}"))).collect();
    let _ = writeln!(out, "  {}", heads.trim_end());
    let mut state = machine.initial().unwrap_or_default();
    let mut last = memory(machine, &state, None);
    let mut before: Option<(usize, &str)> = None;
    for (step, what) in steps.iter().zip(&whats) {
        let now = memory(machine, &step.state, None);
        // Steps of one line, one after another, are drawn once.
        if before == Some((step.thread, what)) && now == last {
            continue;
        }
        let cut: String = what.chars().take(width - 2).collect();
        let mut line = format!("  {:indent$}{cut:<width$}", "", indent = step.thread * width);
        if now != last {
            let rest = (threads - 1 - step.thread) * width;
            let _ = write!(line, "{:rest$}{}", "", memory(machine, &step.state, Some(&state)));
            state = step.state.clone();
        }
        let _ = writeln!(out, "{}", line.trim_end());
        before = Some((step.thread, what));
        last = now;
    }
}
