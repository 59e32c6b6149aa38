//! A few hundred programs that nobody wrote; `cargo run --release -p linpoint-model --example mangled ROUNDS
//! SEED` looks at more.

use crate::corpus::programs;
use crate::mangle::{Tally, mangle_and_look};

#[test]
fn nothing_panics_and_nothing_disagrees() {
    let texts: Vec<String> = programs().into_iter().map(|(_, text, _)| text).collect();
    let mut tally = Tally::default();
    mangle_and_look(&texts, 5, 400, &mut tally);
    assert!(tally.refused > 50 && tally.hold > 10 && tally.violated > 5, "{tally:?}");
}
