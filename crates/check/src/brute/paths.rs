//! Brute force as Dragicevic 2011 (section 6.2) has it: walk the graph of "may follow directly" and
//! backtrack, with no memory of dead ends.
//!
//! For each operation two lists are made beforehand: those *parallel* to it, and those that may come *next*:
//! after it, with no other wholly in between. Whatever directly follows an operation in some order is in one
//! of the two. The walk tries the lists in turn; where a candidate was called after some missing operation
//! returned, time is violated and the walk turns back. Complete histories only, as in the text: a pending
//! operation makes it stop.
//!
//! It exists to be compared with: the time it takes grows exponentially with the length of a history whose
//! early choices are decided late.

use linpoint_history::{Call, Operation, Spec, Symbols, Value};

use super::Search;
use crate::engine::{Budget, Stop};

/// Searches for an order of `rows`, all of one object, none pending.
pub fn search<S: Spec>(
    spec: &S,
    rows: &[Operation],
    symbols: &Symbols,
    budget: &Budget,
) -> Result<Search, Stop> {
    if rows.iter().any(Operation::is_pending) {
        return Err(Stop::Unsupported("only complete histories: an operation is pending".to_owned()));
    }
    let graph = Graph::of(rows);
    let values: Vec<(Value, Value)> =
        rows.iter().map(|op| (symbols.value(op.arg), symbols.value(op.result))).collect();
    let mut walk = Walk { rows, graph, done: vec![false; rows.len()], path: Vec::new() };
    let mut states = vec![spec.initial()];
    let mut best = Vec::new();
    let mut steps = 0u64;
    let mut from = 0;
    while walk.path.len() < rows.len() {
        steps += 1;
        if steps.is_multiple_of(1024) {
            budget.check(0)?;
        }
        match walk.candidate(from) {
            Some((place, row)) => {
                let call = Call { op: rows[row].op(), process: rows[row].process(), arg: &values[row].0 };
                let here = &states[states.len() - 1];
                match spec.step(here, call, &values[row].1) {
                    Some(next) => {
                        states.push(next);
                        walk.done[row] = true;
                        walk.path.push((place, row));
                        from = 0;
                    }
                    None => from = place + 1,
                }
            }
            None => {
                if walk.path.len() > best.len() {
                    best = walk.path.iter().map(|&(_, row)| row).collect();
                }
                let Some((place, row)) = walk.path.pop() else { return Ok(Search::NotLinearizable(best)) };
                walk.done[row] = false;
                states.pop();
                from = place + 1;
            }
        }
    }
    Ok(Search::Linearizable(walk.path.into_iter().map(|(_, row)| row).collect()))
}

/// What may directly follow what.
struct Graph {
    /// What may come first.
    first: Vec<usize>,
    /// After each row: those parallel to it, then those that may come next.
    after: Vec<Vec<usize>>,
    /// Rows that each row waits for because of equal stamps within its process; stamps say the rest.
    touching: Vec<Vec<usize>>,
}

impl Graph {
    fn of(rows: &[Operation]) -> Graph {
        let before = |a: usize, b: usize| {
            let (x, y) = (&rows[a], &rows[b]);
            x.ret < y.call || x.process() == y.process() && x.ret == y.call && (x.call, a) < (y.call, b)
        };
        let all = 0..rows.len();
        let minimal = |among: &[usize]| -> Vec<usize> {
            let earliest = among.iter().map(|&row| rows[row].ret).min().unwrap_or(i64::MAX);
            among.iter().copied().filter(|&row| rows[row].call <= earliest).collect()
        };
        let after = |b: usize| {
            let parallel = all.clone().filter(|&a| a != b && !before(a, b) && !before(b, a));
            let later: Vec<usize> = all.clone().filter(|&a| before(b, a)).collect();
            parallel.chain(minimal(&later)).collect()
        };
        let touching = |b: usize| {
            all.clone().filter(|&a| a != b && rows[a].ret == rows[b].call && before(a, b)).collect()
        };
        Graph {
            first: minimal(&all.clone().collect::<Vec<_>>()),
            after: all.clone().map(after).collect(),
            touching: all.clone().map(touching).collect(),
        }
    }
}

struct Walk<'a> {
    rows: &'a [Operation],
    graph: Graph,
    done: Vec<bool>,
    /// The order so far: each row with its place in the list it was taken from.
    path: Vec<(usize, usize)>,
}

impl Walk<'_> {
    /// The first row, at `from` or later in the list after the last one, that may come next.
    fn candidate(&self, from: usize) -> Option<(usize, usize)> {
        let list = match self.path.last() {
            Some(&(_, last)) => &self.graph.after[last],
            None => &self.graph.first,
        };
        let missing = self.rows.iter().zip(&self.done).filter(|(_, done)| !**done);
        let earliest = missing.map(|(row, _)| row.ret).min().unwrap_or(i64::MAX);
        let may = |row: usize| {
            !self.done[row]
                && self.rows[row].call <= earliest
                && self.graph.touching[row].iter().all(|&before| self.done[before])
        };
        list.iter().copied().enumerate().skip(from).find(|&(_, row)| may(row))
    }
}
