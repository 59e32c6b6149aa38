//! The same program told differently: verdicts must not change.
//!
//! Variations of a text go through its syntax tree or its words; [`rename_all`] changes a lowered program, where names are for reading only, and gives everything one name.

mod erase;
mod words;

use linpoint_history::rng::Rng;
use linpoint_lang::ast::{
    ClientKind, Expr, ExprKind, FieldDecl, File, Member, MemberKind, Name, Object, Routine, RoutineKind,
    Stmt, StmtKind, TypeExpr, TypeKind,
};
use linpoint_lang::program::SpecSource;
use linpoint_lang::{Program, Span, parse, print};

/// A way to tell a program differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variation {
    /// Every name that the text declares gets another, odd one; the operations of a built-in specification keep theirs.
    OddNames,
    /// Declarations, operations and procedures stand in another order.
    Reordered,
    /// Ghost code, linearization points, invariants and the like are gone. What needs them must not be asked.
    WithoutGhosts,
    /// Variables, records and procedures that nobody uses, and statements that are never reached or change nothing.
    DeadCode,
    /// Data in the calls of clients is near the end of its type.
    LargeData,
}

impl Variation {
    /// Every one.
    pub const ALL: [Variation; 5] = [
        Variation::OddNames,
        Variation::Reordered,
        Variation::WithoutGhosts,
        Variation::DeadCode,
        Variation::LargeData,
    ];

    /// The text told differently; `None` if this variation has nothing to change in it.
    #[must_use]
    pub fn of(self, text: &str, rng: &mut Rng) -> Option<String> {
        let (mut file, wrong) = parse(text);
        if wrong.iter().any(|diagnostic| diagnostic.is_error()) {
            return None;
        }
        file.comments.clear();
        let before = file.objects.clone();
        match self {
            Variation::OddNames => return Some(words::with_odd_names(text, &file, rng)),
            Variation::Reordered => file.objects.iter_mut().for_each(|object| reorder(object, rng)),
            Variation::WithoutGhosts => file.objects.iter_mut().for_each(erase::ghosts),
            Variation::DeadCode => file.objects.iter_mut().for_each(|object| add_dead_code(object, rng)),
            Variation::LargeData => file.objects.iter_mut().for_each(enlarge_data),
        }
        (file.objects != before).then(|| print(&file, text))
    }
}

/// Gives every object, record, field, variable, label and procedure of a lowered program the same name; operations keep theirs, as histories and specifications know them by it. No engine may look at names.
pub fn rename_all(program: &mut Program, name: &str) {
    program.name = name.to_owned();
    for record in &mut program.records {
        record.name = name.to_owned();
        record.fields.iter_mut().for_each(|slot| slot.name = name.to_owned());
    }
    for global in &mut program.globals {
        global.name = name.to_owned();
        global.slots.iter_mut().for_each(|slot| slot.name = name.to_owned());
    }
    for operation in program.operations.iter_mut().chain(&mut program.init) {
        let named = operation.locals.iter_mut().filter(|slot| !slot.name.is_empty());
        named.for_each(|slot| slot.name = name.to_owned());
    }
    program.enums.iter_mut().for_each(|of| of.name = name.to_owned());
    program.sizes.iter_mut().for_each(|size| size.name = name.to_owned());
    if let SpecSource::Block(block) = &mut program.spec {
        rename_all(block, name);
    }
}

fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for at in (1..items.len()).rev() {
        items.swap(at, rng.below(at as u64 + 1) as usize);
    }
}

/// May it stand anywhere? Annotations and clients count by their order.
fn is_movable(member: &Member) -> bool {
    match member.kind {
        MemberKind::Struct { .. }
        | MemberKind::Enum { .. }
        | MemberKind::Const { .. }
        | MemberKind::Size { .. }
        | MemberKind::Shared { .. }
        | MemberKind::Routine(_) => true,
        MemberKind::Init(_)
        | MemberKind::Spec(_)
        | MemberKind::Client(_)
        | MemberKind::Abs { .. }
        | MemberKind::Inv { .. }
        | MemberKind::Disjoint(_)
        | MemberKind::Status { .. }
        | MemberKind::Track(_) => false,
    }
}

fn reorder(object: &mut Object, rng: &mut Rng) {
    let (mut moved, rest): (Vec<Member>, Vec<Member>) =
        std::mem::take(&mut object.members).into_iter().partition(is_movable);
    shuffle(&mut moved, rng);
    object.members = moved.into_iter().chain(rest).collect();
}

fn name(text: &str) -> Name {
    Name { text: text.to_owned(), span: Span::default() }
}

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

fn named_type(text: &str) -> TypeExpr {
    TypeExpr { kind: TypeKind::Named(text.to_owned()), span: Span::default() }
}

fn statement(kind: StmtKind) -> Stmt {
    Stmt { label: None, kind, notes: Vec::new(), span: Span::default() }
}

fn add_dead_code(object: &mut Object, rng: &mut Rng) {
    let member = |kind: MemberKind| Member { kind, span: Span::default() };
    let field = FieldDecl { ghost: false, name: name("unused_field"), ty: named_type("lock"), init: None };
    let record = MemberKind::Struct { pooled: false, name: name("Unused"), fields: vec![field] };
    let shared = MemberKind::Shared {
        ghost: false,
        name: name("unused_shared"),
        ty: named_type("int"),
        init: Some(expr(ExprKind::Int(7))),
    };
    for kind in [record, shared] {
        let at = rng.below(object.members.len() as u64 + 1) as usize;
        object.members.insert(at, member(kind));
    }
    for member in &mut object.members {
        if let MemberKind::Routine(Routine { kind: RoutineKind::Op, body, .. }) = &mut member.kind {
            let unused = || expr(ExprKind::Name("unused_local".into()));
            let first = statement(StmtKind::Assign { target: unused(), value: expr(ExprKind::Int(3)) });
            let is_four = ExprKind::Binary(
                linpoint_lang::ast::BinOp::Eq,
                Box::new(unused()),
                Box::new(expr(ExprKind::Int(4))),
            );
            let mut then = body.clone();
            then.statements = vec![statement(StmtKind::Assign {
                target: expr(ExprKind::Name("unused_shared".into())),
                value: unused(),
            })];
            let never = statement(StmtKind::If { cond: expr(is_four), then, otherwise: None });
            body.statements.splice(0..0, [first, never]);
        }
    }
}

/// Numbers that stand for data in calls become large; none stays none, and 0 stays what data starts with.
fn enlarge_data(object: &mut Object) {
    let data: Vec<(String, Vec<bool>)> = object
        .members
        .iter()
        .filter_map(|member| match &member.kind {
            MemberKind::Routine(routine) => {
                let is_data = |ty: &TypeExpr| ty.kind == TypeKind::Named("data".into());
                let params = routine.params.iter().map(|(_, ty)| is_data(ty)).collect();
                Some((routine.name.text.clone(), params))
            }
            _ => None,
        })
        .collect();
    for member in &mut object.members {
        let MemberKind::Client(client) = &mut member.kind else { continue };
        let ClientKind::Scenario(threads) = &mut client.kind else { continue };
        for (called, args) in threads.iter_mut().flatten() {
            let Some((_, params)) = data.iter().find(|(name, _)| *name == called.text) else { continue };
            for (arg, is_data) in args.iter_mut().zip(params) {
                if let (ExprKind::Int(value @ 1..1000), true) = (&mut arg.kind, is_data) {
                    *value += (1 << 29) + 123;
                }
            }
        }
    }
}

/// A text and how it was told differently, for every variation that has something to change.
#[must_use]
pub fn variations(text: &str, rng: &mut Rng) -> Vec<(Variation, String)> {
    Variation::ALL.into_iter().filter_map(|kind| kind.of(text, rng).map(|told| (kind, told))).collect()
}

/// Every object of a file, for walks over all of it.
fn objects(file: &File) -> impl Iterator<Item = &Object> {
    file.objects.iter()
}
