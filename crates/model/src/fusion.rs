//! Which control points others cannot notice: all steps there touch only locals, records that nobody else can
//! have a pointer to, and places that nobody ever changes.
//!
//! A record is *private* to a local from its `new` until the local is copied, stored or passed anywhere. That
//! is a property of paths, joined by "on every path"; it is never wrong, and finds what matters: the node
//! that an operation makes and fills before it links it. Records of a kind that is freed anywhere are never
//! private: `new` may take the place of one that others still have pointers to.
//!
//! A shared variable that no operation writes is *fixed* once threads run, and so is a field that is written
//! only while its record is private, of a kind of record that is never freed: the key of a node, the list's
//! first node. Who reads a fixed place reads the same whenever it does, so the step commutes with all steps
//! of others. Where claims are decided, nothing counts as fixed: a claim may wait for the read itself.

use linpoint_lang::Program;
use linpoint_lang::program::{Action, Edge, Exit, Expr, LocalId, Operation, Place, Term};

/// What is noticed besides the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noticed {
    /// Linearization points.
    pub points: bool,
    /// What claims wait for.
    pub claims: bool,
    /// Reads of what nobody ever changes.
    pub fixed_reads: bool,
}

/// For each node: may its steps be taken together with the step before?
pub(crate) fn local_nodes(program: &Program, noticed: Noticed) -> Vec<bool> {
    let points = noticed.points;
    let mut local = vec![false; program.nodes.len()];
    let fixed = if noticed.claims || noticed.fixed_reads { Fixed::default() } else { Fixed::of(program) };
    for (op, operation) in program.operations.iter().enumerate() {
        let claimed = if noticed.claims { Claimed::of(program, op) } else { Claimed::default() };
        let private = private_at(program, operation);
        for (index, private) in private.into_iter().enumerate() {
            let Some(private) = private else { continue };
            local[index] = program.nodes[index]
                .edges
                .iter()
                .all(|edge| is_local(program, edge, (&private, &fixed), points))
                && !program.nodes[index].edges.iter().any(|edge| claimed.concerns(edge));
        }
    }
    local
}

/// Nodes on cycles of nodes that nobody notices are noticed from now on: the cycle is one of the graph of
/// states then.
pub(crate) fn keep_cycles(program: &Program, local: &mut [bool]) {
    let next = |node: usize, local: &[bool]| -> Vec<usize> {
        let edges = program.nodes[node].edges.iter();
        let to = edges.filter_map(|edge| match &edge.exit {
            Exit::Goto(to) => Some(to.index()),
            Exit::Return(_) => None,
        });
        to.filter(|to| local[*to]).collect()
    };
    let before = local.to_vec();
    for start in (0..local.len()).filter(|node| before[*node]) {
        let (mut met, mut open) = (vec![false; before.len()], next(start, &before));
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut met[node], true) {
                open.extend(next(node, &before));
            }
        }
        local[start] = !met[start];
    }
}

/// Places that nobody changes once threads run.
#[derive(Default)]
struct Fixed {
    /// Slots of each shared variable, fields of each kind of record.
    globals: Vec<Vec<bool>>,
    fields: Vec<Vec<bool>>,
}

impl Fixed {
    fn of(program: &Program) -> Fixed {
        let mut fixed = Fixed {
            globals: program.globals.iter().map(|global| vec![true; global.slots.len()]).collect(),
            fields: program.records.iter().map(|record| vec![!record.freed; record.fields.len()]).collect(),
        };
        for operation in &program.operations {
            for (node, private) in program.nodes.iter().zip(private_at(program, operation)) {
                let Some(private) = private else { continue };
                node.edges.iter().for_each(|edge| fixed.see(program, edge, private.clone()));
            }
        }
        fixed
    }

    /// What an edge writes is not fixed.
    fn see(&mut self, program: &Program, edge: &Edge, mut private: Vec<bool>) {
        for action in &edge.actions {
            let single = Edge { actions: vec![action.clone()], exit: Exit::Return(vec![]), span: edge.span };
            single.accesses(&mut |place, write| match place {
                _ if !write || is_private(place, &private) => {}
                Place::Global(global, slot) | Place::Element(global, _, slot) => {
                    self.globals[global.index()][usize::from(*slot)] = false;
                }
                Place::Field(_, record, field) => {
                    self.fields[record.index()][usize::from(*field)] = false;
                }
                Place::Local(_) => {}
            });
            private = after(program, &single, private);
        }
    }

    fn has(&self, place: &Place) -> bool {
        let found = match place {
            Place::Global(global, slot) | Place::Element(global, _, slot) => {
                self.globals.get(global.index()).and_then(|slots| slots.get(usize::from(*slot)))
            }
            Place::Field(_, record, field) => {
                self.fields.get(record.index()).and_then(|fields| fields.get(usize::from(*field)))
            }
            Place::Local(_) => None,
        };
        found == Some(&true)
    }
}

/// Steps of an operation that touch nothing shared, and matter to its claims in the order with steps of
/// others.
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
            let after = after(program, edge, before.clone());
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

fn after(program: &Program, edge: &Edge, mut private: Vec<bool>) -> Vec<bool> {
    for action in &edge.actions {
        match action {
            Action::Assign(place, e) => {
                leak(e, &mut private);
                if let Place::Local(local) = place {
                    private[local.index()] = false;
                }
            }
            Action::New { local, record, fields } => {
                fields.iter().for_each(|(_, e)| leak(e, &mut private));
                private[local.index()] = !program.records[record.index()].freed;
            }
            Action::Choose(local, ..) => private[local.index()] = false,
            Action::Free(e) => leak(e, &mut private),
            _ => {}
        }
    }
    private
}

/// A local whose own value goes somewhere is private no more. Reading a field of what it points to tells
/// nobody where it is.
fn leak(e: &Expr, private: &mut [bool]) {
    match e {
        Expr::Read(Place::Local(local)) => private[local.index()] = false,
        Expr::Unwrap(e) => leak(e, private),
        _ => {}
    }
}

fn is_local(program: &Program, edge: &Edge, (private, fixed): (&[bool], &Fixed), points: bool) -> bool {
    let mut alone = true;
    let mut private = private.to_vec();
    for action in &edge.actions {
        let single = Edge { actions: vec![action.clone()], exit: Exit::Return(vec![]), span: edge.span };
        single
            .accesses(&mut |place, write| alone &= is_private(place, &private) || !write && fixed.has(place));
        alone &= match action {
            // Where points are not looked at, what they read may still be an error.
            Action::Mark(mark) => {
                !points && mark.reads_only(&|place| is_private(place, &private) || fixed.has(place))
            }
            Action::Claim(_) | Action::Free(_) | Action::Lock(_) | Action::Unlock(_) => false,
            Action::New { record, .. } => !program.records[record.index()].freed,
            _ => true,
        };
        private = after(program, &single, private);
    }
    if let Exit::Return(values) = &edge.exit {
        for value in values {
            value.places(&mut |place| alone &= is_private(place, &private) || fixed.has(place));
        }
    }
    alone
}

/// Can nobody else get at the place?
fn is_private(place: &Place, private: &[bool]) -> bool {
    match place {
        Place::Local(_) => true,
        Place::Field(pointer, ..) => {
            matches!(&**pointer, Expr::Read(Place::Local(local)) if private[local.index()])
        }
        Place::Global(..) | Place::Element(..) => false,
    }
}
