//! So many threads: every structure that k threads of a client reach, breadth first (Amit 2007, chapters 4 and 5).
//!
//! A structure shows all k threads. Threads may call any of the operations that the client gives them, any number of times; threads with the same operations are
//! interchangeable, and of the structures that differ only in their names one is kept.

use std::collections::VecDeque;

use crate::budget::Budget;
use crate::layout::{Layout, Mask};
use crate::run::{Halt, Steps, Trouble, Ways};
use crate::store::{Domain, Store};
use crate::structure::{IDLE, Structure};

/// What each thread may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Operations, a thread.
    pub threads: Vec<Vec<usize>>,
}

impl Client {
    /// Every thread may call everything.
    pub fn general(layout: &Layout<'_>, threads: usize) -> Client {
        Client { threads: vec![(0..layout.roles.len()).collect(); threads] }
    }
}

/// How an analysis ended.
#[derive(Clone, Debug)]
pub enum End {
    /// Every structure was visited and nothing is wrong.
    Proved,
    /// Something may be wrong, or is not modelled.
    Halt(Box<Halt>),
    /// It was cut short.
    Limit(String),
}

/// What was found, and how.
#[derive(Debug)]
pub struct Found {
    /// How it ended.
    pub end: End,
    /// The structures.
    pub store: Store<()>,
    /// Steps taken between them.
    pub steps: u64,
}

/// Visits every structure.
pub fn analyse(
    steps: &Steps<'_, '_>,
    start: Structure,
    client: &Client,
    domain: Domain,
    budget: &Budget<'_>,
) -> Found {
    let mut search = Search {
        steps,
        client,
        orders: orders(client),
        found: Found { end: End::Proved, store: Store::new(domain), steps: 0 },
        open: VecDeque::new(),
        waiting: Vec::new(),
    };
    search.add(start);
    let mut visited = 0_u64;
    while let Some(id) = search.open.pop_front() {
        visited += 1;
        if visited.is_multiple_of(256)
            && let Some(limit) =
                budget.spent(search.found.store.all.len(), search.open.len(), search.found.store.bytes())
        {
            search.found.end = End::Limit(limit.into());
            break;
        }
        search.waiting[id as usize] = false;
        let s = search.found.store.all[id as usize].clone();
        if let Err(halt) = search.visit(&s) {
            search.found.end = End::Halt(Box::new(halt));
        }
        if !matches!(search.found.end, End::Proved) {
            break;
        }
    }
    search.found
}

/// Does every step from a set of structures stay within it? The separate recheck of a proof.
///
/// # Errors
/// What leads out of it, or goes wrong.
pub fn is_inductive(
    steps: &Steps<'_, '_>,
    start: &Structure,
    client: &Client,
    found: &Found,
) -> Result<(), String> {
    let orders = orders(client);
    let covered = |s: &Structure| {
        found.store.covers(&(), s)
            || orders.iter().any(|order| found.store.covers(&(), &permuted(steps.layout, s, order)))
    };
    if !covered(start) {
        return Err("the initial state is not covered".into());
    }
    for s in &found.store.all {
        let next = successors(steps, client, s).map_err(|halt| trouble(&halt))?;
        if !next.iter().all(covered) {
            return Err("a step leads out of the structures".into());
        }
    }
    Ok(())
}

/// What one step of one thread leads to.
pub(crate) fn successors(
    steps: &Steps<'_, '_>,
    client: &Client,
    s: &Structure,
) -> Result<Vec<Structure>, Halt> {
    let mut out = Vec::new();
    for (thread, ops) in client.threads.iter().enumerate() {
        let pc = s.threads[thread].pc;
        if pc == IDLE {
            steps.calls(s, thread, ops, &mut out)?;
            continue;
        }
        for edge in 0..steps.layout.program.nodes[usize::from(pc)].edges.len() {
            if let Ways::After(after) = steps.edge(s, thread, edge, false, false)? {
                for (next, _) in after {
                    steps.settle(next, thread, &mut out)?;
                }
            }
        }
    }
    Ok(out)
}

struct Search<'a, 'p> {
    steps: &'a Steps<'a, 'p>,
    client: &'a Client,
    /// Orders of threads that change nothing, the plain one first.
    orders: Vec<Vec<usize>>,
    found: Found,
    open: VecDeque<u32>,
    waiting: Vec<bool>,
}

impl Search<'_, '_> {
    fn add(&mut self, s: Structure) {
        let s = self.smallest(s);
        match self.found.store.add(&(), s) {
            Err(_) => self.found.end = End::Limit("more nodes than a structure holds".into()),
            Ok((id, news)) => {
                self.waiting.resize(self.found.store.all.len(), false);
                if news && !self.waiting[id as usize] {
                    self.waiting[id as usize] = true;
                    self.open.push_back(id);
                }
            }
        }
    }

    fn visit(&mut self, s: &Structure) -> Result<(), Halt> {
        let out = successors(self.steps, self.client, s)?;
        self.found.steps += out.len() as u64;
        out.into_iter().for_each(|s| self.add(s));
        Ok(())
    }

    /// The least of the structures that differ only in the names of threads.
    fn smallest(&self, s: Structure) -> Structure {
        let layout = self.steps.layout;
        let mut best = s.clone();
        let mut key = names(&best);
        for order in &self.orders[1..] {
            let other = permuted(layout, &s, order);
            let found = names(&other);
            if found < key {
                (best, key) = (other, found);
            }
        }
        best
    }
}

type Names = (Vec<crate::structure::Thread>, u64, Vec<(bool, Mask)>);

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
        if *scalar != crate::layout::Scalar::Lock {
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

/// Every order of threads in which each place has a thread with the same operations.
fn orders(client: &Client) -> Vec<Vec<usize>> {
    let count = client.threads.len();
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for place in 0..count {
        let mut longer = Vec::new();
        for order in &orders {
            for thread in 0..count {
                if !order.contains(&thread) && client.threads[thread] == client.threads[place] {
                    longer.push([order.as_slice(), &[thread]].concat());
                }
            }
        }
        orders = longer;
    }
    orders
}

/// Every order of so many threads.
pub(crate) fn all_orders(threads: usize) -> Vec<Vec<usize>> {
    orders(&Client { threads: vec![Vec::new(); threads] })
}

/// In words.
pub fn trouble(halt: &Halt) -> String {
    match &halt.trouble {
        Trouble::Alarm(alarm) => alarm.text().into(),
        Trouble::Unsupported(what) => what.clone(),
    }
}
