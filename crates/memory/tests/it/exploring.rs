//! Limits are honest, failures stop nobody else, and a program that does not repeat itself is noticed.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Duration;

use linpoint_memory::machine::{Code, Expression, Instruction, Machine, Operator, Register};
use linpoint_memory::{
    Access, Coverage, End, Ended, Graph, Key, Location, MAX_THREADS, Model, Options, Ordering, Program,
    Report, Schedule, Step, Value, explore, explore_together, litmus, random, sample,
};

fn report(text: &str, change: impl Fn(&mut Options)) -> Report {
    let mut options = Options::of(Model::Rc11);
    change(&mut options);
    explore(&mut litmus::read_program(text).expect(text), &options, |_, _| ControlFlow::Continue(()))
}

const SB: &str = "W x rlx 1; R y rlx || W y rlx 1; R x rlx";

#[test]
fn a_search_without_limits_covers_everything() {
    let report = report(SB, |_| ());
    assert_eq!(
        (report.complete, report.ended, report.coverage()),
        (4, Ended::Exhausted, Coverage::Everything)
    );
}

#[test]
fn a_limit_of_graphs_is_told() {
    let report = report(SB, |options| options.limits.graphs = 2);
    assert_eq!((report.complete, report.coverage()), (2, Coverage::Part));
    assert!(matches!(report.ended, Ended::Limit(_)));
}

#[test]
fn a_limit_that_is_just_enough_is_no_limit() {
    assert_eq!(report(SB, |options| options.limits.graphs = 4).coverage(), Coverage::Everything);
}

#[test]
fn no_time_covers_nothing() {
    let report = report(SB, |options| options.limits.time = Duration::ZERO);
    assert_eq!((report.graphs(), report.coverage()), (0, Coverage::Part));
}

#[test]
fn a_limit_of_steps_is_told() {
    let report = report(SB, |options| options.limits.events_per_thread = 1);
    assert_eq!((report.complete, report.coverage()), (0, Coverage::Part));
    assert!(report.cut > 0);
}

#[test]
fn a_visitor_that_breaks_is_told() {
    let mut program = litmus::read_program(SB).expect(SB);
    let report = explore(&mut program, &Options::of(Model::Rc11), |_, _| ControlFlow::Break(()));
    assert_eq!((report.graphs(), report.ended, report.coverage()), (1, Ended::Stopped, Coverage::Part));
}

#[test]
fn too_many_threads_are_refused() {
    let mut program = Machine::new(vec![Code::default(); MAX_THREADS + 1], Vec::new());
    let report = explore(&mut program, &Options::of(Model::Sc), |_, _| ControlFlow::Continue(()));
    assert_eq!((report.ended, report.coverage()), (Ended::TooManyThreads, Coverage::Part));
}

#[test]
fn a_thread_that_loops_by_itself_is_cut() {
    let codes = vec![Code { instructions: vec![Instruction::Jump(0)], waits: false }];
    let mut program = Machine::new(codes, Vec::new());
    let report = explore(&mut program, &Options::of(Model::Rc11), |_, _| ControlFlow::Continue(()));
    assert_eq!((report.cut, report.coverage()), (1, Coverage::Part));
}

#[test]
fn a_thread_that_spins_is_cut() {
    // a = load(0); if a == 0 go back
    let a = Register::number(0);
    let spin = vec![
        Instruction::Load { to: a, at: Expression::Number(0), ordering: Ordering::Relaxed },
        Instruction::Unless(Expression::from(a).with(Operator::Different, 0), 0),
    ];
    let codes = vec![Code { instructions: spin, waits: false }];
    let mut program = Machine::new(codes, Vec::new());
    let report = explore(&mut program, &Options::of(Model::Rc11), |_, _| ControlFlow::Continue(()));
    assert_eq!((report.cut, report.complete, report.coverage()), (1, 0, Coverage::Part));
}

#[test]
fn a_failure_stops_nobody_else() {
    // r = load(x); assert r == 1, beside store(x, 1): reading 0 fails, and the store must still come.
    let r = Register::number(0);
    let reader = vec![
        Instruction::Load { to: r, at: Expression::Number(0), ordering: Ordering::Relaxed },
        Instruction::Assert(Expression::from(r).with(Operator::Equal, 1), 7),
    ];
    let store = Instruction::Store {
        at: Expression::Number(0),
        value: Expression::Number(1),
        ordering: Ordering::Relaxed,
    };
    let codes =
        vec![Code { instructions: reader, waits: false }, Code { instructions: vec![store], waits: false }];
    let mut ends = Vec::new();
    let report = explore(&mut Machine::new(codes, Vec::new()), &Options::of(Model::Rc11), |_, end| {
        ends.push(end);
        ControlFlow::Continue(())
    });
    assert_eq!((report.complete, report.failed), (1, 1));
    assert!(ends.contains(&End::Failed(7)) && ends.contains(&End::Complete));
}

/// Reads another location each time it is executed.
struct Fickle {
    executions: u64,
    taken: [usize; 2],
}

impl Program for Fickle {
    fn threads(&self) -> usize {
        2
    }

    fn starts(&self, _: usize) -> bool {
        true
    }

    fn initial(&self, _: Location) -> Value {
        0
    }

    fn restart(&mut self) {
        self.executions += 1;
        self.taken = [0, 0];
    }

    fn next(&mut self, thread: usize) -> Step {
        let location = Location(self.executions);
        match (thread, self.taken[thread]) {
            (_, 2) => Step::Finished,
            (_, 0) => Step::Read { location, access: Access::Load(Ordering::Relaxed) },
            (_, _) => Step::Write { location, ordering: Ordering::Relaxed, value: 1 },
        }
    }

    fn resume(&mut self, thread: usize, _: Value) {
        self.taken[thread] += 1;
    }
}

#[test]
fn a_program_that_does_not_repeat_itself_is_noticed() {
    let mut program = Fickle { executions: 0, taken: [0, 0] };
    let report = explore(&mut program, &Options::of(Model::Rc11), |_, _| ControlFlow::Continue(()));
    assert_eq!((report.ended, report.coverage()), (Ended::Diverged, Coverage::Part));
}

#[test]
fn the_last_in_order_keeps_the_work_list_short() {
    let text = ["U x rlx 1"; 6].join(" || ");
    assert!(report(&text, |_| ()).most_waiting < 40);
}

#[test]
fn no_execution_is_wasted_on_competing_updates() {
    assert_eq!(report("U x rlx 1; U x rlx 1 || U x rlx 1; U x rlx 1", |_| ()).dead, 0);
}

#[test]
fn random_executions_are_among_all_and_reach_all() {
    for seed in 0..40 {
        let text = random::program(seed);
        let mut program = litmus::read_program(&text).expect("in the notation");
        for model in Model::ALL {
            let mut options = Options::of(model);
            let mut keys = |sampling: bool| {
                let mut keys = BTreeSet::new();
                let visit = |graph: &Graph, _| {
                    keys.insert(graph.key());
                    ControlFlow::Continue(())
                };
                options.schedule = Schedule::Random(seed);
                let report = if sampling {
                    sample(&mut program, &options, 2_000, visit)
                } else {
                    explore(&mut program, &options, visit)
                };
                assert_eq!(report.dead, 0);
                assert_eq!(report.coverage() == Coverage::Part, sampling);
                keys
            };
            let (all, some) = (keys(false), keys(true));
            assert!(some.is_subset(&all), "{text}");
            assert!(some.len() * 10 >= all.len() * 9, "{text}: {} of {}", some.len(), all.len());
        }
    }
}

/// The graphs that so many workers meet, and what is reported.
fn together(text: &str, workers: usize, options: &Options) -> (Vec<Key>, Report) {
    let program = litmus::read_program(text).expect("in the notation");
    let met = Mutex::new(Vec::new());
    let report = explore_together(&mut vec![program; workers], options, |graph, _| {
        met.lock().expect("nobody panics").push(graph.key());
        ControlFlow::Continue(())
    });
    let mut met = met.into_inner().expect("nobody panics");
    met.sort();
    (met, report)
}

#[test]
fn several_workers_meet_the_same_graphs() {
    for text in
        [SB, &["U x rlx 1"; 5].join(" || "), "R x rlx a; A a==2; W y rlx 1 || W x rlx 1 || R y rlx", ""]
    {
        for model in Model::ALL {
            let options = Options::of(model);
            let (alone, report) = together(text, 1, &options);
            assert_eq!(report.coverage(), Coverage::Everything);
            for workers in [2, 3, 8] {
                let (met, report) = together(text, workers, &options);
                assert_eq!((&met, report.coverage()), (&alone, Coverage::Everything));
                assert_eq!(report.graphs(), met.len() as u64);
            }
        }
    }
}

#[test]
fn limits_hold_for_all_workers_together() {
    let mut options = Options::of(Model::Rc11);
    options.limits.graphs = 50;
    let (met, report) = together(&["U x rlx 1"; 5].join(" || "), 4, &options);
    assert_eq!((met.len(), report.coverage()), (50, Coverage::Part));
    assert!(matches!(report.ended, Ended::Limit(_)));
}

#[test]
fn a_worker_that_breaks_stops_all() {
    let program = litmus::read_program(&["U x rlx 1"; 6].join(" || ")).expect("in the notation");
    let report =
        explore_together(&mut vec![program; 4], &Options::of(Model::Rc11), |_, _| ControlFlow::Break(()));
    assert_eq!((report.ended, report.coverage()), (Ended::Stopped, Coverage::Part));
    assert!(report.graphs() <= 4);
}

/// Blocked graphs, and how many of them are deadlocks.
#[track_caller]
fn check_deadlocks(text: &str, blocked: u64, deadlocks: u64) {
    let mut program = litmus::read_program(text).expect("in the notation");
    let mut found = 0;
    let report = explore(&mut program, &Options::of(Model::Rc11), |graph, _| {
        found += u64::from(graph.is_deadlock());
        ControlFlow::Continue(())
    });
    assert_eq!((report.blocked, found), (blocked, deadlocks), "{text}");
}

#[test]
fn deadlocks_are_told_from_reads_that_come_too_early() {
    // Nobody writes 1, or it comes, or it comes and goes.
    check_deadlocks("R x acq a; A a==1", 1, 1);
    check_deadlocks("R x acq a; A a==1 || W x rel 1", 1, 0);
    check_deadlocks("R x acq a; A a==1 || W x rel 1; W x rel 0", 2, 1);
    // One lock, and two locks in different orders.
    let lock = |x: &str| format!("C {x} 0 1 acq rlx a; A a==0");
    let (x, y, free) = (lock("x"), lock("y"), "W y rel 0; W x rel 0");
    let one = format!("{x}; W x rel 0");
    check_deadlocks(&format!("{one} || {one}"), 2, 0);
    check_deadlocks(&format!("{x}; {y}; {free} || {x}; {y}; {free}"), 2, 0);
    check_deadlocks(&format!("{x}; {y}; {free} || {y}; {x}; {free}"), 4, 1);
    // Who waits for the end of a thread that waits for ever waits for ever, too.
    check_deadlocks("R x rlx a; A a==1 || J 0", 1, 1);
}
