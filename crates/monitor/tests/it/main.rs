//! The monitor's tests.

mod agreement;
mod blame;
mod crash;
mod exact;
mod garbage;
mod live;
mod logged;
mod models;
mod play;
mod reference;

/// The ring's source once more, with the explorer's atomics under it.
#[allow(dead_code, unused_imports)]
mod primitive {
    pub(crate) use linpoint::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
}
#[allow(dead_code)]
#[path = "../../src/ring.rs"]
mod ring;

mod ring_explored;
mod views;
