//! Compares the strategies with plain depth-first search on random programs, by the thousand:
//! `cargo run --release -p linpoint-sched --example strategies -- 1000 [seed] [most runs of plain search] [kind]`.

#[path = "../tests/it/strategies/compare.rs"]
mod compare;
#[path = "../tests/it/strategies/programs.rs"]
mod programs;

use programs::Kind;

fn main() {
    let argument = |index: usize, default: u64| {
        std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, seed, most) = (argument(1, 1_000), argument(2, 1), argument(3, 3_000));
    let only = std::env::args().nth(4);
    for kind in [
        Kind::Plain,
        Kind::Waiting,
        Kind::Locking,
        Kind::Spinning,
        Kind::All,
        Kind::Claims,
        Kind::Looking,
        Kind::AllClaims,
        Kind::LockingClaims,
    ] {
        if only.as_ref().is_some_and(|only| *only != format!("{kind:?}")) {
            continue;
        }
        let runs = compare::compare(kind, seed, count as usize, most as usize);
        println!(
            "{kind:?}: {count} programs agree; runs: plain {}, source-DPOR {}, queue {}",
            runs[0], runs[1], runs[2]
        );
    }
}
