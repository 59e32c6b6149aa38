//! `std::sync::LazyLock`: a value made when it is first needed.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;

use super::once_lock::OnceLock;

/// A value made when it is first needed.
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    init: Cell<Option<F>>,
}

// SAFETY: `init` is touched only while the value is made, which is done by one thread at a time.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}
impl<T: std::panic::RefUnwindSafe + std::panic::UnwindSafe, F: std::panic::UnwindSafe>
    std::panic::RefUnwindSafe for LazyLock<T, F>
{
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value to be made by `init`.
    pub const fn new(init: F) -> LazyLock<T, F> {
        LazyLock { value: OnceLock::new(), init: Cell::new(Some(init)) }
    }

    /// The value, made if it is not there yet.
    ///
    /// # Panics
    /// If making it panicked before.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        this.value.get_or_init(|| match this.init.take() {
            Some(init) => init(),
            None => panic!("LazyLock instance has previously been poisoned"),
        })
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("LazyLock");
        match self.value.get() {
            Some(value) => text.field(value),
            None => text.field(&format_args!("<uninit>")),
        };
        text.finish()
    }
}
