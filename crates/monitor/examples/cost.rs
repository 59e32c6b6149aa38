//! What logging costs the application, beside a write to a buffer of its own: `cargo run --release --example
//! cost`.

use std::hint::black_box;

use linpoint_monitor::{Monitor, Object};

const BURSTS: u64 = 300;
const BURST: u64 = 4000;

/// Bursts that fit into the ring, and time to empty it in between, so that the verification thread does not
/// hold the application up.
fn operations(monitor: &Monitor, object: &Object, thread: u64) -> f64 {
    let get = object.op("get");
    let mut spent = f64::MAX;
    for _ in 0..BURSTS {
        let start = cpu_time();
        for number in 0..BURST {
            let op = object.call(get, black_box(number % 64 + thread));
            op.commit();
            op.returns(None::<u64>);
        }
        spent = spent.min((cpu_time() - start) / BURST as f64);
        while monitor.status().waiting > 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_micros(500));
    }
    spent
}

/// Processor time of this thread in nanoseconds.
fn cpu_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills in a structure of ours.
    #[allow(unsafe_code)]
    unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time)
    };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn floor() -> f64 {
    let mut buffer = vec![[0u64; 8]; 1 << 13];
    let mut spent = f64::MAX;
    for _ in 0..BURSTS {
        let start = cpu_time();
        for number in 0..BURST {
            let at = number as usize & (buffer.len() - 1);
            black_box(&mut buffer)[at] = [number, 1, 2, 3, 4, 5, 6, 7];
        }
        spent = spent.min((cpu_time() - start) / BURST as f64);
    }
    spent
}

fn main() {
    for round in 0..5 {
        let monitor = Monitor::start().expect("the monitor starts");
        let watch =
            || monitor.object("map", "map").and_then(|object| object.watch()).expect("`map` is built in");
        let object = watch();
        let alone = operations(&monitor, &object, 0);
        let object = watch();
        let two = std::thread::scope(|scope| {
            let (monitor, object) = (&monitor, &object);
            let threads: Vec<_> =
                (0..2).map(|thread| scope.spawn(move || operations(monitor, object, thread))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).fold(0.0, f64::max)
        });
        let report = monitor.finish();
        report.assert_clean();
        println!(
            "round {round}: floor {:.1} ns, one thread {alone:.1} ns, two threads {two:.1} ns, {} events",
            floor(),
            report.events()
        );
    }
}
