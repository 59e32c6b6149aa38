//! From "this return cannot be explained" to a few operations that a person can look at.
//!
//! A core must be wrong for the same reason the history is: only deletions are allowed after which a correct
//! history would still be correct. These are, for every specification, cutting the history at a moment
//! (operations open then become pending) and leaving out operations that cannot change the state; and for
//! queue, stack and priority queue leaving out every operation on some value, since a legal sequence stays
//! legal without it; for priority queues also single operations on a value (`singles.rs`). The engines
//! deliver a core they can argue for; this module makes it smaller where it can, has it decided once more by
//! brute force, and finds the longest explanation of the rest.

mod singles;
mod start;

use std::time::{Duration, Instant};

use linpoint_history::specs::codes;
use linpoint_history::{
    Builtin, Call, Counterexample, Kind, Operation, Spec, Symbols, Unexplained, Value, ValueId,
};
use rustc_hash::FxHashSet;

use crate::brute::{self, Search};
use crate::decide::CheckError;
use crate::engine::{Budget, Violation};
use crate::feed::Feed;
use crate::metastate::shrink;

/// How long brute force may take over a core.
const BRUTE_FORCE_TIME: Duration = Duration::from_secs(5);
/// How long the frontier may take over a history, where the user set no limit.
const FRONTIER_TIME: Duration = Duration::from_secs(60);
/// Cores larger than this are not made smaller by deletion and search.
const LARGEST_SHRUNK_CORE: usize = 48;
/// A core of so many operations needs no start of its own.
const CORE_WITHOUT_START: usize = 8;

/// Builds the counterexample of a violation, rechecked.
#[allow(clippy::too_many_arguments)]
pub fn build(
    spec: &Builtin,
    symbols: &Symbols,
    feed: &Feed<'_>,
    violation: Violation,
    at: Option<Operation>,
    engine: &str,
    limits: &Budget,
) -> Result<Counterexample, CheckError> {
    let mut core = violation.core;
    if core.is_empty() {
        core = own_value(spec, symbols, feed, at, limits)
            .or_else(|| shrunk(spec, symbols, feed, at, limits))
            .unwrap_or_else(|| beginning(feed, at));
    }
    core.sort_by_key(|op| (op.call, op.ret));
    let budget = patience(limits, BRUTE_FORCE_TIME);
    if core.len() <= LARGEST_SHRUNK_CORE {
        core = smaller(spec, symbols, core, &budget);
    }
    let explained = || {
        let why = format!("the core of {} operations it gave can be explained", core.len());
        Err(CheckError::Bug { engine: engine.to_owned(), why, rows: core.clone() })
    };
    let mut late = None;
    if core.len() > CORE_WITHOUT_START {
        match start::find(spec, symbols, &core, &patience(limits, FRONTIER_TIME)) {
            Ok(start::Found::Explained) => return explained(),
            Ok(start::Found::Late(found)) => late = Some(found),
            Err(_) => {} // Too many configurations, or no time.
        }
    }
    let mut rechecked = late.is_some();
    let mut best = Vec::new();
    let (mut start, mut prefix, mut from) = (None, Vec::new(), spec.initial());
    if let Some(found) = late {
        (start, prefix, from, core) = (found.start, found.prefix, found.state, found.core);
    }
    if !rechecked || core.len() <= LARGEST_SHRUNK_CORE {
        match brute::search_from(spec, from, &core, symbols, &patience(limits, BRUTE_FORCE_TIME)) {
            Ok(Search::NotLinearizable(order)) => (best, rechecked) = (order, true),
            Ok(Search::Linearizable(_)) => {
                let why = format!("the core of {} operations it gave can be explained", core.len());
                return Err(CheckError::Bug { engine: engine.to_owned(), why, rows: core });
            }
            Err(_) => {} // Too large to try every order in the time there is.
        }
    }
    let impossible = impossible(&core, &best, at);
    // A sentence about an operation that is not in the core explains nothing.
    let about_the_core = at.is_none_or(|at| core.contains(&at));
    let reason = if violation.reason.is_empty() || !about_the_core {
        match impossible {
            Some(index) => format!("{} finds no place", sentence(spec, symbols, &core[index])),
            None => "no order of these operations is allowed".to_owned(),
        }
    } else {
        violation.reason
    };
    let found = Unexplained { core, start, prefix, impossible, explained: best, reason };
    Ok(Counterexample::new(found, rechecked))
}

/// So long, but not longer than the user's limits allow.
fn patience(limits: &Budget, time: Duration) -> Budget {
    let deadline = Instant::now() + time;
    let memory = limits.memory_bytes.unwrap_or(usize::MAX).min(2 << 30);
    Budget {
        deadline: Some(limits.deadline.map_or(deadline, |limit| limit.min(deadline))),
        memory_bytes: Some(memory),
        search_bytes: limits.search_bytes,
        ..Budget::unlimited()
    }
}

/// An operation as a sentence names it: `dequeue -> 7 [3,4]`.
pub fn sentence(spec: &Builtin, symbols: &Symbols, op: &Operation) -> String {
    let decl = spec.signature().decl(op.op());
    let mut text = decl.name.to_owned();
    if !op.arg.is_null() {
        text += &format!("({})", symbols.value(op.arg));
    }
    if !op.is_pending() && decl.result != linpoint_history::Shape::Unit {
        text += &format!(" -> {}", symbols.value(op.result));
    }
    if op.is_pending() {
        text + &format!(" [{},..]", op.call)
    } else {
        text + &format!(" [{},{}]", op.call, op.ret)
    }
}

/// What is left of a history in memory after leaving out blocks of matched operations, if that is known for
/// its kind.
fn shrunk(
    spec: &Builtin,
    symbols: &Symbols,
    feed: &Feed<'_>,
    at: Option<Operation>,
    limits: &Budget,
) -> Option<Vec<Operation>> {
    let mut rows = feed.in_memory()?.to_vec();
    rows.extend(feed.pending.iter().map(|p| p.op));
    shrink::shrink(spec, symbols, &rows, at, patience(limits, BRUTE_FORCE_TIME))
}

/// All operations on the value of the failing one, if they are few and wrong by themselves: a collection
/// stays right without all operations on the other values, and what a register never held it cannot show.
fn own_value(
    spec: &Builtin,
    symbols: &Symbols,
    feed: &Feed<'_>,
    at: Option<Operation>,
    limits: &Budget,
) -> Option<Vec<Operation>> {
    let at = at?;
    let value = value_of(&at)?;
    let rows = feed.in_memory()?;
    let all = || rows.iter().copied().chain(feed.pending.iter().map(|p| p.op));
    let own: Vec<Operation> = match spec.kind {
        Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::PriorityQueueMax
            if spec.initial.is_null() && all().all(|op| op.op() != codes::priority_queue::CHANGE_KEY) =>
        {
            // A removal that never answered may have taken anything. That there was no room speaks of other
            // values.
            let taken = |op: &Operation| op.is_pending() && op.arg.is_null();
            let refused = |op: &Operation| !op.is_pending() && op.result == ValueId::FALSE;
            let own = |op: &Operation| value_of(op) == Some(value) && !refused(op) || taken(op);
            all().filter(own).take(LARGEST_SHRUNK_CORE + 1).collect()
        }
        Kind::Register | Kind::CasRegister | Kind::Map if !at.is_pending() && !at.result.is_null() => {
            let shown = symbols.value(at.result);
            let mentions =
                |v: Value| v == shown || matches!(&v, Value::List(items) if items.contains(&shown));
            let written = |op: &Operation| *op != at && mentions(symbols.value(op.arg));
            let answered = matches!(shown, Value::Bool(_)) || mentions(spec.initial.clone());
            if answered || all().any(|op| written(&op)) {
                return None;
            }
            vec![at]
        }
        _ => return None,
    };
    if own.len() > LARGEST_SHRUNK_CORE {
        return None;
    }
    let budget = patience(limits, BRUTE_FORCE_TIME);
    let wrong = matches!(brute::search(spec, &own, symbols, &budget), Ok(Search::NotLinearizable(_)));
    wrong.then_some(own)
}

/// The history up to a moment, operations open then made pending; all of it if no return is named.
fn beginning(feed: &Feed<'_>, at: Option<Operation>) -> Vec<Operation> {
    let rows = feed.in_memory().unwrap_or_default();
    // Engines look ahead: what they say about a return may rest on the results of operations open then. Those
    // must be in the core as they are, so the cut is where the last of them has returned.
    let known = |at: Operation| rows.iter().filter(move |op| op.call <= at.ret).map(|op| op.ret).max();
    let end = at.and_then(known).unwrap_or(i64::MAX);
    rows.iter()
        .copied()
        .chain(feed.pending.iter().map(|p| p.op))
        .filter(|op| op.call <= end)
        .map(|mut op| {
            if op.ret > end {
                op.ret = Operation::NEVER;
                op.result = ValueId::NULL;
            }
            op
        })
        .collect()
}

/// Leaves out what can be left out while the rest is still wrong. Where several errors meet, what goes first
/// decides which of them is left; so it is tried from both ends.
fn smaller(spec: &Builtin, symbols: &Symbols, core: Vec<Operation>, budget: &Budget) -> Vec<Operation> {
    let wrong = |rows: &[Operation]| {
        matches!(brute::search(spec, rows, symbols, budget), Ok(Search::NotLinearizable(_)))
    };
    if !wrong(&core) {
        return core;
    }
    let from_one_end = |mut core: Vec<Operation>, arrange: fn(&mut [Vec<usize>])| {
        loop {
            // What is found by now will do when the time is up.
            if budget.is_late() {
                return core;
            }
            let mut units = units(spec, symbols, &core);
            arrange(&mut units);
            let found = units.into_iter().find_map(|unit| {
                let rest: Vec<Operation> =
                    core.iter().enumerate().filter(|(i, _)| !unit.contains(i)).map(|(_, op)| *op).collect();
                wrong(&rest).then_some(rest)
            });
            match found {
                Some(rest) => core = rest,
                None => return core,
            }
        }
    };
    let first = from_one_end(core.clone(), |_| {});
    let second = from_one_end(core, |units| units.reverse());
    if second.len() < first.len() { second } else { first }
}

/// Sets of operations (indices) that may be left out together.
fn units(spec: &Builtin, symbols: &Symbols, core: &[Operation]) -> Vec<Vec<usize>> {
    let mut units = Vec::new();
    let mut values = FxHashSet::default();
    let by_value = by_value(spec, core);
    for (index, op) in core.iter().enumerate() {
        let (arg, result) = (symbols.value(op.arg), symbols.value(op.result));
        let call = Call { op: op.op(), process: op.process(), arg: &arg };
        let known = (!op.is_pending()).then_some(&result);
        if spec.is_read_only(call, known) {
            units.push(vec![index]);
        } else if by_value
            && let Some(value) = value_of(op)
            && values.insert(value)
        {
            units.push((0..core.len()).filter(|&i| value_of(&core[i]) == Some(value)).collect());
        }
    }
    if by_value {
        units.extend(singles::removable(spec, symbols, core));
    }
    units
}

/// May all operations on one value be left out? Not while a removal with an unknown result is about, and not
/// with a bound.
fn by_value(spec: &Builtin, core: &[Operation]) -> bool {
    use Kind::{Deque, List, Multiset, PriorityQueue, PriorityQueueMax, Queue, Set, Stack};
    let removal_pending = core.iter().any(|op| op.is_pending() && op.arg.is_null());
    let plain = spec.capacity.is_none() && !spec.spurious && spec.initial.is_null();
    let pairs = core.iter().any(|op| match spec.kind {
        PriorityQueue | PriorityQueueMax => op.op() == codes::priority_queue::CHANGE_KEY,
        Multiset => op.op() == codes::set::INSERT_PAIR,
        _ => false,
    });
    let kinds = [Deque, List, Multiset, PriorityQueue, PriorityQueueMax, Queue, Set, Stack];
    kinds.contains(&spec.kind) && plain && !removal_pending && !pairs
}

/// The value an operation puts in, takes out or asks for.
fn value_of(op: &Operation) -> Option<ValueId> {
    if !op.arg.is_null() {
        return Some(op.arg);
    }
    (!op.is_pending() && !op.result.is_null()).then_some(op.result)
}

/// The operation to point at: the one the engine stopped at if it is in the core, or the first to return of
/// those that stayed unexplained.
fn impossible(core: &[Operation], explained: &[usize], at: Option<Operation>) -> Option<usize> {
    let left = |i: &usize| !explained.contains(i) && !core[*i].is_pending();
    let named = at.and_then(|at| core.iter().position(|op| *op == at)).filter(|_| explained.is_empty());
    named.or_else(|| (0..core.len()).filter(left).min_by_key(|&i| core[i].ret))
}
