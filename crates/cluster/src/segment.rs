//! The operations between two quiet moments of an object, decided whole.
//!
//! Where every operation before a moment surely precedes every one after it, the history is linearizable iff its first part is and its second part is *from a state that the
//! first may end in* (`docs/cluster.md`, "Cuts"). So what must be remembered of the past is a set of states, and it is computed here: every order
//! of a few operations, from every state they may begin in, by sets of operations that took effect (Wing & Gong 1993, with Lowe's 2017 memo of
//! configurations). The order that led to each state is replayed before the state is believed.

use linpoint_history::specs::State;
use linpoint_history::{Builtin, Call, Operation, Spec, Symbols, Value};
use rustc_hash::FxHashSet;

use crate::clock::Clocks;

/// Longest segment that is decided here.
pub const LONGEST: usize = 24;
/// Most configurations that are looked at.
const MOST_CONFIGS: usize = 2000;
/// Most states that are remembered.
pub const MOST_STATES: usize = 16;

/// What became of a segment.
#[derive(Debug, PartialEq, Eq)]
pub enum Ends {
    /// The states it may end in; none: it cannot be explained.
    States(Vec<State>),
    /// Too many operations, configurations or states to say.
    TooMany,
}

/// An operation with what its numbers stand for.
struct Meant {
    arg: Value,
    result: Value,
}

/// Applies one operation, alone, to a state.
pub fn step(spec: &Builtin, state: &State, row: &Operation, symbols: &Symbols) -> Option<State> {
    let (arg, result) = (symbols.value(row.arg), symbols.value(row.result));
    spec.step(state, Call { op: row.op(), process: row.process(), arg: &arg }, &result)
}

/// The states that completed operations may lead to, from any of `starts`.
pub fn explore(
    spec: &Builtin,
    starts: &[State],
    rows: &[Operation],
    clocks: &Clocks,
    symbols: &Symbols,
) -> Ends {
    if rows.len() > LONGEST {
        return Ends::TooMany;
    }
    let meant: Vec<Meant> = rows
        .iter()
        .map(|row| Meant { arg: symbols.value(row.arg), result: symbols.value(row.result) })
        .collect();
    let before: Vec<u32> = (0..rows.len())
        .map(|j| {
            (0..rows.len()).filter(|&i| i != j && clocks.precedes(rows, i, j)).fold(0, |set, i| set | 1 << i)
        })
        .collect();
    let all: u32 = ((1u64 << rows.len()) - 1) as u32;
    let mut seen: FxHashSet<(u32, State)> = FxHashSet::default();
    // A configuration: what took effect, the state, and the way it was reached, as an index into `ways`.
    let mut ways: Vec<(u32, u8)> = Vec::new();
    let mut open: Vec<(u32, State, u32, u32)> = Vec::new();
    for (start, state) in starts.iter().enumerate() {
        if seen.insert((0, state.clone())) {
            open.push((0, state.clone(), u32::MAX, start as u32));
        }
    }
    let mut ends: Vec<State> = Vec::new();
    while let Some((done, state, way, start)) = open.pop() {
        if done == all {
            let order = unwind(&ways, way);
            assert!(
                replays(spec, &starts[start as usize], rows, &meant, &order, clocks) == Some(&state).cloned(),
                "an order of a segment did not replay to the state it was found with"
            );
            ends.push(state);
            if ends.len() > MOST_STATES {
                return Ends::TooMany;
            }
            continue;
        }
        for i in 0..rows.len() {
            if done & 1 << i != 0 || before[i] & !done != 0 {
                continue;
            }
            let call = Call { op: rows[i].op(), process: rows[i].process(), arg: &meant[i].arg };
            let Some(next) = spec.step(&state, call, &meant[i].result) else { continue };
            if seen.len() >= MOST_CONFIGS {
                return Ends::TooMany;
            }
            if seen.insert((done | 1 << i, next.clone())) {
                ways.push((way, i as u8));
                open.push((done | 1 << i, next, ways.len() as u32 - 1, start));
            }
        }
    }
    Ends::States(ends)
}

fn unwind(ways: &[(u32, u8)], mut way: u32) -> Vec<usize> {
    let mut order = Vec::new();
    while let Some(&(before, row)) = ways.get(way as usize) {
        order.push(usize::from(row));
        way = before;
    }
    order.reverse();
    order
}

/// The independent look: each operation once, none after one it surely precedes, each step allowed; the state at the end.
fn replays(
    spec: &Builtin,
    start: &State,
    rows: &[Operation],
    meant: &[Meant],
    order: &[usize],
    clocks: &Clocks,
) -> Option<State> {
    let mut done = vec![false; rows.len()];
    let mut state = start.clone();
    for &i in order {
        if std::mem::replace(&mut done[i], true)
            || (0..rows.len()).any(|j| j != i && !done[j] && clocks.precedes(rows, j, i))
        {
            return None;
        }
        let call = Call { op: rows[i].op(), process: rows[i].process(), arg: &meant[i].arg };
        state = spec.step(&state, call, &meant[i].result)?;
    }
    done.iter().all(|&done| done).then_some(state)
}
