//! `std::sync::Arc` and `Weak`, with the counts as something shared.
//!
//! Inside an exploration to make a reference, to drop one and to look at the counts are steps: who drops the last one runs
//! the destructor, and [`Arc::strong_count`], [`Arc::get_mut`], [`Arc::try_unwrap`] and [`Weak::upgrade`] can tell the
//! difference. Dropping a reference releases and dropping the last one acquires, as std's do, so that a destructor comes
//! after everything that was done through other references.
//!
//! # What depends on what
//! To add references and to drop them commutes, as long as none of them is the last. So these count as reads of the
//! count, in the sense of the reductions, and what can tell the difference counts as a write: to look, to upgrade, and to
//! drop the last one or the last but one. Two steps that could both come next, of which neither is a write, do the same in
//! both orders: of two drops at a count of three or more neither is the last, and whoever adds a reference has one, so
//! that nobody drops the last meanwhile.
//!
//! # What std's can do and this cannot
//! An `Arc<T>` does not become an `Arc<dyn Trait>` or an `Arc<[T]>` by itself: that is for std's types alone. Make it from
//! a box, `Arc::from(Box::new(value) as Box<dyn Trait>)`, or from std's. Nor is it a type for `self`.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::pin::Pin;
use std::sync as std_sync;
use std::sync::atomic::Ordering;

use crate::event::{Action, Effect, Intent};
use crate::execution::{Handle, current};
use crate::leak::{self, Kept};

/// A reference that counts.
pub struct Arc<T: ?Sized>(ManuallyDrop<std_sync::Arc<T>>);

/// A reference that does not keep the value.
pub struct Weak<T: ?Sized>(ManuallyDrop<std_sync::Weak<T>>);

/// Announces a step on the counts of what is at `data`, if an exploration runs.
#[inline]
#[track_caller]
fn announce(action: Action, data: usize) -> Option<(Handle, usize)> {
    // A weak reference to nothing points to nothing: below all memory, or, in std, to its last byte.
    let handle = current().filter(|_| data > 4096 && data != usize::MAX)?;
    // The counts lie before the value. The byte before it is nobody else's.
    let address = data - 1;
    handle.point(Intent::new(action, address));
    Some((handle, address))
}

impl<T> Arc<T> {
    /// The first reference to a value.
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        Arc::from_std(std_sync::Arc::new(value))
    }

    /// The first reference to a value that knows itself.
    #[track_caller]
    pub fn new_cyclic<F: FnOnce(&Weak<T>) -> T>(make: F) -> Arc<T> {
        Arc::from_std(std_sync::Arc::new_cyclic(|weak| make(&Weak(ManuallyDrop::new(weak.clone())))))
    }

    /// As [`Arc::new`], pinned.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: what a counted reference points to is moved out only by whoever has it to himself, and not once pinned.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// The value, if this is the only reference.
    ///
    /// # Errors
    /// With the reference, if it is not.
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        let only = |this: &Arc<T>| std_sync::Arc::strong_count(&this.0) == 1;
        if this.look(Action::ArcUnique, only) {
            std_sync::Arc::try_unwrap(this.into_std()).map_err(Arc::wrap)
        } else {
            Err(this)
        }
    }

    /// Drops the reference, and returns the value if it was the last.
    #[track_caller]
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        this.leave();
        let value = std_sync::Arc::into_inner(this.into_shared());
        if let Some(handle) = current() {
            handle.hold();
        }
        value
    }

    /// The value, or a copy of it if this is not the only reference.
    #[track_caller]
    pub fn unwrap_or_clone(this: Arc<T>) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|this| T::clone(&this))
    }
}

impl<T: ?Sized> Arc<T> {
    /// The value, if this is the only reference, weak ones included.
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        let only = |this: &Arc<T>| {
            std_sync::Arc::strong_count(&this.0) == 1 && std_sync::Arc::weak_count(&this.0) == 0
        };
        if this.look(Action::ArcUnique, only) { std_sync::Arc::get_mut(&mut this.0) } else { None }
    }

    /// The value, of which a copy is made first if this is not the only reference.
    #[track_caller]
    pub fn make_mut(this: &mut Arc<T>) -> &mut T
    where
        T: Clone,
    {
        if Arc::get_mut(this).is_none() {
            *this = Arc::new(T::clone(this));
        }
        std_sync::Arc::get_mut(&mut this.0).expect("it is the only reference, or was just made")
    }

    /// A weak reference.
    #[track_caller]
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        let announced = announce(Action::ArcClone, this.data());
        let weak = Weak(ManuallyDrop::new(std_sync::Arc::downgrade(&this.0)));
        if let Some((handle, address)) = announced {
            handle.count_added(Action::ArcClone, address);
        }
        weak
    }

    /// How many references there are.
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> usize {
        this.look(Action::ArcCount, |this| std_sync::Arc::strong_count(&this.0))
    }

    /// How many weak references there are.
    #[track_caller]
    pub fn weak_count(this: &Arc<T>) -> usize {
        this.look(Action::ArcCount, |this| std_sync::Arc::weak_count(&this.0))
    }

    /// Do two references lead to the same value?
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        std_sync::Arc::ptr_eq(&this.0, &other.0)
    }

    /// Where the value is.
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        std_sync::Arc::as_ptr(&this.0)
    }

    /// The reference as a pointer, to be made a reference again by [`Arc::from_raw`].
    pub fn into_raw(this: Arc<T>) -> *const T {
        std_sync::Arc::into_raw(this.into_shared())
    }

    /// The reference that [`Arc::into_raw`] took apart.
    ///
    /// # Safety
    /// The pointer must come from there, or from std's, and be used once.
    pub unsafe fn from_raw(pointer: *const T) -> Arc<T> {
        // SAFETY: as the caller promises.
        Arc::wrap(unsafe { std_sync::Arc::from_raw(pointer) })
    }

    /// Adds a reference to what [`Arc::into_raw`] took apart.
    ///
    /// # Safety
    /// The pointer must come from there, and the value must still be there.
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: as the caller promises; it is not dropped here.
        let this = ManuallyDrop::new(unsafe { Arc::from_raw(pointer) });
        std::mem::forget(Arc::clone(&this));
    }

    /// Drops a reference to what [`Arc::into_raw`] took apart.
    ///
    /// # Safety
    /// The pointer must come from there, and a reference must be left.
    #[track_caller]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: as the caller promises.
        drop(unsafe { Arc::from_raw(pointer) });
    }

    /// This reference in place of std's.
    #[track_caller]
    pub fn from_std(reference: std_sync::Arc<T>) -> Arc<T> {
        Arc::from(reference)
    }

    /// Std's reference in place of this one. What is done with it is seen by nobody.
    pub fn into_std(self) -> std_sync::Arc<T> {
        leak::take_back(Kept::Counted, self.data());
        self.into_shared()
    }

    fn wrap(reference: std_sync::Arc<T>) -> Arc<T> {
        Arc(ManuallyDrop::new(reference))
    }

    fn into_shared(self) -> std_sync::Arc<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: it is taken once, and `this` is not dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }

    fn data(&self) -> usize {
        std_sync::Arc::as_ptr(&self.0).cast::<()>().addr()
    }

    /// A step that looks at the counts.
    #[track_caller]
    fn look<R: Copy + Seen>(&self, action: Action, look: impl FnOnce(&Self) -> R) -> R {
        let Some((handle, address)) = announce(action, self.data()) else { return look(self) };
        let seen = look(self);
        handle.count_seen(action, address, seen.acquires());
        handle.detail(|| seen.words());
        handle.scrub_deep();
        seen
    }

    /// A step that drops the reference: this says so, and the caller does it.
    #[track_caller]
    fn leave(&self) {
        if let Some((handle, address)) = announce(Action::ArcDrop, self.data()) {
            self.left(handle, address);
        }
    }

    fn left(&self, handle: Handle, address: usize) {
        let count = std_sync::Arc::strong_count(&self.0);
        if count == 1 {
            leak::take_back(Kept::Counted, self.data());
        }
        let change =
            if count == 1 { CountChange::Last } else { CountChange::Dropped { decides: count == 2 } };
        handle.count_changed(Action::ArcDrop, address, change);
        handle.detail(|| if count == 1 { "the last" } else { "not the last" }.to_owned());
        handle.scrub_deep_alone();
        // The last is gone when it is dropped with its value; only who may upgrade can tell.
        if count == 1 && std_sync::Arc::weak_count(&self.0) == 0 {
            handle.hold();
        }
    }
}

/// What was seen of the counts.
trait Seen {
    /// Does it come after what others did before they dropped theirs?
    fn acquires(&self) -> bool;
    fn words(&self) -> String;
}

impl Seen for bool {
    fn acquires(&self) -> bool {
        *self
    }

    fn words(&self) -> String {
        if *self { "the only one" } else { "not the only one" }.to_owned()
    }
}

impl Seen for usize {
    fn acquires(&self) -> bool {
        false
    }

    fn words(&self) -> String {
        self.to_string()
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        /// The reference is dropped even if the run is taken down at this very point.
        struct Last<'a, T: ?Sized>(&'a mut Arc<T>);
        impl<T: ?Sized> Drop for Last<'_, T> {
            fn drop(&mut self) {
                // SAFETY: this is the only place where it is dropped.
                unsafe { ManuallyDrop::drop(&mut self.0.0) };
                if let Some(handle) = current() {
                    handle.hold();
                }
            }
        }
        let last = Last(self);
        last.0.leave();
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        let announced = announce(Action::ArcClone, self.data());
        let reference = Arc::wrap(std_sync::Arc::clone(&self.0));
        if let Some((handle, address)) = announced {
            handle.count_added(Action::ArcClone, address);
        }
        reference
    }
}

impl<T> Weak<T> {
    /// A reference to nothing.
    pub const fn new() -> Weak<T> {
        Weak(ManuallyDrop::new(std_sync::Weak::new()))
    }
}

impl<T: ?Sized> Weak<T> {
    /// A reference that keeps the value, if it is still there.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let Some((handle, address)) = announce(Action::ArcUpgrade, self.data()) else {
            return self.0.upgrade().map(Arc::wrap);
        };
        let is_gone = handle.is_dying(address);
        let upgraded = self.0.upgrade().filter(|_| !is_gone).map(Arc::wrap);
        handle.count_seen(Action::ArcUpgrade, address, upgraded.is_some());
        handle.detail(|| if upgraded.is_some() { "there" } else { "gone" }.to_owned());
        handle.scrub_deep();
        upgraded
    }

    /// How many references there are that keep the value.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        self.look(std_sync::Weak::strong_count)
    }

    /// How many weak references there are; none if the value is gone.
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        self.look(std_sync::Weak::weak_count)
    }

    /// Do two references lead to the same value?
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// Where the value is, or was.
    pub fn as_ptr(&self) -> *const T {
        self.0.as_ptr()
    }

    fn data(&self) -> usize {
        self.0.as_ptr().cast::<()>().addr()
    }

    #[track_caller]
    fn look(&self, look: impl FnOnce(&std_sync::Weak<T>) -> usize) -> usize {
        let Some((handle, address)) = announce(Action::ArcCount, self.data()) else { return look(&self.0) };
        let seen = if handle.is_dying(address) { 0 } else { look(&self.0) };
        handle.count_seen(Action::ArcCount, address, false);
        handle.detail(|| seen.to_string());
        handle.scrub_deep();
        seen
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    #[track_caller]
    fn drop(&mut self) {
        struct Last<'a, T: ?Sized>(&'a mut Weak<T>);
        impl<T: ?Sized> Drop for Last<'_, T> {
            fn drop(&mut self) {
                // SAFETY: this is the only place where it is dropped.
                unsafe { ManuallyDrop::drop(&mut self.0.0) };
            }
        }
        let last = Last(self);
        if let Some((handle, address)) = announce(Action::ArcDrop, last.0.data()) {
            handle.count_changed(Action::ArcDrop, address, CountChange::Dropped { decides: false });
        }
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Weak<T> {
        let announced = announce(Action::ArcClone, self.data());
        let weak = Weak(ManuallyDrop::new(std_sync::Weak::clone(&self.0)));
        if let Some((handle, address)) = announced {
            handle.count_added(Action::ArcClone, address);
        }
        weak
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Weak<T> {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized> From<std_sync::Arc<T>> for Arc<T> {
    #[track_caller]
    fn from(reference: std_sync::Arc<T>) -> Arc<T> {
        let this = Arc::wrap(reference);
        leak::give(Kept::Counted, Some(this.data()));
        this
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Arc<T> {
        Arc::new(value)
    }
}

macro_rules! made_from {
    ($(($($param:tt)*) $from:ty => $to:ty;)*) => {$(
        impl<$($param)*> From<$from> for Arc<$to> {
            #[track_caller]
            fn from(value: $from) -> Arc<$to> {
                Arc::from_std(std_sync::Arc::<$to>::from(value))
            }
        }
    )*};
}

made_from! {
    (T: ?Sized) Box<T> => T;
    (T) Vec<T> => [T];
    (T: Clone) &[T] => [T];
    () &str => str;
    () String => str;
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Arc<[T]> {
        Arc::from_std(std_sync::Arc::<[T]>::from_iter(values))
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&*self.0, f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Arc<T>) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Arc<T>) -> Option<std::cmp::Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Arc<T>) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Handle {
    /// Notes that a reference was added to the count at `address`, when that is done: the thread may be held here.
    #[inline(never)]
    fn count_added(self, action: Action, address: usize) {
        self.count_changed(action, address, CountChange::Added);
        self.scrub_deep();
    }

    /// Notes that the count was looked at, and whether that comes after what others did before they dropped theirs.
    #[inline(never)]
    fn count_seen(self, action: Action, address: usize, acquires: bool) {
        let upgraded = action == Action::ArcUpgrade && acquires;
        let change = if upgraded { CountChange::Upgraded } else { CountChange::Seen(acquires) };
        self.count_changed(action, address, change);
    }
}

/// What a step does to a count of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountChange {
    Added,
    Upgraded,
    /// Dropped, and not the last; is the next that is dropped the last?
    Dropped {
        decides: bool,
    },
    Last,
    /// Looked at; did that acquire what others released?
    Seen(bool),
}

impl CountChange {
    /// What it is to others: see the head of this file.
    pub(crate) fn effect(self) -> Effect {
        match self {
            CountChange::Added | CountChange::Dropped { decides: false } => Effect::Read,
            CountChange::Dropped { decides: true }
            | CountChange::Upgraded
            | CountChange::Last
            | CountChange::Seen(_) => Effect::Write,
        }
    }

    /// What it orders.
    pub(crate) fn ordering(self) -> Ordering {
        match self {
            CountChange::Added | CountChange::Seen(false) => Ordering::Relaxed,
            CountChange::Dropped { .. } => Ordering::Release,
            CountChange::Last => Ordering::AcqRel,
            CountChange::Upgraded | CountChange::Seen(true) => Ordering::Acquire,
        }
    }
}
