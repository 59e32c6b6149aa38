//! Section 3 of Sezgin, Tasiran, Muslu, Qadeer 2011 as tables: a run, a term, its value. The monitor and the
//! slow evaluator must both say so.

use linpoint_claim::{Bottom, Kind, Monitor, ThreadId, ThreadSet};

use crate::reference::evaluate;
use crate::run::{Event, Term, feed, parse};

/// Checks the value of a term: `Ok((value, seen, fixed))` with event numbers from 1, or why it is ⊥.
#[track_caller]
fn check(run: &str, term: Term, expect: Result<(u128, u64, u64), Bottom>) {
    let run = parse(run, std::slice::from_ref(&term));
    let claim = run.iter().position(|event| matches!(event, Event::Claim(..))).unwrap();
    assert_eq!(evaluate(&run, claim, &term), expect, "the slow evaluator");
    let found = feed(&run, Monitor::new());
    let got = match found.decided.first() {
        Some((_, failure)) => {
            let term = &failure.terms[0];
            Ok((term.value.parse().unwrap(), term.seen_at, term.fixed_at))
        }
        None => Err(found.undecided[0].bottom),
    };
    assert_eq!(got, expect, "the monitor");
}

fn all() -> ThreadSet {
    ThreadSet::all()
}

fn only(thread: u32) -> ThreadSet {
    ThreadSet::only(ThreadId(thread))
}

fn except(thread: u32) -> ThreadSet {
    ThreadSet::except(ThreadId(thread))
}

fn first(kind: Kind, threads: ThreadSet) -> Term {
    Term::First('x', kind, threads)
}

/// `Last(x, …, c)`.
fn last(kind: Kind, threads: ThreadSet) -> Term {
    Term::Last('x', kind, threads, vec![vec!['c']])
}

#[test]
fn first_takes_the_first_matching_access_after_the_claim() {
    check("1:x=1 1! 1:x=2 1:x=3", first(Kind::Wr, all()), Ok((2, 3, 3)));
    check("1! 1:y=1 2:x?0 2:x=4", first(Kind::Wr, all()), Ok((4, 4, 4)));
    check("1! 1:y=1 2:x?0 2:x=4", first(Kind::Rd, all()), Ok((0, 3, 3)));
    check("1! 1:y=1 2:x?0 2:x=4", first(Kind::RW, all()), Ok((0, 3, 3)));
    check("1! 1:x=7 2:x?7", first(Kind::RW, all()), Ok((7, 2, 2)));
}

#[test]
fn first_heeds_threads() {
    check("1! 2:x=2 3:x=3 1:x=1", first(Kind::Wr, only(1)), Ok((1, 4, 4)));
    check("1! 1:x=1 3:x=3 2:x=2", first(Kind::Wr, except(1)), Ok((3, 3, 3)));
    check("1! 1:x=1", first(Kind::Wr, except(1)), Err(Bottom::NoAccess));
    check("1! 1:x=1", first(Kind::Wr, ThreadSet::none()), Err(Bottom::NoAccess));
}

#[test]
fn first_without_a_match_is_bottom() {
    check("1:x=1 1!", first(Kind::Wr, all()), Err(Bottom::NoAccess));
    check("1! 1:x?0 1:y=2", first(Kind::Wr, all()), Err(Bottom::NoAccess));
}

#[test]
fn an_update_reads_and_writes_and_shows_the_value_after() {
    check("1! 2:x?4=5", first(Kind::Rd, all()), Ok((5, 2, 2)));
    check("1! 2:x?4=5", first(Kind::Wr, all()), Ok((5, 2, 2)));
    check("1! 2:x?4=5", first(Kind::RW, all()), Ok((5, 2, 2)));
}

#[test]
fn a_block_is_one_statement() {
    // The value after the statement, not one in its middle that nobody else could see.
    check("1! [ 2:x=1 2:x=2 ] 2:x=3", first(Kind::Wr, all()), Ok((2, 3, 3)));
    check("1! [ 2:x?0 2:x=2 2:y=1 ]", first(Kind::Rd, all()), Ok((2, 3, 4)));
    check("1! [ 2:x=1 2:x?1 2:y=1 ]", first(Kind::Wr, all()), Ok((1, 3, 4)));
    check("1! [ 2:x=1 2:y=1 2:x=2 ] 2:c=1", last(Kind::Wr, all()), Ok((2, 4, 5)));
    check("1! [ 2:x?0 2:x=2 ] 2:x=3 2:c=1", last(Kind::Rd, all()), Ok((2, 3, 5)));
    check("1! [ 2:x?0 2:x=2 2:y=1 ]", first(Kind::RW, all()), Ok((2, 3, 4)));
    check("1! [ [ 2:x=1 ] 2:x=2 ]", first(Kind::Wr, all()), Ok((2, 3, 3)));
    // The rest of a block in which the claim stands.
    check("[ 1:x=1 1! 1:x=2 1:x=3 ] 1:x=4", first(Kind::Wr, all()), Ok((3, 4, 4)));
}

#[test]
fn last_takes_the_last_matching_access_before_the_condition() {
    check("1! 1:x=1 1:x=2 1:c=1 1:x=3", last(Kind::Wr, all()), Ok((2, 3, 4)));
    check("1! 1:x=1 2:x=2 1:c=1", last(Kind::Wr, only(1)), Ok((1, 2, 4)));
    check("1! 1:x=1 2:x?1 1:c=1", last(Kind::Rd, all()), Ok((1, 3, 4)));
    check("1! 1:x=1 2:x?1=9 1:c=1", last(Kind::RW, all()), Ok((9, 3, 4)));
    // Anyone may make the condition true, and only a write does.
    check("1! 1:x=1 2:c=1 1:x=2", last(Kind::Wr, only(1)), Ok((1, 2, 3)));
    check("1! 1:x=1 2:c?0 1:x=2 2:c?0=1", last(Kind::Wr, all()), Ok((2, 4, 5)));
    // The first time counts.
    check("1! 1:x=1 1:c=1 1:c=0 1:x=2 1:c=1", last(Kind::Wr, all()), Ok((1, 2, 3)));
}

#[test]
fn last_is_bottom_if_the_condition_stays_false_or_comes_too_early() {
    check("1! 1:x=1 1:x=2", last(Kind::Wr, all()), Err(Bottom::ConditionStayedFalse));
    check("1! 1:x=1 1:c=0", last(Kind::Wr, all()), Err(Bottom::ConditionStayedFalse));
    check("1:x=1 1! 1:c=1 1:x=2", last(Kind::Wr, all()), Err(Bottom::NoAccessBeforeCondition));
    check("1! 2:x=1 1:c=1 1:x=2", last(Kind::Wr, only(1)), Err(Bottom::NoAccessBeforeCondition));
    // It held already: nothing in the suffix comes before that.
    check("1:c=1 1! 1:x=1 1:c=0 1:c=1", last(Kind::Wr, all()), Err(Bottom::ConditionHeldBefore));
}

#[test]
fn what_makes_the_condition_true_is_not_before_it() {
    let own = |kind| Term::Last('x', kind, all(), vec![vec!['x']]);
    check("1! 1:x=0 1:x=5", own(Kind::Wr), Ok((0, 2, 3)));
    check("1! 1:x=5", own(Kind::Wr), Err(Bottom::NoAccessBeforeCondition));
    check("1! 1:x?0 1:x=5", own(Kind::RW), Ok((0, 2, 3)));
}

#[test]
fn conditions_in_blocks() {
    // Within a statement, what comes before the write that makes the condition true counts.
    check("1! [ 1:x=1 1:c=1 1:x=2 ]", last(Kind::Wr, all()), Ok((1, 2, 4)));
    check("1! 1:x=1 [ 1:c=1 1:x=2 ]", last(Kind::Wr, all()), Ok((1, 2, 4)));
    // A condition that holds only in the middle of a statement never held.
    check("1! [ 1:x=1 1:c=1 1:c=0 ] 1:x=2 1:c=1", last(Kind::Wr, all()), Ok((2, 5, 6)));
    check("1! [ 1:x=1 1:c=1 1:c=0 1:x=2 1:c=1 ]", last(Kind::Wr, all()), Ok((2, 5, 6)));
    check("1! [ 1:c=1 1:c=0 ] 1:x=2", last(Kind::Wr, all()), Err(Bottom::ConditionStayedFalse));
}

#[test]
fn conditions_of_several_variables() {
    let both = Term::Last('x', Kind::Wr, all(), vec![vec!['c', 'd']]);
    check("1! 1:x=1 1:c=1 1:x=2 1:d=1", both.clone(), Ok((2, 4, 5)));
    check("1:d=1 1! 1:x=1 1:c=1 1:x=2", both.clone(), Ok((1, 3, 4)));
    check("1! 1:x=1 1:c=1 1:c=0 1:d=1", both, Err(Bottom::ConditionStayedFalse));
    let either = Term::Last('x', Kind::Wr, all(), vec![vec!['c'], vec!['d']]);
    check("1! 1:x=1 2:d=1 1:x=2", either, Ok((1, 2, 3)));
}

#[test]
fn exit_takes_the_value_when_the_procedure_returns() {
    let exit = Term::Exit('x');
    check("1:x=4 1:p( 1! 1:p)", exit.clone(), Ok((4, 3, 4)));
    check("1:p( 1! 1:x=1 1:x=2 1:p) 1:x=3", exit.clone(), Ok((2, 4, 5)));
    // The variable may be shared.
    check("1:p( 1! 1:x=1 2:x?1=7 1:p)", exit.clone(), Ok((7, 4, 5)));
    // Returns of others do not matter, nor what another thread calls by the same name.
    check("2:p( 1:p( 1! 2:p) 1:x=1 1:p)", exit.clone(), Ok((1, 5, 6)));
    check("1:p( 1! 1:q( 1:q) 1:x=1 1:p)", exit.clone(), Ok((1, 5, 6)));
    // The innermost open procedure is the one in which the claim stands.
    check("1:p( 1:q( 1! 1:x=1 1:q) 1:x=2 1:p)", exit, Ok((1, 4, 5)));
}

#[test]
fn exit_under_recursion_counts_calls() {
    let exit = Term::Exit('x');
    check("1:p( 1! 1:p( 1:x=1 1:p) 1:x=2 1:p)", exit.clone(), Ok((2, 6, 7)));
    check("1:p( 1:p( 1! 1:x=1 1:p) 1:x=2 1:p)", exit.clone(), Ok((1, 4, 5)));
    check("1:p( 1! 1:p( 1:p( 1:p) 1:x=1 1:p) 1:p)", exit, Ok((1, 6, 8)));
}

#[test]
fn exit_is_bottom_if_the_procedure_does_not_return() {
    let exit = Term::Exit('x');
    check("1:p( 1! 1:x=1", exit.clone(), Err(Bottom::ProcedureOpen));
    check("1:p( 1! 1:p( 1:p)", exit.clone(), Err(Bottom::ProcedureOpen));
    check("1:p( 1! 2:p)", exit.clone(), Err(Bottom::ProcedureOpen));
    check("1:p( 1! 1:p^", exit.clone(), Err(Bottom::ProcedureUnwound));
    check("1! 1:p( 1:p)", exit.clone(), Err(Bottom::NoProcedure));
    check("1:p( 1:p) 1!", exit.clone(), Err(Bottom::NoProcedure));
    // The return of `q` was never reported: it must have been left without notice.
    check("1:p( 1:q( 1! 1:x=1 1:p)", exit, Err(Bottom::ProcedureUnwound));
}

/// The example at the end of section 3: `First(v, Rd, Tid) = Last(x, Wr, {t}, done)` with 5 and 3.
#[test]
fn the_example_of_section_3() {
    let terms = [Term::First('v', Kind::Rd, all()), Term::Last('x', Kind::Wr, only(1), vec![vec!['c']])];
    //             q_i q_j   q_k        q_l        q_m+1
    let run = parse("1! 1:x=8 2:v?5 2:y=1 1:x=3 2:y=2 1:c=1 1:x=4 2:v?6", &terms);
    let found = feed(&run, Monitor::new());
    let failure = &found.decided[0].1;
    let values: Vec<_> =
        failure.terms.iter().map(|term| (&*term.value, term.seen_at, term.fixed_at)).collect();
    assert_eq!(values, [("5", 3, 3), ("3", 5, 7)]);
    assert_eq!(
        (failure.made_at, failure.decided_at),
        (1, 7),
        "the last term is determined when done becomes true"
    );
}

/// A claim is decided by the event that determines its last term, and one without terms at once.
#[test]
fn decided_as_soon_as_ready() {
    let run = parse("1! 1:x=1", &[]);
    assert_eq!(feed(&run, Monitor::new()).decided[0].1.decided_at, 1);
    let terms = [first(Kind::Wr, all()), Term::First('y', Kind::Wr, all())];
    let run = parse("1! 1:y=1 1:z=1 1:x=1 1:x=2", &terms);
    assert_eq!(feed(&run, Monitor::new()).decided[0].1.decided_at, 4);
}

/// One ⊥ term is enough for a claim not to be ready, whatever the others are; it is dropped as soon as that
/// is sure.
#[test]
fn a_claim_with_a_bottom_term_is_not_ready() {
    let terms = [first(Kind::Wr, all()), last(Kind::Wr, only(2))];
    let run = parse("1! 1:c=1 1:x=1 2:x=2", &terms);
    let found = feed(&run, Monitor::new());
    assert!(found.decided.is_empty());
    assert_eq!(found.undecided.len(), 1);
    assert_eq!((found.undecided[0].term, found.undecided[0].bottom), (1, Bottom::NoAccessBeforeCondition));
    assert_eq!(found.monitor.visits(), 1, "nothing is watched once the claim cannot become ready");
    assert_eq!(
        found.undecided[0].to_string(),
        "claim undecided: run:1:1, made by thread 1 at step 1: t1 saw no matching access before its condition held"
    );
}

/// The reads that a claim makes are no accesses of the program.
#[test]
fn reads_of_claims_do_not_match() {
    let run = parse("1!", &[first(Kind::Rd, all())]);
    let mut monitor = Monitor::new();
    let Event::Claim(thread, _) = run[0] else { unreachable!() };
    let id = monitor.open_claim(thread, &crate::run::SITE);
    monitor.add_first(id, crate::run::variable('x'), Kind::Rd, all());
    monitor.close_claim(id, Box::new(|values, _| values == [2]));
    monitor.begin_reading();
    monitor.access(thread, crate::run::variable('x'), Kind::Rd, 1);
    monitor.end_reading();
    monitor.access(thread, crate::run::variable('x'), Kind::Rd, 2);
    assert_eq!((monitor.counts().held, monitor.counts().violated), (1, 0));
}
