//! What a state of the memory stands for: the user's `abs`, read as the state of the specification.
//!
//! | specification | `abs` | what it is |
//! |---|---|---|
//! | multiset, set, list | `item for n in lo..hi if c` | the items of all n with c, as often as they occur |
//! | queue, stack, deque | `item for n in lo..hi` | the items in the order of n: queues front first, stacks bottom first |
//! | counter, register, lock | `item` | the number, the value, the holder or `none` |
//! | `spec`, one array of integers | `item for n in lo..hi if c` | how often each value occurs |
//! | `spec`, one array of symbolic length | `item for n in 0..N` | the array |
//! | `spec`, else | items | the variables in order, arrays element by element |
//!
//! # Bags, and why sums are never written down
//!
//! Say a step changes the memory, and T is a finite list of indices. If every index outside T counts after as
//! before, with the same item, then for each value v the number of occurrences changes by exactly the sum
//! over T (each index once) of "counts after with item v" minus "counted before with item v". This is by
//! induction on the length of the range: the finite-sum lemma of `docs/soundness.md`, whose base and step the
//! solver proves (`lemma.rs`). So a change of a bag is two formulas without sums over the range: one for an
//! index outside T, one for a value. T is a guess (the indices written by the step): a bad one makes a proof
//! fail, not pass.

use linpoint_history::Kind;
use linpoint_lang::Program;
use linpoint_lang::program::{Abs, Expr, LocalId, SpecSource};

use crate::symbol::{Key, Space};
use crate::term::{Family, Sort, Term};
use crate::world::{Cell, Frame, Memory, Store, World};

/// The family of values that are counted.
const VALUES: Family = Family(2000);

/// How `abs` is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Values with how often they occur.
    Bag,
    /// The same, as an array of counts of a `spec`.
    Counted,
    /// Values in order.
    Sequence,
    /// An array of symbolic length of a `spec`.
    Vector,
    /// One value after another.
    Values,
}

/// The abstraction of a program.
#[derive(Clone, Debug)]
pub struct Abstraction<'p> {
    /// What the user wrote.
    pub abs: &'p Abs,
    /// How it is read.
    pub form: Form,
}

impl<'p> Abstraction<'p> {
    /// The abstraction that the user gave, read for the specification.
    pub fn new(program: &'p Program) -> Result<Abstraction<'p>, String> {
        let Some(abs) = &program.annotations.abs else {
            return Err("it has no `abs`: say what the abstract object is".into());
        };
        let filtered = matches!(&abs.over, Some((_, _, _, Some(_))));
        let form = match &program.spec {
            SpecSource::Nothing => return Err("it has no specification".into()),
            SpecSource::Builtin(spec) => {
                crate::values::fit(program, spec)?;
                match spec.kind {
                    Kind::Multiset | Kind::Set | Kind::List => Form::Bag,
                    Kind::Queue | Kind::Stack if !filtered => Form::Sequence,
                    Kind::Counter | Kind::Register | Kind::CasRegister | Kind::RmwRegister | Kind::Lock => {
                        Form::Values
                    }
                    _ => return Err("there are no obligations for this specification yet".into()),
                }
            }
            SpecSource::Block(block) => {
                let array = match block.globals.as_slice() {
                    [one] if one.slots.len() == 1 => one.length.as_ref(),
                    _ => None,
                };
                match (&abs.over, array) {
                    (Some(_), Some(_)) if filtered => Form::Counted,
                    (Some((_, lo, hi, None)), Some(length)) if *lo == Expr::Const(0) && hi == length => {
                        Form::Vector
                    }
                    (None, _) => Form::Values,
                    _ => return Err("this `abs` does not fit the variables of `spec`".into()),
                }
            }
        };
        let fits = match form {
            Form::Values => abs.over.is_none(),
            _ => abs.over.is_some() && abs.items.len() == 1,
        };
        if !fits {
            return Err("this `abs` does not fit the specification".into());
        }
        Ok(Abstraction { abs, form })
    }

    fn frame(&self, world: &mut World<'_>, index: Term) -> Frame {
        let nobody = world.none();
        let local = self.abs.over.as_ref().map_or(LocalId(0), |over| over.0);
        let mut locals = vec![nobody; self.abs.locals.len().max(local.index() + 1)];
        locals[local.index()] = index;
        Frame { pid: nobody, locals, inputs: vec![], result: vec![] }
    }

    /// The range of the index.
    pub fn range(&self, world: &mut World<'_>, memory: &Memory) -> (Term, Term) {
        let nothing = world.terms.int(0);
        let frame = self.frame(world, nothing);
        match &self.abs.over {
            Some((_, lo, hi, _)) => {
                let (lo, hi) = (world.annotation(lo, memory, &frame), world.annotation(hi, memory, &frame));
                (world.number(lo), world.number(hi))
            }
            None => (nothing, nothing),
        }
    }

    /// Does the item at this index count?
    pub fn counts(&self, world: &mut World<'_>, memory: &Memory, index: Term) -> Term {
        let (lo, hi) = self.range(world, memory);
        let (from, to) = (world.terms.le(lo, index), world.terms.lt(index, hi));
        let frame = self.frame(world, index);
        let when = match &self.abs.over {
            Some((_, _, _, Some(when))) => world.annotation_truth(when, memory, &frame),
            _ => world.terms.bool(true),
        };
        world.terms.and([from, to, when])
    }

    /// The item at this index.
    pub fn item(&self, world: &mut World<'_>, memory: &Memory, index: Term) -> Term {
        let frame = self.frame(world, index);
        let item = world.annotation(&self.abs.items[0], memory, &frame);
        world.number(item)
    }

    /// All items, without an index.
    pub fn values(&self, world: &mut World<'_>, memory: &Memory) -> Vec<Term> {
        let nothing = world.terms.int(0);
        let frame = self.frame(world, nothing);
        self.abs.items.iter().map(|item| world.annotation(item, memory, &frame)).collect()
    }

    /// Is the value in the bag?
    pub fn member(&self, world: &mut World<'_>, memory: &Memory, value: Term) -> Term {
        let depth = world.depth;
        world.depth += 1;
        let bound = world.terms.bound(depth);
        let (counts, item) = (self.counts(world, memory, bound), self.item(world, memory, bound));
        let same = world.same(item, value);
        let body = world.terms.and([counts, same]);
        world.depth = depth;
        world.terms.exists(depth, body)
    }

    /// Indices that a step may have changed.
    fn touched(&self, world: &mut World<'_>, before: &Memory, after: &Memory) -> Vec<Term> {
        let mut touched = Vec::new();
        let mut see = |old: &Store, new: &Store| {
            touched.extend(new.writes.iter().skip(old.writes.len()).map(|(index, _)| *index));
        };
        for (old, new) in before.globals.iter().flatten().zip(after.globals.iter().flatten()) {
            if let (Cell::Array(old), Cell::Array(new)) = (old, new) {
                see(old, new);
            }
        }
        let (old, new) = (self.range(world, before), self.range(world, after));
        if old != new {
            let one = world.terms.int(1);
            for end in [old.0, new.0] {
                touched.push(end);
            }
            for end in [old.1, new.1] {
                touched.push(world.terms.sub(end, one));
            }
        }
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// By how much the number of occurrences of a value changes at these indices.
    fn difference(
        &self,
        world: &mut World<'_>,
        before: &Memory,
        after: &Memory,
        touched: &[Term],
        value: Term,
    ) -> Term {
        let (one, zero) = (world.terms.int(1), world.terms.int(0));
        let mut sum = zero;
        for (number, index) in touched.iter().enumerate() {
            let again: Vec<Term> =
                touched[..number].iter().map(|other| world.terms.eq(*index, *other)).collect();
            let again = world.terms.or(again);
            let first = world.terms.not(again);
            let occurs = |world: &mut World<'_>, memory: &Memory| {
                let (counts, item) = (self.counts(world, memory, *index), self.item(world, memory, *index));
                let same = world.same(item, value);
                let occurs = world.terms.and([first, counts, same]);
                world.terms.ite(occurs, one, zero)
            };
            let (gained, lost) = (occurs(world, after), occurs(world, before));
            let change = world.terms.sub(gained, lost);
            sum = world.terms.add(sum, change);
        }
        sum
    }

    /// Everything outside these indices counts as before.
    fn elsewhere(&self, world: &mut World<'_>, before: &Memory, after: &Memory, touched: &[Term]) -> Term {
        let depth = world.depth;
        world.depth += 1;
        let bound = world.terms.bound(depth);
        let (old, new) = (self.counts(world, before, bound), self.counts(world, after, bound));
        let (old_item, new_item) = (self.item(world, before, bound), self.item(world, after, bound));
        let (same, same_item) = (world.terms.eq(old, new), world.same(old_item, new_item));
        let kept = world.terms.implies(old, same_item);
        let both = world.terms.and([same, kept]);
        let inside: Vec<Term> = touched.iter().map(|index| world.terms.eq(bound, *index)).collect();
        let inside = world.terms.or(inside);
        let body = world.terms.or([inside, both]);
        world.depth = depth;
        world.terms.forall(depth, body)
    }

    /// After is before, with these added and these taken out.
    pub fn bag_changes(
        &self,
        world: &mut World<'_>,
        before: &Memory,
        after: &Memory,
        added: &[Term],
        removed: &[Term],
    ) -> Term {
        let wanted = |world: &mut World<'_>, value: Term| {
            let (one, zero) = (world.terms.int(1), world.terms.int(0));
            let mut sum = zero;
            for (list, sign) in [(added, 1), (removed, -1)] {
                for other in list {
                    let same = world.same(*other, value);
                    let here = world.terms.ite(same, one, zero);
                    sum = if sign > 0 { world.terms.add(sum, here) } else { world.terms.sub(sum, here) };
                }
            }
            sum
        };
        self.counts_change(world, before, after, wanted)
    }

    /// For each value the number of occurrences changes by what `wanted` says.
    pub fn counts_change(
        &self,
        world: &mut World<'_>,
        before: &Memory,
        after: &Memory,
        wanted: impl FnOnce(&mut World<'_>, Term) -> Term,
    ) -> Term {
        let touched = self.touched(world, before, after);
        let elsewhere = self.elsewhere(world, before, after, &touched);
        let depth = world.depth;
        world.depth += 1;
        let value = world.terms.bound(depth);
        let difference = self.difference(world, before, after, &touched, value);
        let wanted = wanted(world, value);
        let sum = world.terms.eq(difference, wanted);
        world.depth = depth;
        let sum = world.terms.forall(depth, sum);
        world.terms.and([elsewhere, sum])
    }

    /// The items of `before` from `skip` on, but for the last `drop`, are the first of `after`, which has
    /// `longer` more than those.
    pub fn keeps(
        &self,
        world: &mut World<'_>,
        before: &Memory,
        after: &Memory,
        (skip, drop, longer): (i64, i64, i64),
    ) -> Term {
        let ((lo, hi), (new_lo, new_hi)) = (self.range(world, before), self.range(world, after));
        let [skip, drop, longer] = [skip, drop, longer].map(|n| world.terms.int(n));
        let (from, to) = (world.terms.add(lo, skip), world.terms.sub(hi, drop));
        let kept = world.terms.sub(to, from);
        let length = world.terms.add(kept, longer);
        let new_length = world.terms.sub(new_hi, new_lo);
        let lengths = world.terms.eq(new_length, length);
        let ordered = world.terms.le(new_lo, new_hi);
        let shift = world.terms.sub(new_lo, from);
        let depth = world.depth;
        world.depth += 1;
        let bound = world.terms.bound(depth);
        let moved = world.terms.add(bound, shift);
        let (old, new) = (self.item(world, before, bound), self.item(world, after, moved));
        let same = world.terms.eq(old, new);
        let (low, high) = (world.terms.le(from, bound), world.terms.lt(bound, to));
        let within = world.terms.and([low, high]);
        let body = world.terms.implies(within, same);
        world.depth = depth;
        let items = world.terms.forall(depth, body);
        world.terms.and([lengths, ordered, items])
    }

    /// The abstract state is the same.
    pub fn unchanged(&self, world: &mut World<'_>, before: &Memory, after: &Memory) -> Term {
        if before == after {
            return world.terms.bool(true);
        }
        match self.form {
            Form::Bag | Form::Counted => self.bag_changes(world, before, after, &[], &[]),
            Form::Sequence => self.keeps(world, before, after, (0, 0, 0)),
            Form::Vector => {
                let depth = world.depth;
                world.depth += 1;
                let bound = world.terms.bound(depth);
                let (old, new) = (self.item(world, before, bound), self.item(world, after, bound));
                let same = world.terms.eq(old, new);
                let counts = self.counts(world, before, bound);
                let body = world.terms.implies(counts, same);
                world.depth = depth;
                world.terms.forall(depth, body)
            }
            Form::Values => {
                let (old, new) = (self.values(world, before), self.values(world, after));
                world.all_same(&old, &new)
            }
        }
    }

    /// What may be used of every state, because every step is shown to keep it.
    pub fn holds_always(&self, world: &mut World<'_>, memory: &Memory) -> Term {
        match self.form {
            Form::Sequence => {
                let (lo, hi) = self.range(world, memory);
                world.terms.le(lo, hi)
            }
            _ => world.terms.bool(true),
        }
    }

    /// The empty object.
    pub fn is_empty(&self, world: &mut World<'_>, memory: &Memory) -> Term {
        match self.form {
            Form::Sequence => {
                let (lo, hi) = self.range(world, memory);
                world.terms.eq(lo, hi)
            }
            _ => {
                let depth = world.depth;
                world.depth += 1;
                let bound = world.terms.bound(depth);
                let counts = self.counts(world, memory, bound);
                let body = world.terms.not(counts);
                world.depth = depth;
                world.terms.forall(depth, body)
            }
        }
    }

    /// The variables of a `spec` in this state, and what is known of them.
    pub fn spec_memory(
        &self,
        world: &mut World<'_>,
        inner: &mut World<'_>,
        memory: &Memory,
    ) -> (Memory, Vec<Term>) {
        // Each memory has variables of its own: what is said of one must not meet what is said of another.
        let number = world.memory_number(memory);
        std::mem::swap(&mut world.terms, &mut inner.terms);
        let mut variables = inner.memory(Space::Spec(number));
        std::mem::swap(&mut world.terms, &mut inner.terms);
        let mut known = Vec::new();
        match self.form {
            Form::Values => {
                let mut items = self.values(world, memory).into_iter();
                for (global, cells) in inner.program.globals.iter().zip(&mut variables.globals) {
                    let Some(length) = &global.length else {
                        for (cell, slot) in cells.iter_mut().zip(&global.slots) {
                            match items.next() {
                                Some(item) => {
                                    *cell = Cell::Scalar(world.fit(item, crate::world::sort_of(&slot.ty)))
                                }
                                None => {
                                    let _ = world.refuse("`abs` has fewer values than `spec` has variables");
                                }
                            }
                        }
                        continue;
                    };
                    let Expr::Const(length) = length else {
                        world.refuse("`abs` lists values, and an array of `spec` has no fixed length");
                        continue;
                    };
                    for index in 0..*length {
                        let index = world.terms.int(i64::from(index));
                        for (cell, slot) in cells.iter_mut().zip(&global.slots) {
                            match (items.next(), cell) {
                                (Some(item), Cell::Array(store)) => {
                                    let item = world.fit(item, crate::world::sort_of(&slot.ty));
                                    store.writes.push((index, item));
                                }
                                _ => {
                                    let _ = world.refuse("`abs` has fewer values than `spec` has variables");
                                }
                            }
                        }
                    }
                }
                if items.next().is_some() {
                    world.refuse("`abs` has more values than `spec` has variables");
                }
            }
            _ => {
                let Cell::Array(store) = variables.globals[0][0].clone() else {
                    world.refuse("`spec` has no array");
                    return (variables, known);
                };
                let sort = world.terms.signature(store.base).sort;
                if sort == Sort::Bool && self.form != Form::Vector {
                    world.refuse("an array of truth values in `spec`");
                    return (variables, known);
                }
                // Indices of the vector are those of our arrays of its length; values that are counted are a
                // family of their own.
                let family = match (&self.form, &inner.program.globals[0].length) {
                    (Form::Vector, Some(length)) => world.index_family(length),
                    _ => VALUES,
                };
                let name = world.terms.signature(store.base).name.clone();
                let store = Store::new(world.terms.symbol(Key::Counted(number), &name, &[family], sort));
                variables.globals[0][0] = Cell::Array(store.clone());
                let depth = world.depth;
                world.depth += 1;
                let bound = world.terms.bound(depth);
                let at = world.terms.app(store.base, vec![bound]);
                let body = if self.form == Form::Vector {
                    let (counts, item) = (self.counts(world, memory, bound), self.item(world, memory, bound));
                    let same = world.same(at, item);
                    world.terms.implies(counts, same)
                } else {
                    let zero = world.terms.int(0);
                    let (some, not_negative) = (world.terms.lt(zero, at), world.terms.le(zero, at));
                    let member = self.member(world, memory, bound);
                    let same = world.same(some, member);
                    world.terms.and([not_negative, same])
                };
                world.depth = depth;
                known.push(world.terms.forall(depth, body));
            }
        }
        (variables, known)
    }

    /// The variables of a `spec`, changed, are what the memory after stands for.
    pub fn spec_matches(
        &self,
        world: &mut World<'_>,
        (before, variables): (&Memory, &Memory),
        (after, changed): (&Memory, &Memory),
    ) -> Term {
        match self.form {
            Form::Values => {
                let mut items = self.values(world, after).into_iter();
                let mut same = Vec::new();
                for (start, now) in variables.globals.iter().flatten().zip(changed.globals.iter().flatten()) {
                    match (start, now) {
                        (_, Cell::Scalar(value)) => {
                            if let Some(item) = items.next() {
                                same.push(world.same(*value, item));
                            }
                        }
                        (Cell::Array(start), Cell::Array(now)) => {
                            for (index, _) in &start.writes {
                                if let Some(item) = items.next() {
                                    let value = world.read(now, *index);
                                    same.push(world.same(value, item));
                                }
                            }
                        }
                        _ => {}
                    }
                }
                world.terms.and(same)
            }
            Form::Vector => {
                let Cell::Array(store) = &changed.globals[0][0] else { return world.terms.bool(false) };
                let depth = world.depth;
                world.depth += 1;
                let bound = world.terms.bound(depth);
                let (value, item) = (world.read(store, bound), self.item(world, after, bound));
                let same = world.same(value, item);
                let counts = self.counts(world, after, bound);
                let body = world.terms.implies(counts, same);
                world.depth = depth;
                world.terms.forall(depth, body)
            }
            _ => {
                let Cell::Array(store) = changed.globals[0][0].clone() else {
                    return world.terms.bool(false);
                };
                self.counts_change(world, before, after, |world, value| {
                    let now = world.read(&store, value);
                    let start = world.terms.app(store.base, vec![value]);
                    world.terms.sub(now, start)
                })
            }
        }
    }
}
