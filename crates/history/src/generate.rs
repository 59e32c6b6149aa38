//! Histories that are linearizable by construction, of any length and shape, and the same spoiled provably.
//!
//! A [`Plan`] says what a history should look like; [`generate`] plays it. Processes call, take effect and
//! return at random times (`schedule`); each operation takes effect at one point, uniform between its call
//! and its return, on an object that is run natively (`object`), so a million operations take a fraction of a
//! second and the order of the points explains the history. What an operation is and what it is applied to is
//! decided at its point, when the state is known: nobody can tell, and shares of empties can be met.
//!
//! Rows come out in order of return, pending ones last; nothing is kept but what is open or live (a row with
//! a list in it also leaves that list in the [`Symbols`]). The same plan gives the same history, everywhere
//! and always.
//!
//! [`Spoil`] makes one thing wrong, at a chosen place, and says why no order can explain it (`spoil`).

mod object;
mod schedule;
mod spoil;

use thiserror::Error;

use crate::history::History;
use crate::operation::{KeyId, OpCode, Operation, ProcessId};
use crate::rng::Rng;
use crate::specs::{Builtin, Kind};
use crate::symbols::{Symbols, ValueId};
use crate::value::Value;

use object::{Draw, Object};
use schedule::{Event, Schedule};
pub use spoil::{Flaw, Spoil, Spoiled};

/// What a generated history should look like. Start from [`Plan::new`] and change what matters.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The object; its capacity, its initial contents and its freedom to report "empty" or "full" are
    /// honoured.
    pub spec: Builtin,
    /// Processes that call one operation after another. A process whose operation never returns is replaced
    /// by a new one.
    pub processes: u32,
    /// Operations in all, pending ones and those open throughout included.
    pub operations: u64,
    /// Names the history among all with the same plan.
    pub seed: u64,
    /// Mean duration of an operation divided by the mean gap between two operations of one process. Durations
    /// and gaps are exponential. 10 keeps almost every process inside an operation at any time; 0.1 is almost
    /// sequential.
    pub overlap: f64,
    /// Which values are inserted or written.
    pub values: Values,
    /// The share of operations that insert or write. Collections that are removed from by value (set,
    /// multiset, list, map) remove as often as they insert, and look for the rest.
    pub add_share: f64,
    /// The share of removals that find nothing: an empty queue, stack or priority queue; an absent element of
    /// a set. Where it is not zero, queues and their like are drained from time to time to meet it.
    pub empties: f64,
    /// The share of the rarer operations: `change_key`, `insert_pair`, `append`, `delete` and `cas` of a
    /// key–value store, `len`, `is_empty`. Monitors for distinct values may refuse histories with these.
    pub rare: f64,
    /// The share of operations, anywhere in the history, that never return. Every other one took effect.
    pub pending: f64,
    /// The last this many operations to be called never return: timeouts at the end of a run.
    pub trailing_pending: u64,
    /// Rounds: in each, every process calls once, and no operation returns before all are called. `overlap`
    /// has no meaning then.
    pub bursts: bool,
    /// This many operations, of processes of their own, are called first of all and return last of all.
    pub long_open: u32,
    /// Operations are spread over this many objects, named 0, 1, 2, …; 0: one object without a name.
    pub keys: u32,
}

/// Which values are inserted or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Every inserted or written value is new: integers counted up, in scrambled order for priority queues.
    Distinct,
    /// Integers below this, each as likely. A map has keys below 16 (or 64 with distinct values).
    Repeated(u32),
}

/// Why a plan cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There is nobody to call operations.
    #[error("a history needs at least one process")]
    NoProcess,
    /// Process numbers do not fit.
    #[error(
        "a history has at most {} processes, counting one more for each pending operation",
        Operation::MAX_PROCESS
    )]
    TooManyProcesses,
    /// A share is not a share.
    #[error("`{0}` must lie between 0 and 1")]
    Share(&'static str),
    /// The overlap is not a ratio.
    #[error("`overlap` must be a positive number")]
    Overlap,
    /// Values below zero.
    #[error("repeated values need at least one value")]
    NoValue,
    /// Priorities are compared as small integers.
    #[error("a generated priority queue starts with integers from 0 to 2^30")]
    Priorities,
    /// Distinct values must fit in 31 bits, pairs of them included.
    #[error("a generated history has at most 2^30 operations")]
    TooLong,
    /// Nobody says which operations such an object may be asked for.
    #[error("histories are generated of built-in specifications only")]
    Own,
}

impl Plan {
    /// Four processes, a thousand operations, distinct values, few empties, nothing pending.
    pub fn new(spec: Builtin) -> Plan {
        let add_share = match spec.kind {
            Kind::Set | Kind::Multiset | Kind::List | Kind::Map => 0.3,
            _ => 0.5,
        };
        Plan {
            spec,
            processes: 4,
            operations: 1000,
            seed: 1,
            overlap: 10.0,
            values: Values::Distinct,
            add_share,
            empties: 0.01,
            rare: 0.0,
            pending: 0.0,
            trailing_pending: 0,
            bursts: false,
            long_open: 0,
            keys: 0,
        }
    }

    /// Can this plan be played?
    pub fn check(&self) -> Result<(), PlanError> {
        if self.processes == 0 {
            return Err(PlanError::NoProcess);
        }
        let most = self.trailing_pending as f64 + 2.0 * self.pending * self.operations as f64;
        if f64::from(self.processes) + f64::from(self.long_open) + most > f64::from(Operation::MAX_PROCESS) {
            return Err(PlanError::TooManyProcesses);
        }
        let shares = [
            ("add_share", self.add_share),
            ("empties", self.empties),
            ("rare", self.rare),
            ("pending", self.pending),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(PlanError::Share(name));
            }
        }
        if !(self.overlap > 0.0 && self.overlap.is_finite()) {
            return Err(PlanError::Overlap);
        }
        if self.values == Values::Repeated(0) {
            return Err(PlanError::NoValue);
        }
        if self.operations > 1 << 30 {
            return Err(PlanError::TooLong);
        }
        if self.spec.kind == Kind::Own {
            return Err(PlanError::Own);
        }
        let small = |item: &Value| item.as_int().is_some_and(|n| (0..1 << 30).contains(&n));
        if let (Kind::PriorityQueue | Kind::PriorityQueueMax, Value::List(items)) =
            (self.spec.kind, &self.spec.initial)
            && !items.iter().all(small)
        {
            return Err(PlanError::Priorities);
        }
        Ok(())
    }
}

/// Plays `plan` and hands each row to `emit`, in order of return, pending ones last. With `spoil`, makes one
/// thing wrong and says what.
pub fn generate(
    plan: &Plan,
    spoil: Option<Spoil>,
    symbols: &mut Symbols,
    mut emit: impl FnMut(&Symbols, Operation),
) -> Result<Option<Spoiled>, PlanError> {
    plan.check()?;
    let Some(spoil) = spoil else {
        Player::new(plan, symbols).play(symbols, &mut emit);
        return Ok(None);
    };
    let mut spoiler = spoil::Spoiler::new(plan, spoil, symbols);
    let end =
        Player::new(plan, symbols).play(symbols, &mut |symbols, op| spoiler.pass(symbols, op, &mut emit));
    Ok(Some(spoiler.finish(symbols, end, &mut emit)))
}

/// Plays `plan` into memory.
pub fn history(plan: &Plan, spoil: Option<Spoil>) -> Result<(History, Option<Spoiled>), PlanError> {
    let mut operations = Vec::new();
    let mut symbols = Symbols::new();
    let spoiled = generate(plan, spoil, &mut symbols, |_, op| operations.push(op))?;
    Ok((History { operations, symbols }, spoiled))
}

/// Where a played history ends: the next free stamp and process.
#[derive(Clone, Copy, Debug)]
struct End {
    stamp: i64,
    process: ProcessId,
}

/// An operation on its way from call to return.
#[derive(Clone, Copy, Debug)]
struct Open {
    process: ProcessId,
    call: i64,
    pending: bool,
    what: What,
}

/// What an operation turned out to be at its point.
#[derive(Clone, Copy, Debug)]
struct What {
    op: OpCode,
    arg: ValueId,
    result: ValueId,
    key: KeyId,
}

/// Marks an operation open throughout that has taken effect.
const DONE: u64 = u64::MAX;

struct Player<'a> {
    plan: &'a Plan,
    rng: Rng,
    draw: Draw,
    objects: Vec<(KeyId, Object)>,
    lanes: Vec<Option<Open>>,
    lane_process: Vec<ProcessId>,
    /// Operations open throughout, and after how many points each takes effect.
    long: Vec<(u64, Open)>,
    unanswered: Vec<Operation>,
    stamp: i64,
    points: u64,
    next_process: u32,
}

impl<'a> Player<'a> {
    fn new(plan: &'a Plan, symbols: &mut Symbols) -> Player<'a> {
        let objects = match plan.keys {
            0 => vec![(KeyId::NONE, Object::new(&plan.spec, symbols))],
            keys => (0..keys)
                .map(|k| (symbols.key(&Value::Int(i64::from(k))), Object::new(&plan.spec, symbols)))
                .collect(),
        };
        Player {
            plan,
            rng: Rng::new(plan.seed),
            draw: Draw::new(plan, symbols),
            objects,
            lanes: vec![None; plan.processes as usize],
            lane_process: Vec::new(),
            long: Vec::new(),
            unanswered: Vec::new(),
            stamp: 0,
            points: 0,
            next_process: 0,
        }
    }

    fn play(mut self, symbols: &mut Symbols, emit: &mut impl FnMut(&Symbols, Operation)) -> End {
        self.lane_process = (0..self.plan.processes).map(|_| self.fresh_process(symbols)).collect();
        self.open_throughout(symbols);
        let mut left = self.plan.operations - self.long.len() as u64;
        let mut schedule = Schedule::new(self.plan, &mut self.rng);
        while let Some((lane, event)) = schedule.next(&mut self.rng) {
            match event {
                Event::Call if left == 0 => schedule.retire(),
                Event::Call => {
                    let pending = left <= self.plan.trailing_pending || self.rng.chance(self.plan.pending);
                    left -= 1;
                    self.lanes[lane] = Some(self.call(self.lane_process[lane], pending));
                }
                Event::Point => self.point(lane, symbols),
                Event::Return => self.answer(lane, symbols, emit),
            }
        }
        self.close(symbols, emit)
    }

    fn fresh_process(&mut self, symbols: &mut Symbols) -> ProcessId {
        self.next_process += 1;
        symbols.process(&Value::Int(i64::from(self.next_process - 1)))
    }

    fn tick(&mut self) -> i64 {
        self.stamp += 1;
        self.stamp
    }

    fn call(&mut self, process: ProcessId, pending: bool) -> Open {
        let what = What { op: OpCode(0), arg: ValueId::NULL, result: ValueId::NULL, key: KeyId::NONE };
        Open { process, call: self.tick(), pending, what }
    }

    fn open_throughout(&mut self, symbols: &mut Symbols) {
        let count = u64::from(self.plan.long_open).min(self.plan.operations);
        let rest = self.plan.operations - count;
        for _ in 0..count {
            let process = self.fresh_process(symbols);
            let open = self.call(process, false);
            self.long.push((self.rng.below(rest + 1), open));
        }
        self.long.sort_by_key(|(after, open)| (*after, open.call));
    }

    /// Operations open throughout whose turn has come, then the lane's own, take effect.
    fn point(&mut self, lane: usize, symbols: &mut Symbols) {
        self.long_points(self.points, symbols);
        self.points += 1;
        if let Some(mut open) = self.lanes[lane] {
            open.what = self.take_effect(&open, symbols);
            self.lanes[lane] = Some(open);
        }
    }

    fn long_points(&mut self, upto: u64, symbols: &mut Symbols) {
        for index in 0..self.long.len() {
            let (after, mut open) = self.long[index];
            if after <= upto {
                open.what = self.take_effect(&open, symbols);
                self.long[index] = (DONE, open);
            }
        }
    }

    fn take_effect(&mut self, open: &Open, symbols: &mut Symbols) -> What {
        let index =
            if self.objects.len() == 1 { 0 } else { self.rng.below(self.objects.len() as u64) as usize };
        let (key, object) = &mut self.objects[index];
        // Half of the operations that never answer never take effect either.
        let effect = !open.pending || self.rng.chance(0.5);
        let (op, arg, result) = object.step(&mut self.draw, &mut self.rng, open.process, effect, symbols);
        What { op, arg, result, key: *key }
    }

    fn answer(&mut self, lane: usize, symbols: &mut Symbols, emit: &mut impl FnMut(&Symbols, Operation)) {
        let Some(open) = self.lanes[lane].take() else { return };
        if open.pending {
            self.unanswered.push(row(&open, Operation::NEVER));
            self.lane_process[lane] = self.fresh_process(symbols);
        } else {
            let ret = self.tick();
            emit(symbols, row(&open, ret));
        }
    }

    fn close(mut self, symbols: &mut Symbols, emit: &mut impl FnMut(&Symbols, Operation)) -> End {
        self.long_points(DONE - 1, symbols);
        for (_, open) in std::mem::take(&mut self.long) {
            let ret = self.tick();
            emit(symbols, row(&open, ret));
        }
        self.unanswered.sort_by_key(|op| op.call);
        self.unanswered.iter().for_each(|op| emit(symbols, *op));
        End { stamp: self.tick(), process: self.fresh_process(symbols) }
    }
}

fn row(open: &Open, ret: i64) -> Operation {
    let mut row = Operation::new(open.process, open.what.op);
    (row.call, row.ret, row.key) = (open.call, ret, open.what.key);
    row.arg = open.what.arg;
    row.result = if ret == Operation::NEVER { ValueId::NULL } else { open.what.result };
    row
}
