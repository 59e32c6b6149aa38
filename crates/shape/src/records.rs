//! Records: steps that others can notice, cut down to what they read, and one for all steps with the same
//! code.
//!
//! A procedure that is inlined into several operations makes the same steps many times. To others it is all
//! one who takes them: records of such steps are renamed to the locals of the first, and joined. A step in
//! which an operation takes effect keeps its operation.

use linpoint_lang::program::{Action, Edge, Expr, Place};
use rustc_hash::FxHashMap;

use crate::exec::{Points, width};
use crate::layout::{Layout, Mask};
use crate::structure::{Effect, Structure, TRACKED};

/// What of its thread a step reads, and which step stands for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cut {
    bits: Mask,
    scalars: u64,
    /// Does an operation take effect in it?
    marked: bool,
    /// The step that stands for all with this code.
    pub at: (u16, u16),
    /// The locals of this step and of that one, in the order in which they are met.
    rename: Vec<(usize, usize)>,
}

/// The cut of each edge of each node.
pub(crate) fn cuts(layout: &Layout<'_>, points: &Points) -> Vec<Vec<Cut>> {
    let program = layout.program;
    let mut known: FxHashMap<String, ((u16, u16), Vec<usize>)> = FxHashMap::default();
    let mut all = Vec::with_capacity(program.nodes.len());
    for (index, node) in program.nodes.iter().enumerate() {
        let op = node.op.index();
        let mut cuts = vec![Cut::default(); node.edges.len()];
        if op >= program.operations.len() {
            all.push(cuts);
            continue;
        }
        for (number, edge) in node.edges.iter().enumerate() {
            let cut = &mut cuts[number];
            cut.marked = match points {
                Points::Given => edge.marks().next().is_some(),
                Points::At(list) => {
                    list.iter().any(|(n, e, _)| (usize::from(*n), usize::from(*e)) == (index, number))
                }
            };
            let mut argument = cut.marked;
            reads(edge, &mut |local| {
                argument |= local < program.operations[op].params;
                if let Some(bit) = layout.local_bit[op][local] {
                    cut.bits |= layout.bit(0, bit);
                }
                if let Some((shift, scalar)) = layout.scalar[op][local] {
                    cut.scalars |= width(scalar) << shift;
                }
            });
            if argument {
                cut.bits |= layout.bit(0, layout.argument);
            }
            cut.bits |= layout.kept();
            for (_, local) in layout.keep.iter().filter(|(of, _)| *of == op) {
                if let Some(bit) = layout.local_bit[op].get(*local).copied().flatten() {
                    cut.bits |= layout.bit(0, bit);
                }
            }
            let here = (index as u16, number as u16);
            let (code, locals) = code(layout, op, edge, cut.marked.then_some(here));
            let (at, others) = known.entry(code).or_insert((here, locals.clone()));
            cut.at = *at;
            cut.rename = locals.into_iter().zip(others.iter().copied()).collect();
        }
        all.push(cuts);
    }
    all
}

/// A step's code with its locals numbered as they are met, and these locals. A step in which an operation
/// takes effect, and one that makes a record, is like no other.
fn code(layout: &Layout<'_>, op: usize, edge: &Edge, own: Option<(u16, u16)>) -> (String, Vec<usize>) {
    let actions: Vec<&Action> =
        edge.actions.iter().filter(|action| !matches!(action, Action::Mark(_))).collect();
    let text = format!("{actions:?}");
    let mut code = String::with_capacity(text.len());
    let mut locals: Vec<usize> = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("LocalId(") {
        let (before, after) = rest.split_at(at + "LocalId(".len());
        let end = after.find(')').unwrap_or(0);
        let local: usize = after[..end].parse().unwrap_or(0);
        let place = locals.iter().position(|known| *known == local).unwrap_or_else(|| {
            locals.push(local);
            locals.len() - 1
        });
        code.push_str(before);
        code.push_str(&place.to_string());
        rest = &after[end..];
    }
    code.push_str(rest);
    for local in &locals {
        let slot = &layout.program.operations[op].locals[*local];
        let param = *local < layout.program.operations[op].params;
        code.push_str(&format!(" {:?} {} {param}", slot.ty, slot.ghost));
    }
    let makes = edge.actions.iter().any(|action| matches!(action, Action::New { .. }));
    let keeps = layout.keep.iter().any(|(of, _)| *of == op);
    if own.is_some() || makes || keeps || layout.roles[op] == crate::layout::Role::Insert {
        code.push_str(&format!(" {op} {own:?}"));
    }
    (code, locals)
}

/// The locals that a step reads, in code and conditions of points. Results are not compared for others.
fn reads(edge: &Edge, see: &mut impl FnMut(usize)) {
    let mut expr = |e: &Expr| {
        e.places(&mut |place| {
            if let Place::Local(local) = place {
                see(local.index());
            }
        });
    };
    for action in &edge.actions {
        match action {
            Action::Assume(e) | Action::Assert(e, _) | Action::Free(e) => expr(e),
            Action::Assign(place, e) => {
                expr(e);
                expr(&Expr::Read(place.clone()));
            }
            Action::Choose(_, lo, hi) => {
                expr(lo);
                expr(hi);
            }
            Action::Prophecy(_, resolved) => resolved.iter().for_each(&mut expr),
            Action::New { fields, .. } => fields.iter().for_each(|(_, e)| expr(e)),
            Action::Lock(place) | Action::Unlock(place) => expr(&Expr::Read(place.clone())),
            Action::Mark(mark) => mark.when.iter().chain(&mark.of).for_each(&mut expr),
            Action::Claim(_) => {}
        }
    }
}

/// The view before a step, without what the step does not read, and the step that it is a record of. `None`
/// if it holds a lock on a nameless record.
pub(crate) fn cut(
    layout: &Layout<'_>,
    view: &Structure,
    edge: usize,
    cut: &Cut,
) -> Option<((u16, u16), Structure)> {
    let mut record = view.clone();
    let own = layout.thread_bits(0);
    let held = layout.held(0);
    let pc = view.threads[0].pc;
    let locks = view.nodes.iter().any(|node| node.mask & held != 0);
    let thread = &mut record.threads[0];
    thread.effect = Effect::Open;
    thread.seen &= if cut.marked { TRACKED } else { 0 };
    thread.scalars &= cut.scalars;
    for node in &mut record.nodes {
        // Names of nodes whose lock is held are kept: mutual exclusion hangs on them.
        if node.mask & held == 0 {
            node.mask &= !own | cut.bits;
        }
    }
    let at = if locks { (pc, edge as u16) } else { cut.at };
    if at.0 != pc {
        rename(layout, &mut record, cut);
    }
    if record.canon(layout).is_err() || holds_nameless(layout, &record) {
        return None;
    }
    Some((at, record))
}

/// Turns the locals of a step into those of the step that stands for it.
fn rename(layout: &Layout<'_>, record: &mut Structure, cut: &Cut) {
    let op = layout.op_at(record.threads[0].pc);
    let to = layout.op_at(cut.at.0);
    let own = layout.thread_bits(0);
    let argument = layout.bit(0, layout.argument) | layout.kept();
    for node in &mut record.nodes {
        let names = node.mask & own;
        node.mask = node.mask & !own | names & argument;
        for (from, local) in &cut.rename {
            if let (Some(from), Some(bit)) = (layout.local_bit[op][*from], layout.local_bit[to][*local])
                && names & layout.bit(0, from) != 0
            {
                node.mask |= layout.bit(0, bit);
            }
        }
    }
    let thread = &mut record.threads[0];
    let scalars = std::mem::take(&mut thread.scalars);
    thread.pc = cut.at.0;
    for (from, local) in &cut.rename {
        if let (Some((from, scalar)), Some((shift, _))) =
            (layout.scalar[op][*from], layout.scalar[to][*local])
        {
            thread.scalars |= (scalars >> from & width(scalar)) << shift;
        }
    }
}

impl Layout<'_> {
    /// Names of the first thread that every record keeps: what two threads never have in common.
    fn kept(&self) -> Mask {
        let mut bits = 0;
        if self.offer_kind != 0 {
            bits |= self.bit(0, self.offer);
        }
        if self.freed != 0 {
            bits |= self.bit(0, self.mine) | self.bit(0, self.answer);
        }
        bits
    }
}

/// Is there a lock on a record that no variable leads to?
pub(crate) fn holds_nameless(layout: &Layout<'_>, s: &Structure) -> bool {
    let held = layout.held(0);
    s.nodes.iter().any(|node| node.many && node.mask & held != 0)
}
