//! Expressions, by precedence climbing.

use super::{Parsed, Parser, is_sign, is_word};
use crate::ast::{BinOp, Expr, ExprKind};
use crate::diagnostic::{Diagnostic, code};
use crate::token::TokenKind;

const OPERATORS: &[BinOp] = {
    use BinOp::*;
    &[Implies, Or, And, Eq, Ne, Le, Lt, Ge, Gt, Add, Sub, Mul, Rem]
};

impl Parser {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(|p| p.binary(1))
    }

    /// What may stand on a side of a range.
    pub(super) fn sum(&mut self) -> Parsed<Expr> {
        self.deeper(|p| p.binary(BinOp::Add.level()))
    }

    fn operator(&self) -> Option<BinOp> {
        let TokenKind::Sign(sign) = self.peek().kind else { return None };
        OPERATORS.iter().copied().find(|op| op.sign() == sign)
    }

    fn binary(&mut self, level: u8) -> Parsed<Expr> {
        let start = self.span();
        let (mut left, mut links) = (self.unary()?, 0);
        while let Some(op) = self.operator().filter(|op| op.level() >= level) {
            self.link(&mut links)?;
            self.bump();
            // To the right for `==>`; comparisons do not chain; the rest to the left.
            let right = match op {
                BinOp::Implies => self.deeper(|p| p.binary(op.level()))?,
                _ => self.binary(op.level() + 1)?,
            };
            left =
                Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span: self.since(start) };
            if op.level() == BinOp::Eq.level()
                && self.operator().is_some_and(|next| next.level() == op.level())
            {
                let span = self.span();
                self.complain(
                    Diagnostic::error(code::SYNTAX, span, "comparisons do not chain")
                        .help("join two comparisons with `&&`"),
                );
            }
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let not = self.is_sign("!");
        if not || self.is_sign("-") {
            self.bump();
            let inner = Box::new(self.deeper(Parser::unary)?);
            let kind = match inner.kind {
                ExprKind::Int(n) if !not => ExprKind::Int(-n),
                _ if not => ExprKind::Not(inner),
                _ => ExprKind::Neg(inner),
            };
            return Ok(Expr { kind, span: self.since(start) });
        }
        self.postfix()
    }

    pub(super) fn postfix(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let (mut expr, mut links) = (self.atom()?, 0);
        loop {
            self.link(&mut links)?;
            if self.is_sign(".") {
                self.bump();
                let field = self.field_name()?;
                expr = Expr { kind: ExprKind::Field(Box::new(expr), field), span: self.since(start) };
            } else if self.is_sign("[") && !self.peek().on_new_line {
                self.bump();
                let index = self.expr()?;
                self.sign("]")?;
                expr =
                    Expr { kind: ExprKind::Index(Box::new(expr), Box::new(index)), span: self.since(start) };
            } else {
                return Ok(expr);
            }
        }
    }

    fn atom(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let token = self.peek().clone();
        let kind = match token.kind {
            TokenKind::Number(n) => {
                self.bump();
                ExprKind::Int(n)
            }
            TokenKind::Sign("(") => {
                self.bump();
                let mut items = self.list(start, ")", Parser::expr)?;
                if items.len() == 1 {
                    return Ok(items.remove(0));
                }
                ExprKind::Tuple(items)
            }
            TokenKind::Word(word) => self.word_expr(&word)?,
            _ => return self.expected("an expression", ""),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn word_expr(&mut self, word: &str) -> Parsed<ExprKind> {
        let simple = match word {
            "true" => Some(ExprKind::Bool(true)),
            "false" => Some(ExprKind::Bool(false)),
            "null" => Some(ExprKind::Null),
            "none" => Some(ExprKind::None),
            "me" => Some(ExprKind::Me),
            _ => None,
        };
        if let Some(kind) = simple {
            self.bump();
            return Ok(kind);
        }
        match word {
            "new" => {
                self.bump();
                let name = self.name("the name of a record")?;
                let mut fields = Vec::new();
                if self.is_sign("{") && !self.peek().on_new_line {
                    let open = self.bump().span;
                    fields = self.list(open, "}", |p| {
                        let field = p.field_name()?;
                        p.sign(":")?;
                        Ok((field, p.expr()?))
                    })?;
                }
                Ok(ExprKind::New(name, fields))
            }
            "choose" => {
                self.bump();
                Ok(ExprKind::Choose(Box::new(self.range()?)))
            }
            "all" | "any"
                if matches!(self.ahead(1).kind, TokenKind::Word(_)) && is_word(self.ahead(2), "in") =>
            {
                self.bump();
                let var = self.name("a variable")?;
                self.word("in")?;
                let range = Box::new(self.range()?);
                self.sign(":")?;
                let body = Box::new(self.expr()?);
                Ok(ExprKind::Quantified { all: word == "all", var, range, body })
            }
            _ => {
                let name = self.name("an expression")?;
                if is_sign(self.peek(), "(") && !self.peek().on_new_line {
                    let open = self.bump().span;
                    return Ok(ExprKind::Call(name, self.list(open, ")", Parser::expr)?));
                }
                Ok(ExprKind::Name(name.text))
            }
        }
    }
}
