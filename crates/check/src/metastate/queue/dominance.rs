//! Which of two configurations of a queue can do all the other can.
//!
//! Two that agree on which dequeues took effect consumed equally many enqueues of each value. A is at least
//! as good as B if, value by value, what only A consumed returns no later than what only B consumed, paired
//! in order of return, and A served every empty dequeue B did: what A has left then holds back no more than
//! what B has left.

use super::Config;
use super::frontier::{Frontier, Mask};

/// Keeps a configuration only if no other one is better (of equally good ones the first).
pub(super) fn keep_best(configs: &mut Vec<Config>, frontier: &Frontier, empty_slots: Mask) {
    let group = |c: &Config| (c.done & !empty_slots, c.wild);
    configs.sort_by_key(|c| (group(c), c.position, c.taken, c.done));
    let mut kept: Vec<Config> = Vec::with_capacity(configs.len());
    let mut start = 0;
    for config in configs.iter() {
        if start < kept.len() && group(&kept[start]) != group(config) {
            start = kept.len();
        }
        if kept[start..].iter().any(|k| is_as_good(k, config, frontier, empty_slots)) {
            continue;
        }
        let mut at = start;
        while at < kept.len() {
            if is_as_good(config, &kept[at], frontier, empty_slots) {
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
fn is_as_good(a: &Config, b: &Config, frontier: &Frontier, empty_slots: Mask) -> bool {
    if b.done & empty_slots & !a.done != 0 {
        return false;
    }
    let from = a.position.min(b.position);
    let (in_a, in_b) = (consumed(a, from, frontier), consumed(b, from, frontier));
    let mut only_a: Vec<_> = in_a.iter().filter(|e| !in_b.contains(e)).collect();
    let mut only_b: Vec<_> = in_b.iter().filter(|e| !in_a.contains(e)).collect();
    only_a.sort_unstable();
    only_b.sort_unstable();
    only_a.len() == only_b.len() && only_a.iter().zip(&only_b).all(|(x, y)| x.0 == y.0 && x.1 <= y.1)
}

/// Value and time of the enqueues consumed at and after position `from`.
fn consumed(config: &Config, from: u32, frontier: &Frontier) -> Vec<(u32, u32)> {
    let passed = (from..config.position).map(|position| *frontier.at(position));
    let candidates = frontier.candidates(config.position).iter().copied();
    let taken = candidates.filter(|e| config.taken >> e.slot & 1 == 1);
    passed.chain(taken).map(|e| (e.value, e.id)).collect()
}
