//! Spin loops without annotation.
//!
//! A thread that goes once round a loop, only reading, and comes back to *exactly* the local state it had, will do
//! the same again until somebody writes to something it read: such a turn is a stutter, and scheduling it explores
//! nothing. So the thread waits until one of the locations it read in that turn is written.
//!
//! "Exactly the local state" is taken literally: the registers that survive a call and every byte of the fiber's
//! stack are hashed at the head of the turn. A loop with a bound keeps its counter there, so it is never mistaken for
//! a spin. What escapes is a counter on the heap: a loop that turns at most n times by such a counter would be taken
//! for a spin that waits, and that is reported as a livelock, not passed over.

use crate::event::Loc;

/// What one thread has read since it last wrote.
#[derive(Default)]
pub(crate) struct Spin {
    reads: Vec<(Loc, u32)>,
    heads: Vec<(usize, u64)>,
    /// While it waits: the reads of the turn that is repeated.
    turn: Option<usize>,
}

/// Longest streak of reads that is watched for a turn.
const LONGEST: usize = 256;

impl Spin {
    /// Forgets everything: the thread wrote, or begins anew.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.reads.is_empty() {
            self.reads.clear();
            self.heads.clear();
        }
        self.turn = None;
    }

    /// Notes a read of `loc` when it had been written `version` times.
    #[inline]
    pub(crate) fn read(&mut self, loc: Loc, version: u32) {
        if self.reads.len() >= LONGEST {
            self.clear();
        }
        self.reads.push((loc, version));
    }

    /// Nothing read since it last wrote?
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.reads.is_empty()
    }

    /// Might the thread, about to touch `loc`, be at the head of a turn it made before?
    #[inline]
    pub(crate) fn suspects(&self, loc: Loc) -> bool {
        self.reads.iter().any(|read| read.0 == loc)
    }

    /// The thread is at the head of a possible turn, in the local state that hashes to `state`. Returns whether it
    /// was there before in the same state. Whether something it read since then has been written is left to
    /// [`Spin::ready`], so that the answer depends on what the thread did alone, and not on who was faster.
    pub(crate) fn arrive(&mut self, state: u64) -> bool {
        let now = self.reads.len();
        let before = self.heads.iter().rev().find(|head| head.1 == state).map(|head| head.0);
        self.heads.push((now, state));
        self.turn = before.filter(|&from| from < now);
        self.turn.is_some()
    }

    /// The locations it read in the turn that it would repeat.
    pub(crate) fn turn(&self, mut look: impl FnMut(Loc)) {
        if let Some(from) = self.turn {
            for (at, read) in self.reads.iter().enumerate().skip(from) {
                if !self.reads[from..at].iter().any(|other| other.0 == read.0) {
                    look(read.0);
                }
            }
        }
    }

    /// Is it waiting for somebody to write?
    pub(crate) fn waits(&self) -> bool {
        self.turn.is_some()
    }

    /// Could it see something new now?
    pub(crate) fn ready(&self, version: impl Fn(Loc) -> u32) -> bool {
        self.turn.is_none_or(|from| self.reads[from..].iter().any(|&(loc, seen)| version(loc) != seen))
    }

    /// It was chosen to go on.
    pub(crate) fn resume(&mut self) {
        self.turn = None;
    }
}

/// Can local states be compared on this machine?
pub(crate) const AVAILABLE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// A hash of the local state of the running fiber: the registers a call preserves, and its stack up to `base`.
/// It reads the stack of its caller, so what the caller keeps there counts.
///
/// # Safety
/// `base` must be the base of the stack that runs.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn local_state(base: usize) -> u64 {
    std::arch::naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rsi, rsp",
        "sub rsp, 8",
        "call {hash}",
        "add rsp, 56",
        "ret",
        hash = sym hash_words,
    )
}

/// As on the other machine: what a call preserves goes to the stack, and the stack is hashed.
///
/// # Safety
/// `base` must be the base of the stack that runs.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn local_state(base: usize) -> u64 {
    std::arch::naked_asm!(
        "sub sp, sp, #160",
        "stp x19, x20, [sp, #0]",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "stp x29, x30, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x1, sp",
        "bl {hash}",
        "ldp x29, x30, [sp, #80]",
        "add sp, sp, #160",
        "ret",
        hash = sym hash_words,
    )
}

/// Elsewhere no two states are ever the same.
///
/// # Safety
/// None asked.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) unsafe extern "C" fn local_state(_base: usize) -> u64 {
    0
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
extern "C" fn hash_words(base: usize, from: usize) -> u64 {
    let mut hash = 0x243f_6a88_85a3_08d3_u64;
    let mut at = from;
    while at + 8 <= base {
        // SAFETY: called from `local_state` alone, with the part of the running stack that is in use; a volatile
        // read asks nothing of what it holds.
        let word = unsafe { std::ptr::with_exposed_provenance::<u64>(at).read_volatile() };
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        at += 8;
    }
    hash
}
