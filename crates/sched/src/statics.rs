//! Statics that are made at first use, anew in every execution: for crates that have loom's or shuttle's `lazy_static!`.
//!
//! Whoever comes while another makes the value waits for it, as with the crate `lazy_static`. The values live as long as
//! [`Statics`] of the execution: what they keep must be given back like everything else. A thread that asks for one after
//! that fails.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use crate::sync::OnceLock;

/// The value of one static in one execution.
type Place = Rc<OnceLock<Box<dyn Any>>>;

std::thread_local! {
    /// By the address of the static; nothing outside an execution, and after its closure returned.
    static PLACES: RefCell<Option<Vec<(usize, Place)>>> = const { RefCell::new(None) };
}

/// A static, as such a macro declares it.
pub struct Lazy<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

impl<T: 'static> Lazy<T> {
    /// A static whose value `init` makes.
    pub const fn new(init: fn() -> T) -> Lazy<T> {
        Lazy { init, _p: PhantomData }
    }

    /// The value.
    ///
    /// # Panics
    /// Outside a model, and when its closure has returned.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        let place = self.place();
        let value = place.get_or_init(|| Box::new((self.init)()));
        let value = value.downcast_ref::<T>().expect("a static has one type");
        // SAFETY: the value stays in its box until the execution ends or its closure returns. A reference that is kept longer
        // than that would be wrong in a program with real statics only if it outlives the process.
        unsafe { std::mem::transmute::<&T, &'static T>(value) }
    }

    fn place(&'static self) -> Place {
        let key = std::ptr::from_ref(self).addr();
        PLACES.with_borrow_mut(|places| {
            let places = places.as_mut().expect(
                "a lazy static is used outside a model, or after the closure of the model returned and its statics were dropped",
            );
            if let Some((_, place)) = places.iter().find(|one| one.0 == key) {
                return Rc::clone(place);
            }
            let place = Place::default();
            places.push((key, Rc::clone(&place)));
            place
        })
    }
}

impl<T: 'static> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Lazy { .. }")
    }
}

/// The statics of one execution, as long as this lives.
#[derive(Debug)]
pub struct Statics(());

impl Statics {
    /// None has a value yet.
    #[must_use = "they go with it"]
    pub fn begin() -> Statics {
        PLACES.set(Some(Vec::new()));
        Statics(())
    }
}

impl Drop for Statics {
    fn drop(&mut self) {
        drop(PLACES.take());
    }
}
