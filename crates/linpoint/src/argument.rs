//! Where the arguments of generated operations come from.
//!
//! Numbers are *values up to renaming*: a scenario may use value 2 only after value 1, so that two scenarios never
//! differ in names alone. That is right for objects that only store what they are given. Where the size of a number
//! matters (a priority, an index), set the arguments with [`crate::Check::arguments`].

/// The values to draw arguments from.
#[derive(Clone, Debug)]
pub struct Domain {
    /// How many different values a scenario may use.
    pub values: usize,
}

impl Default for Domain {
    fn default() -> Domain {
        Domain { values: 3 }
    }
}

/// A type whose values can be generated.
pub trait Argument: Sized {
    /// All values of the type, drawn from `domain`.
    fn candidates(domain: &Domain) -> Vec<Self>;

    /// Adds the numbers in it that stand for nothing but themselves.
    fn values(&self, into: &mut Vec<usize>) {
        let _ = into;
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Argument for $type {
            fn candidates(domain: &Domain) -> Vec<Self> {
                (1..=domain.values.min(100)).map(|n| n as $type).collect()
            }

            fn values(&self, into: &mut Vec<usize>) {
                into.extend(usize::try_from(*self));
            }
        }
    )*};
}

numbers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl Argument for () {
    fn candidates(_: &Domain) -> Vec<()> {
        vec![()]
    }
}

impl Argument for bool {
    fn candidates(_: &Domain) -> Vec<bool> {
        vec![false, true]
    }
}

impl Argument for char {
    fn candidates(domain: &Domain) -> Vec<char> {
        ('a'..='z').take(domain.values).collect()
    }
}

impl Argument for String {
    fn candidates(domain: &Domain) -> Vec<String> {
        char::candidates(domain).into_iter().map(String::from).collect()
    }
}

impl<T: Argument> Argument for Option<T> {
    fn candidates(domain: &Domain) -> Vec<Option<T>> {
        let mut all = vec![None];
        all.extend(T::candidates(domain).into_iter().map(Some));
        all
    }

    fn values(&self, into: &mut Vec<usize>) {
        if let Some(inner) = self {
            inner.values(into);
        }
    }
}

impl<A: Argument + Clone, B: Argument + Clone> Argument for (A, B) {
    fn candidates(domain: &Domain) -> Vec<(A, B)> {
        let seconds = B::candidates(domain);
        A::candidates(domain)
            .into_iter()
            .flat_map(|a| seconds.iter().map(move |b| (a.clone(), b.clone())))
            .collect()
    }

    fn values(&self, into: &mut Vec<usize>) {
        self.0.values(into);
        self.1.values(into);
    }
}
