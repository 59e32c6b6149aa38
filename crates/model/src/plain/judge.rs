//! The plainest monitor there is: every configuration that explains the history so far, with every effect
//! that is possible taken as soon as it is.
//!
//! A configuration is a state of the specification and, for each thread, nothing, an operation that did not
//! take effect yet, or the result of one that did. After a call the set is closed under "some open operation
//! takes effect now"; a return keeps the configurations whose operation took effect with that result. A
//! history is linearizable iff the set is never empty. Nothing is remembered but the numbers of sets.

use linpoint_lang::program::{OpId, Word};
use rustc_hash::FxHashMap;

use crate::reference::{CallId, Reference, ResultId, SpecId};

/// How an operation of a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Status {
    Idle,
    Open(CallId),
    Done(ResultId),
}

type Configuration = (SpecId, Vec<Status>);

/// A set of configurations, by number.
pub(super) type SetId = u32;

pub(super) struct Judge<'p> {
    reference: Reference<'p>,
    sets: Vec<Vec<Configuration>>,
    numbers: FxHashMap<Vec<Configuration>, SetId>,
}

impl<'p> Judge<'p> {
    pub fn new(reference: Reference<'p>, threads: usize) -> Judge<'p> {
        let mut judge = Judge { reference, sets: Vec::new(), numbers: FxHashMap::default() };
        judge.number(vec![(0, vec![Status::Idle; threads])]);
        judge
    }

    fn number(&mut self, mut set: Vec<Configuration>) -> SetId {
        set.sort_unstable();
        set.dedup();
        if let Some(number) = self.numbers.get(&set) {
            return *number;
        }
        let number = self.sets.len() as SetId;
        self.sets.push(set.clone());
        self.numbers.insert(set, number);
        number
    }

    pub fn call(&mut self, at: SetId, thread: usize, op: OpId, args: &[Word]) -> SetId {
        let call = self.reference.call(thread, op, args);
        let mut set = self.sets[at as usize].clone();
        set.iter_mut().for_each(|(_, statuses)| statuses[thread] = Status::Open(call));
        let mut next = 0;
        let mut met: rustc_hash::FxHashSet<Configuration> = set.iter().cloned().collect();
        while next < set.len() {
            let (spec, statuses) = set[next].clone();
            next += 1;
            for (thread, status) in statuses.iter().enumerate() {
                let Status::Open(call) = *status else { continue };
                for &(result, after) in self.reference.outcomes(spec, call) {
                    let mut statuses = statuses.clone();
                    statuses[thread] = Status::Done(result);
                    if met.insert((after, statuses.clone())) {
                        set.push((after, statuses));
                    }
                }
            }
        }
        self.number(set)
    }

    /// `None` if nothing explains the result.
    pub fn answer(&mut self, at: SetId, thread: usize, op: OpId, words: &[Word]) -> Option<SetId> {
        let result = self.reference.result(op, words);
        let mut set = self.sets[at as usize].clone();
        set.retain(|(_, statuses)| statuses[thread] == Status::Done(result));
        set.iter_mut().for_each(|(_, statuses)| statuses[thread] = Status::Idle);
        if set.is_empty() { None } else { Some(self.number(set)) }
    }

    /// See [`Reference::leaves_open`].
    pub fn leaves_open(&self, wrong: &crate::Wrong) -> bool {
        self.reference.leaves_open(wrong)
    }

    /// Tries every order of the history of a run.
    pub fn recheck(&mut self, steps: &[crate::TraceStep]) -> bool {
        crate::trace::recheck(&mut self.reference, steps)
    }
}
