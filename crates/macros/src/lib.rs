//! The procedural macros of Linpoint, a file each.
//!
//! Nothing here is meant to be named directly: the crates that need a macro hand it on, together with the
//! path to themselves.

mod object;
mod spec;
mod tressa;
mod viewed;

use proc_macro::TokenStream;

/// `tressa!` of the crate `claim`: takes the path of that crate, a semicolon, and the claim.
#[proc_macro]
pub fn tressa(input: TokenStream) -> TokenStream {
    tressa::expand(input.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes a sequential type a specification: its methods with `&mut self` are the operations.
///
/// On a method: `#[blocks]` (it returns an `Option`, and `None` means that the operation has to wait),
/// `#[may(answer)]` (it may also answer that, without effect), `#[outcomes]` (it returns every `(answer,
/// state after)` there may be), `#[skip]` (it is no operation). One method with `&self` may be marked
/// `#[view]`: it lists what the object holds, as pairs of a key and a value, for monitors that compare
/// states.
#[proc_macro_attribute]
pub fn spec(_options: TokenStream, item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::ItemImpl);
    spec::expand(item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a function a procedure: `Exit` terms of claims made in it, and in functions it calls that are none,
/// wait for its return.
#[proc_macro_attribute]
pub fn procedure(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut function = syn::parse_macro_input!(item as syn::ItemFn);
    if !options.is_empty() || function.sig.asyncness.is_some() {
        let message =
            "`#[linpoint::procedure]` takes no options and stands on a function that is not `async`";
        return syn::Error::new_spanned(&function.sig, message).into_compile_error().into();
    }
    let body = &function.block;
    let block = quote::quote!({
        let _procedure = ::linpoint::procedure();
        #body
    });
    match syn::parse2(block) {
        Ok(block) => *function.block = block,
        Err(error) => return error.into_compile_error().into(),
    }
    quote::quote!(#function).into()
}

/// Makes a concurrent type an object that can be explored: `#[linpoint::object(spec = Fifo)]`.
///
/// Its methods with `&self` are the operations; `#[skip]` leaves one out, and operations with the same
/// `#[role(name)]` are never performed by two threads at a time. It is created by `new()` if the block has
/// that, by `Default` if not, or by `new = expression` in the attribute.
#[proc_macro_attribute]
pub fn object(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = syn::parse_macro_input!(options as object::Options);
    let item = syn::parse_macro_input!(item as syn::ItemImpl);
    object::expand(&options, item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The fields that support an object's view: what a [`Logged`](../linpoint/monitor/struct.Logged.html) place
/// adds to it.
///
/// - `#[view(key)]` alone: the place holds this key, or nothing where it is `None`.
/// - with `#[view(value)]`: it holds the pair.
/// - `#[view(entries)]`: it holds all entries of this list, keys or pairs.
/// - `#[view(when)]` on truth values: only while all of them are true.
///
/// ```ignore
/// #[derive(linpoint::Viewed)]
/// struct Slot {
///     #[view(key)]
///     content: Option<u64>,
///     #[view(when)]
///     valid: bool,
/// }
/// ```
#[proc_macro_derive(Viewed, attributes(view))]
pub fn viewed(item: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(item as syn::DeriveInput);
    viewed::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
