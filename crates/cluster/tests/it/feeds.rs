//! Histories in memory as sources that deliver as they like.

use std::collections::VecDeque;
use std::sync::Arc;

use linpoint_cluster::progress::Progress;
use linpoint_cluster::report::Outcome;
use linpoint_cluster::run::{Feeds, Job, Named};
use linpoint_cluster::source::{Feed, Pulled};
use linpoint_cluster::wire::{About, Wire};
use linpoint_history::history::return_order;
use linpoint_history::rng::Rng;
use linpoint_history::{Diagnostic, History, KeyId, Operation, Symbols, Value};

/// Rows in chunks of random lengths, with pauses.
pub struct Moody {
    rows: VecDeque<Operation>,
    pending: Vec<Operation>,
    symbols: Symbols,
    rng: Rng,
    longest: u64,
    /// Rows after which it cannot be read on.
    fails: Option<usize>,
    /// Does it know its keys, and how many rows it has?
    knows: Option<u64>,
}

impl Moody {
    pub fn new(mut rows: Vec<Operation>, symbols: Symbols, seed: u64, fails: Option<usize>) -> Moody {
        rows.sort_by_key(return_order);
        let completed = rows.partition_point(|row| !row.is_pending());
        let mut pending = rows.split_off(completed);
        pending.sort_by_key(|row| std::cmp::Reverse(row.call));
        let mut rng = Rng::new(seed);
        let longest = 1 + rng.below(60);
        Moody { rows: rows.into(), pending, symbols, rng, longest, fails, knows: None }
    }

    /// As [`Moody::new`], with symbols of its own: it knows its keys, and no others.
    pub fn knowing(rows: Vec<Operation>, symbols: &Symbols, seed: u64, fails: Option<usize>) -> Moody {
        let (mut own, mut renamed) = (Symbols::new(), Vec::new());
        for row in rows {
            let mut other = Operation::new(own.process(&symbols.process_name(row.process())), row.op());
            (other.call, other.ret) = (row.call, row.ret);
            (other.arg, other.result) =
                (own.intern(&symbols.value(row.arg)), own.intern(&symbols.value(row.result)));
            if row.key != KeyId::NONE {
                other.key = own.key(&symbols.key_name(row.key));
            }
            renamed.push(other);
        }
        let knows = Some(renamed.len() as u64);
        Moody { knows, ..Moody::new(renamed, own, seed, fails) }
    }
}

impl Feed for Moody {
    fn pull(&mut self, rows: &mut Vec<Operation>) -> Result<Pulled, Diagnostic> {
        if self.rng.chance(0.04) {
            return Ok(Pulled::Idle);
        }
        if let Some(left) = &mut self.fails {
            *left = left.saturating_sub(self.longest as usize);
            if *left == 0 {
                return Err(Diagnostic::new("T000", "cannot be read on", ""));
            }
        }
        let count = (1 + self.rng.below(self.longest) as usize).min(self.rows.len());
        rows.extend(self.rows.drain(..count));
        let floor = self.rows.iter().map(|row| row.call).min().unwrap_or(i64::MAX);
        while let Some(row) = self.pending.pop_if(|row| row.call < floor) {
            rows.push(row);
        }
        Ok(Pulled::Rows { floor })
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn total(&self) -> Option<u64> {
        self.knows
    }

    fn knows_keys(&self) -> bool {
        self.knows.is_some()
    }
}

/// How a history is delivered.
#[derive(Clone, Debug, Default)]
pub struct Split {
    pub sources: usize,
    pub workers: usize,
    pub seed: u64,
    pub epsilon: i64,
    /// Do sources know their keys, all of them?
    pub known: bool,
    /// Sources cannot be read on after so many rows.
    pub fails: Option<usize>,
    /// Are the others read on then?
    pub keep_going: bool,
    pub progress: Option<Progress>,
}

/// The source of each process.
pub fn homes(history: &History, split: &Split) -> Vec<usize> {
    let mut rng = Rng::new(split.seed);
    (0..history.symbols.process_count()).map(|_| rng.below(split.sources as u64) as usize).collect()
}

/// Runs a history as several sources; each process is of one of them.
pub fn run(history: &History, spec: &str, initial: Option<Value>, split: &Split) -> Outcome {
    let homes = homes(history, split);
    let mut parts = vec![Vec::new(); split.sources];
    for row in &history.operations {
        parts[homes[row.process().0 as usize]].push(*row);
    }
    let (symbols, spec, own) = (history.symbols.clone(), spec.to_owned(), split.clone());
    let split = split.clone();
    let feeds: Feeds = Arc::new(move |worker| {
        let mine = parts.iter().enumerate().filter(|(part, _)| part % split.workers == worker);
        let feed = |part: usize, rows: &Vec<Operation>| match split.known {
            true => Moody::knowing(rows.clone(), &symbols, split.seed + part as u64, split.fails),
            false => Moody::new(rows.clone(), symbols.clone(), split.seed + part as u64, split.fails),
        };
        let named = |(part, rows): (usize, &Vec<Operation>)| Named {
            about: About {
                name: format!("part {part}"),
                spec: spec.clone(),
                initial: initial.clone().map(Wire),
                epsilon: split.epsilon,
            },
            feed: Box::new(feed(part, rows)),
        };
        Ok(mine.map(named).collect())
    });
    let (workers, progress, keep_going) = (own.workers, own.progress.clone(), own.keep_going);
    Job { workers, progress, keep_going, ..Job::new(feeds) }.run().expect("a run in one process ends")
}
