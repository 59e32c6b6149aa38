//! `linpoint::explore(|| …)`: one program, written by hand, under every schedule.
//!
//! The program is a closure that is run again and again; it creates what it needs, starts threads with
//! [`crate::thread`], shares through [`crate::sync`] and [`crate::cell`], and asserts. What is found: a panic, a
//! deadlock, a livelock, threads left behind, a data race, a claim that fails.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use linpoint_sched::explore::{Coverage as Walked, Covered, Found, Plan, Search, Seen};
use linpoint_sched::strategy::Strategy;
use linpoint_sched::strategy::replay::Replay;
use linpoint_sched::{Ending, Execution, Failure, Limits, Run, ThreadId, Trace, explore as sched};

use crate::check::fingerprint;
use crate::claims::Claims;
use crate::counterexample::{FailingRun, is_of_memory};
use crate::memory::{Memory, PLAIN_MEMORY};
use crate::promise::{Promise, REMEDIES};
use crate::relevant::relevant;
use crate::report::{unwatched_line, whims, whims_note};
use crate::show;
use crate::token::{self, Guided, Token, TokenError};
use crate::verdict::{Verdict, verdict};
use crate::view::{Material, View};
use crate::weak::{self, GraphToken};

/// Runs `program` under every schedule, and panics with the counterexample if something goes wrong, or if 60 s were not
/// enough for every schedule.
///
/// # Panics
/// If a schedule fails, or if there are too many of them: [`exploration`] has settings for that.
#[track_caller]
pub fn explore<F: Fn() + Sync>(program: F) -> Explored {
    exploration().run(program)
}

/// An exploration with settings: `linpoint::exploration().time_limit(…).run(|| …)`.
pub fn exploration() -> Exploration {
    let plan = Plan { time: Some(Duration::from_secs(60)), ..Plan::default() };
    Exploration { plan, memory: Memory::Sc, workers: 1, page: None, as_far_as_it_goes: false }
}

/// How to explore a program.
#[derive(Clone, Debug)]
pub struct Exploration {
    plan: Plan,
    memory: Memory,
    workers: usize,
    page: Option<PathBuf>,
    as_far_as_it_goes: bool,
}

/// What came of exploring a program.
#[derive(Debug)]
pub struct Explored {
    /// What was covered. Under a weak memory model its runs are execution graphs.
    pub walked: Walked,
    /// What memory may do.
    pub memory: Memory,
    /// Execution graphs in which a thread took too many steps, and was cut short.
    pub cut: u64,
    /// What became of the claims in these executions.
    pub claims: Claims,
    /// How many failures without a reason there could be in an execution.
    pub spurious: u32,
    /// What is wrong, if anything was found.
    pub counterexample: Option<FailingRun>,
}

impl Explored {
    /// `holds` only if every schedule was run; `violated` only if the schedule shown was run again and failed again. What
    /// cannot be explored ([`FailingRun::refused`]) is `unknown`.
    pub fn verdict(&self) -> Verdict<'_, Walked> {
        let is_whole = self.walked.covered == Covered::Every;
        verdict(self.counterexample.as_ref(), &self.walked, is_whole)
    }
}

impl Explored {
    /// What was covered under a weak memory model.
    fn graphs(&self, f: &mut fmt::Formatter<'_>, whims: &str) -> fmt::Result {
        let (verdict, graphs) = (self.verdict().kind(), self.walked.runs);
        match self.walked.covered {
            Covered::Every => write!(f, "{verdict}: nothing wrong in every execution ({graphs} graphs)")?,
            _ if self.walked.random => write!(f, "{verdict}: nothing wrong in {graphs} random executions")?,
            _ => write!(f, "{verdict}: nothing wrong in {graphs} executions")?,
        }
        if self.cut > 0 {
            write!(f, ", {} of them cut short, because a thread went on for too long", self.cut)?;
        }
        write!(f, ", {}{whims}{PLAIN_MEMORY}", self.memory)
    }
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.counterexample {
            Some(counterexample) => write!(f, "{counterexample}"),
            None => {
                let verdict = self.verdict().kind();
                let whims = whims(self.spurious);
                if self.memory != Memory::Sc {
                    return self.graphs(f, &whims);
                }
                write!(
                    f,
                    "{verdict}: nothing wrong in {}, memory sequentially consistent{whims}",
                    self.walked
                )?;
                if self.claims.made > 0 {
                    write!(f, "\n{}", self.claims)?;
                }
                f.write_str(&unwatched_line(self.walked.unwatched))?;
                Ok(())
            }
        }
    }
}

impl Exploration {
    /// What memory may do (sequentially consistent unless set).
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// How the schedules are walked (the best way unless set).
    pub fn search(mut self, search: Search) -> Self {
        self.plan.search = search;
        self
    }

    /// Every schedule with at most so many preemptions, and no others.
    pub fn preemptions(self, bound: u32) -> Self {
        self.search(Search::Preemptions(bound))
    }

    /// Stop after this long (60 s unless set).
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.plan.time = Some(limit);
        self
    }

    /// Stop after so many executions.
    pub fn executions(mut self, runs: u64) -> Self {
        self.plan.runs = Some(runs);
        self
    }

    /// The seed of what is random.
    pub fn seed(mut self, seed: u64) -> Self {
        self.plan.seed = seed;
        self
    }

    /// How many OS threads explore (one unless set), where the search can be shared: `Dfs`, `BoundedDfs` and the random
    /// ones. The program then runs on several of them at a time, so it must keep nothing in statics.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// What bounds a single execution.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.plan.limits = limits;
        self
    }

    /// Something may fail without a reason, where std allows that, so many times in an execution (never unless set): a
    /// `compare_exchange_weak`, `park`, or a wait for a condition variable, which then ends without a notification.
    pub fn spurious(mut self, failures: u32) -> Self {
        self.plan.limits.spurious = failures;
        self
    }

    /// Writes the page of what is found to this file, before anything panics.
    pub fn page(mut self, file: impl Into<PathBuf>) -> Self {
        self.page = Some(file.into());
        self
    }

    /// Lets [`Exploration::run`] pass with what could be covered in the time given, or by a random search. What that was
    /// is returned. Without this, less than every schedule does not pass.
    pub fn as_far_as_it_goes(mut self) -> Self {
        self.as_far_as_it_goes = true;
        self
    }

    /// Explores, and panics with the counterexample if there is one, and also if there is none but not everything was
    /// covered: every schedule, or every schedule within the bound on preemptions of a search that has one.
    ///
    /// # Panics
    /// If a schedule fails, or if not all was covered that was promised, unless [`Exploration::as_far_as_it_goes`].
    #[track_caller]
    pub fn run<F: Fn() + Sync>(&self, program: F) -> Explored {
        let explored = self.report(program);
        if let Some(counterexample) = &explored.counterexample {
            panic!("{counterexample}");
        }
        if let Some(why) = self.broken(&explored) {
            panic!("{why}");
        }
        explored
    }

    /// Why an exploration that found nothing wrong is not to pass; nothing if it is.
    fn broken(&self, explored: &Explored) -> Option<String> {
        if explored.walked.runs == 0 {
            return Some(format!("{explored}\nnothing was run: no time was given, or no executions"));
        }
        let promise = Promise::of(self.plan.search);
        if self.as_far_as_it_goes || promise.is_kept(explored.walked.covered) {
            return None;
        }
        let mut text = format!("{explored}\n{promise}");
        if promise != Promise::Nothing {
            text.push_str(", and that was not done in the time given");
        }
        if let Covered::Preemptions(bound) = explored.walked.covered {
            text.push_str(&format!("\nkept would be: .preemptions({bound})"));
        }
        text.push_str(REMEDIES);
        Some(text)
    }

    /// Explores, and returns what was found and what was covered.
    #[must_use = "it may say `violated` or `unknown`: look at it, or call `run`, which panics"]
    pub fn report<F: Fn() + Sync>(&self, program: F) -> Explored {
        linpoint_sched::must_be_outside();
        let mut explored = match self.memory {
            Memory::Sc => self.schedules(&program),
            Memory::Rc11 => self.graphs(&program, None),
        };
        if let Some(file) = &self.page {
            let written = std::fs::write(file, explored.page());
            if let Some(found) = &mut explored.counterexample {
                found.notes.push(page_note(file, written));
            }
        }
        explored
    }

    /// Explores execution graphs, up to the one of that number if there is one.
    fn graphs<F: Fn() + Sync>(&self, program: &F, only: Option<u64>) -> Explored {
        let name = fingerprint(std::any::type_name::<F>());
        let mut found = weak::explore(program, &self.plan, self.memory, name, only);
        if let (Some(counterexample), None) = (&mut found.counterexample, only)
            && let Some(Ok(token)) = GraphToken::read(&counterexample.token)
        {
            let again = weak::explore(program, &self.plan, self.memory, name, Some(token.graph));
            counterexample.rechecked =
                again.counterexample.is_some_and(|again| again.headline == counterexample.headline);
        }
        Explored {
            walked: found.walked,
            memory: self.memory,
            cut: found.cut,
            claims: Claims::default(),
            spurious: self.plan.limits.spurious,
            counterexample: found.counterexample,
        }
    }

    /// Explores schedules.
    fn schedules<F: Fn() + Sync>(&self, program: &F) -> Explored {
        let claims = Mutex::new(Claims::default());
        let visitor = |_worker: usize| {
            |seen: Seen<'_>| {
                if seen.run.claims && !matches!(seen.run.ending, Ending::Failed(_)) {
                    claims.lock().unwrap_or_else(PoisonError::into_inner).add(&seen.claims);
                }
                ControlFlow::Continue(())
            }
        };
        let mut walked = match self.workers {
            1 => sched::explore(program, &self.plan, &mut visitor(0)),
            workers => sched::explore_in_parallel(program, &self.plan, workers, &visitor),
        };
        let claims = claims.into_inner().unwrap_or_else(PoisonError::into_inner);
        let counterexample = walked.found.take().map(|found| {
            let found = self.with_fewer_preemptions(program, found);
            self.draw(program, &found)
        });
        let spurious = self.plan.limits.spurious;
        Explored { walked, memory: self.memory, cut: 0, claims, spurious, counterexample }
    }

    /// The failing schedule of `token` again: for a debugger. Panics with the counterexample if it still fails.
    ///
    /// # Errors
    /// If the token cannot be used here.
    ///
    /// # Panics
    /// If the schedule still fails.
    #[track_caller]
    pub fn replay<F: Fn() + Sync>(&self, token: &str, program: F) -> Result<(), TokenError> {
        if let Some(counterexample) = self.replay_report(token, program)? {
            panic!("{counterexample}");
        }
        Ok(())
    }

    /// As [`Exploration::replay`], without the panic.
    ///
    /// # Errors
    /// If the token cannot be used here.
    pub fn replay_report<F: Fn() + Sync>(
        &self,
        token: &str,
        program: F,
    ) -> Result<Option<FailingRun>, TokenError> {
        if let Some(token) = GraphToken::read(token) {
            let token = token?;
            if token.program.program != fingerprint(std::any::type_name::<F>()) {
                return Err(TokenError::OtherProgram);
            }
            let memory = if self.memory == Memory::Sc { Memory::Rc11 } else { self.memory };
            let weakly = Exploration { memory, ..self.clone() };
            return Ok(weakly.graphs(&program, Some(token.graph)).counterexample);
        }
        let token: Token = token.parse()?;
        if token.program != fingerprint(std::any::type_name::<F>()) {
            return Err(TokenError::OtherProgram);
        }
        let mut guided = Guided::new(token.turns.clone());
        let (failure, trace, run) = self.observe(&program, &mut guided);
        let notes = if guided.exact { Vec::new() } else { vec![token::CHANGED.to_owned()] };
        Ok(failure.map(|failure| self.counterexample(&failure, &trace, token, run, guided.exact, notes)))
    }

    /// Looks for the same kind of failure with fewer preemptions.
    fn with_fewer_preemptions(&self, program: &dyn Fn(), found: Found) -> Found {
        const TIME: Duration = Duration::from_millis(800);
        let deadline = Instant::now() + TIME;
        let (_, _, Outline { preemptions, .. }) =
            self.observe(program, &mut Replay::new(found.schedule.clone()));
        for bound in 0..preemptions as u32 {
            let time = deadline.saturating_duration_since(Instant::now());
            let plan = Plan {
                search: Search::BoundedDfs(bound),
                time: Some(time),
                runs: Some(100_000),
                ..self.plan.clone()
            };
            let walked = sched::explore(program, &plan, &mut |_| ControlFlow::Continue(()));
            if let Some(smaller) =
                walked.found.filter(|smaller| smaller.failure.name() == found.failure.name())
            {
                return smaller;
            }
        }
        found
    }

    fn draw<F: Fn() + Sync>(&self, program: &F, found: &Found) -> FailingRun {
        let (failure, trace, run) = self.observe(program, &mut Replay::new(found.schedule.clone()));
        // What does not come again under the same schedule is not told as if it did.
        let again = failure.as_ref().is_some_and(|failure| failure.name() == found.failure.name());
        let failure = match failure {
            Some(failure) if again => failure,
            other => {
                let other = other.map(|failure| failure.to_string());
                found.failure.not_again(other.as_deref(), run.steps.len())
            }
        };
        let token = Token {
            program: fingerprint(std::any::type_name::<F>()),
            scenario: Vec::new(),
            turns: run.turns.clone(),
        };
        self.counterexample(&failure, &trace, token, run, again, Vec::new())
    }

    /// What was found, drawn.
    fn counterexample(
        &self,
        failure: &Failure,
        trace: &Trace,
        token: Token,
        outline: Outline,
        rechecked: bool,
        mut notes: Vec<String>,
    ) -> FailingRun {
        let name =
            |thread: ThreadId| if thread.0 == 0 { "main".to_owned() } else { format!("thread {}", thread.0) };
        notes.extend(whims_note(self.plan.limits.spurious));
        let headline = match failure {
            Failure::Claim(claim) => {
                notes.insert(0, show::claim(claim, trace, &name));
                show::claim_headline(claim)
            }
            _ => failure.to_string(),
        };
        let mut found = FailingRun {
            of_memory: is_of_memory(failure),
            headline,
            scenario: String::new(),
            history: String::new(),
            schedule: show::schedule(trace, &outline.steps, &name),
            preemptions: outline.preemptions,
            memory: Memory::Sc,
            token: token.to_string(),
            rechecked,
            refused: failure.is_refusal(),
            notes,
            view: View::default(),
        };
        let claim = match failure {
            Failure::Claim(claim) => Some(&**claim),
            _ => None,
        };
        let material = Material { trace, steps: &outline.steps, name: &name, history: None, claim };
        found.view = material.view(&found);
        found
    }

    /// Runs once with every step recorded.
    fn observe(&self, program: &dyn Fn(), strategy: &mut dyn Strategy) -> (Option<Failure>, Trace, Outline) {
        let mut execution = Execution::new(self.plan.limits.clone());
        let trace = execution.trace(program, strategy).1;
        let run = execution.record();
        let failure = failure(run, self.plan.stuck_fails);
        let steps = relevant(run, failure.as_ref());
        (failure, trace, Outline { turns: token::turns(run), preemptions: run.preemptions(), steps })
    }
}

/// Where the page is, or why there is none.
pub(crate) fn page_note(file: &Path, written: std::io::Result<()>) -> String {
    match written {
        Ok(()) => format!("drawn in {}", file.display()),
        Err(error) => format!("the page {} cannot be written: {error}", file.display()),
    }
}

/// What is to be said of a run beside its steps.
struct Outline {
    turns: Vec<token::Turn>,
    preemptions: usize,
    /// For each step whether it matters to the failure.
    steps: Vec<bool>,
}

fn failure(run: &Run, stuck_fails: bool) -> Option<Failure> {
    match &run.ending {
        Ending::Failed(failure) => Some(failure.clone()),
        Ending::Stuck(failure) if stuck_fails => Some(failure.clone()),
        _ => None,
    }
}
