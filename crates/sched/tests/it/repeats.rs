//! Loops that look as if they went on for ever: those that do, and those that count or look at the clock where the explorer notes nothing.

use std::cell::Cell;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant, SystemTime};

use linpoint_sched::atomic::{AtomicBool, AtomicU32};
use linpoint_sched::explore::{Plan, Search, explore};
use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::sync::{Arc, Mutex, RwLock, mpsc};
use linpoint_sched::{Ending, Execution, Failure, Limits, hint, thread};

/// How the first execution ends, within so many steps.
fn within(steps: usize, program: &dyn Fn()) -> &'static str {
    let mut execution = Execution::new(Limits { steps, ..Limits::default() });
    match &execution.run(program, &mut Dfs::new()).ending {
        Ending::Failed(failure) | Ending::Stuck(failure) => {
            assert_eq!(failure.is_refusal(), !matches!(failure, Failure::Livelock { .. }), "{failure}");
            failure.name()
        }
        Ending::Complete => "complete",
        Ending::Abandoned => "abandoned",
    }
}

/// Turns until a flag is set, or until `go_on` says no.
fn turns(mut go_on: impl FnMut() -> bool) -> bool {
    let flag = AtomicBool::new(false);
    while go_on() {
        if flag.load(SeqCst) {
            return true;
        }
    }
    false
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
const FOR_EVER: &str = "livelock";
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
const FOR_EVER: &str = "a loop of unknown end";

fn on_the_stack(most: u32) -> bool {
    let mut count = 0;
    turns(|| {
        count += 1;
        count <= most
    })
}

fn on_the_heap(most: u32) -> bool {
    let mut count = Box::new(0_u32);
    turns(|| {
        *black_box(&mut *count) += 1;
        *count <= most
    })
}

fn in_a_static(most: u32) -> bool {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    COUNT.store(0, SeqCst);
    turns(|| COUNT.fetch_add(1, SeqCst) < most)
}

fn in_a_thread_local(most: u32) -> bool {
    std::thread_local!(static COUNT: Cell<u32> = const { Cell::new(0) });
    COUNT.set(0);
    turns(|| {
        COUNT.set(COUNT.get() + 1);
        COUNT.get() <= most
    })
}

const COUNTERS: [fn(u32) -> bool; 4] = [on_the_stack, on_the_heap, in_a_static, in_a_thread_local];

#[test]
fn a_loop_that_counts_is_no_livelock() {
    for counter in COUNTERS {
        for steps in [10, 100, 250, 700] {
            assert_eq!(within(steps, &|| _ = counter(1000)), "too many steps", "{steps}");
        }
        assert_eq!(within(20_000, &|| _ = counter(1_000_000)), "too many steps");
        // And with a turn that says that it turns, or writes.
        let yields = || {
            _ = counter(3000);
            hint::spin_loop();
        };
        assert_eq!(within(2000, &yields), "too many steps");
    }
    let swaps = || {
        let (flag, mut count) = (AtomicBool::new(false), Box::new(0_u32));
        while !flag.swap(false, SeqCst) && *black_box(&*count) < 1000 {
            hint::spin_loop();
            *count += 1;
        }
    };
    assert_eq!(within(700, &swaps), "too many steps");
    assert_eq!(within(20_000, &swaps), "complete");
    // Where there are steps enough, it is made to its end. In the same test, as they have a static.
    for counter in COUNTERS {
        for most in [100, 1000, 19_000] {
            assert_eq!(within(20_000, &|| assert!(!counter(most))), "complete", "{most}");
        }
    }
}

#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn a_loop_that_looks_at_the_clock_is_of_unknown_end() {
    /// Longer than any search.
    const LONG: Duration = Duration::from_secs(1 << 20);
    let until = || Instant::now() + LONG;
    let polls = || {
        let until = until();
        _ = turns(|| Instant::now() < until);
    };
    assert_eq!(within(20_000, &polls), "a loop of unknown end");
    let by_the_calendar = || {
        let until = SystemTime::now() + LONG;
        _ = turns(|| SystemTime::now() < until);
    };
    assert_eq!(within(20_000, &by_the_calendar), "a loop of unknown end");
    let yields = || {
        let until = until();
        _ = turns(|| {
            thread::yield_now();
            Instant::now() < until
        });
    };
    assert_eq!(within(2000, &yields), "a loop of unknown end");
    let swaps = || {
        let (flag, until) = (AtomicBool::new(false), until());
        while !flag.swap(false, SeqCst) && Instant::now() < until {}
    };
    assert_eq!(within(2000, &swaps), "a loop of unknown end");
    let receives = || {
        let (sender, receiver) = mpsc::channel::<()>();
        let until = until();
        while receiver.try_recv().is_err() && Instant::now() < until {}
        drop(sender);
    };
    assert_eq!(within(2000, &receives), "a loop of unknown end");
    // Another thread ends the loop, but the clock might.
    let ended = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let until = until();
        let child = thread::spawn(move || while !other.load(SeqCst) && Instant::now() < until {});
        flag.store(true, SeqCst);
        child.join().unwrap();
    };
    let plan = Plan { search: Search::Dpor, time: None, ..Plan::default() };
    let coverage = explore(&ended, &plan, &mut |_| ControlFlow::Continue(()));
    assert!(coverage.found.is_some_and(|found| found.failure.is_refusal()));
}

#[test]
fn what_comes_back_to_where_it_was_is_a_livelock() {
    let programs: [&dyn Fn(); 12] = [
        &|| _ = turns(|| true),
        &|| {
            let flag = AtomicBool::new(false);
            while !flag.swap(false, SeqCst) {}
        },
        &|| {
            let number = AtomicU32::new(0);
            loop {
                number.fetch_add(1, SeqCst);
                number.fetch_sub(1, SeqCst);
            }
        },
        // A lock that is never given back.
        &|| {
            let taken = AtomicBool::new(true);
            while taken.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
                thread::yield_now();
            }
        },
        &|| {
            let lock = Mutex::new(());
            let _held = lock.lock().unwrap();
            while lock.try_lock().is_err() {}
        },
        &|| {
            let lock = Mutex::new(0);
            while *lock.lock().unwrap() == 0 {}
        },
        &|| {
            let lock = RwLock::new(0);
            while *lock.read().unwrap() == 0 {
                hint::spin_loop();
            }
        },
        &|| {
            let (sender, receiver) = mpsc::channel::<()>();
            while receiver.try_recv().is_err() {}
            drop(sender);
        },
        // It allocates and frees in every turn.
        &|| {
            let flag = AtomicBool::new(false);
            while !black_box(Box::new(flag.load(SeqCst))).as_ref() {}
        },
        // Local state goes round in a cycle of its own.
        &|| {
            let (flag, mut turn) = (AtomicBool::new(false), 0);
            while !flag.swap(false, SeqCst) {
                turn = (black_box(turn) + 1) % 3;
            }
        },
        // It gives way to others of the system's.
        &|| {
            _ = turns(|| {
                std::thread::sleep(Duration::from_micros(1));
                std::thread::yield_now();
                true
            })
        },
        // Two threads undo what the other does.
        &|| {
            let number = Arc::new(AtomicU32::new(2));
            let other = Arc::clone(&number);
            let child = thread::spawn(move || {
                while other.swap(0, SeqCst) != 5 {
                    thread::yield_now();
                }
            });
            while number.swap(1, SeqCst) != 5 {
                thread::yield_now();
            }
            child.join().unwrap();
        },
    ];
    for (number, program) in programs.into_iter().enumerate() {
        assert_eq!(within(2000, program), FOR_EVER, "{number}");
    }
}

/// A loop ends because of what another thread did only long ago, on the heap where nobody sees it.
#[test]
fn two_threads_that_count_are_no_livelock() {
    let program = || {
        let (a, b) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(1)));
        let (c, d) = (Arc::clone(&a), Arc::clone(&b));
        let wait = |mine: &AtomicU32, others: &AtomicU32| {
            let mut count = Box::new(0_u32);
            while *black_box(&*count) < 5000 {
                mine.store(1, SeqCst);
                others.store(0, SeqCst);
                *count += 1;
                thread::yield_now();
            }
        };
        let child = thread::spawn(move || wait(&c, &d));
        wait(&b, &a);
        child.join().unwrap();
    };
    assert_eq!(within(4000, &program), "too many steps");
}
