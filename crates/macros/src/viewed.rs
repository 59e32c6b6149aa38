//! `#[derive(linpoint::Viewed)]`: the marked fields support the view.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Ident};

/// What a field is to the view.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Value,
    When,
    Entries,
}

/// Expands the derive.
pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let wrong = |message| syn::Error::new_spanned(&input.ident, message);
    let Data::Struct(data) = &input.data else {
        return Err(wrong("only a struct has fields to mark"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(wrong("the fields that support the view need names"));
    };
    let mut marked: Vec<(&Ident, Role)> = Vec::new();
    for field in &fields.named {
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("view")) {
            let word: Ident = attribute.parse_args()?;
            let role = match word.to_string().as_str() {
                "key" => Role::Key,
                "value" => Role::Value,
                "when" => Role::When,
                "entries" => Role::Entries,
                _ => {
                    return Err(syn::Error::new(
                        word.span(),
                        "a field is `key`, `value`, `when` or `entries`",
                    ));
                }
            };
            marked.extend(field.ident.as_ref().map(|ident| (ident, role)));
        }
    }
    let all =
        |role| marked.iter().filter(move |(_, of)| *of == role).map(|(ident, _)| *ident).collect::<Vec<_>>();
    let (keys, values, conditions, entries) =
        (all(Role::Key), all(Role::Value), all(Role::When), all(Role::Entries));
    let (held, shown) = match (&keys[..], &values[..], &entries[..]) {
        ([key], [], []) => (quote!(self.#key), quote!(&self.#key)),
        ([key], [value], []) => {
            (quote!(self.#key), quote!(::linpoint::monitor::Pair(&self.#key, &self.#value)))
        }
        ([], [], [entries]) => (quote!(self.#entries), quote!(&self.#entries)),
        _ => {
            return Err(wrong(
                "mark one field `#[view(key)]`, and perhaps one `#[view(value)]`; or one `#[view(entries)]`",
            ));
        }
    };
    let (name, (generics, arguments, condition)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        impl #generics ::linpoint::monitor::Viewed for #name #arguments #condition {
            fn view(&self) -> impl ::linpoint::monitor::Payload + '_ {
                let holds = #(self.#conditions &&)* !::linpoint::monitor::payload::is_null(&#held);
                holds.then(|| #shown)
            }
        }
    })
}
