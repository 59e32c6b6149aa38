//! Who calls what: the threads of a client, and the arguments they choose from.

use linpoint_history::Kind;
use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::interp::Machine;
use linpoint_lang::program::{
    Action, Client, ClientThread, Exit, Expr, NONE, OpId, Operation, Place, Slot, SpecSource, Type, Word,
};

/// Threads and what each calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The threads.
    pub threads: Vec<ClientThread>,
    /// How many values data is chosen from, where the program compares data.
    pub values: Word,
}

impl Workload {
    /// So many threads, each with any operations, so many times.
    pub fn general(program: &Program, threads: usize, ops: u32) -> Workload {
        let all: Vec<OpId> = (0..program.operations.len()).map(|i| OpId(i as u16)).collect();
        Workload { threads: vec![ClientThread::Any(all, ops); threads], values: 2 }
    }

    /// For a lock: threads that acquire and release by turns, so often that each calls at least so many operations. Anybody who releases what they do not hold breaks a lock's rules, not the lock. `None`
    /// for everything that is not an object of exactly these two operations.
    pub fn by_turns(program: &Program, threads: usize, ops: u32) -> Option<Workload> {
        let SpecSource::Builtin(spec) = &program.spec else { return None };
        let named = |name: &str| {
            let found = program.operations.iter().position(|op| op.name == name && op.params == 0);
            found.map(|index| (OpId(index as u16), Vec::new()))
        };
        let pair = [named("acquire")?, named("release")?];
        if spec.kind != Kind::Lock || program.operations.len() != 2 {
            return None;
        }
        let calls = pair.iter().cycle().take(2 * ops.div_ceil(2) as usize).cloned().collect();
        Some(Workload { threads: vec![ClientThread::Calls(calls); threads], values: 2 })
    }

    /// A client of the program.
    pub fn of(client: &Client) -> Workload {
        Workload { threads: client.threads.clone(), values: 2 }
    }

    /// Which arguments are chosen from a few [`values`](Workload::values), so that other values were not tried. `distinct` says whether each piece of data is distinct.
    pub fn few_values(&self, program: &Program, distinct: bool) -> FewValues {
        let mut few = FewValues::default();
        let mut most = 0;
        for thread in &self.threads {
            let ClientThread::Any(ops, count) = thread else { continue };
            let mut data = 0;
            for op in ops {
                let operation = program.operation(*op);
                let params = operation.locals[..operation.params].iter().filter(|slot| slot.bounds.is_none());
                let of = |wanted: Type| {
                    let is = |slot: &&Slot| match &slot.ty {
                        Type::Option(inner) => **inner == wanted,
                        ty => *ty == wanted,
                    };
                    params.clone().filter(is).count()
                };
                few.numbers |= of(Type::Int) > 0;
                data = data.max(of(Type::Data));
            }
            most += data * *count as usize;
        }
        // As many values as there are arguments, and the one that data starts with, are as good as all.
        few.data = !distinct && most > 0 && (self.values as usize) <= most;
        few
    }

    /// How many calls a thread makes.
    pub(crate) fn calls(&self, thread: usize) -> usize {
        match &self.threads[thread] {
            ClientThread::Any(_, count) => *count as usize,
            ClientThread::Calls(calls) => calls.len(),
        }
    }
}

/// Which arguments are chosen from a few values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FewValues {
    /// Numbers without a range.
    pub numbers: bool,
    /// Data that is compared.
    pub data: bool,
}

/// The calls that a thread may make next. A word of [`FRESH`] stands for a value that no call had yet.
pub(crate) const FRESH: Word = Word::MAX;

/// Every list of arguments of each operation.
pub(crate) fn arguments(machine: &Machine<'_>, workload: &Workload, unique: bool) -> Vec<Vec<Vec<Word>>> {
    let of = |operation: &Operation| {
        let mut lists: Vec<Vec<Word>> = vec![Vec::new()];
        for slot in &operation.locals[..operation.params] {
            let domain = domain(machine, &slot.ty, slot.bounds.as_ref(), workload, unique);
            lists = lists
                .iter()
                .flat_map(|list| domain.iter().map(move |word| [list.as_slice(), &[*word]].concat()))
                .collect();
        }
        lists
    };
    machine.program.operations.iter().map(of).collect()
}

fn domain(
    machine: &Machine<'_>,
    ty: &Type,
    bounds: Option<&(Expr, Expr)>,
    workload: &Workload,
    unique: bool,
) -> Vec<Word> {
    if let Some((lo, hi)) = bounds {
        return (machine.constant(lo)..=machine.constant(hi)).collect();
    }
    match ty {
        Type::Data if unique => vec![FRESH],
        // The value that data starts with is one of them.
        Type::Data => (0..workload.values).collect(),
        Type::Int => (0..workload.values).collect(),
        Type::Bool => vec![0, 1],
        Type::Enum(id) => (0..machine.program.enums[id.index()].variants.len() as Word).collect(),
        Type::Thread => (0..machine.threads as Word).collect(),
        Type::Option(inner) => {
            let mut values = vec![NONE];
            values.extend(domain(machine, inner, None, workload, unique));
            values
        }
        Type::Pointer(_) => vec![0],
        Type::Lock => vec![NONE],
    }
}

/// May each call be given data that no other has? Only if neither the program nor its specification ever compares data.
pub(crate) fn is_data_independent(program: &Program) -> bool {
    let spec = match &program.spec {
        SpecSource::Nothing => true,
        SpecSource::Builtin(spec) => {
            matches!(spec.kind, Kind::Queue | Kind::Stack | Kind::Deque | Kind::Register | Kind::Snapshot)
        }
        SpecSource::Block(block) => !compares_data(block),
    };
    spec && !compares_data(program)
}

fn compares_data(program: &Program) -> bool {
    program.nodes.iter().any(|node| {
        let seen = |e: &Expr| compares(program, node.op, e);
        node.edges.iter().any(|edge| {
            let returned = match &edge.exit {
                Exit::Return(values) => values.iter().any(seen),
                Exit::Goto(_) => false,
            };
            returned
                || edge.actions.iter().any(|action| match action {
                    Action::Assume(e) | Action::Assert(e, _) | Action::Assign(_, e) | Action::Free(e) => {
                        seen(e)
                    }
                    Action::Choose(_, lo, hi) => seen(lo) || seen(hi),
                    Action::New { fields, .. } => fields.iter().any(|(_, e)| seen(e)),
                    Action::Mark(mark) => mark.when.iter().chain(mark.result.iter().flatten()).any(seen),
                    Action::Lock(_) | Action::Unlock(_) | Action::Claim(_) => false,
                })
        })
    })
}

fn compares(program: &Program, op: OpId, e: &Expr) -> bool {
    let is_data = |e: &Expr| match e {
        Expr::Read(place) => holds_data(program, op, place),
        Expr::Unwrap(_) => true,
        _ => false,
    };
    match e {
        Expr::Binary(BinOp::Eq | BinOp::Ne, a, b) => {
            let none = |e: &Expr| *e == Expr::Const(NONE);
            (is_data(a) || is_data(b)) && !none(a) && !none(b)
                || compares(program, op, a)
                || compares(program, op, b)
        }
        Expr::Binary(_, a, b) => compares(program, op, a) || compares(program, op, b),
        Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => compares(program, op, e),
        Expr::Quantified { lo, hi, body, .. } => [lo, hi, body].into_iter().any(|e| compares(program, op, e)),
        Expr::Read(Place::Element(_, e, _) | Place::Field(e, ..)) => compares(program, op, e),
        _ => false,
    }
}

fn holds_data(program: &Program, op: OpId, place: &Place) -> bool {
    let mut ty = program.slot(op, place).map(|slot| &slot.ty);
    while let Some(Type::Option(inner)) = ty {
        ty = Some(&**inner);
    }
    ty == Some(&Type::Data)
}
