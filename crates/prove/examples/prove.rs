//! Proves a program and prints what came of each obligation: `cargo run --example prove FILE.lin [two]
//! [N=3]`.

use linpoint_prove::graph::label;
use linpoint_prove::solver::{SolverKind, find};
use linpoint_prove::{Options, Outcome, prove};

fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let Ok(text) = std::fs::read_to_string(&path) else { return eprintln!("cannot read {path}") };
    let (programs, wrong) = linpoint_lang::compile(&text);
    for diagnostic in &wrong {
        eprintln!("{}", diagnostic.render(&path, &text));
    }
    let (Some(program), Some(solver)) = (programs.first(), find(SolverKind::Z3, None)) else {
        return eprintln!("no program or no solver");
    };
    let mut options = Options::new(solver);
    for word in std::env::args().skip(2) {
        match word.split_once('=') {
            Some((name, value)) => options.sizes.push((name.to_owned(), value.parse().unwrap_or(0))),
            None => options.all_processes = word != "two",
        }
    }
    // What takes long is told while it runs.
    let told = |graph: &linpoint_prove::graph::Graph, decided: &linpoint_prove::Decided| {
        if decided.took.as_secs_f64() > 0.5 {
            let step = graph.steps.get(decided.obligation.step);
            let from = step.map(|step| label(program, &text, graph, step.from));
            eprintln!(
                "slow: {} {from:?} {:.1} s, {} instances",
                decided.obligation.kind.name(),
                decided.took.as_secs_f64(),
                decided.instances
            );
        }
    };
    let report = prove(program, &options, &told);
    let Some(graph) = &report.graph else { return println!("{:?}", report.verdict) };
    for decided in &report.decided {
        if decided.outcome.is_proved() {
            continue;
        }
        let step = graph.steps.get(decided.obligation.step);
        let from = step.map(|step| label(program, &text, graph, step.from));
        let other = decided.obligation.other.map(|point| label(program, &text, graph, point));
        let why = match &decided.outcome {
            Outcome::Unknown(why) => why.as_str(),
            _ => "open",
        };
        println!("{} {from:?} {other:?}: {why}", decided.obligation.kind.name());
    }
    println!(
        "{:?}: {} obligations, {} of {} guesses kept, inference {:.2} s, all {:.2} s, solver {:.2} s, {} questions, never taken {:?}",
        report.verdict,
        report.decided.len(),
        report.inferred.facts.count(),
        report.inferred.guesses,
        report.inference.as_secs_f64(),
        report.elapsed.as_secs_f64(),
        report.solver.as_secs_f64(),
        report.questions,
        report
            .never_taken
            .iter()
            .map(|(node, edge)| (program.node(*node).label.clone(), *edge))
            .collect::<Vec<_>>()
    );
}
