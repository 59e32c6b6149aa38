//! Tells Helgrind what the shims order, where they run as std's under Valgrind: the feature `helgrind`, off by default; without it these functions do nothing.
//!
//! Helgrind follows the locks of the pthread library and knows nothing of atomics, nor of locks that are built on them, as all of Rust's are. Left alone it
//! takes every access to an atomic for one that races, and everything that atomics order for unordered. Here it is told three things by *client requests*, which are
//! instructions that do nothing on a processor and that Valgrind sees (`valgrind.h`): the bytes of an atomic are none of its business; what this thread did so far is sent along under a name; what
//! was sent under a name is received. With the names being addresses:
//! - a store or an exchange that releases sends before it happens; a load or an exchange that acquires receives after it has happened; those that are relaxed do neither. A lock is received when
//!   it is taken, and sent before it is given back; readers send under a name of their own, which writers receive, so readers are not ordered by each other.
//! - a fence that releases sends to all loads that acquire, a fence that acquires receives from all that release.
//!
//! **No false alarm by this:** whoever synchronises with a release, as the memory model has it, receives what was sent before it: a read that sees a write comes after it, so the thread has been sent
//! what was sent before the write. **Some races are hidden:** a name keeps all that was ever sent under it, so a thread also receives from releases whose value it did not
//! read, from exchanges that failed, and from those of an object that was at the address before. And what is not told is not seen: accesses to an atomic past its shim
//! (`get_mut`, `as_ptr`). So a report is a race, and silence of Helgrind is less than silence of the explorer's own check (`data_race.rs`), which is exact but only for small programs.

use std::sync::atomic::Ordering;

/// Does `access` on an atomic that loads.
#[inline]
pub(crate) fn load<P, T>(atomic: &P, order: Ordering, access: impl FnOnce() -> T) -> T {
    untracked(atomic);
    let value = access();
    after(address(atomic), order);
    value
}

/// Does `access` on an atomic that stores.
#[inline]
pub(crate) fn store<P, T>(atomic: &P, order: Ordering, access: impl FnOnce() -> T) -> T {
    untracked(atomic);
    before(address(atomic), order);
    access()
}

/// Does `access` on an atomic that does both.
#[inline]
pub(crate) fn change<P, T>(atomic: &P, order: Ordering, access: impl FnOnce() -> T) -> T {
    store(atomic, order, || load(atomic, order, access))
}

/// As [`change`], where the exchange may fail.
#[inline]
pub(crate) fn exchange<P, T>(
    atomic: &P,
    success: Ordering,
    failure: Ordering,
    access: impl FnOnce() -> Result<T, T>,
) -> Result<T, T> {
    untracked(atomic);
    before(address(atomic), success);
    let result = access();
    after(address(atomic), if result.is_ok() { success } else { failure });
    result
}

/// A fence, which the caller makes between the two.
#[inline]
pub(crate) fn fence(order: Ordering, access: impl FnOnce()) {
    if releases(order) {
        send(RELEASE_FENCES);
    }
    access();
    if acquires(order) {
        receive(RELEASES);
    }
}

/// Under this name fences that release are sent; no object is there.
const RELEASE_FENCES: usize = 1;
/// Under this name everything that releases is sent, for fences that acquire.
const RELEASES: usize = 2;

#[inline]
fn before(address: usize, order: Ordering) {
    if releases(order) {
        send(address);
        send(RELEASES);
    }
}

#[inline]
fn after(address: usize, order: Ordering) {
    if acquires(order) {
        receive(address);
        receive(RELEASE_FENCES);
    }
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

fn address<P: ?Sized>(object: &P) -> usize {
    std::ptr::from_ref(object).cast::<()>().addr()
}

/// What the calling thread has done happens before whatever follows a [`receive`] of the same name, which should be an address of the sender's own.
///
/// For what orders threads without a shim: an object that gives memory back through somebody else's queue says so with this. It does nothing without the feature `helgrind`.
#[inline]
pub fn send(name: usize) {
    request(SEND, name, 0);
}

/// What others did before they [`send`] under this name has happened.
#[inline]
pub fn receive(name: usize) {
    request(RECEIVE, name, 0);
}

/// What is done to these bytes is not looked at, until they are allocated again.
#[inline]
pub(crate) fn untracked<P: ?Sized>(object: &P) {
    request(UNTRACK, address(object), size_of_val(object));
}

// The numbers of `helgrind.h`, which are part of what Valgrind promises not to change: 'H', 'G' in the upper two bytes.
const SEND: usize = 0x4847_0121;
const RECEIVE: usize = 0x4847_0122;
const UNTRACK: usize = 0x4847_0127;

/// Asks Valgrind for something; outside it, this is a handful of instructions without effect.
#[cfg(all(feature = "helgrind", target_arch = "x86_64"))]
#[inline]
fn request(number: usize, first: usize, second: usize) {
    let words: [usize; 6] = [number, first, second, 0, 0, 0];
    // SAFETY: the rotations of `rdi` add up to 128 bits and the exchange is with itself, so no register changes but `rdx`, which is
    // the answer. Valgrind reads the words behind `rax`, and changes nothing of the program's memory for these requests.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") 0_usize => _,
            options(nostack),
        );
    }
}

#[cfg(not(all(feature = "helgrind", target_arch = "x86_64")))]
#[inline]
fn request(_number: usize, _first: usize, _second: usize) {}
