//! Who may call: any number of threads, so many, or so many that only insert and so many that only take.
//!
//! A verdict is about a scope, whoever comes to it: the analysis runs the threads of the scope, and what is
//! explored to refute a program, or to look at a proof a second time, is a client within it. A client with
//! fewer threads is within a scope of more, since threads may call nothing.

use linpoint_history::Kind;
use linpoint_lang::Program;
use linpoint_lang::program::{ClientThread, OpId, SpecSource};
use linpoint_model::Workload;

use crate::layout::Role;
use crate::threads::Client;

/// How many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Any number.
    Any,
    /// So many, each calling anything.
    Threads(usize),
    /// So many that only insert, and so many that only take; of a set, that only add and only remove.
    Roles(usize, usize),
}

/// The operations that threads which only insert may call, and those that threads which only take may.
fn sides(roles: &[Role]) -> (Vec<usize>, Vec<usize>) {
    let with = |wanted: &dyn Fn(Role) -> bool| -> Vec<usize> {
        (0..roles.len()).filter(|&op| wanted(roles[op])).collect()
    };
    let put = with(&|role| matches!(role, Role::Insert | Role::Add));
    let get = with(&|role| matches!(role, Role::Take | Role::Remove));
    (put, get)
}

impl Scope {
    /// The threads of the analysis; `None` for any number of them.
    pub(crate) fn client(self, roles: &[Role]) -> Option<Client> {
        match self {
            Scope::Any => None,
            Scope::Threads(count) => Some(Client { threads: vec![(0..roles.len()).collect(); count] }),
            Scope::Roles(producers, consumers) => {
                let (put, get) = sides(roles);
                let mut threads = vec![put; producers];
                threads.extend(vec![get; consumers]);
                Some(Client { threads })
            }
        }
    }

    /// Clients within the scope with at most so many threads that call so often. None if nothing is known of
    /// what operations are and the scope asks for it, and of locks whose callers have other duties than to
    /// acquire and release by turns.
    pub(crate) fn workloads(
        self,
        program: &Program,
        roles: Option<&[Role]>,
        sizes: &[(usize, u32)],
    ) -> Vec<Workload> {
        let mut all: Vec<Workload> = Vec::new();
        for &(threads, ops) in sizes {
            let found = match self {
                Scope::Any => general(program, threads, ops).into_iter().collect(),
                Scope::Threads(most) => general(program, threads.min(most), ops).into_iter().collect(),
                Scope::Roles(..) => roles.map_or_else(Vec::new, |roles| self.of_roles(roles, threads, ops)),
            };
            all.extend(found);
        }
        all.dedup();
        all
    }

    fn of_roles(self, roles: &[Role], threads: usize, ops: u32) -> Vec<Workload> {
        let Scope::Roles(producers, consumers) = self else { return Vec::new() };
        let (put, get) = sides(roles);
        let side =
            |ops_of: &[usize]| ClientThread::Any(ops_of.iter().map(|&op| OpId(op as u16)).collect(), ops);
        let threads = threads.min(producers + consumers);
        let split = (0..=threads.min(producers)).filter(|put| threads - put <= consumers);
        split
            .map(|count| {
                let mut all = vec![side(&put); count];
                all.extend(vec![side(&get); threads - count]);
                Workload { threads: all, values: 2, rules: None }
            })
            .collect()
    }

    /// Is a client of the program within the scope?
    pub(crate) fn contains(self, roles: Option<&[Role]>, workload: &Workload) -> bool {
        match self {
            Scope::Any => true,
            Scope::Threads(most) => workload.threads.len() <= most,
            Scope::Roles(producers, consumers) => {
                let Some(roles) = roles else { return false };
                let (put, get) = sides(roles);
                let only = |thread: &ClientThread, allowed: &[usize]| match thread {
                    ClientThread::Any(ops, _) => ops.iter().all(|op| allowed.contains(&op.index())),
                    ClientThread::Calls(calls) => calls.iter().all(|(op, _)| allowed.contains(&op.index())),
                };
                let puts = workload.threads.iter().filter(|thread| only(thread, &put)).count();
                let gets = workload.threads.iter().filter(|thread| only(thread, &get)).count();
                puts + gets == workload.threads.len() && puts <= producers && gets <= consumers
            }
        }
    }
}

/// Threads that call anything; of a lock, that acquire and release by turns.
fn general(program: &Program, threads: usize, ops: u32) -> Option<Workload> {
    let lock = matches!(&program.spec, SpecSource::Builtin(spec) if spec.kind == Kind::Lock);
    Workload::by_turns(program, threads, ops)
        .or_else(|| (!lock).then(|| Workload::general(program, threads, ops)))
}
