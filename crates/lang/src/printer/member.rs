//! Objects and their members.

use super::expr::{commas, range};
use super::{Printer, WIDTH, print_expr, print_type};
use crate::ast::{
    ClientKind, DisjointItem, Expr, FieldDecl, LabelRange, Member, MemberKind, Object, Routine, RoutineKind,
    Status, Track,
};

impl Printer<'_> {
    pub(super) fn object(&mut self, object: &Object) {
        let spec = object.spec.as_ref().map_or(String::new(), |spec| format!(" : {}", spec.text));
        let keyword = if object.is_spec { "spec" } else { "object" };
        self.open(&format!("{keyword} {}{spec} {{", object.name.text));
        self.members(&object.members);
        self.close(object.span, "}");
    }

    fn members(&mut self, members: &[Member]) {
        let mut was_tall = false;
        for member in members {
            let tall = matches!(
                member.kind,
                MemberKind::Routine(_) | MemberKind::Init(_) | MemberKind::Spec(_) | MemberKind::Client(_)
            );
            self.before(member.span, tall || was_tall);
            self.member(member);
            was_tall = tall;
        }
    }

    fn member(&mut self, member: &Member) {
        match &member.kind {
            MemberKind::Struct { pooled, name, fields } => {
                let pooled = if *pooled { "pooled " } else { "" };
                let head = format!("{pooled}struct {}", name.text);
                self.fields(&head, fields, member.span);
            }
            MemberKind::Enum { name, variants } => {
                self.line(&format!("enum {} {{ {} }}", name.text, commas(variants, |v| v.text.clone())));
            }
            MemberKind::Const { name, value } => {
                self.line(&format!("const {} = {}", name.text, print_expr(value)))
            }
            MemberKind::Size { name, value } => {
                self.line(&format!("size {} = {}", name.text, print_expr(value)))
            }
            MemberKind::Shared { ghost, name, ty, init } => {
                let ghost = if *ghost { "ghost " } else { "" };
                let init = init.as_ref().map_or(String::new(), |e| format!(" = {}", print_expr(e)));
                self.line(&format!("{ghost}shared {}: {}{init}", name.text, print_type(ty)));
            }
            MemberKind::Init(block) => self.braces("init", block),
            MemberKind::Routine(routine) => self.routine(routine),
            MemberKind::Spec(members) => {
                self.open("spec {");
                self.members(members);
                self.close(member.span, "}");
            }
            MemberKind::Client(client) => self.client(member, &client.name.text, &client.kind),
            MemberKind::Abs { items, over } => {
                let over = over.as_ref().map_or(String::new(), |over| {
                    format!(" for {} in {}{}", over.var.text, range(&over.range), when(&over.when))
                });
                self.line(&format!("abs {}{over}", commas(items, print_expr)));
            }
            MemberKind::Inv { at, body } => {
                let at = if at.is_empty() { String::new() } else { format!(" at {}", labels(at)) };
                self.line(&format!("inv{at}: {}", print_expr(body)));
            }
            MemberKind::Disjoint(items) => {
                let item = |i: &DisjointItem| format!("{} at {}{}", i.var.text, labels(&i.at), when(&i.when));
                let items: Vec<String> = items.iter().map(item).collect();
                self.line(&format!("disjoint {}", items.join("; ")));
            }
            MemberKind::Status { at, when: c, status } => {
                let with = |word: &str, result: &Option<Expr>| {
                    result.as_ref().map_or(word.to_owned(), |r| format!("{word}({})", print_expr(r)))
                };
                let status = match status {
                    Status::In => "in".to_owned(),
                    Status::Out(result) => with("out", result),
                    Status::InOut(result) => with("inout", result),
                };
                self.line(&format!("status at {}{}: {status}", labels(at), when(c)));
            }
            MemberKind::Track(Track::Path(path)) => self.line(&format!("track {}", print_expr(path))),
            MemberKind::Track(Track::List { head, via, sorted }) => {
                let sorted = sorted.as_ref().map_or(String::new(), |f| format!(" sorted by {}", f.text));
                self.line(&format!("track list {} via {}{sorted}", head.text, via.text));
            }
        }
    }

    fn fields(&mut self, head: &str, fields: &[FieldDecl], span: crate::span::Span) {
        let field = |f: &FieldDecl| {
            let ghost = if f.ghost { "ghost " } else { "" };
            let init = f.init.as_ref().map_or(String::new(), |e| format!(" = {}", print_expr(e)));
            format!("{ghost}{}: {}{init}", f.name.text, print_type(&f.ty))
        };
        let line = format!("{head} {{ {} }}", commas(fields, field));
        if !self.has_comments(span) && line.len() + 2 * self.depth <= WIDTH {
            return self.line(&line);
        }
        self.open(&format!("{head} {{"));
        for f in fields {
            self.before(f.name.span, false);
            self.line(&format!("{},", field(f)));
        }
        self.close(span, "}");
    }

    fn routine(&mut self, routine: &Routine) {
        let word = match routine.kind {
            RoutineKind::Op => "op",
            RoutineKind::Proc => "proc",
            RoutineKind::AtomicProc => "atomic proc",
        };
        let params = commas(&routine.params, |(name, ty)| format!("{}: {}", name.text, print_type(ty)));
        let result = routine.result.as_ref().map_or(String::new(), |ty| format!(" -> {}", print_type(ty)));
        self.braces(&format!("{word} {}({params}){result}", routine.name.text), &routine.body);
    }

    fn client(&mut self, member: &Member, name: &str, kind: &ClientKind) {
        self.open(&format!("client {name} {{"));
        match kind {
            ClientKind::General { threads, ops } => {
                self.line(&format!("threads {}", print_expr(threads)));
                self.line(&format!("ops {}", print_expr(ops)));
            }
            ClientKind::Roles { roles, ops } => {
                for (role, count, calls) in roles {
                    let calls = commas(calls, |call| call.text.clone());
                    self.line(&format!("{} {}: {calls}", role.text, print_expr(count)));
                }
                self.line(&format!("ops {}", print_expr(ops)));
            }
            ClientKind::Scenario(threads) => {
                for calls in threads {
                    let calls: Vec<String> = calls
                        .iter()
                        .map(|(name, args)| format!("{}({})", name.text, commas(args, print_expr)))
                        .collect();
                    let body =
                        if calls.is_empty() { String::new() } else { format!(" {} ", calls.join("; ")) };
                    self.line(&format!("thread {{{body}}}"));
                }
            }
        }
        self.close(member.span, "}");
    }
}

fn labels(labels: &[LabelRange]) -> String {
    commas(labels, |range| match &range.last {
        Some(last) => format!("{}..{}", range.first.text, last.text),
        None => range.first.text.clone(),
    })
}

fn when(when: &Option<Expr>) -> String {
    when.as_ref().map_or(String::new(), |c| format!(" if {}", print_expr(c)))
}
