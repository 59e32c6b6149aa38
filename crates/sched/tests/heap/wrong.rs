//! Programs that use memory after its free, or free it twice: each is found by every search.

use std::sync::Arc;

use linpoint_sched::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use linpoint_sched::sync::{Mutex, mpsc};
use linpoint_sched::{Failure, thread};

use super::{Shared, bytes, failure, reads, writes};

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

/// A pointer that threads hand to one another.
#[derive(Clone, Copy)]
struct Raw<T>(*mut T);

// SAFETY: the tests say who uses it when.
unsafe impl<T> Send for Raw<T> {}

impl<T> Raw<T> {
    fn new(value: T) -> Raw<T> {
        Raw(Box::into_raw(Box::new(value)))
    }

    fn free(self) {
        // SAFETY: it came from a box.
        drop(unsafe { Box::from_raw(self.0) });
    }

    fn read(self) {
        // SAFETY: it came from a box; the tests are about when.
        std::hint::black_box(unsafe { self.0.cast::<u8>().read_volatile() });
    }
}

#[test]
fn used_after_the_lock_was_given_back() {
    let found = failure(|| {
        let place = Arc::new(Mutex::new(Some(Raw::new([1u32; 3]))));
        let other = Arc::clone(&place);
        let freer = thread::spawn(move || {
            let taken = other.lock().expect("a lock").take();
            if let Some(taken) = taken {
                taken.free();
            }
        });
        let seen = *place.lock().expect("a lock");
        if let Some(seen) = seen {
            seen.read();
        }
        drop(freer.join());
    });
    assert_eq!(bytes(&found), (12, 1, 0, reads()));
}

#[test]
fn used_after_it_was_sent_away() {
    let found = failure(|| {
        let (sender, receiver) = mpsc::channel::<Raw<u64>>();
        let raw = Raw::new(1u64);
        sender.send(raw).expect("sent");
        let freer = thread::spawn(move || receiver.recv().expect("received").free());
        raw.read();
        drop(freer.join());
    });
    assert_eq!(bytes(&found), (8, 1, 0, reads()));
}

#[test]
fn large_and_aligned_blocks_are_seen_in_all_their_parts() {
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Line([u8; 64]);
    let at = |size: usize, part: usize| {
        failure(move || {
            let block = vec![0u8; size].into_boxed_slice();
            let raw = Raw(Box::into_raw(block).cast::<u8>());
            let freer = thread::spawn(move || {
                let raw = raw;
                // SAFETY: that is what it came from.
                drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(raw.0, size)) });
            });
            AtomicBool::new(false).store(true, SeqCst);
            // SAFETY: it lies in the block; the test is about when.
            unsafe { raw.0.add(part).write_volatile(1) };
            drop(freer.join());
        })
    };
    for (size, part) in [(1, 0), (4095, 0), (4096, 4095), (4097, 0), (4097, 4096), (100_000, 50_000)] {
        assert_eq!(bytes(&at(size, part)), (size, 1, 0, writes()));
    }
    let found = failure(|| {
        let raw = Raw::new(Line([1; 64]));
        assert!(raw.0.addr().is_multiple_of(64));
        let freer = thread::spawn(move || raw.free());
        AtomicBool::new(false).store(true, SeqCst);
        // SAFETY: as above.
        std::hint::black_box(unsafe { (&raw mut (*raw.0).0[63]).read_volatile() });
        drop(freer.join());
    });
    assert_eq!(bytes(&found), (64, 1, 0, reads()));
}

#[test]
fn used_where_it_was_before_it_grew() {
    let found = failure(|| {
        let mut list = vec![1u8; 8];
        let raw = Raw(list.as_mut_ptr());
        let reader = thread::spawn(move || raw.read());
        list.reserve_exact(100);
        drop(reader.join());
    });
    assert_eq!(bytes(&found), (8, 0, 1, reads()));
}

#[test]
fn freed_while_a_thread_unwinds() {
    let found = failure(|| {
        struct Owner(Raw<u64>);
        impl Drop for Owner {
            fn drop(&mut self) {
                self.0.free();
            }
        }
        let raw = Raw::new(1u64);
        let thread = thread::spawn(move || {
            let caught = std::panic::catch_unwind(|| {
                let _owner = Owner(raw);
                panic!("it unwinds");
            });
            drop(caught);
            AtomicBool::new(false).store(true, SeqCst);
        });
        AtomicBool::new(false).store(true, SeqCst);
        raw.read();
        drop(thread.join());
    });
    assert_eq!(bytes(&found), (8, 1, 0, reads()));
}

#[test]
fn used_by_a_destructor_of_a_thread_local_value() {
    struct Late(std::cell::Cell<Option<Raw<u64>>>);
    impl Drop for Late {
        fn drop(&mut self) {
            if let Some(raw) = self.0.get() {
                raw.read();
            }
        }
    }
    linpoint_sched::thread_local! {
        static LATE: Late = const { Late(std::cell::Cell::new(None)) };
    }
    let found = failure(|| {
        let raw = Raw::new(1u64);
        // The end of a scope does not wait for it.
        thread::scope(|scope| {
            scope.spawn(move || LATE.with(|late| late.0.set(Some(raw))));
        });
        raw.free();
    });
    assert_eq!(bytes(&found), (8, 0, 1, reads()));
}

#[test]
fn the_thread_that_uses_it_is_created_by_another() {
    let found = failure(|| {
        let raw = Raw::new(1u64);
        let parent = thread::spawn(move || {
            let child = thread::spawn(move || raw.read());
            AtomicBool::new(false).store(true, SeqCst);
            drop(child.join());
        });
        raw.free();
        drop(parent.join());
    });
    assert_eq!(bytes(&found), (8, 0, 2, reads()));
}

#[test]
fn one_panics_and_another_uses() {
    let found = failure(|| {
        let raw = Raw::new(1u64);
        let reader = thread::spawn(move || {
            raw.read();
            AtomicBool::new(false).store(true, SeqCst);
            raw.read();
        });
        raw.free();
        drop(reader.join());
    });
    assert_eq!(bytes(&found).0, 8);
}

#[test]
fn several_at_a_time() {
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    a_read_in_the_segment_of_the_load();
                    freed_twice();
                    super::correct::a_correct_program();
                }
            });
        }
    });
}
