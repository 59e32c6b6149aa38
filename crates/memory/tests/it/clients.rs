//! Linearizability for every client: the counterexamples of the lemmas, data structures, random objects.

use std::ops::ControlFlow;

use linpoint_memory::linearize::{Clients, Object, Operation, Sequential, Verdict, operations};
use linpoint_memory::machine::{Assembler, Machine};
use linpoint_memory::structures::Operation::{Put, Steal, Take};
use linpoint_memory::structures::{self, Failed, Marks, Structure};
use linpoint_memory::{End, Model, Options, Ordering, explore, oracle, random};

/// Complete graphs, and how many of them are not linearizable for some client.
fn count(machine: &mut Machine, object: Object, model: Model) -> (u64, u64) {
    let mut clients = Clients::new(object, model);
    let (mut complete, mut violated) = (0, 0);
    let _ = explore(machine, &Options::of(model), |graph, end| {
        let verdict = clients.check(graph);
        if end == End::Complete {
            complete += 1;
            violated += u64::from(!verdict.holds());
        }
        ControlFlow::Continue(())
    });
    (complete, violated)
}

#[track_caller]
fn check(
    structure: Structure,
    object: Object,
    threads: &[Vec<structures::Operation>],
    expected: (u64, u64),
    weaker: &[(&str, Ordering)],
) {
    let mut orderings = structure.orderings();
    for (name, ordering) in weaker {
        let site = structure.sites().iter().position(|site| site.0 == *name).expect("a site of that name");
        orderings[site] = *ordering;
    }
    let mut machine = structure.client(&orderings, threads, Failed::Blocks, Marks::Shown);
    assert_eq!(count(&mut machine, object, Model::Rc11), expected, "{structure:?} {weaker:?}");
}

fn two_put_take() -> Vec<Vec<structures::Operation>> {
    vec![vec![Put(1), Take], vec![Put(2), Take]]
}

fn single() -> Vec<Vec<structures::Operation>> {
    vec![vec![Put(1)], vec![Put(2)], vec![Take], vec![Take]]
}

#[test]
fn stacks_and_queues_are_linearizable_for_every_client() {
    check(Structure::Treiber, Object::Stack, &two_put_take(), (10, 0), &[]);
    check(Structure::MichaelScott, Object::Queue, &two_put_take(), (44, 0), &[]);
    check(Structure::MichaelScott, Object::Queue, &single(), (1_840, 0), &[]);
}

#[test]
fn a_queue_is_no_stack() {
    let (complete, violated) = {
        let structure = Structure::MichaelScott;
        let threads = [vec![Put(1), Put(2), Take]];
        let mut machine = structure.client(&structure.orderings(), &threads, Failed::Blocks, Marks::Shown);
        count(&mut machine, Object::Stack, Model::Rc11)
    };
    assert_eq!((complete, violated), (1, 1));
}

#[test]
fn weakened_queues_are_not_linearizable_without_any_race() {
    for site in ["deq head load", "deq head cas ok"] {
        let structure = Structure::MichaelScott;
        let mut orderings = structure.orderings();
        let index = structure.sites().iter().position(|known| known.0 == site).expect("a site");
        orderings[index] = Ordering::Relaxed;
        let mut machine = structure.client(
            &orderings,
            &[vec![Put(1), Take], vec![Put(2), Take]],
            Failed::Blocks,
            Marks::Shown,
        );
        let mut clients = Clients::new(Object::Queue, Model::Rc11);
        let mut found = 0;
        let _ = explore(&mut machine, &Options::of(Model::Rc11), |graph, end| {
            let is_bad = end == End::Complete && matches!(clients.check(graph), Verdict::Violated(_));
            found += u32::from(is_bad && graph.race().is_none());
            ControlFlow::Continue(())
        });
        assert!(found > 0, "{site}");
    }
}

#[test]
fn sequence_locks_tear_without_their_fences() {
    let threads = [vec![Put(1), Put(2)], vec![Take, Take]];
    let sound = Structure::Seqlock;
    let (_, torn) = {
        let mut machine = sound.client(&sound.orderings(), &threads, Failed::Blocks, Marks::Shown);
        count(&mut machine, Object::Register, Model::Rc11)
    };
    assert_eq!(torn, 0);
    for (site, ordering) in [
        ("write fence", Ordering::Relaxed),
        ("write even store", Ordering::Relaxed),
        ("read first load", Ordering::Relaxed),
        ("read fence", Ordering::Relaxed),
    ] {
        let mut orderings = sound.orderings();
        let index = sound.sites().iter().position(|known| known.0 == site).expect("a site");
        orderings[index] = ordering;
        let mut machine = sound.client(&orderings, &threads, Failed::Blocks, Marks::Shown);
        assert!(count(&mut machine, Object::Register, Model::Rc11).1 > 0, "{site}");
    }
}

#[test]
fn a_textbook_ring_of_two_is_not_a_bounded_queue() {
    // "Full" and "empty" are store buffering: with SeqCst everywhere they are right.
    let threads = [vec![Put(1), Put(2), Put(3)], vec![Take, Take, Take]];
    let object = Object::Bounded(2);
    check(Structure::Ring(2), object, &threads, (47, 3), &[]);
    check(Structure::Ring(1), Object::Bounded(1), &threads, (20, 0), &[]);
    let ring = Structure::Ring(2);
    let all_sc = vec![Ordering::SeqCst; ring.sites().len()];
    let mut machine = ring.client(&all_sc, &threads, Failed::Blocks, Marks::Shown);
    assert_eq!(count(&mut machine, object, Model::Rc11), (44, 0));
    let mut machine = ring.client(&ring.orderings(), &threads, Failed::Blocks, Marks::Shown);
    assert_eq!(count(&mut machine, object, Model::Sc), (44, 0));
}

#[test]
fn a_work_stealing_deque_needs_its_fences() {
    let threads = [vec![Put(1), Put(2), Take], vec![Steal], vec![Steal]];
    let deque = Structure::ChaseLev;
    let violated = |site: Option<&str>| {
        let mut orderings = deque.orderings();
        if let Some(site) = site {
            let index = deque.sites().iter().position(|known| known.0 == site).expect("a site");
            orderings[index] = Ordering::Relaxed;
        }
        let mut machine = deque.client(&orderings, &threads, Failed::Blocks, Marks::Shown);
        count(&mut machine, Object::Deque, Model::Rc11).1
    };
    assert_eq!(violated(None), 0);
    assert!(violated(Some("push fence")) > 0 && violated(Some("steal bottom load")) > 0);
}

#[test]
fn one_relaxed_cell_is_linearizable_for_every_client() {
    let threads = [vec![Put(1)], vec![Put(2)], vec![Take, Take], vec![Take, Take]];
    let relaxed = [("write", Ordering::Relaxed), ("read", Ordering::Relaxed)];
    check(Structure::Register, Object::Register, &threads, (72, 0), &relaxed);
}

/// Threads of one operation each: a write of 1 to a cell (operation `cell`), or a read of it (`10 + cell`).
fn accesses(ops: &[(bool, i64, Ordering)]) -> Machine {
    let codes = ops.iter().map(|&(writes, cell, ordering)| {
        let mut code = Assembler::new();
        let cell_number = u32::try_from(cell).expect("a small cell");
        if writes {
            code.call(cell_number, 1);
            code.store(cell, 1, ordering);
            code.returns(0);
        } else {
            code.call(10 + cell_number, 0);
            let read = code.load(cell, ordering);
            code.returns(read);
        }
        code.finish()
    });
    Machine::new(codes.collect(), Vec::new())
}

/// Everything is legal but orders in which A comes before B for each of these pairs: so a graph is violated
/// exactly if a client can order all of them at once.
#[derive(Clone)]
struct NotAll(Vec<(Operation, Operation)>);

impl Sequential for NotAll {
    type State = Vec<Operation>;

    fn initial(&self) -> Vec<Operation> {
        Vec::new()
    }

    fn step(&self, state: &Vec<Operation>, operation: &Operation, next: &mut Vec<Vec<Operation>>) {
        let mut after = state.clone();
        after.push(*operation);
        let at = |wanted: &Operation| after.iter().position(|done| done == wanted);
        let all = self.0.iter().all(|(a, b)| at(a).zip(at(b)).is_some_and(|(a, b)| a < b));
        if !all {
            next.push(after);
        }
    }
}

/// In the graph with these answers: can a client order all pairs of threads (each thread has one operation)?
fn client_can_order(machine: &Machine, answers: &[i64], pairs: &[(usize, usize)]) -> bool {
    let mut found = None;
    let _ = explore(&mut machine.clone(), &Options::of(Model::Rc11), |graph, _| {
        let placed = operations(graph);
        let results: Vec<i64> = placed.iter().filter_map(|one| one.operation.result).collect();
        if results == answers {
            let op = |thread: usize| placed[thread].operation;
            let object = NotAll(pairs.iter().map(|&(a, b)| (op(a), op(b))).collect());
            let violated = !Clients::new(object.clone(), Model::Rc11).check(graph).holds();
            let judged = oracle::linearizable(&graph.key(), Model::Rc11, &object, 12);
            assert!(judged.is_none_or(|linearizable| linearizable != violated));
            found = Some(violated);
        }
        ControlFlow::Continue(())
    });
    found.expect("a graph with these answers")
}

#[test]
fn pairs_do_not_suffice() {
    // Lemma 2. Threads A1 B1 A2 B2 A3 B3: three relaxed reads-from in a ring.
    use Ordering::Relaxed;
    let ring = accesses(&[
        (false, 2, Relaxed),
        (true, 0, Relaxed),
        (false, 0, Relaxed),
        (true, 1, Relaxed),
        (false, 1, Relaxed),
        (true, 2, Relaxed),
    ]);
    let answers = [1, 0, 1, 0, 1, 0];
    let all = [(0, 1), (2, 3), (4, 5)];
    for two in [[all[0], all[1]], [all[0], all[2]], [all[1], all[2]]] {
        assert!(client_can_order(&ring, &answers, &two));
    }
    assert!(!client_can_order(&ring, &answers, &all));
}

#[test]
fn no_timeline_need_exist() {
    // Lemma 3. A1: W x, B1: R y = 0, A2: W y, B2: R x = 0. A timeline with A1 before B1 and A2 before B2 has
    // A1 before B2 or A2 before B1, and neither is possible.
    let test =
        |write, read| accesses(&[(true, 0, write), (false, 1, read), (true, 1, write), (false, 0, read)]);
    let answers = [0, 0, 0, 0];
    let weak = test(Ordering::Release, Ordering::Acquire);
    assert!(client_can_order(&weak, &answers, &[(0, 1), (2, 3)]));
    assert!(!client_can_order(&weak, &answers, &[(0, 3)]));
    assert!(!client_can_order(&weak, &answers, &[(2, 1)]));
    let sc = test(Ordering::SeqCst, Ordering::SeqCst);
    assert!(!client_can_order(&sc, &answers, &[(0, 1), (2, 3)]));
}

#[test]
fn a_pending_operation_may_take_effect_or_not() {
    // One thread writes 1 and never returns; another one reads.
    let client = |answer: i64| {
        let mut writer = Assembler::new();
        writer.call(0, 1);
        writer.store(0, 1, Ordering::Relaxed);
        writer.assume(0);
        writer.returns(0);
        let mut reader = Assembler::new();
        reader.call(1, 0);
        let read = reader.load(0, Ordering::Relaxed);
        let wrong = read.with(linpoint_memory::machine::Operator::Add, answer);
        reader.returns(wrong);
        Machine::new(vec![writer.finish(), reader.finish()], Vec::new())
    };
    let violations = |mut machine: Machine| {
        let mut clients = Clients::new(Object::Register, Model::Rc11);
        let mut violations = 0;
        let report = explore(&mut machine, &Options::of(Model::Rc11), |graph, _| {
            violations += u32::from(!clients.check(graph).holds());
            ControlFlow::Continue(())
        });
        assert_eq!(report.blocked, 2);
        violations
    };
    // Reading 1 the write took effect; reading 0 it may not have.
    assert_eq!(violations(client(0)), 0);
    assert_eq!(violations(client(7)), 2);
    // Answering 1 where 0 was read is wrong, too: a client may call the write only after the read returned.
    assert_eq!(violations(client(1)), 2);
}

#[test]
fn random_objects_are_decided_as_by_trying_every_client() {
    let (mut graphs, mut violations, mut by_clients, mut pending) = (0, 0, 0, 0);
    for seed in 0..60 {
        for model in [Model::Rc11, Model::Sc] {
            let mut clients = Clients::new(Object::Register, model);
            let mut program = random::objects::register(seed);
            let mut options = Options::of(model);
            options.limits.graphs = 60;
            let _ = explore(&mut program, &options, |graph, _| {
                let expected = oracle::linearizable(&graph.key(), model, &Object::Register, 10);
                let verdict = clients.check(graph);
                if let Verdict::Violated(pairs) = &verdict {
                    violations += 1;
                    by_clients += u32::from(!pairs.is_empty());
                }
                pending += u32::from(operations(graph).iter().any(|placed| placed.end.is_none()));
                graphs += 1;
                assert_eq!(Some(verdict.holds()), expected, "seed {seed}: {:?}", graph.key());
                ControlFlow::Continue(())
            });
        }
    }
    assert!(graphs > 1_000 && violations > 50 && by_clients > 5 && pending > 20);
}
