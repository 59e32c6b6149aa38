//! What an explorer must know to reorder steps: with which accesses an event does not commute.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use linpoint_claim::{Condition, Kind, Monitor, ProcedureId, ThreadId, ThreadSet, Var, VarId, Variable};

use crate::random::{Random, random_run};
use crate::run::{Environment, Event, SITE, add_term, variable};

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
    // The claim does not commute with the writes that `First(x, Wr, …)` waits for, nor with the reads of the
    // second term; nor with `done`.
    assert_eq!(monitor.footprint(), [(x, Kind::Rd), (x, Kind::Wr), (x, Kind::Wr), (done.id(), Kind::Rd)]);

    monitor.clear_footprint();
    monitor.access(thread, x, Kind::Rd, 0);
    assert!(monitor.footprint().is_empty(), "the access itself is known");
    monitor.access(thread, done.id(), Kind::Wr, 0);
    assert!(monitor.footprint().is_empty(), "the condition stays false, and has no other variables");
    monitor.access(thread, done.id(), Kind::Wr, 1);
    assert_eq!(monitor.footprint(), [(x, Kind::Wr)], "accesses of x count until now");

    monitor.clear_footprint();
    monitor.exit(thread, procedure);
    assert_eq!(monitor.footprint(), [(x, Kind::Rd)]);
}

/// A statement with all that belongs to it, by one thread.
#[derive(Clone, Debug)]
struct Step {
    number: usize,
    thread: ThreadId,
    events: Vec<Event>,
}

fn steps(run: &[Event]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut depth = 0;
    for event in run {
        let thread = match event {
            Event::Access(thread, ..)
            | Event::Enter(thread, _)
            | Event::Exit(thread, _)
            | Event::Unwind(thread, _)
            | Event::Claim(thread, _) => Some(*thread),
            Event::Begin | Event::End => None,
        };
        if depth == 0 {
            steps.push(Step { number: steps.len(), thread: ThreadId(0), events: Vec::new() });
        }
        match event {
            Event::Begin => depth += 1,
            Event::End => depth -= 1,
            _ => {}
        }
        let step = steps.last_mut().unwrap();
        step.thread = thread.unwrap_or(step.thread);
        step.events.push(event.clone());
    }
    let last = steps.last_mut().unwrap();
    last.events.extend((0..depth).map(|_| Event::End));
    steps
}

/// What became of a run: for each claim, by the step and the place in which it was made, the values of its
/// terms if it was decided; and for each step what it touched.
type Outcome = (BTreeMap<(usize, usize), Option<Vec<u128>>>, BTreeMap<usize, Vec<(VarId, Kind)>>);

fn outcome(steps: &[Step]) -> Outcome {
    let mut monitor = Monitor::new();
    monitor.keep_footprint();
    let claims = Rc::new(RefCell::new(BTreeMap::new()));
    let mut touched = BTreeMap::new();
    let mut environment = Environment::default();
    for step in steps {
        let mut accesses = Vec::new();
        for (place, event) in step.events.iter().enumerate() {
            environment.step(event);
            match event {
                Event::Access(thread, name, access, bits) => {
                    accesses.push((variable(*name), *access));
                    monitor.access(*thread, variable(*name), *access, *bits);
                }
                Event::Begin => monitor.begin_block(),
                Event::End => monitor.end_block(),
                Event::Enter(thread, name) => monitor.enter(*thread, ProcedureId(*name as u64)),
                Event::Exit(thread, name) => monitor.exit(*thread, ProcedureId(*name as u64)),
                Event::Unwind(thread, name) => monitor.unwind(*thread, ProcedureId(*name as u64)),
                Event::Claim(thread, terms) => {
                    let id = monitor.open_claim(*thread, &SITE);
                    terms.iter().for_each(|term| add_term(&mut monitor, id, term, &environment));
                    let key = (step.number, place);
                    claims.borrow_mut().insert(key, None);
                    let claims = Rc::clone(&claims);
                    let predicate =
                        move |values: &[u128], _: Option<&mut linpoint_claim::Explanation<'_>>| {
                            claims.borrow_mut().insert(key, Some(values.to_vec()));
                            true
                        };
                    monitor.close_claim(id, Box::new(predicate));
                }
            }
        }
        accesses.extend(monitor.footprint());
        accesses.sort_by_key(|&(variable, kind)| (variable, kind as u8));
        accesses.dedup();
        monitor.clear_footprint();
        touched.insert(step.number, accesses);
    }
    monitor.end();
    (claims.take(), touched)
}

/// Steps of different threads that follow each other and do not conflict change places: every claim ends in
/// the same way, and every step touches the same.
#[test]
fn steps_that_do_not_conflict_commute() {
    let (mut swapped, mut refused) = (0, 0);
    for seed in 0..6_000 {
        let mut random = Random(seed);
        let mut steps = steps(&random_run(&mut random));
        let before = outcome(&steps);
        for _ in 0..8 {
            let at = random.below(steps.len() as u64) as usize;
            let Some([a, b]) = steps.get(at..).and_then(|rest| rest.get(..2)) else { continue };
            if a.thread == b.thread {
                continue;
            }
            let conflict = before.1[&a.number].iter().any(|(x, one)| {
                before.1[&b.number].iter().any(|(y, other)| x == y && (one.writes() || other.writes()))
            });
            if conflict {
                refused += 1;
                continue;
            }
            swapped += 1;
            steps.swap(at, at + 1);
            assert_eq!(outcome(&steps), before, "seed {seed}: {steps:#?}");
        }
    }
    assert!(swapped > 10_000 && refused > 2_000, "{swapped} swapped, {refused} refused");
}
