//! A solver as a process: SMT-LIB over a pipe, one answer at a time.
//!
//! Nothing is believed but a plain `unsat`, `sat` or `unknown` between two marks of our own: an error
//! message, a second answer, silence beyond the limit or a process that ends is an [`Failure`], and the
//! question stays open. Terms are defined once and then named, so a question is short.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use crate::term::{Node, Sort, Symbol, Term, Terms};

/// A longer line is taken in pieces, none of which is an answer.
const LONGEST_LINE: u64 = 1 << 20;

/// Which program, and how it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// What kind it is.
    pub kind: SolverKind,
}

/// The solvers that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolverKind {
    /// L. de Moura, N. Bjørner 2008.
    Z3,
    /// H. Barbosa et al. 2022.
    Cvc5,
}

impl SolverKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SolverKind::Z3 => "z3",
            SolverKind::Cvc5 => "cvc5",
        }
    }
}

/// What a solver says to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No values make all claims true.
    Unsat,
    /// Some do.
    Sat,
    /// It cannot tell.
    Unknown,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// It could not be started.
    #[error("cannot start {0}: {1}")]
    Start(String, String),
    /// It ended before it answered.
    #[error("the solver ended before it answered")]
    Ended,
    /// No answer within the limit.
    #[error("no answer from the solver within {:.1} s", .0.as_secs_f64())]
    Late(Duration),
    /// The time for all of it is over.
    #[error("the time limit was reached")]
    TimeUp,
    /// An error message, or something that is no answer.
    #[error("the solver said: {0}")]
    Nonsense(String),
}

/// A solver that runs.
#[derive(Debug)]
pub struct Solver {
    child: Child,
    /// To the thread that writes: a solver that does not read must not hold us up.
    input: Sender<String>,
    lines: Receiver<String>,
    declared: FxHashSet<Symbol>,
    defined: FxHashSet<Term>,
    asked: u64,
    limit: Duration,
    /// No answer is waited for beyond this.
    pub deadline: Option<Instant>,
    text: String,
    /// Time spent waiting for answers.
    pub waited: Duration,
    /// How many questions were asked.
    pub questions: u64,
}

impl Solver {
    /// Starts one. `limit` is for one answer; `plain`, that all questions will be without quantifiers,
    /// products and remainders.
    pub fn start(program: &Program, limit: Duration, plain: bool) -> Result<Solver, Failure> {
        let failed =
            |error: std::io::Error| Failure::Start(program.path.display().to_string(), error.to_string());
        let arguments: &[&str] = match program.kind {
            SolverKind::Z3 => &["-in", "-smt2"],
            SolverKind::Cvc5 => &["--incremental", "--produce-models", "--lang=smt2", "-"],
        };
        let mut child = Command::new(&program.path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let (Some(mut pipe), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Ended);
        };
        let (input, texts) = channel::<String>();
        std::thread::spawn(move || {
            for text in texts {
                if pipe.write_all(text.as_bytes()).and_then(|()| pipe.flush()).is_err() {
                    break;
                }
            }
        });
        // What nobody asked for waits in the pipe, not in our memory.
        let (send, lines) = sync_channel(64);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                match output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
                let text = String::from_utf8_lossy(&line);
                if send.send(text.trim_end_matches(['\n', '\r']).to_owned()).is_err() {
                    break;
                }
            }
        });
        let mut solver = Solver {
            child,
            input,
            lines,
            declared: FxHashSet::default(),
            defined: FxHashSet::default(),
            asked: 0,
            limit,
            deadline: None,
            text: String::new(),
            waited: Duration::ZERO,
            questions: 0,
        };
        let logic = if plain { "QF_UFLIA" } else { "ALL" };
        let limit_option = match program.kind {
            SolverKind::Z3 => "timeout",
            SolverKind::Cvc5 => "tlimit-per",
        };
        let prelude = format!(
            "(set-option :produce-models true)\n(set-option :{limit_option} {})\n(set-logic {logic})\n",
            limit.as_millis().max(1)
        );
        solver.text.push_str(&prelude);
        solver.try_out()?;
        Ok(solver)
    }

    /// Two questions whose answers are plain: one who always says the same is found out at once.
    fn try_out(&mut self) -> Result<(), Failure> {
        for (claim, expected) in [("true", Answer::Sat), ("false", Answer::Unsat)] {
            let _ = writeln!(self.text, "(push 1)\n(assert {claim})");
            let answer = self.answer()?;
            self.close();
            // No answer in time is no lie.
            if answer != expected && answer != Answer::Unknown {
                return Err(Failure::Nonsense(
                    format!("{answer:?} of what is plainly {claim}").to_lowercase(),
                ));
            }
        }
        Ok(())
    }

    /// Are all claims true together for some values? The question stays open until [`Solver::close`];
    /// `wanted` are the terms that [`Solver::values`] may be asked for.
    pub fn check(&mut self, terms: &Terms, claims: &[Term], wanted: &[Term]) -> Result<Answer, Failure> {
        for term in claims.iter().chain(wanted) {
            self.define(terms, *term);
        }
        self.text.push_str("(push 1)\n");
        for claim in claims {
            let named = name(terms, *claim);
            let _ = writeln!(self.text, "(assert {named})");
        }
        self.questions += 1;
        self.answer()
    }

    fn answer(&mut self) -> Result<Answer, Failure> {
        match self.ask("(check-sat)")?.as_slice() {
            [answer] => match answer.trim() {
                "unsat" => Ok(Answer::Unsat),
                "sat" => Ok(Answer::Sat),
                "unknown" | "timeout" => Ok(Answer::Unknown),
                other => Err(Failure::Nonsense(shorten(other))),
            },
            other => Err(Failure::Nonsense(shorten(&other.join(" ")))),
        }
    }

    /// What terms are in the model of the open question.
    pub fn values(&mut self, terms: &Terms, wanted: &[Term]) -> Result<Vec<i64>, Failure> {
        let mut values = Vec::with_capacity(wanted.len());
        for part in wanted.chunks(200) {
            assert!(
                part.iter().all(|term| self.defined.contains(term)),
                "wanted terms are named with the question"
            );
            let names: Vec<String> = part.iter().map(|term| name(terms, *term)).collect();
            let lines = self.ask(&format!("(get-value ({}))", names.join(" ")))?;
            let found = parse_values(&lines.join(" "));
            if found.len() != part.len() {
                return Err(Failure::Nonsense(shorten(&lines.join(" "))));
            }
            values.extend(found);
        }
        Ok(values)
    }

    /// Forgets the open question.
    pub fn close(&mut self) {
        self.text.push_str("(pop 1)\n");
    }

    fn ask(&mut self, command: &str) -> Result<Vec<String>, Failure> {
        self.asked += 1;
        let mark = format!("linpoint-{}", self.asked);
        let _ = write!(self.text, "{command}\n(echo \"{mark}\")\n");
        let start = Instant::now();
        self.input.send(std::mem::take(&mut self.text)).map_err(|_| Failure::Ended)?;
        let mut lines = Vec::new();
        let limit = self.limit + self.limit / 2;
        loop {
            let left = limit.saturating_sub(start.elapsed());
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Failure::TimeUp);
            }
            let left = self.deadline.map_or(left, |deadline| {
                left.min(deadline.saturating_duration_since(Instant::now()) + Duration::from_millis(1))
            });
            // One who talks without end is late too.
            if left.is_zero() {
                return Err(Failure::Late(limit));
            }
            match self.lines.recv_timeout(left) {
                Ok(line) if line.trim().trim_matches('"') == mark => break,
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) if line.trim_start().starts_with("(error") => {
                    return Err(Failure::Nonsense(shorten(&line)));
                }
                Ok(line) if lines.len() < 10_000 => lines.push(line),
                Ok(line) => return Err(Failure::Nonsense(shorten(&line))),
                Err(RecvTimeoutError::Timeout) if start.elapsed() < limit => return Err(Failure::TimeUp),
                Err(RecvTimeoutError::Timeout) => return Err(Failure::Late(limit)),
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::Ended),
            }
        }
        self.waited += start.elapsed();
        Ok(lines)
    }

    /// Defines a term and everything under it, once.
    fn define(&mut self, terms: &Terms, term: Term) {
        if self.defined.contains(&term) {
            return;
        }
        if let Node::App(symbol, _) = terms.node(term)
            && self.declared.insert(*symbol)
        {
            let signature = terms.signature(*symbol);
            let arguments = vec!["Int"; signature.arguments.len()].join(" ");
            let _ = writeln!(
                self.text,
                "(declare-fun s{} ({arguments}) {})",
                symbol.0,
                sort_name(signature.sort)
            );
        }
        for child in terms.children(term) {
            self.define(terms, child);
        }
        self.defined.insert(term);
        // Under a quantifier nothing can be named.
        if !is_leaf(terms, term) && !terms.has_bound(term) {
            let body = body(terms, term);
            let sort = sort_name(terms.sort(term));
            let _ = writeln!(self.text, "(define-fun t{} () {sort} {body})", term.0);
        }
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sort_name(sort: Sort) -> &'static str {
    match sort {
        Sort::Int => "Int",
        Sort::Bool => "Bool",
    }
}

fn is_leaf(terms: &Terms, term: Term) -> bool {
    match terms.node(term) {
        Node::Int(_) | Node::Bool(_) | Node::Bound(_) => true,
        Node::App(_, arguments) => arguments.is_empty(),
        _ => false,
    }
}

fn name(terms: &Terms, term: Term) -> String {
    if is_leaf(terms, term) || terms.has_bound(term) { body(terms, term) } else { format!("t{}", term.0) }
}

/// A term with the names of what is under it.
fn body(terms: &Terms, term: Term) -> String {
    let call = |head: &str, list: &[Term]| {
        let inner: Vec<String> = list.iter().map(|t| name(terms, *t)).collect();
        format!("({head} {})", inner.join(" "))
    };
    match terms.node(term) {
        Node::Int(value) if *value < 0 => format!("(- {})", value.unsigned_abs()),
        Node::Int(value) => value.to_string(),
        Node::Bool(value) => value.to_string(),
        Node::Bound(depth) => format!("b{depth}"),
        // The solver is given numbers: no name of a program is ever text to it.
        Node::App(symbol, list) if list.is_empty() => format!("s{}", symbol.0),
        Node::App(symbol, list) => call(&format!("s{}", symbol.0), list),
        Node::Not(a) => call("not", &[*a]),
        Node::And(list) => call("and", list),
        Node::Or(list) => call("or", list),
        Node::Eq(a, b) => call("=", &[*a, *b]),
        Node::Le(a, b) => call("<=", &[*a, *b]),
        Node::Lt(a, b) => call("<", &[*a, *b]),
        Node::Add(a, b) => call("+", &[*a, *b]),
        Node::Sub(a, b) => call("-", &[*a, *b]),
        Node::Mul(a, b) => call("*", &[*a, *b]),
        Node::Mod(a, b) => call("mod", &[*a, *b]),
        Node::Ite(a, b, c) => call("ite", &[*a, *b, *c]),
        Node::Forall(depth, a) => format!("(forall ((b{depth} Int)) {})", name(terms, *a)),
        Node::Exists(depth, a) => format!("(exists ((b{depth} Int)) {})", name(terms, *a)),
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The values of `((t1 true) (x (- 3)))`, in order.
fn parse_values(text: &str) -> Vec<i64> {
    let mut values = Vec::new();
    let mut depth = 0_i32;
    // A pair is a name and a value; the value is what comes last in it.
    let (mut negative, mut last): (bool, Option<i64>) = (false, None);
    let spaced = quoted_out(text).replace('(', " ( ").replace(')', " ) ");
    for word in spaced.split_whitespace() {
        match word {
            "(" => depth += 1,
            ")" => {
                depth -= 1;
                if depth == 1 {
                    if let Some(value) = last.take() {
                        values.push(if negative { -value } else { value });
                    }
                    negative = false;
                }
            }
            "-" => negative = true,
            "true" => last = Some(1),
            "false" => last = Some(0),
            other => {
                // The name of the pair comes first, and a number later replaces it.
                last = other.parse().ok().or(last);
            }
        }
    }
    values
}

/// Without `|names|`, which may hold anything.
fn quoted_out(text: &str) -> String {
    text.split('|').step_by(2).collect::<Vec<_>>().join(" x ")
}

/// Where a solver is: named by the caller, on the path, or where the project's set-up puts it.
pub fn find(kind: SolverKind, named: Option<&Path>) -> Option<Program> {
    if let Some(path) = named {
        return Some(Program { path: path.to_owned(), kind });
    }
    let name = kind.name();
    let on_path = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|paths| std::env::split_paths(&paths).collect::<Vec<_>>());
    let private = private_folder().map(|folder| folder.join(name).join("bin"));
    on_path
        .chain(private)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .map(|path| Program { path, kind })
}

/// Where the project's set-up puts solvers.
pub fn private_folder() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    Some(cache.join("linpoint").join("solvers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_order() {
        assert_eq!(parse_values("((t1 true) (|a b| (- 3)) (t7 12) ((f 3) 4))"), [1, -3, 12, 4]);
        assert_eq!(parse_values("((t1 false))"), [0]);
    }
}
