//! No proof is told while exploration refutes it.
//!
//! Formulas and the code that makes them are trusted (`lib.rs`), and code has mistakes. So a program that is proved is explored before anybody hears of it, by code that shares nothing with the proof but the language: at two and
//! three threads with up to three operations, at sizes from 0 to 3, as far as a second goes, without any reduction (`linpoint_model::second_opinion_of`). What is explored is the program without its
//! ghosts, because that is what is proved: a ghost that steered the program would show here. The program's own clients are looked at, too.
//!
//! A refutation is never a proof's fault alone. Where a number becomes too large, the proof said that it takes numbers as unlimited, and the run is the answer. Anything else is a mistake of ours.

use std::time::{Duration, Instant};

use linpoint_history::Kind;
use linpoint_lang::Program;
use linpoint_lang::erase::erase;
use linpoint_lang::interp::ErrorKind;
use linpoint_lang::program::{SpecSource, Word};
use linpoint_model::{
    Agreement, Budget, Plainly, Refutation, Scope, Values, Verdict, Workload, Wrong, explore_plainly,
    second_opinion_of,
};

/// Threads, and operations of each.
const CLIENTS: [(usize, u32); 5] = [(2, 1), (2, 2), (3, 1), (2, 3), (3, 2)];

/// The least that looking may take.
const LEAST: Duration = Duration::from_secs(1);

/// What exploration says of a program that is proved.
#[derive(Clone, Debug)]
pub enum Gate {
    /// Nothing that was seen is wrong.
    Open {
        /// Scopes (who calls, how often, with which sizes and values) of which something was seen.
        scopes: usize,
    },
    /// A number becomes too large, which proofs take to be impossible.
    Overflow(Box<Refutation>),
    /// The proof is wrong, or exploration is: a mistake of ours.
    Wrong(Box<Refutation>),
}

/// How long looking may take after a proof that took so long: a fifth of that, or a second, and no longer than is left.
pub fn share(took: Duration, left: Option<Duration>) -> Duration {
    left.unwrap_or(Duration::MAX).min(LEAST.max(took / 5))
}

/// Explores a program that is proved. `fixed` are the sizes that the proof took as numbers.
pub fn gate(program: &Program, fixed: &[(String, i64)], time: Duration) -> Gate {
    let erased = erase(program);
    let found = match fixed {
        [] => {
            let budget = Budget { time, ..Budget::default() };
            second_opinion_of(&erased, &workloads(&erased), &budget)
        }
        fixed => at_sizes(&erased, fixed, time),
    };
    match found {
        Agreement::Agrees(looks) => {
            let seen = |(_, seen): &&(Scope, linpoint_model::Seen)| *seen != linpoint_model::Seen::Nothing;
            Gate::Open { scopes: looks.iter().filter(seen).count() }
        }
        Agreement::Refutes(found) if found.violation.wrong == Wrong::Error(ErrorKind::Arithmetic) => {
            Gate::Overflow(found)
        }
        Agreement::Refutes(found) => Gate::Wrong(found),
    }
}

/// Small clients, and those of the program, unless these need not keep the rules that the proof takes them to keep.
fn workloads(program: &Program) -> Vec<Workload> {
    let mut list: Vec<Workload> =
        CLIENTS.iter().map(|(threads, ops)| Workload::usual(program, *threads, *ops)).collect();
    let ruled = matches!(&program.spec, SpecSource::Builtin(spec) if spec.kind == Kind::Lock);
    if !ruled {
        list.extend(program.clients.iter().map(Workload::of));
    }
    list
}

/// Every small client, with some sizes as the proof took them, and the others as usual.
fn at_sizes(program: &Program, fixed: &[(String, i64)], time: Duration) -> Agreement {
    let start = Instant::now();
    let size = |size: &linpoint_lang::program::Size| {
        let given = fixed.iter().find(|(name, _)| *name == size.name);
        given.map_or(size.usual, |(_, value)| Word::try_from(*value).unwrap_or(Word::MAX))
    };
    let sizes: Vec<Word> = program.sizes.iter().map(size).collect();
    let mut looks = Vec::new();
    if sizes.iter().any(|size| *size > 1000) {
        return Agreement::Agrees(looks);
    }
    for workload in workloads(program) {
        let scope = Scope { workload, sizes: sizes.clone(), values: Values::distinct() };
        let plainly = Plainly {
            time: Some(time.saturating_sub(start.elapsed()).min(time / 3)),
            states: 50_000,
            sizes: Some(sizes.clone()),
            deadlocks: false,
            ..Plainly::default()
        };
        let seen = match explore_plainly(program, &scope.workload, &plainly).verdict {
            Verdict::Violated(violation) if violation.rechecked => {
                return Agreement::Refutes(Box::new(Refutation { scope, violation }));
            }
            Verdict::Holds => linpoint_model::Seen::Everything,
            Verdict::Violated(_) | Verdict::Unknown(_) => linpoint_model::Seen::Some,
        };
        looks.push((scope, seen));
    }
    Agreement::Agrees(looks)
}
