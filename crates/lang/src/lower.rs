//! From a tree to the lowered form: names, types, steps.
//!
//! One walk over the tree does all three, so that there is one place that knows what a construct means. What
//! cannot be understood is complained about and replaced by something of no type, about which nobody
//! complains again.
//!
//! Outside `atomic`, a shared location that is read in the middle of an expression is read by a step of its
//! own into a temporary, so that no step touches two; the last read stays where it is. Conditions become
//! branches, so that `&&` and `||` read no more than they must.

mod annotation;
mod assign;
mod call;
mod client;
mod cond;
mod declare;
mod expr;
mod graph;
mod note;
mod place;
mod routine;
mod signature;
mod specification;
mod stmt;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::ast::{self, MemberKind, RoutineKind};
use crate::diagnostic::{Diagnostic, code};
use crate::erase;
use crate::flow;
use crate::near;
use crate::program::{
    Annotations, Claim, Enum, EnumId, Expr, Global, GlobalId, LocalId, NodeId, Operation, Program, Record,
    RecordId, ResultType, Size, SizeId, SpecSource, Type, Word,
};
use crate::prophecy;
use crate::span::Span;

pub use specification::{Specification, specifications};

/// The programs of a file, and everything that is wrong with them. A program with errors is left out.
pub fn lower(file: &ast::File) -> (Vec<Program>, Vec<Diagnostic>) {
    let (mut programs, mut wrong) = (Vec::new(), Vec::new());
    let mut names: BTreeMap<&str, Span> = BTreeMap::new();
    for object in &file.objects {
        if let Some(first) = names.insert(&object.name.text, object.name.span) {
            wrong.push(
                Diagnostic::error(
                    code::TWICE,
                    object.name.span,
                    format!("two objects are called `{}`", object.name.text),
                )
                .also(first, "the first is here")
                .help("give one of them another name"),
            );
        }
        if object.is_spec {
            // Nothing to run, but its mistakes are mistakes of the file.
            specification::lower_alone(object, &mut wrong);
            continue;
        }
        let mut lowerer = Lowerer::default();
        let program = lowerer.object(object);
        let errors = lowerer.wrong.iter().any(Diagnostic::is_error);
        wrong.append(&mut lowerer.wrong);
        if !errors {
            programs.push(program);
        }
    }
    wrong.sort_by_key(|d| (d.span.start, d.code));
    (programs, wrong)
}

/// The type of an expression while it is checked.
#[derive(Clone, Debug, PartialEq)]
enum Ty {
    Known(Type),
    /// `null`, a pointer to anything.
    Null,
    /// `none`, an option of anything.
    None,
    /// Nothing: a call without a result.
    Unit,
    /// Several values.
    Tuple,
    /// Not understood; fits everything.
    Error,
}

/// What a name of the object stands for.
#[derive(Clone, Copy, Debug)]
enum Item<'a> {
    Record(RecordId),
    Enum(EnumId),
    Variant(EnumId, Word),
    Const(Word, ConstType),
    Size(SizeId),
    Global(GlobalId),
    Routine(&'a ast::Routine),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ConstType {
    Int,
    Bool,
}

/// A local variable whose type may not be known yet.
#[derive(Clone, Debug)]
struct Local {
    name: String,
    ty: Option<Type>,
    bounds: Option<(Expr, Expr)>,
    ghost: bool,
    span: Span,
}

/// A loop that is open.
#[derive(Clone, Debug)]
struct Loop {
    label: Option<String>,
    break_to: NodeId,
    continue_to: NodeId,
    /// How many procedures are open: a loop of the caller cannot be left from here.
    depth: usize,
}

/// What `return` means here.
#[derive(Clone, Debug)]
enum Return {
    /// Out of the operation.
    Operation(ResultType),
    /// Out of an inlined procedure: its results go to locals, control to a node.
    Procedure { locals: Vec<LocalId>, exit: NodeId },
}

/// An open routine: an operation, or a procedure that is inlined.
#[derive(Clone, Debug)]
struct Frame {
    name: String,
    /// Names to locals; inner ones are those bound by quantifiers.
    scopes: Vec<FxHashMap<String, LocalId>>,
    ret: Return,
}

/// A step: a node and the number of one of its edges.
type EdgeRef = (NodeId, usize);

#[derive(Default)]
struct Lowerer<'a> {
    wrong: Vec<Diagnostic>,
    items: FxHashMap<String, (Item<'a>, Span)>,
    records: Vec<Record>,
    enums: Vec<Enum>,
    sizes: Vec<Size>,
    globals: Vec<Global>,
    claims: Vec<Claim>,
    nodes: Vec<graph::Draft>,
    /// The operation that is being lowered.
    op: u16,
    locals: Vec<Local>,
    frames: Vec<Frame>,
    loops: Vec<Loop>,
    /// The node where the next step will be put.
    cur: NodeId,
    /// How many `atomic` blocks are open.
    atomic: u32,
    /// In an annotation: nothing may be done, everything may be read, all at once.
    pure: bool,
    /// May ghost slots be read?
    ghost: bool,
    /// The terms of the claim that is being lowered.
    terms: Option<Vec<crate::program::Term>>,
    /// Labels by name: where they stand and in which operation.
    labels: BTreeMap<String, Vec<(NodeId, u16, Span)>>,
    /// The ranges of the parts of the operation's result.
    result_bounds: Vec<Option<(Expr, Expr)>>,
    /// Ends of routines that owe a result: an error if they can be reached.
    falls_off: Vec<(NodeId, Span, String)>,
    /// Nodes inside atomic steps at which nothing goes on.
    interior_ends: BTreeSet<usize>,
    /// In the initial code, where nothing may be chosen.
    initial: bool,
    /// The procedures that are called.
    called: BTreeSet<String>,
    /// Where the operation calls the procedure that is being inlined.
    outermost: Option<Span>,
    /// There are more steps or locals than there is room for: that was said, and nothing more is lowered.
    full: bool,
    /// The names that each operation knows, for annotations.
    root_scopes: Vec<FxHashMap<String, LocalId>>,
}

impl<'a> Lowerer<'a> {
    fn object(&mut self, object: &'a ast::Object) -> Program {
        self.declare(&object.members);
        let (operations, init) = self.routines(&object.members);
        let mut program = self.assemble(&object.name.text, operations, init);
        if self.full {
            return program;
        }
        program.spec = self.spec(object, &program);
        program.annotations = self.annotations(object, &program);
        program.clients = self.clients(object, &program);
        self.check_flow(&program);
        if program.operations.is_empty() {
            self.wrong.push(
                Diagnostic::error(code::SIGNATURE, object.name.span, "this object has no operations")
                    .help("add one: `op name(v: data) { … }`"),
            );
        }
        program
    }

    /// Lowers operations and the initial code.
    fn routines(&mut self, members: &'a [ast::Member]) -> (Vec<Operation>, Option<Operation>) {
        let mut operations = Vec::new();
        for member in members {
            if let MemberKind::Routine(routine) = &member.kind
                && routine.kind == RoutineKind::Op
            {
                self.op = operations.len() as u16;
                operations.push(self.operation(routine, member.span));
            }
        }
        self.op = operations.len() as u16;
        let mut init = None;
        for member in members {
            if let MemberKind::Init(block) = &member.kind {
                if init.is_some() {
                    self.wrong.push(
                        Diagnostic::error(code::TWICE, member.span, "the initial state is made twice")
                            .help("put everything into one `init { … }`"),
                    );
                    continue;
                }
                init = Some(self.initial_code(block, member.span));
            }
        }
        self.unused_procedures(members);
        (operations, init)
    }

    /// Puts the parts together, collapses atomic blocks, drops what cannot be reached, and checks what can be
    /// seen from the graph.
    fn assemble(&mut self, name: &str, operations: Vec<Operation>, init: Option<Operation>) -> Program {
        let mut program = Program {
            name: name.to_owned(),
            records: self.records.clone(),
            enums: self.enums.clone(),
            sizes: self.sizes.clone(),
            globals: self.globals.clone(),
            operations,
            init,
            nodes: Vec::new(),
            claims: self.claims.clone(),
            spec: SpecSource::Nothing,
            clients: Vec::new(),
            annotations: Annotations::default(),
        };
        // Of a part nothing can be said.
        if self.full {
            return program;
        }
        self.finish_graph(&mut program);
        self.note_frees(&mut program);
        program
    }

    /// What can be seen from the graph, if there is one.
    fn check_flow(&mut self, program: &Program) {
        if !self.wrong.iter().any(Diagnostic::is_error) {
            erase::check(program, &mut self.wrong);
            prophecy::check(program, &mut self.wrong);
            flow::check(program, &mut self.wrong);
        }
    }

    /// Says once that something is too large, at the call that makes it so, if it is one.
    fn overflow(&mut self, span: Span, message: &str) {
        if !std::mem::replace(&mut self.full, true) {
            let span = self.outermost.unwrap_or(span);
            let help = "procedures are inlined: call fewer of them, or make them shorter";
            self.error(code::RECURSION, span, message, help);
        }
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let diagnostic = Diagnostic::error(code, span, message).help(help);
        self.complain(diagnostic);
    }

    fn complain(&mut self, diagnostic: Diagnostic) {
        // Procedures are lowered at every call: the same complaint is made once.
        let same = |d: &Diagnostic| {
            (d.code, d.span.start, d.span.end, &d.message)
                == (diagnostic.code, diagnostic.span.start, diagnostic.span.end, &diagnostic.message)
        };
        if !self.wrong.iter().any(same) {
            self.wrong.push(diagnostic);
        }
    }

    /// Complains about a name that nothing has.
    fn unknown(&mut self, what: &str, name: &str, span: Span, more: &[&str]) {
        let locals =
            self.frames.last().map(|frame| &frame.scopes).into_iter().flatten().flat_map(|s| s.keys());
        let mut known: Vec<&str> = self.items.keys().chain(locals).map(String::as_str).collect();
        known.extend(more);
        known.sort_unstable();
        let help = near::did_you_mean(name, known);
        let help = if help.is_empty() {
            format!("no {what} has this name; declare it, or mend the name")
        } else {
            help
        };
        let diagnostic = Diagnostic::error(code::UNKNOWN, span, format!("unknown {what} `{name}`"))
            .note("not declared")
            .help(help);
        self.complain(diagnostic);
    }

    /// A type as a person reads it.
    fn show(&self, ty: &Ty) -> String {
        match ty {
            Ty::Known(ty) => self.show_type(ty),
            Ty::Null => "`null`".to_owned(),
            Ty::None => "`none`".to_owned(),
            Ty::Unit => "nothing".to_owned(),
            Ty::Tuple => "several values".to_owned(),
            Ty::Error => "something wrong".to_owned(),
        }
    }

    fn show_type(&self, ty: &Type) -> String {
        format!("`{}`", self.type_name(ty))
    }

    fn type_name(&self, ty: &Type) -> String {
        match ty {
            Type::Data => "data".to_owned(),
            Type::Int => "int".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Thread => "thread".to_owned(),
            Type::Lock => "lock".to_owned(),
            Type::Enum(id) => self.enums[id.index()].name.clone(),
            Type::Pointer(id) => format!("*{}", self.records[id.index()].name),
            Type::Option(inner) => format!("{}?", self.type_name(inner)),
        }
    }

    fn in_atomic(&self) -> bool {
        self.atomic > 0 || self.pure
    }
}
