//! Small programs that loom answers wrongly, by the number of its issue where it has one: here the answers are right, those of a
//! memory that is sequentially consistent. What a weaker memory allows besides is not among them, and the last test says so.

use std::collections::BTreeSet;

use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize};
use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::{answers, failure};

#[test]
fn a_load_before_the_store_of_a_thread_hides_nothing() {
    // Also 392.
    let seen = answers(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let child = thread::spawn(move || {
            other.load(Relaxed);
            other.store(1, Relaxed);
        });
        let seen = x.load(Relaxed);
        child.join().unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn a_needless_load_loses_no_outcome() {
    // 166.
    fn outcomes(with_load: bool) -> BTreeSet<(usize, usize)> {
        answers(move || {
            let entry = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let (first, second) = (Arc::clone(&entry), entry);
            let writer = thread::spawn(move || {
                first.0.store(1, SeqCst);
                first.1.store(1, SeqCst);
                first.1.store(0, SeqCst);
                if with_load {
                    first.0.load(SeqCst);
                }
                first.0.store(0, SeqCst);
            });
            let reader = thread::spawn(move || (second.1.load(SeqCst), second.0.load(SeqCst)));
            writer.join().unwrap();
            reader.join().unwrap()
        })
    }
    let all = BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!(outcomes(false), all);
    assert_eq!(outcomes(true), all);
}

#[test]
fn sequentially_consistent_stores_are_not_buffered() {
    // 180.
    let seen = answers(|| {
        let flags = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let (a, b) = (Arc::clone(&flags), flags);
        let first = thread::spawn(move || {
            a.0.store(1, SeqCst);
            a.1.load(SeqCst)
        });
        let second = thread::spawn(move || {
            b.1.store(1, SeqCst);
            b.0.load(SeqCst)
        });
        (first.join().unwrap(), second.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
}

#[test]
fn readers_that_wait_agree_on_the_order_of_two_stores() {
    // 191.
    let seen = answers(|| {
        let (x, y) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let count = Arc::new(AtomicUsize::new(0));
        let set = |flag: &Arc<AtomicBool>| {
            let flag = Arc::clone(flag);
            thread::spawn(move || flag.store(true, SeqCst))
        };
        fn read(first: &AtomicBool, second: &AtomicBool, count: &AtomicUsize) {
            while !first.load(SeqCst) {
                thread::yield_now();
            }
            if second.load(SeqCst) {
                count.fetch_add(1, SeqCst);
            }
        }
        let stores = [set(&x), set(&y)];
        let reader = {
            let (x, y, count) = (Arc::clone(&x), Arc::clone(&y), Arc::clone(&count));
            thread::spawn(move || read(&x, &y, &count))
        };
        read(&y, &x, &count);
        for store in stores {
            store.join().unwrap();
        }
        reader.join().unwrap();
        count.load(SeqCst)
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

#[test]
fn a_swap_comes_before_a_store_or_after_it() {
    // 254.
    let seen = answers(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || other.swap(false, Relaxed));
        flag.store(true, Relaxed);
        let before = child.join().unwrap();
        (before, flag.load(Relaxed))
    });
    assert_eq!(seen, BTreeSet::from([(false, true), (true, false)]));
}

#[test]
fn who_holds_the_lock_sees_both_changes_or_none() {
    // 389.
    let seen = answers(|| {
        let both = Arc::new((Mutex::new(true), AtomicBool::new(true)));
        let other = Arc::clone(&both);
        let child = thread::spawn(move || {
            let mut a = other.0.lock().unwrap();
            other.1.store(false, Relaxed);
            *a = false;
        });
        let guard = both.0.lock().unwrap();
        let seen = (*guard, both.1.swap(false, Relaxed));
        drop(guard);
        child.join().unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([(false, false), (true, true)]));
}

/// A list of slots that whoever comes first allocates; a thread that finds it there looks with this ordering.
fn lazily_allocated(ordering: loom::sync::atomic::Ordering) {
    struct Slots {
        head: AtomicU32,
        slots: AtomicPtr<Vec<AtomicU32>>,
        lock: Mutex<()>,
    }
    impl Slots {
        fn push(&self, ordering: loom::sync::atomic::Ordering) -> u32 {
            let mut slots = self.slots.load(ordering);
            if slots.is_null() {
                let guard = self.lock.lock().unwrap();
                if self.slots.load(Acquire).is_null() {
                    let made = (0..4).map(|index| AtomicU32::new(index + 1)).collect();
                    self.slots.store(Box::into_raw(Box::new(made)), loom::sync::atomic::Ordering::Release);
                }
                drop(guard);
                slots = self.slots.load(Acquire);
            }
            // SAFETY: it is there, and goes with `Slots`.
            let slots = unsafe { &*slots };
            let mut head = self.head.load(Acquire);
            loop {
                let next = slots[head as usize].load(Acquire);
                match self.head.compare_exchange(head, next, SeqCst, Acquire) {
                    Ok(_) => return head,
                    Err(now) => head = now,
                }
            }
        }
    }
    impl Drop for Slots {
        fn drop(&mut self) {
            let slots = self.slots.with_mut(|slots| *slots);
            // SAFETY: nobody else is left.
            drop(unsafe { Box::from_raw(slots) });
        }
    }
    let slots =
        Arc::new(Slots { head: AtomicU32::new(0), slots: AtomicPtr::default(), lock: Mutex::new(()) });
    let other = Arc::clone(&slots);
    let child = thread::spawn(move || other.push(ordering));
    let mine = slots.push(ordering);
    assert_ne!(child.join().unwrap(), mine);
}

#[test]
fn what_is_found_without_acquiring_it_is_used_before_it_was_made() {
    // 260: loom is right, and its words were not clear.
    let told = failure(|| lazily_allocated(Relaxed));
    assert!(told.contains("data race: ") && told.contains("litmus.rs"), "{told}");
    loom::model(|| lazily_allocated(Acquire));
}

#[test]
fn a_lock_that_is_tried_stops_nobody() {
    // 376.
    let seen = answers(|| {
        let lock = Arc::new(Mutex::new(()));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || other.try_lock().is_ok());
        let guard = lock.try_lock();
        let mine = guard.is_ok();
        let theirs = child.join().unwrap();
        drop(guard);
        (mine, theirs)
    });
    assert_eq!(seen, BTreeSet::from([(false, true), (true, false), (true, true)]));
}

#[test]
fn four_threads_agree_on_the_order_of_two_stores_and_that_is_soon_known() {
    // Independent reads of independent writes: 191 with readers that do not wait.
    let seen = answers(|| {
        let both = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let at = |body: fn(&(AtomicUsize, AtomicUsize)) -> (usize, usize)| {
            let both = Arc::clone(&both);
            thread::spawn(move || body(&both))
        };
        let stores = [
            at(|both| {
                both.0.store(1, Release);
                (0, 0)
            }),
            at(|both| {
                both.1.store(1, Release);
                (0, 0)
            }),
        ];
        let one = at(|both| (both.0.load(Acquire), both.1.load(Acquire)));
        let two = at(|both| (both.1.load(Acquire), both.0.load(Acquire)));
        stores.into_iter().for_each(|store| _ = store.join().unwrap());
        (one.join().unwrap(), two.join().unwrap())
    });
    assert_eq!(seen.len(), 15);
    assert!(!seen.contains(&((1, 0), (1, 0))), "the readers saw the stores in different orders");
}

#[test]
fn what_only_a_weak_memory_does_is_not_seen() {
    // Store buffering: (0, 0) is right with these orderings, and is no answer of this mode.
    let seen = answers(|| {
        let both = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&both);
        let child = thread::spawn(move || {
            other.0.store(1, Relaxed);
            other.1.load(Relaxed)
        });
        both.1.store(1, Relaxed);
        let mine = both.0.load(Relaxed);
        (child.join().unwrap(), mine)
    });
    assert_eq!(seen, BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
}
