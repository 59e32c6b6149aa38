//! `#[linpoint::object(spec = …)]`: a concurrent type's methods become operations that can be explored.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, FnArg, Ident, ImplItem, ItemImpl, Token, Type};

/// What stands in the attribute's parentheses.
pub(crate) struct Options {
    spec: Type,
    new: Option<Expr>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Options> {
        let (mut spec, mut new) = (None, None);
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            if name == "spec" {
                spec = Some(input.parse()?);
            } else if name == "new" {
                new = Some(input.parse()?);
            } else {
                return Err(syn::Error::new(name.span(), "expected `spec = Type` or `new = expression`"));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let spec =
            spec.ok_or_else(|| input.error("say what it should do: `#[linpoint::object(spec = Type)]`"))?;
        Ok(Options { spec, new })
    }
}

/// Expands the attribute.
pub(crate) fn expand(options: &Options, mut item: ItemImpl) -> syn::Result<TokenStream> {
    let spec = &options.spec;
    let self_type = &item.self_ty;
    let (generics, _, condition) = item.generics.split_for_impl();
    let mut names = Vec::new();
    let mut arms = Vec::new();
    let mut roles = Vec::new();
    let mut has_new = false;
    for entry in &mut item.items {
        let ImplItem::Fn(method) = entry else { continue };
        let skip = method.attrs.iter().any(|attribute| attribute.path().is_ident("skip"));
        method.attrs.retain(|attribute| !attribute.path().is_ident("skip"));
        let role = role(&mut method.attrs)?;
        let name = &method.sig.ident;
        let mut inputs = method.sig.inputs.iter();
        match inputs.next() {
            Some(FnArg::Receiver(receiver)) if !skip => {
                if receiver.mutability.is_some() {
                    return Err(syn::Error::new_spanned(
                        receiver,
                        "a concurrent operation takes `&self`; put `#[skip]` on methods that are no operations",
                    ));
                }
            }
            None => {
                has_new |= name == "new";
                continue;
            }
            _ => continue,
        }
        let places: Vec<syn::Index> = (0..inputs.count()).map(syn::Index::from).collect();
        let arguments_of = format_ident!("__linpoint_arguments_{name}", span = name.span());
        let answer_of = format_ident!("__linpoint_answer_{name}", span = name.span());
        names.push(name.to_string());
        if let Some(role) = role {
            let (name, role) = (name.to_string(), role.to_string());
            roles.push(quote!((#name, #role)));
        }
        arms.push(quote! {
            #[allow(unused_variables, clippy::unit_arg)]
            if let Some(arguments) = <#spec>::#arguments_of(op) {
                return <#spec>::#answer_of(self.#name(#(arguments.#places),*));
            }
        });
    }
    if names.is_empty() {
        return Err(syn::Error::new_spanned(
            self_type,
            "no methods with `&self`: the object has no operations",
        ));
    }
    let create = match &options.new {
        Some(new) => quote!(#new),
        None if has_new => quote!(Self::new()),
        None => quote!(<Self as ::core::default::Default>::default()),
    };
    Ok(quote! {
        #item
        impl #generics ::linpoint::Object for #self_type #condition {
            type Spec = #spec;
            fn create() -> Self {
                #create
            }
            fn operations() -> &'static [&'static str] {
                &[#(#names),*]
            }
            fn roles() -> &'static [(&'static str, &'static str)] {
                &[#(#roles),*]
            }
            fn perform(
                &self,
                op: &<#spec as ::linpoint::Specification>::Op,
            ) -> <#spec as ::linpoint::Specification>::Ret {
                #(#arms)*
                unreachable!("scenarios are made of the operations that the object has")
            }
        }
    })
}

/// Takes `#[role(name)]` off a method; the name.
fn role(attributes: &mut Vec<Attribute>) -> syn::Result<Option<Ident>> {
    let mut found = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("role")) {
        let role = attribute.parse_args::<Ident>()?;
        if found.replace(role).is_some() {
            return Err(syn::Error::new_spanned(attribute, "an operation has one role"));
        }
    }
    attributes.retain(|attribute| !attribute.path().is_ident("role"));
    Ok(found)
}
