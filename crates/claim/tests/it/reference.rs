//! The slow and obvious evaluator: looks at the complete run, and finds each term by reading the definition
//! (section 3) against the suffix that follows the claim. Shares nothing with the monitor.

use linpoint_claim::{Bottom, Kind, ThreadId, ThreadSet};

use crate::run::{Environment, Event, Term};

/// The value of a term with the events that showed and fixed it, or why it is ⊥.
pub type Value = Result<(u128, u64, u64), Bottom>;

/// The value of a term of the claim at this place of the run.
pub fn evaluate(run: &[Event], claim: usize, term: &Term) -> Value {
    let Event::Claim(claimant, _) = run[claim] else { panic!("no claim") };
    match term {
        Term::First(name, kind, threads) => {
            for statement in statements(run, claim) {
                if let Some((value, seen)) = value_if_matching(&statement, *name, *kind, threads) {
                    return Ok((value, seen, end(&statement)));
                }
            }
            Err(Bottom::NoAccess)
        }
        Term::Last(name, kind, threads, condition) => {
            let mut state = Environment::default();
            run[..claim].iter().for_each(|event| state.step(event));
            if state.holds(condition) {
                return Err(Bottom::ConditionHeldBefore);
            }
            let mut before = Vec::new();
            for statement in statements(run, claim) {
                let mut rose = None;
                for (index, access) in statement.iter().enumerate() {
                    let held = state.holds(condition);
                    state.step(&Event::Access(access.thread, access.name, access.kind, access.value));
                    if !held && state.holds(condition) {
                        rose = Some(index);
                    }
                }
                if state.holds(condition) {
                    let rose = rose.expect("it was false before the statement");
                    before.push(statement[..rose].to_vec());
                    let mut latest_first = before.iter().rev();
                    let matching = latest_first
                        .find_map(|statement| value_if_matching(statement, *name, *kind, threads));
                    let (value, seen) = matching.ok_or(Bottom::NoAccessBeforeCondition)?;
                    return Ok((value, seen, end(&statement)));
                }
                before.push(statement);
            }
            Err(Bottom::ConditionStayedFalse)
        }
        Term::Exit(name) => {
            let mut stack = Vec::new();
            for event in &run[..claim] {
                step_stack(&mut stack, event, claimant);
            }
            let depth = stack.len();
            if depth == 0 {
                return Err(Bottom::NoProcedure);
            }
            for (index, event) in run.iter().enumerate().skip(claim) {
                step_stack(&mut stack, event, claimant);
                if stack.len() < depth {
                    let ended_itself = stack.len() + 1 == depth && matches!(event, Event::Exit(..));
                    return if ended_itself {
                        Ok(latest(run, claim, index, *name))
                    } else {
                        Err(Bottom::ProcedureUnwound)
                    };
                }
            }
            Err(Bottom::ProcedureOpen)
        }
    }
}

/// The value of the variable after the statement, and the access that showed it, if the statement matches.
fn value_if_matching(
    statement: &[Numbered],
    name: char,
    kind: Kind,
    threads: &ThreadSet,
) -> Option<(u128, u64)> {
    let of_variable = || statement.iter().filter(|access| access.name == name);
    let matches = of_variable().any(|access| {
        let right_kind = match kind {
            Kind::Rd => matches!(access.kind, Kind::Rd | Kind::RW),
            Kind::Wr => matches!(access.kind, Kind::Wr | Kind::RW),
            Kind::RW => true,
        };
        right_kind && threads.contains(access.thread)
    });
    matches.then(|| of_variable().map(|access| (access.value, access.number)).next_back()).flatten()
}

/// The value of a variable when the procedure returns, with the event that wrote it (or the claim) and that
/// of the return.
fn latest(run: &[Event], claim: usize, exit: usize, name: char) -> (u128, u64, u64) {
    let mut state = Environment::default();
    let mut seen = number(run, claim);
    for (index, event) in run[..exit].iter().enumerate() {
        state.step(event);
        if let Event::Access(_, other, access, _) = event
            && *other == name
            && access.writes()
            && index > claim
        {
            seen = number(run, index);
        }
    }
    (state.get(name), seen, number(run, exit))
}

fn step_stack(stack: &mut Vec<char>, event: &Event, of: ThreadId) {
    match event {
        Event::Enter(thread, name) if *thread == of => stack.push(*name),
        Event::Exit(thread, name) | Event::Unwind(thread, name) if *thread == of => {
            if let Some(place) = stack.iter().rposition(|open| open == name) {
                stack.truncate(place);
            }
        }
        _ => {}
    }
}

#[derive(Clone)]
pub struct Numbered {
    thread: ThreadId,
    name: char,
    kind: Kind,
    /// Of the variable, after it.
    value: u128,
    number: u64,
    /// The number of the last event of its statement.
    end: u64,
}

/// The statements after the claim: accesses outside blocks, and blocks as a whole.
fn statements(run: &[Event], claim: usize) -> Vec<Vec<Numbered>> {
    let mut statements: Vec<Vec<Numbered>> = Vec::new();
    let mut depth = 0;
    for (index, event) in run.iter().enumerate() {
        match event {
            Event::Begin => {
                depth += 1;
                if depth == 1 && index > claim {
                    statements.push(Vec::new());
                }
            }
            Event::End if depth > 0 => {
                depth -= 1;
                if depth == 0
                    && let Some(last) = statements.last_mut()
                {
                    last.iter_mut().for_each(|access| access.end = number(run, index));
                }
            }
            Event::Access(thread, name, kind, value) if index > claim => {
                let number = number(run, index);
                let (thread, name, kind, value) = (*thread, *name, *kind, *value);
                let access = Numbered { thread, name, kind, value, number, end: number };
                if depth == 0 || statements.is_empty() {
                    statements.push(Vec::new());
                }
                statements.last_mut().expect("one was just begun").push(access);
            }
            _ => {}
        }
    }
    // A block that the run does not finish ends with it.
    if depth > 0
        && let Some(last) = statements.last_mut()
    {
        last.iter_mut().for_each(|access| access.end = number(run, run.len() - 1));
    }
    statements.retain(|statement| !statement.is_empty());
    statements
}

fn end(statement: &[Numbered]) -> u64 {
    statement.last().expect("it has the matching access").end
}

/// The number of an event: blocks have none.
fn number(run: &[Event], index: usize) -> u64 {
    run[..=index].iter().filter(|event| !matches!(event, Event::Begin | Event::End)).count() as u64
}
