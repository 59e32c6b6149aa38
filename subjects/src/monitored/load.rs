//! Threads that use an object at random until somebody says stop, and what they do to each subject.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linpoint_monitor::Monitor;

use super::blink_tree::BlinkTree;
use super::block_cache::BlockCache;
use super::multiset::Multiset;

/// Numbers that look random: the same seed gives the same ones (xorshift, Marsaglia 2003).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Numbers from `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `end`.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// Something that threads can use at random.
pub trait Load: Sync {
    /// One operation.
    fn step(&self, random: &mut Random);

    /// A piece of work of the object's own thread, if it has one; did it do anything?
    fn work(&self) -> bool {
        false
    }
}

/// How long threads use an object.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// At most this long.
    pub time: Duration,
    /// At most so many operations a thread.
    pub operations: u64,
}

/// Lets `threads` threads use `load`, and one more do its own work, until the time or the operations are over or the monitor has found something.
/// Operations done, and how long they took.
pub fn run(load: &(impl Load + ?Sized), monitor: &Monitor, threads: u64, until: Until) -> (u64, Duration) {
    let stop = AtomicBool::new(false);
    let started = Instant::now();
    let user = |seed: u64| {
        let mut random = Random::new(seed);
        let mut done = 0;
        while done < until.operations {
            load.step(&mut random);
            done += 1;
            if done % 64 == 0 && (stop.load(Ordering::Relaxed) || started.elapsed() > until.time) {
                break;
            }
        }
        done
    };
    let user = &user;
    let done = std::thread::scope(|scope| {
        let users: Vec<_> = (1..=threads).map(|seed| scope.spawn(move || user(seed))).collect();
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                if !load.work() {
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        });
        while !users.iter().all(|user| user.is_finished()) {
            if monitor.status().findings > 0 {
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        stop.store(true, Ordering::Relaxed);
        users.into_iter().map(|user| user.join().unwrap_or_default()).sum()
    });
    (done, started.elapsed())
}

/// Pairs of an element and its partner, and single ones, in and out. Look-ups ask for an element and then for its partner. There are few elements, so that copies
/// are common.
impl<const MUTATION: u8> Load for Multiset<MUTATION> {
    fn step(&self, random: &mut Random) {
        let element = random.below(6);
        let partner = element + 6;
        match random.below(8) {
            0 => {
                self.insert(if random.below(2) == 0 { element } else { partner });
            }
            1 | 2 => {
                self.insert_pair(element, partner);
            }
            3 | 4 => {
                self.remove(element);
            }
            5 => {
                self.remove(partner);
            }
            _ => {
                self.look_up(element);
                self.look_up(partner);
            }
        }
    }
}

/// The keys of a [`BlinkTree`] under load.
const KEYS: u64 = 4096;

/// Half look-ups. Insertions and removals come in waves over the keys, so that leaves are split and merged all the time.
impl<const MUTATION: u8> Load for BlinkTree<MUTATION> {
    fn step(&self, random: &mut Random) {
        let key = random.below(KEYS);
        let value = random.below(1 << 40);
        let wave = if value & 1 == 0 { key & 0x400 == 0 } else { random.below(2) == 0 };
        match (random.below(4), wave) {
            (0 | 1, _) => {
                self.get(key);
            }
            (_, true) => {
                self.insert(key, value);
            }
            (_, false) => {
                self.remove(key);
            }
        }
    }

    fn work(&self) -> bool {
        self.compress() > 0
    }
}

/// As many reads as writes, of more blocks than the cache has room for.
impl<const MUTATION: u8> Load for BlockCache<MUTATION> {
    fn step(&self, random: &mut Random) {
        let block = random.below(256);
        if random.below(2) == 0 {
            self.read(block);
        } else {
            self.write(block, random.below(1 << 40));
        }
    }

    fn work(&self) -> bool {
        self.flush();
        false
    }
}
