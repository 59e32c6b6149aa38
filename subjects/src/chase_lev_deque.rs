//! The work-stealing deque of Chase and Lev (2005), with the orderings of Lê, Pop, Cohen and Zappa Nardelli (2013).
//!
//! One thread, the *owner*, pushes and takes at the bottom; all others steal at the top. Only for the last element do the
//! two ends meet, and there a compare-and-swap of `top` decides. The array grows when it is full; arrays that were
//! replaced stay until the deque is dropped, for a thief may still look at one.
//!
//! Linearization points: `push` at its store of `bottom`; `steal` at its successful compare-and-swap, or at its load
//! of `bottom` when it finds nothing; `take` at its store of `bottom` when more than one element is there, at its
//! compare-and-swap for the last one, and at its load of `top` when it finds nothing.
//!
//! Mutation [`TAKE_WITHOUT_CAS`]: `take` takes the last element without the compare-and-swap. Expected: not
//! linearizable; the owner and a thief both get the element.

use linpoint::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use linpoint::sync::atomic::{AtomicIsize, AtomicPtr, AtomicU32, fence};

use crate::CORRECT;
use crate::arena::Arena;

/// The owner does not compete for the last element.
pub const TAKE_WITHOUT_CAS: u8 = 1;

/// A deque of numbers. `push` and `take` are for the owner alone: called by two threads at once they lose elements,
/// though no memory.
pub struct ChaseLevDeque<const MUTATION: u8 = CORRECT> {
    top: AtomicIsize,
    bottom: AtomicIsize,
    buffer: AtomicPtr<Buffer>,
    buffers: Arena<Buffer>,
}

/// A circular array; its length is a power of two.
struct Buffer(Box<[AtomicU32]>);

impl Buffer {
    fn new(capacity: usize) -> Buffer {
        Buffer((0..capacity).map(|_| AtomicU32::new(0)).collect())
    }

    fn slot(&self, position: isize) -> &AtomicU32 {
        &self.0[position as usize & (self.0.len() - 1)]
    }
}

#[linpoint::object(spec = crate::spec::Deque)]
impl<const MUTATION: u8> ChaseLevDeque<MUTATION> {
    /// An empty deque.
    pub fn new() -> Self {
        Self::with_capacity(4)
    }

    /// An empty deque whose first array has room for `capacity` elements, rounded up to a power of two.
    pub fn with_capacity(capacity: usize) -> Self {
        let buffers = Arena::new();
        let buffer = buffers.place(Buffer::new(capacity.next_power_of_two()));
        let (top, bottom) = (AtomicIsize::new(0), AtomicIsize::new(0));
        ChaseLevDeque { top, bottom, buffer: AtomicPtr::new(buffer), buffers }
    }

    /// The owner puts `value` at the bottom.
    pub fn push(&self, value: u32) {
        let bottom = self.bottom.load(Relaxed);
        let top = self.top.load(Acquire);
        // SAFETY: buffers live as long as the deque, and are only shared.
        let mut buffer = unsafe { &*self.buffer.load(Relaxed) };
        if bottom - top >= buffer.0.len() as isize {
            buffer = self.grow(buffer, top, bottom);
        }
        buffer.slot(bottom).store(value, Relaxed);
        fence(Release);
        self.bottom.store(bottom + 1, Relaxed);
    }

    /// The owner takes the value at the bottom.
    pub fn take(&self) -> Option<u32> {
        let bottom = self.bottom.load(Relaxed) - 1;
        // SAFETY: buffers live as long as the deque, and are only shared.
        let buffer = unsafe { &*self.buffer.load(Relaxed) };
        self.bottom.store(bottom, Relaxed);
        fence(SeqCst);
        let top = self.top.load(Relaxed);
        if top > bottom {
            self.bottom.store(bottom + 1, Relaxed);
            return None;
        }
        let value = buffer.slot(bottom).load(Relaxed);
        if top < bottom {
            return Some(value);
        }
        let won = if MUTATION == TAKE_WITHOUT_CAS {
            self.top.store(top + 1, Relaxed);
            true
        } else {
            self.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok()
        };
        self.bottom.store(bottom + 1, Relaxed);
        won.then_some(value)
    }

    /// Another thread takes the value at the top.
    pub fn steal(&self) -> Option<u32> {
        loop {
            let top = self.top.load(Acquire);
            fence(SeqCst);
            let bottom = self.bottom.load(Acquire);
            if top >= bottom {
                return None;
            }
            // SAFETY: buffers live as long as the deque, and are only shared.
            let buffer = unsafe { &*self.buffer.load(Acquire) };
            let value = buffer.slot(top).load(Relaxed);
            if self.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok() {
                return Some(value);
            }
        }
    }
}

impl<const MUTATION: u8> ChaseLevDeque<MUTATION> {
    /// A buffer of twice the size with the same elements.
    fn grow(&self, old: &Buffer, top: isize, bottom: isize) -> &Buffer {
        let new = Buffer::new(old.0.len() * 2);
        for position in top..bottom {
            new.slot(position).store(old.slot(position).load(Relaxed), Relaxed);
        }
        let new = self.buffers.place(new);
        self.buffer.store(new, Release);
        // SAFETY: as in `push`.
        unsafe { &*new }
    }
}

impl<const MUTATION: u8> Default for ChaseLevDeque<MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}
