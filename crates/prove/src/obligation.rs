//! The obligations: hypotheses and goal of each, as formulas.
//!
//! After O. Travkin, H. Wehrheim, G. Schellhorn, *Proving Linearizability of Multiset with Local Proof
//! Obligations* (2012), sections 4 to 6, and J. Derrick, G. Schellhorn, H. Wehrheim, *Verifying
//! Linearisability with Potential Linearisation Points* (2011). `docs/soundness.md` has the argument why they
//! imply linearizability.
//!
//! For a process p that takes a step from memory m to m′, and any other process q:
//!
//! | obligation | says |
//! |---|---|
//! | initial | the initial memory has every invariant, and stands for the initial object |
//! | ends | the initial code comes to its end (`initial.rs`) |
//! | same | a further `abs` is the same as the first in every state with the invariants |
//! | call | a process that starts an operation has the invariant of its first place; its first status is one it may have |
//! | safe | the step does not go wrong |
//! | invariant | p has the invariant of the place it comes to, and what holds always holds after |
//! | others | q keeps the invariant of its place; what must differ differs |
//! | pairs | where p changes what the condition of a `disjoint` looks at: two other processes still differ |
//! | effect | p's change of status is one of those allowed, and m and m′ stand for what it says |
//! | status | q's change of status is one of those allowed, in the abstract state after |

use crate::context::{Stand, Subject, changed};
use crate::fact::{Fact, Facts};
use crate::graph::{Graph, Phase, Point};
use crate::step::Taken;
use crate::symbol::{Role, Space};
use crate::term::Term;
use crate::world::{Frame, Memory, World};

/// What is to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Of the initial memory.
    Initial,
    /// The initial code comes to its end.
    Ends,
    /// A further `abs` says the same as the first.
    Same,
    /// Of an operation that starts.
    Call,
    /// The step does not go wrong.
    Safe,
    /// The process's own invariant, and what holds always.
    Invariant,
    /// The invariant of another process.
    Others,
    /// What must differ between two other processes.
    Pairs,
    /// The change of the abstract state, and of the process's own status.
    Effect,
    /// The change of another process's status.
    Status,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Initial => "initial",
            Kind::Ends => "ends",
            Kind::Same => "same",
            Kind::Call => "call",
            Kind::Safe => "safe",
            Kind::Invariant => "invariant",
            Kind::Others => "others",
            Kind::Pairs => "pairs",
            Kind::Effect => "effect",
            Kind::Status => "status",
        }
    }
}

/// Which obligation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Obligation {
    /// What is to be shown.
    pub kind: Kind,
    /// Of which step; for calls, of which operation; for [`Kind::Same`], of which further `abs`.
    pub step: usize,
    /// Where the other process is; for [`Kind::Others`], the first of [`CHUNK`] places.
    pub other: Option<Point>,
}

/// So many places of the other process are asked about at once: most of what is known is about the first
/// process, and said only once so.
pub const CHUNK: u16 = 8;

/// An obligation in formulas: the hypotheses imply each goal.
#[derive(Clone, Debug)]
pub struct Question {
    /// What may be used.
    pub hypotheses: Vec<Term>,
    /// What must hold, and which fact it is.
    pub goals: Vec<(Term, Goal)>,
    /// The processes and memories, for drawing.
    pub scene: Scene,
}

/// What a goal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// A fact that holds always, by number.
    Always(usize),
    /// A fact of a place, by number.
    At(Point, usize),
    /// That locals differ from those of a process at a place.
    Differ(Point),
    /// Something else.
    Other,
}

impl Goal {
    /// The place that it is about.
    pub fn point(self) -> Option<Point> {
        match self {
            Goal::At(point, _) | Goal::Differ(point) => Some(point),
            _ => None,
        }
    }
}

/// Who takes part.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Memory before and after.
    pub memory: (Memory, Memory),
    /// The process that takes the step, before and after.
    pub p: (Frame, Frame),
    /// Where it was and where it comes to.
    pub p_at: (Point, Option<Point>),
    /// The other process, and the places where it may be.
    pub q: Vec<(Frame, Point)>,
}

/// What is asked for: with or without facts about all other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precondition {
    /// The invariant of p, and of q where there is one.
    Two,
    /// The invariant of every process that a lock names, besides: section 6.1.
    All,
}

impl<'p> Subject<'p> {
    /// Every obligation, in the order of the text.
    pub fn obligations(&self, world: &mut World<'p>, facts: &Facts) -> Vec<Obligation> {
        let mut list = vec![Obligation { kind: Kind::Initial, step: 0, other: None }];
        if self.program.init.is_some() {
            list.push(Obligation { kind: Kind::Ends, step: 0, other: None });
        }
        list.extend((0..self.again.len()).map(|step| Obligation { kind: Kind::Same, step, other: None }));
        list.extend((0..self.program.operations.len()).map(|op| Obligation {
            kind: Kind::Call,
            step: op,
            other: None,
        }));
        for step in 0..self.graph.steps.len() {
            // Those that are there will have no answer, and that is enough.
            if world.terms.look_at_clock() {
                break;
            }
            for kind in [Kind::Safe, Kind::Invariant, Kind::Effect] {
                list.push(Obligation { kind, step, other: None });
            }
            for other in self.others(world, step, facts) {
                list.push(Obligation { kind: Kind::Others, step, other: Some(other) });
            }
            if self.disjoint_readers(world, step) {
                list.push(Obligation { kind: Kind::Pairs, step, other: None });
            }
            for other in self.status_readers(world, step) {
                list.push(Obligation { kind: Kind::Status, step, other: Some(other) });
            }
        }
        list
    }

    /// The places, in chunks, at which another process could lose a fact by this step.
    pub fn others(&self, world: &mut World<'p>, step: usize, facts: &Facts) -> Vec<Point> {
        let (before, after) = self.memories(world, step);
        let changed = changed(&before, &after);
        let touched = |fact: &Fact| changed.iter().any(|slot| fact.reads.contains(slot));
        let all = std::iter::once(Graph::IDLE).chain(self.graph.running());
        let differ = !self.program.annotations.disjoint.is_empty();
        let mut chunks: Vec<Point> = all
            .filter(|point| differ && *point != Graph::IDLE || facts.of(*point).iter().any(touched))
            .map(|point| Point(point.0 / CHUNK * CHUNK))
            .collect();
        chunks.dedup();
        chunks
    }

    /// The places at which another process's status could change by this step.
    pub fn status_readers(&self, world: &mut World<'p>, step: usize) -> Vec<Point> {
        let (before, after) = self.memories(world, step);
        if before == after {
            return Vec::new();
        }
        let other = world.process(Role::Other);
        let mut found = Vec::new();
        for point in self.graph.running().filter(|point| self.graph.place(*point).phase == Phase::Given) {
            let frame = world.frame(self.op(point), other);
            if self.stands(world, point, &frame, &before) != self.stands(world, point, &frame, &after) {
                found.push(point);
            }
        }
        found
    }

    pub(crate) fn memories(&self, world: &mut World<'p>, step: usize) -> (Memory, Memory) {
        let (memory, me) = (world.memory(Space::Program), world.process(Role::Actor));
        let step = &self.graph.steps[step];
        let frame = world.frame(self.op(step.from), me);
        let taken = self.take(world, step, &memory, &frame);
        (memory, taken.memory)
    }

    /// An obligation in formulas.
    pub fn question(
        &self,
        world: &mut World<'p>,
        facts: &Facts,
        obligation: Obligation,
        pre: Precondition,
    ) -> Question {
        match obligation.kind {
            Kind::Initial => self.initial(world, facts),
            Kind::Ends => self.ends(world),
            Kind::Same => self.same_question(world, facts, obligation.step, pre),
            Kind::Call => self.call_question(world, facts, obligation.step),
            Kind::Pairs => self.pairs_question(world, facts, obligation.step),
            Kind::Safe | Kind::Invariant | Kind::Others | Kind::Effect | Kind::Status => {
                self.step_question(world, facts, obligation, pre)
            }
        }
    }

    pub(crate) fn fact_goals(
        &self,
        world: &mut World<'p>,
        facts: &Facts,
        point: Option<Point>,
        frame: &Frame,
        memory: &Memory,
    ) -> Vec<(Term, Goal)> {
        let mut goals = Vec::new();
        match point {
            None => {
                // Nobody's view: the same as where it is used.
                let nobody = world.none();
                let frame = Frame { pid: nobody, locals: vec![], inputs: vec![], result: vec![] };
                for (number, fact) in facts.always.iter().enumerate() {
                    goals.push((world.annotation_truth(&fact.body, memory, &frame), Goal::Always(number)));
                }
            }
            Some(point) => {
                for (number, fact) in facts.of(point).iter().enumerate() {
                    goals.push((world.annotation_truth(&fact.body, memory, frame), Goal::At(point, number)));
                }
            }
        }
        goals
    }

    fn call_question(&self, world: &mut World<'p>, facts: &Facts, op: usize) -> Question {
        let (memory, me) = (world.memory(Space::Program), world.process(Role::Actor));
        let entry = self.graph.entries[op];
        let frame = world.frame(self.op(entry), me);
        let idle = world.frame(None, me);
        let mut hypotheses = self.known_of_memory(world, &memory, facts);
        hypotheses.extend(self.known_of_opaque(world, &memory));
        hypotheses.extend(self.known_of(world, Graph::IDLE, &idle, &memory, facts));
        hypotheses.extend(self.known_of_frame(world, entry, &frame, &memory));
        for (local, input) in frame.locals.iter().zip(&frame.inputs) {
            hypotheses.push(world.same(*local, *input));
        }
        hypotheses.push(self.may_be_called(world, entry, &frame, &memory));
        let mut goals = self.fact_goals(world, facts, Some(entry), &frame, &memory);
        // A process that starts must differ from all others where it starts.
        let other = world.process(Role::Other);
        let same = world.terms.eq(me, other);
        for point in self.graph.running() {
            let q_frame = world.frame(self.op(point), other);
            let one = self.disjoint(world, (entry, &frame), (point, &q_frame), &memory);
            let two = self.disjoint(world, (point, &q_frame), (entry, &frame), &memory);
            let differ = world.terms.and([one, two]);
            let known = self.known_of(world, point, &q_frame, &memory, facts);
            let known = world.terms.and(known);
            let differ = world.terms.implies(known, differ);
            goals.push((world.terms.or([same, differ]), Goal::Differ(point)));
        }
        let call = self.call(world, entry, &frame);
        for (case, stand) in self.stands(world, entry, &frame, &memory) {
            let allowed = match &stand {
                Stand::In => continue,
                Stand::InOut(out) | Stand::Out(out) => {
                    self.abstraction.takes_effect(world, &call, &memory, &memory, out)
                }
            };
            goals.push((world.terms.implies(case, allowed), Goal::Other));
        }
        let scene = Scene {
            memory: (memory.clone(), memory),
            p: (frame.clone(), frame),
            p_at: (Graph::IDLE, Some(entry)),
            q: Vec::new(),
        };
        Question { hypotheses, goals, scene }
    }

    fn step_question(
        &self,
        world: &mut World<'p>,
        facts: &Facts,
        obligation: Obligation,
        pre: Precondition,
    ) -> Question {
        let (memory, me) = (world.memory(Space::Program), world.process(Role::Actor));
        let step = &self.graph.steps[obligation.step];
        let frame = world.frame(self.op(step.from), me);
        let mut hypotheses = self.known_of_memory(world, &memory, facts);
        hypotheses.extend(self.known_of(world, step.from, &frame, &memory, facts));
        let taken = self.take(world, step, &memory, &frame);
        if obligation.kind != Kind::Safe {
            hypotheses.extend(taken.guards.iter().copied());
        }
        if let Kind::Effect | Kind::Status = obligation.kind {
            for memory in [&memory, &taken.memory] {
                hypotheses.extend(self.known_of_opaque(world, memory));
            }
        }
        let mut q = Vec::new();
        if let Some(first) = obligation.other {
            let other = world.process(Role::Other);
            let same = world.terms.eq(me, other);
            hypotheses.push(world.terms.not(same));
            let count = if obligation.kind == Kind::Others { CHUNK } else { 1 };
            let last = (first.0 + count).min(self.graph.places.len() as u16);
            for point in (first.0..last).map(Point) {
                q.push((world.frame(self.op(point), other), point));
            }
        }
        if pre == Precondition::All {
            hypotheses.push(self.every_holder(world, facts, Some((step.from, &frame)), &memory));
        }
        let goals = match obligation.kind {
            Kind::Safe => taken.checks.iter().map(|check| (*check, Goal::Other)).collect(),
            Kind::Invariant => {
                let to = step.to.unwrap_or(Graph::IDLE);
                let after = if step.to.is_some() { taken.frame.clone() } else { world.frame(None, me) };
                let mut goals = self.fact_goals(world, facts, Some(to), &after, &taken.memory);
                let mut pointers = Vec::new();
                if memory != taken.memory {
                    goals.extend(self.fact_goals(world, facts, None, &after, &taken.memory));
                    pointers = self.pointers_of_memory(world, &taken.memory);
                }
                if step.to.is_some() {
                    pointers.extend(self.pointers_of_frame(world, to, &after, &taken.memory));
                }
                goals.extend(pointers.into_iter().map(|pointer| (pointer, Goal::Other)));
                goals
            }
            Kind::Effect => self.effect(
                world,
                obligation.step,
                (&memory, &taken.memory),
                (&frame, &taken.frame),
                taken.returned.as_deref(),
            ),
            Kind::Others | Kind::Status => {
                let mut goals = Vec::new();
                for (q_frame, point) in &q {
                    let mut known = self.known_of(world, *point, q_frame, &memory, facts);
                    known.push(self.disjoint(world, (step.from, &frame), (*point, q_frame), &memory));
                    known.push(self.disjoint(world, (*point, q_frame), (step.from, &frame), &memory));
                    let known = world.terms.and(known);
                    let here = match obligation.kind {
                        Kind::Others => {
                            self.kept_by_other(world, facts, step.to, (q_frame, *point), (&memory, &taken))
                        }
                        _ => self.status_of_other(world, *point, q_frame, (&memory, &taken.memory)),
                    };
                    goals.extend(
                        here.into_iter().map(|(goal, what)| (world.terms.implies(known, goal), what)),
                    );
                }
                goals
            }
            Kind::Initial | Kind::Ends | Kind::Call | Kind::Same | Kind::Pairs => Vec::new(),
        };
        let scene =
            Scene { memory: (memory, taken.memory), p: (frame, taken.frame), p_at: (step.from, step.to), q };
        Question { hypotheses, goals, scene }
    }

    /// What another process must keep.
    fn kept_by_other(
        &self,
        world: &mut World<'p>,
        facts: &Facts,
        to: Option<Point>,
        (q_frame, point): (&Frame, Point),
        (before, taken): (&Memory, &Taken),
    ) -> Vec<(Term, Goal)> {
        let changed = changed(before, &taken.memory);
        let mut goals = Vec::new();
        for (number, fact) in facts.of(point).iter().enumerate() {
            if changed.iter().any(|slot| fact.reads.contains(slot)) {
                let kept = world.annotation_truth(&fact.body, &taken.memory, q_frame);
                goals.push((kept, Goal::At(point, number)));
            }
        }
        if let Some(to) = to {
            let one = self.disjoint(world, (to, &taken.frame), (point, q_frame), &taken.memory);
            let two = self.disjoint(world, (point, q_frame), (to, &taken.frame), &taken.memory);
            goals.push((world.terms.and([one, two]), Goal::Differ(point)));
        }
        goals
    }

    /// p's own change of status, and what becomes of the abstract state.
    fn effect(
        &self,
        world: &mut World<'p>,
        step: usize,
        (before, after): (&Memory, &Memory),
        (old, new): (&Frame, &Frame),
        returned: Option<&[Term]>,
    ) -> Vec<(Term, Goal)> {
        let step = &self.graph.steps[step];
        let call = self.call(world, step.from, old);
        let yes = world.terms.bool(true);
        let ends = match (step.to, returned) {
            (Some(to), _) => self.stands(world, to, new, after),
            (None, Some(result)) => {
                // A point that was passed in this step, or before it, has said what is returned.
                let mut ends = vec![(yes, Stand::Out(result.to_vec()))];
                if self.graph.takes_effect(step) {
                    let said = world.all_same(&new.result, result);
                    let differs = world.terms.not(said);
                    ends = vec![(said, Stand::Out(result.to_vec())), (differs, Stand::In)];
                }
                ends
            }
            (None, None) => Vec::new(),
        };
        let same = self.abstraction.unchanged(world, before, after);
        let mut goals = Vec::new();
        for (was, start) in self.stands(world, step.from, old, before) {
            for (is, end) in &ends {
                let allowed = match (&start, end) {
                    // A return with another result than was said.
                    (_, Stand::In) if step.to.is_none() => world.terms.bool(false),
                    (Stand::In | Stand::InOut(_), Stand::In) => same,
                    (Stand::In, Stand::InOut(out)) => {
                        let here = self.abstraction.takes_effect(world, &call, before, before, out);
                        world.terms.and([same, here])
                    }
                    (Stand::In, Stand::Out(out)) => {
                        self.abstraction.takes_effect(world, &call, before, after, out)
                    }
                    (Stand::InOut(old), Stand::InOut(new)) => {
                        let kept = world.all_same(old, new);
                        let here = self.abstraction.takes_effect(world, &call, before, before, new);
                        let either = world.terms.or([kept, here]);
                        world.terms.and([same, either])
                    }
                    (Stand::InOut(old), Stand::Out(new)) => {
                        let kept = world.all_same(old, new);
                        let skip = world.terms.and([kept, same]);
                        let here = self.abstraction.takes_effect(world, &call, before, after, new);
                        world.terms.or([skip, here])
                    }
                    (Stand::Out(old), Stand::Out(new)) => {
                        let kept = world.all_same(old, new);
                        world.terms.and([kept, same])
                    }
                    (Stand::Out(_), _) => world.terms.bool(false),
                };
                let case = world.terms.and([was, *is]);
                goals.push((world.terms.implies(case, allowed), Goal::Other));
            }
        }
        goals
    }

    /// q's change of status by a step of p; what it does abstractly must not change the state.
    fn status_of_other(
        &self,
        world: &mut World<'p>,
        point: Point,
        frame: &Frame,
        (before, after): (&Memory, &Memory),
    ) -> Vec<(Term, Goal)> {
        let call = self.call(world, point, frame);
        let ends = self.stands(world, point, frame, after);
        let mut goals = Vec::new();
        for (was, start) in self.stands(world, point, frame, before) {
            for (is, end) in &ends {
                let allowed = match (&start, end) {
                    (Stand::In | Stand::InOut(_), Stand::In) => continue,
                    (Stand::In, Stand::InOut(out) | Stand::Out(out)) => {
                        self.abstraction.takes_effect(world, &call, after, after, out)
                    }
                    (Stand::InOut(old), Stand::InOut(new) | Stand::Out(new)) => {
                        let kept = world.all_same(old, new);
                        let here = self.abstraction.takes_effect(world, &call, after, after, new);
                        world.terms.or([kept, here])
                    }
                    (Stand::Out(old), Stand::Out(new)) => world.all_same(old, new),
                    (Stand::Out(_), _) => world.terms.bool(false),
                };
                let case = world.terms.and([was, *is]);
                goals.push((world.terms.implies(case, allowed), Goal::Other));
            }
        }
        goals
    }
}
