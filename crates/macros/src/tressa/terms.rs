//! Takes the terms out of a claim, and writes implications as Rust.
//!
//! On tokens, because neither `First(x, Wr, {me, other})` nor `P ==> Q` is an expression of Rust.

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Result, Token, braced};

use super::{parenthesized, source};

/// A `First`, `Last` or `Exit` term.
pub struct Term {
    /// The name that stands for it in what remains of the claim.
    pub name: Ident,
    pub text: String,
    pub variable: Expr,
    pub form: Form,
}

pub enum Form {
    First { kind: Ident, threads: Vec<Threads> },
    Last { kind: Ident, threads: Vec<Threads>, condition: Expr },
    Exit,
}

pub enum Threads {
    Me,
    Others,
    All,
    Of(Expr),
}

/// The terms of a claim, and the claim with a name in place of each.
pub fn take_out(claim: TokenStream) -> Result<(Vec<Term>, TokenStream)> {
    let mut terms = Vec::new();
    let rest = rewrite(claim, &mut terms)?;
    Ok((terms, rest))
}

fn rewrite(tokens: TokenStream, terms: &mut Vec<Term>) -> Result<TokenStream> {
    let mut done = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    // After a dot or a path separator, a name is not a term.
    let mut qualified = false;
    while let Some(token) = tokens.next() {
        let arguments = match tokens.peek() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
                Some(group.clone())
            }
            _ => None,
        };
        match (token, arguments) {
            (TokenTree::Ident(ident), Some(arguments)) if !qualified && is_term(&ident) => {
                tokens.next();
                done.push(TokenTree::from(take_term(&ident, &arguments, terms)?));
                qualified = false;
            }
            (TokenTree::Group(group), _) => {
                let mut inner = Group::new(group.delimiter(), rewrite(group.stream(), terms)?);
                inner.set_span(group.span());
                done.push(inner.into());
                qualified = false;
            }
            (token, _) => {
                qualified = matches!(&token, TokenTree::Punct(punct) if matches!(punct.as_char(), '.' | ':'));
                done.push(token);
            }
        }
    }
    let mut out = TokenStream::new();
    for piece in
        done.split_inclusive(|token| matches!(token, TokenTree::Punct(p) if matches!(p.as_char(), ',' | ';')))
    {
        match piece.split_last() {
            Some((end @ TokenTree::Punct(punct), piece)) if matches!(punct.as_char(), ',' | ';') => {
                implications(piece, &mut out)?;
                out.extend([end.clone()]);
            }
            _ => implications(piece, &mut out)?,
        }
    }
    Ok(out)
}

fn is_term(ident: &Ident) -> bool {
    ident == "First" || ident == "Last" || ident == "Exit"
}

/// `P ==> Q` as `!(P) || (Q)`; what follows `==>` may be an implication again.
fn implications(tokens: &[TokenTree], out: &mut TokenStream) -> Result<()> {
    let punct = |index: usize, char: char| {
        let joint = char == '>'
            || matches!(&tokens[index], TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint);
        matches!(&tokens[index], TokenTree::Punct(punct) if punct.as_char() == char) && joint
    };
    let arrow = (0..tokens.len().saturating_sub(2))
        .find(|&i| punct(i, '=') && punct(i + 1, '=') && punct(i + 2, '>'));
    let Some(arrow) = arrow else {
        out.extend(tokens.iter().cloned());
        return Ok(());
    };
    let (left, right) = (&tokens[..arrow], &tokens[arrow + 3..]);
    let span = tokens[arrow].span();
    if left.is_empty() || right.is_empty() {
        return Err(Error::new(span, "an implication needs both sides: `P ==> Q`"));
    }
    let mut conclusion = TokenStream::new();
    implications(right, &mut conclusion)?;
    out.extend([
        punct_at('!', Spacing::Alone, span),
        parenthesized(left.iter().cloned().collect(), span),
        punct_at('|', Spacing::Joint, span),
        punct_at('|', Spacing::Alone, span),
        parenthesized(conclusion, span),
    ]);
    Ok(())
}

fn punct_at(char: char, spacing: Spacing, span: Span) -> TokenTree {
    let mut punct = Punct::new(char, spacing);
    punct.set_span(span);
    punct.into()
}

/// Reads one term; returns the name that stands for it. A term that occurs twice is one term.
fn take_term(what: &Ident, arguments: &Group, terms: &mut Vec<Term>) -> Result<Ident> {
    let text = source::text(&quote!(#what #arguments));
    if let Some(known) = terms.iter().find(|term| term.text == text) {
        return Ok(Ident::new(&known.name.to_string(), Span::mixed_site().located_at(what.span())));
    }
    if let Some(inner) = term_inside(arguments.stream()) {
        return Err(Error::new(inner.span(), "a term cannot stand inside another term"));
    }
    let name = format_ident!("__term{}", terms.len(), span = Span::mixed_site().located_at(what.span()));
    let parse = |input: ParseStream<'_>| match what.to_string().as_str() {
        "First" => parse_first(input),
        "Last" => parse_last(input),
        _ => parse_exit(input),
    };
    let (variable, form) = parse.parse2(arguments.stream()).map_err(|error| {
        let usage = match what.to_string().as_str() {
            "First" => "First(variable, Rd | Wr | RW, {threads})",
            "Last" => "Last(variable, Rd | Wr | RW, {threads}, condition)",
            _ => "Exit(variable)",
        };
        // An error at the end of the arguments has no place of its own.
        let message = error.to_string();
        match message.strip_prefix("unexpected end of input, ") {
            Some(message) => Error::new(arguments.span(), format!("{message}\nexpected {usage}")),
            None => Error::new(error.span(), format!("{message}\nexpected {usage}")),
        }
    })?;
    terms.push(Term { name: name.clone(), text, variable, form });
    Ok(name)
}

fn term_inside(tokens: TokenStream) -> Option<Ident> {
    let mut tokens = tokens.into_iter().peekable();
    let mut qualified = false;
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Ident(ident) if !qualified && is_term(ident) => {
                if let Some(TokenTree::Group(group)) = tokens.peek()
                    && group.delimiter() == Delimiter::Parenthesis
                {
                    return Some(ident.clone());
                }
            }
            TokenTree::Group(group) => {
                if let Some(found) = term_inside(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
        qualified = matches!(&token, TokenTree::Punct(punct) if matches!(punct.as_char(), '.' | ':'));
    }
    None
}

fn parse_first(input: ParseStream<'_>) -> Result<(Expr, Form)> {
    let (variable, kind, threads) = parse_match(input)?;
    parse_end(input, "First")?;
    Ok((variable, Form::First { kind, threads }))
}

fn parse_last(input: ParseStream<'_>) -> Result<(Expr, Form)> {
    let (variable, kind, threads) = parse_match(input)?;
    parse_comma(input, "the condition is missing")?;
    let condition = input.parse()?;
    parse_end(input, "Last")?;
    Ok((variable, Form::Last { kind, threads, condition }))
}

fn parse_exit(input: ParseStream<'_>) -> Result<(Expr, Form)> {
    let variable = input.parse()?;
    parse_end(input, "Exit")?;
    Ok((variable, Form::Exit))
}

/// `variable, kind, threads`: what a statement must match.
fn parse_match(input: ParseStream<'_>) -> Result<(Expr, Ident, Vec<Threads>)> {
    let variable = input.parse()?;
    parse_comma(input, "the kind of access is missing")?;
    let kind: Ident = input.parse().map_err(|error| Error::new(error.span(), KINDS))?;
    if kind != "Rd" && kind != "Wr" && kind != "RW" {
        return Err(Error::new(kind.span(), KINDS));
    }
    parse_comma(input, "the set of threads is missing")?;
    Ok((variable, kind, parse_threads(input)?))
}

const KINDS: &str = "the kind of access is Rd, Wr or RW";

fn parse_comma(input: ParseStream<'_>, missing: &str) -> Result<()> {
    if input.is_empty() {
        return Err(input.error(missing));
    }
    input.parse::<Token![,]>().map(|_| ())
}

fn parse_end(input: ParseStream<'_>, what: &str) -> Result<()> {
    input.parse::<Option<Token![,]>>()?;
    if input.is_empty() { Ok(()) } else { Err(input.error(format!("too many arguments of {what}"))) }
}

fn parse_threads(input: ParseStream<'_>) -> Result<Vec<Threads>> {
    if !input.peek(syn::token::Brace) {
        return Ok(vec![thread_set(input.parse()?)]);
    }
    let inner;
    braced!(inner in input);
    if inner.is_empty() {
        return Err(
            inner.error("an empty set of threads matches nothing: name some, {me}, {others} or {all}")
        );
    }
    let list = Punctuated::<Expr, Token![,]>::parse_terminated(&inner)?;
    Ok(list.into_iter().map(thread_set).collect())
}

fn thread_set(expr: Expr) -> Threads {
    match expr.to_token_stream().to_string().as_str() {
        "me" => Threads::Me,
        "others" => Threads::Others,
        "all" => Threads::All,
        _ => Threads::Of(expr),
    }
}
