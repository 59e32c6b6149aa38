//! What the repository does to itself: CI, benchmarks.

fn main() {}
