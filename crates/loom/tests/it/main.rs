//! The crate as suites written for loom use it.

mod checks;
mod ends;
mod litmus;
mod names;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

#[cfg(not(feature = "heap"))]
#[global_allocator]
static HEAP: linpoint_sched::Heap = linpoint_sched::Heap::new();

/// Every answer that the schedules of a model give.
fn answers<T: Ord + Send + 'static>(model: impl Fn() -> T + Send + Sync + 'static) -> BTreeSet<T> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let inside = Arc::clone(&seen);
    loom::model(move || {
        let answer = model();
        inside.lock().unwrap().insert(answer);
    });
    std::mem::take(&mut seen.lock().unwrap())
}

/// What a model fails with.
fn failure(model: impl Fn() + Send + Sync + 'static) -> String {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| loom::model(model)));
    let payload = caught.expect_err("the model fails");
    payload.downcast_ref::<String>().expect("a failure is told in words").clone()
}
