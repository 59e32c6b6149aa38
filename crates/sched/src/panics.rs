//! Panics inside an exploration: caught at the root of each thread, and kept quiet.
//!
//! A search may meet the same panic in thousands of schedules; the message is kept for the one that is shown, and
//! nothing is printed on the way. Outside an exploration the hook that was there before does what it did.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::{execution, heap, local_state};

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

/// Runs `body` as code of the program, catching its panic.
pub(crate) fn run<F: FnOnce() -> T, T>(body: F) -> std::thread::Result<T> {
    struct Call<F, T> {
        body: Option<F>,
        outcome: Option<std::thread::Result<T>>,
    }
    unsafe extern "C" fn inside<F: FnOnce() -> T, T>(data: *mut (), top: usize) {
        if let Some(handle) = execution::current() {
            handle.enter_program(top);
        }
        // SAFETY: the call below passes a pointer to its `Call`.
        let call = unsafe { &mut *data.cast::<Call<F, T>>() };
        let body = call.body.take();
        call.outcome = body.map(catch);
    }
    let mut call = Call { body: Some(body), outcome: None };
    let data = (&raw mut call).cast::<()>();
    heap::set_in_program(true);
    // SAFETY: `inside` gets what it expects, and catches every panic.
    unsafe { local_state::call_clean(inside::<F, T>, data) };
    heap::set_in_program(false);
    call.outcome.unwrap_or_else(|| Err(Box::new("the program was not run")))
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
