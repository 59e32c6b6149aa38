//! Why a history cannot be explained: few operations that already cannot, and a sentence.
//!
//! The windows say that something is wrong; their survivors carry windows that were cut down by values long
//! gone. So the rows that are still at hand are decided once more, all at once and with their full windows,
//! and the fewest covers that span a stuck block are the core. If rows were released that the contradiction
//! needs, nothing is found, and the core stays empty.

use linpoint_history::{Operation, Symbols, ValueId};
use rustc_hash::FxHashMap;

use super::peel::{self, Item};

/// An operation with its first and last gap; an initial element has no row.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub row: Option<Operation>,
    pub value: ValueId,
    pub pushes: bool,
    pub earliest: u32,
    pub latest: u32,
}

/// Rows that alone cannot be explained, the one that finds no place, and why.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub core: Vec<Operation>,
    pub at: u32,
    pub reason: String,
    /// How many values of the core nobody popped.
    pub left_over: usize,
}

/// The end of time: nothing that is inside then is ever popped.
pub const END: u32 = u32::MAX - 1;

/// Decides what returned before `limit` and explains what is wrong with it, if the entries show it. What is
/// popped later counts as inside for ever: its pop is called after the `limit`, which no covered pop
/// straddles. With pending pops, `taken` is the first gap in which one may take effect: what nobody popped
/// counts as taken then.
pub fn explain(entries: &[Entry], limit: u32, taken: Option<u32>, symbols: &Symbols) -> Option<Explanation> {
    let values = Values { taken: taken.unwrap_or(END), ..Values::of(entries, limit) };
    let mut items = values.items(entries);
    let sorted = items.clone();
    if let Err(stuck) = peel::peel(&mut items, &mut Vec::new(), &mut Vec::new()) {
        return Some(values.stuck(entries, &peel::fewest(&stuck.items), symbols));
    }
    let is_empty = |e: &&Entry| !e.pushes && e.value.is_null() && e.latest < limit;
    let mut empties: Vec<&Entry> = entries.iter().filter(is_empty).collect();
    empties.sort_unstable_by_key(|entry| entry.latest);
    for empty in empties {
        let chain = peel::span(&sorted, empty.earliest, empty.latest);
        if !chain.is_empty() {
            return Some(values.not_empty(entries, empty, &chain, symbols));
        }
    }
    None
}

/// The push and the pop of each value, as places among the entries.
struct Values {
    limit: u32,
    taken: u32,
    pairs: Vec<(usize, Option<usize>)>,
}

impl Values {
    fn of(entries: &[Entry], limit: u32) -> Values {
        let mut pairs = Vec::new();
        let mut by_value: FxHashMap<ValueId, usize> = FxHashMap::default();
        for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.pushes) {
            by_value.insert(entry.value, pairs.len());
            pairs.push((at, None));
        }
        for (at, entry) in entries.iter().enumerate().filter(|(_, e)| !e.pushes && !e.value.is_null()) {
            if let Some(&pair) = by_value.get(&entry.value) {
                pairs[pair].1 = Some(at);
            }
        }
        Values { limit, taken: END, pairs }
    }

    /// The values that are surely inside in some gap, sorted by the end of their push.
    fn items(&self, entries: &[Entry]) -> Vec<Item> {
        let mut items = Vec::new();
        for (tag, &(push, pop)) in (0..).zip(&self.pairs) {
            let push = &entries[push];
            let (mut right, mut last) =
                pop.map_or((self.taken, END), |pop| (entries[pop].earliest, entries[pop].latest));
            if push.latest < self.limit && right > push.latest + 1 {
                if pop.is_some() && last >= self.limit {
                    (right, last) = (END, END);
                }
                items.push(Item { first: push.earliest, left: push.latest, right, last, tag });
            }
        }
        items.sort_unstable_by_key(|item| item.left);
        items
    }

    fn rows(&self, entries: &[Entry], chain: &[Item]) -> Vec<Operation> {
        let of = |item: &Item| {
            let (push, pop) = self.pairs[item.tag as usize];
            [entries[push].row, pop.and_then(|pop| entries[pop].row)]
        };
        chain.iter().flat_map(of).flatten().collect()
    }

    fn left_over(&self, chain: &[Item]) -> usize {
        chain.iter().filter(|item| self.pairs[item.tag as usize].1.is_none()).count()
    }

    fn name(&self, entries: &[Entry], item: &Item, symbols: &Symbols) -> String {
        symbols.value(entries[self.pairs[item.tag as usize].0].value).to_string()
    }

    fn stuck(&self, entries: &[Entry], chain: &[Item], symbols: &Symbols) -> Explanation {
        let first = chain[0];
        let at = first.last;
        let names: Vec<String> = chain.iter().map(|item| self.name(entries, item, symbols)).collect();
        let x = &names[0];
        let reason = match &names[1..] {
            [y] => format!(
                "pop -> {x} is impossible: {y} was pushed after {x}, lay above it and was still inside"
            ),
            rest => format!(
                "pop -> {x} is impossible: with {} the stack was never empty meanwhile, and none of these values can have lain at the bottom",
                listed(rest)
            ),
        };
        Explanation { core: self.rows(entries, chain), at, reason, left_over: self.left_over(chain) }
    }

    fn not_empty(&self, entries: &[Entry], empty: &Entry, chain: &[Item], symbols: &Symbols) -> Explanation {
        let names: Vec<String> = chain.iter().map(|item| self.name(entries, item, symbols)).collect();
        let mut core = self.rows(entries, chain);
        core.extend(empty.row);
        let reason = match &names[..] {
            [x] => format!("pop -> empty is impossible: {x} was inside all the time"),
            _ => format!("pop -> empty is impossible: one of {} was inside all the time", listed(&names)),
        };
        Explanation { core, at: empty.latest, reason, left_over: self.left_over(chain) }
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}
