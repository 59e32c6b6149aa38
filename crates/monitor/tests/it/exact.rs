//! Exact commits: answers, views, mistakes, gaps.

use linpoint_monitor::shadows::Entries;
use linpoint_monitor::{Conclusion, End};

use crate::play::{only, run, setup};

#[track_caller]
fn check(spec: &str, log: &str, conclusion: Conclusion, sentence: &str) {
    let summary = run(setup(spec), log, End::Complete);
    assert_eq!(summary.conclusion, conclusion, "{summary:?}");
    if !sentence.is_empty() {
        let found = only(&summary).to_string();
        assert!(found.contains(sentence), "{found}");
    }
}

#[test]
fn the_order_of_commits_counts() {
    // The get is called first and returns last, and commits in between.
    let log = "
        1 call get 1
        2 call insert [1,10]
        2 commit
        1 commit
        2 return null
        1 return 10
    ";
    check("map", log, Conclusion::Clean, "");
}

#[test]
fn a_wrong_answer_is_refused() {
    let log = "
        2 call insert [1,10]
        2 commit
        2 return null
        1 call get 1
        1 commit
        1 return 11
    ";
    let summary = run(setup("map"), log, End::Complete);
    let found = only(&summary).to_string();
    assert!(found.contains("get(1) -> 11 by thread 1"), "{found}");
    assert_eq!((summary.operations, only(&summary).at), (1, 2));
}

#[test]
fn mistakes_of_the_annotation() {
    check("map", "1 call get 1\n 1 return null", Conclusion::Mistaken, "returned without a commit");
    check(
        "map",
        "1 call get 1\n 1 commit\n 1 commit\n 1 return null",
        Conclusion::Mistaken,
        "committed twice",
    );
    check("map", "1 commit", Conclusion::Mistaken, "thread 1 logged a commit outside an operation");
    check("map", "1 return null", Conclusion::Mistaken, "thread 1 logged a return outside an operation");
    check("map", "1 call get 1\n 1 call get 2", Conclusion::Mistaken, "inside another: get(1)");
    check("map", "1 release 7", Conclusion::Mistaken, "released lock 7, which it did not hold");
    check(
        "map",
        "1 acquire 7\n 2 acquire 7",
        Conclusion::Mistaken,
        "thread 2 acquired lock 7 while thread 1",
    );
    check("map", "1 acquire 7", Conclusion::Mistaken, "never released lock 7");
    check(
        "map",
        "1 call insert 5\n 1 commit\n 1 return",
        Conclusion::Mistaken,
        "expected a list of a key, which is not null, and a value",
    );
}

#[test]
fn a_missing_number_is_unknown_and_never_a_mistake() {
    let log = "
        1 call get 1
        1 commit
        1 return null
        1 call get 1
        1 lost
        1 return 77
    ";
    check("map", log, Conclusion::Unknown, "the record with number 2 is missing");
    let torn = run(setup("map"), log, End::Torn);
    assert_eq!((torn.conclusion, torn.operations, torn.unjudged), (Conclusion::Clean, 1, 2));
    assert!(torn.findings.is_empty());
}

#[test]
fn an_operation_that_never_answers_leaves_the_state_open() {
    let log = |seen: &str| {
        format!(
            "1 call insert_pair [1,2]\n 1 commit\n 1 abandon\n 2 call contains 1\n 2 commit\n 2 return {seen}
             2 call contains 2\n 2 commit\n 2 return true"
        )
    };
    check("multiset", &log("true"), Conclusion::Clean, "");
    let summary = run(setup("multiset"), &log("false"), End::Complete);
    assert_ne!(summary.conclusion, Conclusion::Clean);
}

#[test]
fn views_are_compared_at_commits() {
    let view = |log: &str| run(setup("map").with_view(Box::new(Entries::map())), log, End::Complete);
    let fine = "
        1 call insert [1,10]
        1 acquire 5
        1 write 100=[1,10]
        2 call get 3
        2 commit
        2 return null
        1 commit
        1 release 5
        1 return null
        3 block 100=null 101=[1,10]
        3 internal
    ";
    assert_eq!(view(fine).conclusion, Conclusion::Clean, "{:?}", view(fine));
    let lost = "
        1 call insert [1,10]
        1 commit 100=[1,10]
        1 return null
        1 call insert [2,20]
        1 commit
        1 return null
    ";
    let summary = view(lost);
    let found = only(&summary).to_string();
    assert!(found.contains("after insert([2,20])"), "{found}");
    assert!(found.contains("at 2 the specification has 20, the implementation nothing"), "{found}");
    let conflict = "
        1 call insert [1,10]
        1 commit 100=[1,10]
        1 return null
        3 block 101=[1,11]
        3 internal
    ";
    let found = only(&view(conflict)).to_string();
    assert!(found.contains("after an internal commit of thread 3: at 1 the specification has 10"), "{found}");
    assert!(found.contains("the implementation several values in conflict: 10, 11"), "{found}");
}
