//! Which engines are tried on a history, in which order, and why.
//!
//! `auto` begins with the fastest engine that may decide a history of this specification and goes on to more
//! general ones when it meets something it does not handle (a value inserted twice, say). The answer names
//! the engine that decided and why it was its turn.

use linpoint_history::{Builtin, Kind};

use crate::depth_first::DepthFirst;
use crate::engine::Engine;
use crate::metastate::changing_keys::ChangingKeys;
use crate::metastate::counter::CounterMetastate;
use crate::metastate::generic::Generic;
use crate::metastate::priority_queue::PriorityQueueMetastates;
use crate::metastate::queue::QueueMetastates;
use crate::metastate::register::RegisterMetastates;
use crate::metastate::stack::StackMetastates;
use crate::monitor::deque::DequeSearch;
use crate::monitor::map::MapMonitor;
use crate::monitor::register::RegisterMonitor;
use crate::monitor::set::SetMonitor;
use crate::monitor::stack::StackMonitor;
use crate::monitor::{PriorityQueueMonitor, QueueMonitor};
use crate::relax::{self, Relaxed};

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The fastest that can.
    #[default]
    Auto,
    /// The specialised monitors, for distinct values.
    Monitor,
    /// Metastates.
    Metastate,
    /// One order, depth first.
    Search,
    /// Every order.
    Brute,
}

/// An engine that may be tried.
pub struct Candidate {
    /// Makes a fresh one.
    pub make: fn(&Builtin) -> Box<dyn Engine + Send>,
    /// What kind it is.
    pub choice: Choice,
    /// Does a violation it reports rest on no value being inserted twice, anywhere in the history? An engine
    /// that looks ahead may report one before it meets the repetition.
    pub distinct: bool,
    /// May it take very long on a history on which another is quick? Such engines race ([`crate::decide`]).
    pub races: bool,
}

impl Candidate {
    /// May it take exponential time? The others take about linear time, or say at once that a history is not
    /// for them.
    pub fn may_take_long(&self) -> bool {
        self.races || self.choice == Choice::Brute
    }
}

/// The engines to try on a history of `spec`, best first.
pub fn candidates(spec: &Builtin, choice: Choice) -> Vec<Candidate> {
    let mut all = if relax::applies(spec) { relaxed(spec.kind) } else { specialised(spec.kind) };
    all.push(metastate(|spec| Box::new(Generic::new(spec.clone()))));
    all.push(Candidate {
        make: |spec| Box::new(DepthFirst::new(spec.clone())),
        choice: Choice::Search,
        distinct: false,
        races: true,
    });
    all.push(Candidate {
        make: |_| Box::new(crate::brute::Brute::default()),
        choice: Choice::Brute,
        distinct: false,
        races: false,
    });
    all.retain(|candidate| choice == Choice::Auto || candidate.choice == choice);
    all
}

/// The engines for a stream, which cannot be started again: the first is the one that takes what is usual in
/// streams of this object (where values are promised to be distinct, the monitor), the last one takes
/// everything.
pub fn for_stream(spec: &Builtin, distinct: bool, index: usize) -> Option<Box<dyn Engine + Send>> {
    // These engines know some operations of their object only, or look at the whole history.
    use Kind::{CasRegister, Counter, Deque, Kv, Map, RmwRegister};
    let partial = matches!(spec.kind, CasRegister | RmwRegister | Kv | Counter | Map | Deque);
    let plain = spec.capacity.is_none() && !spec.spurious;
    let wanted = |candidate: &Candidate| plain && !partial && (distinct || !candidate.distinct);
    let engines = specialised(spec.kind).into_iter().filter(wanted);
    let general = metastate(|spec| Box::new(Generic::new(spec.clone())));
    engines.chain([general]).nth(index).map(|candidate| (candidate.make)(spec))
}

/// The engines of one kind of object, best first: the monitor for distinct values, then metastates of its
/// own.
fn specialised(kind: Kind) -> Vec<Candidate> {
    match kind {
        Kind::Queue => {
            vec![monitor(|_| Box::new(QueueMonitor::new())), metastate(|_| Box::new(QueueMetastates::new()))]
        }
        Kind::Stack => {
            vec![monitor(|_| Box::new(StackMonitor::new())), metastate(|_| Box::new(StackMetastates::new()))]
        }
        Kind::PriorityQueue | Kind::PriorityQueueMax => {
            vec![
                monitor(|_| Box::new(PriorityQueueMonitor::new())),
                metastate(|_| Box::new(PriorityQueueMetastates::new())),
                metastate(|_| Box::new(ChangingKeys::new())),
            ]
        }
        Kind::Register | Kind::CasRegister | Kind::RmwRegister | Kind::Kv => vec![
            monitor(|_| Box::new(RegisterMonitor::new())),
            metastate(|_| Box::new(RegisterMetastates::new())),
        ],
        Kind::Set | Kind::Multiset | Kind::List => {
            vec![Candidate {
                make: |_| Box::new(SetMonitor::new()),
                choice: Choice::Monitor,
                distinct: false,
                races: false,
            }]
        }
        // It decides at the end, when it has seen every insertion.
        Kind::Map => vec![Candidate {
            make: |_| Box::new(MapMonitor::new()),
            choice: Choice::Monitor,
            distinct: false,
            races: false,
        }],
        // It decides at the end, too, and not always.
        Kind::Deque => vec![Candidate {
            make: |_| Box::new(DequeSearch::new()),
            choice: Choice::Monitor,
            distinct: false,
            races: true,
        }],
        Kind::Counter => vec![metastate(|_| Box::new(CounterMetastate::new()))],
        Kind::Lock | Kind::RwLock | Kind::Semaphore | Kind::Snapshot | Kind::Own => Vec::new(),
    }
}

/// The engines for collections of one kind with a bound, or with answers that may be spurious: those without,
/// made to fit.
fn relaxed(kind: Kind) -> Vec<Candidate> {
    fn of(make: fn(&Builtin) -> Box<dyn Engine + Send>, choice: Choice) -> Candidate {
        // It looks for values that are inserted twice itself.
        Candidate { make, choice, distinct: false, races: choice == Choice::Metastate }
    }
    match kind {
        Kind::Queue => vec![
            of(|spec| Box::new(Relaxed::new(spec, Box::new(QueueMonitor::new()), true)), Choice::Monitor),
            of(
                |spec| Box::new(Relaxed::new(spec, Box::new(QueueMetastates::new()), false)),
                Choice::Metastate,
            ),
        ],
        Kind::Stack => vec![
            of(|spec| Box::new(Relaxed::new(spec, Box::new(StackMonitor::new()), true)), Choice::Monitor),
            of(
                |spec| Box::new(Relaxed::new(spec, Box::new(StackMetastates::new()), false)),
                Choice::Metastate,
            ),
        ],
        Kind::PriorityQueue | Kind::PriorityQueueMax => vec![
            of(
                |spec| Box::new(Relaxed::new(spec, Box::new(PriorityQueueMonitor::new()), true)),
                Choice::Monitor,
            ),
            of(
                |spec| Box::new(Relaxed::new(spec, Box::new(PriorityQueueMetastates::new()), false)),
                Choice::Metastate,
            ),
        ],
        Kind::Deque => {
            vec![of(
                |spec| Box::new(Relaxed::new(spec, Box::new(DequeSearch::new()), false)),
                Choice::Metastate,
            )]
        }
        Kind::Set
        | Kind::Multiset
        | Kind::List
        | Kind::Map
        | Kind::Register
        | Kind::CasRegister
        | Kind::RmwRegister
        | Kind::Kv
        | Kind::Counter
        | Kind::Lock
        | Kind::RwLock
        | Kind::Semaphore
        | Kind::Snapshot
        | Kind::Own => Vec::new(),
    }
}

fn monitor(make: fn(&Builtin) -> Box<dyn Engine + Send>) -> Candidate {
    Candidate { make, choice: Choice::Monitor, distinct: true, races: false }
}

fn metastate(make: fn(&Builtin) -> Box<dyn Engine + Send>) -> Candidate {
    Candidate { make, choice: Choice::Metastate, distinct: false, races: true }
}
