//! Why the history of a key cannot be explained, in the operations that matter.
//!
//! From a linearizable history of a key these may be left out: single gets, whole chains, operations that
//! found the key missing, and the end of the chain that comes last. What begins with the initial contents
//! cannot be left out, since they are always there. So a core is one chain up to the operation that is wrong,
//! or two clusters, whole where something has to follow them; of the gets only those that decide when a
//! cluster takes place.

use linpoint_history::Operation;
use linpoint_history::specs::codes::map;

use super::links::Links;
use super::{Cluster, MapMonitor, Wrong, Zone};
use crate::counterexample::sentence;
use crate::engine::{Context, Violation};
use crate::timeline::OpId;

/// How much of a chain is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    /// Up to the last operation asked for.
    Beginning,
}

impl MapMonitor {
    pub(super) fn explain(&self, cx: &Context<'_>, links: &Links, wrong: Wrong) -> Violation {
        let say = |row: u32| sentence(cx.spec, cx.symbols, &self.rows[row as usize]);
        let (mut core, reason) = match wrong {
            Wrong::Strange(row) => {
                let value = cx.symbols.value(self.rows[row as usize].result);
                (vec![row], format!("{} is impossible: {value} was never inserted", say(row)))
            }
            Wrong::Twice(a, b) => {
                let value = self.rows[b as usize].result;
                let mut core = links.back(&self.rows, value);
                core.extend([a, b]);
                let value = cx.symbols.value(value);
                (core, format!("{} and {} both took {value}, which was inserted once", say(a), say(b)))
            }
            Wrong::Circle(start) => {
                let core = self.part(links, start, &[], Extent::Whole);
                (core, "each of these insertions found the value of another, so none can be the first".into())
            }
            Wrong::Late(start, before, after) => {
                let mut core = self.part(links, start, &[before, after], Extent::Beginning);
                core.extend(self.initial(links, &[start]));
                let (after, before) = (say(after), say(before));
                let why = "which by the values they found comes after it, had returned before its call";
                (core, format!("{before} is impossible: {after}, {why}"))
            }
            Wrong::Overlap(a, b) => (self.both(links, a, b), self.overlap(links, a, b, &say)),
        };
        core.sort_unstable();
        core.dedup();
        let at = OpId(core.last().copied().unwrap_or(0));
        Violation { at, core: core.into_iter().map(|row| self.rows[row as usize]).collect(), reason }
    }

    /// The insertions and removals of a chain and the operations in `keep`.
    fn part(&self, links: &Links, start: u32, keep: &[u32], extent: Extent) -> Vec<u32> {
        let (mut part, mut needed) = (Vec::new(), 0);
        links.walk(start, &mut 0, |row| {
            let kept = keep.contains(&row);
            if kept || is_write(&self.rows[row as usize]) {
                part.push(row);
            }
            if kept {
                needed = part.len();
            }
        });
        if extent == Extent::Beginning {
            part.truncate(needed);
        }
        part
    }

    /// What ends the initial contents, unless they are among the chains given.
    fn initial(&self, links: &Links, chains: &[u32]) -> Vec<u32> {
        match links.initial.filter(|initial| !chains.contains(initial)) {
            Some(initial) if links.walk(initial, &mut 0, |_| {}) => {
                self.part(links, initial, &[], Extent::Whole)
            }
            _ => Vec::new(),
        }
    }

    /// Two clusters, cut down to what makes each of them come before the other.
    fn both(&self, links: &Links, a: Zone, b: Zone) -> Vec<u32> {
        let mut core = self.one(links, a, b.is_open());
        core.extend(self.one(links, b, a.is_open()));
        let chain = |zone: Zone| match zone.cluster {
            Cluster::Chain(start) => Some(start),
            Cluster::Missing(_) => None,
        };
        let chains: Vec<u32> = [a, b].into_iter().filter_map(chain).collect();
        core.extend(self.initial(links, &chains));
        core
    }

    fn one(&self, links: &Links, zone: Zone, other_is_open: bool) -> Vec<u32> {
        let start = match zone.cluster {
            Cluster::Missing(row) => return vec![row],
            Cluster::Chain(start) => start,
        };
        let mut rows = Vec::new();
        links.walk(start, &mut 0, |row| rows.push(row));
        if zone.is_open() {
            // Its first return shows that it has begun; where the other has no end either, any beginning
            // does.
            let begun = if other_is_open { rows.first().copied() } else { zone.first.checked_sub(1) };
            let keep: Vec<u32> = begun.filter(|_| zone.first > 0).into_iter().collect();
            return self.part(links, start, &keep, Extent::Beginning);
        }
        let called = |row: &&u32| self.earliest[**row as usize] + 1 == zone.last;
        let keep: Vec<u32> =
            rows.iter().find(called).copied().into_iter().chain(zone.first.checked_sub(1)).collect();
        self.part(links, start, &keep, Extent::Whole)
    }

    fn overlap(&self, links: &Links, a: Zone, b: Zone, say: &dyn Fn(u32) -> String) -> String {
        let (from, until) = (self.begins(a, say), self.ends(links, a, say));
        match b.cluster {
            Cluster::Missing(row) => {
                format!("{} is impossible: the key was there from {from} to {until}", say(row))
            }
            Cluster::Chain(_) => format!(
                "the key was there from {from} to {until}, so it cannot have been missing before {}",
                self.begins(b, say)
            ),
        }
    }

    fn begins(&self, zone: Zone, say: &dyn Fn(u32) -> String) -> String {
        zone.first.checked_sub(1).map_or_else(|| "the start".into(), say)
    }

    fn ends(&self, links: &Links, zone: Zone, say: &dyn Fn(u32) -> String) -> String {
        let mut called = None;
        if let Cluster::Chain(start) = zone.cluster {
            links.walk(start, &mut 0, |row| {
                if self.earliest[row as usize] + 1 == zone.last {
                    called = Some(row);
                }
            });
        }
        called.map_or_else(|| "the end".into(), say)
    }
}

fn is_write(op: &Operation) -> bool {
    op.op() != map::GET
}
