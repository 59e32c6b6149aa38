//! How often the bodies of quantifiers are looked at while one expression is evaluated: nested ones multiply,
//! and a limit on time is looked at between steps only.

use std::cell::Cell;

/// So often at the most.
pub(super) const MOST: u32 = 2_000_000;

thread_local! {
    /// Quantifiers that are being evaluated, one inside another, and how often a body was looked at.
    static NOW: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// A quantifier is being evaluated.
pub(super) struct Rounds(());

impl Rounds {
    pub(super) fn begin() -> Rounds {
        let (depth, count) = NOW.get();
        NOW.set((depth + 1, if depth == 0 { 0 } else { count }));
        Rounds(())
    }

    /// Is one more allowed?
    pub(super) fn next(&self) -> bool {
        let (depth, count) = NOW.get();
        NOW.set((depth, count.saturating_add(1)));
        count < MOST
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        let (depth, count) = NOW.get();
        NOW.set((depth - 1, count));
    }
}
