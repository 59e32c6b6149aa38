//! Cores that start late: from a state that every explanation passes through.
//!
//! The history is decided once more, by the [`crate::frontier`]. It knows the last moment before the failure
//! at which one configuration was left: a state, and the operations that took effect on the way. The others,
//! as far as they were called by the failure, have no order from that state, and they are few. What is
//! allowed to make them fewer is what is allowed for every specification: a cut at a moment (operations open
//! then become pending), and leaving out operations that only look.

use linpoint_history::specs::State;
use linpoint_history::{Builtin, Call, Operation, Spec, Start, Symbols, ValueId};

use crate::engine::{Budget, Stop};
use crate::frontier::{self, Decision, Refutation};

/// What the frontier says about a history.
pub(super) enum Found {
    /// It can be explained.
    Explained,
    /// It cannot.
    Late(Late),
}

/// A core and where it starts.
pub(super) struct Late {
    /// `None`: the initial state.
    pub(super) start: Option<Start>,
    /// A short way to that state.
    pub(super) prefix: Vec<Operation>,
    /// That state.
    pub(super) state: State,
    /// Operations that have no order from there.
    pub(super) core: Vec<Operation>,
}

/// The longest way to a start that is shown.
const LONGEST_PREFIX: usize = 32;
/// So many of the last operations are looked at to find one.
const LONGEST_TAIL: usize = 1024;

/// Decides `rows`, and finds a core with its start if they are wrong.
pub(super) fn find(
    spec: &Builtin,
    symbols: &Symbols,
    rows: &[Operation],
    budget: &Budget,
) -> Result<Found, Stop> {
    let initial = spec.initial();
    let Decision::NotLinearizable(refutation) = frontier::decide(spec, &initial, rows, symbols, budget)?
    else {
        return Ok(Found::Explained);
    };
    let finder = Finder { spec, symbols, budget, state: &refutation.state };
    let mut core = finder.cut(rows, &refutation);
    finder.leave_out_looks(&mut core);
    core.sort_by_key(|op| (op.call, op.ret));
    let mut start = None;
    let mut prefix = Vec::new();
    if !refutation.order.is_empty() {
        let state = refutation.state.clone();
        let shown = spec.show_named(&state, symbols);
        start = Some(Start { state: Some(state), shown, operations: refutation.order.len() as u64 });
        let order: Vec<Operation> = refutation.order.iter().map(|&row| rows[row]).collect();
        prefix = short_way(spec, symbols, &order, &refutation.state).unwrap_or_default();
    }
    Ok(Found::Late(Late { start, prefix, state: refutation.state, core }))
}

struct Finder<'a> {
    spec: &'a Builtin,
    symbols: &'a Symbols,
    budget: &'a Budget,
    state: &'a State,
}

impl Finder<'_> {
    /// Have these operations no order from the start?
    fn is_wrong(&self, rows: &[Operation]) -> bool {
        let decision = frontier::decide(self.spec, self.state, rows, self.symbols, self.budget);
        matches!(decision, Ok(Decision::NotLinearizable(_)))
    }

    /// The operations that are left at the start, cut as early as they are still wrong. The latest cut needed
    /// is where everything open at the failure has returned: the frontier uses no result beyond it.
    fn cut(&self, rows: &[Operation], refutation: &Refutation<State>) -> Vec<Operation> {
        let mut left = vec![true; rows.len()];
        refutation.order.iter().for_each(|&row| left[row] = false);
        let rest: Vec<Operation> =
            rows.iter().zip(left).filter(|(_, left)| *left).map(|(op, _)| *op).collect();
        let failed = rows[refutation.at].ret;
        let open = rest.iter().filter(|op| op.call <= failed && op.ret >= failed && !op.is_pending());
        let mut ends: Vec<i64> = open.map(|op| op.ret).collect();
        ends.sort_unstable();
        ends.dedup();
        let until = |end: i64| -> Vec<Operation> {
            let called = rest.iter().copied().filter(|op| op.call <= end);
            let cut = called.map(|mut op| {
                if op.ret > end {
                    op.ret = Operation::NEVER;
                    op.result = ValueId::NULL;
                }
                op
            });
            cut.filter(|op| !op.is_pending() || !self.only_looks(op)).collect()
        };
        let last = ends.pop().unwrap_or(failed);
        ends.into_iter().map(until).find(|cut| self.is_wrong(cut)).unwrap_or_else(|| until(last))
    }

    /// Leaves out operations that only look, many at a time, then fewer.
    fn leave_out_looks(&self, core: &mut Vec<Operation>) {
        let mut size = core.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            loop {
                let looks: Vec<usize> = (0..core.len()).filter(|&i| self.only_looks(&core[i])).collect();
                if from >= looks.len() || self.budget.check(0).is_err() {
                    break;
                }
                let out = &looks[from..(from + size).min(looks.len())];
                let rest: Vec<Operation> =
                    (0..core.len()).filter(|i| out.binary_search(i).is_err()).map(|i| core[i]).collect();
                if self.is_wrong(&rest) {
                    *core = rest;
                } else {
                    from += size;
                }
            }
            size /= 2;
        }
    }

    fn only_looks(&self, op: &Operation) -> bool {
        let (arg, result) = (self.symbols.value(op.arg), self.symbols.value(op.result));
        let call = Call { op: op.op(), process: op.process(), arg: &arg };
        self.spec.is_read_only(call, (!op.is_pending()).then_some(&result))
    }
}

/// A few operations of `order` that lead from the initial state to `goal`: of its last ones those that are
/// possible one after another from the beginning, without what can be left out.
fn short_way(spec: &Builtin, symbols: &Symbols, order: &[Operation], goal: &State) -> Option<Vec<Operation>> {
    let mut len = 0;
    let mut way = loop {
        let (way, end) = possible(spec, symbols, &order[order.len() - len..]);
        if end == *goal {
            break way;
        }
        if len == order.len() || len >= LONGEST_TAIL {
            return None;
        }
        len = (2 * len).max(1).min(order.len());
    };
    let mut size = way.len().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        while from < way.len() {
            let rest = [&way[..from], &way[(from + size).min(way.len())..]].concat();
            match possible(spec, symbols, &rest) {
                (rest, end) if end == *goal => way = rest,
                _ => from += size,
            }
        }
        size /= 2;
    }
    (way.len() <= LONGEST_PREFIX).then_some(way)
}

/// The operations that are possible, one after another from the beginning, the others left out; and where
/// they lead.
fn possible(spec: &Builtin, symbols: &Symbols, order: &[Operation]) -> (Vec<Operation>, State) {
    let mut state = spec.initial();
    let mut way = order.to_vec();
    way.retain(|op| step(spec, symbols, &state, op).map(|next| state = next).is_some());
    (way, state)
}

/// Operations that never returned have no result to go by.
fn step(spec: &Builtin, symbols: &Symbols, state: &State, op: &Operation) -> Option<State> {
    let (arg, result) = (symbols.value(op.arg), symbols.value(op.result));
    let call = Call { op: op.op(), process: op.process(), arg: &arg };
    if op.is_pending() { None } else { spec.step(state, call, &result) }
}
