//! A stack of indices, right and wrong.

use linpoint::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Lifo(Vec<u32>);

#[linpoint::spec]
impl Lifo {
    fn push(&mut self, value: u32) {
        self.0.push(value);
    }

    fn pop(&mut self) -> Option<u32> {
        self.0.pop()
    }
}

/// Nodes are slots of an array, never reused.
#[derive(Debug, Default)]
struct Stack<const STORES: bool> {
    top: AtomicUsize,
    used: AtomicUsize,
    next: [AtomicUsize; 16],
    value: [AtomicUsize; 16],
}

#[linpoint::object(spec = Lifo)]
impl<const STORES: bool> Stack<STORES> {
    fn push(&self, value: u32) {
        let node = self.used.fetch_add(1, SeqCst) + 1;
        self.value[node].store(value as usize, SeqCst);
        loop {
            let top = self.top.load(SeqCst);
            self.next[node].store(top, SeqCst);
            if self.top.compare_exchange(top, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        loop {
            let top = self.top.load(SeqCst);
            if top == 0 {
                return None;
            }
            let next = self.next[top].load(SeqCst);
            if STORES {
                self.top.store(next, SeqCst);
                return Some(self.value[top].load(SeqCst) as u32);
            }
            if self.top.compare_exchange(top, next, SeqCst, SeqCst).is_ok() {
                return Some(self.value[top].load(SeqCst) as u32);
            }
        }
    }
}

#[test]
fn a_stack_that_pops_by_store_is_caught() {
    let report = linpoint::check::<Stack<true>>().threads(2).report();
    let counterexample = report.counterexample.expect("a store loses a pop");
    println!("{counterexample}");
    assert!(counterexample.headline.starts_with("not linearizable"));
    let again = linpoint::check::<Stack<true>>().threads(2).replay_report(&counterexample.token).unwrap();
    assert_eq!(again.counterexample.expect("it replays").headline, counterexample.headline);
}

#[test]
fn a_stack_that_pops_by_compare_exchange_is_fine() {
    let report = linpoint::check::<Stack<false>>().threads(2).ops(1).report();
    println!("{report}");
    assert!(report.holds());
}
