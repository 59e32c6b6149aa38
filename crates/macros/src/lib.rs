//! The procedural macros of Linpoint, a file each.
//!
//! Nothing here is meant to be named directly: the crates that need a macro hand it on, together with the path to themselves.

mod tressa;

use proc_macro::TokenStream;

/// `tressa!` of the crate `claim`: takes the path of that crate, a semicolon, and the claim.
#[proc_macro]
pub fn tressa(input: TokenStream) -> TokenStream {
    tressa::expand(input.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}
