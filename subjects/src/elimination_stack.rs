//! The stack of Hendler, Shavit and Yerushalmi (2004, 2010): Treiber's, and where two operations get into each other's
//! way, a push may hand its element to a pop directly, so that neither touches the stack.
//!
//! An operation that lost the race for the top writes an *offer* and puts it into a slot of the collision array. If it
//! finds there the offer of the opposite kind, it tries to collide with it; otherwise it waits a moment, withdraws its
//! offer and goes back to the stack. In the paper every thread has a place in an array where its offer stands; here
//! the place (`state`) is part of the offer, so that threads need no number. The slots of the collision array are tried in turn
//! and not at random.
//!
//! Linearization points: at the stack as in [`crate::treiber_stack`]; where two operations collide, both at the
//! compare-and-swap with which the active one takes the other's offer, the push first.
//!
//! Mutation [`COLLIDE_BY_STORE`]: a pop takes an offer by a store instead of a compare-and-swap. Expected: not
//! linearizable; a push that withdrew its offer in between puts on the stack what the pop returned.
//!
//! Mutation [`WRONG_CLAIM`]: the code is right, and `push` claims that the first thing its thread writes to `top` from now
//! on is the node it pushes (Sezgin, Tasiran, Muslu and Qadeer 2010, section 5). Expected: the claim fails. A push that hands its
//! node to a pop writes nothing to `top`; the thread's next push does, and writes another node. With [`RIGHT_CLAIM`], it
//! claims so only if it will not be eliminated, and holds.

use std::ptr;

use linpoint::hint::spin_loop;
use linpoint::sync::atomic::AtomicPtr;
use linpoint::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use linpoint::{Var, procedure, tressa};

use crate::CORRECT;
use crate::arena::Arena;

/// A pop takes an offer without looking whether it still stands.
pub const COLLIDE_BY_STORE: u8 = 1;

/// `push` claims that its thread will write its node to `top` before any other.
pub const WRONG_CLAIM: u8 = 2;

/// No mutation: `push` claims the same for the case that it is not eliminated.
pub const RIGHT_CLAIM: u8 = 3;

/// A stack of numbers with a collision array of `WIDTH` slots.
pub struct EliminationStack<const MUTATION: u8 = CORRECT, const WIDTH: usize = 1> {
    top: AtomicPtr<Node>,
    collisions: [AtomicPtr<Offer>; WIDTH],
    nodes: Arena<Node>,
    offers: Arena<Offer>,
}

struct Node {
    value: u32,
    next: *mut Node,
}

/// An operation that looks for one of the opposite kind.
struct Offer {
    /// What a push brings; null in the offer of a pop.
    node: *mut Node,
    /// The offer itself while it stands. Null when it was withdrawn, or was a push and is taken; otherwise it was a
    /// pop, and this is the offer of the push that answered.
    state: AtomicPtr<Offer>,
}

// SAFETY: a node is written by the thread that made it before it is published, and only read after that.
unsafe impl Send for Node {}
// SAFETY: the node of an offer does not change, and may go where the offer goes.
unsafe impl Send for Offer {}

#[linpoint::object(spec = crate::spec::Stack)]
impl<const MUTATION: u8, const WIDTH: usize> EliminationStack<MUTATION, WIDTH> {
    /// An empty stack.
    pub fn new() -> Self {
        EliminationStack {
            top: AtomicPtr::new(ptr::null_mut()),
            collisions: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            nodes: Arena::new(),
            offers: Arena::new(),
        }
    }

    /// Puts `value` on top.
    pub fn push(&self, value: u32) {
        let node = self.nodes.place(Node { value, next: ptr::null_mut() });
        let _procedure = procedure();
        let eliminated = Var::new(false);
        if MUTATION == WRONG_CLAIM {
            tressa!(First(self.top, Wr, { me }) == node);
        }
        if MUTATION == RIGHT_CLAIM {
            tressa!(!Exit(eliminated) ==> First(self.top, Wr, { me }) == node);
        }
        let mut offer = None;
        loop {
            let top = self.top.load(Relaxed);
            // SAFETY: the node lives as long as the stack, and nobody reads it unless it is published: an offer that
            // was withdrawn is not looked into.
            unsafe { (*node).next = top };
            if self.top.compare_exchange(top, node, Release, Relaxed).is_ok() {
                return;
            }
            if self.eliminate(&mut offer, node).is_some() {
                eliminated.set(true);
                return;
            }
        }
    }

    /// Takes the topmost value off.
    pub fn pop(&self) -> Option<u32> {
        let mut offer = None;
        loop {
            let top = self.top.load(Acquire);
            if top.is_null() {
                return None;
            }
            // SAFETY: nodes live as long as the stack, and are not written once they are published.
            let Node { value, next } = unsafe { &*top };
            if self.top.compare_exchange(top, *next, Relaxed, Relaxed).is_ok() {
                return Some(*value);
            }
            if let Some(node) = self.eliminate(&mut offer, ptr::null_mut()) {
                // SAFETY: as above; the push is over, so its node is not written any more.
                return Some(unsafe { (*node).value });
            }
        }
    }
}

impl<const MUTATION: u8, const WIDTH: usize> EliminationStack<MUTATION, WIDTH> {
    /// Offers `node` to a pop, or, if it is null, asks a push for one. Returns the node that changed hands.
    fn eliminate<'a>(&'a self, offer: &mut Option<(&'a Offer, usize)>, node: *mut Node) -> Option<*mut Node> {
        let (mine, round) = *offer.get_or_insert_with(|| {
            let offer = self.offers.place(Offer { node, state: AtomicPtr::new(ptr::null_mut()) });
            // SAFETY: offers live as long as the stack, and are only shared.
            (unsafe { &*offer }, 0)
        });
        *offer = Some((mine, round + 1));
        let me = ptr::from_ref(mine).cast_mut();
        mine.state.store(me, Release);
        let other = self.collisions[round % WIDTH].swap(me, AcqRel);
        // SAFETY: as above.
        let opposite = unsafe { other.as_ref() }.filter(|other| {
            other.node.is_null() != node.is_null() && ptr::eq(other.state.load(Acquire), *other)
        });
        if let Some(other) = opposite {
            return match mine.state.compare_exchange(me, ptr::null_mut(), AcqRel, Acquire) {
                Ok(_) => self.collide(mine, other),
                Err(answer) => Some(Self::answered(mine, answer)),
            };
        }
        spin_loop();
        mine.state
            .compare_exchange(me, ptr::null_mut(), AcqRel, Acquire)
            .err()
            .map(|answer| Self::answered(mine, answer))
    }

    /// Tries to take the standing offer of an operation of the opposite kind.
    fn collide(&self, mine: &Offer, other: &Offer) -> Option<*mut Node> {
        let expected = ptr::from_ref(other).cast_mut();
        if !mine.node.is_null() {
            let me = ptr::from_ref(mine).cast_mut();
            let answered = other.state.compare_exchange(expected, me, AcqRel, Relaxed).is_ok();
            return answered.then_some(mine.node);
        }
        if MUTATION == COLLIDE_BY_STORE {
            other.state.store(ptr::null_mut(), Release);
            return Some(other.node);
        }
        let taken = other.state.compare_exchange(expected, ptr::null_mut(), AcqRel, Relaxed).is_ok();
        taken.then_some(other.node)
    }

    /// The node that changed hands when somebody took our offer and left `answer`.
    fn answered(mine: &Offer, answer: *mut Offer) -> *mut Node {
        // SAFETY: offers live as long as the stack; the answer to a pop is the offer of a push.
        if mine.node.is_null() { unsafe { (*answer).node } } else { mine.node }
    }
}

impl<const MUTATION: u8, const WIDTH: usize> Default for EliminationStack<MUTATION, WIDTH> {
    fn default() -> Self {
        Self::new()
    }
}
