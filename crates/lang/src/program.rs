//! The lowered form that every engine shares: one control-flow graph of atomic steps.
//!
//! # Meaning
//!
//! A [`Program`] is an object: shared variables, records, operations. A thread that runs an operation is at a
//! [`Node`]. A node has [`Edge`]s; each is **one atomic step**: a list of [`Action`]s done one after another
//! with nobody in between, then a jump to another node, or the return of the operation. An edge is *enabled*
//! if every [`Action::Assume`] in it holds when its turn comes and no [`Action::Lock`] in it meets a lock
//! that is taken; an edge that is not enabled leaves no trace. A thread at a node without an enabled edge is
//! blocked until there is one. A thread at a node with several enabled edges may take any.
//!
//! So a condition is two edges, one that assumes it and one that assumes the opposite; a compare-and-swap is
//! two edges, one that assumes equality and assigns, one that assumes inequality: a failed one is a read.
//! Procedures are inlined. Outside `atomic` an edge has at most one access to one shared location; inside,
//! all of one way through the block is one edge.
//!
//! Values are words of 32 bits ([`Word`]); what a word stands for is said by the [`Type`] of the slot it is
//! in. Memory is sequentially consistent. Records live in a heap and are never moved; `free` gives a record's
//! place back, and a later `new` may take it again. Where nothing is freed, what nobody can reach is gone.
//!
//! Annotations are actions too ([`Action::Mark`], [`Action::Claim`], assignments to ghost slots): they see
//! the state at their place in the step, and the program cannot see them.

use linpoint_history::Builtin;

use crate::ast::BinOp;
use crate::span::Span;

/// What slots hold.
pub type Word = i32;

/// The word of `none`. No integer of a program is as small.
pub const NONE: Word = Word::MIN;

/// The word of a local that has no value.
pub const UNSET: Word = Word::MIN + 1;

/// The length of a ghost array that is as long as it takes. No number of a program is as large.
pub const UNBOUNDED: Word = Word::MAX;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u16);
        impl $name {
            /// As an index.
            pub fn index(self) -> usize {
                usize::from(self.0)
            }
        })*
    };
}

ids! {
    /// Which kind of record.
    RecordId,
    /// Which enum.
    EnumId,
    /// Which symbolic size.
    SizeId,
    /// Which shared variable.
    GlobalId,
    /// Which local variable of an operation.
    LocalId,
    /// Which operation.
    OpId,
    /// Which control point.
    NodeId,
    /// Which claim.
    ClaimId
}

/// What a slot holds. All values fit a word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Opaque: values are only compared for equality.
    Data,
    /// An integer; the slot says whether it is bounded.
    Int,
    /// 0 or 1.
    Bool,
    /// The number of a thread.
    Thread,
    /// A lock: [`NONE`], or the thread that holds it.
    Lock,
    /// The number of a variant.
    Enum(EnumId),
    /// 0 for null, else one more than the number of a heap cell.
    Pointer(RecordId),
    /// [`NONE`], or a value.
    Option(Box<Type>),
}

/// A variable or a field.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub ty: Type,
    /// Least and greatest value, both included, where it is bounded: constants and sizes only.
    pub bounds: Option<(Expr, Expr)>,
    /// Only for proofs: the program does not see it.
    pub ghost: bool,
    /// What it starts with: constants and sizes only.
    pub init: Expr,
    /// Where it is declared.
    pub span: Span,
}

/// A kind of record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Slot>,
    /// Freed cells may still be read, and keep their contents until they are taken again.
    pub pooled: bool,
    /// Does the program free records of this kind?
    pub freed: bool,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Its name.
    pub name: String,
    /// Its variants.
    pub variants: Vec<String>,
}

/// A symbolic size: proofs take it as any number from 0, runs as the usual one or as they are told.
#[derive(Clone, Debug)]
pub struct Size {
    /// Its name.
    pub name: String,
    /// What a run takes it as.
    pub usual: Word,
}

/// A shared variable: one slot, or an array of equal elements of one or several slots.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// How many elements, if it is an array: constants and sizes only; [`UNBOUNDED`] for a ghost without an
    /// end.
    pub length: Option<Expr>,
    /// The slots of one element: one that is called like the variable, or the fields of a record.
    pub slots: Vec<Slot>,
    /// The record whose fields they are.
    pub record: Option<RecordId>,
    /// Only for proofs.
    pub ghost: bool,
    /// Where it is declared.
    pub span: Span,
}

/// What an operation gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultType {
    /// The parts: none for nothing, several for a tuple.
    pub parts: Vec<Type>,
    /// May it be `none` as a whole? The first part's word then says so.
    pub optional: bool,
    /// Was it written as a tuple?
    pub tuple: bool,
}

/// An operation, or the code that makes the initial state.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// Its locals; the first are its parameters.
    pub locals: Vec<Slot>,
    /// How many parameters.
    pub params: usize,
    /// What it gives back.
    pub result: ResultType,
    /// Where it starts.
    pub entry: NodeId,
    /// Where it stands.
    pub span: Span,
}

/// A control point of an operation.
#[derive(Clone, Debug)]
pub struct Node {
    /// The operation.
    pub op: OpId,
    /// The label in the source, if it has one.
    pub label: Option<String>,
    /// The steps that may be taken here.
    pub edges: Vec<Edge>,
    /// Where it stands.
    pub span: Span,
}

/// One atomic step.
#[derive(Clone, Debug)]
pub struct Edge {
    /// What it does, in order.
    pub actions: Vec<Action>,
    /// Where it leads.
    pub exit: Exit,
    /// Where it stands.
    pub span: Span,
}

/// Where a step leads.
#[derive(Clone, Debug, PartialEq)]
pub enum Exit {
    /// To another control point of the operation.
    Goto(NodeId),
    /// Out of the operation, with this result: a word a part; [`NONE`] alone for `none`.
    Return(Vec<Expr>),
}

/// A part of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The step is enabled only if this holds.
    Assume(Expr),
    /// An error if this does not hold.
    Assert(Expr, Span),
    /// Gives a slot a value.
    Assign(Place, Expr),
    /// Gives a local any value from the first to the second, both included.
    Choose(LocalId, Expr, Expr),
    /// Guesses what a ghost local will turn out to be; or, with an expression, says what it should have been
    /// ([`crate::prophecy`]).
    Prophecy(LocalId, Option<Expr>),
    /// Makes a record. Fields not named start as declared.
    New {
        /// Gets the pointer.
        local: LocalId,
        /// Which kind.
        record: RecordId,
        /// The values given.
        fields: Vec<(u16, Expr)>,
    },
    /// Gives a record's place back.
    Free(Expr),
    /// Takes a lock; the step is enabled only if it is free.
    Lock(Place),
    /// Gives a lock back; an error if this thread does not hold it.
    Unlock(Place),
    /// A linearization point.
    Mark(Mark),
    /// A claim about the future.
    Claim(ClaimId),
}

/// A linearization point, perhaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Does the operation take effect here, or is it only asked what it would answer here?
    pub kind: MarkKind,
    /// Only if this holds.
    pub when: Option<Expr>,
    /// The result the operation will give.
    pub result: Option<Vec<Expr>>,
    /// The thread whose operation it is; this one, if not given.
    pub of: Option<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MarkKind {
    /// The operation takes effect.
    Lin,
    /// If the operation turns out to have had no effect, this is where it looked.
    Query,
}

/// An expression over slots. It has no effect; it may fail (see `interp::RunError`).
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A word.
    Const(Word),
    /// A symbolic size.
    Size(SizeId),
    /// The thread that evaluates it.
    Me,
    /// What a slot holds.
    Read(Place),
    /// Truth turned around.
    Not(Box<Expr>),
    /// An integer turned around.
    Neg(Box<Expr>),
    /// Two values put together; `&&`, `||` and `==>` do not look at the second if the first decides.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// Does the body hold for all, or for any, values of the local from `lo` up to and without `hi`?
    Quantified {
        /// All, or any?
        all: bool,
        /// The local.
        local: LocalId,
        /// The first value.
        lo: Box<Expr>,
        /// One more than the last.
        hi: Box<Expr>,
        /// What should hold.
        body: Box<Expr>,
    },
    /// The value of an option; fails if there is none.
    Unwrap(Box<Expr>),
    /// A term of the claim it stands in.
    Term(u16),
}

/// Where a value is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A local variable.
    Local(LocalId),
    /// A shared variable that is no array, and which of its slots.
    Global(GlobalId, u16),
    /// A slot of an element of a shared array.
    Element(GlobalId, Box<Expr>, u16),
    /// A field of a record.
    Field(Box<Expr>, RecordId, u16),
}

/// A claim about the future (Sezgin, Tasiran, Muslu, Qadeer 2011).
#[derive(Clone, Debug)]
pub struct Claim {
    /// What is claimed; its terms are [`Expr::Term`].
    pub body: Expr,
    /// The terms.
    pub terms: Vec<Term>,
    /// Where it stands.
    pub span: Span,
}

/// Which accesses a term of a claim waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Access {
    Read,
    Write,
    Any,
}

/// Whose accesses a term of a claim waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Threads {
    Me,
    Others,
    All,
}

/// A term about the future.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Term {
    /// The value after the first matching access from now on.
    First { place: Place, access: Access, threads: Threads },
    /// The value after the last matching access before the condition becomes true.
    Last { place: Place, access: Access, threads: Threads, until: Expr },
    /// The value when the operation returns.
    Exit { place: Place },
}

/// What the object is compared with.
#[derive(Clone, Debug)]
pub enum SpecSource {
    /// Nothing: only claims, asserts and run-time errors can be checked.
    Nothing,
    /// A built-in specification.
    Builtin(Box<Builtin>),
    /// A sequential object in the same language, with operations in the same order.
    Block(Box<Program>),
}

/// Who calls what.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// The threads: what each may call, in turn.
    pub threads: Vec<ClientThread>,
}

/// One thread of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientThread {
    /// Any of these operations, with any arguments, so many times.
    Any(Vec<OpId>, u32),
    /// Exactly these.
    Calls(Vec<(OpId, Vec<Word>)>),
}

/// Annotations of the object, for the proofs and the shape analysis; resolved and typed, never trusted.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    /// What the abstract object is: values, or values for each index.
    pub abs: Option<Abs>,
    /// The same in other words.
    pub abs_again: Vec<Abs>,
    /// Invariants.
    pub invariants: Vec<Invariant>,
    /// Locals that differ between any two threads.
    pub disjoint: Vec<Vec<Disjoint>>,
    /// Where operations stand with respect to their linearization points.
    pub statuses: Vec<StatusAt>,
    /// Paths whose nodes the shape analysis tells apart.
    pub tracked: Vec<Expr>,
    /// Lists that the shape analysis knows of.
    pub lists: Vec<ListShape>,
}

/// Values, or values for each `local` from `lo` up to and without `hi` for which `when` holds.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Abs {
    pub items: Vec<Expr>,
    pub over: Option<(LocalId, Expr, Expr, Option<Expr>)>,
    /// The locals that the expressions use: the bound one.
    pub locals: Vec<Slot>,
    pub span: Span,
}

/// What holds always, or for a thread at one of these nodes.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Invariant {
    pub at: Vec<NodeId>,
    pub body: Expr,
    /// The bound locals that the body uses, numbered after those of the operation.
    pub locals: Vec<Slot>,
    pub span: Span,
}

/// A local of a thread at one of these nodes.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Disjoint {
    pub local: LocalId,
    pub at: Vec<NodeId>,
    pub when: Option<Expr>,
    pub locals: Vec<Slot>,
}

/// A status of a thread at one of these nodes.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct StatusAt {
    pub at: Vec<NodeId>,
    pub when: Option<Expr>,
    pub status: Status,
    pub locals: Vec<Slot>,
    pub span: Span,
}

/// Where an operation stands with respect to its linearization point.
#[derive(Clone, Debug)]
pub enum Status {
    /// Before it.
    In,
    /// After it, with this result.
    Out(Vec<Expr>),
    /// It may have been passed, with this result.
    InOut(Vec<Expr>),
}

/// A list that starts at a shared variable.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ListShape {
    pub head: GlobalId,
    pub record: RecordId,
    pub via: u16,
    pub sorted: Option<u16>,
}

/// An object, lowered.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its kinds of records.
    pub records: Vec<Record>,
    /// Its enums.
    pub enums: Vec<Enum>,
    /// Its symbolic sizes.
    pub sizes: Vec<Size>,
    /// Its shared variables.
    pub globals: Vec<Global>,
    /// Its operations.
    pub operations: Vec<Operation>,
    /// The code that makes the initial state; run once, by nobody, before anything else.
    pub init: Option<Operation>,
    /// The control points of all operations.
    pub nodes: Vec<Node>,
    /// Its claims.
    pub claims: Vec<Claim>,
    /// What it is compared with.
    pub spec: SpecSource,
    /// Its clients.
    pub clients: Vec<Client>,
    /// Annotations of the object.
    pub annotations: Annotations,
}

impl Program {
    /// A control point.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// An operation. The code of the initial state is numbered after the operations.
    pub fn operation(&self, id: OpId) -> &Operation {
        match self.operations.get(id.index()) {
            Some(operation) => operation,
            None => self.init.as_ref().expect("the only number after the operations is the initial code's"),
        }
    }

    /// The operation called so.
    pub fn find(&self, name: &str) -> Option<OpId> {
        self.operations.iter().position(|op| op.name == name).map(|i| OpId(i as u16))
    }

    /// The slot behind a place; for locals, of this operation.
    pub fn slot(&self, op: OpId, place: &Place) -> Option<&Slot> {
        match place {
            Place::Local(local) => self.operation(op).locals.get(local.index()),
            Place::Global(global, field) | Place::Element(global, _, field) => {
                self.globals[global.index()].slots.get(usize::from(*field))
            }
            Place::Field(_, record, field) => self.records[record.index()].fields.get(usize::from(*field)),
        }
    }
}

impl Place {
    /// Is it anything but a local?
    pub fn is_shared(&self) -> bool {
        !matches!(self, Place::Local(_))
    }
}

impl Expr {
    /// Calls `see` with every place that is read.
    pub fn places(&self, see: &mut impl FnMut(&Place)) {
        match self {
            Expr::Const(_) | Expr::Size(_) | Expr::Me | Expr::Term(_) => {}
            Expr::Read(place) => {
                see(place);
                place.inner(see);
            }
            Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => e.places(see),
            Expr::Binary(_, a, b) => {
                a.places(see);
                b.places(see);
            }
            Expr::Quantified { lo, hi, body, .. } => {
                lo.places(see);
                hi.places(see);
                body.places(see);
            }
        }
    }

    /// How many times a shared place is read.
    pub fn shared_reads(&self) -> usize {
        let mut count = 0;
        self.places(&mut |place| count += usize::from(place.is_shared()));
        count
    }
}

impl Place {
    /// Calls `see` with every place that is read to find this one.
    pub fn inner(&self, see: &mut impl FnMut(&Place)) {
        match self {
            Place::Local(_) | Place::Global(..) => {}
            Place::Element(_, index, _) => index.places(see),
            Place::Field(pointer, ..) => pointer.places(see),
        }
    }
}

impl Mark {
    /// Are all places that it reads such places?
    pub fn reads_only(&self, such: &dyn Fn(&Place) -> bool) -> bool {
        let mut only = true;
        let all = self.when.iter().chain(self.result.iter().flatten()).chain(&self.of);
        all.for_each(|e| e.places(&mut |place| only &= such(place)));
        only
    }
}

impl Edge {
    /// Its linearization points.
    pub fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.actions.iter().filter_map(|action| match action {
            Action::Mark(mark) => Some(mark),
            _ => None,
        })
    }

    /// Calls `see` with every place the program reads or writes in this step, and whether it writes it.
    /// Annotations are left out.
    pub fn accesses(&self, see: &mut impl FnMut(&Place, bool)) {
        let read = |e: &Expr, see: &mut dyn FnMut(&Place, bool)| e.places(&mut |place| see(place, false));
        for action in &self.actions {
            match action {
                Action::Assume(e) | Action::Assert(e, _) | Action::Free(e) => read(e, see),
                Action::Assign(place, e) => {
                    read(e, see);
                    place.inner(&mut |inner| see(inner, false));
                    see(place, true);
                }
                Action::Choose(local, lo, hi) => {
                    read(lo, see);
                    read(hi, see);
                    see(&Place::Local(*local), true);
                }
                Action::Prophecy(local, resolved) => {
                    resolved.iter().for_each(|e| read(e, see));
                    see(&Place::Local(*local), true);
                }
                Action::New { local, fields, .. } => {
                    fields.iter().for_each(|(_, e)| read(e, see));
                    see(&Place::Local(*local), true);
                }
                Action::Lock(place) | Action::Unlock(place) => {
                    place.inner(&mut |inner| see(inner, false));
                    see(place, false);
                    see(place, true);
                }
                Action::Mark(_) | Action::Claim(_) => {}
            }
        }
        if let Exit::Return(values) = &self.exit {
            values.iter().for_each(|e| read(e, see));
        }
    }
}
