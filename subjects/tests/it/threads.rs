//! Correct objects with real threads: outside an exploration the shims are std's own.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use linpoint_subjects::bartok_stm::Stm;
use linpoint_subjects::chase_lev_deque::ChaseLevDeque;
use linpoint_subjects::elimination_stack::EliminationStack;
use linpoint_subjects::lazy_list_set::LazyListSet;
use linpoint_subjects::michael_scott_queue::MichaelScottQueue;
use linpoint_subjects::reusing_stack::ReusingStack;
use linpoint_subjects::seqlock::SeqLock;
use linpoint_subjects::swap_queue::SwapQueue;
use linpoint_subjects::ticket_lock::TicketCounter;
use linpoint_subjects::treiber_stack::TreiberStack;
use linpoint_subjects::two_lock_queue::TwoLockQueue;
use linpoint_subjects::vyukov_ring::VyukovRing;

const THREADS: u32 = 4;
const EACH: u32 = 5_000;

/// Half of the threads insert distinct values, half remove: every value comes out once, and, if the object is a
/// queue, those of one producer in their order.
#[track_caller]
fn hand_over(insert: impl Fn(u32) + Sync, remove: impl Fn() -> Option<u32> + Sync, in_order: bool) {
    let left = AtomicUsize::new((THREADS * EACH) as usize);
    let taken: Vec<Vec<u32>> = std::thread::scope(|scope| {
        for producer in 0..THREADS {
            let insert = &insert;
            scope.spawn(move || (0..EACH).for_each(|index| insert(producer * EACH + index)));
        }
        let consumers: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let mut taken = Vec::new();
                    while left.load(SeqCst) > 0 {
                        match remove() {
                            Some(value) => {
                                left.fetch_sub(1, SeqCst);
                                taken.push(value);
                            }
                            None => std::thread::yield_now(),
                        }
                    }
                    taken
                })
            })
            .collect();
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect()
    });
    if in_order {
        for values in &taken {
            for producer in 0..THREADS {
                let own: Vec<_> = values.iter().filter(|&value| value / EACH == producer).collect();
                assert!(own.is_sorted(), "a consumer sees the values of one producer in their order");
            }
        }
    }
    let all: Vec<u32> = taken.into_iter().flatten().collect();
    assert_eq!(all.len(), (THREADS * EACH) as usize);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "no value twice");
}

#[test]
fn treiber_stack() {
    let stack = TreiberStack::<0>::new();
    hand_over(|value| stack.push(value), || stack.pop(), false);
}

#[test]
fn elimination_stack() {
    let stack = EliminationStack::<0, 2>::new();
    hand_over(|value| stack.push(value), || stack.pop(), false);
}

#[test]
fn michael_scott_queue() {
    let queue = MichaelScottQueue::<0>::new();
    hand_over(|value| queue.enqueue(value), || queue.dequeue(), true);
}

#[test]
fn swap_queue() {
    let queue = SwapQueue::<0>::new();
    hand_over(|value| queue.enqueue(value), || queue.dequeue(), true);
}

#[test]
fn two_lock_queue() {
    let queue = TwoLockQueue::<0>::new();
    hand_over(|value| queue.enqueue(value), || queue.dequeue(), true);
}

/// Every thread adds and removes all keys; for each key, what went in came out or is there.
#[test]
fn lazy_list_set() {
    const KEYS: u32 = 16;
    let set = LazyListSet::<0>::new();
    let balance: Vec<Vec<i32>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let set = &set;
                scope.spawn(move || {
                    let mut balance = vec![0; KEYS as usize];
                    for index in 0..EACH {
                        let key = (index * (2 * thread + 1)) % KEYS;
                        let change = if index / KEYS % 2 == thread % 2 {
                            i32::from(set.add(key))
                        } else {
                            -i32::from(set.remove(key))
                        };
                        balance[key as usize] += change;
                        set.contains(key);
                    }
                    balance
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for key in 0..KEYS {
        let sum: i32 = balance.iter().map(|of| of[key as usize]).sum();
        assert_eq!(sum, i32::from(set.contains(key)), "key {key}");
    }
}

#[test]
fn vyukov_ring() {
    let queue = VyukovRing::<0>::new();
    let insert = |value| {
        while !queue.enqueue(value) {
            std::thread::yield_now();
        }
    };
    hand_over(insert, || queue.dequeue(), true);
}

#[test]
fn reusing_stack() {
    let stack = ReusingStack::<0>::new();
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let stack = &stack;
                scope.spawn(move || {
                    (0..EACH)
                        .map(|index| {
                            stack.push(thread * EACH + index);
                            usize::from(stack.pop().is_some())
                        })
                        .sum()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(counts, [EACH as usize; THREADS as usize], "whoever pushed finds something to pop");
    assert_eq!(stack.pop(), None);
}

#[test]
fn seqlock() {
    let pair = SeqLock::<0>::new();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let pair = &pair;
            scope.spawn(move || {
                (0..EACH).for_each(|index| pair.write(2 * index + thread, 2 * index + thread))
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let (first, second) = pair.read();
                    assert_eq!(first, second);
                }
            });
        }
    });
}

#[test]
fn ticket_lock() {
    let counter = TicketCounter::<0>::new();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..EACH).map(|_| counter.increment()).max());
        }
    });
    assert_eq!(counter.increment(), 2 * EACH);
}

#[test]
fn chase_lev_deque() {
    let deque = ChaseLevDeque::<0>::with_capacity(2);
    let left = AtomicUsize::new(EACH as usize);
    let taken: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let thieves: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut stolen = Vec::new();
                    while left.load(SeqCst) > 0 {
                        match deque.steal() {
                            Some(value) => {
                                left.fetch_sub(1, SeqCst);
                                stolen.push(value);
                            }
                            None => std::thread::yield_now(),
                        }
                    }
                    stolen
                })
            })
            .collect();
        let mut own = Vec::new();
        for value in 0..EACH {
            deque.push(value);
            if value % 3 == 0
                && let Some(value) = deque.take()
            {
                left.fetch_sub(1, SeqCst);
                own.push(value);
            }
        }
        while let Some(value) = deque.take() {
            left.fetch_sub(1, SeqCst);
            own.push(value);
        }
        thieves.into_iter().map(|thief| thief.join().unwrap()).chain([own]).collect()
    });
    let mut all: Vec<u32> = taken.into_iter().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (0..EACH).collect::<Vec<_>>());
}

#[test]
fn bartok_stm() {
    let stm = Stm::<0>::new();
    let commits: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let stm = &stm;
                scope.spawn(move || {
                    let turn = if thread % 2 == 0 { Stm::first_to_second } else { Stm::second_to_first };
                    (0..EACH).filter_map(|_| turn(stm)).count() as u32
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (first, second) = stm.both().expect("nobody else is there");
    assert_eq!(first.abs_diff(second), 1, "the last transaction wrote one more than the other number");
    assert!(first.max(second) <= commits.iter().sum());
}
