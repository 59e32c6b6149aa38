//! What logging costs the application, beside a write to a buffer of its own: `cargo run --release --example cost`.

use std::hint::black_box;
use std::time::Instant;

use linpoint_monitor::{Monitor, Object};

const OPERATIONS: u64 = 2_000_000;

fn operations(object: &Object, thread: u64) -> f64 {
    let get = object.op("get");
    let start = cpu_time();
    for number in 0..OPERATIONS {
        let op = object.call(get, black_box(number % 64 + thread));
        op.commit();
        op.returns(None::<u64>);
    }
    (cpu_time() - start) / OPERATIONS as f64
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
    let mut buffer = vec![[0u64; 4]; 1 << 14];
    let start = cpu_time();
    for number in 0..OPERATIONS {
        let at = number as usize & (buffer.len() - 1);
        black_box(&mut buffer)[at] = [number, 1, 2, 3];
    }
    (cpu_time() - start) / OPERATIONS as f64
}

fn main() {
    for round in 0..5 {
        // A ring that holds everything, so that the verification thread does not hold the application up.
        let monitor = Monitor::builder().ring_words(1 << 24).start().expect("the monitor starts");
        let object = monitor
            .object("map", "map")
            .and_then(|object| object.watch())
            .expect("there is such a specification");
        let alone = operations(&object, 0);
        let report = monitor.finish();
        report.assert_clean();
        let monitor = Monitor::builder().ring_words(1 << 24).start().expect("the monitor starts");
        let object = monitor
            .object("map", "map")
            .and_then(|object| object.watch())
            .expect("there is such a specification");
        let two = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2)
                .map(|thread| {
                    let object = &object;
                    scope.spawn(move || operations(object, thread))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).fold(0.0, f64::max)
        });
        let start = Instant::now();
        let report = monitor.finish();
        report.assert_clean();
        println!(
            "round {round}: floor {:.1} ns, one thread {alone:.1} ns, two threads {two:.1} ns, drained in {:.2} s, {} events",
            floor(),
            start.elapsed().as_secs_f64(),
            report.events()
        );
    }
}
