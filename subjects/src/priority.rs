//! Concurrent priority queues: the subjects of Dragicevic 2011 (section 2.8), one file each.
//!
//! | file | queue | mutations |
//! |---|---|---|
//! | [`coarse_heap`] | binary heap behind one lock | `LATE_LENGTH` |
//! | [`hunt_heap`] | binary heap with a lock a node (Hunt et al. 1996): as published, and mended | `PUBLISHED`, `COUNTS_AS_ARRIVED` |
//! | [`sundell_tsigas`] | lock-free skip list (Sundell & Tsigas 2003) | `TAKE_LAST_BY_STORE`, `LAST_UNMARKED` |
//! | [`naive_stm_heap`] | binary heap, a transaction an operation | `FAST_LAST` |
//! | [`fine_stm_heap`] | binary heap, several transactions an operation (Dragicevic & Bauer 2009) | `PEAK_STOPS_AT_DIRTY`, `PLACE_LOOKS_UP_ONLY` |
//!
//! All take equal priorities, and give the smallest first. The mutations are rare with a full queue and priorities that
//! differ: each needs a state that such a load hardly ever visits (an almost empty queue, an insertion that is overtaken at one of few
//! places), as the errors of hand-written queues do. The broken variants never reach freed memory.

pub mod coarse_heap;
pub mod fine_stm_heap;
pub mod hunt_heap;
pub mod naive_stm_heap;
pub mod sundell_tsigas;

/// What recordings, the monitor and the evaluation ask of a queue.
pub trait PriorityQueue: Sync {
    /// Puts a priority in.
    fn insert(&self, priority: u32);

    /// Takes the smallest out; `None` when there is none.
    fn remove_min(&self) -> Option<u32>;

    /// Replaces one `from` by `to`; `None` where the queue has no such operation.
    fn change_key(&self, from: u32, to: u32) -> Option<bool> {
        let _ = (from, to);
        None
    }
}

/// A queue's operations, as the trait asks for them.
macro_rules! has_operations {
    ($type:ident $(, $keys:ident)?) => {
        impl<const MUTATION: u8> crate::priority::PriorityQueue for $type<u32, MUTATION> {
            fn insert(&self, priority: u32) {
                self.insert(priority);
            }

            fn remove_min(&self) -> Option<u32> {
                self.remove_min()
            }

            $(fn change_key(&self, from: u32, to: u32) -> Option<bool> {
                Some(self.$keys(from, to))
            })?
        }
    };
}

use has_operations;

/// The position of the `index`th place in a heap that is filled level by level, each level in the order of its numbers' bits read backwards
/// (Hunt et al. 1996; the idea is Ayani's, 1990). Two insertions in a row then go to different subtrees, and meet as late as possible. It is its own inverse.
fn bit_reversed(index: usize) -> usize {
    if index < 2 {
        return index;
    }
    let level = index.ilog2();
    let first = 1 << level;
    first | (index - first).reverse_bits() >> (usize::BITS - level)
}

#[cfg(test)]
mod tests {
    use super::bit_reversed;

    #[test]
    fn places_in_their_order() {
        assert_eq!(
            (1..16).map(bit_reversed).collect::<Vec<_>>(),
            [1, 2, 3, 4, 6, 5, 7, 8, 12, 10, 14, 9, 13, 11, 15]
        );
        for index in 1..5000 {
            assert_eq!(bit_reversed(bit_reversed(index)), index);
            // A parent's place is filled before its children's, and the left child's before the right one's.
            let position = bit_reversed(index);
            assert!(position == 1 || bit_reversed(position / 2) < index);
            assert!(position.is_multiple_of(2) || position == 1 || bit_reversed(position - 1) < index);
        }
    }
}
