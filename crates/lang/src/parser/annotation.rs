//! Annotations: `@lin` and its kin on steps; `abs`, `inv`, `disjoint`, `status`, `track` on objects.

use super::{Parsed, Parser};
use crate::ast::{DisjointItem, LabelRange, MemberKind, Note, NoteKind, Over, Status, Track};
use crate::token::TokenKind;

impl Parser {
    /// Every `@…` that follows. They may stand on lines of their own, but what belongs to one stands on its
    /// line.
    pub(super) fn notes(&mut self) -> Parsed<Vec<Note>> {
        let mut notes = Vec::new();
        while self.is_sign("@") {
            let start = self.bump().span;
            let kind = if self.eat_word("lin") {
                let result = if self.is_sign("(") && !self.peek().on_new_line {
                    self.bump();
                    let result = self.expr()?;
                    self.sign(")")?;
                    Some(result)
                } else {
                    None
                };
                let of = if self.is_word("of") && !self.peek().on_new_line {
                    self.bump();
                    Some(self.postfix()?)
                } else {
                    None
                };
                NoteKind::Lin { result, of, when: self.when()? }
            } else if self.eat_word("query") {
                NoteKind::Query { when: self.when()? }
            } else if self.eat_word("ghost") {
                NoteKind::Ghost(self.block()?)
            } else if self.eat_word("resolve") {
                let name = self.name("what was guessed")?;
                self.sign("=")?;
                NoteKind::Resolve { name, value: self.expr()? }
            } else {
                let help = self.nearest(&["lin", "query", "ghost", "resolve"]);
                return self.expected("`lin`, `query`, `ghost` or `resolve`", &help);
            };
            notes.push(Note { kind, span: self.since(start) });
        }
        Ok(notes)
    }

    /// `if c`, on the same line.
    fn when(&mut self) -> Parsed<Option<crate::ast::Expr>> {
        if self.is_word("if") && !self.peek().on_new_line {
            self.bump();
            return Ok(Some(self.expr()?));
        }
        Ok(None)
    }

    pub(super) fn abs(&mut self) -> Parsed<MemberKind> {
        self.word_of("abs");
        let mut items = vec![self.expr()?];
        while self.eat_sign(",") {
            items.push(self.expr()?);
        }
        let over = if self.eat_word("for") {
            let var = self.name("a variable")?;
            self.word("in")?;
            let range = self.range()?;
            Some(Over { var, range, when: self.when()? })
        } else {
            None
        };
        Ok(MemberKind::Abs { items, over })
    }

    pub(super) fn inv(&mut self) -> Parsed<MemberKind> {
        self.word_of("inv");
        let at = if self.eat_word("at") { self.labels()? } else { Vec::new() };
        self.sign(":")?;
        Ok(MemberKind::Inv { at, body: self.expr()? })
    }

    pub(super) fn disjoint(&mut self) -> Parsed<MemberKind> {
        self.word_of("disjoint");
        let mut items = Vec::new();
        loop {
            let var = self.name("a variable")?;
            self.word("at")?;
            let at = self.labels()?;
            items.push(DisjointItem { var, at, when: self.when()? });
            if !self.eat_sign(";") || self.peek().on_new_line {
                return Ok(MemberKind::Disjoint(items));
            }
        }
    }

    pub(super) fn status(&mut self) -> Parsed<MemberKind> {
        self.word_of("status");
        self.word("at")?;
        let at = self.labels()?;
        let when = self.when()?;
        self.sign(":")?;
        let status = if self.eat_word("in") {
            Status::In
        } else if self.eat_word("out") {
            Status::Out(self.status_result()?)
        } else if self.eat_word("inout") {
            Status::InOut(self.status_result()?)
        } else {
            let help = self.nearest(&["in", "out", "inout"]);
            return self.expected("`in`, `out(result)` or `inout(result)`", &help);
        };
        Ok(MemberKind::Status { at, when, status })
    }

    fn status_result(&mut self) -> Parsed<Option<crate::ast::Expr>> {
        if !self.is_sign("(") || self.peek().on_new_line {
            return Ok(None);
        }
        self.bump();
        let result = self.expr()?;
        self.sign(")")?;
        Ok(Some(result))
    }

    pub(super) fn track(&mut self) -> Parsed<MemberKind> {
        self.word_of("track");
        let list = self.is_word("list") && matches!(self.ahead(1).kind, TokenKind::Word(_));
        if !list {
            return Ok(MemberKind::Track(Track::Path(self.postfix()?)));
        }
        self.bump();
        let head = self.name("a shared variable")?;
        self.word("via")?;
        let via = self.field_name()?;
        let sorted = if self.eat_word("sorted") {
            self.word("by")?;
            Some(self.field_name()?)
        } else {
            None
        };
        Ok(MemberKind::Track(Track::List { head, via, sorted }))
    }

    /// `L1, L3..L5`
    fn labels(&mut self) -> Parsed<Vec<LabelRange>> {
        let mut labels = Vec::new();
        loop {
            let first = self.name("a label")?;
            let last = if self.eat_sign("..") { Some(self.name("a label")?) } else { None };
            labels.push(LabelRange { first, last });
            if !self.eat_sign(",") {
                return Ok(labels);
            }
        }
    }

    fn word_of(&mut self, word: &'static str) {
        debug_assert!(self.is_word(word));
        self.bump();
    }
}
