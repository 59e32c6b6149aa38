//! Loads that are chosen by what the histories so far have not shown: coverage-guided, as fuzzers choose inputs.
//!
//! A recorded history is looked at return by return. What is seen there is a *feature*: which operation it is and what it answered, how many operations are open, about how many
//! elements there are, whether the operation met one that is open on the same value, and what returned just before. A history that shows features which few histories showed before was made by
//! a load that is worth repeating, and changing a little: another share of insertions, fewer priorities, another prefix, more or fewer threads, work or pauses between operations, other cores. Nothing of the object's
//! inside is looked at, so any object will do; and nothing rests on it but how soon an error shows.
//!
//! The first loads are the usual one and those that make a queue nearly empty and priorities equal: most errors live there.

use linpoint_history::rng::Rng;
use linpoint_history::{History, Operation, ValueId};

use crate::record::{Load, Pinning};

/// Chooses loads.
pub struct Guide {
    arms: Vec<Arm>,
    /// In how many histories each feature was seen.
    seen: Vec<u32>,
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
/// Operations a run.
pub const BATCH: usize = 10_000;

impl Guide {
    /// Begins with `usual`.
    pub fn new(usual: &Load, others: bool, seed: u64) -> Guide {
        let usual = Load { operations: BATCH, ..usual.clone() };
        let first = [
            usual.clone(),
            Load { prefix: 0, adds: 0.5, ..usual.clone() },
            Load { prefix: 0, adds: 0.45, values: Some(8), ..usual.clone() },
            Load { prefix: 1, adds: 0.45, work: 30, ..usual.clone() },
            Load { prefix: 2, adds: 0.5, values: Some(64), pauses: 0.05, ..usual },
        ];
        let arms = first.into_iter().map(|load| Arm { load, worth: f64::INFINITY }).collect();
        Guide { arms, seen: vec![0; FEATURES], rng: Rng::new(seed), others, runs: seed << 20 }
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
                if self.rng.chance(0.4) { self.changed(parent) } else { parent }
            }
        };
        load.seed = self.runs;
        load
    }

    /// What came of a load.
    pub fn learn(&mut self, load: &Load, history: &History) {
        let mut shown = vec![false; FEATURES];
        features(&history.operations, |feature| shown[feature] = true);
        let mut worth = 0.0;
        for (feature, _) in shown.iter().enumerate().filter(|(_, shown)| **shown) {
            self.seen[feature] += 1;
            worth += 1.0 / f64::from(self.seen[feature]);
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
        let rng = &mut self.rng;
        for _ in 0..1 + rng.below(2) {
            match rng.below(8) {
                0 => load.adds = *rng.pick(&[0.3, 0.4, 0.45, 0.5, 0.55]),
                1 => load.values = *rng.pick(&[Some(2), Some(8), Some(64), Some(1000), Some(1 << 20)]),
                2 => load.prefix = *rng.pick(&[0, 1, 2, 4, 16, 128, 1000]),
                3 => load.threads = *rng.pick(&[2, 3, 4, 8]),
                4 => load.work = *rng.pick(&[0, 10, 30, 100, 1000]),
                5 => load.pauses = *rng.pick(&[0.0, 0.01, 0.05, 0.3]),
                6 => load.pinning = *rng.pick(&[Pinning::Free, Pinning::Spread, Pinning::Together]),
                _ if self.others => load.others = *rng.pick(&[0.0, 0.1, 0.3]),
                _ => {}
            }
        }
        load
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
    use crate::record::record;

    /// Loads that show more than others come again, and the first are tried before any is changed.
    #[test]
    fn loads_are_chosen_by_what_they_show() {
        let target = (catalogue::find("coarse-heap").expect("it is there").make)();
        let mut guide = Guide::new(&Load { prefix: 1000, ..Load::default() }, true, 1);
        let first: Vec<Load> = (0..5).map(|_| guide.choose()).collect();
        assert_eq!((first[0].prefix, first[1].prefix), (1000, 0));
        assert!(first.iter().all(|load| load.operations == BATCH));
        for load in &first {
            guide.learn(load, &record(&target, &Load { operations: 500, ..load.clone() }));
        }
        let later: Vec<Load> = (0..50).map(|_| guide.choose()).collect();
        assert!(
            later
                .iter()
                .any(|load| !first.iter().any(|one| Load { seed: load.seed, ..one.clone() } == *load))
        );
        assert!(guide.seen.iter().filter(|count| **count > 0).count() > 20);
    }
}
