//! Memory that is used after its free, in objects and programs.

// What is to be found here is what `unsafe` is for.
#![allow(unsafe_code)]

use std::sync::Arc;

use linpoint::Search;
use linpoint::sync::atomic::{AtomicPtr, Ordering::SeqCst};

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

struct Node {
    value: u32,
    next: *mut Node,
}

/// Treiber's stack. Nodes that were popped are freed at once, or with the stack.
#[derive(Default)]
struct Stack<const AT_ONCE: bool> {
    top: AtomicPtr<Node>,
    popped: AtomicPtr<Node>,
}

impl<const AT_ONCE: bool> Stack<AT_ONCE> {
    fn link(top: &AtomicPtr<Node>, node: *mut Node) {
        loop {
            let first = top.load(SeqCst);
            // SAFETY: nobody else has the node.
            unsafe { (*node).next = first };
            if top.compare_exchange(first, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }
}

#[linpoint::object(spec = Lifo)]
impl<const AT_ONCE: bool> Stack<AT_ONCE> {
    fn push(&self, value: u32) {
        Self::link(&self.top, Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() })));
    }

    fn pop(&self) -> Option<u32> {
        loop {
            let first = self.top.load(SeqCst);
            if first.is_null() {
                return None;
            }
            // SAFETY: none, if nodes are freed at once: that is what is to be seen.
            let next = unsafe { (*first).next };
            if self.top.compare_exchange(first, next, SeqCst, SeqCst).is_ok() {
                // SAFETY: as above.
                let value = unsafe { (*first).value };
                if AT_ONCE {
                    // SAFETY: it came from a box.
                    drop(unsafe { Box::from_raw(first) });
                } else {
                    Self::link(&self.popped, first);
                }
                return Some(value);
            }
        }
    }
}

impl<const AT_ONCE: bool> Drop for Stack<AT_ONCE> {
    fn drop(&mut self) {
        for list in [&mut self.top, &mut self.popped] {
            let mut node = *list.get_mut();
            while !node.is_null() {
                // SAFETY: it came from a box, and is in one list only.
                node = unsafe { Box::from_raw(node) }.next;
            }
        }
    }
}

#[test]
fn a_stack_that_frees_at_once() {
    let report = linpoint::check::<Stack<true>>().report();
    assert_eq!(report.verdict(), "violated", "{report}");
    let found = report.counterexample.as_ref().expect("a counterexample");
    assert!(found.headline.contains("use after free"), "{report}");
    let text = report.to_string();
    for part in ["reads a block of 16 bytes", "may have freed it by then", "allocated it", "freed.rs:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let again = linpoint::check::<Stack<true>>().replay_report(&found.token).expect("the same program");
    let again = again.counterexample.expect("it fails again");
    assert_eq!(again.headline, found.headline);
}

#[test]
fn a_stack_that_frees_at_the_end() {
    let report = linpoint::check::<Stack<false>>().threads(2).ops(2).report();
    assert_eq!(report.verdict(), "holds", "{report}");
    assert_eq!(report.coverage.unwatched, 0);
    assert!(!report.to_string().contains("not watched"), "{report}");
}

/// Where states are compared nobody looks at what is freed, and that is said.
#[test]
fn where_states_are_compared_it_is_not_watched() {
    let report = linpoint::check::<Stack<false>>().threads(2).ops(1).search(Search::States).report();
    assert_eq!(report.verdict(), "holds", "{report}");
    assert!(report.to_string().contains("freed memory was not watched in "), "{report}");
}

/// What is read makes no difference to anything.
fn silent() {
    let place = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(5u32))));
    let other = Arc::clone(&place);
    let freer = linpoint::thread::spawn(move || {
        let taken = other.swap(std::ptr::null_mut(), SeqCst);
        if !taken.is_null() {
            // SAFETY: it came from a box, and was taken out.
            drop(unsafe { Box::from_raw(taken) });
        }
    });
    let seen = place.load(SeqCst);
    if !seen.is_null() {
        // SAFETY: none: that is what is to be seen.
        std::hint::black_box(unsafe { seen.read_volatile() });
    }
    freer.join().expect("it ends");
    // Whatever is still there is freed.
    let taken = place.swap(std::ptr::null_mut(), SeqCst);
    assert!(taken.is_null());
}

#[test]
fn a_read_that_nothing_depends_on() {
    for search in [Search::Auto, Search::Dfs, Search::RandomWalk, Search::UniformWalk, Search::Pct(2)] {
        let exploration = linpoint::exploration().search(search).executions(1000);
        let explored = exploration.report(silent);
        assert_eq!(explored.verdict(), "violated", "{search:?}: {explored}");
        let found = explored.counterexample.expect("a counterexample");
        assert!(
            found.headline.starts_with("use after free: thread 0, after its step at "),
            "{}",
            found.headline
        );
        assert!(found.rechecked);
        assert_eq!(found.preemptions, 0, "{}", found.schedule);
        let again = exploration.replay_report(&found.token, silent).expect("the same program");
        assert_eq!(again.expect("it fails again").headline, found.headline);
    }
}
