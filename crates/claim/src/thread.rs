//! Threads and sets of them.

/// A thread of the program under test, numbered by whoever runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ThreadId(pub u32);

/// The threads whose accesses a term waits for: some, or all but some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSet {
    /// Threads 0 to 63, a bit each: programs under a scheduler seldom have more.
    low: u64,
    /// The others, sorted.
    high: Vec<ThreadId>,
    /// Are those listed the only ones outside?
    complement: bool,
}

impl ThreadSet {
    /// No thread.
    pub const fn none() -> ThreadSet {
        ThreadSet { low: 0, high: Vec::new(), complement: false }
    }

    /// Every thread, also those not yet started: `{all}`.
    pub const fn all() -> ThreadSet {
        ThreadSet { low: 0, high: Vec::new(), complement: true }
    }

    /// One thread.
    pub fn only(thread: ThreadId) -> ThreadSet {
        let mut set = ThreadSet::none();
        set.list(thread);
        set
    }

    /// Every thread but one: `{others}`.
    pub fn except(thread: ThreadId) -> ThreadSet {
        let mut set = ThreadSet::all();
        set.list(thread);
        set
    }

    /// Is the thread in the set?
    #[inline]
    pub fn contains(&self, thread: ThreadId) -> bool {
        self.lists(thread) != self.complement
    }

    /// Is any thread but this one in the set?
    pub fn has_others(&self, thread: ThreadId) -> bool {
        // The complement of a finite set always has others.
        self.complement
            || self.low & !(1u64.checked_shl(thread.0).unwrap_or(0)) != 0
            || self.high.iter().any(|&high| high != thread)
    }

    /// Adds all threads of another set.
    pub fn add(&mut self, other: &ThreadSet) {
        match (self.complement, other.complement) {
            (false, false) => other.each_listed(|thread| self.list(thread)),
            (true, false) => other.each_listed(|thread| self.unlist(thread)),
            (false, true) => {
                let mut outside = other.clone();
                self.each_listed(|thread| outside.unlist(thread));
                *self = outside;
            }
            (true, true) => {
                self.low &= other.low;
                self.high.retain(|&thread| other.lists(thread));
            }
        }
    }

    fn lists(&self, thread: ThreadId) -> bool {
        if thread.0 < 64 { self.low >> thread.0 & 1 == 1 } else { self.high.binary_search(&thread).is_ok() }
    }

    fn list(&mut self, thread: ThreadId) {
        if thread.0 < 64 {
            self.low |= 1 << thread.0;
        } else if let Err(place) = self.high.binary_search(&thread) {
            self.high.insert(place, thread);
        }
    }

    fn unlist(&mut self, thread: ThreadId) {
        if thread.0 < 64 {
            self.low &= !(1 << thread.0);
        } else if let Ok(place) = self.high.binary_search(&thread) {
            self.high.remove(place);
        }
    }

    fn each_listed(&self, mut each: impl FnMut(ThreadId)) {
        (0..64).filter(|bit| self.low >> bit & 1 == 1).map(ThreadId).for_each(&mut each);
        self.high.iter().copied().for_each(each);
    }
}

/// What may stand in the braces of a term: a thread, a set, or a list of such.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of threads",
    label = "expected `me`, `others`, `all`, a `ThreadId`, a `ThreadSet`, or a slice or vector of such"
)]
pub trait Threads {
    /// Adds the threads to a set.
    fn add_to(&self, set: &mut ThreadSet);
}

impl Threads for ThreadId {
    fn add_to(&self, set: &mut ThreadSet) {
        set.add(&ThreadSet::only(*self));
    }
}

impl Threads for ThreadSet {
    fn add_to(&self, set: &mut ThreadSet) {
        set.add(self);
    }
}

impl<T: Threads> Threads for [T] {
    fn add_to(&self, set: &mut ThreadSet) {
        self.iter().for_each(|threads| threads.add_to(set));
    }
}

impl<T: Threads, const N: usize> Threads for [T; N] {
    fn add_to(&self, set: &mut ThreadSet) {
        self.as_slice().add_to(set);
    }
}

impl<T: Threads> Threads for Vec<T> {
    fn add_to(&self, set: &mut ThreadSet) {
        self.as_slice().add_to(set);
    }
}

impl<T: Threads + ?Sized> Threads for &T {
    fn add_to(&self, set: &mut ThreadSet) {
        (**self).add_to(set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unions of sets, some complemented, against membership by definition.
    #[test]
    fn union_is_or() {
        let ids = [0, 1, 63, 64, 65, u32::MAX].map(ThreadId);
        let mut sets = vec![ThreadSet::none(), ThreadSet::all()];
        for bits in 0..1u32 << ids.len() {
            let mut listed = ThreadSet::none();
            ids.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).for_each(|(_, &id)| listed.list(id));
            sets.push(ThreadSet { complement: true, ..listed.clone() });
            sets.push(listed);
        }
        for a in &sets {
            for b in &sets {
                let mut union = a.clone();
                union.add(b);
                for id in ids.into_iter().chain([ThreadId(7), ThreadId(1000)]) {
                    assert_eq!(union.contains(id), a.contains(id) || b.contains(id), "{a:?} {b:?} {id:?}");
                }
            }
        }
    }
}
