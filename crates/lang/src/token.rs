//! From text to tokens, by hand: the language has few, and newlines matter in two places only (see
//! [`Token::on_new_line`]).

use crate::diagnostic::{Diagnostic, code};
use crate::span::Span;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or a word of the language.
    Word(String),
    /// A number.
    Number(i64),
    /// A sign such as `==` or `{`.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// A token and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What.
    pub kind: TokenKind,
    /// Where.
    pub span: Span,
    /// Is it the first of its line? A `return` takes no value from the next line, and `@lin` no condition.
    pub on_new_line: bool,
    /// How far the first token of its line is from the margin.
    pub indent: u32,
}

/// A comment, from `//` to the end of its line.
#[derive(Clone, Debug)]
pub struct Comment {
    /// The text, `//` included, no blanks at the end.
    pub text: String,
    /// Where.
    pub span: Span,
    /// Is there nothing before it on its line?
    pub alone: bool,
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    "==>", "..=", "==", "!=", "<=", ">=", "&&", "||", "->", "..", "{", "}", "(", ")", "[", "]", ",", ";",
    ":", ".", "=", "<", ">", "+", "-", "*", "%", "!", "?", "@",
];

/// All tokens, all comments, all complaints. The last token is [`TokenKind::End`].
pub fn tokens(text: &str) -> (Vec<Token>, Vec<Comment>, Vec<Diagnostic>) {
    let mut lexer =
        Lexer { text, at: 0, new_line: true, indent: 0, tokens: vec![], comments: vec![], wrong: vec![] };
    while lexer.at < text.len() {
        lexer.next();
    }
    let end = Span::new(text.len(), text.len());
    lexer.tokens.push(Token { kind: TokenKind::End, span: end, on_new_line: true, indent: 0 });
    (lexer.tokens, lexer.comments, lexer.wrong)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    new_line: bool,
    indent: u32,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
    wrong: Vec<Diagnostic>,
}

impl Lexer<'_> {
    fn next(&mut self) {
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else { return };
        if first == '\n' {
            self.new_line = true;
            self.at += 1;
        } else if first.is_whitespace() {
            self.at += first.len_utf8();
        } else if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            let text = rest[..length].trim_end().to_owned();
            let span = Span::new(self.at, self.at + text.len());
            self.comments.push(Comment { text, span, alone: self.new_line });
            self.at += length;
        } else if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            self.push(TokenKind::Word(rest[..length].to_owned()), length);
        } else if first.is_ascii_digit() {
            let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let value = match rest[..length].parse::<i64>() {
                Ok(value) if value <= i64::from(i32::MAX / 2) => value,
                _ => {
                    let span = Span::new(self.at, self.at + length);
                    let largest = i32::MAX / 2;
                    self.wrong.push(
                        Diagnostic::error(code::CHARACTER, span, "this number is too large")
                            .help(format!("numbers go up to {largest}")),
                    );
                    0
                }
            };
            self.push(TokenKind::Number(value), length);
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            self.push(TokenKind::Sign(sign), sign.len());
        } else if let Some(length) = quoted(rest) {
            let span = Span::new(self.at, self.at + length);
            self.wrong.push(
                Diagnostic::error(code::CHARACTER, span, "there is no text in this language")
                    .help("name what it stands for in an `enum`"),
            );
            // Something that may stand where the text stood.
            self.push(TokenKind::Number(0), length);
        } else {
            let span = Span::new(self.at, self.at + first.len_utf8());
            self.wrong.push(
                Diagnostic::error(code::CHARACTER, span, format!("`{first}` means nothing in this language"))
                    .help(hint(first)),
            );
            self.at += first.len_utf8();
        }
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let span = Span::new(self.at, self.at + length);
        if self.new_line {
            let start = self.text[..self.at].rfind('\n').map_or(0, |end| end + 1);
            self.indent = (self.at - start) as u32;
        }
        self.tokens.push(Token { kind, span, on_new_line: self.new_line, indent: self.indent });
        self.new_line = false;
        self.at += length;
    }
}

/// How long a text in quotes is that starts here and ends on this line.
fn quoted(rest: &str) -> Option<usize> {
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    line[1..].find(quote).map(|end| end + 2)
}

fn hint(character: char) -> &'static str {
    match character {
        '&' => "`and` is written `&&`; there are no addresses: name the place itself, as in `cas(top, t, x)`",
        '|' => "`or` is written `||`",
        '#' | '/' => "a comment starts with `//`",
        '"' | '\'' => "there is no text; use an enum",
        _ => "remove it",
    }
}
