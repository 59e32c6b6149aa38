//! What becomes of a data structure when one ordering is weakened.
//!
//! The clients are small and fixed, so a weakening that shows nothing is harmless *for them*; nothing more is
//! said.

use std::ops::ControlFlow;

use super::Operation::{Count, Put, Steal, Take};
use super::{Failed, Marks, Operation, Structure};
use crate::explore::{Coverage, End, Options, explore};
use crate::linearize::{Clients, Object, Verdict};
use crate::ordering::{Model, Ordering};

/// What the clients of a structure show, all together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Complete graphs.
    pub complete: u64,
    /// Graphs in which an assertion of the structure failed.
    pub failed: u64,
    /// Graphs with a data race.
    pub races: u64,
    /// Complete graphs that are not linearizable for some client.
    pub violations: u64,
    /// Those of them that have no data race.
    pub clean_violations: u64,
    /// Was everything explored and decided?
    pub is_whole: bool,
}

/// The orderings that are weaker than this one by a step, and for `SeqCst` by two.
#[must_use]
pub fn weaker(ordering: Ordering) -> &'static [Ordering] {
    match ordering {
        Ordering::SeqCst => &[Ordering::AcqRel, Ordering::Relaxed],
        Ordering::AcqRel => &[Ordering::Acquire, Ordering::Release],
        Ordering::Acquire | Ordering::Release => &[Ordering::Relaxed],
        Ordering::Relaxed | Ordering::NonAtomic => &[],
    }
}

impl Structure {
    /// What the structure should be.
    #[must_use]
    pub fn object(self) -> Object {
        match self {
            Structure::Treiber => Object::Stack,
            Structure::MichaelScott => Object::Queue,
            Structure::ChaseLev => Object::Deque,
            Structure::Ticket => Object::Counter,
            Structure::Seqlock | Structure::Register => Object::Register,
            Structure::Ring(capacity) => Object::Bounded(usize::try_from(capacity).unwrap_or(0)),
        }
    }

    /// Clients that use it in a few ways.
    #[must_use]
    pub fn clients(self) -> Vec<Vec<Vec<Operation>>> {
        match self {
            Structure::Treiber | Structure::MichaelScott => vec![
                vec![vec![Put(1), Take], vec![Put(2), Take]],
                vec![vec![Put(1)], vec![Put(2)], vec![Take, Take]],
                vec![vec![Put(1), Put(2)], vec![Take], vec![Take]],
                vec![vec![Put(1)], vec![Put(2)], vec![Take], vec![Take]],
            ],
            Structure::ChaseLev => vec![
                vec![vec![Put(1), Put(2), Take, Take], vec![Steal]],
                vec![vec![Put(1), Take, Put(2), Take], vec![Steal, Steal]],
                vec![vec![Put(1), Put(2), Take], vec![Steal], vec![Steal]],
            ],
            Structure::Ticket => vec![vec![vec![Count], vec![Count]], vec![vec![Count, Count], vec![Count]]],
            Structure::Seqlock => vec![
                vec![vec![Put(1), Put(2)], vec![Take, Take]],
                vec![vec![Put(1), Put(2)], vec![Take], vec![Take]],
            ],
            Structure::Ring(_) => vec![vec![vec![Put(1), Put(2), Put(3)], vec![Take, Take, Take]]],
            Structure::Register => vec![
                vec![vec![Put(1), Take], vec![Put(2), Take]],
                vec![vec![Put(1)], vec![Put(2)], vec![Take, Take], vec![Take, Take]],
            ],
        }
    }

    /// Explores all its clients with these orderings.
    #[must_use]
    pub fn tally(self, orderings: &[Ordering], model: Model) -> Tally {
        let mut tally = Tally { is_whole: true, ..Tally::default() };
        for client in self.clients() {
            let mut program = self.client(orderings, &client, Failed::Blocks, Marks::Shown);
            let mut clients = Clients::new(self.object(), model);
            let report = explore(&mut program, &Options::of(model), |graph, end| {
                let has_race = graph.race().is_some();
                tally.races += u64::from(has_race);
                if end == End::Complete {
                    let verdict = clients.check(graph);
                    let is_bad = matches!(verdict, Verdict::Violated(_));
                    tally.violations += u64::from(is_bad);
                    tally.clean_violations += u64::from(is_bad && !has_race);
                    tally.is_whole &= !matches!(verdict, Verdict::Unknown(_));
                }
                ControlFlow::Continue(())
            });
            tally.complete += report.complete;
            tally.failed += report.failed;
            tally.is_whole &= report.coverage() == Coverage::Everything;
        }
        tally
    }

    /// Its orderings with one changed: that of the site with this number.
    #[must_use]
    pub fn with_site(self, site: usize, ordering: Ordering) -> Vec<Ordering> {
        let mut orderings = self.orderings();
        if let Some(changed) = orderings.get_mut(site) {
            *changed = ordering;
        }
        orderings
    }
}
