//! The line of an input that a diagnostic speaks of, as far as a person needs to see it.
//!
//! Logs have long lines: what is kept is a window around the column. What cannot be shown in one cell of a terminal
//! (tabs, control characters, bytes that are no text) is shown as one character, so that a caret stands where it should.

/// Characters of a line that are shown at the most.
const WIDTH: usize = 100;
/// Of these, how many stand before the column where the line is longer.
const BEFORE: usize = 60;
/// Longer lines are looked at around the column only.
const LONGEST: usize = 1 << 16;

/// A part of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// What is shown of the line.
    pub text: String,
    /// How many characters of it stand before the column; `None` where the whole line is meant.
    pub caret: Option<usize>,
}

impl Excerpt {
    /// The part of `line` around `column`, in bytes from 1; 0 where the whole line is meant. `None` where there is
    /// nothing to see.
    #[must_use]
    pub fn of(line: &[u8], column: u32) -> Option<Excerpt> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = (column as usize).saturating_sub(1).min(line.len());
        let from = at.saturating_sub(LONGEST);
        let to = line.len().min(at + LONGEST);
        let shown =
            |bytes: &[u8]| -> Vec<char> { String::from_utf8_lossy(bytes).chars().map(one_cell).collect() };
        let (before, after) = (shown(&line[from..at]), shown(&line[at..to]));
        if before.iter().chain(&after).all(|c| c.is_whitespace()) {
            return None;
        }
        let skipped = match before.len() + after.len() > WIDTH {
            true => before.len().saturating_sub(BEFORE),
            false => 0,
        };
        let mut text: Vec<char> = before[skipped..].iter().chain(&after).copied().collect();
        let is_cut = text.len() > WIDTH || to < line.len();
        text.truncate(WIDTH);
        let mut caret = before.len() - skipped;
        if skipped > 0 || from > 0 {
            text.insert(0, '…');
            caret += 1;
        }
        if is_cut {
            text.push('…');
        }
        Some(Excerpt { text: text.into_iter().collect(), caret: (column > 0).then_some(caret) })
    }
}

fn one_cell(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[u8], column: u32, text: &str, caret: Option<usize>) {
        assert_eq!(Excerpt::of(line, column), Some(Excerpt { text: text.to_owned(), caret }));
    }

    #[test]
    fn the_caret_stands_at_the_column() {
        check(b"{\"a\":1}", 6, "{\"a\":1}", Some(5));
        check("{\"ü\":1}\r".as_bytes(), 7, "{\"ü\":1}", Some(5));
        check(b"a\tb\x01", 3, "a b\u{fffd}", Some(2));
        check(b"abc", 0, "abc", None);
        check(b"abc", 99, "abc", Some(3));
        check(&[b'a', 0xff, b'b'], 3, "a\u{fffd}b", Some(2));
        assert_eq!(Excerpt::of(b" \t ", 1), None);
        assert_eq!(Excerpt::of(b"", 0), None);
    }

    #[test]
    fn long_lines_are_shown_around_the_column() {
        let line: Vec<u8> = (0..400_000u32).map(|i| b'a' + (i % 26) as u8).collect();
        for column in [1, 50, 150, 70_000, 399_990, 400_000] {
            let Some(excerpt) = Excerpt::of(&line, column) else { panic!("something is there") };
            let caret = excerpt.caret.expect("a column was given");
            let c = excerpt.text.chars().nth(caret).expect("it is in the text");
            assert_eq!(c, char::from(line[column as usize - 1]), "column {column}");
            assert!(excerpt.text.chars().count() <= WIDTH + 2);
        }
    }
}
