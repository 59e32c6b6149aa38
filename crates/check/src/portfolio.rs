//! Which engines are tried on a history, in which order, and why.
//!
//! `auto` begins with the fastest engine that may decide a history of this specification and goes on to more general ones
//! when it meets something it does not handle (a value inserted twice, say). The answer names the engine that decided and
//! why it was its turn.

use linpoint_history::{Builtin, Kind};

use crate::engine::Engine;
use crate::metastate::generic::Generic;
use crate::metastate::priority_queue::PriorityQueueMetastates;
use crate::metastate::queue::QueueMetastates;
use crate::metastate::register::RegisterMetastates;
use crate::monitor::QueueMonitor;
use crate::monitor::register::RegisterMonitor;

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
    /// Every order.
    Brute,
}

/// An engine that may be tried.
pub struct Candidate {
    /// Makes a fresh one.
    pub make: fn(&Builtin) -> Box<dyn Engine>,
    /// What kind it is.
    pub choice: Choice,
}

/// The engines to try on a history of `spec`, best first.
pub fn candidates(spec: &Builtin, choice: Choice) -> Vec<Candidate> {
    let mut all = specialised(spec.kind);
    all.push(Candidate { make: |spec| Box::new(Generic::new(spec.clone())), choice: Choice::Metastate });
    all.push(Candidate { make: |_| Box::new(crate::brute::Brute::default()), choice: Choice::Brute });
    all.retain(|candidate| choice == Choice::Auto || candidate.choice == choice);
    all
}

/// The engines of one kind of object, best first: the monitor for distinct values, then metastates of its own.
fn specialised(kind: Kind) -> Vec<Candidate> {
    let monitor = |make| Candidate { make, choice: Choice::Monitor };
    let metastate = |make| Candidate { make, choice: Choice::Metastate };
    match kind {
        Kind::Queue => {
            vec![monitor(|_| Box::new(QueueMonitor::new())), metastate(|_| Box::new(QueueMetastates::new()))]
        }
        Kind::PriorityQueue | Kind::PriorityQueueMax => {
            vec![metastate(|_| Box::new(PriorityQueueMetastates::new()))]
        }
        Kind::Register | Kind::CasRegister | Kind::RmwRegister | Kind::Kv => vec![
            monitor(|_| Box::new(RegisterMonitor::new())),
            metastate(|_| Box::new(RegisterMetastates::new())),
        ],
        _ => Vec::new(),
    }
}
