//! Cells, and races on them.

use linpoint_sched::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, fence};
use linpoint_sched::cell::{Cell, UnsafeCell};
use linpoint_sched::sync::{Condvar, Mutex, RwLock, mpsc};
use linpoint_sched::{Failure, thread};
use std::sync::Arc;

use crate::explore::{first_failure, outcomes};

/// A cell that is shared on the programs' own responsibility.
struct Shared<T>(UnsafeCell<T>);

// SAFETY: the programs below are explored on one OS thread; where they race, that is what they are for.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    const fn new(value: T) -> Shared<T> {
        Shared(UnsafeCell::new(value))
    }

    #[track_caller]
    fn read(&self) -> T {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    fn write(&self, new: T) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}

/// Does passing a value through a cell, published with `publish` and looked for with `seen`, race?
fn message_passing(publish: fn(&AtomicBool), seen: fn(&AtomicBool) -> bool) -> bool {
    let failure = first_failure(move || {
        let shared = Arc::new((Shared::new(0), AtomicBool::new(false)));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || {
            other.0.write(1);
            publish(&other.1);
        });
        if seen(&shared.1) {
            assert_eq!(shared.0.read(), 1);
        }
        child.join().unwrap();
        assert_eq!(shared.0.read(), 1);
    });
    match failure {
        None => false,
        Some(Failure::DataRace { accesses: [one, two] }) => {
            assert_eq!(
                (one.0.0, one.2, two.0.0, two.2),
                (1, true, 0, false),
                "the write of 1, the read of 0"
            );
            assert!(one.1.file().ends_with("cells.rs") && two.1.line() > one.1.line());
            true
        }
        Some(other) => panic!("{other}"),
    }
}

#[test]
fn publication_needs_release_and_acquire() {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let release: fn(&AtomicBool) = |flag| flag.store(true, Release);
    let relaxed: fn(&AtomicBool) = |flag| flag.store(true, Relaxed);
    let acquire: fn(&AtomicBool) -> bool = |flag| flag.load(Acquire);
    assert!(!message_passing(release, acquire));
    assert!(message_passing(relaxed, acquire));
    assert!(message_passing(release, |flag| flag.load(Relaxed)));
    assert!(message_passing(relaxed, |flag| flag.load(Relaxed)));
    assert!(!message_passing(|flag| flag.store(true, SeqCst), |flag| flag.load(SeqCst)));
    // By read-modify-writes, and a failed one that only reads.
    let swap: fn(&AtomicBool) = |flag| {
        flag.swap(true, AcqRel);
    };
    assert!(!message_passing(swap, |flag| flag.fetch_or(false, AcqRel)));
    let failed: fn(&AtomicBool) -> bool =
        |flag| flag.compare_exchange(false, false, Relaxed, Acquire).is_err();
    assert!(!message_passing(release, failed));
    assert!(message_passing(release, |flag| flag.compare_exchange(false, false, Acquire, Relaxed).is_err()));
}

#[test]
fn fences_make_relaxed_accesses_enough() {
    use Ordering::{Acquire, Relaxed, Release, SeqCst};
    let publish: fn(&AtomicBool) = |flag| {
        fence(Release);
        flag.store(true, Relaxed);
    };
    let seen: fn(&AtomicBool) -> bool = |flag| {
        let seen = flag.load(Relaxed);
        fence(Acquire);
        seen
    };
    assert!(!message_passing(publish, seen));
    assert!(!message_passing(publish, |flag| flag.load(Acquire)));
    assert!(!message_passing(|flag| flag.store(true, Release), seen));
    let late: fn(&AtomicBool) = |flag| {
        flag.store(true, Relaxed);
        fence(SeqCst);
    };
    assert!(message_passing(late, seen), "a fence after the store comes too late");
    let early: fn(&AtomicBool) -> bool = |flag| {
        fence(SeqCst);
        flag.load(Relaxed)
    };
    assert!(message_passing(publish, early), "a fence before the load comes too early");
}

#[test]
fn a_release_sequence_goes_through_read_modify_writes_and_not_through_stores() {
    use Ordering::{Acquire, Relaxed, Release};
    let run = |middle: fn(&AtomicU32)| {
        first_failure(move || {
            let shared = Arc::new((Shared::new(0), AtomicU32::new(0)));
            let (one, two) = (Arc::clone(&shared), Arc::clone(&shared));
            let writer = thread::spawn(move || {
                one.0.write(1);
                one.1.store(1, Release);
            });
            let middle = thread::spawn(move || {
                if two.1.load(Relaxed) == 1 {
                    middle(&two.1);
                }
            });
            if shared.1.load(Acquire) == 2 {
                shared.0.read();
            }
            writer.join().unwrap();
            middle.join().unwrap();
        })
    };
    let add: fn(&AtomicU32) = |flag| {
        flag.fetch_add(1, Relaxed);
    };
    assert!(run(add).is_none());
    assert!(matches!(run(|flag| flag.store(2, Relaxed)), Some(Failure::DataRace { .. })));
}

#[test]
fn two_writes_race_and_two_reads_do_not() {
    let run = |touch: fn(&Shared<u32>)| {
        first_failure(move || {
            let shared = Arc::new(Shared::new(0));
            let other = Arc::clone(&shared);
            let child = thread::spawn(move || touch(&other));
            touch(&shared);
            child.join().unwrap();
        })
    };
    let text = run(|cell| cell.write(1)).unwrap().to_string();
    assert!(text.starts_with("data race: thread 1 writes at "), "{text}");
    assert!(text.ends_with("and nothing orders the two"), "{text}");
    let read: fn(&Shared<u32>) = |cell| {
        cell.read();
    };
    assert!(run(read).is_none());
    let pointer: fn(&Shared<u32>) = |cell| {
        cell.0.get();
    };
    assert!(run(pointer).is_none(), "the pointer alone is a read");
}

#[test]
fn creation_and_join_order_everything() {
    let found = outcomes(|| {
        let shared = Shared::new(1);
        shared.write(2);
        thread::scope(|scope| {
            scope.spawn(|| shared.write(shared.read() + 1)).join().unwrap();
            shared.write(shared.read() + 1);
            scope.spawn(|| shared.write(shared.read() + 1));
        });
        shared.read()
    });
    assert_eq!(found.fine(), [5]);
    let failure = first_failure(|| {
        let shared = Shared::new(1);
        thread::scope(|scope| {
            scope.spawn(|| shared.write(2));
            shared.read();
        });
    });
    assert!(matches!(failure, Some(Failure::DataRace { .. })), "what follows the creation is not ordered");
}

#[test]
fn locks_order_and_readers_do_not_order_one_another() {
    let found = outcomes(|| {
        let shared = Arc::new((Mutex::new(()), Shared::new(0)));
        let bump = |shared: &(Mutex<()>, Shared<i32>)| {
            let _guard = shared.0.lock().unwrap();
            shared.1.write(shared.1.read() + 1);
        };
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || bump(&other));
        bump(&shared);
        child.join().unwrap();
        shared.1.read()
    });
    assert_eq!(found.fine(), [2]);
    let run = |write: bool| {
        first_failure(move || {
            let shared = Arc::new((RwLock::new(()), Shared::new(0)));
            let other = Arc::clone(&shared);
            let child = thread::spawn(move || {
                let _guard = other.0.write().unwrap();
                other.1.write(1);
            });
            if write {
                let _guard = shared.0.read().unwrap();
                shared.1.write(1);
            } else {
                let _guard = shared.0.read().unwrap();
                shared.1.read();
            }
            child.join().unwrap();
        })
    };
    assert!(run(false).is_none());
    assert!(run(true).is_none(), "a reader and a writer are ordered, whatever they do");
    let failure = first_failure(|| {
        let shared = Arc::new((RwLock::new(()), Shared::new(0)));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || {
            let _guard = other.0.read().unwrap();
            other.1.write(1);
        });
        {
            let _guard = shared.0.read().unwrap();
            shared.1.write(2);
        }
        child.join().unwrap();
    });
    assert!(matches!(failure, Some(Failure::DataRace { .. })), "two readers that write");
}

#[test]
fn messages_and_tokens_carry_order() {
    let found = outcomes(|| {
        let shared = Arc::new(Shared::new(0));
        let (sender, receiver) = mpsc::channel();
        let (other, parent) = (Arc::clone(&shared), thread::current());
        let child = thread::spawn(move || {
            other.write(1);
            sender.send(()).unwrap();
            thread::park();
            other.write(other.read() + 1);
            drop(sender);
            let _ = parent;
        });
        receiver.recv().unwrap();
        shared.write(shared.read() + 1);
        child.thread().unpark();
        assert!(receiver.recv().is_err());
        shared.read()
    });
    assert_eq!(found.fine(), [3]);
    let failure = first_failure(|| {
        let shared = Arc::new(Shared::new(0));
        let (sender, receiver) = mpsc::channel();
        let other = Arc::clone(&shared);
        thread::spawn(move || {
            sender.send(()).unwrap();
            other.write(1);
        });
        receiver.recv().unwrap();
        shared.read();
    });
    assert!(matches!(failure, Some(Failure::DataRace { .. })), "what follows the send is not ordered");
}

#[test]
fn a_notification_alone_orders_nothing_but_its_mutex_does() {
    let found = outcomes(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new(), Shared::new(0)));
        let other = Arc::clone(&shared);
        thread::spawn(move || {
            other.2.write(1);
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let guard = shared.0.lock().unwrap();
        drop(shared.1.wait_while(guard, |ready| !*ready).unwrap());
        shared.2.read()
    });
    assert_eq!(found.fine(), [1]);
}

#[test]
fn memory_that_is_freed_and_used_again_is_new() {
    struct Node {
        value: Shared<u32>,
    }
    let found = outcomes(|| {
        let slot = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Node>()));
        let body = |slot: &AtomicPtr<Node>| {
            for round in 0..2 {
                let node = Box::into_raw(Box::new(Node { value: Shared::new(0) }));
                // SAFETY: nobody else has it yet.
                unsafe { (*node).value.write(round) };
                let before = slot.swap(node, Ordering::AcqRel);
                if !before.is_null() {
                    // Moved out of its box: the cell is dropped elsewhere than where it was used.
                    // SAFETY: it was swapped out, so nobody else has it.
                    let Node { value } = *unsafe { Box::from_raw(before) };
                    assert!(value.0.into_inner() < 2);
                }
            }
        };
        let other = Arc::clone(&slot);
        let child = thread::spawn(move || body(&other));
        body(&slot);
        child.join().unwrap();
        // SAFETY: the other thread has ended.
        drop(unsafe { Box::from_raw(slot.load(Ordering::Acquire)) });
    });
    assert_eq!(found.fine(), [()]);
}

#[test]
fn cells_behave_as_std_s() {
    let one = Cell::new(1);
    let two = Cell::new(2);
    one.swap(&two);
    one.update(|value| value + 5);
    assert_eq!((one.get(), two.replace(4), two.take(), two.get()), (7, 1, 4, 0));
    assert_eq!(one.clone(), Cell::from(7));
    assert_eq!(format!("{one:?}"), "Cell { value: 7 }");
    let mut cell = UnsafeCell::new(vec![1]);
    cell.get_mut().push(2);
    assert_eq!(UnsafeCell::raw_get(&raw const cell), cell.get());
    assert_eq!(cell.into_inner(), [1, 2]);
    static IN_A_STATIC: Shared<u32> = Shared::new(3);
    assert_eq!(IN_A_STATIC.read(), 3);
    let unsized_cell: &UnsafeCell<[u8]> = &UnsafeCell::new([1, 2, 3]);
    // SAFETY: nobody else has it.
    assert_eq!(unsized_cell.with(|bytes| unsafe { (&(*bytes)).len() }), 3);
}

/// Two threads, each of which does `body` to the same cell; is that a race?
fn race(body: fn(&UnsafeCell<u32>)) -> bool {
    let failure = first_failure(move || {
        let shared = Arc::new(Shared::new(0));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || body(&other.0));
        body(&shared.0);
        child.join().unwrap();
    });
    assert!(failure.as_ref().is_none_or(|failure| failure.name() == "data race"), "{failure:?}");
    failure.is_some()
}

/// A pointer was handed out, and the cell is elsewhere by the next step, or nowhere.
#[test]
fn a_cell_that_moves_is_not_looked_for_where_it_was() {
    assert!(!race(|_| {
        let boxed = Box::new(UnsafeCell::new([7_u8; 3000]));
        boxed.get();
        assert_eq!(boxed.into_inner()[0], 7);
        let mut many: Vec<UnsafeCell<u64>> = (0..8).map(UnsafeCell::new).collect();
        many[3].get();
        many.reserve(1 << 20);
        AtomicU32::new(0).load(Ordering::SeqCst);
        drop(many);
        AtomicU32::new(0).load(Ordering::SeqCst);
    }));
}

#[test]
fn what_is_written_through_a_pointer_is_a_write() {
    // SAFETY: as above.
    unsafe {
        assert!(race(|cell| *cell.get() += 1));
        assert!(race(|cell| {
            let pointer = cell.get();
            AtomicU32::new(0).load(Ordering::SeqCst);
            let other = cell.get();
            assert_eq!(pointer, other);
            *pointer += 1;
        }));
        assert!(!race(|cell| assert_eq!(*cell.get(), 0)));
        assert!(!race(|cell| assert_eq!(*cell.pointer().get(), 0)));
        assert!(race(|cell| *cell.pointer_mut().get() += 1));
    }
}

/// The pointer is used when others have gone.
#[test]
fn an_access_lasts_as_long_as_its_guard() {
    let program = |guarded: bool| {
        first_failure(move || {
            let shared = Arc::new((Shared::new(0), AtomicBool::new(false)));
            let other = Arc::clone(&shared);
            let child = thread::spawn(move || {
                if guarded {
                    let pointer = other.0.0.pointer_mut();
                    other.1.store(true, Ordering::Release);
                    // SAFETY: as above.
                    unsafe { *pointer.get() = 1 };
                } else {
                    other.0.0.with_mut(|pointer| {
                        other.1.store(true, Ordering::Release);
                        // SAFETY: as above.
                        unsafe { *pointer = 1 };
                    });
                }
            });
            if shared.1.load(Ordering::Acquire) {
                shared.0.read();
            }
            child.join().unwrap();
        })
    };
    for guarded in [true, false] {
        assert_eq!(program(guarded).expect("it was published too early").name(), "data race");
    }
}

#[test]
fn pointers_under_a_lock_are_fine() {
    let found = outcomes(|| {
        let shared = Arc::new((Mutex::new(()), Shared::new(0)));
        let other = Arc::clone(&shared);
        let add = |shared: &(Mutex<()>, Shared<u32>)| {
            let _guard = shared.0.lock().unwrap();
            // SAFETY: the lock is held.
            unsafe { *shared.1.0.get() += 1 };
        };
        let child = thread::spawn(move || add(&other));
        add(&shared);
        child.join().unwrap();
        // SAFETY: nobody else is left.
        let seen = unsafe { *shared.1.0.get() };
        // A cell that goes while a pointer to it is around.
        let boxed = Box::new(UnsafeCell::new(1));
        boxed.get();
        drop(boxed);
        seen
    });
    assert_eq!(found.fine(), [2]);
}
