//! Making a history wrong in a way that can be proved from a few of its operations, whatever the rest does.
//!
//! The spoiler lets rows pass until the chosen place, keeps a window of rows there, and looks in it for a
//! pattern whose answers can be changed into a contradiction. Each pattern rests on facts that no order can
//! mend: values inserted once, strict real-time order, a counter that never falls. Where the window offers
//! nothing, one more operation is called after the end of the history, with an answer that no state could
//! give.

use rustc_hash::FxHashMap;

use super::{End, Plan, Values};
use crate::operation::{KeyId, OpCode, Operation};
use crate::rng::Rng;
use crate::spec::Spec;
use crate::specs::{Kind, codes};
use crate::symbols::{Symbols, ValueId};
use crate::value::Value;

/// Where and how to make a history wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spoil {
    /// The place, as a share of the history: 0 the beginning, 0.5 the middle, 1 the end.
    pub at: f64,
    /// What to do; `None`: whatever fits, chosen by the plan's seed.
    pub flaw: Option<Flaw>,
}

impl Default for Spoil {
    fn default() -> Spoil {
        Spoil { at: 0.5, flaw: None }
    }
}

/// A way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// Two elements leave in an order their insertions forbid. Queue, stack, priority queues; distinct
    /// values.
    Order,
    /// An element that was inserted once leaves twice. Collections; distinct values.
    Twice,
    /// "Empty" while an element was certainly there. Queue, stack, deque, priority queues; distinct values.
    Empty,
    /// A read shows what was certainly overwritten. Registers, key–value stores, maps and sets with distinct
    /// values; counters.
    Stale,
    /// An answer that nothing in the history accounts for: an element never inserted, a value never written,
    /// a lock given back by a process that does not hold it. Everything; also what the others fall back to.
    Unknown,
}

/// What was made wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoiled {
    /// The way.
    pub flaw: Flaw,
    /// Why no order can explain the history, in one sentence.
    pub reason: String,
    /// The operations that prove it, as they now stand.
    pub proof: Vec<Operation>,
}

/// Rows looked at in one go.
const WINDOW: usize = 4096;

pub(super) struct Spoiler<'a> {
    plan: &'a Plan,
    spoil: Spoil,
    rng: Rng,
    passed: u64,
    /// Insertions and writes of values that are live, by value.
    insertions: FxHashMap<(KeyId, ValueId), Operation>,
    window: Vec<Operation>,
    /// Rows that never returned; they come last.
    unanswered: Vec<Operation>,
    /// A value the history does not have.
    strange: ValueId,
    done: Option<Spoiled>,
    tried: bool,
}

impl<'a> Spoiler<'a> {
    pub(super) fn new(plan: &'a Plan, spoil: Spoil, symbols: &mut Symbols) -> Spoiler<'a> {
        // Generated values are never negative, and this is less than anything the object starts with.
        let strange = symbols.intern_int(least(&plan.spec.initial).min(0) - 1);
        Spoiler {
            plan,
            spoil,
            rng: Rng::new(plan.seed ^ 0x0053_504F_494C),
            passed: 0,
            insertions: FxHashMap::default(),
            window: Vec::new(),
            unanswered: Vec::new(),
            strange,
            done: None,
            tried: false,
        }
    }

    pub(super) fn pass(
        &mut self,
        symbols: &Symbols,
        op: Operation,
        emit: &mut impl FnMut(&Symbols, Operation),
    ) {
        self.passed += 1;
        if op.is_pending() {
            return self.unanswered.push(op);
        }
        if self.tried {
            return emit(symbols, op);
        }
        let start = self.spoil.at.clamp(0.0, 1.0) * self.plan.operations as f64;
        // At the very end, the last rows are as good as any.
        let start = start.min(self.plan.operations.saturating_sub(64) as f64);
        if self.passed as f64 <= start {
            self.remember(&op);
            return emit(symbols, op);
        }
        self.window.push(op);
        if self.window.len() == WINDOW {
            self.try_window(symbols);
            self.window.drain(..).for_each(|op| emit(symbols, op));
        }
    }

    /// Spoils what is left if nothing was spoiled yet, by a further operation if need be.
    pub(super) fn finish(
        mut self,
        symbols: &mut Symbols,
        end: End,
        emit: &mut impl FnMut(&Symbols, Operation),
    ) -> Spoiled {
        if !self.tried {
            self.try_window(symbols);
        }
        self.window.drain(..).for_each(|op| emit(symbols, op));
        let spoiled = match self.done.take() {
            Some(spoiled) => spoiled,
            None => {
                let (op, spoiled) = self.impossible(symbols, end);
                emit(symbols, op);
                spoiled
            }
        };
        self.unanswered.iter().for_each(|op| emit(symbols, *op));
        spoiled
    }

    /// Keeps insertions until their element leaves.
    fn remember(&mut self, op: &Operation) {
        if self.plan.values != Values::Distinct {
            return;
        }
        if self.inserts(op) {
            self.insertions.insert((op.key, op.arg), *op);
        } else if self.removes(op) {
            self.insertions.remove(&(op.key, self.removed(op)));
        }
    }

    fn is_priority_queue(&self) -> bool {
        matches!(self.plan.spec.kind, Kind::PriorityQueue | Kind::PriorityQueueMax)
    }

    fn inserts(&self, op: &Operation) -> bool {
        let code = op.op().0;
        match self.plan.spec.kind {
            Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::PriorityQueueMax => code == 0,
            Kind::Deque => code < 2,
            Kind::Set | Kind::Multiset | Kind::List => code == 0,
            _ => false,
        }
    }

    /// Does it take an element out?
    fn removes(&self, op: &Operation) -> bool {
        let code = op.op().0;
        match self.plan.spec.kind {
            Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::PriorityQueueMax => {
                code == 1 && !op.result.is_null()
            }
            Kind::Deque => code >= 2 && !op.result.is_null(),
            Kind::Set | Kind::Multiset | Kind::List => code == 1 && op.result == ValueId::TRUE,
            _ => false,
        }
    }

    /// Is it a removal by order that found nothing or something?
    fn polls(&self, op: &Operation) -> bool {
        self.removes(op) || matches!(self.plan.spec.kind, Kind::Deque if op.op().0 >= 2) || {
            let ordered = matches!(
                self.plan.spec.kind,
                Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::PriorityQueueMax
            );
            ordered && op.op().0 == 1
        }
    }

    fn by_value(&self) -> bool {
        matches!(self.plan.spec.kind, Kind::Set | Kind::Multiset | Kind::List)
    }

    /// The element a removal took.
    fn removed(&self, op: &Operation) -> ValueId {
        if self.by_value() { op.arg } else { op.result }
    }

    fn set_removed(&mut self, index: usize, value: ValueId) {
        let by_value = self.by_value();
        let op = &mut self.window[index];
        *(if by_value { &mut op.arg } else { &mut op.result }) = value;
    }

    fn try_window(&mut self, symbols: &Symbols) {
        self.tried = true;
        for index in 0..self.window.len() {
            let op = self.window[index];
            if self.plan.values == Values::Distinct && self.inserts(&op) {
                self.insertions.insert((op.key, op.arg), op);
            }
        }
        let mut flaws = match self.spoil.flaw {
            Some(flaw) => vec![flaw],
            None => vec![Flaw::Order, Flaw::Twice, Flaw::Empty, Flaw::Stale],
        };
        while !flaws.is_empty() {
            let flaw = flaws.swap_remove(self.rng.below(flaws.len() as u64) as usize);
            let distinct = self.plan.values == Values::Distinct && self.plan.rare == 0.0;
            self.done = match flaw {
                Flaw::Order if distinct => self.order(symbols),
                Flaw::Twice if distinct => self.twice(symbols),
                Flaw::Empty if distinct && !self.plan.spec.spurious => self.empty(symbols),
                Flaw::Stale if distinct || self.plan.spec.kind == Kind::Counter => self.stale(symbols),
                _ => None,
            };
            if self.done.is_some() {
                return;
            }
        }
        self.done = self.unknown(symbols);
    }

    /// Two rows of the window, of one object, the first before the second in real time, that `fit`. Looks a
    /// little way ahead only: a window has many.
    fn find_pair(&self, fit: impl Fn(&Operation, &Operation) -> bool) -> Option<(usize, usize)> {
        for (i, x) in self.window.iter().enumerate() {
            let later = self.window.iter().enumerate().skip(i + 1).take(256);
            for (j, y) in later.filter(|(_, y)| x.key == y.key && x.precedes(y)) {
                if fit(x, y) {
                    return Some((i, j));
                }
            }
        }
        None
    }

    fn insertion(&self, op: &Operation) -> Option<&Operation> {
        self.insertions.get(&(op.key, self.removed(op)))
    }

    fn order(&mut self, symbols: &Symbols) -> Option<Spoiled> {
        let kind = self.plan.spec.kind;
        let ordered = self.is_priority_queue() || matches!(kind, Kind::Queue | Kind::Stack);
        if !ordered {
            return None;
        }
        // `x` took `a`, later `y` took `b`; exchanged, `b` leaves first.
        let (i, j) = self.find_pair(|x, y| {
            if !self.removes(x) || !self.removes(y) {
                return false;
            }
            let (Some(a), Some(b)) = (self.insertion(x), self.insertion(y)) else { return false };
            match kind {
                Kind::Queue => a.precedes(b),
                Kind::Stack => b.precedes(a) && a.precedes(x),
                Kind::PriorityQueue => a.precedes(x) && b.precedes(x) && x.result < y.result,
                _ => a.precedes(x) && b.precedes(x) && x.result > y.result,
            }
        })?;
        let (x, y) = (self.window[i], self.window[j]);
        let (a, b) = (*self.insertion(&x)?, *self.insertion(&y)?);
        self.window[i].result = y.result;
        self.window[j].result = x.result;
        let (first, second) = (symbols.value(y.result), symbols.value(x.result));
        let reason = match kind {
            Kind::Queue => format!("{second} was enqueued before {first} and left after it"),
            Kind::Stack => format!("{second} was pushed onto {first} and left after it"),
            _ => format!("{first} left while {second}, which goes before it, was there"),
        };
        Some(Spoiled { flaw: Flaw::Order, reason, proof: vec![a, b, self.window[i], self.window[j]] })
    }

    fn twice(&mut self, symbols: &Symbols) -> Option<Spoiled> {
        let (i, j) =
            self.find_pair(|x, y| self.removes(x) && self.removes(y) && self.insertion(x).is_some())?;
        let insertion = *self.insertion(&self.window[i])?;
        let value = self.removed(&self.window[i]);
        self.set_removed(j, value);
        let reason = format!("{} was inserted once and left twice", symbols.value(value));
        Some(Spoiled { flaw: Flaw::Twice, reason, proof: vec![insertion, self.window[i], self.window[j]] })
    }

    /// `x` found something; a later `y` took an element that was in before `x` was called: `x` finds nothing.
    fn empty(&mut self, symbols: &Symbols) -> Option<Spoiled> {
        if self.by_value() {
            return None;
        }
        let (i, j) = self.find_pair(|x, y| {
            self.polls(x) && self.removes(y) && self.insertion(y).is_some_and(|b| b.precedes(x))
        })?;
        let insertion = *self.insertion(&self.window[j])?;
        self.window[i].result = ValueId::NULL;
        let value = symbols.value(self.window[j].result);
        let reason = format!("a removal found nothing while {value} was there");
        Some(Spoiled { flaw: Flaw::Empty, reason, proof: vec![insertion, self.window[i], self.window[j]] })
    }

    fn stale(&mut self, symbols: &Symbols) -> Option<Spoiled> {
        match self.plan.spec.kind {
            Kind::Register | Kind::CasRegister => {
                self.stale_read(codes::register::WRITE, codes::register::READ, symbols)
            }
            Kind::Kv => self.stale_read(codes::kv::PUT, codes::kv::GET, symbols),
            Kind::Counter => self.stale_count(symbols),
            Kind::Set => self.stale_membership(symbols),
            _ => None,
        }
    }

    /// Two writes in real-time order, and a read after both that shows the first.
    fn stale_read(&mut self, write: OpCode, read: OpCode, symbols: &Symbols) -> Option<Spoiled> {
        let (w1, w2) = self.find_pair(|x, y| x.op() == write && y.op() == write)?;
        let (a, b) = (self.window[w1], self.window[w2]);
        let r = self.window.iter().position(|r| r.op() == read && r.key == b.key && b.precedes(r))?;
        self.window[r].result = a.arg;
        let (old, new) = (symbols.value(a.arg), symbols.value(b.arg));
        let reason = format!("a read shows {old} after {new} had overwritten it");
        Some(Spoiled { flaw: Flaw::Stale, reason, proof: vec![a, b, self.window[r]] })
    }

    /// Two reads in real-time order, the second less than the first: nothing is ever subtracted.
    fn stale_count(&mut self, symbols: &Symbols) -> Option<Spoiled> {
        use codes::counter::READ;
        let least = self.plan.spec.initial.as_int().unwrap_or(0);
        let (i, j) = self.find_pair(|x, y| {
            let count = symbols.int(x.result).filter(|n| ValueId::INLINE as i64 > *n && *n > least.max(0));
            x.op() == READ && y.op() == READ && count.is_some()
        })?;
        let shown = self.window[i].result;
        self.window[j].result = ValueId(shown.0 - 1);
        let reason = format!("the counter was read as {} and later as less", symbols.value(shown));
        Some(Spoiled { flaw: Flaw::Stale, reason, proof: vec![self.window[i], self.window[j]] })
    }

    /// A removal, and after it a look that still finds the element, which was added only once.
    fn stale_membership(&mut self, symbols: &Symbols) -> Option<Spoiled> {
        use codes::set::CONTAINS;
        let (i, j) =
            self.find_pair(|x, y| self.removes(x) && self.insertion(x).is_some() && y.op() == CONTAINS)?;
        let (value, add) = (self.window[i].arg, *self.insertion(&self.window[i])?);
        (self.window[j].arg, self.window[j].result) = (value, ValueId::TRUE);
        let reason = format!("{} is found after it was removed for good", symbols.value(value));
        Some(Spoiled { flaw: Flaw::Stale, reason, proof: vec![add, self.window[i], self.window[j]] })
    }

    /// An answer of the window becomes one that no state could give.
    fn unknown(&mut self, symbols: &Symbols) -> Option<Spoiled> {
        let kind = self.plan.spec.kind;
        let tells = |op: &Operation| match kind {
            Kind::Register | Kind::CasRegister | Kind::RmwRegister => op.op() == codes::register::READ,
            Kind::Kv => op.op() == codes::kv::GET,
            Kind::Map => op.op() == codes::map::GET,
            Kind::Counter => op.op() == codes::counter::READ,
            _ => self.removes(op),
        };
        let index = self.window.iter().position(tells)?;
        self.set_removed(index, self.strange);
        let reason = format!("nothing in the history accounts for {}", symbols.value(self.strange));
        Some(Spoiled { flaw: Flaw::Unknown, reason, proof: vec![self.window[index]] })
    }

    /// One more operation, after all that returned, whose answer no state could give.
    fn impossible(&self, symbols: &mut Symbols, end: End) -> (Operation, Spoiled) {
        let strange = symbols.value(self.strange);
        let (name, arg, result, reason) = match self.plan.spec.kind {
            Kind::Register | Kind::CasRegister | Kind::RmwRegister => {
                ("read", Value::Null, strange.clone(), format!("{strange} was never written"))
            }
            Kind::Kv => ("get", Value::Null, strange.clone(), format!("{strange} was never put")),
            Kind::Queue => ("dequeue", Value::Null, strange.clone(), format!("{strange} was never enqueued")),
            Kind::Stack => ("pop", Value::Null, strange.clone(), format!("{strange} was never pushed")),
            Kind::Deque => ("pop_front", Value::Null, strange.clone(), format!("{strange} was never pushed")),
            Kind::PriorityQueue => {
                ("remove_min", Value::Null, strange.clone(), format!("{strange} was never inserted"))
            }
            Kind::PriorityQueueMax => {
                ("remove_max", Value::Null, strange.clone(), format!("{strange} was never inserted"))
            }
            Kind::Set | Kind::Multiset | Kind::List => {
                ("remove", strange.clone(), Value::Bool(true), format!("{strange} was never inserted"))
            }
            Kind::Map => ("get", Value::Int(0), strange.clone(), format!("{strange} was never inserted")),
            Kind::Counter => (
                "read",
                Value::Null,
                strange.clone(),
                format!("nothing was subtracted, yet {strange} is read"),
            ),
            Kind::Lock | Kind::Semaphore => {
                ("release", Value::Null, Value::Null, "a process releases what it never acquired".into())
            }
            Kind::RwLock => {
                ("write_unlock", Value::Null, Value::Null, "a process unlocks what it never locked".into())
            }
            Kind::Snapshot => (
                "scan",
                Value::Null,
                Value::list([strange.clone()].into_iter().chain((1..8).map(|_| Value::Null))),
                format!("{strange} was never written"),
            ),
            Kind::Own => unreachable!("no plan has it"),
        };
        let code = self.plan.spec.signature().find(name).unwrap_or(OpCode(0));
        let mut op = Operation::new(end.process, code);
        (op.call, op.ret) = (end.stamp, end.stamp + 1);
        (op.arg, op.result) = (symbols.intern(&arg), symbols.intern(&result));
        if self.plan.keys > 0 {
            op.key = symbols.key(&Value::Int(0));
        }
        (op, Spoiled { flaw: Flaw::Unknown, reason, proof: vec![op] })
    }
}

/// The least integer anywhere in a value; 0 where there is none.
fn least(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        Value::List(items) => items.iter().map(least).min().unwrap_or(0),
        _ => 0,
    }
}
