//! The condition of a `Last` term: its places become leaves, the rest a closure over them.
//!
//! A place is a path, a field, an element; whether it is a variable to be watched or a value to be kept is
//! decided by its type. `x.load(…)` and `x.get()` are the variable `x`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Error, Expr, ExprMethodCall, Result, UnOp};

use super::source;
use super::split::{is_constant, is_literal, is_place};

/// Code for the condition.
pub fn code(krate: &TokenStream, condition: &Expr) -> Result<TokenStream> {
    let mut leaves =
        Leaves { krate, watch: TokenStream::new(), read: TokenStream::new(), all: quote!(()), count: 0 };
    let body = leaves.rewrite(condition)?;
    let Leaves { watch, read, all, count, .. } = leaves;
    if count == 0 {
        return Err(Error::new(
            source::place(condition),
            "the condition names no variable, so it can never become true",
        ));
    }
    let body = quote_spanned!(source::span(condition)=> { let __holds: bool = #body; __holds });
    Ok(quote!({
        let mut __condition = #krate::expansion::ConditionDraft::default();
        #watch
        #krate::expansion::must_watch(&#all);
        __condition.finish(move |__values: &[u128]| -> bool { #read #body })
    }))
}

struct Leaves<'a> {
    krate: &'a TokenStream,
    watch: TokenStream,
    read: TokenStream,
    /// All leaves as nested pairs.
    all: TokenStream,
    count: usize,
}

impl Leaves<'_> {
    fn rewrite(&mut self, expr: &Expr) -> Result<TokenStream> {
        Ok(match expr {
            _ if is_literal(expr) || is_constant(expr) => quote!(#expr),
            _ if is_place(expr) => self.leaf(expr, false),
            Expr::MethodCall(call) if is_read(call) => self.leaf(&call.receiver, true),
            Expr::Paren(paren) => {
                let inner = self.rewrite(&paren.expr)?;
                quote!((#inner))
            }
            Expr::Group(group) => self.rewrite(&group.expr)?,
            Expr::Binary(binary) => {
                let (left, op, right) =
                    (self.rewrite(&binary.left)?, &binary.op, self.rewrite(&binary.right)?);
                quote!(#left #op #right)
            }
            Expr::Unary(unary) if !matches!(unary.op, UnOp::Deref(_)) => {
                let (op, inner) = (&unary.op, self.rewrite(&unary.expr)?);
                quote!(#op #inner)
            }
            Expr::Cast(cast) => {
                let (inner, ty) = (self.rewrite(&cast.expr)?, &cast.ty);
                quote!(#inner as #ty)
            }
            Expr::Reference(reference) if reference.mutability.is_none() => {
                let inner = self.rewrite(&reference.expr)?;
                quote!(&#inner)
            }
            Expr::Call(call) => {
                let arguments =
                    call.args.iter().map(|expr| self.rewrite(expr)).collect::<Result<Vec<_>>>()?;
                let function = &call.func;
                quote!(#function(#(#arguments),*))
            }
            Expr::MethodCall(call) => {
                let receiver = self.rewrite(&call.receiver)?;
                let arguments =
                    call.args.iter().map(|expr| self.rewrite(expr)).collect::<Result<Vec<_>>>()?;
                let (method, turbofish) = (&call.method, &call.turbofish);
                quote!(#receiver.#method #turbofish(#(#arguments),*))
            }
            Expr::Tuple(tuple) => {
                let elements =
                    tuple.elems.iter().map(|expr| self.rewrite(expr)).collect::<Result<Vec<_>>>()?;
                quote!((#(#elements),*))
            }
            _ => {
                let message = "a condition is made of variables, values, operators and calls";
                return Err(Error::new(source::place(expr), message));
            }
        })
    }

    fn leaf(&mut self, place: &Expr, must_be_variable: bool) -> TokenStream {
        let krate = self.krate;
        let name = format_ident!("__leaf{}", self.count, span = Span::mixed_site());
        self.count += 1;
        let span = source::span(place);
        let leaf = if must_be_variable {
            quote_spanned!(span=> #krate::expansion::watch(&(#place), &mut __condition))
        } else {
            quote_spanned!(span=> (&&#krate::expansion::Leaf(&(#place))).leaf(&mut __condition))
        };
        self.watch.extend(quote!(let #name = #leaf;));
        self.read.extend(quote!(let #name = #name.get(__values);));
        let rest = &self.all;
        self.all = quote!((&#name, #rest));
        quote!(#name)
    }
}

/// `x.load(order)` or `x.get()` of a place.
fn is_read(call: &ExprMethodCall) -> bool {
    let shape = (call.method.to_string(), call.args.len());
    is_place(&call.receiver) && matches!((shape.0.as_str(), shape.1), ("load", 0 | 1) | ("get", 0))
}
