//! One operation of a history: who, what, when, in 32 bytes.
//!
//! A history of ten million operations is 320 MB of these and nothing else; values, processes and keys are
//! numbers that [`crate::Symbols`] explains.

use crate::symbols::ValueId;

/// An operation of the object under test, from its call to its return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// The stamp of the call.
    pub call: i64,
    /// The stamp of the return; [`Operation::NEVER`] while none was seen.
    pub ret: i64,
    /// The argument; a list where there are several; null where there is none.
    pub arg: ValueId,
    /// The result; null where there is none, and meaningless while pending.
    pub result: ValueId,
    /// The object, where the history is of several.
    pub key: KeyId,
    who_what: u32,
}

impl Operation {
    /// The return stamp of an operation that has not answered. It may or may not have taken effect.
    pub const NEVER: i64 = i64::MAX;
    /// The largest process number.
    pub const MAX_PROCESS: u32 = (1 << 24) - 1;

    /// An operation with no argument, no result and no key, and with both stamps zero: fill in the rest.
    pub fn new(process: ProcessId, op: OpCode) -> Operation {
        assert!(process.0 <= Self::MAX_PROCESS, "a history has at most 2^24 processes");
        Operation {
            call: 0,
            ret: 0,
            arg: ValueId::NULL,
            result: ValueId::NULL,
            key: KeyId::NONE,
            who_what: process.0 << 8 | u32::from(op.0),
        }
    }

    /// As [`Operation::new`], for a process number known not to be above [`Operation::MAX_PROCESS`].
    #[inline(always)]
    pub(crate) fn of(process: ProcessId, op: OpCode) -> Operation {
        debug_assert!(process.0 <= Self::MAX_PROCESS);
        let who_what = process.0 << 8 | u32::from(op.0);
        Operation { call: 0, ret: 0, arg: ValueId::NULL, result: ValueId::NULL, key: KeyId::NONE, who_what }
    }

    /// The process that called it.
    #[inline]
    pub fn process(&self) -> ProcessId {
        ProcessId(self.who_what >> 8)
    }

    /// Which operation of the specification it is.
    #[inline]
    pub fn op(&self) -> OpCode {
        OpCode(self.who_what as u8)
    }

    /// Has it not answered?
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.ret == Self::NEVER
    }

    /// Does it precede `other` in real time? Equal stamps are concurrent, except within one process, where
    /// the order of the history decides (see `docs/formats.md`); this looks at stamps only.
    #[inline]
    pub fn precedes(&self, other: &Operation) -> bool {
        self.ret < other.call
    }
}

/// The number of a process; [`crate::Symbols::process_name`] knows its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u32);

/// The number of an operation in its [`crate::Signature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpCode(pub u8);

/// The number of an object; [`crate::Symbols::key_name`] knows its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub u32);

impl KeyId {
    /// The history is of one object, which has no name.
    pub const NONE: KeyId = KeyId(u32::MAX);
}

const _: () = assert!(size_of::<Operation>() == 32);
