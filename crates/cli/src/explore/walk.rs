//! `--step`: a run taken by hand.

use std::io::{BufRead, Write};

use linpoint_model::{Move, Moved, Schedule, Session, Wrong};

use super::columns::what;
use super::memory::memory;

const HELP: &str =
    "  a number takes that move, an empty line the one with the arrow, `b` goes back, `q` ends";

/// Walks through a program, move by move; the empty line follows `ahead` as long as it can.
pub fn walk(
    session: &mut Session<'_>,
    ahead: &Schedule,
    text: &str,
    name: impl Fn(&Wrong) -> String,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> std::io::Result<Option<Wrong>> {
    writeln!(out, "{HELP}\n  memory: {}", memory(session.machine(), session.state(), None))?;
    let mut wrong = None;
    loop {
        let taken = session.schedule().0;
        let moves = if wrong.is_some() { Vec::new() } else { session.moves() };
        let next = match ahead.0.get(taken.len()) {
            Some(next) if ahead.0.starts_with(&taken) => moves.iter().position(|one| one == next),
            _ if moves.len() == 1 => Some(0),
            _ => None,
        };
        writeln!(out)?;
        for (index, one) in moves.iter().enumerate() {
            let arrow = if next == Some(index) { "→" } else { " " };
            writeln!(out, "{arrow} {} {}", index + 1, shown(session, one, text))?;
        }
        if moves.is_empty() {
            let end = match &wrong {
                Some(wrong) => name(wrong),
                None if session.is_finished() => "all calls are made and have returned".into(),
                None => name(&Wrong::Deadlock),
            };
            writeln!(out, "  {end}")?;
        }
        write!(out, "> ")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            line.push('q');
        }
        let chosen = match line.trim() {
            "q" => {
                writeln!(out, "\n  --replay {}", session.schedule())?;
                let deadlock = wrong.is_none() && moves.is_empty() && !session.is_finished();
                return Ok(wrong.or(deadlock.then_some(Wrong::Deadlock)));
            }
            "b" => {
                if session.back() {
                    wrong = None;
                    writeln!(out, "  memory: {}", memory(session.machine(), session.state(), None))?;
                }
                continue;
            }
            "" => next,
            number => {
                number.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < moves.len())
            }
        };
        let Some(one) = chosen.and_then(|index| moves.get(index)) else {
            writeln!(out, "{HELP}")?;
            continue;
        };
        let before = session.state().clone();
        let steps = match session.take(one) {
            Moved::Fine(steps) => steps,
            Moved::Wrong(steps, found) => {
                wrong = Some(found);
                steps
            }
            Moved::Impossible => continue,
        };
        for step in &steps {
            writeln!(
                out,
                "  thread {}: {}",
                step.thread,
                what(session.machine().program, step, text).trim_start()
            )?;
        }
        if memory(session.machine(), &before, None) != memory(session.machine(), session.state(), None) {
            writeln!(out, "  memory: {}", memory(session.machine(), session.state(), Some(&before)))?;
        }
    }
}

/// A move in words.
fn shown(session: &Session<'_>, one: &Move, text: &str) -> String {
    let program = session.machine().program;
    match one {
        Move::Call { thread, op, args } => {
            let value = linpoint_model::argument_value(program, *op, args).to_string();
            let inner = value.trim_start_matches('[').trim_end_matches(']');
            let inner = if args.is_empty() { "" } else { inner };
            format!("thread {thread}: call {}({inner})", program.operation(*op).name)
        }
        Move::Step { thread, edge, choices } => {
            let node = session.machine().pc(session.state(), *thread).map(|pc| program.node(pc));
            let span = node.and_then(|node| node.edges.get(*edge)).map(|edge| edge.span).unwrap_or_default();
            let (line, _) = linpoint_lang::span::line_column(text, span.start as usize);
            let source = text.lines().nth(line - 1).unwrap_or("").trim();
            let several = node.is_some_and(|node| node.edges.len() > 1);
            let way = if several { format!("  (way {})", edge + 1) } else { String::new() };
            let choice = if choices.is_empty() { String::new() } else { format!("  (choice {choices:?})") };
            format!("thread {thread}: {line} {source}{way}{choice}")
        }
    }
}
