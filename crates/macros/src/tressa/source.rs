//! The text of tokens as the user wrote it, in one line.

use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};
use quote::ToTokens;

/// The text, with one space where there were spaces or line breaks.
pub fn text(tokens: &impl ToTokens) -> String {
    let mut text = Text::default();
    text.stream(tokens.to_token_stream());
    text.written
}

/// Where the tokens begin, for errors.
pub fn place(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().into_iter().next().map_or_else(Span::call_site, |token| token.span())
}

/// Where the tokens begin, for code that we write: errors point there, names are still ours.
pub fn span(tokens: &impl ToTokens) -> Span {
    Span::call_site().located_at(place(tokens))
}

#[derive(Default)]
struct Text {
    written: String,
    /// Where the last token ended.
    end: Option<Place>,
    joint: bool,
}

impl Text {
    fn stream(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                    self.stream(group.stream())
                }
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        _ => ("(", ")"),
                    };
                    // Not the spans of the delimiters: a group that was rewritten has only one for the whole.
                    let (start, end) = ends(group.span());
                    self.token(open, start, (start.0, start.1 + 1));
                    // Sets of threads look the same with and without the spaces that a formatter puts there.
                    let braces = group.delimiter() == Delimiter::Brace;
                    if braces {
                        self.end = None;
                    }
                    self.stream(group.stream());
                    if braces {
                        self.end = None;
                    }
                    self.token(close, (end.0, end.1.saturating_sub(1)), end);
                }
                other => {
                    let (start, end) = ends(other.span());
                    self.token(&other.to_string(), start, end);
                    self.joint =
                        matches!(&other, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint);
                }
            }
        }
    }

    fn token(&mut self, text: &str, start: Place, end: Place) {
        let space = self.end.is_some_and(|end| end != start) && !self.joint;
        if space && !self.written.is_empty() {
            self.written.push(' ');
        }
        self.written.push_str(text);
        self.end = Some(end);
        self.joint = false;
    }
}

/// Line and column.
type Place = (usize, usize);

fn ends(span: Span) -> (Place, Place) {
    let span = span.unwrap();
    let (start, end) = (span.start(), span.end());
    ((start.line(), start.column()), (end.line(), end.column()))
}
