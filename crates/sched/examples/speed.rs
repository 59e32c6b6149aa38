//! How many executions a second: a Treiber stack, two threads, each push; pop.
use linpoint_sched::atomic::{AtomicPtr, Ordering::SeqCst};
use linpoint_sched::strategy::{Strategy, dfs::Dfs};
use linpoint_sched::{Ending, Execution, Limits, thread};
use std::sync::Arc;

struct Node {
    value: u32,
    next: *mut Node,
}
struct Stack {
    top: AtomicPtr<Node>,
}
unsafe impl Send for Stack {}
unsafe impl Sync for Stack {}
impl Stack {
    fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() }));
        loop {
            let top = self.top.load(SeqCst);
            unsafe { (*node).next = top };
            if self.top.compare_exchange(top, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }
    fn pop(&self) -> Option<u32> {
        loop {
            let top = self.top.load(SeqCst);
            if top.is_null() {
                return None;
            }
            let next = unsafe { (*top).next };
            if self.top.compare_exchange(top, next, SeqCst, SeqCst).is_ok() {
                return Some(unsafe { (*top).value });
            }
        }
    }
}
fn program() {
    let stack = Arc::new(Stack { top: AtomicPtr::new(std::ptr::null_mut()) });
    let other = {
        let stack = stack.clone();
        thread::spawn(move || {
            stack.push(1);
            stack.pop()
        })
    };
    stack.push(2);
    let a = stack.pop();
    let b = other.join().unwrap();
    assert!(a.is_some() && b.is_some());
}
fn main() {
    let threads: u32 = std::env::args().nth(1).map_or(100, |n| n.parse().unwrap());
    for bound in [Some(0), Some(1), Some(2), None] {
        let mut execution = Execution::new(Limits::default());
        let start = std::time::Instant::now();
        let mut runs = 0;
        for _ in 0..threads {
            let mut dfs = bound.map_or_else(Dfs::new, Dfs::bounded);
            loop {
                let run = execution.run(&program, &mut dfs);
                if let Ending::Failed(f) = &run.ending {
                    println!("{f} {:?}", run.schedule());
                    return;
                }
                runs += 1;
                if !dfs.advance(execution.record()) {
                    break;
                }
            }
        }
        println!(
            "{bound:?}: {} runs, {:.0}/s",
            runs / threads,
            f64::from(runs) / start.elapsed().as_secs_f64()
        );
    }
}
