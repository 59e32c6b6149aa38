//! Which control points others cannot notice: all steps there touch only locals, and records that nobody else can have a pointer to.
//!
//! A record is *private* to a local from its `new` until the local is copied, stored or passed anywhere. That is a property of paths, joined by "on every path"; it is
//! never wrong, and finds what matters: the node that an operation makes and fills before it links it.

use linpoint_lang::Program;
use linpoint_lang::program::{Action, Edge, Exit, Expr, LocalId, Operation, Place, Term};

/// What is noticed besides the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noticed {
    /// Linearization points.
    pub points: bool,
    /// What claims wait for.
    pub claims: bool,
}

/// For each node: may its steps be taken together with the step before?
pub(crate) fn local_nodes(program: &Program, noticed: Noticed) -> Vec<bool> {
    let points = noticed.points;
    let mut local = vec![false; program.nodes.len()];
    for (op, operation) in program.operations.iter().enumerate() {
        let claimed = if noticed.claims { Claimed::of(program, op) } else { Claimed::default() };
        let private = private_at(program, operation);
        for (index, private) in private.into_iter().enumerate() {
            let Some(private) = private else { continue };
            local[index] =
                program.nodes[index].edges.iter().all(|edge| is_local(program, edge, &private, points))
                    && !program.nodes[index].edges.iter().any(|edge| claimed.concerns(edge));
        }
    }
    local
}

/// Steps of an operation that touch nothing shared, and matter to its claims in the order with steps of others.
#[derive(Default)]
struct Claimed {
    /// Conditions of `last` read these locals.
    locals: Vec<LocalId>,
    /// They read fields: of which record cannot be told.
    fields: bool,
    /// An `exit` waits for a shared place.
    exits: bool,
}

impl Claimed {
    fn of(program: &Program, op: usize) -> Claimed {
        let mut claimed = Claimed::default();
        let nodes = program.nodes.iter().filter(|node| node.op.index() == op);
        for action in nodes.flat_map(|node| &node.edges).flat_map(|edge| &edge.actions) {
            let Action::Claim(claim) = action else { continue };
            for term in &program.claims[claim.index()].terms {
                match term {
                    Term::Exit { place } => claimed.exits |= place.is_shared(),
                    Term::Last { until, .. } => until.places(&mut |place| match place {
                        Place::Local(local) => claimed.locals.push(*local),
                        Place::Field(..) => claimed.fields = true,
                        Place::Global(..) | Place::Element(..) => {}
                    }),
                    Term::First { .. } => {}
                }
            }
        }
        claimed
    }

    fn concerns(&self, edge: &Edge) -> bool {
        let mut found = self.exits && matches!(edge.exit, Exit::Return(_));
        edge.accesses(&mut |place, write| {
            found |= write
                && match place {
                    Place::Local(local) => self.locals.contains(local),
                    Place::Field(..) => self.fields,
                    Place::Global(..) | Place::Element(..) => false,
                };
        });
        found
    }
}

/// For each node of an operation, the locals that hold private records.
fn private_at(program: &Program, operation: &Operation) -> Vec<Option<Vec<bool>>> {
    let mut at: Vec<Option<Vec<bool>>> = vec![None; program.nodes.len()];
    at[operation.entry.index()] = Some(vec![false; operation.locals.len()]);
    let mut open = vec![operation.entry];
    while let Some(node) = open.pop() {
        let Some(before) = at[node.index()].clone() else { continue };
        for edge in &program.node(node).edges {
            let Exit::Goto(to) = edge.exit else { continue };
            let after = after(edge, before.clone());
            let merged = match &at[to.index()] {
                None => after,
                Some(old) => old.iter().zip(&after).map(|(a, b)| *a && *b).collect(),
            };
            if at[to.index()].as_ref() != Some(&merged) {
                at[to.index()] = Some(merged);
                open.push(to);
            }
        }
    }
    at
}

fn after(edge: &Edge, mut private: Vec<bool>) -> Vec<bool> {
    for action in &edge.actions {
        match action {
            Action::Assign(place, e) => {
                leak(e, &mut private);
                if let Place::Local(local) = place {
                    private[local.index()] = false;
                }
            }
            Action::New { local, fields, .. } => {
                fields.iter().for_each(|(_, e)| leak(e, &mut private));
                private[local.index()] = true;
            }
            Action::Choose(local, ..) => private[local.index()] = false,
            Action::Free(e) => leak(e, &mut private),
            _ => {}
        }
    }
    private
}

/// A local whose own value goes somewhere is private no more. Reading a field of what it points to tells nobody where it is.
fn leak(e: &Expr, private: &mut [bool]) {
    match e {
        Expr::Read(Place::Local(local)) => private[local.index()] = false,
        Expr::Unwrap(e) => leak(e, private),
        _ => {}
    }
}

fn is_local(program: &Program, edge: &Edge, private: &[bool], points: bool) -> bool {
    let mut alone = true;
    let mut private = private.to_vec();
    for action in &edge.actions {
        let single = Edge { actions: vec![action.clone()], exit: Exit::Return(vec![]), span: edge.span };
        single.accesses(&mut |place, _| alone &= is_own(place, &private));
        alone &= match action {
            Action::Mark(_) => !points,
            Action::Claim(_) | Action::Free(_) | Action::Lock(_) | Action::Unlock(_) => false,
            Action::New { record, .. } => !program.records[record.index()].freed,
            _ => true,
        };
        private = after(&single, private);
    }
    if let Exit::Return(values) = &edge.exit {
        for value in values {
            value.places(&mut |place| alone &= is_own(place, &private));
        }
    }
    alone
}

fn is_own(place: &Place, private: &[bool]) -> bool {
    match place {
        Place::Local(_) => true,
        Place::Field(pointer, ..) => {
            matches!(&**pointer, Expr::Read(Place::Local(local)) if private[local.index()])
        }
        Place::Global(..) | Place::Element(..) => false,
    }
}
