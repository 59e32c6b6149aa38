//! The local state of a thread, literally: the registers that a call preserves, and the bytes of its stack.
//!
//! Two uses. A thread that comes back to exactly the state it had goes round in a loop ([`crate::spin`]); there raw
//! words are compared, within one execution. And a search over states compares executions ([`crate::Heap`]); there
//! a pointer into the heap counts as the name of its block.
//!
//! What lies dead in a frame counts as well: that tells equal states apart at times, and never takes different ones for
//! equal. The explorer leaves nothing of its own on the program's stack: what it keeps below the program's part does
//! not count ([`Entry`]), and it wipes what it used before it returns ([`scrub`]), for the program's next call lies
//! over it.

use std::panic::Location;

use crate::event::{Action, Wait};
use crate::execution::{ENTRY, Execution, entered};
use crate::heap::{Blocks, Fingerprint};

/// Can local states be compared on this machine?
pub(crate) const AVAILABLE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The state in which a thread called the explorer: the registers that a call preserves, and where its own part of the
/// stack ends. What the explorer puts below that does not count.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    stack: usize,
    registers: [u64; REGISTERS],
}

impl Entry {
    /// Below this address the stack is the explorer's: above it comes what the program has there, and where it goes on.
    pub(crate) fn lowest(&self) -> usize {
        self.stack.saturating_sub(RETURN_ADDRESS)
    }
}

#[cfg(not(target_arch = "aarch64"))]
const REGISTERS: usize = 6;
#[cfg(target_arch = "aarch64")]
const REGISTERS: usize = 20;

/// Where the program goes on lies so many bytes below its part of the stack; elsewhere that is in a register.
#[cfg(not(target_arch = "aarch64"))]
const RETURN_ADDRESS: usize = 8;
#[cfg(target_arch = "aarch64")]
const RETURN_ADDRESS: usize = 0;

/// Notes the state of the caller in the execution, and goes on with [`entered`].
///
/// # Safety
/// As for [`entered`].
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn enter(
    execution: *mut Execution,
    action: Action,
    address: usize,
    site: &'static Location<'static>,
    wait: Option<&'static Wait>,
    object: *const (),
) {
    // No frame is made, so there is nothing to tell the unwinder.
    std::arch::naked_asm!(
        "lea rax, [rsp + 8]",
        "mov [rdi + {entry}], rax",
        "mov [rdi + {entry} + 8], rbx",
        "mov [rdi + {entry} + 16], rbp",
        "mov [rdi + {entry} + 24], r12",
        "mov [rdi + {entry} + 32], r13",
        "mov [rdi + {entry} + 40], r14",
        "mov [rdi + {entry} + 48], r15",
        "jmp {entered}",
        entry = const ENTRY,
        entered = sym entered,
    )
}

/// Notes the state of the caller in the execution, and goes on with [`entered`].
///
/// # Safety
/// As for [`entered`].
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn enter(
    execution: *mut Execution,
    action: Action,
    address: usize,
    site: &'static Location<'static>,
    wait: Option<&'static Wait>,
    object: *const (),
) {
    std::arch::naked_asm!(
        "mov x9, {entry}",
        "add x9, x0, x9",
        "mov x10, sp",
        "str x10, [x9]",
        "stp x19, x20, [x9, #8]",
        "stp x21, x22, [x9, #24]",
        "stp x23, x24, [x9, #40]",
        "stp x25, x26, [x9, #56]",
        "stp x27, x28, [x9, #72]",
        "stp x29, x30, [x9, #88]",
        "stp d8, d9, [x9, #104]",
        "stp d10, d11, [x9, #120]",
        "stp d12, d13, [x9, #136]",
        "stp d14, d15, [x9, #152]",
        "b {entered}",
        entry = const ENTRY,
        entered = sym entered,
    )
}

/// Elsewhere nothing is noted.
///
/// # Safety
/// As for [`entered`].
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) unsafe extern "C-unwind" fn enter(
    execution: *mut Execution,
    action: Action,
    address: usize,
    site: &'static Location<'static>,
    wait: Option<&'static Wait>,
    object: *const (),
) {
    // SAFETY: as the caller promises.
    unsafe { entered(execution, action, address, site, wait, object) };
}

/// A hash of the local state of a thread: its registers, and its stack up to `base`.
///
/// # Safety
/// It must be the running thread that entered so, and `base` must be on its stack.
pub(crate) unsafe fn raw(entry: &Entry, base: usize) -> u64 {
    // Four sums side by side: one after the other would wait for each multiplication.
    let mut lanes =
        [0x243f_6a88_85a3_08d3_u64, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89];
    let add =
        |lane: &mut u64, word: u64| *lane = (lane.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    for (index, &register) in entry.registers.iter().enumerate() {
        add(&mut lanes[index % 4], register);
    }
    // SAFETY: the part of the running stack that is in use; a volatile read asks nothing of what it holds.
    let word = |at: usize| unsafe { std::ptr::with_exposed_provenance::<u64>(at).read_volatile() };
    let mut at = entry.stack;
    while at + 32 <= base {
        for (index, lane) in lanes.iter_mut().enumerate() {
            add(lane, word(at + 8 * index));
        }
        at += 32;
    }
    while at + 8 <= base {
        add(&mut lanes[0], word(at));
        at += 8;
    }
    lanes.iter().fold(0, |sum: u64, &lane| (sum.rotate_left(23) ^ lane).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Mixes the `size` bytes at `from` into a hash.
///
/// # Safety
/// They must be there to be read; what they hold does not matter.
pub(crate) unsafe fn mix(mut hash: u64, from: *const u8, size: usize) -> u64 {
    for at in 0..size {
        // SAFETY: as the caller promises; a volatile read asks nothing of what is there.
        let byte = unsafe { from.add(at).read_volatile() };
        hash = (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    hash
}

/// Calls `body(data, top)` with nothing in the registers that a call preserves: what the explorer had in them would
/// otherwise be saved on the program's stack. Everything that `body` keeps on the stack lies below `top`.
///
/// # Safety
/// `body(data, top)` must be sound to call, and must not unwind.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_clean(body: unsafe extern "C" fn(*mut (), usize), data: *mut ()) {
    std::arch::naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rsp",
        "xor ebx, ebx",
        "xor ebp, ebp",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "xor r15d, r15d",
        "call rax",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}

/// Calls `body(data, top)`: here without more.
///
/// # Safety
/// `body(data, top)` must be sound to call, and must not unwind.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe extern "C" fn call_clean(body: unsafe extern "C" fn(*mut (), usize), data: *mut ()) {
    // SAFETY: as the caller promises.
    unsafe { body(data, data.addr()) };
}

/// Words to wipe after the explorer ran on a program's stack: more than it uses there.
pub(crate) const EXPLORERS: usize = 256;

/// Words to wipe before a program starts: what the one before it left.
pub(crate) const PROGRAMS: usize = 2048;

/// Wipes the 256 bytes of the stack below its caller's frame.
///
/// # Safety
/// There must be so much stack.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn wipe() {
    std::arch::naked_asm!(
        "xorps xmm0, xmm0",
        "movups [rsp - 16], xmm0",
        "movups [rsp - 32], xmm0",
        "movups [rsp - 48], xmm0",
        "movups [rsp - 64], xmm0",
        "movups [rsp - 80], xmm0",
        "movups [rsp - 96], xmm0",
        "movups [rsp - 112], xmm0",
        "movups [rsp - 128], xmm0",
        "movups [rsp - 144], xmm0",
        "movups [rsp - 160], xmm0",
        "movups [rsp - 176], xmm0",
        "movups [rsp - 192], xmm0",
        "movups [rsp - 208], xmm0",
        "movups [rsp - 224], xmm0",
        "movups [rsp - 240], xmm0",
        "movups [rsp - 256], xmm0",
        "ret",
    )
}

/// Wipes the 256 bytes of the stack below its caller's frame.
///
/// # Safety
/// There must be so much stack.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe extern "C" fn wipe() {
    // SAFETY: as the caller promises.
    unsafe { scrub(32) };
}

/// Wipes `words` words of the stack below its caller's frame.
///
/// # Safety
/// There must be so much stack.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn scrub(words: usize) {
    std::arch::naked_asm!(
        "mov rcx, rdi",
        "lea rax, [rdi * 8]",
        "mov rdi, rsp",
        "sub rdi, rax",
        "xor eax, eax",
        "rep stosq",
        "ret",
    )
}

/// Wipes `words` words of the stack below its caller's frame.
///
/// # Safety
/// There must be so much stack.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn scrub(words: usize) {
    std::arch::naked_asm!(
        "sub x0, sp, x0, lsl #3",
        "mov x1, sp",
        "2:",
        "str xzr, [x0], #8",
        "cmp x0, x1",
        "b.lo 2b",
        "ret",
    )
}

/// States are not compared here.
///
/// # Safety
/// None asked.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) unsafe extern "C" fn scrub(_words: usize) {}

/// A fingerprint of the local state of a thread that can be compared between executions: its registers, the place in its program, and its stack
/// up to `base`; pointers into the heap are taken for the names of their blocks.
///
/// # Safety
/// As for [`raw`].
pub(crate) unsafe fn named(entry: &Entry, base: usize, blocks: &Blocks) -> u128 {
    let mut fingerprint = Fingerprint::new(0);
    for &register in &entry.registers {
        fingerprint.add(blocks.canonical(register));
    }
    let mut at = entry.stack - RETURN_ADDRESS;
    while at + 8 <= base {
        // SAFETY: the part of the running stack that is in use; a volatile read asks nothing of what it holds.
        let word = unsafe { std::ptr::with_exposed_provenance::<u64>(at).read_volatile() };
        fingerprint.add(blocks.canonical(word));
        at += 8;
    }
    fingerprint.value()
}
