//! One order of the operations that explains every history of a trace, if it is found quickly.
//!
//! In a history of the trace, A returns before X is called only if X is not in `cannot[A]`. So an order that puts A
//! before X wherever X is not in `cannot[A]`, and gives the answers seen, is a linearization of each of the histories. A
//! pending operation may be part of it or not.
//!
//! There need not be such an order, though every history is explained: where A may come before X and X before A, in
//! different histories, it takes two. Then nothing is said, and the search decides. Where a run is asked about in its own
//! order alone, no two operations are such, and the order exists exactly if the run is linearizable.

use super::{Criterion, Question, Remembered, bits, mask};
use crate::spec::Specification;

/// Operations put in place before it is left to the search.
const STEPS: usize = 256;

/// Does one order of the operations explain every history of the trace? If the answer is no, nothing is said.
pub(super) fn explained_at_once<S: Specification>(
    question: &Question<'_, S>,
    remembered: &mut Remembered<S>,
) -> bool {
    if question.criterion != Criterion::Linearizability || question.stuck {
        return false;
    }
    let all = mask(question.ops.len()) & !question.idle & !question.absent;
    let mut returned = 0u64;
    for op in bits(all).filter(|&op| question.results[op].is_some()) {
        returned |= 1 << op;
    }
    let start = remembered.start();
    let mut attempt = Attempt { question, remembered, all, returned, steps: STEPS };
    attempt.completes(0, start)
}

/// An attempt to put the operations into one order.
struct Attempt<'a, S: Specification> {
    question: &'a Question<'a, S>,
    remembered: &'a mut Remembered<S>,
    all: u64,
    returned: u64,
    steps: usize,
}

impl<S: Specification> Attempt<'_, S> {
    /// Can the operations other than those `done`, which led to `state`, follow in some order?
    fn completes(&mut self, done: u64, state: u32) -> bool {
        let left = self.returned & !done;
        if left == 0 {
            return true;
        }
        for op in bits(self.all & !done) {
            let question = self.question;
            if bits(left).any(|first| question.cannot[first] >> op & 1 == 0) {
                continue;
            }
            for number in self.remembered.outcomes(state, question.ops, op) {
                if self.steps == 0 {
                    return false;
                }
                self.steps -= 1;
                let (ret, after) = self.remembered.outcome(number);
                let fits = question.results[op].as_ref().is_none_or(|seen| seen == ret);
                if fits && self.completes(done | 1 << op, after) {
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Criterion, Question, Remembered, search_histories};
    use super::explained_at_once;
    use crate::argument::Domain;
    use crate::spec::Specification;

    /// A queue of small numbers.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Fifo(Vec<u8>);

    impl Specification for Fifo {
        /// A number to be put in, or nothing: one is to be taken out.
        type Op = Option<u8>;
        type Ret = Option<u8>;

        fn initial() -> Fifo {
            Fifo(Vec::new())
        }

        fn outcomes(&self, op: &Option<u8>, into: &mut Vec<(Option<u8>, Fifo)>) {
            let mut after = self.clone();
            let ret = match op {
                Some(value) => {
                    after.0.push(*value);
                    None
                }
                None if after.0.is_empty() => None,
                None => Some(after.0.remove(0)),
            };
            into.push((ret, after));
        }

        fn names() -> &'static [&'static str] {
            &["put", "take"]
        }

        fn index(op: &Option<u8>) -> usize {
            usize::from(op.is_none())
        }

        fn candidates(_: usize, _: &Domain) -> Vec<Option<u8>> {
            Vec::new()
        }
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) as usize) % bound
        }
    }

    /// What a question is made of.
    struct Case {
        ops: Vec<Option<u8>>,
        results: Vec<Option<Option<u8>>>,
        cannot: Vec<u64>,
        after: Vec<u64>,
    }

    impl Case {
        /// Operations at random in a row of places, each from its first to its last.
        fn random(random: &mut Random) -> Case {
            let count = 1 + random.below(5);
            let mut ops = Vec::new();
            let mut ends = Vec::new();
            let mut results = Vec::new();
            for value in 0..count {
                ops.push((random.below(2) == 0).then_some(value as u8));
                let from = random.below(8);
                ends.push((from, from + random.below(4)));
                let ret = match ops[value] {
                    Some(_) => None,
                    None => (random.below(4) > 0).then(|| random.below(count) as u8),
                };
                results.push((random.below(8) > 0).then_some(ret));
            }
            let set = |holds: &dyn Fn(usize) -> bool| (0..count).filter(|&x| holds(x)).map(|x| 1 << x).sum();
            let mut cannot: Vec<u64> = Vec::new();
            let mut after: Vec<u64> = Vec::new();
            for a in 0..count {
                let returned = results[a].is_some();
                cannot.push(if returned { set(&|x| ends[x].0 <= ends[a].1) } else { 0 });
                after.push(set(&|x| results[x].is_some() && ends[x].1 < ends[a].0));
            }
            Case { ops, results, cannot, after }
        }

        fn question(&self) -> Question<'_, Fifo> {
            Question {
                ops: &self.ops,
                results: &self.results,
                cannot: &self.cannot,
                after: &self.after,
                predecessor: &[],
                idle: 0,
                absent: 0,
                stuck: false,
                criterion: Criterion::Linearizability,
            }
        }
    }

    #[test]
    fn what_one_order_explains_the_search_explains_too() {
        let mut random = Random(1);
        let (mut explained, mut not) = (0, 0);
        for _ in 0..20_000 {
            let mut case = Case::random(&mut random);
            let at_once = explained_at_once(&case.question(), &mut Remembered::new());
            let by_search = search_histories(&case.question()).is_none();
            assert_eq!(at_once, by_search, "in its own order: {:?} {:?}", case.ops, case.results);
            if at_once {
                explained += 1
            } else {
                not += 1
            }
            // Fewer entries: a trace with more histories than one.
            for set in &mut case.cannot {
                *set &= !(1 << random.below(5)) | 1 << random.below(5);
            }
            for (index, set) in case.cannot.iter_mut().enumerate() {
                *set |= if case.results[index].is_some() { 1 << index } else { 0 };
            }
            case.after.iter_mut().for_each(|set| *set = 0);
            if explained_at_once(&case.question(), &mut Remembered::new()) {
                assert!(search_histories(&case.question()).is_none(), "{:?} {:?}", case.ops, case.results);
            }
        }
        assert!(explained > 1_000 && not > 1_000, "{explained} explained, {not} not");
    }
}
