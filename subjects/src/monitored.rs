//! Objects for the runtime monitor: too large to explore, run by real threads and checked while they run.
//!
//! They use std's locks. Calls, commits, returns and the writes behind the view go to a `linpoint_monitor::Object`, which may be watched or not: an
//! object that is not watched costs a branch a call. As elsewhere in this crate a broken version is one mutation, a constant in the type. Where the
//! window of a race is a few instructions, the broken version gives way to others in the middle of it ([`give_way`]); the correct one does not.
//!
//! | file | object | mutations |
//! |---|---|---|
//! | [`multiset`] | slots with locks (Tasiran & Qadeer 2005, section 3) | `LOST_SECOND_COPY`, `LOOK_UP_WITHOUT_LOCKS`, `PUBLISH_ONE_BY_ONE`, `EARLY_COMMIT` |
//! | [`blink_tree`] | B-link tree with a compressor (Lehman & Yao 1981) | `STAY_LEFT`, `STALE_MERGE`, `LOST_UPDATE` |
//! | [`block_cache`] | write-back cache before a store | `EVICT_DIRTY`, `MARK_CLEAN` |

pub mod blink_tree;
pub mod block_cache;
pub mod load;
pub mod multiset;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Lets other threads run here, and now and then for longer: broken versions call it where they must not be interrupted.
pub(crate) fn give_way() {
    static TIMES: AtomicU32 = AtomicU32::new(0);
    if TIMES.fetch_add(1, Ordering::Relaxed).is_multiple_of(16) {
        std::thread::sleep(Duration::from_micros(20));
    } else {
        std::thread::yield_now();
    }
}
