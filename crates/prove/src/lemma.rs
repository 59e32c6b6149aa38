//! The lemma about sums that the abstraction of bags rests on, as questions for the solver.
//!
//! Let `c(k)` be how many indices below k count before a step, `d(k)` after it; so `c(0) = 0` and `c(k+1) =
//! c(k) + [counts before k]`, the same for d. Let T be a list of indices, outside of which whether an index
//! counts is the same before and after. Then `d(k) - c(k)` is the sum over T, each index once, of what it
//! counts after minus before, as far as it is below k. Base and step are questions here; the induction over k
//! is in `docs/soundness.md`. Likewise: `c(k) > 0` iff some index below k counts.

use crate::symbol::Key;
use crate::term::{Family, Sort, Term, Terms};

/// A question: hypotheses and a goal that follows from them.
#[derive(Clone, Debug)]
pub struct Lemma {
    /// What it is.
    pub name: String,
    /// What may be used.
    pub hypotheses: Vec<Term>,
    /// What follows.
    pub goal: Term,
}

/// The lemmas for lists of up to so many indices.
pub fn lemmas(terms: &mut Terms, indices: usize) -> Vec<Lemma> {
    let mut list = Vec::new();
    for count in 0..=indices {
        let [base, step] = sums(terms, count);
        list.push(Lemma { name: format!("sum over {count}, no indices"), ..base });
        list.push(Lemma { name: format!("sum over {count}, one more index"), ..step });
    }
    list.extend(membership(terms));
    list
}

/// Before the step, or after it.
#[derive(Clone, Copy)]
enum Moment {
    Before,
    After,
}

struct Counting {
    counts: crate::term::Symbol,
    sum: crate::term::Symbol,
}

impl Counting {
    fn new(terms: &mut Terms, when: Moment) -> Counting {
        let number = when as u32;
        Counting {
            counts: terms.symbol(Key::Named("counts", number), "counts", &[Family(0)], Sort::Bool),
            sum: terms.symbol(Key::Named("sum", number), "sum", &[Family(0)], Sort::Int),
        }
    }

    fn counts(&self, terms: &mut Terms, index: Term) -> Term {
        terms.app(self.counts, vec![index])
    }

    fn sum(&self, terms: &mut Terms, index: Term) -> Term {
        terms.app(self.sum, vec![index])
    }

    /// The sum starts at 0, and grows at k by one if k counts.
    fn defined(&self, terms: &mut Terms, k: Term) -> [Term; 2] {
        let (zero, one) = (terms.int(0), terms.int(1));
        let (start, now, next) = (self.sum(terms, zero), self.sum(terms, k), terms.add(k, one));
        let (after, counts) = (self.sum(terms, next), self.counts(terms, k));
        let more = terms.ite(counts, one, zero);
        let grown = terms.add(now, more);
        [terms.eq(start, zero), terms.eq(after, grown)]
    }
}

fn sums(terms: &mut Terms, count: usize) -> [Lemma; 2] {
    let (before, after) = (Counting::new(terms, Moment::Before), Counting::new(terms, Moment::After));
    let k = terms.constant(Key::Named("k", 0), "k", Sort::Int);
    let (zero, one) = (terms.int(0), terms.int(1));
    let touched: Vec<Term> =
        (0..count).map(|i| terms.constant(Key::Named("t", i as u32), "t", Sort::Int)).collect();
    // What the sum over the list is, below an end.
    let listed = |terms: &mut Terms, end: Term| {
        let mut sum = zero;
        for (number, index) in touched.iter().enumerate() {
            let again: Vec<Term> = touched[..number].iter().map(|other| terms.eq(*index, *other)).collect();
            let again = terms.or(again);
            let first = terms.not(again);
            let (low, below) = (terms.le(zero, *index), terms.lt(*index, end));
            let mut part = |counting: &Counting| {
                let counts = counting.counts(terms, *index);
                let all = terms.and([first, low, below, counts]);
                terms.ite(all, one, zero)
            };
            let (gained, lost) = (part(&after), part(&before));
            let change = terms.sub(gained, lost);
            sum = terms.add(sum, change);
        }
        sum
    };
    let claim = |terms: &mut Terms, end: Term| {
        let (c, d) = (before.sum(terms, end), after.sum(terms, end));
        let difference = terms.sub(d, c);
        let listed = listed(terms, end);
        terms.eq(difference, listed)
    };
    let mut hypotheses = vec![terms.le(zero, k)];
    hypotheses.extend(before.defined(terms, k));
    hypotheses.extend(after.defined(terms, k));
    let inside: Vec<Term> = touched.iter().map(|index| terms.eq(k, *index)).collect();
    let (old, new) = (before.counts(terms, k), after.counts(terms, k));
    let same = terms.eq(old, new);
    hypotheses.push(terms.or(inside.into_iter().chain([same])));
    let base = claim(terms, zero);
    let so_far = claim(terms, k);
    let next = terms.add(k, one);
    let step = claim(terms, next);
    let with = hypotheses.iter().copied().chain([so_far]).collect();
    [
        Lemma { name: String::new(), hypotheses, goal: base },
        Lemma { name: String::new(), hypotheses: with, goal: step },
    ]
}

fn membership(terms: &mut Terms) -> [Lemma; 2] {
    let counting = Counting::new(terms, Moment::Before);
    let some = terms.symbol(Key::Named("some below", 0), "some below", &[Family(0)], Sort::Bool);
    let k = terms.constant(Key::Named("k", 0), "k", Sort::Int);
    let (zero, one) = (terms.int(0), terms.int(1));
    let next = terms.add(k, one);
    let mut hypotheses = vec![terms.le(zero, k)];
    hypotheses.extend(counting.defined(terms, k));
    let [start, now, after] = [zero, k, next].map(|end| terms.app(some, vec![end]));
    let counts = counting.counts(terms, k);
    let or = terms.or([now, counts]);
    hypotheses.extend([terms.not(start), terms.eq(after, or)]);
    let claim = |terms: &mut Terms, end: Term| {
        let (sum, some) = (counting.sum(terms, end), terms.app(some, vec![end]));
        let (positive, not_negative) = (terms.lt(zero, sum), terms.le(zero, sum));
        let same = terms.eq(positive, some);
        terms.and([not_negative, same])
    };
    let (base, so_far, step) = (claim(terms, zero), claim(terms, k), claim(terms, next));
    let with = hypotheses.iter().copied().chain([so_far]).collect();
    [
        Lemma { name: "some index counts, no indices".into(), hypotheses, goal: base },
        Lemma { name: "some index counts, one more index".into(), hypotheses: with, goal: step },
    ]
}
