//! From a run to the question about its trace: the results, and who cannot come before whom.
//!
//! The pair (results, cannot) is the *key* of the trace. Keys are far fewer than traces, and most of them are settled
//! by one seen before: the same results with fewer entries in `cannot` were fine, so these are.

use linpoint_sched::clocks::Clocks;
use linpoint_sched::{Ending, Mark, MarkKind, Run, ThreadId, ThreadSet};
use rustc_hash::FxHashMap;

/// Where an operation lies in its thread.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    thread: usize,
    /// Own steps of the thread when it was called.
    from: u32,
    /// Own steps of the thread when it returned, or at the end of the run.
    to: u32,
    called: bool,
    returned: bool,
}

/// The key of a run's trace. Reused from run to run.
#[derive(Debug, Default)]
pub(crate) struct Key {
    spans: Vec<Span>,
    /// For each operation: those it cannot come before.
    pub(crate) cannot: Vec<u64>,
    /// For each operation: those whose last access happens before its first. No part of the key: it follows from the
    /// trace, and the verdict does not depend on it.
    pub(crate) after: Vec<u64>,
    /// The operations that were called and made no access and did not return.
    pub(crate) idle: u64,
    /// The operations that were never called: not part of the history.
    pub(crate) absent: u64,
    /// The operations that returned.
    pub(crate) returned: u64,
    pub(crate) stuck: bool,
}

impl Key {
    /// Works out the key of `run`, which has `operations` operations.
    pub(crate) fn compute(&mut self, run: &Run, clocks: &Clocks, operations: usize) {
        self.find_spans(run, operations);
        for index in 0..operations {
            let bit = 1 << index;
            let set = if self.returned & bit != 0 { bit | self.not_after(index, run, clocks) } else { 0 };
            self.cannot.push(set);
        }
    }

    /// Works out the key of `run` in the order it was made, and no other: an operation cannot come before those that
    /// had begun when it made its last step.
    pub(crate) fn compute_in_order(&mut self, run: &Run, operations: usize) {
        self.cannot.resize(operations, 0);
        let all = u64::MAX.checked_shr(64 - operations.min(64) as u32).unwrap_or(0);
        if run.answered == all && matches!(run.ending, Ending::Complete) {
            for mark in run.marks.iter().filter(|mark| mark.kind == MarkKind::Return) {
                self.cannot[mark.operation as usize] = mark.seen;
            }
            (self.stuck, self.returned, self.idle, self.absent) = (false, all, 0, 0);
            return;
        }
        let (mut called, mut begun, mut returned) = (0u64, 0u64, 0u64);
        for mark in &run.marks {
            let operation = mark.operation as usize;
            let bit = 1 << operation;
            match mark.kind {
                MarkKind::Call => {
                    called |= bit;
                    begun |= if mark.at != Mark::NEVER { bit } else { 0 };
                }
                MarkKind::Return => {
                    returned |= bit;
                    self.cannot[operation] = if begun & bit != 0 { mark.seen } else { 0 };
                }
            }
        }
        if returned != all {
            for (operation, cannot) in self.cannot.iter_mut().enumerate() {
                *cannot &= if returned >> operation & 1 == 1 { u64::MAX } else { 0 };
            }
        }
        self.stuck = matches!(run.ending, Ending::Stuck(_));
        self.returned = returned;
        self.idle = called & !returned & !begun;
        self.absent = !called & all;
    }

    /// Works out `after` in the order the run was made, which only a question that is really asked needs.
    pub(crate) fn compute_after_in_order(&mut self, run: &Run, operations: usize) {
        self.after.clear();
        self.after.resize(operations, 0);
        for mark in run.marks.iter().filter(|mark| mark.kind == MarkKind::Call && mark.at != Mark::NEVER) {
            self.after[mark.operation as usize] = mark.seen;
        }
    }

    /// Finds where each operation lies, and clears the rest.
    fn find_spans(&mut self, run: &Run, operations: usize) {
        self.spans.clear();
        self.spans.resize(operations, Span::default());
        for mark in &run.marks {
            let span = &mut self.spans[mark.operation as usize];
            match mark.kind {
                MarkKind::Call => {
                    let steps = run.threads[mark.thread.index()].steps;
                    *span = Span {
                        thread: mark.thread.index(),
                        from: mark.own_steps,
                        to: steps,
                        called: true,
                        returned: false,
                    };
                }
                MarkKind::Return => {
                    span.to = mark.own_steps;
                    span.returned = true;
                }
            }
        }
        self.stuck = matches!(run.ending, Ending::Stuck(_));
        self.idle = 0;
        self.absent = 0;
        self.returned = 0;
        self.cannot.clear();
        self.after.clear();
        for (index, span) in self.spans.iter().enumerate() {
            let bit = 1 << index;
            if !span.called {
                self.absent |= bit;
            } else if span.returned {
                self.returned |= bit;
            } else if span.from == span.to {
                self.idle |= bit;
            }
        }
    }

    /// Works out `after`, which only a question that is really asked needs.
    pub(crate) fn compute_after(&mut self, run: &Run, clocks: &Clocks) {
        self.after.clear();
        for (operation, b) in self.spans.iter().enumerate() {
            let mut set = 0;
            if b.called {
                let has_access = b.from < b.to;
                let seen = seen(run, clocks, b.thread, b.from + u32::from(has_access));
                for (index, a) in self.spans.iter().enumerate() {
                    let before = if a.thread == b.thread {
                        index < operation
                    } else {
                        seen[a.thread] >= a.to.max(a.from + 1)
                    };
                    if a.returned && before {
                        set |= 1 << index;
                    }
                }
            }
            self.after.push(set);
        }
    }

    /// The operations whose first access happens before or at the last access of `operation`.
    fn not_after(&self, operation: usize, run: &Run, clocks: &Clocks) -> u64 {
        let a = self.spans[operation];
        // What had happened, as seen from the last step of `a`, or from where it lies if it made none.
        let seen = seen(run, clocks, a.thread, a.to);
        let mut set = 0;
        for (index, x) in self.spans.iter().enumerate() {
            if !x.called {
                continue;
            }
            let first_seen = if x.thread == a.thread {
                // In the same thread the order is that of the program, and so are the numbers.
                index <= operation
            } else {
                seen[x.thread] > x.from
            };
            if first_seen {
                set |= 1 << index;
            }
        }
        set & !self.idle
    }
}

/// How many steps of each thread had happened, as seen by `thread` after `own_steps` steps of its own.
fn seen<'a>(run: &Run, clocks: &'a Clocks, thread: usize, own_steps: u32) -> &'a [u32] {
    const NOTHING: [u32; ThreadSet::CAPACITY] = [0; ThreadSet::CAPACITY];
    let (mut thread, mut own_steps) = (thread, own_steps);
    while own_steps == 0 {
        let Some(parent) = run.threads[thread].parent else { return &NOTHING };
        own_steps = run.threads[thread].born_at;
        thread = parent.index();
    }
    let step = clocks.steps_of(ThreadId(thread as u8))[own_steps as usize - 1];
    clocks.past(step as usize)
}

/// Of two keys with the same results: if `fine` is fine, is `now`? It has at least its entries.
pub(crate) fn covers(fine: &[u64], now: &[u64]) -> bool {
    fine.iter().zip(now).all(|(fine, now)| fine & !now == 0)
}

/// Keys seen so far, for one scenario.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// By results, the keys that are fine, one after the other.
    fine: FxHashMap<Box<[u32]>, Vec<u64>>,
    /// How many different keys were asked about.
    pub(crate) asked: usize,
}

impl Keys {
    /// A key with these results that is known to be fine and says the same of this one, if there is one. `results` numbers
    /// what each operation answered.
    pub(crate) fn covering(&self, results: &[u32], cannot: &[u64]) -> Option<&[u64]> {
        let known = self.fine.get(results)?;
        if cannot.is_empty() {
            return Some(&[]);
        }
        known.chunks_exact(cannot.len()).find(|fine| covers(fine, cannot))
    }

    /// This key is fine.
    pub(crate) fn insert(&mut self, results: &[u32], cannot: &[u64]) {
        self.asked += 1;
        let Some(known) = self.fine.get_mut(results) else {
            self.fine.insert(results.into(), cannot.into());
            return;
        };
        // Those that follow from this one are of no more use.
        let width = cannot.len();
        let mut kept = 0;
        for at in (0..known.len()).step_by(width.max(1)) {
            if !covers(cannot, &known[at..at + width]) {
                known.copy_within(at..at + width, kept);
                kept += width;
            }
        }
        known.truncate(kept);
        known.extend_from_slice(cannot);
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, covers};

    /// The same, one key after the other in a plain list.
    #[derive(Default)]
    struct Plain(Vec<(Vec<u32>, Vec<u64>)>);

    impl Plain {
        fn covering(&self, results: &[u32], cannot: &[u64]) -> bool {
            self.0.iter().any(|known| known.0 == results && covers(&known.1, cannot))
        }
    }

    #[test]
    fn keys_are_covered_as_in_a_plain_list() {
        let mut state = 1u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for operations in 0..4usize {
            let (mut keys, mut plain) = (Keys::default(), Plain::default());
            let (mut covered, mut not) = (0, 0);
            for _ in 0..500 {
                let results: Vec<u32> = (0..=operations).map(|_| below(2) as u32).collect();
                let cannot: Vec<u64> = (0..operations).map(|_| below(16)).collect();
                let found = keys.covering(&results, &cannot);
                assert_eq!(found.is_some(), plain.covering(&results, &cannot), "{results:?} {cannot:?}");
                if let Some(found) = found {
                    assert!(found.len() == operations && covers(found, &cannot), "{found:?} {cannot:?}");
                    covered += 1;
                } else {
                    keys.insert(&results, &cannot);
                    plain.0.push((results, cannot));
                    not += 1;
                }
            }
            assert!(covered > 100 && not > 1 && keys.asked == not, "{covered} covered, {not} not");
        }
    }
}
