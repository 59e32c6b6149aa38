//! A local variable that claims can watch.

use std::cell::Cell;
use std::fmt::{self, Debug, Formatter};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Kind, Value, VarId, Variable, host};

/// A variable of one thread, used like a [`Cell`], whose accesses claims can see: the `s` of a snapshot that
/// may still fail, the `done` of a roll-back.
///
/// It is named by a number, not by its address, so that nothing is confused when it moves or another variable
/// takes its place on the stack. The number is given when a claim first watches it; before that it costs what
/// a `Cell` costs.
///
/// ```
/// use linpoint_claim::{Var, procedure, tressa};
///
/// fn attempt() -> Option<u32> {
///     let _procedure = procedure();
///     let success = Var::new(false);
///     tressa!(Exit(success) ==> 1 + 1 == 2);
///     success.set(true);
///     success.get().then_some(7)
/// }
/// # assert_eq!(attempt(), Some(7));
/// ```
#[derive(Default)]
pub struct Var<T> {
    value: Cell<T>,
    /// Zero until a claim asks for it.
    number: Cell<u64>,
    /// Does it occur in the condition of a claim? Then each write is a step of its own: where it lies among
    /// the accesses of others matters.
    in_condition: Cell<bool>,
}

impl<T: Value> Var<T> {
    /// A variable with its first value.
    pub const fn new(value: T) -> Var<T> {
        Var { value: Cell::new(value), number: Cell::new(0), in_condition: Cell::new(false) }
    }

    /// Reads it.
    #[inline]
    pub fn get(&self) -> T {
        self.report(Kind::Rd);
        self.value.get()
    }

    /// Writes it.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) {
        self.write(value, Kind::Wr);
    }

    /// Writes it and returns the value before.
    #[inline]
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        let old = self.value.get();
        self.write(value, Kind::RW);
        old
    }

    /// Replaces the value by a function of it.
    #[track_caller]
    pub fn update(&self, change: impl FnOnce(T) -> T) {
        self.replace(change(self.value.get()));
    }

    #[inline]
    #[track_caller]
    fn write(&self, value: T, access: Kind) {
        let write = || {
            self.value.set(value);
            self.report(access);
        };
        if self.in_condition.get() {
            host::as_step(Location::caller(), || {
                host::tell(|monitor, _| monitor.touch(self.id(), Kind::Wr));
                write();
            });
        } else {
            write();
        }
    }

    #[inline]
    fn report(&self, access: Kind) {
        if self.number.get() != 0 {
            host::report(VarId::of_number(self.number.get()), access, self.value.get().to_bits());
        }
    }
}

impl<T: Value> Variable for Var<T> {
    type Value = T;

    fn id(&self) -> VarId {
        if self.number.get() == 0 {
            self.number.set(next_number());
        }
        VarId::of_number(self.number.get())
    }

    fn peek(&self) -> T {
        self.value.get()
    }

    fn note_condition(&self) {
        self.in_condition.set(true);
    }
}

impl<T: Value> Debug for Var<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.value.get(), f)
    }
}

/// A number that no other variable of the process has. Each OS thread takes a range of its own, so that
/// explorations on several cores do not wait for each other.
fn next_number() -> u64 {
    const RANGE: u64 = 1 << 20;
    static RANGES: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NEXT: Cell<u64> = const { Cell::new(0) };
    }
    let mut number = NEXT.get();
    if number.is_multiple_of(RANGE) {
        number = RANGES.fetch_add(1, Ordering::Relaxed) * RANGE;
    }
    NEXT.set(number + 1);
    number
}
