//! Programs of the register machine, executed through the shims: each of its threads is a thread here, and asks the machine
//! for its next step. There must be as many graphs of each kind as the machine has by itself.

use std::cell::RefCell;
use std::ops::ControlFlow;

use linpoint_memory::litmus::{self, Expected};
use linpoint_memory::structures::{Failed, Marks, Operation, Structure};
use linpoint_memory::{
    Access, Limits, Location, Model, Options, Ordering as Order, Program, Report, Step, Update, Value,
    machine::Machine, random,
};
use linpoint_sched::atomic::{AtomicI64, Ordering, fence};
use linpoint_sched::thread::{self, JoinHandle};
use linpoint_sched::weak::{self, Plan};

/// Cells of the machine: the shared ones, and those that threads allocate.
const SHARED: usize = 128;
const OWN: usize = 32;

/// A program of the machine, seen from threads that are fibers of one OS thread.
struct Mirror {
    machine: RefCell<Machine>,
    handles: RefCell<Vec<Option<JoinHandle<()>>>>,
    cells: RefCell<&'static [AtomicI64]>,
}

// SAFETY: all threads of an exploration are fibers of one OS thread, and no borrow lasts across a step.
unsafe impl Sync for Mirror {}
// SAFETY: as above.
unsafe impl Send for Mirror {}

fn std_order(order: Order) -> Ordering {
    match order {
        Order::NonAtomic | Order::Relaxed => Ordering::Relaxed,
        Order::Acquire => Ordering::Acquire,
        Order::Release => Ordering::Release,
        Order::AcqRel => Ordering::AcqRel,
        Order::SeqCst => Ordering::SeqCst,
    }
}

impl Mirror {
    fn cell(&self, Location(at): Location) -> &'static AtomicI64 {
        let own = (at >> 24) as usize;
        let index = match own {
            0 => at as usize,
            _ => SHARED + (own - 1) * OWN + (at & 0xff_ffff) as usize,
        };
        &self.cells.borrow()[index]
    }

    fn run(&'static self, thread: usize) {
        loop {
            let step = self.machine.borrow_mut().next(thread);
            let answer = match step {
                Step::Read { location, access } => read(self.cell(location), access),
                Step::Write { location, ordering, value } => {
                    self.cell(location).store(value, std_order(ordering));
                    0
                }
                Step::Fence(ordering) => {
                    fence(std_order(ordering));
                    0
                }
                Step::Create(other) => {
                    self.start(other);
                    0
                }
                Step::Join(other) => {
                    let handle = self.handles.borrow_mut()[other].take();
                    handle.expect("it was started").join().expect("it did not panic");
                    0
                }
                Step::Choose(of) => Value::from(weak::choose(of)),
                Step::Call { operation, argument } => {
                    weak::mark_call(operation, argument);
                    0
                }
                Step::Return(value) => {
                    weak::mark_return(value);
                    0
                }
                Step::Finished => return,
                Step::Blocked => {
                    weak::assume(false);
                    unreachable!("the thread is blocked")
                }
                Step::Failed(which) => panic!("assertion {which}"),
                Step::Endless => panic!("the thread does not end"),
            };
            self.machine.borrow_mut().resume(thread, answer);
        }
    }

    fn start(&'static self, thread: usize) {
        let handle = thread::spawn(move || self.run(thread));
        self.handles.borrow_mut()[thread] = Some(handle);
    }

    /// One execution.
    fn main(&'static self) {
        let count = self.machine.borrow().threads();
        self.machine.borrow_mut().restart();
        let initial = |index: usize| {
            let at = if index < SHARED {
                index
            } else {
                (((index - SHARED) / OWN + 1) << 24) + (index - SHARED) % OWN
            };
            self.machine.borrow().initial(Location(at as u64))
        };
        let cells: Vec<AtomicI64> =
            (0..SHARED + count * OWN).map(|index| AtomicI64::new(initial(index))).collect();
        let cells: &'static [AtomicI64] = Box::leak(cells.into_boxed_slice());
        *self.cells.borrow_mut() = cells;
        *self.handles.borrow_mut() = (0..count).map(|_| None).collect();
        let starting: Vec<usize> = (0..count).filter(|&t| self.machine.borrow().starts(t)).collect();
        for thread in starting {
            self.start(thread);
        }
    }
}

fn read(cell: &AtomicI64, access: Access) -> Value {
    let (update, success, failure) = match access {
        Access::Load(ordering) => return cell.load(std_order(ordering)),
        Access::Update { update, success, failure } => (update, std_order(success), std_order(failure)),
    };
    match update {
        Update::Add(value) => cell.fetch_add(value, success),
        Update::Sub(value) => cell.fetch_sub(value, success),
        Update::Swap(value) => cell.swap(value, success),
        Update::And(value) => cell.fetch_and(value, success),
        Update::Or(value) => cell.fetch_or(value, success),
        Update::Xor(value) => cell.fetch_xor(value, success),
        Update::Max(value) => cell.fetch_max(value, success),
        Update::Min(value) => cell.fetch_min(value, success),
        Update::CompareExchange(expected, new) => {
            cell.compare_exchange(expected, new, success, failure).unwrap_or_else(|seen| seen)
        }
        Update::Typed(..) => unreachable!("the machine has no integers of other types"),
    }
}

/// How many graphs there are of each kind: complete, blocked, failed, cut.
fn counts(report: &Report) -> [u64; 4] {
    [report.complete, report.blocked, report.failed, report.cut]
}

/// The graphs of a program of the machine through the shims.
fn through_shims(machine: &Machine, model: Model) -> [u64; 4] {
    let mirror: &'static Mirror = Box::leak(Box::new(Mirror {
        machine: RefCell::new(machine.clone()),
        handles: RefCell::new(Vec::new()),
        cells: RefCell::new(&[]),
    }));
    let plan = Plan { stop_at_failure: false, ..Plan::of(model) };
    let explored = weak::explore(&|| mirror.main(), &plan, &mut |_| ControlFlow::Continue(()));
    assert_eq!(explored.refused, None);
    assert_eq!(explored.report.dead, 0);
    assert!(explored.is_complete(), "{explored:?}");
    counts(&explored.report)
}

/// The graphs of a program of the machine by itself.
fn by_itself(machine: &Machine, model: Model) -> [u64; 4] {
    let options = Options { limits: Limits { graphs: 100_000, ..Limits::default() }, ..Options::of(model) };
    counts(&linpoint_memory::explore(&mut machine.clone(), &options, |_, _| ControlFlow::Continue(())))
}

#[track_caller]
fn agree(machine: &Machine, model: Model, name: &str) {
    assert_eq!(through_shims(machine, model), by_itself(machine, model), "{name} under {}", model.name());
}

#[test]
fn random_programs_have_the_same_graphs() {
    let mut compared = 0;
    for seed in 0..4_000 {
        let text = random::program(seed);
        if text.contains("na") {
            continue;
        }
        let machine = litmus::read_program(&text).expect("a program");
        for model in [Model::Rc11, Model::Sc] {
            agree(&machine, model, &text);
            compared += 1;
        }
    }
    assert!(compared > 5_000, "only {compared} were compared");
}

#[test]
fn litmus_tests_of_genmc_have_their_counts() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus/genmc.litmus");
    let text = std::fs::read_to_string(path).expect("the corpus is there");
    let mut compared = 0;
    for test in litmus::read(&text).expect("the corpus is in the notation") {
        let Expected::Graphs { rc11, sc } = test.expected else { continue };
        for (model, expected) in [(Model::Rc11, rc11), (Model::Sc, sc)] {
            assert_eq!(
                through_shims(&test.program, model)[0],
                expected,
                "{} under {}",
                test.name,
                model.name()
            );
            compared += 1;
        }
    }
    assert!(compared >= 188, "only {compared} were compared");
}

#[test]
fn structures_have_the_counts_of_miri() {
    let one_taker = |putters: i64| -> Vec<Vec<Operation>> {
        let puts = (1..=putters).map(|value| vec![Operation::Put(value)]);
        std::iter::once(vec![Operation::Take]).chain(puts).collect()
    };
    let expected = [
        (Structure::Treiber, 1, 2),
        (Structure::Treiber, 2, 22),
        (Structure::Treiber, 3, 1002),
        (Structure::MichaelScott, 1, 4),
        (Structure::MichaelScott, 2, 188),
    ];
    for (structure, putters, graphs) in expected {
        let threads = one_taker(putters);
        let machine = structure.client(&structure.orderings(), &threads, Failed::Again, Marks::Shown);
        assert_eq!(through_shims(&machine, Model::Rc11), [graphs, 0, 0, 0], "{structure:?} with {putters}");
    }
}
