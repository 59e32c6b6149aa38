//! `agree COUNT SEED [ACCESSES]`: random programs of at most seven accesses, or so many, explored and
//! enumerated, under RC11 and SC; the graphs must be the same, each met once. Every ninth program is compared
//! under the text of 2017, too. Work orders and schedules change from program to program. Exit code 1 if
//! something differs.
//!
//! ```text
//! cargo run --release -p linpoint-memory --example agree -- 100000 0
//! ```

use std::process::ExitCode;

use linpoint_memory::{Model, Options, Schedule, WorkOrder, litmus, oracle, random};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let (count, seed, accesses) = match *numbers.as_slice() {
        [count, seed] => (count, seed, 7),
        [count, seed, accesses] => (count, seed, accesses as usize),
        _ => {
            eprintln!("usage: agree COUNT SEED [ACCESSES]");
            return ExitCode::from(2);
        }
    };
    let (mut equal, mut graphs, mut skipped, mut different, mut largest) = (0, 0, 0, 0, 0);
    for seed in seed..seed.saturating_add(count) {
        let text = random::program_of(seed, accesses);
        let program = match litmus::read_program(&text) {
            Ok(program) => program,
            Err(error) => {
                println!("seed {seed}: {text}\n  is not understood: {error}");
                different += 1;
                continue;
            }
        };
        let models = if seed % 9 == 0 { &Model::ALL[..] } else { &[Model::Rc11, Model::Sc] };
        for &model in models {
            match oracle::agrees(&mut program.clone(), &options(model, seed)) {
                None => skipped += 1,
                Some(Ok(met)) => {
                    equal += 1;
                    graphs += met;
                    largest = largest.max(met);
                }
                Some(Err(disagreement)) => {
                    different += 1;
                    println!("seed {seed}, {}: {text}\n  {disagreement:?}", model.name());
                }
            }
        }
    }
    println!(
        "{count} programs: {equal} equal ({graphs} graphs, at most {largest}), {different} different, \
         {skipped} too large to enumerate"
    );
    if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A different way to explore for each seed: the result must not depend on it.
fn options(model: Model, seed: u64) -> Options {
    let mut options = Options::of(model);
    options.schedule = match seed % 4 {
        0 | 1 => Schedule::LeftToRight,
        2 => Schedule::RightToLeft,
        _ => Schedule::Random(seed),
    };
    options.order = match seed % 5 {
        0 => WorkOrder::FirstIn,
        1 => WorkOrder::Random,
        _ => WorkOrder::LastIn,
    };
    options
}
