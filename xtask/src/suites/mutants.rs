//! Small mistakes in a crate's own sources, one at a time: which of them do its models find, under loom and here?
//!
//! A mutant is a text with one atomic step, fence or lock changed ([`Kind`]). Where they are is read from the syntax tree;
//! tests, and what is there for other builds than loom's, are left alone. Those that do not compile are left out. A
//! mutant is *killed* by a side if a model fails that passes there without it.
//!
//! Mutants of the kind [`Kind::Ordering`] are counted apart: under sequential consistency an ordering that is too weak shows
//! only in data races on cells and in leaks, never in an old value.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An atomic write, a fence or a notification is left out.
    Drop,
    /// A read-modify-write becomes a load and a store.
    Split,
    /// Two neighbouring statements, each with an atomic step or a lock, change places.
    Exchange,
    /// An ordering becomes `Relaxed`.
    Ordering,
}

/// All, in the order in which they take turns.
pub const KINDS: [Kind; 4] = [Kind::Split, Kind::Drop, Kind::Exchange, Kind::Ordering];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Drop => "step left out",
            Kind::Split => "step split",
            Kind::Exchange => "steps exchanged",
            Kind::Ordering => "ordering weakened",
        }
    }
}

/// A change of one place in a source.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub kind: Kind,
    pub file: PathBuf,
    pub line: usize,
    /// What is replaced, in bytes.
    from: usize,
    to: usize,
    with: String,
    /// What was there.
    was: String,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let was: String =
            self.was.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(90).collect();
        write!(f, "{}:{} {}: `{was}`", self.file.display(), self.line, self.kind.name())
    }
}

impl Mutant {
    /// The whole source with the change.
    pub fn text(&self, source: &str) -> String {
        format!("{}{}{}", &source[..self.from], self.with, &source[self.to..])
    }
}

/// The mutants of the sources in `folder/src`, the kinds taking turns, in an order that depends on nothing but the sources.
pub fn find(folder: &Path) -> Vec<Mutant> {
    let mut found = Vec::new();
    let mut files = Vec::new();
    sources(&folder.join("src"), &mut files);
    files.sort();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let Ok(tree) = syn::parse_file(&text) else { continue };
        let name = file.strip_prefix(folder).unwrap_or(&file).to_owned();
        let mut finder = Finder { text: &text, file: name, found: Vec::new() };
        finder.visit_file(&tree);
        found.extend(finder.found);
    }
    let mut kinds: Vec<Vec<Mutant>> = KINDS
        .iter()
        .map(|&kind| spread(found.iter().filter(|mutant| mutant.kind == kind).cloned().collect()))
        .collect();
    let mut turns = Vec::new();
    while kinds.iter().any(|kind| !kind.is_empty()) {
        turns.extend(kinds.iter_mut().filter_map(Vec::pop));
    }
    turns
}

/// Far ones one after another: in the order of the reversed bits of their places.
fn spread(list: Vec<Mutant>) -> Vec<Mutant> {
    let bits = usize::BITS - list.len().leading_zeros();
    let mut places: Vec<_> = list.into_iter().enumerate().collect();
    places.sort_by_key(|(at, _)| at.reverse_bits() >> (usize::BITS - bits.max(1)));
    places.into_iter().map(|(_, mutant)| mutant).collect()
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("");
        if path.is_dir() && name != "tests" {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !["tests", "test", "loom", "loom_exports", "shim"].contains(&name)
        {
            files.push(path);
        }
    }
}

/// Methods of atomics that write, and what they make of `now` and `value`, if that can be split.
const WRITES: [(&str, usize, Option<&str>); 9] = [
    ("store", 2, None),
    ("swap", 2, Some("value")),
    ("fetch_add", 2, Some("now.wrapping_add(value)")),
    ("fetch_sub", 2, Some("now.wrapping_sub(value)")),
    ("fetch_or", 2, Some("now | value")),
    ("fetch_and", 2, Some("now & value")),
    ("fetch_xor", 2, Some("now ^ value")),
    ("compare_exchange", 4, None),
    ("compare_exchange_weak", 4, None),
];

/// Calls that are left out, beside atomic writes.
const SIGNALS: [&str; 6] = ["unpark", "notify_one", "notify_all", "notify", "wake", "wake_by_ref"];

const ORDERINGS: [&str; 4] = ["Release", "Acquire", "AcqRel", "SeqCst"];

struct Finder<'a> {
    text: &'a str,
    file: PathBuf,
    found: Vec<Mutant>,
}

impl Finder<'_> {
    fn slice(&self, span: Span) -> &str {
        self.text.get(span.byte_range()).unwrap_or("")
    }

    fn add(&mut self, kind: Kind, span: Span, with: String) {
        let range = span.byte_range();
        if range.is_empty() {
            return;
        }
        self.found.push(Mutant {
            kind,
            file: self.file.clone(),
            line: span.start().line,
            was: self.slice(span).to_owned(),
            from: range.start,
            to: range.end,
            with,
        });
    }

    /// The method of an atomic that writes.
    fn write_of(&self, call: &syn::ExprMethodCall) -> Option<(&'static str, Option<&'static str>)> {
        let name = call.method.to_string();
        let (name, _, split) = WRITES.iter().find(|write| write.0 == name && write.1 == call.args.len())?;
        let ordering = self.slice(call.args.last()?.span());
        let names = ["Relaxed", "Release", "Acquire", "AcqRel", "SeqCst"];
        names.iter().any(|name| ordering.ends_with(name)).then_some((name, *split))
    }

    /// Is there an atomic step, a fence or a lock in this text?
    fn has_step(text: &str) -> bool {
        let orders = ORDERINGS
            .iter()
            .chain(&["Relaxed"])
            .any(|ordering| text.contains(&format!("{ordering})")) || text.contains(&format!("{ordering},")));
        orders
            || [".lock(", "drop(", ".with_mut(", ".with(", ".unpark("].iter().any(|word| text.contains(word))
    }

    /// The call that a statement is, without its result being used.
    fn call_of(statement: &syn::Stmt) -> Option<&syn::Expr> {
        match statement {
            syn::Stmt::Expr(call, Some(_)) => Some(call),
            _ => None,
        }
    }

    fn statements(&mut self, block: &syn::Block) {
        for statement in &block.stmts {
            match Self::call_of(statement) {
                Some(syn::Expr::MethodCall(call)) => {
                    let signals = SIGNALS.contains(&call.method.to_string().as_str());
                    if signals || self.write_of(call).is_some() {
                        self.add(Kind::Drop, statement.span(), String::new());
                    }
                }
                Some(syn::Expr::Call(call)) if self.slice(call.func.span()).ends_with("fence") => {
                    self.add(Kind::Ordering, statement.span(), String::new());
                }
                _ => {}
            }
        }
        for pair in block.stmts.windows(2) {
            let (first, second) = (pair[0].span(), pair[1].span());
            let (one, two) = (self.slice(first).to_owned(), self.slice(second).to_owned());
            let plain = |statement: &syn::Stmt, text: &str| {
                // A result at the end of a block must stay there.
                !matches!(statement, syn::Stmt::Expr(_, None) | syn::Stmt::Item(_)) && Self::has_step(text)
            };
            if plain(&pair[0], &one) && plain(&pair[1], &two) {
                let between = self.text[first.byte_range().end..second.byte_range().start].to_owned();
                let whole = first.join(second).unwrap_or(first);
                self.add(Kind::Exchange, whole, format!("{two}{between}{one}"));
            }
        }
    }
}

/// Is this for tests, or for another build than loom's?
fn is_elsewhere(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return attribute.path().is_ident("test") };
        let words = list.tokens.to_string().replace(' ', "");
        list.path.is_ident("cfg")
            && (words.contains("test") && !words.contains("not(test)")
                || words.contains("not(loom)")
                || words.contains("_loom)") && words.contains("not("))
    })
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Impl(item) => {
                let name = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
                if name.is_some_and(|name| name.ident == "Debug") {
                    return;
                }
                &item.attrs
            }
            _ => return visit::visit_item(self, item),
        };
        if !is_elsewhere(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_elsewhere(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.statements(block);
        visit::visit_block(self, block);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Some((name, split)) = self.write_of(call) {
            let place = self.slice(call.receiver.span()).to_owned();
            let args: Vec<_> = call.args.iter().map(|arg| self.slice(arg.span()).to_owned()).collect();
            let orders = "use ::core::sync::atomic::Ordering::{Acquire as Before, Release as After};";
            if let Some(split) = split {
                let value = &args[0];
                self.add(
                    Kind::Split,
                    call.span(),
                    format!(
                        "{{ {orders} let place = &{place}; let value = {value}; let now = place.load(Before); \
                         place.store({split}, After); now }}"
                    ),
                );
            } else if name.starts_with("compare") {
                let (old, new) = (&args[0], &args[1]);
                self.add(
                    Kind::Split,
                    call.span(),
                    format!(
                        "{{ {orders} let place = &{place}; let (old, new) = ({old}, {new}); let now = place.load(Before); \
                         if now == old {{ place.store(new, After); Ok(now) }} else {{ Err(now) }} }}"
                    ),
                );
            }
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if let Some(last) = path.path.segments.last()
            && ORDERINGS.iter().any(|ordering| last.ident == ordering)
        {
            self.add(Kind::Ordering, path.span(), "::core::sync::atomic::Ordering::Relaxed".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
fn f(a: &AtomicUsize, m: &Mutex<u32>) -> usize {
    a.store(1, Ordering::Release);
    let seen = a.fetch_add(2, AcqRel);
    let guard = m.lock().unwrap();
    drop(guard);
    seen
}

#[cfg(test)]
mod tests {
    fn g(a: &AtomicUsize) {
        a.store(2, SeqCst);
    }
}
";

    fn mutants() -> Vec<Mutant> {
        let mut finder = Finder { text: SOURCE, file: PathBuf::from("f.rs"), found: Vec::new() };
        finder.visit_file(&syn::parse_file(SOURCE).unwrap());
        finder.found
    }

    #[test]
    fn each_kind_is_found_where_it_is() {
        let found: Vec<_> = mutants().iter().map(|mutant| (mutant.kind, mutant.line)).collect();
        for expected in [
            (Kind::Drop, 2),
            (Kind::Exchange, 2),
            (Kind::Exchange, 3),
            (Kind::Exchange, 4),
            (Kind::Split, 3),
            (Kind::Ordering, 2),
            (Kind::Ordering, 3),
        ] {
            assert!(found.contains(&expected), "{expected:?} is not in {found:?}");
        }
        assert!(found.iter().all(|&(_, line)| line < 9), "{found:?}");
    }

    #[test]
    fn a_mutant_is_the_source_with_one_change() {
        for mutant in mutants() {
            let text = mutant.text(SOURCE);
            assert_ne!(text, SOURCE);
            assert!(syn::parse_file(&text).is_ok(), "{mutant}: {text}");
        }
        let split = mutants().into_iter().find(|mutant| mutant.kind == Kind::Split).unwrap();
        assert!(split.text(SOURCE).contains("let now = place.load(Before)"));
    }
}
