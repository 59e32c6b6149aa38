//! Obligations in words: what must hold of a step, as a person would write it.

use linpoint_lang::program::NONE;

use crate::fact::Facts;
use crate::graph::Graph;
use crate::obligation::{Goal, Question};
use crate::show::show;
use crate::term::{Node, Term, Terms};
use crate::worker::Worker;

/// Longer formulas are cut.
const LONGEST_SHOWN: usize = 400;

/// What a question asks, a line a goal. Facts are as in the program; the rest is a formula over the memory
/// before (`m`) and the values that the step gives.
pub fn said(worker: &Worker<'_, '_>, facts: &Facts, question: &Question) -> Vec<String> {
    let (program, graph) = (worker.subject.program, worker.subject.graph);
    let goal = |(term, goal): &(Term, Goal)| match goal {
        Goal::Always(number) => {
            format!("always {}", show(program, None, &facts.always[*number].body))
        }
        Goal::At(point, number) => {
            let op = (*point != Graph::IDLE).then(|| graph.place(*point).op);
            let body = show(program, op, &facts.of(*point)[*number].body);
            match op {
                Some(op) if question.scene.p_at.1 != Some(*point) => {
                    let node = program.node(graph.place(*point).node);
                    format!("at {}: {body}", node.label.as_ref().unwrap_or(&program.operation(op).name))
                }
                _ => body,
            }
        }
        Goal::Differ(_) => "what `disjoint` names differs".into(),
        Goal::Other => cut(formula(&worker.world.terms, *term)),
    };
    let mut lines: Vec<String> = question.goals.iter().map(goal).filter(|line| line != "true").collect();
    lines.dedup();
    lines
}

fn cut(mut line: String) -> String {
    if let Some((at, _)) = line.char_indices().nth(LONGEST_SHOWN) {
        line.truncate(at);
        line.push_str(" …");
    }
    line
}

/// A term as text.
pub fn formula(terms: &Terms, term: Term) -> String {
    let show = |term: &Term| match terms.node(*term) {
        Node::Int(_) | Node::Bool(_) | Node::Bound(_) | Node::App(..) | Node::Not(_) => formula(terms, *term),
        _ => format!("({})", formula(terms, *term)),
    };
    let both = |a: &Term, sign: &str, b: &Term| format!("{} {sign} {}", show(a), show(b));
    let list = |all: &[Term], sign: &str| {
        let parts: Vec<String> = all.iter().map(show).collect();
        parts.join(sign)
    };
    match terms.node(term) {
        Node::Int(n) if *n == i64::from(NONE) => "none".into(),
        Node::Int(n) => n.to_string(),
        Node::Bool(b) => b.to_string(),
        Node::Bound(depth) => format!("n{depth}"),
        Node::App(symbol, arguments) => {
            let name = &terms.signature(*symbol).name;
            match arguments.is_empty() {
                true => name.clone(),
                false => {
                    let inside: Vec<String> = arguments.iter().map(|a| formula(terms, *a)).collect();
                    format!("{name}[{}]", inside.join(", "))
                }
            }
        }
        Node::Not(inner) => match terms.node(*inner) {
            Node::Eq(a, b) => both(a, "!=", b),
            _ => format!("!{}", show(inner)),
        },
        Node::And(all) => list(all, " && "),
        Node::Or(all) => list(all, " || "),
        Node::Eq(a, b) => both(a, "==", b),
        Node::Le(a, b) => both(a, "<=", b),
        Node::Lt(a, b) => both(a, "<", b),
        Node::Add(a, b) => both(a, "+", b),
        Node::Sub(a, b) => both(a, "-", b),
        Node::Mul(a, b) => both(a, "*", b),
        Node::Mod(a, b) => both(a, "%", b),
        Node::Ite(c, a, b) => format!("if {} then {} else {}", show(c), show(a), show(b)),
        Node::Forall(depth, body) => format!("all n{depth}: {}", formula(terms, *body)),
        Node::Exists(depth, body) => format!("any n{depth}: {}", formula(terms, *body)),
    }
}
