//! Views that differ: by whose fault? And operations that were dropped before they committed.

use linpoint_monitor::shadows::Entries;
use linpoint_monitor::{Cause, Commits, Conclusion, End, Found, Setup};

use crate::play::{only, run, setup};

fn map(view: bool) -> Setup {
    let setup = setup("map");
    if view { setup.with_view(Box::new(Entries::map())) } else { setup }
}

#[track_caller]
fn check(setup: Setup, log: &str, conclusion: Conclusion) {
    let summary = run(setup, log, End::Complete);
    assert_eq!(summary.conclusion, conclusion, "{log}: {:?}", summary.findings);
    assert!(conclusion != Conclusion::Clean || summary.unjudged == 0, "{summary:#?}");
}

/// The insertion commits before it writes, and another operation commits in between.
#[test]
fn a_commit_before_its_write_is_the_annotations_fault() {
    let log = "
        1 call insert [1,10]
        2 call insert [2,20]
        1 commit
        2 commit 2=[2,20]
        1 block 1=[1,10]
        1 return null
        2 return null
    ";
    check(map(true), log, Conclusion::Mistaken);
    let summary = run(map(true), log, End::Complete);
    let Found::View(difference) = &only(&summary).found else { panic!("{summary:?}") };
    assert!(matches!(difference.cause, Cause::Annotation { .. }), "{difference:?}");
    let said = only(&summary).to_string();
    assert!(said.contains("wrong commit annotation: the views differ after insert([1,10])"), "{said}");
    // Without views there is nothing wrong to be seen.
    check(map(false), log, Conclusion::Clean);
}

/// It writes, and commits long after: another operation commits in between.
#[test]
fn a_commit_after_its_write_too() {
    let log = "
        1 call insert [1,10]
        1 block 1=[1,10]
        2 call insert [2,20]
        2 commit 2=[2,20]
        2 return null
        1 commit
        1 return null
    ";
    check(map(true), log, Conclusion::Mistaken);
}

/// A commit inside a critical section, before the last write of it.
#[test]
fn a_commit_between_the_writes_of_a_critical_section() {
    let log = "
        1 call insert [1,10]
        1 acquire 7
        1 commit
        2 call get 5
        2 commit
        2 return null
        1 write 1=[1,10]
        1 release 7
        1 return null
    ";
    check(map(true), log, Conclusion::Mistaken);
}

/// What is never written, or written for good as something else, is the object's fault wherever the commit
/// stands.
#[test]
fn a_wrong_state_is_the_objects_fault() {
    let both = "1 call insert [1,10]\n 1 block 1=[1,10] 2=[2,7]\n 1 commit\n 1 return null";
    check(map(true), both, Conclusion::Violated);
    for written in ["1 block", "1 block 1=[1,11]"] {
        for (before, after) in [("1 commit", written), (written, "1 commit")] {
            let log = format!(
                "1 call insert [1,10]\n {before}\n 2 call get 3\n 2 commit\n 2 return null\n {after}\n 1 return null"
            );
            check(map(true), &log, Conclusion::Violated);
        }
    }
}

/// Half a change that somebody else's commit falls into was there to be seen.
#[test]
fn half_a_change_is_the_objects_fault() {
    let log = "
        1 call insert [1,10]
        1 commit 1=[1,10]
        1 return null
        1 call insert [1,11]
        1 block 1=null
        2 call get 3
        2 commit
        2 return null
        1 block 2=[1,11]
        1 commit
        1 return 10
    ";
    check(map(true), log, Conclusion::Violated);
}

/// While an operation on the key is open nobody can tell; a log that ends there says so.
#[test]
fn what_never_ends_is_open() {
    let log = "
        1 call insert [1,10]
        1 commit
        2 call get 5
        2 commit
        2 return null
    ";
    check(map(true), log, Conclusion::Unknown);
}

/// A panic after the effect and before the commit: the effect is there, or it is not.
#[test]
fn a_dropped_operation_may_have_taken_effect() {
    let log = |answer: &str, write: &str| {
        format!(
            "2 call insert [2,20]\n 2 commit 2=[2,20]\n 2 return null
             1 call insert [1,10]\n {write}\n 1 abandon
             2 call get 2\n 2 commit\n 2 return 20
             2 call get 1\n 2 commit\n 2 return {answer}
             2 call insert [1,11]\n 2 commit 1=[1,11]\n 2 return {answer}"
        )
    };
    for commits in [Commits::Marked, Commits::Windows] {
        let setup = |view| map(view).with_commits(commits);
        for answer in ["null", "10"] {
            check(setup(false), &log(answer, ""), Conclusion::Clean);
        }
        check(setup(false), &log("12", ""), Conclusion::Violated);
        // With views: the write tells.
        check(setup(true), &log("10", "1 block 1=[1,10]"), Conclusion::Clean);
        check(setup(true), &log("null", ""), Conclusion::Clean);
        check(setup(true), &log("12", "1 block 1=[1,10]"), Conclusion::Violated);
        // The views show the effect, and the answer does not: no order of the answers alone tells.
        check(setup(true), &log("null", "1 block 1=[1,10]"), Conclusion::Unknown);
    }
}

/// It took effect, and the panic came before the write was logged: the views cannot be told to be wrong.
#[test]
fn a_write_that_was_never_logged_is_open() {
    let log = "
        1 call insert [1,10]
        1 abandon
        2 call get 1
        2 commit
        2 return 10
    ";
    check(map(true), log, Conclusion::Unknown);
}

/// It took effect before what committed meanwhile, and that shows only later.
#[test]
fn a_dropped_operation_may_have_come_first() {
    let log = |first: &str, second: &str| {
        format!(
            "1 call enqueue 5\n 1 abandon
             2 call enqueue 6\n 2 commit\n 2 return
             2 call dequeue\n 2 commit\n 2 return {first}
             2 call dequeue\n 2 commit\n 2 return {second}"
        )
    };
    for (first, second, expected) in [
        ("5", "6", Conclusion::Clean),
        ("6", "5", Conclusion::Clean),
        ("6", "null", Conclusion::Clean),
        ("5", "5", Conclusion::Violated),
        ("7", "6", Conclusion::Violated),
    ] {
        check(setup("queue"), &log(first, second), expected);
    }
}

/// After an operation was dropped, commits at the wrong places are still the annotation's fault: what
/// returned long before the last write has its place, too.
#[test]
fn a_dropped_operation_and_a_wrong_commit_point() {
    let log = "
        3 call insert [0,2]
        2 call insert [1,0]
        2 block 1=[1,0]
        3 abandon
        1 call insert [0,1]
        1 commit
        2 commit
        2 return null
        1 block 0=[0,1]
        1 return null
    ";
    check(map(true), log, Conclusion::Mistaken);
}

/// Two dropped operations that said nothing of what they wrote: together they leave the view as it was, and
/// the answers show that only one took effect.
#[test]
fn views_that_rule_out_what_happened_are_no_proof() {
    let log = "
        1 call insert [0,0]
        2 call get 0
        1 abandon
        1 call remove 0
        1 abandon
        2 return 0
        2 call remove 0
        2 return 0
    ";
    check(map(false).with_commits(Commits::Intervals), log, Conclusion::Clean);
    check(map(true).with_commits(Commits::Intervals), log, Conclusion::Unknown);
}

/// It cannot have taken effect before it was called.
#[test]
fn a_dropped_operation_takes_no_effect_before_its_call() {
    let log = "
        2 call get 1
        2 commit
        2 return 10
        1 call insert [1,10]
        1 abandon
        2 call get 1
        2 commit
        2 return 10
    ";
    check(map(false), log, Conclusion::Violated);
}

/// By versions the views are compared where nothing is open, and the count says how often that was.
#[test]
fn comparisons_are_counted() {
    let log = "
        1 call insert [1,10]
        1 block 1=[1,10]
        2 call insert [2,20]
        2 block 2=[2,20]
        1 at 1
        2 at 2
        1 return null
        2 return null
        1 call insert [1,11]
        1 block 1=[1,11]
        1 at 3
        1 return 10
    ";
    let summary = run(map(true), log, End::Complete);
    assert_eq!((summary.conclusion, summary.operations), (Conclusion::Clean, 3), "{summary:?}");
    assert_eq!(summary.views, 1, "all at once is one comparison: {summary:?}");
    let exact = "1 call insert [1,10]\n 1 commit 1=[1,10]\n 1 return null\n 9 internal";
    let summary = run(map(true), exact, End::Complete);
    assert_eq!((summary.views, summary.operations, summary.internal), (2, 1, 1), "{summary:?}");
}
