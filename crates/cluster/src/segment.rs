//! The operations between two quiet moments of an object, decided whole.
//!
//! Where every operation before a moment surely precedes every one after it, the history is linearizable iff
//! its first part is and its second part is *from a state that the first may end in* (`docs/cluster.md`,
//! "Cuts"). So what must be remembered of the past is a set of states, and it is computed here: every order
//! of a few operations, from every state they may begin in ([`linpoint_check::orders`]). The order that led
//! to each state is replayed before the state is believed.

use std::ops::ControlFlow;

use linpoint_check::orders::{Event, RowsQuestion, Walked, walk};
use linpoint_history::specs::State;
use linpoint_history::{Builtin, Call, Operation, Spec, Symbols};

use crate::clock::Clocks;

/// Longest segment that is decided here.
pub const LONGEST: usize = 24;
/// Most configurations that are come to.
const MOST_CONFIGS: u64 = 2000;
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
    let precedes = |i: usize, j: usize| clocks.precedes(rows, i, j);
    let question = RowsQuestion::new(spec, rows, symbols, precedes);
    let mut ends: Vec<State> = Vec::new();
    let walked = walk(&question, starts.iter().cloned(), |event| match event {
        // After the deadline a specification of the user's own says nothing any more: not what it said before.
        Event::Step(_) | Event::Explained(_) if spec.ran_out_of_time() => ControlFlow::Break(()),
        Event::Step(spent) if spent.arrivals > MOST_CONFIGS => ControlFlow::Break(()),
        Event::Explained(way) => {
            let order: Vec<usize> = way.order().collect();
            let (start, end) = (way.states().next(), way.end());
            let replayed = start.and_then(|start| replays(spec, start, rows, symbols, &order, clocks));
            if spec.ran_out_of_time() {
                return ControlFlow::Break(());
            }
            assert!(
                replayed.is_some() && replayed.as_ref() == end,
                "an order of a segment did not replay to the state it was found with"
            );
            ends.extend(replayed);
            if ends.len() > MOST_STATES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        Event::Step(_) | Event::Refused { .. } | Event::End(_) => ControlFlow::Continue(()),
    });
    match walked {
        Walked::Whole if spec.ran_out_of_time() => Ends::TooMany,
        Walked::Whole => Ends::States(ends),
        Walked::Ended => Ends::TooMany,
    }
}

/// The independent look: each operation once, none after one it surely precedes, each step allowed; the state
/// at the end.
fn replays(
    spec: &Builtin,
    start: &State,
    rows: &[Operation],
    symbols: &Symbols,
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
        state = step(spec, &state, &rows[i], symbols)?;
    }
    done.iter().all(|&done| done).then_some(state)
}
