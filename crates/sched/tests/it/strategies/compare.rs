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
        let found = explore(&program, &mut Dpor::new(), usize::MAX).unwrap();
        same(&program, "source-DPOR", &all, &found);
        runs[0] += all.runs;
        runs[1] += found.runs;
        let found = explore(&program, &mut RaceReversal::new(), usize::MAX).unwrap();
        same(&program, "race reversal", &all, &found);
        assert_eq!(found.runs, found.traces.len() + found.abandoned, "a trace found twice: {program:?}");
        runs[2] += found.runs;
        for bound in 0..3 {
            let within = explore(&program, &mut Dfs::bounded(bound), usize::MAX).unwrap();
            let mut bounded = PreemptionBound::new(bound, bound);
            let found = explore(&program, &mut bounded, usize::MAX).unwrap();
            same(&program, "preemption bound", &within, &found);
            assert_eq!(bounded.completed(), Some(bound));
            if bounded.is_complete() {
                same(&program, "every preemption", &all, &found);
            }
        }
    }
    if matches!(kind, Kind::Claims | Kind::AllClaims) {
        assert!(decided > 10 * count, "too few claims were decided to show anything: {decided}");
    }
    runs
}

fn same(program: &Program, name: &str, all: &Found, found: &Found) {
    assert_eq!(all.outcomes, found.outcomes, "{name}: outcomes of {program:?}");
    assert_eq!(all.traces, found.traces, "{name}: traces of {program:?}");
    assert!(found.runs <= all.runs + found.abandoned, "{name}: more runs than schedules: {program:?}");
}
