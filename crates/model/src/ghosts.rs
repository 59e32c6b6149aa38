//! Whose mistake an error is: of the program, or of the ghost code that stands beside it.

use linpoint_lang::Program;
use linpoint_lang::erase::erase;
use linpoint_lang::interp::{Choices, Machine, State};
use linpoint_lang::program::NodeId;

use crate::explore::{Violation, Wrong};
use crate::trace::TraceStep;

/// Does a violation go wrong only because of ghosts? Its last step is taken again, with and without them:
/// whatever way it goes wrong with them, it does not without.
pub fn only_ghosts_go_wrong(program: &Program, threads: usize, violation: &Violation) -> bool {
    let Wrong::Error(kind) = violation.wrong else { return false };
    let [before @ .., last] = violation.steps.as_slice() else { return false };
    let (with, erased) = (Machine::new(program, threads), erase(program));
    let without = Machine::new(&erased, threads);
    let Some(state) = state_after(&with, before) else { return false };
    let Some(pc) = with.pc(&state, last.thread) else { return false };
    let mut only = None;
    for edge in 0..program.node(pc).edges.len() {
        let mut choices = Choices::default();
        loop {
            let taken = with.step(&mut state.clone(), last.thread, edge, &mut choices, &mut Vec::new());
            if taken.is_err_and(|error| error.kind == kind) {
                only = Some(only.unwrap_or(true) && goes_on(&without, &state, last.thread, (pc, edge)));
            }
            if !choices.next() {
                break;
            }
        }
    }
    only == Some(true)
}

fn state_after(machine: &Machine<'_>, steps: &[TraceStep]) -> Option<State> {
    match steps.last() {
        Some(step) => Some(step.state.clone()),
        None => machine.initial().ok(),
    }
}

/// Can the step be taken, whatever is chosen in it?
fn goes_on(machine: &Machine<'_>, state: &State, thread: usize, (pc, edge): (NodeId, usize)) -> bool {
    if machine.pc(state, thread) != Some(pc) {
        return false;
    }
    let mut choices = Choices::default();
    loop {
        if machine.step(&mut state.clone(), thread, edge, &mut choices, &mut Vec::new()).is_err() {
            return false;
        }
        if !choices.next() {
            return true;
        }
    }
}
