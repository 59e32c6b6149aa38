//! JSON, as much of it as histories need: values without floating point and without objects, and the skipping
//! of everything else. One record at a time, from bytes, with the place of what is wrong.

use std::borrow::Cow;

use super::guard::Guard;
use super::problem;
use crate::diagnostic::Diagnostic;
use crate::value::Value;

/// Lists in lists in lists: no deeper than this.
const DEEPEST: u32 = 64;

/// Of a text longer than this it is asked whether there is room for it, and time to look for its end.
const LONG: usize = 1 << 20;

/// Reads one record.
#[derive(Clone, Debug)]
pub(super) struct Json<'a> {
    text: &'a [u8],
    at: usize,
    /// Whom to ask in a long record; nobody in one that is known to be short.
    guard: Option<&'a Guard>,
}

impl<'a> Json<'a> {
    pub fn new(text: &'a [u8]) -> Json<'a> {
        Json { text, at: 0, guard: None }
    }

    /// The same for a record that may be long.
    pub fn guarded(text: &'a [u8], guard: &'a Guard) -> Json<'a> {
        Json { text, at: 0, guard: Some(guard) }
    }

    /// May so many bytes be taken?
    fn ask(&self, more: usize) -> Result<(), Diagnostic> {
        self.guard.map_or(Ok(()), |guard| guard.ask(more))
    }

    /// The first byte from `from` on that ends the plain part of a string; the end of the record if none
    /// does.
    #[inline]
    fn plain_end(&self, from: usize) -> Result<usize, Diagnostic> {
        let mut at = from;
        loop {
            let part = &self.text[at..self.text.len().min(at + LONG)];
            let found = part.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20);
            at += found.unwrap_or(part.len());
            if found.is_some() || part.len() < LONG {
                return Ok(at);
            }
            self.ask(0)?;
        }
    }

    /// Bytes used so far.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space, without taking it.
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.text.get(self.at) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Takes `byte` if it is next.
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Takes `byte`, which must be next.
    pub fn expect(&mut self, byte: u8) -> Result<(), Diagnostic> {
        if self.take(byte) { Ok(()) } else { Err(self.expected(&format!("`{}`", byte as char))) }
    }

    /// Is only white space left?
    pub fn end(&mut self) -> Result<(), Diagnostic> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the line")),
        }
    }

    /// Goes through an object: `field` is called at each value, with the field's name, and takes the value.
    pub fn object(
        &mut self,
        mut field: impl FnMut(&mut Json<'a>, &str) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Ok(());
        }
        let mut asked = self.at;
        loop {
            if self.at >= asked + LONG {
                asked = self.at;
                self.ask(0)?;
            }
            if self.peek() != Some(b'"') {
                return Err(self.expected("a field's name in quotes"));
            }
            let name = self.string()?;
            self.expect(b':')?;
            field(self, &name)?;
            if !self.take(b',') {
                if self.take(b'}') {
                    return Ok(());
                }
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    /// A value of a history.
    pub fn value(&mut self) -> Result<Value, Diagnostic> {
        self.nested(0)
    }

    /// A string.
    pub fn string(&mut self) -> Result<Cow<'a, str>, Diagnostic> {
        self.expect(b'"')?;
        let start = self.at;
        let end = self.plain_end(start)?;
        self.at = end;
        if end == self.text.len() {
            return Err(self.expected("the closing quote"));
        }
        if self.text[end] == b'"' {
            self.at += 1;
            return Ok(Cow::Borrowed(self.utf8(start, end)?));
        }
        self.escaped(start).map(Cow::Owned)
    }

    /// Passes over any JSON value.
    pub fn skip(&mut self) -> Result<(), Diagnostic> {
        self.skip_nested(0)
    }

    fn nested(&mut self, depth: u32) -> Result<Value, Diagnostic> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                let text = self.string()?;
                if text.len() >= LONG {
                    self.ask(text.len())?;
                }
                Ok(Value::text(&text))
            }
            Some(b'[') => self.list(depth),
            Some(b'{') => Err(self.at_column(problem::not_a_value("an object"), start)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'n') => self.word("null").map(|()| Value::Null),
            Some(b't') => self.word("true").map(|()| Value::Bool(true)),
            Some(b'f') => self.word("false").map(|()| Value::Bool(false)),
            _ => Err(self.expected("a value")),
        }
    }

    fn list(&mut self, depth: u32) -> Result<Value, Diagnostic> {
        if depth == DEEPEST {
            return Err(self.at_column(problem::too_big("lists are nested too deeply"), self.at));
        }
        self.expect(b'[')?;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::list(items));
        }
        loop {
            if let Some(guard) = self.guard {
                guard.one_more(&items)?;
            }
            items.push(self.nested(depth + 1)?);
            if !self.take(b',') {
                if self.take(b']') {
                    // Made a list of that does not grow, it is there twice for a moment.
                    if items.len() >= LONG / size_of::<Value>() {
                        self.ask(items.len() * size_of::<Value>())?;
                    }
                    return Ok(Value::list(items));
                }
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn number(&mut self) -> Result<Value, Diagnostic> {
        let start = self.at;
        if !self.number_text()? {
            let problem = problem::not_a_value("a number with a fraction or an exponent");
            return Err(self.at_column(problem, start));
        }
        let text = self.utf8(start, self.at)?;
        text.parse().map(Value::Int).map_err(|_| self.at_column(problem::too_large(text), start))
    }

    /// Passes over a number as JSON's grammar has it; `false` if it is not an integer.
    fn number_text(&mut self) -> Result<bool, Diagnostic> {
        self.at += usize::from(self.text.get(self.at) == Some(&b'-'));
        let digits = self.digits()?;
        if digits > 1 && self.text[self.at - digits] == b'0' {
            self.at -= digits;
            return Err(self.expected("a number without leading zeros"));
        }
        let mut integer = true;
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
            integer = false;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
            integer = false;
        }
        Ok(integer)
    }

    fn digits(&mut self) -> Result<usize, Diagnostic> {
        let count = self.text[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.expected("a digit")) } else { Ok(count) }
    }

    fn word(&mut self, word: &str) -> Result<(), Diagnostic> {
        let rest = &self.text[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            self.at = self.text.len();
        }
        Err(self.expected(&format!("`{word}`")))
    }

    /// The rest of a string that has escapes in it; `self.at` is at the first.
    fn escaped(&mut self, start: usize) -> Result<String, Diagnostic> {
        let mut out = self.utf8(start, self.at)?.to_owned();
        let mut asked = 0;
        loop {
            let plain = self.plain_end(self.at)?;
            if out.len() + plain - self.at >= asked + LONG {
                asked = out.len() + plain - self.at;
                // It grows by as much as it is.
                self.ask(asked)?;
            }
            out.push_str(self.utf8(self.at, plain)?);
            self.at = plain;
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(_) => return Err(self.expected("no control character inside quotes")),
                None => return Err(self.expected("the closing quote")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Diagnostic> {
        let Some(&byte) = self.text.get(self.at) else { return Err(self.expected("an escape")) };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => byte as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let start = self.at;
                let mut code = self.hex4()?;
                if (0xD800..0xDC00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.hex4()?;
                    if (0xDC00..0xE000).contains(&low) {
                        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                    }
                }
                match char::from_u32(code) {
                    Some(ch) => ch,
                    None => {
                        self.at = start;
                        return Err(self.expected("a whole pair of surrogates"));
                    }
                }
            }
            _ => {
                self.at -= 1;
                return Err(self.expected("one of \" \\ / b f n r t u after a backslash"));
            }
        })
    }

    fn hex4(&mut self) -> Result<u32, Diagnostic> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|d| std::str::from_utf8(d).ok());
        let code = digits
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|d| u32::from_str_radix(d, 16).ok());
        match code {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => Err(self.expected("four hexadecimal digits")),
        }
    }

    fn skip_nested(&mut self, depth: u32) -> Result<(), Diagnostic> {
        if depth > DEEPEST {
            return Err(self.at_column(problem::too_big("values are nested too deeply"), self.at));
        }
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => self.object(|json, _| json.skip_nested(depth + 1)),
            Some(b'[') => {
                self.at += 1;
                if self.take(b']') {
                    return Ok(());
                }
                let mut asked = self.at;
                loop {
                    if self.at >= asked + LONG {
                        asked = self.at;
                        self.ask(0)?;
                    }
                    self.skip_nested(depth + 1)?;
                    if !self.take(b',') {
                        return if self.take(b']') { Ok(()) } else { Err(self.expected("`,` or `]`")) };
                    }
                }
            }
            Some(b'-' | b'0'..=b'9') => self.number_text().map(drop),
            _ => self.nested(depth).map(drop),
        }
    }

    fn utf8(&self, start: usize, end: usize) -> Result<&'a str, Diagnostic> {
        std::str::from_utf8(&self.text[start..end]).map_err(|error| {
            let problem = problem::not_utf8();
            self.at_column(problem, start + error.valid_up_to())
        })
    }

    /// A complaint about what is next: truncated if nothing is.
    pub fn expected(&mut self, what: &str) -> Diagnostic {
        let problem = match self.text[self.at..].utf8_chunks().next() {
            None => problem::truncated(what),
            Some(chunk) => match chunk.valid().chars().next() {
                Some(found) => Diagnostic::new(
                    problem::SYNTAX,
                    format!("found `{}` where {what} should be", found.escape_debug()),
                    format!("JSON with {what} here"),
                ),
                None => problem::not_utf8(),
            },
        };
        self.at_column(problem, self.at)
    }

    /// Puts a diagnostic at a byte of this record.
    pub fn at_column(&self, problem: Diagnostic, byte: usize) -> Diagnostic {
        problem.at(0, byte as u32 + 1)
    }
}
