//! The same abstraction in other words: a further `abs` must stand for the same state as the first wherever
//! the invariants hold.
//!
//! What is asked is more than needed: the same indices count, with the same items. A proof may then go by
//! whichever form is easier for it, and the theorem is about both: so the multiset is proved with a ghost
//! that says which slots count, and the predicate of Travkin, Wehrheim and Schellhorn (2012), which looks at
//! locks and has a quantifier inside, is shown to say the same.

use linpoint_lang::Program;

use crate::abstraction::{Abstraction, Form};
use crate::context::Subject;
use crate::fact::Facts;
use crate::graph::Graph;
use crate::obligation::{Goal, Precondition, Question, Scene};
use crate::symbol::{Role, Space};
use crate::term::Term;
use crate::world::{Memory, World};

impl<'p> Abstraction<'p> {
    /// The further ones of a program, read like the first.
    pub fn again(&self, program: &'p Program) -> Result<Vec<Abstraction<'p>>, String> {
        let mut list = Vec::new();
        for abs in &program.annotations.abs_again {
            if abs.over.is_some() != self.abs.over.is_some() || abs.items.len() != self.abs.items.len() {
                return Err("two `abs` that are not of the same form".into());
            }
            list.push(Abstraction { abs, form: self.form });
        }
        Ok(list)
    }

    /// In this memory both are the same.
    fn same_as(&self, world: &mut World<'p>, other: &Abstraction<'p>, memory: &Memory) -> Vec<Term> {
        if self.form == Form::Values {
            let (one, two) = (self.values(world, memory), other.values(world, memory));
            return vec![world.all_same(&one, &two)];
        }
        let mut goals = Vec::new();
        if self.form == Form::Sequence {
            let ((lo, hi), (other_lo, other_hi)) = (self.range(world, memory), other.range(world, memory));
            goals.extend([world.terms.eq(lo, other_lo), world.terms.eq(hi, other_hi)]);
        }
        let depth = world.depth;
        world.depth += 1;
        let bound = world.terms.bound(depth);
        let (counts, also) = (self.counts(world, memory, bound), other.counts(world, memory, bound));
        let (item, other_item) = (self.item(world, memory, bound), other.item(world, memory, bound));
        let (agree, equal) = (world.terms.eq(counts, also), world.same(item, other_item));
        let items = world.terms.implies(counts, equal);
        world.depth = depth;
        goals.extend([agree, items].map(|body| world.terms.forall(depth, body)));
        goals
    }
}

impl<'p> Subject<'p> {
    /// In every state with the invariants, the abstraction of this number is the same as the first.
    pub(crate) fn same_question(
        &self,
        world: &mut World<'p>,
        facts: &Facts,
        number: usize,
        pre: Precondition,
    ) -> Question {
        let memory = world.memory(Space::Program);
        let nobody = world.process(Role::Actor);
        let mut hypotheses = self.known_of_memory(world, &memory, facts);
        if pre == Precondition::All {
            hypotheses.push(self.every_holder(world, facts, None, &memory));
        }
        let goals = self.abstraction.same_as(world, &self.again[number], &memory);
        let goals = goals.into_iter().map(|goal| (goal, Goal::Other)).collect();
        let frame = world.frame(None, nobody);
        let scene = Scene {
            memory: (memory.clone(), memory),
            p: (frame.clone(), frame),
            p_at: (Graph::IDLE, None),
            q: Vec::new(),
        };
        Question { hypotheses, goals, scene }
    }
}
