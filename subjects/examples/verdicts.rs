//! What the harness says of every subject with its default settings, after how many executions and how long.
//!
//! With the word `broken`, only the broken ones, as rows of a table from which `cargo xtask bench explore` draws a chart.

use std::time::Duration;

use linpoint::{Check, Object, Scenario, check};
use linpoint_subjects::CORRECT;
use linpoint_subjects::bartok_stm::{self, Stm};
use linpoint_subjects::chase_lev_deque::{self, ChaseLevDeque};
use linpoint_subjects::elimination_stack::{self, EliminationStack};
use linpoint_subjects::lazy_list_set::{self, LazyListSet};
use linpoint_subjects::michael_scott_queue::{self, MichaelScottQueue};
use linpoint_subjects::reusing_stack::{self, ReusingStack};
use linpoint_subjects::seqlock::{self, SeqLock};
use linpoint_subjects::snapshot::{self, Snapshot};
use linpoint_subjects::spec::DequeOp::{Push, Steal, Take};
use linpoint_subjects::swap_queue::{self, SwapQueue};
use linpoint_subjects::ticket_lock::{self, TicketCounter};
use linpoint_subjects::treiber_stack::{self, TreiberStack};
use linpoint_subjects::two_lock_queue::{self, TwoLockQueue};
use linpoint_subjects::vyukov_ring::{self, VyukovRing};

fn show<O: Object>(name: &str, check: Check<O>) {
    let report = check.threads(3).ops(2).before(1).after(1).report();
    let verdict = match &report.counterexample {
        Some(counterexample) => counterexample.headline.as_str(),
        None if report.holds() => "holds",
        None => "unknown",
    };
    if only_broken() {
        assert!(report.counterexample.is_some(), "{name} is broken, and was not found to be");
        println!("| {name} | {} executions |", report.coverage.executions);
        return;
    }
    let word: String = verdict.chars().take(70).collect();
    println!("{name:<42} {:>9} {:>7.2} s  {word}", report.coverage.executions, report.elapsed.as_secs_f64());
}

/// Were only the broken ones asked for?
fn only_broken() -> bool {
    std::env::args().nth(1).is_some_and(|word| word == "broken")
}

macro_rules! subjects {
    ($($subject:ident: $mutation:path;)*) => {$(
        show(
            &format!("{} {}", stringify!($subject), stringify!($mutation).rsplit(' ').next().unwrap_or_default()),
            check::<$subject<{ $mutation }>>(),
        );
    )*};
}

fn deque<const MUTATION: u8>() -> Check<ChaseLevDeque<MUTATION>> {
    check().scenario(Scenario {
        before: vec![Push(1)],
        threads: vec![vec![Take(), Push(2), Take()], vec![Steal()], vec![Steal()]],
        after: vec![Take()],
    })
}

fn main() {
    if !only_broken() {
        println!("{:<42} {:>9} {:>9}  verdict", "subject", "runs", "time");
    }
    subjects! {
        TreiberStack: treiber_stack::POP_BY_STORE;
        ReusingStack: reusing_stack::UNTAGGED;
        EliminationStack: elimination_stack::COLLIDE_BY_STORE;
        MichaelScottQueue: michael_scott_queue::LINK_BY_STORE;
        SwapQueue: swap_queue::EMPTY_IF_UNLINKED;
        TwoLockQueue: two_lock_queue::SPLIT_DEQUEUE;
        LazyListSet: lazy_list_set::NO_VALIDATION;
        LazyListSet: lazy_list_set::NO_MARKED_CHECK;
        VyukovRing: vyukov_ring::PUBLISH_FIRST;
        VyukovRing: vyukov_ring::CLAIM_BY_STORE;
        SeqLock: seqlock::NO_SECOND_READ;
        TicketCounter: ticket_lock::SPLIT_TICKET;
        Snapshot: snapshot::SEPARATE_VERSION;
        Stm: bartok_stm::OWNED_IS_MINE;
        Stm: bartok_stm::ABORT_KEEPS_VERSION;
        Stm: bartok_stm::UNDO_FORWARD;
    }
    show("ChaseLevDeque TAKE_WITHOUT_CAS", deque::<{ chase_lev_deque::TAKE_WITHOUT_CAS }>());
    if only_broken() {
        return;
    }
    let correct = Duration::from_secs(5);
    show("TreiberStack", check::<TreiberStack<CORRECT>>().time_limit(correct));
    show("ReusingStack", check::<ReusingStack<CORRECT>>().time_limit(correct));
    show("EliminationStack", check::<EliminationStack<CORRECT>>().time_limit(correct));
    show("MichaelScottQueue", check::<MichaelScottQueue<CORRECT>>().time_limit(correct));
    show("SwapQueue", check::<SwapQueue<CORRECT>>().time_limit(correct));
    show("TwoLockQueue", check::<TwoLockQueue<CORRECT>>().time_limit(correct));
    show("LazyListSet", check::<LazyListSet<CORRECT>>().time_limit(correct));
    show("VyukovRing", check::<VyukovRing<CORRECT>>().time_limit(correct));
    show("SeqLock", check::<SeqLock<CORRECT>>().time_limit(correct));
    show("TicketCounter", check::<TicketCounter<CORRECT>>().time_limit(correct));
    show("Snapshot", check::<Snapshot<CORRECT>>().time_limit(correct));
    show("Stm", check::<Stm<CORRECT>>().time_limit(correct));
    show("ChaseLevDeque", deque::<CORRECT>().time_limit(correct));
}
