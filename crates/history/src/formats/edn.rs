//! Clojure's data notation, as much of it as Jepsen's histories use. What a history has no room for
//! (fractions, characters, sets) is read and remembered as such, since it may stand in a field nobody asks
//! for.
//!
//! Histories have text, and no keywords, symbols or tags. As values these are text with their own spelling,
//! so that `:a`, `a` and `#t "a"` are other values than `"a"`: `":a"`, `"'a"` (as Clojure quotes a symbol)
//! and `"#t \"a\""`.

use super::guard::Guard;
use super::problem;
use crate::diagnostic::Diagnostic;
use crate::value::Value;

/// No deeper than this.
const DEEPEST: u32 = 64;

/// A piece of data.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Edn {
    Nil,
    Bool(bool),
    Int(i64),
    /// An integer that does not fit.
    Big(String),
    Text(String),
    /// Without its colon.
    Keyword(String),
    Symbol(String),
    /// A tag, without its #, and what stands behind it.
    Tagged(String, Box<Edn>),
    List(Vec<Edn>),
    Map(Vec<(Edn, Edn)>),
    /// Something else, by its name.
    Other(&'static str),
}

/// Of longer texts and lists it is asked whether there is room for them.
const LONG: usize = 1 << 16;

impl Edn {
    /// As a value of a history.
    pub fn value(&self, guard: &Guard) -> Result<Value, Diagnostic> {
        Ok(match self {
            Edn::Nil => Value::Null,
            Edn::Bool(b) => Value::Bool(*b),
            Edn::Int(n) => Value::Int(*n),
            Edn::Big(text) => return Err(problem::too_large(text)),
            Edn::Text(text) => {
                if text.len() >= LONG {
                    guard.ask(text.len())?;
                }
                Value::text(text)
            }
            Edn::Keyword(_) | Edn::Symbol(_) | Edn::Tagged(..) => {
                let mut spelling = String::new();
                self.spell(&mut spelling)?;
                Value::text(&spelling)
            }
            Edn::List(items) => {
                if items.len() >= LONG {
                    // As a list of values, and as one that does not grow.
                    guard.ask(2 * items.len() * size_of::<Value>())?;
                }
                let items: Result<Vec<Value>, Diagnostic> =
                    items.iter().map(|item| item.value(guard)).collect();
                Value::list(items?)
            }
            Edn::Map(_) => return Err(problem::not_a_value("a map")),
            Edn::Other(what) => return Err(problem::not_a_value(what)),
        })
    }

    /// Adds the way it is written: another one for every value.
    fn spell(&self, out: &mut String) -> Result<(), Diagnostic> {
        match self {
            Edn::Keyword(name) => *out += &format!(":{name}"),
            Edn::Symbol(name) => *out += &format!("'{name}"),
            Edn::Tagged(tag, data) => {
                *out += &format!("#{tag} ");
                data.spell(out)?;
            }
            Edn::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { " " } else { "" });
                    item.spell(out)?;
                }
                out.push(']');
            }
            plain => *out += &show(&plain.value(&Guard::default())?),
        }
        Ok(())
    }

    /// The name of a keyword, of a symbol, or a text.
    pub fn name(&self) -> Option<&str> {
        match self {
            Edn::Keyword(name) | Edn::Symbol(name) | Edn::Text(name) => Some(name),
            _ => None,
        }
    }

    /// What a diagnostic calls it.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Edn::Nil => "nil",
            Edn::Bool(_) => "a boolean",
            Edn::Int(_) | Edn::Big(_) => "an integer",
            Edn::Text(_) => "text",
            Edn::Keyword(_) => "a keyword",
            Edn::Symbol(_) => "a symbol",
            Edn::Tagged(..) => "something with a tag",
            Edn::List(_) => "a list",
            Edn::Map(_) => "a map",
            Edn::Other(what) => what,
        }
    }
}

/// Reads data from text.
pub(super) struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    guard: &'a Guard,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a [u8], guard: &'a Guard) -> Parser<'a> {
        Parser { text, at: 0, guard }
    }

    /// Bytes used so far.
    pub fn at(&self) -> usize {
        self.at
    }

    /// One piece of data. A piece that the text ends in the middle of is [`problem::TRUNCATED`].
    pub fn data(&mut self) -> Result<Edn, Diagnostic> {
        self.nested(0)
    }

    /// The next byte that is neither white space nor part of a comment, without taking it.
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at)? {
                b' ' | b'\t' | b'\r' | b'\n' | b',' | 0x0c => self.at += 1,
                b';' => {
                    let rest = &self.text[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                byte => return Some(*byte),
            }
        }
    }

    /// As [`Parser::peek`], behind what a `#_` takes out. A `#` that the text ends with stays, and so does
    /// what is taken out and not whole: it is [`problem::TRUNCATED`], and the place is the one before it.
    pub fn peek_kept(&mut self) -> Result<Option<u8>, Diagnostic> {
        self.kept(0)
    }

    fn kept(&mut self, depth: u32) -> Result<Option<u8>, Diagnostic> {
        loop {
            let next = self.peek();
            if next != Some(b'#') || self.text.get(self.at + 1) != Some(&b'_') {
                return Ok(next);
            }
            let start = self.at;
            self.at += 2;
            if let Err(problem) = self.nested(depth + 1) {
                self.at = start;
                return Err(problem);
            }
        }
    }

    fn nested(&mut self, depth: u32) -> Result<Edn, Diagnostic> {
        if depth > DEEPEST {
            return Err(self.place(problem::too_big("data is nested too deeply")));
        }
        match self.peek() {
            None => Err(self.place(problem::truncated("a value"))),
            Some(b'{') => {
                let items = self.until(b'}', depth)?;
                if items.len() % 2 != 0 {
                    return Err(self.syntax("a map with a key without a value"));
                }
                let mut pairs = Vec::with_capacity(items.len() / 2);
                let mut items = items.into_iter();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    pairs.push((key, value));
                }
                Ok(Edn::Map(pairs))
            }
            Some(b'[') => self.until(b']', depth).map(Edn::List),
            Some(b'(') => self.until(b')', depth).map(Edn::List),
            Some(b'"') => self.string().map(Edn::Text),
            Some(b'#') => self.tagged(depth),
            Some(b'\\') => {
                self.at += 1;
                // The character itself may be one that ends a token.
                self.at += usize::from(self.at < self.text.len());
                self.token()?;
                Ok(Edn::Other("a character"))
            }
            Some(b'}' | b']' | b')') => Err(self.syntax("a closing bracket where a value should be")),
            Some(_) => self.atom(),
        }
    }

    fn until(&mut self, close: u8, depth: u32) -> Result<Vec<Edn>, Diagnostic> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            match self.kept(depth)? {
                None => return Err(self.place(problem::truncated(&format!("`{}`", close as char)))),
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(items);
                }
                Some(_) => {
                    self.guard.one_more(&items)?;
                    items.push(self.nested(depth + 1)?);
                }
            }
        }
    }

    /// `#{…}` is a set; `#tag value` is the value, with a name that says what it means to someone else.
    fn tagged(&mut self, depth: u32) -> Result<Edn, Diagnostic> {
        self.at += 1;
        match self.text.get(self.at) {
            None => Err(self.place(problem::truncated("a tag"))),
            Some(b'{') => self.until(b'}', depth).map(|_| Edn::Other("a set")),
            Some(b'_') => {
                self.at += 1;
                self.nested(depth + 1)?;
                self.nested(depth + 1)
            }
            Some(_) => {
                let start = self.at;
                let tag = self.token()?;
                if !tag.starts_with(char::is_alphabetic) || !is_name(tag) {
                    self.at = start;
                    return Err(self.syntax("a # without a tag"));
                }
                Ok(Edn::Tagged(tag.to_owned(), Box::new(self.nested(depth + 1)?)))
            }
        }
    }

    fn atom(&mut self) -> Result<Edn, Diagnostic> {
        let start = self.at;
        let token = self.token()?;
        if token.is_empty() {
            return Err(self.syntax("a character that begins no value"));
        }
        Ok(match token {
            "nil" => Edn::Nil,
            "true" => Edn::Bool(true),
            "false" => Edn::Bool(false),
            _ => {
                if let Some(name) = token.strip_prefix(':') {
                    if name.is_empty() && self.at == self.text.len() {
                        return Err(self.place(problem::truncated("a keyword")));
                    }
                    if name.starts_with(':') || !is_name(name) {
                        self.at = start;
                        return Err(self.syntax("a colon that begins no keyword"));
                    }
                    return Ok(Edn::Keyword(name.to_owned()));
                }
                let digits = token.strip_prefix(['-', '+']).unwrap_or(token);
                if !digits.starts_with(|c: char| c.is_ascii_digit()) {
                    if token.starts_with('\'') || !is_name(token) {
                        self.at = start;
                        // Among them `^`, with which Clojure puts something beside a value: EDN has nothing
                        // of the kind.
                        return Err(self.syntax("a character that begins no value"));
                    }
                    return Ok(Edn::Symbol(token.to_owned()));
                }
                if digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit() {
                    // Clojure takes 010 for 8, others take it for 10.
                    return Ok(Edn::Other("a number with a leading zero"));
                }
                let whole = token.strip_suffix('N').unwrap_or(token);
                match whole.strip_prefix('+').unwrap_or(whole).parse() {
                    Ok(n) => Edn::Int(n),
                    Err(_) if digits.trim_end_matches('N').bytes().all(|b| b.is_ascii_digit()) => {
                        Edn::Big(whole.to_owned())
                    }
                    Err(_)
                        if digits
                            .bytes()
                            .all(|b| b.is_ascii_digit() || b"./eEM+-rRxabcdfABCDF".contains(&b)) =>
                    {
                        Edn::Other("a number that is not an integer")
                    }
                    Err(_) => {
                        self.at = start;
                        return Err(self.syntax("a number that ends in something else"));
                    }
                }
            }
        })
    }

    /// Bytes up to the next that cannot be part of a name or a number.
    fn token(&mut self) -> Result<&'a str, Diagnostic> {
        let rest = &self.text[self.at..];
        let ends = |b: &u8| b" \t\r\n,;\"{}[]()\x0c".contains(b);
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let cut = |error: std::str::Utf8Error| length == rest.len() && error.error_len().is_none();
        if std::str::from_utf8(&rest[..length]).is_err_and(cut) {
            return Err(self.place(problem::truncated("the rest of a character")));
        }
        let token = self.utf8(self.at, self.at + length)?;
        self.at += length;
        Ok(token)
    }

    fn string(&mut self) -> Result<String, Diagnostic> {
        self.at += 1;
        let mut out = String::new();
        let mut asked = 0;
        loop {
            let rest = &self.text[self.at..];
            let Some(plain) = memchr::memchr2(b'"', b'\\', rest) else {
                self.at = self.text.len();
                return Err(self.place(problem::truncated("the closing quote")));
            };
            if out.len() + plain >= asked + LONG {
                // It grows by as much as it is.
                asked = out.len() + plain;
                self.guard.ask(asked)?;
            }
            out.push_str(self.utf8(self.at, self.at + plain)?);
            self.at += plain + 1;
            if rest[plain] == b'"' {
                return Ok(out);
            }
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, Diagnostic> {
        let Some(&byte) = self.text.get(self.at) else {
            return Err(self.place(problem::truncated("an escape")));
        };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => byte as char,
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let Some(digits) = self.text.get(self.at..self.at + 4) else {
                    self.at = self.text.len();
                    return Err(self.place(problem::truncated("four hexadecimal digits")));
                };
                let code = std::str::from_utf8(digits).ok().and_then(|d| u32::from_str_radix(d, 16).ok());
                match code.and_then(char::from_u32) {
                    Some(ch) => {
                        self.at += 4;
                        ch
                    }
                    None => {
                        return Err(self.syntax("an escape without four hexadecimal digits of a character"));
                    }
                }
            }
            _ => {
                self.at -= 1;
                return Err(self.syntax("a backslash followed by something unknown"));
            }
        })
    }

    fn utf8(&self, start: usize, end: usize) -> Result<&'a str, Diagnostic> {
        std::str::from_utf8(&self.text[start..end]).map_err(|_| self.place(problem::not_utf8()))
    }

    fn syntax(&self, found: &str) -> Diagnostic {
        self.place(Diagnostic::new(
            problem::SYNTAX,
            format!("found {found}"),
            "data in Clojure's notation (EDN)",
        ))
    }

    /// Puts a diagnostic at the place reached: lines from 0, to be added to those before this text.
    fn place(&self, problem: Diagnostic) -> Diagnostic {
        let before = &self.text[..self.at.min(self.text.len())];
        let lines = memchr::memchr_iter(b'\n', before).count();
        let column = before.len() - memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        problem.at(lines as u64, column as u32 + 1)
    }
}

/// May a symbol, or a keyword behind its colon, be called so? Letters, digits, and the signs that EDN and
/// Clojure allow in names.
fn is_name(token: &str) -> bool {
    let is_sign = |c: char| ".*+!-_?$%&=<>/:#'|".contains(c);
    !token.is_empty() && !token.starts_with('#') && token.chars().all(|c| c.is_alphanumeric() || is_sign(c))
}

/// Writes a value.
pub(super) fn show(value: &Value) -> String {
    match value {
        Value::Null => "nil".into(),
        Value::List(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" ")),
        other => other.to_string(),
    }
}
