//! Printing and then parsing gives the same tree; comments stay; mangled texts never panic.

use linpoint_history::rng::Rng;
use linpoint_lang::ast::*;
use linpoint_lang::{Span, compile, parse, print};

use crate::corpus;

/// Makes random trees.
struct Maker {
    rng: Rng,
    depth: u32,
}

impl Maker {
    fn below(&mut self, n: u64) -> u64 {
        self.rng.below(n)
    }

    fn name(&mut self) -> Name {
        const NAMES: &[&str] =
            &["x", "top", "next", "Node", "all", "any", "size", "list", "of", "lin", "at", "op"];
        let text = NAMES[self.below(NAMES.len() as u64) as usize].to_owned();
        Name { text, span: Span::default() }
    }

    fn expr(&mut self) -> Expr {
        let simple = self.depth > 4;
        self.depth += 1;
        let kind = match self.below(if simple { 6 } else { 18 }) {
            0 => ExprKind::Int(self.below(20) as i64 - 5),
            1 => ExprKind::Bool(self.below(2) == 0),
            2 => ExprKind::Null,
            3 => ExprKind::None,
            4 => ExprKind::Me,
            5 => ExprKind::Name(self.name().text),
            6 => ExprKind::Field(Box::new(self.expr()), self.name()),
            7 => ExprKind::Index(Box::new(self.expr()), Box::new(self.expr())),
            8 => ExprKind::Call(self.name(), self.exprs(0)),
            9 => {
                let fields = (0..1 + self.below(2)).map(|_| (self.name(), self.expr())).collect();
                ExprKind::New(self.name(), fields)
            }
            10 => ExprKind::Not(Box::new(self.expr())),
            11 => match self.expr() {
                // The parser makes a negative number of it.
                Expr { kind: ExprKind::Int(n), .. } => ExprKind::Int(n),
                inner => ExprKind::Neg(Box::new(inner)),
            },
            12 => ExprKind::Quantified {
                all: self.below(2) == 0,
                var: self.name(),
                range: Box::new(self.range()),
                body: Box::new(self.expr()),
            },
            13 => ExprKind::Tuple(self.exprs(2)),
            14 => ExprKind::Choose(Box::new(self.range())),
            _ => {
                use BinOp::*;
                const OPS: &[BinOp] = &[Implies, Or, And, Eq, Ne, Lt, Le, Gt, Ge, Add, Sub, Mul, Rem];
                let op = OPS[self.below(OPS.len() as u64) as usize];
                ExprKind::Binary(op, Box::new(self.expr()), Box::new(self.expr()))
            }
        };
        self.depth -= 1;
        Expr { kind, span: Span::default() }
    }

    fn exprs(&mut self, least: u64) -> Vec<Expr> {
        let count = least + self.below(3);
        (0..count).map(|_| self.expr()).collect()
    }

    fn range(&mut self) -> Range {
        Range { lo: self.expr(), hi: self.expr(), inclusive: self.below(2) == 0 }
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Maker) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| make(self))
    }

    fn ty(&mut self) -> TypeExpr {
        let kind = match self.below(7) {
            0 => TypeKind::Named("data".into()),
            1 => {
                let number = |n: u64| Expr { kind: ExprKind::Int(n as i64), span: Span::default() };
                let (lo, hi) = (number(self.below(3)), number(3 + self.below(3)));
                TypeKind::Range(Box::new(Range { lo, hi, inclusive: self.below(2) == 0 }))
            }
            2 => TypeKind::Pointer(self.name()),
            3 => TypeKind::Array(Box::new(self.ty()), Box::new(self.expr())),
            5 => TypeKind::Unbounded(Box::new(self.ty())),
            4 => TypeKind::Tuple((0..2).map(|_| self.ty()).collect()),
            _ => match self.ty() {
                inner @ TypeExpr { kind: TypeKind::Option(_), .. } => inner.kind,
                inner => TypeKind::Option(Box::new(inner)),
            },
        };
        TypeExpr { kind, span: Span::default() }
    }

    fn block(&mut self) -> Block {
        self.depth += 1;
        let count = if self.depth > 4 { 0 } else { self.below(4) };
        let statements = (0..count).map(|_| self.stmt()).collect();
        self.depth -= 1;
        Block { statements, span: Span::default() }
    }

    fn stmt(&mut self) -> Stmt {
        let kind = match self.below(15) {
            0 => StmtKind::Var {
                ghost: self.below(2) == 0,
                name: self.name(),
                ty: self.maybe(Maker::ty),
                value: self.maybe(Maker::expr),
            },
            1 => StmtKind::Assign {
                target: Expr { kind: ExprKind::Name(self.name().text), span: Span::default() },
                value: self.expr(),
            },
            2 => {
                let kind = ExprKind::Call(self.name(), self.exprs(0));
                StmtKind::Call(Expr { kind, span: Span::default() })
            }
            3 => StmtKind::Atomic(self.block()),
            4 | 5 => {
                StmtKind::If { cond: self.expr(), then: self.block(), otherwise: self.maybe(Maker::block) }
            }
            6 => StmtKind::Loop(self.block()),
            7 => StmtKind::While { cond: self.expr(), body: self.block() },
            8 => StmtKind::For { var: self.name(), range: self.range(), body: self.block() },
            9 => StmtKind::Break(self.maybe(Maker::name)),
            10 => StmtKind::Return(self.maybe(Maker::expr)),
            11 => StmtKind::Choose((0..1 + self.below(3)).map(|_| self.block()).collect()),
            12 => StmtKind::Assume(self.expr()),
            13 => StmtKind::Assert(self.expr()),
            _ => StmtKind::Tressa(self.expr()),
        };
        let notes = (0..self.below(3) / 2 * (1 + self.below(2))).map(|_| self.note()).collect();
        Stmt { label: self.maybe(Maker::name), kind, notes, span: Span::default() }
    }

    fn note(&mut self) -> Note {
        let kind = match self.below(3) {
            0 => NoteKind::Lin {
                result: self.maybe(Maker::expr),
                of: self.maybe(|m| Expr { kind: ExprKind::Name(m.name().text), span: Span::default() }),
                when: self.maybe(Maker::expr),
            },
            1 => NoteKind::Query { when: self.maybe(Maker::expr) },
            _ => {
                let target = Expr { kind: ExprKind::Name(self.name().text), span: Span::default() };
                let kind = StmtKind::Assign { target, value: self.expr() };
                let statement = Stmt { label: None, kind, notes: vec![], span: Span::default() };
                NoteKind::Ghost(Block { statements: vec![statement], span: Span::default() })
            }
        };
        Note { kind, span: Span::default() }
    }

    fn labels(&mut self) -> Vec<LabelRange> {
        (0..1 + self.below(2))
            .map(|_| LabelRange { first: self.name(), last: self.maybe(Maker::name) })
            .collect()
    }

    fn member(&mut self, inner: bool) -> Member {
        let kind = match self.below(if inner { 7 } else { 15 }) {
            0 => {
                let field = |m: &mut Maker| FieldDecl {
                    ghost: m.below(2) == 0,
                    name: m.name(),
                    ty: m.ty(),
                    init: m.maybe(Maker::expr),
                };
                let fields = (0..self.below(4)).map(|_| field(self)).collect();
                MemberKind::Struct { pooled: self.below(2) == 0, name: self.name(), fields }
            }
            1 => MemberKind::Enum { name: self.name(), variants: vec![self.name(), self.name()] },
            2 => MemberKind::Const { name: self.name(), value: self.expr() },
            3 => MemberKind::Size { name: self.name(), value: self.expr() },
            4 => MemberKind::Shared {
                ghost: self.below(2) == 0,
                name: self.name(),
                ty: self.ty(),
                init: self.maybe(Maker::expr),
            },
            5 => MemberKind::Init(self.block()),
            6 | 7 => {
                let kinds = [RoutineKind::Op, RoutineKind::Proc, RoutineKind::AtomicProc];
                MemberKind::Routine(Routine {
                    kind: kinds[self.below(3) as usize],
                    name: self.name(),
                    params: (0..self.below(3)).map(|_| (self.name(), self.ty())).collect(),
                    result: self.maybe(Maker::ty),
                    body: self.block(),
                })
            }
            8 => MemberKind::Spec((0..self.below(3)).map(|_| self.member(true)).collect()),
            9 => {
                let calls = |m: &mut Maker| (0..m.below(3)).map(|_| (m.name(), m.exprs(0))).collect();
                let number = || Expr { kind: ExprKind::Int(2), span: Span::default() };
                let kind = match self.below(3) {
                    0 => ClientKind::General { threads: number(), ops: number() },
                    1 => {
                        let role = Name { text: "producers".into(), span: Span::default() };
                        ClientKind::Roles { roles: vec![(role, number(), vec![self.name()])], ops: number() }
                    }
                    _ => ClientKind::Scenario((0..1 + self.below(2)).map(|_| calls(self)).collect()),
                };
                MemberKind::Client(Client { name: self.name(), kind })
            }
            10 => {
                let over =
                    |m: &mut Maker| Over { var: m.name(), range: m.range(), when: m.maybe(Maker::expr) };
                MemberKind::Abs { items: vec![self.expr()], over: self.maybe(over) }
            }
            11 => {
                let at = self.maybe(Maker::labels).unwrap_or_default();
                MemberKind::Inv { at, body: self.expr() }
            }
            12 => {
                let item = |m: &mut Maker| DisjointItem {
                    var: m.name(),
                    at: m.labels(),
                    when: m.maybe(Maker::expr),
                };
                MemberKind::Disjoint((0..1 + self.below(2)).map(|_| item(self)).collect())
            }
            13 => {
                let status = match self.below(3) {
                    0 => Status::In,
                    1 => Status::Out(self.maybe(Maker::expr)),
                    _ => Status::InOut(self.maybe(Maker::expr)),
                };
                MemberKind::Status { at: self.labels(), when: self.maybe(Maker::expr), status }
            }
            _ => {
                let name = |text: &str| Name { text: text.into(), span: Span::default() };
                let sorted = self.maybe(Maker::name);
                MemberKind::Track(Track::List { head: name("head"), via: name("next"), sorted })
            }
        };
        Member { kind, span: Span::default() }
    }

    fn file(&mut self) -> File {
        let object = |m: &mut Maker| Object {
            name: m.name(),
            is_spec: false,
            spec: m.maybe(|_| Name { text: "priority-queue:capacity=2".into(), span: Span::default() }),
            members: (0..m.below(5)).map(|_| m.member(false)).collect(),
            span: Span::default(),
        };
        File { objects: (0..1 + self.below(2)).map(|_| object(self)).collect(), comments: vec![] }
    }
}

#[test]
fn print_then_parse_is_identity() {
    for seed in 0..3000 {
        let file = Maker { rng: Rng::new(seed), depth: 0 }.file();
        let printed = print(&file, "");
        let (again, wrong) = parse(&printed);
        let shown: String = wrong.iter().map(|d| d.render("random", &printed)).collect();
        assert!(wrong.is_empty(), "seed {seed}:\n{shown}\n{printed}");
        assert_eq!(file.objects, again.objects, "seed {seed}:\n{printed}");
        assert_eq!(print(&again, &printed), printed, "seed {seed}");
    }
}

/// Texts with pieces cut out, doubled and swapped: something is said about them, and nothing panics.
#[test]
fn mangled_texts_never_panic() {
    let files = corpus::files();
    let mut rng = Rng::new(7);
    for round in 0..600 {
        let text = &files[round % files.len()].1;
        let chars: Vec<char> = text.chars().collect();
        let mut pick = |n: usize| rng.below(n.max(1) as u64) as usize;
        let (from, length) = (pick(chars.len()), 1 + pick(12));
        let piece: String = chars[from..(from + length).min(chars.len())].iter().collect();
        let to = pick(chars.len());
        let mut mangled: String = chars[..to].iter().collect();
        match round % 3 {
            0 => mangled.push_str(&piece),
            1 => mangled.push_str("}{"),
            _ => {}
        }
        let skip = if round % 2 == 0 { to } else { (to + length).min(chars.len()) };
        mangled.extend(&chars[skip..]);
        let (programs, wrong) = compile(&mangled);
        assert!(!programs.is_empty() || !wrong.is_empty() || mangled.trim().is_empty());
        let (file, wrong) = parse(&mangled);
        if wrong.is_empty() {
            let printed = print(&file, &mangled);
            let (again, wrong) = parse(&printed);
            assert!(wrong.is_empty(), "{wrong:?}\n{mangled}\n----\n{printed}");
            assert_eq!(file.objects, again.objects);
            let words = |text: &str| text.matches("//").count();
            assert_eq!(words(&mangled), words(&printed), "{mangled}\n----\n{printed}");
        }
    }
}

#[test]
fn comments_stay_where_they_were() {
    let text = "\
// Before.
object T {  // beside the object
  // The top.
  shared x: int = 0  // zero

  op get() -> int {
    // Read it.
    v = x  // here
    if v > 1 {
      // Large.
      return 1
    }

    return v
    // At the end.
  }
}
// After.
";
    let (file, wrong) = parse(text);
    assert!(wrong.is_empty());
    assert_eq!(print(&file, text), text);
}
