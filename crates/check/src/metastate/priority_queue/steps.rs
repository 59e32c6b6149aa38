//! What open operations of a priority queue may do in a configuration.
//!
//! A removal of k takes a present k if nothing smaller is there; if no k is there, an open insertion of k
//! takes effect right before it (the two are *glued*, and the state stays as it was). Nothing else makes an
//! insertion take effect before its return.

use super::Config;
use super::contents::{Class, Contents, Mask, Open};
use super::wildcards::Wildcards;
use crate::metastate::meter::Meter;
use crate::metastate::paths::Paths;
use crate::timeline::OpId;

/// All that steps look at and write to.
pub(super) struct Table<'a> {
    pub(super) contents: &'a Contents,
    pub(super) wildcards: &'a mut Wildcards,
    pub(super) paths: &'a mut Paths<OpId>,
    /// The pending removals called so far.
    pub(super) wild: &'a [OpId],
    /// How many of them every configuration used and no longer lists.
    pub(super) folded: u32,
    /// When to give up.
    pub(super) meter: &'a mut Meter,
}

impl Table<'_> {
    /// How many elements have the class's key.
    #[inline]
    pub(super) fn count(&self, config: &Config, class: &Class) -> i32 {
        class.count(config.inserted, config.removed) - self.wildcards.count(config.wild, class.key)
    }

    /// The key that leaves next.
    pub(super) fn first(&self, config: &Config) -> Option<i64> {
        let class = self.contents.classes().iter().find(|c| self.count(config, c) > 0).map(|c| c.key);
        let left = |(key, count): &(&i64, &i32)| **count > self.wildcards.count(config.wild, **key);
        let rest = self.contents.rest().iter().find(left).map(|(key, _)| *key);
        match (class, rest) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Takes out `key`, which leaves next, by an open removal, or else by a pending one. `None`: nobody can.
    pub(super) fn take(&mut self, config: &Config, key: i64) -> Option<Taken> {
        let mut next = *config;
        let removal = self.contents.class(key).and_then(|c| c.next_remove(config.removed));
        match removal {
            Some(open) => {
                next.removed |= open.bit();
                next.path = self.paths.push(next.path, OpId(open.id));
            }
            None => {
                let used = self.folded as usize + self.wildcards.keys(config.wild).len();
                let op = *self.wild.get(used)?;
                next.wild = self.wildcards.with(config.wild, key);
                next.path = self.paths.push(next.path, op);
            }
        }
        let first = self.first(&next);
        if first.is_none() {
            self.serve(&mut next);
        }
        Some(Taken { config: next, first, by_wildcard: removal.is_none() })
    }

    /// Nothing is there: removals that find nothing take effect.
    pub(super) fn serve(&mut self, config: &mut Config) {
        let unserved = self.contents.empty_slots() & !config.removed;
        if unserved != 0 {
            for open in self.contents.empties().iter().filter(|e| e.bit() & unserved != 0) {
                config.path = self.paths.push(config.path, OpId(open.id));
            }
            config.removed |= unserved;
        }
    }

    /// Glues an insertion to a removal of the same key.
    pub(super) fn glue(&mut self, config: &Config, insert: Open, remove: Open) -> Config {
        let path = self.paths.push(config.path, OpId(insert.id));
        let path = self.paths.push(path, OpId(remove.id));
        let (inserted, removed) = (config.inserted | insert.bit(), config.removed | remove.bit());
        Config { inserted, removed, path, ..*config }
    }

    /// The removal `open` of `key` takes effect, after everything smaller was taken out. One way, or none:
    /// which of the open removals does it is settled, and what need not go first can go later.
    pub(super) fn remove(&mut self, config: &Config, key: i64, open: Open) -> Option<Config> {
        let mut node = *config;
        let mut first = self.first(&node);
        while let Some(smaller) = first.filter(|k| *k < key) {
            let taken = self.take(&node, smaller)?;
            (node, first) = (taken.config, taken.first);
        }
        if first == Some(key) {
            return self.take(&node, key).map(|taken| taken.config);
        }
        let insert = self.contents.class(key)?.next_insert(node.inserted)?;
        Some(self.glue(&node, insert, open))
    }

    /// Everything is taken out.
    pub(super) fn empty(&mut self, config: &Config) -> Option<Config> {
        let mut node = *config;
        let mut first = self.first(&node);
        while let Some(key) = first {
            let taken = self.take(&node, key)?;
            (node, first) = (taken.config, taken.first);
        }
        Some(node)
    }

    /// The single steps of open removals: what a configuration may still do, for [`super`] to find what is
    /// implied.
    pub(super) fn moves(&self, config: &Config, mut give: impl FnMut(Mask, Mask, Option<i64>)) {
        let first = self.first(config);
        for class in self.contents.classes() {
            let Some(remove) = class.next_remove(config.removed) else { continue };
            let removed = config.removed | remove.bit();
            match first {
                Some(first) if class.key > first => break,
                Some(first) if class.key == first => give(config.inserted, removed, None),
                _ => {
                    if let Some(insert) = class.next_insert(config.inserted) {
                        give(config.inserted | insert.bit(), removed, None);
                    }
                }
            }
        }
        if let Some(first) = first
            && self.folded as usize + self.wildcards.keys(config.wild).len() < self.wild.len()
        {
            give(config.inserted, config.removed, Some(first));
        }
    }
}

/// A configuration after an element left.
pub(super) struct Taken {
    pub(super) config: Config,
    /// What leaves next.
    pub(super) first: Option<i64>,
    pub(super) by_wildcard: bool,
}
