//! The structures of proofs against the interpreter: `cargo run --release -p linpoint-shape --example audit --
//! 100000 1000000 corpus/correct/*.lin`, so many states of random runs and so many random heaps for each
//! program that is proved.

use std::time::{Duration, Instant};

use linpoint_shape::audit::{Amount, Inside, audit};
use linpoint_shape::layout::Layout;
use linpoint_shape::prove::{Invariant, Settings, Verdict, prove};
use linpoint_shape::refine::{self, Precision};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [states, heaps, files @ ..] = words.as_slice() else { panic!("states, heaps and programs") };
    let (states, heaps): (u64, u64) = (states.parse().expect("states"), heaps.parse().expect("heaps"));
    let mut wrong = 0;
    for file in files {
        let text = std::fs::read_to_string(file).expect("a program");
        let (programs, _) = linpoint_lang::compile(&text);
        let program = programs.first().expect("an object");
        let settings = Settings { time: Some(Duration::from_secs(300)), ..Settings::default() };
        let Verdict::Holds(proof) = prove(program, &settings).verdict else { continue };
        let Invariant::Views(found) = &proof.invariant else { continue };
        let layout = Layout::new(program).expect("it was proved");
        let views = refine::forget(&layout, &found.views).expect("it fits");
        // What was added to a proof is not in concrete states: there only runs say something.
        let heaps = if proof.precision == Precision::default() { heaps } else { 0 };
        let start = Instant::now();
        let amount = Amount { states, heaps, until: None };
        let outcome = audit(&layout, &proof.points, &Inside::Views(&views), 1, &amount);
        wrong += usize::from(outcome.is_err());
        println!("{file}: {outcome:?}, {:.1} s", start.elapsed().as_secs_f64());
    }
    assert_eq!(wrong, 0, "a step leads out of the structures of a proof");
}
