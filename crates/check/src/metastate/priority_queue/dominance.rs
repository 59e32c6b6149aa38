//! Which of two configurations of a priority queue can do all the other can.
//!
//! Of two that agree on which removals took effect and on what wildcards took, A is at least as good as B if
//! its insertions that took effect can be paired, key by key, with insertions of B that return no earlier:
//! what B has in excess A may still insert, at any moment. And A must have served every removal that found
//! nothing which B served.

use super::Config;
use super::contents::{Contents, Mask};
use crate::metastate::meter::Meter;

/// Keeps a configuration only if no other one is better (of equally good ones the first).
pub(super) fn keep_best(configs: &mut Vec<Config>, contents: &Contents, meter: &mut Meter) {
    let empty_slots = contents.empty_slots();
    let group = |c: &Config| (c.removed & !empty_slots, c.wild);
    configs.sort_by_key(|c| (group(c), c.inserted.count_ones(), c.inserted, c.removed));
    let mut kept: Vec<Config> = Vec::with_capacity(configs.len());
    let mut start = 0;
    for config in configs.iter() {
        if start < kept.len() && group(&kept[start]) != group(config) {
            start = kept.len();
        }
        if meter.is_over(2 * (kept.len() - start), || 0) {
            return;
        }
        if kept[start..].iter().any(|k| is_as_good(k, config, contents)) {
            continue;
        }
        let mut at = start;
        while at < kept.len() {
            if is_as_good(config, &kept[at], contents) {
                kept.remove(at);
            } else {
                at += 1;
            }
        }
        kept.push(*config);
    }
    *configs = kept;
}

/// Is every future of `b` one of `a`? Both are of one group.
fn is_as_good(a: &Config, b: &Config, contents: &Contents) -> bool {
    if b.removed & contents.empty_slots() & !a.removed != 0 {
        return false;
    }
    if a.inserted & !b.inserted == 0 {
        return true;
    }
    let differs = a.inserted ^ b.inserted;
    contents.classes().iter().filter(|c| c.insert_slots & differs != 0).all(|class| {
        let of =
            |mask: Mask| class.inserts.iter().rev().filter(move |op| op.bit() & mask != 0).map(|op| op.id);
        let mut theirs = of(b.inserted);
        // From the latest down: each of A's needs a partner that returns no earlier.
        of(a.inserted).all(|mine| theirs.next().is_some_and(|their| mine <= their))
    })
}
