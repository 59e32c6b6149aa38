//! `#[linpoint::spec]`: a sequential type's methods become a specification.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Expr, FnArg, GenericArgument, ImplItem, ItemImpl, PathArguments, ReturnType, Type};

/// A method of the specification.
struct Operation {
    name: Ident,
    variant: Ident,
    arguments: Vec<Type>,
    /// What the concurrent operation answers.
    answer: Type,
    /// Does `None` mean that the operation has to wait?
    waits: bool,
    /// Does the method list all its outcomes?
    lists: bool,
    /// Answers it may also give, without effect.
    may: Vec<Expr>,
}

/// Expands the attribute.
pub(crate) fn expand(mut item: ItemImpl) -> syn::Result<TokenStream> {
    let Type::Path(path) = &*item.self_ty else {
        return Err(syn::Error::new_spanned(
            &item.self_ty,
            "a specification is an `impl` block of a named type",
        ));
    };
    let Some(last) = path.path.segments.last() else {
        return Err(syn::Error::new_spanned(path, "a specification is an `impl` block of a named type"));
    };
    let type_name = last.ident.clone();
    let (mut operations, mut view) = (Vec::new(), None);
    for entry in &mut item.items {
        let ImplItem::Fn(method) = entry else { continue };
        if take_view_mark(method)? {
            if view.replace(method.sig.ident.clone()).is_some() {
                return Err(syn::Error::new_spanned(&method.sig, "a specification has one `view`"));
            }
        } else if let Some(operation) = operation(method)? {
            operations.push(operation);
        }
    }
    if operations.is_empty() {
        return Err(syn::Error::new_spanned(
            &item.self_ty,
            "no methods with `&mut self`: nothing to specify",
        ));
    }
    let self_type = &item.self_ty;
    let op_type = format_ident!("{type_name}Op");
    let ret_type = format_ident!("{type_name}Ret");
    let enums = enums(&op_type, &ret_type, &operations);
    let body = specification(&op_type, &ret_type, &operations);
    let recorded = recorded(&op_type, &ret_type, &operations);
    let entries = view.map(|name| entries(&name));
    let hidden = operations.iter().map(|operation| hidden(&op_type, &ret_type, operation));
    Ok(quote! {
        #item
        #enums
        impl ::linpoint::Specification for #self_type {
            type Op = #op_type;
            type Ret = #ret_type;
            fn initial() -> Self {
                <Self as ::core::default::Default>::default()
            }
            #body
        }
        impl ::linpoint::history::Recorded for #self_type {
            #recorded
            #entries
        }
        impl #self_type {
            #(#hidden)*
        }
    })
}

/// Takes `#[view]` off a method; was it there?
fn take_view_mark(method: &mut syn::ImplItemFn) -> syn::Result<bool> {
    let before = method.attrs.len();
    method.attrs.retain(|attribute| !attribute.path().is_ident("view"));
    if method.attrs.len() == before {
        return Ok(false);
    }
    let takes_self =
        matches!(method.sig.inputs.first(), Some(FnArg::Receiver(own)) if own.mutability.is_none());
    if !takes_self || method.sig.inputs.len() != 1 {
        return Err(syn::Error::new_spanned(&method.sig, "a `view` takes `&self` and nothing else"));
    }
    Ok(true)
}

/// What the object holds, for who compares states: the pairs that the method marked `#[view]` lists.
fn entries(name: &Ident) -> TokenStream {
    let value = quote!(::linpoint::history::HistoryValue);
    quote! {
        fn entries(&self) -> ::core::option::Option<::std::vec::Vec<(#value, #value)>> {
            use ::linpoint::history::InHistory as _;
            let pairs = Self::#name(self).into_iter();
            ::core::option::Option::Some(pairs.map(|(key, value)| (key.to_value(), value.to_value())).collect())
        }
    }
}

/// Reads a method, and takes our attributes off it.
fn operation(method: &mut syn::ImplItemFn) -> syn::Result<Option<Operation>> {
    let mut inputs = method.sig.inputs.iter();
    let Some(FnArg::Receiver(_)) = inputs.next() else { return Ok(None) };
    let mut arguments = Vec::new();
    for input in inputs {
        if let FnArg::Typed(typed) = input {
            if matches!(&*typed.ty, Type::Reference(_)) {
                return Err(syn::Error::new_spanned(
                    &typed.ty,
                    "operations take their arguments by value: a scenario owns them",
                ));
            }
            arguments.push((*typed.ty).clone());
        }
    }
    let (mut waits, mut lists, mut skip, mut may) = (false, false, false, Vec::new());
    let mut kept: Vec<Attribute> = Vec::new();
    for attribute in std::mem::take(&mut method.attrs) {
        if attribute.path().is_ident("blocks") {
            waits = true;
        } else if attribute.path().is_ident("outcomes") {
            lists = true;
        } else if attribute.path().is_ident("skip") {
            skip = true;
        } else if attribute.path().is_ident("may") {
            may.push(attribute.parse_args::<Expr>()?);
        } else {
            kept.push(attribute);
        }
    }
    method.attrs = kept;
    if skip {
        return Ok(None);
    }
    let answer = match &method.sig.output {
        ReturnType::Default => syn::parse_quote!(()),
        ReturnType::Type(_, answer) => (**answer).clone(),
    };
    let answer = if waits {
        inner(&answer, "Option").ok_or_else(|| {
            syn::Error::new_spanned(
                &answer,
                "an operation that `blocks` returns an `Option`: `None` while it waits",
            )
        })?
    } else if lists {
        inner(&answer, "Vec")
            .and_then(|pair| match pair {
                Type::Tuple(tuple) if tuple.elems.len() == 2 => tuple.elems.first().cloned(),
                _ => None,
            })
            .ok_or_else(|| {
                syn::Error::new_spanned(
                    &answer,
                    "`outcomes` are a `Vec<(answer, Self)>`: each answer with the state after it",
                )
            })?
    } else {
        answer
    };
    let name = method.sig.ident.clone();
    let variant = Ident::new(&camel(&name.to_string()), name.span());
    Ok(Some(Operation { name, variant, arguments, answer, waits, lists, may }))
}

/// `T` of `Wrapper<T>`.
fn inner(of: &Type, wrapper: &str) -> Option<Type> {
    let Type::Path(path) = of else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == wrapper)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner.clone()),
        _ => None,
    })
}

/// `push_front` as `PushFront`.
fn camel(name: &str) -> String {
    name.split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
        })
        .collect()
}

fn enums(op_type: &Ident, ret_type: &Ident, operations: &[Operation]) -> TokenStream {
    let variants: Vec<_> = operations.iter().map(|operation| &operation.variant).collect();
    let arguments = operations.iter().map(|operation| &operation.arguments);
    let answers = operations.iter().map(|operation| &operation.answer);
    quote! {
        /// An operation with its arguments.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, clippy::empty_enum_variants_with_brackets)]
        pub enum #op_type {
            #(#variants(#(#arguments),*)),*
        }
        /// What an operation answers.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum #ret_type {
            #(#variants(#answers)),*
        }
    }
}

fn specification(op_type: &Ident, ret_type: &Ident, operations: &[Operation]) -> TokenStream {
    let names = operations.iter().map(|operation| operation.name.to_string());
    let outcomes = operations.iter().map(|operation| {
        let Operation { name, variant, waits, lists, may, .. } = operation;
        let bound = bound(operation);
        let also = may.iter().map(|answer| quote!(into.push((#ret_type::#variant(#answer), self.clone()));));
        let usual = if *lists {
            quote! {
                for (answer, after) in Self::#name(self, #(#bound.clone()),*) {
                    into.push((#ret_type::#variant(answer), after));
                }
            }
        } else if *waits {
            quote! {
                let mut after = self.clone();
                if let Some(answer) = Self::#name(&mut after, #(#bound.clone()),*) {
                    into.push((#ret_type::#variant(answer), after));
                }
            }
        } else {
            quote! {
                let mut after = self.clone();
                #[allow(clippy::let_unit_value)]
                let answer = Self::#name(&mut after, #(#bound.clone()),*);
                into.push((#ret_type::#variant(answer), after));
            }
        };
        quote!(#op_type::#variant(#(#bound),*) => { #usual #(#also)* })
    });
    let indices = operations.iter().enumerate().map(|(index, operation)| {
        let variant = &operation.variant;
        quote!(#op_type::#variant(..) => #index)
    });
    let candidates = operations.iter().enumerate().map(|(index, operation)| {
        let variant = &operation.variant;
        let bound = bound(operation);
        let types = &operation.arguments;
        let mut body = quote!(all.push(#op_type::#variant(#(#bound.clone()),*)););
        for (name, of) in bound.iter().zip(types).rev() {
            body = quote!(for #name in <#of as ::linpoint::Argument>::candidates(domain) { #body });
        }
        quote!(#index => { #body })
    });
    let values = operations.iter().map(|operation| {
        let variant = &operation.variant;
        let bound = bound(operation);
        quote!(#op_type::#variant(#(#bound),*) => { #(::linpoint::Argument::values(#bound, into);)* })
    });
    let shown = operations.iter().map(|operation| {
        let variant = &operation.variant;
        let name = operation.name.to_string();
        let bound = bound(operation);
        quote!(#op_type::#variant(#(#bound),*) => {
            let parts: ::std::vec::Vec<::std::string::String> = vec![#(format!("{:?}", #bound)),*];
            format!("{}({})", #name, parts.join(", "))
        })
    });
    let answers = operations.iter().map(|operation| {
        let variant = &operation.variant;
        quote!(#ret_type::#variant(answer) => format!("{answer:?}"))
    });
    quote! {
        #[allow(unused_variables)]
        fn outcomes(&self, op: &#op_type, into: &mut ::std::vec::Vec<(#ret_type, Self)>) {
            match op { #(#outcomes)* }
        }
        fn names() -> &'static [&'static str] {
            &[#(#names),*]
        }
        fn index(op: &#op_type) -> usize {
            match op { #(#indices),* }
        }
        #[allow(unused_variables, unused_mut)]
        fn candidates(index: usize, domain: &::linpoint::Domain) -> ::std::vec::Vec<#op_type> {
            let mut all = ::std::vec::Vec::new();
            match index { #(#candidates)* _ => {} }
            all
        }
        #[allow(unused_variables)]
        fn values(op: &#op_type, into: &mut ::std::vec::Vec<usize>) {
            match op { #(#values)* }
        }
        fn show_op(op: &#op_type) -> ::std::string::String {
            match op { #(#shown)* }
        }
        fn show_ret(ret: &#ret_type) -> ::std::string::String {
            match ret { #(#answers),* }
        }
    }
}

/// How a history holds the operations: what each takes and answers, and both ways between values and types.
fn recorded(op_type: &Ident, ret_type: &Ident, operations: &[Operation]) -> TokenStream {
    let probe = |ty: TokenStream| quote!((&::linpoint::history::Probe::<#ty>::new()));
    let taken = |operation: &Operation| match &operation.arguments[..] {
        [] => quote!(()),
        [only] => quote!(#only),
        many => quote!((#(#many),*)),
    };
    let takes = operations.iter().enumerate().map(|(index, operation)| {
        let probe = probe(taken(operation));
        quote!(#index => #probe.form())
    });
    let answers = operations.iter().enumerate().map(|(index, operation)| {
        let answer = &operation.answer;
        let probe = probe(quote!(#answer));
        quote!(#index => #probe.form())
    });
    let reads = operations.iter().enumerate().map(|(index, operation)| {
        let (variant, bound) = (&operation.variant, bound(operation));
        let probe = probe(taken(operation));
        let pattern = match &bound[..] {
            [] => quote!(()),
            [only] => quote!(#only),
            many => quote!((#(#many),*)),
        };
        quote!(#index => #probe.read(arg).map(|#pattern| #op_type::#variant(#(#bound),*)))
    });
    let writes = operations.iter().map(|operation| {
        let (variant, bound) = (&operation.variant, bound(operation));
        let probe = probe(taken(operation));
        let whole = match &bound[..] {
            [] => quote!(&()),
            [only] => quote!(#only),
            many => quote!(&(#(#many.clone()),*)),
        };
        quote!(#op_type::#variant(#(#bound),*) => #probe.write(#whole))
    });
    let written = operations.iter().map(|operation| {
        let (variant, answer) = (&operation.variant, &operation.answer);
        let probe = probe(quote!(#answer));
        quote!(#ret_type::#variant(answer) => #probe.write(answer))
    });
    let traits = quote!(
        #[allow(unused_imports)]
        use ::linpoint::history::{Known as _, Unknown as _};
    );
    let (form, value) = (quote!(::linpoint::history::Form), quote!(::linpoint::history::HistoryValue));
    quote! {
        fn takes(index: usize) -> ::core::option::Option<#form> {
            #traits
            match index { #(#takes,)* _ => ::core::option::Option::None }
        }
        fn answers(index: usize) -> ::core::option::Option<#form> {
            #traits
            match index { #(#answers,)* _ => ::core::option::Option::None }
        }
        fn read_op(index: usize, arg: &#value) -> ::core::option::Option<#op_type> {
            #traits
            match index { #(#reads,)* _ => ::core::option::Option::None }
        }
        fn write_op(op: &#op_type) -> ::core::option::Option<#value> {
            #traits
            match op { #(#writes),* }
        }
        fn write_answer(answer: &#ret_type) -> ::core::option::Option<#value> {
            #traits
            match answer { #(#written),* }
        }
    }
}

/// What `#[linpoint::object]` reaches an operation by, without having to name the enums.
fn hidden(op_type: &Ident, ret_type: &Ident, operation: &Operation) -> TokenStream {
    let Operation { name, variant, arguments, answer, .. } = operation;
    let arguments_of = format_ident!("__linpoint_arguments_{name}");
    let answer_of = format_ident!("__linpoint_answer_{name}");
    let bound = bound(operation);
    quote! {
        #[doc(hidden)]
        #[allow(clippy::unused_unit, irrefutable_let_patterns, unused_parens)]
        pub fn #arguments_of(op: &#op_type) -> ::core::option::Option<(#(#arguments,)*)> {
            if let #op_type::#variant(#(#bound),*) = op { Some((#(#bound.clone(),)*)) } else { None }
        }
        #[doc(hidden)]
        pub fn #answer_of(answer: #answer) -> #ret_type {
            #ret_type::#variant(answer)
        }
    }
}

fn bound(operation: &Operation) -> Vec<Ident> {
    (0..operation.arguments.len())
        .map(|index| Ident::new(&format!("argument_{index}"), Span::call_site()))
        .collect()
}
