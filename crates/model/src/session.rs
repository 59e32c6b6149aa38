//! A run taken one move at a time: to take a counterexample again, and to walk through a program by hand.
//!
//! Nothing is reduced here: every step of every thread is a move of its own, threads keep their names and
//! records their numbers. The rest is as in the search: the same interpreter, the same monitor, the same
//! claims.

use crate::client::Workload;
use crate::explore::{Bounds, Limit, Mode, Reductions, Violation, Wrong, explorer};
use crate::pack::Full;
use crate::schedule::{Move, Schedule};
use crate::steps::{Explorer, Walker};
use crate::trace::{Happened, TraceStep};
use linpoint_lang::Program;
use linpoint_lang::interp::{Choices, Machine, State};

/// What became of a move.
#[derive(Clone, Debug)]
pub enum Moved {
    /// It was taken; this happened.
    Fine(Vec<TraceStep>),
    /// It was taken, and that must not be.
    Wrong(Vec<TraceStep>, Wrong),
    /// It cannot be taken here.
    Impossible,
}

/// A run that is under way.
pub struct Session<'p> {
    explorer: Explorer<'p>,
    full: Full,
    moves: Vec<Move>,
    /// What was before each move.
    before: Vec<Full>,
}

impl<'p> Session<'p> {
    /// The start of all runs of a workload.
    pub fn new(
        program: &'p Program,
        workload: &'p Workload,
        mode: Mode,
        bounds: &Bounds,
    ) -> Result<Session<'p>, Limit> {
        let reductions = Reductions { fusion: false, fixed: false, symmetry: false, data: false };
        let mut explorer = explorer(program, workload, mode, &Bounds { reductions, ..bounds.clone() })?;
        explorer.recording = true;
        let state = explorer.machine.initial().map_err(|error| Limit::CannotStart(error.to_string()))?;
        let made = vec![0; explorer.machine.threads];
        let full = Full { state, monitor: 0, claims: 0, made, fresh: 0 };
        Ok(Session { explorer, full, moves: Vec::new(), before: Vec::new() })
    }

    /// The machine that runs it.
    pub fn machine(&self) -> &Machine<'p> {
        &self.explorer.machine
    }

    /// Where it is.
    pub fn state(&self) -> &State {
        &self.full.state
    }

    /// The moves so far.
    pub fn schedule(&self) -> Schedule {
        Schedule(self.moves.clone())
    }

    /// Everything that can be done next, thread by thread.
    pub fn moves(&mut self) -> Vec<Move> {
        let mut moves = Vec::new();
        for thread in 0..self.explorer.machine.threads {
            match self.explorer.machine.pc(&self.full.state, thread) {
                None => {
                    let calls = self.explorer.calls(&self.full, thread).into_iter();
                    moves.extend(calls.map(|call| Move::Call { thread, op: call.op, args: call.args }));
                }
                Some(pc) => {
                    for edge in 0..self.explorer.machine.program.node(pc).edges.len() {
                        let mut choices = Choices::default();
                        loop {
                            let walker = Walker { full: self.full.clone(), steps: Vec::new() };
                            // What goes wrong can be done.
                            if !matches!(self.explorer.take(&walker, thread, edge, &mut choices), Ok(None)) {
                                moves.push(Move::Step { thread, edge, choices: choices.path() });
                            }
                            if !choices.next() {
                                break;
                            }
                        }
                    }
                }
            }
        }
        moves
    }

    /// Makes a move.
    pub fn take(&mut self, what: &Move) -> Moved {
        let moved = self.try_take(what);
        if !matches!(moved, Moved::Impossible) {
            self.moves.push(what.clone());
        }
        moved
    }

    fn try_take(&mut self, what: &Move) -> Moved {
        if what.thread() >= self.explorer.machine.threads {
            return Moved::Impossible;
        }
        let walker = Walker { full: self.full.clone(), steps: Vec::new() };
        let taken = match what {
            Move::Call { thread, op, args } => {
                let idle = self.explorer.machine.pc(&self.full.state, *thread).is_none();
                let calls = self.explorer.calls(&self.full, *thread);
                let same = calls.into_iter().find(|call| call.op == *op && call.args == *args);
                match same {
                    Some(call) if idle => Ok(Some(self.explorer.called(&self.full, *thread, &call))),
                    _ => return Moved::Impossible,
                }
            }
            Move::Step { thread, edge, choices } => {
                let Some(pc) = self.explorer.machine.pc(&self.full.state, *thread) else {
                    return Moved::Impossible;
                };
                if *edge >= self.explorer.machine.program.node(pc).edges.len() {
                    return Moved::Impossible;
                }
                self.explorer.take(&walker, *thread, *edge, &mut Choices::replay(choices))
            }
        };
        match taken {
            Ok(Some(after)) => {
                self.before.push(std::mem::replace(&mut self.full, after.full));
                Moved::Fine(after.steps)
            }
            Ok(None) => Moved::Impossible,
            Err(bad) => {
                self.before.push(self.full.clone());
                if let Some(last) = bad.steps.last() {
                    self.full.state = last.state.clone();
                }
                Moved::Wrong(bad.steps, bad.wrong)
            }
        }
    }

    /// Takes the last move back; false if there was none.
    pub fn back(&mut self) -> bool {
        let (Some(full), Some(_)) = (self.before.pop(), self.moves.pop()) else { return false };
        self.full = full;
        true
    }

    /// Did every thread make all its calls, and did they return?
    pub fn is_finished(&self) -> bool {
        (0..self.explorer.machine.threads).all(|thread| {
            let idle = self.explorer.machine.pc(&self.full.state, thread).is_none();
            idle && self.explorer.calls(&self.full, thread).is_empty()
        })
    }
}

/// The moves of a violation, found by taking its run again; `None` if that does not lead to the same end.
pub fn schedule_of(
    program: &Program,
    workload: &Workload,
    mode: Mode,
    bounds: &Bounds,
    violation: &Violation,
) -> Option<Schedule> {
    let mut session = Session::new(program, workload, mode, bounds).ok()?;
    let ends_wrong = !matches!(
        violation.wrong,
        Wrong::Deadlock
            | Wrong::Stuck
            | Wrong::Endless
            | Wrong::GoesRound
            | Wrong::GoesRoundAlone
            | Wrong::Waits
    );
    let mut found = None;
    for step in &violation.steps {
        let wanted = named(session.machine(), &step.state);
        match &step.what {
            Happened::Call { op, args } => {
                let call = Move::Call { thread: step.thread, op: *op, args: args.clone() };
                matches!(session.take(&call), Moved::Fine(_)).then_some(())?;
            }
            // It came with the step before.
            Happened::Return { .. } => {}
            Happened::Step => {
                let moves = session.moves().into_iter().filter(|one| one.thread() == step.thread);
                let same = moves.into_iter().find(|one| {
                    let moved = session.take(one);
                    let good = match moved {
                        Moved::Impossible => return false,
                        Moved::Fine(_) => named(session.machine(), session.state()) == wanted,
                        Moved::Wrong(_, wrong) => {
                            found = Some(wrong.clone());
                            wrong == violation.wrong
                        }
                    };
                    if !good {
                        session.back();
                        found = None;
                    }
                    good
                });
                same?;
            }
        }
    }
    (found.as_ref() == Some(&violation.wrong) || !ends_wrong).then(|| session.schedule())
}

/// A state but for where records lie.
fn named(machine: &Machine<'_>, state: &State) -> State {
    let mut state = state.clone();
    machine.canonical(&mut state);
    state
}
