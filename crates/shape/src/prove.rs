//! From a program to a verdict.
//!
//! 1. The analysis with the points that the program gives, if it gives any.
//! 2. Else, or if that fails, with inferred ones, each for a moment.
//! 3. If nothing was proved: small clients are explored for a run that shows what is wrong.
//! 4. If there is none, the candidates that took too long are tried again; then those that failed, with more
//!    told apart ([`mod@crate::refine`]); and then larger clients.
//!
//! A proof is believed only after its structures were found to be closed by a second pass
//! ([`crate::views::is_inductive`], [`crate::threads::is_inductive`]), and told only after a second look at
//! it by code that shares no step with the analysis (`gate.rs`).

use std::borrow::Cow;
use std::time::{Duration, Instant};

use linpoint_history::{Builtin, Kind, Spec as _};
use linpoint_lang::Program;
use linpoint_lang::program::{MarkKind, SpecSource};
use linpoint_model::{Mode, Noted, Workload};

use crate::budget::{Budget, Progress};
use crate::exec::Points;
use crate::gate::{Objection, look_again};
use crate::infer::candidates;
use crate::initial::initial;
use crate::layout::{Layout, Object};
use crate::own;
use crate::refine::{self, Precision};
use crate::refute::{Refutation, refute};
use crate::run::{Halt, Steps};
use crate::store::Domain;
use crate::threads::{self, End};
use crate::views;

pub use crate::own::{CALLS, Ends};
pub use crate::scope::Scope;

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
    /// A proof is looked at a second time for at most this long before it is told; zero if it is not to be.
    pub second_look: Duration,
    /// The second look gets at least this long, whatever the time: else what is proved in the last moment
    /// would be told for nothing.
    pub reserve: Duration,
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
            second_look: linpoint_model::Budget::LONGEST,
            reserve: Duration::ZERO,
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

/// A proof. Only this crate makes one, after it was looked at a second time.
#[derive(Debug)]
#[non_exhaustive]
pub struct Proof {
    /// Where operations take effect.
    pub points: Points,
    /// What is closed under all steps.
    pub invariant: Invariant,
    /// The points that the program gives were tried and do not do.
    pub given_failed: bool,
    /// What is told apart beside names and kinds, because the proof failed without.
    pub precision: Precision,
    /// How it is known that the operations of the reference end.
    pub ends: Ends,
    /// What was seen of runs before it was told.
    pub noted: Noted,
}

/// Why nothing was proved.
#[derive(Debug)]
pub struct Gap {
    /// In words.
    pub reason: String,
    /// Where the analysis stopped, if it did.
    pub halt: Option<Box<Halt>>,
}

/// What came out: linearizable in every run, not linearizable as a run shows, or neither was shown.
pub type Verdict = linpoint_verdict::Verdict<Box<Proof>, Box<Refutation>, Gap>;

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
        ends: Ends::Always,
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
    /// How it is known that the operations of the reference end.
    ends: Ends,
}

impl Attempt<'_, '_> {
    fn left(&self, most: Duration) -> Duration {
        let left = self.settings.time.map_or(most, |time| time.saturating_sub(self.start.elapsed()));
        left.min(most)
    }

    fn run(&mut self) -> Verdict {
        let until = self.settings.time.map(|time| self.start + time);
        let reference = own::reference(self.program, until);
        let layout = match &reference {
            Ok(found) => Layout::of(self.program, found.object, found.roles.clone()),
            Err(reason) => Err(reason.clone()),
        };
        let roles = reference.as_ref().ok().map(|found| found.roles.as_slice());
        match &layout {
            Err(reason) => self.gap = Some(Gap { reason: reason.clone(), halt: None }),
            Ok(layout) => {
                self.ends = reference.as_ref().map_or(Ends::Always, |found| found.ends);
                if let Some(proof) = self.attempts(layout) {
                    return self.looked_at(layout, proof);
                }
            }
        }
        if !self.settings.refute {
            return self.not_proved();
        }
        let named = layout.as_ref().map_or(Cow::Borrowed(self.program), with_specification);
        let clients = self.program.clients.iter().map(Workload::of);
        let mut workloads = self.settings.scope.workloads(&named, roles, &[(2, 2)]);
        workloads.extend(clients.filter(|client| self.settings.scope.contains(roles, client)));
        if let Some(found) = self.refuted(&named, SMALL_CLIENTS, workloads) {
            return found;
        }
        if let Ok(layout) = &layout
            && let Some(proof) = self.later(layout).or_else(|| self.refined(layout))
        {
            return self.looked_at(layout, proof);
        }
        let workloads = self.settings.scope.workloads(&named, roles, &[(3, 1), (3, 2), (2, 3)]);
        self.refuted(&named, LARGE_CLIENTS, workloads).unwrap_or_else(|| self.not_proved())
    }

    fn refuted(&self, named: &Program, most: Duration, workloads: Vec<Workload>) -> Option<Verdict> {
        let mode = if self.settings.points == Choice::Given { Mode::AtPoints } else { Mode::Anywhere };
        let found = refute(named, mode, self.left(most), workloads, self.settings.memory)?;
        Some(Verdict::Violated(found.map(Box::new)))
    }

    /// A proof is told only after it was looked at a second time, by other code.
    fn looked_at(&mut self, layout: &Layout<'_>, proof: Proof) -> Verdict {
        let most = self.settings.second_look;
        if most.is_zero() {
            return Verdict::Holds(Box::new(proof));
        }
        let least = most.min(self.settings.reserve);
        let named = with_specification(layout);
        if let Some(found) = self.refuted_at_points(layout, &named, &proof) {
            return found;
        }
        match look_again(layout, &named, self.settings.scope, &proof, self.left(most).max(least)) {
            Ok(noted) => Verdict::Holds(Box::new(Proof { noted, ..proof })),
            Err(Objection::Run(found)) => Verdict::Violated(found),
            Err(Objection::Unseen(reason)) => Verdict::Unknown(Gap { reason, halt: None }),
            Err(Objection::Structures(why)) => {
                let reason = format!("there was a proof, but a second look at its structures failed: {why}");
                Verdict::Unknown(Gap { reason, halt: None })
            }
        }
    }

    /// Where the question is whether the points given are right: a small run that they do not explain. The
    /// analysis places answers that change nothing by itself, and looks at no `@query`.
    fn refuted_at_points(&self, layout: &Layout<'_>, named: &Program, proof: &Proof) -> Option<Verdict> {
        if self.settings.points != Choice::Given || proof.points != Points::Given {
            return None;
        }
        let workloads = self.settings.scope.workloads(named, Some(&layout.roles), &[(2, 1), (2, 2)]);
        let time = self.left(SMALL_CLIENTS).max(self.settings.reserve);
        let found = refute(named, Mode::AtPoints, time, workloads, self.settings.memory)?;
        Some(Verdict::Violated(found.map(Box::new)))
    }

    /// Tries candidates again that took too long.
    fn later(&mut self, layout: &Layout<'_>) -> Option<Proof> {
        for points in std::mem::take(&mut self.late) {
            let left = self.left(Duration::from_secs(3600));
            let precision = refine::by_hand(layout);
            let before = self.structures;
            match self.analyse(layout, &points, &precision, left) {
                Ok(invariant) => {
                    let (given_failed, noted) = (self.gives_points(), Noted::new(self.program));
                    return Some(Proof {
                        points,
                        invariant,
                        given_failed,
                        precision,
                        ends: self.ends,
                        noted,
                    });
                }
                Err(gap) => self.explain(gap, before),
            }
        }
        None
    }

    fn not_proved(&mut self) -> Verdict {
        let nothing = Gap { reason: "no linearization points were found".into(), halt: None };
        Verdict::Unknown(self.gap.take().unwrap_or(nothing))
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
                    let (points, ends, noted) = (Points::Given, self.ends, Noted::new(self.program));
                    return Some(Proof { points, invariant, given_failed: false, precision, ends, noted });
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
                Ok(invariant) => {
                    let (ends, noted) = (self.ends, Noted::new(self.program));
                    return Some(Proof { points, invariant, given_failed: given, precision, ends, noted });
                }
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

    /// Keeps the reason of an attempt, if none got further: a wrong guess of points fails soon, and tells
    /// nothing of the program.
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
    fn refined(&mut self, plain: &Layout<'_>) -> Option<Proof> {
        let start = Instant::now();
        for (points, halt) in std::mem::take(&mut self.failed) {
            let mut halt = halt;
            let mut precision = refine::by_hand(plain);
            while let Some(found) = self.finer(plain, &points, &precision, &halt, start) {
                match found {
                    (precision, Ok(invariant)) => {
                        let given_failed = self.gives_points() && points != Points::Given;
                        let noted = Noted::new(self.program);
                        return Some(Proof {
                            points,
                            invariant,
                            given_failed,
                            precision,
                            ends: self.ends,
                            noted,
                        });
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
        plain: &Layout<'_>,
        points: &Points,
        precision: &Precision,
        halt: &Halt,
        start: Instant,
    ) -> Option<(Precision, Result<Invariant, Halt>)> {
        for more in refine::candidates(plain, precision, halt) {
            let left = self.left(REFINING.saturating_sub(start.elapsed()));
            if left.is_zero() {
                return None;
            }
            let layout = refine::layout(plain, &more).ok()?;
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
        let Some(client) = self.settings.scope.client(&layout.roles) else {
            let start = initial(layout, 1).map_err(refused)?;
            let found = views::analyse(&steps, start.clone(), precision.domain(), &budget);
            self.structures += found.views.all.len();
            closed(&found.end)?;
            views::is_inductive(&steps, &start, &found, budget.until).map_err(refused)?;
            return Ok(Invariant::Views(found));
        };
        if client.threads.len() > layout.most_threads() {
            return Err(refused("a structure has no room for so many threads".into()));
        }
        let start = initial(layout, client.threads.len()).map_err(refused)?;
        let found = threads::analyse(&steps, start.clone(), &client, self.settings.domain, &budget);
        self.structures += found.store.all.len();
        closed(&found.end)?;
        threads::is_inductive(&steps, &start, &client, &found, budget.until).map_err(refused)?;
        Ok(Invariant::Whole(found))
    }
}

/// A program without a specification whose own code alone is a known object, with that object for one: runs
/// are judged by it.
pub(crate) fn with_specification<'p>(layout: &Layout<'p>) -> Cow<'p, Program> {
    let program = layout.program;
    if !matches!(program.spec, SpecSource::Nothing) {
        return Cow::Borrowed(program);
    }
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
