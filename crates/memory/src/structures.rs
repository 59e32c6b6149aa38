//! Concurrent data structures as programs of the [machine](crate::machine): their orderings are a table, so
//! that each can be weakened by itself.

mod audit;
mod chase_lev;
mod michael_scott;
mod small;
mod treiber;

pub use audit::{Tally, weaker};

use crate::event::{Location, Value};
use crate::machine::{Assembler, Machine};
use crate::ordering::Ordering;

/// An operation of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `push`, `enqueue`, or a write of a register.
    Put(Value),
    /// `pop`, `dequeue`, or a read of a register; what was put, or 0.
    Take,
    /// Takes from the other end.
    Steal,
    /// Adds one to a counter, and gives what it was.
    Count,
}

impl Operation {
    /// Its number in [`Kind::Call`](crate::Kind).
    #[must_use]
    pub fn code(self) -> u32 {
        match self {
            Operation::Put(_) => 0,
            Operation::Take => 1,
            Operation::Steal => 2,
            Operation::Count => 3,
        }
    }

    fn argument(self) -> Value {
        if let Operation::Put(value) = self { value } else { 0 }
    }
}

/// What a turn of a loop does that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failed {
    /// It is tried again.
    Again,
    /// The thread is blocked: what would come next is an execution with fewer steps, too.
    Blocks,
}

/// Are the calls and returns of operations events?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marks {
    /// Yes.
    Shown,
    /// No: only what the object does.
    Hidden,
}

/// An ordering of a data structure: where it stands, and what it is.
pub type Site = (&'static str, Ordering);

/// A data structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// R. K. Treiber's stack (1986).
    Treiber,
    /// The queue of M. Michael and M. Scott (PODC 1996).
    MichaelScott,
    /// The deque of D. Chase and Y. Lev (SPAA 2005), with the orderings of Lê, Pop, Cohen, Zappa Nardelli
    /// (PPoPP 2013).
    ChaseLev,
    /// A lock that hands out tickets, around a counter.
    Ticket,
    /// A sequence lock with one writer and two relaxed cells.
    Seqlock,
    /// A ring for one producer and one consumer, of this capacity.
    Ring(Value),
    /// One atomic cell.
    Register,
}

impl Structure {
    /// Its orderings, as they are meant to be.
    #[must_use]
    pub fn sites(self) -> &'static [Site] {
        match self {
            Structure::Treiber => treiber::SITES,
            Structure::MichaelScott => michael_scott::SITES,
            Structure::ChaseLev => chase_lev::SITES,
            Structure::Ticket => small::TICKET,
            Structure::Seqlock => small::SEQLOCK,
            Structure::Ring(_) => small::RING,
            Structure::Register => small::REGISTER,
        }
    }

    /// The orderings without the names.
    #[must_use]
    pub fn orderings(self) -> Vec<Ordering> {
        self.sites().iter().map(|site| site.1).collect()
    }

    fn initial(self) -> Vec<(Location, Value)> {
        match self {
            Structure::MichaelScott => michael_scott::initial(),
            Structure::ChaseLev => chase_lev::initial(),
            _ => Vec::new(),
        }
    }

    /// A client: what each thread does, one operation after another.
    #[must_use]
    pub fn client(
        self,
        orderings: &[Ordering],
        threads: &[Vec<Operation>],
        failed: Failed,
        marks: Marks,
    ) -> Machine {
        let mut codes = Vec::new();
        for operations in threads {
            let mut code = Assembler::new();
            for &operation in operations {
                code.release_registers();
                if marks == Marks::Shown {
                    code.call(operation.code(), operation.argument());
                }
                let result = self.operation(&mut code, orderings, operation, failed);
                if marks == Marks::Shown {
                    code.returns(result);
                }
            }
            codes.push(code.finish());
        }
        Machine::new(codes, self.initial())
    }

    /// Writes one operation; the register has the result.
    fn operation(
        self,
        code: &mut Assembler,
        orderings: &[Ordering],
        operation: Operation,
        failed: Failed,
    ) -> crate::machine::Register {
        let o = |site: usize| orderings.get(site).copied().unwrap_or(Ordering::SeqCst);
        match (self, operation) {
            (Structure::Treiber, Operation::Put(value)) => treiber::push(code, o, value, failed),
            (Structure::Treiber, _) => treiber::pop(code, o, failed),
            (Structure::MichaelScott, Operation::Put(value)) => {
                michael_scott::enqueue(code, o, value, failed)
            }
            (Structure::MichaelScott, _) => michael_scott::dequeue(code, o, failed),
            (Structure::ChaseLev, Operation::Put(value)) => chase_lev::push(code, o, value),
            (Structure::ChaseLev, Operation::Steal) => chase_lev::steal(code, o),
            (Structure::ChaseLev, _) => chase_lev::pop(code, o),
            (Structure::Ticket, _) => small::ticket(code, o),
            (Structure::Seqlock, Operation::Put(value)) => small::seqlock_write(code, o, value),
            (Structure::Seqlock, _) => small::seqlock_read(code, o),
            (Structure::Ring(capacity), Operation::Put(value)) => small::ring_push(code, o, value, capacity),
            (Structure::Ring(capacity), _) => small::ring_pop(code, o, capacity),
            (Structure::Register, Operation::Put(value)) => small::write(code, o, value),
            (Structure::Register, _) => small::read(code, o),
        }
    }
}

/// Goes on only if the turn of a loop worked.
fn unless_it_worked(
    code: &mut Assembler,
    worked: crate::machine::Register,
    start: crate::machine::Here,
    failed: Failed,
) {
    match failed {
        Failed::Again => code.again_unless(worked, start),
        Failed::Blocks => code.assume(worked),
    }
}
