//! The whole of a proof: facts, obligations, verdict.

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use linpoint_lang::Program;

use crate::abstraction::Abstraction;
use crate::context::Subject;
use crate::fact::Facts;
use crate::gap::Gap;
use crate::graph::Graph;
use crate::houdini::{Inferred, infer};
use crate::obligation::{Kind, Obligation, Precondition, Question};
use crate::scene::{Picture, picture, terms_of};
use crate::solver;
use crate::worker::{Decision, Model, Worker};

/// How to prove.
#[derive(Clone, Debug)]
pub struct Options {
    /// The solver.
    pub solver: solver::Program,
    /// A second solver that must agree.
    pub confirm: Option<solver::Program>,
    /// Guess invariants?
    pub infer: bool,
    /// May facts about processes that hold locks be used? The stronger precondition of the paper's section
    /// 6.1.
    pub all_processes: bool,
    /// How long the solver may take for one answer.
    pub limit: Duration,
    /// How long it may take in all.
    pub time: Option<Duration>,
    /// How many solvers to run at once.
    pub jobs: usize,
    /// Sizes that are not symbolic, by name.
    pub sizes: Vec<(String, i64)>,
    /// Write down what each obligation says?
    pub explain: bool,
}

impl Options {
    /// The usual settings with this solver.
    pub fn new(solver: solver::Program) -> Options {
        Options {
            solver,
            confirm: None,
            infer: true,
            all_processes: true,
            limit: Duration::from_secs(10),
            time: None,
            jobs: std::thread::available_parallelism().map_or(1, usize::from).min(8),
            sizes: Vec::new(),
            explain: false,
        }
    }
}

/// What came of one obligation.
#[derive(Clone, Debug)]
pub struct Decided {
    /// Which.
    pub obligation: Obligation,
    /// What.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
    /// How many instances of hypotheses were used.
    pub instances: usize,
    /// What it says, a line a goal; only if asked for.
    pub said: Vec<String>,
}

/// What came of an obligation.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It holds.
    Proved,
    /// A state that the hypotheses allow breaks it.
    Open(Box<Picture>),
    /// No answer, and why.
    Unknown(String),
}

impl Outcome {
    /// Does it hold?
    pub fn is_proved(&self) -> bool {
        matches!(self, Outcome::Proved)
    }
}

/// The verdict of a proof. Obligations that do not hold refute nothing, so it never says `violated`.
pub type Verdict = linpoint_verdict::Verdict<EveryObligation, Infallible, Gap>;

/// What a proof rests on: every obligation holds, so the object is linearizable for every size, any number of
/// processes and every run. Only this crate can say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EveryObligation {
    obligations: usize,
}

impl EveryObligation {
    /// How many there are.
    #[must_use]
    pub fn obligations(&self) -> usize {
        self.obligations
    }
}

/// A verdict and how it was come by.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// Every obligation that was decided, in order.
    pub decided: Vec<Decided>,
    /// The facts that were used, and those that were dropped.
    pub inferred: Inferred,
    /// The places and steps.
    pub graph: Option<Graph>,
    /// Edges of the program that no state with the invariants allows: node and number.
    pub never_taken: Vec<(linpoint_lang::program::NodeId, usize)>,
    /// Time for inference.
    pub inference: Duration,
    /// Time in all.
    pub elapsed: Duration,
    /// Time spent waiting for the solver, over all workers.
    pub solver: Duration,
    /// Questions asked.
    pub questions: u64,
}

impl Report {
    fn unknown(why: Gap, start: Instant) -> Report {
        Report {
            verdict: Verdict::Unknown(why),
            decided: Vec::new(),
            inferred: Inferred::default(),
            graph: None,
            never_taken: Vec::new(),
            inference: Duration::ZERO,
            elapsed: start.elapsed(),
            solver: Duration::ZERO,
            questions: 0,
        }
    }
}

/// Proves a program linearizable, or says what is missing. `told` hears of each obligation as it is decided.
pub fn prove(program: &Program, options: &Options, told: &(dyn Fn(&Graph, &Decided) + Sync)) -> Report {
    let start = Instant::now();
    let graph = match Graph::new(program) {
        Ok(graph) => graph,
        Err(why) => return Report::unknown(Gap::Unsupported(why), start),
    };
    let subject = match subject(program, &graph, options) {
        Ok(subject) => subject,
        Err(why) => return Report::unknown(Gap::Unsupported(why), start),
    };
    let deadline = options.time.map(|time| start + time);
    let make = || Worker::new(&subject, options.solver.clone(), options.limit, deadline);
    let mut workers: Vec<Worker<'_, '_>> = (0..options.jobs.max(1)).map(|_| make()).collect();
    let facts = match options.infer {
        true => Facts::with_guesses(program, &graph, deadline),
        false => Facts::written(program, &graph),
    };
    let inferred = match options.infer {
        true => infer(&mut workers, facts),
        false => Inferred { facts, ..Inferred::default() },
    };
    let inference = start.elapsed();
    let obligations = subject.obligations(&mut workers[0].world, &inferred.facts);
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Decided)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in &mut workers {
            let (next, found, obligations, facts) = (&next, &found, &obligations, &inferred.facts);
            let mut second = options
                .confirm
                .as_ref()
                .map(|program| Worker::new(worker.subject, program.clone(), options.limit, deadline));
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(obligation) = obligations.get(number) else { break };
                    let decided = decide(worker, second.as_mut(), facts, *obligation, options);
                    told(worker.subject.graph, &decided);
                    if let Ok(mut found) = found.lock() {
                        found.push((number, decided));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(number, _)| *number);
    let decided: Vec<Decided> = found.into_iter().map(|(_, decided)| decided).collect();
    let unsupported = workers.iter().find_map(|worker| worker.world.unsupported.clone());
    let never_taken =
        if unsupported.is_none() { never_taken(&mut workers[0], &inferred.facts) } else { vec![] };
    let verdict = verdict(&decided, obligations.len(), unsupported);
    let (solver, questions) = workers.iter().fold((Duration::ZERO, 0), |(waited, questions), worker| {
        (waited + worker.waited, questions + worker.questions)
    });
    drop(workers);
    Report {
        verdict,
        decided,
        inferred,
        never_taken,
        inference,
        elapsed: start.elapsed(),
        solver,
        questions,
        graph: Some(graph),
    }
}

/// What is proved about.
pub(crate) fn subject<'p>(
    program: &'p Program,
    graph: &'p Graph,
    options: &Options,
) -> Result<Subject<'p>, String> {
    let abstraction = Abstraction::new(program)?;
    Ok(Subject {
        program,
        graph,
        again: abstraction.again(program)?,
        abstraction,
        fixed: options.sizes.clone(),
        live: linpoint_lang::flow::live_locals(program),
    })
}

/// Proved, only if every obligation is, and nothing was met that has no meaning here.
fn verdict(decided: &[Decided], expected: usize, unsupported: Option<String>) -> Verdict {
    if let Some(why) = unsupported {
        return Verdict::Unknown(Gap::Unsupported(why));
    }
    let open = decided.iter().filter(|decided| !decided.outcome.is_proved()).count();
    match (decided.len() == expected, open) {
        (true, 0) => Verdict::Holds(EveryObligation { obligations: expected }),
        (true, open) => {
            // Then nothing else means anything: there is no run at all.
            let blocked = |decided: &&Decided| decided.obligation.kind == Kind::Ends;
            if matches!(decided.iter().find(blocked), Some(Decided { outcome: Outcome::Open(_), .. })) {
                return Verdict::Unknown(Gap::NoRun);
            }
            let unanswered = |decided: &Decided| match &decided.outcome {
                Outcome::Unknown(why) => Some(why.clone()),
                _ => None,
            };
            let mut reasons: Vec<String> = decided.iter().filter_map(unanswered).collect();
            // How many are open says little where not all were asked.
            let late = solver::Failure::TimeUp.to_string();
            let unasked = reasons.iter().filter(|why| **why == late).count();
            if unasked > 0 {
                return Verdict::Unknown(Gap::Late { unasked, of: expected });
            }
            // Where nothing was found and nothing answered, that is the reason.
            let silent = reasons.len() == open;
            reasons.sort_unstable();
            reasons.dedup();
            Verdict::Unknown(match reasons.as_slice() {
                [why] if silent => Gap::Unanswered { open, of: expected, why: why.clone() },
                _ => Gap::Open { open, of: expected },
            })
        }
        (false, _) => Verdict::Unknown(Gap::Undecided),
    }
}

fn decide(
    worker: &mut Worker<'_, '_>,
    second: Option<&mut Worker<'_, '_>>,
    facts: &Facts,
    obligation: Obligation,
    options: &Options,
) -> Decided {
    let start = Instant::now();
    if worker.is_late() {
        let outcome = Outcome::Unknown(solver::Failure::TimeUp.to_string());
        return Decided { obligation, outcome, took: Duration::ZERO, instances: 0, said: Vec::new() };
    }
    let instances = worker.instances;
    let mut outcome = attempt(worker, facts, obligation, options);
    if let (Outcome::Proved, Some(second)) = (&outcome, second) {
        match attempt(second, facts, obligation, options) {
            Outcome::Proved => {}
            Outcome::Open(_) => {
                outcome = Outcome::Unknown("the two solvers disagree".into());
            }
            Outcome::Unknown(why) => outcome = Outcome::Unknown(format!("the second solver: {why}")),
        }
    }
    let took = start.elapsed();
    let said = match options.explain {
        true if !worker.is_late() => {
            let question = worker.subject.question(&mut worker.world, facts, obligation, Precondition::Two);
            crate::formula::said(worker, facts, &question)
        }
        _ => Vec::new(),
    };
    Decided { obligation, outcome, took, instances: worker.instances - instances, said }
}

/// How an obligation is tried.
#[derive(Clone, Copy, Debug)]
struct Way {
    pre: Precondition,
    /// How often terms that came into play are put in again.
    rounds: usize,
    /// Is the condition of the first abstraction taken as a name?
    opaque: bool,
}

/// First with few hypotheses, then with more: what does not follow from some may follow from all.
fn ways(worker: &Worker<'_, '_>, obligation: Obligation, options: &Options) -> Vec<Way> {
    let way = |pre, rounds| Way { pre, rounds, opaque: false };
    let mut ways = vec![way(Precondition::Two, 1), way(Precondition::Two, 3)];
    let subject = worker.subject;
    let everyone = way(Precondition::All, 2);
    match obligation.kind {
        // It is about states, not about a step of one of two processes.
        Kind::Same => ways.push(everyone),
        Kind::Initial | Kind::Ends | Kind::Call => {}
        _ if options.all_processes && subject.looks_at_locks() => ways.push(everyone),
        _ => {}
    }
    // A condition that is fully written out needs no name.
    let symbolic =
        subject.program.sizes.iter().any(|size| !subject.fixed.iter().any(|(name, _)| *name == size.name));
    let about = matches!(obligation.kind, Kind::Call | Kind::Effect | Kind::Status);
    if symbolic && options.all_processes && about && subject.opaque().is_some() {
        let named: Vec<Way> = ways.iter().take(2).map(|way| Way { opaque: true, ..*way }).collect();
        ways.splice(0..0, named);
    }
    ways
}

fn attempt(worker: &mut Worker<'_, '_>, facts: &Facts, obligation: Obligation, options: &Options) -> Outcome {
    let mut last = Outcome::Unknown("not asked".into());
    for Way { pre, rounds, opaque } in ways(worker, obligation, options) {
        if worker.is_late() {
            break;
        }
        worker.world.opaque = if opaque { worker.subject.opaque() } else { None };
        let question = worker.subject.question(&mut worker.world, facts, obligation, pre);
        worker.world.opaque = None;
        match worker.decide(&question, &[], rounds) {
            Decision::Proved => return Outcome::Proved,
            // A state in which a condition is only a name is no state to show.
            Decision::Open(_) if opaque => {}
            Decision::Open(model) => last = draw(worker, &question, &model, rounds),
            Decision::Unknown(why) => {
                // An open question with a model says more than a later one without an answer.
                if !matches!(last, Outcome::Open(_)) {
                    last = Outcome::Unknown(why);
                }
            }
        }
    }
    last
}

/// Asks an open question again, for the values that a picture needs.
pub(crate) fn draw(
    worker: &mut Worker<'_, '_>,
    question: &Question,
    model: &Model,
    rounds: usize,
) -> Outcome {
    let failing = model.failing.first().and_then(|goal| question.goals.get(*goal));
    let point = failing.and_then(|(_, goal)| goal.point());
    let q = &question.scene.q;
    let q = q.iter().find(|(_, at)| Some(*at) == point).or(if q.len() == 1 { q.first() } else { None });
    let mut question = question.clone();
    if let Some(goal) = failing {
        question.goals = vec![*goal];
    }
    let q = q.cloned();
    let wanted = terms_of(&mut worker.world, &question.scene, q.as_ref());
    // A small state says more than a large one.
    for most in [2, 4] {
        let mut small = question.clone();
        small.hypotheses.extend(at_most(worker, &question, q.as_ref(), most));
        if let Decision::Open(model) = worker.decide(&small, &wanted, rounds) {
            return Outcome::Open(Box::new(picture(worker, &question, &model, q.as_ref())));
        }
    }
    match worker.decide(&question, &wanted, rounds) {
        Decision::Open(model) => Outcome::Open(Box::new(picture(worker, &question, &model, q.as_ref()))),
        Decision::Proved => Outcome::Unknown("the solver contradicts itself".into()),
        Decision::Unknown(why) => Outcome::Unknown(why),
    }
}

/// Sizes are at most so large, and numbers of processes not much larger.
fn at_most(
    worker: &mut Worker<'_, '_>,
    question: &Question,
    q: Option<&(crate::world::Frame, crate::graph::Point)>,
    most: i64,
) -> Vec<crate::term::Term> {
    let world = &mut worker.world;
    let (most, more) = (world.terms.int(most), world.terms.int(2 * most));
    let least = world.terms.int(-1);
    let none = world.none();
    let mut limits = Vec::new();
    for size in 0..world.program.sizes.len() {
        let size = world.size(size);
        limits.push(world.terms.le(size, most));
    }
    let frames = [Some(&question.scene.p.0), q.map(|(frame, _)| frame)];
    let numbers: Vec<crate::term::Term> = frames
        .into_iter()
        .flatten()
        .flat_map(|frame| [&[frame.pid], frame.locals.as_slice()].concat())
        .collect();
    for number in numbers {
        if world.terms.sort(number) == crate::term::Sort::Int {
            let (low, high) = (world.terms.le(least, number), world.terms.le(number, more));
            let (inside, nothing) = (world.terms.and([low, high]), world.terms.eq(number, none));
            limits.push(world.terms.or([inside, nothing]));
        }
    }
    limits
}

/// Edges all of whose steps contradict the invariants.
fn never_taken(worker: &mut Worker<'_, '_>, facts: &Facts) -> Vec<(linpoint_lang::program::NodeId, usize)> {
    let graph = worker.subject.graph;
    let mut taken = std::collections::BTreeMap::new();
    for (number, step) in graph.steps.iter().enumerate() {
        let key = (graph.place(step.from).node, step.edge);
        // What was not asked may be possible.
        if worker.is_late() {
            taken.insert(key, true);
            continue;
        }
        if taken.get(&key) == Some(&true) {
            continue;
        }
        let obligation = Obligation { kind: Kind::Effect, step: number, other: None };
        let question = worker.subject.question(&mut worker.world, facts, obligation, Precondition::Two);
        let possible = worker.is_possible(&question) != Some(false);
        let known = taken.entry(key).or_insert(false);
        *known |= possible;
    }
    taken.into_iter().filter(|(_, taken)| !taken).map(|(key, _)| key).collect()
}
