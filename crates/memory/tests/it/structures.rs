//! Data structures have as many graphs as others count for them: the programs of Miri's `tests/genmc`, and
//! what the retry loops of two and three clients amount to.

use std::ops::ControlFlow;

use linpoint_memory::Ordering::{AcqRel, Acquire, NonAtomic, Relaxed, Release, SeqCst};
use linpoint_memory::machine::{Assembler, Expression, Machine, Operator};
use linpoint_memory::structures::Operation::{self, Put, Steal, Take};
use linpoint_memory::structures::{Failed, Marks, Structure};
use linpoint_memory::{Coverage, Model, Options, explore};

/// Complete graphs and blocked ones.
#[track_caller]
fn check(
    structure: Structure,
    threads: &[Vec<Operation>],
    failed: Failed,
    model: Model,
    expected: (u64, u64),
) {
    for marks in [Marks::Hidden, Marks::Shown] {
        let mut program = structure.client(&structure.orderings(), threads, failed, marks);
        let mut races = 0;
        let report = explore(&mut program, &Options::of(model), |graph, _| {
            races += u32::from(graph.race().is_some());
            ControlFlow::Continue(())
        });
        assert_eq!((report.complete, report.blocked), expected, "{structure:?} {failed:?} {}", model.name());
        assert_eq!((report.failed, races, report.coverage()), (0, 0, Coverage::Everything));
    }
}

/// One thread takes, so many put one value each.
fn one_taker(putters: i64) -> Vec<Vec<Operation>> {
    std::iter::once(vec![Take]).chain((1..=putters).map(|value| vec![Put(value)])).collect()
}

/// So many threads that put and take, so many times.
fn put_take(threads: i64, times: i64) -> Vec<Vec<Operation>> {
    let thread = |t: i64| (0..times).flat_map(move |k| [Put(10 * t + k + 1), Take]).collect();
    (0..threads).map(thread).collect()
}

#[test]
fn treiber_stacks_of_miri() {
    for (putters, again, blocks) in [(1, 2, (2, 0)), (2, 22, (8, 8)), (3, 1002, (36, 159))] {
        check(Structure::Treiber, &one_taker(putters), Failed::Again, Model::Rc11, (again, 0));
        check(Structure::Treiber, &one_taker(putters), Failed::Blocks, Model::Rc11, blocks);
    }
}

#[test]
fn michael_scott_queues_of_miri() {
    check(Structure::MichaelScott, &one_taker(1), Failed::Again, Model::Rc11, (4, 0));
    check(Structure::MichaelScott, &one_taker(2), Failed::Again, Model::Rc11, (188, 0));
    check(Structure::MichaelScott, &one_taker(2), Failed::Blocks, Model::Rc11, (128, 24));
}

#[test]
fn clients_that_put_and_take() {
    for model in [Model::Rc11, Model::Sc] {
        check(Structure::Treiber, &put_take(2, 1), Failed::Again, model, (46, 0));
        check(Structure::Treiber, &put_take(2, 1), Failed::Blocks, model, (10, 10));
        check(Structure::Treiber, &put_take(3, 1), Failed::Blocks, model, (270, 942));
        check(Structure::MichaelScott, &put_take(2, 1), Failed::Again, model, (222, 0));
        check(Structure::MichaelScott, &put_take(2, 1), Failed::Blocks, model, (44, 118));
    }
    check(Structure::MichaelScott, &put_take(2, 2), Failed::Blocks, Model::Rc11, (5_700, 22_224));
    check(Structure::MichaelScott, &put_take(2, 2), Failed::Blocks, Model::Sc, (5_700, 17_992));
}

#[test]
fn three_clients_of_a_stack_that_retry() {
    let structure = Structure::Treiber;
    let mut program = structure.client(&structure.orderings(), &put_take(3, 1), Failed::Again, Marks::Hidden);
    let report = explore(&mut program, &Options::of(Model::Rc11), |_, _| ControlFlow::Continue(()));
    assert_eq!((report.complete, report.blocked), (68_892, 0));
    // Last in, first out: the list stays as short as a graph is deep.
    assert!(report.most_waiting <= 100, "{} graphs waited", report.most_waiting);
}

#[test]
fn a_weaker_ordering_gives_more_graphs() {
    let structure = Structure::MichaelScott;
    let mut orderings = structure.orderings();
    let site = structure.sites().iter().position(|site| site.0 == "enq next cas ok").expect("a site");
    orderings[site] = linpoint_memory::Ordering::Relaxed;
    let threads = [vec![Put(1)], vec![Put(2)], vec![Take], vec![Take]];
    let graphs = |orderings: &[_]| {
        let mut program = structure.client(orderings, &threads, Failed::Blocks, Marks::Hidden);
        explore(&mut program, &Options::of(Model::Rc11), |_, _| ControlFlow::Continue(())).complete
    };
    assert_eq!((graphs(&structure.orderings()), graphs(&orderings)), (1_840, 10_400));
}

#[test]
fn a_deque_without_its_fence_loses_an_item_twice() {
    // Two of the owner and the thieves take the same item.
    let structure = Structure::ChaseLev;
    let twice = |orderings: &[_]| {
        let threads = [vec![Put(1), Put(2), Take], vec![Steal], vec![Steal]];
        let mut program = structure.client(orderings, &threads, Failed::Blocks, Marks::Shown);
        let mut twice = 0;
        let _ = explore(&mut program, &Options::of(Model::Rc11), |graph, _| {
            let returned = |event: &&linpoint_memory::Event| event.kind == linpoint_memory::Kind::Return;
            let mut items: Vec<i64> =
                graph.events().iter().filter(returned).map(|event| event.value).collect();
            items.retain(|&value| value > 0);
            items.sort_unstable();
            twice += u32::from(items.windows(2).any(|two| two[0] == two[1]));
            ControlFlow::Continue(())
        });
        twice
    };
    let mut weak = structure.orderings();
    for name in ["pop fence", "steal fence"] {
        let site = structure.sites().iter().position(|site| site.0 == name).expect("a site");
        weak[site] = linpoint_memory::Ordering::AcqRel;
    }
    assert_eq!(twice(&structure.orderings()), 0);
    assert!(twice(&weak) > 0);
}

/// The deque of GenMC's tests `chase-lev` and `dq`. One thread pushes, pops and pushes so many times; others steal so
/// many times each. The bottom is at 0, the top at 1, ten plain cells from 10 on.
fn deque_of_genmc(owner: [i64; 3], thieves: &[i64]) -> Machine {
    let cell = |index: Expression| index.with(Operator::Remainder, 10).with(Operator::Add, 10);
    let mut code = Assembler::new();
    for (phase, times) in owner.into_iter().enumerate() {
        for k in 0..times {
            code.release_registers();
            let bottom = code.load(0, Relaxed);
            if phase != 1 {
                let top = code.load(1, Acquire);
                let full = code.leave_unless(bottom.with(Operator::Subtract, top).with(Operator::Less, 10));
                code.store(cell(bottom.into()), k, NonAtomic);
                code.store(0, bottom.cell(1), Release);
                code.land([full]);
                continue;
            }
            code.store(0, bottom.cell(-1), Relaxed);
            code.fence(SeqCst);
            let top = code.load(1, Relaxed);
            let size = bottom.with(Operator::Subtract, top);
            let empty = code.leave_unless(size.clone().with(Operator::Greater, 0));
            code.load(cell(bottom.cell(-1)), NonAtomic);
            let several = code.leave_unless(size.with(Operator::Equal, 1));
            code.compare_exchange(1, top, top.cell(1), (AcqRel, AcqRel));
            code.land([empty]);
            code.store(0, bottom, Relaxed);
            code.land([several]);
        }
    }
    let mut codes = vec![code.finish()];
    for &times in thieves {
        let mut thief = Assembler::new();
        for _ in 0..times {
            thief.release_registers();
            let top = thief.load(1, Relaxed);
            thief.fence(SeqCst);
            let bottom = thief.load(0, Acquire);
            let empty = thief.leave_unless(bottom.with(Operator::Greater, top));
            thief.load(cell(top.into()), NonAtomic);
            thief.compare_exchange(1, top, top.cell(1), (Release, Release));
            thief.land([empty]);
        }
        codes.push(thief.finish());
    }
    Machine::new(codes, Vec::new())
}

/// The ring buffer of FreeBSD, GenMC's test `buf_ring`: three threads enqueue a message and dequeue one. Heads and tails
/// are plain but for the compare-exchange. Where a turn fails the thread is blocked.
fn buf_ring_of_genmc() -> Machine {
    let (producer_head, producer_tail, consumer_head, consumer_tail) = (0, 1, 2, 3);
    let mut code = Assembler::new();
    let message = code.allocate(1);
    code.store(message, 1, NonAtomic);
    let head = code.load(producer_head, NonAtomic);
    let tail = code.load(consumer_tail, NonAtomic);
    let full = code.leave_unless(head.cell(1).with(Operator::Different, tail));
    let won = code.compare_exchange(producer_head, head, head.cell(1), (AcqRel, AcqRel));
    code.assume(won);
    code.fence(SeqCst);
    code.store(head.cell(10), message, NonAtomic);
    let turn = code.load(producer_tail, NonAtomic);
    code.assume(turn.with(Operator::Equal, head));
    code.store(producer_tail, head.cell(1), NonAtomic);
    let enqueued = code.leave();
    code.land([full]);
    code.store(message, 2, NonAtomic);
    code.land([enqueued]);
    let head = code.load(consumer_head, NonAtomic);
    let tail = code.load(producer_tail, NonAtomic);
    let empty = code.leave_unless(head.with(Operator::Different, tail));
    let won = code.compare_exchange(consumer_head, head, head.cell(1), (AcqRel, AcqRel));
    code.assume(won);
    let found = code.load(head.cell(10), Relaxed);
    let turn = code.load(consumer_tail, NonAtomic);
    code.assume(turn.with(Operator::Equal, head));
    code.fence(SeqCst);
    code.store(consumer_tail, head.cell(1), NonAtomic);
    let nothing = code.leave_unless(found);
    code.load(found, NonAtomic);
    code.land([empty, nothing]);
    Machine::new(vec![code.finish(); 3], Vec::new())
}

#[track_caller]
fn check_counts(program: &Machine, rc11: u64, sc: u64) {
    for (model, expected) in [(Model::Rc11, rc11), (Model::Sc, sc)] {
        let options = Options::of(model);
        let report = explore(&mut program.clone(), &options, |_, _| ControlFlow::Continue(()));
        assert_eq!(report.complete, expected, "{}", model.name());
    }
}

#[test]
fn structures_of_genmc_have_its_counts() {
    check_counts(&deque_of_genmc([5, 3, 2], &[1]), 65, 59);
    check_counts(&deque_of_genmc([2, 1, 1], &[2, 1]), 1_924, 1_373);
    check_counts(&buf_ring_of_genmc(), 1_218, 273);
}
