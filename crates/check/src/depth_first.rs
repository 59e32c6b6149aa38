//! One order, depth first: the operation that must return first goes first.
//!
//! The metastates keep every configuration and go on with all of them; where there are very many that is
//! slow, although most of them would do. This engine follows one, as Wing & Gong (1993) do, and turns back
//! where it leads nowhere. Dead ends are remembered (Lowe 2017). What differs from [`crate::brute`], which
//! stays as plain as it is:
//!
//! - **Earliest return first.** Of the operations that may come next, the one that returns first is tried
//!   first. It must take effect before anything that is called later, so to put it off only helps where
//!   something else has to come before it.
//! - **Looking is free.** An operation that can never change the state takes effect as soon as the state
//!   allows it. Any order in which it comes later is still an order with it moved here: nothing it passes
//!   sees it, and it was called.
//! - **Equals.** Of operations that are called and have the same name, argument and result (and process,
//!   where that matters), only the one that returns first is tried. Exchanging two of them changes no state,
//!   and leaves the one with more time.
//! - States are numbers and steps are asked for once ([`Machine`]).
//!
//! **What it concludes.** An order is only an order once the recheck has replayed it. That there is none is
//! concluded where everything was tried. A dead end is the first missing return, the set of operations done
//! beyond it and the state: what may follow depends on nothing else. So the search never goes past the
//! furthest return it has reached: that return has no explanation, and the history up to it none. Where
//! states are too many to remember them all, older choices are made final; then an end of the search proves
//! nothing, and the engine says so.

mod dead;
mod foresight;
pub(crate) mod links;

use linpoint_history::{Operation, Spec};

use self::dead::DeadEnds;
pub use self::foresight::{Foresight, Role};
use self::links::{Calls, Returns};
use crate::engine::{Budget, Context, Engine, Stop, Violation, Witness};
use crate::metastate::generic::machine::Machine;
use crate::timeline::{OpId, Timeline};

/// The engine. It collects the rows, and searches at the end.
#[derive(Debug)]
pub struct DepthFirst<S: Spec> {
    spec: S,
    rows: Vec<Operation>,
    earliest: Vec<u32>,
    furthest: u32,
}

impl<S: Spec + Clone> DepthFirst<S> {
    /// An engine for `spec`.
    pub fn new(spec: S) -> DepthFirst<S> {
        DepthFirst { spec, rows: Vec::new(), earliest: Vec::new(), furthest: 0 }
    }
}

impl<S: Spec + Clone> Engine for DepthFirst<S> {
    fn name(&self) -> &'static str {
        "depth-first search"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        _witness: &mut Witness,
    ) -> Result<(), Stop> {
        for id in self.rows.len() as u32..upto {
            self.rows.push(*timeline.op(OpId(id)));
            self.earliest.push(timeline.earliest(OpId(id)));
        }
        cx.budget.check(self.memory())
    }

    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        let completed = self.rows.len() as u32;
        self.rows.extend_from_slice(timeline.pending());
        self.earliest
            .extend((0..timeline.pending().len() as u32).map(|i| timeline.earliest(OpId::pending(i))));
        let problem = Problem { rows: &self.rows, earliest: &self.earliest, completed };
        let searched = search(self.spec.clone(), &problem, cx, None, u64::MAX, &mut self.furthest)?;
        match searched.found {
            Found::Order => {
                witness.order.extend(searched.order);
                Ok(())
            }
            Found::None => Err(Stop::Violated(Violation {
                at: OpId(self.furthest),
                core: Vec::new(),
                reason: String::new(),
            })),
            Found::GaveUp => {
                Err(Stop::Unsupported("older choices were made final, and there was no way on".into()))
            }
        }
    }

    fn explained(&self) -> Option<u32> {
        Some(self.furthest)
    }

    fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<Operation>() + self.earliest.capacity() * 4
    }
}

/// A history.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The completed operations by return, then those that never returned.
    pub rows: &'a [Operation],
    /// Their first gaps.
    pub earliest: &'a [u32],
    /// How many have completed.
    pub completed: u32,
}

/// What came out of a search.
#[derive(Debug)]
pub struct Searched {
    /// How it ended.
    pub found: Found,
    /// The order, if there is one.
    pub order: Vec<OpId>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// With an order.
    Order,
    /// There is none.
    None,
    /// It did not try everything.
    GaveUp,
}

/// Searches for an order, in at most `patience` steps; `furthest` becomes the first return that none of those
/// tried explains. What `foresight` rules out is not tried.
pub fn search<S: Spec>(
    spec: S,
    problem: &Problem<'_>,
    cx: &Context<'_>,
    foresight: Option<Foresight>,
    patience: u64,
    furthest: &mut u32,
) -> Result<Searched, Stop> {
    let mut machine = Machine::new(spec);
    let classes = problem.rows.iter().map(|row| machine.class(row, cx.symbols)).collect();
    let mut search = Search::new(machine, classes, problem.earliest, problem.completed);
    search.foresight = foresight;
    search.patience = patience;
    let found = search.run(cx.budget);
    *furthest = search.furthest_return;
    let id = |op: &u32| match op.checked_sub(problem.completed) {
        Some(pending) => OpId::pending(pending),
        None => OpId(*op),
    };
    Ok(Searched { found: found?, order: search.order.iter().map(id).collect() })
}

/// So many choices are kept open when states become too many.
const KEPT: usize = 1 << 12;

/// A place where several operations could come next.
#[derive(Clone, Copy, Debug)]
struct Frame {
    state: u32,
    /// The order was so long before the operation that led here.
    mark: u32,
    /// The choices from here on are its own, the best one last.
    choices: u32,
    /// The furthest operation done before the one that led here.
    ahead: u32,
}

struct Search<'a, S: Spec> {
    machine: Machine<S>,
    /// Of each operation: completed ones by return, then those that never returned.
    classes: Vec<u32>,
    earliest: &'a [u32],
    completed: u32,
    calls: Calls,
    returns: Returns,
    /// A bit an operation: did it take effect?
    done: Vec<u64>,
    /// One past the furthest completed operation that did.
    ahead: u32,
    order: Vec<u32>,
    frames: Vec<Frame>,
    /// An operation, and the state after it.
    choices: Vec<(u32, u32)>,
    /// Dead ends: the first missing return, the state, and what took effect beyond, one bit an operation.
    dead: DeadEnds,
    /// Room for the bits that are asked for.
    beyond: Vec<u64>,
    furthest_return: u32,
    /// Were choices made final?
    is_final: bool,
    foresight: Option<Foresight>,
    /// Steps after which it gives up.
    patience: u64,
}

impl<S: Spec> Search<'_, S> {
    fn new(machine: Machine<S>, classes: Vec<u32>, earliest: &[u32], completed: u32) -> Search<'_, S> {
        // Pending operations that only look are left out: they need not take effect.
        let wanted = |op: u32| op < completed || !machine.is_read_only(classes[op as usize]);
        Search {
            calls: Calls::new(earliest, wanted),
            returns: Returns::new(completed),
            done: vec![0; earliest.len().div_ceil(64) + 1],
            machine,
            classes,
            earliest,
            completed,
            ahead: 0,
            order: Vec::with_capacity(earliest.len()),
            frames: Vec::new(),
            choices: Vec::new(),
            dead: DeadEnds::default(),
            beyond: Vec::new(),
            furthest_return: 0,
            is_final: false,
            foresight: None,
            patience: u64::MAX,
        }
    }

    fn run(&mut self, budget: &Budget) -> Result<Found, Stop> {
        let mut frame = Frame { state: 0, mark: 0, choices: 0, ahead: 0 };
        let mut steps = 0u64;
        loop {
            self.look(frame.state);
            let first = self.returns.first();
            if first == self.completed {
                return Ok(Found::Order);
            }
            self.furthest_return = self.furthest_return.max(first);
            if self.is_dead(first, frame.state) {
                self.back_to(&frame);
            } else {
                frame.choices = self.choices.len() as u32;
                self.choose(first, frame.state);
                self.frames.push(frame);
            }
            // The next choice of the last place that has one.
            loop {
                steps += 1;
                if steps.is_multiple_of(256) {
                    budget.check(self.memory())?;
                    if steps > self.patience {
                        return Ok(Found::GaveUp);
                    }
                }
                let Some(last) = self.frames.last().copied() else {
                    return Ok(if self.is_final { Found::GaveUp } else { Found::None });
                };
                if self.choices.len() > last.choices as usize
                    && let Some((op, state)) = self.choices.pop()
                {
                    frame = Frame { state, mark: self.order.len() as u32, choices: 0, ahead: self.ahead };
                    self.set_done(op);
                    break;
                }
                self.bury(last.state);
                self.frames.pop();
                self.back_to(&last);
            }
            if self.machine.is_due() {
                self.forget(&mut frame);
            }
        }
    }

    /// Lets everything that only looks, and may, take effect.
    fn look(&mut self, state: u32) {
        let mut next = self.calls.first();
        while let Some(op) = next
            && self.earliest[op as usize] <= self.returns.first()
        {
            next = self.calls.after(op);
            let class = self.classes[op as usize];
            if self.machine.is_read_only(class) && self.machine.step(state, class) == state {
                self.set_done(op);
            }
        }
    }

    /// Lists what may come next, the one that returns first last.
    fn choose(&mut self, first: u32, state: u32) {
        let start = self.choices.len();
        let mut candidates: Vec<(u32, u32)> = Vec::new();
        let mut next = self.calls.first();
        while let Some(op) = next
            && self.earliest[op as usize] <= first
        {
            next = self.calls.after(op);
            let class = self.classes[op as usize];
            if self.machine.is_read_only(class) {
                continue; // It does not fit here.
            }
            if self.foresight.as_ref().is_some_and(|foresight| !foresight.admits(op)) {
                continue;
            }
            match candidates.iter_mut().find(|(other, _)| *other == class) {
                Some((_, equal)) => *equal = op.min(*equal),
                None => candidates.push((class, op)),
            }
        }
        candidates.sort_unstable_by_key(|&(_, op)| std::cmp::Reverse(op));
        for (class, op) in candidates {
            let outcome = self.machine.step(state, class);
            self.choices.extend(self.machine.states_of(outcome).map(|after| (op, after)));
        }
        debug_assert!(self.choices.len() >= start);
    }

    fn set_done(&mut self, op: u32) {
        self.done[op as usize / 64] |= 1 << (op % 64);
        self.calls.remove(op);
        if let Some(foresight) = &mut self.foresight {
            foresight.done(op);
        }
        if op < self.completed {
            self.returns.remove(op);
            self.ahead = self.ahead.max(op + 1);
        }
        self.order.push(op);
    }

    /// Takes back what was done since just before the operation that led to this place.
    fn back_to(&mut self, frame: &Frame) {
        while self.order.len() > frame.mark as usize {
            let Some(op) = self.order.pop() else { return };
            self.done[op as usize / 64] &= !(1 << (op % 64));
            self.calls.put_back(op);
            if let Some(foresight) = &mut self.foresight {
                foresight.undone(op);
            }
            if op < self.completed {
                self.returns.put_back(op);
            }
        }
        self.ahead = frame.ahead;
    }

    /// Notes what took effect beyond the first missing return.
    fn look_beyond(&mut self, first: u32) {
        let from = first as usize / 64;
        let to = (self.ahead as usize).div_ceil(64).max(from);
        let pending = self.completed as usize / 64;
        self.beyond.clear();
        // A word may hold both kinds; what comes after the last completed operation is all there, so that the
        // two parts are told apart.
        self.beyond.extend_from_slice(&self.done[from..to.min(pending)]);
        self.beyond.extend_from_slice(&self.done[pending..]);
    }

    fn is_dead(&mut self, first: u32, state: u32) -> bool {
        self.look_beyond(first);
        self.dead.contains(first, state, &self.beyond)
    }

    fn bury(&mut self, state: u32) {
        let first = self.returns.first();
        self.look_beyond(first);
        self.dead.insert(first, state, &self.beyond);
    }

    /// States are too many: choices long ago become final, and their states are forgotten.
    fn forget(&mut self, current: &mut Frame) {
        let old = self.frames.len().saturating_sub(KEPT);
        if old > 0 {
            self.is_final = true;
            let choices = self.frames[old].choices;
            self.frames.drain(..old);
            self.choices.drain(..choices as usize);
            self.frames.iter_mut().for_each(|frame| frame.choices -= choices);
            self.dead.clear();
        }
        let mut dead = self.dead.states();
        let states = self.frames.iter_mut().map(|frame| &mut frame.state);
        let states = states.chain(self.choices.iter_mut().map(|choice| &mut choice.1));
        let states = states.chain(dead.iter_mut()).chain([&mut current.state]);
        self.machine.forget(states, self.classes.iter_mut());
        self.dead.renumber(&dead);
    }

    fn memory(&self) -> usize {
        self.machine.bytes()
            + self.dead.bytes()
            + self.frames.capacity() * size_of::<Frame>()
            + self.choices.capacity() * 8
            + self.classes.len() * 32
    }
}
