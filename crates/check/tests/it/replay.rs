//! An independent check of an order: every completed operation once, real time respected, accepted by the
//! specification.

use linpoint_check::{OpId, Timeline};
use linpoint_history::{Call, Spec, Symbols};

/// Panics with the reason if `order` does not explain the timeline's operations.
#[track_caller]
pub fn replay<S: Spec>(spec: &S, timeline: &Timeline, symbols: &Symbols, order: &[OpId]) {
    let mut states = vec![spec.initial()];
    let mut seen = std::collections::HashSet::new();
    let mut latest_call = i64::MIN;
    for &id in order {
        assert!(seen.insert(id), "{id:?} stands in the order twice");
        let row = timeline.op(id);
        assert!(row.ret >= latest_call, "{id:?} comes after an operation that was called after its return");
        latest_call = latest_call.max(row.call);
        let (arg, result) = (symbols.value(row.arg), symbols.value(row.result));
        let call = Call { op: row.op(), process: row.process(), arg: &arg };
        let mut next = Vec::new();
        for state in &states {
            if row.is_pending() {
                spec.step_pending(state, call, &mut next);
            } else {
                next.extend(spec.step(state, call, &result));
            }
        }
        next.dedup();
        assert!(!next.is_empty(), "the specification refuses {row:?} at its place");
        states = next;
    }
    let completed = seen.iter().filter(|id| id.as_pending().is_none()).count();
    assert_eq!(completed as u32, timeline.end(), "every completed operation stands in the order");
}
