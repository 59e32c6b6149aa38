//! Blocks and statements.

use super::{Failed, Parsed, Parser, is_sign, is_word};
use crate::ast::{Block, Expr, ExprKind, Name, Stmt, StmtKind};
use crate::diagnostic::{Diagnostic, code};
use crate::token::TokenKind;

impl Parser {
    pub(super) fn block(&mut self) -> Parsed<Block> {
        self.deeper(Parser::statements)
    }

    fn statements(&mut self) -> Parsed<Block> {
        let indent = self.peek().indent;
        let open = self.open_block()?;
        let mut statements = Vec::new();
        loop {
            while self.eat_sign(";") {}
            if self.is_sign("}") && self.peek().on_new_line && self.peek().indent < indent {
                self.askew.get_or_insert(open);
            }
            if self.eat_sign("}") {
                return Ok(Block { statements, span: self.since(open) });
            }
            if self.at_end() || self.member_starts() {
                self.unclosed(open);
                return Ok(Block { statements, span: self.since(open) });
            }
            let before = self.at;
            match self.stmt() {
                Ok(statement) => {
                    statements.push(statement);
                    self.end_of_statement();
                }
                Err(Failed) => {
                    if self.at == before {
                        self.bump();
                    }
                    self.skip_statement();
                }
            }
        }
    }

    fn open_block(&mut self) -> Parsed<crate::span::Span> {
        if self.is_sign("{") {
            return self.sign("{");
        }
        let help = match &self.peek().kind {
            TokenKind::Sign("=") => "`=` assigns; compare with `==`",
            TokenKind::Sign("&") | TokenKind::Sign("|") => "and is written `&&`, or is written `||`",
            TokenKind::Word(_) => "a body stands in braces: `if c { … }`",
            _ => "",
        };
        self.expected("`{`", help)
    }

    /// A statement ends at a line's end, a semicolon or a brace.
    fn end_of_statement(&mut self) {
        if self.peek().on_new_line || self.is_sign(";") || self.is_sign("}") || self.at_end() {
            return;
        }
        let _ = self.expected::<()>(
            "a new line or `;`",
            "statements stand on lines of their own, or have `;` between them",
        );
        self.skip_statement();
    }

    /// To the next line at this depth, or to the brace that closes the block.
    fn skip_statement(&mut self) {
        let mut open = 0_u32;
        while !self.at_end() {
            if self.is_sign("}") && open == 0 || self.member_starts() {
                return;
            }
            if open == 0 && (self.peek().on_new_line || self.is_sign(";")) {
                return;
            }
            if self.is_sign("{") {
                open += 1;
            } else if self.is_sign("}") {
                open -= 1;
            }
            self.bump();
        }
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        let label = match &self.peek().kind {
            TokenKind::Word(_) if is_sign(self.ahead(1), ":") => {
                let name = self.name("a label")?;
                self.bump();
                Some(name)
            }
            _ => None,
        };
        let word = match &self.peek().kind {
            TokenKind::Word(word) => word.clone(),
            TokenKind::Sign("{") => {
                let span = self.span();
                self.complain(
                    Diagnostic::error(code::SYNTAX, span, "a bare block has no meaning here")
                        .help("write `atomic { … }` for one step, or remove the braces"),
                );
                let _ = self.block();
                return Err(Failed);
            }
            TokenKind::Sign("(") => "(".to_owned(),
            _ => return self.expected("a statement", ""),
        };
        let mut notes = Vec::new();
        let kind = match word.as_str() {
            "var" | "ghost" if word == "var" || is_word(self.ahead(1), "var") => self.var()?,
            "prophecy" if matches!(self.ahead(1).kind, TokenKind::Word(_)) && !self.ahead(1).on_new_line => {
                self.bump();
                let name = self.name("a variable")?;
                self.sign(":")?;
                StmtKind::Prophecy { name, ty: self.ty()? }
            }
            "atomic" => {
                self.bump();
                StmtKind::Atomic(self.block()?)
            }
            "if" => {
                self.bump();
                let cond = self.expr()?;
                notes = self.notes()?;
                self.if_rest(cond)?
            }
            "loop" => {
                self.bump();
                StmtKind::Loop(self.block()?)
            }
            "while" => {
                self.bump();
                let cond = self.expr()?;
                notes = self.notes()?;
                StmtKind::While { cond, body: self.block()? }
            }
            "for" => {
                self.bump();
                let var = self.name("a variable")?;
                self.word("in")?;
                let range = self.range()?;
                StmtKind::For { var, range, body: self.block()? }
            }
            "break" => {
                self.bump();
                StmtKind::Break(self.optional_label()?)
            }
            "continue" => {
                self.bump();
                StmtKind::Continue(self.optional_label()?)
            }
            "return" => {
                self.bump();
                let next = self.peek();
                let bare = next.on_new_line || is_sign(next, "}") || is_sign(next, ";") || is_sign(next, "@");
                StmtKind::Return(if bare || self.at_end() { None } else { Some(self.expr()?) })
            }
            "choose" => {
                self.bump();
                let mut ways = vec![self.block()?];
                while self.eat_word("or") {
                    ways.push(self.block()?);
                }
                StmtKind::Choose(ways)
            }
            "assume" => {
                self.bump();
                StmtKind::Assume(self.expr()?)
            }
            "assert" => {
                self.bump();
                StmtKind::Assert(self.expr()?)
            }
            "tressa" => {
                self.bump();
                StmtKind::Tressa(self.expr()?)
            }
            "else" => {
                return self.expected("a statement", "`else` stands after the brace that closes an `if`");
            }
            _ => self.assignment_or_call()?,
        };
        if notes.is_empty() {
            notes = self.notes()?;
        }
        Ok(Stmt { label, kind, notes, span: self.since(start) })
    }

    fn optional_label(&mut self) -> Parsed<Option<Name>> {
        match &self.peek().kind {
            TokenKind::Word(_) if !self.peek().on_new_line => Ok(Some(self.name("a label")?)),
            _ => Ok(None),
        }
    }

    fn var(&mut self) -> Parsed<StmtKind> {
        let ghost = self.eat_word("ghost");
        self.word("var")?;
        let name = self.name("a variable")?;
        let ty = if self.eat_sign(":") { Some(self.ty()?) } else { None };
        let value = if self.eat_sign("=") { Some(self.expr()?) } else { None };
        Ok(StmtKind::Var { ghost, name, ty, value })
    }

    fn if_rest(&mut self, cond: Expr) -> Parsed<StmtKind> {
        let then = self.block()?;
        let otherwise = if !self.eat_word("else") {
            None
        } else if self.is_word("if") {
            // `else if` is a block with one statement; the printer writes it back so.
            let statement = self.deeper(Parser::stmt)?;
            let span = statement.span;
            Some(Block { statements: vec![statement], span })
        } else {
            Some(self.block()?)
        };
        Ok(StmtKind::If { cond, then, otherwise })
    }

    fn assignment_or_call(&mut self) -> Parsed<StmtKind> {
        let target = self.postfix()?;
        let worked_out = matches!(
            target.kind,
            ExprKind::Binary(..)
                | ExprKind::Not(_)
                | ExprKind::Neg(_)
                | ExprKind::Quantified { .. }
                | ExprKind::Choose(_)
                | ExprKind::New(..)
        );
        if self.is_sign("=") && worked_out {
            return self.expected(
                "a place before `=`",
                "a variable, a field or an element is assigned to; several with commas: `(a, b) = f()`",
            );
        }
        if self.eat_sign("=") {
            return Ok(StmtKind::Assign { target, value: self.expr()? });
        }
        if matches!(target.kind, ExprKind::Call(..)) {
            return Ok(StmtKind::Call(target));
        }
        if self.is_sign("==") {
            return self.expected("`=`", "`==` compares; an assignment is written with one `=`");
        }
        let short = |parser: &Parser| is_sign(parser.ahead(1), "=") && !parser.ahead(1).on_new_line;
        if let TokenKind::Sign(sign @ ("+" | "-" | "*")) = self.peek().kind
            && short(self)
        {
            let help = format!("there is no `{sign}=`: write `x = x {sign} …`");
            return self.expected("`=` or a call", &help);
        }
        if let TokenKind::Sign(sign @ ("+" | "-")) = self.peek().kind
            && is_sign(self.ahead(1), sign)
        {
            let help = format!("there is no `{sign}{sign}`: write `x = x {sign} 1`");
            return self.expected("`=` or a call", &help);
        }
        let known = [
            "loop", "while", "return", "break", "continue", "atomic", "assert", "assume", "choose", "tressa",
            "prophecy",
        ];
        let help = match &target.kind {
            ExprKind::Name(name) => crate::near::did_you_mean(name, known),
            _ => String::new(),
        };
        self.expected("`=` or a call", &help)
    }
}
