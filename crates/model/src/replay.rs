//! Runs taken again from their schedules.
//!
//! A search renames records and threads from state to state. A counterexample that is shown is the same run,
//! taken again with nothing renamed, so that records keep their numbers from step to step.

use linpoint_lang::Program;

use crate::client::Workload;
use crate::explore::{Bounds, Explored, Limit, Mode, Verdict, Violation, Wrong, explore};
use crate::schedule::Schedule;
use crate::session::{Moved, Session, schedule_of};
use crate::trace::TraceStep;

/// Where a schedule leads.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What happened.
    pub steps: Vec<TraceStep>,
    /// What is wrong with its end.
    pub wrong: Option<Wrong>,
    /// The first move that cannot be made, if there is one.
    pub impossible: Option<usize>,
}

impl Session<'_> {
    /// Makes all moves of a schedule, as far as they can be made and nothing is wrong.
    pub fn replay(&mut self, schedule: &Schedule) -> Replayed {
        let mut replayed = Replayed { steps: Vec::new(), wrong: None, impossible: None };
        for (index, one) in schedule.0.iter().enumerate() {
            match self.take(one) {
                Moved::Fine(steps) => replayed.steps.extend(steps),
                Moved::Wrong(steps, wrong) => {
                    replayed.steps.extend(steps);
                    replayed.wrong = Some(wrong);
                    return replayed;
                }
                Moved::Impossible => {
                    replayed.impossible = Some(index);
                    return replayed;
                }
            }
        }
        if self.moves().is_empty() && !self.is_finished() {
            replayed.wrong = Some(Wrong::Deadlock);
        }
        replayed
    }
}

/// Takes the run of a violation again, if one was found: its schedule, and in the verdict the steps with
/// nothing renamed.
pub fn retake(
    program: &Program,
    workload: &Workload,
    mode: Mode,
    bounds: &Bounds,
    explored: &mut Explored,
) -> Option<Schedule> {
    let Verdict::Violated(violation) = &mut explored.verdict else { return None };
    let schedule = schedule_of(program, workload, mode, bounds, violation)?;
    if let Ok(mut session) = Session::new(program, workload, mode, bounds) {
        // The steps are the same ones, so the number that repeats is too.
        violation.steps = session.replay(&schedule).steps;
    }
    Some(schedule)
}

/// What one run says.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The run.
    pub replayed: Replayed,
    /// What is wrong with it, if anything is.
    pub violation: Option<Violation>,
}

/// Judges one run.
///
/// Where every step is as it should be, the run may still be one that cannot come to a good end, or that goes
/// on for ever: whether that is so is a matter of all that may come after it, so the search is made again.
///
/// # Errors
/// Where the program cannot be started.
pub fn judge(
    program: &Program,
    workload: &Workload,
    mode: Mode,
    bounds: &Bounds,
    schedule: &Schedule,
) -> Result<Judged, Limit> {
    let replayed = Session::new(program, workload, mode, bounds)?.replay(schedule);
    let violation = match &replayed.wrong {
        _ if replayed.impossible.is_some() => None,
        Some(wrong) => Some(Violation { wrong: wrong.clone(), steps: replayed.steps.clone(), repeats: 0 }),
        None => without_an_end(program, (workload, mode, bounds), schedule),
    };
    Ok(Judged { replayed, violation })
}

fn without_an_end(
    program: &Program,
    (workload, mode, bounds): (&Workload, Mode, &Bounds),
    schedule: &Schedule,
) -> Option<Violation> {
    let explored = explore(program, workload, mode, bounds);
    let violation = explored.verdict.counterexample()?;
    let found = schedule_of(program, workload, mode, bounds, violation)?;
    (found == *schedule).then(|| violation.evidence.clone())
}
