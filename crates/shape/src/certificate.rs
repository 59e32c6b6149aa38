//! A proof as a text: the structures that no step leads out of.
//!
//! Lines say what is proved, what is told apart and where operations take effect, then one line a structure:
//! `view` or `record PC EDGE`, shared scalars, the thread, and each node as `mask/row/other`. Numbers are
//! hexadecimal. Reading it back needs the same program; [`recheck`] then goes through all steps once and
//! believes nothing: views and records from the text, steps from the program. The steps themselves are
//! compared with the interpreter's on random heaps, and the structures with its states by code that shares
//! none of them ([`mod@crate::audit`]).

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use linpoint_lang::Program;

use crate::exec::{Point, Points};
use crate::gate::{NO_TIME, Objection, audit_views, explored};
use crate::initial::initial;
use crate::layout::Layout;
use crate::own::reference;
use crate::prove::with_specification;
use crate::refine::{self, Precision};
use crate::run::Steps;
use crate::samples::{sample, without_queries};
use crate::scope::Scope;
use crate::store::{Domain, Store};
use crate::structure::{Effect, MOST_NODES, Node, Structure, Thread};
use crate::threads::End;
use crate::views::{Found, is_inductive};

const EFFECTS: [Effect; 6] =
    [Effect::Open, Effect::Done, Effect::Gave, Effect::Empty, Effect::True, Effect::False];

/// So many steps on random heaps are compared with the interpreter's.
const SAMPLES: u64 = 20_000;

/// What the second looks take at the most, each.
const LOOKS: Duration = linpoint_model::Budget::LONGEST;

/// Writes a proof for any number of threads.
pub fn write(layout: &Layout<'_>, points: &Points, precision: &Precision, found: &Found) -> String {
    let mut out = format!("linpoint shape certificate 2 {}\n", layout.program.name);
    let _ = write!(out, "precision {:x}", precision.links);
    precision.keep.iter().for_each(|(op, local)| {
        let _ = write!(out, " {op}:{local}");
    });
    out.push('\n');
    match points {
        Points::Given => out.push_str("points given\n"),
        Points::At(list) => {
            out.push_str("points at");
            for (node, edge, point) in list {
                let who = match point {
                    Point::Own => "own".to_owned(),
                    Point::Help(bit) => format!("help{bit}"),
                    Point::Meet(local) => format!("meet{local}"),
                };
                let _ = write!(out, " {node}:{edge}:{who}");
            }
            out.push('\n');
        }
    }
    for view in &found.views.all {
        let _ = writeln!(out, "view {}", line(view));
    }
    for (record, (node, edge)) in found.records.all.iter().zip(&found.steps_of) {
        let _ = writeln!(out, "record {node} {edge} {}", line(record));
    }
    out
}

fn line(s: &Structure) -> String {
    let thread = s.threads[0];
    let effect = EFFECTS.iter().position(|effect| *effect == thread.effect).unwrap_or(0);
    let mut out = format!("{:x} {:x} {effect} {:x} {:x}", s.globals, thread.pc, thread.seen, thread.scalars);
    for node in &s.nodes {
        let _ = write!(out, " {:x}/{:x}/{:x}", node.mask, node.row, node.other);
    }
    out
}

/// Reads a certificate and checks that it is a proof of the program, by all means that there are: how many
/// views and records it has.
///
/// # Errors
/// What is wrong with the text, or with the proof; or that the time is up.
pub fn recheck(program: &Program, text: &str, until: Option<Instant>) -> Result<(usize, usize), String> {
    let read = read(program, text, until)?;
    read.closed(until)?;
    let Read { layout, points, precision, found } = &read;
    audited(layout, points, precision, found)?;
    match explored(&with_specification(layout), layout, Scope::Any, LOOKS) {
        Ok(_) => {}
        Err(Objection::Run(_)) => return Err("a run of a small client is wrong".into()),
        Err(Objection::Structures(why) | Objection::Unseen(why)) => return Err(why),
    }
    Ok((found.views.all.len(), found.records.all.len()))
}

/// Reads a certificate and checks only that its structures are closed under every step.
///
/// # Errors
/// What is wrong with the text, or with the proof; or that the time is up.
pub fn closed(program: &Program, text: &str, until: Option<Instant>) -> Result<(), String> {
    read(program, text, until)?.closed(until)
}

/// A certificate that was read.
struct Read<'p> {
    layout: Layout<'p>,
    points: Points,
    precision: Precision,
    found: Found,
}

impl Read<'_> {
    fn closed(&self, until: Option<Instant>) -> Result<(), String> {
        let steps = Steps { layout: &self.layout, points: &self.points };
        is_inductive(&steps, &initial(&self.layout, 1)?, &self.found, until)
    }
}

fn read<'p>(program: &'p Program, text: &str, until: Option<Instant>) -> Result<Read<'p>, String> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    if head != format!("linpoint shape certificate 2 {}", program.name) {
        return Err("this is no certificate of this program".into());
    }
    let precision = read_precision(lines.next().unwrap_or_default())?;
    let reference = reference(program, until)?;
    let layout = refine::layout(&Layout::of(program, reference.object, reference.roles)?, &precision)?;
    let points = read_points(&layout, lines.next().unwrap_or_default())?;
    let mut found = Found {
        end: End::Proved,
        views: Store::new(precision.domain()),
        records: Store::new(Domain::Joined),
        steps_of: Vec::new(),
        merges: 0,
    };
    for line in lines {
        let mut words = line.split(' ');
        let bad = || format!("a line that is no structure: {line}");
        match words.next() {
            Some("view") => {
                let s = read_structure(&layout, &mut words).ok_or_else(bad)?;
                found.views.add(&(), s).map_err(|_| bad())?;
            }
            Some("record") => {
                let node: u16 = words.next().and_then(|word| word.parse().ok()).ok_or_else(bad)?;
                let edge: u16 = words.next().and_then(|word| word.parse().ok()).ok_or_else(bad)?;
                let edges = layout.program.nodes.get(usize::from(node)).map_or(0, |node| node.edges.len());
                let s = read_structure(&layout, &mut words)
                    .filter(|s| s.threads[0].pc == node)
                    .ok_or_else(bad)?;
                if usize::from(edge) >= edges {
                    return Err(bad());
                }
                let before = found.records.all.len();
                found.records.add(&(node, edge), s).map_err(|_| bad())?;
                if found.records.all.len() > before {
                    found.steps_of.push((node, edge));
                }
            }
            _ => return Err(bad()),
        }
    }
    Ok(Read { layout, points, precision, found })
}

/// Both against the interpreter: the steps that the closure was found with, on random heaps; and the
/// structures themselves, without these steps.
fn audited(layout: &Layout<'_>, points: &Points, precision: &Precision, found: &Found) -> Result<(), String> {
    let program = without_queries(layout.program);
    let plain = Layout::of(&program, layout.object, layout.roles.clone())?;
    let (_, miss) = sample(&Steps { layout: &plain, points }, 1, SAMPLES);
    if miss.is_some() {
        return Err("a step of the analysis does not cover the interpreter's".into());
    }
    match audit_views(layout, points, precision, &found.views, LOOKS)? {
        true => Ok(()),
        false => Err(NO_TIME.into()),
    }
}

fn read_precision(line: &str) -> Result<Precision, String> {
    let bad = || "a certificate that does not say what is told apart".to_owned();
    let mut words = line.strip_prefix("precision ").ok_or_else(bad)?.split(' ');
    let links = words.next().and_then(|word| u128::from_str_radix(word, 16).ok()).ok_or_else(bad)?;
    let mut keep = Vec::new();
    for word in words {
        let (op, local) = word.split_once(':').ok_or_else(bad)?;
        keep.push((op.parse().map_err(|_| bad())?, local.parse().map_err(|_| bad())?));
    }
    Ok(Precision { keep, links })
}

fn read_points(layout: &Layout<'_>, line: &str) -> Result<Points, String> {
    let Some(list) = line.strip_prefix("points at") else {
        return if line == "points given" {
            Ok(Points::Given)
        } else {
            Err("a certificate without points".into())
        };
    };
    let mut points = Vec::new();
    for word in list.split_whitespace() {
        let bad = || format!("a point that is none: {word}");
        let parts: Vec<&str> = word.split(':').collect();
        let [node, edge, who] = parts[..] else { return Err(bad()) };
        let node: u16 = node.parse().map_err(|_| bad())?;
        let who = match who.strip_prefix("help") {
            None if who == "own" => Point::Own,
            None => Point::Meet(met(layout, node, who).ok_or_else(bad)?),
            Some(bit) => {
                let bit: u32 = bit.parse().map_err(|_| bad())?;
                if !layout.global_bit.contains(&Some(bit)) {
                    return Err(bad());
                }
                Point::Help(bit)
            }
        };
        points.push((node, edge.parse().map_err(|_| bad())?, who));
    }
    Ok(Points::At(points))
}

/// The local that leads to an offer, of a point where two operations meet.
fn met(layout: &Layout<'_>, node: u16, who: &str) -> Option<u16> {
    let local: u16 = who.strip_prefix("meet")?.parse().ok()?;
    let op = layout.program.nodes.get(usize::from(node))?.op.index();
    let slot = layout.program.operations.get(op)?.locals.get(usize::from(local))?;
    matches!(slot.ty, linpoint_lang::program::Type::Pointer(_)).then_some(local)
}

fn read_structure<'t>(layout: &Layout<'_>, words: &mut impl Iterator<Item = &'t str>) -> Option<Structure> {
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let globals = number()?;
    let pc = u16::try_from(number()?).ok()?;
    let effect = *EFFECTS.get(usize::try_from(number()?).ok()?)?;
    let seen = u8::try_from(number()?).ok()?;
    let thread = Thread { pc, effect, seen, scalars: number()? };
    let known =
        layout.program.nodes.get(usize::from(pc)).is_some_and(|node| node.op.index() < layout.roles.len());
    if pc != crate::structure::IDLE && !known {
        return None;
    }
    let naming = layout.naming(1);
    let room = layout.shared | layout.kinds | layout.thread_bits(0);
    let mut nodes = Vec::new();
    for word in words {
        let mut parts = word.split('/');
        let mask = u128::from_str_radix(parts.next()?, 16).ok()?;
        let row = u32::from_str_radix(parts.next()?, 16).ok()?;
        let other = u32::from_str_radix(parts.next()?, 16).ok()?;
        if mask & !room != 0 || nodes.len() == MOST_NODES {
            return None;
        }
        let many = !nodes.is_empty() && mask & naming == 0;
        nodes.push(Node { mask, row, other, many });
    }
    let count = nodes.len() as u32;
    let inside = |row: u32| count == MOST_NODES as u32 || row >> count == 0;
    if nodes.is_empty() || !nodes.iter().all(|node| inside(node.row) && inside(node.other)) {
        return None;
    }
    let mut s = Structure { threads: vec![thread], globals, nodes };
    s.canon(layout).ok()?;
    Some(s)
}
