//! Explores programs with all reductions and without any, and says whether they agree: `cargo run --release
//! -p linpoint-model --example agree FILE…`.

use linpoint_lang::compile;
use linpoint_model::{Bounds, Deciding, Mode, Plainly, Values, Verdict, Workload, explore, explore_plainly};

fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds(_) => "holds".to_owned(),
        Verdict::Violated(violation) => format!("violated {:?}", violation.wrong),
        Verdict::Unknown(limit) => format!("unknown {limit:?}"),
    }
}

fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let (programs, wrong) = compile(&text);
        for diagnostic in wrong.iter().filter(|diagnostic| diagnostic.is_error()) {
            println!("{}", diagnostic.render(&path, &text));
        }
        for program in &programs {
            let mut workloads: Vec<Workload> = program.clients.iter().map(Workload::of).collect();
            workloads.extend([1, 2].map(|ops| Workload::usual(program, 2, ops)));
            for workload in &workloads {
                let bounds = Bounds { claims: Deciding::Ignored, states: Some(300_000), ..Bounds::default() };
                let reduced = explore(program, workload, Mode::Anywhere, &bounds);
                let few = Plainly { states: 300_000, values: Values::few(2), ..Plainly::default() };
                let mut plain = explore_plainly(program, workload, &few);
                if matches!(plain.verdict, Verdict::Holds(_)) {
                    let values = Values::distinct();
                    plain = explore_plainly(program, workload, &Plainly { values, ..few });
                }
                let (one, other) = (word(&reduced.verdict), word(&plain.verdict));
                let same = one.split(' ').next() == other.split(' ').next();
                let says = if same { "same" } else { "DIFFERENT" };
                let (a, b) = (reduced.states, plain.states);
                println!("{path} {}: {says}: {one} ({a}); {other} ({b})", program.name);
            }
        }
    }
}
