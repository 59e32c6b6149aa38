//! Memory that is used after its free, in a binary with [`linpoint_sched::Heap`] as its allocator.

use std::ops::ControlFlow;
use std::sync::Arc;

use linpoint_sched::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use linpoint_sched::explore::{Coverage, Covered, Plan, Search, explore};
use linpoint_sched::{Failure, Heap, thread};

#[global_allocator]
static HEAP: Heap = Heap::new();

fn coverage(search: Search, program: impl Fn()) -> Coverage {
    let plan = Plan { search, time: None, ..Plan::default() };
    explore(&program, &plan, &mut |_| ControlFlow::Continue(()))
}

/// What is wrong with the program, however it is searched.
fn failure(program: impl Fn()) -> Failure {
    for search in [Search::RaceReversal, Search::Dpor, Search::Preemptions(3)] {
        let found = coverage(search, &program).found.expect("a failure");
        println!("{search:?}: {}", found.failure);
    }
    coverage(Search::Dfs, program).found.expect("a failure").failure
}

/// Nothing is wrong with the program, and everything was watched.
fn fine(program: impl Fn()) {
    for search in [Search::Dfs, Search::Dpor] {
        let coverage = coverage(search, &program);
        if let Some(found) = coverage.found {
            panic!("{}", found.failure);
        }
        assert_eq!((coverage.covered, coverage.unwatched), (Covered::Every, 0));
    }
}

fn reads() -> Option<bool> {
    cfg!(target_arch = "x86_64").then_some(false)
}

fn writes() -> Option<bool> {
    cfg!(target_arch = "x86_64").then_some(true)
}

struct Shared<T>(AtomicPtr<T>);

impl<T> Shared<T> {
    fn new(value: T) -> Arc<Shared<T>> {
        Arc::new(Shared(AtomicPtr::new(Box::into_raw(Box::new(value)))))
    }

    fn free(&self) {
        let pointer = self.0.swap(std::ptr::null_mut(), SeqCst);
        if !pointer.is_null() {
            // SAFETY: it came from a box, and whoever takes it out has it alone.
            drop(unsafe { Box::from_raw(pointer) });
        }
    }
}

fn bytes(failure: &Failure) -> (usize, u8, u8, Option<bool>) {
    match failure {
        Failure::UseAfterFree(freed) => (freed.size, freed.freed.thread.0, freed.used.thread.0, freed.writes),
        other => panic!("{other}"),
    }
}

#[test]
fn a_read_in_the_segment_of_the_load() {
    let found = failure(|| {
        let shared = Shared::new(5u64);
        let other = Arc::clone(&shared);
        let freer = thread::spawn(move || other.free());
        let pointer = shared.0.load(SeqCst);
        if !pointer.is_null() {
            // SAFETY: none: that is what is to be seen.
            std::hint::black_box(unsafe { pointer.read_volatile() });
        }
        freer.join().expect("it ends");
    });
    assert_eq!(bytes(&found), (8, 1, 0, reads()));
}

#[test]
fn a_correct_program() {
    fine(|| {
        let shared = Shared::new(5u64);
        let other = Arc::clone(&shared);
        let freer = thread::spawn(move || other.free());
        freer.join().expect("it ends");
        shared.free();
    });
}

#[test]
fn a_write_long_after_the_load() {
    let found = failure(|| {
        let shared = Shared::new([0u8; 24]);
        let other = Arc::clone(&shared);
        let elsewhere = AtomicUsize::new(0);
        let freer = thread::spawn(move || other.free());
        let pointer = shared.0.load(SeqCst);
        // Nothing to do with the other thread: one order with it is as good as another.
        elsewhere.store(1, SeqCst);
        if !pointer.is_null() {
            // SAFETY: none: that is what is to be seen.
            unsafe { pointer.cast::<u8>().add(7).write_volatile(1) };
        }
        freer.join().expect("it ends");
    });
    assert_eq!(bytes(&found), (24, 1, 0, writes()));
}

#[test]
fn an_atomic_in_a_freed_node() {
    let found = failure(|| {
        let shared = Shared::new(AtomicUsize::new(3));
        let other = Arc::clone(&shared);
        let user = thread::spawn(move || {
            let pointer = other.0.load(SeqCst);
            if !pointer.is_null() {
                // SAFETY: none: that is what is to be seen.
                unsafe { &*pointer }.fetch_add(1, SeqCst);
            }
        });
        shared.free();
        user.join().expect("it ends");
    });
    assert_eq!((bytes(&found).0, bytes(&found).1, bytes(&found).2), (8, 0, 1));
}

#[test]
fn used_before_the_first_step_of_a_thread() {
    let found = failure(|| {
        let pointer = Box::into_raw(Box::new(1u32));
        let address = pointer.expose_provenance();
        let reader = thread::spawn(move || {
            // SAFETY: none: that is what is to be seen.
            unsafe { std::ptr::with_exposed_provenance::<u32>(address).read_volatile() }
        });
        // SAFETY: it came from a box.
        drop(unsafe { Box::from_raw(pointer) });
        drop(reader.join());
    });
    assert_eq!(bytes(&found), (4, 0, 1, reads()));
}

#[test]
fn freed_before_the_first_step_of_a_thread() {
    let found = failure(|| {
        let pointer = Box::into_raw(Box::new(1u16));
        let address = pointer.expose_provenance();
        let flag = AtomicUsize::new(0);
        let freer = thread::spawn(move || {
            // SAFETY: it came from a box.
            drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<u16>(address)) });
        });
        flag.load(SeqCst);
        // SAFETY: none: that is what is to be seen.
        std::hint::black_box(unsafe { pointer.read_volatile() });
        drop(freer.join());
    });
    assert_eq!(bytes(&found), (2, 1, 0, reads()));
}

#[test]
fn used_by_the_thread_that_freed_it() {
    let found = failure(|| {
        let pointer = Box::into_raw(Box::new([1u64; 4]));
        let step = AtomicUsize::new(0);
        // SAFETY: it came from a box.
        drop(unsafe { Box::from_raw(pointer) });
        step.store(1, SeqCst);
        // SAFETY: none: that is what is to be seen.
        std::hint::black_box(unsafe { pointer.cast::<u64>().read_volatile() });
    });
    assert_eq!(bytes(&found), (32, 0, 0, reads()));
}

#[test]
fn freed_twice() {
    let found = failure(|| {
        let pointer = Box::into_raw(Box::new(7u64));
        let address = pointer.expose_provenance();
        let taken = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&taken);
        let free = move |taken: &AtomicUsize| {
            // Not one step, but two.
            if taken.load(SeqCst) == 0 {
                taken.store(1, SeqCst);
                // SAFETY: none: both may come here.
                drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<u64>(address)) });
            }
        };
        let thread = thread::spawn(move || free(&other));
        free(&taken);
        thread.join().expect("it ends");
    });
    let Failure::DoubleFree(freed) = &found else { panic!("{found}") };
    assert_eq!(freed.size, 8);
    assert_ne!(freed.freed.thread, freed.used.thread);
}
