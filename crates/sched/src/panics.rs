//! Panics inside an exploration: caught at the root of each thread, and kept quiet.
//!
//! A search may meet the same panic in thousands of schedules; the message is kept for the one that is shown, and
//! nothing is printed on the way. Outside an exploration the hook that was there before does what it did.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::execution;

thread_local! {
    static SITE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Puts the hook in place, once.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if execution::current().is_none() {
                before(info);
            } else {
                let site = info.location().map(ToString::to_string);
                SITE.with(|slot| *slot.borrow_mut() = site);
            }
        }));
    });
}

/// Runs `body`, catching its panic.
pub(crate) fn catch<T>(body: impl FnOnce() -> T) -> std::thread::Result<T> {
    panic::catch_unwind(AssertUnwindSafe(body))
}

/// What a panic said, and where.
pub(crate) fn take(payload: &(dyn Any + Send)) -> (String, Option<String>) {
    let message = payload
        .downcast_ref::<&'static str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(no message)".to_owned());
    (message, SITE.with(|slot| slot.borrow_mut().take()))
}
