//! What can be explored: something that can be executed again and again, step by step, against a graph.
//!
//! An exploration executes the program once for each execution graph. It asks a thread for its next step,
//! decides what a read reads, and resumes the thread with the answer. Threads are coroutines to it: an
//! interpreter of litmus tests, or code on fibers whose atomics hand over control.
//!
//! Three rules make native code fit.
//!
//! * **Execution in `porf` order.** A step that the graph already has is executed only after the steps it
//!   depends on: the write that a read reads, the end of a thread that is joined, the creation of the thread.
//!   A read is answered with the value that its write wrote *in this execution*, so a pointer need not be the
//!   same number every time. And plain memory needs no versions: conflicting plain accesses of a graph
//!   without races are ordered by `hb ⊆ porf`.
//! * **Locations have names** that do not change from one execution to the next: "the third allocation of
//!   thread 2, offset 8", not an address.
//! * **Choices are steps.** A failure without a reason, a random number, an expired timeout: whatever the
//!   graph does not determine is asked for with [`Step::Choose`], so that a graph tells everything about its
//!   execution.
//!
//! Apart from these the program must be deterministic: with the same answers, a thread takes the same steps.

use crate::event::{Access, Location, Value};
use crate::ordering::Ordering;

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Reads, or reads and writes. The answer is the value read.
    Read {
        /// What it reads.
        location: Location,
        /// How.
        access: Access,
    },
    /// Writes.
    Write {
        /// Where to.
        location: Location,
        /// With which ordering.
        ordering: Ordering,
        /// What.
        value: Value,
    },
    /// A fence.
    Fence(Ordering),
    /// Starts that thread, one that is not started at the beginning.
    Create(usize),
    /// Waits for the end of that thread.
    Join(usize),
    /// Asks for a number below this. The answer is the number.
    Choose(u32),
    /// An operation of the object under test begins.
    Call {
        /// Which one.
        operation: u32,
        /// With which argument.
        argument: Value,
    },
    /// The operation returns this.
    Return(Value),
    /// The thread is at its end.
    Finished,
    /// The thread waits for something that does not happen in this execution, such as an assumption that is
    /// false. The execution counts as blocked.
    Blocked,
    /// An assertion failed: which one. The thread ends here; the others go on.
    Failed(u32),
    /// The thread took too many steps of its own without one that the others see. The search is then not
    /// complete.
    Endless,
}

/// A program with a fixed number of threads.
pub trait Program {
    /// How many threads it has, those included that are started by others.
    fn threads(&self) -> usize;

    /// Does this thread run from the beginning? If not, a step of another creates it.
    fn starts(&self, thread: usize) -> bool;

    /// What the location holds before any write.
    fn initial(&self, location: Location) -> Value;

    /// Puts all threads at their beginnings.
    fn restart(&mut self);

    /// The next step of a thread. Asked again without [`resume`](Program::resume) in between, it answers the
    /// same.
    fn next(&mut self, thread: usize) -> Step;

    /// The step was taken. `answer` is what it asked for, or 0.
    fn resume(&mut self, thread: usize, answer: Value);

    /// A write was executed that is the newest of its location among those executed so far: from now on
    /// memory holds this value. Called before the thread is resumed. Code that keeps real memory writes it
    /// here, and only here: then plain reads, `get_mut` and destructors find the right value in every
    /// execution without a data race.
    fn stored(&mut self, location: Location, value: Value) {
        let _ = (location, value);
    }
}
