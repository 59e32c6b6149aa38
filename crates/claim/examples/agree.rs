//! The monitor against the slow evaluator, as long as wanted: `cargo run --release -p linpoint-claim
//! --example agree -- 10000000`.

#[path = "../tests/it/random.rs"]
mod random;
#[path = "../tests/it/reference.rs"]
mod reference;
#[path = "../tests/it/run.rs"]
#[allow(dead_code, reason = "the notation is for tests")]
mod run;

fn main() {
    let runs = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let [ready, not_ready] = random::compare_many(1 << 32..(1 << 32) + runs);
    println!("{runs} runs, {ready} claims ready, {not_ready} not: all agree");
}
