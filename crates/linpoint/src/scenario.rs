//! What is run: a few operations before, a few in each of some threads, a few after.
//!
//! Scenarios are made small first, so that the first that fails is a small one, and *up to symmetry*: threads of equal
//! length are interchangeable, and so are the values, which are used in the order 1, 2, 3 of first appearance.

use std::fmt;

use crate::argument::Domain;
use crate::spec::{Object, Specification};

/// Operations to run, in parts. Operations are numbered in this order: before, thread by thread, after.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Scenario<S: Specification> {
    /// Before the threads start.
    pub before: Vec<S::Op>,
    /// In each thread.
    pub threads: Vec<Vec<S::Op>>,
    /// When all threads have ended.
    pub after: Vec<S::Op>,
}

impl<S: Specification> Scenario<S> {
    /// All operations, by number.
    pub fn operations(&self) -> Vec<S::Op> {
        self.before.iter().chain(self.threads.iter().flatten()).chain(&self.after).cloned().collect()
    }

    /// For each operation the one before it in its part of the program: threads start after `before` and end
    /// before `after`, and happens-before shows that; within a part it is the order written.
    pub(crate) fn predecessors(&self) -> Vec<Option<usize>> {
        let mut all = Vec::new();
        let parts = std::iter::once(&self.before).chain(&self.threads).chain(std::iter::once(&self.after));
        for part in parts {
            let base = all.len();
            all.extend((0..part.len()).map(|index| index.checked_sub(1).map(|before| base + before)));
        }
        all
    }

    /// How many operations it has.
    pub fn len(&self) -> usize {
        self.before.len() + self.threads.iter().map(Vec::len).sum::<usize>() + self.after.len()
    }

    /// How large it is.
    pub(crate) fn size(&self) -> Size {
        Size {
            threads: self.threads.len(),
            ops: self.threads.iter().map(Vec::len).max().unwrap_or(0),
            before: self.before.len(),
            after: self.after.len(),
        }
    }

    /// No operations at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The scenario without operation `index`; threads without operations vanish.
    pub(crate) fn without(&self, index: usize) -> Scenario<S> {
        let mut smaller = self.clone();
        let mut left = index;
        let parts = std::iter::once(&mut smaller.before)
            .chain(&mut smaller.threads)
            .chain(std::iter::once(&mut smaller.after));
        for part in parts {
            if left < part.len() {
                part.remove(left);
                break;
            }
            left -= part.len();
        }
        smaller.threads.retain(|thread| !thread.is_empty());
        smaller
    }
}

impl<S: Specification> fmt::Debug for Scenario<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<S: Specification> fmt::Display for Scenario<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |ops: &[S::Op]| ops.iter().map(S::show_op).collect::<Vec<_>>().join("; ");
        if !self.before.is_empty() {
            write!(f, "{}; then ", part(&self.before))?;
        }
        let threads: Vec<String> = self.threads.iter().map(|ops| part(ops)).collect();
        write!(f, "{}", threads.join(" ‖ "))?;
        if !self.after.is_empty() {
            write!(f, "; then {}", part(&self.after))?;
        }
        Ok(())
    }
}

/// How large scenarios may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size {
    pub(crate) threads: usize,
    pub(crate) ops: usize,
    pub(crate) before: usize,
    pub(crate) after: usize,
}

impl Size {
    /// Is it no larger than `other` in any way?
    pub(crate) fn within(self, other: Size) -> bool {
        self.join(other) == other
    }

    /// The smallest that both are within.
    pub(crate) fn join(self, other: Size) -> Size {
        Size {
            threads: self.threads.max(other.threads),
            ops: self.ops.max(other.ops),
            before: self.before.max(other.before),
            after: self.after.max(other.after),
        }
    }

    /// The largest that is within both.
    pub(crate) fn meet(self, other: Size) -> Size {
        Size {
            threads: self.threads.min(other.threads),
            ops: self.ops.min(other.ops),
            before: self.before.min(other.before),
            after: self.after.min(other.after),
        }
    }
}

/// How many operations each part has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    before: usize,
    threads: Vec<usize>,
    after: usize,
}

impl Shape {
    /// The size of a scenario of this shape.
    pub(crate) fn size(&self) -> Size {
        let ops = self.threads.iter().copied().max().unwrap_or(0);
        Size { threads: self.threads.len(), ops, before: self.before, after: self.after }
    }

    fn len(&self) -> usize {
        self.before + self.threads.iter().sum::<usize>() + self.after
    }
}

/// Every shape within `size` that has at least two threads, or one if no more are wanted; small first.
pub(crate) fn shapes(size: &Size) -> Vec<Shape> {
    fn lengths(threads: usize, most: usize, so_far: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if !so_far.is_empty() {
            all.push(so_far.clone());
        }
        if so_far.len() == threads {
            return;
        }
        for length in 1..=most {
            so_far.push(length);
            lengths(threads, length, so_far, all);
            so_far.pop();
        }
    }
    let mut parallel = Vec::new();
    lengths(size.threads, size.ops, &mut Vec::new(), &mut parallel);
    parallel.retain(|threads| threads.len() >= size.threads.min(2));
    let mut all = Vec::new();
    for threads in &parallel {
        for before in 0..=size.before {
            for after in 0..=size.after {
                all.push(Shape { before, threads: threads.clone(), after });
            }
        }
    }
    all.sort_by_key(|shape| (shape.len(), shape.threads.len(), shape.before + shape.after));
    all
}

/// The operations scenarios are made of.
pub(crate) struct Alphabet<S: Specification> {
    ops: Vec<Letter<S>>,
}

struct Letter<S: Specification> {
    op: S::Op,
    kind: usize,
    values: Vec<usize>,
    /// The role of the thread that may perform it, if not every thread may.
    role: Option<&'static str>,
}

impl<S: Specification> Alphabet<S> {
    /// The operations of `O` with arguments from `domain`, or those that `chosen` lists instead.
    pub(crate) fn new<O: Object<Spec = S>>(domain: &Domain, chosen: Option<&[S::Op]>) -> Alphabet<S> {
        let has: Vec<usize> =
            (0..S::names().len()).filter(|&index| O::operations().contains(&S::names()[index])).collect();
        let ops: Vec<S::Op> = match chosen {
            Some(ops) => ops.to_vec(),
            None => has.iter().flat_map(|&index| S::candidates(index, domain)).collect(),
        };
        let letters = ops.into_iter().map(|op| {
            let mut values = Vec::new();
            if chosen.is_none() {
                S::values(&op, &mut values);
            }
            let kind = S::index(&op);
            let name = S::names().get(kind);
            let role = O::roles().iter().find(|role| Some(&role.0) == name).map(|role| role.1);
            Letter { kind, op, values, role }
        });
        Alphabet { ops: letters.collect() }
    }

    /// Calls `visit` with every scenario of `shape`, up to symmetry, until it says no.
    pub(crate) fn scenarios(&self, shape: &Shape, visit: &mut dyn FnMut(Scenario<S>) -> bool) -> bool {
        self.extend(shape, &mut Vec::new(), 0, visit)
    }

    fn extend(
        &self,
        shape: &Shape,
        so_far: &mut Vec<usize>,
        values: usize,
        visit: &mut dyn FnMut(Scenario<S>) -> bool,
    ) -> bool {
        if so_far.len() == shape.len() {
            let wanted = self.keeps_roles(shape, so_far) && self.is_canonical(shape, so_far);
            return !wanted || visit(self.build(shape, so_far));
        }
        let mut choices: Vec<(usize, usize)> = Vec::new();
        for (index, letter) in self.ops.iter().enumerate() {
            // A new value may only be the next one.
            let mut used = values;
            let fits = letter.values.iter().all(|&value| {
                let fits = value <= used + 1;
                used = used.max(value);
                fits
            });
            if fits {
                choices.push((index, used));
            }
        }
        // Fresh values first: they tell more.
        choices.sort_by_key(|&(index, used)| (self.ops[index].kind, std::cmp::Reverse(used)));
        for (index, used) in choices {
            so_far.push(index);
            let go_on = self.extend(shape, so_far, used, visit);
            so_far.pop();
            if !go_on {
                return false;
            }
        }
        true
    }

    /// Does no role appear in two threads?
    fn keeps_roles(&self, shape: &Shape, letters: &[usize]) -> bool {
        let mut taken: Vec<(&str, usize)> = Vec::new();
        let mut at = shape.before;
        for (thread, &length) in shape.threads.iter().enumerate() {
            for role in letters[at..at + length].iter().filter_map(|&letter| self.ops[letter].role) {
                match taken.iter().find(|other| other.0 == role) {
                    Some(other) if other.1 != thread => return false,
                    Some(_) => {}
                    None => taken.push((role, thread)),
                }
            }
            at += length;
        }
        true
    }

    /// Of the orders of threads of equal length, keep the one with kinds in ascending order.
    fn is_canonical(&self, shape: &Shape, letters: &[usize]) -> bool {
        let mut at = shape.before;
        let mut previous: Option<Vec<usize>> = None;
        for &length in &shape.threads {
            let kinds: Vec<usize> =
                letters[at..at + length].iter().map(|&letter| self.ops[letter].kind).collect();
            at += length;
            if previous.as_ref().is_some_and(|previous| previous.len() == kinds.len() && *previous > kinds) {
                return false;
            }
            previous = Some(kinds);
        }
        true
    }

    fn build(&self, shape: &Shape, letters: &[usize]) -> Scenario<S> {
        let mut ops = letters.iter().map(|&letter| self.ops[letter].op.clone());
        let mut part = |length: usize| ops.by_ref().take(length).collect::<Vec<_>>();
        let before = part(shape.before);
        let threads = shape.threads.iter().map(|&length| part(length)).collect();
        Scenario { before, threads, after: part(shape.after) }
    }
}
