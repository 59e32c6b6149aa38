//! Execution graphs of Rust code per CPU second, a stack with two threads that each push and pop:
//! `cargo run --release -p linpoint-sched --example graphs`.

use std::ops::ControlFlow;
use std::ptr::null_mut;

use linpoint_sched::atomic::AtomicPtr;
use linpoint_sched::atomic::Ordering::{Acquire, Relaxed, Release};
use linpoint_sched::thread;
use linpoint_sched::weak::linearize::{Clients, Object, Verdict};
use linpoint_sched::weak::{self, End, Model, Plan};

#[global_allocator]
static HEAP: linpoint_sched::Heap = linpoint_sched::Heap::new();

struct Node {
    value: i64,
    next: AtomicPtr<Node>,
}

/// R. K. Treiber's stack; popped nodes are not freed.
#[derive(Default)]
struct Stack {
    top: AtomicPtr<Node>,
}

impl Stack {
    fn push(&self, value: i64) {
        let node = Box::into_raw(Box::new(Node { value, next: AtomicPtr::new(null_mut()) }));
        loop {
            let top = self.top.load(Acquire);
            // SAFETY: nodes are never freed while the stack lives.
            unsafe { (*node).next.store(top, Relaxed) };
            if self.top.compare_exchange(top, node, Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> i64 {
        loop {
            let top = self.top.load(Acquire);
            if top.is_null() {
                return 0;
            }
            // SAFETY: as above.
            let next = unsafe { (*top).next.load(Relaxed) };
            if self.top.compare_exchange(top, next, Release, Relaxed).is_ok() {
                // SAFETY: as above; it was written before it was published.
                return unsafe { (*top).value };
            }
        }
    }
}

fn program(marks: bool) {
    let stack = Stack::default();
    let body = |thread: usize| {
        let value = thread as i64 + 1;
        if marks {
            weak::mark_call(0, value);
        }
        stack.push(value);
        if marks {
            weak::mark_return(0);
            weak::mark_call(1, 0);
        }
        let popped = stack.pop();
        if marks {
            weak::mark_return(popped);
        }
    };
    thread::run_numbered(2, &body);
}

fn main() {
    for model in [Model::Rc11, Model::Sc] {
        let plan = Plan::of(model);
        let measure = |checked: bool| {
            let start = cpu_seconds();
            let mut graphs = 0;
            while cpu_seconds() - start < 1.0 {
                let mut clients = Clients::new(Object::Stack, model);
                let explored = weak::explore(&|| program(checked), &plan, &mut |seen| {
                    if checked && seen.end == End::Complete {
                        assert!(
                            matches!(clients.check(seen.graph), Verdict::Holds(_)),
                            "the stack is correct"
                        );
                    }
                    ControlFlow::Continue(())
                });
                assert!(explored.is_complete() && explored.found.is_none(), "{explored:?}");
                graphs += explored.report.graphs();
                assert_eq!(explored.report.complete, 46, "each graph once");
            }
            graphs as f64 / (cpu_seconds() - start)
        };
        let (alone, checked) = (measure(false), measure(true));
        println!(
            "Treiber 2 x (push; pop), {}: {alone:.0} graphs a second, {checked:.0} with linearizability",
            model.name()
        );
    }
}

/// CPU time of this process, where the system tells it; else the time of day.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok());
    match (ticks(11), ticks(12)) {
        (Some(user), Some(system)) => (user + system) / 100.0,
        _ => std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64()),
    }
}
