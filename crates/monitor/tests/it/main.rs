//! The monitor's tests.

mod agreement;
mod blame;
mod clash;
mod crash;
mod exact;
mod garbage;
mod late;
mod live;
mod locked;
mod logfile;
mod logged;
mod memory;
mod models;
mod odd;
mod play;
mod reference;
mod sections;

/// The log's own sources once more, with the explorer's atomics under them.
#[allow(dead_code, unused_imports)]
mod primitive {
    pub(crate) use linpoint::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

    /// Waits until something else happens.
    #[derive(Debug, Default)]
    pub(crate) struct Patience(());

    impl Patience {
        pub(crate) fn wait(&self) {
            linpoint::hint::spin_loop();
        }
    }
}
#[allow(dead_code)]
#[path = "../../src/event.rs"]
mod event;
#[allow(dead_code)]
#[path = "../../src/local.rs"]
mod local;
#[allow(dead_code)]
#[path = "../../src/object.rs"]
mod object;
#[allow(dead_code)]
#[path = "../../src/payload.rs"]
mod payload;
#[allow(dead_code)]
#[path = "../../src/record.rs"]
mod record;
#[allow(dead_code)]
#[path = "../../src/ring.rs"]
mod ring;
#[allow(dead_code)]
#[path = "../../src/stamp.rs"]
mod stamp;
#[allow(dead_code)]
#[path = "../../src/unpack.rs"]
mod unpack;

/// In the place of the registry, which only matters to threads that look for their log.
#[allow(dead_code)]
mod registry {
    #[derive(Debug)]
    pub(crate) struct Registry {
        pub(crate) id: u64,
    }

    impl Registry {
        pub(crate) fn join(&self, _again: Option<crate::event::ThreadId>) -> crate::local::Local {
            unreachable!("explored threads are given their logs")
        }

        pub(crate) fn finding(&self) -> Option<String> {
            None
        }

        pub(crate) fn wait(&self) {}
    }
}

mod explored;
mod outside;
mod ring_explored;
mod views;
