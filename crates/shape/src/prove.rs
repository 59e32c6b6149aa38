//! From a program to a verdict.
//!
//! 1. The analysis with the points that the program gives, if it gives any.
//! 2. Else, or if that fails, with inferred ones, each for a moment.
//! 3. If nothing was proved: small clients are explored for a run that shows what is wrong.
//! 4. If there is none, the candidates that took too long are tried again; then those that failed, with more told apart ([`mod@crate::refine`]); and then larger clients.
//!
//! A proof is believed only after its structures were found to be closed by a second pass ([`crate::views::is_inductive`], [`crate::threads::is_inductive`]).

use std::borrow::Cow;
use std::time::{Duration, Instant};

use linpoint_history::{Builtin, Kind, Spec as _};
use linpoint_lang::Program;
use linpoint_lang::program::{MarkKind, SpecSource};
use linpoint_model::Mode;

use crate::budget::{Budget, Progress};
use crate::exec::Points;
use crate::infer::candidates;
use crate::initial::initial;
use crate::layout::{Layout, Object, Role};
use crate::refine::{self, Precision};
use crate::refute::{Refutation, refute};
use crate::run::{Halt, Steps};
use crate::store::Domain;
use crate::threads::{self, Client, End};
use crate::views;

/// How many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Any number.
    Any,
    /// So many, each calling anything.
    Threads(usize),
    /// So many that only insert, and so many that only take; of a set, that only add and only remove.
    Roles(usize, usize),
}

/// Which points to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Those given, else inferred ones.
    Auto,
    /// Only those given: the question is whether they are right.
    Given,
    /// Only inferred ones.
    Inferred,
}

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many threads.
    pub scope: Scope,
    /// How structures are kept, where threads are counted.
    pub domain: Domain,
    /// Which points.
    pub points: Choice,
    /// Give up after this long.
    pub time: Option<Duration>,
    /// Give up beyond this many bytes.
    pub memory: usize,
    /// Look for a run that shows what is wrong, if there is no proof.
    pub refute: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            scope: Scope::Any,
            domain: Domain::Joined,
            points: Choice::Auto,
            time: None,
            memory: 4 << 30,
            refute: true,
        }
    }
}

/// The structures of a proof.
#[derive(Debug)]
pub enum Invariant {
    /// Of any number of threads.
    Views(views::Found),
    /// Of so many threads.
    Whole(threads::Found),
}

/// A proof.
#[derive(Debug)]
pub struct Proof {
    /// Where operations take effect.
    pub points: Points,
    /// What is closed under all steps.
    pub invariant: Invariant,
    /// The points that the program gives were tried and do not do.
    pub given_failed: bool,
    /// What is told apart beside names and kinds, because the proof failed without.
    pub precision: Precision,
}

/// Why nothing was proved.
#[derive(Debug)]
pub struct Gap {
    /// In words.
    pub reason: String,
    /// Where the analysis stopped, if it did.
    pub halt: Option<Box<Halt>>,
}

/// What came out.
#[derive(Debug)]
pub enum Verdict {
    /// Linearizable, in every run.
    Proved(Box<Proof>),
    /// Not: a run shows it.
    Refuted(Box<Refutation>),
    /// Neither.
    NotProved(Gap),
}

/// A verdict and how it was come by.
#[derive(Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// Structures met, in all attempts.
    pub structures: usize,
    /// Combinations of points tried.
    pub tried: usize,
    /// How long it took.
    pub elapsed: Duration,
}

/// Each candidate gets this long at first.
const FIRST_TRY: Duration = Duration::from_millis(400);

/// All candidates together, at first.
const FIRST_ROUND: Duration = Duration::from_millis(2500);

/// What small clients get.
const SMALL_CLIENTS: Duration = Duration::from_secs(5);

/// What refinement gets, in all.
const REFINING: Duration = Duration::from_secs(10);

/// What larger clients get.
const LARGE_CLIENTS: Duration = Duration::from_secs(20);

/// Proves, refutes, or says why not.
pub fn prove(program: &Program, settings: &Settings) -> Report {
    prove_watched(program, settings, &|_| {})
}

/// The same, and tells now and then how far it is.
pub fn prove_watched(program: &Program, settings: &Settings, watch: &dyn Fn(Progress)) -> Report {
    let start = Instant::now();
    let mut attempt = Attempt {
        program,
        settings,
        watch,
        start,
        structures: 0,
        tried: 0,
        gap: None,
        reached: 0,
        late: Vec::new(),
        failed: Vec::new(),
    };
    let verdict = attempt.run();
    Report { verdict, structures: attempt.structures, tried: attempt.tried, elapsed: start.elapsed() }
}

struct Attempt<'p, 's> {
    program: &'p Program,
    settings: &'s Settings,
    watch: &'s dyn Fn(Progress),
    start: Instant,
    structures: usize,
    tried: usize,
    /// What stood in the way of the points given, or else of the attempt that got furthest.
    gap: Option<Gap>,
    /// How many structures that attempt met; all of them, for the points given.
    reached: usize,
    /// Candidates that took too long.
    late: Vec<Points>,
    /// Candidates that failed, and where.
    failed: Vec<(Points, Halt)>,
}

impl Attempt<'_, '_> {
    fn left(&self, most: Duration) -> Duration {
        let left = self.settings.time.map_or(most, |time| time.saturating_sub(self.start.elapsed()));
        left.min(most)
    }

    fn run(&mut self) -> Verdict {
        let mode = if self.settings.points == Choice::Given { Mode::AtPoints } else { Mode::Anywhere };
        match Layout::new(self.program) {
            Err(reason) => self.gap = Some(Gap { reason, halt: None }),
            Ok(layout) => {
                if let Some(proof) = self.attempts(&layout) {
                    return Verdict::Proved(Box::new(proof));
                }
            }
        }
        if !self.settings.refute {
            return self.not_proved();
        }
        let sizes = [(2, 2)];
        let memory = self.settings.memory;
        let named = with_specification(self.program);
        if let Some(found) = refute(&named, mode, self.left(SMALL_CLIENTS), &sizes, memory) {
            return Verdict::Refuted(Box::new(found));
        }
        if let Ok(layout) = Layout::new(self.program) {
            for points in std::mem::take(&mut self.late) {
                let left = self.left(Duration::from_secs(3600));
                let precision = refine::by_hand(&layout);
                let before = self.structures;
                match self.analyse(&layout, &points, &precision, left) {
                    Ok(invariant) => {
                        let given_failed = self.gives_points();
                        let proof = Proof { points, invariant, given_failed, precision };
                        return Verdict::Proved(Box::new(proof));
                    }
                    Err(gap) => self.explain(gap, before),
                }
            }
        }
        if let Some(proof) = self.refined() {
            return Verdict::Proved(Box::new(proof));
        }
        let sizes = [(3, 1), (3, 2), (2, 3)];
        if let Some(found) = refute(&named, mode, self.left(LARGE_CLIENTS), &sizes, memory) {
            return Verdict::Refuted(Box::new(found));
        }
        self.not_proved()
    }

    fn not_proved(&mut self) -> Verdict {
        let nothing = Gap { reason: "no linearization points were found".into(), halt: None };
        Verdict::NotProved(self.gap.take().unwrap_or(nothing))
    }

    fn gives_points(&self) -> bool {
        self.program
            .nodes
            .iter()
            .flat_map(|node| &node.edges)
            .flat_map(|edge| edge.marks())
            .any(|mark| mark.kind == MarkKind::Lin)
    }

    fn attempts(&mut self, layout: &Layout<'_>) -> Option<Proof> {
        let given = self.settings.points != Choice::Inferred && self.gives_points();
        let precision = refine::by_hand(layout);
        if given || self.settings.points == Choice::Given {
            let left = self.left(Duration::from_secs(3600));
            match self.analyse(layout, &Points::Given, &precision, left) {
                Ok(invariant) => {
                    return Some(Proof { points: Points::Given, invariant, given_failed: false, precision });
                }
                Err(gap) => {
                    self.remember(&Points::Given, &gap);
                    self.gap = Some(gap);
                    self.reached = usize::MAX;
                }
            }
        }
        if self.settings.points == Choice::Given {
            return None;
        }
        let round = Instant::now();
        for points in candidates(layout) {
            if round.elapsed() > FIRST_ROUND || self.left(FIRST_TRY).is_zero() {
                self.late.push(points);
                continue;
            }
            self.tried += 1;
            let before = self.structures;
            match self.analyse(layout, &points, &precision, self.left(FIRST_TRY)) {
                Ok(invariant) => return Some(Proof { points, invariant, given_failed: given, precision }),
                Err(gap) => {
                    self.remember(&points, &gap);
                    if gap.halt.is_none() {
                        self.late.push(points);
                    }
                    self.explain(gap, before);
                }
            }
        }
        None
    }

    /// Keeps the reason of an attempt, if none got further: a wrong guess of points fails soon, and tells nothing of the program.
    fn explain(&mut self, gap: Gap, before: usize) {
        let met = self.structures - before;
        if self.gap.is_none() || met > self.reached {
            self.gap = Some(gap);
            self.reached = met;
        }
    }

    fn remember(&mut self, points: &Points, gap: &Gap) {
        if let Some(halt) = &gap.halt {
            self.failed.push((points.clone(), Halt::clone(halt)));
        }
    }

    /// Tries what failed again with more told apart, as long as that gets it further.
    fn refined(&mut self) -> Option<Proof> {
        let start = Instant::now();
        for (points, halt) in std::mem::take(&mut self.failed) {
            let mut halt = halt;
            let mut precision = refine::by_hand(&Layout::new(self.program).ok()?);
            while let Some(found) = self.finer(&points, &precision, &halt, start) {
                match found {
                    (precision, Ok(invariant)) => {
                        let given_failed = self.gives_points() && points != Points::Given;
                        return Some(Proof { points, invariant, given_failed, precision });
                    }
                    (more, Err(further)) => (precision, halt) = (more, further),
                }
            }
        }
        None
    }

    /// The first finer precision that proves it, or with which it does not fail at the same place.
    fn finer(
        &mut self,
        points: &Points,
        precision: &Precision,
        halt: &Halt,
        start: Instant,
    ) -> Option<(Precision, Result<Invariant, Halt>)> {
        for more in refine::candidates(self.program, precision, halt) {
            let left = self.left(REFINING.saturating_sub(start.elapsed()));
            if left.is_zero() {
                return None;
            }
            let layout = refine::layout(self.program, &more).ok()?;
            self.tried += 1;
            match self.analyse(&layout, points, &more, left) {
                Ok(invariant) => return Some((more, Ok(invariant))),
                Err(Gap { halt: Some(further), .. }) if further.at != halt.at => {
                    return Some((more, Err(*further)));
                }
                Err(_) => {}
            }
        }
        None
    }

    fn analyse(
        &mut self,
        layout: &Layout<'_>,
        points: &Points,
        precision: &Precision,
        time: Duration,
    ) -> Result<Invariant, Gap> {
        let steps = Steps { layout, points };
        let budget = Budget::new(Some(time), self.settings.memory, self.watch);
        let refused = |reason: String| Gap { reason, halt: None };
        let Some(client) = self.client(layout) else {
            let start = initial(layout, 1).map_err(refused)?;
            let found = views::analyse(&steps, start.clone(), precision.domain(), &budget);
            self.structures += found.views.all.len();
            closed(&found.end)?;
            views::is_inductive(&steps, &start, &found)
                .map_err(|why| refused(format!("the recheck failed: {why}")))?;
            return Ok(Invariant::Views(found));
        };
        if client.threads.len() > layout.most_threads() {
            return Err(refused("a structure has no room for so many threads".into()));
        }
        let start = initial(layout, client.threads.len()).map_err(refused)?;
        let found = threads::analyse(&steps, start.clone(), &client, self.settings.domain, &budget);
        self.structures += found.store.all.len();
        closed(&found.end)?;
        threads::is_inductive(&steps, &start, &client, &found)
            .map_err(|why| refused(format!("the recheck failed: {why}")))?;
        Ok(Invariant::Whole(found))
    }

    fn client(&self, layout: &Layout<'_>) -> Option<Client> {
        match self.settings.scope {
            Scope::Any => None,
            Scope::Threads(count) => Some(Client::general(layout, count)),
            Scope::Roles(producers, consumers) => {
                let with = |wanted: &dyn Fn(Role) -> bool| -> Vec<usize> {
                    (0..layout.roles.len()).filter(|&op| wanted(layout.roles[op])).collect()
                };
                let put = with(&|role| matches!(role, Role::Insert | Role::Add));
                let get = with(&|role| matches!(role, Role::Take | Role::Remove));
                let mut threads = vec![put; producers];
                threads.extend(vec![get; consumers]);
                Some(Client { threads })
            }
        }
    }
}

/// A program without a specification whose own code alone is a known object, with that object for one: runs are judged by it.
fn with_specification(program: &Program) -> Cow<'_, Program> {
    if !matches!(program.spec, SpecSource::Nothing) {
        return Cow::Borrowed(program);
    }
    let Ok(layout) = Layout::new(program) else { return Cow::Borrowed(program) };
    let spec = Builtin::new(match layout.object {
        Object::Stack => Kind::Stack,
        Object::Queue => Kind::Queue,
        Object::Set => Kind::Set,
    });
    if !program.operations.iter().all(|op| spec.signature().find(&op.name).is_some()) {
        return Cow::Borrowed(program);
    }
    let mut named = program.clone();
    named.spec = SpecSource::Builtin(Box::new(spec));
    Cow::Owned(named)
}

fn closed(end: &End) -> Result<(), Gap> {
    match end {
        End::Proved => Ok(()),
        End::Limit(reason) => Err(Gap { reason: reason.clone(), halt: None }),
        End::Halt(halt) => Err(Gap { reason: threads::trouble(halt), halt: Some(halt.clone()) }),
    }
}
