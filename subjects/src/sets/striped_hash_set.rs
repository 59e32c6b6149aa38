//! A hash table with a lock a stripe, after Herlihy & Shavit (2008, section 13.2.2): the locks stay as they are while the table grows. Here every stripe
//! has buckets of its own, and doubles them when it holds too much.
//!
//! Linearization points: anywhere in the critical section.
//!
//! Mutation [`STALE_BUCKET`]: the bucket is chosen before the lock is taken. Expected: not linearizable; where the stripe grows in between, a key is looked for, or put, into a bucket it does not belong to.

use linpoint::sync::Mutex;
use linpoint::sync::atomic::AtomicUsize;
use linpoint::sync::atomic::Ordering::SeqCst;

use super::has_operations;
use crate::CORRECT;

/// How many buckets there are is looked at too early.
pub const STALE_BUCKET: u8 = 1;

/// Locks.
const STRIPES: usize = 4;
/// Keys a bucket, on average, before a stripe grows.
const FULL: usize = 2;

/// A set of keys.
pub struct StripedHashSet<K = u32, const MUTATION: u8 = CORRECT> {
    stripes: [Stripe<K>; STRIPES],
}

struct Stripe<K> {
    /// A power of two of buckets.
    buckets: Mutex<Vec<Vec<K>>>,
    /// How many there are.
    count: AtomicUsize,
}

impl<K: Copy + Eq + Into<u64>, const MUTATION: u8> StripedHashSet<K, MUTATION> {
    /// An empty set.
    pub fn new() -> Self {
        let stripe = |_| Stripe { buckets: Mutex::new(vec![Vec::new()]), count: AtomicUsize::new(1) };
        StripedHashSet { stripes: std::array::from_fn(stripe) }
    }

    /// Does something with the bucket of a key; and lets the stripe grow.
    fn with<A>(&self, key: K, act: impl FnOnce(&mut Vec<K>) -> A) -> A {
        let hash = hash(key);
        let stripe = &self.stripes[hash % STRIPES];
        let early = (MUTATION == STALE_BUCKET).then(|| stripe.count.load(SeqCst));
        let mut buckets = stripe.buckets.lock().expect("nothing panics while it holds the lock");
        let count = early.unwrap_or(buckets.len());
        let answer = act(&mut buckets[hash / STRIPES % count]);
        if buckets.iter().map(Vec::len).sum::<usize>() > FULL * buckets.len() {
            let doubled = 2 * buckets.len();
            let keys: Vec<K> = buckets.drain(..).flatten().collect();
            buckets.resize(doubled, Vec::new());
            for key in keys {
                buckets[self::hash(key) / STRIPES % doubled].push(key);
            }
            stripe.count.store(doubled, SeqCst);
        }
        answer
    }

    fn put(&self, key: K) -> bool {
        self.with(key, |bucket| {
            let new = !bucket.contains(&key);
            if new {
                bucket.push(key);
            }
            new
        })
    }

    fn take(&self, key: K) -> bool {
        self.with(key, |bucket| {
            let at = bucket.iter().position(|&other| other == key);
            at.map(|at| bucket.swap_remove(at)).is_some()
        })
    }

    fn has(&self, key: K) -> bool {
        self.with(key, |bucket| bucket.contains(&key))
    }
}

has_operations!([const MUTATION: u8] StripedHashSet<u32, MUTATION>);

impl<K: Copy + Eq + Into<u64>, const MUTATION: u8> Default for StripedHashSet<K, MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

/// Small keys spread over stripes and buckets.
fn hash<K: Into<u64>>(key: K) -> usize {
    (key.into().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}
