//! The program's state in formulas: shared variables, records, and the locals of processes.
//!
//! A shared variable is a constant, an array a function from its index, a field a function from the record, a
//! local a function from the process. Memory after some writes is a function with a list of changes; reading
//! it compares the index with each of them. All is integers and truth values: `none` is the word the
//! interpreter uses for it, variants and threads are numbers. Numbers have no limits here; see
//! `docs/soundness.md`.

use linpoint_lang::Program;
use linpoint_lang::program::{Expr, GlobalId, LocalId, NONE, OpId, RecordId, SizeId, Type};

use crate::opaque::Opaque;
use crate::symbol::{Key, Owner, Role, Space};
use crate::term::{Family, Node, Sort, Symbol, Term, Terms};
use crate::values::result_types;

/// Something with an index, after some writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// What it was before.
    pub base: Symbol,
    /// Index and value, oldest first.
    pub writes: Vec<(Term, Term)>,
}

/// A slot of a shared variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Its value.
    Scalar(Term),
    /// One value an index.
    Array(Store),
}

/// Everything shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// A list of slots a shared variable.
    pub globals: Vec<Vec<Cell>>,
    /// A list of fields a kind of record.
    pub fields: Vec<Vec<Store>>,
    /// Which records of a kind are in use.
    pub alive: Vec<Store>,
}

/// A process in the middle of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Who it is.
    pub pid: Term,
    /// Its locals.
    pub locals: Vec<Term>,
    /// What the operation was called with.
    pub inputs: Vec<Term>,
    /// The result that its linearization point said.
    pub result: Vec<Term>,
}

/// A program, its functions and all formulas over them.
#[derive(Debug)]
pub struct World<'p> {
    /// The program.
    pub program: &'p Program,
    /// All terms.
    pub terms: Terms,
    /// How many quantifiers are open.
    pub depth: u32,
    /// What must hold for the evaluation to have no error.
    pub checks: Vec<Term>,
    /// Under what.
    pub guards: Vec<Term>,
    /// Something that has no meaning here; no verdict is given then.
    pub unsupported: Option<String>,
    /// Are choices bound variables? So in specifications, where any choice will do.
    pub bind_choices: bool,
    /// A condition that is not looked into.
    pub opaque: Option<Opaque>,
    /// Sizes that are not symbolic, by name.
    pub fixed: Vec<(String, i64)>,
    /// Whose operations they are.
    pub owner: Owner,
    lengths: Vec<Expr>,
    memories: Vec<Memory>,
    fresh: u32,
}

/// Locals from here on stand for the parts of the result that a linearization point said. Operations have far
/// fewer of their own (`lower/place.rs` of the language).
pub const RESULT: u16 = 60_000;

/// Locals from here on stand for what parameters were when the operation was called.
pub const INPUT: u16 = 50_000;

impl<'p> World<'p> {
    /// The functions of a program.
    pub fn new(program: &'p Program) -> World<'p> {
        let mut lengths: Vec<Expr> = Vec::new();
        for length in program.globals.iter().filter_map(|global| global.length.as_ref()) {
            if !lengths.contains(length) {
                lengths.push(length.clone());
            }
        }
        World {
            program,
            terms: Terms::new(),
            depth: 0,
            checks: Vec::new(),
            guards: Vec::new(),
            unsupported: None,
            bind_choices: false,
            opaque: None,
            fixed: Vec::new(),
            owner: Owner::Program,
            lengths,
            memories: Vec::new(),
            fresh: 0,
        }
    }

    /// The same, with sizes that are not symbolic.
    pub fn with_sizes(program: &'p Program, fixed: Vec<(String, i64)>) -> World<'p> {
        World { fixed, ..World::new(program) }
    }

    /// The family of processes.
    pub const PROCESSES: Family = Family(0);

    /// The family of indices of arrays of a length.
    pub fn index_family(&self, length: &Expr) -> Family {
        let at = self.lengths.iter().position(|known| known == length).unwrap_or(0);
        Family(1 + at as u16)
    }

    /// The family of records of a kind.
    pub fn record_family(&self, record: RecordId) -> Family {
        Family(1000 + record.0)
    }

    /// Different lengths of arrays.
    pub fn lengths(&self) -> &[Expr] {
        &self.lengths
    }

    /// Says that there can be no verdict.
    pub fn refuse(&mut self, what: impl Into<String>) -> Term {
        self.unsupported.get_or_insert(what.into());
        self.terms.bool(false)
    }

    /// A constant that nothing else has.
    pub fn fresh(&mut self, key: fn(u32) -> Key, name: &str) -> Term {
        self.fresh += 1;
        self.terms.constant(key(self.fresh), name, Sort::Int)
    }

    /// A process of an obligation.
    pub fn process(&mut self, role: Role) -> Term {
        let name = match role {
            Role::Actor => "p",
            Role::Other => "q",
            Role::Third => "r",
        };
        self.terms.constant(Key::Process(role), name, Sort::Int)
    }

    /// A number for a memory; equal ones have the same.
    pub fn memory_number(&mut self, memory: &Memory) -> usize {
        if let Some(number) = self.memories.iter().position(|known| known == memory) {
            return number;
        }
        self.memories.push(memory.clone());
        self.memories.len() - 1
    }

    /// Starts numbering new constants again: for formulas that are never used together.
    pub fn restart_fresh(&mut self) {
        self.fresh = 0;
    }

    /// Memory of which nothing is known.
    pub fn memory(&mut self, space: Space) -> Memory {
        let program = self.program;
        let mut globals = Vec::new();
        for (number, global) in program.globals.iter().enumerate() {
            let family = global.length.as_ref().map(|length| self.index_family(length));
            let mut cells = Vec::new();
            for (index, slot) in global.slots.iter().enumerate() {
                let key = Key::Shared(space, GlobalId(number as u16), index as u16);
                let name = match global.record {
                    Some(_) => format!("{}.{}", global.name, slot.name),
                    None => global.name.clone(),
                };
                let sort = sort_of(&slot.ty);
                cells.push(match family {
                    Some(family) => Cell::Array(Store::new(self.terms.symbol(key, &name, &[family], sort))),
                    None => Cell::Scalar(self.terms.constant(key, &name, sort)),
                });
            }
            globals.push(cells);
        }
        let (mut fields, mut alive) = (Vec::new(), Vec::new());
        for (index, record) in program.records.iter().enumerate() {
            let id = RecordId(index as u16);
            let family = self.record_family(id);
            let mut stores = Vec::new();
            for (field, slot) in record.fields.iter().enumerate() {
                let key = Key::Field(space, id, field as u16);
                let name = format!("{}->{}", record.name, slot.name);
                stores.push(Store::new(self.terms.symbol(key, &name, &[family], sort_of(&slot.ty))));
            }
            fields.push(stores);
            let name = format!("{} in use", record.name);
            alive.push(Store::new(self.terms.symbol(Key::InUse(space, id), &name, &[family], Sort::Bool)));
        }
        Memory { globals, fields, alive }
    }

    /// The locals of a process in an operation.
    pub fn frame(&mut self, op: Option<OpId>, pid: Term) -> Frame {
        let Some(op) = op else { return Frame { pid, locals: vec![], inputs: vec![], result: vec![] } };
        let operation = self.program.operation(op);
        let owner = self.owner;
        let mut local = |key: Key, name: &str, sort: Sort| {
            let symbol = self.terms.symbol(key, name, &[Self::PROCESSES], sort);
            self.terms.app(symbol, vec![pid])
        };
        let mut locals = Vec::new();
        for (index, slot) in operation.locals.iter().enumerate() {
            let key = Key::Local(owner, op, LocalId(index as u16));
            locals.push(local(key, &format!("{}.{}", operation.name, slot.name), sort_of(&slot.ty)));
        }
        let mut inputs = Vec::new();
        for (index, slot) in operation.locals[..operation.params].iter().enumerate() {
            let key = Key::Input(owner, op, LocalId(index as u16));
            inputs.push(match is_assigned(self.program, op, index) {
                false => locals[index],
                true => {
                    local(key, &format!("{}.{} at the call", operation.name, slot.name), sort_of(&slot.ty))
                }
            });
        }
        let mut result = Vec::new();
        for (index, ty) in result_types(&operation.result).iter().enumerate() {
            let key = Key::Said(owner, op, index as u16);
            result.push(local(key, &format!("{}'s result", operation.name), sort_of(ty)));
        }
        Frame { pid, locals, inputs, result }
    }

    /// A size: symbolic, or the number that it is fixed to.
    pub fn size(&mut self, index: usize) -> Term {
        let name = &self.program.sizes[index].name;
        if let Some((_, value)) = self.fixed.iter().find(|(fixed, _)| fixed == name) {
            return self.terms.int(*value);
        }
        self.terms.constant(Key::Size(SizeId(index as u16)), name, Sort::Int)
    }

    /// What is read at an index after the writes.
    pub fn read(&mut self, store: &Store, index: Term) -> Term {
        let mut value = self.terms.app(store.base, vec![index]);
        for (at, written) in &store.writes {
            let same = self.terms.eq(index, *at);
            value = self.terms.ite(same, *written, value);
        }
        value
    }

    /// As a truth value.
    pub fn truth(&mut self, term: Term) -> Term {
        match self.terms.sort(term) {
            Sort::Bool => term,
            Sort::Int => {
                let zero = self.terms.int(0);
                let is_zero = self.terms.eq(term, zero);
                self.terms.not(is_zero)
            }
        }
    }

    /// As a number.
    pub fn number(&mut self, term: Term) -> Term {
        match self.terms.sort(term) {
            Sort::Int => term,
            Sort::Bool => {
                let (one, zero) = (self.terms.int(1), self.terms.int(0));
                self.terms.ite(term, one, zero)
            }
        }
    }

    /// As what is wanted.
    pub fn fit(&mut self, term: Term, sort: Sort) -> Term {
        match sort {
            Sort::Int => self.number(term),
            Sort::Bool => self.truth(term),
        }
    }

    /// Are two values the same, whatever they are?
    pub fn same(&mut self, a: Term, b: Term) -> Term {
        if self.terms.sort(a) == self.terms.sort(b) {
            return self.terms.eq(a, b);
        }
        // A constant of the language is a word; beside a truth value, 0 and 1 are truth values.
        let is_truth = |term| matches!(self.terms.node(term), Node::Int(0 | 1));
        let (a, b) = match is_truth(a) || is_truth(b) {
            true => (self.truth(a), self.truth(b)),
            false => (self.number(a), self.number(b)),
        };
        self.terms.eq(a, b)
    }

    /// Two lists of values.
    pub fn all_same(&mut self, a: &[Term], b: &[Term]) -> Term {
        if a.len() != b.len() {
            return self.terms.bool(false);
        }
        let pairs: Vec<Term> = a.iter().zip(b).map(|(a, b)| self.same(*a, *b)).collect();
        self.terms.and(pairs)
    }

    /// The word for `none`.
    pub fn none(&mut self) -> Term {
        self.terms.int(i64::from(NONE))
    }

    /// What every value of a type is like. Numbers and data are no `none`.
    pub fn is_of_type(&mut self, ty: &Type, value: Term) -> Term {
        let (zero, none) = (self.terms.int(0), self.none());
        match ty {
            Type::Bool => self.terms.bool(true),
            Type::Data | Type::Int => {
                let is_none = self.terms.eq(value, none);
                self.terms.not(is_none)
            }
            Type::Thread | Type::Pointer(_) => self.terms.le(zero, value),
            Type::Enum(id) => {
                let count = self.program.enums[id.index()].variants.len() as i64;
                let count = self.terms.int(count);
                let (low, high) = (self.terms.le(zero, value), self.terms.lt(value, count));
                self.terms.and([low, high])
            }
            Type::Lock => {
                let (is_none, thread) = (self.terms.eq(value, none), self.terms.le(zero, value));
                self.terms.or([is_none, thread])
            }
            Type::Option(inner) => {
                let is_none = self.terms.eq(value, none);
                let inner = match **inner {
                    Type::Bool => {
                        let one = self.terms.int(1);
                        let (low, high) = (self.terms.le(zero, value), self.terms.le(value, one));
                        self.terms.and([low, high])
                    }
                    _ => self.is_of_type(inner, value),
                };
                self.terms.or([is_none, inner])
            }
        }
    }
}

impl Store {
    /// Nothing written yet.
    pub fn new(base: Symbol) -> Store {
        Store { base, writes: Vec::new() }
    }
}

/// What a slot holds, for the solver.
pub fn sort_of(ty: &Type) -> Sort {
    match ty {
        Type::Bool => Sort::Bool,
        _ => Sort::Int,
    }
}

/// Does the operation ever assign to this local?
pub(crate) fn is_assigned(program: &Program, op: OpId, local: usize) -> bool {
    let edges = program.nodes.iter().filter(|node| node.op == op).flat_map(|node| &node.edges);
    let mut assigned = false;
    for edge in edges {
        edge.accesses(&mut |place, write| {
            assigned |=
                write && matches!(place, linpoint_lang::program::Place::Local(l) if l.index() == local);
        });
    }
    assigned
}
