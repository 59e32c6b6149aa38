//! Random runs without any reduction, from the first state to the end: they get deep where there are too many
//! states to see them all.

use std::time::Instant;

use linpoint_history::rng::Rng;
use linpoint_lang::Program;
use linpoint_lang::interp::State;

use super::{Moved, Next, Noted, Plain, Plainly, Whole, nothing};
use crate::client::Workload;
use crate::explore::{Explored, Limit, Verdict};

/// A run longer than this goes round.
const LONGEST_RUN: usize = 2_000;

/// Runs at random, until as many steps were taken as there may be states, or until one is not as it should
/// be. It never says `Holds`. The same seed takes the same runs.
pub fn walk_plainly(program: &Program, workload: &Workload, plainly: &Plainly, seed: u64) -> Explored {
    walk_noting(program, workload, plainly, seed, &mut Noted::new(program))
}

/// The same, and notes which operations return.
pub fn walk_noting(
    program: &Program,
    workload: &Workload,
    plainly: &Plainly,
    seed: u64,
    noted: &mut Noted,
) -> Explored {
    let start = Instant::now();
    let (mut plain, initial) = match Plain::new(program, workload, plainly) {
        Ok(made) => made,
        Err(limit) => return nothing(Verdict::Unknown(limit), start),
    };
    plain.noted = std::mem::take(noted);
    plain.noted.begin();
    let mut rng = Rng::new(seed);
    let mut taken = 0;
    let verdict = loop {
        if plain.is_over(start) {
            break Verdict::Unknown(Limit::Time);
        }
        if taken >= plainly.states {
            break Verdict::Unknown(Limit::States);
        }
        // A run without a single move counts as well, or it would be made for ever.
        taken += 1;
        // How likely a thread is to go on that just moved: some runs switch at every step, some hardly ever.
        let stays = [0.0, 0.5, 0.8, 0.95][rng.below(4) as usize];
        if let Some(verdict) = plain.run(initial.clone(), stays, &mut rng, (&mut taken, start)) {
            break verdict;
        }
    };
    *noted = std::mem::take(&mut plain.noted);
    Explored { states: taken, transitions: taken as u64, ..nothing(verdict, start) }
}

impl Plain<'_> {
    fn run(
        &mut self,
        mut at: Whole,
        stays: f64,
        rng: &mut Rng,
        (taken, start): (&mut usize, Instant),
    ) -> Option<Verdict> {
        let threads = self.machine.threads;
        let mut way: Vec<(Moved, State)> = Vec::new();
        let mut last = None;
        let mut next = Vec::new();
        while way.len() < LONGEST_RUN {
            if way.len() % 64 == 63 && self.is_over(start) {
                break;
            }
            let first = match last {
                Some(last) if rng.chance(stays) => last,
                _ => rng.below(threads.max(1) as u64) as usize,
            };
            // The next thread that can move, if this one cannot.
            let moving = (0..threads).map(|other| (first + other) % threads).find(|thread| {
                next.clear();
                self.moves(&at, *thread, &mut next);
                !next.is_empty()
            });
            let Some(thread) = moving else { break };
            last = Some(thread);
            *taken += 1;
            // A bad move is taken where there is one.
            let bad = next.iter().position(|next| matches!(next, Next::Bad(_)));
            let chosen = bad.unwrap_or_else(|| rng.below(next.len() as u64) as usize);
            match next.swap_remove(chosen) {
                Next::Good(whole, by) => {
                    way.push((by, whole.state.clone()));
                    at = whole;
                }
                Next::Bad(bad) => return Some(self.wrong(way, bad)),
                Next::Cut => break,
            }
        }
        None
    }
}
