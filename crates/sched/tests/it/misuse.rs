//! What cannot work is named: waiting where nobody can go, panics in destructors, programs that are not the same twice.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU32 as Uncontrolled;

use linpoint_sched::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use linpoint_sched::strategy::{Strategy as _, dfs::Dfs};
use linpoint_sched::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};
use linpoint_sched::{Ending, Execution, Failure, Limits, atomically, thread};
use std::sync::Arc;

use crate::explore::{first_failure, outcomes, outcomes_with_panics};

#[test]
fn waiting_inside_an_atomic_block() {
    let text = first_failure(|| {
        let lock = Arc::new(Mutex::new(()));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || drop(other.lock().unwrap()));
        atomically(|| drop(lock.lock().unwrap()));
        child.join().unwrap();
    })
    .unwrap()
    .to_string();
    assert!(text.starts_with("misuse: thread 0 waits to lock at "), "{text}");
    assert!(text.ends_with("inside an atomic block, where no other thread can go"), "{text}");
    for program in [
        || assert!(atomically(|| Barrier::new(2).wait()).is_leader()),
        || atomically(thread::park),
        || assert!(atomically(|| Condvar::new().wait(Mutex::new(()).lock().unwrap()).is_ok())),
        || atomically(|| thread::spawn(thread::park).join().unwrap()),
        || atomically(|| thread::scope(|scope| drop(scope.spawn(thread::park)))),
    ] as [fn(); 5]
    {
        let failure = first_failure(program).unwrap();
        assert!(matches!(failure, Failure::Misuse(_)), "{failure}");
    }
}

#[test]
fn a_free_lock_inside_an_atomic_block_is_fine() {
    let found = outcomes(|| {
        let lock = Mutex::new(1);
        atomically(|| *lock.lock().unwrap() += 1);
        *lock.lock().unwrap()
    });
    assert_eq!(found.fine(), [2]);
}

/// Locks when it is dropped.
struct Returns(Arc<Mutex<u32>>);

impl Drop for Returns {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn a_destructor_that_needs_a_lock_while_its_thread_panics() {
    let program = || {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || *other.lock().unwrap() += 1);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _returns = Returns(Arc::clone(&lock));
            AtomicBool::new(false).store(true, SeqCst);
            panic!("on purpose");
        }));
        child.join().unwrap();
        caught.is_err()
    };
    // The destructor waits for the lock as everybody does.
    assert_eq!(outcomes_with_panics(program).fine(), [true]);
}

#[test]
fn runs_that_fail_are_taken_down_whatever_their_destructors_do() {
    let found = outcomes(|| {
        let a = Arc::new(Mutex::new(0));
        let b = Arc::new(Mutex::new(0));
        let (a2, b2) = (Arc::clone(&a), Arc::clone(&b));
        let child = thread::spawn(move || {
            let _returns = (Returns(Arc::clone(&a2)), Returns(Arc::clone(&b2)));
            let _b = b2.lock().unwrap();
            let _a = a2.lock().unwrap();
        });
        {
            let _returns = (Returns(Arc::clone(&a)), Returns(Arc::clone(&b)));
            let _a = a.lock().unwrap();
            let _b = b.lock().unwrap();
        }
        child.join().unwrap();
        let (a, b) = (*a.lock().unwrap(), *b.lock().unwrap());
        a + b
    });
    assert_eq!(found.failure_names(), ["deadlock"]);
    assert_eq!(found.set(), [4]);
}

#[test]
fn a_lock_in_a_static_is_free_again_after_a_run_that_failed() {
    static LOCK: Mutex<u32> = Mutex::new(0);
    static OTHER: Mutex<u32> = Mutex::new(0);
    let program = || {
        let child = thread::spawn(|| {
            let _other = OTHER.lock().unwrap();
            let _lock = LOCK.lock().unwrap();
        });
        let lock = LOCK.lock().unwrap();
        drop(OTHER.lock().unwrap());
        drop(lock);
        child.join().unwrap();
    };
    let found = outcomes(program);
    assert_eq!(found.failure_names(), ["deadlock"]);
    assert!(!found.results.is_empty());
    assert!(LOCK.try_lock().is_ok() && OTHER.try_lock().is_ok(), "neither held nor poisoned");
}

#[test]
fn a_lock_held_by_an_unknown_thread() {
    static LOCK: Mutex<u32> = Mutex::new(0);
    let _held = LOCK.lock().unwrap();
    let text = first_failure(|| drop(LOCK.lock())).unwrap().to_string();
    assert!(
        text.starts_with("misuse: a mutex is held by a thread that the explorer does not know"),
        "{text}"
    );
}

#[test]
fn a_program_that_is_not_the_same_twice() {
    static RUNS: Uncontrolled = Uncontrolled::new(0);
    let found = outcomes(|| {
        let odd = RUNS.fetch_add(1, SeqCst) % 2 == 1;
        let shared = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || other.store(1, SeqCst));
        if odd {
            shared.store(2, SeqCst);
        } else {
            shared.load(SeqCst);
        }
        shared.load(SeqCst);
        child.join().unwrap();
    });
    let names = found.failure_names();
    assert_eq!(names, ["nondeterminism"]);
    let text = found.failures.keys().next().unwrap();
    assert!(text.contains("thread 0 is about to store, and was about to load before"), "{text}");
}

/// Runs `program` again and again until something is wrong: what an OS thread does comes when it comes.
fn misused(program: impl Fn()) -> String {
    for _ in 0..1_000 {
        if let Some(failure) = first_failure(&program) {
            return failure.to_string();
        }
    }
    panic!("nobody noticed");
}

#[test]
fn an_os_thread_that_nobody_controls() {
    let text = misused(|| {
        let shared = Arc::new(AtomicU32::new(0));
        shared.store(1, SeqCst);
        let other = Arc::clone(&shared);
        let stranger =
            std::thread::Builder::new().name(String::from("stray")).spawn(move || other.load(SeqCst));
        stranger.unwrap().join().unwrap();
    });
    assert!(text.starts_with("misuse: the OS thread `stray` uses an object of the program at "), "{text}");
    assert!(text.contains("misuse.rs") && text.contains("linpoint::thread"), "{text}");
    let text = misused(|| {
        let shared = Arc::new(Mutex::new(0));
        drop(shared.lock());
        let other = Arc::clone(&shared);
        std::thread::spawn(move || drop(other.lock())).join().unwrap();
    });
    assert!(text.starts_with("misuse: the OS thread uses an object"), "{text}");
}

/// An OS thread does `use_it` to an object that the program has used.
#[track_caller]
fn strange<T: Send + Sync + 'static>(make: fn() -> T, use_it: fn(&T)) {
    let text = misused(|| {
        let shared = Arc::new(make());
        use_it(&shared);
        let other = Arc::clone(&shared);
        std::thread::spawn(move || use_it(&other)).join().unwrap();
    });
    assert!(text.starts_with("misuse: the OS thread uses an object of the program at "), "{text}");
    assert!(text.contains("misuse.rs"), "{text}");
}

#[test]
fn an_os_thread_that_comes_to_a_barrier_first() {
    let text = misused(|| {
        let barrier = Barrier::new(2);
        let comes = std::sync::Mutex::new(None);
        // The scope waits for its thread, whatever happens to this one.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *comes.lock().unwrap() = Some(std::fs::read_link("/proc/thread-self"));
                barrier.wait();
            });
            let start = std::time::Instant::now();
            while start.elapsed() < std::time::Duration::from_secs(60) {
                let sleeps = match &*comes.lock().unwrap() {
                    Some(Ok(thread)) => sleeps(thread),
                    // Elsewhere than on Linux nobody says where a thread is.
                    Some(Err(_)) => start.elapsed() > std::time::Duration::from_millis(500),
                    None => false,
                };
                if sleeps {
                    break;
                }
                std::thread::yield_now();
            }
            barrier.wait();
        });
    });
    assert!(text.starts_with("misuse: the OS thread uses an object of the program at "), "{text}");
    assert!(text.contains("misuse.rs") && text.contains("linpoint::thread"), "{text}");
}

/// Does the thread of that number wait for something, as the system says?
fn sleeps(thread: &std::path::Path) -> bool {
    let stat = std::fs::read_to_string(std::path::Path::new("/proc").join(thread).join("stat"));
    stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S')))
}

#[test]
fn a_barrier_outside_explorations_is_stds() {
    let barrier = Barrier::new(3);
    let rounds = 50;
    let leaders = Uncontrolled::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..rounds {
                    leaders.fetch_add(u32::from(barrier.wait().is_leader()), SeqCst);
                }
            });
        }
    });
    assert_eq!(leaders.load(SeqCst), rounds);
    assert!(Barrier::new(0).wait().is_leader());
}

#[test]
fn an_os_thread_at_any_other_object() {
    strange(|| Mutex::new(()), |lock| drop(lock.try_lock()));
    strange(|| RwLock::new(()), |lock| drop(lock.read()));
    strange(|| RwLock::new(()), |lock| drop(lock.try_read()));
    strange(|| RwLock::new(()), |lock| drop(lock.try_write()));
    strange(Condvar::new, |condvar| condvar.notify_one());
    strange(Condvar::new, |condvar| condvar.notify_all());
    strange(|| Barrier::new(1), |barrier| assert!(barrier.wait().is_leader()));
    strange(Once::new, |once| once.call_once(|| ()));
    strange(Once::new, |once| assert!(!once.is_completed()));
    strange(OnceLock::new, |cell: &OnceLock<u32>| assert!(cell.set(1).is_ok() || cell.get() == Some(&1)));
    strange(|| LazyLock::new((|| 1) as fn() -> u32), |cell| assert_eq!(**cell, 1));
    strange(|| AtomicU32::new(0), |cell| while cell.compare_exchange_weak(0, 0, SeqCst, SeqCst).is_err() {});
    strange(|| AtomicU32::new(0), |cell| assert!(cell.fetch_max(1, SeqCst) < 2));
}

#[test]
fn an_os_thread_at_a_condition_variable_that_it_waits_for() {
    strange(
        || (Mutex::new(()), Condvar::new()),
        |pair| {
            let guard = pair.0.lock().unwrap();
            drop(pair.1.wait_timeout(guard, std::time::Duration::from_millis(1)));
        },
    );
}

#[test]
fn a_barrier_is_free_again_after_a_run_that_failed() {
    static BARRIER: Barrier = Barrier::new(2);
    let waits = || {
        BARRIER.wait();
    };
    let text = first_failure(waits).unwrap().to_string();
    assert!(text.starts_with("deadlock"), "{text}");
    let other = std::thread::spawn(|| BARRIER.wait().is_leader());
    let leads = BARRIER.wait().is_leader();
    assert!(leads != other.join().unwrap(), "one of the two leads");
}

#[test]
fn an_os_thread_at_a_channel() {
    fn strange_end(use_it: fn(&mpsc::Sender<u32>, &mpsc::Receiver<u32>), stray: fn(&mpsc::Sender<u32>)) {
        let text = misused(|| {
            let (sender, receiver) = mpsc::channel();
            use_it(&sender, &receiver);
            let other = sender.clone();
            std::thread::spawn(move || stray(&other)).join().unwrap();
        });
        assert!(text.starts_with("misuse: the OS thread uses an object of the program at "), "{text}");
    }
    strange_end(|sender, _| sender.send(1).unwrap(), |sender| sender.send(2).unwrap());
    let text = misused(|| {
        let (sender, receiver) = mpsc::sync_channel(2);
        sender.send(1).unwrap();
        std::thread::spawn(move || assert_eq!(receiver.try_recv(), Ok(1))).join().unwrap();
    });
    assert!(text.starts_with("misuse: the OS thread uses an object of the program at "), "{text}");
}

#[test]
fn an_os_thread_with_objects_of_its_own_is_fine() {
    let found = outcomes(|| {
        let shared = AtomicU32::new(0);
        let own = std::thread::spawn(|| AtomicU32::new(3).load(SeqCst)).join().unwrap();
        shared.fetch_add(own, SeqCst) + shared.load(SeqCst)
    });
    assert_eq!(found.fine(), [3]);
}

#[test]
fn an_exploration_inside_an_exploration() {
    let text = first_failure(|| {
        first_failure(|| ());
    })
    .unwrap()
    .to_string();
    assert!(text.contains("an exploration cannot be started inside an exploration"), "{text}");
}

struct Throws;

impl Drop for Throws {
    fn drop(&mut self) {
        panic!("the second");
    }
}

#[test]
fn a_double_panic_is_told_and_the_process_goes_on() {
    for _ in 0..3 {
        let failure = first_failure(|| {
            AtomicBool::new(false).store(true, SeqCst);
            let _throws = Throws;
            panic!("the first");
        });
        let text = failure.expect("that would end the process").to_string();
        assert!(text.starts_with("panic: thread 0 panicked: a destructor panicked while"), "{text}");
        assert!(text.contains(": the first (crates/sched/tests/it/misuse.rs:"), "{text}");
        assert!(text.contains(", then the second (crates/sched/tests/it/misuse.rs:"), "{text}");
        assert!(!thread::panicking());
    }
}

#[test]
fn a_panic_in_a_destructor_that_is_caught_there_is_fine() {
    struct Catches;
    impl Drop for Catches {
        fn drop(&mut self) {
            assert!(catch_unwind(|| drop(Throws)).is_err());
        }
    }
    let found = outcomes_with_panics(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || other.store(true, SeqCst));
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _catches = Catches;
            flag.load(SeqCst);
            panic!("the first");
        }));
        child.join().unwrap();
        caught.is_err()
    });
    assert_eq!(found.fine(), [true]);
}

/// A section that must not be left half-way, in two threads that wait for each other in the middle of it.
#[test]
fn a_deadlock_is_named_whatever_destructors_say_to_it() {
    struct Section(bool);
    impl Drop for Section {
        fn drop(&mut self) {
            assert!(self.0, "left half-way");
        }
    }
    for _ in 0..3 {
        let failure = first_failure(|| {
            let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
            let other = Arc::clone(&locks);
            let child = thread::spawn(move || {
                let mut section = Section(false);
                let _first = other.0.lock().unwrap();
                let _second = other.1.lock().unwrap();
                section.0 = true;
            });
            let mut section = Section(false);
            let second = locks.1.lock().unwrap();
            let first = locks.0.lock().unwrap();
            section.0 = true;
            drop((first, second));
            child.join().unwrap();
        });
        let text = failure.expect("a deadlock").to_string();
        assert!(text.starts_with("deadlock: thread 0 waits to lock at "), "{text}");
    }
}

#[test]
fn a_loop_in_a_destructor_that_waits_for_another_thread() {
    struct Spins(Arc<AtomicBool>);
    impl Drop for Spins {
        fn drop(&mut self) {
            while !self.0.load(SeqCst) {}
        }
    }
    // Others go while a thread unwinds.
    let failure = first_failure(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let _spins = Spins(Arc::clone(&flag));
        thread::spawn(move || flag.store(true, SeqCst));
        panic!("the only one");
    });
    let text = failure.expect("a panic").to_string();
    assert!(text.starts_with("panic: thread 0 panicked: the only one"), "{text}");
    // Where a run is taken down nobody else goes, and the loop is left.
    let failure = first_failure(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let _spins = Spins(Arc::clone(&flag));
        let lock = Mutex::new(());
        let _held = lock.lock();
        let _again = lock.lock();
    });
    assert_eq!(failure.expect("it waits for itself").name(), "deadlock");
}

/// So many frames of half a kilobyte.
fn deep(frames: u64) -> u64 {
    let frame = std::hint::black_box([frames; 64]);
    if frames == 0 { 0 } else { deep(frames - 1) + frame[3] }
}

/// A stack is as large as std's, or as large as the thread was promised.
#[test]
fn stacks_are_as_large_as_stds() {
    let mut execution = Execution::new(Limits::default());
    let run = execution.run(
        &|| {
            assert!(deep(1_000) > 0);
            let builder = thread::Builder::new().stack_size(16 << 20);
            assert!(builder.spawn(|| deep(8_000)).unwrap().join().unwrap() > 0);
            let builder = thread::Builder::new().stack_size(16 << 20);
            thread::scope(|scope| builder.spawn_scoped(scope, || deep(8_000)).map(drop)).unwrap();
        },
        &mut Dfs::new(),
    );
    assert!(matches!(run.ending, Ending::Complete), "{:?}", run.ending);
}

#[test]
#[cfg(target_os = "linux")]
fn a_stack_that_overflows_is_named() {
    const ASKED: &str = "LINPOINT_TEST_OVERFLOW";
    if std::env::var_os(ASKED).is_some() {
        let mut execution = Execution::new(Limits::default());
        execution.run(&|| _ = thread::spawn(|| deep(u64::MAX)).join(), &mut Dfs::new());
        return;
    }
    let said = last_words("misuse::a_stack_that_overflows_is_named", ASKED);
    assert!(said.contains("thread 1 of the exploration overflowed its stack of 2048 KiB"), "{said}");
}

/// What a test says that ends its process where this variable is set.
#[cfg(target_os = "linux")]
fn last_words(test: &str, variable: &str) -> String {
    let this = std::env::current_exe().unwrap();
    let out = std::process::Command::new(this)
        .args(["--exact", test, "--nocapture"])
        .env(variable, "1")
        .output()
        .unwrap();
    assert!(!out.status.success());
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// A lock of std that is held across a step stops the OS thread that everything runs on.
#[test]
#[cfg(target_os = "linux")]
fn a_lock_of_stds_across_a_step_is_named() {
    const ASKED: &str = "LINPOINT_TEST_STANDS";
    if std::env::var_os(ASKED).is_some() {
        let patience = std::time::Duration::from_millis(500);
        let mut execution = Execution::new(Limits { patience, ..Limits::default() });
        let mut dfs = Dfs::new();
        loop {
            let program = || {
                let shared = Arc::new((std::sync::Mutex::new(0), AtomicU32::new(0)));
                let other = Arc::clone(&shared);
                let child = thread::spawn(move || {
                    let _guard = other.0.lock();
                    other.1.store(1, SeqCst);
                });
                shared.1.load(SeqCst);
                drop(shared.0.lock());
                child.join().unwrap();
            };
            execution.run(&program, &mut dfs);
            if !dfs.advance(execution.record()) {
                return;
            }
        }
    }
    let said = last_words("misuse::a_lock_of_stds_across_a_step_is_named", ASKED);
    assert!(said.contains("in a lock that the explorer does not know"), "{said}");
    assert!(
        said.contains("use those of linpoint::sync") && said.contains("its thread 0 waits there"),
        "{said}"
    );
}

/// To wait for a thread inside an atomic block is a misuse, also where that thread has nothing to do.
#[test]
fn a_join_inside_an_atomic_block() {
    for program in [(|| linpoint_sched::atomically(|| thread::spawn(|| {}).join().unwrap())) as fn(), || {
        linpoint_sched::atomically(|| thread::scope(|scope| drop(scope.spawn(|| {}))))
    }] {
        let text = first_failure(program).expect("it cannot wait").to_string();
        assert!(text.starts_with("misuse") && text.contains("inside an atomic block"), "{text}");
    }
    assert!(first_failure(|| drop(linpoint_sched::atomically(|| thread::spawn(|| {})))).is_none());
    assert!(first_failure(|| linpoint_sched::atomically(|| thread::run_numbered(1, &|_| {}))).is_none());
}
