//! Statics that are made at first use, anew in every execution, and dropped when the closure of the test returns.

pub use linpoint_sched::statics::Lazy;

pub use crate::lazy_static;

/// What [`crate::lazy_static!`] declares.
pub trait LazyStatic {
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Makes the value of a static now, if it has none.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    LazyStatic::initialize(lazy);
}
