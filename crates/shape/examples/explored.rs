//! What is proved has no counterexample with three threads that call two operations each: every program given
//! that the analysis proves is explored.
//!
//! `cargo run --release -p linpoint-shape --example explored -- 3600 corpus/correct/*.lin`: seconds for each
//! exploration, then programs. It fails if a program that is proved is wrong, and says of each whether every
//! run was seen.

use std::time::Duration;

use linpoint_model::{Bounds, Mode, Verdict, Workload, explore};
use linpoint_shape::prove::{self, Settings, prove};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [seconds, files @ ..] = words.as_slice() else { panic!("seconds and programs") };
    let time = Duration::from_secs(seconds.parse().expect("seconds"));
    let (mut wrong, mut proved, mut whole) = (0, 0, 0);
    for file in files {
        let text = std::fs::read_to_string(file).expect("a program");
        let (programs, _) = linpoint_lang::compile(&text);
        let Some(program) = programs.first() else { panic!("{file}: no object") };
        let settings = Settings { time: Some(Duration::from_secs(300)), ..Settings::default() };
        let report = prove(program, &settings);
        if !matches!(report.verdict, prove::Verdict::Holds(_)) {
            println!("{file}: not proved; passed over");
            continue;
        }
        proved += 1;
        let bounds = Bounds { time: Some(time), memory: 6 << 30, ..Bounds::default() };
        let explored = explore(program, &Workload::general(program, 3, 2), Mode::Anywhere, &bounds);
        let outcome = match &explored.verdict {
            Verdict::Holds(_) => {
                whole += 1;
                "every run is linearizable".to_owned()
            }
            Verdict::Unknown(limit) => format!("nothing wrong found, but not every run was seen: {limit:?}"),
            Verdict::Violated(violation) => {
                wrong += 1;
                format!("PROVED AND WRONG: {:?}", violation.wrong)
            }
        };
        println!(
            "{file}: proved in {:.2} s; 3 × 2: {outcome}; {} states, {:.1} s, {} MiB",
            report.elapsed.as_secs_f64(),
            explored.states,
            explored.elapsed.as_secs_f64(),
            explored.memory >> 20
        );
    }
    println!("{proved} proved, {whole} of them explored to the end, {wrong} wrong");
    assert_eq!(wrong, 0, "a program that is proved is wrong");
}
