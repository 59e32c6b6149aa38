//! A map in shards, each behind a lock, monitored while two threads use it.
//!
//! `cargo run --release -p linpoint-monitor --example sharded_map -- 2` runs for two seconds and says what
//! came out. `… -- 2 --log run.linlog` writes the log too, for `linpoint refine run.linlog --view`. `… -- 2
//! --broken` forgets a write now and then.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use linpoint_monitor::{Monitor, MonitorError, Object, Op, Report, View};

/// The object under test.
struct ShardedMap {
    shards: Vec<Mutex<HashMap<u64, u64>>>,
    broken: bool,
    monitored: Monitored,
}

/// What the monitor needs.
struct Monitored {
    object: Object,
    insert: Op,
    get: Op,
    remove: Op,
}

impl ShardedMap {
    fn new(object: Object, broken: bool) -> ShardedMap {
        let monitored = Monitored {
            insert: object.op("insert"),
            get: object.op("get"),
            remove: object.op("remove"),
            object,
        };
        ShardedMap { shards: (0..16).map(|_| Mutex::default()).collect(), broken, monitored }
    }

    fn shard(&self, key: u64) -> &Mutex<HashMap<u64, u64>> {
        &self.shards[(key % 16) as usize]
    }

    fn insert(&self, key: u64, value: u64) -> Option<u64> {
        let op = self.monitored.object.call(self.monitored.insert, (key, value));
        let mut shard = self.shard(key).lock().expect("nobody panics");
        // The mistake: a value is dropped, and nobody notices until someone asks for it.
        let old = if self.broken && value.is_multiple_of(4099) {
            shard.remove(&key)
        } else {
            shard.insert(key, value)
        };
        // The commit and the write behind the view are one record, made while the lock is held.
        op.commit_block(|block| block.write(key, shard.get(&key).map(|value| (key, *value))));
        drop(shard);
        op.returns(old)
    }

    fn get(&self, key: u64) -> Option<u64> {
        let op = self.monitored.object.call(self.monitored.get, key);
        let shard = self.shard(key).lock().expect("nobody panics");
        let value = shard.get(&key).copied();
        op.commit();
        drop(shard);
        op.returns(value)
    }

    fn remove(&self, key: u64) -> Option<u64> {
        let op = self.monitored.object.call(self.monitored.remove, key);
        let mut shard = self.shard(key).lock().expect("nobody panics");
        let old = shard.remove(&key);
        op.commit_block(|block| block.write(key, ()));
        drop(shard);
        op.returns(old)
    }
}

/// Uses the map from two threads.
fn use_it(map: &ShardedMap, time: Duration) {
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            scope.spawn(move || {
                let (start, mut random) = (Instant::now(), thread + 1);
                while start.elapsed() < time {
                    for _ in 0..64 {
                        random = random
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        let (key, value) = (random >> 33 & 1023, random >> 20 & 0xffff);
                        match random >> 60 {
                            0..6 => drop(map.insert(key, value)),
                            6..8 => drop(map.remove(key)),
                            _ => drop(map.get(key)),
                        }
                    }
                }
            });
        }
    });
}

fn main() -> Result<(), MonitorError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = words.first().and_then(|word| word.parse().ok()).unwrap_or(2.0);
    let log = words.iter().position(|word| word == "--log").and_then(|at| words.get(at + 1));
    let broken = words.iter().any(|word| word == "--broken");
    let mut settings = Monitor::builder().status_line();
    if let Some(log) = log {
        settings = settings.log_file(log);
    }
    let monitor = settings.start()?;
    let map = ShardedMap::new(monitor.object("sharded map", "map")?.view(View::Map).watch()?, broken);
    use_it(&map, Duration::from_secs_f64(seconds));
    let report: Report = monitor.finish();
    print!("{report}");
    Ok(())
}
