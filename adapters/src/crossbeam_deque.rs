//! The work-stealing deque of crossbeam-deque as a bag: what is pushed is taken once. (Batches move between deques, which no deque's specification says.)

use crossbeam_deque::{Steal, Stealer, Worker};
use linpoint_monitor::{Monitor, MonitorError, Object, Op};

/// What the owner and the thieves share.
pub struct Bag(Object, [Op; 3]);

impl Bag {
    /// A bag of tasks, watched.
    pub fn watched(monitor: &Monitor) -> Result<Self, MonitorError> {
        let object = crate::watch(monitor, "crossbeam-deque", "multiset")?;
        let ops = ["add", "remove", "contains"].map(|name| object.op(name));
        Ok(Bag(object, ops))
    }

    /// Pushes a task.
    pub fn push(&self, worker: &Worker<u64>, task: u64) {
        let op = self.0.call(self.1[0], task);
        worker.push(task);
        op.returns(());
    }

    /// `task` was taken. Which one it is, is known only then: that it left is logged late, which hides no second copy and no loss.
    pub fn took(&self, task: Option<u64>) -> bool {
        task.is_some_and(|task| self.0.call(self.1[1], task).returns(true))
    }

    /// Takes some tasks from another's deque and gives one of them.
    pub fn steal(&self, from: &Stealer<u64>, to: &Worker<u64>) -> bool {
        let steal = || Some(from.steal_batch_and_pop(to)).filter(|steal| !steal.is_retry());
        self.took(std::iter::repeat_with(steal).flatten().next().and_then(Steal::success))
    }

    /// All deques are empty: `task` is no longer there.
    pub fn is_gone(&self, task: u64) {
        self.0.call(self.1[2], task).returns(false);
    }
}
