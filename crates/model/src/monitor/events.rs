//! What calls, returns and linearization points make of a set of configurations.

use rustc_hash::FxHashSet;

use super::Refused;
use super::set::{Calls, Configuration, IDLE, OPEN, Set, Share};
use crate::reference::{CallId, Reference, ResultId, SpecId};

/// What is needed to work out an event.
pub(super) struct Work<'w, 'p> {
    pub reference: &'w mut Reference<'p>,
    pub share: Share,
    pub with_points: bool,
    pub free: &'w [bool],
    pub overflowed: bool,
    /// Used again and again.
    pub met: Vec<Configuration>,
}

/// Each event leaves what it makes of `set` in `after`, in which nothing is to be found before; its
/// configurations are in no order.
impl Work<'_, '_> {
    pub fn call_in(&self, set: &Set, thread: usize, call: CallId, after: &mut Set) {
        after.calls = set.calls;
        after.calls.set(thread, Some(call));
        let opened = |configuration: &Configuration| self.share.set(*configuration, thread, OPEN);
        after.configurations.extend(set.configurations.iter().map(opened));
    }

    pub fn return_in(
        &mut self,
        set: &Set,
        thread: usize,
        result: ResultId,
        after: &mut Set,
    ) -> Result<(), Refused> {
        let free = self.is_free(set.calls.get(thread));
        for configuration in &set.configurations {
            match self.share.get(*configuration, thread) {
                OPEN if !free => {}
                OPEN => {
                    self.effects(&set.calls, *configuration, thread, result, &mut after.configurations);
                }
                status if status == result + 2 => after.configurations.push(*configuration),
                _ => {}
            }
        }
        if after.configurations.is_empty() {
            return Err(Refused::Impossible);
        }
        for configuration in &mut after.configurations {
            *configuration = self.share.set(*configuration, thread, IDLE);
        }
        after.calls = set.calls;
        after.calls.set(thread, None);
        Ok(())
    }

    /// The configuration after an operation took effect.
    fn took(
        &mut self,
        before: Configuration,
        thread: usize,
        (result, spec): (ResultId, SpecId),
    ) -> Configuration {
        self.overflowed |= self.share.is_too_small(result);
        self.share.set(before.with_spec(spec), thread, result + 2)
    }

    /// Every sequence of open operations that ends with this thread's taking effect with this result.
    fn effects(
        &mut self,
        calls: &Calls,
        start: Configuration,
        thread: usize,
        result: ResultId,
        after: &mut Vec<Configuration>,
    ) {
        // Few operations are open at once, so few configurations are met: a look at each is soon done.
        let mut met = std::mem::take(&mut self.met);
        met.clear();
        met.push(start);
        let mut next = 0;
        while let Some(&configuration) = met.get(next) {
            next += 1;
            for (other, call) in calls.each() {
                if self.share.get(configuration, other) != OPEN || !self.is_free(Some(call)) {
                    continue;
                }
                for index in self.reference.outcome_range(configuration.spec(), call) {
                    let outcome = self.reference.outcome(index);
                    if other == thread && outcome.0 != result {
                        continue;
                    }
                    let next = self.took(configuration, other, outcome);
                    if other == thread {
                        after.push(next);
                    } else if !met.contains(&next) {
                        met.push(next);
                    }
                }
            }
        }
        self.met = met;
    }

    /// May the operation take effect anywhere?
    fn is_free(&self, call: Option<CallId>) -> bool {
        !self.with_points || call.is_some_and(|call| self.free[self.reference.op_of(call).index()])
    }

    /// Also what is possible if operations without points took effect before now. Points take effect at once,
    /// so these must not wait.
    fn closed(&mut self, set: &Set) -> Vec<Configuration> {
        let mut all = set.configurations.clone();
        let mut seen: FxHashSet<Configuration> = all.iter().copied().collect();
        let mut next = 0;
        while next < all.len() {
            let configuration = all[next];
            next += 1;
            for (other, call) in set.calls.each() {
                if self.share.get(configuration, other) != OPEN || !self.is_free(Some(call)) {
                    continue;
                }
                for index in self.reference.outcome_range(configuration.spec(), call) {
                    let outcome = self.reference.outcome(index);
                    let after = self.took(configuration, other, outcome);
                    if seen.insert(after) {
                        all.push(after);
                    }
                }
            }
        }
        all
    }

    pub fn point_in(
        &mut self,
        set: &Set,
        thread: usize,
        result: Option<ResultId>,
        after: &mut Set,
    ) -> Result<(), Refused> {
        let Some(call) = set.calls.get(thread) else { return Err(Refused::Misplaced) };
        // What a query assumed is dropped: the operation takes effect here.
        for configuration in self.closed(set) {
            if self.share.get(configuration, thread) != OPEN {
                continue;
            }
            for index in self.reference.outcome_range(configuration.spec(), call) {
                let outcome = self.reference.outcome(index);
                if result.is_none_or(|result| result == outcome.0) {
                    let took = self.took(configuration, thread, outcome);
                    after.configurations.push(took);
                }
            }
        }
        if !set.configurations.iter().any(|c| self.share.get(*c, thread) == OPEN) {
            return Err(Refused::Misplaced);
        }
        if after.configurations.is_empty() {
            return Err(Refused::Impossible);
        }
        after.calls = set.calls;
        Ok(())
    }

    /// The operation may have taken effect here, if that changes nothing; an earlier look is forgotten.
    pub fn query_in(&mut self, set: &Set, thread: usize, after: &mut Set) -> Result<(), Refused> {
        let Some(call) = set.calls.get(thread) else { return Err(Refused::Misplaced) };
        for &configuration in &set.configurations {
            if self.share.get(configuration, thread) != OPEN {
                continue;
            }
            after.configurations.push(configuration);
            for index in self.reference.outcome_range(configuration.spec(), call) {
                let outcome = self.reference.outcome(index);
                if outcome.1 == configuration.spec() {
                    let took = self.took(configuration, thread, outcome);
                    after.configurations.push(took);
                }
            }
        }
        if after.configurations.is_empty() {
            return Err(Refused::Misplaced);
        }
        after.calls = set.calls;
        Ok(())
    }
}
