//! A proof by obligations as view data: the table, and the states that break what is open.

use std::collections::BTreeMap;

use linpoint_lang::Program;
use linpoint_lang::span::line_column;
use linpoint_prove::graph::{Graph, label};
use linpoint_prove::obligation::Kind;
use linpoint_prove::scene::{Picture, Shown};
use linpoint_prove::{Decided, Outcome as Came, Report};
use linpoint_report::view::{Cell, Countermodel, Outcome, Process, Proof, Row, Slot};

use crate::prove::obligations::table::{COLUMNS, fact_list, names, step_name, value, visible};

/// The proof; nothing where the program could not be taken apart.
pub fn proof(program: &Program, text: &str, report: &Report) -> Option<Proof> {
    let graph = report.graph.as_ref()?;
    let mut rows: BTreeMap<(u8, usize), Vec<&Decided>> = BTreeMap::new();
    for decided in &report.decided {
        let group = match decided.obligation.kind {
            Kind::Initial | Kind::Ends => 0,
            Kind::Same => 1,
            Kind::Call => 2,
            _ => 3,
        };
        rows.entry((group, decided.obligation.step)).or_default().push(decided);
    }
    let mut countermodels = Vec::new();
    let mut cell = |found: &mut dyn Iterator<Item = &Decided>| {
        let mut cell = Cell::default();
        for decided in found {
            cell.of += 1;
            let outcome = match &decided.outcome {
                Came::Proved => Outcome::Proved,
                Came::Unknown(why) => {
                    cell.note.clone_from(why);
                    Outcome::Unknown
                }
                Came::Open(picture) => {
                    cell.countermodels.push(countermodels.len());
                    countermodels.push(countermodel(program, text, graph, decided, picture));
                    Outcome::Open
                }
            };
            cell.open += usize::from(outcome != Outcome::Proved);
            cell.outcome = cell.outcome.max(outcome);
        }
        cell
    };
    let rows = rows.values().filter_map(|row| {
        let first = row.first()?.obligation;
        let cells = COLUMNS
            .iter()
            .map(|kind| match first.kind {
                // What is said of the start and of calls is one obligation.
                Kind::Initial | Kind::Ends | Kind::Same | Kind::Call if *kind == Kind::Invariant => {
                    cell(&mut row.iter().copied())
                }
                _ => cell(&mut row.iter().copied().filter(|decided| decided.obligation.kind == *kind)),
            })
            .collect();
        let line = match first.kind {
            Kind::Initial | Kind::Ends | Kind::Same | Kind::Call => 0,
            _ => {
                let edge = graph.edge(program, &graph.steps[first.step]);
                line_column(text, edge.span.start as usize).0 as u32
            }
        };
        let took: u128 = row.iter().map(|decided| decided.took.as_millis()).sum();
        Some(Row { step: step_name(program, text, graph, first), line, cells, took_ms: took as u64 })
    });
    let rows = rows.collect();
    Some(Proof {
        kinds: COLUMNS.map(|kind| (kind.name().to_owned(), says(kind).to_owned())).to_vec(),
        rows,
        countermodels,
        facts: fact_list(program, text, report),
    })
}

fn says(kind: Kind) -> &'static str {
    match kind {
        Kind::Safe => "the step does not go wrong",
        Kind::Invariant => "what is claimed of the place it comes to holds there",
        Kind::Others => "what is claimed of other processes stays true",
        Kind::Pairs => "two other processes still differ where they must",
        Kind::Effect => "the object changes as its specification does, or not at all",
        Kind::Status => "whether others have taken effect changes only as allowed",
        Kind::Same => "both abstractions stand for the same object",
        Kind::Initial | Kind::Call => "it starts as claimed",
        Kind::Ends => "the initial code comes to its end",
    }
}

fn countermodel(
    program: &Program,
    text: &str,
    graph: &Graph,
    decided: &Decided,
    picture: &Picture,
) -> Countermodel {
    let (step, other) = names(program, text, graph, decided);
    let other = other.map_or_else(String::new, |other| format!(", another process at {other}"));
    let process = |(who, shown): (&str, &Option<Shown>)| {
        let shown = shown.as_ref()?;
        let to = shown.to.map_or_else(String::new, |to| format!(" → {}", label(program, text, graph, to)));
        let point = if shown.at == Graph::IDLE { shown.to } else { Some(shown.at) };
        let point = point.filter(|point| *point != Graph::IDLE);
        let locals = point.map_or(&[][..], |point| &program.operation(graph.place(point).op).locals);
        let locals = locals.iter().zip(&shown.locals).filter(|(slot, _)| !slot.name.is_empty());
        Some(Process {
            name: format!("{who}: thread {}", shown.pid),
            at: format!("{}{to}", label(program, text, graph, shown.at)),
            locals: locals
                .map(|(slot, (before, after))| Slot {
                    name: slot.name.clone(),
                    before: value(program, &slot.ty, *before),
                    after: value(program, &slot.ty, *after),
                })
                .collect(),
        })
    };
    let mut slots: Vec<_> = visible(program, picture);
    slots.sort_by_key(|slot| slot.order);
    let mut shown: Vec<Slot> = Vec::new();
    for slot in slots {
        let index = slot.order.2.map_or_else(String::new, |index| format!("[{index}]"));
        let field = if slot.slot == slot.name { String::new() } else { format!(".{}", slot.slot) };
        let slot =
            Slot { name: format!("{}{index}{field}", slot.name), before: slot.before, after: slot.after };
        if !shown.contains(&slot) {
            shown.push(slot);
        }
    }
    Countermodel {
        title: format!("{} of {step}{other}", decided.obligation.kind.name()),
        sizes: program
            .sizes
            .iter()
            .zip(&picture.sizes)
            .map(|(size, value)| (size.name.clone(), value.to_string()))
            .collect(),
        processes: [("this process", &picture.p), ("another", &picture.q)]
            .into_iter()
            .filter_map(process)
            .collect(),
        slots: shown,
    }
}
