//! What is told apart beside names and kinds, and how more of it is found where a proof fails.
//!
//! Two kinds of predicates can be added (Amit 2007 chose instrumentation predicates by hand; finding them was
//! left open there):
//! - a local that is *kept* after its last use: its node is not melted into others of its kind, so that what
//!   was known of it still is;
//! - the *successor* of a name: structures in which its link leads to different nodes are kept apart. `track
//!   p.next` in the program asks for it.
//!
//! A proof that fails at a step is tried again with one more predicate: each local of the operation there
//! that is not needed any more, then successors. What gets it past that step is kept. More predicates only
//! make structures say more; each proof is checked as any other is, so a wrong choice costs time and nothing
//! else.

use linpoint_lang::program::{Expr, Place, Type};

use crate::layout::{Layout, Mask};
use crate::run::Halt;
use crate::store::{Domain, Full, Store};

/// What is told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Precision {
    /// Locals that are kept after their last use: operation and local.
    pub keep: Vec<(usize, usize)>,
    /// Names whose nodes' links are told apart.
    pub links: Mask,
}

/// More than this many predicates are not added.
const MOST_PREDICATES: usize = 8;

impl Precision {
    /// How structures are joined.
    pub fn domain(&self) -> Domain {
        if self.links == 0 { Domain::Joined } else { Domain::Links(self.links) }
    }

    /// In words, one a predicate.
    pub fn words(&self, layout: &Layout<'_>) -> Vec<String> {
        let operations = &layout.program.operations;
        let kept = self.keep.iter().filter_map(|(op, local)| {
            let operation = operations.get(*op)?;
            let name = &operation.locals.get(*local)?.name;
            Some(format!("`{name}` of {} is kept after its last use", operation.name))
        });
        let shared = layout.shared_names.iter().enumerate();
        let names = shared.filter(|(bit, _)| self.links >> bit & 1 == 1);
        let links = names.map(|(_, name)| format!("where the link of `{name}` leads is told apart"));
        let mut words: Vec<String> = kept.chain(links).collect();
        if self.links & layout.thread_bits(0) != 0 {
            words.push("where links of records with local names lead is told apart".into());
        }
        words
    }
}

/// What the program asks for: `track p.next`.
pub fn by_hand(layout: &Layout<'_>) -> Precision {
    let mut links = 0;
    for path in &layout.program.annotations.tracked {
        if let Expr::Read(Place::Field(pointer, record, field)) = path
            && layout.is_link(record.index(), *field)
            && let Expr::Read(Place::Global(global, _)) = pointer.as_ref()
            && let Some(bit) = layout.global_bit[global.index()]
        {
            links |= 1 << bit;
        }
    }
    Precision { keep: Vec::new(), links }
}

/// The layout of a program with this precision.
///
/// # Errors
/// What is not supported.
pub fn layout<'p>(plain: &Layout<'p>, precision: &Precision) -> Result<Layout<'p>, String> {
    let mut layout = plain.plain()?;
    layout.keep = precision.keep.clone();
    for (op, local) in &precision.keep {
        for (node, live) in plain.program.nodes.iter().zip(&mut layout.live) {
            if node.op.index() == *op
                && let Some(live) = live.get_mut(*local)
            {
                *live = true;
            }
        }
    }
    Ok(layout)
}

/// The views of a proof without what was added to them, in the plain layout of the program: what concrete
/// states, which know nothing of it, are looked up in.
///
/// # Errors
/// Structures that are too large.
pub fn forget(layout: &Layout<'_>, views: &Store<()>) -> Result<Store<()>, Full> {
    let mut plain = Store::new(Domain::Joined);
    for view in &views.all {
        let mut view = view.clone();
        let pc = usize::from(view.threads[0].pc);
        if let Some(live) = layout.live.get(pc) {
            let bits = &layout.local_bit[layout.program.nodes[pc].op.index()];
            for bit in bits.iter().zip(live).filter(|(_, live)| !**live).filter_map(|(bit, _)| *bit) {
                view.clear(layout.bit(0, bit));
            }
        }
        if view.canon(layout).is_ok() {
            plain.add(&(), view)?;
        }
    }
    Ok(plain)
}

/// What may be added where a proof failed, simplest first.
pub fn candidates(plain: &Layout<'_>, precision: &Precision, halt: &Halt) -> Vec<Precision> {
    let mut more = Vec::new();
    let program = plain.program;
    let Ok(layout) = layout(plain, precision) else { return more };
    let Some(node) = program.nodes.get(usize::from(halt.at.0)) else { return more };
    let op = node.op.index();
    if op >= program.operations.len() || precision.keep.len() >= MOST_PREDICATES {
        return more;
    }
    let live = &layout.live[usize::from(halt.at.0)];
    for (local, slot) in program.operations[op].locals.iter().enumerate() {
        let pointer = matches!(slot.ty, Type::Pointer(_)) && !slot.ghost;
        if pointer && !live[local] && !precision.keep.contains(&(op, local)) {
            let mut keep = precision.keep.clone();
            keep.push((op, local));
            more.push(Precision { keep, ..precision.clone() });
        }
    }
    let all = layout.naming(1);
    for links in [precision.links | layout.shared, all] {
        if links != precision.links {
            more.push(Precision { links, ..precision.clone() });
        }
    }
    more
}
