//! Abstract steps against the interpreter on random heaps, by the million: `cargo run --release -p
//! linpoint-shape --example samples -- 1000000 1 ALGO.lin …`.

use std::time::Instant;

use linpoint_shape::exec::Points;
use linpoint_shape::infer::candidates;
use linpoint_shape::layout::Layout;
use linpoint_shape::run::Steps;
use linpoint_shape::samples::{sample, without_queries};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [cases, seed, files @ ..] = words.as_slice() else {
        panic!("a number of cases, a seed, and programs")
    };
    let cases: u64 = cases.parse().expect("a number of cases");
    let seed: u64 = seed.parse().expect("a seed");
    for file in files {
        let text = std::fs::read_to_string(file).expect("a program");
        let (programs, _) = linpoint_lang::compile(&text);
        let program = without_queries(programs.first().expect("an object"));
        let layout = Layout::new(&program).expect("a program that is modelled");
        // Where operations take effect does not have to be right: steps do, with whatever points.
        let mut all = vec![Points::Given];
        all.extend(candidates(&layout).into_iter().take(3));
        let most = cases / all.len() as u64;
        for (number, points) in all.iter().enumerate() {
            let start = Instant::now();
            let steps = Steps { layout: &layout, points };
            let (found, miss) = sample(&steps, seed + number as u64, most);
            println!("{file}, points {number}: {found:?}, {:?}", start.elapsed());
            if let Some(miss) = miss {
                let shown = |s| linpoint_shape::draw::text(&layout, s);
                println!("missed by {}, step {:?} of {:?}", miss.who, miss.step, miss.state);
                println!("before: {}", shown(&miss.before));
                println!("wanted: {}", miss.wanted.as_ref().map_or("an alarm".into(), shown));
                miss.after.iter().for_each(|s| println!("after: {}", shown(s)));
            }
        }
    }
}
