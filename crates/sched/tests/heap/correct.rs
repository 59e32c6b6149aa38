//! Programs that free what they allocate and do nothing wrong: nothing is reported, and every run is watched.

use std::sync::Arc;

use linpoint_sched::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use linpoint_sched::sync::{Condvar, Mutex, mpsc};
use linpoint_sched::{Failure, thread};

use super::{Shared, failure, fine};

#[test]
pub(crate) fn a_correct_program() {
    fine(|| {
        let shared = Shared::new(5u64);
        let other = Arc::clone(&shared);
        let freer = thread::spawn(move || other.free());
        freer.join().expect("it ends");
        shared.free();
    });
}

/// Std's own counts are no steps: which thread drops the last reference is not seen, and not needed.
#[test]
fn references_counted_by_std() {
    fine(|| {
        let shared = Arc::new((AtomicUsize::new(0), [1u64; 9]));
        for _ in 0..2 {
            let shared = Arc::clone(&shared);
            drop(thread::spawn(move || {
                shared.0.fetch_add(1, SeqCst);
                std::hint::black_box(shared.1[3]);
            }));
        }
        shared.0.load(SeqCst);
        std::hint::black_box(shared.1[4]);
    });
}

#[test]
fn references_counted_here() {
    use linpoint_sched::sync::Arc;
    fine(|| {
        let shared = Arc::new([1u64; 9]);
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || std::hint::black_box(other[3]));
        std::hint::black_box(shared[4]);
        drop(shared);
        drop(thread.join());
    });
}

#[test]
fn a_lock_in_a_node() {
    fine(|| {
        let node = Arc::new((Mutex::new(vec![1]), Condvar::new()));
        let other = Arc::clone(&node);
        let thread = thread::spawn(move || {
            other.0.lock().expect("a lock").push(2);
            other.1.notify_one();
        });
        let mut list = node.0.lock().expect("a lock");
        while list.len() < 2 {
            list = node.1.wait(list).expect("a lock");
        }
        drop(list);
        drop(node);
        drop(thread.join());
    });
}

#[test]
fn messages() {
    fine(|| {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        let thread = thread::spawn(move || drop(other.send(Box::new(1))));
        drop(sender.send(Box::new(2)));
        drop(sender);
        assert_eq!(receiver.iter().map(|number| *number).sum::<i32>(), 3);
        drop(thread.join());
    });
}

/// A stack whose nodes are freed only when nobody else is inside.
#[test]
fn nodes_that_are_freed_at_the_end() {
    struct Node {
        next: *mut Node,
    }
    struct Stack(AtomicPtr<Node>, AtomicPtr<Node>);
    impl Stack {
        fn push(top: &AtomicPtr<Node>, node: *mut Node) {
            loop {
                let next = top.load(SeqCst);
                // SAFETY: it is not in the stack yet.
                unsafe { (*node).next = next };
                if top.compare_exchange(next, node, SeqCst, SeqCst).is_ok() {
                    return;
                }
            }
        }

        fn pop(&self) {
            loop {
                let first = self.0.load(SeqCst);
                if first.is_null() {
                    return;
                }
                // SAFETY: nodes are freed with the stack.
                let next = unsafe { (*first).next };
                if self.0.compare_exchange(first, next, SeqCst, SeqCst).is_ok() {
                    return Stack::push(&self.1, first);
                }
            }
        }
    }
    impl Drop for Stack {
        fn drop(&mut self) {
            for list in [&mut self.0, &mut self.1] {
                let mut node = *list.get_mut();
                while !node.is_null() {
                    // SAFETY: every node came from a box, and is in one of the lists.
                    node = unsafe { Box::from_raw(node) }.next;
                }
            }
        }
    }
    fine(|| {
        let stack = Arc::new(Stack(AtomicPtr::default(), AtomicPtr::default()));
        let threads = [0, 1].map(|_| {
            let stack = Arc::clone(&stack);
            thread::spawn(move || {
                Stack::push(&stack.0, Box::into_raw(Box::new(Node { next: std::ptr::null_mut() })));
            })
        });
        stack.pop();
        threads.into_iter().for_each(|thread| drop(thread.join()));
    });
}

#[test]
fn what_threads_free_and_keep_for_themselves() {
    fine(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let threads = [1usize, 2].map(|number| {
            let count = Arc::clone(&count);
            thread::spawn(move || {
                let mut list = vec![number];
                let before = count.fetch_add(1, SeqCst);
                list.extend(0..100 * before);
                let text = format!("{list:?}");
                count.fetch_add(text.len(), SeqCst);
                list.shrink_to_fit();
                // Forgotten for good.
                std::mem::forget(Box::new(text));
            })
        });
        threads.into_iter().for_each(|thread| drop(thread.join()));
    });
}

/// A value that outlives its execution, and is freed in another.
#[test]
fn what_is_kept_from_one_execution_to_the_next() {
    let kept = std::cell::RefCell::new(vec![vec![0u8]]);
    fine(|| {
        let mut new: Vec<Vec<u8>> = vec![vec![1; 100]; 3];
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(1, SeqCst));
        flag.load(SeqCst);
        drop(new.pop());
        *kept.borrow_mut() = new;
        drop(thread.join());
    });
    assert_eq!(kept.into_inner(), vec![vec![1; 100]; 2]);
}

/// Threads that create threads, whose numbers must be the same however long a segment waits.
#[test]
fn threads_that_create_threads() {
    fine(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let threads = [0, 1].map(|_| {
            let number = Arc::clone(&number);
            thread::spawn(move || {
                let inner = Arc::clone(&number);
                let child = thread::spawn(move || drop(Box::new(inner.fetch_add(1, SeqCst))));
                drop(Box::new(1));
                drop(child.join());
            })
        });
        threads.into_iter().for_each(|thread| drop(thread.join()));
    });
}

/// The executions that fail otherwise fail as they would.
#[test]
fn other_failures_stay_what_they_are() {
    let found = failure(|| {
        let shared = Shared::new(String::from("text"));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.free());
        drop(thread.join());
        assert!(!shared.0.load(SeqCst).is_null(), "it is gone");
    });
    assert!(matches!(found, Failure::Panic { .. }), "{found}");
    let found = failure(|| {
        let lock = Mutex::new(Box::new(1));
        drop(Box::new(2));
        let _first = lock.lock();
        drop(lock.lock());
    });
    assert!(matches!(found, Failure::Deadlock { .. }), "{found}");
}
