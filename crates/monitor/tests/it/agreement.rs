//! The checker against the slow and obvious one, on random logs.

use linpoint_monitor::Conclusion;

use crate::reference::{STYLES, Style, compare};

#[track_caller]
fn check(style: Style, rounds: u64) {
    let mut seen = [0u64; 4];
    for seed in 0..rounds {
        match compare(seed, style) {
            Ok(conclusion) => seen[conclusion as usize] += 1,
            Err(message) => panic!("{message}"),
        }
    }
    // A comparison that never sees a violation compares nothing.
    assert!(seen[Conclusion::Clean as usize] > rounds / 4, "{seen:?}");
    assert!(seen[Conclusion::Violated as usize] > rounds / 200, "{seen:?}");
    if style != Style::Intervals {
        assert!(seen[Conclusion::Mistaken as usize] > rounds / 200, "{seen:?}");
    }
}

#[test]
fn exact() {
    check(Style::Exact, 3000);
}

#[test]
fn windows() {
    check(Style::Windows, 3000);
}

#[test]
fn mixed() {
    check(Style::Mixed, 3000);
}

#[test]
fn versions() {
    check(Style::Versions, 3000);
}

#[test]
fn intervals() {
    check(Style::Intervals, 3000);
}

#[test]
fn every_style_is_tested() {
    assert_eq!(STYLES.len(), 5);
}
