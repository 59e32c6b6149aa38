//! Which orders explain these operations? One search for every specification and every precedence.
//!
//! Depth first, with a stack of its own: at each step any operation may come next that the precedence allows,
//! and goes from the state before it to every state the specification allows (Wing & Gong 1993). What was
//! placed and the state it led to is a *configuration*; one that was left behind is never entered again (Lowe
//! 2017), because the orders that go on from it were all looked at. Configurations are compared whole, not by
//! their hashes: a "no" is never due to a collision.
//!
//! Who asks says what an operation, a state and the precedence are ([`Question`]), and hears of what is met
//! ([`Event`]): the first order may be enough, or every end, or how far each order goes. Three ask:
//!
//! - `linpoint-cluster` for the states that a stretch between two quiet moments may end in;
//! - `linpoint-monitor` for an order of intervals that fits where the order of commits does not;
//! - [`crate::attempts`] for the longest orders of a counterexample.
//!
//! The oracle of the tests, [`crate::brute`], shares nothing with this.

mod placed;
mod rows;

use std::hash::{BuildHasher, Hash};
use std::ops::ControlFlow;

use rustc_hash::{FxBuildHasher, FxHashMap};

pub use placed::Placed;
pub use rows::RowsQuestion;

/// Operations that are to be put into an order. They are numbered from zero.
pub trait Question {
    /// A state of the specification. Equal states have equal futures.
    type State: Eq + Hash;

    /// How many operations there are.
    fn count(&self) -> usize;

    /// Has the operation to be in every order? Others may be left out.
    fn must(&self, op: usize) -> bool;

    /// The first operation, from number `from` on, that may come next after those `placed`.
    fn next(&self, placed: &Placed, from: usize) -> Option<usize>;

    /// Adds every state that the operation may lead to, if it is possible in `state`.
    fn outcomes(&self, state: &Self::State, op: usize, into: &mut Vec<Self::State>);

    /// How large a remembered state is, in any unit that [`Spent::remembered`] is to have.
    fn size(&self, state: &Self::State) -> usize {
        let _ = state;
        1
    }
}

/// What a search has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Steps of the search.
    pub steps: u64,
    /// Configurations come to, the same one as often as it was.
    pub arrivals: u64,
    /// The sizes of the states that are remembered.
    pub remembered: usize,
}

/// What a search meets. `Break` ends it.
pub enum Event<'a, State> {
    /// Another step: may it be taken?
    Step(Spent),
    /// Everything that must be placed is.
    Explained(Way<'a, State>),
    /// An operation that may be next is not possible.
    Refused {
        /// In this state.
        state: &'a State,
        /// Which one.
        op: usize,
    },
    /// The order goes no further.
    End(Way<'a, State>),
}

/// An order that was found, with the states it goes through.
pub struct Way<'a, State>(&'a [Frame<State>]);

impl<'a, State> Way<'a, State> {
    /// The operations, in order.
    pub fn order(&self) -> impl Iterator<Item = usize> + 'a {
        self.0.iter().filter_map(|frame| frame.op)
    }

    /// The states, from the first to the last: one more than operations.
    pub fn states(&self) -> impl Iterator<Item = &'a State> + 'a {
        self.0.iter().map(|frame| &frame.state)
    }

    /// Where it ends.
    pub fn end(&self) -> Option<&'a State> {
        self.0.last().map(|frame| &frame.state)
    }
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// Every order was looked at.
    Whole,
    /// Who asked ended it.
    Ended,
}

/// A configuration on the way, and what is left to try from it.
struct Frame<State> {
    state: State,
    /// The operation that led here, if any.
    op: Option<usize>,
    /// The next operation to try.
    cursor: usize,
    /// The operation before the cursor, and other states that it may lead to, the next one last.
    trying: usize,
    outcomes: Vec<State>,
    /// Was it possible to go on from here?
    goes_on: bool,
}

impl<State> Frame<State> {
    fn new(state: State, op: Option<usize>) -> Frame<State> {
        Frame { state, op, cursor: 0, trying: 0, outcomes: Vec::new(), goes_on: false }
    }
}

/// Goes through the orders from each of these states.
pub fn walk<Q: Question>(
    question: &Q,
    starts: impl IntoIterator<Item = Q::State>,
    mut heard: impl FnMut(Event<'_, Q::State>) -> ControlFlow<()>,
) -> Walked {
    let count = question.count();
    let missing = (0..count).filter(|&op| question.must(op)).count();
    let mut search = Search {
        question,
        placed: Placed::none(count),
        missing,
        left_behind: FxHashMap::default(),
        spent: Spent::default(),
        stack: Vec::new(),
    };
    for start in starts {
        if search.from(start, &mut heard).is_break() {
            return Walked::Ended;
        }
    }
    Walked::Whole
}

struct Search<'a, Q: Question> {
    question: &'a Q,
    placed: Placed,
    /// Operations that must be placed and are not.
    missing: usize,
    /// By what was placed: states, each with its hash.
    left_behind: FxHashMap<Placed, Vec<(u64, Q::State)>>,
    spent: Spent,
    stack: Vec<Frame<Q::State>>,
}

impl<Q: Question> Search<'_, Q> {
    fn from(
        &mut self,
        start: Q::State,
        heard: &mut impl FnMut(Event<'_, Q::State>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.enter(start, None, heard)?;
        while let Some(top) = self.stack.last_mut() {
            self.spent.steps += 1;
            heard(Event::Step(self.spent))?;
            if let Some(state) = top.outcomes.pop() {
                top.goes_on = true;
                let op = top.trying;
                self.set(op, true);
                self.enter(state, Some(op), heard)?;
            } else if let Some(op) = self.question.next(&self.placed, top.cursor) {
                (top.cursor, top.trying) = (op + 1, op);
                self.question.outcomes(&top.state, op, &mut top.outcomes);
                top.outcomes.reverse();
                if top.outcomes.is_empty() {
                    heard(Event::Refused { state: &top.state, op })?;
                }
            } else {
                if !top.goes_on {
                    heard(Event::End(Way(&self.stack)))?;
                }
                self.leave();
            }
        }
        ControlFlow::Continue(())
    }

    /// Comes to a configuration; it is not entered if it was left behind before.
    fn enter(
        &mut self,
        state: Q::State,
        op: Option<usize>,
        heard: &mut impl FnMut(Event<'_, Q::State>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.spent.arrivals += 1;
        if self.is_left_behind(&state) {
            op.into_iter().for_each(|op| self.set(op, false));
            return ControlFlow::Continue(());
        }
        self.stack.push(Frame::new(state, op));
        if self.missing == 0 {
            heard(Event::Explained(Way(&self.stack)))?;
        }
        ControlFlow::Continue(())
    }

    fn leave(&mut self) {
        let Some(Frame { state, op, .. }) = self.stack.pop() else { return };
        self.spent.remembered += self.question.size(&state);
        let known = (FxBuildHasher.hash_one(&state), state);
        match self.left_behind.get_mut(&self.placed) {
            Some(states) => states.push(known),
            None => drop(self.left_behind.insert(self.placed.clone(), vec![known])),
        }
        op.into_iter().for_each(|op| self.set(op, false));
    }

    fn is_left_behind(&self, state: &Q::State) -> bool {
        let Some(states) = self.left_behind.get(&self.placed) else { return false };
        let hash = FxBuildHasher.hash_one(state);
        states.iter().any(|(other, known)| *other == hash && known == state)
    }

    fn set(&mut self, op: usize, is_placed: bool) {
        self.placed.set(op, is_placed);
        if self.question.must(op) {
            self.missing = if is_placed { self.missing - 1 } else { self.missing + 1 };
        }
    }
}
