//! From stamps to an order of events: what the writers of event forms share.
//!
//! Equal stamps are concurrent, so that calls come before returns there; but within a process the return of
//! one operation comes before the call of the next, even at the same stamp. One process may do both at a
//! stamp: its return and its call go between the other calls and the other returns. Two processes that both
//! do cannot be put into a line without saying more than the stamps did, and that is an error.

use std::io;

use crate::history::History;
use crate::operation::ProcessId;
use crate::value::Value;

/// Which end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Call,
    Return,
}

/// A call or a return of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub row: usize,
    pub side: Side,
}

/// The calls and returns of a history in an order that says what the stamps say.
pub(super) fn events(history: &History) -> io::Result<Vec<Placed>> {
    let rows = &history.operations;
    let mut by_process: Vec<usize> = (0..rows.len()).collect();
    by_process.sort_by_key(|&row| (rows[row].process().0, rows[row].ret, rows[row].call));
    // (stamp, rank, process, place within the process, event)
    let mut events: Vec<(i64, u8, u32, usize, Placed)> = Vec::with_capacity(2 * rows.len());
    for (place, &row) in by_process.iter().enumerate() {
        let op = &rows[row];
        let neighbour = |place: Option<usize>| {
            let other = &rows[*by_process.get(place?)?];
            (other.process() == op.process()).then_some(other)
        };
        let follows = neighbour(place.checked_sub(1)).is_some_and(|before| before.ret == op.call);
        let call = Placed { row, side: Side::Call };
        events.push((op.call, u8::from(follows), op.process().0, 2 * place, call));
        if !op.is_pending() {
            let goes_on = neighbour(Some(place + 1)).is_some_and(|after| after.call == op.ret);
            let ret = Placed { row, side: Side::Return };
            events.push((op.ret, 2 - u8::from(goes_on), op.process().0, 2 * place + 1, ret));
        }
    }
    events.sort_unstable_by_key(|&(stamp, rank, process, place, _)| (stamp, rank, process, place));
    let clash = events.windows(2).find(|pair| {
        let ((stamp, rank, process, ..), (other_stamp, other_rank, other, ..)) = (pair[0], pair[1]);
        stamp == other_stamp && rank == 1 && other_rank == 1 && process != other
    });
    match clash {
        None => Ok(events.into_iter().map(|(.., event)| event).collect()),
        Some(pair) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "two processes both return and call at stamp {}; no order of events says that these are concurrent",
                pair[0].0
            ),
        )),
    }
}

/// A name for each process in a file of events that has room for text: its own, or a number where it has none
/// that such a file gives to a client.
pub(super) fn process_names(history: &History) -> Vec<Value> {
    let own = (0..).map(|process| history.symbols.process_name(ProcessId(process)));
    let numbers = process_numbers(history).into_iter().map(Value::Int);
    let is_kept = |name: &Value| matches!(name, Value::Str(text) if &**text != "nemesis");
    own.zip(numbers).map(|(name, number)| if is_kept(&name) { name } else { number }).collect()
}

/// A number for each process, where the format has no room for other names: its own where it has one.
pub(super) fn process_numbers(history: &History) -> Vec<i64> {
    let names = (0..history.symbols.process_count() as u32).map(|process| {
        history.symbols.process_name(ProcessId(process)).as_int().filter(|n| *n < i64::MAX / 2)
    });
    let names: Vec<Option<i64>> = names.collect();
    let free = names.iter().flatten().max().map_or(0, |n| n + 1).max(0);
    let mut numbers = free..;
    names.into_iter().map(|name| name.or_else(|| numbers.next()).unwrap_or(0)).collect()
}
