//! Claims that only look, decided for a whole trace.
//!
//! Most claims read some shared variables when they are made and are then decided by what their own thread does: "if
//! this snapshot succeeds, its values are those of the memory now". Nothing in the program depends on such a step.
//! It is an *observer*: it is given no dependences, so that it makes no traces of its own. What it can come to
//! see in a trace is worked out instead, and a run is made only for what was not seen before.
//!
//! # What a claim can see in a trace
//! Let c be the step of the claim. It can stand at every *cut* of the trace: a set of steps that is closed under
//! happens-before, contains what is before c, and nothing after it. What the claim sees of a variable is the last
//! write to it in the cut. Writes to one variable are totally ordered, so a choice of last writes w1, w2, … is possible
//! exactly if no write that follows one of them directly is before c, or before or equal to one of the chosen ones, and
//! no chosen one is after c. Of the cuts that belong to the same choice, the union is one again, with the same last
//! writes. It is the cut that is run: then c, then the rest of the trace, each in the order of the run, as far as there are
//! the same steps after c: a claim that waits for the end of a procedure makes that a step, and one that is true whatever
//! happens does not.
//!
//! # What was seen before
//! Whether the claim is true is a function of three things: the local state of its thread before c; the values it sees; and
//! the values of its terms. With a fixed program the local state of a thread is determined by what it read, step by
//! step, and a value by the local state of its writer and which of its writes it is. So we hash that: the *origin* of a state or a
//! value says what was read from where, and knows nothing of the order of steps that did not read from each other.
//! States and values with the same origin are the same (but for addresses) in whatever traces they occur. What a
//! claim does is a tree, *by origins*: the local state leads to its root; a node says which variable is read next; each
//! origin of a value leads to a node below; a leaf says that the claim is made. The origin of the local state in which the claim
//! was decided then stands for its terms. A leaf is done once a run was made with each of those. (A claim that is true
//! whatever happens has no terms.)
//!
//! A variable has no name that means the same in two runs. It is called by the number of the access with which the
//! thread itself first touched it, which is determined by the local state. A claim that looks at something
//! its thread has not touched yet is no observer.
//!
//! # Why nothing is lost
//! A claim is *opaque* where it is no observer: it waits for what others do, or for the end of a procedure with a variable
//! that others write; it looks at what has no name; or it does not only read. Then its accesses count, in that run, as
//! any others. Whether it is opaque may depend on what it sees (a guard may do away with the rest of the claim), and is written
//! in the tree as well. Let T, E, P, e, f be as in the argument for the queue, and f the step of a claim:
//!
//! * *f is an observer with its past inside P, and so is e:* they are the same step, and P is longer. What e sees in
//!   T it sees at the cut P of E, so that choice was looked up in the tree, and a run with the same origins was made.
//! * *f is such an observer and e is opaque:* P is a cut of E for f, and the choice at P leads to an opaque node, or
//!   to one not known before, which the run then made shows to be opaque. For each trace in which an opaque node is met, the greatest
//!   cut of the choice is run. It contains P, and the step of the claim there sees what e sees and is opaque.
//! * *f is opaque, with its past not inside P:* it has races, as any step. That a trace has the W of such a race, followed by an
//!   *observer* of the same thread, does not cover it: the claim may be opaque there.
//!
//! What a trace holds for a claim is kept as a [`Scene`] in the queue. When its turn comes, it is looked up what is not known by then.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::traces::rename;
use crate::clocks::Clocks;
use crate::event::{Access, Action, Loc, Step, ThreadId, ThreadSet};
use crate::run::{ClaimStep, Run};

/// What is known of claims, and what there is to see in the latest run.
#[derive(Default)]
pub(super) struct Observers {
    nodes: FxHashMap<u64, Node>,
    /// Leaves with the origin of the state in which they were decided; and opaque nodes with the trace they were met in.
    done: FxHashSet<u64>,
    /// The steps of the latest run that are observers.
    pub(super) steps: Vec<u32>,
    origins: Origins,
    /// What the thread of a claim had touched, access by access.
    touched: Vec<Loc>,
}

/// What a claim does.
#[derive(Clone, Copy, Debug)]
enum Node {
    /// It reads what its thread touched first with this access.
    Reads(u32),
    /// It is made, and has terms; or has none that matter.
    Made { terms: bool },
    /// Its accesses count.
    Opaque,
}

impl Observers {
    /// Finds the observers of a run, and learns what they saw.
    pub(super) fn prepare(&mut self, run: &Run) {
        self.steps.clear();
        self.origins.of(run);
        for claim in &run.claim_steps {
            self.touched_before(run, claim.step as usize);
            let mut path = self.origins.root(claim);
            let mut observes = !run.fair
                && claim.looks_only
                && run.accesses_of(claim.step as usize).len() == claim.accesses as usize;
            for &loc in &run.looks[claim.looks.0 as usize..claim.looks.1 as usize] {
                let Some(name) = self.touched.iter().position(|&touched| touched == loc) else {
                    observes = false;
                    break;
                };
                self.nodes.insert(path, Node::Reads(name as u32));
                path = below(path, self.origins.seen_at(loc, claim.step as usize));
            }
            if observes {
                self.steps.push(claim.step);
                self.nodes.insert(path, Node::Made { terms: !claim.held });
                self.done.insert(path ^ self.origins.decided(run, claim));
            } else {
                self.nodes.insert(path, Node::Opaque);
            }
        }
    }

    /// Calls `found` with every observer of the run that looked at something.
    pub(super) fn scenes(&mut self, run: &Run, clocks: &Clocks, mut found: impl FnMut(Scene)) {
        let births: Rc<[_]> =
            run.threads.iter().map(|thread| (thread.parent.unwrap_or(ThreadId(0)), thread.born_at)).collect();
        let steps: Rc<[Step]> = run.steps.as_slice().into();
        for claim in &run.claim_steps {
            if claim.looks.0 == claim.looks.1 || self.steps.binary_search(&claim.step).is_err() {
                continue;
            }
            self.touched_before(run, claim.step as usize);
            let c = claim.step as usize;
            let mut variables: Vec<Variable> = Vec::new();
            let mut names = Vec::new();
            for &loc in &self.touched {
                let known = variables.iter().position(|variable| variable.loc == loc);
                names.push(known.unwrap_or(variables.len()) as u32);
                if known.is_none() {
                    let writes = self.origins.writes_to(loc).map(|write| SceneWrite {
                        step: write.step,
                        origin: write.origin,
                        after: after(clocks, write.step as usize),
                    });
                    variables.push(Variable { loc, writes: writes.collect() });
                }
            }
            found(Scene {
                root: self.origins.root(claim),
                decided: self.origins.decided(run, claim),
                trace: clocks.trace_fingerprint(),
                claim: claim.step,
                before: (0..c).filter(|&x| clocks.before_or_equal(x, c)).map(|x| x as u32).collect(),
                after: after(clocks, c),
                names,
                variables,
                steps: Rc::clone(&steps),
                enabled_at_end: run.enabled_at_end,
                births: Rc::clone(&births),
            });
        }
    }

    /// A run that would show something new of the claim, if there is one.
    pub(super) fn look(&self, scene: &Scene) -> Option<Look> {
        self.descend(scene, scene.root, &mut Vec::new())
    }

    /// The run is made.
    pub(super) fn made(&mut self, look: &Look) {
        self.done.insert(look.mark);
    }

    fn descend(&self, scene: &Scene, node: u64, choices: &mut Vec<Choice>) -> Option<Look> {
        let mark = match self.nodes.get(&node).copied() {
            Some(Node::Made { terms: false }) => return None,
            Some(Node::Made { terms: true }) => node ^ scene.decided,
            Some(Node::Opaque) | None => node ^ scene.trace,
            Some(Node::Reads(name)) => return self.branch(scene, node, name, choices),
        };
        (!self.done.contains(&mark)).then(|| scene.look(choices, mark))
    }

    /// What can be seen of the variable that is read at `node`.
    fn branch(&self, scene: &Scene, node: u64, name: u32, choices: &mut Vec<Choice>) -> Option<Look> {
        let variable = *scene.names.get(name as usize)? as usize;
        if let Some(choice) = choices.iter().find(|choice| choice.variable == variable) {
            return self.descend(scene, below(node, scene.origin(*choice)), choices);
        }
        (0..=scene.variables[variable].writes.len()).find_map(|seen| {
            let choice = Choice { variable, seen };
            if !scene.possible(choice, choices) {
                return None;
            }
            choices.push(choice);
            let look = self.descend(scene, below(node, scene.origin(choice)), choices);
            choices.pop();
            look
        })
    }

    fn touched_before(&mut self, run: &Run, step: usize) {
        let thread = run.steps[step].thread;
        self.touched.clear();
        for index in (0..step).filter(|&index| run.steps[index].thread == thread) {
            let own = run.accesses_of(index).iter().filter(|access| counts(access));
            self.touched.extend(own.map(|access| access.loc));
        }
    }
}

/// The steps that are after a step, or are it.
fn after(clocks: &Clocks, step: usize) -> Box<[u64]> {
    let mut set = vec![0; clocks.len().div_ceil(64)];
    for x in step..clocks.len() {
        if clocks.before_or_equal(step, x) {
            set[x / 64] |= 1 << (x % 64);
        }
    }
    set.into()
}

fn contains(set: &[u64], step: u32) -> bool {
    set[step as usize / 64] >> (step % 64) & 1 == 1
}

/// How many of a variable's writes a claim shall see.
#[derive(Clone, Copy)]
struct Choice {
    variable: usize,
    seen: usize,
}

/// A claim in its trace: all that it might have seen.
pub(super) struct Scene {
    /// The origins of the state in which it was made, and of the one in which it was decided.
    root: u64,
    decided: u64,
    trace: u64,
    pub(super) claim: u32,
    /// The steps before it, and those after it.
    before: Box<[u32]>,
    after: Box<[u64]>,
    /// For each access of the thread before the claim, the variable it touched.
    names: Vec<u32>,
    variables: Vec<Variable>,
    steps: Rc<[Step]>,
    enabled_at_end: ThreadSet,
    births: Rc<[(ThreadId, u32)]>,
}

struct Variable {
    loc: Loc,
    writes: Box<[SceneWrite]>,
}

struct SceneWrite {
    step: u32,
    origin: u64,
    after: Box<[u64]>,
}

/// A run that would show something new.
pub(super) struct Look {
    mark: u64,
    pub(super) preemptions: u32,
    pub(super) schedule: Box<[ThreadId]>,
    /// So many steps of it lead up to the claim, and through it. What it sees there may change which steps there are after that:
    /// the end of a procedure is one only if a claim waits for it.
    pub(super) certain: usize,
}

impl Scene {
    /// The last write that is seen.
    fn last(&self, choice: Choice) -> Option<&SceneWrite> {
        self.variables[choice.variable].writes.get(choice.seen.checked_sub(1)?)
    }

    /// The first that is not.
    fn next(&self, choice: Choice) -> Option<&SceneWrite> {
        self.variables[choice.variable].writes.get(choice.seen)
    }

    fn origin(&self, choice: Choice) -> u64 {
        self.last(choice).map_or(INITIAL, |write| write.origin)
    }

    /// Is there a cut for this choice and the others?
    fn possible(&self, choice: Choice, others: &[Choice]) -> bool {
        let hides = |hidden: Choice, seen: Choice| match (self.next(hidden), self.last(seen)) {
            (Some(next), Some(last)) => contains(&next.after, last.step),
            _ => false,
        };
        let sees = |next: &SceneWrite| self.before.iter().any(|&x| contains(&next.after, x));
        self.last(choice).is_none_or(|last| !contains(&self.after, last.step))
            && self.next(choice).is_none_or(|next| !sees(next))
            && others.iter().all(|&other| !hides(choice, other) && !hides(other, choice))
    }

    /// The run with the claim at the greatest cut of the choices.
    fn look(&self, choices: &[Choice], mark: u64) -> Look {
        let hidden = |x: u32| {
            contains(&self.after, x)
                || choices.iter().filter_map(|&choice| self.next(choice)).any(|next| contains(&next.after, x))
        };
        let all = 0..self.steps.len() as u32;
        let cut = all.clone().filter(|&x| !hidden(x));
        let certain = cut.clone().count() + 1;
        let order = cut.chain([self.claim]).chain(all.filter(|&x| x != self.claim && hidden(x)));
        let mut preemptions = 0;
        let mut previous: Option<u32> = None;
        for x in order.clone() {
            let next = self.steps[x as usize].thread;
            preemptions += u32::from(previous.is_some_and(|y| {
                let before = self.steps[y as usize].thread;
                let enabled = self.steps.get(y as usize + 1).map_or(self.enabled_at_end, |step| step.enabled);
                before != next && enabled.contains(before)
            }));
            previous = Some(x);
        }
        let schedule = rename(&self.births, order.map(|x| self.steps[x as usize].thread));
        Look { mark, preemptions, schedule, certain }
    }

    /// About how many bytes it takes.
    pub(super) fn memory(&self) -> usize {
        let writes: usize = self.variables.iter().map(|variable| variable.writes.len()).sum();
        size_of::<Scene>()
            + self.names.len() * 4
            + self.before.len() * 4
            + self.variables.len() * size_of::<Variable>()
            + writes * (size_of::<SceneWrite>() + self.after.len() * 8)
            + self.steps.len() * size_of::<Step>()
    }
}

/// The node below `node` for a value.
fn below(node: u64, seen: u64) -> u64 {
    mix(node ^ seen.rotate_left(23))
}

/// Where local states and values come from.
#[derive(Default)]
struct Origins {
    /// Of the local state after each step.
    states: Vec<u64>,
    /// Of the local state of each thread, now; and how many it created since its last step.
    threads: Vec<u64>,
    born: Vec<u32>,
    /// All writes: of a step that writes a location several times, the last.
    writes: Vec<Write>,
}

#[derive(Clone, Copy)]
struct Write {
    loc: Loc,
    step: u32,
    origin: u64,
}

/// Is it something that the program itself touches?
fn counts(access: &Access) -> bool {
    !matches!(access.action, Action::Claim | Action::Yield)
}

/// Of what nobody wrote.
const INITIAL: u64 = 0x9e37_79b9_7f4a_7c15;

impl Origins {
    fn of(&mut self, run: &Run) {
        self.states.clear();
        self.writes.clear();
        self.threads.clear();
        self.threads.resize(run.threads.len(), 0);
        self.born.clear();
        self.born.resize(run.threads.len(), 0);
        let mut taken = vec![0_u32; run.threads.len()];
        self.be_born(run, 0, &taken);
        for (index, step) in run.steps.iter().enumerate() {
            let thread = step.thread.index();
            let mut state = mix(self.threads[thread] ^ step.action as u64);
            for access in run.accesses_of(index).iter().filter(|access| counts(access)) {
                state = mix(state ^ (access.action as u64) << 8 ^ (access.effect as u64) << 16);
                if let Some(ended) = access.loc.ended_thread() {
                    let end = self.threads.get(ended.index()).copied().unwrap_or(0);
                    state = mix(state ^ end.rotate_left(17));
                    continue;
                }
                // Only an atomic can be overwritten without being looked at.
                if access.effect.reads() || !access.action.is_atomic() {
                    let seen = self.latest(access.loc);
                    state = mix(state ^ seen.rotate_left(17));
                }
                if access.effect.writes() {
                    let write =
                        Write { loc: access.loc, step: index as u32, origin: mix(state.wrapping_add(1)) };
                    let own = |write: &&mut Write| write.step == index as u32 && write.loc == access.loc;
                    match self
                        .writes
                        .iter_mut()
                        .rev()
                        .take_while(|write| write.step == index as u32)
                        .find(own)
                    {
                        Some(earlier) => *earlier = write,
                        None => self.writes.push(write),
                    }
                }
            }
            self.threads[thread] = state;
            self.states.push(state);
            taken[thread] += 1;
            self.born[thread] = 0;
            self.be_born(run, thread, &taken);
        }
    }

    /// Gives their first states to the threads that `parent` creates before its next step, and those to theirs.
    fn be_born(&mut self, run: &Run, parent: usize, taken: &[u32]) {
        for (index, record) in run.threads.iter().enumerate().skip(1) {
            let here = record.parent == Some(ThreadId(parent as u8)) && record.born_at == taken[parent];
            if here && taken[index] == 0 && self.threads[index] == 0 {
                self.born[parent] += 1;
                self.threads[index] = mix(self.threads[parent] ^ u64::from(self.born[parent]) << 32) | 1;
                self.be_born(run, index, taken);
            }
        }
    }

    fn latest(&self, loc: Loc) -> u64 {
        self.writes.iter().rev().find(|write| write.loc == loc).map_or(INITIAL, |write| write.origin)
    }

    /// The writes to `loc`, in order.
    fn writes_to(&self, loc: Loc) -> impl Iterator<Item = &Write> {
        self.writes.iter().filter(move |write| write.loc == loc)
    }

    /// Of what `loc` held before `step`.
    fn seen_at(&self, loc: Loc, step: usize) -> u64 {
        let last = self.writes_to(loc).take_while(|write| (write.step as usize) < step).last();
        last.map_or(INITIAL, |write| write.origin)
    }

    /// Of the local state in which a claim was made. The step of a claim counts, so those of two claims in a row differ.
    fn root(&self, claim: &ClaimStep) -> u64 {
        self.states[claim.step as usize]
    }

    /// Of the local state in which a claim was decided. Where it had no terms, the last state of its thread says how they would
    /// have ended.
    fn decided(&self, run: &Run, claim: &ClaimStep) -> u64 {
        let thread = run.steps[claim.step as usize].thread;
        let own = |&index: &usize| run.steps[index].thread == thread;
        let last = if claim.held { Some(run.steps.len() as u32) } else { claim.decided };
        let Some(decided) = last else { return 1 };
        let last = (0..(decided as usize).min(run.steps.len())).rev().find(own);
        last.map_or(0, |index| mix(self.states[index]))
    }
}

#[inline]
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ (value >> 32)
}
