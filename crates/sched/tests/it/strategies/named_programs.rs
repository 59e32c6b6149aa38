//! Programs with pinned numbers of runs: a lost reduction shows as more, an unsound one as fewer.
//!
//! Nodes are numbers into an array, so that nothing depends on the allocator; 0 is null.

use std::sync::Arc;

use linpoint_sched::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint_sched::strategy::Strategy;
use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::strategy::dpor::Dpor;
use linpoint_sched::strategy::preemption_bound::PreemptionBound;
use linpoint_sched::strategy::race_reversal::RaceReversal;
use linpoint_sched::{Ending, Execution, Limits, thread};

/// Runs `threads` bodies over one object.
pub fn together<T: Send + Sync + 'static>(object: T, threads: usize, body: impl Fn(&T, usize) + Send + Sync) {
    let object = Arc::new(object);
    let body = &body;
    thread::run_all((0..threads).map(|index| {
        let object = Arc::clone(&object);
        Box::new(move || body(&object, index)) as Box<dyn FnOnce() + Send>
    }));
}

const NODES: usize = 8;

/// A Treiber stack of nodes that are never used again.
pub struct Treiber {
    top: AtomicU32,
    next: [std::sync::atomic::AtomicU32; NODES],
}

impl Treiber {
    pub fn new() -> Treiber {
        Treiber { top: AtomicU32::new(0), next: Default::default() }
    }

    pub fn push(&self, node: u32) {
        loop {
            let top = self.top.load(SeqCst);
            self.next[node as usize].store(top, SeqCst);
            if self.top.compare_exchange(top, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    pub fn pop(&self) -> u32 {
        loop {
            let top = self.top.load(SeqCst);
            if top == 0 {
                return 0;
            }
            let next = self.next[top as usize].load(SeqCst);
            if self.top.compare_exchange(top, next, SeqCst, SeqCst).is_ok() {
                return top;
            }
        }
    }

    /// Pops with a store where a compare-and-swap belongs.
    pub fn pop_by_store(&self) -> u32 {
        let top = self.top.load(SeqCst);
        if top != 0 {
            self.top.store(self.next[top as usize].load(SeqCst), SeqCst);
        }
        top
    }
}

pub fn treiber(threads: usize) {
    together(Treiber::new(), threads, |stack, index| {
        stack.push(index as u32 + 1);
        stack.pop();
    });
}

pub fn treiber_by_store(threads: usize) {
    together(Treiber::new(), threads, |stack, index| {
        stack.push(index as u32 + 1);
        stack.pop_by_store();
    });
}

/// A Michael–Scott queue; node 1 is the first dummy.
pub struct MichaelScott {
    head: AtomicU32,
    tail: AtomicU32,
    next: [AtomicU32; NODES],
}

impl MichaelScott {
    pub fn new() -> MichaelScott {
        MichaelScott { head: AtomicU32::new(1), tail: AtomicU32::new(1), next: Default::default() }
    }

    pub fn enqueue(&self, node: u32) {
        loop {
            let tail = self.tail.load(SeqCst);
            let next = self.next[tail as usize].load(SeqCst);
            if tail != self.tail.load(SeqCst) {
                continue;
            }
            if next != 0 {
                let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
            } else if self.next[tail as usize].compare_exchange(0, node, SeqCst, SeqCst).is_ok() {
                let _ = self.tail.compare_exchange(tail, node, SeqCst, SeqCst);
                return;
            }
        }
    }

    pub fn dequeue(&self) -> u32 {
        loop {
            let head = self.head.load(SeqCst);
            let tail = self.tail.load(SeqCst);
            let next = self.next[head as usize].load(SeqCst);
            if head != self.head.load(SeqCst) {
                continue;
            }
            if head == tail {
                if next == 0 {
                    return 0;
                }
                let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
            } else if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                return next;
            }
        }
    }
}

pub fn michael_scott(threads: usize) {
    together(MichaelScott::new(), threads, |queue, index| {
        queue.enqueue(index as u32 + 2);
        queue.dequeue();
    });
}

/// The snapshot of two cells with versions (Sezgin, Tasiran, Muslu and Qadeer 2010, figure 1), a cell a word.
#[derive(Default)]
pub struct Snapshot {
    cells: [AtomicU32; 2],
}

impl Snapshot {
    /// Writes value and version at once.
    pub fn write(&self, index: usize) {
        self.cells[index].fetch_add(1 << 16 | 1, SeqCst);
    }

    /// Writes the value, then the version.
    pub fn write_in_two(&self, index: usize) {
        self.cells[index].fetch_add(1 << 16, SeqCst);
        self.cells[index].fetch_add(1, SeqCst);
    }

    /// Both values, unless a version changed in between.
    pub fn snapshot(&self) -> Option<(u32, u32)> {
        let seen = [self.cells[0].load(SeqCst), self.cells[1].load(SeqCst)];
        let version = |cell: u32| cell & 0xffff;
        let same = version(self.cells[0].load(SeqCst)) == version(seen[0])
            && version(self.cells[1].load(SeqCst)) == version(seen[1]);
        same.then_some((seen[0] >> 16, seen[1] >> 16))
    }
}

/// Two threads take a snapshot, two write.
pub fn snapshots(write: impl Fn(&Snapshot, usize) + Send + Sync) {
    together(Snapshot::default(), 4, |snapshot, index| match index {
        0 | 1 => {
            snapshot.snapshot();
        }
        _ => write(snapshot, index - 2),
    });
}

/// How many runs a strategy makes, and how many of them it abandons.
pub fn count(program: &dyn Fn(), strategy: &mut dyn Strategy) -> (usize, usize) {
    let mut execution = Execution::new(Limits::default());
    let (mut runs, mut abandoned) = (0, 0);
    loop {
        let run = execution.run(program, strategy);
        runs += 1;
        match &run.ending {
            Ending::Abandoned => abandoned += 1,
            Ending::Complete => {}
            Ending::Stuck(failure) | Ending::Failed(failure) => panic!("{failure}"),
        }
        if !strategy.advance(execution.record()) {
            return (runs, abandoned);
        }
    }
}

#[track_caller]
fn check(program: &dyn Fn(), dfs: Option<usize>, dpor: (usize, usize)) {
    if let Some(dfs) = dfs {
        assert_eq!(count(program, &mut Dfs::new()), (dfs, 0), "plain depth-first search");
    }
    assert_eq!(count(program, &mut Dpor::new()), dpor, "source-DPOR: runs, and abandoned ones among them");
    let traces = dpor.0 - dpor.1;
    assert_eq!(count(program, &mut RaceReversal::new()), (traces, 0), "race reversal: a run a trace");
}

/// Plain search within a bound, and with a memory.
#[track_caller]
fn check_bound(program: &dyn Fn(), bound: u32, plain: usize, remembering: usize) {
    assert_eq!(count(program, &mut Dfs::bounded(bound)), (plain, 0), "within the bound");
    let (runs, _) = count(program, &mut PreemptionBound::new(bound, bound));
    assert_eq!(runs, remembering, "within the bound, with a memory");
}

#[test]
fn preemption_bounds() {
    check_bound(&|| snapshots(Snapshot::write), 2, 1_100, 643);
    check_bound(&|| snapshots(Snapshot::write_in_two), 2, 2_264, 1_400);
    check_bound(&|| snapshots(Snapshot::write_in_two), 4, 33_036, 8_365);
    check_bound(&|| michael_scott(2), 2, 190, 190);
    check_bound(&|| michael_scott(3), 3, 57_642, 40_059);
    check_bound(&|| treiber(3), 2, 402, 390);
}

#[test]
fn treiber_stack() {
    check(&|| treiber(2), Some(226), (46, 0));
    check(&|| treiber(3), None, (68_892, 0));
}

#[test]
fn treiber_stack_that_pops_by_store() {
    check(&|| treiber_by_store(2), Some(114), (38, 0));
}

#[test]
fn michael_scott_queue() {
    check(&|| michael_scott(2), None, (222, 0));
}

#[test]
fn snapshot_of_two_cells() {
    check(&|| snapshots(Snapshot::write), Some(4_252), (60, 0));
    check(&|| snapshots(Snapshot::write_in_two), Some(152_100), (804, 10));
}
