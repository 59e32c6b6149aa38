//! Threads that unwind go on step by step, and others see them half-way.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, TryLockError};

use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::sync::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint_sched::sync::{Mutex, RwLock, mpsc};
use linpoint_sched::{Ending, Execution, Limits, thread};

use crate::explore::{self, outcomes_with_panics as outcomes};

/// Writes to two places when it is dropped.
struct Writes(Arc<(AtomicU32, AtomicU32)>);

impl Drop for Writes {
    fn drop(&mut self) {
        self.0.0.store(1, SeqCst);
        self.0.1.store(1, SeqCst);
    }
}

/// Runs `body`, and catches its panic.
fn caught<T>(body: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(body)).is_err()
}

#[test]
fn a_destructor_makes_the_same_steps_whether_its_thread_panics() {
    let program = |panics: bool| {
        outcomes(move || {
            let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let writes = Writes(Arc::clone(&shared));
            let child = thread::spawn(move || {
                caught(move || {
                    let _writes = writes;
                    assert!(!panics, "on purpose");
                })
            });
            let second = shared.1.load(SeqCst);
            let first = shared.0.load(SeqCst);
            assert!(!thread::panicking(), "it is another thread that panics");
            assert_eq!(child.join().unwrap(), panics);
            (first, second)
        })
    };
    let (with, without) = (program(true), program(false));
    assert_eq!(with.fine(), [(0, 0), (1, 0), (1, 1)]);
    assert_eq!(with.results, without.results);
}

/// As plain search does, so do the others.
#[track_caller]
fn same_by_all<T: std::fmt::Debug>(program: impl Fn() -> T) {
    explore::same_by_all(&Limits { panics_fail: false, ..Limits::default() }, program);
}

#[test]
fn two_threads_unwind_at_a_time() {
    let program = || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let crossed = |at: usize| {
            let shared = Arc::clone(&shared);
            move || {
                struct Adds(Arc<(AtomicU32, AtomicU32)>, usize);
                impl Drop for Adds {
                    fn drop(&mut self) {
                        let places = [&self.0.0, &self.0.1];
                        assert!(thread::panicking());
                        places[self.1].fetch_add(1, SeqCst);
                        let other = places[1 - self.1].load(SeqCst);
                        places[self.1].fetch_add(10 * (other + 1), SeqCst);
                        assert!(thread::panicking());
                    }
                }
                let panicked = caught(|| {
                    let _adds = Adds(shared, at);
                    panic!("thread {at}");
                });
                assert!(panicked && !thread::panicking());
            }
        };
        let (one, two) = (thread::spawn(crossed(0)), thread::spawn(crossed(1)));
        one.join().unwrap();
        two.join().unwrap();
        (shared.0.load(SeqCst), shared.1.load(SeqCst))
    };
    same_by_all(program);
    let found = outcomes(program);
    assert_eq!(found.fine(), [(11, 21), (11, 121), (21, 11), (21, 21), (21, 221), (121, 11), (221, 21)]);
}

/// As std does: the flag first, then the lock. Whoever looks at the flag and then tries finds it so.
#[test]
fn a_lock_is_poisoned_before_it_is_free() {
    let program = || {
        let shared = Arc::new((Mutex::new(0), RwLock::new(0)));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || {
            caught(|| {
                let _guard = other.0.lock().unwrap();
                panic!("on purpose");
            });
            caught(|| {
                let _guard = other.1.write().unwrap();
                panic!("on purpose");
            });
        });
        let mutex = (shared.0.is_poisoned(), matches!(shared.0.try_lock(), Err(TryLockError::WouldBlock)));
        let rwlock = (shared.1.is_poisoned(), matches!(shared.1.try_read(), Err(TryLockError::WouldBlock)));
        child.join().unwrap();
        [mutex, rwlock]
    };
    same_by_all(program);
    let found = outcomes(program);
    for both in [0, 1] {
        assert!(found.fine().iter().any(|seen| seen[both] == (true, true)), "{found:?}");
    }
}

#[test]
fn poison_is_seen_both_ways() {
    let program = || {
        let lock = Arc::new((Mutex::new(0), RwLock::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || {
            caught(|| {
                let _guard = other.0.lock().unwrap();
                panic!("on purpose");
            });
            caught(|| {
                let _guard = other.1.write().unwrap();
                panic!("on purpose");
            });
            other.2.store(1, SeqCst);
        });
        let done = lock.2.load(SeqCst);
        let seen = (done, lock.1.is_poisoned(), lock.0.is_poisoned());
        child.join().unwrap();
        lock.0.clear_poison();
        assert!(!lock.0.is_poisoned() && lock.1.is_poisoned());
        seen
    };
    same_by_all(program);
    let found = outcomes(program);
    assert_eq!(found.fine(), [(0, false, false), (0, false, true), (0, true, true), (1, true, true)]);
}

#[test]
fn what_unwinds_may_wait_and_be_waited_for() {
    let found = outcomes(|| {
        struct Sends(Option<mpsc::Receiver<u32>>, mpsc::Sender<u32>);
        impl Drop for Sends {
            fn drop(&mut self) {
                let got = self.0.take().map(|receiver| receiver.recv().unwrap()).unwrap_or_default();
                self.1.send(got + 1).unwrap();
            }
        }
        let (to_child, from_parent) = mpsc::channel();
        let (to_parent, from_child) = mpsc::channel();
        let sends = Sends(Some(from_parent), to_parent);
        let child = thread::spawn(move || {
            let _sends = sends;
            panic!("on purpose");
        });
        to_child.send(1).unwrap();
        let got = from_child.recv().unwrap();
        assert!(child.join().is_err());
        got
    });
    assert_eq!(found.fine(), [2]);
}

#[test]
fn a_thread_may_be_created_while_its_creator_unwinds() {
    let found = outcomes(|| {
        struct Creates(Arc<AtomicU32>);
        impl Drop for Creates {
            fn drop(&mut self) {
                let counter = Arc::clone(&self.0);
                let child = thread::spawn(move || {
                    assert!(!thread::panicking());
                    counter.fetch_add(1, SeqCst)
                });
                self.0.fetch_add(1, SeqCst);
                child.join().unwrap();
            }
        }
        let counter = Arc::new(AtomicU32::new(0));
        let creates = Creates(Arc::clone(&counter));
        assert!(caught(move || {
            let _creates = creates;
            panic!("on purpose");
        }));
        counter.load(SeqCst)
    });
    assert_eq!(found.fine(), [2]);
}

/// What one run ends with.
fn ends(program: &dyn Fn()) -> &'static str {
    let mut execution = Execution::new(Limits::default());
    match &execution.run(program, &mut Dfs::new()).ending {
        Ending::Failed(failure) | Ending::Stuck(failure) => failure.name(),
        Ending::Complete => "complete",
        Ending::Abandoned => "abandoned",
    }
}

#[test]
fn a_loop_that_catches_its_unwinding_is_left() {
    let parks = || {
        thread::spawn(|| {
            loop {
                let _ = caught(thread::park);
            }
        });
    };
    assert_eq!(ends(&parks), "leaked threads");
    // The unwinding is caught by the thread that others wait for, in a loop within a loop, and with a lock in hand.
    let locks = || {
        let lock = Arc::new(Mutex::new(()));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || {
            let _held = other.lock().unwrap();
            loop {
                while caught(|| drop(other.lock())) {}
            }
        });
        let _ = child.join();
    };
    assert_eq!(ends(&locks), "deadlock");
    let panics = || {
        let child = thread::spawn(|| {
            loop {
                let _ = caught(thread::park);
            }
        });
        drop(child);
        panic!("on purpose");
    };
    assert_eq!(ends(&panics), "panic");
    // The program itself goes round, and waits for a thread that waits for ever.
    let joins = || {
        loop {
            let _ = caught(|| thread::scope(|_| thread::spawn(thread::park)).join());
        }
    };
    assert_eq!(ends(&joins), "deadlock");
}

#[test]
fn who_catches_its_unwinding_now_and_then_is_unwound() {
    static DROPPED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    struct Counts;
    impl Drop for Counts {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    let program = || {
        thread::spawn(|| {
            let _counts = Counts;
            for _ in 0..3 {
                caught(thread::park);
            }
            thread::park();
        });
    };
    assert_eq!(ends(&program), "leaked threads");
    assert_eq!(DROPPED.load(SeqCst), 1);
}
