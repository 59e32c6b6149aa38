//! `tressa!`: a claim becomes code.
//!
//! 1. `terms.rs` works on tokens: it takes out the `First`, `Last` and `Exit` terms, which need not be
//!    expressions of Rust, leaves a name in place of each, and writes `P ==> Q` as `!(P) || (Q)`. The rest is
//!    one expression of Rust.
//! 2. `split.rs` parts it: each maximal sub-expression without a term is evaluated now and kept under a name;
//!    what is left is the deferred part, a closure over the values of the terms and the kept ones.
//! 3. This file puts the pieces together: guards first, then the plain values; if these alone make the claim
//!    true, it held; otherwise the terms are added and the deferred part is handed over.

mod condition;
mod source;
mod split;
mod terms;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::{Error, Expr, Result};

use split::Split;
use terms::{Form, Term, Threads};

pub fn expand(input: TokenStream) -> Result<TokenStream> {
    let (krate, claim) = crate_and_claim(input);
    if claim.is_empty() {
        let example = "a claim is missing: tressa!(Exit(s) ==> x.load(SeqCst) == 0)";
        return Err(Error::new(Span::call_site(), example));
    }
    let source = source::text(&claim);
    let (terms, rest) = terms::take_out(claim)?;
    let mut rest: Expr = syn::parse2(rest)?;

    let mut split = Split::new(&krate, &terms);
    let mut guards = TokenStream::new();
    while let Some((guard, after)) = split.guard(&rest) {
        let truth = split.plain_truth(&guard);
        guards.extend(quote!(if #truth { __draft.held(); return; }));
        rest = after;
    }
    let (deferred, known) = split.truth(&rest)?;
    let Split { slots, plain, explain, .. } = split;

    let texts = terms.iter().map(|term| &term.text);
    let add = terms.iter().map(|term| add_term(&krate, term)).collect::<Result<TokenStream>>()?;
    let read = terms.iter().map(|Term { name, .. }| quote!(let #name = #name.get(__values);));
    let tell = terms.iter().zip(0u32..).map(|(Term { name, .. }, index)| quote!(__out.term(#index, &#name);));
    Ok(quote! {
        if #krate::is_active() {
            #[allow(clippy::all, clippy::pedantic, clippy::restriction, unused)]
            let () = {
                static __SITE: #krate::Site = #krate::Site {
                    file: ::core::file!(),
                    line: ::core::line!(),
                    column: ::core::column!(),
                    source: #source,
                    terms: &[#(#texts),*],
                };
                #krate::expansion::make(&__SITE, |__draft: &mut #krate::expansion::Draft<'_>| {
                    use #krate::expansion::{LeafValue as _, LeafVariable as _, NoteNothing as _, NoteValue as _};
                    #slots
                    #guards
                    #plain
                    if #known == ::core::option::Option::Some(true) {
                        __draft.held();
                        return;
                    }
                    #add
                    __draft.close(move |
                        __values: &[u128],
                        __out: ::core::option::Option<&mut #krate::expansion::Explanation<'_>>,
                    | -> bool {
                        use #krate::expansion::{ShowDebug as _, ShowNothing as _};
                        #(#read)*
                        if let ::core::option::Option::Some(__out) = __out {
                            #(#tell)*
                            #explain
                        }
                        let __truth: bool = #deferred;
                        __truth
                    });
                });
            };
        }
    })
}

/// The path before the semicolon that `tressa!` puts in front, and the claim after it.
fn crate_and_claim(input: TokenStream) -> (TokenStream, TokenStream) {
    let mut tokens = input.into_iter();
    let is_semicolon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';');
    let krate = tokens.by_ref().take_while(|token| !is_semicolon(token)).collect();
    (krate, tokens.collect())
}

/// Code that adds a term to the claim and names its slot.
fn add_term(krate: &TokenStream, term: &Term) -> Result<TokenStream> {
    let Term { name, variable, .. } = term;
    let variable = quote_spanned!(source::span(variable)=> &(#variable));
    let add = match &term.form {
        Form::First { kind, threads } => {
            let threads = threads_code(krate, threads);
            quote!(__draft.first(#variable, #krate::Kind::#kind, #threads))
        }
        Form::Last { kind, threads, condition } => {
            let threads = threads_code(krate, threads);
            let condition = condition::code(krate, condition)?;
            quote!(__draft.last(#variable, #krate::Kind::#kind, #threads, #condition))
        }
        Form::Exit => quote!(__draft.exit(#variable)),
    };
    Ok(quote!(let #name = #add;))
}

fn threads_code(krate: &TokenStream, threads: &[Threads]) -> TokenStream {
    let each = threads.iter().map(|threads| match threads {
        Threads::Me => quote!(&__draft.thread()),
        Threads::All => quote!(&#krate::ThreadSet::all()),
        Threads::Others => quote!(&#krate::ThreadSet::except(__draft.thread())),
        Threads::Of(expr) => quote_spanned!(source::span(expr)=> &(#expr)),
    });
    quote!(#krate::expansion::threads(&[#(#each),*]))
}

/// An expression in invisible or visible parentheses, so that it keeps together.
fn parenthesized(inner: TokenStream, span: Span) -> TokenTree {
    let mut group = Group::new(Delimiter::Parenthesis, inner);
    group.set_span(span);
    group.into()
}
