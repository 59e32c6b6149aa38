//! Models that end the process: what was found must be told all the same. Each is run by another process of this binary.

use std::process::Command;

use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::SeqCst;
use loom::sync::{Arc, Mutex};
use loom::thread;

/// Says to the other process what it is for.
const CHILD: &str = "LINPOINT_TEST_ENDS";

/// Runs `model` in the other process, and returns what that said; nothing in the other process.
fn told(test: &str, model: impl Fn() + Send + Sync + 'static) -> Option<String> {
    if std::env::var_os(CHILD).is_some() {
        loom::model(model);
        return None;
    }
    let this = std::env::current_exe().unwrap();
    let out = Command::new(this).args(["--exact", test]).env(CHILD, "1").output().unwrap();
    assert!(!out.status.success());
    Some(String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
}

/// Ends the process if it is dropped in a panic: a worker must not die unseen.
struct Watched;

impl Drop for Watched {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

#[test]
fn a_failure_is_told_though_a_worker_ends_the_process() {
    let Some(told) = told("ends::a_failure_is_told_though_a_worker_ends_the_process", || {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = Arc::clone(&locks);
        let child = thread::spawn(move || {
            let _watched = Watched;
            let _first = other.0.lock().unwrap();
            let _second = other.1.lock().unwrap();
        });
        let second = locks.1.lock().unwrap();
        let first = locks.0.lock().unwrap();
        drop((first, second));
        child.join().unwrap();
    }) else {
        return;
    };
    assert!(told.contains("linpoint: deadlock: ") && told.contains("the schedule, by thread: "), "{told}");
}

#[test]
fn a_worker_that_ends_the_process_does_not_see_runs_that_are_made_again() {
    // A loop that waits is tried, and the run it is tried in made again.
    loom::model(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || {
            let _watched = Watched;
            while other.load(SeqCst) == 0 {
                loom::hint::spin_loop();
            }
        });
        flag.store(1, SeqCst);
        child.join().unwrap();
    });
}
