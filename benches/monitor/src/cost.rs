//! The application's side: ours beside `tracing`, a channel and a vector behind a lock, in one run.
//!
//! Bursts of operations that fit into a ring, with time to empty it in between; with two threads both burst at once. The median burst counts.

use std::hint::black_box;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use linpoint_monitor::Monitor;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::cpu_time;

const BURSTS: usize = 200;
const BURST: u64 = 4_000;

/// Nanoseconds an operation: the median burst of the slowest thread.
fn bursts(threads: usize, operation: impl Fn(u64, u64) + Sync, rest: impl Fn() + Sync) -> f64 {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads as u64)
            .map(|thread| {
                let (barrier, operation, rest) = (&barrier, &operation, &rest);
                scope.spawn(move || {
                    let mut spent: Vec<f64> = (0..BURSTS)
                        .map(|burst| {
                            let numbers = burst as u64 * BURST..(burst as u64 + 1) * BURST;
                            barrier.wait();
                            let start = cpu_time();
                            numbers.for_each(|number| operation(thread, number));
                            let spent = (cpu_time() - start) / BURST as f64;
                            barrier.wait();
                            rest();
                            spent
                        })
                        .collect();
                    spent.sort_by(f64::total_cmp);
                    spent[BURSTS / 2]
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).fold(0.0, f64::max)
    })
}

/// One row.
fn row(name: &str, floor: [f64; 2], measure: impl Fn(usize) -> f64) {
    let beyond = |threads: usize| measure(threads) - floor[threads - 1];
    println!("| {name} | {:.1} ns | {:.1} ns |", beyond(1), beyond(2));
}

/// Prints all rows.
pub fn all() {
    let floor = [1, 2].map(floor);
    println!("| a buffer of the thread's own (the floor) | {:.1} ns | {:.1} ns |", floor[0], floor[1]);
    row("**linpoint**", floor, monitored);
    row("`Mutex<Vec>`", floor, locked);
    row("crossbeam-channel", floor, channel);
    row("`tracing` span, registry subscriber", floor, traced);
}

/// Sixty-four bytes written to a buffer of the thread's own.
fn floor(threads: usize) -> f64 {
    let buffers: Vec<Mutex<Vec<[u64; 8]>>> = (0..threads).map(|_| Mutex::new(vec![[0; 8]; 1 << 13])).collect();
    let held: Vec<_> = buffers.iter().map(|buffer| buffer.lock().expect("nobody panics").as_mut_ptr() as usize).collect();
    let write = |thread: u64, number: u64| {
        let at = (number & ((1 << 13) - 1)) as usize;
        // SAFETY: each thread writes to its own buffer, inside of it, and the buffers outlive the threads.
        unsafe { (black_box(held[thread as usize]) as *mut [u64; 8]).add(at).write([number, 1, 2, 3, 4, 5, 6, 7]) };
    };
    bursts(threads, write, || ())
}

fn monitored(threads: usize) -> f64 {
    let monitor = Monitor::start().expect("a monitor");
    let object = monitor.object("map", "map").and_then(|object| object.watch()).expect("it is built in");
    let get = object.op("get");
    let operation = |thread: u64, number: u64| {
        let op = object.call(get, black_box(number % 64 + thread));
        op.commit();
        op.returns(None::<u64>);
    };
    let rest = || {
        while monitor.status().waiting > 0 {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let spent = bursts(threads, operation, rest);
    monitor.finish().assert_clean();
    spent
}

type Event = [u64; 4];

fn locked(threads: usize) -> f64 {
    let log: Mutex<Vec<Event>> = Mutex::new(Vec::with_capacity(1 << 16));
    let operation = |thread: u64, number: u64| {
        for event in 0..3 {
            log.lock().expect("nobody panics").push(black_box([thread, number, event, 0]));
        }
    };
    bursts(threads, operation, || log.lock().expect("nobody panics").clear())
}

fn channel(threads: usize) -> f64 {
    let (sender, receiver) = crossbeam_channel::bounded::<Event>(1 << 16);
    let operation = |thread: u64, number: u64| {
        for event in 0..3 {
            let _ = sender.send(black_box([thread, number, event, 0]));
        }
    };
    bursts(threads, operation, || while receiver.try_recv().is_ok() {})
}

fn traced(threads: usize) -> f64 {
    let subscriber = tracing_subscriber::registry().with(Nothing);
    let dispatch = tracing::Dispatch::new(subscriber);
    let operation = |thread: u64, number: u64| {
        tracing::dispatcher::with_default(&dispatch, || {
            let span = tracing::info_span!("get", thread, number);
            let _entered = span.enter();
            tracing::info!("commit");
        });
    };
    bursts(threads, operation, || ())
}

/// A layer that looks at nothing: what is measured is the span itself.
struct Nothing;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Nothing {}
