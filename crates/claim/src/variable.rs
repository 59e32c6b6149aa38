//! Variables: what a claim can watch.

use std::rc::Rc;
use std::sync::Arc;

use crate::Value;

/// The name of a variable in events: its address, or a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarId(u64);

/// No address of a program has this bit.
const NUMBERED: u64 = 1 << 63;

impl VarId {
    /// The variable at an address.
    #[inline]
    pub fn of_address(address: usize) -> VarId {
        VarId(address as u64)
    }

    /// The variable that lives where this reference points to.
    #[inline]
    pub fn of<T: ?Sized>(variable: &T) -> VarId {
        VarId::of_address((&raw const *variable).addr())
    }

    /// A variable with a number of its own, which no address can equal.
    pub fn of_number(number: u64) -> VarId {
        VarId(number | NUMBERED)
    }

    /// The variable in one word: its address, or a word that is no address.
    pub fn word(self) -> u64 {
        self.0
    }

    /// Can several threads use it? Those that go by a number are in the hands of one thread at a time.
    pub fn is_shared(self) -> bool {
        self.0 & NUMBERED == 0
    }
}

/// A variable whose accesses are reported to the monitor: a shim of an atomic, a [`crate::Var`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a variable that claims can watch",
    label = "accesses of this are not seen",
    note = "watch an atomic of `linpoint::sync::atomic`, or make it a `claim::Var` if only one thread uses it"
)]
pub trait Variable {
    /// The type of its values.
    type Value: Value;

    /// Its name in events.
    fn id(&self) -> VarId;

    /// Its value now. This is not an access of the program and must not be reported as one.
    fn peek(&self) -> Self::Value;

    /// It occurs in the condition of a `Last` term.
    fn note_condition(&self) {}
}

macro_rules! through {
    ($($pointer:ty),*) => {$(
        impl<V: Variable + ?Sized> Variable for $pointer {
            type Value = V::Value;
            fn id(&self) -> VarId {
                (**self).id()
            }
            fn peek(&self) -> V::Value {
                (**self).peek()
            }
            fn note_condition(&self) {
                (**self).note_condition();
            }
        }
    )*};
}

through!(&V, &mut V, Box<V>, Rc<V>, Arc<V>);
