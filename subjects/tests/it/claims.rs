//! The claims that subjects make: true in every schedule of the correct ones, false in some of the broken ones.

use linpoint::Explored;
use linpoint_sched::thread;
use linpoint_subjects::CORRECT;
use linpoint_subjects::bartok_stm::{ABORT_KEEPS_VERSION, OWNED_IS_MINE, Stm, UNDO_FORWARD};
use linpoint_subjects::elimination_stack::{EliminationStack, RIGHT_CLAIM, WRONG_CLAIM};
use linpoint_subjects::snapshot::{SEPARATE_VERSION, Snapshot};

type Thread<O> = fn(&O);

/// Explores `threads` over one object, after `first` was done to it.
fn explored<O: Default + Sync>(first: Thread<O>, threads: &[Thread<O>]) -> Explored {
    linpoint::exploration().time_limit(std::time::Duration::from_secs(120)).report(|| {
        let object = O::default();
        first(&object);
        thread::run_all(threads.iter().map(|&body| {
            let object = &object;
            Box::new(move || body(object)) as Box<dyn FnOnce() + Send + '_>
        }));
    })
}

/// Every claim is true in every schedule, which takes at most `most` executions.
#[track_caller]
fn holds<O: Default + Sync>(first: Thread<O>, threads: &[Thread<O>], most: u64) {
    let explored = explored(first, threads);
    println!("{} executions", explored.walked.runs);
    assert_eq!(explored.verdict(), "holds", "{explored}");
    assert!(explored.walked.runs <= most, "{} executions", explored.walked.runs);
}

/// A claim with `text` in it is false in some schedule, and is so within `most` executions.
#[track_caller]
fn fails<O: Default + Sync>(first: Thread<O>, threads: &[Thread<O>], text: &str, most: u64) {
    let explored = explored(first, threads);
    println!("{} executions", explored.walked.runs);
    let shown = explored.counterexample.as_ref().expect("the claim is false").to_string();
    assert!(shown.starts_with("a claim is false") && shown.contains(text), "{shown}");
    assert!(explored.walked.runs <= most, "{} executions", explored.walked.runs);
}

fn nothing<O>(_: &O) {}

/// All orders of four threads.
fn orders<T: Copy>(all: [T; 4]) -> Vec<[T; 4]> {
    let numbers = (0..256).map(|code| [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6]);
    numbers
        .filter(|order| (0..4).all(|index| order.contains(&index)))
        .map(|order| order.map(|index| all[index]))
        .collect()
}

fn snapshots<const M: u8>() -> [Thread<Snapshot<M, true>>; 4] {
    let snapshot: Thread<Snapshot<M, true>> = |cells| {
        cells.snapshot();
    };
    [snapshot, snapshot, |cells| cells.write_first(1), |cells| cells.write_second(2)]
}

#[test]
fn snapshot() {
    for order in orders(snapshots::<CORRECT>()) {
        holds(nothing, &order, 100);
    }
    for order in orders(snapshots::<SEPARATE_VERSION>()) {
        fails(nothing, &order, "Exit(success) ==>", 100);
    }
}

/// One thread pushes twice, one once, one pops.
fn disturbed<const M: u8>() -> [Thread<EliminationStack<M>>; 3] {
    [
        |stack| {
            stack.push(1);
            stack.push(2);
        },
        |stack| stack.push(3),
        |stack| {
            stack.pop();
        },
    ]
}

#[test]
fn elimination_stack() {
    fails(|stack| stack.push(0), &disturbed::<WRONG_CLAIM>(), "First(self.top, Wr, { me }) == node", 143);
    holds(|stack| stack.push(0), &disturbed::<RIGHT_CLAIM>(), u64::MAX);
}

/// Two transactions of two instructions.
fn crossing<const M: u8>() -> [Thread<Stm<M, true>>; 2] {
    [
        |stm| {
            stm.first_to_second();
        },
        |stm| {
            stm.second_to_first();
        },
    ]
}

/// One that writes an object twice and may have to undo it.
fn undoing<const M: u8>() -> [Thread<Stm<M, true>>; 2] {
    [
        |stm| {
            stm.overwrite();
        },
        |stm| {
            stm.first_to_second();
        },
    ]
}

#[test]
fn bartok_stm() {
    holds(nothing, &crossing::<CORRECT>(), 112);
    holds(nothing, &undoing::<CORRECT>(), u64::MAX);
    fails(nothing, &crossing::<OWNED_IS_MINE>(), "is_owned_by_another", 104);
    fails(nothing, &crossing::<ABORT_KEEPS_VERSION>(), "is_owned_by_another", 104);
    fails(nothing, &undoing::<UNDO_FORWARD>(), "Last(", 104);
}
