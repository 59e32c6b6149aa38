//! Asks for a second opinion on programs, and says how far it got: `cargo run --release -p linpoint-model
//! --example opinion FILE…`.

use std::time::Instant;

use linpoint_lang::compile;
use linpoint_model::{Agreement, Budget, Seen, second_opinion};

fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for program in compile(&text).0 {
            let start = Instant::now();
            let said = match second_opinion(&program, &Budget::default()) {
                Agreement::Agrees(scopes) => {
                    let of = |seen: Seen| scopes.iter().filter(|scope| scope.1 == seen).count();
                    let counts = [Seen::Everything, Seen::Reduced, Seen::Some, Seen::Nothing].map(of);
                    format!("agrees: {counts:?} of {} scopes", scopes.len())
                }
                Agreement::Refutes(found) => format!(
                    "refutes: {:?} in {} steps, {} threads",
                    found.violation.wrong,
                    found.violation.steps.len(),
                    found.scope.workload.threads.len()
                ),
            };
            println!("{path} {}: {said}; {:.2} s", program.name, start.elapsed().as_secs_f64());
        }
    }
}
