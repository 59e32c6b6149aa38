//! A set of configurations: all that explains a history so far.

use crate::reference::{CallId, ResultId, SpecId, mix};

/// No operation, an open one, or one that took effect with the result that is this number less two.
pub(super) type Status = u32;
pub(super) const IDLE: Status = 0;
pub(super) const OPEN: Status = 1;

/// A state of the specification, and what became of each open operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Configuration {
    pub spec: SpecId,
    pub statuses: Statuses,
}

/// A status for each thread, in equal shares of the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Statuses(u128);

impl Statuses {
    /// No thread runs an operation.
    pub const NONE: Statuses = Statuses(0);
}

/// How many bits a status has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share(u32);

impl Share {
    pub fn among(threads: usize) -> Share {
        Share((128 / threads.max(1) as u32).min(32))
    }

    #[inline]
    pub fn get(self, statuses: Statuses, thread: usize) -> Status {
        (statuses.0 >> (thread as u32 * self.0)) as Status & ((1_u64 << self.0) - 1) as Status
    }

    #[inline]
    pub fn set(self, statuses: Statuses, thread: usize, status: Status) -> Statuses {
        let (shift, mask) = (thread as u32 * self.0, (1_u128 << self.0) - 1);
        Statuses(statuses.0 & !(mask << shift) | u128::from(status) << shift)
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

/// Configurations, and which operation each thread has open. Once it has a number, its configurations are in order and each is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    pub calls: Calls,
    pub configurations: Vec<Configuration>,
}

impl Set {
    /// Nothing has happened.
    pub fn initial(threads: usize) -> Set {
        let configurations = vec![Configuration { spec: 0, statuses: Statuses::NONE }];
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
        self.configurations.iter().fold(calls, |hash, configuration| {
            let statuses = configuration.statuses.0;
            let folded = (statuses >> 64) as u64;
            mix(mix(hash, u64::from(configuration.spec) ^ folded.rotate_left(32)), statuses as u64)
        })
    }

    pub fn memory(&self) -> usize {
        size_of::<Set>() + 40 + self.configurations.capacity() * size_of::<Configuration>()
    }
}
