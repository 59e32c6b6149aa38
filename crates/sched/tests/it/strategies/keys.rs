//! Linearizability of a whole trace, decided from its happens-before order: the small obvious version, to measure how
//! many runs a strategy needs until it comes to a violation.

use linpoint_sched::clocks::Clocks;
use linpoint_sched::{MarkKind, Run};

/// The operations of a run: for each, which ones it cannot precede, and which one its thread did before.
pub struct Key {
    pub cannot: Vec<u32>,
    pub before: Vec<Option<usize>>,
}

/// The key of a finished run; operations are numbered by their marks.
pub fn key(run: &Run, clocks: &Clocks, operations: usize) -> Key {
    let mut first = vec![0; operations];
    let mut last = vec![0; operations];
    let mut before = vec![None; operations];
    let mut latest = vec![None; run.threads.len()];
    for mark in &run.marks {
        let steps = clocks.steps_of(mark.thread);
        let operation = mark.operation as usize;
        match mark.kind {
            MarkKind::Call => {
                first[operation] = steps[mark.own_steps as usize] as usize;
                before[operation] = latest[mark.thread.index()].replace(operation);
            }
            MarkKind::Return => last[operation] = steps[mark.own_steps as usize - 1] as usize,
        }
    }
    let cannot = (0..operations)
        .map(|a| {
            let blocks = |x: usize| u32::from(clocks.before_or_equal(first[x], last[a])) << x;
            (0..operations).map(blocks).sum()
        })
        .collect();
    Key { cannot, before }
}

/// Is there a history of the trace that has no linearization? `step` applies an operation to a state if its recorded
/// result fits.
pub fn violates(key: &Key, initial: u64, step: &dyn Fn(u64, usize) -> Option<u64>) -> bool {
    search(key, 0, 0, vec![(0, initial)], step)
}

fn search(
    key: &Key,
    called: u32,
    returned: u32,
    reached: Vec<(u32, u64)>,
    step: &dyn Fn(u64, usize) -> Option<u64>,
) -> bool {
    let operations = key.cannot.len();
    (0..operations).any(|next| {
        if called >> next & 1 == 1 || key.before[next].is_some_and(|before| returned >> before & 1 == 0) {
            return false;
        }
        let called = called | 1 << next;
        let mut reached = reached.clone();
        let mut at = 0;
        while let Some(&(done, state)) = reached.get(at) {
            at += 1;
            for operation in (0..operations).filter(|one| (called & !done) >> one & 1 == 1) {
                if let Some(after) = step(state, operation) {
                    let member = (done | 1 << operation, after);
                    if !reached.contains(&member) {
                        reached.push(member);
                    }
                }
            }
        }
        let open = called & !returned;
        let mut returned = returned;
        for operation in (0..operations).filter(|one| open >> one & 1 == 1) {
            if key.cannot[operation] & !called == 0 {
                returned |= 1 << operation;
                reached.retain(|member| member.0 >> operation & 1 == 1);
            }
        }
        reached.is_empty() || search(key, called, returned, reached, step)
    })
}
