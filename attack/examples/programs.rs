//! Prints random programs and what exploration without reductions says of them: `cargo run -p linpoint-attack --example programs [COUNT] [SEED] [--proof]`.

use linpoint_attack::program::{Wish, random_program, random_text};
use linpoint_history::rng::Rng;
use linpoint_lang::compile;
use linpoint_model::{Plainly, Verdict, Workload, explore_plainly};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let (count, seed) = (number(0).unwrap_or(20), number(1).unwrap_or(1));
    let wish = match words.iter().any(|word| word == "--proof") {
        true => Wish { proof: true, heap: false, ..Wish::ALL },
        false => Wish::ALL,
    };
    let (mut refused, mut holds, mut violated, mut unknown) = (0, 0, 0, 0);
    for at in 0..count {
        let mut rng = Rng::new(seed + at);
        let part = wish.some(&mut rng);
        let text = random_text(&mut rng, part);
        let errors: Vec<_> = compile(&text).1.into_iter().filter(|wrong| wrong.is_error()).collect();
        if let Some(error) = errors.first() {
            refused += 1;
            if count <= 50 {
                println!("{text}\n{}", error.render("random.lin", &text));
            }
            continue;
        }
        let (text, programs) = random_program(&mut Rng::new(seed + at), wish);
        let plainly = Plainly { states: 50_000, ..Plainly::default() };
        let verdict = explore_plainly(&programs[0], &Workload::general(&programs[0], 2, 1), &plainly).verdict;
        match verdict {
            Verdict::Holds(_) => holds += 1,
            Verdict::Violated(_) => violated += 1,
            Verdict::Unknown(_) => unknown += 1,
        }
        if count <= 5 {
            println!("{text}");
        }
    }
    println!("{refused} refused, {holds} hold, {violated} violated, {unknown} unknown");
}
