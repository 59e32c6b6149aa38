//! The monitor: decides claims over a stream of events (Sezgin, Tasiran, Muslu, Qadeer 2011, section 4.1,
//! algorithms 1 to 3).
//!
//! It is told of accesses, of procedures entered and left, and of claims made; it knows nothing of who tells
//! it. Each variable points to the terms that watch it, so an access costs a look-up and a visit of those
//! terms, whatever other claims are alive. A claim is decided with the event that determines its last term;
//! if it is false, that is a [`Failure`]. A claim one of whose terms will stay ⊥ is dropped and counted as
//! undecided.
//!
//! Events. An access outside a block is one statement. Accesses between [`Monitor::begin_block`] and
//! [`Monitor::end_block`] are one statement together: an atomic block of the program. Events are numbered
//! from 1, or as [`Monitor::at`] says.
//!
//! Nothing is allocated as long as no claim is made, and all memory is kept from run to run by
//! [`Monitor::reset`].

use crate::activation::{Activations, Closed, ExitTerm};
use crate::condition::Condition;
use crate::explanation::Explanation;
use crate::guard::guarded;
use crate::term::{Seen, Shape, Status, Term};
use crate::watch::{NONE, Role, Watches};
use crate::{Bottom, Counts, Failure, Kind, ProcedureId, Site, ThreadId, ThreadSet, Undecided, VarId};

mod footprint;

pub use footprint::Made;
pub(crate) use footprint::conflicting;

/// The deferred part of a claim: given the bits of its terms, is it true? Given an explanation too, it tells
/// that the values.
pub type Predicate = Box<dyn Fn(&[u128], Option<&mut Explanation<'_>>) -> bool>;

/// Decides claims over a stream of events.
#[derive(Default)]
pub struct Monitor {
    watches: Watches,
    claims: Vec<Claim>,
    free_claims: Vec<u32>,
    alive: usize,
    activations: Activations,
    /// Terms to settle at the end of the statement, with the generation of their claim.
    unsettled: Vec<ExitTerm>,
    blocks: u32,
    /// The number of the present statement.
    statement: u64,
    /// Claims being read at this moment: their reads are not accesses of the program.
    reading: u32,
    events: u64,
    label: Option<u64>,
    counts: Counts,
    failures: Vec<Failure>,
    undecided: Vec<Undecided>,
    footprint: Option<Vec<(VarId, Kind)>>,
    /// The latest claim, while its step lasts.
    made: Option<Made>,
    /// Which claims were decided, and when; only where footprints are kept.
    decisions: Vec<(ClaimId, u64)>,
    visits: u64,
}

/// A claim whose terms are being added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimId {
    claim: u32,
    generation: u32,
}

struct Claim {
    site: &'static Site,
    thread: ThreadId,
    made_at: u64,
    /// Terms not determined yet.
    waiting: usize,
    terms: Vec<Term>,
    predicate: Option<Predicate>,
    /// Counts the claims that had this place.
    generation: u32,
}

/// What happens in the run.
impl Monitor {
    /// A monitor that has seen nothing.
    pub fn new() -> Monitor {
        Monitor::default()
    }

    /// Gives all that follows this event number, until the next call: the step of a schedule.
    #[inline]
    pub fn at(&mut self, event: u64) {
        self.label = Some(event);
    }

    /// Does any live claim watch anything? If not, accesses need not be reported.
    #[inline]
    pub fn is_watching(&self) -> bool {
        !self.watches.is_empty()
    }

    /// A thread accessed a variable, which has the value `bits` after that.
    #[inline]
    pub fn access(&mut self, thread: ThreadId, variable: VarId, access: Kind, bits: u128) {
        self.events += 1;
        if self.is_watching() && self.reading == 0 {
            self.access_watched(thread, variable, access, bits);
        }
    }

    fn access_watched(&mut self, thread: ThreadId, variable: VarId, access: Kind, bits: u128) {
        let seen = Seen { bits, at: self.now() };
        let statement = self.statement;
        if self.blocks == 0 {
            self.statement += 1;
        }
        let mut watch = self.watches.head(variable);
        while watch != NONE {
            let node = self.watches.get(watch);
            watch = node.next;
            self.visits += 1;
            let claim = &mut self.claims[node.claim as usize];
            let term = &mut claim.terms[node.term as usize];
            let mut marked = false;
            if let (Role::Condition(index) | Role::Both(index), true) = (node.role, access.writes()) {
                marked |= term.on_condition(index as usize, bits);
                if let Some(footprint) = &mut self.footprint {
                    term.condition_footprint(thread, variable, footprint);
                }
            }
            if let Role::Value | Role::Both(_) = node.role {
                marked |= term.on_access(thread, access, seen, statement);
            }
            if marked {
                let generation = claim.generation;
                self.unsettled.push(ExitTerm { claim: node.claim, generation, term: node.term });
            }
        }
        if self.blocks == 0 {
            self.settle();
        }
    }

    /// The accesses that follow are one statement, until [`Monitor::end_block`]. Blocks may be nested.
    pub fn begin_block(&mut self) {
        self.blocks += 1;
    }

    /// The statement is over.
    pub fn end_block(&mut self) {
        self.blocks = self.blocks.saturating_sub(1);
        if self.blocks == 0 {
            self.statement += 1;
            self.settle();
        }
    }

    /// A thread entered a procedure.
    pub fn enter(&mut self, thread: ThreadId, procedure: ProcedureId) {
        self.events += 1;
        self.activations.enter(thread, procedure);
    }

    /// A thread returned from the procedure that it entered last under this name.
    pub fn exit(&mut self, thread: ThreadId, procedure: ProcedureId) {
        self.leave(thread, procedure, None);
    }

    /// A thread left the procedure by a panic: it did not terminate, and `Exit` terms stay ⊥.
    pub fn unwind(&mut self, thread: ThreadId, procedure: ProcedureId) {
        self.leave(thread, procedure, Some(Bottom::ProcedureUnwound));
    }

    fn leave(&mut self, thread: ThreadId, procedure: ProcedureId, bottom: Option<Bottom>) {
        self.events += 1;
        let now = self.now();
        let Monitor { activations, claims, unsettled, footprint, .. } = self;
        activations.exit(thread, procedure, |(exit, variable), closed| {
            if let (Some(footprint), None, Closed::Itself, true) =
                (&mut *footprint, bottom, closed, variable.is_shared())
            {
                // Whatever became of the claim: a step must not touch more or less because of a step it does
                // not depend on.
                footprint.push((variable, Kind::Rd));
            }
            let claim = &mut claims[exit.claim as usize];
            if claim.generation != exit.generation {
                return;
            }
            let term = &mut claim.terms[exit.term as usize];
            let bottom = match closed {
                Closed::Itself => bottom,
                Closed::Inside => Some(Bottom::ProcedureUnwound),
            };
            match bottom {
                Some(bottom) => term.status = Status::Bottom(bottom),
                None => term.on_exit(now),
            }
            unsettled.push(exit);
        });
        if self.blocks == 0 {
            self.settle();
        }
    }

    /// The run is over, or blocked: claims still alive are undecided.
    pub fn end(&mut self) {
        self.blocks = 0;
        self.settle();
        for claim in 0..self.claims.len() as u32 {
            if self.alive == 0 {
                break;
            }
            if self.claims[claim as usize].predicate.is_some() {
                self.give_up(claim);
            }
        }
    }

    /// Forgets the run and is ready for the next; memory is kept.
    pub fn reset(&mut self) {
        if self.claims.len() > self.free_claims.len() || self.is_watching() {
            for claim in 0..self.claims.len() as u32 {
                self.release(claim);
            }
            self.free_claims.clear();
            self.free_claims.extend((0..self.claims.len() as u32).rev());
            self.watches.clear();
        }
        self.activations.clear();
        self.unsettled.clear();
        (self.alive, self.blocks, self.reading, self.events, self.label) = (0, 0, 0, 0, None);
        self.counts = Counts::default();
        self.failures.clear();
        self.undecided.clear();
        self.footprint.iter_mut().for_each(Vec::clear);
        self.made = None;
        self.decisions.clear();
        self.visits = 0;
    }
}

/// Claims.
impl Monitor {
    /// A thread makes a claim; its terms follow, then [`Monitor::close_claim`].
    pub fn open_claim(&mut self, thread: ThreadId, site: &'static Site) -> ClaimId {
        self.events += 1;
        self.counts.made += 1;
        let made_at = self.now();
        let claim = match self.free_claims.pop() {
            Some(claim) => claim,
            None => {
                let terms = Vec::new();
                self.claims.push(Claim {
                    site,
                    thread,
                    made_at,
                    waiting: 0,
                    terms,
                    predicate: None,
                    generation: 0,
                });
                (self.claims.len() - 1) as u32
            }
        };
        let place = &mut self.claims[claim as usize];
        (place.site, place.thread, place.made_at, place.waiting) = (site, thread, made_at, 0);
        let id = ClaimId { claim, generation: place.generation };
        self.made = Some(Made { id: Some(id), looks_only: true });
        id
    }

    /// Adds `First(variable, kind, threads)`: the value of the variable after the first matching access.
    pub fn add_first(&mut self, id: ClaimId, variable: VarId, kind: Kind, threads: ThreadSet) -> u32 {
        self.touch_awaited(id, variable, kind, &threads);
        if threads.has_others(self.claims[id.claim as usize].thread) {
            self.depends_on_others();
        }
        self.add_term(id, Term::first(variable, kind, threads))
    }

    /// Adds `Last(variable, kind, threads, condition)`: the value of the variable after the last matching
    /// access before the condition becomes true.
    pub fn add_last(
        &mut self,
        id: ClaimId,
        variable: VarId,
        kind: Kind,
        threads: ThreadSet,
        condition: Condition,
    ) -> u32 {
        self.touch_awaited(id, variable, kind, &threads);
        condition.variables().for_each(|variable| self.touch(variable, Kind::Rd));
        self.depends_on_others();
        self.add_term(id, Term::last(variable, kind, threads, condition))
    }

    /// Adds `Exit(variable)`: the value of the variable immediately after the procedure returns in which the
    /// claim is made. `bits` is its value now.
    pub fn add_exit(&mut self, id: ClaimId, variable: VarId, bits: u128) -> u32 {
        let seen = Seen { bits, at: self.now() };
        if variable.is_shared() {
            self.depends_on_others();
        }
        self.add_term(id, Term::exit(variable, seen))
    }

    fn add_term(&mut self, id: ClaimId, term: Term) -> u32 {
        let claim = &mut self.claims[id.claim as usize];
        if claim.generation != id.generation {
            return 0;
        }
        claim.terms.push(term);
        (claim.terms.len() - 1) as u32
    }

    /// The claim is complete: its truth as a function of the values of its terms, in the order in which they
    /// were added. It is decided at once if it has none.
    pub fn close_claim(&mut self, id: ClaimId, predicate: Predicate) {
        let claim = &mut self.claims[id.claim as usize];
        if claim.generation != id.generation || claim.predicate.is_some() {
            return;
        }
        claim.predicate = Some(predicate);
        self.alive += 1;
        for (index, term) in (0..).zip(&mut claim.terms) {
            if let Shape::Exit = term.shape {
                let exit = ExitTerm { claim: id.claim, generation: id.generation, term: index };
                if !self.activations.wait(claim.thread, (exit, term.variable)) {
                    term.status = Status::Bottom(Bottom::NoProcedure);
                }
            }
            claim.waiting += usize::from(term.status == Status::Waiting);
        }
        if claim.terms.iter().any(|term| matches!(term.status, Status::Bottom(_))) {
            return self.give_up(id.claim);
        }
        if claim.waiting == 0 {
            return self.decide(id.claim);
        }
        for (index, term) in (0..).zip(&mut claim.terms) {
            let mut add = |variable, role| {
                term.first_watch = self.watches.add(variable, id.claim, index, role, term.first_watch);
            };
            let mut value_watched = false;
            if let Shape::Last { condition, .. } = &term.shape {
                for (place, variable) in (0..).zip(condition.variables()) {
                    let both = variable == term.variable;
                    value_watched |= both;
                    add(variable, if both { Role::Both(place) } else { Role::Condition(place) });
                }
            }
            if !value_watched {
                add(term.variable, Role::Value);
            }
        }
    }

    /// A claim that is true whatever happens was made: nothing needs to be watched.
    pub fn claim_held(&mut self) {
        self.events += 1;
        self.counts.made += 1;
        self.counts.held += 1;
        self.made = Some(Made { id: None, looks_only: true });
    }

    /// Until [`Monitor::end_reading`], accesses are those of a claim that reads its plain terms, not the
    /// program's: no term takes them as matching.
    pub fn begin_reading(&mut self) {
        self.reading += 1;
    }

    /// The claim has read its plain terms.
    pub fn end_reading(&mut self) {
        self.reading = self.reading.saturating_sub(1);
    }

    /// Settles the marked terms: algorithm 1, third phase.
    fn settle(&mut self) {
        let now = self.now();
        // A claim that is decided can mark no term, so the list does not grow meanwhile.
        for index in 0..self.unsettled.len() {
            let ExitTerm { claim, generation, term } = self.unsettled[index];
            let place = &mut self.claims[claim as usize];
            if place.generation != generation {
                continue;
            }
            let is_ghost = place.predicate.is_none();
            let term = &mut place.terms[term as usize];
            term.settle(now);
            match term.status {
                // Its condition was true only within the block.
                Status::Waiting | Status::Marked(_) => continue,
                Status::Bottom(_) if !is_ghost => self.give_up(claim),
                // Marked twice in one block, and settled already.
                Status::Fixed { .. } | Status::Bottom(_) if term.first_watch == NONE => continue,
                Status::Fixed { .. } | Status::Bottom(_) => {
                    self.watches.remove_chain(std::mem::replace(&mut term.first_watch, NONE));
                    place.waiting -= 1;
                    match (place.waiting, is_ghost) {
                        (0, false) => self.decide(claim),
                        (0, true) => self.bury(claim),
                        _ => {}
                    }
                }
            }
        }
        self.unsettled.clear();
    }

    fn decide(&mut self, claim: u32) {
        let place = &mut self.claims[claim as usize];
        let Some(predicate) = place.predicate.take() else { return };
        let id = ClaimId { claim, generation: place.generation };
        let values = place.terms.iter().map(|term| match term.status {
            Status::Fixed { seen, .. } => seen.bits,
            _ => 0,
        });
        let mut few = [0; 4];
        let many: Vec<u128>;
        let values = if place.terms.len() <= few.len() {
            values.zip(&mut few).for_each(|(bits, slot)| *slot = bits);
            &few[..place.terms.len()]
        } else {
            many = values.collect();
            &many[..]
        };
        let result = guarded(|| predicate(values, None));
        if result == Ok(true) {
            self.counts.held += 1;
        } else {
            let failure = self.failure(claim, &predicate, values, result.err());
            self.counts.violated += 1;
            self.failures.push(failure);
        }
        self.alive -= 1;
        if self.footprint.is_some() {
            self.decisions.push((id, self.now()));
        }
        self.bury(claim);
    }

    fn failure(&self, claim: u32, predicate: &Predicate, values: &[u128], panic: Option<String>) -> Failure {
        let claim = &self.claims[claim as usize];
        let mut explanation = Explanation::new(claim.site, claim.made_at, &claim.terms);
        // A second run, for the values alone: it says again what the first did.
        let _ = guarded(|| predicate(values, Some(&mut explanation)));
        Failure {
            site: claim.site,
            thread: claim.thread,
            made_at: claim.made_at,
            decided_at: self.now(),
            terms: explanation.terms,
            panic,
        }
    }

    /// Counts a claim as undecided and drops it.
    fn give_up(&mut self, claim: u32) {
        let place = &self.claims[claim as usize];
        let bottoms =
            (0..).zip(&place.terms).filter_map(|(index, term)| Some((index, term.bottom_at_end()?)));
        // What is ⊥ for good is a better reason than what only waited.
        let settled = |index: u32| matches!(place.terms[index as usize].status, Status::Bottom(_));
        if let Some((term, bottom)) =
            bottoms.max_by_key(|&(index, _)| (settled(index), std::cmp::Reverse(index)))
        {
            let Claim { site, thread, made_at, .. } = *place;
            self.undecided.push(Undecided { site, thread, made_at, term, bottom });
        }
        self.counts.undecided += 1;
        self.alive -= 1;
        self.haunt(claim);
    }

    /// A claim was given up. Where footprints are kept, its `Last` terms go on to touch what they would have:
    /// what a write to a condition's variable touches must not depend on whether some other term of the
    /// claim, which that write knows nothing of, is ⊥ already.
    fn haunt(&mut self, claim: u32) {
        let place = &mut self.claims[claim as usize];
        place.predicate = None;
        place.waiting = 0;
        for term in &mut place.terms {
            let stays = self.footprint.is_some()
                && matches!(term.shape, Shape::Last { .. })
                && matches!(term.status, Status::Waiting | Status::Marked(_));
            if stays && term.first_watch != NONE {
                place.waiting += 1;
            } else {
                self.watches.remove_chain(std::mem::replace(&mut term.first_watch, NONE));
            }
        }
        if place.waiting == 0 {
            self.bury(claim);
        }
    }

    /// Removes a claim.
    fn bury(&mut self, claim: u32) {
        for term in &mut self.claims[claim as usize].terms {
            self.watches.remove_chain(std::mem::replace(&mut term.first_watch, NONE));
        }
        self.release(claim);
        self.free_claims.push(claim);
    }

    /// Makes the place of a claim ready for another.
    fn release(&mut self, claim: u32) {
        let place = &mut self.claims[claim as usize];
        place.terms.clear();
        place.predicate = None;
        place.generation = place.generation.wrapping_add(1);
    }
}

/// What is known.
impl Monitor {
    /// The number of the present event.
    pub fn now(&self) -> u64 {
        self.label.unwrap_or(self.events)
    }

    /// How the claims of the run ended so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Claims that are waiting for their terms.
    pub fn alive(&self) -> usize {
        self.alive
    }

    /// Claims that were ready and false, in the order in which they were decided.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Claims that never became ready. Complete after [`Monitor::end`].
    pub fn undecided(&self) -> &[Undecided] {
        &self.undecided
    }

    /// Is a procedure of the thread open?
    pub fn is_inside(&self, thread: ThreadId) -> bool {
        self.activations.is_inside(thread)
    }

    /// Does the return of the procedure ask for the value of a variable that other threads can write? Then it
    /// matters where the return lies among their writes.
    pub fn return_looks(&self, thread: ThreadId, procedure: ProcedureId) -> bool {
        self.activations.looks(thread, procedure)
    }

    /// Terms visited because of accesses to variables that they watch.
    pub fn visits(&self) -> u64 {
        self.visits
    }
}
