//! No proof is told while exploration refutes it.
//!
//! Formulas and the code that makes them are trusted (`lib.rs`), and code has mistakes. So a program that is
//! proved is explored before anybody hears of it, by code that shares nothing with the proof but the
//! language: at two and three threads with up to three operations, at sizes from 0 to 3, without any
//! reduction (`linpoint_model::second_opinion_noting`), which takes about a second. What is explored is the
//! program without its ghosts, because that is what is proved: a ghost that steered the program would show
//! here. The program's own clients are looked at, too.
//!
//! A program that cannot be started has no runs, and everything is true of all of them: it passes no gate.
//! Nor does one of which no operation returns in any run, one with an operation of which no run could be seen
//! to its end, and one that there was no time to explore: more time never makes a refutation of what was
//! proved. An operation that never returns, although every run was seen of somebody who calls it, is named,
//! because what is proved of its result says nothing.
//!
//! A refutation is never a proof's fault alone. Where a number becomes too large, the proof said that it
//! takes numbers as unlimited, and the run is the answer. Anything else is a mistake of ours.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::erase::erase;
use linpoint_lang::interp::{ErrorKind, Machine};
use linpoint_lang::program::{OpId, Word};
use linpoint_model::{
    Agreement, Budget, Limit, Noted, Plainly, Refutation, Scope, Seen, Values, Verdict, Workload, Wrong,
    explore_noting, second_opinion_noting, walk_noting,
};

/// Threads, and operations of each.
const CLIENTS: [(usize, u32); 5] = [(2, 1), (2, 2), (3, 1), (2, 3), (3, 2)];

/// So many states with fixed sizes, and so many words in all of them.
const MOST_STATES: usize = 50_000;
const MOST_WORDS: usize = 50_000_000;

/// A state with more words is not looked at.
const LARGEST_STATE_WORDS: usize = 1_000_000;

/// What exploration says of a program that is proved.
#[derive(Clone, Debug)]
pub enum Gate {
    /// Nothing that was seen is wrong.
    Open {
        /// Scopes (who calls, how often, with which sizes and values) of which something was seen.
        scopes: usize,
        /// Operations that were not seen to return.
        never: Vec<OpId>,
    },
    /// Nothing was seen, and why.
    Unseen(String),
    /// A number becomes too large, which proofs take to be impossible.
    Overflow(Box<Refutation>),
    /// The proof is wrong, or exploration is: a mistake of ours.
    Wrong(Box<Refutation>),
}

/// How long looking may take after a proof that took so long: a fifth of that, or as long as it takes within
/// reason, and no longer than is left.
pub fn share(took: Duration, left: Option<Duration>) -> Duration {
    left.unwrap_or(Duration::MAX).min(Budget::LONGEST.max(took / 5))
}

/// Explores a program that is proved. `fixed` are the sizes that the proof took as numbers.
pub fn gate(program: &Program, fixed: &[(String, i64)], time: Duration) -> Gate {
    let erased = erase(program);
    let words = words(&erased, &sizes_with(&erased, fixed));
    if words > LARGEST_STATE_WORDS {
        return Gate::Unseen("no run was explored: the sizes are too large".into());
    }
    if let Some(why) = no_start(&erased, fixed) {
        return Gate::Unseen(format!("no run was explored: {why}"));
    }
    let budget = Budget { time, ..Budget::default() };
    let mut noted = Noted::new(&erased);
    let found = match fixed {
        [] => second_opinion_noting(&erased, &workloads(&erased), &budget, &mut noted),
        fixed => at_sizes(&erased, fixed, time, (words, &mut noted)),
    };
    match found {
        Agreement::Agrees(looks) => {
            let seen = |(_, seen): &&(Scope, Seen)| *seen != Seen::Nothing;
            match (looks.iter().filter(seen).count(), unseen(&erased, &noted, &budget)) {
                (_, Some(why)) => Gate::Unseen(why),
                (scopes, None) => Gate::Open { scopes, never: noted.never_return() },
            }
        }
        Agreement::Refutes(found) if found.violation.wrong == Wrong::Error(ErrorKind::Arithmetic) => {
            Gate::Overflow(found)
        }
        Agreement::Refutes(found) => Gate::Wrong(found),
    }
}

/// Why what was seen of runs is too little to tell a proof.
fn unseen(program: &Program, noted: &Noted, budget: &Budget) -> Option<String> {
    if !noted.is_enough(budget) {
        return Some("there was no time to explore what is proved".into());
    }
    if !noted.started {
        return Some("no run could be explored".into());
    }
    if !noted.something_returned() {
        return Some("no operation returns in any run that was explored: there is nothing to judge".into());
    }
    let op = *noted.unseen().first()?;
    Some(format!("no run that was explored returns from `{}`", program.operation(op).name))
}

/// Why there are no runs, if there are none. What is proved is about all sizes, so those at which the program
/// is explored are among them.
fn no_start(program: &Program, fixed: &[(String, i64)]) -> Option<String> {
    let all = |same: Word| vec![same; program.sizes.len()];
    let mut sizes = vec![sizes_with(program, fixed)];
    if fixed.is_empty() {
        sizes.extend((0..=3).map(all));
    }
    sizes.into_iter().find_map(|sizes| {
        let error = Machine::with_sizes(program, 1, sizes).initial().err()?;
        match error.kind {
            ErrorKind::BadInit => Some("the initial code does not end".into()),
            kind if kind.is_limit() => None,
            _ => Some("the initial code goes wrong".into()),
        }
    })
}

/// How many words the shared variables take.
fn words(program: &Program, sizes: &[Word]) -> usize {
    let machine = Machine::with_sizes(program, 1, sizes.to_vec());
    let of = |global: &linpoint_lang::program::Global| {
        let length = global.length.as_ref().map_or(1, |length| machine.constant(length));
        usize::try_from(length).unwrap_or(0).saturating_mul(global.slots.len())
    };
    program.globals.iter().map(of).fold(0, usize::saturating_add)
}

/// Some sizes as the proof took them, and the others as usual.
fn sizes_with(program: &Program, fixed: &[(String, i64)]) -> Vec<Word> {
    let size = |size: &linpoint_lang::program::Size| {
        let given = fixed.iter().find(|(name, _)| *name == size.name);
        given.map_or(size.usual, |(_, value)| Word::try_from(*value).unwrap_or(Word::MAX))
    };
    program.sizes.iter().map(size).collect()
}

/// Small clients, and those of the program that keep the rules that the proof takes them to keep.
fn workloads(program: &Program) -> Vec<Workload> {
    let mut list: Vec<Workload> =
        CLIENTS.iter().map(|(threads, ops)| Workload::usual(program, *threads, *ops)).collect();
    let own = program.clients.iter().map(Workload::of);
    list.extend(own.filter(|client| client.keeps_rules(program)));
    list
}

/// Every small client, with some sizes as the proof took them, and the others as usual.
fn at_sizes(
    program: &Program,
    fixed: &[(String, i64)],
    time: Duration,
    (words, noted): (usize, &mut Noted),
) -> Agreement {
    let start = Instant::now();
    let sizes = sizes_with(program, fixed);
    let mut looks = Vec::new();
    noted.finished = true;
    for workload in workloads(program) {
        let scope = Scope { workload, sizes: sizes.clone(), values: Values::distinct() };
        let plainly = || Plainly {
            time: Some(time.saturating_sub(start.elapsed()).min(time / 3)),
            // Large arrays leave room for few states.
            states: MOST_STATES.min(MOST_WORDS / words.max(1)).max(1),
            sizes: Some(sizes.clone()),
            deadlocks: false,
            given: true,
            sampling: true,
            ..Plainly::default()
        };
        let whole = explore_noting(program, &scope.workload, &plainly(), noted);
        let explored = match whole.verdict {
            // Where there is no end to states, runs go deep.
            Verdict::Unknown(Limit::States) => walk_noting(program, &scope.workload, &plainly(), 1, noted),
            _ => whole,
        };
        noted.states += explored.states;
        let seen = match explored.verdict {
            Verdict::Violated(violation) if violation.rechecked => {
                return Agreement::Refutes(Box::new(Refutation { scope, violation }));
            }
            Verdict::Holds(_) => Seen::Everything,
            Verdict::Unknown(Limit::CannotStart(_)) => Seen::Nothing,
            Verdict::Unknown(Limit::Time) => {
                noted.finished = false;
                Seen::Some
            }
            Verdict::Violated(_) | Verdict::Unknown(_) => Seen::Some,
        };
        looks.push((scope, seen));
    }
    Agreement::Agrees(looks)
}
