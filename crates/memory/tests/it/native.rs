//! What native code needs of an exploration: values that differ from one execution to the next, and real
//! memory that plain accesses may use.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use linpoint_memory::machine::Machine;
use linpoint_memory::structures::Operation::{self, Put, Take};
use linpoint_memory::structures::{Failed, Marks, Structure};
use linpoint_memory::{
    Access, End, Ended, Location, Model, Options, Ordering, Program, Schedule, Step, Update, Value, explore,
    litmus, random,
};

fn two_threads() -> Vec<Vec<Operation>> {
    vec![vec![Put(1), Take], vec![Put(2), Take]]
}

/// A program whose addresses are other numbers in each execution, as those of native code are. The names of
/// its locations stay.
struct Moving {
    machine: Machine,
    executions: i64,
}

impl Moving {
    fn out(&self, value: Value) -> Value {
        if value >= 1 << 24 { value + (self.executions << 40) } else { value }
    }

    fn back(&self, value: Value) -> Value {
        if value >= 1 << 24 { value - (self.executions << 40) } else { value }
    }
}

impl Program for Moving {
    fn threads(&self) -> usize {
        self.machine.threads()
    }

    fn starts(&self, thread: usize) -> bool {
        self.machine.starts(thread)
    }

    fn initial(&self, location: Location) -> Value {
        self.out(self.machine.initial(location))
    }

    fn restart(&mut self) {
        self.executions += 1;
        self.machine.restart();
    }

    fn next(&mut self, thread: usize) -> Step {
        match self.machine.next(thread) {
            Step::Write { location, ordering, value } => {
                Step::Write { location, ordering, value: self.out(value) }
            }
            Step::Read {
                location,
                access: Access::Update { update: Update::CompareExchange(expected, new), success, failure },
            } => {
                let update = Update::CompareExchange(self.out(expected), self.out(new));
                Step::Read { location, access: Access::Update { update, success, failure } }
            }
            step => step,
        }
    }

    fn resume(&mut self, thread: usize, answer: Value) {
        self.machine.resume(thread, self.back(answer));
    }
}

#[test]
fn addresses_need_not_be_the_same_in_every_execution() {
    for (structure, graphs) in [(Structure::Treiber, 46), (Structure::MichaelScott, 222)] {
        let machine = structure.client(&structure.orderings(), &two_threads(), Failed::Again, Marks::Hidden);
        let mut program = Moving { machine, executions: 0 };
        let report = explore(&mut program, &Options::of(Model::Rc11), |_, _| ControlFlow::Continue(()));
        assert_eq!((report.complete, report.ended), (graphs, Ended::Exhausted));
    }
}

/// A program with real memory, written as the exploration says.
struct Remembering<'a> {
    machine: Machine,
    memory: &'a RefCell<HashMap<Location, Value>>,
    /// Plain reads of this execution that did not find their value in memory.
    wrong: &'a RefCell<usize>,
    plain: Vec<Option<Location>>,
}

impl Program for Remembering<'_> {
    fn threads(&self) -> usize {
        self.machine.threads()
    }

    fn starts(&self, thread: usize) -> bool {
        self.machine.starts(thread)
    }

    fn initial(&self, location: Location) -> Value {
        self.machine.initial(location)
    }

    fn restart(&mut self) {
        self.memory.borrow_mut().clear();
        *self.wrong.borrow_mut() = 0;
        self.machine.restart();
    }

    fn next(&mut self, thread: usize) -> Step {
        let step = self.machine.next(thread);
        self.plain[thread] = match step {
            Step::Read { location, access: Access::Load(Ordering::NonAtomic) } => Some(location),
            _ => None,
        };
        step
    }

    fn resume(&mut self, thread: usize, answer: Value) {
        if let Some(location) = self.plain[thread].take() {
            let initial = self.machine.initial(location);
            let held = self.memory.borrow().get(&location).copied().unwrap_or(initial);
            *self.wrong.borrow_mut() += usize::from(held != answer);
        }
        self.machine.resume(thread, answer);
    }

    fn stored(&mut self, location: Location, value: Value) {
        self.memory.borrow_mut().insert(location, value);
    }
}

/// Explores, and compares memory with the graphs. How many graphs without a race, and how many plain reads of
/// graphs with a race were wrong?
fn compare_memory(machine: &Machine, options: &Options) -> (u64, usize) {
    let (memory, wrong) = (RefCell::default(), RefCell::default());
    let plain = vec![None; machine.threads()];
    let mut program = Remembering { machine: machine.clone(), memory: &memory, wrong: &wrong, plain };
    let (mut clean, mut racy_wrong) = (0, 0);
    let _ = explore(&mut program, options, |graph, end| {
        if graph.race().is_none() {
            assert_eq!(*wrong.borrow(), 0, "a plain read without a race finds its value: {:?}", graph.key());
            clean += 1;
        } else {
            racy_wrong += *wrong.borrow();
        }
        if end == End::Complete {
            for (&location, &value) in memory.borrow().iter() {
                assert_eq!(graph.last_value(location), Some(value), "memory holds the last write");
            }
        }
        ControlFlow::Continue(())
    });
    (clean, racy_wrong)
}

#[test]
fn plain_memory_needs_no_versions() {
    let mut clean = 0;
    let mut racy_wrong = 0;
    for structure in [Structure::Treiber, Structure::MichaelScott, Structure::Ticket, Structure::Ring(1)] {
        for weakened in 0..=structure.sites().len() {
            let mut orderings = structure.orderings();
            if let Some(ordering) = orderings.get_mut(weakened) {
                *ordering = Ordering::Relaxed;
            }
            let machine = structure.client(&orderings, &two_threads(), Failed::Blocks, Marks::Hidden);
            for schedule in [Schedule::LeftToRight, Schedule::RightToLeft, Schedule::Random(7)] {
                let mut options = Options::of(Model::Rc11);
                options.schedule = schedule;
                let (more, wrong) = compare_memory(&machine, &options);
                clean += more;
                racy_wrong += wrong;
            }
        }
    }
    assert!(clean > 5_000, "{clean} graphs without a race");
    assert!(racy_wrong > 0, "with a race plain reads do go wrong: the comparison can fail");
}

#[test]
fn memory_holds_the_last_write_of_random_programs() {
    for seed in 0..400 {
        let machine = litmus::read_program(&random::program(seed)).expect("in the notation");
        let model = if seed % 2 == 0 { Model::Rc11 } else { Model::Sc };
        compare_memory(&machine, &Options::of(model));
    }
}
