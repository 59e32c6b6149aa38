//! From tokens to a tree, by recursive descent, with recovery: every complaint, not the first.
//!
//! A statement that cannot be read is skipped to the next line that can start one; a member to the next that
//! can start one. A block in which the next member of the object begins was not closed: that is said about
//! the brace that opened it, and parsing goes on as if it had been closed. Depth is bounded, so that no input
//! overflows the stack.

mod annotation;
mod client;
mod expr;
mod member;
mod stmt;

use crate::ast::{File, Name};
use crate::diagnostic::{Diagnostic, code};
use crate::near;
use crate::span::Span;
use crate::token::{Token, TokenKind, tokens};

/// A tree, as far as there is one, and everything that is wrong with the text.
pub fn parse(text: &str) -> (File, Vec<Diagnostic>) {
    if text.len() > MAX_TEXT {
        let span = Span::new(0, 1);
        let error = Diagnostic::error(code::SYNTAX, span, "this file is too long")
            .help(format!("a file may have {MAX_TEXT} bytes"));
        return (File::default(), vec![error]);
    }
    let (tokens, comments, wrong) = tokens(text);
    let mut parser = Parser { tokens, at: 0, wrong, depth: 0, source_end: text.len(), askew: None };
    let objects = parser.objects();
    let mut wrong = parser.wrong;
    wrong.sort_by_key(|d| d.span.start);
    (File { objects, comments }, wrong)
}

const MAX_TEXT: usize = 16 << 20;

/// How deep blocks and expressions may nest.
const MAX_DEPTH: u32 = 100;
/// Links of a chain of operators, fields or places.
const MAX_LINKS: u32 = 500;

/// Words that cannot be names.
pub(crate) const RESERVED: &[&str] = &[
    "object", "if", "else", "loop", "while", "for", "in", "break", "continue", "return", "choose", "or",
    "atomic", "assume", "assert", "tressa", "new", "null", "none", "true", "false", "me", "var",
];

/// Words that start a member of an object.
const MEMBERS: &[&str] = &[
    "struct", "pooled", "enum", "const", "size", "shared", "ghost", "init", "op", "proc", "atomic", "spec",
    "client", "abs", "inv", "disjoint", "status", "track",
];

/// Nothing could be read here; the complaint is made already.
pub(super) struct Failed;

pub(super) type Parsed<T> = Result<T, Failed>;

pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    wrong: Vec<Diagnostic>,
    depth: u32,
    source_end: usize,
    /// The first block whose closing brace stands further left than the line that opened it: a brace is
    /// missing inside, most likely.
    askew: Option<Span>,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> &Token {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }

    fn span(&self) -> Span {
        self.peek().span
    }

    /// Where the token before this one ends.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1).min(self.tokens.len() - 1)].span
    }

    fn since(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    fn bump(&mut self) -> Token {
        let token = self.peek().clone();
        if self.at < self.tokens.len() - 1 {
            self.at += 1;
        }
        token
    }

    fn at_end(&self) -> bool {
        self.peek().kind == TokenKind::End
    }

    fn is_sign(&self, sign: &str) -> bool {
        is_sign(self.peek(), sign)
    }

    fn is_word(&self, word: &str) -> bool {
        is_word(self.peek(), word)
    }

    fn eat_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.bump();
        }
        found
    }

    fn complain(&mut self, diagnostic: Diagnostic) {
        // One place, one complaint: what follows from a mistake is rarely of use.
        let place = diagnostic.span.start;
        if !self.wrong.iter().any(|d| d.span.start == place) {
            self.wrong.push(diagnostic);
        }
    }

    fn expected<T>(&mut self, what: &str, help: &str) -> Parsed<T> {
        let token = self.peek().clone();
        let found = match &token.kind {
            TokenKind::Word(word) if RESERVED.contains(&word.as_str()) => format!("the word `{word}`"),
            TokenKind::Word(word) => format!("`{word}`"),
            TokenKind::Number(n) => format!("`{n}`"),
            TokenKind::Sign(sign) => format!("`{sign}`"),
            TokenKind::End => "the end of the file".to_owned(),
        };
        self.complain(
            Diagnostic::error(code::SYNTAX, token.span, format!("expected {what}, found {found}"))
                .note(format!("expected {what}"))
                .help(help),
        );
        Err(Failed)
    }

    fn sign(&mut self, sign: &'static str) -> Parsed<Span> {
        if self.is_sign(sign) {
            return Ok(self.bump().span);
        }
        self.expected(&format!("`{sign}`"), "")
    }

    fn word(&mut self, word: &'static str) -> Parsed<Span> {
        if self.is_word(word) {
            return Ok(self.bump().span);
        }
        self.expected(&format!("`{word}`"), "")
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Word(text) if !RESERVED.contains(&text.as_str()) => {
                self.bump();
                Ok(Name { text, span: token.span })
            }
            TokenKind::Word(_) => self.expected(what, "words of the language cannot be names"),
            _ => self.expected(what, ""),
        }
    }

    /// A field's name: after a dot even words of the language will do.
    fn field_name(&mut self) -> Parsed<Name> {
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Word(text) => {
                self.bump();
                Ok(Name { text, span: token.span })
            }
            _ => self.expected("the name of a field", ""),
        }
    }

    /// Items between brackets, with commas or new lines between them; the closing sign is eaten.
    fn list<T>(
        &mut self,
        open: Span,
        close: &'static str,
        mut item: impl FnMut(&mut Parser) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        loop {
            if self.eat_sign(close) {
                return Ok(items);
            }
            if self.at_end() {
                self.unclosed(open);
                return Err(Failed);
            }
            items.push(item(self)?);
            if !self.eat_sign(",") && !self.is_sign(close) && !self.peek().on_new_line {
                return self.expected(&format!("`,` or `{close}`"), "");
            }
        }
    }

    fn unclosed(&mut self, open: Span) {
        let end = Span::new(self.source_end, self.source_end);
        let place = if self.at_end() { end } else { self.span() };
        if let Some(askew) = self.askew {
            let help = "add a closing brace: the one that closes it now is indented less than this line";
            let missing = Diagnostic::error(code::UNCLOSED, askew, "this is never closed");
            self.complain(missing.note("opened here").help(help).also(place, "a brace is missing by here"));
            return;
        }
        self.complain(
            Diagnostic::error(code::UNCLOSED, open, "this is never closed")
                .note("opened here")
                .help("add the closing brace where it should end")
                .also(place, "it was still open here"),
        );
    }

    /// Nothing good can come after this.
    fn give_up<T>(&mut self, what: &str, help: &str) -> Parsed<T> {
        let span = self.span();
        self.complain(Diagnostic::error(code::SYNTAX, span, what).help(help));
        self.at = self.tokens.len() - 1;
        Err(Failed)
    }

    /// Counts the links of a chain such as `a + b + c`: they nest to the left, without going deeper here, but
    /// in whoever walks over them.
    fn link(&mut self, links: &mut u32) -> Parsed<()> {
        *links += 1;
        if *links > MAX_LINKS {
            return self.give_up("this expression is too long", "compute it in several steps");
        }
        Ok(())
    }

    /// Runs `parse` one level deeper.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Parser) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return self.give_up("this is nested too deeply", "move the inner part into a procedure");
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Does a member of an object start here, though a block is open?
    fn member_starts(&self) -> bool {
        let TokenKind::Word(word) = &self.peek().kind else { return false };
        let named = matches!(&self.ahead(1).kind, TokenKind::Word(_));
        self.peek().on_new_line
            && match word.as_str() {
                "object" => true,
                "init" | "spec" => is_sign(self.ahead(1), "{"),
                "atomic" => is_word(self.ahead(1), "proc"),
                "ghost" => is_word(self.ahead(1), "shared"),
                word => MEMBERS.contains(&word) && named,
            }
    }

    /// The known word nearest to what stands here, as a help.
    fn nearest(&self, known: &[&str]) -> String {
        match &self.peek().kind {
            TokenKind::Word(word) => near::did_you_mean(word, known.iter().copied()),
            _ => String::new(),
        }
    }
}

pub(super) fn is_sign(token: &Token, sign: &str) -> bool {
    matches!(&token.kind, TokenKind::Sign(s) if *s == sign)
}

pub(super) fn is_word(token: &Token, word: &str) -> bool {
    matches!(&token.kind, TokenKind::Word(w) if w == word)
}
