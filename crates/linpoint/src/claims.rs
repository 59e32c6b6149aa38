//! What became of the claims of many executions.

use std::collections::BTreeMap;
use std::fmt;

use linpoint_claim::{Counts, Monitor, Undecided};

/// Claims, added up over the executions that came to their end with nothing wrong.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// Claims made.
    pub made: u64,
    /// Claims that turned out true.
    pub held: u64,
    /// Claims that were never ready: some term had no value.
    pub undecided: u64,
    /// For each place in the source with undecided claims: how many, and an example.
    places: BTreeMap<String, (u64, Undecided)>,
}

impl Claims {
    /// Adds those of an execution.
    pub(crate) fn add(&mut self, monitor: &Monitor) {
        let Counts { made, held, undecided, .. } = monitor.counts();
        self.made += made;
        self.held += held;
        self.undecided += undecided;
        for one in monitor.undecided() {
            self.places.entry(one.site.to_string()).or_insert((0, *one)).0 += 1;
        }
    }

    /// Adds those of other executions.
    pub(crate) fn merge(&mut self, other: &Claims) {
        self.made += other.made;
        self.held += other.held;
        self.undecided += other.undecided;
        for (place, &(count, one)) in &other.places {
            self.places.entry(place.clone()).or_insert((0, one)).0 += count;
        }
    }
}

impl fmt::Display for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "claims: {} made, {} held, {} undecided", self.made, self.held, self.undecided)?;
        for (place, (count, one)) in &self.places {
            let term = one.site.terms.get(one.term as usize).copied().unwrap_or("a term");
            write!(
                f,
                "\n  {place}: undecided {count} times, for instance because {term} {}",
                one.bottom.reason()
            )?;
        }
        if self.held == 0 && self.undecided > 0 {
            write!(f, "\n  no claim was ever decided: do they say what was meant?")?;
        }
        Ok(())
    }
}
