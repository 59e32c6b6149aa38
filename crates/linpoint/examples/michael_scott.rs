//! A Michael–Scott queue, explored: `michael_scott THREADS SEARCH`.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ptr::null_mut;
use std::time::Duration;

use linpoint::sync::atomic::{AtomicPtr, Ordering::SeqCst};
use linpoint::{Limits, Scenario, Search};

#[global_allocator]
static HEAP: linpoint::Heap = linpoint::Heap::new();

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Fifo(VecDeque<u32>);

#[linpoint::spec]
impl Fifo {
    fn enqueue(&mut self, value: u32) {
        self.0.push_back(value);
    }
    fn dequeue(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

struct Queue {
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
}

fn node(value: u32) -> *mut Node {
    Box::into_raw(Box::new(Node { value, next: AtomicPtr::new(null_mut()) }))
}

#[linpoint::object(spec = Fifo)]
impl Queue {
    fn new() -> Queue {
        let dummy = node(0);
        Queue { head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy) }
    }

    fn enqueue(&self, value: u32) {
        let node = node(value);
        loop {
            let tail = self.tail.load(SeqCst);
            let next = unsafe { &(*tail).next }.load(SeqCst);
            if tail != self.tail.load(SeqCst) {
                continue;
            }
            if next.is_null() {
                if unsafe { &(*tail).next }.compare_exchange(null_mut(), node, SeqCst, SeqCst).is_ok() {
                    let _ = self.tail.compare_exchange(tail, node, SeqCst, SeqCst);
                    return;
                }
            } else {
                let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
            }
        }
    }

    fn dequeue(&self) -> Option<u32> {
        loop {
            let head = self.head.load(SeqCst);
            let tail = self.tail.load(SeqCst);
            let next = unsafe { &(*head).next }.load(SeqCst);
            if head != self.head.load(SeqCst) {
                continue;
            }
            if head == tail {
                if next.is_null() {
                    return None;
                }
                let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
            } else {
                let value = unsafe { (*next).value };
                if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                    return Some(value);
                }
            }
        }
    }
}

fn main() {
    let threads: u32 = std::env::args().nth(1).map_or(2, |n| n.parse().unwrap());
    let search = match std::env::args().nth(2).as_deref() {
        Some("dfs") => Search::Dfs,
        Some("states") => Search::States,
        Some("dpor") => Search::Dpor,
        Some("queue") => Search::RaceReversal,
        Some(n) => Search::Preemptions(n.parse().unwrap()),
        None => Search::Auto,
    };
    let scenario = Scenario {
        before: vec![],
        threads: (1..=threads).map(|v| vec![FifoOp::Enqueue(v), FifoOp::Dequeue()]).collect(),
        after: vec![],
    };
    let report = linpoint::check::<Queue>()
        .scenario(scenario)
        .search(search)
        .workers(1)
        .time_limit(Duration::from_secs(60))
        .limits(Limits { free_leaks: true, ..Limits::default() })
        .report();
    println!(
        "{report}\n{} states, {} questions, {:?}",
        report.coverage.states, report.coverage.questions, report.elapsed
    );
    println!("{:.0} executions/s", report.coverage.executions as f64 / report.elapsed.as_secs_f64());
}
