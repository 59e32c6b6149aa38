//! A plain enumerator of execution graphs: the judge of the exploration.
//!
//! It tries everything: every value that a read may return, every write of that value as its source, every
//! order of the writes of each location; and asks the axioms, written down as the papers have them, on
//! matrices of booleans. It shares with the exploration the program and the key of a graph, and nothing else.

mod axioms;
mod clients;
mod matrix;
mod traces;

pub use clients::linearizable;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::event::{Kind, Location};
use crate::explore::{Options, explore};
use crate::graph::{Key, Label};
use crate::ordering::Model;
use crate::program::Program;
use axioms::Candidate;
use traces::{Finish, Trace};

/// How much an enumeration may do before it gives up.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Executions of one thread alone.
    pub traces: usize,
    /// Combinations of such executions.
    pub combinations: usize,
    /// Graphs to which the axioms are put.
    pub candidates: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { traces: 3_000, combinations: 300_000, candidates: 400_000 }
    }
}

/// All consistent graphs of the program, blocked ones included. `None`: there is too much to try.
pub fn enumerate<P: Program>(program: &mut P, model: Model, effort: Effort) -> Option<BTreeSet<Key>> {
    let traces = traces::of_threads(program, effort.traces)?;
    let combinations = traces.iter().try_fold(1usize, |product, some| product.checked_mul(some.len()))?;
    if combinations > effort.combinations {
        return None;
    }
    let mut search = Search { model, found: BTreeSet::new(), left: effort.candidates };
    let mut chosen = vec![0; traces.len()];
    loop {
        let combination: Vec<&Trace> = traces.iter().zip(&chosen).map(|(some, &k)| &some[k]).collect();
        if fits(&combination) {
            search.sources(program, &combination)?;
        }
        let advanced = (0..chosen.len()).any(|thread| {
            chosen[thread] = (chosen[thread] + 1) % traces[thread].len();
            chosen[thread] != 0
        });
        if !advanced {
            return Some(search.found);
        }
    }
}

/// Do the threads agree on who was created, and who was joined?
fn fits(combination: &[&Trace]) -> bool {
    let created = |thread: usize| {
        let creates = |trace: &&Trace| trace.events.iter().any(|e| e.kind == Kind::Create(thread as u32));
        combination.iter().any(creates)
    };
    let finished =
        |thread: usize| combination.get(thread).is_some_and(|trace| trace.finish == Finish::Finished);
    combination.iter().enumerate().all(|(thread, trace)| {
        let joins = trace.events.iter().all(|event| match event.kind {
            Kind::Join(other) => finished(other as usize),
            _ => true,
        });
        let end = match trace.finish {
            Finish::NotCreated => !created(thread),
            Finish::Waits(other) => !finished(other),
            Finish::Finished | Finish::Stopped => true,
        };
        let begin = !trace.waits || trace.finish == Finish::NotCreated || created(thread);
        joins && end && begin
    })
}

struct Search {
    model: Model,
    found: BTreeSet<Key>,
    left: usize,
}

impl Search {
    /// Tries every source of every read.
    fn sources<P: Program>(&mut self, program: &P, combination: &[&Trace]) -> Option<()> {
        let mut candidate = Candidate::of(combination);
        let reads: Vec<usize> = candidate.numbers(Kind::Read).collect();
        let mut options = Vec::new();
        for &read in &reads {
            let event = &candidate.events[read];
            let is_source = |&write: &usize| {
                let write = &candidate.events[write];
                write.location == event.location && write.value == event.value
            };
            let mut sources: Vec<Option<usize>> =
                candidate.numbers(Kind::Write).filter(is_source).map(Some).collect();
            if event.location.is_some_and(|location| program.initial(location) == event.value) {
                sources.push(None);
            }
            options.push(sources);
        }
        let mut locations: Vec<Location> =
            candidate.numbers(Kind::Write).filter_map(|write| candidate.events[write].location).collect();
        locations.sort_unstable();
        locations.dedup();
        let orders: Vec<Vec<Vec<usize>>> = locations
            .iter()
            .map(|&location| {
                let here = |&write: &usize| candidate.events[write].location == Some(location);
                permutations(&candidate.numbers(Kind::Write).filter(here).collect::<Vec<_>>())
            })
            .collect();
        let mut chosen: Vec<Option<usize>> = Vec::new();
        for_each_choice(&options, &mut chosen, &mut |sources| {
            self.left = self.left.checked_sub(1)?;
            for (&read, source) in reads.iter().zip(sources) {
                candidate.events[read].source = *source;
            }
            let Some(fixed) = candidate.before_orders() else { return Some(()) };
            for_each_choice(&orders, &mut Vec::new(), &mut |orders| {
                self.left = self.left.checked_sub(1)?;
                if candidate.is_consistent(&fixed, orders, self.model) {
                    self.found.insert(key(&candidate, &locations, orders));
                }
                Some(())
            })
        })
    }
}

/// Calls `tell` with every choice of one option each.
fn for_each_choice<T: Clone>(
    options: &[Vec<T>],
    chosen: &mut Vec<T>,
    tell: &mut impl FnMut(&[T]) -> Option<()>,
) -> Option<()> {
    let Some(next) = options.get(chosen.len()) else { return tell(chosen) };
    for option in next {
        chosen.push(option.clone());
        for_each_choice(options, chosen, tell)?;
        chosen.pop();
    }
    Some(())
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (k, &first) in items.iter().enumerate() {
        let rest: Vec<usize> =
            items.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, &item)| item).collect();
        for mut tail in permutations(&rest) {
            tail.insert(0, first);
            all.push(tail);
        }
    }
    all
}

fn key(candidate: &Candidate, locations: &[Location], orders: &[Vec<usize>]) -> Key {
    let name = |number: usize| (candidate.events[number].thread, candidate.events[number].index);
    let mut threads = vec![Vec::new(); candidate.threads];
    for event in &candidate.events {
        threads[event.thread].push(Label {
            kind: event.kind,
            ordering: event.ordering,
            exclusive: event.exclusive,
            location: event.location,
            value: event.value,
            source: event.source.map(name),
        });
    }
    let orders = locations
        .iter()
        .zip(orders)
        .map(|(&location, order)| (location, order.iter().map(|&write| name(write)).collect()))
        .collect();
    Key { threads, orders }
}

/// Where the exploration and the enumeration differ.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// Graphs that the exploration does not meet.
    pub missing: Vec<Key>,
    /// Graphs that it should not meet.
    pub extra: Vec<Key>,
    /// How many graphs it met more than once.
    pub repeated: usize,
    /// Executions that led to no graph.
    pub dead: u64,
}

/// Does an exploration meet exactly the graphs that the enumeration finds, each once? `Ok` with how many
/// there are, and `None` if they are too many to enumerate.
pub fn agrees<P: Program>(program: &mut P, options: &Options) -> Option<Result<usize, Box<Disagreement>>> {
    let expected = enumerate(program, options.model, Effort::default())?;
    let mut met = Vec::new();
    let report = explore(program, options, |graph, _| {
        met.push(graph.key());
        if met.len() > 2 * expected.len() + 1000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let all: BTreeSet<Key> = met.iter().cloned().collect();
    let repeated = met.len() - all.len();
    if all == expected && repeated == 0 && report.dead == 0 {
        return Some(Ok(expected.len()));
    }
    Some(Err(Box::new(Disagreement {
        missing: expected.difference(&all).cloned().collect(),
        extra: all.difference(&expected).cloned().collect(),
        repeated,
        dead: report.dead,
    })))
}
