//! What open removals may have done before an insertion returns.
//!
//! Once a small key is in, larger ones cannot leave until it is gone; so at the return of `insert(u)` there
//! are, besides the configuration that did nothing, those in which open removals of larger keys went first,
//! or emptied the queue for a removal that found nothing. Present elements leave in order, by a chain that
//! has no choices; after each link of it, insertions and removals of absent keys above u and below all that
//! is present may be glued, any set of them. What could as well happen after the insertion is left out: it is
//! implied.

use super::Config;
use super::contents::{Class, Contents};
use super::steps::Table;

/// Adds to `found` what may have happened before an insertion of `bound` takes effect, beyond nothing.
pub(super) fn before_insert(table: &mut Table<'_>, config: &Config, bound: i64, found: &mut Vec<Config>) {
    let mut node = *config;
    if !is_worthwhile(table.contents, &node, bound) {
        return;
    }
    let mut first = table.first(&node);
    // A set of glued pairs must have a key at least this large to be worth keeping; none: the chain itself is
    // reason enough.
    let mut needed = Some(i64::MIN);
    loop {
        if table.meter.is_over(1, || 0) {
            return;
        }
        let mut gluer = Gluer { bound, below: first, needed, found };
        gluer.glue(table, &node, 0, false);
        let Some(key) = first else { return };
        if !is_worthwhile(table.contents, &node, bound) {
            return;
        }
        let served = node.removed & table.contents.empty_slots();
        let Some(taken) = table.take(&node, key) else { return };
        (node, first) = (taken.config, taken.first);
        let serves = node.removed & table.contents.empty_slots() != served;
        needed = if serves || key > bound && !taken.by_wildcard { None } else { Some(key) };
    }
}

/// Is there a removal that an insertion of `bound` would hold back?
fn is_worthwhile(contents: &Contents, config: &Config, bound: i64) -> bool {
    contents.empty_slots() & !config.removed != 0
        || contents
            .classes()
            .iter()
            .rev()
            .take_while(|c| c.key > bound)
            .any(|c| c.remove_slots & !config.removed != 0)
}

struct Gluer<'a> {
    bound: i64,
    below: Option<i64>,
    needed: Option<i64>,
    found: &'a mut Vec<Config>,
}

impl Gluer<'_> {
    /// Tries all sets of pairs of the classes from `from` on; `is_enough`: what was glued so far is worth
    /// keeping.
    fn glue(&mut self, table: &mut Table<'_>, config: &Config, from: usize, is_enough: bool) {
        let contents = table.contents;
        let held = self.found.len() * size_of::<Config>();
        if table.meter.is_over(contents.classes().len(), || table.paths.memory() + held) {
            return;
        }
        let (bound, below) = (self.bound, self.below);
        let fits = |c: &Class| c.key > bound && below.is_none_or(|below| c.key < below);
        for (at, class) in contents.classes().iter().enumerate().skip(from) {
            if !fits(class) {
                continue;
            }
            if let Some(remove) = class.next_remove(config.removed)
                && let Some(insert) = class.next_insert(config.inserted)
            {
                let next = table.glue(config, insert, remove);
                let is_enough = is_enough || self.needed.is_some_and(|needed| class.key >= needed);
                self.glue(table, &next, at, is_enough);
            }
        }
        let grows = self.found.len() == self.found.capacity();
        if grows && table.meter.is_full(2 * self.found.len() * size_of::<Config>()) {
            return;
        }
        if is_enough || self.needed.is_none() {
            self.found.push(*config);
        }
    }
}
