//! The audit of orderings: what is too strong is named, and what must not be weaker.

use std::sync::atomic::Ordering;

use linpoint::sync::atomic::AtomicUsize;
use linpoint::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use linpoint::{Memory, Orderings, Part, Tried, check};

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
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

/// Treiber's stack, with every ordering as strong as can be.
struct Strong {
    top: AtomicUsize,
    used: AtomicUsize,
    next: [AtomicUsize; 8],
    value: [AtomicUsize; 8],
}

impl Default for Strong {
    fn default() -> Strong {
        let zeros = || std::array::from_fn(|_| AtomicUsize::new(0));
        Strong { top: AtomicUsize::new(0), used: AtomicUsize::new(0), next: zeros(), value: zeros() }
    }
}

#[linpoint::object(spec = Lifo)]
impl Strong {
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
            if self.top.compare_exchange(top, next, SeqCst, SeqCst).is_ok() {
                return Some(self.value[top].load(SeqCst) as u32);
            }
        }
    }
}

/// A stack that loses what is pushed at the same time.
#[derive(Default)]
struct Wrong {
    top: AtomicUsize,
}

#[linpoint::object(spec = Lifo)]
impl Wrong {
    fn push(&self, value: u32) {
        self.top.store(value as usize, SeqCst);
    }

    fn pop(&self) -> Option<u32> {
        let top = self.top.load(SeqCst);
        self.top.store(0, SeqCst);
        (top > 0).then_some(top as u32)
    }
}

/// The weakest orderings of an operation, in the order of the source.
fn weakest(audit: &Orderings, operation: &str, part: Part) -> Vec<Ordering> {
    let rows = audit.rows.iter().filter(|row| row.spot.operation == operation && row.spot.part == part);
    rows.map(linpoint::Row::weakest).collect()
}

#[test]
fn a_stack_needs_one_release_and_one_acquire() {
    let audit = check::<Strong>().threads(2).ops(1).before(1).after(1).workers(1).orderings();
    let audit = audit.unwrap_or_else(|report| panic!("{report}"));
    println!("{audit}");
    assert_eq!(weakest(&audit, "fetch_add", Part::Whole), [Relaxed]);
    // The loads: of the top by push, of the top by pop, of the next node, of the value.
    assert_eq!(weakest(&audit, "load", Part::Whole), [Relaxed, Acquire, Relaxed, Relaxed]);
    // Of push, and of pop.
    assert_eq!(weakest(&audit, "compare_exchange", Part::Whole), [Release, Relaxed]);
    assert_eq!(weakest(&audit, "compare_exchange", Part::Failure), [Relaxed, Relaxed]);
    let breaks = audit.rows.iter().flat_map(|row| &row.tried);
    assert!(
        breaks
            .clone()
            .any(|tried| matches!(&tried.1, Tried::Breaks(how) if how.contains("not linearizable")))
    );
    assert!(audit.together.values().all(|ordering| *ordering != AcqRel && *ordering != SeqCst));
    assert!(audit.to_string().contains("for these scenarios only: holds"), "{audit}");
}

#[test]
fn what_is_wrong_as_it_is_has_no_audit() {
    let report = check::<Wrong>().threads(2).ops(1).workers(1).orderings().expect_err("it is wrong");
    assert_eq!(report.verdict(), "violated");
    assert_eq!(report.coverage.memory, Memory::Rc11);
}
