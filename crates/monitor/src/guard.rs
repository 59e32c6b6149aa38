//! Code of the program's own on a verification thread: a callback, a listener, a model. It may panic, and
//! what was judged until then is told all the same.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs it. What it said, where it panicked.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
    })
}
