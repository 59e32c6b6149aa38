//! Linearizability for every client, by trying every set of synchronisations and every order: the judge of
//! [`linearize`](crate::linearize).

use super::axioms::{Candidate, Item};
use crate::event::Kind;
use crate::graph::Key;
use crate::linearize::{Operation, Sequential};
use crate::ordering::Model;

struct Mark {
    operation: Operation,
    thread: usize,
    begin: usize,
    end: Option<usize>,
}

/// Is the graph linearizable for every client? `None` if there are more than so many pairs to combine.
pub fn linearizable<S: Sequential>(graph: &Key, model: Model, object: &S, most_pairs: usize) -> Option<bool> {
    let (candidate, orders) = candidate(graph);
    let marks = marks(&candidate);
    let mut pairs = Vec::new();
    for a in &marks {
        for b in &marks {
            if let Some(end) = a.end
                && a.thread != b.thread
            {
                pairs.push((end, b.begin));
            }
        }
    }
    if pairs.len() > most_pairs {
        return None;
    }
    let mut sets = Sets { candidate, orders, marks, pairs, model, object };
    Some(sets.all_explained(0))
}

struct Sets<'a, S> {
    candidate: Candidate,
    orders: Vec<Vec<usize>>,
    marks: Vec<Mark>,
    pairs: Vec<(usize, usize)>,
    model: Model,
    object: &'a S,
}

impl<S: Sequential> Sets<'_, S> {
    /// Is the present set explained, or not consistent; and are all sets that have pairs from `next` on in
    /// addition? More pairs make no inconsistent set consistent, since they only add to happens-before.
    fn all_explained(&mut self, next: usize) -> bool {
        let Some(fixed) = self.candidate.before_orders() else { return true };
        if !self.candidate.is_consistent(&fixed, &self.orders, self.model) {
            return true;
        }
        let before = self.candidate.orders_for_clients(&fixed, &self.orders, self.model);
        let precedes = |a: &Mark, b: &Mark| a.end.is_some_and(|end| before.has(end, b.begin));
        if !explained(self.object, &self.marks, &precedes, &mut Vec::new(), &self.object.initial()) {
            return false;
        }
        (next..self.pairs.len()).all(|k| {
            self.candidate.clients.push(self.pairs[k]);
            let all = self.all_explained(k + 1);
            self.candidate.clients.pop();
            all
        })
    }
}

/// Does some order explain what is not placed yet?
fn explained<S: Sequential>(
    object: &S,
    marks: &[Mark],
    precedes: &impl Fn(&Mark, &Mark) -> bool,
    placed: &mut Vec<usize>,
    state: &S::State,
) -> bool {
    let left = |placed: &[usize]| (0..marks.len()).filter(|k| !placed.contains(k)).collect::<Vec<_>>();
    if left(placed).iter().all(|&k| marks[k].operation.result.is_none()) {
        return true;
    }
    for k in left(placed) {
        if left(placed).iter().any(|&other| other != k && precedes(&marks[other], &marks[k])) {
            continue;
        }
        let mut next = Vec::new();
        object.step(state, &marks[k].operation, &mut next);
        placed.push(k);
        if next.iter().any(|state| explained(object, marks, precedes, placed, state)) {
            return true;
        }
        placed.pop();
    }
    false
}

/// The graph as a candidate, and its modification orders.
fn candidate(graph: &Key) -> (Candidate, Vec<Vec<usize>>) {
    let mut starts = Vec::new();
    let mut total = 0;
    for thread in &graph.threads {
        starts.push(total);
        total += thread.len();
    }
    let number = |(thread, index): (usize, usize)| starts[thread] + index;
    let mut events = Vec::new();
    for (thread, labels) in graph.threads.iter().enumerate() {
        for (index, label) in labels.iter().enumerate() {
            events.push(Item {
                kind: label.kind,
                ordering: label.ordering,
                exclusive: label.exclusive,
                location: label.location,
                value: label.value,
                thread,
                index,
                source: label.source.map(number),
            });
        }
    }
    let orders =
        graph.orders.iter().map(|(_, order)| order.iter().map(|&name| number(name)).collect()).collect();
    (Candidate { events, threads: graph.threads.len(), clients: Vec::new() }, orders)
}

fn marks(candidate: &Candidate) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for (number, event) in candidate.events.iter().enumerate() {
        match event.kind {
            Kind::Call(operation) => marks.push(Mark {
                operation: Operation { operation, argument: event.value, result: None },
                thread: event.thread,
                begin: number,
                end: None,
            }),
            Kind::Return => {
                if let Some(last) = marks.last_mut() {
                    last.operation.result = Some(event.value);
                    last.end = Some(number);
                }
            }
            _ => {}
        }
    }
    marks
}
