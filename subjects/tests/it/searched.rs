//! Every subject under the plain search: the correct ones show nothing, each broken one what its file says. Where plain
//! search gets to its end, the reductions must see the same.

use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::strategy::dpor::Dpor;
use linpoint_sched::strategy::race_reversal::RaceReversal;
use linpoint_subjects::CORRECT;
use linpoint_subjects::bartok_stm::{ABORT_KEEPS_VERSION, OWNED_IS_MINE, Stm, UNDO_FORWARD};
use linpoint_subjects::chase_lev_deque::{ChaseLevDeque, TAKE_WITHOUT_CAS};
use linpoint_subjects::elimination_stack::{COLLIDE_BY_STORE, EliminationStack};
use linpoint_subjects::lazy_list_set::{LazyListSet, NO_MARKED_CHECK, NO_VALIDATION};
use linpoint_subjects::michael_scott_queue::{LINK_BY_STORE, MichaelScottQueue};
use linpoint_subjects::reusing_stack::{ReusingStack, UNTAGGED};
use linpoint_subjects::seqlock::{NO_SECOND_READ, SeqLock};
use linpoint_subjects::snapshot::{SEPARATE_VERSION, Snapshot};
use linpoint_subjects::spec::{BoundedQueue, Cells, Counter, Deque, Memory, Pair, Queue, Set, Stack};
use linpoint_subjects::swap_queue::{EMPTY_IF_UNLINKED, SwapQueue};
use linpoint_subjects::ticket_lock::{SPLIT_TICKET, TicketCounter};
use linpoint_subjects::treiber_stack::{POP_BY_STORE, TreiberStack};
use linpoint_subjects::two_lock_queue::{SPLIT_DEQUEUE, TwoLockQueue};
use linpoint_subjects::vyukov_ring::{CLAIM_BY_STORE, PUBLISH_FIRST, VyukovRing};

use crate::oracle::{Scenario, Subject, search};

/// Executions that a search may take before it counts as having found nothing.
const LIMIT: u64 = 300_000;

/// Nothing is wrong within `bound` preemptions; and in every one of the program's `traces`, as the reductions see
/// them. How many there are is not pinned for loops that spin: it depends on what the compiler keeps on the stack.
#[track_caller]
fn passes<O, S>(scenario: &Scenario<O, S>, bound: Option<u32>, traces: Option<usize>)
where
    O: Default + Send + Sync + 'static,
    S: Default + Clone + 'static,
{
    let mut dfs = bound.map_or_else(Dfs::new, Dfs::bounded);
    let plain = search(scenario, &mut dfs, LIMIT);
    assert_eq!(plain.bad, None);
    assert!(plain.exhausted, "{} executions were not enough", plain.runs);
    assert_eq!(dfs.was_cut(), bound.is_some());
    let dpor = search(scenario, &mut Dpor::new(), LIMIT);
    let reversal = search(scenario, &mut RaceReversal::new(), LIMIT);
    println!("executions: {} plain, {} with DPOR, {} with reversals", plain.runs, dpor.runs, reversal.runs);
    for reduced in [&dpor, &reversal] {
        assert!(reduced.exhausted);
        assert_eq!(reduced.bad, None);
        assert!(
            traces.is_none_or(|traces| reduced.traces.len() == traces),
            "{} traces",
            reduced.traces.len()
        );
        assert!(reduced.traces.is_superset(&plain.traces));
        assert!(reduced.outcomes.is_superset(&plain.outcomes));
        assert!(bound.is_some() || reduced.outcomes == plain.outcomes && reduced.traces == plain.traces);
    }
    assert_eq!(dpor.traces, reversal.traces);
    assert_eq!(dpor.outcomes, reversal.outcomes);
}

/// Something is wrong within `bound` preemptions.
#[track_caller]
fn fails<O, S>(scenario: &Scenario<O, S>, bound: u32)
where
    O: Default + Send + Sync + 'static,
    S: Default + Clone + 'static,
{
    let found = search(scenario, &mut Dfs::bounded(bound), LIMIT);
    println!("bad: {:?}", found.bad);
    assert!(found.bad.is_some(), "nothing in {} executions", found.runs);
}

fn nothing<O, S>(_: &Subject<O, S>) {}

macro_rules! stack_operations {
    ($name:ident, $object:ty $(, $param:ident)?) => {
        struct $name<const M: u8>;
        impl<const M: u8> $name<M> {
            fn push<const V: u32>(s: &Subject<$object, Stack>) {
                s.op(
                    |o| o.push(V),
                    |spec, ()| {
                        spec.push(V);
                        true
                    },
                );
            }
            fn pop(s: &Subject<$object, Stack>) {
                s.op(|o| o.pop(), |spec, got| spec.pop() == *got);
            }
        }
    };
}

stack_operations!(Treiber, TreiberStack<M>);
stack_operations!(Reusing, ReusingStack<M>);
stack_operations!(Elimination, EliminationStack<M, 1>);

fn treiber<const M: u8>() -> Scenario<TreiberStack<M>, Stack> {
    let first = |s: &Subject<_, _>| {
        Treiber::<M>::push::<1>(s);
        Treiber::<M>::pop(s);
    };
    let second = |s: &Subject<_, _>| {
        Treiber::<M>::push::<2>(s);
        Treiber::<M>::pop(s);
    };
    Scenario { first: nothing, threads: vec![first, second], last: Treiber::<M>::pop }
}

#[test]
fn treiber_stack() {
    passes(&treiber::<CORRECT>(), None, Some(46));
    fails(&treiber::<POP_BY_STORE>(), 2);
}

/// B below A; one thread pops, the other pops both and pushes.
fn reusing<const M: u8>() -> Scenario<ReusingStack<M>, Stack> {
    Scenario {
        first: |s| {
            Reusing::<M>::push::<1>(s);
            Reusing::<M>::push::<2>(s);
        },
        threads: vec![Reusing::<M>::pop, |s| {
            Reusing::<M>::pop(s);
            Reusing::<M>::pop(s);
            Reusing::<M>::push::<3>(s);
        }],
        last: |s| {
            Reusing::<M>::pop(s);
            Reusing::<M>::pop(s);
        },
    }
}

#[test]
fn reusing_stack() {
    passes(&reusing::<CORRECT>(), Some(3), Some(70));
    fails(&reusing::<UNTAGGED>(), 1);
}

/// Two pushes and a pop that disturb one another, over an element.
fn elimination<const M: u8>() -> Scenario<EliminationStack<M, 1>, Stack> {
    Scenario {
        first: Elimination::<M>::push::<1>,
        threads: vec![Elimination::<M>::push::<2>, Elimination::<M>::push::<3>, Elimination::<M>::pop],
        last: |s| (0..4).for_each(|_| Elimination::<M>::pop(s)),
    }
}

#[test]
fn elimination_stack() {
    passes(&elimination::<CORRECT>(), Some(3), Some(92));
    fails(&elimination::<COLLIDE_BY_STORE>(), 4);
}

macro_rules! queue_operations {
    ($name:ident, $object:ty) => {
        struct $name<const M: u8>;
        impl<const M: u8> $name<M> {
            fn enqueue<const V: u32>(s: &Subject<$object, Queue>) {
                s.op(
                    |o| o.enqueue(V),
                    |spec, ()| {
                        spec.enqueue(V);
                        true
                    },
                );
            }
            fn dequeue(s: &Subject<$object, Queue>) {
                s.op(|o| o.dequeue(), |spec, got| spec.dequeue() == *got);
            }
            fn scenario() -> Scenario<$object, Queue> {
                let first = |s: &Subject<_, _>| {
                    Self::enqueue::<1>(s);
                    Self::dequeue(s);
                };
                let second = |s: &Subject<_, _>| {
                    Self::enqueue::<2>(s);
                    Self::dequeue(s);
                };
                Scenario { first: nothing, threads: vec![first, second], last: Self::dequeue }
            }
        }
    };
}

queue_operations!(MichaelScott, MichaelScottQueue<M>);
queue_operations!(Swap, SwapQueue<M>);
queue_operations!(TwoLock, TwoLockQueue<M>);

#[test]
fn michael_scott_queue() {
    passes(&MichaelScott::<CORRECT>::scenario(), Some(4), Some(222));
    fails(&MichaelScott::<LINK_BY_STORE>::scenario(), 2);
}

#[test]
fn swap_queue() {
    passes(&Swap::<CORRECT>::scenario(), None, Some(24));
    fails(&Swap::<EMPTY_IF_UNLINKED>::scenario(), 1);
}

#[test]
fn two_lock_queue() {
    passes(&TwoLock::<CORRECT>::scenario(), None, None);
    fails(&TwoLock::<SPLIT_DEQUEUE>::scenario(), 2);
}

/// One thread removes the key before the place where the other adds one.
fn set<const M: u8>() -> Scenario<LazyListSet<M>, Set> {
    fn add<const M: u8, const K: u32>(s: &Subject<LazyListSet<M>, Set>) {
        s.op(|o| o.add(K), |spec, got| spec.add(K) == *got);
    }
    fn remove<const M: u8, const K: u32>(s: &Subject<LazyListSet<M>, Set>) {
        s.op(|o| o.remove(K), |spec, got| spec.remove(K) == *got);
    }
    fn contains<const M: u8, const K: u32>(s: &Subject<LazyListSet<M>, Set>) {
        s.op(|o| o.contains(K), |spec, got| spec.contains(K) == *got);
    }
    let second = |s: &Subject<_, _>| {
        add::<M, 2>(s);
        contains::<M, 1>(s);
    };
    Scenario { first: add::<M, 1>, threads: vec![remove::<M, 1>, second], last: contains::<M, 2> }
}

#[test]
fn lazy_list_set() {
    passes(&set::<CORRECT>(), Some(3), None);
    fails(&set::<NO_VALIDATION>(), 1);
    fails(&set::<NO_MARKED_CHECK>(), 1);
}

/// A queue of two: three enqueues and two dequeues. `spurious` allows "empty" and "full" at any time.
fn ring<const M: u8, const SPURIOUS: bool>() -> Scenario<VyukovRing<M>, BoundedQueue> {
    fn enqueue<const M: u8, const SPURIOUS: bool, const V: u32>(s: &Subject<VyukovRing<M>, BoundedQueue>) {
        s.op(|o| o.enqueue(V), |spec, got| SPURIOUS && !got || spec.enqueue(V) == *got);
    }
    fn dequeue<const M: u8, const SPURIOUS: bool>(s: &Subject<VyukovRing<M>, BoundedQueue>) {
        s.op(|o| o.dequeue(), |spec, got| SPURIOUS && got.is_none() || spec.dequeue() == *got);
    }
    let first = |s: &Subject<_, _>| {
        enqueue::<M, SPURIOUS, 1>(s);
        dequeue::<M, SPURIOUS>(s);
    };
    let second = |s: &Subject<_, _>| {
        enqueue::<M, SPURIOUS, 2>(s);
        dequeue::<M, SPURIOUS>(s);
    };
    Scenario {
        first: nothing,
        threads: vec![first, second],
        last: |s| (0..2).for_each(|_| dequeue::<M, false>(s)),
    }
}

#[test]
fn vyukov_ring() {
    passes(&ring::<CORRECT, true>(), Some(4), Some(42));
    fails(&ring::<CORRECT, false>(), 1);
    fails(&ring::<PUBLISH_FIRST, true>(), 2);
    fails(&ring::<CLAIM_BY_STORE, true>(), 2);
}

fn pair<const M: u8>() -> Scenario<SeqLock<M>, Pair> {
    fn write<const M: u8, const V: u32>(s: &Subject<SeqLock<M>, Pair>) {
        s.op(
            |o| o.write(V, V),
            |spec, ()| {
                spec.write(V, V);
                true
            },
        );
    }
    fn read<const M: u8>(s: &Subject<SeqLock<M>, Pair>) {
        s.op(|o| o.read(), |spec, got| spec.read() == *got);
    }
    Scenario { first: nothing, threads: vec![write::<M, 1>, write::<M, 2>, read::<M>], last: read::<M> }
}

#[test]
fn seqlock() {
    passes(&pair::<CORRECT>(), Some(3), None);
    fails(&pair::<NO_SECOND_READ>(), 1);
}

fn counter<const M: u8>() -> Scenario<TicketCounter<M>, Counter> {
    fn increment<const M: u8>(s: &Subject<TicketCounter<M>, Counter>) {
        s.op(|o| o.increment(), |spec, got| spec.increment() == *got);
    }
    Scenario { first: nothing, threads: vec![increment::<M>; 3], last: nothing }
}

#[test]
fn ticket_lock() {
    passes(&counter::<CORRECT>(), Some(3), None);
    fails(&counter::<SPLIT_TICKET>(), 2);
}

/// One element is there; the owner takes, pushes and takes, a thief steals twice.
fn deque<const M: u8>() -> Scenario<ChaseLevDeque<M>, Deque> {
    fn push<const M: u8, const V: u32>(s: &Subject<ChaseLevDeque<M>, Deque>) {
        s.op(
            |o| o.push(V),
            |spec, ()| {
                spec.push(V);
                true
            },
        );
    }
    fn take<const M: u8>(s: &Subject<ChaseLevDeque<M>, Deque>) {
        s.op(|o| o.take(), |spec, got| spec.take() == *got);
    }
    fn steal<const M: u8>(s: &Subject<ChaseLevDeque<M>, Deque>) {
        s.op(|o| o.steal(), |spec, got| spec.steal() == *got);
    }
    let owner = |s: &Subject<_, _>| {
        take::<M>(s);
        push::<M, 2>(s);
        take::<M>(s);
    };
    Scenario {
        first: push::<M, 1>,
        threads: vec![owner, |s| (0..2).for_each(|_| steal::<M>(s))],
        last: take::<M>,
    }
}

#[test]
fn chase_lev_deque() {
    passes(&deque::<CORRECT>(), Some(3), Some(192));
    fails(&deque::<TAKE_WITHOUT_CAS>(), 2);
}

/// The seed's scenario: two snapshots and two writes, each in a thread.
fn cells<const M: u8>() -> Scenario<Snapshot<M>, Cells> {
    fn snapshot<const M: u8>(s: &Subject<Snapshot<M>, Cells>) {
        s.op(|o| o.snapshot(), |spec, got| got.is_none() || spec.snapshot() == *got);
    }
    Scenario {
        first: nothing,
        threads: vec![
            snapshot::<M>,
            snapshot::<M>,
            |s| {
                s.op(
                    |o| o.write_first(1),
                    |spec, ()| {
                        spec.write_first(1);
                        true
                    },
                )
            },
            |s| {
                s.op(
                    |o| o.write_second(2),
                    |spec, ()| {
                        spec.write_second(2);
                        true
                    },
                )
            },
        ],
        last: nothing,
    }
}

#[test]
fn snapshot() {
    passes(&cells::<CORRECT>(), None, Some(75));
    fails(&cells::<SEPARATE_VERSION>(), 3);
}

fn first_to_second<const M: u8>(s: &Subject<Stm<M>, Memory>) {
    s.op(|o| o.first_to_second(), |spec, got| got.is_none() || spec.first_to_second() == *got);
}

fn second_to_first<const M: u8>(s: &Subject<Stm<M>, Memory>) {
    s.op(|o| o.second_to_first(), |spec, got| got.is_none() || spec.second_to_first() == *got);
}

fn both<const M: u8>(s: &Subject<Stm<M>, Memory>) {
    s.op(|o| o.both(), |spec, got| got.is_none() || spec.both() == *got);
}

fn overwrite<const M: u8>(s: &Subject<Stm<M>, Memory>) {
    s.op(|o| o.overwrite(), |spec, got| !got || spec.overwrite());
}

/// Two transactions of two instructions each that read what the other writes.
fn crossing<const M: u8>() -> Scenario<Stm<M>, Memory> {
    Scenario { first: nothing, threads: vec![first_to_second::<M>, second_to_first::<M>], last: both::<M> }
}

/// A transaction that overwrites, one that may make it fail, and one that reads.
fn undoing<const M: u8>() -> Scenario<Stm<M>, Memory> {
    Scenario { first: nothing, threads: vec![overwrite::<M>, first_to_second::<M>], last: both::<M> }
}

/// As [`undoing`], and a reader among them.
fn observing<const M: u8>() -> Scenario<Stm<M>, Memory> {
    Scenario {
        first: nothing,
        threads: vec![overwrite::<M>, first_to_second::<M>, both::<M>],
        last: both::<M>,
    }
}

#[test]
fn bartok_stm() {
    passes(&crossing::<CORRECT>(), None, Some(39));
    passes(&undoing::<CORRECT>(), Some(4), Some(64));
    passes(&observing::<CORRECT>(), Some(2), Some(6500));
    fails(&crossing::<OWNED_IS_MINE>(), 2);
    fails(&undoing::<UNDO_FORWARD>(), 1);
    fails(&observing::<ABORT_KEEPS_VERSION>(), 3);
}
