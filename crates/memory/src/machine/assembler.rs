//! Writing the code of a thread, with loops and branches.

use super::{Change, Code, Expression, Instruction, REGISTERS, Register};
use crate::event::Value;
use crate::ordering::Ordering;

/// Code that is being written.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    code: Code,
    registers: usize,
}

/// A place in the code to come back to.
#[derive(Clone, Copy, Debug)]
pub struct Here(usize);

/// A jump whose target is not known yet.
#[derive(Clone, Copy, Debug)]
pub struct Forward(usize);

impl Assembler {
    /// No code yet.
    #[must_use]
    pub fn new() -> Assembler {
        Assembler::default()
    }

    /// The code of the thread.
    #[must_use]
    pub fn finish(self) -> Code {
        self.code
    }

    /// A register that nothing else uses; they wrap around when they run out.
    pub fn register(&mut self) -> Register {
        self.registers += 1;
        Register::number((self.registers - 1) % REGISTERS)
    }

    /// The registers so far are free again.
    pub fn release_registers(&mut self) {
        self.registers = 0;
    }

    fn push(&mut self, instruction: Instruction) {
        self.code.instructions.push(instruction);
    }

    /// Reads into a new register.
    pub fn load(&mut self, at: impl Into<Expression>, ordering: Ordering) -> Register {
        let to = self.register();
        self.load_to(to, at, ordering);
        to
    }

    /// Reads into this register.
    pub fn load_to(&mut self, to: Register, at: impl Into<Expression>, ordering: Ordering) {
        self.push(Instruction::Load { to, at: at.into(), ordering });
    }

    /// Writes.
    pub fn store(&mut self, at: impl Into<Expression>, value: impl Into<Expression>, ordering: Ordering) {
        self.push(Instruction::Store { at: at.into(), value: value.into(), ordering });
    }

    /// Compares and exchanges. The register gets 1 if that worked, 0 if not.
    pub fn compare_exchange(
        &mut self,
        at: impl Into<Expression>,
        expected: impl Into<Expression>,
        new: impl Into<Expression>,
        orderings: (Ordering, Ordering),
    ) -> Register {
        let to = self.register();
        self.push(Instruction::Update {
            old: None,
            success: Some(to),
            at: at.into(),
            change: Change::CompareExchange(expected.into(), new.into()),
            ordering: orderings.0,
            failure: orderings.1,
        });
        to
    }

    /// Adds, and gives the old value.
    pub fn fetch_add(
        &mut self,
        at: impl Into<Expression>,
        value: impl Into<Expression>,
        ordering: Ordering,
    ) -> Register {
        let old = self.register();
        let change = Change::Add(value.into());
        let at = at.into();
        self.push(Instruction::Update {
            old: Some(old),
            success: None,
            at,
            change,
            ordering,
            failure: ordering,
        });
        old
    }

    /// A fence.
    pub fn fence(&mut self, ordering: Ordering) {
        self.push(Instruction::Fence(ordering));
    }

    /// Sets a register.
    pub fn set(&mut self, to: Register, value: impl Into<Expression>) {
        self.push(Instruction::Set(to, value.into()));
    }

    /// The thread is blocked unless this is not 0.
    pub fn assume(&mut self, condition: impl Into<Expression>) {
        self.push(Instruction::Assume(condition.into()));
    }

    /// The assertion of this number.
    pub fn assert(&mut self, condition: impl Into<Expression>, which: u32) {
        self.push(Instruction::Assert(condition.into(), which));
    }

    /// The address of fresh cells.
    pub fn allocate(&mut self, cells: u32) -> Register {
        let to = self.register();
        self.push(Instruction::Allocate(to, cells));
        to
    }

    /// An operation begins.
    pub fn call(&mut self, operation: u32, argument: Value) {
        self.push(Instruction::Call(operation, Expression::Number(argument)));
    }

    /// It ends.
    pub fn returns(&mut self, result: impl Into<Expression>) {
        self.push(Instruction::Return(result.into()));
    }

    /// The place of the next instruction.
    #[must_use]
    pub fn here(&self) -> Here {
        Here(self.code.instructions.len())
    }

    /// Goes back to `place`.
    pub fn again(&mut self, place: Here) {
        self.push(Instruction::Jump(place.0));
    }

    /// Goes back to `place` if this is 0.
    pub fn again_unless(&mut self, condition: impl Into<Expression>, place: Here) {
        self.push(Instruction::Unless(condition.into(), place.0));
    }

    /// Jumps forward, to where [`land`](Assembler::land) says.
    pub fn leave(&mut self) -> Forward {
        self.push(Instruction::Jump(usize::MAX));
        Forward(self.code.instructions.len() - 1)
    }

    /// Jumps forward if this is 0.
    pub fn leave_unless(&mut self, condition: impl Into<Expression>) -> Forward {
        self.push(Instruction::Unless(condition.into(), usize::MAX));
        Forward(self.code.instructions.len() - 1)
    }

    /// Here lead these jumps.
    pub fn land(&mut self, jumps: impl IntoIterator<Item = Forward>) {
        let here = self.code.instructions.len();
        for jump in jumps {
            if let Instruction::Jump(target) | Instruction::Unless(_, target) =
                &mut self.code.instructions[jump.0]
            {
                *target = here;
            }
        }
    }
}
