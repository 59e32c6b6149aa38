//! Single writes under locks, and blocks: which write a place holds in the end.

use linpoint_monitor::shadows::Entries;
use linpoint_monitor::{Commits, Conclusion, End, Summary};

use crate::locked;
use crate::play::{run, setup};

fn judge(log: &str, commits: Commits) -> Summary {
    run(setup("map").with_view(Box::new(Entries::map())).with_commits(commits), log, End::Complete)
}

#[track_caller]
fn check(log: &str, expected: Conclusion) {
    for commits in [Commits::Marked, Commits::Windows] {
        let summary = judge(log, commits);
        assert_eq!(summary.conclusion, expected, "{commits:?}: {summary:?}");
    }
}

/// A thread writes a place under a lock, and then again in a block: what the block wrote is there.
#[test]
fn a_block_is_newer_than_a_write_that_waits() {
    let log = |first: u64, second: u64| {
        format!(
            "1 call insert [1,2]\n 1 acquire 9\n 1 write 1=[1,{first}]\n 1 block 1=[1,{second}]\n 1 commit\n 1 release 9\n 1 return"
        )
    };
    check(&log(2, 1), Conclusion::Violated);
    check(&log(1, 2), Conclusion::Clean);
    let with_commit = |first: u64, second: u64| {
        format!(
            "1 call insert [1,2]\n 1 acquire 9\n 1 write 1=[1,{first}]\n 1 commit 1=[1,{second}]\n 1 release 9\n 1 return"
        )
    };
    check(&with_commit(2, 1), Conclusion::Violated);
    check(&with_commit(1, 2), Conclusion::Clean);
    // The other way round the write waits for the commit, and is the newer one.
    let block_first = |first: u64, second: u64| {
        format!(
            "1 call insert [1,2]\n 1 acquire 9\n 1 block 1=[1,{first}]\n 1 write 1=[1,{second}]\n 1 commit\n 1 release 9\n 1 return"
        )
    };
    check(&block_first(2, 1), Conclusion::Violated);
    check(&block_first(1, 2), Conclusion::Clean);
}

/// A thread gives a lock up while it holds another; who takes the first one writes the same place.
#[test]
fn hand_over_hand() {
    let log = |lost: bool| {
        let last = if lost { "9 write 1=null\n" } else { "" };
        format!(
            "9 acquire 1\n 9 write 1=null\n 9 acquire 2\n 9 release 1
             1 call insert [7,7]\n 1 acquire 1\n 1 write 1=[7,7]\n 1 commit\n 1 release 1\n 1 return
             9 write 2=null\n {last} 9 release 2\n 9 internal"
        )
    };
    check(&log(false), Conclusion::Clean);
    // What is written later is the newer one, whoever wrote it.
    check(&log(true), Conclusion::Violated);
    // Both wait: the older one shows first here, and is overwritten.
    check(
        "1 call insert [1,1]\n 1 acquire 1\n 1 write 1=[1,1]\n 1 acquire 2\n 1 release 1
         2 call insert [1,2]\n 2 acquire 1\n 2 write 1=[1,2]
         1 commit\n 1 release 2\n 1 return null
         2 commit\n 2 release 1\n 2 return 1",
        Conclusion::Clean,
    );
}

/// An operation that was dropped after its write showed, and reads that do not see it: whenever it took
/// effect, the state and an answer do not go together.
#[test]
fn a_dropped_operation_comes_before_what_saw_its_write() {
    let log = |gets: usize, key: u64, answer: &str| {
        let get = format!("2 call get {key}\n 2 commit\n 2 return {answer}\n");
        format!(
            "1 call insert [1,1]\n 1 acquire 1\n 1 write 1=[1,1]\n 1 release 1\n 1 abandon\n{}",
            get.repeat(gets)
        )
    };
    for gets in 1..6 {
        for commits in [Commits::Marked, Commits::Windows] {
            for (key, answer, expected) in [
                (1, "null", Conclusion::Unknown),
                (1, "1", Conclusion::Clean),
                (2, "null", Conclusion::Clean),
            ] {
                let summary = judge(&log(gets, key, answer), commits);
                assert_eq!(summary.conclusion, expected, "{gets} {key} {answer} {commits:?}: {summary:?}");
                assert!(summary.views <= summary.operations + summary.internal, "{summary:?}");
            }
        }
    }
}

#[test]
fn random_runs_under_locks() {
    let mut seen = [0u64; 4];
    for seed in 0..6000 {
        match locked::compare(seed) {
            Ok(conclusion) => seen[conclusion as usize] += 1,
            Err(message) => panic!("{message}"),
        }
    }
    assert!(seen[Conclusion::Clean as usize] > 3000 && seen[Conclusion::Violated as usize] > 300, "{seen:?}");
}
