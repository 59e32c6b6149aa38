//! Thousands of random histories, spoiled and not, split over sources: the dataflow against `check` on one
//! machine.
//!
//! `cargo run --release -p linpoint-cluster --example agree -- 10000 1` (how many, and the seed).

#[path = "../tests/it/agree.rs"]
mod agree;
#[path = "../tests/it/feeds.rs"]
mod feeds;

fn main() {
    let number = |index: usize, otherwise: u64| {
        std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let [holds, violated, unknown] = agree::compare(number(2, 1), number(1, 10_000) as usize);
    println!("the same verdicts: {holds} hold, {violated} violated, {unknown} unknown");
}
