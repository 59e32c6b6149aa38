//! Loops that count their turns where a comparison of local states does not look: on the heap, in statics, in std's thread-local storage.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32 as Plain, Ordering};

use linpoint_sched::sync::Mutex;
use linpoint_sched::sync::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint_sched::thread;

use crate::explore::{outcomes, same_by_all};

/// A thread looks for another one's flag, so often at the most, and says how often it looked in vain.
fn looks(most: u32, mut count: impl FnMut() -> u32) -> u32 {
    let flag = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&flag);
    let child = thread::spawn(move || other.store(1, SeqCst));
    let mut last = 0;
    while flag.load(SeqCst) == 0 {
        last = count();
        if last >= most {
            break;
        }
    }
    child.join().unwrap();
    last
}

/// Every number of looks is found, by each search.
#[track_caller]
fn every_number(program: impl Fn(u32) -> u32) {
    for most in [2, 3, 5] {
        let found = outcomes(|| program(most));
        assert_eq!(found.fine(), (0..=most).collect::<Vec<u32>>());
        same_by_all(&linpoint_sched::Limits::default(), || program(most));
    }
}

#[test]
fn in_a_box() {
    every_number(|most| {
        let mut count = Box::new(0);
        looks(most, move || {
            **black_box(&mut count) += 1;
            **black_box(&count)
        })
    });
}

#[test]
fn in_a_shared_cell() {
    every_number(|most| {
        let count = Rc::new(Cell::new(0));
        looks(most, move || {
            count.set(count.get() + 1);
            count.get()
        })
    });
}

#[test]
fn in_a_queue() {
    every_number(|most| {
        let mut left: VecDeque<u32> = (1..=most).collect();
        looks(most, move || black_box(&mut left).pop_front().unwrap_or(u32::MAX))
    });
}

#[test]
fn in_an_iterator_of_unknown_type() {
    every_number(|most| {
        let mut numbers: Box<dyn Iterator<Item = u32>> = Box::new(1..=most);
        looks(most, move || black_box(&mut numbers).next().unwrap_or(u32::MAX))
    });
}

#[test]
fn in_a_static() {
    static COUNT: Plain = Plain::new(0);
    every_number(|most| {
        COUNT.store(0, Ordering::Relaxed);
        looks(most, || COUNT.fetch_add(1, Ordering::Relaxed) + 1)
    });
}

#[test]
fn in_the_threads_own_storage() {
    std::thread_local! { static COUNT: RefCell<u32> = const { RefCell::new(0) }; }
    every_number(|most| {
        COUNT.set(0);
        looks(most, || {
            COUNT.with_borrow_mut(|count| *count += 1);
            COUNT.with_borrow(|count| *count)
        })
    });
}

/// With a lock in each turn.
#[test]
fn of_turns_that_take_a_lock() {
    let program = || {
        let flag = Arc::new(Mutex::new(false));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || *other.lock().unwrap() = true);
        let mut count = Box::new(0);
        while !*flag.lock().unwrap() && **black_box(&count) < 2 {
            **black_box(&mut count) += 1;
        }
        child.join().unwrap();
        *count
    };
    assert_eq!(outcomes(program).fine(), [0, 1, 2]);
}

/// Nobody else is there, and it ends all the same.
#[test]
fn alone() {
    let numbers: Vec<u32> = (0..10).collect();
    let found = outcomes(|| {
        let flag = AtomicU32::new(0);
        let all: Box<dyn Iterator<Item = &u32>> = Box::new(numbers.iter());
        let mut sum = 0;
        for number in all {
            sum = *number + flag.load(SeqCst);
        }
        sum
    });
    assert_eq!(found.fine(), [9]);
}

/// Looks for another one's flag, so often at the most; how often is known on the heap only.
#[inline(never)]
fn patient(most: u32) -> u32 {
    let flag = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&flag);
    let child = thread::spawn(move || other.store(1, SeqCst));
    let mut left = Box::new(most);
    while flag.load(SeqCst) == 0 && **black_box(&left) > 0 {
        **black_box(&mut left) -= 1;
    }
    child.join().unwrap();
    u32::from(*left == 0)
}

/// A loop that goes round for long in one program may end in the next one that comes to it, on the same thread of the system.
#[test]
fn what_goes_round_in_one_program_ends_in_another() {
    for _ in 0..8 {
        assert_eq!(outcomes(|| patient(1_000_000)).fine(), [0]);
    }
    assert_eq!(outcomes(|| patient(3)).fine(), [0, 1]);
}

/// A loop that is come to many times in a run, and ends by itself only after the last of them.
#[test]
fn each_occasion_is_tried_once() {
    let program = || {
        let flag = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || (1..=3).for_each(|number| other.store(number, SeqCst)));
        let mut left = Box::new(1_000_000);
        let mut ended = 0;
        for number in 1..=3 {
            if number == 3 {
                *left = 2;
            }
            while flag.load(SeqCst) < number && **black_box(&left) > 0 {
                **black_box(&mut left) -= 1;
            }
            ended += u32::from(*left == 0);
        }
        child.join().unwrap();
        ended
    };
    assert_eq!(outcomes(program).fine(), [0, 1]);
}
