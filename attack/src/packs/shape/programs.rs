//! Random small linked programs: a stack or a queue that works, with statements thrown in that may spoil it.
//!
//! Records have two locks and two marks, there are two heads, two shared locks and two shared truth values; places may be used again. Statements change links back and forth, so that a record is sometimes as its counterpart in the
//! reference and sometimes not, and walk through whatever they find.

use linpoint_history::rng::Rng;

use super::{compiled, judged};
use crate::pack::Round;

/// A statement: its first line, and, of a block, what is in it and its last line.
#[derive(Clone)]
struct Statement {
    head: String,
    body: Vec<Statement>,
    tail: Option<String>,
}

/// What is thrown into a program.
#[derive(Clone)]
struct Shape {
    queue: bool,
    pooled: bool,
    /// The core of each operation: compare-and-swap, or one of these locks around plain writes.
    locks: Option<[&'static str; 2]>,
    /// Statements before the core of insertions, after it, before the core of taking, and further ways of taking.
    parts: Vec<Vec<Statement>>,
}

/// Makes a program and has it judged.
pub(super) fn round(rng: &mut Rng) -> Round {
    let mut shape = Shape::random(rng);
    let why = match shape.judge() {
        None => return Round::Agreed(0),
        Some(Ok(proofs)) => return Round::Agreed(proofs),
        Some(Err(why)) => why,
    };
    while let Some(smaller) = shape.smaller().into_iter().find(|small| matches!(small.judge(), Some(Err(_))))
    {
        shape = smaller;
    }
    Round::disagreed("proved", why, shape.text(), "linpoint prove --engine shape")
}

impl Statement {
    fn line(text: impl Into<String>) -> Statement {
        Statement { head: text.into(), body: Vec::new(), tail: None }
    }

    fn block(head: impl Into<String>, body: Vec<Statement>, tail: impl Into<String>) -> Statement {
        Statement { head: head.into(), body, tail: Some(tail.into()) }
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.head);
        out.push('\n');
        self.body.iter().for_each(|inner| inner.write(out));
        if let Some(tail) = &self.tail {
            out.push_str(tail);
            out.push('\n');
        }
    }
}

const POINTERS: &[&str] = &["p", "q"];
const SHARED: &[&str] = &["top", "spare"];

/// Random statements over `p`, `q` and `b`, at most so deep.
fn statements(rng: &mut Rng, most: u64, depth: u32, pooled: bool) -> Vec<Statement> {
    (0..rng.below(most + 1)).map(|_| statement(rng, depth, pooled)).collect()
}

fn statement(rng: &mut Rng, depth: u32, pooled: bool) -> Statement {
    let (p, q) = if rng.chance(0.5) { ("p", "q") } else { ("q", "p") };
    let shared = *rng.pick(SHARED);
    let not_null = |inner: Vec<Statement>| Statement::block(format!("if {p} != null {{"), inner, "}");
    if depth > 0 && rng.chance(0.35) {
        let lock = *rng.pick(&["big", "small"]);
        let field = *rng.pick(&["a", "c"]);
        let body = statements(rng, 3, depth - 1, pooled);
        return match rng.below(4) {
            0 => Statement::block(format!("if {} {{", condition(rng)), body, "}"),
            1 => Statement::block(format!("lock({lock})"), body, format!("unlock({lock})")),
            // A lock is given back where it was taken: the pointer to its record is one of its own.
            2 => Statement::block(
                format!("if {p} != null {{\n{field}{depth} = {p}\nlock({field}{depth}.{field})"),
                body,
                format!("unlock({field}{depth}.{field})\n}}"),
            ),
            _ => not_null(body),
        };
    }
    match rng.below(if pooled { 15 } else { 14 }) {
        0 | 1 => Statement::line(format!("{p} = {shared}")),
        2 => Statement::line(format!("{p} = {q}")),
        3 | 4 => not_null(vec![Statement::line(format!("{q} = {p}.next"))]),
        5 => not_null(vec![Statement::line(format!("{p}.next = {q}"))]),
        6 => not_null(vec![
            Statement::line(format!("{q} = {p}.next")),
            Statement::line(format!("{p}.next = null")),
            Statement::line("f = true"),
            Statement::line(format!("{p}.next = {q}")),
        ]),
        7 => Statement::line(format!("spare = {p}")),
        8 => Statement::line(format!("{} = {}", rng.pick(&["f", "g"]), rng.chance(0.5))),
        9 => Statement::line(format!("b = {}", rng.pick(&["f", "g"]))),
        10 => not_null(vec![Statement::line(format!("{p}.{} = {}", rng.pick(&["m", "n"]), rng.chance(0.6)))]),
        11 => not_null(vec![Statement::line(format!("b = {p}.{}", rng.pick(&["m", "n"])))]),
        12 => Statement::line(format!("assume {}", condition(rng))),
        13 => Statement::line(format!("{p} = new Node {{ next: {q} }}")),
        _ => not_null(vec![Statement::line(format!("free({p})"))]),
    }
}

fn condition(rng: &mut Rng) -> String {
    let p = *rng.pick(POINTERS);
    let shared = *rng.pick(SHARED);
    match rng.below(7) {
        0 => "b".into(),
        1 => "!b".into(),
        2 => "p == q".into(),
        3 => format!("{p} == {shared}"),
        4 => format!("{p} != null"),
        5 => format!("{p} == null"),
        _ => rng.pick(&["f", "!g", "false"]).to_string(),
    }
}

impl Shape {
    fn random(rng: &mut Rng) -> Shape {
        let queue = rng.chance(0.25);
        let pooled = !queue && rng.chance(0.2);
        const LOCKS: &[[&str; 2]] = &[
            ["big", "big"],
            ["big", "small"],
            ["guard.a", "guard.a"],
            ["guard.a", "guard.c"],
            ["guard.c", "guard.c"],
        ];
        let locks = if queue || rng.chance(0.6) { Some(*rng.pick(LOCKS)) } else { None };
        let mut parts =
            vec![statements(rng, 2, 1, pooled), statements(rng, 2, 1, pooled), statements(rng, 2, 1, pooled)];
        for _ in 0..rng.below(3) {
            let mut way = statements(rng, 6, 2, pooled);
            way.push(Statement::line(if rng.chance(0.6) { "assume false" } else { "assume f" }));
            parts.push(way);
        }
        Shape { queue, pooled, locks, parts }
    }

    /// Is what is proved of it right? `None` if it is no program.
    fn judge(&self) -> Option<Result<u64, String>> {
        compiled(&self.text()).map(|program| judged(&program))
    }

    /// The same program with one statement less, or with what is in a block instead of the block.
    fn smaller(&self) -> Vec<Shape> {
        let mut all = Vec::new();
        for part in 0..self.parts.len() {
            if part > 2 {
                let mut less = self.clone();
                less.parts.remove(part);
                all.push(less);
            }
            for changed in fewer(&self.parts[part]) {
                let mut less = self.clone();
                less.parts[part] = changed;
                all.push(less);
            }
        }
        all
    }

    fn text(&self) -> String {
        let write = |part: usize| {
            let mut out = String::new();
            self.parts[part].iter().for_each(|statement| statement.write(&mut out));
            out
        };
        let pool = if self.pooled { "pooled " } else { "" };
        let own = "var p: *Node = null\nvar q: *Node = null\nvar b: bool = false\n";
        let (insert, take) = if self.queue { ("enqueue", "dequeue") } else { ("push", "pop") };
        let mut ways = String::new();
        for part in 3..self.parts.len() {
            ways.push_str(&format!("}} or {{\n{}return none\n", write(part)));
        }
        let kind = if self.queue { "queue" } else { "stack" };
        let guard = if self.uses_guard() { "shared guard: *Guard = null\n" } else { "" };
        let tail = if self.queue { "shared tail: *Node\n" } else { "" };
        let start = if self.queue {
            "shared top: *Node\ninit {\nd = new Node\ntop = d\ntail = d\n}\n"
        } else {
            "shared top: *Node = null\n"
        };
        let get = if self.uses_guard() {
            "proc enter() -> *Guard {\nloop {\ng = guard\nif g != null { return g }\nn = new Guard\nd = cas(guard, null, n)\n}\n}\n"
        } else {
            ""
        };
        format!(
            "object R : {kind} {{
{pool}struct Node {{ val: data, next: *Node, a: lock, c: lock, m: bool, n: bool }}
struct Guard {{ a: lock, c: lock }}
{guard}{tail}{start}shared spare: *Node = null
shared big: lock
shared small: lock
shared f: bool
shared g: bool
{get}op {insert}(v: data) {{
{own}x = new Node {{ val: v }}
{}{}{}}}
op {take}() -> data? {{
{own}choose {{
{}{}{ways}}}
}}
}}",
            write(0),
            self.insert(),
            write(1),
            write(2),
            self.take(),
        )
    }

    fn uses_guard(&self) -> bool {
        self.locks.is_some_and(|locks| locks.iter().any(|lock| lock.starts_with("guard")))
    }

    /// How a lock is taken and given back.
    fn held(&self, which: usize) -> (String, String) {
        let lock = self.locks.map_or("big", |locks| locks[which]);
        match lock.strip_prefix("guard.") {
            Some(field) => (format!("e = enter()\nlock(e.{field})\n"), format!("unlock(e.{field})\n")),
            None => (format!("lock({lock})\n"), format!("unlock({lock})\n")),
        }
    }

    fn insert(&self) -> String {
        let (lock, unlock) = self.held(0);
        match (self.locks, self.queue) {
            (None, _) => "var done = false\nwhile !done {\nt = top\nx.next = t\ndone = cas(top, t, x) @lin if done\n}\n".into(),
            (Some(_), false) => format!("{lock}t = top\nx.next = t\ntop = x @lin\n{unlock}"),
            (Some(_), true) => format!("{lock}t = tail\nt.next = x @lin\ntail = x\n{unlock}"),
        }
    }

    fn take(&self) -> String {
        let (lock, unlock) = self.held(1);
        let free = if self.pooled { "v = t.val\nfree(t)\nreturn v\n" } else { "return t.val\n" };
        match (self.locks, self.queue) {
            (None, _) => "loop {\nt = top @lin if t == null\nif t == null { return none }\ns = t.next\nif cas(top, t, s) @lin { return t.val }\n}\n".into(),
            (Some(_), false) => format!(
                "{lock}t = top @lin if t == null\nif t == null {{\n{unlock}return none\n}}\ns = t.next\ntop = s @lin\n{unlock}{free}"
            ),
            (Some(_), true) => format!(
                "{lock}t = top\ns = t.next @lin if s == null\nif s == null {{\n{unlock}return none\n}}\ntop = s @lin\n{unlock}return s.val\n"
            ),
        }
    }
}

/// A list of statements with one of them, at whatever depth, left out or unwrapped.
fn fewer(all: &[Statement]) -> Vec<Vec<Statement>> {
    let mut out = Vec::new();
    for index in 0..all.len() {
        let with = |new: Vec<Statement>| {
            let mut less = all[..index].to_vec();
            less.extend(new);
            less.extend(all[index + 1..].to_vec());
            less
        };
        out.push(with(Vec::new()));
        if !all[index].body.is_empty() {
            out.push(with(all[index].body.clone()));
        }
        for body in fewer(&all[index].body) {
            out.push(with(vec![Statement { body, ..all[index].clone() }]));
        }
    }
    out
}
