//! Who is to blame when the order of commits does not fit.

use linpoint_monitor::finding::Refused;
use linpoint_monitor::{Blame, Conclusion, End, Found};

use crate::play::{only, run, setup};

#[track_caller]
fn refused(spec: &str, log: &str) -> (Conclusion, Refused) {
    let summary = run(setup(spec), log, End::Complete);
    match &only(&summary).found {
        Found::Refused(refused) => (summary.conclusion, (**refused).clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_commit_logged_too_early_is_the_annotations_fault() {
    // The get commits before it looks: another insert comes in between.
    let log = "
        1 call get 1
        2 call insert [1,10]
        1 commit
        2 commit
        2 return null
        1 return 10
    ";
    let (conclusion, refused) = refused("map", log);
    assert_eq!(conclusion, Conclusion::Mistaken);
    let Blame::Annotation { order, from } = refused.blame else { panic!("{refused:?}") };
    let names: Vec<String> = order.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["insert([1,10]) -> null by thread 2", "get(1) -> 10 by thread 1"]);
    assert_eq!(from, 0);
}

#[test]
fn a_commit_logged_too_late_too() {
    // The insert is visible before its commit, and the two readers disagree with the order of commits.
    let log = "
        2 call insert [1,10]
        1 call get 1
        1 commit
        1 return 10
        3 call get 1
        3 commit
        3 return 10
        2 commit
        2 return null
    ";
    let (conclusion, refused) = refused("map", log);
    assert_eq!(conclusion, Conclusion::Mistaken);
    assert!(matches!(refused.blame, Blame::Annotation { .. }));
}

#[test]
fn no_order_fits_a_real_violation() {
    let log = "
        2 call insert [1,10]
        2 commit
        2 return null
        2 call insert [2,20]
        2 commit
        2 return null
        3 call get 2
        1 call get 1
        1 commit
        1 return null
        3 commit
        3 return 20
    ";
    let (conclusion, refused) = refused("map", log);
    assert_eq!(conclusion, Conclusion::Violated);
    let Blame::Object { core, from, rechecked, reason, start } = refused.blame else { panic!("{refused:?}") };
    assert_eq!(core.len(), 1);
    assert_eq!((from, rechecked, start.as_str()), (0, true, "{1: 10, 2: 20}"));
    assert_eq!(reason, "get(1) -> null by thread 1 is impossible here: the specification allows 10");
}

#[test]
fn a_violation_of_several_operations_has_a_core() {
    // Two dequeues, neither of them finished before the other began, take the same value.
    let log = "
        1 call enqueue 5
        1 commit
        1 return
        2 call dequeue
        3 call dequeue
        2 commit
        3 commit
        3 return 5
        2 return 5
    ";
    let (conclusion, refused) = refused("queue", log);
    assert_eq!(conclusion, Conclusion::Violated);
    let Blame::Object { core, rechecked, .. } = refused.blame else { panic!("{refused:?}") };
    assert!(rechecked);
    assert!(core.len() <= 2, "{core:?}");
}

#[test]
fn a_torn_log_is_not_judged_where_something_may_be_missing() {
    let log = "
        1 call get 1
        1 commit
        1 return 10
    ";
    let summary = run(setup("map"), log, End::Torn);
    assert_eq!((summary.conclusion, summary.unjudged), (Conclusion::Clean, 3));
    assert!(summary.findings.is_empty());
}
