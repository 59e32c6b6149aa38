//! Obligations as lines, a table, and countermodels drawn small.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use linpoint_lang::Program;
use linpoint_lang::flow::live_locals;
use linpoint_lang::program::{NONE, Slot, Type};
use linpoint_lang::span::line_column;
use linpoint_prove::diagnosis::{self, Diagnosis};
use linpoint_prove::graph::{Graph, Step, label};
use linpoint_prove::obligation::{Kind, Obligation};
use linpoint_prove::scene::{Picture, Shown};
use linpoint_prove::{Decided, Outcome, Report};

use super::found;

/// The columns of the table.
pub const COLUMNS: [Kind; 5] = [Kind::Safe, Kind::Invariant, Kind::Others, Kind::Effect, Kind::Status];

/// One obligation as it is decided.
pub fn line(program: &Program, text: &str, graph: &Graph, decided: &Decided) -> String {
    let (step, other) = names(program, text, graph, decided);
    let other = other.map_or_else(String::new, |other| format!(" with another at {other}"));
    let outcome = match &decided.outcome {
        Outcome::Proved => "proved".to_owned(),
        Outcome::Open(_) => "OPEN".to_owned(),
        Outcome::Unknown(why) => format!("UNKNOWN: {why}"),
    };
    let took = decided.took.as_secs_f64() * 1000.0;
    format!("  {step:<20} {:<10}{other}: {outcome}, {took:.0} ms", decided.obligation.kind.name())
}

/// The step of an obligation, and where the other process is.
pub fn names(program: &Program, text: &str, graph: &Graph, decided: &Decided) -> (String, Option<String>) {
    // Several places of the other process are asked about at once; a state that breaks it says which it is.
    let other = match &decided.outcome {
        Outcome::Open(picture) => picture.q.as_ref().map(|q| q.at).or(decided.obligation.other),
        _ => decided.obligation.other,
    };
    let other = other.map(|point| label(program, text, graph, point));
    (step_name(program, text, graph, decided.obligation), other)
}

/// The name of a step.
pub fn step_name(program: &Program, text: &str, graph: &Graph, obligation: Obligation) -> String {
    match obligation.kind {
        Kind::Initial | Kind::Ends => "start".into(),
        Kind::Same => format!("`abs` again, {}", obligation.step + 2),
        Kind::Call => format!("call {}", program.operations[obligation.step].name),
        _ => arrow(program, text, graph, &graph.steps[obligation.step]),
    }
}

fn arrow(program: &Program, text: &str, graph: &Graph, step: &Step) -> String {
    let to = match step.to {
        Some(to) => label(program, text, graph, to),
        None => "return".into(),
    };
    format!("{} → {to}", label(program, text, graph, step.from))
}

/// All obligations: a line a step, a column a kind; then every one that is open, drawn.
pub fn table(program: &Program, text: &str, report: &Report, looked: &[Diagnosis]) -> String {
    let Some(graph) = &report.graph else { return String::new() };
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
    let mut out = format!("\n  {:<24}", "step");
    for kind in COLUMNS {
        let _ = write!(out, "{:>11}", kind.name());
    }
    let _ = writeln!(out, "{:>9}{:>11}", "ms", "instances");
    for row in rows.values() {
        let Some(first) = row.first() else { continue };
        let name = step_name(program, text, graph, first.obligation);
        let _ = write!(out, "  {name:<24}");
        for kind in COLUMNS {
            let mark = match first.obligation.kind {
                // What is said of the start and of calls is one obligation.
                Kind::Initial | Kind::Ends | Kind::Same | Kind::Call if kind == Kind::Invariant => {
                    mark(row.iter().copied())
                }
                _ => mark(row.iter().copied().filter(|decided| column(decided.obligation.kind) == kind)),
            };
            let _ = write!(out, "{mark:>11}");
        }
        let took: f64 = row.iter().map(|decided| decided.took.as_secs_f64() * 1000.0).sum();
        let instances: usize = row.iter().map(|decided| decided.instances).sum();
        let _ = writeln!(out, "{took:>9.0}{instances:>11}");
    }
    out.push('\n');
    let open: Vec<&Decided> = diagnosis::open(report).collect();
    for (decided, looked) in open.iter().zip(looked) {
        let (step, other) = names(program, text, graph, decided);
        let other = other.map_or_else(String::new, |other| format!(", another process at {other}"));
        match &decided.outcome {
            Outcome::Unknown(why) => {
                let _ =
                    writeln!(out, "  no answer: {} of {step}{other}: {why}", decided.obligation.kind.name());
            }
            _ => {
                let _ = writeln!(out, "  open: {} of {step}{other}", decided.obligation.kind.name());
            }
        }
        if let Some(drawn) = picture(program, text, report, decided) {
            out.push_str(&drawn);
        }
        if let Some(said) = looked.in_runs {
            let _ = writeln!(out, "    {said}");
        }
        for line in found::missing(program, text, Some(graph), looked) {
            let _ = writeln!(out, "    {line}");
        }
        out.push('\n');
    }
    if open.len() > looked.len() {
        let _ = writeln!(out, "  and {} more\n", open.len() - looked.len());
    }
    for (node, edge) in &report.never_taken {
        let span = program.node(*node).edges[*edge].span;
        let (line, _) = line_column(text, span.start as usize);
        let _ = writeln!(out, "  note: no state with these invariants allows this step of line {line}");
    }
    out
}

/// The column that a kind is shown in: pairs of others are others, too.
fn column(kind: Kind) -> Kind {
    match kind {
        Kind::Pairs => Kind::Others,
        kind => kind,
    }
}

fn mark<'d>(decided: impl Iterator<Item = &'d Decided>) -> String {
    let (mut all, mut open, mut unknown) = (0, 0, 0);
    for decided in decided {
        all += 1;
        match decided.outcome {
            Outcome::Proved => {}
            Outcome::Open(_) => open += 1,
            Outcome::Unknown(_) => unknown += 1,
        }
    }
    match (all, open, unknown) {
        (0, _, _) => "-".into(),
        (_, 0, 0) => "ok".into(),
        (1, 1, _) => "OPEN".into(),
        (1, 0, _) => "unknown".into(),
        (all, 0, unknown) => format!("{unknown}/{all} unkn."),
        (all, open, _) => format!("{open}/{all} OPEN"),
    }
}

/// The state that breaks an obligation: the processes, the slots in play, before and after.
pub fn picture(program: &Program, text: &str, report: &Report, decided: &Decided) -> Option<String> {
    let (Outcome::Open(picture), Some(graph)) = (&decided.outcome, &report.graph) else { return None };
    let mut out = String::new();
    if !program.sizes.is_empty() {
        let sizes: Vec<String> = program
            .sizes
            .iter()
            .zip(&picture.sizes)
            .map(|(size, value)| format!("{} = {value}", size.name))
            .collect();
        let _ = writeln!(out, "    sizes       {}", sizes.join(", "));
    }
    for (name, shown) in [("this", &picture.p), ("other", &picture.q)] {
        if let Some(shown) = shown {
            let _ = writeln!(out, "    {name:<11} {}", process(program, text, graph, shown));
        }
    }
    for slot in slots(program, picture) {
        let _ = writeln!(out, "    {slot}");
    }
    Some(out)
}

fn process(program: &Program, text: &str, graph: &Graph, shown: &Shown) -> String {
    let mut out = format!("thread {} at {}", shown.pid, label(program, text, graph, shown.at));
    if let Some(to) = shown.to {
        let _ = write!(out, " → {}", label(program, text, graph, to));
    }
    let point = if shown.at == Graph::IDLE { shown.to } else { Some(shown.at) };
    let Some(point) = point.filter(|point| *point != Graph::IDLE) else { return out };
    let operation = program.operation(graph.place(point).op);
    // What is never read again means nothing.
    let live = &live_locals(program)[graph.place(point).node.index()];
    for ((slot, live), (before, after)) in operation.locals.iter().zip(live).zip(&shown.locals) {
        if slot.name.is_empty() || !live && before == after {
            continue;
        }
        let (old, new) = (value(program, &slot.ty, *before), value(program, &slot.ty, *after));
        match old == new {
            true => drop(write!(out, "  {} = {old}", slot.name)),
            false => drop(write!(out, "  {} = {old} → {new}", slot.name)),
        }
    }
    out
}

/// Variables, and elements at the indices in play.
fn slots(program: &Program, picture: &Picture) -> Vec<String> {
    let mut lines: BTreeMap<(usize, usize, Option<i64>), Vec<String>> = BTreeMap::new();
    for shown in visible(program, picture) {
        let Visible { order, slot, name, before, after } = shown;
        let index = order.2.map_or_else(String::new, |index| format!("[{index}]"));
        let change = if before == after { before } else { format!("{before} → {after}") };
        let line = lines.entry(order).or_insert_with(|| vec![format!("{:<11}", format!("{name}{index}"))]);
        let part = if slot == name { change } else { format!("{slot} = {change}") };
        if !line.contains(&part) {
            line.push(part);
        }
    }
    lines.into_values().map(|parts| parts.join("  ")).collect()
}

/// A shared slot of a countermodel.
pub struct Visible {
    /// Variables before records, then by number and index.
    pub order: (usize, usize, Option<i64>),
    /// The slot or field.
    pub slot: String,
    /// The variable or kind of record.
    pub name: String,
    /// Its value before the step.
    pub before: String,
    /// And after.
    pub after: String,
}

/// The shared slots that there are: indices that an array does not have are of no interest.
pub fn visible(program: &Program, picture: &Picture) -> Vec<Visible> {
    let mut list = Vec::new();
    for shown in &picture.slots {
        let (slot, name, order): (&Slot, String, usize) = match (shown.global, shown.record) {
            (Some(global), _) => {
                if let (Some(index), Some(length)) = (shown.index, &program.globals[global].length) {
                    let length = match length {
                        linpoint_lang::program::Expr::Const(n) => i64::from(*n),
                        linpoint_lang::program::Expr::Size(size) => picture.sizes[size.index()],
                        _ => i64::MAX,
                    };
                    if !(0..length).contains(&index) {
                        continue;
                    }
                }
                (&program.globals[global].slots[shown.slot], program.globals[global].name.clone(), 0)
            }
            (None, Some(record)) => {
                if shown.index.is_some_and(|index| index <= 0) {
                    continue;
                }
                (&program.records[record].fields[shown.slot], program.records[record].name.clone(), 1)
            }
            _ => continue,
        };
        list.push(Visible {
            order: (order, shown.global.or(shown.record).unwrap_or(0), shown.index),
            slot: slot.name.clone(),
            name,
            before: value(program, &slot.ty, shown.value.0),
            after: value(program, &slot.ty, shown.value.1),
        });
    }
    list
}

/// A number as a program writes it.
pub fn value(program: &Program, ty: &Type, value: i64) -> String {
    match ty {
        _ if value == i64::from(NONE) => "none".into(),
        Type::Bool => if value == 0 { "false" } else { "true" }.into(),
        Type::Enum(id) => {
            let variants = &program.enums[id.index()].variants;
            usize::try_from(value)
                .ok()
                .and_then(|v| variants.get(v).cloned())
                .unwrap_or_else(|| value.to_string())
        }
        Type::Pointer(_) if value == 0 => "null".into(),
        Type::Thread | Type::Lock => format!("thread {value}"),
        Type::Option(inner) => self::value(program, inner, value),
        _ => value.to_string(),
    }
}

/// What each obligation says, below the line of its step.
pub fn formulas(program: &Program, text: &str, report: &Report) -> String {
    let Some(graph) = &report.graph else { return String::new() };
    let mut out = String::from("  obligations\n");
    let mut last = None;
    for decided in report.decided.iter().filter(|decided| !decided.said.is_empty()) {
        let Obligation { kind, step, .. } = decided.obligation;
        let group = (
            matches!(kind, Kind::Initial | Kind::Ends),
            matches!(kind, Kind::Same),
            matches!(kind, Kind::Call),
            step,
        );
        if last != Some(group) {
            let source = match kind {
                Kind::Initial | Kind::Ends | Kind::Same | Kind::Call => String::new(),
                _ => source(program, text, graph, &graph.steps[step]),
            };
            let _ = writeln!(out, "    {}{source}", step_name(program, text, graph, decided.obligation));
            last = Some(group);
        }
        let other = decided.obligation.other.map_or_else(String::new, |point| {
            format!(", another process at {}", label(program, text, graph, point))
        });
        let mark = if decided.outcome.is_proved() { "" } else { " OPEN" };
        let _ = writeln!(out, "      {}{other}{mark}", kind.name());
        for line in &decided.said {
            let _ = writeln!(out, "        {line}");
        }
    }
    out.push('\n');
    out
}

/// The line of a step, as it stands in the program.
fn source(program: &Program, text: &str, graph: &Graph, step: &Step) -> String {
    let span = program.node(graph.place(step.from).node).edges[step.edge].span;
    let (line, _) = line_column(text, span.start as usize);
    format!("    {line}: {}", text.lines().nth(line - 1).unwrap_or("").trim())
}

/// The facts that were kept, place by place.
pub fn facts(program: &Program, text: &str, report: &Report) -> String {
    let mut out = String::from("  facts\n");
    for fact in fact_list(program, text, report) {
        let _ = writeln!(out, "    {fact}");
    }
    out.push('\n');
    out
}

/// The same as a list.
pub fn fact_list(program: &Program, text: &str, report: &Report) -> Vec<String> {
    let Some(graph) = &report.graph else { return Vec::new() };
    let mut out = Vec::new();
    let show = |fact: &linpoint_prove::fact::Fact, op| linpoint_prove::show::show(program, op, &fact.body);
    for fact in &report.inferred.facts.always {
        out.push(format!("always: {}", show(fact, None)));
    }
    for (number, list) in report.inferred.facts.at.iter().enumerate() {
        let point = linpoint_prove::graph::Point(number as u16);
        let op = (point != Graph::IDLE).then(|| graph.place(point).op);
        for fact in list {
            out.push(format!("at {}: {}", label(program, text, graph, point), show(fact, op)));
        }
    }
    out
}
