//! Data behind a lock whose part of the view is logged when the lock is released.
//!
//! Exclusive access is known from the types: while a [`Guard`] lives nobody else sees the data, so all its
//! changes are one block of writes, logged when the guard goes (Tasiran & Qadeer 2005, section 5.1). Nothing
//! is logged where nothing was changed.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::local::Block;
use crate::object::{Object, Operation};
use crate::payload::Payload;

/// Data that supports a view. `#[derive(linpoint::Viewed)]` writes this from marked fields.
pub trait Viewed {
    /// What this place adds to the view: null for nothing, or a list of keys, or of pairs of a key and a
    /// value.
    fn view(&self) -> impl Payload + '_;
}

/// A mutex around data that supports a view.
#[derive(Debug)]
pub struct Logged<T> {
    object: Object,
    location: u64,
    data: Mutex<T>,
}

impl<T: Viewed> Logged<T> {
    /// Puts `data` at `location` of the object's view. What it holds now is logged at once.
    pub fn new(object: &Object, location: u64, data: T) -> Logged<T> {
        object.write(location, data.view());
        Logged { object: object.clone(), location, data: Mutex::new(data) }
    }

    /// Waits for the lock. A panic of an earlier holder is ignored, as its operation is pending in the log.
    pub fn lock(&self) -> Guard<'_, T> {
        let data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        Guard { logged: self, data, changed: false }
    }
}

/// Exclusive access to logged data.
#[derive(Debug)]
pub struct Guard<'a, T: Viewed> {
    logged: &'a Logged<T>,
    data: MutexGuard<'a, T>,
    changed: bool,
}

impl<T: Viewed> Guard<'_, T> {
    /// `operation` takes effect here, with the changes made through this guard.
    pub fn commit(&mut self, operation: &Operation<'_>) {
        commit(operation, &mut [self]);
    }

    fn add_to(&mut self, block: &mut Block<'_>) {
        if self.changed {
            self.changed = false;
            block.write(self.logged.location, self.data.view());
        }
    }
}

/// `operation` takes effect here, with the changes made through all these guards at once.
pub fn commit<T: Viewed>(operation: &Operation<'_>, guards: &mut [&mut Guard<'_, T>]) {
    if guards.iter().all(|guard| !guard.changed) {
        operation.commit();
    } else {
        operation.commit_block(|block| guards.iter_mut().for_each(|guard| guard.add_to(block)));
    }
}

impl<T: Viewed> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T: Viewed> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changed = true;
        &mut self.data
    }
}

impl<T: Viewed> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.changed {
            self.logged.object.write(self.logged.location, self.data.view());
        }
    }
}
