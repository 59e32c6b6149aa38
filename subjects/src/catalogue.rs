//! The objects that are recorded, by name.

use crate::CORRECT;
use crate::priority::coarse_heap::{self, CoarseHeap};
use crate::priority::fine_stm_heap::{self, FineStmHeap};
use crate::priority::hunt_heap::{self, HuntHeap};
use crate::priority::naive_stm_heap::{self, NaiveStmHeap};
use crate::priority::{PriorityQueue, sundell_tsigas};
use crate::record::Target;
use crate::sets::bit_set::{self, BitSet};
use crate::sets::striped_hash_set::{self, StripedHashSet};
use crate::sets::{Set, harris_michael_list, lock_coupling_list};

/// An object that can be made.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What it is called: `coarse-heap`, or `coarse-heap/late-length` if it is broken.
    pub name: &'static str,
    /// Makes an empty one.
    pub make: fn() -> Target,
    /// Can keys be changed?
    pub changes_keys: bool,
}

impl Entry {
    /// Is nothing wrong with it?
    pub fn is_correct(&self) -> bool {
        !self.name.contains('/')
    }
}

fn queue<Q: PriorityQueue + Default + Send + 'static>() -> Target {
    Target::Queue(Box::new(Q::default()))
}

fn set<S: Set + Default + Send + 'static>() -> Target {
    Target::Set(Box::new(S::default()))
}

macro_rules! catalogue {
    ($(#[$doc:meta])* $list:ident; $($make:ident $name:literal: $type:ty $(, $keys:literal)?;)*) => {
        $(#[$doc])*
        pub const $list: &[Entry] = &[$(
            Entry { name: $name, make: $make::<$type>, changes_keys: false $(|| $keys)? },
        )*];
    };
}

catalogue! {
    /// Every object whose errors can be seen in a history.
    ALL;
    queue "coarse-heap": CoarseHeap<u32, CORRECT>, true;
    queue "coarse-heap/late-length": CoarseHeap<u32, { coarse_heap::LATE_LENGTH }>, true;
    queue "hunt-heap": HuntHeap<u32, CORRECT>;
    queue "hunt-heap/published": HuntHeap<u32, { hunt_heap::PUBLISHED }>;
    queue "hunt-heap/counts-as-arrived": HuntHeap<u32, { hunt_heap::COUNTS_AS_ARRIVED }>;
    queue "sundell-tsigas": sundell_tsigas::Run<CORRECT>;
    queue "sundell-tsigas/take-last-by-store": sundell_tsigas::Run<{ sundell_tsigas::TAKE_LAST_BY_STORE }>;
    queue "sundell-tsigas/last-unmarked": sundell_tsigas::Run<{ sundell_tsigas::LAST_UNMARKED }>;
    queue "naive-stm-heap": NaiveStmHeap<u32, CORRECT>, true;
    queue "naive-stm-heap/fast-last": NaiveStmHeap<u32, { naive_stm_heap::FAST_LAST }>, true;
    queue "fine-stm-heap": FineStmHeap<u32, CORRECT>;
    queue "fine-stm-heap/peak-stops-at-dirty": FineStmHeap<u32, { fine_stm_heap::PEAK_STOPS_AT_DIRTY }>;
    queue "fine-stm-heap/place-looks-up-only": FineStmHeap<u32, { fine_stm_heap::PLACE_LOOKS_UP_ONLY }>;
    set "lock-coupling-list": lock_coupling_list::Run<CORRECT>;
    set "lock-coupling-list/remove-behind-its-back": lock_coupling_list::Run<{ lock_coupling_list::REMOVE_BEHIND_ITS_BACK }>;
    set "harris-michael-list": harris_michael_list::Run<CORRECT>;
    set "harris-michael-list/last-unmarked": harris_michael_list::Run<{ harris_michael_list::LAST_UNMARKED }>;
    set "striped-hash-set": StripedHashSet<u32, CORRECT>;
    set "striped-hash-set/stale-bucket": StripedHashSet<u32, { striped_hash_set::STALE_BUCKET }>;
}

catalogue! {
    /// Objects whose errors are data races that a history does not show, each beside one without.
    RACING;
    set "bit-set": BitSet<CORRECT>;
    set "bit-set/looks-without-lock": BitSet<{ bit_set::LOOKS_WITHOUT_LOCK }>;
    set "harris-michael-list/relaxed-link": harris_michael_list::Run<{ harris_michael_list::RELAXED_LINK }>;
}

/// The object of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().chain(RACING).find(|entry| entry.name == name)
}
