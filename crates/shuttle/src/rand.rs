//! Random numbers that come again with the schedule: the names of the crate `rand`, version 0.8.
//!
//! What a thread draws is a function of the seed of the execution, of the thread, and of how many numbers it drew before. So
//! threads that draw do not depend on each other, and an execution that is run again draws the same.

pub use rand::{Rng, RngCore};

/// The generator of the running thread.
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng::default()
}

pub mod rngs {
    //! Generators.

    use std::cell::Cell;

    use rand::{CryptoRng, Error, RngCore};

    use super::seed;

    /// The generator of the running thread.
    #[derive(Clone, Debug, Default)]
    pub struct ThreadRng {
        _private: (),
    }

    linpoint_sched::thread_local! {
        /// How many numbers the thread drew.
        static DRAWN: Cell<u64> = Cell::new(0);
    }

    impl RngCore for ThreadRng {
        fn next_u32(&mut self) -> u32 {
            (self.next_u64() >> 32) as u32
        }

        fn next_u64(&mut self) -> u64 {
            let count = DRAWN.with(|drawn| drawn.replace(drawn.get() + 1));
            seed::draw(count)
        }

        fn fill_bytes(&mut self, bytes: &mut [u8]) {
            for part in bytes.chunks_mut(8) {
                part.copy_from_slice(&self.next_u64().to_le_bytes()[..part.len()]);
            }
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            self.fill_bytes(bytes);
            Ok(())
        }
    }

    impl CryptoRng for ThreadRng {}
}

pub(crate) mod seed {
    //! Where the numbers of an execution come from.

    use std::cell::Cell;
    use std::hash::{DefaultHasher, Hash, Hasher};

    /// May an execution draw numbers, and from which seed?
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Seed {
        pub(crate) allowed: bool,
        pub(crate) value: u64,
    }

    std::thread_local! {
        static SEED: Cell<Seed> = const { Cell::new(Seed { allowed: true, value: 0 }) };
        static USED: Cell<bool> = const { Cell::new(false) };
    }

    /// An execution begins on this OS thread.
    pub(crate) fn begin(seed: Seed) {
        SEED.set(seed);
    }

    /// Did an execution on this OS thread draw since this was asked last?
    pub(crate) fn was_used() -> bool {
        USED.replace(false)
    }

    pub(super) fn draw(count: u64) -> u64 {
        let Seed { allowed, value } = SEED.get();
        assert!(
            allowed,
            "this test asks for random numbers, and every schedule is to be run: use check_random, or \
             DfsScheduler::new(iterations, true), for which they are the same in every execution"
        );
        USED.set(true);
        let mut hasher = DefaultHasher::new();
        (value, linpoint_sched::thread::current().id(), count).hash(&mut hasher);
        hasher.finish()
    }
}
