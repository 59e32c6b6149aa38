//! Is every history of a trace linearizable?
//!
//! Executions that differ only in the order of independent steps form a *trace* (Mazurkiewicz 1977). They give the
//! same results, but calls and returns may fall differently, so a trace has many histories. All of them are decided
//! at once, from two things: the results, and for each operation A the set `cannot[A]` of operations X whose first
//! access happens before or at A's last, so that "A returned before X was called" is impossible.
//!
//! **Why that is enough.** Put a call just before the operation's first access and a return just after its last: any
//! other place gives a history with the same results and fewer precedences, and a linear order that explains a history
//! explains every history with the same results and fewer precedences. Some order of the trace has at least the
//! precedences S exactly when the edges last(A)→first(B) for (A,B) in S and first(X)→last(A) for X in `cannot[A]` have
//! no cycle: on a cycle, the happens-before paths between edges of S lead from a first to a last access, and that is
//! what `cannot` says. So the verdict is a function of (results, cannot), and monotone: fewer entries in `cannot`
//! allow more histories.
//!
//! **The search.** Only the order of calls is chosen; an operation returns at the first moment it can, which adds
//! precedences and so makes the history hardest to explain. Alongside runs the set of all (operations linearized, state)
//! that are still possible. If it becomes empty, the calls and returns so far are a history that nothing explains.
//!
//! Before that, one order is tried for all histories together (`linearize/at_once.rs`): most questions are settled so.
//!
//! **Pending operations.** One that never returned may have taken effect or not, with any answer. One that made no
//! access at all is called last of all, where it explains nothing: it is left out.
//!
//! **Stuck runs.** In a run where nobody can go on, a pending operation never returns. One that took effect has to
//! return, so no pending operation is part of an explanation there; and one that did not is right to wait only where the
//! specification waits. So some order of the operations that returned must explain the history and end in a state in
//! which every pending operation has no outcome (Burckhardt, Dern, Musuvathi, Tan 2010, who ask for one order for each
//! pending operation; here one order serves all of them). An operation that waits for others after its effect, as a
//! rendezvous does, has no sequential specification and is refused.
//!
//! The other criteria use the same search: *sequential consistency* (Lamport 1979) keeps only the order within a
//! thread; *quiescent consistency* (Aspnes, Herlihy, Shavit 1994) only the order across moments when nothing is pending.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashSet, FxHasher};

use crate::spec::Specification;

mod at_once;
mod remembered;

use at_once::explained_at_once;
pub(crate) use remembered::Remembered;

/// What "correct" means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Criterion {
    /// Each operation takes effect at one instant between its call and its return (Herlihy and Wing 1990).
    #[default]
    Linearizability,
    /// Some order explains all, keeping each thread's own order.
    SequentialConsistency,
    /// Some order explains all, keeping the order across moments when no operation is pending.
    QuiescentConsistency,
}

impl Criterion {
    /// The adjective.
    pub fn adjective(self) -> &'static str {
        match self {
            Criterion::Linearizability => "linearizable",
            Criterion::SequentialConsistency => "sequentially consistent",
            Criterion::QuiescentConsistency => "quiescently consistent",
        }
    }
}

/// Operations of a trace, by number, at most 64.
pub(crate) struct Question<'a, S: Specification> {
    pub(crate) ops: &'a [S::Op],
    /// What each answered; `None` if it did not.
    pub(crate) results: &'a [Option<S::Ret>],
    /// For each operation that answered, the operations it cannot come before. Contains itself.
    pub(crate) cannot: &'a [u64],
    /// For each operation, those whose last access happens before its first: they always return before its call.
    pub(crate) after: &'a [u64],
    /// The operation before it in its thread.
    pub(crate) predecessor: &'a [Option<usize>],
    /// The operations that made no access and did not return.
    pub(crate) idle: u64,
    /// The operations that were never called.
    pub(crate) absent: u64,
    /// Did the run end with nobody able to go on?
    pub(crate) stuck: bool,
    pub(crate) criterion: Criterion,
}

/// A call or a return in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The operation begins.
    Call(usize),
    /// The operation ends.
    Return(usize),
}

/// A history of the trace that nothing explains.
#[derive(Clone, Debug)]
pub(crate) struct Unexplained {
    pub(crate) moments: Vec<Moment>,
    /// Everything is explained but that the pending operations wait.
    pub(crate) should_not_wait: bool,
}

/// Looks for a history of the trace that nothing explains.
pub(crate) fn unexplained<S: Specification>(
    question: &Question<'_, S>,
    remembered: &mut Remembered<S>,
) -> Option<Unexplained> {
    if explained_at_once(question, remembered) {
        return None;
    }
    search_histories(question)
}

/// Looks at one history after the other.
fn search_histories<S: Specification>(question: &Question<'_, S>) -> Option<Unexplained> {
    let all = mask(question.ops.len()) & !question.idle & !question.absent;
    let mut search =
        Search { question, all, seen: FxHashSet::default(), moments: Vec::new(), should_not_wait: false };
    let start = Configurations::from_iter([(0, S::initial())]);
    if search.explained(0, 0, &start) {
        return None;
    }
    search.complete();
    // Where a run that goes on would be explained, it is the waiting that is wrong.
    let should_not_wait = search.should_not_wait
        || question.stuck && search_histories(&Question { stuck: false, ..*question }).is_none();
    Some(Unexplained { moments: search.moments, should_not_wait })
}

/// Pairs of what was linearized and the state it led to.
type Configurations<S> = std::collections::HashSet<(u64, S), std::hash::BuildHasherDefault<FxHasher>>;

struct Search<'a, S: Specification> {
    question: &'a Question<'a, S>,
    all: u64,
    seen: FxHashSet<(u64, u64)>,
    moments: Vec<Moment>,
    should_not_wait: bool,
}

impl<S: Specification> Search<'_, S> {
    /// Are all histories explained that go on from here? If not, `moments` holds one that is not.
    fn explained(&mut self, called: u64, returned: u64, possible: &Configurations<S>) -> bool {
        if called == self.all {
            return self.ends_well(possible);
        }
        for b in bits(self.all & !called) {
            if self.question.after[b] & !returned != 0 {
                continue;
            }
            let depth = self.moments.len();
            self.moments.push(Moment::Call(b));
            let called = called | 1 << b;
            let mut possible = possible.clone();
            self.close(called, &mut possible);
            let mut returned = returned;
            for a in bits(called & !returned) {
                if self.question.results[a].is_some() && self.question.cannot[a] & !called == 0 {
                    returned |= 1 << a;
                    self.moments.push(Moment::Return(a));
                    if self.question.criterion == Criterion::Linearizability {
                        possible.retain(|(done, _)| done & 1 << a != 0);
                    }
                }
            }
            if self.question.criterion == Criterion::QuiescentConsistency && called == returned {
                possible.retain(|(done, _)| done & returned == returned);
            }
            if possible.is_empty() {
                return false;
            }
            if self.seen.insert((called, fingerprint(&possible)))
                && !self.explained(called, returned, &possible)
            {
                return false;
            }
            self.moments.truncate(depth);
        }
        true
    }

    /// Goes on from the moments found to a whole history, which is no easier to explain: the other operations are
    /// called as soon as they can be.
    fn complete(&mut self) {
        let mut called = 0;
        let mut returned = 0;
        for moment in &self.moments {
            match *moment {
                Moment::Call(op) => called |= 1 << op,
                Moment::Return(op) => returned |= 1 << op,
            }
        }
        loop {
            for a in bits(called & !returned) {
                if self.question.results[a].is_some() && self.question.cannot[a] & !called == 0 {
                    returned |= 1 << a;
                    self.moments.push(Moment::Return(a));
                }
            }
            let next = bits(self.all & !called).find(|&b| self.question.after[b] & !returned == 0);
            let Some(b) = next else { return };
            called |= 1 << b;
            self.moments.push(Moment::Call(b));
        }
    }

    /// The operations that returned.
    fn completed(&self) -> u64 {
        bits(self.all).filter(|&op| self.question.results[op].is_some()).map(|op| 1 << op).sum()
    }

    /// Adds every configuration reached by linearizing operations of `called`.
    fn close(&self, called: u64, possible: &mut Configurations<S>) {
        let mut work: Vec<(u64, S)> = possible.iter().cloned().collect();
        let mut outcomes = Vec::new();
        let may_take_effect = if self.question.stuck { called & self.completed() } else { called };
        while let Some((done, state)) = work.pop() {
            for op in bits(may_take_effect & !done) {
                let keeps_order = self.question.criterion != Criterion::SequentialConsistency
                    || self.question.predecessor[op].is_none_or(|before| done & 1 << before != 0);
                if !keeps_order {
                    continue;
                }
                outcomes.clear();
                state.outcomes(&self.question.ops[op], &mut outcomes);
                for (ret, after) in outcomes.drain(..) {
                    if self.question.results[op].as_ref().is_none_or(|seen| *seen == ret) {
                        let next = (done | 1 << op, after);
                        if possible.insert(next.clone()) {
                            work.push(next);
                        }
                    }
                }
            }
        }
    }

    /// Everything was called, and returned if it ever did: is there an explanation to the end?
    fn ends_well(&mut self, possible: &Configurations<S>) -> bool {
        let completed = self.completed();
        let complete = || possible.iter().filter(move |(done, _)| done & completed == completed);
        if complete().next().is_none() {
            return false;
        }
        if !self.question.stuck {
            return true;
        }
        let pending = (self.all | self.question.idle) & !completed;
        let mut outcomes = Vec::new();
        let rests = complete().any(|(_, state)| {
            bits(pending).all(|op| {
                outcomes.clear();
                state.outcomes(&self.question.ops[op], &mut outcomes);
                outcomes.is_empty()
            })
        });
        self.should_not_wait = !rests;
        rests
    }
}

/// The lowest `n` bits.
fn mask(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// The numbers in a set, lowest first.
pub(crate) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let lowest = set.trailing_zeros() as usize;
            set &= set - 1;
            lowest
        })
    })
}

/// A hash that does not depend on the order of iteration.
fn fingerprint<S: Specification>(possible: &Configurations<S>) -> u64 {
    let each: BTreeSet<u64> = possible
        .iter()
        .map(|one| {
            let mut hasher = FxHasher::default();
            one.hash(&mut hasher);
            hasher.finish()
        })
        .collect();
    let mut hasher = FxHasher::default();
    each.hash(&mut hasher);
    hasher.finish()
}

/// The recheck: tries every order of a whole history's operations, sharing nothing with the search above but the
/// words. `None` where there are too many operations to try them all.
pub(crate) fn explained_by_brute_force<S: Specification>(
    question: &Question<'_, S>,
    moments: &[Moment],
) -> Option<bool> {
    const MOST: usize = 12;
    let called: Vec<usize> = moments
        .iter()
        .filter_map(|moment| match moment {
            Moment::Call(op) => Some(*op),
            Moment::Return(_) => None,
        })
        .collect();
    if called.len() > MOST {
        return None;
    }
    let position = |wanted: Moment| moments.iter().position(|&moment| moment == wanted);
    let quiet = |from: usize, to: usize| {
        (from..to).any(|at| {
            called.iter().all(|&op| {
                let (call, ret) = (position(Moment::Call(op)), position(Moment::Return(op)));
                call.is_none_or(|call| call > at) || ret.is_some_and(|ret| ret <= at)
            })
        })
    };
    let before = |a: usize, b: usize| match question.criterion {
        Criterion::SequentialConsistency => {
            let mut earlier = question.predecessor[b];
            while earlier.is_some_and(|op| op != a) {
                earlier = earlier.and_then(|op| question.predecessor[op]);
            }
            earlier.is_some()
        }
        Criterion::Linearizability | Criterion::QuiescentConsistency => {
            let (Some(ret), Some(call)) = (position(Moment::Return(a)), position(Moment::Call(b))) else {
                return false;
            };
            ret < call && (question.criterion == Criterion::Linearizability || quiet(ret, call))
        }
    };
    Some(place(question, &S::initial(), &called, &before))
}

/// Can the operations `left` be placed, one after the other, from `state` on?
fn place<S: Specification>(
    question: &Question<'_, S>,
    state: &S,
    left: &[usize],
    before: &dyn Fn(usize, usize) -> bool,
) -> bool {
    let answered = |op: usize| question.results[op].is_some();
    let outcomes = |state: &S, op: usize| {
        let mut all = Vec::new();
        state.outcomes(&question.ops[op], &mut all);
        all
    };
    let idle = bits(question.idle);
    let rests =
        || !question.stuck || left.iter().copied().chain(idle).all(|op| outcomes(state, op).is_empty());
    if left.iter().all(|&op| !answered(op)) && rests() {
        return true;
    }
    left.iter().enumerate().any(|(at, &op)| {
        if question.stuck && !answered(op) {
            return false;
        }
        if left.iter().any(|&other| other != op && before(other, op)) {
            return false;
        }
        let mut rest = left.to_vec();
        rest.remove(at);
        outcomes(state, op)
            .iter()
            .filter(|(ret, _)| question.results[op].as_ref().is_none_or(|seen| seen == ret))
            .any(|(_, next)| place(question, next, &rest, before))
    })
}
