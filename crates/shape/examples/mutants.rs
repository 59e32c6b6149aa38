//! Attacks the prover with every mutant of programs: `cargo run --release -p linpoint-shape --example mutants --
//! corpus/correct/*.lin`.

use std::time::Duration;

use linpoint_shape::mutants::attack;

fn main() {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).expect("a program");
        let (programs, _) = linpoint_lang::compile(&text);
        let program = programs.first().expect("an object");
        let found = attack(program, Duration::from_secs(2), Duration::from_secs(5), 50_000);
        println!("{file}: {found:?}");
    }
}
