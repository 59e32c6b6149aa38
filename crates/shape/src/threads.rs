//! So many threads: every structure that k threads of a client reach, breadth first (Amit 2007, chapters 4
//! and 5).
//!
//! A structure shows all k threads. Threads may call any of the operations that the client gives them, any
//! number of times; threads with the same operations are interchangeable, and of the structures that differ
//! only in their names one is kept.

use std::collections::VecDeque;
use std::time::Instant;

use crate::budget::Budget;
use crate::layout::Layout;
use crate::run::{Halt, Steps, Trouble, Ways};
use crate::store::{Domain, Store};
use crate::structure::{IDLE, Structure};

pub use crate::symmetry::{Symmetry, permuted};

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
        symmetry: Symmetry::new(client),
        found: Found { end: End::Proved, store: Store::new(domain), steps: 0 },
        open: VecDeque::new(),
        waiting: Vec::new(),
    };
    search.add(start);
    let mut visited = 0_u64;
    while let Some(id) = search.open.pop_front() {
        visited += 1;
        if visited.is_multiple_of(8)
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
/// What leads out of it, or goes wrong; or that the time is up.
pub fn is_inductive(
    steps: &Steps<'_, '_>,
    start: &Structure,
    client: &Client,
    found: &Found,
    until: Option<Instant>,
) -> Result<(), String> {
    let symmetry = Symmetry::new(client);
    let covered = |s: &Structure| symmetry.covers(steps.layout, &found.store, s);
    if !covered(start) {
        return Err("the initial state is not covered".into());
    }
    for s in &found.store.all {
        if until.is_some_and(|until| Instant::now() > until) {
            return Err("the time limit came first".into());
        }
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
    symmetry: Symmetry,
    found: Found,
    open: VecDeque<u32>,
    waiting: Vec<bool>,
}

impl Search<'_, '_> {
    fn add(&mut self, s: Structure) {
        let s = self.symmetry.smallest(self.steps.layout, s);
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
}

/// In words.
pub fn trouble(halt: &Halt) -> String {
    match &halt.trouble {
        Trouble::Alarm(alarm) => alarm.text().into(),
        Trouble::Unsupported(what) => what.clone(),
    }
}
