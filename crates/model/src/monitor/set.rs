//! A set of configurations: all that explains a history so far.

use crate::reference::{CallId, ResultId, SpecId, mix};

/// No operation, an open one, or one that took effect with the result that is this number less two.
pub(super) type Status = u32;
pub(super) const IDLE: Status = 0;
pub(super) const OPEN: Status = 1;

/// A state of the specification, and what became of each open operation: the number of the state in the first
/// 32 bits, then a status for each thread, in equal shares of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Configuration(u128);

/// How many bits statuses have together.
const STATUSES: u32 = 96;

impl Configuration {
    /// In this state, with no operation open.
    #[inline]
    pub fn new(spec: SpecId) -> Configuration {
        Configuration(u128::from(spec) << STATUSES)
    }

    #[inline]
    pub fn spec(self) -> SpecId {
        (self.0 >> STATUSES) as SpecId
    }

    /// The same with another state.
    #[inline]
    pub fn with_spec(self, spec: SpecId) -> Configuration {
        Configuration(self.0 & ((1 << STATUSES) - 1) | u128::from(spec) << STATUSES)
    }
}

/// How many bits a status has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share(u32);

impl Share {
    pub fn among(threads: usize) -> Share {
        Share((STATUSES / threads.max(1) as u32).min(32))
    }

    #[inline]
    pub fn get(self, configuration: Configuration, thread: usize) -> Status {
        (configuration.0 >> (thread as u32 * self.0)) as Status & ((1_u64 << self.0) - 1) as Status
    }

    #[inline]
    pub fn set(self, configuration: Configuration, thread: usize, status: Status) -> Configuration {
        let (shift, mask) = (thread as u32 * self.0, (1_u128 << self.0) - 1);
        Configuration(configuration.0 & !(mask << shift) | u128::from(status) << shift)
    }

    /// Can a status not say that this was the result?
    #[inline]
    pub fn is_too_small(self, result: ResultId) -> bool {
        u64::from(result) + 2 >= 1 << self.0
    }
}

/// The call that each thread has open; there are fewer than sixteen threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    /// One more than the number of the call; 0 for none.
    open: [CallId; 16],
    threads: u8,
}

impl Calls {
    #[inline]
    pub fn threads(&self) -> usize {
        self.threads.into()
    }

    /// What a thread has open; nothing, if there is no such thread.
    #[inline]
    pub fn get(&self, thread: usize) -> Option<CallId> {
        self.open.get(thread)?.checked_sub(1)
    }

    #[inline]
    pub fn set(&mut self, thread: usize, call: Option<CallId>) {
        self.open[thread & 15] = call.map_or(0, |call| call + 1);
    }

    /// Each thread that has a call open, and the call.
    #[inline]
    pub fn each(&self) -> impl Iterator<Item = (usize, CallId)> {
        let open = self.open.iter().take(self.threads.into()).enumerate();
        open.filter_map(|(thread, call)| Some((thread, call.checked_sub(1)?)))
    }
}

/// Configurations, and which operation each thread has open. Once it has a number, its configurations are in
/// order and each is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    pub calls: Calls,
    pub configurations: Vec<Configuration>,
}

impl Set {
    /// Nothing has happened.
    pub fn initial(threads: usize) -> Set {
        let configurations = vec![Configuration::new(0)];
        Set { calls: Calls { open: [0; 16], threads: threads as u8 }, configurations }
    }

    /// Puts the configurations in one order.
    pub fn settle(&mut self) {
        // Often they are.
        if !self.configurations.is_sorted_by(|a, b| a < b) {
            self.configurations.sort_unstable();
            self.configurations.dedup();
        }
    }

    pub fn hash(&self) -> u64 {
        let pairs = self.calls.open.chunks_exact(2).take(self.calls.threads().div_ceil(2));
        let pair = |pair: &[u32]| u64::from(pair[0]) << 32 | u64::from(pair[1]);
        let calls = pairs.fold(0, |hash, calls| mix(hash, pair(calls)));
        let half = |hash: u64, half: u64| (hash.rotate_left(23) ^ half).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let all = self.configurations.iter().fold(calls, |hash, configuration| {
            half(half(hash, configuration.0 as u64), (configuration.0 >> 64) as u64)
        });
        // The last bits say where to look.
        all ^ all >> 32
    }

    pub fn memory(&self) -> usize {
        size_of::<Set>() + 40 + self.configurations.capacity() * size_of::<Configuration>()
    }
}
