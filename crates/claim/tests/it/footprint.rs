//! What an explorer must know to reorder steps: with which accesses an event does not commute.

use linpoint_claim::{Condition, Kind, Monitor, ProcedureId, ThreadId, ThreadSet, Var, VarId, Variable};

use crate::run::SITE;

#[test]
fn events_that_determine_terms_touch_their_variables() {
    let (x, thread, procedure) = (VarId::of_address(8), ThreadId(1), ProcedureId(1));
    let done = Var::new(false);
    let mut monitor = Monitor::new();
    monitor.keep_footprint();
    monitor.enter(thread, procedure);
    let id = monitor.open_claim(thread, &SITE);
    monitor.add_first(id, x, Kind::Wr, ThreadSet::all());
    monitor.add_first(id, x, Kind::Rd, ThreadSet::all());
    monitor.add_last(id, x, Kind::RW, ThreadSet::all(), Condition::is_true(&done));
    monitor.add_exit(id, x, 0);
    monitor.close_claim(id, Box::new(|_, _| true));
    // The claim does not commute with the writes that `First(x, Wr, …)` waits for, nor with the reads of the second term; nor with `done`.
    assert_eq!(monitor.footprint(), [(x, Kind::Rd), (x, Kind::Wr), (x, Kind::Wr), (done.id(), Kind::Rd)]);

    monitor.clear_footprint();
    monitor.access(thread, x, Kind::Rd, 0);
    assert!(monitor.footprint().is_empty(), "the access itself is known");
    monitor.access(thread, done.id(), Kind::Wr, 0);
    assert_eq!(
        monitor.footprint(),
        [(x, Kind::Wr)],
        "also if the condition stays false: another variable may decide"
    );

    monitor.clear_footprint();
    monitor.exit(thread, procedure);
    assert_eq!(monitor.footprint(), [(x, Kind::Rd)]);
}
