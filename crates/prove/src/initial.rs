//! The start: the memory that the initial code leaves, and that the code comes to its end. Where it does not
//! there is no run, and everything would be true of all of them.

use linpoint_lang::program::{Exit, OpId};

use crate::context::Subject;
use crate::fact::Facts;
use crate::graph::Graph;
use crate::obligation::{Goal, Question, Scene};
use crate::symbol::{Role, Space};
use crate::term::Term;
use crate::world::{Cell, Frame, Memory, World};

/// A way through the initial code.
struct End {
    /// What must hold for it to be taken, so far.
    guards: Vec<Term>,
    /// Which of these only say that a record is a new one.
    made: Vec<Term>,
    /// The memory it comes to.
    memory: Memory,
}

impl<'p> Subject<'p> {
    pub(crate) fn initial(&self, world: &mut World<'p>, facts: &Facts) -> Question {
        let me = world.process(Role::Actor);
        let (start, known) = self.initial_memory(world);
        let mut hypotheses = self.sizes(world);
        let zero = world.terms.int(0);
        // Whoever runs the initial code is one process; what is known of those at rest is known of any.
        let any = world.process(Role::Other);
        hypotheses.extend([world.terms.le(zero, me), world.terms.le(zero, any)]);
        hypotheses.extend(known);
        let frame = world.frame(None, any);
        let mut goals = Vec::new();
        let mut checks = Vec::new();
        let ends = self.after_initial_code(world, &start, me, &mut checks);
        goals.extend(checks.into_iter().map(|check| (check, Goal::Other)));
        for End { guards, memory, .. } in ends {
            let guard = world.terms.and(guards);
            let mut here = self.fact_goals(world, facts, None, &frame, &memory);
            here.extend(self.fact_goals(world, facts, Some(Graph::IDLE), &frame, &memory));
            let types = self.types(world, &memory);
            here.push((world.terms.and(types), Goal::Other));
            let pointers = self.pointers_of_memory(world, &memory);
            here.push((world.terms.and(pointers), Goal::Other));
            here.push((self.abstraction.holds_always(world, &memory), Goal::Other));
            here.push((self.abstraction.is_initial(world, &memory), Goal::Other));
            goals.extend(here.into_iter().map(|(goal, what)| (world.terms.implies(guard, goal), what)));
        }
        let scene = Scene {
            memory: (start.clone(), start),
            p: (frame.clone(), frame),
            p_at: (Graph::IDLE, None),
            q: Vec::new(),
        };
        Question { hypotheses, goals, scene }
    }

    /// That some way through the initial code can be taken to its end, for every size. It has no choices, so
    /// that one is the way that is taken. Records that were not made yet there always are.
    pub(crate) fn ends(&self, world: &mut World<'p>) -> Question {
        let me = world.process(Role::Actor);
        let (start, known) = self.initial_memory(world);
        let zero = world.terms.int(0);
        let mut hypotheses = self.sizes(world);
        hypotheses.push(world.terms.le(zero, me));
        hypotheses.extend(known);
        let ends = self.after_initial_code(world, &start, me, &mut Vec::new());
        let mut ways = Vec::new();
        for end in ends {
            hypotheses.extend(end.made);
            ways.push(world.terms.and(end.guards));
        }
        let goals = vec![(world.terms.or(ways), Goal::Other)];
        let frame = world.frame(None, me);
        let scene = Scene {
            memory: (start.clone(), start),
            p: (frame.clone(), frame),
            p_at: (Graph::IDLE, None),
            q: Vec::new(),
        };
        Question { hypotheses, goals, scene }
    }

    /// Memory with the initial values, before the initial code.
    fn initial_memory(&self, world: &mut World<'p>) -> (Memory, Vec<Term>) {
        let mut memory = world.memory(Space::Program);
        let nobody = world.none();
        let mut frame = Frame { pid: nobody, locals: vec![], inputs: vec![], result: vec![] };
        let empty = memory.clone();
        let mut known = Vec::new();
        for (global, cells) in self.program.globals.iter().zip(&mut memory.globals) {
            for (slot, cell) in global.slots.iter().zip(cells) {
                let value = world.eval(&slot.init, &empty, &mut frame);
                let value = world.fit(value, crate::world::sort_of(&slot.ty));
                match cell {
                    Cell::Scalar(scalar) => *scalar = value,
                    Cell::Array(store) => {
                        let depth = world.depth;
                        let bound = world.terms.bound(depth);
                        let at = world.terms.app(store.base, vec![bound]);
                        let same = world.terms.eq(at, value);
                        known.push(world.terms.forall(depth, same));
                    }
                }
            }
        }
        for store in &memory.alive {
            let depth = world.depth;
            let bound = world.terms.bound(depth);
            let alive = world.terms.app(store.base, vec![bound]);
            let free = world.terms.not(alive);
            known.push(world.terms.forall(depth, free));
        }
        // Fields of records that were never made hold anything of their type.
        for (record, stores) in self.program.records.iter().zip(&memory.fields) {
            for (slot, store) in record.fields.iter().zip(stores) {
                let depth = world.depth;
                let bound = world.terms.bound(depth);
                let at = world.terms.app(store.base, vec![bound]);
                let typed = world.is_of_type(&slot.ty, at);
                known.push(world.terms.forall(depth, typed));
            }
        }
        world.checks.clear();
        (memory, known)
    }

    /// Every way through the initial code, and the memory it leaves.
    fn after_initial_code(
        &self,
        world: &mut World<'p>,
        start: &Memory,
        me: Term,
        checks: &mut Vec<Term>,
    ) -> Vec<End> {
        let nothing = || End { guards: Vec::new(), made: Vec::new(), memory: start.clone() };
        let Some(init) = &self.program.init else { return vec![nothing()] };
        let op = OpId(self.program.operations.len() as u16);
        let frame = world.frame(Some(op), me);
        let (mut open, mut ends) = (vec![(init.entry, nothing(), frame, 0)], Vec::new());
        while let Some((node, End { guards, made, memory }, frame, steps)) = open.pop() {
            if world.terms.is_late() {
                break;
            }
            if steps > 200 || ends.len() > 16 {
                world.refuse("initial code with a loop");
                break;
            }
            for edge in &self.program.node(node).edges {
                let taken = world.take(op, edge, &[], true, &memory, &frame);
                let (mut guards, mut made) = (guards.clone(), made.clone());
                let so_far = world.terms.and(guards.iter().copied());
                checks.extend(taken.checks.into_iter().map(|check| world.terms.implies(so_far, check)));
                guards.extend(taken.guards);
                made.extend(taken.made);
                let end = End { guards, made, memory: taken.memory };
                match edge.exit {
                    Exit::Goto(to) => open.push((to, end, taken.frame, steps + 1)),
                    Exit::Return(_) => ends.push(end),
                }
            }
        }
        ends
    }
}
