//! One who proves: formulas of its own and a solver of its own.

use std::time::{Duration, Instant};

use crate::context::Subject;
use crate::fact::Facts;
use crate::ground::{Grounder, InPlay};
use crate::obligation::{Goal, Obligation, Precondition, Question};
use crate::solver::{self, Answer, Failure, Solver};
use crate::term::Term;
use crate::world::World;

/// What came of an obligation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The solver found the negation to be contradictory.
    Proved,
    /// It found values that make it true; they may be due to hypotheses that were not put to use.
    Open(Model),
    /// No answer, and why.
    Unknown(String),
}

/// Values of terms that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// A value a term.
    pub values: Vec<(Term, i64)>,
    /// Goals, by number, that do not hold.
    pub failing: Vec<usize>,
}

/// A prover.
pub struct Worker<'s, 'p> {
    /// What is proved about.
    pub subject: &'s Subject<'p>,
    /// Its formulas.
    pub world: World<'p>,
    grounder: Grounder,
    /// One for plain questions, one for others.
    solvers: [Option<Solver>; 2],
    program: solver::Program,
    limit: Duration,
    deadline: Option<Instant>,
    /// Failures since the last answer: a solver that fails again and again is not asked any more.
    failures: Vec<Failure>,
    /// Time spent waiting for the solver.
    pub waited: Duration,
    /// Questions asked.
    pub questions: u64,
    /// Times a hypothesis was put to use.
    pub instances: usize,
}

impl<'s, 'p> Worker<'s, 'p> {
    /// A prover with a solver that is started when it is needed.
    pub fn new(
        subject: &'s Subject<'p>,
        program: solver::Program,
        limit: Duration,
        deadline: Option<Instant>,
    ) -> Worker<'s, 'p> {
        let mut world = World::with_sizes(subject.program, subject.fixed.clone());
        world.terms.deadline = deadline;
        Worker {
            subject,
            world,
            grounder: Grounder::default(),
            solvers: [None, None],
            program,
            limit,
            deadline,
            failures: Vec::new(),
            waited: Duration::ZERO,
            questions: 0,
            instances: 0,
        }
    }

    /// Is time up? Formulas that were made meanwhile may be cut short: none of them is ever asked, and none
    /// is taken as plainly true.
    pub fn is_late(&self) -> bool {
        self.world.terms.is_late() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn ask(&mut self, claims: &[Term], wanted: &[Term]) -> Result<(Answer, Vec<i64>), Failure> {
        if self.is_late() {
            return Err(Failure::TimeUp);
        }
        let late = self.failures.iter().filter(|failure| matches!(failure, Failure::Late(_))).count();
        if let Some(last) = self.failures.last().filter(|_| late >= 2 || self.failures.len() >= 5) {
            return Err(last.clone());
        }
        let answer = self.ask_solver(claims, wanted);
        match &answer {
            Ok(_) => self.failures.clear(),
            Err(failure) => self.failures.push(failure.clone()),
        }
        answer
    }

    fn ask_solver(&mut self, claims: &[Term], wanted: &[Term]) -> Result<(Answer, Vec<i64>), Failure> {
        let plain = claims.iter().chain(wanted).all(|term| self.world.terms.is_plain(*term));
        let mut solver = match self.solvers[usize::from(plain)].take() {
            Some(solver) => solver,
            None => {
                let left = self.deadline.map_or(self.limit, |deadline| {
                    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(10))
                });
                Solver::start(&self.program, self.limit.min(left), plain)?
            }
        };
        let start = solver.waited;
        solver.deadline = self.deadline;
        // After a failure the solver is not used again.
        let answer = solver.check(&self.world.terms, claims, wanted)?;
        let values = match answer {
            Answer::Sat if !wanted.is_empty() => solver.values(&self.world.terms, wanted)?,
            _ => Vec::new(),
        };
        solver.close();
        self.waited += solver.waited - start;
        self.questions += 1;
        self.solvers[usize::from(plain)] = Some(solver);
        Ok((answer, values))
    }

    /// Decides a question. `wanted` are terms whose values are of interest if it stays open.
    pub fn decide(&mut self, question: &Question, wanted: &[Term], rounds: usize) -> Decision {
        let goals: Vec<Term> = question.goals.iter().map(|(goal, _)| *goal).collect();
        let ground =
            self.grounder.ground(&mut self.world.terms, &question.hypotheses, &goals, &InPlay::new(), rounds);
        self.instances += ground.instances;
        if self.is_late() {
            return Decision::Unknown(Failure::TimeUp.to_string());
        }
        let any = self.world.terms.or(ground.refuted.iter().copied());
        if any == self.world.terms.bool(false) {
            return Decision::Proved;
        }
        let mut claims = ground.claims;
        claims.push(any);
        let mut asked = ground.refuted.clone();
        asked.extend(wanted);
        match self.ask(&claims, &asked) {
            Err(failure) => Decision::Unknown(failure.to_string()),
            Ok((Answer::Unsat, _)) => Decision::Proved,
            Ok((Answer::Unknown, _)) => Decision::Unknown("the solver cannot tell".into()),
            Ok((Answer::Sat, values)) => {
                let (failing, values) = values.split_at(ground.refuted.len().min(values.len()));
                let failing = (0..failing.len()).filter(|goal| failing[*goal] != 0).collect();
                Decision::Open(Model {
                    values: wanted.iter().copied().zip(values.iter().copied()).collect(),
                    failing,
                })
            }
        }
    }

    /// Can the hypotheses hold together? `None` if the solver does not say.
    pub fn is_possible(&mut self, question: &Question) -> Option<bool> {
        let ground =
            self.grounder.ground(&mut self.world.terms, &question.hypotheses, &[], &InPlay::new(), 1);
        match self.ask(&ground.claims, &[]) {
            Ok((Answer::Unsat, _)) => Some(false),
            Ok((Answer::Sat, _)) => Some(true),
            _ => None,
        }
    }

    /// Goals of an obligation that do not follow and are guesses. Every goal that fails is left out, and what
    /// is left asked again.
    pub fn falsify(&mut self, facts: &Facts, obligation: Obligation) -> Vec<Goal> {
        if self.is_late() {
            return Vec::new();
        }
        let mut question = self.subject.question(&mut self.world, facts, obligation, Precondition::Two);
        question.goals.retain(|(_, goal)| match goal {
            Goal::Always(number) => facts.always[*number].written.is_none(),
            Goal::At(point, number) => facts.of(*point)[*number].written.is_none(),
            Goal::Other | Goal::Differ(_) => false,
        });
        let mut dropped = Vec::new();
        while !question.goals.is_empty() {
            match self.decide(&question, &[], 1) {
                Decision::Proved => break,
                Decision::Open(model) if !model.failing.is_empty() => {
                    let mut number = 0;
                    question.goals.retain(|(_, goal)| {
                        let fails = model.failing.binary_search(&number).is_ok();
                        number += 1;
                        if fails {
                            dropped.push(*goal);
                        }
                        !fails
                    });
                }
                // Without an answer none of them can be kept.
                _ => {
                    dropped.extend(question.goals.drain(..).map(|(_, goal)| goal));
                }
            }
        }
        dropped
    }
}
