//! One key of a map, into which no value is inserted twice: chains of values, and zones as for registers
//! (Gibbons & Korach 1997).
//!
//! Every operation on a key answers what it found there. `insert(v) -> u` and `remove -> u` are swaps, so the
//! answers link the insertions into *chains*: missing → v1 → v2 → … → missing. Inside a chain the order is
//! forced: v1 goes in, the gets that found v1, v2 goes in, the gets that found v2, and so on. One scan
//! compares that order with real time.
//!
//! A chain begins and ends with the key missing, so nothing else happens on the key while it lasts; nor does
//! a `get` or `remove` that found the key missing happen inside a chain. So chains and such *missing reads*
//! are clusters that follow one another as wholes. With `first` the least return and `last` the greatest call
//! of a cluster, A must come before B iff `first(A) < last(B)`. No two clusters may each have to come before
//! the other, and that is all: sorted by the lesser of the two numbers, the clusters then stand in an order
//! that explains the history. A chain that no removal ends comes last (`last` is infinite), one that begins
//! with the initial contents first (`first` is zero; other times are numbers of gaps plus one).
//!
//! The rows of the key are held, and the decision falls at the end. `docs/soundness.md` has the argument.

mod core;
mod links;

use linpoint_history::{Kind, Operation};

use self::links::Links;
use crate::engine::{Context, Engine, Stop, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides one key of a map with `insert`, `get` and `remove`.
#[derive(Debug, Default)]
pub struct MapMonitor {
    rows: Vec<Operation>,
    earliest: Vec<u32>,
}

/// Operations that follow one another without anything else on the key in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cluster {
    /// The chain that begins with this value.
    Chain(u32),
    /// An operation that found the key missing and left it so.
    Missing(u32),
}

/// When a cluster has to take place.
#[derive(Clone, Copy, Debug)]
struct Zone {
    cluster: Cluster,
    first: u32,
    last: u32,
}

impl Zone {
    /// Is it a chain that nothing ends?
    fn is_open(&self) -> bool {
        self.last == u32::MAX
    }

    fn place(&self) -> (u32, bool) {
        (self.first.min(self.last), self.first < self.last)
    }
}

/// What is wrong with a history.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// This operation found a value that was never inserted.
    Strange(u32),
    /// Both operations took the value away that one insertion put there.
    Twice(u32, u32),
    /// Each of the insertions linked to this value found the value of another.
    Circle(u32),
    /// In the chain of this value the second operation comes after the first, but returned before its call.
    Late(u32, u32, u32),
    /// Each of the clusters has to come before the other.
    Overlap(Zone, Zone),
}

impl MapMonitor {
    /// Nothing seen yet.
    pub fn new() -> MapMonitor {
        MapMonitor::default()
    }

    /// The clusters of the history in an order that explains it.
    fn zones(&self, links: &Links) -> Result<Vec<Zone>, Wrong> {
        let mut zones = Vec::with_capacity(links.starts.len() + links.missing.len());
        let mut values = 0;
        for &start in &links.starts {
            zones.push(self.chain(links, start, &mut values)?);
        }
        if values < links.values.len() {
            return Err(Wrong::Circle(links.unreached()));
        }
        zones.extend(links.missing.iter().map(|&row| Zone {
            cluster: Cluster::Missing(row),
            first: row + 1,
            last: self.earliest[row as usize] + 1,
        }));
        zones.sort_unstable_by_key(Zone::place);
        let mut longest: Option<Zone> = None;
        for zone in &zones {
            match longest {
                Some(before) if zone.first < before.last => return Err(Wrong::Overlap(before, *zone)),
                Some(before) if zone.last <= before.last => {}
                _ => longest = Some(*zone),
            }
        }
        Ok(zones)
    }

    /// The zone of a chain, if its order agrees with real time. Adds to `values` how many values it has.
    fn chain(&self, links: &Links, start: u32, values: &mut usize) -> Result<Zone, Wrong> {
        let (mut first, mut last, mut called_last, mut late) = (u32::MAX, 0, 0, None);
        if links.initial == Some(start) {
            first = 0;
        }
        let ended = links.walk(start, values, |row| {
            if row + 1 < last && late.is_none() {
                late = Some(Wrong::Late(start, called_last, row));
            }
            first = first.min(row + 1);
            let call = self.earliest[row as usize] + 1;
            if call > last {
                (last, called_last) = (call, row);
            }
        });
        match late {
            Some(wrong) => Err(wrong),
            None => {
                let last = if ended { last } else { u32::MAX };
                Ok(Zone { cluster: Cluster::Chain(start), first, last })
            }
        }
    }
}

impl Engine for MapMonitor {
    fn name(&self) -> &'static str {
        "map monitor"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        _witness: &mut Witness,
    ) -> Result<(), Stop> {
        if cx.spec.kind != Kind::Map || cx.spec.capacity.is_some() || cx.spec.spurious {
            return Err(Stop::Unsupported("the map is bounded, or answers may be spurious".into()));
        }
        for id in self.rows.len() as u32..upto {
            self.rows.push(*timeline.op(OpId(id)));
            self.earliest.push(timeline.earliest(OpId(id)));
        }
        cx.budget.check(self.memory())
    }

    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        let explain = |links: &Links, wrong| Stop::Violated(self.explain(cx, links, wrong));
        let mut links = Links::new(cx, &self.rows, timeline.pending())?;
        if let Err(wrong) = links.read_answers(cx, &self.rows)? {
            return Err(explain(&links, wrong));
        }
        cx.budget.check(self.memory() + links.memory())?;
        let zones = match self.zones(&links) {
            Ok(zones) => zones,
            Err(Wrong::Overlap(a, b)) if links.removal_pending && (a.is_open() || b.is_open()) => {
                let why = "a remove that never returned may have taken effect";
                return Err(Stop::Unsupported(why.into()));
            }
            Err(wrong) => return Err(explain(&links, wrong)),
        };
        for zone in zones {
            match zone.cluster {
                Cluster::Missing(row) => witness.order.push(OpId(row)),
                Cluster::Chain(start) => {
                    links.walk(start, &mut 0, |row| witness.order.push(OpId(row)));
                }
            }
        }
        Ok(())
    }

    fn explained(&self) -> Option<u32> {
        Some(0) // All of it is decided at the end.
    }

    fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<Operation>() + self.earliest.capacity() * 4
    }
}
