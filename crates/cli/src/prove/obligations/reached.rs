//! What runs of the program say about annotations and countermodels: an invariant that some state breaks is wrong, and a countermodel that is a state of some run
//! is no accident of weak invariants.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::flow::live_locals;
use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{Disjoint, Expr, LocalId, NONE, Place, Slot, Type, UNSET, Word};
use linpoint_lang::span::line_column;
use linpoint_model::{Reach, Reached, TraceStep, Workload, reach};
use linpoint_prove::graph::Graph;
use linpoint_prove::scene::{Picture, Shown};

use super::runs;

/// Longest time for one question.
const TIME: Duration = Duration::from_secs(1);
const STATES: usize = 200_000;
/// Larger sizes are not tried.
const LARGEST: i64 = 4;

/// An annotation that a run breaks.
pub struct Broken {
    /// Which, in words.
    pub what: String,
    /// In which way.
    pub how: Option<String>,
    /// The run.
    pub run: Vec<TraceStep>,
}

/// Looks for a state that breaks what the user wrote with `inv` or `disjoint`.
pub fn broken(program: &Program, text: &str, time: Option<Duration>) -> Option<Broken> {
    let annotations = &program.annotations;
    if annotations.invariants.is_empty() && annotations.disjoint.is_empty() {
        return None;
    }
    let until = Instant::now() + time.unwrap_or(TIME).min(TIME);
    let mut what = None;
    let found = ask(program, &runs::workload(program), None, time, &mut |machine, state| {
        what = first_broken(machine, state, text, until);
        what.is_some()
    })?;
    let (what, how) = what?;
    Some(Broken { what, how, run: found.run? })
}

/// Looks for a state of small runs.
pub fn ask(
    program: &Program,
    workload: &Workload,
    sizes: Option<Vec<Word>>,
    time: Option<Duration>,
    is_wanted: &mut dyn FnMut(&Machine<'_>, &State) -> bool,
) -> Option<Reached> {
    let limits = Reach { sizes, time: time.unwrap_or(TIME).min(TIME), states: STATES };
    reach(program, workload, &limits, is_wanted).ok()
}

fn first_broken(
    machine: &Machine<'_>,
    state: &State,
    text: &str,
    until: Instant,
) -> Option<(String, Option<String>)> {
    let annotations = &machine.program.annotations;
    let mut words = state.words.clone();
    let line = |span: linpoint_lang::span::Span| line_column(text, span.start as usize).0;
    for invariant in &annotations.invariants {
        for thread in 0..machine.threads {
            let here = match machine.pc(state, thread) {
                _ if invariant.at.is_empty() => thread == 0,
                Some(pc) => invariant.at.contains(&pc),
                None => false,
            };
            if here && truth(machine, &mut words, thread, &invariant.body, until) == Some(false) {
                return Some((format!("the invariant of line {}", line(invariant.span)), None));
            }
        }
    }
    for group in &annotations.disjoint {
        let mut held: BTreeMap<Word, usize> = BTreeMap::new();
        for thread in 0..machine.threads {
            let Some(pc) = machine.pc(state, thread) else { continue };
            for one in group.iter().filter(|one| one.at.contains(&pc)) {
                let counts = match &one.when {
                    Some(when) => truth(machine, &mut words, thread, when, until) == Some(true),
                    None => true,
                };
                let word = machine.local(state, thread, one.local.index());
                if !counts || word == UNSET {
                    continue;
                }
                if *held.entry(word).or_insert(thread) != thread {
                    let how = format!("two threads have {word}");
                    return Some((format!("`{}`", disjoint(machine.program, group)), Some(how)));
                }
            }
        }
    }
    None
}

/// A `disjoint` as it is written, without its conditions.
fn disjoint(program: &Program, group: &[Disjoint]) -> String {
    let one = |one: &Disjoint| {
        let nodes = || one.at.iter().map(|node| program.node(*node));
        let labels: Vec<&str> = nodes().filter_map(|node| node.label.as_deref()).collect();
        let name = nodes().next().map(|node| &program.operation(node.op).locals[one.local.index()].name);
        let name = name.map_or("", String::as_str);
        let when = if one.when.is_some() { " if …" } else { "" };
        format!("{name} at {}{when}", labels.join(", "))
    };
    format!("disjoint {}", group.iter().map(one).collect::<Vec<_>>().join("; "))
}

/// Does it hold for this thread? `None` where it cannot be told, or not until then: quantifiers in quantifiers multiply.
pub fn truth(
    machine: &Machine<'_>,
    words: &mut [Word],
    thread: usize,
    e: &Expr,
    until: Instant,
) -> Option<bool> {
    let mut truth = |e: &Expr| self::truth(machine, words, thread, e, until);
    let value = match e {
        Expr::Not(inner) => !truth(inner)?,
        Expr::Binary(BinOp::And, a, b) => truth(a)? && truth(b)?,
        Expr::Binary(BinOp::Or, a, b) => truth(a)? || truth(b)?,
        Expr::Binary(BinOp::Implies, a, b) => !truth(a)? || truth(b)?,
        // The bound variable of an annotation has no place in the frame: numbers are put in instead.
        Expr::Quantified { all, local, lo, hi, body } => {
            let (lo, hi) = (machine.value(words, thread, lo).ok()?, machine.value(words, thread, hi).ok()?);
            let mut value = *all;
            for n in lo..hi {
                if Instant::now() >= until {
                    return None;
                }
                if self::truth(machine, words, thread, &with(body, *local, n), until)? != *all {
                    value = !*all;
                    break;
                }
            }
            value
        }
        e => machine.value(words, thread, e).ok()? != 0,
    };
    Some(value)
}

/// The expression with a number in the place of a local.
fn with(e: &Expr, local: LocalId, n: Word) -> Expr {
    let inner = |e: &Expr| Box::new(with(e, local, n));
    match e {
        Expr::Read(Place::Local(id)) if *id == local => Expr::Const(n),
        Expr::Read(Place::Element(global, index, slot)) => {
            Expr::Read(Place::Element(*global, inner(index), *slot))
        }
        Expr::Read(Place::Field(pointer, record, slot)) => {
            Expr::Read(Place::Field(inner(pointer), *record, *slot))
        }
        Expr::Not(e) => Expr::Not(inner(e)),
        Expr::Neg(e) => Expr::Neg(inner(e)),
        Expr::Unwrap(e) => Expr::Unwrap(inner(e)),
        Expr::Binary(op, a, b) => Expr::Binary(*op, inner(a), inner(b)),
        Expr::Quantified { all, local: bound, lo, hi, body } => Expr::Quantified {
            all: *all,
            local: *bound,
            lo: inner(lo),
            hi: inner(hi),
            body: if *bound == local { body.clone() } else { inner(body) },
        },
        e => e.clone(),
    }
}

/// What runs say about a countermodel.
pub fn word(program: &Program, graph: &Graph, picture: &Picture, time: Option<Duration>) -> String {
    if picture.sizes.iter().any(|size| *size > LARGEST) {
        return "its sizes are too large to look for it in runs".into();
    }
    let sizes = picture.sizes.iter().map(|size| *size as Word).collect();
    // Who releases what nobody holds comes to states that mean nothing.
    let workload = Workload::usual(program, 2, 2);
    let live = live_locals(program);
    let found = ask(program, &workload, Some(sizes), time, &mut |machine, state| {
        (0..machine.threads).any(|p| is_this(machine, state, (graph, &live), picture, p))
    });
    match found {
        Some(Reached { run: Some(run), .. }) => {
            format!("a run of 2 threads comes to it, in {} steps", run.len())
        }
        Some(Reached { states, complete: true, .. }) => {
            format!(
                "no run of 2 threads with 2 operations comes to it ({states} states): what is known is too weak"
            )
        }
        Some(Reached { states, .. }) => {
            format!(
                "none of {states} states of runs with 2 threads is this one: what is known may be too weak"
            )
        }
        None => "it cannot be looked for in runs".into(),
    }
}

/// Values of the model and of the run that stand for each other: data, threads and records have no names of their own.
#[derive(Default)]
struct Renaming {
    there: BTreeMap<(u8, i64), Word>,
    back: BTreeMap<(u8, Word), i64>,
}

impl Renaming {
    fn agree(&mut self, ty: &Type, model: i64, run: Word) -> bool {
        if run == UNSET {
            return true;
        }
        let none = (model == i64::from(NONE), run == NONE);
        let sort = match ty {
            Type::Option(inner) if none == (false, false) => return self.agree(inner, model, run),
            Type::Option(_) => return none == (true, true),
            Type::Lock if none != (false, false) => return none == (true, true),
            Type::Bool => return (model != 0) == (run != 0),
            Type::Int | Type::Enum(_) => return model == i64::from(run),
            Type::Pointer(_) if model == 0 || run == 0 => return model == i64::from(run),
            Type::Data => 0,
            Type::Thread | Type::Lock => 1,
            Type::Pointer(_) => 2,
        };
        *self.there.entry((sort, model)).or_insert(run) == run
            && *self.back.entry((sort, run)).or_insert(model) == model
    }
}

/// Is the state the countermodel's, with thread `p` about to take the step?
fn is_this(
    machine: &Machine<'_>,
    state: &State,
    places: (&Graph, &[Vec<bool>]),
    picture: &Picture,
    p: usize,
) -> bool {
    let mut names = Renaming::default();
    let Some(this) = &picture.p else { return false };
    if !is_at(machine, state, places, this, p, &mut names) {
        return false;
    }
    let others = || (0..machine.threads).filter(move |thread| *thread != p);
    if let Some(other) = &picture.q
        && !others().any(|thread| is_at(machine, state, places, other, thread, &mut names))
    {
        return false;
    }
    let mut words = state.words.clone();
    picture.slots.iter().all(|shown| {
        let Some(number) = shown.global else { return true };
        let global = &machine.program.globals[number];
        let slot: &Slot = &global.slots[shown.slot];
        let id = linpoint_lang::program::GlobalId(number as u16);
        let place = match (shown.index, &global.length) {
            (Some(index), Some(length)) => {
                if !(0..i64::from(machine.constant(length))).contains(&index) {
                    return true;
                }
                Place::Element(id, Box::new(Expr::Const(index as Word)), shown.slot as u16)
            }
            _ => Place::Global(id, shown.slot as u16),
        };
        match machine.place(&mut words, p, &place) {
            Ok(at) => names.agree(&slot.ty, shown.value.0, words[at]),
            Err(_) => false,
        }
    })
}

/// Is the thread where the model's is, with its locals as far as they still matter?
fn is_at(
    machine: &Machine<'_>,
    state: &State,
    (graph, live): (&Graph, &[Vec<bool>]),
    shown: &Shown,
    thread: usize,
    names: &mut Renaming,
) -> bool {
    if !names.agree(&Type::Thread, shown.pid, thread as Word) {
        return false;
    }
    if shown.at == Graph::IDLE {
        return machine.pc(state, thread).is_none();
    }
    let place = graph.place(shown.at);
    if machine.pc(state, thread) != Some(place.node) {
        return false;
    }
    let locals = &machine.program.operation(place.op).locals;
    locals.iter().zip(&shown.locals).enumerate().all(|(local, (slot, (before, _)))| {
        let matters = live[place.node.index()][local];
        !matters || names.agree(&slot.ty, *before, machine.local(state, thread, local))
    })
}
