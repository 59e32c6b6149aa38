//! The local state of a thread, literally: the registers that a call preserves, and the bytes of its stack.
//!
//! Two uses. A thread that comes back to exactly the state it had goes round in a loop ([`crate::spin`]); there raw
//! words are compared, within one execution. And a search over states compares executions ([`crate::Heap`]); there
//! a pointer into the heap counts as the name of its block.
//!
//! What lies dead in a frame counts as well: that tells equal states apart at times, and never takes different ones for
//! equal. The explorer leaves nothing of its own on the program's stack: it wipes what it used before it returns
//! ([`scrub`]).

/// Can local states be compared on this machine?
pub(crate) const AVAILABLE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Defines a function that puts what a call preserves on the stack and hashes the stack up to `base`.
macro_rules! local_state {
    ($(#[$doc:meta])* $name:ident, $hash:ident) => {
        $(#[$doc])*
        ///
        /// It reads the stack of its caller, so what the caller keeps there counts.
        ///
        /// # Safety
        /// `base` must lie on the stack that runs, above the caller's frame.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name(base: usize, out: *mut u128) -> u64 {
            std::arch::naked_asm!(
                "push rbx",
                "push rbp",
                "push r12",
                "push r13",
                "push r14",
                "push r15",
                "mov rdx, rsp",
                "sub rsp, 8",
                "call {hash}",
                "add rsp, 56",
                "ret",
                hash = sym $hash,
            )
        }

        $(#[$doc])*
        ///
        /// It reads the stack of its caller, so what the caller keeps there counts.
        ///
        /// # Safety
        /// `base` must lie on the stack that runs, above the caller's frame.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name(base: usize, out: *mut u128) -> u64 {
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
                "mov x2, sp",
                "bl {hash}",
                "ldp x29, x30, [sp, #80]",
                "add sp, sp, #160",
                "ret",
                hash = sym $hash,
            )
        }
    };
}

local_state! {
    /// A hash of the local state of the running fiber: the registers a call preserves, and its stack up to `base`.
    raw, hash_words
}

local_state! {
    /// Writes to `out` a fingerprint of the local state of the running fiber that can be compared between executions:
    /// pointers into the heap are taken for the names of their blocks.
    named, fingerprint_words
}

/// Elsewhere no two states are ever the same.
///
/// # Safety
/// None asked.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) unsafe extern "C" fn raw(_base: usize, _out: *mut u128) -> u64 {
    0
}

/// Nor here.
///
/// # Safety
/// None asked.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) unsafe extern "C" fn named(_base: usize, _out: *mut u128) -> u64 {
    0
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
extern "C" fn hash_words(base: usize, _out: *mut u128, from: usize) -> u64 {
    let mut hash = 0x243f_6a88_85a3_08d3_u64;
    let mut at = from;
    while at + 8 <= base {
        // SAFETY: called from `raw` alone, with the part of the running stack that is in use; a volatile
        // read asks nothing of what it holds.
        let word = unsafe { std::ptr::with_exposed_provenance::<u64>(at).read_volatile() };
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        at += 8;
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

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
extern "C" fn fingerprint_words(base: usize, out: *mut u128, from: usize) -> u64 {
    let Some(handle) = crate::execution::current() else { return 0 };
    let blocks = handle.blocks();
    let mut fingerprint = crate::heap::Fingerprint::new(0);
    let mut at = from;
    while at + 8 <= base {
        // SAFETY: called from `named` alone, with the part of the running stack that is in use; a volatile
        // read asks nothing of what it holds.
        let word = unsafe { std::ptr::with_exposed_provenance::<u64>(at).read_volatile() };
        fingerprint.add(blocks.canonical(word));
        at += 8;
    }
    // SAFETY: the caller's place for it.
    unsafe { *out = fingerprint.value() };
    0
}
