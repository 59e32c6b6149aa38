//! Running the user's part of a claim: code that may panic, and that runs at a moment of the monitor's
//! choosing.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DECIDING: Cell<bool> = const { Cell::new(false) };
}

/// Is the monitor running the deferred part of a claim on this OS thread? Such code must not reach a
/// scheduling point: a shim that finds this true should behave as outside an exploration.
#[inline]
pub fn is_deciding() -> bool {
    DECIDING.get()
}

/// Runs code of the user; a panic becomes its message.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let before = DECIDING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    DECIDING.set(before);
    result.map_err(|payload| message(&*payload))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_string()
}
