//! Every subject under the harness that users call: the correct ones hold, each broken one is caught with up to three
//! threads, and its token replays.
//!
//! How long that takes is printed and not asserted; `cargo run --release -p linpoint-subjects --example verdicts` measures
//! it.

use std::time::Duration;

use linpoint::{Check, Object, Scenario, check};
use linpoint_subjects::CORRECT;
use linpoint_subjects::bartok_stm::{ABORT_KEEPS_VERSION, OWNED_IS_MINE, Stm, UNDO_FORWARD};
use linpoint_subjects::chase_lev_deque::{ChaseLevDeque, TAKE_WITHOUT_CAS};
use linpoint_subjects::elimination_stack::{COLLIDE_BY_STORE, EliminationStack};
use linpoint_subjects::lazy_list_set::{LazyListSet, NO_MARKED_CHECK, NO_VALIDATION};
use linpoint_subjects::michael_scott_queue::{LINK_BY_STORE, MichaelScottQueue};
use linpoint_subjects::reusing_stack::{ReusingStack, UNTAGGED};
use linpoint_subjects::seqlock::{NO_SECOND_READ, SeqLock};
use linpoint_subjects::snapshot::{SEPARATE_VERSION, Snapshot};
use linpoint_subjects::spec::DequeOp::{Push, Steal, Take};
use linpoint_subjects::swap_queue::{EMPTY_IF_UNLINKED, SwapQueue};
use linpoint_subjects::ticket_lock::{SPLIT_TICKET, TicketCounter};
use linpoint_subjects::treiber_stack::{POP_BY_STORE, TreiberStack};
use linpoint_subjects::two_lock_queue::{SPLIT_DEQUEUE, TwoLockQueue};
use linpoint_subjects::vyukov_ring::{CLAIM_BY_STORE, PUBLISH_FIRST, VyukovRing};

/// For machines that have other things to do; on an idle one each takes a few seconds at most.
const PATIENCE: Duration = Duration::from_secs(120);

/// Nothing is wrong with it.
#[track_caller]
fn holds<O: Object>(check: Check<O>) {
    let report = check.before(1).after(1).time_limit(PATIENCE).report();
    println!("{report}");
    assert!(report.holds(), "{report}");
}

/// Something is wrong with it, and the counterexample can be seen again. `check` is called twice.
#[track_caller]
fn caught<O: Object>(check: impl Fn() -> Check<O>) {
    let report = check().threads(3).ops(2).before(1).after(1).time_limit(PATIENCE).report();
    let counterexample = report.counterexample.expect("it is broken");
    println!("{counterexample}\nafter {} executions, {:?}", report.coverage.executions, report.elapsed);
    let again =
        check().replay_report(&counterexample.token).expect("the token fits the program it came from");
    assert_eq!(again.counterexample.expect("it replays").headline, counterexample.headline);
}

#[test]
fn treiber_stack() {
    holds(check::<TreiberStack<CORRECT>>().threads(2));
    caught(check::<TreiberStack<POP_BY_STORE>>);
}

#[test]
fn reusing_stack() {
    holds(check::<ReusingStack<CORRECT>>().threads(2).ops(1));
    caught(check::<ReusingStack<UNTAGGED>>);
}

#[test]
fn elimination_stack() {
    holds(check::<EliminationStack<CORRECT>>().threads(3).ops(1));
    caught(check::<EliminationStack<COLLIDE_BY_STORE>>);
}

#[test]
fn michael_scott_queue() {
    holds(check::<MichaelScottQueue<CORRECT>>().threads(2).ops(1));
    caught(check::<MichaelScottQueue<LINK_BY_STORE>>);
}

#[test]
fn swap_queue() {
    holds(check::<SwapQueue<CORRECT>>().threads(2));
    caught(check::<SwapQueue<EMPTY_IF_UNLINKED>>);
}

#[test]
fn two_lock_queue() {
    holds(check::<TwoLockQueue<CORRECT>>().threads(2));
    caught(check::<TwoLockQueue<SPLIT_DEQUEUE>>);
}

#[test]
fn lazy_list_set() {
    holds(check::<LazyListSet<CORRECT>>().threads(2).ops(1));
    caught(check::<LazyListSet<NO_VALIDATION>>);
    caught(check::<LazyListSet<NO_MARKED_CHECK>>);
}

#[test]
fn vyukov_ring() {
    holds(check::<VyukovRing<CORRECT>>().threads(2).ops(1));
    caught(check::<VyukovRing<PUBLISH_FIRST>>);
    caught(check::<VyukovRing<CLAIM_BY_STORE>>);
}

#[test]
fn seqlock() {
    holds(check::<SeqLock<CORRECT>>().threads(2).ops(1));
    caught(check::<SeqLock<NO_SECOND_READ>>);
}

#[test]
fn ticket_lock() {
    holds(check::<TicketCounter<CORRECT>>().threads(2));
    caught(check::<TicketCounter<SPLIT_TICKET>>);
}

/// `push` and `take` are for one thread alone, so the scenario is ours.
fn deque<const M: u8>() -> Check<ChaseLevDeque<M>> {
    check().scenario(Scenario {
        before: vec![Push(1)],
        threads: vec![vec![Take(), Push(2), Take()], vec![Steal()], vec![Steal()]],
        after: vec![Take()],
    })
}

#[test]
fn chase_lev_deque() {
    holds(deque::<CORRECT>());
    caught(deque::<TAKE_WITHOUT_CAS>);
}

#[test]
fn snapshot() {
    holds(check::<Snapshot<CORRECT>>().threads(2));
    caught(check::<Snapshot<SEPARATE_VERSION>>);
}

#[test]
fn bartok_stm() {
    holds(check::<Stm<CORRECT>>().threads(2).ops(1));
    caught(check::<Stm<OWNED_IS_MINE>>);
    caught(check::<Stm<ABORT_KEEPS_VERSION>>);
    caught(check::<Stm<UNDO_FORWARD>>);
}
