//! Each strategy against plain depth-first search, on random programs.

use linpoint_sched::random::Random;
use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::strategy::dpor::Dpor;
use linpoint_sched::strategy::preemption_bound::PreemptionBound;
use linpoint_sched::strategy::race_reversal::RaceReversal;

use super::programs::{Found, Kind, Program, explore};

/// Compares on `count` programs of which plain search makes at most `most` runs. Returns how many runs that took it,
/// source-DPOR and the queue.
pub fn compare(kind: Kind, seed: u64, count: usize, most: usize) -> [usize; 3] {
    let mut random = Random::new(seed);
    let (mut compared, mut decided) = (0, 0);
    let mut runs = [0; 3];
    while compared < count {
        let program = Program::random(&mut random, kind, 10);
        let Some(all) = explore(&program, &mut Dfs::new(), most) else { continue };
        compared += 1;
        decided += all.decided;
        runs[0] += all.runs;
        let [dpor, queue] = compare_one(&program, &all);
        runs[1] += dpor;
        runs[2] += queue;
    }
    if kind.claims() {
        assert!(decided > 5 * count, "too few claims were decided to show anything: {decided}");
    }
    runs
}

/// Compares on one program, of which plain search found `all`. Returns how many runs source-DPOR and the queue made.
pub fn compare_one(program: &Program, all: &Found) -> [usize; 2] {
    let dpor = explore(program, &mut Dpor::new(), usize::MAX).unwrap();
    same(program, "source-DPOR", all, &dpor);
    let queue = explore(program, &mut RaceReversal::new(), usize::MAX).unwrap();
    if all.made == 0 {
        same(program, "race reversal", all, &queue);
        assert_eq!(queue.runs, queue.traces.len() + queue.abandoned, "a trace found twice: {program:?}");
    } else {
        // Claims that only look make no traces of their own: what becomes of each claim is found, not every
        // combination.
        assert_eq!(all.plain_outcomes, queue.plain_outcomes, "race reversal: outcomes of {program:?}");
        assert_eq!(all.claims, queue.claims, "race reversal: claims of {program:?}");
    }
    for bound in 0..3 {
        let within = explore(program, &mut Dfs::bounded(bound), usize::MAX).unwrap();
        let mut bounded = PreemptionBound::new(bound, bound);
        let found = explore(program, &mut bounded, usize::MAX).unwrap();
        same(program, "preemption bound", &within, &found);
        assert_eq!(bounded.completed(), Some(bound));
        if bounded.is_complete() {
            same(program, "every preemption", all, &found);
        }
    }
    [dpor.runs, queue.runs]
}

fn same(program: &Program, name: &str, all: &Found, found: &Found) {
    assert_eq!(all.outcomes, found.outcomes, "{name}: outcomes of {program:?}");
    assert_eq!(all.traces, found.traces, "{name}: traces of {program:?}");
    assert!(found.runs <= all.runs + found.abandoned, "{name}: more runs than schedules: {program:?}");
}
