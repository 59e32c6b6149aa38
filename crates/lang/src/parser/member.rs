//! Objects and their members.

use super::{MEMBERS, Parsed, Parser, is_word};
use crate::ast::{
    FieldDecl, Member, MemberKind, Name, Object, Range, Routine, RoutineKind, TypeExpr, TypeKind,
};
use crate::diagnostic::{Diagnostic, code};
use crate::token::TokenKind;

impl Parser {
    pub(super) fn objects(&mut self) -> Vec<Object> {
        let mut objects = Vec::new();
        while !self.at_end() {
            let before = self.at;
            if self.object_starts() {
                if let Ok(object) = self.object() {
                    objects.push(object);
                    continue;
                }
            } else {
                let help = self.nearest(&["object", "spec"]);
                let help = if help.is_empty() {
                    "a file is a list of objects: `object Name : spec { … }`".to_owned()
                } else {
                    help
                };
                let _ = self.expected::<()>("`object`", &help);
            }
            if self.at == before {
                self.bump();
            }
            while !(self.at_end() || self.object_starts() && self.peek().on_new_line) {
                self.bump();
            }
        }
        objects
    }

    /// Does an object start here, or a specification that stands alone?
    fn object_starts(&self) -> bool {
        let is_spec = self.is_word("spec") && matches!(self.ahead(1).kind, TokenKind::Word(_));
        self.is_word("object") || is_spec
    }

    fn object(&mut self) -> Parsed<Object> {
        let start = self.span();
        let is_spec = self.eat_word("spec");
        if !is_spec {
            self.word("object")?;
        }
        let name =
            self.name(if is_spec { "the name of the specification" } else { "the name of the object" })?;
        if is_spec && self.is_sign(":") {
            return self.expected("`{`", "a specification says itself what it is");
        }
        let spec = if self.eat_sign(":") { Some(self.spec_name()?) } else { None };
        let open = self.sign("{")?;
        let members = self.members(open);
        Ok(Object { is_spec, name, spec, members, span: self.since(start) })
    }

    /// `priority-queue`, `queue:capacity=2:spurious`
    fn spec_name(&mut self) -> Parsed<Name> {
        let first = self.name("the name of a specification")?;
        let (mut text, start) = (first.text, first.span);
        loop {
            if self.is_sign("-") {
                self.bump();
                text.push('-');
                text.push_str(&self.field_name()?.text);
            } else if self.is_sign(":") {
                self.bump();
                text.push(':');
                text.push_str(&self.field_name()?.text);
                if self.eat_sign("=") {
                    let TokenKind::Number(n) = self.peek().kind else { return self.expected("a number", "") };
                    self.bump();
                    text.push_str(&format!("={n}"));
                }
            } else {
                return Ok(Name { text, span: self.since(start) });
            }
        }
    }

    /// Members up to the closing brace, which is eaten.
    fn members(&mut self, open: crate::span::Span) -> Vec<Member> {
        let mut members = Vec::new();
        loop {
            if self.eat_sign("}") {
                return members;
            }
            if self.at_end() || self.is_word("object") {
                self.unclosed(open);
                return members;
            }
            let before = self.at;
            if let Ok(member) = self.deeper(Parser::member) {
                members.push(member);
                continue;
            }
            if self.at == before {
                self.bump();
            }
            self.skip_member();
        }
    }

    /// To the next member, or to the brace that closes the object.
    fn skip_member(&mut self) {
        let mut open = 0_u32;
        while !self.at_end() {
            if self.is_word("object") || self.member_starts() {
                return;
            }
            if self.is_sign("{") {
                open += 1;
            } else if self.is_sign("}") {
                if open == 0 {
                    return;
                }
                open -= 1;
            }
            self.bump();
        }
    }

    fn member(&mut self) -> Parsed<Member> {
        let start = self.span();
        let TokenKind::Word(word) = self.peek().kind.clone() else {
            return self.expected("a member of the object", "members start with `shared`, `op`, `struct`, …");
        };
        let kind = match word.as_str() {
            "struct" | "pooled" => self.record()?,
            "enum" => {
                self.bump();
                let name = self.name("the name of the enum")?;
                let open = self.sign("{")?;
                let variants = self.list(open, "}", |p| p.name("a variant"))?;
                MemberKind::Enum { name, variants }
            }
            "const" | "size" => {
                self.bump();
                let name = self.name("a name")?;
                self.sign("=")?;
                let value = self.expr()?;
                if word == "const" {
                    MemberKind::Const { name, value }
                } else {
                    MemberKind::Size { name, value }
                }
            }
            "shared" | "ghost" => {
                let ghost = self.eat_word("ghost");
                self.word("shared")?;
                let name = self.name("the name of a variable")?;
                self.sign(":")?;
                let ty = self.ty()?;
                let init = if self.eat_sign("=") { Some(self.expr()?) } else { None };
                MemberKind::Shared { ghost, name, ty, init }
            }
            "init" => {
                self.bump();
                MemberKind::Init(self.block()?)
            }
            "op" | "proc" | "atomic" => MemberKind::Routine(self.routine()?),
            "spec" => {
                self.bump();
                let open = self.sign("{")?;
                MemberKind::Spec(self.members(open))
            }
            "client" => self.client()?,
            "abs" => self.abs()?,
            "inv" => self.inv()?,
            "disjoint" => self.disjoint()?,
            "status" => self.status()?,
            "track" => self.track()?,
            _ => {
                let mut help = self.nearest(MEMBERS);
                if help.is_empty() {
                    help = "members start with `shared`, `op`, `proc`, `struct`, `enum`, `init`, `client`, …"
                        .into();
                }
                return self.expected("a member of the object", &help);
            }
        };
        self.eat_sign(";");
        self.eat_sign(",");
        Ok(Member { kind, span: self.since(start) })
    }

    fn record(&mut self) -> Parsed<MemberKind> {
        let pooled = self.eat_word("pooled");
        self.word("struct")?;
        let name = self.name("the name of the record")?;
        let open = self.sign("{")?;
        let fields = self.list(open, "}", |p| {
            let ghost = is_word(p.peek(), "ghost") && matches!(p.ahead(1).kind, TokenKind::Word(_));
            if ghost {
                p.bump();
            }
            let name = p.field_name()?;
            p.sign(":")?;
            let ty = p.ty()?;
            let init = if p.eat_sign("=") { Some(p.expr()?) } else { None };
            Ok(FieldDecl { ghost, name, ty, init })
        })?;
        Ok(MemberKind::Struct { pooled, name, fields })
    }

    fn routine(&mut self) -> Parsed<Routine> {
        let kind = if self.eat_word("op") {
            RoutineKind::Op
        } else if self.eat_word("atomic") {
            self.word("proc")?;
            RoutineKind::AtomicProc
        } else {
            self.word("proc")?;
            RoutineKind::Proc
        };
        let name = self.name("the name of the operation")?;
        let open = self.sign("(")?;
        let params = self.list(open, ")", |p| {
            let name = p.name("a parameter")?;
            if !p.is_sign(":") {
                return p.expected("`:` and a type", "parameters say their types: `v: data`");
            }
            p.bump();
            Ok((name, p.ty()?))
        })?;
        let result = if self.eat_sign("->") { Some(self.ty()?) } else { None };
        let body = self.block()?;
        Ok(Routine { kind, name, params, result, body })
    }

    pub(super) fn ty(&mut self) -> Parsed<TypeExpr> {
        self.deeper(Parser::plain_type)
    }

    fn plain_type(&mut self) -> Parsed<TypeExpr> {
        let start = self.span();
        let kind = if self.eat_sign("*") {
            TypeKind::Pointer(self.name("the name of a record")?)
        } else if self.is_sign("[") {
            self.bump();
            let element = self.ty()?;
            if self.eat_sign("]") {
                TypeKind::Unbounded(Box::new(element))
            } else {
                self.sign(";")?;
                let length = self.expr()?;
                self.sign("]")?;
                TypeKind::Array(Box::new(element), Box::new(length))
            }
        } else if self.is_sign("(") {
            let open = self.bump().span;
            TypeKind::Tuple(self.list(open, ")", Parser::ty)?)
        } else {
            match &self.peek().kind {
                TokenKind::Word(word)
                    if !super::RESERVED.contains(&word.as_str())
                        && !matches!(
                            &self.ahead(1).kind,
                            TokenKind::Sign(".." | "..=" | "+" | "-" | "*")
                        ) =>
                {
                    let word = word.clone();
                    self.bump();
                    TypeKind::Named(word)
                }
                TokenKind::Word(_) | TokenKind::Number(_) | TokenKind::Sign("-") => {
                    TypeKind::Range(Box::new(self.range()?))
                }
                _ => {
                    return self.expected(
                        "a type",
                        "types are `data`, `int`, `0..N`, `bool`, `thread`, `lock`, an enum, `*Record`, `T?`, `[T; N]`",
                    );
                }
            }
        };
        let mut ty = TypeExpr { kind, span: self.since(start) };
        while self.is_sign("?") {
            if matches!(ty.kind, TypeKind::Option(_)) {
                let span = self.span();
                self.complain(
                    Diagnostic::error(
                        code::TYPE,
                        span,
                        "an option of an option cannot be told from an option",
                    )
                    .help("remove one `?`"),
                );
            }
            self.bump();
            ty = TypeExpr { kind: TypeKind::Option(Box::new(ty)), span: self.since(start) };
        }
        Ok(ty)
    }

    /// `lo..hi` or `lo..=hi`
    pub(super) fn range(&mut self) -> Parsed<Range> {
        let lo = self.sum()?;
        let inclusive = if self.eat_sign("..=") {
            true
        } else if self.eat_sign("..") {
            false
        } else {
            return self.expected("`..`", "a range is `0..N`, without N, or `0..=N`, with it");
        };
        let hi = self.sum()?;
        Ok(Range { lo, hi, inclusive })
    }
}
