//! References that count: who drops the last one, what the counts are, and what comes after what.

use linpoint_sched::cell::UnsafeCell;
use linpoint_sched::sync::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint_sched::sync::{Arc, Weak};
use linpoint_sched::{Limits, thread};

use crate::explore::{first_failure, outcomes, same_by_all};

#[test]
fn counts_are_seen_in_every_order() {
    let found = outcomes(|| {
        let first = Arc::new(0);
        let second = Arc::clone(&first);
        let child = thread::spawn(move || drop(second));
        let count = Arc::strong_count(&first);
        child.join().unwrap();
        (count, Arc::strong_count(&first))
    });
    assert_eq!(found.fine(), [(1, 1), (2, 1)]);
}

#[test]
fn a_weak_reference_finds_the_value_or_does_not() {
    let found = outcomes(|| {
        let strong = Arc::new(7);
        let weak = Arc::downgrade(&strong);
        let child = thread::spawn(move || drop(strong));
        let seen = weak.upgrade().map(|value| *value);
        child.join().unwrap();
        (seen, weak.upgrade().is_some(), weak.strong_count())
    });
    assert_eq!(found.fine(), [(None, false, 0), (Some(7), false, 0)]);
    assert!(Weak::<u32>::new().upgrade().is_none());
}

#[test]
fn the_value_is_taken_by_the_last_or_by_nobody() {
    let program = |take: fn(Arc<u32>) -> bool| {
        outcomes(move || {
            let one = Arc::new(1);
            let two = Arc::clone(&one);
            let child = thread::spawn(move || take(two));
            let taken = take(one);
            (taken, child.join().unwrap())
        })
        .fine()
    };
    assert_eq!(program(|arc| Arc::into_inner(arc).is_some()), [(false, true), (true, false)]);
    let both = program(|arc| Arc::try_unwrap(arc).is_ok());
    assert_eq!(both, [(false, false), (false, true), (true, false)]);
    let unique = program(|mut arc| Arc::get_mut(&mut arc).is_some());
    assert_eq!(unique, [(false, false), (false, true), (true, false)]);
}

#[test]
fn copies_are_made_where_the_value_is_shared() {
    let found = outcomes(|| {
        let mut one = Arc::new(1);
        let two = Arc::clone(&one);
        let child = thread::spawn(move || *two);
        *Arc::make_mut(&mut one) += 1;
        (*one, child.join().unwrap())
    });
    assert_eq!(found.fine(), [(2, 1)]);
    let slices: (Arc<[u32]>, Arc<str>) = (vec![1, 2].into(), "text".into());
    assert_eq!((slices.0.len(), &*slices.1), (2, "text"));
    let object: Arc<dyn Fn() -> u32> = Arc::from(Box::new(|| 5_u32) as Box<dyn Fn() -> u32>);
    assert_eq!(object(), 5);
}

struct Plain(UnsafeCell<u32>);
// SAFETY: that is what is tested.
unsafe impl Send for Plain {}
// SAFETY: as above.
unsafe impl Sync for Plain {}

impl Plain {
    fn add(&self) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        *self.0.get_mut() += 1;
    }
}

#[test]
fn a_destructor_comes_after_what_others_did() {
    let found = outcomes(|| {
        let one = Arc::new(Plain(UnsafeCell::new(0)));
        let two = Arc::clone(&one);
        let children = (
            thread::spawn(move || {
                one.add();
                drop(one);
            }),
            thread::spawn(move || drop(two)),
        );
        children.0.join().unwrap();
        children.1.join().unwrap();
    });
    assert_eq!(found.fine(), [()]);
    // Whoever takes the value out comes after the others as well.
    let found = outcomes(|| {
        let one = Arc::new(Plain(UnsafeCell::new(0)));
        let two = Arc::clone(&one);
        let child = thread::spawn(move || two.add());
        if let Ok(mut plain) = Arc::try_unwrap(one) {
            *plain.0.get_mut() += 1;
        }
        child.join().unwrap();
    });
    assert_eq!(found.fine(), [()]);
}

#[test]
fn references_alone_order_nothing() {
    let failure = first_failure(|| {
        let one = Arc::new(Plain(UnsafeCell::new(0)));
        let two = Arc::clone(&one);
        let child = thread::spawn(move || two.add());
        one.add();
        child.join().unwrap();
    });
    assert_eq!(failure.expect("a race").name(), "data race");
    let failure = first_failure(|| {
        let one = Arc::new(Plain(UnsafeCell::new(0)));
        let two = Arc::clone(&one);
        let child = thread::spawn(move || {
            let three = Arc::clone(&two);
            two.add();
            drop((two, three));
        });
        if Arc::strong_count(&one) == 1 {
            one.add();
        }
        child.join().unwrap();
    });
    assert_eq!(failure.expect("to count is relaxed").name(), "data race");
}

/// Programs whose outcomes depend on counts, under every search.
#[test]
fn reductions_hide_nothing() {
    /// Says who dropped it.
    struct Tells(std::sync::Arc<AtomicU32>, u32);
    impl Drop for Tells {
        fn drop(&mut self) {
            let by = match thread::current().name() {
                Some("a") => 1,
                Some("b") => 2,
                _ => 3,
            };
            self.0.fetch_add(by * self.1, SeqCst);
        }
    }
    let spawn = |name: &str, body: Box<dyn FnOnce() + Send>| {
        thread::Builder::new().name(name.to_owned()).spawn(body).unwrap()
    };
    same_by_all(&Limits::default(), || {
        let told = std::sync::Arc::new(AtomicU32::new(0));
        let one = Arc::new(Tells(std::sync::Arc::clone(&told), 1));
        let (two, three) = (Arc::clone(&one), Arc::clone(&one));
        let a = spawn("a", Box::new(move || drop(two)));
        let b = spawn("b", Box::new(move || drop(three)));
        drop(one);
        a.join().unwrap();
        b.join().unwrap();
        u64::from(told.load(SeqCst))
    });
    same_by_all(&Limits::default(), || {
        let told = std::sync::Arc::new(AtomicU32::new(0));
        let one = Arc::new(Tells(std::sync::Arc::clone(&told), 1));
        let two = Arc::clone(&one);
        let weak = Arc::downgrade(&one);
        let a = spawn("a", Box::new(move || drop(one)));
        let b = spawn("b", Box::new(move || drop(two)));
        let seen = weak.upgrade();
        let found = u64::from(seen.is_some());
        drop(seen);
        a.join().unwrap();
        b.join().unwrap();
        found * 100 + u64::from(told.load(SeqCst))
    });
    same_by_all(&Limits::default(), || {
        let one = Arc::new(0);
        let two = Arc::clone(&one);
        let a = spawn(
            "a",
            Box::new(move || {
                let more = Arc::clone(&two);
                drop(two);
                drop(more);
            }),
        );
        let counts = [Arc::strong_count(&one), Arc::strong_count(&one)];
        a.join().unwrap();
        counts.iter().fold(0, |sum, &count| sum * 10 + count as u64)
    });
}

/// A loop that clones and drops at every turn is a loop that waits.
#[test]
fn a_loop_that_counts_references_waits() {
    let found = outcomes(|| {
        let shared = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || other.store(1, SeqCst));
        while Arc::clone(&shared).load(SeqCst) == 0 {}
        while Arc::strong_count(&shared) > 1 {}
        child.join().unwrap();
    });
    assert_eq!(found.fine(), [()]);
}
