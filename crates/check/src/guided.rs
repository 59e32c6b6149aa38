//! A search that follows a plan: an order that respects stamps, mended where operations of one process stand
//! in it the wrong way round.
//!
//! Where a clock is coarse an operation is often called at the stamp at which its process's last one
//! returned. The two follow one another, operations of different processes that meet at a stamp are
//! concurrent, and that is no interval order (`docs/soundness.md`, "Touching"). The engines explain a history
//! as if touching operations were concurrent; what they find is the *plan*. This search looks for an order of
//! all operations, of all objects, that respects both stamps and processes:
//!
//! - Each process has one operation that may come next, its *head*. It may come if it was called by the time
//!   of the first missing return.
//! - Heads are tried in the order in which the plan wants something of their process: where the plan's next
//!   operation waits for an earlier one of its process, that one is pulled forward.
//! - What only looks takes effect as soon as it fits, and so does a removal where no value is inserted twice:
//!   nothing is lost by it.
//! - What could not leave in time does not go in (`ahead.rs`), and what would be overwritten before it is
//!   read is not written (`clusters.rs`, `members.rs`).
//! - A dead end is the set of operations done and what the objects hold, by a fingerprint of 128 bits.
//!
//! Where everything was tried there is no order. A plan, good or bad, changes nothing but the time it takes.

mod ahead;
mod clusters;
mod members;
mod needed;
mod state;

use linpoint_history::{Builtin, Kind, Operation, Symbols};
use rustc_hash::FxHashSet;

use self::ahead::Ahead;
use self::clusters::Clusters;
use self::members::Members;
use self::state::{Back, Objects, mix};
use crate::depth_first::links::{Calls, Returns};
use crate::engine::{Budget, Stop};

/// A history of any number of objects.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The completed operations in order of return, those of one process in its order; then those that never
    /// returned.
    pub rows: &'a [Operation],
    /// How many have completed.
    pub completed: usize,
    /// The object of each.
    pub object: &'a [u32],
    /// How many objects there are.
    pub objects: usize,
    /// Rows in the order in which they are wished for; the others come last.
    pub plan: &'a [u32],
    /// Is the plan to be made over from what pairs of operations tell?
    pub makes_over: bool,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// An order of all completed rows, and of some that never returned.
    Order(Vec<u32>),
    /// There is none.
    None,
    /// Patience came to its end.
    GaveUp,
}

/// Looks for an order, in at most `patience` steps back.
pub fn search(
    spec: &Builtin,
    symbols: &Symbols,
    problem: &Problem<'_>,
    patience: u64,
    budget: &Budget,
) -> Result<Found, Stop> {
    Search::new(spec, symbols, problem).run(patience, budget)
}

const NONE: u32 = u32::MAX;

/// An operation in the order so far, and what else could have stood in its place.
#[derive(Clone, Copy, Debug)]
struct Step {
    row: u32,
    back: Back,
    /// How many possibilities there were before it.
    tried: u32,
    /// Need nothing else be tried in its place?
    is_sole: bool,
}

struct Search<'a> {
    rows: &'a [Operation],
    object: &'a [u32],
    completed: u32,
    objects: Objects,
    /// By process: what it does next.
    heads: Vec<u32>,
    /// The next row of the same process.
    after: Vec<u32>,
    /// Rows still missing, in the order of the plan, and each row's place in it.
    plan: Calls,
    place: Vec<u32>,
    returns: Returns,
    ahead: Ahead,
    clusters: Option<Clusters>,
    members: Option<Members>,
    kind: Kind,
    order: Vec<Step>,
    print: u128,
    dead: FxHashSet<u128>,
    /// Processes looked at in the present choice.
    seen: Vec<u64>,
    epoch: u64,
}

impl<'a> Search<'a> {
    fn new(spec: &Builtin, symbols: &Symbols, problem: &Problem<'a>) -> Search<'a> {
        let Problem { rows, completed, object, objects, plan, makes_over } = *problem;
        let processes = rows.iter().map(|row| row.process().0 as usize + 1).max().unwrap_or(0);
        let (mut heads, mut after) = (vec![NONE; processes], vec![NONE; rows.len()]);
        for (index, row) in rows.iter().enumerate().rev() {
            after[index] = std::mem::replace(&mut heads[row.process().0 as usize], index as u32);
        }
        let mut place = vec![NONE; rows.len()];
        let mut whole = plan.to_vec();
        for (position, &row) in plan.iter().enumerate() {
            place[row as usize] = position as u32;
        }
        whole.extend((0..rows.len() as u32).filter(|&row| place[row as usize] == NONE));
        for (position, &row) in whole.iter().enumerate().skip(plan.len()) {
            place[row as usize] = position as u32;
        }
        let ahead = Ahead::new(spec, symbols, rows, completed, object, objects);
        if makes_over && ahead.is_known() {
            whole = needed::plan(&ahead, spec.kind, rows, completed, object, &place);
            whole.iter().enumerate().for_each(|(position, &row)| place[row as usize] = position as u32);
        }
        Search {
            rows,
            object,
            completed: completed as u32,
            objects: Objects::new(spec, symbols, rows, object, objects),
            heads,
            after,
            plan: Calls::in_order(rows.len() as u32, &whole),
            place,
            returns: Returns::new(completed as u32),
            ahead,
            clusters: Clusters::new(spec, symbols, rows, completed, object, objects),
            members: Members::new(spec, symbols, rows, object),
            kind: spec.kind,
            order: Vec::with_capacity(rows.len()),
            print: 0,
            dead: FxHashSet::default(),
            seen: vec![0; processes],
            epoch: 0,
        }
    }

    fn run(mut self, patience: u64, budget: &Budget) -> Result<Found, Stop> {
        let (mut steps, mut steps_back) = (0u64, 0u64);
        // Possibilities at the present place that were tried; `None`: no more are wanted.
        let mut tried = Some(0);
        while self.returns.first() < self.completed {
            steps += 1;
            if steps.is_multiple_of(1024) {
                budget.check(self.bytes())?;
            }
            if let Some(step) = tried.and_then(|tried| self.choose(tried)) {
                self.take(step);
                if self.dead.contains(&(self.print ^ self.objects.print())) {
                    tried = self.take_back();
                } else {
                    tried = Some(0);
                }
                continue;
            }
            self.dead.insert(self.print ^ self.objects.print());
            steps_back += 1;
            if self.order.is_empty() {
                return Ok(Found::None);
            }
            if steps_back > patience {
                return Ok(Found::GaveUp);
            }
            tried = self.take_back();
        }
        Ok(Found::Order(self.order.iter().map(|step| step.row).collect()))
    }

    /// What comes next, after `tried` other possibilities. The object has taken the step already.
    fn choose(&mut self, tried: u32) -> Option<Step> {
        let limit = self.rows[self.returns.first() as usize].ret;
        let mut skip = tried;
        let front = self.plan.first()?;
        if tried == 0
            && self.heads[self.rows[front as usize].process().0 as usize] == front
            && let Some(step) = self.attempt(front, limit, &mut skip, tried)
        {
            return Some(step);
        }
        for process in 0..self.heads.len() {
            let head = self.heads[process];
            if head != NONE
                && self.is_safe(head)
                && let Some(step) = self.attempt(head, limit, &mut 0, tried)
            {
                return Some(step);
            }
        }
        self.epoch += 1;
        let (mut next, mut walked) = (Some(front), 0);
        while let Some(row) = next
            && walked < 4 * self.heads.len() + 8
        {
            (next, walked) = (self.plan.after(row), walked + 1);
            let process = self.rows[row as usize].process().0 as usize;
            if std::mem::replace(&mut self.seen[process], self.epoch) != self.epoch
                && let Some(step) = self.attempt(self.heads[process], limit, &mut skip, tried)
            {
                return Some(step);
            }
        }
        let mut rest: Vec<u32> = Vec::new();
        for (&head, &seen) in self.heads.iter().zip(&self.seen) {
            if head != NONE && seen != self.epoch && self.rows[head as usize].call <= limit {
                rest.push(head);
            }
        }
        rest.sort_unstable_by_key(|&head| self.place[head as usize]);
        rest.into_iter().find_map(|head| self.attempt(head, limit, &mut skip, tried))
    }

    /// Lets a head take its step, if it can and `skip` other possibilities came before.
    fn attempt(&mut self, head: u32, limit: i64, skip: &mut u32, tried: u32) -> Option<Step> {
        let row = self.rows.get(head as usize)?;
        let object = self.object[head as usize];
        if row.call > limit || row.is_pending() && self.objects.only_looks(head as usize, row) {
            return None;
        }
        let rows = self.rows;
        let refuses = self.clusters.as_ref().is_some_and(|clusters| !clusters.admits(rows, object, head))
            || self.members.as_ref().is_some_and(|members| !members.admits(self.kind, rows, head));
        if refuses || !self.ahead.admits(rows, object, head) {
            return None;
        }
        let mut way = 0;
        while let Some(back) = self.objects.step(object, head as usize, row, way) {
            if *skip == 0 {
                return Some(Step { row: head, back, tried, is_sole: self.is_safe(head) });
            }
            self.objects.back(object, row, back);
            *skip -= 1;
            way += 1;
        }
        None
    }

    /// Does an operation lose nothing by taking effect as soon as it fits?
    fn is_safe(&self, row: u32) -> bool {
        let op = &self.rows[row as usize];
        let is_free = || self.ahead.is_free(self.object[row as usize], op);
        !op.is_pending() && (self.objects.only_looks(row as usize, op) || is_free())
    }

    /// Notes a step that the object has taken.
    fn take(&mut self, step: Step) {
        let row = step.row;
        self.heads[self.rows[row as usize].process().0 as usize] = self.after[row as usize];
        self.plan.remove(row);
        if row < self.completed {
            self.returns.remove(row);
        }
        self.ahead.take(self.rows, self.object[row as usize], row);
        if let Some(clusters) = &mut self.clusters {
            clusters.take(self.rows, self.object[row as usize], row);
        }
        if let Some(members) = &mut self.members {
            members.note(self.kind, self.rows, row, true);
        }
        self.print ^= mix(u64::from(row), u64::MAX);
        self.order.push(step);
    }

    /// Takes the last step back; how many possibilities were tried in its place, if more are wanted.
    fn take_back(&mut self) -> Option<u32> {
        let Step { row, back, tried, is_sole } = self.order.pop()?;
        let op = &self.rows[row as usize];
        self.objects.back(self.object[row as usize], op, back);
        self.heads[op.process().0 as usize] = row;
        self.plan.put_back(row);
        if row < self.completed {
            self.returns.put_back(row);
        }
        self.ahead.take_back(self.rows, self.object[row as usize], row);
        if let Some(clusters) = &mut self.clusters {
            clusters.take_back(self.rows, self.object[row as usize], row);
        }
        if let Some(members) = &mut self.members {
            members.note(self.kind, self.rows, row, false);
        }
        self.print ^= mix(u64::from(row), u64::MAX);
        (!is_sole).then_some(tried + 1)
    }

    fn bytes(&self) -> usize {
        self.objects.bytes() + self.dead.capacity() * 17 + self.rows.len() * 96
    }
}
