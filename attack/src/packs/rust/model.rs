//! A plain model of small programs: all states, one step at a time, nothing left out and nothing preferred.
//!
//! Programs are compiled to single steps, each an access that no other thread can come between. A program that can reach a
//! state from which no end can be reached, and in which somebody can go, goes round for ever.

use std::collections::{BTreeSet, HashMap};

use super::waiting::{CELLS, LOCKS, Op, Outcomes, Program};

/// Programs with more states than this are left alone.
const STATES: usize = 60_000;

/// One step of a thread; targets are numbers of steps.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(usize),
    Store(usize, u32),
    Add(usize, u32),
    Sub(usize, u32),
    Cas(usize, u32, u32),
    Lock(usize),
    /// Goes to the target if the lock is held; notes the answer if it says so.
    Try(usize, usize, bool),
    Unlock(usize),
    Poison(usize),
    Poisoned(usize),
    Fill(usize),
    /// Goes to the target if there is nothing behind the lock.
    IfEmpty(usize, usize),
    /// Goes to the target while the location is zero.
    IfZero(usize, usize),
    /// Sets; goes to the target if it was set already.
    Swap(usize),
    Free,
    /// Adds four; goes to the target if something else was there.
    Take(usize, usize),
    Goto(usize),
    /// Gives the lock back and begins to wait.
    Wait(usize),
    /// Goes on once it is woken.
    Woken,
    NotifyOne(usize),
    NotifyAll(usize),
    Park,
    Unpark(usize),
    Send(u32),
    Receive,
    TryReceive,
    /// A sender is gone, or the receiver.
    Hang,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    at: Vec<usize>,
    seen: Vec<Vec<u32>>,
    cells: [u32; CELLS],
    set: bool,
    /// Who holds each lock.
    held: [Option<usize>; LOCKS],
    values: [u32; LOCKS],
    poisoned: [bool; LOCKS],
    /// For each thread the condition variable it waits for, and has not been woken at.
    waits: Vec<Option<usize>>,
    tokens: Vec<bool>,
    messages: Vec<u32>,
    senders: usize,
    receives: bool,
}

/// All that a program can come to; nothing if it has too many states.
pub(super) fn outcomes(program: &Program) -> Option<Outcomes> {
    let code: Vec<Vec<Step>> = program
        .threads
        .iter()
        .enumerate()
        .map(|(thread, ops)| {
            let mut steps = Vec::new();
            compile(ops, thread, &mut steps);
            steps.push(Step::Hang);
            steps
        })
        .collect();
    let count = code.len();
    let first = State {
        at: vec![0; count],
        seen: vec![Vec::new(); count],
        cells: [0; CELLS],
        set: false,
        held: [None; LOCKS],
        values: [0; LOCKS],
        poisoned: [false; LOCKS],
        waits: vec![None; count],
        tokens: vec![false; count],
        messages: Vec::new(),
        senders: count - 1,
        receives: true,
    };
    walk(&code, first)
}

fn walk(code: &[Vec<Step>], first: State) -> Option<Outcomes> {
    let mut numbers = HashMap::from([(first.clone(), 0usize)]);
    let mut work = vec![first];
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut last = BTreeSet::new();
    let mut found = Outcomes::default();
    while let Some(state) = work.pop() {
        let number = numbers[&state];
        let mut next = Vec::new();
        for (thread, steps) in code.iter().enumerate() {
            if let Some(&step) = steps.get(state.at[thread]) {
                go(&state, thread, step, &mut next);
            }
        }
        if next.is_empty() {
            let done = (0..code.len()).all(|thread| state.at[thread] == code[thread].len());
            let end = if done { "ends" } else { "stuck" };
            found.ends.insert(format!("{end} {:?} {:?}", state.seen, state.cells));
            last.insert(number);
        }
        for state in next {
            let known = numbers.len();
            let at = *numbers.entry(state.clone()).or_insert(known);
            if at == known {
                work.push(state);
                before.push(Vec::new());
            }
            before[at].push(number);
        }
        if numbers.len() > STATES {
            return None;
        }
    }
    let mut ends = vec![false; before.len()];
    let mut work: Vec<usize> = last.into_iter().collect();
    while let Some(at) = work.pop() {
        if !std::mem::replace(&mut ends[at], true) {
            work.extend(&before[at]);
        }
    }
    found.for_ever = ends.contains(&false);
    Some(found)
}

/// The states after a step of `thread`: none if it cannot go.
fn go(state: &State, thread: usize, step: Step, next: &mut Vec<State>) {
    let mut after = state.clone();
    after.at[thread] += 1;
    let see = |after: &mut State, value: u32| after.seen[thread].push(value);
    match step {
        Step::Load(cell) => see(&mut after, state.cells[cell]),
        Step::Store(cell, value) => after.cells[cell] = value,
        Step::Add(cell, value) => {
            see(&mut after, state.cells[cell]);
            after.cells[cell] = state.cells[cell].wrapping_add(value);
        }
        Step::Sub(cell, value) => after.cells[cell] = state.cells[cell].wrapping_sub(value),
        Step::Cas(cell, old, new) => {
            see(&mut after, state.cells[cell]);
            if state.cells[cell] == old {
                after.cells[cell] = new;
            }
        }
        Step::Lock(lock) if state.held[lock].is_some() => return,
        Step::Lock(lock) => after.held[lock] = Some(thread),
        Step::Try(lock, target, notes) => {
            let free = state.held[lock].is_none();
            if notes {
                see(&mut after, u32::from(free));
            }
            if free {
                after.held[lock] = Some(thread);
            } else {
                after.at[thread] = target;
            }
        }
        Step::Unlock(lock) => after.held[lock] = None,
        Step::Poison(lock) => after.poisoned[lock] = true,
        Step::Poisoned(lock) => see(&mut after, u32::from(state.poisoned[lock])),
        Step::Fill(lock) => after.values[lock] += 1,
        Step::IfEmpty(lock, target) if state.values[lock] == 0 => after.at[thread] = target,
        Step::IfZero(cell, target) if state.cells[cell] == 0 => after.at[thread] = target,
        Step::IfEmpty(..) | Step::IfZero(..) => {}
        Step::Swap(target) => {
            if std::mem::replace(&mut after.set, true) {
                after.at[thread] = target;
            }
        }
        Step::Free => after.set = false,
        Step::Take(cell, target) => {
            after.cells[cell] = state.cells[cell].wrapping_add(4);
            if state.cells[cell] & 3 != 0 {
                after.at[thread] = target;
            }
        }
        Step::Goto(target) => after.at[thread] = target,
        Step::Wait(lock) => {
            after.held[lock] = None;
            after.waits[thread] = Some(lock);
        }
        Step::Woken if state.waits[thread].is_some() => return,
        Step::Woken => {}
        Step::NotifyOne(lock) => {
            let waiting: Vec<usize> =
                (0..state.at.len()).filter(|&other| state.waits[other] == Some(lock)).collect();
            if !waiting.is_empty() {
                next.extend(waiting.into_iter().map(|other| {
                    let mut after = after.clone();
                    after.waits[other] = None;
                    after
                }));
                return;
            }
        }
        Step::NotifyAll(lock) => {
            for waits in after.waits.iter_mut().filter(|waits| **waits == Some(lock)) {
                *waits = None;
            }
        }
        Step::Park if !state.tokens[thread] => return,
        Step::Park => after.tokens[thread] = false,
        Step::Unpark(other) => after.tokens[other] = true,
        Step::Send(value) => {
            if state.receives {
                after.messages.push(value);
            }
        }
        Step::Receive | Step::TryReceive => {
            let waits = matches!(step, Step::Receive);
            if !state.messages.is_empty() {
                let value = after.messages.remove(0);
                see(&mut after, value);
            } else if state.senders == 0 {
                see(&mut after, 99);
            } else if waits {
                return;
            } else {
                see(&mut after, 98);
            }
        }
        Step::Hang if thread == 0 => after.receives = false,
        Step::Hang => after.senders -= 1,
    }
    next.push(after);
}

fn compile(ops: &[Op], thread: usize, steps: &mut Vec<Step>) {
    for op in ops {
        let from = steps.len();
        match op {
            Op::Load(cell) => steps.push(Step::Load(*cell)),
            Op::Store(cell, value) => steps.push(Step::Store(*cell, *value)),
            Op::Add(cell, value) => steps.push(Step::Add(*cell, *value)),
            Op::Cas(cell, old, new) => steps.push(Step::Cas(*cell, *old, *new)),
            Op::Yield => {}
            Op::Locked(lock, inner) => {
                steps.push(Step::Lock(*lock));
                compile(inner, thread, steps);
                steps.push(Step::Unlock(*lock));
            }
            Op::Try(lock, inner) => {
                steps.push(Step::Try(*lock, 0, true));
                compile(inner, thread, steps);
                steps.push(Step::Unlock(*lock));
                steps[from] = Step::Try(*lock, steps.len(), true);
            }
            Op::Unwind(lock, [inner, held, after]) => {
                steps.push(Step::Lock(*lock));
                compile(inner, thread, steps);
                compile(held, thread, steps);
                steps.extend([Step::Poison(*lock), Step::Unlock(*lock)]);
                compile(after, thread, steps);
            }
            Op::Poisoned(lock) => steps.push(Step::Poisoned(*lock)),
            Op::Fill(lock) => steps.extend([Step::Lock(*lock), Step::Fill(*lock), Step::Unlock(*lock)]),
            Op::Poll(lock, _) => steps.extend([
                Step::Lock(*lock),
                Step::IfEmpty(*lock, from + 4),
                Step::Unlock(*lock),
                Step::Goto(from + 6),
                Step::Unlock(*lock),
                Step::Goto(from),
            ]),
            Op::PollTry(lock, _) => steps.extend([
                Step::Try(*lock, from, false),
                Step::IfEmpty(*lock, from + 4),
                Step::Unlock(*lock),
                Step::Goto(from + 6),
                Step::Unlock(*lock),
                Step::Goto(from),
            ]),
            Op::Spin(cell, _) => steps.push(Step::IfZero(*cell, from)),
            Op::TestAndSet(_) => steps.extend([Step::Swap(from), Step::Free]),
            Op::AddAndTakeBack(cell, _) => steps.extend([
                Step::Take(*cell, from + 3),
                Step::Sub(*cell, 4),
                Step::Goto(from),
                Step::Sub(*cell, 4),
            ]),
            Op::Wait(lock) => steps.extend([
                Step::Lock(*lock),
                Step::IfEmpty(*lock, from + 4),
                Step::Unlock(*lock),
                Step::Goto(from + 7),
                Step::Wait(*lock),
                Step::Woken,
                Step::Goto(from),
            ]),
            Op::NotifyOne(lock) => steps.push(Step::NotifyOne(*lock)),
            Op::NotifyAll(lock) => steps.push(Step::NotifyAll(*lock)),
            Op::Park => steps.push(Step::Park),
            Op::Unpark(other) => steps.push(Step::Unpark(*other)),
            Op::Send(value) if thread != 0 => steps.push(Step::Send(*value)),
            Op::Receive if thread == 0 => steps.push(Step::Receive),
            Op::TryReceive if thread == 0 => steps.push(Step::TryReceive),
            Op::Send(_) | Op::Receive | Op::TryReceive => {}
        }
    }
}
