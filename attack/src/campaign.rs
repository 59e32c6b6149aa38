//! Packs run in turn until the time is over or all rounds are done. A panic inside a round is a finding like any other.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use linpoint_history::rng::Rng;

use crate::pack::{Disagreement, Pack, Round};

/// How long, and from which seed.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// The seed of the first round; round n of every pack has this seed plus n.
    pub seed: u64,
    /// How many rounds of each pack at most.
    pub rounds: u64,
    /// How long in all. Every pack gets an equal share.
    pub time: Duration,
    /// How many disagreements of one pack end its run.
    pub enough: usize,
}

/// What a pack found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Rounds made.
    pub rounds: u64,
    /// Cases compared in them.
    pub cases: u64,
    /// Each disagreement, with the seed of its round.
    pub disagreements: Vec<(u64, Disagreement)>,
}

impl Campaign {
    /// Runs one pack for its share of the time.
    #[must_use]
    pub fn run(&self, pack: &Pack, share: Duration) -> Findings {
        let started = Instant::now();
        let mut findings = Findings::default();
        while findings.rounds < self.rounds
            && started.elapsed() < share
            && findings.disagreements.len() < self.enough
        {
            let seed = self.seed.wrapping_add(findings.rounds);
            match Self::round(pack, seed) {
                Round::Agreed(cases) => findings.cases += cases,
                Round::Disagreed(disagreement) => findings.disagreements.push((seed, *disagreement)),
            }
            findings.rounds += 1;
        }
        findings
    }

    fn round(pack: &Pack, seed: u64) -> Round {
        let done = catch_unwind(AssertUnwindSafe(|| (pack.round)(&mut Rng::new(seed))));
        done.unwrap_or_else(|panic| {
            let again = format!("cargo xtask attack {} --seed {seed} --rounds 1", pack.name);
            Round::disagreed(format!("a panic: {}", message(&*panic)), "no input may panic", "", again)
        })
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without words").to_owned()
}
