//! When the nodes of a lock-free object are freed: with the object, or as soon as nobody can look at them.
//!
//! An object that is generic over this is explored with [`Keep`], where no node is freed while the object lives, and run for
//! long with [`Epoch`], where memory stays as large as the object. The algorithm is the same; that it never looks at a node after it may
//! have been freed is then a matter of when it *retires* a node, and Valgrind looks at that.

use crate::arena::Arena;

/// A place for nodes.
pub trait Reclaim<T>: Default + Send + Sync {
    /// While it lives, no node is freed that could be reached when it was made.
    type Guard;

    /// Begins an operation.
    fn pin(&self) -> Self::Guard;

    /// Keeps a node.
    fn place(&self, node: T) -> *mut T;

    /// The node can no longer be reached, and never again will be.
    ///
    /// # Safety
    /// The node was placed here, is not retired twice, and whoever pins from now on cannot come to it.
    unsafe fn retire(&self, node: *mut T, guard: &Self::Guard);

    /// Frees a node of an object that is being dropped.
    ///
    /// # Safety
    /// The node was placed here and not retired, and nobody will use it again.
    unsafe fn free(&self, node: *mut T);
}

/// Nodes live as long as the object.
pub struct Keep<T>(Arena<T>);

impl<T> Default for Keep<T> {
    fn default() -> Keep<T> {
        Keep(Arena::new())
    }
}

impl<T: Send + Sync> Reclaim<T> for Keep<T> {
    type Guard = ();

    fn pin(&self) {}

    fn place(&self, node: T) -> *mut T {
        self.0.place(node)
    }

    unsafe fn retire(&self, _node: *mut T, _guard: &()) {}

    unsafe fn free(&self, _node: *mut T) {}
}

/// Nodes are freed when every operation that may have seen them has ended (Fraser 2004), by crossbeam-epoch.
#[derive(Default)]
pub struct Epoch(());

impl<T: Send + Sync> Reclaim<T> for Epoch {
    type Guard = Pinned;

    fn pin(&self) -> Pinned {
        pin()
    }

    fn place(&self, node: T) -> *mut T {
        Box::into_raw(Box::new(node))
    }

    unsafe fn retire(&self, node: *mut T, guard: &Pinned) {
        // SAFETY: the caller promises what is asked for.
        unsafe { defer(Owned(node), guard) };
    }

    unsafe fn free(&self, node: *mut T) {
        // SAFETY: it was made by a box, and the caller has the last pointer to it.
        drop(unsafe { Box::from_raw(node) });
    }
}

/// A thread that is in an operation.
pub struct Pinned(Option<crossbeam_epoch::Guard>);

impl Drop for Pinned {
    // This and the two below are functions of their own, so that all that crossbeam-epoch does happens below one of them: that is how the reports of Valgrind on its inside are told
    // from those on ours (`subjects/helgrind.supp`).
    #[cfg_attr(feature = "helgrind", inline(never))]
    fn drop(&mut self) {
        self.0 = None;
    }
}

#[cfg_attr(feature = "helgrind", inline(never))]
fn pin() -> Pinned {
    Pinned(Some(crossbeam_epoch::pin()))
}

/// # Safety
/// As for [`Reclaim::retire`].
#[cfg_attr(feature = "helgrind", inline(never))]
unsafe fn defer<T: Send>(node: Owned<T>, guard: &Pinned) {
    let Some(guard) = &guard.0 else { return };
    // SAFETY: the node is ours alone once all that are pinned now have ended; it may be dropped by another thread.
    unsafe {
        guard.defer_unchecked(move || {
            let Owned(node) = { node };
            drop(Box::from_raw(node));
        });
    }
}

/// A node on its way to another thread.
struct Owned<T>(*mut T);

// SAFETY: whoever has it has the only pointer to the node.
unsafe impl<T: Send> Send for Owned<T> {}
