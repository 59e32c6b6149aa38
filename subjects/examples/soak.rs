//! A correct subject under load for long: events a second, records lost, memory over time.
//!
//! `cargo run --release -p linpoint-subjects --example soak -- SUBJECT AMOUNT THREADS WHAT`: the subject is `multiset`, `tree` or `cache`; the amount seconds (`600s`) or operations
//! (`100000000`); what is compared `io` or `view`. `slow-down THREADS` instead of these measures the tree watched and not watched, by turns.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use linpoint_monitor::{Monitor, MonitorError, View};
use linpoint_subjects::monitored::blink_tree::BlinkTree;
use linpoint_subjects::monitored::block_cache::BlockCache;
use linpoint_subjects::monitored::load::{Load, Random, Until, run};
use linpoint_subjects::monitored::multiset::Multiset;

const USAGE: &str = "soak multiset|tree|cache SECONDSs|OPERATIONS THREADS io|view, or soak slow-down THREADS";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["slow-down", threads] => slow_down(threads.parse()?),
        [subject, amount, threads, what] => soak(subject, amount, threads.parse()?, what == "view"),
        _ => Err(USAGE.into()),
    }
}

fn soak(subject: &str, amount: &str, threads: u64, view: bool) -> Result<(), Box<dyn std::error::Error>> {
    let until = match amount.strip_suffix('s') {
        Some(seconds) => Until { time: Duration::from_secs(seconds.parse()?), operations: u64::MAX },
        None => Until { time: Duration::MAX, operations: amount.parse::<u64>()?.div_ceil(threads.max(1)) },
    };
    let monitor = Monitor::start()?;
    let object: Box<dyn Load + Send> = match subject {
        "multiset" => Box::new(Multiset::<0>::watched(&monitor, 12, view.then_some(View::Multiset))?),
        "tree" => Box::new(BlinkTree::<0>::watched(&monitor, view)?),
        "cache" => Box::new(BlockCache::<0>::watched(&monitor, 8, 256, view)?),
        _ => return Err(USAGE.into()),
    };
    let over = std::sync::atomic::AtomicBool::new(false);
    let (done, time) = std::thread::scope(|scope| {
        scope.spawn(|| watch_memory(&monitor, &over));
        let result = run(&*object, &monitor, threads, until);
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        result
    });
    let report = monitor.finish();
    println!(
        "{done} operations in {:.1} s; {} events judged, {} records lost",
        time.as_secs_f64(),
        report.events(),
        report.lost
    );
    print!("{report}");
    Ok(())
}

/// A line every so often, at growing distances up to half a minute.
fn watch_memory(monitor: &Monitor, over: &std::sync::atomic::AtomicBool) {
    let (mut last, mut next) = (0, Duration::from_secs(1));
    let started = Instant::now();
    let mut before = started;
    while !over.load(std::sync::atomic::Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
        if started.elapsed() < next {
            continue;
        }
        let status = monitor.status();
        let rate = (status.events - last) as f64 / before.elapsed().as_secs_f64();
        println!(
            "{:>6.0} s  {:>7} KiB resident  {rate:>10.0} events/s  {:>12} events  {} waiting  {} lost",
            started.elapsed().as_secs_f64(),
            resident(),
            status.events,
            status.waiting,
            status.lost
        );
        (last, before) = (status.events, Instant::now());
        next += next.min(Duration::from_secs(30));
    }
}

/// Resident memory in KiB, where the system says so.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Operations in a burst that fits into a ring, so that nobody waits for the verification thread.
const BURST: u64 = 2_000;
const BURSTS: usize = 200;
const ROUNDS: usize = 5;
/// Half of these keys are in the tree: with their values more than a processor's caches hold.
const KEYS: u64 = 1 << 20;

/// Processor time an operation of the tree takes, in bursts between which the verification thread catches up: a tree that is not watched, one with answers compared and one with
/// views compared. The three are there all the time and have their bursts by turns, so that a machine that is faster now and slower then is so for all three. All threads use the same one at a time, and a
/// burst that is not counted goes before each that is: caches hold then what they would hold in the middle of a long run, the verification thread's doings included.
fn slow_down(threads: u64) -> Result<(), Box<dyn std::error::Error>> {
    for round in 0..ROUNDS {
        // The object that comes first is watched, and with one in two sampled the next is not.
        let watch = |watched: Option<bool>| -> Result<(Monitor, BlinkTree<0>), MonitorError> {
            let monitor = Monitor::builder().sample(if watched.is_some() { 1 } else { 2 }).start()?;
            let mut tree = BlinkTree::<0>::watched(&monitor, watched == Some(true))?;
            if watched.is_none() {
                tree = BlinkTree::<0>::watched(&monitor, false)?;
            }
            Ok((monitor, tree))
        };
        let trees = [watch(None)?, watch(Some(false))?, watch(Some(true))?];
        for (monitor, tree) in &trees {
            for key in 0..KEYS / 2 {
                tree.insert(key * 2, key);
                if key % 1000 == 0 {
                    catch_up(monitor);
                }
            }
        }
        let together = Barrier::new(threads as usize);
        let bursts = |seed| {
            let mut random = Random::new(seed);
            let mut spent = [const { Vec::new() }; 3];
            for _ in 0..BURSTS {
                for ((monitor, tree), spent) in trees.iter().zip(&mut spent) {
                    for counted in [false, true] {
                        catch_up(monitor);
                        together.wait();
                        let start = processor_time();
                        (0..BURST).for_each(|_| use_tree(tree, &mut random));
                        if counted {
                            spent.push((processor_time() - start) / BURST as f64);
                        }
                    }
                    catch_up(monitor);
                    together.wait();
                }
            }
            spent.map(|mut spent| {
                spent.sort_by(f64::total_cmp);
                spent[BURSTS / 2]
            })
        };
        let bursts = &bursts;
        let each: Vec<[f64; 3]> = std::thread::scope(|scope| {
            let users: Vec<_> = (1..=threads).map(|seed| scope.spawn(move || bursts(seed))).collect();
            users.into_iter().filter_map(|user| user.join().ok()).collect()
        });
        let [off, io, view] = [0, 1, 2].map(|mode| each.iter().map(|spent| spent[mode]).fold(0.0, f64::max));
        println!(
            "round {round}: not watched {off:.0} ns, answers {io:.0} ns ({:.2}x), views {view:.0} ns ({:.2}x)",
            io / off,
            view / off
        );
        // The first is not watched, and has nothing to say.
        for (monitor, _) in trees.into_iter().skip(1) {
            monitor.finish().assert_clean();
        }
    }
    Ok(())
}

/// Half look-ups, a quarter insertions, a quarter removals.
fn use_tree(tree: &BlinkTree, random: &mut Random) {
    let key = random.below(KEYS);
    match random.below(4) {
        0 => {
            tree.insert(key, key);
        }
        1 => {
            tree.remove(key);
        }
        _ => {
            tree.get(key);
        }
    }
}

fn catch_up(monitor: &Monitor) {
    while monitor.status().waiting > 0 {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Processor time of this thread in nanoseconds.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills in a structure of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
