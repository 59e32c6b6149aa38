//! The two programs, once for each tool: the same text over other atomics.
//!
//! Nodes are kept in a list behind std's lock and freed with the object, so that nobody pays for leaks.

use std::sync::Mutex as StdMutex;

/// Nodes to be freed with the object.
pub struct Nodes<T>(StdMutex<Vec<*mut T>>);

// SAFETY: the pointers are only handed back to be freed, when nobody else has them.
unsafe impl<T> Send for Nodes<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Nodes<T> {}

impl<T> Nodes<T> {
    fn new() -> Nodes<T> {
        Nodes(StdMutex::new(Vec::with_capacity(4)))
    }

    fn keep(&self, node: T) -> *mut T {
        let node = Box::into_raw(Box::new(node));
        self.0.lock().unwrap().push(node);
        node
    }
}

impl<T> Drop for Nodes<T> {
    fn drop(&mut self) {
        for node in self.0.get_mut().unwrap().drain(..) {
            // SAFETY: it came from a box, and the object it belonged to is gone.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}

macro_rules! programs {
    ($thread:path, $arc:path) => {
        use $arc as Shared;
        use $thread as thread;

        pub fn stack_program() {
            let stack = Shared::new(Stack::new());
            let threads: Vec<_> = (1..=2)
                .map(|value| {
                    let stack = stack.clone();
                    thread::spawn(move || {
                        stack.push(value);
                        stack.pop()
                    })
                })
                .collect();
            for thread in threads { thread.join().unwrap(); }
        }

        pub fn queue_program() {
            let queue = Shared::new(Queue::new());
            let threads: Vec<_> = (1..=2)
                .map(|value| {
                    let queue = queue.clone();
                    thread::spawn(move || {
                        queue.enqueue(value);
                        queue.dequeue()
                    })
                })
                .collect();
            for thread in threads { thread.join().unwrap(); }
        }
    };
}

pub mod under_loom {
    use loom::sync::atomic;
    include!("objects.rs");
    programs!(loom::thread, loom::sync::Arc);
}

pub mod under_shuttle {
    use shuttle::sync::atomic;
    include!("objects.rs");
    programs!(shuttle::thread, shuttle::sync::Arc);
}

mod under_linpoint {
    use linpoint::sync::atomic;
    include!("objects.rs");
}

pub mod ours {
    use super::under_linpoint;
    use linpoint::Scenario;
    use std::collections::VecDeque;

    pub struct Stack(under_linpoint::Stack);

    #[linpoint::object(spec = Lifo)]
    impl Stack {
        pub fn new() -> Stack { Stack(under_linpoint::Stack::new()) }
        pub fn push(&self, value: u32) { self.0.push(value); }
        pub fn pop(&self) -> Option<u32> { self.0.pop() }
    }

    pub struct Queue(under_linpoint::Queue);

    #[linpoint::object(spec = Fifo)]
    impl Queue {
        pub fn new() -> Queue { Queue(under_linpoint::Queue::new()) }
        pub fn enqueue(&self, value: u32) { self.0.enqueue(value); }
        pub fn dequeue(&self) -> Option<u32> { self.0.dequeue() }
    }

    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Lifo(Vec<u32>);

    #[linpoint::spec]
    impl Lifo {
        fn push(&mut self, value: u32) { self.0.push(value); }
        fn pop(&mut self) -> Option<u32> { self.0.pop() }
    }

    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Fifo(VecDeque<u32>);

    #[linpoint::spec]
    impl Fifo {
        fn enqueue(&mut self, value: u32) { self.0.push_back(value); }
        fn dequeue(&mut self) -> Option<u32> { self.0.pop_front() }
    }

    pub fn stack_scenario() -> Scenario<Lifo> {
        let thread = |value| vec![LifoOp::Push(value), LifoOp::Pop()];
        Scenario { before: vec![], threads: vec![thread(1), thread(2)], after: vec![] }
    }

    pub fn queue_scenario() -> Scenario<Fifo> {
        let thread = |value| vec![FifoOp::Enqueue(value), FifoOp::Dequeue()];
        Scenario { before: vec![], threads: vec![thread(1), thread(2)], after: vec![] }
    }
}
