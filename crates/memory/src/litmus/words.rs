//! Pieces of a line that know where they stand.

use super::Diagnostic;

/// A piece of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a str, line: usize, column: usize) -> Text<'a> {
        Text { text, line, column }
    }

    pub(super) fn as_str(self) -> &'a str {
        self.text
    }

    pub(super) fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// A diagnostic at its beginning.
    pub(super) fn error(self, message: &str, expected: &str) -> Diagnostic {
        Diagnostic::new(self.line, self.column, message, expected)
    }

    /// From this byte on; a character begins there.
    fn from(self, byte: usize) -> Text<'a> {
        let skipped = self.text.get(..byte).unwrap_or(self.text);
        let text = self.text.get(byte..).unwrap_or("");
        Text { text, line: self.line, column: self.column + skipped.chars().count() }
    }

    fn to(self, byte: usize) -> Text<'a> {
        Text { text: self.text.get(..byte).unwrap_or(self.text), ..self }
    }

    /// The empty piece at its end.
    pub(super) fn end(self) -> Text<'a> {
        self.from(self.text.len())
    }

    pub(super) fn trim(self) -> Text<'a> {
        let start = self.text.len() - self.text.trim_start().len();
        let piece = self.from(start);
        Text { text: piece.text.trim_end(), ..piece }
    }

    /// What comes before `mark`; all of it if it has none.
    pub(super) fn before(self, mark: &str) -> Text<'a> {
        self.text.find(mark).map_or(self, |byte| self.to(byte))
    }

    /// The pieces between marks.
    pub(super) fn split(self, mark: &str) -> Vec<Text<'a>> {
        self.split_at_most(usize::MAX, mark)
    }

    /// The pieces between marks; the last of so many has the rest.
    pub(super) fn split_at_most(self, pieces: usize, mark: &str) -> Vec<Text<'a>> {
        let mut rest = self;
        let mut found = Vec::new();
        while found.len() + 1 < pieces {
            let Some(byte) = rest.text.find(mark) else { break };
            found.push(rest.to(byte));
            rest = rest.from(byte + mark.len());
        }
        found.push(rest);
        found
    }

    /// The first word, and what follows it.
    pub(super) fn word(self) -> (Text<'a>, Text<'a>) {
        let text = self.trim();
        let length = text.text.find(char::is_whitespace).unwrap_or(text.text.len());
        (text.to(length), text.from(length).trim())
    }

    /// If it starts with `open`: what stands before the next `close`, and what follows that.
    pub(super) fn enclosed(
        self,
        open: char,
        close: char,
    ) -> Option<Result<(Text<'a>, Text<'a>), Diagnostic>> {
        let inside = self.text.strip_prefix(open)?;
        let start = self.from(self.text.len() - inside.len());
        Some(match start.text.find(close) {
            Some(byte) => Ok((start.to(byte), start.from(byte + close.len_utf8()).trim())),
            None => {
                Err(self.error(&format!("{open} without {close}"), &format!("a {close} after the condition")))
            }
        })
    }

    /// The longest beginning whose characters `belongs` accepts, and what follows it.
    pub(super) fn while_in(self, belongs: impl Fn(char) -> bool) -> (Text<'a>, Text<'a>) {
        let length = self.text.find(|c| !belongs(c)).unwrap_or(self.text.len());
        (self.to(length), self.from(length))
    }

    pub(super) fn strip(self, prefix: &str) -> Option<Text<'a>> {
        self.text.starts_with(prefix).then(|| self.from(prefix.len()))
    }
}
