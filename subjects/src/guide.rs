//! Loads that are chosen by what the runs so far have not shown: coverage-guided, as fuzzers choose inputs.
//!
//! What a run shows are *features*. Of its history, return by return: which operation it is and what it answered, how many operations are open, about how many
//! elements there are, whether the operation met one that is open on the same value, and what returned just before. Of the object's inside, as far as its accesses to what is shared
//! tell ([`crate::stall`]): which places of the code were come to, and which pairs of places met, one thread held up before an access while another accessed the same. A run that shows
//! features which few runs showed before was made by a load that is worth repeating, and changing a little: another share of insertions, fewer priorities, another prefix, more or fewer
//! threads, shorter or longer runs, work or pauses between operations, other cores; and where threads are held up, and for how long. Places that few operations come to are chosen more often, and there
//! every operation may wait: most errors live where hardly anybody goes. Nothing rests on all this but how soon an error shows.
//!
//! The first loads make a queue nearly empty, priorities equal, or an object that grows, and hold threads up anywhere.

use std::collections::HashMap;

use linpoint_history::rng::Rng;
use linpoint_history::{History, Operation, ValueId};

use crate::record::{Load, Pinning};
use crate::stall::{Sights, Site, Stall};

/// Chooses loads.
pub struct Guide {
    arms: Vec<Arm>,
    /// In how many histories each feature was seen.
    seen: Vec<u32>,
    /// In how many runs each pair of places was seen.
    met: HashMap<(Site, Site), u32>,
    /// How often a place was come to, and in how many operations.
    visits: HashMap<Site, u64>,
    operations: u64,
    rng: Rng,
    /// May loads change keys, or look them up?
    others: bool,
    /// Runs so far, for seeds.
    runs: u64,
}

/// A load and what it is worth.
struct Arm {
    load: Load,
    worth: f64,
}

/// Features are numbers below this.
const FEATURES: usize = 1 << 16;
/// Loads that are kept.
const ARMS: usize = 24;
/// How many operations a run may have: short ones begin anew more often.
const LENGTHS: [usize; 3] = [100, 300, 1_000];

impl Guide {
    /// Begins with variants of `usual`.
    pub fn new(usual: &Load, others: bool, seed: u64) -> Guide {
        let anywhere = |chance, returns| Some(Stall { site: None, chance, returns });
        let usual = Load { operations: 300, ..usual.clone() };
        let first = [
            Load { prefix: 0, adds: 0.5, values: Some(64), stall: anywhere(0.05, 4), ..usual.clone() },
            Load { prefix: 1, adds: 0.45, values: Some(8), stall: anywhere(0.05, 8), ..usual.clone() },
            Load { prefix: 4, adds: 0.5, stall: anywhere(0.05, 4), ..usual.clone() },
            Load { prefix: 0, adds: 0.55, threads: 3, stall: anywhere(0.1, 16), ..usual.clone() },
            Load { prefix: 2, adds: 0.5, values: Some(64), pauses: 0.05, ..usual },
        ];
        let arms = first.into_iter().map(|load| Arm { load, worth: f64::INFINITY }).collect();
        Guide {
            arms,
            seen: vec![0; FEATURES],
            met: HashMap::new(),
            visits: HashMap::new(),
            operations: 0,
            rng: Rng::new(seed),
            others,
            runs: seed << 20,
        }
    }

    /// What to run next.
    pub fn choose(&mut self) -> Load {
        self.runs += 1;
        let fresh = self.arms.iter().position(|arm| arm.worth.is_infinite());
        let mut load = match fresh {
            Some(index) => {
                self.arms[index].worth = 0.0;
                self.arms[index].load.clone()
            }
            None => {
                let picked = self.pick();
                let parent = self.arms[picked].load.clone();
                if self.rng.chance(0.6) { self.changed(parent) } else { parent }
            }
        };
        load.seed = self.runs;
        load
    }

    /// What came of a load.
    pub fn learn(&mut self, load: &Load, history: &History, sights: Sights) {
        let mut shown = vec![false; FEATURES];
        features(&history.operations, |feature| shown[feature] = true);
        let mut worth = 0.0;
        for (feature, _) in shown.iter().enumerate().filter(|(_, shown)| **shown) {
            self.seen[feature] += 1;
            worth += 1.0 / f64::from(self.seen[feature]);
        }
        for pair in sights.pairs {
            let met = self.met.entry(pair).or_default();
            *met += 1;
            worth += 4.0 / f64::from(*met);
        }
        if load.stall.is_some() {
            self.operations += load.operations as u64;
            for (site, visits) in sights.visits {
                *self.visits.entry(site).or_default() += visits;
            }
        }
        let same = |arm: &&mut Arm| Load { seed: load.seed, ..arm.load.clone() } == *load;
        match self.arms.iter_mut().find(same) {
            Some(arm) => arm.worth = 0.5 * arm.worth + 0.5 * worth,
            None => self.arms.push(Arm { load: load.clone(), worth }),
        }
        if self.arms.len() > ARMS {
            self.arms.sort_by(|a, b| b.worth.total_cmp(&a.worth));
            self.arms.truncate(ARMS);
        }
    }

    /// One of the arms, the better ones more often; none is ever left out.
    fn pick(&mut self) -> usize {
        let weight = |arm: &Arm| arm.worth + 1.0;
        let mut left = self.rng.unit() * self.arms.iter().map(weight).sum::<f64>();
        for (index, arm) in self.arms.iter().enumerate() {
            left -= weight(arm);
            if left < 0.0 {
                return index;
            }
        }
        0
    }

    /// The same with one or two things otherwise.
    fn changed(&mut self, mut load: Load) -> Load {
        if self.rng.chance(0.7) {
            load.stall = Some(self.stall());
        }
        let rng = &mut self.rng;
        for _ in 0..1 + rng.below(2) {
            match rng.below(9) {
                0 => load.adds = *rng.pick(&[0.3, 0.4, 0.45, 0.5, 0.55]),
                1 => load.values = *rng.pick(&[Some(2), Some(8), Some(64), Some(1000), Some(1 << 20)]),
                2 => load.prefix = *rng.pick(&[0, 1, 2, 3, 4, 6, 16, 128]),
                3 => load.threads = *rng.pick(&[2, 3, 4, 8]),
                4 => load.work = *rng.pick(&[0, 10, 30, 100]),
                5 => load.pauses = *rng.pick(&[0.0, 0.01, 0.05, 0.3]),
                6 => load.pinning = *rng.pick(&[Pinning::Free, Pinning::Spread, Pinning::Together]),
                7 => load.operations = *rng.pick(&LENGTHS),
                _ if self.others => load.others = *rng.pick(&[0.0, 0.1, 0.3]),
                _ => {}
            }
        }
        load
    }

    /// Where to hold threads up: anywhere, or at a place, rare ones more often.
    fn stall(&mut self) -> Stall {
        let rng = &mut self.rng;
        let returns = *rng.pick(&[1, 2, 4, 8, 16, 40]);
        let anywhere = Stall { site: None, chance: *rng.pick(&[0.02, 0.05, 0.1]), returns };
        if rng.chance(0.25) {
            return anywhere;
        }
        // In the order of places, so that a seed says what is chosen.
        let mut sites: Vec<(Site, u64)> = self.visits.iter().map(|(site, visits)| (*site, *visits)).collect();
        sites.sort_unstable();
        let weight = |visits: u64| 1.0 / (1.0 + visits as f64).sqrt();
        let mut left = rng.unit() * sites.iter().map(|(_, visits)| weight(*visits)).sum::<f64>();
        for (site, visits) in sites {
            left -= weight(visits);
            if left < 0.0 {
                // About one operation in five waits.
                let chance = (0.2 * self.operations as f64 / (1 + visits) as f64).clamp(0.01, 1.0);
                return Stall { site: Some(site), chance, returns };
            }
        }
        anywhere
    }
}

/// The features of a history in order of return.
fn features(rows: &[Operation], mut show: impl FnMut(usize)) {
    let mut elements: i64 = 0;
    let mut before = 0;
    for (index, op) in rows.iter().enumerate() {
        let fails = op.result == ValueId::NULL || op.result == ValueId::FALSE;
        let what = usize::from(op.op().0) * 2 + usize::from(fails && op.op().0 != 0);
        match op.op().0 {
            0 if op.result != ValueId::FALSE => elements += 1,
            1 if !fails => elements -= 1,
            _ => {}
        }
        // Rows that returned since it was called overlap with it.
        let open = (op.ret - op.call).clamp(0, 8) as usize;
        let value = if op.arg.is_null() { op.result } else { op.arg };
        let overlapping = &rows[index - open.min(index)..index];
        let met = overlapping.iter().any(|other| other.arg == value || other.result == value);
        let size = (64 - elements.max(0).leading_zeros()).min(12) as usize;
        let feature = ((((size * 9 + open) * 2 + usize::from(met)) * 6) + what) * 6 + before;
        show(feature % FEATURES);
        before = what;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::record::record_with_sights;

    /// Loads that show more than others come again, and the first are tried before any is changed.
    #[test]
    fn loads_are_chosen_by_what_they_show() {
        let target = (catalogue::find("coarse-heap").expect("it is there").make)();
        let mut guide = Guide::new(&Load { prefix: 1000, ..Load::default() }, true, 1);
        let first: Vec<Load> = (0..5).map(|_| guide.choose()).collect();
        assert_eq!((first[0].prefix, first[2].prefix), (0, 4));
        for load in &first {
            let (history, sights) = record_with_sights(&target, load);
            guide.learn(load, &history, sights);
        }
        let later: Vec<Load> = (0..50).map(|_| guide.choose()).collect();
        assert!(
            later
                .iter()
                .any(|load| !first.iter().any(|one| Load { seed: load.seed, ..one.clone() } == *load))
        );
        assert!(guide.seen.iter().filter(|count| **count > 0).count() > 20);
        // The lock, the length in and out of it: places that were come to, and some that met.
        assert!(guide.visits.len() >= 3 && !guide.met.is_empty(), "{:?} {:?}", guide.visits, guide.met);
        assert!(later.iter().any(|load| load.stall.is_some_and(|stall| stall.site.is_some())));
    }
}
