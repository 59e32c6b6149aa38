//! Looks up concrete states by the million: `cargo run --release -p linpoint-shape --example cover --
//! ALGO.lin 1000000`.

use std::time::{Duration, Instant};

use linpoint_shape::concrete::World;
use linpoint_shape::cover::cover;
use linpoint_shape::layout::Layout;
use linpoint_shape::prove::{Invariant, Settings, Verdict, prove};
use linpoint_shape::refine;
use linpoint_shape::run::Steps;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, most] = words.as_slice() else { panic!("a program and a number of states") };
    let most: usize = most.parse().expect("a number");
    let text = std::fs::read_to_string(file).expect("a program");
    let (programs, _) = linpoint_lang::compile(&text);
    let program = programs.first().expect("an object");
    let settings = Settings { time: Some(Duration::from_secs(300)), ..Settings::default() };
    let report = prove(program, &settings);
    println!("{file}: {} structures, {} candidates, {:?}", report.structures, report.tried, report.elapsed);
    let proof = match report.verdict {
        Verdict::Holds(proof) => proof,
        Verdict::Violated(_) => return println!("{file}: refuted"),
        Verdict::Unknown(gap) => {
            let at = gap.halt.map(|halt| halt.at);
            return println!("{file}: not proved: {}, at {at:?}", gap.reason);
        }
    };
    let Invariant::Views(found) = &proof.invariant else { return };
    println!(
        "{file}: {} views, {} records, {} merges",
        found.views.all.len(),
        found.records.all.len(),
        found.merges
    );
    let layout = Layout::new(program).expect("it was proved");
    let steps = Steps { layout: &layout, points: &proof.points };
    let views = refine::forget(&layout, &found.views).expect("it fits");
    for (threads, calls) in [(2, 1), (2, 2), (3, 1), (2, 3), (3, 2)] {
        let start = Instant::now();
        let world = World::new(&layout, &proof.points, threads, calls);
        let coverage = cover(&steps, &world, threads, most, Some(&views), None);
        println!("{file}: {threads} × {calls}: {coverage:?}, {:?}", start.elapsed());
    }
}
