//! Sets that are lists or hash tables, one file each.
//!
//! | file | set | mutations |
//! |---|---|---|
//! | [`lock_coupling_list`] | sorted list, locked hand over hand | `REMOVE_BEHIND_ITS_BACK` |
//! | [`harris_michael_list`] | sorted list without locks (Harris 2001, Michael 2002) | `LAST_UNMARKED`; `RELAXED_LINK`, a data race |
//! | [`bit_set`] | one word behind one lock | `LOOKS_WITHOUT_LOCK`, a data race |
//! | [`striped_hash_set`] | hash table with a lock a stripe, which grows | `STALE_BUCKET` |

pub mod bit_set;
pub mod harris_michael_list;
pub mod lock_coupling_list;
pub mod striped_hash_set;

/// What recordings and the evaluation ask of a set.
pub trait Set: Sync {
    /// Puts `key` in: is it new?
    fn add(&self, key: u32) -> bool;

    /// Takes `key` out: was it there?
    fn remove(&self, key: u32) -> bool;

    /// Is `key` in?
    fn contains(&self, key: u32) -> bool;
}

/// A set's operations, as the explorer and the trait ask for them; the methods are `put`, `take` and `has`.
macro_rules! has_operations {
    ([$($generics:tt)*] $type:ty) => {
        #[linpoint::object(spec = crate::spec::Set, new = Self::new())]
        impl<$($generics)*> $type {
            /// Puts `key` in: is it new?
            pub fn add(&self, key: u32) -> bool {
                self.put(key)
            }

            /// Takes `key` out: was it there?
            pub fn remove(&self, key: u32) -> bool {
                self.take(key)
            }

            /// Is `key` in?
            pub fn contains(&self, key: u32) -> bool {
                self.has(key)
            }
        }

        impl<$($generics)*> crate::sets::Set for $type {
            fn add(&self, key: u32) -> bool {
                self.put(key)
            }

            fn remove(&self, key: u32) -> bool {
                self.take(key)
            }

            fn contains(&self, key: u32) -> bool {
                self.has(key)
            }
        }
    };
}

use has_operations;
