//! Who calls what: the threads of a client, and the arguments they choose from.

mod equalities;
mod turns;

use linpoint_history::Kind;
use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::interp::Machine;
use linpoint_lang::program::{
    Action, Client, ClientThread, Exit, Expr, NONE, OpId, Operation, Place, Slot, SpecSource, Type, Word,
};

use crate::explore::Deciding;

use equalities::asks_for_different_data;
pub use turns::Rules;

/// Threads and what each calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The threads.
    pub threads: Vec<ClientThread>,
    /// How many values data is chosen from, where the program compares data.
    pub values: Word,
    /// What threads that call anything may call, where what is held has to be given back.
    pub rules: Option<Rules>,
}

impl Workload {
    /// So many threads, each with any operations, so many times.
    pub fn general(program: &Program, threads: usize, ops: u32) -> Workload {
        let all: Vec<OpId> = (0..program.operations.len()).map(|i| OpId(i as u16)).collect();
        Workload { threads: vec![ClientThread::Any(all, ops); threads], values: 2, rules: None }
    }

    /// The threads of those who say only how many there are: they call what they like, but keep the rules of
    /// a lock.
    pub fn usual(program: &Program, threads: usize, ops: u32) -> Workload {
        let by_turns = Workload::by_turns(program, threads, ops);
        by_turns.unwrap_or_else(|| Workload::general(program, threads, ops))
    }

    /// For what is held and given back (locks, semaphores): threads that call any operation that [`Rules`]
    /// allow, so often that each can acquire and release at least so many operations. `None` for everything
    /// else.
    pub fn by_turns(program: &Program, threads: usize, ops: u32) -> Option<Workload> {
        let rules = Rules::of(program)?;
        let general = Workload::general(program, threads, 2 * ops.div_ceil(2));
        Some(Workload { rules: Some(rules), ..general })
    }

    /// Does it keep the rules of a lock? Who releases what they do not hold, or asks for what they hold,
    /// breaks the rules of a lock, and not the lock.
    #[must_use]
    pub fn keeps_rules(&self, program: &Program) -> bool {
        let ruled = matches!(&program.spec, SpecSource::Builtin(spec) if spec.kind == Kind::Lock);
        let Some(rules) = Rules::of(program).filter(|_| ruled && self.rules.is_none()) else { return true };
        self.threads.iter().all(|thread| match thread {
            ClientThread::Calls(calls) => rules.surely_kept(calls.iter().map(|(op, _)| *op)),
            ClientThread::Any(_, count) => *count == 0,
        })
    }

    /// A client of the program.
    pub fn of(client: &Client) -> Workload {
        Workload { threads: client.threads.clone(), values: 2, rules: None }
    }

    /// Which arguments are chosen from a few [`values`](Workload::values), so that other values were not
    /// tried. `distinct` says whether each piece of data is distinct.
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

    /// An argument that its parameter cannot have, with the sizes of the machine.
    pub(crate) fn out_of_range(&self, machine: &Machine<'_>) -> Option<String> {
        let of_call = |(op, args): &(OpId, Vec<Word>)| {
            let operation = machine.program.operation(*op);
            operation.locals.iter().zip(args).find_map(|(slot, word)| {
                let (lo, hi) = slot.bounds.as_ref()?;
                let (lo, hi) = (machine.constant(lo), machine.constant(hi));
                let (call, name) = (&operation.name, &slot.name);
                let said = || format!("a client calls `{call}` with {word}: `{name}` is from {lo} to {hi}");
                (!(lo..=hi).contains(word)).then(said)
            })
        };
        self.threads.iter().find_map(|thread| match thread {
            ClientThread::Calls(calls) => calls.iter().find_map(of_call),
            ClientThread::Any(..) => None,
        })
    }

    /// May a call fail to take what is given back later? Then it is given back only where it was taken.
    #[must_use]
    pub fn may_fail_to_take(&self) -> bool {
        self.rules.as_ref().is_some_and(Rules::may_fail)
    }

    /// Has a thread with this count calls left to make?
    pub(crate) fn has_calls_left(&self, thread: usize, count: usize) -> bool {
        let made = if self.rules.is_some() { Rules::calls(count) } else { count };
        made < self.calls(thread)
    }

    /// May a thread with this count call the operation?
    pub(crate) fn allows(&self, count: usize, op: OpId) -> bool {
        self.rules.as_ref().is_none_or(|rules| rules.allow(count, op))
    }

    /// The count of a thread after it called the operation: of its calls, and of what it holds.
    pub(crate) fn called(&self, count: usize, op: OpId) -> usize {
        self.rules.as_ref().map_or(count + 1, |rules| rules.called(count, op))
    }

    /// The count of a thread after the operation answered.
    pub(crate) fn answered(&self, count: usize, op: OpId, result: &[Word]) -> usize {
        self.rules.as_ref().map_or(count, |rules| rules.answered(count, op, result))
    }

    /// The largest count that a thread may come to.
    pub(crate) fn largest_count(&self, thread: usize) -> usize {
        let calls = self.calls(thread);
        if self.rules.is_some() { Rules::largest(calls) } else { calls }
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

/// More lists of arguments than this of one operation are not made.
pub(crate) const MOST_LISTS: i64 = 100_000;

/// Has some operation more lists of arguments, by its ranges alone, than are made?
pub(crate) fn has_too_many_arguments(machine: &Machine<'_>) -> bool {
    machine.program.operations.iter().any(|operation| {
        let ranges = operation.locals[..operation.params].iter().filter_map(|slot| slot.bounds.as_ref());
        let counts = ranges.map(|(lo, hi)| {
            let (lo, hi) = (i64::from(machine.constant(lo)), i64::from(machine.constant(hi)));
            (hi - lo + 1).max(0)
        });
        counts.fold(1, i64::saturating_mul) > MOST_LISTS
    })
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

/// May each call be given data that no other has? Only if neither the program nor its specification ever
/// compares data, and no claim that is decided can be false because two pieces are equal.
pub(crate) fn is_data_independent(program: &Program, claims: Deciding) -> bool {
    if claims == Deciding::Decided && asks_for_different_data(program) {
        return false;
    }
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
                    Action::Prophecy(_, resolved) => resolved.iter().any(seen),
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
