//! Which configurations stand for others.
//!
//! Two that agree on the changes that took effect and on what wildcards took have the same contents. A
//! configuration X is *as good as* Z, every future of Z being one of X, if
//! - X served all that Z served, and
//! - all that took effect in X and Z but insertions is the same, and
//! - X's insertions that took effect can be paired, key by key, with insertions of Z that return no earlier:
//!   what Z has in excess X may still insert, at any moment, and where Z will need the earlier one X has the
//!   later one left.
//!
//! If a step leads from Y to X, and X is as good as Z, Z is dropped for Y. Y has fewer changes that took
//! effect than Z, so nothing is dropped in a circle.

use rustc_hash::FxHashMap;

use super::open::{Mask, bits};
use super::{ChangingKeys, Config};

impl ChangingKeys {
    /// Drops configurations that others stand for.
    pub(super) fn prune(&mut self) {
        let mut configs = std::mem::take(&mut self.configs);
        self.keep_best(&mut configs);
        if configs.len() > 1 {
            self.drop_implied(&mut configs);
        }
        self.configs = configs;
    }

    /// Of configurations that are as good as each other the first is kept.
    fn keep_best(&mut self, configs: &mut Vec<Config>) {
        let insertions = self.opens.insertions();
        let group = |c: &Config| (c.done & self.opens.changing() & !insertions, c.wild);
        configs.sort_by_key(|c| (group(c), (c.done & insertions).count_ones(), c.done));
        let mut kept: Vec<Config> = Vec::with_capacity(configs.len());
        let mut start = 0;
        for config in configs.iter() {
            if start < kept.len() && group(&kept[start]) != group(config) {
                start = kept.len();
            }
            if self.meter.is_over(2 * (kept.len() - start), || 0) {
                return;
            }
            if !kept[start..].iter().any(|other| self.is_as_good(other, config, insertions)) {
                let rest: Vec<Config> = kept.split_off(start);
                kept.extend(rest.into_iter().filter(|other| !self.is_as_good(config, other, insertions)));
                kept.push(*config);
            }
        }
        *configs = kept;
    }

    /// As the text says; both agree on all but insertions and what was served.
    fn is_as_good(&self, x: &Config, z: &Config, insertions: Mask) -> bool {
        if z.done & self.opens.looking() & !x.done != 0 {
            return false;
        }
        let (mine, theirs) = (x.done & insertions, z.done & insertions);
        if mine & !theirs == 0 {
            return true;
        }
        let of = |set: Mask, key: i64| {
            let fits = move |slot: &u32| self.opens.act(*slot).adds() == Some(key);
            let mut ids: Vec<_> = bits(set).filter(fits).map(|slot| self.opens.id(slot)).collect();
            ids.sort_unstable();
            ids
        };
        bits(mine & !theirs).filter_map(|slot| self.opens.act(slot).adds()).all(|key| {
            // From the latest down: each of X's needs a partner that returns no earlier.
            let (mine, theirs) = (of(mine, key), of(theirs, key));
            mine.len() <= theirs.len() && mine.iter().rev().zip(theirs.iter().rev()).all(|(a, b)| a <= b)
        })
    }

    /// Drops what a step of another leads to.
    fn drop_implied(&mut self, configs: &mut Vec<Config>) {
        let changing = self.opens.changing();
        let mut places: FxHashMap<(Mask, u32), Vec<usize>> = FxHashMap::default();
        for (at, config) in configs.iter().enumerate() {
            places.entry((config.done & changing, config.wild)).or_default().push(at);
        }
        let mut implied = vec![false; configs.len()];
        for config in configs.iter() {
            if self.meter.is_over(64, || 0) {
                return;
            }
            let steps = self.opens.first_of_equals(changing, config.done);
            for slot in bits(steps).map(Some).chain([None]) {
                // Whether there is anything there is asked first: a step costs more.
                let next = match slot {
                    Some(slot) => {
                        let key = (config.done & changing | 1 << slot, config.wild);
                        places.contains_key(&key).then(|| self.step(config, slot)).flatten()
                    }
                    None => self.wild_step(config),
                };
                let Some(next) = next else { continue };
                for &at in places.get(&(next.done & changing, next.wild)).into_iter().flatten() {
                    let looked = configs[at].done & self.opens.looking();
                    implied[at] |= looked & !next.done == 0;
                }
            }
        }
        let mut at = 0;
        configs.retain(|_| {
            at += 1;
            !implied[at - 1]
        });
    }
}
