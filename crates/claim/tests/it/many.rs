//! Many live claims: an access visits only the terms that watch its variable.

use linpoint_claim::{Condition, Kind, Monitor, ThreadId, ThreadSet, Var, VarId};

use crate::run::SITE;

fn claim_first(monitor: &mut Monitor, variable: VarId) {
    let id = monitor.open_claim(ThreadId(1), &SITE);
    monitor.add_first(id, variable, Kind::Wr, ThreadSet::only(ThreadId(2)));
    monitor.close_claim(id, Box::new(|values, _| values[0] == 7));
}

#[test]
fn an_access_visits_only_the_terms_of_its_variable() {
    let mut monitor = Monitor::new();
    let [watched, crowded, free] = [1 << 40, 1 << 41, 1 << 42].map(VarId::of_address);
    claim_first(&mut monitor, watched);
    for variable in 0..999 {
        claim_first(&mut monitor, VarId::of_address(16 * variable));
    }
    assert_eq!(monitor.alive(), 1000);
    for _ in 0..100 {
        monitor.access(ThreadId(1), watched, Kind::Wr, 0);
        monitor.access(ThreadId(1), free, Kind::Wr, 0);
    }
    assert_eq!(monitor.visits(), 100, "one live term watches the variable, a thousand others do not");
    for _ in 0..1000 {
        claim_first(&mut monitor, crowded);
    }
    monitor.access(ThreadId(1), watched, Kind::Wr, 0);
    assert_eq!(monitor.visits(), 101);
    monitor.access(ThreadId(2), crowded, Kind::Wr, 7);
    assert_eq!(monitor.visits(), 1101);
    assert_eq!(monitor.counts().held, 1000);
    monitor.access(ThreadId(2), crowded, Kind::Wr, 7);
    assert_eq!(monitor.visits(), 1101, "determined terms watch nothing");
    monitor.end();
    assert_eq!(monitor.counts().undecided, 1000);
    assert_eq!(monitor.undecided().len(), 1000);
}

#[test]
fn conditions_are_asked_only_at_writes_to_their_variables() {
    let mut monitor = Monitor::new();
    let variables: Vec<(VarId, Var<bool>)> =
        (1..=100).map(|n| (VarId::of_address(n), Var::new(false))).collect();
    for (variable, done) in &variables {
        let id = monitor.open_claim(ThreadId(1), &SITE);
        monitor.add_last(id, *variable, Kind::Wr, ThreadSet::all(), Condition::is_true(done));
        monitor.close_claim(id, Box::new(|values, _| values[0] == 3));
    }
    use linpoint_claim::Variable;
    monitor.access(ThreadId(1), variables[4].0, Kind::Wr, 3);
    monitor.access(ThreadId(1), variables[4].1.id(), Kind::Wr, 1);
    assert_eq!((monitor.visits(), monitor.counts().held, monitor.alive()), (2, 1, 99));
}

/// After `reset` nothing of the run before is left, also if that ended in the middle of things.
#[test]
fn reset_forgets_everything() {
    let mut monitor = Monitor::new();
    monitor.keep_footprint();
    claim_first(&mut monitor, VarId::of_address(8));
    monitor.open_claim(ThreadId(1), &SITE);
    monitor.enter(ThreadId(1), linpoint_claim::ProcedureId(1));
    monitor.begin_block();
    monitor.begin_reading();
    monitor.at(77);
    monitor.reset();
    assert!(!monitor.is_watching());
    assert_eq!((monitor.alive(), monitor.now(), monitor.visits()), (0, 0, 0));
    assert_eq!(monitor.counts(), linpoint_claim::Counts::default());
    assert!(monitor.footprint().is_empty());
    // No procedure is open any more.
    let id = monitor.open_claim(ThreadId(1), &SITE);
    monitor.add_exit(id, VarId::of_address(8), 0);
    monitor.close_claim(id, Box::new(|_, _| true));
    assert_eq!(monitor.undecided()[0].bottom, linpoint_claim::Bottom::NoProcedure);
    claim_first(&mut monitor, VarId::of_address(8));
    monitor.access(ThreadId(2), VarId::of_address(8), Kind::Wr, 8);
    assert_eq!(monitor.failures().len(), 1, "no block and no reading is open");
}
