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

macro_rules! objects {
    ($atomic:path, $(#[$stack:meta])*, $(#[$queue:meta])*) => {
        use $atomic as atomic;
        use atomic::AtomicPtr;
        use std::ptr::null_mut;
        use std::sync::atomic::Ordering::SeqCst;
        use super::Nodes;

        pub struct StackNode { value: u32, next: std::cell::Cell<*mut StackNode> }
        pub struct Stack { top: AtomicPtr<StackNode>, nodes: Nodes<StackNode> }

        $(#[$stack])*
        impl Stack {
            pub fn new() -> Stack {
                Stack { top: AtomicPtr::new(null_mut()), nodes: Nodes::new() }
            }
            pub fn push(&self, value: u32) {
                let node = self.nodes.keep(StackNode { value, next: std::cell::Cell::new(null_mut()) });
                loop {
                    let top = self.top.load(SeqCst);
                    // SAFETY: the node is not published yet.
                    unsafe { &*node }.next.set(top);
                    if self.top.compare_exchange(top, node, SeqCst, SeqCst).is_ok() { return; }
                }
            }
            pub fn pop(&self) -> Option<u32> {
                loop {
                    let top = self.top.load(SeqCst);
                    if top.is_null() { return None; }
                    // SAFETY: nodes live as long as the stack.
                    let node = unsafe { &*top };
                    if self.top.compare_exchange(top, node.next.get(), SeqCst, SeqCst).is_ok() { return Some(node.value); }
                }
            }
        }

        pub struct QueueNode { value: u32, next: AtomicPtr<QueueNode> }
        pub struct Queue { head: AtomicPtr<QueueNode>, tail: AtomicPtr<QueueNode>, nodes: Nodes<QueueNode> }

        $(#[$queue])*
        impl Queue {
            pub fn new() -> Queue {
                let nodes = Nodes::new();
                let dummy = nodes.keep(QueueNode { value: 0, next: AtomicPtr::new(null_mut()) });
                Queue { head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy), nodes }
            }
            pub fn enqueue(&self, value: u32) {
                let node = self.nodes.keep(QueueNode { value, next: AtomicPtr::new(null_mut()) });
                loop {
                    let tail = self.tail.load(SeqCst);
                    // SAFETY: nodes live as long as the queue.
                    let last = unsafe { &*tail };
                    let next = last.next.load(SeqCst);
                    if tail != self.tail.load(SeqCst) { continue; }
                    if next.is_null() {
                        if last.next.compare_exchange(null_mut(), node, SeqCst, SeqCst).is_ok() {
                            let _ = self.tail.compare_exchange(tail, node, SeqCst, SeqCst);
                            return;
                        }
                    } else {
                        let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
                    }
                }
            }
            pub fn dequeue(&self) -> Option<u32> {
                loop {
                    let head = self.head.load(SeqCst);
                    let tail = self.tail.load(SeqCst);
                    // SAFETY: nodes live as long as the queue.
                    let next = unsafe { &*head }.next.load(SeqCst);
                    if head != self.head.load(SeqCst) { continue; }
                    if head == tail {
                        if next.is_null() { return None; }
                        let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
                    } else {
                        // SAFETY: as above; it is not null, as head is not the last.
                        let value = unsafe { &*next }.value;
                        if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() { return Some(value); }
                    }
                }
            }
        }
    };
}

macro_rules! programs {
    ($thread:path, $arc:path) => {
        use $arc as Shared;
        use $thread as thread;

        // SAFETY: nodes are written before they are published, and only read after that.
        unsafe impl Send for Stack {}
        // SAFETY: as above.
        unsafe impl Sync for Stack {}

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
    objects!(loom::sync::atomic, ,);
    programs!(loom::thread, loom::sync::Arc);
}

pub mod under_shuttle {
    objects!(shuttle::sync::atomic, ,);
    programs!(shuttle::thread, shuttle::sync::Arc);
}

pub mod ours {
    use linpoint::Scenario;
    use std::collections::VecDeque;

    objects!(linpoint::sync::atomic, #[linpoint::object(spec = Lifo)], #[linpoint::object(spec = Fifo)]);

    // SAFETY: nodes are written before they are published, and only read after that.
    unsafe impl Send for Stack {}
    // SAFETY: as above.
    unsafe impl Sync for Stack {}

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
