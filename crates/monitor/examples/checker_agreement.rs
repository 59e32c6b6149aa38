//! The checker against the slow and obvious one, by the million: `cargo run --release -p linpoint-monitor
//! --example checker_agreement -- 1000000`.
#![allow(clippy::print_stdout)]

#[path = "../tests/it/reference.rs"]
mod reference;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<u64>().ok());
    let rounds = numbers.next().unwrap_or(100_000);
    let first = numbers.next().unwrap_or(1 << 32);
    for style in reference::STYLES {
        let mut seen = [0u64; 4];
        for seed in first..first + rounds {
            match reference::compare(seed, style) {
                Ok(conclusion) => seen[conclusion as usize] += 1,
                Err(message) => {
                    println!("{message}");
                    return ExitCode::FAILURE;
                }
            }
        }
        let [clean, violated, mistaken, unknown] = seen;
        println!(
            "{style:?}: {rounds} logs agree: {clean} clean, {violated} violated, {mistaken} annotation wrong, {unknown} unknown"
        );
    }
    ExitCode::SUCCESS
}
