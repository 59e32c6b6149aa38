//! Procedures: what `Exit` terms wait for.

use std::panic::Location;

use crate::{ProcedureId, host};

/// Opens a procedure; it returns when the result is dropped. Let it be the first variable of a function, so
/// that it is dropped last:
///
/// ```
/// fn attempt() {
///     let _procedure = linpoint_claim::procedure();
///     // …
/// }
/// ```
///
/// A function that is left by a panic has not returned.
#[must_use = "the procedure returns when this is dropped"]
#[track_caller]
pub fn procedure() -> Procedure {
    let id = host::is_active().then(|| ProcedureId((&raw const *Location::caller()).addr() as u64));
    if let Some(id) = id {
        host::tell(|monitor, thread| monitor.enter(thread, id));
    }
    Procedure { id, site: Location::caller() }
}

/// An open procedure.
pub struct Procedure {
    /// Nothing if no host was there when it was opened.
    id: Option<ProcedureId>,
    site: &'static Location<'static>,
}

impl Drop for Procedure {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        if std::thread::panicking() {
            return host::tell(|monitor, thread| monitor.unwind(thread, id));
        }
        let Some(host) = host::current() else { return };
        let looks = host.monitor().borrow().return_looks(host.thread(), id);
        let returns = || host::tell(|monitor, thread| monitor.exit(thread, id));
        if looks { host::as_step(self.site, returns) } else { returns() }
    }
}
