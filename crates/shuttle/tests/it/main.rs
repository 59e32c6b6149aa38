//! The crate as tests written for shuttle use it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex as StdMutex;

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler};
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use shuttle::{Config, FailurePersistence, MaxSteps, PortfolioRunner, Runner, future, thread};

/// What a check fails with.
fn failure(check: impl FnOnce()) -> String {
    let caught = std::panic::catch_unwind(AssertUnwindSafe(check)).expect_err("the check fails");
    caught.downcast_ref::<String>().expect("a failure is told in words").clone()
}

/// The token in the text of a failure.
fn token(told: &str) -> String {
    told.rsplit('"').nth(1).expect("the text ends with the token").to_owned()
}

/// Two threads that add to a number in two steps: one addition may be lost.
fn lost_update() {
    let count = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&count);
    let add = |count: &AtomicUsize| count.store(count.load(SeqCst) + 1, SeqCst);
    let child = thread::spawn(move || add(&other));
    add(&count);
    child.join().unwrap();
    assert_eq!(count.load(SeqCst), 2, "an update was lost");
}

#[test]
fn each_check_finds_a_lost_update_and_its_token_runs_it_again() {
    for told in [
        failure(|| shuttle::check_dfs(lost_update, None)),
        failure(|| shuttle::check_random_with_seed(lost_update, 1, 1000)),
        failure(|| shuttle::check_pct(lost_update, 1000, 2)),
        failure(|| shuttle::check_urw(lost_update, 1000)),
    ] {
        assert!(told.contains("an update was lost") && told.contains("schedule (1 preemptions)"), "{told}");
        // In another closure than the one that it was found with.
        let elsewhere = || {
            let test = lost_update;
            test();
        };
        let again = failure(|| shuttle::replay(elsewhere, &token(&told)));
        assert!(again.contains("an update was lost"), "{again}");
    }
}

#[test]
fn what_is_right_passes_in_as_many_executions_as_asked_for() {
    let right = || {
        let count = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let count = Arc::clone(&count);
                thread::spawn(move || *count.lock().unwrap() += 1)
            })
            .collect();
        threads.into_iter().for_each(|one| one.join().unwrap());
        assert_eq!(*count.lock().unwrap(), 3);
    };
    assert_eq!(Runner::new(RandomScheduler::new(50), Config::new()).run(right), 50);
    assert_eq!(Runner::new(PctScheduler::new(3, 50), Config::new()).run(right), 50);
    assert_eq!(Runner::new(DfsScheduler::new(Some(4), false), Config::new()).run(right), 4);
    assert_eq!(Runner::new(DfsScheduler::new(None, false), Config::new()).run(right), 6);
    shuttle::check(right);
}

#[test]
fn a_token_is_kept_in_a_file() {
    let folder = std::env::temp_dir().join(format!("linpoint-shuttle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::File(Some(folder.clone()));
    let told = failure(|| _ = Runner::new(DfsScheduler::new(None, false), config).run(lost_update));
    let file = folder.join("schedule000.txt");
    assert!(told.contains(&file.display().to_string()), "{told}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), token(&told));
    let again = failure(|| shuttle::replay_from_file(lost_update, &file));
    assert!(again.contains("an update was lost"), "{again}");
    let told = failure(|| shuttle::replay_from_file(lost_update, folder.join("none")));
    assert!(told.contains("none") && told.contains("is to have the token"), "{told}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_token_is_refused_in_a_sentence() {
    let told = failure(|| shuttle::replay(lost_update, "91010ae6db83f4d5d3cc07"));
    assert!(told.contains("this is no replay token"), "{told}");
    let told = failure(|| shuttle::replay(lost_update, "lp1-AAAA~nonsense"));
    assert!(told.contains("is no seed"), "{told}");
    // A schedule that does not fail passes.
    let told = failure(|| shuttle::check_dfs(lost_update, None));
    Runner::new(ReplayScheduler::new_from_encoded(&token(&told)), Config::new()).run(|| ());
}

#[test]
fn a_deadlock_is_found() {
    let deadlock = || {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = Arc::clone(&locks);
        let child = thread::spawn(move || {
            let _first = other.0.lock().unwrap();
            let _second = other.1.lock().unwrap();
        });
        {
            let _second = locks.1.lock().unwrap();
            let _first = locks.0.lock().unwrap();
        }
        child.join().unwrap();
    };
    assert!(failure(|| shuttle::check_dfs(deadlock, None)).starts_with("deadlock: "));
    assert!(failure(|| shuttle::check_random(deadlock, 10_000)).starts_with("deadlock: "));
}

#[test]
fn too_many_steps_fail() {
    let long = || {
        let count = AtomicUsize::new(0);
        (0..200).for_each(|_| _ = count.fetch_add(1, SeqCst));
    };
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(100);
    let told = failure(|| _ = Runner::new(RandomScheduler::new(1), config).run(long));
    assert!(told.contains("took more than 100"), "{told}");
    let mut config = Config::new();
    config.max_steps = MaxSteps::None;
    assert_eq!(Runner::new(RandomScheduler::new(1), config).run(long), 1);
}

#[test]
fn a_portfolio_runs_one_scheduler_after_another() {
    for stop in [true, false] {
        let mut portfolio = PortfolioRunner::new(stop, Config::new());
        portfolio.add(RandomScheduler::new_from_seed(3, 1000));
        portfolio.add(PctScheduler::new(2, 1000));
        let told = failure(|| portfolio.run(lost_update));
        assert_eq!(told.contains("2 of 2 schedulers"), !stop, "{told}");
    }
}

#[test]
fn random_numbers_come_again_with_the_schedule() {
    let unlucky = || {
        let drawn = thread_rng().gen_range(0..50_u32);
        let child = thread::spawn(|| thread_rng().gen_range(0..2_u32));
        assert!(drawn != 7 || child.join().unwrap() == 0, "drawn: {drawn}");
    };
    let told = failure(|| shuttle::check_random_with_seed(unlucky, 5, 10_000));
    assert!(told.contains("drawn: 7") && token(&told).contains('~'), "{told}");
    assert!(failure(|| shuttle::replay(unlucky, &token(&told))).contains("drawn: 7"));
    // Numbers differ from execution to execution, and from draw to draw.
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let inside = std::sync::Arc::clone(&seen);
    shuttle::check_random(
        move || {
            let mut random = thread_rng();
            let (a, b) = (random.r#gen::<u64>(), random.r#gen::<u64>());
            assert_ne!(a, b);
            inside.lock().unwrap().insert(a);
        },
        20,
    );
    assert_eq!(seen.lock().unwrap().len(), 20);
    let told = failure(|| shuttle::check_dfs(|| _ = thread_rng().r#gen::<u32>(), None));
    assert!(told.contains("this test asks for random numbers"), "{told}");
    assert_eq!(
        Runner::new(DfsScheduler::new(Some(10), true), Config::new()).run(|| _ = thread_rng().r#gen::<u32>()),
        1
    );
}

#[test]
fn tasks_are_woken_joined_and_aborted() {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let inside = std::sync::Arc::clone(&seen);
    shuttle::check_dfs(
        move || {
            let count = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&count);
            let task = future::spawn(async move {
                future::yield_now().await;
                other.fetch_add(1, SeqCst)
            });
            let seen = count.load(SeqCst);
            assert_eq!(future::block_on(task), Ok(0));
            inside.lock().unwrap().insert(seen);
        },
        None,
    );
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([0, 1]));
    // A task that waits for ever can be aborted, and gives back what it keeps.
    shuttle::check_dfs(
        || {
            let kept = std::sync::Arc::new(());
            let weak = std::sync::Arc::downgrade(&kept);
            let task = future::spawn(async move {
                let _kept = kept;
                std::future::pending::<()>().await;
            });
            let handle = task.abort_handle();
            handle.abort();
            assert_eq!(future::block_on(task), Err(future::JoinError::Cancelled));
            assert!(weak.upgrade().is_none());
        },
        None,
    );
    let told = failure(|| shuttle::check_dfs(|| future::block_on(std::future::pending::<()>()), None));
    assert!(told.starts_with("deadlock: "), "{told}");
}

shuttle::lazy_static! {
    static ref COUNT: AtomicUsize = AtomicUsize::new(40);
}

shuttle::thread_local! {
    static MINE: Cell<u32> = Cell::new(1);
}

#[test]
fn statics_and_locals_are_new_in_every_execution() {
    shuttle::check_dfs(
        || {
            shuttle::lazy_static::initialize(&COUNT);
            MINE.with(|mine| mine.set(2));
            let child = thread::spawn(|| {
                MINE.with(|mine| assert_eq!(mine.get(), 1));
                COUNT.fetch_add(1, SeqCst)
            });
            let mine = COUNT.fetch_add(1, SeqCst);
            assert_eq!(child.join().unwrap() + mine, 81);
        },
        None,
    );
}

#[test]
fn locks_channels_and_conditions() {
    shuttle::check_dfs(
        || {
            let shared = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new(0)));
            let (sender, receiver) = mpsc::channel();
            let other = Arc::clone(&shared);
            let child = thread::spawn(move || {
                *other.0.lock().unwrap() = 1;
                other.1.notify_one();
                *other.2.write().unwrap() = 2;
                sender.send(3).unwrap();
            });
            let mut value = shared.0.lock().unwrap();
            while *value == 0 {
                value = shared.1.wait(value).unwrap();
            }
            drop(value);
            assert_eq!(receiver.recv(), Ok(3));
            assert_eq!(*shared.2.read().unwrap(), 2);
            child.join().unwrap();
        },
        None,
    );
}
