//! A stack of indices, right and wrong.

use linpoint::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use linpoint::{Scenario, Search};

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

/// How many states there are must not grow unnoticed: what is left on a stack, such as half a pointer, makes two states of one. The
/// compiler has a say in it, so it is not one number.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn states_are_as_few_as_they_were() {
    let thread = |value| vec![LifoOp::Push(value), LifoOp::Pop()];
    let scenario = Scenario { before: vec![], threads: vec![thread(1), thread(2)], after: vec![] };
    let states = |scenario: &Scenario<Lifo>| {
        let checked = linpoint::check::<Stack<false>>().scenario(scenario.clone()).search(Search::States);
        let report = checked.report();
        assert!(report.holds(), "{report}");
        (report.coverage.states, report.coverage.executions)
    };
    let (first, executions) = states(&scenario);
    println!("{first} states, {executions} executions");
    assert_eq!(states(&scenario).0, first, "the same program has the same states");
    assert!((500..=800).contains(&first), "{first} states");
}
