//! What loom checks beyond the explorer: leaks, plain accesses to atomics, accesses to cells that last.

use std::collections::BTreeSet;

use loom::alloc::{Layout, Track};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use loom::thread;

use crate::failure;

#[test]
fn a_counted_value_that_is_left_is_a_leak() {
    let told = failure(|| std::mem::forget(Arc::new(1)));
    assert!(
        told.starts_with("leak: the value of an `Arc`, given out at") && told.contains("checks.rs"),
        "{told}"
    );
    // Given back through pointers it is none.
    loom::model(|| {
        let pointer = Arc::into_raw(Arc::new(1));
        // SAFETY: each reference is dropped once.
        unsafe {
            Arc::increment_strong_count(pointer);
            Arc::decrement_strong_count(pointer);
            drop(Arc::from_raw(pointer));
        }
        assert_eq!(Arc::try_unwrap(Arc::new(2)).unwrap(), 2);
        drop(Arc::new(3).into_std());
    });
}

#[test]
fn a_leak_in_some_schedules_only_is_found() {
    let told = failure(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || other.store(1, Relaxed));
        if flag.load(Relaxed) == 1 {
            std::mem::forget(Track::new(()));
        }
        child.join().unwrap();
    });
    assert!(told.starts_with("leak: a tracked value"), "{told}");
}

#[test]
fn blocks_of_memory_are_tracked() {
    let layout = Layout::new::<u64>();
    // SAFETY: the layout has a size.
    let told = failure(move || _ = unsafe { loom::alloc::alloc(layout) });
    assert!(told.starts_with("leak: a block of memory"), "{told}");
    // SAFETY: freed as it was allocated; the second time it is refused.
    let told = failure(move || unsafe {
        let block = loom::alloc::alloc_zeroed(layout);
        loom::alloc::dealloc(block, layout);
        loom::alloc::dealloc(block, layout);
    });
    assert!(told.contains("pointer not tracked"), "{told}");
}

#[test]
fn a_plain_access_to_an_atomic_must_be_ordered() {
    fn reads(ordering: loom::sync::atomic::Ordering) -> impl Fn() {
        move || {
            let both = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let other = Arc::clone(&both);
            let child = thread::spawn(move || {
                other.0.store(7, Relaxed);
                other.1.store(1, ordering);
            });
            if both.1.load(Acquire) == 1 {
                // SAFETY: whether nobody writes is what the model is about.
                assert_eq!(unsafe { both.0.unsync_load() }, 7);
            }
            child.join().unwrap();
        }
    }
    let told = failure(reads(Relaxed));
    assert!(told.starts_with("data race: ") && told.contains("without atomicity"), "{told}");
    loom::model(reads(Release));
}

#[test]
fn a_change_as_a_whole_must_come_after_all_others() {
    /// The last to leave changes the count as a whole.
    fn counted(ordering: loom::sync::atomic::Ordering) -> impl Fn() {
        struct Shared {
            left: AtomicUsize,
            value: AtomicUsize,
        }
        struct Pointer(*mut Shared);
        fn leave(pointer: &Pointer, ordering: loom::sync::atomic::Ordering) {
            // SAFETY: it is there until the last one left.
            let shared = unsafe { &*pointer.0 };
            shared.value.fetch_add(1, Relaxed);
            if shared.left.fetch_sub(1, ordering) == 1 {
                // SAFETY: nobody else is left.
                let mut shared = unsafe { Box::from_raw(pointer.0) };
                assert_eq!(shared.value.with_mut(|value| *value), 2);
            }
        }
        move || {
            let shared = Shared { left: AtomicUsize::new(2), value: AtomicUsize::new(0) };
            let pointer = Box::into_raw(Box::new(shared));
            let other = Pointer(pointer);
            let child = thread::spawn(move || leave(&other, ordering));
            leave(&Pointer(pointer), ordering);
            child.join().unwrap();
        }
    }
    assert!(failure(counted(Relaxed)).starts_with("data race: "));
    loom::model(counted(AcqRel));
}

#[test]
fn accesses_to_a_cell_must_not_overlap() {
    let told = failure(|| {
        let cell = UnsafeCell::new(0);
        let _reader = cell.get();
        cell.with_mut(|_| ());
    });
    assert!(told.contains("a cell is being read when another access begins to write it"), "{told}");
    // One that lasts while others go, and that they are ordered with at both ends.
    let told = failure(|| {
        let both = Arc::new((UnsafeCell::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&both);
        let child = thread::spawn(move || {
            if other.1.load(Acquire) == 1 {
                other.0.with(|_| ());
                other.1.store(2, Release);
            }
        });
        both.0.with_mut(|_| {
            both.1.store(1, Release);
            both.1.load(Acquire);
        });
        child.join().unwrap();
    });
    assert!(told.starts_with("data race: "), "{told}");
    // A pointer may outlive its cell.
    loom::model(|| {
        let cell = Box::new(UnsafeCell::new(1));
        let pointer = cell.get();
        drop(cell);
        pointer.with(|_| ());
    });
}

/// A lock whose guard gives it back before its pointer into the cell goes, as fields are dropped after their owner.
fn spin_locked(used_late: bool) -> impl Fn() {
    struct Lock {
        held: AtomicUsize,
        value: UnsafeCell<u32>,
    }
    struct Guard<'a> {
        lock: &'a Lock,
        value: loom::cell::MutPtr<u32>,
        used_late: bool,
    }
    impl Lock {
        fn lock(&self, used_late: bool) -> Guard<'_> {
            while self.held.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                thread::yield_now();
            }
            Guard { lock: self, value: self.value.get_mut(), used_late }
        }
    }
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            // SAFETY: the lock is held.
            unsafe { *self.value.deref() += 1 };
            self.lock.held.store(0, Release);
            if self.used_late {
                // SAFETY: it is not, and that is what the model is about.
                unsafe { *self.value.deref() += 1 };
            }
        }
    }
    move || {
        let lock = Arc::new(Lock { held: AtomicUsize::new(0), value: UnsafeCell::new(0) });
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || drop(other.lock(used_late)));
        drop(lock.lock(used_late));
        child.join().unwrap();
    }
}

#[test]
fn a_pointer_that_goes_right_after_its_lock_was_given_back_races_with_nobody() {
    loom::model(spin_locked(false));
    assert!(failure(spin_locked(true)).starts_with("data race: "));
}

#[test]
fn a_cell_is_not_there_before_it_was_made() {
    fn published(ordering: loom::sync::atomic::Ordering) -> impl Fn() {
        move || {
            let place = Arc::new(loom::sync::atomic::AtomicPtr::default());
            let other = Arc::clone(&place);
            let child = thread::spawn(move || {
                other.store(Box::into_raw(Box::new(UnsafeCell::new(5))), ordering);
            });
            let found = place.load(Acquire);
            if !found.is_null() {
                // SAFETY: it is there until the end.
                unsafe { (*found).with(|value| assert_eq!(*value, 5)) };
            }
            child.join().unwrap();
            // SAFETY: nobody else is left.
            drop(unsafe { Box::from_raw(place.load(Relaxed)) });
        }
    }
    assert!(failure(published(Relaxed)).starts_with("data race: "));
    loom::model(published(Release));
}

#[test]
fn an_atomic_is_used_after_it_was_dropped() {
    struct Pointer(*mut AtomicUsize);
    let layout = Layout::new::<AtomicUsize>();
    let told = failure(move || {
        // SAFETY: who uses it too late is what the model is about.
        unsafe {
            let block = loom::alloc::alloc(layout).cast::<AtomicUsize>();
            block.write(AtomicUsize::new(0));
            let other = Pointer(block);
            let child = thread::spawn(move || {
                let Pointer(block) = other;
                (*block).fetch_add(1, AcqRel);
                (*block).load(Relaxed);
            });
            while (*block).load(Acquire) == 0 {
                thread::yield_now();
            }
            block.drop_in_place();
            loom::alloc::dealloc(block.cast(), layout);
            child.join().unwrap();
        }
    });
    assert!(told.contains("use after free: this atomic was dropped"), "{told}");
}

#[test]
fn an_atomic_is_as_large_as_one_of_loom() {
    use loom::sync::atomic::{AtomicPtr, AtomicU64};
    assert_eq!(size_of::<AtomicUsize>(), 8);
    assert_eq!(size_of::<AtomicU64>(), 8);
    assert_eq!(size_of::<AtomicPtr<u8>>(), 8);
    // Outside a model they work as std's.
    let mut value = AtomicUsize::new(3);
    assert_eq!(value.fetch_add(1, Relaxed), 3);
    value.with_mut(|value| *value += 1);
    assert_eq!(value.into_inner(), 5);
}

#[test]
fn who_drops_the_last_reference_of_a_std_arc_is_no_riddle() {
    // The thread that drops it makes steps for what is in it, and which one that is depends on steps that touch other
    // things.
    fn shared(bound: Option<usize>) -> BTreeSet<usize> {
        struct Value {
            first: AtomicUsize,
            second: AtomicUsize,
            last: AtomicUsize,
        }
        impl Drop for Value {
            fn drop(&mut self) {
                self.last.fetch_add(1, AcqRel);
                self.last.load(Relaxed);
            }
        }
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = bound;
        let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
        let inside = std::sync::Arc::clone(&seen);
        builder.check(move || {
            let value = || AtomicUsize::new(0);
            let both = std::sync::Arc::new(Value { first: value(), second: value(), last: value() });
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let other = std::sync::Arc::clone(&both);
                    thread::spawn(move || {
                        let seen = other.first.fetch_add(1, AcqRel);
                        other.second.fetch_add(1, AcqRel);
                        seen
                    })
                })
                .collect();
            let seen = both.second.load(Acquire) + both.first.load(Acquire);
            drop(both);
            inside.lock().unwrap().insert(seen);
            threads.into_iter().for_each(|one| _ = one.join().unwrap());
        });
        std::mem::take(&mut *seen.lock().unwrap())
    }
    let all = BTreeSet::from([0, 1, 2, 3, 4]);
    assert_eq!(shared(None), all);
    assert_eq!(shared(Some(2)), all);
}

#[test]
fn a_thread_that_std_started_is_sent_to_looms() {
    let told = failure(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&value).into_std();
        let child = std::thread::spawn(move || {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| other.load(Relaxed)));
            *caught.unwrap_err().downcast::<&str>().unwrap()
        });
        panic!("{}", child.join().unwrap());
    });
    assert!(told.contains("start threads with `loom::thread::spawn`"), "{told}");
}

/// A count in the block that it counts the references of; an increment in two steps loses one of two.
fn counted_in_place(in_one_step: bool) -> impl Fn() {
    struct Shared {
        count: AtomicUsize,
        value: u64,
    }
    struct Reference(*mut Shared);
    impl Reference {
        fn count(&self) -> &AtomicUsize {
            // SAFETY: whether it is there is what the model is about.
            unsafe { &(*self.0).count }
        }
        fn again(&self, in_one_step: bool) -> Reference {
            if in_one_step {
                self.count().fetch_add(1, Relaxed);
            } else {
                let seen = self.count().load(Relaxed);
                self.count().store(seen + 1, Relaxed);
            }
            Reference(self.0)
        }
    }
    impl Drop for Reference {
        fn drop(&mut self) {
            // SAFETY: as above.
            assert_eq!(unsafe { (*self.0).value }, 7);
            if self.count().fetch_sub(1, AcqRel) == 1 {
                // The count is not dropped, as where memory is freed by hand.
                // SAFETY: as above.
                drop(unsafe { Box::from_raw(self.0.cast::<std::mem::ManuallyDrop<Shared>>()) });
            }
        }
    }
    move || {
        let shared = Shared { count: AtomicUsize::new(1), value: 7 };
        let first = Arc::new(Reference(Box::into_raw(Box::new(shared))));
        let other = Arc::clone(&first);
        let child = thread::spawn(move || drop(other.again(in_one_step)));
        drop(first.again(in_one_step));
        child.join().unwrap();
    }
}

#[test]
fn memory_that_is_used_after_its_free_is_seen() {
    let told = failure(counted_in_place(false));
    assert!(told.starts_with("use after free: ") || told.starts_with("panic: "), "{told}");
    loom::model(counted_in_place(true));
}
