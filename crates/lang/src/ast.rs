//! The syntax tree: what was written, with places, before anything is known about names and types.
//!
//! Trees are equal if they say the same, wherever they say it (see [`Span`]).

use crate::span::Span;
use crate::token::Comment;

/// A source file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The objects in it.
    pub objects: Vec<Object>,
    /// Its comments, in order; the printer puts them back.
    pub comments: Vec<Comment>,
}

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// `object Treiber : stack { … }`, or `spec Lease { … }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Is it a specification alone, without an algorithm?
    pub is_spec: bool,
    /// Its name.
    pub name: Name,
    /// The built-in specification it names, such as `queue:capacity=2`.
    pub spec: Option<Name>,
    /// What it consists of.
    pub members: Vec<Member>,
    /// All of it.
    pub span: Span,
}

/// One part of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which.
    pub kind: MemberKind,
    /// All of it.
    pub span: Span,
}

/// The parts an object may have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MemberKind {
    Struct { pooled: bool, name: Name, fields: Vec<FieldDecl> },
    Enum { name: Name, variants: Vec<Name> },
    Const { name: Name, value: Expr },
    Size { name: Name, value: Expr },
    Shared { ghost: bool, name: Name, ty: TypeExpr, init: Option<Expr> },
    Init(Block),
    Routine(Routine),
    Spec(Vec<Member>),
    Client(Client),
    Abs { items: Vec<Expr>, over: Option<Over> },
    Inv { at: Vec<LabelRange>, body: Expr },
    Disjoint(Vec<DisjointItem>),
    Status { at: Vec<LabelRange>, when: Option<Expr>, status: Status },
    Track(Track),
}

/// A field of a record: `next: *Node = null`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct FieldDecl {
    pub ghost: bool,
    pub name: Name,
    pub ty: TypeExpr,
    pub init: Option<Expr>,
}

/// What kind of routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// An operation that clients call.
    Op,
    /// A procedure that operations call; it is inlined.
    Proc,
    /// A procedure whose whole call is one atomic step.
    AtomicProc,
}

/// `op pop() -> data? { … }`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Routine {
    pub kind: RoutineKind,
    pub name: Name,
    pub params: Vec<(Name, TypeExpr)>,
    pub result: Option<TypeExpr>,
    pub body: Block,
}

/// A type as written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TypeExpr {
    pub kind: TypeKind,
    pub span: Span,
}

/// The forms of types.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TypeKind {
    /// `data`, `int`, `bool`, `thread`, `lock`, an enum or a record.
    Named(String),
    /// `0..N`
    Range(Box<Range>),
    /// `*Node`
    Pointer(Name),
    /// `data?`
    Option(Box<TypeExpr>),
    /// `[Slot; N]`
    Array(Box<TypeExpr>, Box<Expr>),
    /// `[*Node]`: as long as it takes, for ghosts only
    Unbounded(Box<TypeExpr>),
    /// `(data, data)`
    Tuple(Vec<TypeExpr>),
}

/// `lo..hi` or `lo..=hi`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Range {
    pub lo: Expr,
    pub hi: Expr,
    pub inclusive: bool,
}

/// Statements in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Block {
    pub statements: Vec<Stmt>,
    pub span: Span,
}

/// A statement with its labels and annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// `L1: …`
    pub label: Option<Name>,
    /// What it does.
    pub kind: StmtKind,
    /// `@lin` and the like. On `if` and `while` they stand after the condition and belong to the step that
    /// makes it true.
    pub notes: Vec<Note>,
    /// All of it.
    pub span: Span,
}

/// The statements.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum StmtKind {
    Var {
        ghost: bool,
        name: Name,
        ty: Option<TypeExpr>,
        value: Option<Expr>,
    },
    /// `prophecy g: int`
    Prophecy {
        name: Name,
        ty: TypeExpr,
    },
    Assign {
        target: Expr,
        value: Expr,
    },
    Call(Expr),
    Atomic(Block),
    If {
        cond: Expr,
        then: Block,
        otherwise: Option<Block>,
    },
    Loop(Block),
    While {
        cond: Expr,
        body: Block,
    },
    For {
        var: Name,
        range: Range,
        body: Block,
    },
    Break(Option<Name>),
    Continue(Option<Name>),
    Return(Option<Expr>),
    Choose(Vec<Block>),
    Assume(Expr),
    Assert(Expr),
    Tressa(Expr),
}

/// An annotation of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Note {
    pub kind: NoteKind,
    pub span: Span,
}

/// The annotations of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// `@lin`, `@lin(result)`, `@lin of thread`, `@lin if c`
    Lin {
        /// The result that the operation will give.
        result: Option<Expr>,
        /// The thread whose operation takes effect, where it is not this one.
        of: Option<Expr>,
        /// Only if this holds after the step.
        when: Option<Expr>,
    },
    /// `@query`, `@query if c`
    Query {
        /// Only if this holds after the step.
        when: Option<Expr>,
    },
    /// `@ghost { … }`
    Ghost(Block),
    /// `@resolve g = e`
    Resolve {
        /// What was guessed.
        name: Name,
        /// What it should have been.
        value: Expr,
    },
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// The expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ExprKind {
    Int(i64),
    Bool(bool),
    Null,
    None,
    Me,
    Name(String),
    Field(Box<Expr>, Name),
    Index(Box<Expr>, Box<Expr>),
    Call(Name, Vec<Expr>),
    New(Name, Vec<(Name, Expr)>),
    Not(Box<Expr>),
    Neg(Box<Expr>),
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// `all i in 0..N: …` or `any i in 0..N: …`
    Quantified {
        all: bool,
        var: Name,
        range: Box<Range>,
        body: Box<Expr>,
    },
    Tuple(Vec<Expr>),
    /// `choose 0..N`
    Choose(Box<Range>),
}

impl Expr {
    /// Is there anything in it that does more than look: a call, a choice, a new record?
    pub fn does_something(&self) -> bool {
        match &self.kind {
            ExprKind::Int(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::None
            | ExprKind::Me
            | ExprKind::Name(_) => false,
            ExprKind::New(..) | ExprKind::Choose(_) => true,
            ExprKind::Call(name, args) => {
                !matches!(name.text.as_str(), "some" | "unwrap") || args.iter().any(Expr::does_something)
            }
            ExprKind::Field(e, _) | ExprKind::Not(e) | ExprKind::Neg(e) => e.does_something(),
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => a.does_something() || b.does_something(),
            ExprKind::Quantified { range, body, .. } => {
                [&range.lo, &range.hi, body].into_iter().any(|e| e.does_something())
            }
            ExprKind::Tuple(items) => items.iter().any(Expr::does_something),
        }
    }
}

/// Operators between two values, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum BinOp {
    Implies,
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Add,
    Sub,
    Mul,
    Rem,
}

impl BinOp {
    /// As it is written.
    pub fn sign(self) -> &'static str {
        use BinOp::*;
        match self {
            Implies => "==>",
            Or => "||",
            And => "&&",
            Eq => "==",
            Ne => "!=",
            Lt => "<",
            Le => "<=",
            Gt => ">",
            Ge => ">=",
            Add => "+",
            Sub => "-",
            Mul => "*",
            Rem => "%",
        }
    }

    /// How strongly it binds.
    pub fn level(self) -> u8 {
        use BinOp::*;
        match self {
            Implies => 1,
            Or => 2,
            And => 3,
            Eq | Ne | Lt | Le | Gt | Ge => 4,
            Add | Sub => 5,
            Mul | Rem => 6,
        }
    }
}

/// Who calls which operations.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Client {
    pub name: Name,
    pub kind: ClientKind,
}

/// The kinds of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ClientKind {
    /// `threads 3 ops 2`: each thread calls any operations with any arguments.
    General { threads: Expr, ops: Expr },
    /// `producers 2: push consumers 2: pop ops 2`
    Roles { roles: Vec<(Name, Expr, Vec<Name>)>, ops: Expr },
    /// `thread { push(1) pop() } …`
    Scenario(Vec<Vec<(Name, Vec<Expr>)>>),
}

/// `for i in 0..N if c`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Over {
    pub var: Name,
    pub range: Range,
    pub when: Option<Expr>,
}

/// `L1`, or `L1..L4` in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LabelRange {
    pub first: Name,
    pub last: Option<Name>,
}

/// `i at I5..I7 if i < N`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DisjointItem {
    pub var: Name,
    pub at: Vec<LabelRange>,
    pub when: Option<Expr>,
}

/// Where an operation stands with respect to its linearization point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Before it.
    In,
    /// After it, with this result.
    Out(Option<Expr>),
    /// It may have been passed, with this result.
    InOut(Option<Expr>),
}

/// What the shape analysis should tell apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Track {
    /// The node a path leads to.
    Path(Expr),
    /// A list, possibly sorted.
    List {
        /// Where it starts.
        head: Name,
        /// The field that links it.
        via: Name,
        /// The field it is sorted by.
        sorted: Option<Name>,
    },
}
