//! Threads that may call the same are interchangeable: of the structures that differ only in which of them is
//! which, one is kept.
//!
//! Which one: threads are sorted by what a structure says of each alone. That leaves a choice only among
//! threads of which it says the same; these are tried in every order, as long as there are few of them.
//! Keeping two structures where one would do costs time and nothing else, so more orders than [`MOST_ORDERS`]
//! are never looked at, however many threads there are.

use crate::layout::{Layout, Mask, Scalar};
use crate::store::Store;
use crate::structure::{Structure, Thread};
use crate::threads::Client;

/// More orders of threads than this are not tried.
const MOST_ORDERS: usize = 24;

/// Which threads of a client are interchangeable.
#[derive(Clone, Debug)]
pub struct Symmetry {
    /// Threads with the same operations.
    classes: Vec<Vec<usize>>,
}

/// What a structure says of a thread alone: where it is, which locks it holds, and its names.
type Alone = (Thread, Vec<usize>, Vec<(Mask, bool, Mask)>);

impl Symmetry {
    /// Of a client.
    pub fn new(client: &Client) -> Symmetry {
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for (thread, ops) in client.threads.iter().enumerate() {
            match classes.iter_mut().find(|class| client.threads[class[0]] == *ops) {
                Some(class) => class.push(thread),
                None => classes.push(vec![thread]),
            }
        }
        Symmetry { classes }
    }

    /// The one that is kept of the structures that differ only in the names of threads.
    pub(crate) fn smallest(&self, layout: &Layout<'_>, s: Structure) -> Structure {
        let orders = self.orders(layout, &s).0.into_iter().map(|order| permuted(layout, &s, &order));
        orders.min_by_key(names).unwrap_or(s)
    }

    /// Does a structure of a proof cover this one, whichever thread is which?
    pub(crate) fn covers(&self, layout: &Layout<'_>, store: &Store<()>, s: &Structure) -> bool {
        if store.covers(&(), s) {
            return true;
        }
        let (orders, _) = self.orders(layout, s);
        orders.iter().any(|order| store.covers(&(), &permuted(layout, s, order)))
    }

    /// Orders that sort the threads, and whether these are all.
    fn orders(&self, layout: &Layout<'_>, s: &Structure) -> (Vec<Vec<usize>>, bool) {
        let alone: Vec<Alone> = (0..s.threads.len()).map(|thread| alone(layout, s, thread)).collect();
        let mut sorted: Vec<usize> = (0..s.threads.len()).collect();
        let mut ties: Vec<Vec<usize>> = Vec::new();
        for class in &self.classes {
            let mut members = class.clone();
            members.sort_by(|a, b| alone[*a].cmp(&alone[*b]));
            for (place, thread) in class.iter().zip(&members) {
                sorted[*place] = *thread;
            }
            let places: Vec<(usize, usize)> = class.iter().copied().zip(members).collect();
            for tie in places.chunk_by(|a, b| alone[a.1] == alone[b.1]) {
                // Threads of which nothing is said are the same in every order.
                if tie.len() > 1 && !(alone[tie[0].1].1.is_empty() && alone[tie[0].1].2.is_empty()) {
                    ties.push(tie.iter().map(|(place, _)| *place).collect());
                }
            }
        }
        let mut orders = vec![sorted];
        for tie in ties {
            let few = |ways: &Vec<Vec<usize>>| orders.len() * ways.len() <= MOST_ORDERS;
            let Some(ways) = permutations(tie.len()).filter(few) else { return (orders, false) };
            let again = |order: &Vec<usize>| {
                let with = |way: &Vec<usize>| {
                    let mut next = order.clone();
                    for (place, from) in tie.iter().zip(way) {
                        next[*place] = order[tie[*from]];
                    }
                    next
                };
                ways.iter().map(with).collect::<Vec<_>>()
            };
            orders = orders.iter().flat_map(again).collect();
        }
        (orders, true)
    }

    /// Are these all the orders in which a structure may be kept?
    pub(crate) fn is_whole(&self, layout: &Layout<'_>, s: &Structure) -> bool {
        self.orders(layout, s).1
    }
}

fn alone(layout: &Layout<'_>, s: &Structure, thread: usize) -> Alone {
    let own = layout.thread_bits(thread);
    let others = (0..s.threads.len()).fold(0, |mask, other| mask | layout.thread_bits(other));
    let at = layout.threads_from + thread as u32 * layout.width;
    let mut names: Vec<(Mask, bool, Mask)> = s
        .nodes
        .iter()
        .filter(|node| node.mask & own != 0)
        .map(|node| ((node.mask & own) >> at, node.many, node.mask & !others))
        .collect();
    names.sort_unstable();
    let scalars = layout.global_scalar.iter().flatten().enumerate();
    let held = scalars.filter(|(_, (shift, scalar))| {
        *scalar == Scalar::Lock && (s.globals >> shift & 15) as usize == thread + 1
    });
    (s.threads[thread], held.map(|(index, _)| index).collect(), names)
}

type Names = (Vec<Thread>, u64, Vec<(bool, Mask)>);

fn names(s: &Structure) -> Names {
    (s.threads.clone(), s.globals, s.nodes.iter().map(|node| (node.many, node.mask)).collect())
}

/// Thread `order[i]` becomes thread i.
pub fn permuted(layout: &Layout<'_>, s: &Structure, order: &[usize]) -> Structure {
    let mut new = s.clone();
    new.threads = order.iter().map(|&old| s.threads[old]).collect();
    let all: Mask = (0..order.len()).fold(0, |mask, thread| mask | layout.thread_bits(thread));
    let base = layout.thread_bits(0) >> layout.threads_from;
    let at = |thread: usize| layout.threads_from + thread as u32 * layout.width;
    for node in &mut new.nodes {
        let old = node.mask;
        node.mask &= !all;
        for (place, &thread) in order.iter().enumerate() {
            node.mask |= (old >> at(thread) & base) << at(place);
        }
    }
    for (shift, scalar) in layout.global_scalar.iter().flatten() {
        if *scalar != Scalar::Lock {
            continue;
        }
        let holder = (s.globals >> shift & 15) as usize;
        if holder > 0 && holder <= order.len() {
            let place = order.iter().position(|&thread| thread + 1 == holder).unwrap_or(0);
            new.globals = new.globals & !(15 << shift) | (place as u64 + 1) << shift;
        }
    }
    // Masks changed, so the order of nodes may have.
    let _ = new.canon(layout);
    new
}

/// Every order of so many things, if there are not too many.
pub(crate) fn permutations(count: usize) -> Option<Vec<Vec<usize>>> {
    if (1..=count).product::<usize>() > MOST_ORDERS {
        return None;
    }
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..count {
        let longer = |order: &Vec<usize>| {
            let rest = (0..count).filter(|next| !order.contains(next));
            rest.map(|next| [order.as_slice(), &[next]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    Some(all)
}
