// The two objects, to be included where `atomic` is a tool's module of atomics. A file and not a macro: to every tool, each line is
// a place of its own.

use atomic::AtomicPtr;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::SeqCst;

use super::Nodes;

pub struct StackNode { value: u32, next: std::cell::Cell<*mut StackNode> }
pub struct Stack { top: AtomicPtr<StackNode>, nodes: Nodes<StackNode> }

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

// SAFETY: nodes are written before they are published, and only read after that.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}
