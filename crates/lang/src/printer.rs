//! From a tree back to text, in one layout: what `linpoint fmt` writes.
//!
//! Parsing the text gives the tree again. Comments stay with what they stood before or beside; one blank line
//! between two things stays one; blocks that only leave (`break`, `continue`, `return`) stay on the line of
//! their `if` where they fit.

mod expr;
mod member;

use crate::ast::{Block, Expr, File, Note, NoteKind, Stmt, StmtKind};
use crate::span::Span;

pub use expr::{print_expr, print_type};

/// Lines are broken beyond this width, where they can be.
const WIDTH: usize = 100;

/// The text of a tree. `source` is what it was parsed from, for blank lines; empty if it was not.
pub fn print(file: &File, source: &str) -> String {
    let mut printer = Printer { file, source, out: String::new(), depth: 0, comment: 0, fresh: true };
    for (index, object) in file.objects.iter().enumerate() {
        printer.before(object.span, index > 0);
        printer.object(object);
    }
    printer.comments_before(usize::MAX);
    printer.out
}

pub(super) struct Printer<'a> {
    file: &'a File,
    source: &'a str,
    out: String,
    depth: usize,
    /// The next comment to print.
    comment: usize,
    /// Is this the start of a block?
    fresh: bool,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(&"  ".repeat(self.depth));
        self.out.push_str(text);
        self.out.push('\n');
        self.fresh = false;
    }

    fn open(&mut self, text: &str) {
        self.line(text);
        self.depth += 1;
        self.fresh = true;
    }

    fn close(&mut self, end: Span, text: &str) {
        self.comments_before((end.end as usize).saturating_sub(1));
        self.depth -= 1;
        self.line(text);
    }

    /// Comments and a blank line, as they stood before `span`.
    fn before(&mut self, span: Span, apart: bool) {
        self.comments_before(span.start as usize);
        if !self.fresh && (apart || self.blank_before(span.start as usize)) && !self.out.ends_with("\n\n") {
            // A comment that belongs to what follows stays with it.
            let last = self.out.trim_end_matches('\n').rsplit('\n').next().unwrap_or("").trim_start();
            if !last.starts_with("//") || self.blank_before(span.start as usize) {
                self.out.push('\n');
            }
        }
    }

    fn comments_before(&mut self, offset: usize) {
        let file = self.file;
        while let Some(comment) = file.comments.get(self.comment) {
            if comment.span.start as usize >= offset {
                return;
            }
            self.comment += 1;
            let last = self.out.trim_end_matches('\n').rsplit('\n').next().unwrap_or("");
            if !comment.alone && !self.out.is_empty() && !last.contains("//") {
                while self.out.ends_with('\n') {
                    self.out.pop();
                }
                self.out.push_str(&format!("  {}\n", comment.text));
                continue;
            }
            let fresh = self.fresh;
            if !fresh && self.blank_before(comment.span.start as usize) && !self.out.ends_with("\n\n") {
                self.out.push('\n');
            }
            self.line(&comment.text);
        }
    }

    /// Is the line before the one of `offset` blank?
    fn blank_before(&self, offset: usize) -> bool {
        let Some(before) = self.source.get(..offset) else { return false };
        let mut lines = before.rsplit('\n').skip(1);
        lines.next().is_some_and(|line| line.trim().is_empty()) && !before.trim().is_empty()
    }

    fn has_comments(&self, span: Span) -> bool {
        self.file.comments[self.comment..].iter().any(|c| c.span.start > span.start && c.span.end < span.end)
    }

    fn block_body(&mut self, block: &Block) {
        for statement in &block.statements {
            self.before(statement.span, false);
            self.statement(statement);
        }
    }

    /// `head { … }` over several lines.
    fn braces(&mut self, head: &str, block: &Block) {
        self.open(&format!("{head} {{"));
        self.block_body(block);
        self.close(block.span, "}");
    }

    /// `head { … }`, on one line if the block only leaves.
    fn short_braces(&mut self, head: &str, block: &Block) {
        match self.leaving(block) {
            Some(text) if head.len() + text.len() + 2 * self.depth + 5 <= WIDTH => {
                self.line(&format!("{head} {{ {text} }}"));
            }
            _ => self.braces(head, block),
        }
    }

    /// The only statement of a block that only leaves.
    fn leaving(&self, block: &Block) -> Option<String> {
        let [statement] = block.statements.as_slice() else { return None };
        let leaves =
            matches!(statement.kind, StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Return(_));
        let simple = leaves && statement.label.is_none() && !self.has_comments(block.span);
        if !simple || statement.notes.iter().any(|note| matches!(note.kind, NoteKind::Ghost(_))) {
            return None;
        }
        self.simple(statement).map(|text| format!("{text}{}", notes(&statement.notes)))
    }

    fn statement(&mut self, statement: &Stmt) {
        let label = statement.label.as_ref().map_or(String::new(), |name| format!("{}: ", name.text));
        let after = notes(&statement.notes);
        match &statement.kind {
            StmtKind::Atomic(block) => {
                self.open(&format!("{label}atomic {{"));
                self.block_body(block);
                self.close(block.span, &format!("}}{after}"));
            }
            StmtKind::Loop(block) => {
                self.open(&format!("{label}loop {{"));
                self.block_body(block);
                self.close(block.span, &format!("}}{after}"));
            }
            StmtKind::While { cond, body } => {
                self.braces(&format!("{label}while {}{after}", header(cond)), body);
            }
            StmtKind::For { var, range, body } => {
                self.open(&format!("{label}for {} in {} {{", var.text, expr::range(range)));
                self.block_body(body);
                self.close(body.span, &format!("}}{after}"));
            }
            StmtKind::If { cond, then, otherwise } => {
                let head = format!("{label}if {}{after}", header(cond));
                self.conditional(&head, then, otherwise.as_ref());
            }
            StmtKind::Choose(ways) => {
                for (index, way) in ways.iter().enumerate() {
                    let last = index + 1 == ways.len();
                    if index == 0 {
                        self.open(&format!("{label}choose {{"));
                    }
                    self.block_body(way);
                    let end = if last { format!("}}{after}") } else { "} or {".to_owned() };
                    self.close(way.span, &end);
                    if !last {
                        self.depth += 1;
                        self.fresh = true;
                    }
                }
            }
            _ => {
                let text = self.simple(statement).unwrap_or_default();
                self.line(&format!("{label}{text}{after}"));
            }
        }
    }

    fn conditional(&mut self, head: &str, then: &Block, otherwise: Option<&Block>) {
        let Some(otherwise) = otherwise else { return self.short_braces(head, then) };
        self.open(&format!("{head} {{"));
        self.block_body(then);
        // Only an `else if` as the parser makes it: one `if` that is as long as its block.
        if let [
            Stmt { label: None, kind: StmtKind::If { cond, then: inner, otherwise: rest }, notes: n, span },
        ] = otherwise.statements.as_slice()
            && (span.start, span.end) == (otherwise.span.start, otherwise.span.end)
        {
            self.comments_before((then.span.end as usize).saturating_sub(1));
            self.depth -= 1;
            let head = format!("}} else if {}{}", header(cond), notes(n));
            return match rest {
                Some(rest) => self.conditional(&head, inner, Some(rest)),
                None => self.braces(&head, inner),
            };
        }
        self.close(then.span, "} else {");
        self.depth += 1;
        self.fresh = true;
        self.block_body(otherwise);
        self.close(otherwise.span, "}");
    }

    /// A statement without blocks.
    fn simple(&self, statement: &Stmt) -> Option<String> {
        let with = |word: &str, e: &Expr| format!("{word} {}", print_expr(e));
        Some(match &statement.kind {
            StmtKind::Var { ghost, name, ty, value } => {
                let ghost = if *ghost { "ghost " } else { "" };
                let ty = ty.as_ref().map_or(String::new(), |ty| format!(": {}", print_type(ty)));
                let value = value.as_ref().map_or(String::new(), |v| format!(" = {}", print_expr(v)));
                format!("{ghost}var {}{ty}{value}", name.text)
            }
            StmtKind::Prophecy { name, ty } => format!("prophecy {}: {}", name.text, print_type(ty)),
            StmtKind::Assign { target, value } => format!("{} = {}", print_expr(target), print_expr(value)),
            StmtKind::Call(call) => print_expr(call),
            StmtKind::Break(label) | StmtKind::Continue(label) => {
                let word = if matches!(statement.kind, StmtKind::Break(_)) { "break" } else { "continue" };
                label.as_ref().map_or(word.to_owned(), |label| format!("{word} {}", label.text))
            }
            StmtKind::Return(None) => "return".to_owned(),
            StmtKind::Return(Some(value)) => with("return", value),
            StmtKind::Assume(cond) => with("assume", cond),
            StmtKind::Assert(cond) => with("assert", cond),
            StmtKind::Tressa(claim) => with("tressa", claim),
            _ => return None,
        })
    }
}

/// A condition before a brace; `new Node` alone would take the brace for its fields.
fn header(cond: &Expr) -> String {
    if expr::has_bare_new(cond) { format!("({})", print_expr(cond)) } else { print_expr(cond) }
}

/// ` @lin if c @query`
fn notes(notes: &[Note]) -> String {
    notes.iter().map(|note| format!(" {}", print_note(note))).collect()
}

fn print_note(note: &Note) -> String {
    let when =
        |when: &Option<Expr>| when.as_ref().map_or(String::new(), |c| format!(" if {}", print_expr(c)));
    match &note.kind {
        NoteKind::Lin { result, of, when: c } => {
            let result = result.as_ref().map_or(String::new(), |r| format!("({})", print_expr(r)));
            let of = of.as_ref().map_or(String::new(), |t| format!(" of {}", print_expr(t)));
            format!("@lin{result}{of}{}", when(c))
        }
        NoteKind::Query { when: c } => format!("@query{}", when(c)),
        NoteKind::Resolve { name, value } => format!("@resolve {} = {}", name.text, print_expr(value)),
        NoteKind::Ghost(block) => {
            let printer = Printer {
                file: &File::default(),
                source: "",
                out: String::new(),
                depth: 0,
                comment: 0,
                fresh: true,
            };
            let inner: Vec<String> =
                block.statements.iter().filter_map(|statement| printer.simple(statement)).collect();
            if inner.is_empty() {
                "@ghost {}".to_owned()
            } else {
                format!("@ghost {{ {} }}", inner.join("; "))
            }
        }
    }
}
