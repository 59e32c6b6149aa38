//! A small register machine: programs as data, for litmus tests and for data structures in tests.
//!
//! Each thread is a list of instructions over its own registers. Addresses are values, so that linked
//! structures can be written; a fresh cell has an address that depends only on its thread and on how much the
//! thread has allocated before, so it is the same location in every execution.

mod assembler;
mod expression;

pub use assembler::{Assembler, Forward, Here};
pub use expression::{Expression, Operator};

use crate::event::{Access, Kind, Location, Update, Value};
use crate::graph::Graph;
use crate::ordering::Ordering;
use crate::program::{Program, Step};

/// How many registers a thread has.
pub const REGISTERS: usize = 16;

/// A register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register(u8);

impl Register {
    /// The register of this number; numbers wrap around.
    #[must_use]
    pub const fn number(number: usize) -> Register {
        Register((number % REGISTERS) as u8)
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What a read-modify-write does, its operands not yet computed.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// Adds.
    Add(Expression),
    /// Writes.
    Swap(Expression),
    /// Writes the second, if it finds the first.
    CompareExchange(Expression, Expression),
}

/// An instruction of a thread.
#[derive(Clone, PartialEq, Debug)]
pub enum Instruction {
    /// `to = load(at)`.
    Load {
        /// Where the value goes.
        to: Register,
        /// The address.
        at: Expression,
        /// The ordering.
        ordering: Ordering,
    },
    /// `store(at, value)`.
    Store {
        /// The address.
        at: Expression,
        /// The value.
        value: Expression,
        /// The ordering.
        ordering: Ordering,
    },
    /// A read-modify-write.
    Update {
        /// Where the old value goes.
        old: Option<Register>,
        /// Where 1 goes if it wrote, 0 if not.
        success: Option<Register>,
        /// The address.
        at: Expression,
        /// What it does.
        change: Change,
        /// The ordering if it writes.
        ordering: Ordering,
        /// The ordering if it does not.
        failure: Ordering,
    },
    /// A fence.
    Fence(Ordering),
    /// The thread is blocked unless this is not 0.
    Assume(Expression),
    /// The assertion of this number fails unless the expression is not 0.
    Assert(Expression, u32),
    /// `to = value`.
    Set(Register, Expression),
    /// Continues at that instruction if this is 0.
    Unless(Expression, usize),
    /// Continues at that instruction.
    Jump(usize),
    /// Waits for the end of a thread.
    Join(usize),
    /// Starts a thread.
    Create(usize),
    /// A number below the bound.
    Choose(Register, u32),
    /// The address of so many fresh cells that hold 0.
    Allocate(Register, u32),
    /// An operation begins: which, with which argument.
    Call(u32, Expression),
    /// The operation returns.
    Return(Expression),
}

/// The code of one thread.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Code {
    /// Its instructions. It ends after the last one.
    pub instructions: Vec<Instruction>,
    /// Does it wait to be created?
    pub waits: bool,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    at: usize,
    registers: [Value; REGISTERS],
    allocated: u32,
}

/// A program of such threads.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    codes: Vec<Code>,
    initial: Vec<(Location, Value)>,
    threads: Vec<Thread>,
}

/// The most instructions between two steps that others see.
const FUEL: usize = 100_000;

impl Machine {
    /// The program of these threads. All locations hold 0, but for those listed.
    #[must_use]
    pub fn new(codes: Vec<Code>, initial: Vec<(Location, Value)>) -> Machine {
        let threads = vec![Thread::default(); codes.len()];
        Machine { codes, initial, threads }
    }

    /// What a register of a thread holds now.
    #[must_use]
    pub fn register(&self, thread: usize, register: Register) -> Value {
        self.threads[thread].registers[register.index()]
    }

    /// What the registers of each thread hold at the end of the execution that a graph of this program describes.
    #[must_use]
    pub fn final_registers(&self, graph: &Graph) -> Vec<[Value; REGISTERS]> {
        let mut machine = self.clone();
        machine.restart();
        for thread in 0..graph.thread_count().min(machine.threads.len()) {
            for &id in graph.thread(thread) {
                let event = graph.event(id);
                if event.kind == Kind::Write && event.exclusive {
                    continue;
                }
                machine.next(thread);
                machine.resume(thread, event.value);
            }
            machine.next(thread);
        }
        machine.threads.iter().map(|state| state.registers).collect()
    }

    /// Executes what nobody else sees, up to the next step.
    fn run(&mut self, thread: usize) -> Step {
        for _ in 0..FUEL {
            let state = &mut self.threads[thread];
            let Some(instruction) = self.codes[thread].instructions.get(state.at) else {
                return Step::Finished;
            };
            let value = |expression: &Expression| expression.value(&state.registers);
            match instruction {
                Instruction::Set(to, expression) => {
                    state.registers[to.index()] = value(expression);
                    state.at += 1;
                }
                Instruction::Unless(condition, target) => {
                    state.at = if value(condition) == 0 { *target } else { state.at + 1 };
                }
                Instruction::Jump(target) => state.at = *target,
                Instruction::Allocate(to, cells) => {
                    state.registers[to.index()] = fresh(thread, state.allocated);
                    state.allocated += cells;
                    state.at += 1;
                }
                Instruction::Assume(condition) if value(condition) != 0 => state.at += 1,
                Instruction::Assert(condition, _) if value(condition) != 0 => state.at += 1,
                _ => return self.step(thread),
            }
        }
        Step::Endless
    }

    /// The step that the present instruction takes.
    fn step(&self, thread: usize) -> Step {
        let state = &self.threads[thread];
        let Some(instruction) = self.codes[thread].instructions.get(state.at) else { return Step::Finished };
        let value = |expression: &Expression| expression.value(&state.registers);
        let location = |at: &Expression| Location(value(at) as u64);
        match instruction {
            Instruction::Load { at, ordering, .. } => {
                Step::Read { location: location(at), access: Access::Load(*ordering) }
            }
            Instruction::Store { at, value: stored, ordering } => {
                Step::Write { location: location(at), ordering: *ordering, value: value(stored) }
            }
            Instruction::Update { at, change, ordering, failure, .. } => {
                let update = match change {
                    Change::Add(operand) => Update::Add(value(operand)),
                    Change::Swap(operand) => Update::Swap(value(operand)),
                    Change::CompareExchange(expected, new) => {
                        Update::CompareExchange(value(expected), value(new))
                    }
                };
                let access = Access::Update { update, success: *ordering, failure: *failure };
                Step::Read { location: location(at), access }
            }
            Instruction::Fence(ordering) => Step::Fence(*ordering),
            Instruction::Assume(_) => Step::Blocked,
            Instruction::Assert(_, which) => Step::Failed(*which),
            Instruction::Join(other) => Step::Join(*other),
            Instruction::Create(other) => Step::Create(*other),
            Instruction::Choose(_, of) => Step::Choose(*of),
            Instruction::Call(operation, argument) => {
                Step::Call { operation: *operation, argument: value(argument) }
            }
            Instruction::Return(result) => Step::Return(value(result)),
            Instruction::Set(..)
            | Instruction::Unless(..)
            | Instruction::Jump(_)
            | Instruction::Allocate(..) => Step::Endless,
        }
    }
}

/// The address of the cell that a thread allocates after so many others.
fn fresh(thread: usize, allocated: u32) -> Value {
    ((thread as Value + 1) << 24) + Value::from(allocated)
}

impl Program for Machine {
    fn threads(&self) -> usize {
        self.codes.len()
    }

    fn starts(&self, thread: usize) -> bool {
        !self.codes[thread].waits
    }

    fn initial(&self, location: Location) -> Value {
        self.initial.iter().find(|(of, _)| *of == location).map_or(0, |(_, value)| *value)
    }

    fn restart(&mut self) {
        self.threads.fill(Thread::default());
    }

    fn next(&mut self, thread: usize) -> Step {
        self.run(thread)
    }

    fn resume(&mut self, thread: usize, answer: Value) {
        // Whether something was written is told from the step: the operands are still what they were.
        let at = self.threads[thread].at;
        let wrote = match self.codes[thread].instructions.get(at) {
            Some(Instruction::Update { success: Some(_), .. }) => match self.step(thread) {
                Step::Read { access, .. } => access.written(answer).is_some(),
                _ => false,
            },
            _ => false,
        };
        let state = &mut self.threads[thread];
        match self.codes[thread].instructions.get(state.at) {
            Some(Instruction::Load { to, .. } | Instruction::Choose(to, _)) => {
                state.registers[to.index()] = answer;
            }
            Some(Instruction::Update { old, success, .. }) => {
                if let Some(to) = old {
                    state.registers[to.index()] = answer;
                }
                if let Some(to) = success {
                    state.registers[to.index()] = Value::from(wrote);
                }
            }
            _ => {}
        }
        state.at += 1;
    }
}
