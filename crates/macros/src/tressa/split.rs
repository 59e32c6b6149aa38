//! Parts a claim into what is evaluated now and what is deferred.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{BinOp, Error, Expr, ExprBinary, Lit, Result, UnOp};

use super::source;
use super::terms::Term;

/// The parts of a claim, collected on a walk over it.
pub struct Split<'a> {
    krate: &'a TokenStream,
    terms: Vec<String>,
    count: usize,
    /// Places for the values of plain terms that a failure shows.
    pub slots: TokenStream,
    /// The plain values that the deferred part needs.
    pub plain: TokenStream,
    /// What tells them to an explanation.
    pub explain: TokenStream,
}

impl<'a> Split<'a> {
    pub fn new(krate: &'a TokenStream, terms: &[Term]) -> Split<'a> {
        let terms = terms.iter().map(|term| term.name.to_string()).collect();
        Split {
            krate,
            terms,
            count: 0,
            slots: TokenStream::new(),
            plain: TokenStream::new(),
            explain: TokenStream::new(),
        }
    }

    /// If the claim is `G || rest` with a plain `G` (so it is `!G ==> rest`): both sides.
    pub fn guard(&self, claim: &Expr) -> Option<(Expr, Expr)> {
        match claim {
            Expr::Paren(paren) => self.guard(&paren.expr),
            Expr::Group(group) => self.guard(&group.expr),
            Expr::Binary(ExprBinary { left, op: BinOp::Or(_), right, .. }) => {
                // `a || b || c` is read as `(a || b) || c`: the first alternative guards the others.
                if self.is_plain(left) && !self.is_plain(right) {
                    return Some(((**left).clone(), (**right).clone()));
                }
                None
            }
            _ => None,
        }
    }

    /// Code for the truth of the claim once its terms are known, and for what is known of it now.
    pub fn truth(&mut self, expr: &Expr) -> Result<(TokenStream, TokenStream)> {
        let krate = self.krate;
        Ok(match expr {
            _ if self.is_plain(expr) => {
                let name = self.name("truth");
                let truth = self.plain_truth(expr);
                self.plain.extend(quote!(let #name: bool = #truth;));
                (quote!(#name), quote!(::core::option::Option::Some(#name)))
            }
            Expr::Paren(paren) => self.truth(&paren.expr)?,
            Expr::Group(group) => self.truth(&group.expr)?,
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                let (deferred, known) = self.truth(&unary.expr)?;
                (quote!((!#deferred)), quote!(#krate::expansion::not(#known)))
            }
            Expr::Binary(ExprBinary { left, op: op @ (BinOp::And(_) | BinOp::Or(_)), right, .. }) => {
                let (left, left_known) = self.truth(left)?;
                let (right, right_known) = self.truth(right)?;
                let join = if matches!(op, BinOp::And(_)) { quote!(and) } else { quote!(or) };
                (quote!((#left #op #right)), quote!(#krate::expansion::#join(#left_known, #right_known)))
            }
            _ => {
                let deferred = self.deferred(expr)?;
                let span = source::span(expr);
                let typed = quote_spanned!(span=> { let __truth: bool = #deferred; __truth });
                (typed, quote!(::core::option::Option::None))
            }
        })
    }

    /// Code that evaluates a plain truth value now and keeps what a failure should show: the sides of its
    /// comparisons.
    pub fn plain_truth(&mut self, expr: &Expr) -> TokenStream {
        let krate = self.krate;
        match expr {
            Expr::Paren(paren) => {
                let inner = self.plain_truth(&paren.expr);
                quote!((#inner))
            }
            Expr::Group(group) => self.plain_truth(&group.expr),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                let inner = self.plain_truth(&unary.expr);
                quote!((!#inner))
            }
            Expr::Binary(ExprBinary { left, op: op @ (BinOp::And(_) | BinOp::Or(_)), right, .. }) => {
                let (left, right) = (self.plain_truth(left), self.plain_truth(right));
                quote!((#left #op #right))
            }
            Expr::Binary(ExprBinary { left, op, right, .. }) if is_comparison(op) => {
                let (left, left_shown) = self.side(left);
                let (right, right_shown) = self.side(right);
                let slot = self.slot();
                let text = source::text(expr);
                self.explain.extend(quote! {
                    #krate::expansion::explain_comparison(__out, [#left_shown, #right_shown], #text, #slot);
                });
                quote_spanned!(source::span(expr)=> #krate::expansion::note_truth(&mut #slot, #left #op #right))
            }
            _ if is_literal(expr) => quote!(#expr),
            _ => {
                let slot = self.slot();
                let text = source::text(expr);
                self.explain.extend(quote! {
                    if let ::core::option::Option::Some(__truth) = #slot {
                        __out.plain(#text, ::std::string::ToString::to_string(&__truth));
                    }
                });
                quote_spanned!(source::span(expr)=> #krate::expansion::note_truth(&mut #slot, #expr))
            }
        }
    }

    /// One side of a comparison: a reference to it, and code that shows it.
    fn side(&mut self, expr: &Expr) -> (TokenStream, TokenStream) {
        let (krate, span, text) = (self.krate, source::span(expr), source::text(expr));
        // The type of `None` is not known here, and its value is no news.
        if is_literal(expr) || is_constant(expr) {
            return (quote_spanned!(span=> &(#expr)), quote!((#text, ::core::option::Option::None)));
        }
        let slot = self.slot();
        let noted = quote_spanned!(span=> (&&#krate::expansion::Operand(&(#expr))).note(&mut #slot));
        let show = quote!(#slot.and_then(|__value| (&&#krate::expansion::Show(&__value)).show()));
        (noted, quote!((#text, #show)))
    }

    /// Code for a value that depends on terms.
    fn deferred(&mut self, expr: &Expr) -> Result<TokenStream> {
        if self.is_plain(expr) {
            return Ok(self.keep(expr));
        }
        Ok(match expr {
            Expr::Path(path) => quote!(#path),
            Expr::Paren(paren) => {
                let inner = self.deferred(&paren.expr)?;
                quote!((#inner))
            }
            Expr::Group(group) => self.deferred(&group.expr)?,
            Expr::Unary(unary) => {
                let (op, inner) = (&unary.op, self.deferred(&unary.expr)?);
                quote!(#op #inner)
            }
            Expr::Binary(binary) => {
                let (left, op, right) =
                    (self.deferred(&binary.left)?, &binary.op, self.deferred(&binary.right)?);
                quote!(#left #op #right)
            }
            Expr::Cast(cast) => {
                let (inner, ty) = (self.deferred(&cast.expr)?, &cast.ty);
                quote!(#inner as #ty)
            }
            Expr::Reference(reference) if reference.mutability.is_none() => {
                let inner = self.deferred(&reference.expr)?;
                quote!(&#inner)
            }
            Expr::Field(field) => {
                let (base, member) = (self.deferred(&field.base)?, &field.member);
                quote!(#base.#member)
            }
            Expr::Index(index) => {
                let (base, index) = (self.deferred(&index.expr)?, self.deferred(&index.index)?);
                quote!(#base[#index])
            }
            Expr::Call(call) if self.is_plain(&call.func) => {
                let function = &call.func;
                let arguments = self.all_deferred(&call.args)?;
                quote!(#function(#(#arguments),*))
            }
            Expr::MethodCall(call) => {
                let receiver = self.deferred(&call.receiver)?;
                let arguments = self.all_deferred(&call.args)?;
                let (method, turbofish) = (&call.method, &call.turbofish);
                quote!(#receiver.#method #turbofish(#(#arguments),*))
            }
            Expr::Tuple(tuple) => {
                let elements = self.all_deferred(&tuple.elems)?;
                quote!((#(#elements),*))
            }
            Expr::Array(array) => {
                let elements = self.all_deferred(&array.elems)?;
                quote!([#(#elements),*])
            }
            // The term stands for its value; a pattern reads nothing.
            Expr::Macro(call) if call.mac.path.is_ident("matches") => quote!(#call),
            _ => {
                let message = "a term cannot stand in this kind of expression: \
                               use operators, ==>, calls, `matches!`, or a function of the term";
                return Err(Error::new(source::place(expr), message));
            }
        })
    }

    fn all_deferred<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Result<Vec<TokenStream>> {
        exprs.into_iter().map(|expr| self.deferred(expr)).collect()
    }

    /// Evaluates a plain value now and keeps it for the deferred part.
    fn keep(&mut self, expr: &Expr) -> TokenStream {
        if is_literal(expr) || is_constant(expr) {
            return quote!(#expr);
        }
        if let Expr::Reference(reference) = expr
            && reference.mutability.is_none()
        {
            let inner = self.keep(&reference.expr);
            return quote!(&#inner);
        }
        let (krate, span, text) = (self.krate, source::span(expr), source::text(expr));
        let name = self.name("plain");
        let value = if is_place(expr) {
            quote_spanned!(span=> ::core::clone::Clone::clone(&(#expr)))
        } else {
            quote!(#expr)
        };
        self.plain.extend(quote!(let #name = #value;));
        self.explain.extend(quote! {
            #krate::expansion::explain_plain(__out, #text, (&&#krate::expansion::Show(&#name)).show());
        });
        quote!(#name)
    }

    fn slot(&mut self) -> Ident {
        let slot = self.name("slot");
        self.slots.extend(quote!(let mut #slot = ::core::option::Option::None;));
        slot
    }

    fn name(&mut self, of: &str) -> Ident {
        self.count += 1;
        format_ident!("__{}{}", of, self.count, span = Span::mixed_site())
    }

    fn is_plain(&self, tokens: &impl ToTokens) -> bool {
        !self.names_term(tokens.to_token_stream())
    }

    fn names_term(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => self.terms.iter().any(|term| ident == term),
            TokenTree::Group(group) => self.names_term(group.stream()),
            _ => false,
        })
    }
}

/// A literal, perhaps negative.
pub fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            matches!(&*unary.expr, Expr::Lit(lit) if matches!(lit.lit, Lit::Int(_) | Lit::Float(_)))
        }
        _ => false,
    }
}

/// A path that ends in a capital letter: a constant, or a variant such as `None`.
pub fn is_constant(expr: &Expr) -> bool {
    let Expr::Path(path) = expr else { return false };
    let last = path.path.segments.last().map(|segment| segment.ident.to_string());
    last.is_some_and(|name| name.starts_with(char::is_uppercase))
}

/// A path, a field, an element, or what a reference points to.
pub fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) => true,
        Expr::Field(field) => is_place(&field.base),
        Expr::Index(index) => is_place(&index.expr),
        Expr::Paren(paren) => is_place(&paren.expr),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)),
        _ => false,
    }
}

fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}
