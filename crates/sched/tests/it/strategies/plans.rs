//! Whole explorations: what a plan covers, and what it says about that.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Mutex;

use linpoint_sched::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint_sched::explore::{Covered, Plan, Search, Stop, explore, explore_in_parallel};
use linpoint_sched::semaphore::Semaphore;
use linpoint_sched::strategy::replay::Replay;
use linpoint_sched::{Ending, Execution, Limits};

use super::named_programs::{Snapshot, michael_scott, snapshots, together, treiber};

fn plan(search: Search) -> Plan {
    Plan { search, time: None, ..Plan::default() }
}

/// The traces that a plan visits, and what it says.
fn traces(program: &dyn Fn(), plan: &Plan) -> (BTreeSet<u64>, String) {
    let mut traces = BTreeSet::new();
    let coverage = explore(program, plan, &mut |mut seen| {
        traces.insert(seen.clocks().trace_fingerprint());
        ControlFlow::Continue(())
    });
    (traces, coverage.to_string())
}

#[test]
fn complete_searches_agree() {
    let program = || snapshots(Snapshot::write);
    let (all, text) = traces(&program, &plan(Search::Dfs));
    assert_eq!(text, "every schedule (4252 runs)");
    assert_eq!(all.len(), 60);
    for (search, runs) in
        [(Search::Auto, 60), (Search::RaceReversal, 60), (Search::Dpor, 60), (Search::Preemptions(99), 3_653)]
    {
        let (found, text) = traces(&program, &plan(search));
        assert_eq!(text, format!("every schedule ({runs} runs)"));
        assert_eq!(found, all);
    }
}

#[test]
fn when_the_queue_is_too_small_auto_goes_on() {
    let program = || snapshots(Snapshot::write_in_two);
    let coverage =
        explore(
            &program,
            &Plan { queue_runs: 100, ..plan(Search::Auto) },
            &mut |_| ControlFlow::Continue(()),
        );
    assert_eq!(coverage.to_string(), "every schedule (904 runs)");
    // Source-DPOR gets half of what is left, the bounds the rest.
    let small = Plan { queue_runs: 100, runs: Some(900), ..plan(Search::Auto) };
    let coverage = explore(&program, &small, &mut |_| ControlFlow::Continue(()));
    assert_eq!(coverage.covered, Covered::Preemptions(1));
    assert_eq!((coverage.stop, coverage.runs), (Stop::Runs, 900));
    assert!(coverage.progress.is_some_and(|part| part > 0.1 && part < 1.0), "{coverage:?}");
    assert!(coverage.pending.is_some_and(|pending| pending > 0));
}

#[test]
fn bounds_say_what_they_covered() {
    let program = || treiber(2);
    let (_, text) = traces(&program, &plan(Search::BoundedDfs(1)));
    assert_eq!(text, "every schedule with at most 1 preemptions (8 runs)");
    let (_, text) = traces(&program, &plan(Search::BoundedDfs(99)));
    assert_eq!(text, "every schedule (226 runs)");
}

#[test]
fn workers_share_a_depth_first_search() {
    for (search, runs, covered) in
        [(Search::Dfs, 4_252, Covered::Every), (Search::BoundedDfs(2), 1_100, Covered::Preemptions(2))]
    {
        for workers in 1..4 {
            let found = Mutex::new(BTreeSet::new());
            let coverage =
                explore_in_parallel(&|| snapshots(Snapshot::write), &plan(search), workers, &|_| {
                    let found = &found;
                    move |mut seen: linpoint_sched::explore::Seen<'_>| {
                        let fingerprint = seen.clocks().trace_fingerprint();
                        found.lock().unwrap().insert(fingerprint);
                        ControlFlow::Continue(())
                    }
                });
            assert_eq!((coverage.runs, coverage.covered, coverage.stop), (runs, covered, Stop::Done));
            assert_eq!(found.lock().unwrap().len(), 60);
        }
    }
}

#[test]
fn random_searches_depend_on_the_seed_alone() {
    for search in [Search::RandomWalk, Search::UniformWalk, Search::Pct(3)] {
        let plan = |seed| Plan { seed, runs: Some(200), ..plan(search) };
        let (first, text) = traces(&|| michael_scott(2), &plan(7));
        let (again, _) = traces(&|| michael_scott(2), &plan(7));
        let (other, _) = traces(&|| michael_scott(2), &plan(8));
        assert_eq!(text, "200 random schedules");
        assert_eq!(first, again);
        assert_ne!(first, other);
        assert!(first.len() > 3, "{search:?} {}", first.len());
    }
}

/// Every schedule of two threads with as many steps each is about equally likely.
#[test]
fn the_uniform_walk_is_uniform() {
    let program = || {
        together([const { AtomicU32::new(0) }; 1], 2, |cells, _| {
            for _ in 0..4 {
                cells[0].fetch_add(1, SeqCst);
            }
        });
    };
    let mut counts = std::collections::BTreeMap::new();
    let plan = Plan { runs: Some(70_000), ..plan(Search::UniformWalk) };
    explore(&program, &plan, &mut |seen| {
        *counts.entry(seen.run.schedule()).or_insert(0) += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(counts.len(), 70, "8 choose 4 schedules");
    assert!(counts.values().all(|&count| (850..1_150).contains(&count)), "{counts:?}");
}

#[test]
fn the_first_failure_ends_it_and_can_be_replayed() {
    let program = || {
        together([Semaphore::new(1), Semaphore::new(1)], 2, |forks, index| {
            forks[index].acquire();
            forks[1 - index].acquire();
            forks[1 - index].release();
            forks[index].release();
        });
    };
    for search in [Search::Auto, Search::Dfs, Search::Dpor, Search::Preemptions(1), Search::Pct(2)] {
        let coverage = explore(&program, &plan(search), &mut |_| ControlFlow::Continue(()));
        assert_eq!(coverage.stop, Stop::Failure);
        let found = coverage.found.expect("the philosophers starve");
        assert_eq!(found.failure.name(), "deadlock");
        let mut execution = Execution::new(Limits::default());
        let again = execution.run(&program, &mut Replay::new(found.schedule));
        assert!(matches!(&again.ending, Ending::Stuck(failure) if failure.name() == "deadlock"));
    }
    let meant = Plan { stuck_fails: false, ..plan(Search::Auto) };
    let coverage = explore(&program, &meant, &mut |_| ControlFlow::Continue(()));
    assert_eq!(coverage.to_string(), "every schedule (5 runs)", "three traces, and two runs in vain");
}

#[test]
fn a_visitor_can_end_it() {
    let coverage = explore(&|| treiber(2), &plan(Search::Auto), &mut |_| ControlFlow::Break(()));
    assert_eq!((coverage.stop, coverage.runs, coverage.covered), (Stop::Visitor, 1, Covered::Some));
}
